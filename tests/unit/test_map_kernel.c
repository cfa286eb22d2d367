/* SPDX-License-Identifier: MIT */
/*
 * test_map_kernel.c - the same operations on our maps and on the kernel's: the same results
 *
 * Each script runs on one side and leaves a transcript: every result, and every value read. The
 * sides' transcripts must be equal. Where bpf() is not allowed, this is skipped: the other tests of
 * maps have the values that were seen here.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/map.h"
#include "map_fixture.h"

/* What a side did. */
struct transcript {
	char text[1 << 16];
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void note(struct transcript *to, const char *format,
						       ...)
{
	va_list args;

	va_start(args, format);
	to->len += (size_t)vsnprintf(to->text + to->len, sizeof(to->text) - to->len, format, args);
	va_end(args);
	assert_true(to->len < sizeof(to->text));
}

typedef void (*script_fn)(bool kernel, struct transcript *to);

/* The line in which the transcripts begin to differ, for the message. */
static void assert_same(const struct transcript *ours, const struct transcript *kernel)
{
	size_t at = 0, line = 0;

	while (ours->text[at] && ours->text[at] == kernel->text[at]) {
		if (ours->text[at++] == '\n')
			line = at;
	}
	if (ours->len != kernel->len || at != ours->len)
		fail_msg("ours: '%.*s'  kernel: '%.*s'", (int)strcspn(ours->text + line, "\n"),
			 ours->text + line, (int)strcspn(kernel->text + line, "\n"),
			 kernel->text + line);
}

static void compare(script_fn script)
{
	static struct transcript ours, kernel;
	int err = map_kernel_open();

	if (err) {
		print_message("skipped: the kernel does not let us make maps: %s\n",
			      strerror(-err));
		skip();
	}
	ours.len = kernel.len = 0;
	ours.text[0] = kernel.text[0] = 0;
	script(false, &ours);
	script(true, &kernel);
	assert_same(&ours, &kernel);
}

/* ---- creation ---- */

static void try_new(bool kernel, struct transcript *to, struct pp_bpf_map_info info)
{
	struct map_side side;
	int err = side_new(&side, kernel, &info, NULL);

	note(to, "new type %u key %u value %u entries %u flags 0x%x extra %u: %d\n", info.type,
	     info.key_size, info.value_size, info.max_entries, info.flags, (unsigned int)info.extra,
	     err);
	side_free(&side);
}

static const struct pp_bpf_map_info kinds[] = {
	{MAP_TYPE_HASH, 8, 8, 4, 0, 0},
	{MAP_TYPE_ARRAY, 4, 8, 4, 0, 0},
	{MAP_TYPE_PROG_ARRAY, 4, 4, 4, 0, 0},
	{MAP_TYPE_PERCPU_HASH, 8, 8, 4, 0, 0},
	{MAP_TYPE_PERCPU_ARRAY, 4, 8, 4, 0, 0},
	{MAP_TYPE_LRU_HASH, 8, 8, 4, 0, 0},
	{MAP_TYPE_LRU_PERCPU_HASH, 8, 8, 4, 0, 0},
	{MAP_TYPE_LPM_TRIE, 8, 8, 4, MAP_NO_PREALLOC, 0},
	{MAP_TYPE_QUEUE, 0, 8, 4, 0, 0},
	{MAP_TYPE_STACK, 0, 8, 4, 0, 0},
	{MAP_TYPE_RINGBUF, 0, 0, 4096, 0, 0},
	{MAP_TYPE_BLOOM_FILTER, 0, 8, 4, 0, 0},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Numbers that sizes and entries are replaced with. */
static const uint32_t sizes[] = {0,         1,
				 3,         4,
				 5,         6,
				 260,       261,
				 512,       32768,
				 32769,     4096,
				 12288,     (4u << 20) - 128,
				 4u << 20,  (4u << 20) + 1,
				 UINT32_MAX};

static void definitions(bool kernel, struct transcript *to)
{
	for (size_t k = 0; k < KINDS; k++) {
		struct pp_bpf_map_info info = kinds[k];

		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			info = kinds[k];
			info.key_size = sizes[i];
			try_new(kernel, to, info);
			info = kinds[k];
			info.value_size = sizes[i];
			/* Tens of MiB that nobody touches are not what this is about. */
			info.max_entries = kinds[k].type == MAP_TYPE_RINGBUF ? 4096 : 1;
			try_new(kernel, to, info);
		}
		for (unsigned int bit = 0; bit < 13; bit++) {
			info = kinds[k];
			info.flags ^= 1u << bit;
			if (1u << bit != MAP_NUMA_NODE)
				try_new(kernel, to, info);
		}
		info = kinds[k];
		info.flags |= MAP_RDONLY | MAP_WRONLY;
		try_new(kernel, to, info);
		info = kinds[k];
		info.flags |= MAP_RDONLY_PROG | MAP_WRONLY_PROG;
		try_new(kernel, to, info);
		info = kinds[k];
		info.max_entries = 0;
		try_new(kernel, to, info);
		info.max_entries = 6000; /* no power of two */
		try_new(kernel, to, info);
		info = kinds[k];
		info.extra = 3;
		try_new(kernel, to, info);
		info.extra = 16;
		try_new(kernel, to, info);
	}
}

static void definitions_are_refused_alike(void **state)
{
	(void)state;
	compare(definitions);
}

/* ---- elements, of types with keys ---- */

#define VALUES 64 /* room for a value of each CPU */

static void fill(uint64_t *value, uint64_t with)
{
	for (size_t i = 0; i < VALUES; i++)
		value[i] = with;
}

/* A small number as key: of tries a prefix of 32 bits that begins with it. */
static void make_key(uint32_t type, uint32_t number, uint8_t key[8])
{
	const uint32_t bits = 32;

	memset(key, 0, 8);
	if (type == MAP_TYPE_LPM_TRIE) {
		memcpy(key, &bits, sizeof(bits));
		key[4] = (uint8_t)number;
	} else {
		memcpy(key, &number, sizeof(number));
	}
}

static void one_operation(const struct map_side *side, uint32_t type, uint32_t random,
			  struct transcript *to)
{
	uint64_t value[VALUES] = {0};
	uint32_t number = random % 7;
	uint64_t flags = (random >> 8) % 5;
	uint8_t key[8], next[8] = {0};
	int err;

