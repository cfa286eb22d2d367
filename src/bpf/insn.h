/* SPDX-License-Identifier: MIT */
/*
 * insn.h - eBPF instructions, decoded once; what everything after the loader works on
 *
 * decode.c turns the 8-byte slots of RFC 9669 into these, checks every reserved field and
 * resolves every target; interpreter, disassembler, verifier and JITs consume them.
 *
 *	slots (ELF, raw)  --decode-->  struct unit { funcs, ins }  -->  interp | disasm | jit
 */
#ifndef BPF_INSN_H
#define BPF_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

#define BPF_SLOT 8            /* bytes of an encoded instruction slot */
#define BPF_FRAME 512         /* bytes of stack of each function */
#define BPF_MAX_DEPTH 8       /* functions active at once, the program among them */
#define BPF_MAX_TAILS 33      /* tail calls of a run, over all programs of it: Linux's number */
#define BPF_MAX_LOOPS 8388608 /* times that a function goes past its may_gotos: Linux's number */
#define BPF_NREGS 11          /* r0 .. r10; r10 is the read-only frame pointer */

enum insn_kind {
	INSN_ALU,     /* dst = dst op operand; op is enum alu_op */
	INSN_NEG,     /* dst = -dst */
	INSN_MOVSX,   /* dst = the low @bytes bytes of src, sign-extended */
	INSN_SWAP,    /* dst = its low @bytes bytes in another order; op is enum swap_op */
	INSN_IMM64,   /* dst = imm; op is enum imm_ref */
	INSN_LOAD,    /* dst = memory of @bytes bytes at src + off; INSN_SX sign-extends */
	INSN_STORE,   /* memory of @bytes bytes at dst + off = operand */
	INSN_ATOMIC,  /* on memory of 4 or 8 bytes at dst + off with src; op is enum atomic_op */
	INSN_JUMP,    /* to target; INSN_IMM: written with the 32-bit distance (gotol) */
	INSN_BRANCH,  /* to target if dst op operand; op is enum cond_op */
	INSN_MAYGOTO, /* to target, once its function has gone past BPF_MAX_LOOPS of these */
	INSN_PACKET,  /* r0 = @bytes bytes of packet r6, see packet.h; its function ends if it has
			 none */
	INSN_CALL,    /* function number @target of the unit */
	INSN_CALLX,   /* what dst holds: a helper's number, or the address of a func (calls.h) */
	INSN_HELPER,  /* helper number imm; @target indexes unit.helpers, or INSN_UNRESOLVED */
	INSN_TAIL, /* bpf_tail_call(): goes on in the program in slot r3 of map r2; @target as of a
		      helper */
	INSN_EXIT,
	INSN_KINDS
};

enum alu_op {
	ALU_ADD,
	ALU_SUB,
	ALU_MUL,
	ALU_DIV,
	ALU_SDIV,
	ALU_MOD,
	ALU_SMOD,
	ALU_OR,
	ALU_AND,
	ALU_XOR,
	ALU_LSH,
	ALU_RSH,
	ALU_ARSH,
	ALU_MOV,
	ALU_OPS
};

enum cond_op {
	COND_EQ,
	COND_NE,
	COND_SET, /* dst & operand is non-zero */
	COND_GT,
	COND_GE,
	COND_LT,
	COND_LE,
	COND_SGT,
	COND_SGE,
	COND_SLT,
	COND_SLE,
	COND_OPS
};

enum swap_op { SWAP_LE, SWAP_BE, SWAP_ALWAYS };

/* What INSN_IMM64 holds: decode leaves map and value references for object.c to resolve. */
enum imm_ref {
	REF_NONE,  /* a number */
	REF_MAP,   /* address of map number @target */
	REF_VALUE, /* address of byte @off of the value of map number @target */
	REF_FUNC,  /* address of func number @target: decode sets it, as imm */
};

enum atomic_op {
	ATOMIC_ADD,
	ATOMIC_OR,
	ATOMIC_AND,
	ATOMIC_XOR,
	ATOMIC_XCHG,
	ATOMIC_CMPXCHG,
	ATOMIC_OPS
};

