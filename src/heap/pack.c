/* SPDX-License-Identifier: MIT */
#include "heap/pack.h"

static void unmap_run(struct memory *mem, const struct index *ix, size_t from, size_t to)
{
	for (size_t p = from; p < to; p++) {
		if (!ix->pack[p].mapped)
			mem->writer->unmap(mem, p);
	}
}

int pack_map_run(struct memory *mem, const struct index *ix, size_t from, size_t to)
{
	for (size_t p = from; p < to; p++) {
		int err = ix->pack[p].mapped ? 0 : mem->writer->map(mem, p);

		if (err) {
			unmap_run(mem, ix, from, p);
			return err;
		}
	}
	return 0;
}

void pack_unmap_all(struct memory *mem, const struct index *ix)
{
	for (size_t p = 0; p < ix->packs; p++) {
		if (ix->pack[p].mapped)
			mem->writer->unmap(mem, p);
	}
}