	make_key(type, number, key);
	switch ((random >> 16) % 8) {
	case 0:
	case 1:
	case 2:
		fill(value, random >> 4);
		note(to, "update %u flags %u: %d\n", number, (unsigned int)flags,
		     side_update(side, key, value, flags));
		return;
	case 3: note(to, "delete %u: %d\n", number, side_delete(side, key)); return;
	case 4:
		err = side_take(side, key, value);
		note(to, "take %u: %d %llu\n", number, err, err ? 0 : (unsigned long long)value[0]);
		return;
	case 5:
		err = side_next(side, key, next);
		/* The order in hash maps is nobody's business. */
		note(to, "next %u: %d\n", number, type == MAP_TYPE_ARRAY ? err : err > 0);
		return;
	default:
		err = side_lookup(side, key, value, 0);
		note(to, "lookup %u: %d %llu %llu\n", number, err,
		     err ? 0 : (unsigned long long)value[0],
		     err ? 0 : (unsigned long long)value[pp_bpf_map_cpus() - 1]);
	}
}

static void operations_on(bool kernel, struct transcript *to, size_t k)
{
	struct pp_bpf_map_info info = kinds[k];
	uint32_t random = 2463534242u;
	struct map_side side;

	assert_int_equal(side_new(&side, kernel, &info, NULL), 0);
	for (int i = 0; i < 600; i++) {
		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
		one_operation(&side, info.type, random, to);
	}
	side_free(&side);
}

/* Not LRU maps, full: whom they evict is theirs to choose. */
static void operations(bool kernel, struct transcript *to)
{
	static const uint32_t types[] = {MAP_TYPE_HASH, MAP_TYPE_ARRAY, MAP_TYPE_PERCPU_HASH,
					 MAP_TYPE_PERCPU_ARRAY, MAP_TYPE_LPM_TRIE};

	assert_true(pp_bpf_map_cpus() <= VALUES);
	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		note(to, "type %u\n", types[t]);
		for (size_t k = 0; k < KINDS; k++) {
			if (kinds[k].type == types[t])
				operations_on(kernel, to, k);
		}
	}
}

