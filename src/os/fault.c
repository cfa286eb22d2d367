/* SPDX-License-Identifier: MIT */
/*
 * fault.c - is a fault one of ours, and what becomes of it
 *
 *	pc -> place (lo .. hi-1) -> lookup: image -> tail -> entry -> context
 *
 * The handler takes no lock and may interrupt anything, this file too. Places are never freed and
 * only used again; one that is changing, or has changed, while it is read cannot be the one that
 * the fault is in, since code that runs keeps its place. So whoever reads just passes over it.
 */
#include "os/fault.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "os/fault_arch.h"
#include "os/fault_signal.h"

/* struct place - @version: odd while @mem is changing; @holds: 0 if it is nobody's */
struct place {
	struct place *next;
	unsigned int version;
	unsigned int holds;
	struct fault_mem mem;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that changes here */
static struct place *places;
static unsigned int holds; /* of all places, and of none */

/* Read by the handler, which must not be the one to make a thread's copy: see tls_model in GCC. */
static _Thread_local struct fault_run *innermost __attribute__((tls_model("initial-exec")));

/* ---- places ---- */

/* A new place is empty: the loops over places may meet it at once. */
static struct place *new_place(void)
{
	struct place *place = calloc(1, sizeof(*place));

	if (!place)
		return NULL;
	place->next = places;
	__atomic_store_n(&places, place, __ATOMIC_RELEASE);
	return place;
}

static void set_place(struct place *place, const struct fault_mem *mem)
{
	__atomic_add_fetch(&place->version, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&place->mem.ctx, mem->ctx, __ATOMIC_RELEASE);
	__atomic_store_n(&place->mem.lo, mem->lo, __ATOMIC_RELEASE);
	__atomic_store_n(&place->mem.hi, mem->hi, __ATOMIC_RELEASE);
	__atomic_store_n(&place->mem.lookup, mem->lookup, __ATOMIC_RELEASE);
	__atomic_add_fetch(&place->version, 1, __ATOMIC_SEQ_CST);
}

/* With acquire loads all the way, and release stores above: a value of a later version shows. */
static bool read_place(const struct place *place, struct fault_mem *mem)
{
	unsigned int version = __atomic_load_n(&place->version, __ATOMIC_ACQUIRE);

	mem->ctx = __atomic_load_n(&place->mem.ctx, __ATOMIC_ACQUIRE);
	mem->lo = __atomic_load_n(&place->mem.lo, __ATOMIC_ACQUIRE);
	mem->hi = __atomic_load_n(&place->mem.hi, __ATOMIC_ACQUIRE);
	mem->lookup = __atomic_load_n(&place->mem.lookup, __ATOMIC_ACQUIRE);
	return !(version & 1) && version == __atomic_load_n(&place->version, __ATOMIC_ACQUIRE);
}

static struct place *find_place(const void *ctx)
{
	struct place *place = places;

	while (place && !(place->holds && place->mem.ctx == ctx))
		place = place->next;
	return place;
}

static struct place *free_place(void)
{
	struct place *place = places;

	while (place && place->holds)
		place = place->next;
	return place ? place : new_place();
}

static int hold_place(const struct fault_mem *mem)
{
	struct place *place = find_place(mem->ctx);

	if (!place) {
		place = free_place();
		if (!place)
			return -ENOMEM;
		set_place(place, mem);
	}
	place->holds++;
	return 0;
}

static void drop_place(const void *ctx)
{
	const struct fault_mem none = {0};
	struct place *place = find_place(ctx);

	assert(place);
	if (!--place->holds)
		set_place(place, &none);
}

int fault_hold(const struct fault_mem *mem)
{
	int err;

	pthread_mutex_lock(&lock);
	err = signals_install();
	if (!err && mem)
		err = hold_place(mem);
	if (!err)
		holds++;
	else if (!holds)
		signals_remove();
	pthread_mutex_unlock(&lock);
	return err;
}

void fault_drop(const struct fault_mem *mem)
{
	pthread_mutex_lock(&lock);
	if (mem)
		drop_place(mem->ctx);
	assert(holds);
	if (!--holds)
		signals_remove();
	pthread_mutex_unlock(&lock);
}

/* ---- in the handler ---- */

/* A block that does not end as ours do is another's, in a heap that we share. */
static bool read_tail(const struct pp_block *image, struct fault_tail *tail)
{
	const uint8_t *rx = image->rx;
	uint64_t room;

	if (image->size < sizeof(*tail))
		return false;
	room = image->size - sizeof(*tail);
	memcpy(tail, rx + room, sizeof(*tail));
	tail->table = le32toh(tail->table);
	tail->count = le32toh(tail->count);
	return le64toh(tail->magic) == FAULT_MAGIC && tail->table <= room &&
	       tail->count <= (room - tail->table) / sizeof(struct fault_entry);
}

static struct fault_entry read_entry(const struct pp_block *image, size_t at)
{
	struct fault_entry entry;

