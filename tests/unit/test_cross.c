/* SPDX-License-Identifier: MIT */
/*
 * test_cross.c - every object that clang compiled for us, by every back-end, on whatever machine;
 * and the size of the code, which is the same wherever it is to lie
 *
 *	objects x arches x { no features, all } x { plain, probing } x ranges x places in them
 */
#include "object_fixture.h"

#include <errno.h>
#include <glob.h>

#include "bpf/prog.h"

#define MIB ((uintptr_t)1 << 20)
#define GIB ((uintptr_t)1 << 30)
#define STAND_IN ((uintptr_t)0x555554000000)
#define ROOM (64 * MIB)
#define OBJECTS_MIN 19 /* that can be loaded */

/* Near what the code calls, before and behind it; and so far away that no branch reaches it. */
enum { RANGES_NEAR = 2, RANGES = 4, PLACES = 3 };
static const uintptr_t ranges[RANGES] = {
	STAND_IN - ROOM,
	STAND_IN + 16 * MIB,
	STAND_IN - 64 * GIB,
	STAND_IN + 64 * GIB,
};

/* Memory for one image at @rx, or at the end of its range if that is 0. */
struct spot {
	struct jit_mem mem;
	uintptr_t rx;
	uint8_t *bytes;
};

static int spot_alloc(void *ctx, size_t size, struct pp_code *code)
{
	struct spot *spot = ctx;
	uintptr_t rx = spot->rx;

	if (!rx)
		rx = (spot->mem.hi - size) / PP_CHUNK * PP_CHUNK;
	spot->bytes = malloc(size);
	if (!spot->bytes)
		return -ENOMEM;
	*code = (struct pp_code){.rx = (void *)rx, .rw = spot->bytes, .size = size};
	return 0;
}

static int spot_finalize(void *ctx, struct pp_code *code, size_t used)
{
	(void)ctx, (void)code, (void)used;
	return 0;
}

static int spot_free(void *ctx, const void *rx)
{
	struct spot *spot = ctx;

	(void)rx;
	free(spot->bytes);
	return 0;
}

static int spot_lookup(const void *ctx, const void *pc, struct pp_block *block)
{
	(void)ctx, (void)pc, (void)block;
	return -ENOENT;
}

static void spot_init(struct spot *spot, uintptr_t lo, int place)
{
	const uintptr_t places[PLACES] = {lo, lo + ROOM / 3 / PP_CHUNK * PP_CHUNK, 0};

	*spot = (struct spot){
		.rx = places[place],
		.mem =
			{
				.ctx = spot,
				.lo = lo,
				.hi = lo + ROOM,
				.alloc = spot_alloc,
				.finalize = spot_finalize,
				.free = spot_free,
				.lookup = spot_lookup,
			},
	};
}

static uint64_t helper_of_host(uint64_t r1, uint64_t r2, uint64_t r3, uint64_t r4, uint64_t r5)
{
	return r1 + r2 + r3 + r4 + r5;
}

static struct pp_bpf_object *open_path(const char *path, unsigned int flags)
{
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object;

	opts.flags = flags | PP_BPF_TRUSTED;
	if (pp_bpf_open_file(path, &opts, &object))
		return NULL;
	assert_int_equal(pp_bpf_register(object, 99, "host_sum", 5, helper_of_host), 0);
	assert_int_equal(pp_bpf_register(object, 70000, "by_number", 1, helper_of_host), 0);
	return object;
}

/* Some are there to be refused. */
static bool can_load(const char *path)
{
	struct pp_bpf_object *object = open_path(path, PP_BPF_NO_JIT);
	bool can = object && !pp_bpf_load(object);

	pp_bpf_close(object);
	return can;
}

/* struct variant - of the code of an object */
struct variant {
	const struct jit_arch *arch;
	unsigned int features, flags;
};

