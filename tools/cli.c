/* SPDX-License-Identifier: MIT */
/* cli.c - arguments, help and error texts; see cli.h */
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define HELP_COLUMN 22

/* The subcommand that runs: there is one a process. */
static const struct cli_command *context;

void cli_put_text(FILE *to, const char *text)
{
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		putc(byte < ' ' || byte == 0x7f ? '?' : byte, to);
	}
}

static void put_error(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	fflush(stdout); /* so that the two streams keep their order on a terminal */
	fputs("progpack: ", stderr);
	if (context)
		fprintf(stderr, "%s: ", context->name);
	cli_put_text(stderr, text ? text : "out of memory");
	putc('\n', stderr);
	free(text);
}

void cli_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_error(format, args);
	va_end(args);
}

int cli_hint(void)
{
	const char *space = context ? " " : "";

	fprintf(stderr, "See 'progpack%s%s --help'.\n", space, context ? context->name : "");
	return context && context->usage_status ? context->usage_status : CLI_USAGE;
}

int cli_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_error(format, args);
	va_end(args);
	return cli_hint();
}

int cli_finish(int status)
{
	bool bad = ferror(stdout);

	if (fflush(stdout) == 0 && !bad)
		return status;
	cli_error("cannot write to standard output: %s", strerror(errno ? errno : EIO));
	return CLI_FAILED;
}

/* Every line of @text, indented; the first one continues a line that is at @column. */
static void put_lines(const char *text, int column, int indent)
{
	while (*text) {
		int len = (int)strcspn(text, "\n");

		printf("%*s%.*s\n", column < indent ? indent - column : 0, "", len, text);
		text += len + (text[len] == '\n');
		column = 0;
	}
}

static void put_option_help(const char *name, const char *value, const char *help)
{
	int column = printf("  %s%s%s", name, value ? " " : "", value ? value : "");

	if (column >= HELP_COLUMN) {
		putchar('\n');
		column = 0;
	}
	put_lines(help, column, HELP_COLUMN);
}

static void put_synopsis(const struct cli_command *command)
{
	const char *line = command->synopsis;
	const char *lead = "Usage: ";

	while (*line) {
		int len = (int)strcspn(line, "\n");

		printf("%sprogpack %s %.*s\n", lead, command->name, len, line);
		line += len + (line[len] == '\n');
		lead = "       ";
	}
}

static void put_help(const struct cli_command *command)
{
	printf("progpack %s - %s\n\n", command->name, command->summary);
	put_synopsis(command);
	putchar('\n');
	put_lines(command->about, 0, 0);
	puts("\nArguments:");
	for (const struct cli_option *option = command->options; option->name; option++)
		put_option_help(option->name, option->value, option->help);
	put_option_help("--help", NULL, "show this text and exit");
	puts("\nExamples:");
	put_lines(command->examples, 0, 2);
	printf("\nExit status:\n  0  success\n  1  %s\n", command->failure);
	if (!command->usage_status)
		puts("  2  wrong usage");
}

/* struct cursor - how far the arguments are read */
struct cursor {
	char **argv;
	int argc, at;
	bool operands_only; /* "--" was there */
	void *settings;
};

static void *place(const struct cursor *args, const struct cli_option *option)
{
	return (char *)args->settings + option->at;
}

static bool is_operand(const struct cli_option *option)
{
	return option->type == CLI_OPERAND || option->type == CLI_NEEDED;
}

static int take_operand(const struct cli_option *option, const struct cursor *args,
			const char *word)
{
	for (; option->name; option++) {
		const char **to = place(args, option);

		if (!is_operand(option) || *to)
			continue;
		*to = word;
		return CLI_GO;
	}
	return cli_usage("unexpected argument '%s'", word);
}

static int take_count(const struct cli_option *option, const char *value, uint64_t *to)
{
	char *end;
	uint64_t count, most = option->pick ? (uint64_t)option->pick : UINT64_MAX;

	errno = 0;
	count = strtoull(value, &end, 10);
	if (value[strspn(value, "0123456789")] || !*value || !count || count > most || errno)
		return cli_usage("%s takes a number from 1 to %" PRIu64 ", not '%s'", option->name,
				 most, value);
	*to = count;
	return CLI_GO;
}

static int take_text(const struct cli_option *option, const char *value, struct cli_texts *to)
{
	if (to->count == CLI_TEXTS_MAX)
		return cli_usage("%s may be given %u times", option->name, CLI_TEXTS_MAX);
	to->at[to->count++] = value;
	return CLI_GO;
}

/* The option that picked what is in @option's place. */
static const char *picked(const struct cli_option *options, const struct cli_option *option,
			  int pick)
{
	while (options->type != CLI_PICK || options->at != option->at || options->pick != pick)
		options++;
	return options->name;
}

static int take_pick(const struct cli_option *options, const struct cli_option *option, int *to)
{
	if (*to && *to != option->pick)
		return cli_usage("%s and %s exclude each other", picked(options, option, *to),
				 option->name);
	*to = option->pick;
	return CLI_GO;
}

/* The option's value: behind '=' in its own word, else the next word. */
static const char *take_value(struct cursor *args, const char *inline_value)
{
	if (inline_value)
		return inline_value;
	return args->at < args->argc ? args->argv[args->at++] : NULL;
}

static int set_option(const struct cli_option *options, const struct cli_option *option,
		      struct cursor *args, const char *inline_value)
{
	const char *value = option->value ? take_value(args, inline_value) : NULL;

	if (option->value && !value)
		return cli_usage("%s takes a value: %s", option->name, option->value);
	if (!option->value && inline_value)
		return cli_usage("%s takes no value", option->name);
	switch (option->type) {
	case CLI_SWITCH: *(bool *)place(args, option) = true; return CLI_GO;
	case CLI_TEXT: *(const char **)place(args, option) = value; return CLI_GO;
	case CLI_TEXTS: return take_text(option, value, place(args, option));
	case CLI_COUNT: return take_count(option, value, place(args, option));
	case CLI_PICK: return take_pick(options, option, place(args, option));
	default: return CLI_USAGE; /* operands have no name on the command line */
	}
}

static int take_option(const struct cli_command *command, struct cursor *args, const char *word)
{
	size_t len = strcspn(word, "=");

	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		put_help(command);
		return CLI_OK;
	}
	for (const struct cli_option *option = command->options; option->name; option++) {
		if (is_operand(option) || strlen(option->name) != len ||
		    strncmp(option->name, word, len) != 0)
			continue;
		return set_option(command->options, option, args,
				  word[len] ? word + len + 1 : NULL);
	}
	return cli_usage("unknown option '%.*s'", (int)len, word);
}

static int take_word(const struct cli_command *command, struct cursor *args)
{
	const char *word = args->argv[args->at++];

	if (args->operands_only || word[0] != '-' || !word[1])
		return take_operand(command->options, args, word);
	if (strcmp(word, "--") != 0)
		return take_option(command, args, word);
	args->operands_only = true;
	return CLI_GO;
}

int cli_parse(const struct cli_command *command, int argc, char **argv, void *settings)
{
	struct cursor args = {.argv = argv, .argc = argc, .at = 1, .settings = settings};
	int status = CLI_GO;

	context = command;
	while (status == CLI_GO && args.at < argc)
		status = take_word(command, &args);
	if (status != CLI_GO)
		return status;
	for (const struct cli_option *option = command->options; option->name; option++) {
		if (option->type == CLI_NEEDED && !*(const char **)place(&args, option))
			return cli_usage("%s is missing", option->name);
	}
	return CLI_GO;
}