enum {
	INSN_W64 = 1,   /* works on 64 bits; without it on 32, upper half of dst zeroed */
	INSN_IMM = 2,   /* the operand is imm (sign-extended to 64 bits), not src */
	INSN_SX = 4,    /* sign-extending load */
	INSN_FETCH = 8, /* the old value goes to src (cmpxchg: r0) */
	/* What if the memory of a load, store or atomic is none? Without these: the host's affair.
	 */
	INSN_PROBE = 16, /* it reads as 0, what is stored is dropped, and the run goes on */
	INSN_GUARD = 32, /* the run ends */
	INSN_FAULTS = INSN_PROBE | INSN_GUARD,
	INSN_ORDER = 64, /* a load that acquires, a store (of src) that releases */
};

#define INSN_UNRESOLVED UINT32_MAX /* target of a helper call as decode leaves it */

struct insn {
	uint8_t kind, op;
	uint8_t dst, src; /* register numbers; 0 where unused */
	uint8_t flags;    /* INSN_* bits */
	uint8_t bytes;    /* 1, 2, 4 or 8, where the kind has a width of its own */
	uint16_t run;     /* the interpreter's handler, set by interp_prepare() */
	int32_t off;      /* of memory operands, in bytes */
	uint32_t target;  /* index: of an insn (jumps), a func (calls), a helper, a map or, of
			     accesses that are checked, a slot (guard.h) */
	uint32_t pc;      /* the slot it was decoded from, counted over the whole unit */
	uint32_t charge;  /* instructions that are charged for here, if any are (guard.h) */
	int64_t imm;      /* as encoded: shift counts are not masked, divisors may be 0 */
};

/*
 * struct func - a function of a unit: insns start .. end-1, contiguous, in order of address
 *
 * No jump enters or leaves it, and its last insn is an exit or a jump: execution never
 * falls out of its end. Where a program has the address of a function, it is that of the func.
 */
struct func {
	const char *name;    /* owned by the object */
	const char *section; /* the same; "" for raw instructions */
	uint32_t section_pc; /* its first slot, counted in its section */
	uint32_t pc, slots;  /* its first slot in the unit, and how many */
	uint32_t start, end; /* insn indices, set by decode */
	bool entry;          /* a program: can be run from outside */
	bool taken;          /* its address is: CALLX may call it */
	bool tails;          /* it calls bpf_tail_call(), or what does: set by calls_tails() */
	const void *native;  /* set by jit_compile(): what a call within the unit goes to */
};

/* What is known of an argument, for guarded runs to check. */
enum helper_arg {
	ARG_ANY,
	ARG_MAP,       /* a map of the object */
	ARG_KEY,       /* memory to be read: a key of the map in r1 */
	ARG_VALUE,     /* the same: a value of it */
	ARG_VALUE_OUT, /* memory to be written: a value of it */
	ARG_PEEK,      /* the same, or of a bloom filter, to be read */
	ARG_FUNC,      /* a function of the unit */
	ARG_RECORD,    /* a ring buffer's record that is being written */
	ARG_IN,        /* memory to be read, of the size that the next argument says */
	ARG_STRING,    /* the same, up to a NUL, where programs cannot write */
	ARG_OUT,       /* memory to be written, of the size that the next argument says */
	ARG_INT_OUT,   /* 4 bytes to be written */
	ARG_LONG_OUT,  /* 8 of them */
};

/* What a helper needs of who loads its callers. */
enum {
	HELPER_PROBES = 1, /* fault_hold(): it reads what may be none */
	HELPER_PRINTS = 2, /* trace_add() */
};

struct guard;

/*
 * struct helper
 * @tail: NULL, but for bpf_tail_call(), which makes insns that call it INSN_TAIL: with registers
 *	r[0] .. r[10], true if a program has run that ends the function with *result, false if
 *	none has and r0 is *result. @left: of BPF_MAX_TAILS, unless there is a @guard
 * @fn: of bpf_tail_call(): with @left as its r1, the address of what native code goes on in, or an
 *	error, which is negative. In guarded units: r1 .. r3 behind the guard; args[0] of that is
 *	*result, as above
 */
