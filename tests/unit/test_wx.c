/* SPDX-License-Identifier: MIT */
/*
 * test_wx.c - nothing is ever writable and executable: by the mappings during a run, by a
 * seccomp filter that kills whoever tries, and under PR_SET_MDWE
 */
#include "heap_test.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

static bool see_wx(const struct mapping *m, void *arg)
{
	*(bool *)arg |= strchr(m->perms, 'w') && strchr(m->perms, 'x');
	return true;
}

static bool any_wx(void)
{
	bool found = false;

	each_mapping(see_wx, &found);
	return found;
}

/* All that a heap does, with a look between any two steps; for children too. */
static void run_life(enum pp_writer writer, bool (*is_bad)(void))
{
	struct pp_heap *heap = test_heap(writer, 4);
	struct pp_code code;

	CHECK(heap);
	CHECK(!is_bad());
	CHECK(!pp_alloc(heap, 3000, &code));
	CHECK(!is_bad());
	emit_return(code.rw, 9);
	CHECK(!pp_finalize(heap, &code, 64));
	CHECK(!is_bad());
	CHECK(call(code.rx) == 9);
	CHECK(!pp_free(heap, code.rx));
	CHECK(!pp_alloc(heap, 5 * MIB, &code));
	CHECK(!is_bad());
	memset(code.rw, 1, code.size);
	CHECK(!pp_finalize(heap, &code, code.size));
	CHECK(!is_bad());
	CHECK(!pp_free(heap, code.rx));
	CHECK(!is_bad());
	for (int i = 0; i < 100; i++) { /* a pack grows to its whole */
		CHECK(call(test_block(heap, 16384, 5)) == 5);
		CHECK(!is_bad());
	}
	CHECK(call(test_block(heap, 64, 5)) == 5);
	CHECK(!pp_alloc(heap, 64, &code));
	CHECK(!pp_abort(heap, &code));
	pp_heap_free(heap);
	CHECK(!is_bad());
}

static bool look_away(void)
{
	return false;
}

static void run_and_look(void *writer)
{
	run_life(*(enum pp_writer *)writer, any_wx);
}

static void run_only(void *writer)
{
	run_life(*(enum pp_writer *)writer, look_away);
}

static void no_mapping_is_writable_and_executable(void **state)
{
	assert_int_equal(run_child(run_and_look, *state), 0);
}

#define SYSCALL_IS(number, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, skip)
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)

/* Kill on mmap() with write and exec, and on mprotect() with exec: W^X at each instant, and no
 * turn from W to X either. */
static void forbid_wx(void)
{
	struct sock_filter code[] = {
		LOAD(nr),
		SYSCALL_IS(__NR_mmap, 4),
		LOAD(args[2]),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_WRITE | PROT_EXEC, 4, 0),
		RETURN(SECCOMP_RET_ALLOW),
		SYSCALL_IS(__NR_mprotect, 3),
		LOAD(args[2]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = sizeof(code) / sizeof(*code), .filter = code};

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
}

static void run_filtered(void *writer)
{
	forbid_wx();
	run_only(writer);
}

static void try_wx_filtered(void *arg)
{
	(void)arg;
	forbid_wx();
	mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void try_exec_gain_filtered(void *arg)
{
	(void)arg;
	forbid_wx();
	mprotect(arg, 4096, PROT_READ | PROT_EXEC);
}

static void nobody_even_asks_for_it(void **state)
{
	assert_int_not_equal(run_child(try_wx_filtered, NULL), 0);
	assert_int_not_equal(run_child(try_exec_gain_filtered, NULL), 0);
	assert_int_equal(run_child(run_filtered, *state), 0);
}

static bool has_mdwe(void)
{
	return prctl(PR_SET_MDWE, ~0ul, 0, 0, 0) && errno == EINVAL &&
	       prctl(PR_SET_MDWE + 1, 0, 0, 0, 0) >= 0;
}

static void run_under_mdwe(void *writer)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(!prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0));
	CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) && errno == EACCES);
	run_only(writer);
}

static void works_under_mdwe(void **state)
{
	if (!has_mdwe()) {
		print_message("skipped: this kernel has no PR_SET_MDWE (Linux 6.3)\n");
		skip();
	}
	assert_int_equal(run_child(run_under_mdwe, *state), 0);
}

