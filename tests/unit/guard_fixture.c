/* SPDX-License-Identifier: MIT */
#include "guard_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm.h"

const unsigned int engines[NENGINES] = {PP_BPF_NO_JIT, 0};

char guard_reason[256];

static void complain(void *ctx, const char *message)
{
	(void)ctx;
	fprintf(stderr, "# %s\n", message);
}

static void keep(void *ctx, const char *message)
{
	(void)ctx;
	snprintf(guard_reason, sizeof(guard_reason), "%s", message);
}

struct pp_bpf_object *guard_open_budget(const char *text, unsigned int flags, uint64_t budget)
{
	const struct pp_bpf_opts opts = {.size = sizeof(opts),
					 .flags = flags,
					 .budget = budget,
					 .log = keep};
	const struct log log = {complain, NULL};
	struct pp_bpf_object *object;
	uint32_t nslots;
	uint8_t *slots;

	if (asm_text(text, 1, &log, &slots, &nslots))
		fail_msg("does not assemble: %s", text);
	assert_int_equal(pp_bpf_open_raw(slots, (size_t)nslots * 8, &opts, &object), 0);
	free(slots);
	return object;
}

struct pp_bpf_object *guard_open(const char *text, unsigned int flags)
{
	return guard_open_budget(text, flags, 0);
}

struct ran guard_run(struct pp_bpf_object *object, void *data, size_t len)
{
	const struct pp_bpf_prog *prog = pp_bpf_prog_by_name(object, "main");
	struct ran ran = {.result = UNTOUCHED};

	ran.err = pp_bpf_run_stop(prog, data, len, &ran.result, &ran.stop);
	return ran;
}

/* Names are the object's, which goes. */
static const char *kept(char *room, size_t size, const char *name)
{
	snprintf(room, size, "%s", name ? name : "");
	return room;
}

struct ran guard_text(const char *text, unsigned int flags, void *data, size_t len)
{
	static char function[32], section[32];
	struct pp_bpf_object *object = guard_open(text, flags);
	struct ran ran;

	assert_int_equal(pp_bpf_load(object), 0);
	ran = guard_run(object, data, len);
	ran.stop.function = kept(function, sizeof(function), ran.stop.function);
	ran.stop.section = kept(section, sizeof(section), ran.stop.section);
	pp_bpf_close(object);
	return ran;
}