struct helper {
	uint32_t id;
	uint32_t nargs; /* 0 .. 5 */
	const char *name;
	uint64_t (*fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
	uint8_t args[5]; /* enum helper_arg, of r1 .. r5 */
	uint32_t needs;  /* HELPER_* bits */
	bool (*tail)(const uint64_t *r, struct guard *guard, uint64_t *left, uint64_t *result);
};

/* insn_calls - is it a call, of whatever? After one, r1 .. r5 are undefined. */
static inline bool insn_calls(const struct insn *in)
{
	return in->kind == INSN_CALL || in->kind == INSN_HELPER || in->kind == INSN_CALLX ||
	       in->kind == INSN_PACKET || in->kind == INSN_TAIL;
}

/* insn_jumps - does it have another insn as its target? */
static inline bool insn_jumps(const struct insn *in)
{
	return in->kind == INSN_JUMP || in->kind == INSN_BRANCH || in->kind == INSN_MAYGOTO;
}

/*
 * struct unit - all functions of one object, decoded; the insns are in one array
 * @depth: functions active at once at most, from calls_check(); 0 if none touches its frame
 * @packets: it loads from packets; @slots: of its guards, that it uses
 * @guarded: it runs with a struct guard; @checked: that checks its accesses and calls; @counted:
 *	and counts its instructions
 */
struct unit {
	struct insn *ins;
	uint32_t nins;
	struct func *funcs;
	uint32_t nfuncs;
	const struct helper *helpers; /* those it calls; insn.target indexes it */
	uint32_t nhelpers;
	const char *const *map_names; /* for listings; insn.target indexes it */
	uint32_t depth, slots;
	bool packets, guarded, checked, counted;
};

/*
 * decode - check and decode a unit's slots
 * @slots: nslots * BPF_SLOT bytes, little-endian, any alignment
 * @funcs: pc and slots set; together they cover 0 .. nslots-1 in order without gaps.
 *	start and end are set on success.
 * @unit: ins, nins, funcs and nfuncs are set on success; unit_fini() frees ins alone
 *
 * A local call's imm counts slots of the unit, from the slot behind it, and must hit the
 * start of a function. Return: 0, -EINVAL (log: section, offset, instruction, reason),
 * -ENOMEM.
 */
int decode(const uint8_t *slots, uint32_t nslots, struct func *funcs, uint32_t nfuncs,
	   const struct log *log, struct unit *unit);
void unit_fini(struct unit *unit);

/*
 * decode_find_funcs - functions of a raw array: slot 0, and wherever a local call goes
 * @funcs: allocated; names "main" (an entry) and "sub_<slot>", allocated too
 * Return: the count, -EINVAL (a call outside the array), -ENOMEM.
 */
int decode_find_funcs(const uint8_t *slots, uint32_t nslots, const struct log *log,
		      struct func **funcs);

/* unit_error - log "section 'xdp' +0x88, insn 17 (text): reason" and return @err */
__attribute__((format(printf, 5, 6))) int unit_error(const struct unit *unit, uint32_t at,
						     const struct log *log, int err,
						     const char *format, ...);

/* unit_func_of - the function that holds insn @at */
const struct func *unit_func_of(const struct unit *unit, uint32_t at);

/*
 * disasm - one insn as text, in the form of the kernel's disassembler
 * Return: the length, as snprintf().
 */
int disasm(const struct unit *unit, uint32_t at, char *text, size_t size);

/*
 * unit_may_fault - say so (@flag: INSN_PROBE or INSN_GUARD) of every access but those that are
 * within their function's frame; before interp_prepare()
 */
void unit_may_fault(struct unit *unit, unsigned int flag);

/*
 * interp_access - make an access that may fault, with registers r[0] .. r[10]
 * Between fault_hold() and fault_drop(); if it is guarded, within fault_run(), by @guard if any.
 */
void interp_access(const struct unit *unit, const struct insn *in, uint64_t *r,
		   struct guard *guard);

/* interp_prepare - choose every insn's handler; after it the unit is only read */
void interp_prepare(struct unit *unit);

/*
 * interp_run - run function @func with r1, r2
 *
 * All other registers are 0 at the start of the program; a called function finds r0 and
 * r6 .. r9 zero; after any call r1 .. r5 are zero: what the JITs do where a program reads
 * them (src/bpf/flow.h). The frames lie on the C stack.
 */
uint64_t interp_run(const struct unit *unit, uint32_t func, uint64_t r1, uint64_t r2);

/* interp_call - the same with r1 .. r4: for functions that helpers call */
uint64_t interp_call(const struct unit *unit, uint32_t func, const uint64_t args[4]);

/* interp_guarded - the same for guarded units, within fault_run(): frames lie in @guard */
uint64_t interp_guarded(struct guard *guard, uint32_t func);

/* interp_tail - run a program for a tail call, with r1 and how many more there may be */
uint64_t interp_tail(const struct unit *unit, uint32_t func, uint64_t r1, uint64_t *left);

#endif
