/* SPDX-License-Identifier: MIT */
/*
 * test_hardened.c - a whole object, loaded and run where nothing may be writable and
 * executable: by the mappings while its program runs, and under PR_SET_MDWE
 */
#include <stdio.h>
#include <sys/prctl.h>

#include "heap_test.h"
#include "object_fixture.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_GET_MDWE 66
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

#define AUDIT 1000 /* the helper below */

/* What the audit saw: the mapping that the calling program runs in, and any that is W and X. */
static struct audit {
	const void *image;
	bool any_wx;
	unsigned long image_inode;
	char image_perms[5];
} audit;

static bool see(const struct mapping *m, void *arg)
{
	uintptr_t image = (uintptr_t)audit.image;

	(void)arg;
	audit.any_wx |= strchr(m->perms, 'w') && strchr(m->perms, 'x');
	if (image >= m->lo && image < m->hi) {
		audit.image_inode = m->inode;
		memcpy(audit.image_perms, m->perms, sizeof(audit.image_perms));
	}
	return true;
}

static uint64_t look_at_mappings(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	(void)a, (void)b, (void)c, (void)d, (void)e;
	each_mapping(see, NULL);
	return 7;
}

/* call 1000; exit */
static const uint8_t audited[] = {
	0x85, 0, 0, 0, 0xe8, 0x03, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0,
};

static struct pp_bpf_object *load_audited(struct pp_heap *heap)
{
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;

	opts.heap = heap;
	assert_int_equal(pp_bpf_open_raw(audited, sizeof(audited), &opts, &object), 0);
	assert_int_equal(pp_bpf_register(object, AUDIT, "audit", 0, look_at_mappings), 0);
	object_load(object);
	return object;
}

static void no_mapping_is_wx_while_a_program_runs(void **state)
{
	struct pp_heap *heap = test_heap(WRITER(state), 4);
	struct pp_bpf_object *object = load_audited(heap);
	struct pp_block image;

	if (pp_bpf_image(object, &image)) {
		pp_bpf_close(object);
		pp_heap_free(heap);
		print_message("skipped: no JIT for this machine\n");
		skip();
	}
	audit = (struct audit){.image = image.rx};
	assert_int_equal(object_run(object, "main", NULL, 0), 7);
	assert_false(audit.any_wx);
	/* poke: private memory without a file, so that no second view of it can exist */
	assert_string_equal(audit.image_perms, WRITER(state) == PP_WRITER_POKE ? "r-xp" : "r-xs");
	assert_int_equal(audit.image_inode == 0, WRITER(state) == PP_WRITER_POKE);
	pp_bpf_close(object);
	pp_heap_free(heap);
}

static void run_object_under_mdwe(void *arg)
{
	enum pp_writer writer = *(enum pp_writer *)arg;
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;
	struct pp_bpf_prog *prog;
	uint64_t native, interpreted;

	CHECK(!prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0));
	opts.heap = test_heap(writer, 4);
	CHECK(opts.heap);
	object = object_open("whole", &opts);
	CHECK(!pp_bpf_load(object));
	prog = pp_bpf_prog_by_name(object, "maps");
	CHECK(prog);
	CHECK(!pp_bpf_run(prog, NULL, 9, &native));
	CHECK(native == 200 + 18);
	CHECK(!pp_bpf_interpret(prog, NULL, 9, &interpreted));
	pp_bpf_close(object);
	pp_heap_free(opts.heap);
}

static void works_under_mdwe(void **state)
{
	if (prctl(PR_GET_MDWE, 0, 0, 0, 0) < 0) {
		print_message("skipped: this kernel has no PR_SET_MDWE (Linux 6.3)\n");
		skip();
	}
	assert_int_equal(run_child(run_object_under_mdwe, *state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH_WRITER(no_mapping_is_wx_while_a_program_runs),
		EACH_WRITER(works_under_mdwe),
	};

	return cmocka_run_group_tests_name("hardened", tests, NULL, NULL);
}