struct views {
	uintptr_t lo, hi;
	int code, memfds;
	bool private_only;
};

static bool see_view(const struct mapping *m, void *arg)
{
	struct views *views = arg;

	views->memfds += strstr(m->path, "memfd:") != NULL;
	if (m->lo < views->lo || m->hi > views->hi || m->perms[2] != 'x')
		return true;
	views->code++;
	if (strcmp(m->perms, "r-xp") != 0 || m->inode)
		views->private_only = false;
	return true;
}

/* Private anonymous memory has one mapping: no other address shows it. */
static void poke_has_no_writable_view(void **state)
{
	struct pp_heap *heap = test_heap(PP_WRITER_POKE, 4);
	struct views views = {.private_only = true};
	struct pp_code code;

	(void)state;
	test_block(heap, 3 * MIB, 1);
	assert_int_equal(pp_alloc(heap, MIB, &code), 0);
	pp_heap_range(heap, &views.lo, &views.hi);
	each_mapping(see_view, &views);
	assert_true(views.code > 0);
	assert_true(views.private_only);
	assert_int_equal(views.memfds, 0);
	pp_heap_free(heap);
}

static bool see_code(const struct mapping *m, void *arg)
{
	struct mapping *wanted = arg;

	if (wanted->lo < m->lo || wanted->lo >= m->hi)
		return true;
	*wanted = *m;
	return false;
}

/* -1 where the caller may not look there: it takes CAP_CHECKPOINT_RESTORE. */
static int open_map_file(const struct mapping *m)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", m->lo, m->hi);
	return open(path, O_RDWR | O_CLOEXEC);
}

static void assert_not_poked(void *rx)
{
	int fd = os_poke_open();

	assert_true(fd >= 0);
	assert_int_equal(os_poke(fd, rx, "x", 1), -EIO);
	os_close(fd);
}

static void alias_takes_no_new_writer(void **state)
{
	struct pp_heap *heap = test_heap(PP_WRITER_ALIAS, 1);
	void *rx = test_block(heap, 64, 1);
	struct mapping m = {.lo = (uintptr_t)rx};
	int fd;

	(void)state;
	each_mapping(see_code, &m);
	assert_string_equal(m.perms, "r-xs");
	assert_int_equal(mprotect(rx, 4096, PROT_READ | PROT_WRITE) ? errno : 0, EACCES);
	assert_not_poked(rx);
	fd = open_map_file(&m);
	if (fd < 0) {
		print_message("not tested here: /proc/self/map_files: %s\n", strerror(errno));
	} else {
		void *view = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		assert_ptr_equal(view, MAP_FAILED);
		assert_int_equal(errno, EPERM);
		assert_int_equal(write(fd, "x", 1) < 0 ? errno : 0, EPERM);
		close(fd);
	}
	assert_int_equal(call(rx), 1);
	pp_heap_free(heap);
}

static bool see_alias(const struct mapping *m, void *arg)
{
	if (strcmp(m->perms, "rw-s") != 0 || !strstr(m->path, "memfd:progpack"))
		return true;
	*(uintptr_t *)arg = m->lo;
	return false;
}

/* Nothing in the process's layout tells where the write view is: it is drawn each time. */
static void alias_is_at_a_random_address(void **state)
{
	uintptr_t seen[2] = {0};
	uint64_t apart;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct pp_heap *heap = test_heap(PP_WRITER_ALIAS, 1);

		each_mapping(see_alias, &seen[i]);
		assert_int_not_equal(seen[i], 0);
		pp_heap_free(heap);
	}
	apart = seen[0] > seen[1] ? seen[0] - seen[1] : seen[1] - seen[0];
	if (UNDER_SANITIZER)
		print_message("not tested here: sanitizers choose the addresses\n");
	else
		assert_true(apart > 16 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_WRITER(no_mapping_is_writable_and_executable),
		EACH_WRITER(nobody_even_asks_for_it),
		EACH_WRITER(works_under_mdwe),
		cmocka_unit_test(poke_has_no_writable_view),
		cmocka_unit_test(alias_takes_no_new_writer),
		cmocka_unit_test(alias_is_at_a_random_address),
	};

	return cmocka_run_group_tests_name("wx", tests, NULL, NULL);
}
