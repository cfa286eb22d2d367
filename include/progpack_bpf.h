/* SPDX-License-Identifier: MIT */
/*
 * progpack_bpf.h - run eBPF programs in this process, JIT-compiled into a progpack heap
 *
 *	pp_bpf_open_file("prog.o", NULL, &obj);		look, register helpers
 *	pp_bpf_load(obj);				all or nothing
 *	prog = pp_bpf_prog_by_name(obj, "entry");
 *	pp_bpf_run(prog, data, len, &result);		any thread
 *	pp_bpf_close(obj);
 *
 * The programs of an object are one image: allocated once, finalized once. Numbers,
 * names and error values of maps and helpers are Linux's. Programs are guarded: they touch
 * what they are given, and nothing else, unless the caller says that they are trusted.
 *
 * Functions return 0 or -errno; what they give is written through pointers, on success
 * only. A failing call changes nothing. Those that open, register and load tell opts->log
 * where and why, in one line without control characters; not where opts->size is wrong or
 * opts are of a later version, and not always on -ENOMEM.
 */
#ifndef PROGPACK_BPF_H
#define PROGPACK_BPF_H

#include <progpack.h>
#include <progpack_bpf_link.h>
#include <progpack_bpf_map.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* A helper: the program's r1 .. r5 in, its r0 out. */
typedef uint64_t (*pp_bpf_helper_fn)(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5);

/* A program's native code: r1 and r2 in, r0 out; see pp_bpf_prog_entry(). */
typedef uint64_t (*pp_bpf_entry_fn)(void *r1, uint64_t r2);

/* Receives what programs print with bpf_trace_printk() and _vprintk(): text, not always whole
 * lines. */
typedef void (*pp_bpf_print_fn)(void *ctx, const char *text, size_t len);

/* Do not compile to native code: pp_bpf_run() interprets. */
#define PP_BPF_NO_JIT 0x1u
/* Keep what pp_bpf_prog_lines() needs to show native code beside its eBPF. */
#define PP_BPF_KEEP_LINES 0x2u
/*
 * Pointers may be bad. A load from where no memory is gives 0, a store there is dropped, an atomic
 * operation fetches 0 and changes nothing; the run goes on. Memory of the process that is there is
 * not protected: this is not a sandbox.
 *
 * While such an object is loaded, and while one is that calls a helper which reads what may be none
 * (bpf_probe_read(), those that print), this library handles SIGSEGV and SIGBUS. Those of anything
 * else go on to the handler from before, as the kernel would have delivered them. A thread that
 * runs the programs must not block these signals, and whoever installs a handler over ours must
 * pass on what is not theirs.
 */
#define PP_BPF_PROBE 0x4u
/*
 * Programs have the memory rights of the process, and pp_bpf_prog_entry() gives their functions.
 *
 * Without this and PP_BPF_PROBE programs are guarded: each access is checked, and one to what is
 * not the program's own ends the run with -EFAULT and harms nothing. Its own are the frames of its
 * functions, r2 bytes from r1 on, the values of its object's maps, what pp_bpf_allow() names and,
 * to be read, the packet that r1 tells of when the run begins, if it loads from packets. The same
 * goes for memory that it gives to built-in helpers; the host's helpers are trusted. As with
 * PP_BPF_PROBE, SIGSEGV and SIGBUS are handled, for memory that was allowed and has gone.
 */
#define PP_BPF_TRUSTED 0x8u

/*
 * struct pp_bpf_opts - what the open functions may be told; zero means the default
 * @size: sizeof(struct pp_bpf_opts), always
 * @heap: where native code goes; must outlive the object. Default: one for the process,
 *	made at the first load and kept.
 * @name: the object's name in messages; default: the file's, or "<memory>"
 * @print: receives what bpf_trace_printk() prints; default: dropped
 * @maps: @nmaps maps that the object uses instead of making its own of the same names, if their
 *	definitions are the same (pp_bpf_map_reuse()); used at once
 * @budget: instructions that a run may take, then it ends with -ETIME; default: any number. They
 *	are taken by the straight line: a run ends before the first that the rest does not cover,
 *	on every engine the same.
 */
struct pp_bpf_opts {
	size_t size;
	struct pp_heap *heap;
	const char *name;
	unsigned int flags;
	pp_log_fn log;
	void *log_ctx;
	pp_bpf_print_fn print;
	void *print_ctx;
	struct pp_bpf_map *const *maps;
	size_t nmaps;
	uint64_t budget;
};