	memcpy(&entry, (const uint8_t *)image->rx + at, sizeof(entry));
	entry.at = le32toh(entry.at);
	entry.insn = le32toh(entry.insn);
	entry.skip = le16toh(entry.skip);
	return entry;
}

static bool find_entry(const struct pp_block *image, uintptr_t pc, struct fault_entry *entry)
{
	uintptr_t offset = pc - (uintptr_t)image->rx;
	struct fault_tail tail;
	uint32_t low = 0, high;

	if (!read_tail(image, &tail))
		return false;
	high = tail.count;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		*entry = read_entry(image, tail.table + mid * sizeof(*entry));
		if (entry->at == offset)
			return true;
		if (entry->at < offset)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

static bool find_image(uintptr_t pc, struct pp_block *image)
{
	const struct place *place = __atomic_load_n(&places, __ATOMIC_ACQUIRE);
	struct fault_mem mem;

	for (; place; place = place->next) {
		if (read_place(place, &mem) && pc >= mem.lo && pc < mem.hi)
			return !mem.lookup(mem.ctx, (const void *)pc, image);
	}
	return false;
}

static void go_back(void *run)
{
	_longjmp(((struct fault_run *)run)->back, 1);
}

/* Not in a run: it was entered by those who do without. */
static bool end_run(const struct fault_entry *entry, uintptr_t address, ucontext_t *context)
{
	struct fault_run *run = innermost;

	if (!run)
		return false;
	run->err = -EFAULT;
	run->insn = entry->insn;
	run->address = address;
	context_call(context, go_back, run);
	return true;
}

static bool fix_image(const siginfo_t *info, ucontext_t *context)
{
	uintptr_t pc = context_pc(context);
	struct fault_entry entry;
	struct pp_block image;

	if (!find_image(pc, &image) || !find_entry(&image, pc, &entry))
		return false;
	if (entry.policy == FAULT_END)
		return end_run(&entry, (uintptr_t)info->si_addr, context);
	if (entry.reg != FAULT_NO_REG)
		context_zero(context, entry.reg);
	context_go(context, pc + entry.skip);
	return true;
}

static uintptr_t distant(const int32_t *field)
{
	return (uintptr_t)field + (uintptr_t)(intptr_t)*field;
}

static bool fix_own(ucontext_t *context)
{
	uintptr_t pc = context_pc(context);
	const struct fault_fixup *fixup = __start_fault_fixups;

	/* cppcheck-suppress comparePointers ; the linker made one array of them */
	for (; fixup < __stop_fault_fixups; fixup++) {
		if (distant(&fixup->at) != pc)
			continue;
		context_go(context, distant(&fixup->go_on));
		return true;
	}
	return false;
}

bool fault_fix(const siginfo_t *info, void *context)
{
	return fix_own(context) || fix_image(info, context);
}

/* ---- runs ---- */

int fault_run(uint64_t (*fn)(void *r1, uint64_t r2), void *r1, uint64_t r2, uint64_t *result,
	      struct fault_run *run)
{
	run->outer = innermost;
	if (_setjmp(run->back)) {
		innermost = run->outer;
		return run->err;
	}
	innermost = run;
	*result = fn(r1, r2);
	innermost = run->outer;
	return 0;
}

_Noreturn void fault_end(int err, uint32_t insn, uintptr_t address)
{
	struct fault_run *run = innermost;

	assert(run);
	run->err = err;
	run->insn = insn;
	run->address = address;
	_longjmp(run->back, 1);
}

int fault_copy(void *to, const void *from, size_t size)
{
	const uint8_t *source = from;
	uint8_t *target = to;
	uint64_t word;

	for (; size >= sizeof(word); size -= sizeof(word)) {
		if (fault_load(source, sizeof(word), &word))
			return -EFAULT;
		memcpy(target, &word, sizeof(word));
		source += sizeof(word);
		target += sizeof(word);
	}
	for (; size; size--) {
		if (fault_load(source++, 1, &word))
			return -EFAULT;
		*target++ = (uint8_t)word;
	}
	return 0;
}
