/* SPDX-License-Identifier: MIT */
/*
 * packet.h - loads from a packet: RFC 9669 section 5.5, LD_ABS and LD_IND
 *
 * r6 points to a struct pp_bpf_packet. An offset is 32 bits, and what is below 0 lies outside.
 */
#ifndef BPF_PACKET_H
#define BPF_PACKET_H

#include <stdint.h>

#define PACKET_NONE UINT64_MAX /* no load gives it: they have up to 32 bits */

/*
 * packet_load - @bytes (1, 2 or 4) bytes at @off of a packet, from network to host order
 * @packet: address of a struct pp_bpf_packet
 * Return: the value, or PACKET_NONE. Native code calls this.
 */
uint64_t packet_load(uint64_t packet, uint64_t off, uint64_t bytes);

#endif
