/* SPDX-License-Identifier: MIT */
/* callback.h - functions of a program that helpers call: bpf_for_each_map_elem() and its kin */
#ifndef BPF_CALLBACK_H
#define BPF_CALLBACK_H

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

#endif
