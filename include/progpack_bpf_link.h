/* SPDX-License-Identifier: MIT */
/*
 * progpack_bpf_link.h - how long programs live, and how new versions take their place; part of
 * progpack_bpf.h
 *
 *	pp_bpf_link_new(first, &link);
 *	pp_bpf_link_run(link, data, len, &result);	any thread, all the time
 *	pp_bpf_link_update(link, second, NULL);		runs that begin now are of the second
 *
 * An object is counted: who opened it has it until pp_bpf_close(), and so has each link that one of
 * its programs is in. With the last of these it goes: its programs leave arrays of programs at
 * once, and its code and maps are freed when every run that had begun has ended. Threads that run
 * programs are not registered anywhere.
 */
#ifndef PROGPACK_BPF_LINK_H
#define PROGPACK_BPF_LINK_H

#include <progpack.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct pp_bpf_object;
struct pp_bpf_prog;

/* pp_bpf_hold - have an object once more; pp_bpf_close() ends that. Who calls it has the object. */
void pp_bpf_hold(struct pp_bpf_object *object);

/*
 * pp_bpf_close_batch - pp_bpf_close() of @n objects, waiting for runs once
 *
 * The code of those that go is freed with one instruction sync for each heap that it is in. NULL
 * is fine, and so is an object that is there as often as the caller has it.
 *
 * This, pp_bpf_close(), and the functions below that end what a link has, may be called by a
 * program's helper: what goes is then freed later, by whoever ends a run or closes an object.
 */
void pp_bpf_close_batch(struct pp_bpf_object *const *objects, size_t n);

/*
 * struct pp_bpf_link - a place for a program, which is never empty
 *
 * Any thread may run and change a link, until one frees it.
 */
struct pp_bpf_link;

/* pp_bpf_link_new - with a first program: 0, -EINVAL (it is not loaded), -ENOMEM */
PP_MUST_USE int pp_bpf_link_new(const struct pp_bpf_prog *prog, struct pp_bpf_link **link);

/*
 * pp_bpf_link_update - put another program in the place of the one that is there, atomically
 * @old: NULL, or the one that must be there
 *
 * Each run is of one of them as a whole: those that had begun end in the old one, those that begin
 * after this has returned are of the new one. If the old one's object goes with it, this waits for
 * runs.
 * Return: 0, -EINVAL (not loaded), -EPERM (not @old is there).
 */
PP_MUST_USE int pp_bpf_link_update(struct pp_bpf_link *link, const struct pp_bpf_prog *prog,
				   const struct pp_bpf_prog *old);

/* pp_bpf_link_run - pp_bpf_run() of the program that is there */
PP_MUST_USE int pp_bpf_link_run(const struct pp_bpf_link *link, void *data, size_t len,
				uint64_t *result);

/*
 * pp_bpf_link_prog - the program that is there, good until pp_bpf_leave()
 *
 * Between pp_bpf_enter() and that: for pp_bpf_prog_entry(), and for @old of updates.
 */
const struct pp_bpf_prog *pp_bpf_link_prog(const struct pp_bpf_link *link);

/* pp_bpf_link_free - end a link; nobody may be in a function of it. NULL is fine. */
void pp_bpf_link_free(struct pp_bpf_link *link);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
