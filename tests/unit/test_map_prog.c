/* SPDX-License-Identifier: MIT */
/* test_map_prog.c - every kind of map from programs, on both engines; sharing; ring buffers; fork
 */
#include "object_fixture.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/helper_map.h"
#include "bpf/object.h"

static const struct expected {
	const char *name;
	uint64_t result;
} expected[] = {
	{"use_hash", 15},        {"use_lru", 15},
	{"use_percpu_hash", 15}, {"use_array", 42},
	{"use_percpu_array", 9}, {"use_queue", 123},
	{"use_stack", 321},      {"use_bloom", 3},
	{"use_routes", 2408},    {"use_outer_array", 7},
	{"use_outer_hash", 8},   {"use_ring", 72},
	{"use_for_each", 551},   {"use_odds", 2000 + 1 + (2 << 2) + (3 << 4)},
};

static struct pp_bpf_object *load_maps(void)
{
	const struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object = object_open("maps", &opts);
	uint64_t seven = 7;

	object_load(object);
	assert_int_equal(pp_bpf_map_update(object_map(object, "second"), &(uint32_t){1}, &seven, 0),
			 0);
	return object;
}

static void every_kind_works_on_both_engines(void **state)
{
	(void)state;
	for (int native = 0; native < 2; native++) {
		struct pp_bpf_object *object = load_maps();

		for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
			const char *name = expected[i].name;
			uint64_t got = native ? object_run(object, name, NULL, 0)
					      : object_interpret(object, name, NULL, 0);

			if (got != expected[i].result)
				fail_msg("%s, native %d: %lld", name, native, (long long)got);
		}
		pp_bpf_close(object);
	}
}

/* Calls of the helper that are left in a program. */
static uint32_t count_lookups(struct pp_bpf_object *object, const char *name)
{
	const struct unit *unit = &object->unit;
	const struct func *func = &unit->funcs[pp_bpf_prog_by_name(object, name)->func];
	uint32_t count = 0;

	for (uint32_t i = func->start; i < func->end; i++)
		count += unit->ins[i].kind == INSN_HELPER &&
			 unit->helpers[unit->ins[i].target].id == HELPER_MAP_LOOKUP;
	return count;
}

static void lookups_in_arrays_are_inlined_where_the_map_is_known(void **state)
{
	struct pp_bpf_object *object = load_maps();
	uint8_t data[8] = {0};

	(void)state;
	assert_int_equal(count_lookups(object, "use_array"), 0);
	assert_int_equal(count_lookups(object, "use_odds"), 0);
	assert_int_equal(count_lookups(object, "use_either"), 1);
	assert_true(count_lookups(object, "use_hash") > 0);
	assert_true(count_lookups(object, "use_percpu_array") > 0);
	assert_int_equal(object_run(object, "use_either", data, 8), 0 + 1);
	assert_int_equal(object_run(object, "use_either", data, 4), 7 + 1);
	assert_int_equal(object_interpret(object, "use_either", data, 4), 7 + 1);
	pp_bpf_close(object);
}

static void definitions_may_have_initial_values(void **state)
{
	struct pp_bpf_object *object = load_maps();
	const struct pp_bpf_prog *prog;
	struct pp_bpf_map *inner;
	uint32_t at = 2, id;

	(void)state;
	assert_int_equal(pp_bpf_map_lookup(object_map(object, "outer_array"), &at, &id), 0);
	assert_int_equal(id, pp_bpf_map_id(object_map(object, "second")));
	at = 1;
	assert_int_equal(pp_bpf_map_lookup(object_map(object, "outer_array"), &at, &id), -ENOENT);
	assert_int_equal(pp_bpf_map_get_map(object_map(object, "outer_hash"), &at, &inner), 0);
	assert_int_equal(pp_bpf_map_id(inner), pp_bpf_map_id(object_map(object, "second")));
	assert_int_equal(pp_bpf_map_get_prog(object_map(object, "jumps"), &at, &prog), 0);
	assert_ptr_equal(prog, pp_bpf_prog_by_name(object, "leaf"));
	pp_bpf_close(object);
	/* The handle outlives the object. */
	assert_int_equal(pp_bpf_map_lookup(inner, &at, &(uint64_t){0}), 0);
	pp_bpf_map_free(inner);
}

