/* SPDX-License-Identifier: MIT */
/* asm.c - the tests' assembler: labels, repetition and encoding; see asm.h */
#include "asm.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "asm_match.h"

#define SLOT 8
#define IMM64_CODE 0x18 /* the instruction of two slots */
#define MAX_SLOTS (1u << 21)
#define MAX_LABELS 64
#define MAX_FIXUPS 256

/* A label, or a use of one that waits for it. */
struct mark {
	struct span name;
	uint32_t slot;
	unsigned int line;
	bool wide;
};

struct assembly {
	const struct log *log;
	unsigned int line;
	uint8_t *slots;
	uint32_t nslots, cap;
	struct mark labels[MAX_LABELS], fixups[MAX_FIXUPS];
	unsigned int nlabels, nfixups;
	uint32_t repeat, repeat_from; /* times, 0 outside; first slot */
	unsigned int repeat_line;
	unsigned int repeat_marks; /* labels and fixups before it */
};

static int refuse(const struct assembly *as, const char *why)
{
	return log_error(as->log, -EINVAL, "%u: %s", as->line, why);
}

static int make_room(struct assembly *as, uint32_t slots)
{
	uint32_t need = as->nslots + slots;
	uint8_t *grown;

	if (slots > MAX_SLOTS || need > MAX_SLOTS)
		return refuse(as, "program too long");
	if (need <= as->cap)
		return 0;
	grown = realloc(as->slots, (size_t)need * 2 * SLOT);
	if (!grown)
		return -ENOMEM;
	as->slots = grown;
	as->cap = need * 2;
	return 0;
}

