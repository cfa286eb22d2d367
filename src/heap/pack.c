/* SPDX-License-Identifier: MIT */
#include "heap/pack.h"

#include "os/os.h"

int pack_grow(struct memory *mem, const struct index *ix, size_t p, size_t chunks)
{
	return mem->writer->grow(mem, p, ix->pack[p].grown * (size_t)PP_CHUNK, chunks * PP_CHUNK);
}

static void unmap_new(struct memory *mem, const struct index *ix, size_t from, size_t to)
{
	for (size_t p = from; p < to; p++) {
		if (!ix->pack[p].grown)
			(void)mem->writer->unmap(mem, p);
	}
}

static int grow_new(struct memory *mem, const struct index *ix, size_t from, size_t to)
{
	for (size_t p = from; p < to; p++) {
		int err = ix->pack[p].grown ? 0 : pack_grow(mem, ix, p, PACK_CHUNKS);

		if (err) {
			unmap_new(mem, ix, from, p);
			return err;
		}
	}
	return 0;
}

/* The half-grown one comes last: if it fails there is nothing of it to undo. */
int pack_grow_run(struct memory *mem, const struct index *ix, size_t from, size_t to)
{
	int err = grow_new(mem, ix, from, to);

	if (err)
		return err;
	for (size_t p = from; p < to && !err; p++) {
		if (ix->pack[p].grown && ix->pack[p].grown < PACK_CHUNKS)
			err = pack_grow(mem, ix, p, PACK_CHUNKS);
	}
	if (err)
		unmap_new(mem, ix, from, to);
	return err;
}

/* The advice lets the kernel do it again later, should it ever split the page. */
int pack_make_huge(struct memory *mem, size_t p)
{
	os_want_huge(pack_rx(mem, p), PACK_SIZE);
	return os_collapse(pack_rx(mem, p), PACK_SIZE);
}

void pack_fill_sealed(struct memory *mem, const struct index *ix)
{
	for (size_t p = 0; p < ix->packs; p++) {
		if (ix->pack[p].sealed)
			(void)mem->writer->fill(mem, pack_rx(mem, p), PACK_SIZE);
	}
}

void pack_unmap_all(struct memory *mem, const struct index *ix)
{
	for (size_t p = 0; p < ix->packs; p++) {
		if (ix->pack[p].grown)
			(void)mem->writer->unmap(mem, p);
	}
}
