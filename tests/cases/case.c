/* SPDX-License-Identifier: MIT */
/* case.c - reads case files; the format is in case.h */
#include "case.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm.h"

enum section { ASM, RAW, MEM, MEM_AFTER, RESULT, ERROR, SECTIONS };

static const char *const section_names[SECTIONS] = {
	[ASM] = "asm",       [RAW] = "raw",     [MEM] = "mem", [MEM_AFTER] = "mem-after",
	[RESULT] = "result", [ERROR] = "error",
};

#define KERNEL_SKIP "kernel skip: "
#define PROBE "probe"

/* The text of a file, cut into sections in place. */
struct file {
	const char *path;
	const struct log *log;
	char *text;
	char *body[SECTIONS];        /* NULL: missing */
	unsigned int line[SECTIONS]; /* of its first line */
	char *kernel_skip;           /* the reason, within text */
	bool probe;
};

static int refuse(const struct file *file, unsigned int line, const char *why)
{
	return log_error(file->log, -EINVAL, "%s:%u: %s", file->path, line, why);
}

static int read_stream(FILE *from, char **text)
{
	size_t size = 0;
	ssize_t len;

	*text = NULL;
	errno = 0;
	len = getdelim(text, &size, '\0', from);
	if (len >= 0)
		return 0;
	free(*text);
	return errno ? -errno : -ENODATA;
}

static int read_text(struct file *file)
{
	FILE *from = fopen(file->path, "re");
	int err = from ? read_stream(from, &file->text) : -errno;

	if (from)
		fclose(from);
	if (err)
		log_line(file->log, "%s: %s", file->path, strerror(-err));
	return err;
}

/* @header: what is behind "-- "; @body: the line after it, number @line */
static int add_section(struct file *file, char *header, char *body, unsigned int line)
{
	size_t skip = strlen(KERNEL_SKIP);

	if (!strncmp(header, KERNEL_SKIP, skip) && header[skip]) {
		file->kernel_skip = header + skip;
		return 0;
	}
	if (!strcmp(header, PROBE)) {
		file->probe = true;
		return 0;
	}
	for (int i = 0; i < SECTIONS; i++) {
		if (strcmp(header, section_names[i]))
			continue;
		if (file->body[i])
			return refuse(file, line - 1, "section given twice");
		file->body[i] = body;
		file->line[i] = line;
		return 0;
	}
	return refuse(file, line - 1, "no such section");
}

static char *end_line(char *at)
{
	char *end = strchr(at, '\n');

	if (!end)
		return at + strlen(at);
	*end = '\0';
	return end + 1;
}

/* Each section ends where the next header begins. */
static int cut(struct file *file)
{
	unsigned int line = 1;
	char *at = file->text, *next;
	int err = 0;

	if (*at != '#')
		return refuse(file, 1, "a case begins with a comment that says what it tests");
	for (; *at && !err; at = next, line++) {
		if (strncmp(at, "-- ", 3)) {
			next = strchr(at, '\n');
			next = next ? next + 1 : at + strlen(at);
			continue;
		}
		*at = '\0';
		next = end_line(at + 1);
		err = add_section(file, at + 3, next, line + 1);
	}
	return err;
}

static int check_sections(const struct file *file)
{
	if (!file->body[ASM] == !file->body[RAW])
		return refuse(file, 1, "needs one of -- asm and -- raw");
	if (!file->body[RESULT] == !file->body[ERROR])
		return refuse(file, 1, "needs one of -- result and -- error");
	if (file->body[ERROR] && (file->body[MEM] || file->kernel_skip || file->probe))
		return refuse(
			file, 1,
			"what is refused has no use of memory, nor of the kernel, nor of probes");
	if (file->body[MEM_AFTER] && !file->body[MEM])
		return refuse(file, file->line[MEM_AFTER], "-- mem-after without -- mem");
	return 0;
}

