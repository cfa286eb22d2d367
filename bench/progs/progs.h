/* SPDX-License-Identifier: MIT */
/*
 * progs.h - what the stress programs share
 *
 * Eight programs as a fleet has them: half of them below 500 bytes of native code, three
 * quarters below 2 kB. Each object is loaded once a group, so every instance has its own
 * counters. They all get the same event (bench/stress.c makes it) as r1, its length as r2,
 * and, like most programs on most events, leave early when it is not for them.
 */
#ifndef BENCH_PROGS_H
#define BENCH_PROGS_H

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

struct event {
	__u8 mac[12];
	__u16 ethertype; /* network order, as on the wire */
	__u8 version_ihl, tos;
	__u16 total, id, fragment;
	__u8 ttl, protocol;
	__u16 checksum;
	__u32 saddr, daddr;
	__u16 sport, dport;
	__u16 udp_len, udp_sum;
	__u8 payload[86];
} __attribute__((packed));

#define swap16(x) ((__u16)((((x)&0xff) << 8) | (((x) >> 8) & 0xff)))
#define ETHERTYPE_IPV4 swap16(0x0800)
#define PROTO_TCP 6
#define PROTO_UDP 17

#define PASS 0
#define DROP 1

#endif
