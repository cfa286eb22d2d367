/* SPDX-License-Identifier: MIT */
/*
 * stand_in.h - a unit whose helpers, maps and data are said to lie at addresses that are the same
 * in every process and in every build, so that the code that is made of it is the same too
 *
 *	at	what native code calls by itself, then helpers, the unit, its functions, maps
 *		then the maps' values, each from a page on
 *
 * Nothing is there: such code is looked at and never run.
 */
#ifndef BPF_STAND_IN_H
#define BPF_STAND_IN_H

#include "bpf/object.h"

/* struct stand_in - @unit: shares with the object's all that has no address in it */
struct stand_in {
	struct unit unit;
	struct jit_outside outside;
	struct helper *helpers;
};

/*
 * stand_in_init - of a unit that is resolved; @at: a multiple of 4096
 * Return: 0 or -ENOMEM, with nothing to give back. The object must outlive it.
 */
int stand_in_init(struct stand_in *stand_in, const struct pp_bpf_object *object, uintptr_t at);
void stand_in_fini(struct stand_in *stand_in);

#endif
