/* SPDX-License-Identifier: MIT */
/* access.c - accesses that may fault: which they are, and how the interpreter makes them */
#include "bpf/guard.h"
#include "os/fault.h"

static bool is_access(const struct insn *in)
{
	return in->kind == INSN_LOAD || in->kind == INSN_STORE || in->kind == INSN_ATOMIC;
}

static unsigned int base_of(const struct insn *in)
{
	return in->kind == INSN_LOAD ? in->src : in->dst;
}

static bool is_in_frame(const struct insn *in)
{
	return base_of(in) == 10 && in->off >= -BPF_FRAME && in->off + in->bytes <= 0;
}

void unit_may_fault(struct unit *unit, unsigned int flag)
{
	for (uint32_t i = 0; i < unit->nins; i++) {
		struct insn *in = &unit->ins[i];

		if (is_access(in) && !is_in_frame(in))
			in->flags |= (uint8_t)flag;
	}
}

/* ---- the interpreter's ---- */

static uint64_t sign_extend(uint64_t value, unsigned int bytes)
{
	unsigned int above = 64 - 8 * bytes;

	return (uint64_t)((int64_t)(value << above) >> above);
}

/* Not atomic_thread_fence(), which gcc refuses to build with ThreadSanitizer. */
static int load(const struct insn *in, uint64_t *r, void *at)
{
	uint64_t value = 0;
	int err = fault_load(at, in->bytes, &value);

	if (in->flags & INSN_ORDER)
		__sync_synchronize();
	r[in->dst] = in->flags & INSN_SX ? sign_extend(value, in->bytes) : value;
	return err;
}

static int store(const struct insn *in, const uint64_t *r, void *at)
{
	if (in->flags & INSN_ORDER)
		__sync_synchronize();
	return fault_store(at, in->bytes, in->flags & INSN_IMM ? (uint64_t)in->imm : r[in->src]);
}

static uint64_t combine(unsigned int op, uint64_t old, uint64_t operand)
{
	switch ((enum atomic_op)op) {
	case ATOMIC_ADD: return old + operand;
	case ATOMIC_OR: return old | operand;
	case ATOMIC_AND: return old & operand;
	case ATOMIC_XOR: return old ^ operand;
	default: return operand;
	}
}

/* What memory was, or 0: a compare-and-exchange until nobody came between. */
static int modify(const struct insn *in, uint64_t operand, void *at, uint64_t *old)
{
	uint64_t seen = 0, expected;
	int err = fault_load(at, in->bytes, &seen);

	do {
		expected = seen;
		if (!err)
			err = fault_cas(at, in->bytes, &seen, combine(in->op, seen, operand));
	} while (!err && seen != expected);
	*old = err ? 0 : seen;
	return err;
}

static int exchange_if(const struct insn *in, uint64_t *r, void *at)
{
	uint64_t seen = in->bytes == 4 ? (uint32_t)r[0] : r[0];
	int err = fault_cas(at, in->bytes, &seen, r[in->src]);

	r[0] = err ? 0 : seen;
	return err;
}

static int atomic(const struct insn *in, uint64_t *r, void *at)
{
	uint64_t old;
	int err;

	if (in->op == ATOMIC_CMPXCHG)
		return exchange_if(in, r, at);
	err = modify(in, r[in->src], at, &old);
	if (in->flags & INSN_FETCH)
		r[in->src] = old;
	return err;
}

void interp_access(const struct unit *unit, const struct insn *in, uint64_t *r, struct guard *guard)
{
	uintptr_t address = r[base_of(in)] + (uint64_t)(int64_t)in->off;
	uint32_t number = (uint32_t)(in - unit->ins);
	void *at = (void *)address;
	int err;

	if (guard && in->flags & INSN_GUARD && !guard_passes(guard, in, address))
		guard_slow(guard, address, number, r);
	if (in->kind == INSN_LOAD)
		err = load(in, r, at);
	else if (in->kind == INSN_STORE)
		err = store(in, r, at);
	else
		err = atomic(in, r, at);
	if (err && in->flags & INSN_GUARD)
		fault_end(err, number, address);
}
