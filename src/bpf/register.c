/* SPDX-License-Identifier: MIT */
/* register.c - the host's own helpers, by number or by name alone */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/opts.h"
#include "bpf/helper.h"

/* The public words for arguments, in ours. */
static const uint8_t arg_of[] = {
	[PP_BPF_ARG_ANY] = ARG_ANY,         [PP_BPF_ARG_IN] = ARG_IN,
	[PP_BPF_ARG_STRING] = ARG_STRING,   [PP_BPF_ARG_OUT] = ARG_OUT,
	[PP_BPF_ARG_OUT_INT] = ARG_INT_OUT, [PP_BPF_ARG_OUT_LONG] = ARG_LONG_OUT,
};
#define NARGS (sizeof(arg_of) / sizeof(arg_of[0]))

/* Its size would be in a register that is no argument. */
static bool lacks_size(const struct pp_bpf_helper *helper, unsigned int i)
{
	unsigned int arg = helper->args[i];

	return (arg == PP_BPF_ARG_IN || arg == PP_BPF_ARG_OUT) && i + 1 >= helper->nargs;
}

static const char *args_fault(const struct pp_bpf_helper *helper)
{
	for (unsigned int i = 0; i < 5; i++) {
		if (helper->args[i] >= NARGS)
			return "an argument of no known type";
		if (helper->args[i] && i >= helper->nargs)
			return "a type for an argument that it does not have";
		if (lacks_size(helper, i))
			return "memory without a size behind it";
	}
	return NULL;
}

/* Why a helper cannot be registered, or NULL. */
static const char *helper_fault(const struct pp_bpf_helper *helper)
{
	if (!helper->name || !*helper->name)
		return "it has no name";
	if (helper->nargs > 5)
		return "more than 5 arguments";
	if (!helper->fn)
		return "it has no function";
	if (helper->id > INT32_MAX && helper->id != PP_BPF_BY_NAME)
		return "the number is above 2147483647";
	return args_fault(helper);
}

/* That of the one it replaces, or one that nobody has: programs cannot know it. */
static uint32_t id_for(const struct pp_bpf_object *object, const char *name)
{
	uint32_t id = INT32_MAX;

	for (uint32_t i = 0; i < object->nregistered; i++) {
		if (!strcmp(object->registered[i].name, name))
			return object->registered[i].id;
	}
	while (helper_by_id(object, id))
		id--;
	return id;
}

static int add(struct pp_bpf_object *object, const struct helper *helper)
{
	struct helper *helpers;

	for (uint32_t i = 0; i < object->nregistered; i++) {
		if (object->registered[i].id == helper->id) {
			object->registered[i] = *helper;
			return 0;
		}
	}
	helpers =
		reallocarray(object->registered, object->nregistered + (size_t)1, sizeof(*helpers));
	if (!helpers)
		return -ENOMEM;
	object->registered = helpers;
	helpers[object->nregistered++] = *helper;
	return 0;
}

/* Which one, for the log. */
static int refuse(const struct pp_bpf_object *object, const struct pp_bpf_helper *helper, int err,
		  const char *fault)
{
	if (helper->id == PP_BPF_BY_NAME && helper->name)
		return log_error(&object->log, err, "helper '%s': %s", helper->name, fault);
	return log_error(&object->log, err, "helper %u: %s", helper->id, fault);
}

static int take(struct pp_bpf_object *object, const struct pp_bpf_helper *given)
{
	struct helper helper = {.id = given->id, .nargs = given->nargs, .fn = given->fn};
	const char *fault = helper_fault(given);

	if (object->loaded)
		return refuse(object, given, -EBUSY, "the object is loaded already");
	if (fault)
		return refuse(object, given, -EINVAL, fault);
	if (helper.id == PP_BPF_BY_NAME)
		helper.id = id_for(object, given->name);
	for (unsigned int i = 0; i < 5; i++)
		helper.args[i] = arg_of[given->args[i]];
	helper.name = object_name(object, given->name);
	return helper.name ? add(object, &helper) : -ENOMEM;
}

int pp_bpf_register_helper(struct pp_bpf_object *object, const struct pp_bpf_helper *helper)
{
	struct pp_bpf_helper copy;
	int err = helper ? opts_copy(&copy, sizeof(copy), helper, sizeof(copy)) : -EINVAL;

	return err ? err : take(object, &copy);
}

int pp_bpf_register(struct pp_bpf_object *object, uint32_t id, const char *name, unsigned int nargs,
		    pp_bpf_helper_fn fn)
{
	const struct pp_bpf_helper helper = {
		.name = name,
		.fn = fn,
		.id = id,
		.nargs = nargs,
	};

	/* A number here: PP_BPF_BY_NAME is for those who say so. */
	if (id > INT32_MAX)
		return log_error(&object->log, -EINVAL, "helper %u: the number is above 2147483647",
				 id);
	return take(object, &helper);
}
