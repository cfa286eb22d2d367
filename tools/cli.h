/* SPDX-License-Identifier: MIT */
/*
 * cli.h - arguments, help and error texts, the same in every subcommand
 *
 * A subcommand describes its arguments once, in a table: parsing and --help both follow it,
 * so they cannot drift apart. Errors go to stderr as "progpack: run: what happened".
 *
 *	struct settings settings = { .repeat = 1 };
 *	int status = cli_parse(&command, argc, argv, &settings);
 *
 *	if (status != CLI_GO)
 *		return status;
 */
#ifndef TOOLS_CLI_H
#define TOOLS_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a subcommand's main returns; CLI_GO only comes from cli_parse(). */
enum cli_status { CLI_GO = -1, CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

enum cli_type {
	CLI_OPERAND, /* const char *: an argument by position, in the table's order */
	CLI_NEEDED,  /* the same, and an error without it */
	CLI_SWITCH,  /* bool: true if given */
	CLI_TEXT,    /* const char *: the value as given */
	CLI_TEXTS,   /* struct cli_texts: the values, in order; the option may be repeated */
	CLI_COUNT,   /* uint64_t: a decimal number from 1 to option.pick, 0 is UINT64_MAX */
	CLI_PICK,    /* int: option.pick; options that pick for one place exclude each other */
};

#define CLI_TEXTS_MAX 32u

struct cli_texts {
	const char *at[CLI_TEXTS_MAX];
	unsigned int count;
};

/*
 * struct cli_option - one argument
 * @name: "--repeat", or "FILE" for an operand
 * @value: what the option's value is called; NULL for operands, switches and picks
 * @pick: non-zero, for CLI_PICK; for CLI_COUNT the largest number, or 0
 * @at: offset of its place in the settings
 * @help: what it does, with units and default; a line break in it is kept
 */
struct cli_option {
	const char *name;
	const char *value;
	enum cli_type type;
	int pick;
	size_t at;
	const char *help;
};

/*
 * struct cli_command - a subcommand as --help shows it; texts are lines, not indented
 * @name: "run"; also the prefix of its errors
 * @summary: continues "progpack run - "
 * @synopsis: what may follow the name, one line a form
 * @options: up to one without a name; --help is added
 * @failure: the reasons for exit status 1, in words
 * @usage_status: exit status of wrong usage; 0 means CLI_USAGE
 */
struct cli_command {
	const char *name, *summary, *synopsis, *about;
	const struct cli_option *options;
	const char *examples, *failure;
	int usage_status;
};

/*
 * cli_parse - take the arguments into @settings, which holds the defaults
 *
 * Options and operands mix; --name=value and --name value are the same; after "--" all are
 * operands. Return: CLI_GO, CLI_OK (--help was printed), or cli_usage()'s.
 */
int cli_parse(const struct cli_command *command, int argc, char **argv, void *settings);

/* cli_error - say what happened: "progpack: run: ..." */
__attribute__((format(printf, 1, 2))) void cli_error(const char *format, ...);

/* cli_usage - the same with a hint to --help; returns the status of wrong usage */
__attribute__((format(printf, 1, 2))) int cli_usage(const char *format, ...);

/* cli_hint - the hint alone, where the message was given already; returns the same status */
int cli_hint(void);

/* cli_put_text - print text of unknown origin: control characters, which terminals obey, as '?' */
void cli_put_text(FILE *to, const char *text);

/* cli_finish - flush standard output: @status, or CLI_FAILED if anything could not be written */
int cli_finish(int status);

#endif