/*
 * pp_bpf_open_file, _open_mem - read an eBPF ELF object as clang -target bpf writes it
 * @elf: may be freed when the call returns
 *
 * Return: 0, -errno of reading the file, -ENOEXEC (malformed or not eBPF; the log names
 * section and offset), -EINVAL (opts), -E2BIG (opts of a later version), -ENOMEM.
 */
PP_MUST_USE int pp_bpf_open_file(const char *path, const struct pp_bpf_opts *opts,
				 struct pp_bpf_object **object);
PP_MUST_USE int pp_bpf_open_mem(const void *elf, size_t size, const struct pp_bpf_opts *opts,
				struct pp_bpf_object **object);

/*
 * pp_bpf_open_raw - take an array of 8-byte little-endian instructions as one program
 * @insns: may be freed when the call returns; @size is in bytes
 *
 * The program is named "main"; functions it calls locally lie behind it. Return: as above.
 */
PP_MUST_USE int pp_bpf_open_raw(const void *insns, size_t size, const struct pp_bpf_opts *opts,
				struct pp_bpf_object **object);

/*
 * pp_bpf_register - add or replace a helper, before pp_bpf_load()
 * @id: the number programs call it by, 0 .. INT32_MAX
 * @name: for calls by extern symbol, and for dumps; copied
 * @nargs: arguments it reads, 0 .. 5
 *
 * Return: 0, -EINVAL, -EBUSY (loaded already), -ENOMEM.
 */
PP_MUST_USE int pp_bpf_register(struct pp_bpf_object *object, uint32_t id, const char *name,
				unsigned int nargs, pp_bpf_helper_fn fn);

/*
 * What a helper's argument is. Memory is checked in guarded runs, before the call: what is not the
 * program's ends the run with -EFAULT.
 */
enum pp_bpf_arg {
	PP_BPF_ARG_ANY,      /* a number, or what the helper checks itself */
	PP_BPF_ARG_IN,       /* memory to be read, of the size that the next argument says */
	PP_BPF_ARG_STRING,   /* the same, up to a NUL, where programs cannot write: .rodata */
	PP_BPF_ARG_OUT,      /* memory to be written, of the size that the next argument says */
	PP_BPF_ARG_OUT_INT,  /* 4 bytes to be written, at any address */
	PP_BPF_ARG_OUT_LONG, /* 8 of them */
};

/*
 * struct pp_bpf_helper - a helper with a typed prototype
 * @size: sizeof(struct pp_bpf_helper), always
 * @id, @name, @nargs: as above; @id PP_BPF_BY_NAME: programs know it by name alone
 * @args: enum pp_bpf_arg, of r1 .. r5
 */
#define PP_BPF_BY_NAME UINT32_MAX
struct pp_bpf_helper {
	size_t size;
	const char *name;
	pp_bpf_helper_fn fn;
	uint32_t id;
	unsigned int nargs;
	uint8_t args[5];
};

/* pp_bpf_register_helper - as pp_bpf_register(); also -E2BIG (of a later version) */
PP_MUST_USE int pp_bpf_register_helper(struct pp_bpf_object *object,
				       const struct pp_bpf_helper *helper);

/*
 * pp_bpf_allow - let guarded programs use memory of the host's, before pp_bpf_load()
 * @flags: 0 (to read) or PP_BPF_WRITABLE
 *
 * Return: 0, -EINVAL (no memory, flags), -EBUSY (loaded already), -ENOMEM.
 */
#define PP_BPF_WRITABLE 0x1u
PP_MUST_USE int pp_bpf_allow(struct pp_bpf_object *object, const void *base, size_t size,
			     unsigned int flags);

/*
 * pp_bpf_load - create maps, relocate, decode, check, compile
 *
 * Return: 0, -EALREADY, -EINVAL (bad instruction), -ENOEXEC (bad relocation or map),
 * -ENOENT (no such helper), -ELOOP (calls recurse, or nest more than 8 deep), -ENOTSUP,
 * -ENOMEM, or pp_heap_new()'s and pp_alloc()'s. The log names section, offset,
 * instruction and reason.
 */
PP_MUST_USE int pp_bpf_load(struct pp_bpf_object *object);

/*
 * pp_bpf_close - end what pp_bpf_open_*() or pp_bpf_hold() gave; NULL is fine
 *
 * An object that nobody has any more is freed, with its maps and its code, when no pp_bpf_run()
 * that had begun is still running: this waits for that, but not in a program's helper. See
 * progpack_bpf_link.h.
 */
void pp_bpf_close(struct pp_bpf_object *object);

/*
 * Programs: the object's global functions outside .text, or those in it if there are no others.
 * One with several names (aliases) is one program, named by the first of them in the symbol
 * table; each finds it.
 */