static void a_map_of_maps_wants_its_like(void **state)
{
	const struct pp_bpf_map_info other_info = {2, 4, 16, 2, 0, 0},
				     same_info = {2, 4, 8, 2, 0, 0};
	struct pp_bpf_object *object = load_maps();
	struct pp_bpf_map *outer = object_map(object, "outer_array"), *other, *same, *got;
	uint32_t at = 3;

	(void)state;
	assert_int_equal(pp_bpf_map_new("other", &other_info, NULL, &other), 0);
	assert_int_equal(pp_bpf_map_new("same", &same_info, NULL, &same), 0);
	assert_int_equal(pp_bpf_map_set_map(outer, &at, other, 0), -EINVAL);
	assert_int_equal(pp_bpf_map_set_map(outer, &at, same, 0), 0);
	pp_bpf_map_free(same);
	assert_int_equal(pp_bpf_map_get_map(outer, &at, &got), 0); /* the place has kept it */
	pp_bpf_map_free(got);
	assert_int_equal(pp_bpf_map_delete(outer, &at), 0);
	assert_int_equal(pp_bpf_map_get_map(outer, &at, &got), -ENOENT);
	pp_bpf_map_free(other);
	pp_bpf_close(object);
}

/* ---- sharing ---- */

static void objects_share_maps_by_name(void **state)
{
	struct pp_bpf_object *one = load_maps(), *two;
	struct pp_bpf_map *const shared[] = {object_map(one, "array"), object_map(one, "first")};
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_map *handle;
	uint32_t key = 7;
	uint64_t value;

	(void)state;
	opts.maps = shared;
	opts.nmaps = 2;
	two = object_open("maps", &opts);
	object_load(two);
	assert_int_equal(pp_bpf_map_share(object_map(two, "array"), &handle), 0);
	pp_bpf_close(one);
	assert_int_equal(object_run(two, "use_array", NULL, 0), 42);
	pp_bpf_close(two);
	assert_int_equal(pp_bpf_map_lookup(handle, &key, &value), 0);
	assert_int_equal(value, 42);
	pp_bpf_map_free(handle);
}

static void maps_that_differ_are_not_shared(void **state)
{
	const struct pp_bpf_map_info info = {2, 4, 8, 9, 0, 0}; /* 9 entries, not 8 */
	struct pp_bpf_opts opts = object_options();
	struct pp_bpf_object *object = object_open("maps", &opts);
	struct pp_bpf_map *map;

	(void)state;
	assert_int_equal(pp_bpf_map_new("array", &info, NULL, &map), 0);
	assert_int_equal(pp_bpf_map_reuse(object_map(object, "array"), map), -EINVAL);
	assert_non_null(strstr(last_reason, "number of entries"));
	object_load(object);
	assert_int_equal(pp_bpf_map_reuse(object_map(object, "array"), map), -EBUSY);
	pp_bpf_close(object);
	pp_bpf_map_free(map);
}

/* ---- ring buffers ---- */

struct seen {
	uint64_t records, sum;
	int give;
};

static int see(void *ctx, void *data, size_t size)
{
	const uint64_t *event = data;
	struct seen *seen = ctx;

	assert_int_equal(size, 16);
	assert_int_equal(event[1], 2 * event[0]);
	seen->records++;
	seen->sum += event[0];
	return seen->give;
}

static void a_consumer_gets_what_was_submitted(void **state)
{
	struct pp_bpf_object *object = load_maps();
	struct pp_bpf_ring *ring, *second;
	struct seen seen = {0};
	struct pollfd fd;

	(void)state;
	assert_int_equal(pp_bpf_ring_new(object_map(object, "array"), see, &seen, &ring), -EINVAL);
	assert_int_equal(pp_bpf_ring_new(object_map(object, "ring"), see, &seen, &ring), 0);
	assert_int_equal(pp_bpf_ring_new(object_map(object, "ring"), see, &seen, &second), -EBUSY);
	fd = (struct pollfd){.fd = pp_bpf_ring_fd(ring), .events = POLLIN};
	assert_int_equal(poll(&fd, 1, 0), 0);
	assert_int_equal(pp_bpf_ring_poll(ring, 0), 0);
	object_run(object, "use_ring", NULL, 0);
	assert_int_equal(poll(&fd, 1, 0), 1);
	assert_int_equal(pp_bpf_ring_consume(ring), 2); /* the discarded one does not count */
	assert_int_equal(seen.sum, 1 + 2);
	seen.give = -EIO;
	object_run(object, "use_ring", NULL, 0);
	assert_int_equal(pp_bpf_ring_consume(ring), -EIO);
	seen.give = 0;
	assert_int_equal(pp_bpf_ring_consume(ring), 1); /* that record was read */
	assert_int_equal(seen.records, 4);
	pp_bpf_ring_free(ring);
	pp_bpf_close(object);
}

