/* SPDX-License-Identifier: MIT */
/*
 * fault_signal.c - our handler in the chain of those of SIGSEGV and SIGBUS
 *
 *	kernel -> ours -> what was there before	(-> SIG_DFL kills, SIG_IGN ignores)
 *
 * Ours is installed with the mask and flags of the one before, so that when it is called all is
 * as it would be for that one: signal mask, stack, restarting of system calls. Passing on is then
 * a plain call. Only SA_RESETHAND cannot be left to the kernel.
 *
 * What was before is an immutable copy that is never freed, as a handler of another thread may be
 * reading it; one that was seen before is used again.
 */
#include "os/fault_signal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct copy {
	struct sigaction action;
	struct copy *next;
};

/*
 * struct chained - a signal that we handle
 * @before: the action from before; what SA_RESETHAND resets is this
 * @placed: our handler is in the chain, if not at its head
 */
struct chained {
	int signal;
	const struct sigaction *before;
	bool placed;
};

static struct chained chain[] = {{.signal = SIGSEGV}, {.signal = SIGBUS}};
#define NCHAIN (sizeof(chain) / sizeof(chain[0]))

static struct copy *copies;

static const struct sigaction by_default = {.sa_handler = SIG_DFL};

/* ---- in the handler ---- */

static bool is_function(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/* Raised by the kernel for what this thread just did: not by kill(), nor by failing memory. */
static bool is_synchronous(const siginfo_t *info)
{
	if (info->si_code <= 0)
		return false;
	return info->si_signo != SIGBUS || info->si_code != BUS_MCEERR_AO;
}

/*
 * As the kernel would have: with the same siginfo, once this handler has returned and the signal
 * is no longer blocked. If a seccomp filter forbids it, the instruction faults again.
 */
static void die_by_default(siginfo_t *info)
{
	sigaction(info->si_signo, &by_default, NULL);
	syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), info->si_signo, info);
}

/* The handler to call, which SA_RESETHAND gives to one only. */
static const struct sigaction *take_action(struct chained *link)
{
	const struct sigaction *action = __atomic_load_n(&link->before, __ATOMIC_ACQUIRE);

	while (is_function(action) && action->sa_flags & (int)SA_RESETHAND) {
		if (__atomic_compare_exchange_n(&link->before, &action, &by_default, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			break;
	}
	return action;
}

/* Handlers get three arguments from the kernel, whatever they say they take. */
static void pass_on(struct chained *link, siginfo_t *info, void *context)
{
	const struct sigaction *action = take_action(link);

	if (is_function(action))
		action->sa_sigaction(info->si_signo, info, context);
	else if (action->sa_handler == SIG_DFL || is_synchronous(info))
		die_by_default(info); /* who ignores a fault is killed by it: signal(7) */
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	if (!is_synchronous(info) || !fault_fix(info, context))
		pass_on(&chain[number == SIGBUS], info, context);
	errno = saved;
}

/* ---- installing and removing ---- */

static bool is_ours(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_signal;
}

/* The kernel fills in only what it has of a set. */
static bool same_mask(const sigset_t *a, const sigset_t *b)
{
	int number = 1;

	while (number < NSIG && sigismember(a, number) == sigismember(b, number))
		number++;
	return number == NSIG;
}

static bool is_same(const struct sigaction *a, const struct sigaction *b)
{
	return a->sa_handler == b->sa_handler && a->sa_flags == b->sa_flags &&
	       same_mask(&a->sa_mask, &b->sa_mask);
}

static const struct sigaction *copy_of(const struct sigaction *action)
{
	struct copy *copy = copies;

	while (copy && !is_same(&copy->action, action))
		copy = copy->next;
	if (copy)
		return &copy->action;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return NULL;
	*copy = (struct copy){*action, copies};
	copies = copy;
	return &copy->action;
}

/* Where there is no handler to be like: an alternate stack if there is one, nothing interrupted. */
static struct sigaction ours_for(const struct sigaction *before)
{
	struct sigaction action = *before;

	if (is_function(before))
		action.sa_flags &= ~(int)SA_RESETHAND;
	else
		action.sa_flags = SA_ONSTACK | SA_RESTART;
	action.sa_flags |= SA_SIGINFO;
	action.sa_sigaction = on_signal;
	return action;
}

/*
 * Is ours in the chain, if @now is at its head? Another's handler that came after ours is taken to
 * pass on; to install ours a second time, over it, would close a circle. But a default there is
 * the end of every chain.
 */
static bool is_in_chain(struct chained *link, const struct sigaction *now)
{
	if (!is_function(now))
		link->placed = false;
	return link->placed;
}

/* Put ours at the head, with @before behind it. @replaced: what was there. */
static int put_over(struct chained *link, const struct sigaction *before,
		    struct sigaction *replaced)
{
	const struct sigaction ours = ours_for(before), *copy = copy_of(before);

	if (!copy)
		return -ENOMEM;
	__atomic_store_n(&link->before, copy, __ATOMIC_RELEASE);
	sigaction(link->signal, &ours, replaced);
	link->placed = true;
	return 0;
}

/* If somebody installed theirs between our look and our installing, that is what was before. */
static int place(struct chained *link)
{
	struct sigaction now, replaced, ours;
	int err;

	sigaction(link->signal, NULL, &now);
	if (is_in_chain(link, &now))
		return 0;
	err = put_over(link, &now, &replaced);
	if (err || is_same(&replaced, &now))
		return err;
	err = put_over(link, &replaced, &ours);
	if (err) {
		sigaction(link->signal, &replaced, NULL);
		link->placed = false;
	}
	return err;
}

/* Ours goes only from the head: who is over it would go on calling it. */
static void take_out(struct chained *link)
{
	struct sigaction now;

	sigaction(link->signal, NULL, &now);
	if (!is_in_chain(link, &now) || !is_ours(&now))
		return;
	sigaction(link->signal, link->before, &now);
	link->placed = !is_ours(&now);
	if (link->placed)
		sigaction(link->signal, &now, NULL); /* theirs came in between */
}

int signals_install(void)
{
	int err = 0;

	for (size_t i = 0; i < NCHAIN && !err; i++)
		err = place(&chain[i]);
	if (err)
		signals_remove();
	return err;
}

void signals_remove(void)
{
	for (size_t i = 0; i < NCHAIN; i++)
		take_out(&chain[i]);
}
