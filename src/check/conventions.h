/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CONVENTIONS_H
#define MOEPLAN_CONVENTIONS_H

#include "check/rules.h"

/*
 * The same degrees in every arithmetic that people mix up: what DP and expert
 * DP are there, and why it is impossible where it is.
 */
struct convention {
	const char *name;	 /* "product", "megatron-etp-tp" … */
	const char *title;	 /* for people */
	int framework;		 /* enum framework, -1 none */
	bool expert_tp, auto_ep; /* DeepSpeed */
	int64_t dp, edp;	 /* 0: does not come out, or is not one number there */
	int64_t etp;		 /* 0: the convention has none */
	bool valid;
	const char *arithmetic; /* "2 x 2 = 4 divides 8: DP 2; …" */
	bool asked;		/* the one that the configuration is in */
};
enum { CONVENTIONS = 9 };
/* How many were filled, at most CONVENTIONS; `strategy` derived, its world known. */
size_t conventions_fill(
    struct convention out[CONVENTIONS], struct arena *arena, const struct check_context *check);

/* Choices next to the ones that were made, as far as the sizes are known. */
struct choices {
	int64_t ep[32]; /* valid for this world, with ETP as it is, ascending */
	size_t n_ep;
	int64_t worlds[4]; /* GPU counts near this one that work, ascending */
	size_t n_worlds;
	int64_t batch_below, batch_above; /* nearest global batches, 0 none needed */
	int64_t accumulation;		  /* steps that the nearest one has */
};
void choices_fill(struct choices *choices, const struct check_context *check, int64_t experts);

#endif