static void elements_come_and_go_alike(void **state)
{
	(void)state;
	compare(operations);
}

/* ---- tries: order and longest prefixes, with prefixes of all lengths ---- */

struct prefix {
	uint32_t bits;
	uint8_t data[4];
};

static struct prefix random_prefix(uint32_t random)
{
	/* Few bits vary, so that prefixes contain each other. */
	return (struct prefix){random % 34,
			       {(uint8_t)(random >> 8 & 0xc1), (uint8_t)(random >> 16 & 0x80),
				(uint8_t)(random >> 20 & 3), 0}};
}

static void walk_trie(const struct map_side *side, struct transcript *to)
{
	struct prefix key;
	int err = side_next(side, NULL, &key);

	for (int i = 0; !err && i < 64; i++) {
		note(to, "  key /%u %02x%02x%02x%02x\n", key.bits, key.data[0], key.data[1],
		     key.data[2], key.data[3]);
		err = side_next(side, &key, &key);
	}
	note(to, "  end %d\n", err);
}

static void trie(bool kernel, struct transcript *to)
{
	const struct pp_bpf_map_info info = {MAP_TYPE_LPM_TRIE, 8, 8, 20, MAP_NO_PREALLOC, 0};
	uint32_t random = 88675123u;
	struct map_side side;
	uint64_t value;

	assert_int_equal(side_new(&side, kernel, &info, NULL), 0);
	for (int i = 0; i < 1500; i++) {
		struct prefix key;
		int err;

		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
		key = random_prefix(random);
		value = random;
		switch (random >> 28) {
		case 0:
		case 1:
		case 2:
		case 3:
		case 4:
			note(to, "update /%u: %d\n", key.bits,
			     side_update(&side, &key, &value, (random >> 24) % 4));
			break;
		case 5:
		case 6:
		case 7: note(to, "delete /%u: %d\n", key.bits, side_delete(&side, &key)); break;
		default:
			value = 0;
			err = side_lookup(&side, &key, &value, 0);
			note(to, "lookup /%u: %d %llx\n", key.bits, err,
			     err ? 0 : (unsigned long long)value);
		}
		if (i % 100 == 0)
			walk_trie(&side, to);
	}
	side_free(&side);
}

static void tries_agree(void **state)
{
	(void)state;
	compare(trie);
}

/* ---- queues, stacks, bloom filters, ring buffers ---- */

static void keyless_on(bool kernel, struct transcript *to, const struct pp_bpf_map_info *info)
{
	struct map_side side;
	uint64_t value, key = 0;

	note(to, "type %u\n", info->type);
	assert_int_equal(side_new(&side, kernel, info, NULL), 0);
	for (uint64_t flags = 0; flags < 4; flags++) {
		value = 100 + flags;
		note(to, "push flags %u: %d\n", (unsigned int)flags,
		     side_update(&side, NULL, &value, flags));
	}
	value = 100;
	note(to, "peek: %d", side_lookup(&side, NULL, &value, 0));
	note(to, " %llu\n", (unsigned long long)value);
	for (uint64_t i = 0; i < 6; i++) {
		note(to, "push: %d\n", side_update(&side, NULL, &i, MAP_ANY));
		note(to, "push over: %d\n", side_update(&side, NULL, &i, MAP_EXIST));
	}
	for (int i = 0; i < 6; i++) {
		value = 7;
		note(to, "pop: %d", side_take(&side, NULL, &value));
		note(to, " %llu\n", (unsigned long long)value);
	}
	note(to, "delete: %d\n", side_delete(&side, NULL));
	note(to, "next: %d\n", side_next(&side, NULL, &key));
	side_free(&side);
}

static void keyless(bool kernel, struct transcript *to)
{
	for (size_t k = 0; k < KINDS; k++) {
		if (kinds[k].type >= MAP_TYPE_QUEUE && kinds[k].type != MAP_TYPE_RINGBUF)
			keyless_on(kernel, to, &kinds[k]);
	}
}

static void maps_without_keys_agree(void **state)
{
	(void)state;
	compare(keyless);
}

/* ---- maps of maps ---- */

