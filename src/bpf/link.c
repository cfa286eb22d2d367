/* SPDX-License-Identifier: MIT */
/*
 * link.c - a place for a program: one pointer, read in read-side sections, and a reference to the
 * object of what it points to, which ends after those sections (life.c)
 */
#include <errno.h>
#include <stdlib.h>

#include "bpf/object.h"

struct pp_bpf_link {
	const struct pp_bpf_prog *prog;
};

int pp_bpf_link_new(const struct pp_bpf_prog *prog, struct pp_bpf_link **out)
{
	struct pp_bpf_link *link;

	if (!prog->object->loaded)
		return -EINVAL;
	link = malloc(sizeof(*link));
	if (!link)
		return -ENOMEM;
	pp_bpf_hold(prog->object);
	link->prog = prog;
	*out = link;
	return 0;
}

const struct pp_bpf_prog *pp_bpf_link_prog(const struct pp_bpf_link *link)
{
	return __atomic_load_n(&link->prog, __ATOMIC_ACQUIRE);
}

/* *old: in: NULL for any; out: what was there */
static bool exchange(struct pp_bpf_link *link, const struct pp_bpf_prog *prog,
		     const struct pp_bpf_prog **old)
{
	if (*old)
		return __atomic_compare_exchange_n(&link->prog, old, prog, false, __ATOMIC_ACQ_REL,
						   __ATOMIC_ACQUIRE);
	*old = __atomic_exchange_n(&link->prog, prog, __ATOMIC_ACQ_REL);
	return true;
}

int pp_bpf_link_update(struct pp_bpf_link *link, const struct pp_bpf_prog *prog,
		       const struct pp_bpf_prog *old)
{
	if (!prog->object->loaded)
		return -EINVAL;
	pp_bpf_hold(prog->object);
	if (!exchange(link, prog, &old)) {
		pp_bpf_close(prog->object);
		return -EPERM;
	}
	pp_bpf_close(old->object);
	return 0;
}

int pp_bpf_link_run(const struct pp_bpf_link *link, void *data, size_t len, uint64_t *result)
{
	int err;

	pp_bpf_enter();
	err = pp_bpf_run(pp_bpf_link_prog(link), data, len, result);
	pp_bpf_leave();
	return err;
}

void pp_bpf_link_free(struct pp_bpf_link *link)
{
	if (!link)
		return;
	pp_bpf_close(link->prog->object);
	free(link);
}
