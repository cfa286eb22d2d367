/* SPDX-License-Identifier: MIT */
/* filter.c - run an eBPF program on packets, and read its counter: filter FILE.o */
#include <progpack_bpf.h>
#include <stdio.h>

static void complain(void *ctx, const char *message)
{
	fprintf(stderr, "%s: %s\n", (const char *)ctx, message);
}

int main(int argc, char **argv)
{
	struct pp_bpf_opts opts = {.size = sizeof(opts), .log = complain, .log_ctx = argv[0]};
	uint8_t packet[64] = {[12] = 0x08};
	uint32_t key = 0;
	uint64_t verdict, dropped;
	struct pp_bpf_object *object;
	struct pp_bpf_prog *filter;

	if (argc != 2 || pp_bpf_open_file(argv[1], &opts, &object))
		return 1;
	filter = pp_bpf_prog_by_name(object, "filter");
	if (!filter || pp_bpf_load(object))
		return 1;
	for (size_t len = 0; len <= sizeof(packet); len++) {
		if (pp_bpf_run(filter, packet, len, &verdict))
			return 1;
	}
	if (pp_bpf_map_lookup(pp_bpf_map_by_name(object, ".bss"), &key, &dropped))
		return 1;
	printf("dropped %llu, verdict on the last %llu\n", (unsigned long long)dropped,
	       (unsigned long long)verdict);
	pp_bpf_close(object);
	return 0;
}
