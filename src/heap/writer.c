/* SPDX-License-Identifier: MIT */
/* writer.c - the writers by name, and the choice of one that works here */
#include "heap/writer.h"

#include "heap/pack.h"
#include "os/cpu.h"

#include <errno.h>
#include <string.h>

/* In the order in which PP_WRITER_AUTO tries them. */
static const struct writer *const writers[] = {&writer_poke, &writer_alias};

#define NWRITERS (sizeof(writers) / sizeof(*writers))

const char *pp_writer_name(enum pp_writer writer)
{
	if (writer == PP_WRITER_AUTO)
		return "auto";
	for (size_t i = 0; i < NWRITERS; i++) {
		if (writers[i]->id == writer)
			return writers[i]->name;
	}
	return NULL;
}

int pp_writer_by_name(const char *name, enum pp_writer *writer)
{
	static const enum pp_writer ids[] = {PP_WRITER_AUTO, PP_WRITER_POKE, PP_WRITER_ALIAS};

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		if (!strcmp(name, pp_writer_name(ids[i]))) {
			*writer = ids[i];
			return 0;
		}
	}
	return -EINVAL;
}

/* Nothing is run before it is known to be what was written. */
static int run_probe(struct memory *mem, uint8_t *rx)
{
	size_t size;
	const uint8_t *code = cpu_probe_code(&size);
	uint32_t (*probe)(void);
	int err = mem->writer->copy(mem, rx, code, size);

	if (err)
		return err;
	if (memcmp(rx, code, size))
		return log_error(&mem->log, -EIO, "what was written did not arrive");
	cpu_sync(rx, size);
	memcpy(&probe, &rx, sizeof(probe));
	if (probe() != CPU_PROBE_VALUE)
		return log_error(&mem->log, -EIO, "code that was written ran wrong");
	return 0;
}

/* Write, run, and make it traps again: what an allocation, a call and a free do. */
static int probe(struct memory *mem)
{
	uint8_t *rx = pack_rx(mem, 0);
	int err = run_probe(mem, rx);

	if (!err)
		err = mem->writer->fill(mem, rx, PP_CHUNK);
	if (!err)
		cpu_sync(rx, PP_CHUNK);
	return err;
}

static int try_writer(struct memory *mem, const struct writer *writer)
{
	int err;

	mem->writer = writer;
	err = writer->open(mem);
	if (err)
		return err;
	err = writer->grow(mem, 0, 0, PACK_STEP);
	if (err)
		goto close_writer;
	err = probe(mem);
	if (!err)
		return 0;
	(void)writer->unmap(mem, 0);
close_writer:
	writer->close(mem);
	return err;
}

int writer_choose(struct memory *mem, enum pp_writer wanted)
{
	int err = -EINVAL;

	cpu_fill_traps(mem->traps, sizeof(mem->traps));
	for (size_t i = 0; i < NWRITERS; i++) {
		if (wanted != PP_WRITER_AUTO && wanted != writers[i]->id)
			continue;
		err = try_writer(mem, writers[i]);
		if (!err)
			return 0;
		log_error(&mem->log, err, "writer %s does not work here: %s", writers[i]->name,
			  strerror(-err));
	}
	return err;
}
