/* SPDX-License-Identifier: MIT */
/*
 * replace.c - a new version of a program takes the old one's place while threads call it
 *
 * Callers know a link. Each version is an object that belongs to the link alone: it goes by itself
 * when the next one is there and the last of its runs has ended.
 */
#include <progpack_bpf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#define CALLERS 2
#define VERSIONS 100

static struct pp_bpf_link *service;
static bool stop;

/* r0 = VERSION; exit */
static struct pp_bpf_object *load(uint8_t version)
{
	const uint8_t code[] = {0xb7, 0, 0, 0, version, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0};
	struct pp_bpf_object *object;

	if (pp_bpf_open_raw(code, sizeof(code), NULL, &object))
		return NULL;
	if (!pp_bpf_load(object))
		return object;
	pp_bpf_close(object);
	return NULL;
}

/* Versions only grow: whoever saw one never sees one from before it. */
static void *call_on(void *arg)
{
	uint64_t *lost = arg, seen = 1, version;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		if (pp_bpf_link_run(service, NULL, 0, &version) || version < seen)
			++*lost;
		else
			seen = version;
	}
	return NULL;
}

static int replace(uint8_t version)
{
	struct pp_bpf_object *object = load(version);
	int err;

	if (!object)
		return -1;
	err = pp_bpf_link_update(service, pp_bpf_prog_by_name(object, "main"), NULL);
	pp_bpf_close(object); /* the link has it */
	return err;
}

int main(void)
{
	struct pp_bpf_object *first = load(1);
	uint64_t lost[CALLERS] = {0}, last, sum = 0;
	pthread_t callers[CALLERS];

	if (!first || pp_bpf_link_new(pp_bpf_prog_by_name(first, "main"), &service))
		return 1;
	pp_bpf_close(first);
	for (int i = 0; i < CALLERS; i++) {
		if (pthread_create(&callers[i], NULL, call_on, &lost[i]))
			return 1;
	}
	for (uint8_t version = 2; version <= VERSIONS; version++) {
		if (replace(version))
			return 1;
	}
	if (pp_bpf_link_run(service, NULL, 0, &last))
		return 1;
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (int i = 0; i < CALLERS; i++) {
		pthread_join(callers[i], NULL);
		sum += lost[i];
	}
	pp_bpf_link_free(service);
	printf("version %llu, %llu calls lost\n", (unsigned long long)last,
	       (unsigned long long)sum);
	return 0;
}
