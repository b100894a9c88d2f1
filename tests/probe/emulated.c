/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How do a kernel's threads run on a host, barriers and shuffles included?
 *
 * Without a barrier: a loop. At the first barrier of a launch all begins again with a stack a
 * thread; they take turns, and a thread that waits for others that have ended, or that went another
 * way, ends the test: on a GPU it would hang.
 */
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(save, bottom, size) ((void)(bottom), (void)(size))
#define __sanitizer_finish_switch_fiber(save, bottom, size) ((void)0)
#endif

#include "tests/probe/emulated.h"

enum { WARP = 32, MOST_THREADS = 1024, STACK = 32 << 10 };

struct fiber {
	ucontext_t context;
	char *stack;
	bool done;
	unsigned barriers, shuffles; /* passed or waiting at */
	float shuffled[2];
};

struct emulated_place emulated_place;
static struct fiber fibers[MOST_THREADS];
static ucontext_t scheduler;
static jmp_buf again;
static bool in_loop;
static unsigned n_fibers;
static struct fiber *current;
static emulated_fn *body;
static void *body_closure;
static const void *scheduler_stack;
static size_t scheduler_size;

static void
yield(void)
{
	struct fiber *self = current;
	void *save = NULL;

	(void)save;
	__sanitizer_start_switch_fiber(&save, scheduler_stack, scheduler_size);
	swapcontext(&self->context, &scheduler);
	__sanitizer_finish_switch_fiber(save, &scheduler_stack, &scheduler_size);
}

static void
enter(void)
{
	__sanitizer_finish_switch_fiber(NULL, &scheduler_stack, &scheduler_size);
	body(body_closure);
	current->done = true;
	__sanitizer_start_switch_fiber(NULL, scheduler_stack, scheduler_size);
	setcontext(&scheduler);
}

static void
resume(unsigned thread)
{
	void *save = NULL;

	(void)save;
	current = &fibers[thread];
	emulated_place.thread.x = thread;
	__sanitizer_start_switch_fiber(&save, current->stack, STACK);
	swapcontext(&scheduler, &current->context);
	__sanitizer_finish_switch_fiber(save, NULL, NULL);
}

static void
start(struct fiber *fiber)
{
	if (!fiber->stack)
		fiber->stack = malloc(STACK);
	if (!fiber->stack)
		abort();
	fiber->done = false;
	fiber->barriers = fiber->shuffles = 0;
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = STACK;
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, enter, 0);
}

/* Sum of what all have done: when a round adds nothing, nobody can go on. */
static unsigned long
progress(void)
{
	unsigned long sum = 0;
	unsigned i;

	for (i = 0; i < n_fibers; i++)
		sum += fibers[i].done + fibers[i].barriers + fibers[i].shuffles;
	return sum;
}

static void
run_block(void)
{
	unsigned long before, after = 0;
	unsigned i, alive = 1;

	for (i = 0; i < n_fibers; i++)
		start(&fibers[i]);
	while (alive) {
		before = after;
		alive = 0;
		for (i = 0; i < n_fibers; i++) {
			if (fibers[i].done)
				continue;
			resume(i);
			alive += !fibers[i].done;
		}
		after = progress();
		if (alive && after == before) {
			fprintf(stderr, "threads of a block wait for each other for ever\n");
			abort();
		}
	}
}

static void
run_loop(unsigned blocks, unsigned threads)
{
	unsigned block, thread;

	for (block = 0; block < blocks; block++)
		for (thread = 0; thread < threads; thread++) {
			emulated_place.block.x = block;
			emulated_place.thread.x = thread;
			body(body_closure);
		}
}

void
emulated_run(unsigned blocks, unsigned threads, emulated_fn *run, void *closure)
{
	unsigned block;

	if (blocks == 0 || threads == 0 || threads > MOST_THREADS) {
		fprintf(stderr, "a launch of %u blocks of %u threads\n", blocks, threads);
		abort();
	}
	body = run;
	body_closure = closure;
	n_fibers = threads;
	emulated_place.blocks.x = blocks;
	emulated_place.threads.x = threads;
	in_loop = true;
	if (setjmp(again) == 0) {
		run_loop(blocks, threads);
		return;
	}
	in_loop = false;
	for (block = 0; block < blocks; block++) {
		emulated_place.block.x = block;
		run_block();
	}
}

/* --- called by kernels -------------------------------------------------------------------- */

void
emulated_barrier(void)
{
	unsigned number, i;

	if (in_loop)
		longjmp(again, 1);
	number = ++current->barriers;
	for (i = 0; i < n_fibers;) {
		if (fibers[i].barriers >= number)
			i++;
		else
			yield();
	}
}

/* Two rooms for values: nobody is two shuffles ahead of a lane of its warp. */
float
emulated_shuffle(unsigned mask, float value, unsigned lane)
{
	unsigned own, first, number, i;

	if (in_loop)
		longjmp(again, 1);
	own = emulated_place.thread.x;
	first = own / WARP * WARP;
	number = ++current->shuffles;
	current->shuffled[number % 2] = value;
	for (i = 0; i < WARP;) {
		if (!(mask >> i & 1) || fibers[first + i].shuffles >= number)
			i++;
		else
			yield();
	}
	return lane < WARP ? fibers[first + lane].shuffled[number % 2] : value;
}
