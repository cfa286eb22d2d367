/* SPDX-License-Identifier: MIT */
/*
 * interp.c - run a unit without native code: the meaning of RFC 9669, executable
 *
 * interp_prepare() gives each insn the number of a handler that knows its operation, width
 * and operand, so that interp_run() decides nothing twice. Lists of operations are macros:
 * from them come the numbers, the table of handlers, and the handlers.
 *
 *	insn.run  --labels[]-->  handler  --NEXT-->  the next insn's handler
 *
 * All arithmetic is on unsigned types; what is signed is converted for the operation alone.
 */
#include <string.h>

#include "bpf/calls.h"
#include "bpf/guard.h"
#include "bpf/packet.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "memory and SWAP_LE are host order");

/* clang-format off */
/* In the order of enum alu_op: the result, from a and b of W bits (section 4.1). */
#define ALU_LIST(X, W) \
	X(ADD, W, a + b) \
	X(SUB, W, a - b) \
	X(MUL, W, a * b) \
	X(DIV, W, b ? a / b : 0) \
	X(SDIV, W, sdiv##W(a, b)) \
	X(MOD, W, b ? a % b : a) \
	X(SMOD, W, smod##W(a, b)) \
	X(OR, W, a | b) \
	X(AND, W, a & b) \
	X(XOR, W, a ^ b) \
	X(LSH, W, a << (b & (W - 1))) \
	X(RSH, W, a >> (b & (W - 1))) \
	X(ARSH, W, (uint##W##_t)((int##W##_t)a >> (b & (W - 1)))) \
	X(MOV, W, b)

/* In the order of enum cond_op: whether to jump (section 4.3). */
#define COND_LIST(X, W) \
	X(EQ, W, a == b) \
	X(NE, W, a != b) \
	X(SET, W, (a & b) != 0) \
	X(GT, W, a > b) \
	X(GE, W, a >= b) \
	X(LT, W, a < b) \
	X(LE, W, a <= b) \
	X(SGT, W, (int##W##_t)a > (int##W##_t)b) \
	X(SGE, W, (int##W##_t)a >= (int##W##_t)b) \
	X(SLT, W, (int##W##_t)a < (int##W##_t)b) \
	X(SLE, W, (int##W##_t)a <= (int##W##_t)b)

/* In the order of enum atomic_op, the exchanges aside: the compiler's name (section 5.3). */
#define ATOMIC_LIST(X, W) X(FADD, W, add) X(FOR, W, or) X(FAND, W, and) X(FXOR, W, xor)

#define WIDTH_LIST(X) X(8) X(16) X(32) X(64)

/* Those that are not an operation by widths and operands. */
#define SINGLE_LIST(X) \
	X(NEG32) X(NEG64) X(MOVSX32_8) X(MOVSX32_16) X(MOVSX64_8) X(MOVSX64_16) X(MOVSX64_32) \
	X(CUT16) X(CUT32) X(CUT64) X(SWAP16) X(SWAP32) X(SWAP64) X(IMM64) \
	X(LOADSX8) X(LOADSX16) X(LOADSX32) \
	X(LOADACQ8) X(LOADACQ16) X(LOADACQ32) X(LOADACQ64) \
	X(STOREREL8) X(STOREREL16) X(STOREREL32) X(STOREREL64) \
	X(XCHG32) X(XCHG64) X(CMPXCHG32) X(CMPXCHG64) X(ACCESS) X(JUMP) X(MAYGOTO) \
	X(PACKET_IMM) X(PACKET_SRC) X(CALL) X(CALLX) X(HELPER) \
	X(TAIL) X(EXIT)

/* Every handler by name; a _SRC is followed by its _IMM, a plain atomic by its fetching form. */
#define OPERANDS(name, W, expr) ONE(name##W##_SRC) ONE(name##W##_IMM)
#define FETCHES(name, W, builtin) ONE(name##W##_PLAIN) ONE(name##W##_FETCH)
#define LOADS(W) ONE(LOAD##W)
#define STORES(W) ONE(STORE##W##_SRC) ONE(STORE##W##_IMM)
#define EVERY \
	ALU_LIST(OPERANDS, 32) ALU_LIST(OPERANDS, 64) \
	COND_LIST(OPERANDS, 32) COND_LIST(OPERANDS, 64) \
	ATOMIC_LIST(FETCHES, 32) ATOMIC_LIST(FETCHES, 64) \
	WIDTH_LIST(LOADS) WIDTH_LIST(STORES) SINGLE_LIST(ONE)
/* clang-format on */

enum run {
#define ONE(name) RUN_##name,
	EVERY
#undef ONE
		RUNS
};
_Static_assert(RUN_ADD64_SRC - RUN_ADD32_SRC == 2 * ALU_OPS, "ALU_LIST is enum alu_op");
_Static_assert(RUN_EQ64_SRC - RUN_EQ32_SRC == 2 * COND_OPS, "COND_LIST is enum cond_op");
_Static_assert(RUN_FADD64_PLAIN - RUN_FADD32_PLAIN == 2 * ATOMIC_XCHG, "ATOMIC_LIST is the rest");
#define CHECK_ALU(name, W, expr)                                                                   \
	_Static_assert(RUN_##name##W##_SRC == RUN_ADD##W##_SRC + 2 * ALU_##name, "in order");
#define CHECK_COND(name, W, expr)                                                                  \
	_Static_assert(RUN_##name##W##_SRC == RUN_EQ##W##_SRC + 2 * COND_##name, "in order");
ALU_LIST(CHECK_ALU, 32)
COND_LIST(CHECK_COND, 32)

/* The group's handler for operation @op: each has one for src, then one for imm. */
static int run_binary(const struct insn *in, int first32, int first64)
{
	int first = in->flags & INSN_W64 ? first64 : first32;

	return first + 2 * in->op + !!(in->flags & INSN_IMM);
}

static int run_movsx(const struct insn *in)
{
	bool wide = in->flags & INSN_W64;

	switch (in->bytes) {
	case 1: return wide ? RUN_MOVSX64_8 : RUN_MOVSX32_8;
	case 2: return wide ? RUN_MOVSX64_16 : RUN_MOVSX32_16;
	default: return RUN_MOVSX64_32;
	}
}

/* On a little-endian host, to little-endian only cuts off what is above. */
static int run_swap(const struct insn *in)
{
	bool cut = in->op == SWAP_LE;

	switch (in->bytes) {
	case 2: return cut ? RUN_CUT16 : RUN_SWAP16;
	case 4: return cut ? RUN_CUT32 : RUN_SWAP32;
	default: return cut ? RUN_CUT64 : RUN_SWAP64;
	}
}

/* 0 .. 3 for 1, 2, 4, 8 bytes: the order of WIDTH_LIST. */
static int width_index(const struct insn *in)
{
	return __builtin_ctz(in->bytes);
}

static int run_load(const struct insn *in)
{
	if (in->flags & INSN_ORDER)
		return RUN_LOADACQ8 + width_index(in);
	return (in->flags & INSN_SX ? RUN_LOADSX8 : RUN_LOAD8) + width_index(in);
}

static int run_store(const struct insn *in)
{
	if (in->flags & INSN_ORDER)
		return RUN_STOREREL8 + width_index(in);
	return RUN_STORE8_SRC + 2 * width_index(in) + !!(in->flags & INSN_IMM);
}

static int run_atomic(const struct insn *in)
{
	bool wide = in->bytes == 8;

	switch ((enum atomic_op)in->op) {
	case ATOMIC_XCHG: return wide ? RUN_XCHG64 : RUN_XCHG32;
	case ATOMIC_CMPXCHG: return wide ? RUN_CMPXCHG64 : RUN_CMPXCHG32;
	default: break;
	}
	return (wide ? RUN_FADD64_PLAIN : RUN_FADD32_PLAIN) + 2 * in->op +
	       !!(in->flags & INSN_FETCH);
}

static int run_of(const struct insn *in)
{
	if (in->flags & INSN_FAULTS)
		return RUN_ACCESS;
	switch ((enum insn_kind)in->kind) {
	case INSN_ALU: return run_binary(in, RUN_ADD32_SRC, RUN_ADD64_SRC);
	case INSN_NEG: return in->flags & INSN_W64 ? RUN_NEG64 : RUN_NEG32;
	case INSN_MOVSX: return run_movsx(in);
	case INSN_SWAP: return run_swap(in);
	case INSN_IMM64: return RUN_IMM64;
	case INSN_LOAD: return run_load(in);
	case INSN_STORE: return run_store(in);
	case INSN_ATOMIC: return run_atomic(in);
	case INSN_JUMP: return RUN_JUMP;
	case INSN_BRANCH: return run_binary(in, RUN_EQ32_SRC, RUN_EQ64_SRC);
	case INSN_MAYGOTO: return RUN_MAYGOTO;
	case INSN_PACKET: return in->flags & INSN_IMM ? RUN_PACKET_IMM : RUN_PACKET_SRC;
	case INSN_CALL: return RUN_CALL;
	case INSN_CALLX: return RUN_CALLX;
	case INSN_HELPER: return RUN_HELPER;
	case INSN_TAIL: return RUN_TAIL;
	case INSN_EXIT:
	case INSN_KINDS: break;
	}
	return RUN_EXIT;
}

void interp_prepare(struct unit *unit)
{
	for (uint32_t i = 0; i < unit->nins; i++) {
		struct insn *in = &unit->ins[i];
		bool steps = in->charge || guard_asks(unit, in);

		in->run = (uint16_t)(run_of(in) + (steps ? RUNS : 0));
	}
}

/* Truncating; division by 0 gives 0, INT_MIN / -1 is INT_MIN: -a in two's complement. */
static inline uint64_t sdiv64(uint64_t a, uint64_t b)
{
	if (b + 1 <= 1)
		return b ? -a : 0;
	return (uint64_t)((int64_t)a / (int64_t)b);
}

static inline uint32_t sdiv32(uint32_t a, uint32_t b)
{
	if (b + 1 <= 1)
		return b ? -a : 0;
	return (uint32_t)((int32_t)a / (int32_t)b);
}

/* The sign is the dividend's; modulo 0 leaves it, modulo -1 is 0. */
static inline uint64_t smod64(uint64_t a, uint64_t b)
{
	if (b + 1 <= 1)
		return b ? 0 : a;
	return (uint64_t)((int64_t)a % (int64_t)b);
}

static inline uint32_t smod32(uint32_t a, uint32_t b)
{
	if (b + 1 <= 1)
		return b ? 0 : a;
	return (uint32_t)((int32_t)a % (int32_t)b);
}

/* What a local call keeps for its caller: where it goes on, r6 .. r9, may_gotos gone past. */
struct frame {
	const struct insn *back;
	uint64_t saved[4];
	uint32_t loops;
};

static void *address(const uint64_t *base, int32_t off)
{
	return (void *)(uintptr_t)(*base + (uint64_t)(int64_t)off);
}

/* Of the insn at hand: its registers, and the memory operand with dst or src as base. */
#define DST r[in->dst]
#define SRC r[in->src]
#define AT_DST address(&DST, in->off)
#define AT_SRC address(&SRC, in->off)

/* clang-format off */
#define JUMP_TO(insn) do { in = (insn); goto *labels[in->run]; } while (0)
#define NEXT JUMP_TO(in + 1)

#define DO_ALU_WITH(label, W, operand, expr) \
label: { \
	const uint##W##_t a = (uint##W##_t)DST, b = (uint##W##_t)(operand); \
	(void)a; \
	DST = (expr); \
	NEXT; \
}
#define DO_ALU(name, W, expr) \
	DO_ALU_WITH(name##W##_SRC, W, SRC, expr) \
	DO_ALU_WITH(name##W##_IMM, W, in->imm, expr)

#define DO_COND_WITH(label, W, operand, expr) \
label: { \
	const uint##W##_t a = (uint##W##_t)DST, b = (uint##W##_t)(operand); \
	JUMP_TO((expr) ? unit->ins + in->target : in + 1); \
}
#define DO_COND(name, W, expr) \
	DO_COND_WITH(name##W##_SRC, W, SRC, expr) \
	DO_COND_WITH(name##W##_IMM, W, in->imm, expr)

#define DO_LOAD_AS(label, type) \
label: { \
	type value; \
	memcpy(&value, AT_SRC, sizeof(value)); \
	DST = (uint64_t)value; \
	NEXT; \
}
#define DO_LOAD(W) DO_LOAD_AS(LOAD##W, uint##W##_t)
#define DO_LOADSX(W) DO_LOAD_AS(LOADSX##W, int##W##_t)

#define DO_STORE_WITH(label, W, operand) \
label: { \
	const uint##W##_t value = (uint##W##_t)(operand); \
	memcpy(AT_DST, &value, sizeof(value)); \
	NEXT; \
}
#define DO_STORE(W) \
	DO_STORE_WITH(STORE##W##_SRC, W, SRC) \
	DO_STORE_WITH(STORE##W##_IMM, W, in->imm)

#define DO_LOADACQ(W) \
LOADACQ##W: \
	DST = __atomic_load_n((const uint##W##_t *)AT_SRC, __ATOMIC_ACQUIRE); \
	NEXT;
#define DO_STOREREL(W) \
STOREREL##W: \
	__atomic_store_n((uint##W##_t *)AT_DST, (uint##W##_t)SRC, __ATOMIC_RELEASE); \
	NEXT;

/* Section 5.3: sequentially consistent where a value is fetched; else only indivisible. */
#define DO_ATOMIC(name, W, builtin) \
name##W##_PLAIN: \
	__atomic_fetch_##builtin((uint##W##_t *)AT_DST, (uint##W##_t)SRC, __ATOMIC_RELAXED); \
	NEXT; \
name##W##_FETCH: \
	SRC = __atomic_fetch_##builtin((uint##W##_t *)AT_DST, (uint##W##_t)SRC, __ATOMIC_SEQ_CST); \
	NEXT;
#define DO_XCHG(W) \
XCHG##W: \
	SRC = __atomic_exchange_n((uint##W##_t *)AT_DST, (uint##W##_t)SRC, __ATOMIC_SEQ_CST); \
	NEXT;
#define DO_CMPXCHG(W) \
CMPXCHG##W: { \
	uint##W##_t seen = (uint##W##_t)r[0]; \
	__atomic_compare_exchange_n((uint##W##_t *)AT_DST, &seen, (uint##W##_t)SRC, false, \
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	r[0] = seen; \
	NEXT; \
}
/* clang-format on */

/*
 * struct begin - how a unit is entered
 * @args: r1 .. r4; @top: r10; @left: tail calls, NULL if @guard has them
 */
struct begin {
	const uint64_t *args;
	uint64_t top;
	uint64_t *left;
	struct guard *guard;
};

/*
 * The dispatch: decode checked registers and targets, calls_check() the depth. A program that a
 * tail call goes on in is within the one that called.
 */
static uint64_t run(const struct unit *unit, uint32_t func, const struct begin *begin)
{
	static const void *const labels[] = {
#define ONE(name) [RUN_##name] = &&name,
		/* cppcheck-suppress assignBoolToPointer ; it takes && for an "and" */
		EVERY
#undef ONE
			/* cppcheck-suppress internalAstError ; the same */
			[RUNS... 2 * RUNS - 1] = &&STEP,
	};
	struct frame frames[BPF_MAX_DEPTH], *frame = frames;
	uint64_t r[BPF_NREGS] = {0};
	uint32_t loops = 0;
	const struct func *callee;
	const struct helper *helper;
	const struct insn *in;

	memcpy(&r[1], begin->args, 4 * sizeof(*begin->args));
	r[10] = begin->top;
	JUMP_TO(unit->ins + unit->funcs[func].start);

	ALU_LIST(DO_ALU, 32)
	ALU_LIST(DO_ALU, 64)
	COND_LIST(DO_COND, 32)
	COND_LIST(DO_COND, 64)
	WIDTH_LIST(DO_LOAD)
	DO_LOADSX(8)
	DO_LOADSX(16)
	DO_LOADSX(32)
	WIDTH_LIST(DO_STORE)
	WIDTH_LIST(DO_LOADACQ)
	WIDTH_LIST(DO_STOREREL)
	ATOMIC_LIST(DO_ATOMIC, 32)
	ATOMIC_LIST(DO_ATOMIC, 64)
	DO_XCHG(32)
	DO_XCHG(64)
	DO_CMPXCHG(32)
	DO_CMPXCHG(64)

NEG32:
	DST = (uint32_t)-DST;
	NEXT;
NEG64:
	DST = -DST;
	NEXT;
MOVSX32_8:
	DST = (uint64_t)(int8_t)SRC & UINT32_MAX;
	NEXT;
MOVSX32_16:
	DST = (uint64_t)(int16_t)SRC & UINT32_MAX;
	NEXT;
MOVSX64_8:
	DST = (uint64_t)(int8_t)SRC;
	NEXT;
MOVSX64_16:
	DST = (uint64_t)(int16_t)SRC;
	NEXT;
MOVSX64_32:
	DST = (uint64_t)(int32_t)SRC;
	NEXT;
CUT16:
	DST = (uint16_t)DST;
	NEXT;
CUT32:
	DST = (uint32_t)DST;
	NEXT;
CUT64:
	NEXT;
SWAP16:
	DST = __builtin_bswap16((uint16_t)DST);
	NEXT;
SWAP32:
	DST = __builtin_bswap32((uint32_t)DST);
	NEXT;
SWAP64:
	DST = __builtin_bswap64(DST);
	NEXT;
IMM64:
	DST = (uint64_t)in->imm;
	NEXT;
STEP:
	guard_step(begin->guard, in, r);
	goto *labels[in->run - RUNS];
ACCESS:
	interp_access(unit, in, r, begin->guard);
	NEXT;
JUMP:
	JUMP_TO(unit->ins + in->target);
MAYGOTO:
	if (loops == BPF_MAX_LOOPS)
		goto JUMP;
	loops++;
	NEXT;
PACKET_IMM:
	r[0] = packet_load(r[6], (uint64_t)in->imm, in->bytes);
	goto packet;
PACKET_SRC:
	r[0] = packet_load(r[6], SRC + (uint64_t)in->imm, in->bytes);
packet:
	r[1] = r[2] = r[3] = r[4] = r[5] = 0;
	if (r[0] != PACKET_NONE)
		NEXT;
	r[0] = 0;
	goto EXIT;
CALL:
	callee = &unit->funcs[in->target];
call:
	*frame = (struct frame){.back = in + 1, .loops = loops};
	memcpy(frame++->saved, &r[6], sizeof(frame->saved));
	r[0] = r[6] = r[7] = r[8] = r[9] = loops = 0;
	r[10] -= BPF_FRAME;
	JUMP_TO(unit->ins + callee->start);
CALLX:
	callee = calls_func(unit, DST);
	if (callee)
		goto call;
	helper = calls_helper(unit, DST);
	r[0] = (helper ? helper->fn : calls_none)(r[1], r[2], r[3], r[4], r[5]);
	r[1] = r[2] = r[3] = r[4] = r[5] = 0;
	NEXT;
HELPER:
	r[0] = unit->helpers[in->target].fn(r[1], r[2], r[3], r[4], r[5]);
	r[1] = r[2] = r[3] = r[4] = r[5] = 0;
	NEXT;
TAIL:
	if (unit->helpers[in->target].tail(r, begin->guard, begin->left, &r[0]))
		goto EXIT;
	r[1] = r[2] = r[3] = r[4] = r[5] = 0;
	NEXT;
EXIT:
	if (frame == frames)
		return r[0];
	loops = (--frame)->loops;
	memcpy(&r[6], frame->saved, sizeof(frame->saved));
	r[1] = r[2] = r[3] = r[4] = r[5] = 0;
	r[10] += BPF_FRAME;
	JUMP_TO(frame->back);
}

static uint64_t run_unguarded(const struct unit *unit, uint32_t func, const uint64_t args[4],
			      uint64_t *left)
{
	_Alignas(16) uint8_t stack[BPF_MAX_DEPTH * BPF_FRAME];
	const struct begin begin = {
		.args = args,
		.top = (uintptr_t)(stack + sizeof(stack)),
		.left = left,
	};

	return run(unit, func, &begin);
}

uint64_t interp_call(const struct unit *unit, uint32_t func, const uint64_t args[4])
{
	uint64_t left = BPF_MAX_TAILS;

	return run_unguarded(unit, func, args, &left);
}

uint64_t interp_tail(const struct unit *unit, uint32_t func, uint64_t r1, uint64_t *left)
{
	const uint64_t args[4] = {r1};

	return run_unguarded(unit, func, args, left);
}

uint64_t interp_run(const struct unit *unit, uint32_t func, uint64_t r1, uint64_t r2)
{
	const uint64_t args[4] = {r1, r2};

	return interp_call(unit, func, args);
}

uint64_t interp_guarded(struct guard *guard, uint32_t func)
{
	const struct begin begin = {.args = guard->args, .top = guard->frame, .guard = guard};

	return run(guard->unit, func, &begin);
}