/* 4096 bytes hold 85 runs' three records of 24: a consumer that keeps up sees a thousand runs. */
static void a_full_ring_refuses(void **state)
{
	struct pp_bpf_object *object = load_maps();
	struct pp_bpf_ring *ring;
	struct seen seen = {0};
	uint64_t got = 0;

	(void)state;
	assert_int_equal(pp_bpf_ring_new(object_map(object, "ring"), see, &seen, &ring), 0);
	for (int i = 0; i < 1000 && (int)got >= 0; i++)
		got = object_run(object, "use_ring", NULL, 0);
	assert_true((int)got < 0);
	assert_true(pp_bpf_ring_consume(ring) > 0);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(object_run(object, "use_ring", NULL, 0), 72);
		assert_int_equal(pp_bpf_ring_poll(ring, 0), 2);
	}
	pp_bpf_ring_free(ring);
	pp_bpf_close(object);
}

#define PRODUCED 20000

/* @sent: records of a producer; @running: producers */
struct producer {
	const struct pp_bpf_prog *prog;
	pthread_t thread;
	unsigned int *running;
	uint64_t sent;
};

/* The program gives -1 if it had no room at all, -2 for the second record. */
static void *produce(void *arg)
{
	struct producer *producer = arg;
	uint64_t result;

	for (int i = 0; i < PRODUCED && !pp_bpf_run(producer->prog, NULL, 0, &result); i++) {
		if ((int)result != -1)
			producer->sent += (int)result == -2 ? 1 : 2;
	}
	__atomic_sub_fetch(producer->running, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Every record that was submitted arrives, whole, while producers and a consumer run. */
static void a_consumer_waits_for_producers(void **state)
{
	struct pp_bpf_object *object = load_maps();
	struct producer producers[2];
	unsigned int running = 2;
	struct pp_bpf_ring *ring;
	struct seen seen = {0};
	int got = 0;

	(void)state;
	assert_int_equal(pp_bpf_ring_new(object_map(object, "ring"), see, &seen, &ring), 0);
	for (int i = 0; i < 2; i++) {
		producers[i] = (struct producer){
			.prog = pp_bpf_prog_by_name(object, "use_ring"),
			.running = &running,
		};
		assert_int_equal(pthread_create(&producers[i].thread, NULL, produce, &producers[i]),
				 0);
	}
	while (got >= 0 && __atomic_load_n(&running, __ATOMIC_ACQUIRE))
		got = pp_bpf_ring_poll(ring, 1);
	assert_true(got >= 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(producers[i].thread, NULL), 0);
	assert_true(pp_bpf_ring_consume(ring) >= 0);
	assert_int_equal(seen.records, producers[0].sent + producers[1].sent);
	pp_bpf_ring_free(ring);
	pp_bpf_close(object);
}

/* ---- fork ---- */

static bool *stop_churn;

static void *churn(void *arg)
{
	struct pp_bpf_map *map = arg;

	for (uint32_t key = 0; !__atomic_load_n(stop_churn, __ATOMIC_ACQUIRE); key++) {
		uint64_t value = key;
		uint32_t at = key % 8;

		if (pp_bpf_map_update(map, &at, &value, 0) && pp_bpf_map_delete(map, &at))
			break;
	}
	return NULL;
}

/* What a child does with a map that threads of its parent were changing: 0 if all of it works. */
static int use_in_child(struct pp_bpf_object *object)
{
	struct pp_bpf_map *map = object_map(object, "hash");
	uint64_t value = 1, got;
	int failed = 0;

	alarm(60); /* a lock that nobody gives back */
	for (uint32_t key = 0; key < 8; key++) {
		failed += pp_bpf_map_update(map, &key, &value, 0) != 0;
		failed += pp_bpf_map_lookup(map, &key, &got) != 0 || got != value;
	}
	for (uint32_t key = 0; key < 8; key++)
		failed += pp_bpf_map_delete(map, &key) != 0;
	failed += object_run(object, "use_hash", NULL, 0) != 15;
	pp_bpf_close(object);
	return failed;
}

static void children_go_on_with_maps(void **state)
{
	struct pp_bpf_object *object = load_maps();
	bool stop = false;
	pthread_t thread;

	(void)state;
	stop_churn = &stop;
	assert_int_equal(pthread_create(&thread, NULL, churn, object_map(object, "hash")), 0);
	for (int i = 0; i < 30; i++) {
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			_exit(use_in_child(object));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	pp_bpf_close(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_works_on_both_engines),
		cmocka_unit_test(lookups_in_arrays_are_inlined_where_the_map_is_known),
		cmocka_unit_test(definitions_may_have_initial_values),
		cmocka_unit_test(a_map_of_maps_wants_its_like),
		cmocka_unit_test(objects_share_maps_by_name),
		cmocka_unit_test(maps_that_differ_are_not_shared),
		cmocka_unit_test(a_consumer_gets_what_was_submitted),
		cmocka_unit_test(a_full_ring_refuses),
		cmocka_unit_test(a_consumer_waits_for_producers),
		cmocka_unit_test(children_go_on_with_maps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