static void of_maps_on(bool kernel, struct transcript *to, uint32_t type)
{
	static const struct pp_bpf_map_info others[] = {
		{MAP_TYPE_ARRAY, 4, 8, 4, 0, 0},  {MAP_TYPE_ARRAY, 4, 8, 5, 0, 0},
		{MAP_TYPE_ARRAY, 4, 16, 4, 0, 0}, {MAP_TYPE_HASH, 4, 8, 4, 0, 0},
		{MAP_TYPE_HASH, 4, 8, 5, 0, 0},   {MAP_TYPE_HASH, 4, 8, 4, MAP_NO_PREALLOC, 0},
	};
	static const size_t likes[] = {0, 3};

	for (size_t l = 0; l < 2; l++) {
		const struct pp_bpf_map_info info = {type, 4, 4, 2, 0, 0};
		struct map_side like, outer;
		uint32_t key, value = 0;

		assert_int_equal(side_new(&like, kernel, &others[likes[l]], NULL), 0);
		assert_int_equal(side_new(&outer, kernel, &info, &like), 0);
		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
			struct map_side inner;

			assert_int_equal(side_new(&inner, kernel, &others[i], NULL), 0);
			for (uint64_t flags = 0; flags < 4; flags++) {
				for (key = 0; key < 4; key++)
					note(to, "%zu into %u flags %u: %d\n", i, key,
					     (unsigned int)flags,
					     side_set_map(&outer, &key, &inner, flags));
			}
			side_free(&inner);
		}
		for (key = 0; key < 4; key++) {
			note(to, "lookup %u: %d\n", key, side_lookup(&outer, &key, &value, 0));
			note(to, "delete %u: %d\n", key, side_delete(&outer, &key));
			note(to, "delete %u: %d\n", key, side_delete(&outer, &key));
			note(to, "lookup %u: %d\n", key, side_lookup(&outer, &key, &value, 0));
			note(to, "take %u: %d\n", key, side_take(&outer, &key, &value));
			note(to, "next %u: %d\n", key, side_next(&outer, &key, &value));
		}
		side_free(&outer);
		side_free(&like);
	}
}

static void of_maps(bool kernel, struct transcript *to)
{
	of_maps_on(kernel, to, MAP_TYPE_ARRAY_OF_MAPS);
	of_maps_on(kernel, to, MAP_TYPE_HASH_OF_MAPS);
}

static void maps_of_maps_agree(void **state)
{
	(void)state;
	compare(of_maps);
}

static void inners(bool kernel, struct transcript *to)
{
	static const uint32_t types[] = {MAP_TYPE_ARRAY_OF_MAPS, MAP_TYPE_HASH_OF_MAPS};

	for (size_t t = 0; t < 2; t++) {
		const struct pp_bpf_map_info info = {types[t], 4, 4, 2, 0, 0};
		struct map_side outer, nested;

		note(to, "without: %d\n", side_new(&outer, kernel, &info, NULL));
		side_free(&outer);
		for (size_t k = 0; k < KINDS; k++) {
			struct map_side inner;

			assert_int_equal(side_new(&inner, kernel, &kinds[k], NULL), 0);
			note(to, "with type %u: %d\n", kinds[k].type,
			     side_new(&outer, kernel, &info, &inner));
			if (kinds[k].type == MAP_TYPE_ARRAY) {
				note(to, "nested: %d\n", side_new(&nested, kernel, &info, &outer));
				side_free(&nested);
			}
			side_free(&outer);
			side_free(&inner);
		}
	}
}

static void inner_maps_are_refused_alike(void **state)
{
	(void)state;
	compare(inners);
}

/* ---- rights, and freezing ---- */

static void rights(bool kernel, struct transcript *to)
{
	static const uint32_t flags[] = {MAP_RDONLY, MAP_WRONLY, MAP_RDONLY_PROG, MAP_WRONLY_PROG};

	for (size_t f = 0; f < 5; f++) {
		struct pp_bpf_map_info info = {MAP_TYPE_HASH, 4, 4, 4, 0, 0};
		uint32_t key = 1, value = 2;
		struct map_side side;

		info.flags = f < 4 ? flags[f] : 0;
		assert_int_equal(side_new(&side, kernel, &info, NULL), 0);
		if (f == 4)
			note(to, "freeze: %d\n", side_freeze(&side));
		note(to, "flags 0x%x\n", info.flags);
		note(to, "update: %d\n", side_update(&side, &key, &value, 0));
		note(to, "lookup: %d\n", side_lookup(&side, &key, &value, 0));
		note(to, "next: %d\n", side_next(&side, NULL, &key));
		note(to, "take: %d\n", side_take(&side, &key, &value));
		note(to, "delete: %d\n", side_delete(&side, &key));
		note(to, "freeze: %d\n", f == 4 ? side_freeze(&side) : 0);
		side_free(&side);
	}
}