struct pp_bpf_prog *pp_bpf_prog_by_name(struct pp_bpf_object *object, const char *name);
struct pp_bpf_prog *pp_bpf_prog_next(struct pp_bpf_object *object, const struct pp_bpf_prog *prev);
const char *pp_bpf_prog_name(const struct pp_bpf_prog *prog);
const char *pp_bpf_prog_section(const struct pp_bpf_prog *prog);

/*
 * struct pp_bpf_packet - what a program that loads from a packet (LD_ABS, LD_IND) has in r6
 *
 * Such a program, as compilers of classic BPF write them, expects in r1 the address of one.
 */
struct pp_bpf_packet {
	const void *data;
	size_t len;
};

/*
 * pp_bpf_run, pp_bpf_interpret - run a loaded program with r1 = @data, r2 = @len
 *
 * pp_bpf_run() executes native code, or interprets where there is none. Both are RCU
 * read-side sections. Once in a thousand or so elements that leave tries and hash maps with
 * BPF_F_NO_PREALLOC, whoever ends a section or calls a map function waits for the runs of other
 * threads, so that the places of these elements can be used again.
 * Return: 0, -EINVAL (not loaded), -EFAULT (a guarded program's bad access), -ETIME (budget),
 * -ELOOP (functions that helpers call nest more than 8 deep).
 */
PP_MUST_USE int pp_bpf_run(const struct pp_bpf_prog *prog, void *data, size_t len,
			   uint64_t *result);
PP_MUST_USE int pp_bpf_interpret(const struct pp_bpf_prog *prog, void *data, size_t len,
				 uint64_t *result);

/*
 * struct pp_bpf_stop - where a run ended with -EFAULT or -ETIME
 * @function, @section: the object's names; @pc: the instruction's slot, counted in the section
 * @address: what was accessed; 0 for -ETIME, and where the machine does not say
 */
struct pp_bpf_stop {
	const char *function, *section;
	uint32_t pc;
	uint64_t address;
};

/* pp_bpf_run_stop - as pp_bpf_run(); @stop is set on -EFAULT and -ETIME only */
PP_MUST_USE int pp_bpf_run_stop(const struct pp_bpf_prog *prog, void *data, size_t len,
				uint64_t *result, struct pp_bpf_stop *stop);

/*
 * pp_bpf_prog_entry - the native function of a program that is trusted without a budget, or NULL
 *
 * For callers who cannot afford pp_bpf_run(): put pp_bpf_enter() and pp_bpf_leave() around
 * one or many calls, in each thread, and leave soon: pp_bpf_close() waits for it.
 */
pp_bpf_entry_fn pp_bpf_prog_entry(const struct pp_bpf_prog *prog);
void pp_bpf_enter(void);
void pp_bpf_leave(void);

/* Bytes of native code of a loaded program, its function alone; 0 where there is none. */
size_t pp_bpf_prog_native_size(const struct pp_bpf_prog *prog);

/* The whole object's native image: 0, or -ENOENT (not loaded or not compiled). */
PP_MUST_USE int pp_bpf_image(const struct pp_bpf_object *object, struct pp_block *image);

/*
 * struct pp_bpf_line - one instruction of a loaded program, for listings
 * @function: name of the function that begins here, or NULL
 * @section: section it comes from; @pc: its instruction slot there
 * @text: as the kernel's disassembler writes it: r0 = *(u32 *)(r1 +4); NULL for a prologue
 * @native, @native_size: its native code; NULL and 0 without PP_BPF_KEEP_LINES or a JIT
 */
struct pp_bpf_line {
	const char *function;
	const char *section;
	uint32_t pc;
	const char *text;
	const uint8_t *native;
	size_t native_size;
};
typedef void (*pp_bpf_line_fn)(void *ctx, const struct pp_bpf_line *line);

/*
 * pp_bpf_prog_lines - list a loaded program, then the functions it calls
 * pp_bpf_lines - list all functions of a loaded object, each once: every program with those
 *	it calls that were not listed before, then those that no program calls
 *
 * Each function gives one line for its prologue (if native code is kept), then one for each
 * instruction. The pointers in a line are good until @fn returns.
 *
 * Return: 0, -EINVAL (not loaded), -ENOMEM.
 */
PP_MUST_USE int pp_bpf_prog_lines(const struct pp_bpf_prog *prog, pp_bpf_line_fn fn, void *ctx);
PP_MUST_USE int pp_bpf_lines(const struct pp_bpf_object *object, pp_bpf_line_fn fn, void *ctx);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