static void put32(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

static int put_slot(struct assembly *as, const struct stmt *st, uint32_t imm)
{
	uint8_t *slot;
	int err = make_room(as, 1);

	if (err)
		return err;
	slot = as->slots + (size_t)as->nslots++ * SLOT;
	slot[0] = st->code;
	slot[1] = (uint8_t)(st->dst | st->src << 4);
	slot[2] = (uint8_t)st->off;
	slot[3] = (uint8_t)((uint32_t)st->off >> 8);
	put32(slot + 4, imm);
	return 0;
}

static int put_stmt(struct assembly *as, const struct stmt *st)
{
	static const struct stmt second;
	int err = put_slot(as, st, (uint32_t)st->imm);

	if (err || st->code != IMM64_CODE)
		return err;
	return put_slot(as, &second, (uint32_t)((uint64_t)st->imm >> 32));
}

static int add_fixup(struct assembly *as, const struct stmt *st)
{
	if (as->nfixups == MAX_FIXUPS)
		return refuse(as, "too many uses of labels");
	as->fixups[as->nfixups++] = (struct mark){st->label, as->nslots, as->line, st->wide};
	return 0;
}

static int add_insn(struct assembly *as, const char *text)
{
	struct stmt st;
	int err;

	if (!stmt_match(&st, text))
		return log_error(as->log, -EINVAL, "%u: not an instruction: %s", as->line, text);
	if (st.problem)
		return refuse(as, st.problem);
	if (st.label.len) {
		err = add_fixup(as, &st);
		if (err)
			return err;
	}
	return put_stmt(as, &st);
}

static const struct mark *find_label(const struct assembly *as, struct span name)
{
	for (unsigned int i = 0; i < as->nlabels; i++) {
		const struct mark *label = &as->labels[i];

		if (label->name.len == name.len && !memcmp(label->name.at, name.at, name.len))
			return label;
	}
	return NULL;
}

/* Take "name:" off the front of a statement, if it is there. */
static int take_label(struct assembly *as, struct stmt *st)
{
	struct stmt try = *st;
	struct span name;

	if (!stmt_name(&try, &name) || *try.at != ':')
		return 0;
	if (find_label(as, name))
		return refuse(as, "label defined twice");
	if (as->nlabels == MAX_LABELS)
		return refuse(as, "too many labels");
	as->labels[as->nlabels++] = (struct mark){.name = name, .slot = as->nslots};
	st->at = try.at + 1;
	stmt_blanks(st);
	return 0;
}

static int begin_repeat(struct assembly *as, struct stmt *st)
{
	int64_t times;

	if (as->repeat)
		return refuse(as, ".repeat within .repeat");
	stmt_blanks(st);
	if (!stmt_number(st, 1, MAX_SLOTS, &times) || *st->at || st->problem || times < 1)
		return refuse(as, "bad .repeat count");
	as->repeat = (uint32_t)times;
	as->repeat_from = as->nslots;
	as->repeat_line = as->line;
	as->repeat_marks = as->nlabels + as->nfixups;
	return 0;
}

static int end_repeat(struct assembly *as)
{
	uint32_t len = as->nslots - as->repeat_from;
	int err;

	if (!as->repeat)
		return refuse(as, ".end without .repeat");
	if (as->nlabels + as->nfixups != as->repeat_marks)
		return refuse(as, "label in .repeat");
	if (!len)
		return refuse(as, "empty .repeat");
	for (; as->repeat > 1; as->repeat--) {
		err = make_room(as, len);
		if (err)
			return err;
		memcpy(as->slots + (size_t)as->nslots * SLOT,
		       as->slots + (size_t)as->repeat_from * SLOT, (size_t)len * SLOT);
		as->nslots += len;
	}
	as->repeat = 0;
	return 0;
}

/* @text: one line, without comment and trailing blanks */
static int add_line(struct assembly *as, const char *text)
{
	struct stmt st = {.at = text};
	int err;

	stmt_blanks(&st);
	err = take_label(as, &st);
	if (err || !*st.at)
		return err;
	if (!strcmp(st.at, ".end"))
		return end_repeat(as);
	if (strncmp(st.at, ".repeat", 7))
		return add_insn(as, st.at);
	st.at += 7;
	return begin_repeat(as, &st);
}

static int resolve(struct assembly *as, const struct mark *use)
{
	const struct mark *label = find_label(as, use->name);
	uint8_t *slot = as->slots + (size_t)use->slot * SLOT;
	int64_t distance;

	as->line = use->line;
	if (!label)
		return refuse(as, "no such label");
	distance = (int64_t)label->slot - use->slot - 1;
	if (use->wide) {
		put32(slot + 4, (uint32_t)distance);
		return 0;
	}
	if (distance < INT16_MIN || distance > INT16_MAX)
		return refuse(as, "label too far");
	slot[2] = (uint8_t)distance;
	slot[3] = (uint8_t)((uint64_t)distance >> 8);
	return 0;
}

static int resolve_all(struct assembly *as)
{
	int err = 0;

	if (as->repeat) {
		as->line = as->repeat_line;
		return refuse(as, ".repeat without .end");
	}
	for (unsigned int i = 0; !err && i < as->nfixups; i++)
		err = resolve(as, &as->fixups[i]);
	return err;
}

/* End every line where its comment or trailing blanks begin. */
static void cut_line(char *line)
{
	size_t len = strcspn(line, ";");

	while (len && isspace((unsigned char)line[len - 1]))
		len--;
	line[len] = '\0';
}

/* @text is taken apart, but stays in place: labels point into it. */
static int add_lines(struct assembly *as, char *text)
{
	char *line;
	int err = 0;

	while (!err && (line = strsep(&text, "\n"))) {
		cut_line(line);
		err = add_line(as, line);
		as->line++;
	}
	return err ? err : resolve_all(as);
}

int asm_text(const char *text, unsigned int line, const struct log *log, uint8_t **slots,
	     uint32_t *nslots)
{
	struct assembly as = {.log = log, .line = line};
	char *copy = strdup(text);
	int err;

	if (!copy)
		return -ENOMEM;
	err = add_lines(&as, copy);
	free(copy);
	if (err) {
		free(as.slots);
		return err;
	}
	*slots = as.slots;
	*nslots = as.nslots;
	return 0;
}