static void rights_are_kept_alike(void **state)
{
	(void)state;
	compare(rights);
}

/* ---- batches ---- */

static int by_number(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

/* What calls of @room elements each read, in all. */
static void read_in_batches(const struct map_side *side, enum side_batch what, uint32_t room,
			    struct transcript *to)
{
	uint32_t keys[64], seen[256], at = 0, count = 0;
	uint64_t values[64 * VALUES];
	struct pp_bpf_batch batch = {.out = &at, .keys = keys, .values = values};
	int err = 0;

	for (int calls = 0; !err && calls < 100; calls++) {
		batch.count = room;
		err = side_batch(side, what, &batch);
		for (uint32_t i = 0; (!err || err == -ENOENT) && i < batch.count; i++)
			seen[count++] = keys[i];
		batch.in = &at;
	}
	qsort(seen, count, sizeof(seen[0]), by_number);
	note(to, "read by %u: %d, %u:", room, err, count);
	for (uint32_t i = 0; i < count; i++)
		note(to, " %u", seen[i]);
	note(to, "\n");
}

static void batches_on(bool kernel, struct transcript *to, const struct pp_bpf_map_info *info)
{
	struct map_side side;
	uint32_t keys[24];
	uint64_t values[24 * VALUES] = {0};
	struct pp_bpf_batch batch = {.keys = keys, .values = values, .count = 24};

	note(to, "type %u\n", info->type);
	assert_int_equal(side_new(&side, kernel, info, NULL), 0);
	for (uint32_t i = 0; i < 24; i++)
		keys[i] = i;
	note(to, "update: %d", side_batch(&side, SIDE_UPDATE, &batch));
	note(to, " %u\n", batch.count);
	read_in_batches(&side, SIDE_LOOKUP, 64, to);
	read_in_batches(&side, SIDE_LOOKUP, 20, to);
	batch.count = 3;
	note(to, "delete: %d", side_batch(&side, SIDE_DELETE, &batch));
	note(to, " %u\n", batch.count);
	batch.count = 4; /* of which three are gone */
	note(to, "delete: %d", side_batch(&side, SIDE_DELETE, &batch));
	note(to, " %u\n", batch.count);
	batch.count = 0;
	note(to, "none: %d %d\n", side_batch(&side, SIDE_LOOKUP, &batch),
	     side_batch(&side, SIDE_UPDATE, &batch));
	read_in_batches(&side, SIDE_TAKE, 20, to);
	read_in_batches(&side, SIDE_LOOKUP, 20, to);
	side_free(&side);
}

static void batches(bool kernel, struct transcript *to)
{
	static const struct pp_bpf_map_info infos[] = {
		{MAP_TYPE_HASH, 4, 8, 22, 0, 0},        {MAP_TYPE_ARRAY, 4, 8, 22, 0, 0},
		{MAP_TYPE_PERCPU_HASH, 4, 8, 22, 0, 0}, {MAP_TYPE_PERCPU_ARRAY, 4, 8, 22, 0, 0},
		{MAP_TYPE_QUEUE, 0, 8, 22, 0, 0},       {MAP_TYPE_RINGBUF, 0, 0, 4096, 0, 0},
		{MAP_TYPE_PROG_ARRAY, 4, 4, 22, 0, 0},
	};

	for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]); i++)
		batches_on(kernel, to, &infos[i]);
}

static void batches_agree(void **state)
{
	(void)state;
	compare(batches);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(definitions_are_refused_alike),
		cmocka_unit_test(elements_come_and_go_alike),
		cmocka_unit_test(tries_agree),
		cmocka_unit_test(maps_without_keys_agree),
		cmocka_unit_test(maps_of_maps_agree),
		cmocka_unit_test(inner_maps_are_refused_alike),
		cmocka_unit_test(rights_are_kept_alike),
		cmocka_unit_test(batches_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