static int nibble(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	return isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* Pairs of hex digits, blanks between them as one likes. */
static int parse_bytes(const struct file *file, enum section section, uint8_t **bytes, size_t *len)
{
	unsigned int line = file->line[section];
	const char *at = file->body[section];
	uint8_t *out = malloc(strlen(at) / 2 + 1);
	size_t n = 0;

	if (!out)
		return -ENOMEM;
	for (; *at; at++) {
		line += *at == '\n';
		if (isspace((unsigned char)*at))
			continue;
		if (nibble(at[0]) < 0 || nibble(at[1]) < 0) {
			free(out);
			return refuse(file, line, "hex bytes expected");
		}
		out[n++] = (uint8_t)(nibble(at[0]) << 4 | nibble(at[1]));
		at++;
	}
	*bytes = out;
	*len = n;
	return 0;
}

/* The assembler knows the line, we know the file. */
static void add_path(void *ctx, const char *message)
{
	const struct file *file = ctx;

	log_line(file->log, "%s:%s", file->path, message);
}

static int parse_program(struct file *file, struct test_case *tc)
{
	const struct log log = {add_path, file};
	size_t len;
	int err;

	if (file->body[ASM])
		return asm_text(file->body[ASM], file->line[ASM], &log, &tc->slots, &tc->nslots);
	err = parse_bytes(file, RAW, &tc->slots, &len);
	if (err)
		return err;
	tc->nslots = (uint32_t)(len / 8);
	return len % 8 ? refuse(file, file->line[RAW], "not whole instructions") : 0;
}

static int parse_mem(const struct file *file, struct test_case *tc)
{
	enum section after = file->body[MEM_AFTER] ? MEM_AFTER : MEM;
	size_t len;
	int err;

	if (!file->body[MEM])
		return 0;
	err = parse_bytes(file, MEM, &tc->mem, &tc->mem_len);
	if (err)
		return err;
	err = parse_bytes(file, after, &tc->mem_after, &len);
	if (!err && len != tc->mem_len)
		err = refuse(file, file->line[after], "-- mem-after is not as long as -- mem");
	return err;
}

static int parse_result(const struct file *file, uint64_t *result)
{
	const char *at = file->body[RESULT];
	char *end;

	errno = 0;
	*result = strtoull(at, &end, 16);
	end += strspn(end, " \t\n");
	if (end == at || *end || errno || !isxdigit((unsigned char)*at))
		return refuse(file, file->line[RESULT], "one hex number expected");
	return 0;
}

static char *copy_trimmed(const char *text)
{
	size_t len;

	text += strspn(text, " \t\n");
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	return strndup(text, len);
}

static int parse_error(const struct file *file, struct test_case *tc)
{
	tc->error = copy_trimmed(file->body[ERROR]);
	if (!tc->error)
		return -ENOMEM;
	return *tc->error ? 0 : refuse(file, file->line[ERROR], "part of a message expected");
}

static int parse_kernel_skip(const struct file *file, struct test_case *tc)
{
	if (file->kernel_skip)
		tc->kernel_skip = copy_trimmed(file->kernel_skip);
	return file->kernel_skip && !tc->kernel_skip ? -ENOMEM : 0;
}

static int parse(struct file *file, struct test_case *tc)
{
	int err = check_sections(file);

	if (!err)
		err = parse_program(file, tc);
	if (!err)
		err = parse_mem(file, tc);
	if (!err)
		err = parse_kernel_skip(file, tc);
	tc->probe = file->probe;
	if (err)
		return err;
	return file->body[ERROR] ? parse_error(file, tc) : parse_result(file, &tc->result);
}

int case_read(const char *path, const struct log *log, struct test_case *tc)
{
	struct file file = {.path = path, .log = log};
	struct test_case read = {0};
	int err = read_text(&file);

	if (err)
		return err;
	err = cut(&file);
	if (!err)
		err = parse(&file, &read);
	free(file.text);
	if (err)
		case_free(&read);
	else
		*tc = read;
	return err;
}

void case_free(struct test_case *tc)
{
	free(tc->slots);
	free(tc->mem);
	free(tc->mem_after);
	free(tc->error);
	free(tc->kernel_skip);
}
