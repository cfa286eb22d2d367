/* SPDX-License-Identifier: MIT */
/* heap.c - progpack heap: look at a heap at work */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "heap_demo.h"
#include "progress.h"
#include "tools.h"

#define FRAMES_A_SECOND 20u
#define SECONDS_MAX 3600

/* A terminal's cell, and a picture's: a page. */
#define DRAWN_CELL ((size_t)16 << 10)
#define SVG_CELL ((size_t)4 << 10)

struct settings {
	bool demo;
	const char *svg, *writer;
	uint64_t seconds;
};

static const struct cli_option options[] = {
	{"--demo", NULL, CLI_SWITCH, 0, offsetof(struct settings, demo),
	 "make a heap, and let blocks of code come and go in it"},
	{"--seconds", "N", CLI_COUNT, SECONDS_MAX, offsetof(struct settings, seconds),
	 "how long; default 5, at most 3600; interrupt it earlier with ^C"},
	{"--svg", "FILE", CLI_TEXT, 0, offsetof(struct settings, svg),
	 "also write the last picture to FILE"},
	{"--writer", "NAME", CLI_TEXT, 0, offsetof(struct settings, writer),
	 "the heap's writer: auto (default), poke or alias"},
	{0},
};

static const struct cli_command command = {
	.name = "heap",
	.summary = "look at a heap while code comes and goes in it",
	.synopsis = "--demo [--seconds N] [--svg FILE] [--writer NAME]\n",
	.about =
		"Fills a heap of 16 MiB with blocks of 64 bytes to 16 KiB, replaces them at random,\n"
		"frees most of them, and fills it again; and draws its 8 packs meanwhile. On a terminal\n"
		"the picture moves; elsewhere only the last one is printed, without colours, and as\n"
		"soon as it is there. A cell stands for 16 KiB (4 KiB in FILE):\n"
		"\n"
		"  # x + :  code: all of it, most, some, little\n"
		"  .        free: traps, ready to be allocated\n"
		"  -        a pack that grows has no memory there yet\n"
		"  blank    not mapped\n"
		"\n"
		"Behind a pack stands whether it is one huge page. The last line has the heap's figures:\n"
		"blocks; bytes in them; bytes of executable memory, and how much of it is used.\n",
	.options = options,
	.examples = "progpack heap --demo\n"
		    "progpack heap --demo --writer alias --svg heap.svg\n",
	.failure = "no heap could be made, its load failed, or FILE could not be written",
};

struct show {
	struct settings set;
	enum pp_writer writer;
	struct demo demo;
	struct heap_map map;
	bool live; /* a terminal: draw each frame over the last */
	int lines; /* of that one */
};

/* ^C ends the demonstration, not the command: the last picture is still to be written. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

/* Colours and UTF-8 go together: nothing that has the one lacks the other today. */
static bool is_colourful(void)
{
	const char *term = getenv("TERM"), *off = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") && !(off && *off);
}

static int draw(struct show *show)
{
	int err = heap_map_read(&show->map, show->demo.heap);

	if (err) {
		cli_error("reading the heap: %s", strerror(-err));
		return err;
	}
	if (show->lines)
		printf("\033[%dA", show->lines);
	show->lines = heap_draw(&show->map, stdout, show->live);
	fflush(stdout);
	return 0;
}

static void sleep_until(uint64_t when)
{
	struct timespec at = {.tv_sec = (time_t)(when / 1000000000u),
			      .tv_nsec = (long)(when % 1000000000u)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Where nobody watches, no time is lost between frames. */
static int play(struct show *show)
{
	uint64_t frames = show->set.seconds * FRAMES_A_SECOND, start = clock_ns();
	uint64_t end = start + show->set.seconds * 1000000000u;
	int err = 0;

	if (!show->live && frames > 100)
		frames = 100;
	for (uint64_t i = 0; i <= frames && !err && !interrupted && clock_ns() < end; i++) {
		err = demo_step(&show->demo, (double)i / (double)frames);
		if (!err && show->live)
			err = draw(show);
		if (show->live)
			sleep_until(start + i * (1000000000u / FRAMES_A_SECOND));
	}
	return err || show->live ? err : draw(show);
}

static int put_svg(const struct show *show, FILE *to)
{
	struct heap_map map;
	int err = heap_map_init(&map, SVG_CELL);

	if (!err)
		err = heap_map_read(&map, show->demo.heap);
	errno = 0;
	if (!err)
		heap_svg(&map, to);
	if (!err && (fflush(to) || ferror(to)))
		err = -(errno ? errno : EIO);
	heap_map_fini(&map);
	return err;
}

/* The file is opened first: nobody waits for a picture that nobody can write. */
static int play_and_write(struct show *show)
{
	FILE *to = show->set.svg ? fopen(show->set.svg, "we") : NULL;
	int err = show->set.svg && !to ? -errno : 0, played = 0;

	if (!err)
		played = play(show);
	if (!err && !played && to)
		err = put_svg(show, to);
	if (to && fclose(to) && !err)
		err = -errno;
	if (err)
		cli_error("%s: %s", show->set.svg, strerror(-err));
	return err ? err : played;
}

static int run(struct show *show)
{
	int err = demo_init(&show->demo, show->writer);

	if (err)
		return err;
	show->live = is_colourful();
	signal(SIGINT, on_interrupt);
	err = heap_map_init(&show->map, DRAWN_CELL);
	if (err)
		cli_error("out of memory");
	else
		err = play_and_write(show);
	heap_map_fini(&show->map);
	demo_fini(&show->demo);
	return err;
}

int heap_command_main(int argc, char **argv)
{
	struct show show = {.set.seconds = 5};
	const struct settings *set = &show.set;
	int status = cli_parse(&command, argc, argv, &show.set);

	if (status != CLI_GO)
		return status;
	if (!set->demo)
		return cli_usage("--demo is missing");
	if (set->writer && pp_writer_by_name(set->writer, &show.writer))
		return cli_usage("--writer takes auto, poke or alias, not '%s'", set->writer);
	return run(&show) ? CLI_FAILED : CLI_OK;
}
