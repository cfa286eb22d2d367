/* SPDX-License-Identifier: MIT */
/* callback.h - functions of a program that helpers call: bpf_for_each_map_elem() and its kin */
#ifndef BPF_CALLBACK_H
#define BPF_CALLBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * callback_run - call a function of the program that called the helper
 * @function: what the program gave: the address of a struct func of its unit
 * @args: its r1 .. r4; @key_size: of what r2 points to, that it may read
 *
 * On the engine that the calling program runs on, if it has native code; from a helper of it only.
 * Return: its r0.
 */
uint64_t callback_run(uint64_t function, const uint64_t args[4], size_t key_size);

/*
 * callback_has_room - may this thread call a function so? Ask before the first call
 *
 * Functions that helpers call may call helpers that call functions: calls_check() cannot see that
 * it goes on forever. So it ends when BPF_MAX_DEPTH of them are active.
 */
bool callback_has_room(void);

#endif
