/* SPDX-License-Identifier: MIT */
#include "heap_test.h"

#include "os/cpu.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum pp_writer test_poke = PP_WRITER_POKE, test_alias = PP_WRITER_ALIAS;

char test_log[4096];

/* Any thread's failure is told. */
static void remember(void *ctx, const char *message)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	size_t used;

	(void)ctx;
	pthread_mutex_lock(&lock);
	used = strlen(test_log);
	if (used + strlen(message) + 2 < sizeof(test_log))
		snprintf(test_log + used, sizeof(test_log) - used, "%s\n", message);
	pthread_mutex_unlock(&lock);
}

struct pp_opts test_opts(enum pp_writer writer, size_t packs)
{
	test_log[0] = 0;
	return (struct pp_opts){
		.size = sizeof(struct pp_opts),
		.writer = writer,
		.reserve = packs * 2 * MIB,
		.log = remember,
	};
}

struct pp_heap *test_heap(enum pp_writer writer, size_t packs)
{
	struct pp_opts opts = test_opts(writer, packs);
	struct pp_heap *heap = NULL;

	if (pp_heap_new(&opts, &heap)) {
		fputs(test_log, stderr);
		return NULL;
	}
	return heap;
}

struct pp_stats test_stats(const struct pp_heap *heap)
{
	struct pp_stats stats = {.size = sizeof(stats)};

	if (pp_stats(heap, &stats))
		abort();
	return stats;
}

/* From the first figure: between the members before it are bytes that nobody sets. */
bool is_same_state(const struct pp_stats *a, const struct pp_stats *b)
{
	const size_t from = offsetof(struct pp_stats, reserved);

	return a->writer == b->writer &&
	       !memcmp(&a->reserved, &b->reserved, offsetof(struct pp_stats, fail_args) - from);
}

void assert_same_state(const struct pp_stats *a, const struct pp_stats *b)
{
	assert_true(is_same_state(a, b));
}

size_t emit_return(void *rw, uint32_t value)
{
#if defined(__x86_64__)
	uint8_t code[] = {0xb8, 0, 0, 0, 0, 0xc3};

	memcpy(code + 1, &value, sizeof(value));
#elif defined(__aarch64__)
	uint32_t code[] = {0x52800000u | (value & 0xffff) << 5, 0x72a00000u | value >> 16 << 5,
			   0xd65f03c0u};
#else /* riscv64: lui, addiw (which adds a signed part), ret */
	uint32_t low = value & 0xfff;
	uint32_t code[] = {((value + 0x800) & 0xfffff000u) | 0x537u, low << 20 | 0x5051bu,
			   0x00008067u};
#endif
	memcpy(rw, code, sizeof(code));
	return sizeof(code);
}

uint32_t call(const void *rx)
{
	uint32_t (*function)(void);

	memcpy(&function, &rx, sizeof(function));
	return function();
}

void *test_block(struct pp_heap *heap, size_t size, uint32_t value)
{
	struct pp_code code;

	if (pp_alloc(heap, size, &code))
		abort();
	emit_return(code.rw, value);
	if (pp_finalize(heap, &code, size))
		abort();
	return code.rx;
}

/* arm64 and riscv64 have no fork system call. */
pid_t raw_fork(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

bool is_traps(const void *bytes, size_t size)
{
	uint8_t traps[PP_CHUNK];
	const uint8_t *at = bytes;

	cpu_fill_traps(traps, sizeof(traps));
	for (size_t i = 0; i < size; i++) {
		if (at[i] != traps[(uintptr_t)&at[i] % 4])
			return false;
	}
	return true;
}

void each_mapping(bool (*see)(const struct mapping *mapping, void *arg), void *arg)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512];

	if (!file)
		abort();
	while (fgets(line, sizeof(line), file)) {
		struct mapping m = {0};

		if (sscanf(line, "%lx-%lx %4s %*x %*s %lu %255[^\n]", &m.lo, &m.hi, m.perms,
			   &m.inode, m.path) < 4)
			abort();
		if (!see(&m, arg))
			break;
	}
	fclose(file);
}

unsigned long smaps_kb(uintptr_t lo, uintptr_t hi, const char *name)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	unsigned long from = 0, to = 0, lo_seen, hi_seen, kb, sum = 0;
	char line[512], key[64];

	if (!file)
		abort();
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &lo_seen, &hi_seen) == 2) {
			from = lo_seen;
			to = hi_seen;
		}
		if (from < lo || to > hi || sscanf(line, "%63[^:]: %lu kB", key, &kb) != 2)
			continue;
		if (!strcmp(key, name))
			sum += kb;
	}
	fclose(file);
	return sum;
}

bool gives_anonymous_huge(void)
{
	char *at = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool given;

	madvise(at, 4 * MIB, MADV_HUGEPAGE);
	memset(at, 1, 4 * MIB);
	given = smaps_kb((uintptr_t)at, (uintptr_t)at + 4 * MIB, "AnonHugePages") > 0;
	munmap(at, 4 * MIB);
	return given;
}
