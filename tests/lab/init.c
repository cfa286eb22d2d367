/* SPDX-License-Identifier: MIT */
/*
 * init.c - process 1 of a guest: runs the programs that /jobs lists, then turns the machine off
 *
 * A line of /jobs: name, seconds it may take, "one" or "all" (harts that it may use), settings
 * (A=1 B=2), program and its arguments, split by tabs. Each hart has a job of "one" at a time; one
 * of "all" runs alone. What the console gets, a line at a time, is for scripts/guest.py:
 *
 *	guest: run 0 NAME		slot 0 starts NAME
 *	0|TEXT				a line that it printed
 *	guest: end 0 STATUS TENTHS	as waitpid() has it, or -1: killed after its time
 *	guest: done COUNT		the last line
 *
 * To a kernel that saw a process on one hart only, synchronising its instruction fetch is that
 * hart's business; on two, one asks and waits for the other. So what has one thread stays on one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 8
#define FIELDS 64

/* A job that runs: free if pid is 0. Slot 0 is hart 0's, or of the one that has all. */
struct slot {
	pid_t pid;
	int fd; /* its output; not blocking */
	int64_t started, deadline;
	size_t used;
	char line[2048];
};

static struct slot slots[SLOTS];

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void mount_all(void)
{
	static const struct {
		const char *type, *at;
	} mounts[] = {
		{"proc", "/proc"},     {"sysfs", "/sys"}, {"devtmpfs", "/dev"},
		{"tmpfs", "/dev/shm"}, {"tmpfs", "/run"}, {"cgroup2", "/sys/fs/cgroup"},
	};

	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		mkdir(mounts[i].at, 0755);
		mount(mounts[i].type, mounts[i].at, mounts[i].type, 0, NULL);
	}
	mkdir("/tmp", 0755);
	chmod("/tmp", 01777);
}

/* The initramfs has no device files, so that nobody must be root to make it. */
static void open_console(void)
{
	int fd = open("/dev/console", O_RDWR);

	for (int to = 0; fd >= 0 && to <= 2; to++)
		dup2(fd, to);
	setvbuf(stdout, NULL, _IOFBF, 4096); /* a line, or more, is one write */
}

static void print_line(const struct slot *slot)
{
	printf("%d|%.*s\n", (int)(slot - slots), (int)slot->used, slot->line);
}

/* Everything there is to read; lines too long become several. */
static void drain(struct slot *slot)
{
	char text[4096];
	ssize_t n;

	while ((n = read(slot->fd, text, sizeof(text))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] != '\n')
				slot->line[slot->used++] = text[i];
			if (text[i] == '\n' || slot->used == sizeof(slot->line)) {
				print_line(slot);
				slot->used = 0;
			}
		}
	}
	fflush(stdout);
}

static void end_job(struct slot *slot, int status)
{
	kill(-slot->pid, SIGKILL); /* what it left behind */
	drain(slot);
	if (slot->used)
		print_line(slot);
	printf("guest: end %d %d %lld\n", (int)(slot - slots), status,
	       (long long)(now_ms() - slot->started) / 100);
	fflush(stdout);
	close(slot->fd);
	memset(slot, 0, sizeof(*slot));
}

static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (struct slot *slot = slots; slot < slots + SLOTS; slot++) {
			if (slot->pid == pid)
				end_job(slot, status);
		}
	}
}

static void stop_late_ones(void)
{
	for (struct slot *slot = slots; slot < slots + SLOTS; slot++) {
		if (slot->pid && now_ms() > slot->deadline)
			end_job(slot, -1); /* it is reaped by and by */
	}
}

static void wait_a_little(void)
{
	struct pollfd fds[SLOTS];

	for (size_t i = 0; i < SLOTS; i++)
		fds[i] = (struct pollfd){.fd = slots[i].pid ? slots[i].fd : -1, .events = POLLIN};
	poll(fds, SLOTS, 50);
	for (size_t i = 0; i < SLOTS; i++) {
		if (slots[i].pid && fds[i].revents & POLLIN)
			drain(&slots[i]);
	}
	/* A pipe that nobody writes to any more is ready at once, for ever. */
	usleep(2000);
	reap();
	stop_late_ones();
}

static void stay_on_hart(size_t hart)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(hart, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static _Noreturn void exec_job(int out, char *settings, char **argv)
{
	int null = open("/dev/null", O_RDONLY);

	setsid();
	dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
	for (char *set = strtok(settings, " "); set; set = strtok(NULL, " "))
		putenv(set);
	execv(argv[0], argv);
	fprintf(stderr, "init: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static bool wants_all(char **fields)
{
	return !strcmp(fields[2], "all");
}

/* @fields: name, seconds, harts, settings, argv and NULL. */
static void start_job(struct slot *slot, char **fields)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	printf("guest: run %d %s\n", (int)(slot - slots), fields[0]);
	fflush(stdout);
	slot->started = now_ms();
	slot->deadline = slot->started + 1000 * strtoll(fields[1], NULL, 10);
	slot->fd = ends[0];
	slot->pid = fork();
	if (!slot->pid) {
		if (!wants_all(fields))
			stay_on_hart((size_t)(slot - slots));
		exec_job(ends[1], fields[3], fields + 4);
	}
	close(ends[1]);
	fcntl(slot->fd, F_SETFL, O_NONBLOCK);
}

static struct slot *free_slot(size_t jobs)
{
	for (size_t i = 0; i < jobs; i++) {
		if (!slots[i].pid)
			return &slots[i];
	}
	return NULL;
}

static bool is_busy(void)
{
	for (size_t i = 0; i < SLOTS; i++) {
		if (slots[i].pid)
			return true;
	}
	return false;
}

/* Settings may be empty: strsep(), not strtok(). */
static bool split(char *line, char **fields)
{
	size_t n = 0;

	line[strcspn(line, "\n")] = 0;
	while (n + 1 < FIELDS && (fields[n] = strsep(&line, "\t")))
		n++;
	fields[n] = NULL;
	return n >= 5;
}

static size_t count_harts(void)
{
	long harts = sysconf(_SC_NPROCESSORS_ONLN);

	return harts < 1 ? 1 : harts > SLOTS ? SLOTS : (size_t)harts;
}

static unsigned int run_all(FILE *list)
{
	const size_t harts = count_harts();
	char line[8192], *fields[FIELDS];
	unsigned int count = 0;

	while (fgets(line, sizeof(line), list)) {
		size_t jobs;

		if (!split(line, fields))
			continue;
		jobs = wants_all(fields) ? 1 : harts;
		while (jobs == 1 ? is_busy() : !free_slot(jobs))
			wait_a_little();
		start_job(free_slot(jobs), fields);
		count++;
		while (wants_all(fields) && is_busy())
			wait_a_little();
	}
	while (is_busy())
		wait_a_little();
	return count;
}

int main(void)
{
	FILE *list;

	mount_all();
	open_console();
	setenv("PATH", "/usr/bin:/bin", 1);
	setenv("HOME", "/tmp", 1);
	list = fopen("/jobs", "re");
	if (list)
		printf("guest: done %u\n", run_all(list));
	fflush(stdout);
	tcdrain(1);
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
