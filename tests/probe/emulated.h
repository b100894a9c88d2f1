/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_EMULATED_H
#define MOEPLAN_TEST_EMULATED_H

/*
 * Threads of a block, one after the other on one host thread, each with a stack of its own so that
 * it can stop at a barrier. What a kernel does before its first barrier has to bear repeating.
 */
#ifdef __cplusplus
extern "C" {
#endif

struct emulated_index {
	unsigned x;
};
struct emulated_place {
	struct emulated_index thread, block, threads, blocks;
};
extern struct emulated_place emulated_place;

typedef void emulated_fn(void *closure);

void emulated_barrier(void);
/* The value of a lane of the own warp, or the own one where there is no such lane. */
float emulated_shuffle(unsigned mask, float value, unsigned lane);
void emulated_run(unsigned blocks, unsigned threads, emulated_fn *run, void *closure);
/* Where launches go: the program has one that runs them at once or puts them on a stream. */
void emulated_post(void *stream, unsigned blocks, unsigned threads, emulated_fn *run,
    emulated_fn *drop, void *closure);

#ifdef __cplusplus
}
#endif

#endif
