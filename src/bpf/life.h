/* SPDX-License-Identifier: MIT */
/* life.h - objects are counted, and freed in batches when nobody runs them */
#ifndef BPF_LIFE_H
#define BPF_LIFE_H

#include "bpf/object.h"

/* life_reclaim - free what closed while it could not wait; does nothing within a run */
void life_reclaim(void);

#endif
