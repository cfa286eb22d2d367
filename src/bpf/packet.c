/* SPDX-License-Identifier: MIT */
#include "bpf/packet.h"

#include <progpack_bpf.h>

uint64_t packet_load(uint64_t packet, uint64_t off, uint64_t bytes)
{
	const struct pp_bpf_packet *from = (const void *)(uintptr_t)packet;
	const uint8_t *data = from->data;
	uint32_t at = (uint32_t)off;
	uint64_t value = 0;

	if (at > INT32_MAX || at > from->len || bytes > from->len - at)
		return PACKET_NONE;
	for (uint64_t i = 0; i < bytes; i++)
		value = value << 8 | data[at + i];
	return value;
}
