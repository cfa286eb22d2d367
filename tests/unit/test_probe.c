/* SPDX-License-Identifier: MIT */
/*
 * test_probe.c - a heap exists only if code was written, read back and run: here the code that
 * runs gives another value, or what is written does not arrive
 *
 * By --wrap, in children: a probe that does not look would run what is not code.
 */
#include "heap_test.h"
#include "os/cpu.h"
#include "os/os.h"

#include <errno.h>

const uint8_t *__real_cpu_probe_code(size_t *size);
const uint8_t *__wrap_cpu_probe_code(size_t *size);
int __real_os_poke(int fd, void *at, const void *from, size_t size);
int __wrap_os_poke(int fd, void *at, const void *from, size_t size);
int __real_os_map_file_rw(int fd, size_t size, void **rw);
int __wrap_os_map_file_rw(int fd, size_t size, void **rw);

static bool runs_wrong, loses_writes;

const uint8_t *__wrap_cpu_probe_code(size_t *size)
{
	static uint8_t wrong[PP_CHUNK];

	if (!runs_wrong)
		return __real_cpu_probe_code(size);
	*size = emit_return(wrong, CPU_PROBE_VALUE + 1);
	return wrong;
}

int __wrap_os_poke(int fd, void *at, const void *from, size_t size)
{
	return loses_writes ? 0 : __real_os_poke(fd, at, from, size);
}

/* A view of its own, as of another file. */
int __wrap_os_map_file_rw(int fd, size_t size, void **rw)
{
	return loses_writes ? os_map_rw(size, rw) : __real_os_map_file_rw(fd, size, rw);
}

static void no_heap(enum pp_writer writer, const char *reason)
{
	struct pp_heap *heap = (void *)&runs_wrong, *untouched = heap;
	struct pp_opts opts = test_opts(writer, 1);
	char line[64];

	CHECK(pp_heap_new(&opts, &heap) == -EIO);
	CHECK(heap == untouched);
	CHECK(strstr(test_log, reason));
	snprintf(line, sizeof(line), "writer %s does not work here: ", pp_writer_name(writer));
	CHECK(writer == PP_WRITER_AUTO || strstr(test_log, line));
}

static void run_wrong(void *writer)
{
	runs_wrong = true;
	no_heap(*(enum pp_writer *)writer, "code that was written ran wrong\n");
	no_heap(PP_WRITER_AUTO, "writer alias does not work here: ");
	runs_wrong = false;
	pp_heap_free(test_heap(*(enum pp_writer *)writer, 1));
}

static void code_that_runs_wrong_is_noticed(void **state)
{
	assert_int_equal(run_child(run_wrong, *state), 0);
}

static void lose_writes(void *writer)
{
	loses_writes = true;
	no_heap(*(enum pp_writer *)writer, "what was written did not arrive\n");
	loses_writes = false;
	pp_heap_free(test_heap(*(enum pp_writer *)writer, 1));
}

static void code_that_does_not_arrive_is_not_run(void **state)
{
	assert_int_equal(run_child(lose_writes, *state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_WRITER(code_that_runs_wrong_is_noticed),
		EACH_WRITER(code_that_does_not_arrive_is_not_run),
	};

	return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