/* The code is in @spot until the object is closed. */
static struct pp_bpf_object *load_at(const char *path, const struct variant *variant,
				     struct spot *spot)
{
	struct pp_bpf_object *object = open_path(path, variant->flags);
	const struct native_for native = {
		.arch = variant->arch,
		.features = variant->features,
		.mem = &spot->mem,
		.stand_in = STAND_IN,
	};
	int err;

	assert_non_null(object);
	err = object_load_for(object, &native);
	if (err)
		fail_msg("%s for %s: error %d: %s", path, variant->arch->name, err, last_reason);
	return object;
}

static struct pp_block image_of(const struct pp_bpf_object *object)
{
	struct pp_block image;

	assert_int_equal(pp_bpf_image(object, &image), 0);
	return image;
}

static size_t size_at(const char *path, const struct variant *variant, uintptr_t lo, int place)
{
	struct pp_bpf_object *object;
	struct pp_block image;
	struct spot spot;

	spot_init(&spot, lo, place);
	object = load_at(path, variant, &spot);
	image = image_of(object);
	assert_true((uintptr_t)image.rx >= lo && (uintptr_t)image.rx < lo + ROOM);
	pp_bpf_close(object);
	return image.size;
}

static void check_sizes(const char *path, const struct variant *variant)
{
	size_t sizes[RANGES];

	for (int range = 0; range < RANGES; range++) {
		sizes[range] = size_at(path, variant, ranges[range], 0);
		assert_true(sizes[range] > 0);
		for (int place = 1; place < PLACES; place++)
			assert_int_equal(size_at(path, variant, ranges[range], place),
					 sizes[range]);
	}
	assert_int_equal(sizes[0], sizes[1]);
	assert_int_equal(sizes[RANGES_NEAR], sizes[RANGES_NEAR + 1]);
	assert_true(sizes[0] <= sizes[RANGES_NEAR]);
}

/* Two that are loaded at a time have their maps, functions and units at different addresses. */
static void check_bytes(const char *path, const struct variant *variant)
{
	struct pp_bpf_object *objects[2];
	struct spot spots[2];

	for (int i = 0; i < 2; i++) {
		spot_init(&spots[i], ranges[0], 0);
		objects[i] = load_at(path, variant, &spots[i]);
	}
	assert_memory_equal(spots[0].bytes, spots[1].bytes, image_of(objects[0]).size);
	for (int i = 0; i < 2; i++)
		pp_bpf_close(objects[i]);
}

static unsigned int all_features(const struct jit_arch *arch)
{
	unsigned int count = 0;

	while (arch->feature_names[count])
		count++;
	return (1u << count) - 1;
}

typedef void (*check_fn)(const char *path, const struct variant *variant);

static void check_arch(const char *path, const struct jit_arch *arch, check_fn check)
{
	const struct variant variants[] = {
		{arch, 0, 0},
		{arch, 0, PP_BPF_PROBE},
		{arch, all_features(arch), 0},
		{arch, all_features(arch), PP_BPF_PROBE},
	};

	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		check(path, &variants[i]);
}

/* Returns how many of them can be loaded. */
static int check_folder(const char *pattern, check_fn check)
{
	glob_t found;
	int checked = 0;

	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (!can_load(found.gl_pathv[i]))
			continue;
		for (size_t a = 0; jit_arches[a]; a++)
			check_arch(found.gl_pathv[i], jit_arches[a], check);
		checked++;
	}
	globfree(&found);
	return checked;
}

static void check_all(check_fn check)
{
	int checked = check_folder(TEST_OBJECTS "/*.bpf.o", check);

	checked += check_folder(BENCH_OBJECTS "/*.elf", check);
	assert_true(checked >= OBJECTS_MIN);
}

static void code_has_one_size_wherever_it_lies(void **state)
{
	(void)state;
	check_all(check_sizes);
}

static void code_has_no_address_of_this_process(void **state)
{
	(void)state;
	check_all(check_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_has_one_size_wherever_it_lies),
		cmocka_unit_test(code_has_no_address_of_this_process),
	};

	return cmocka_run_group_tests_name("cross", tests, NULL, NULL);
}
