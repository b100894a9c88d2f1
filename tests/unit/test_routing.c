/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do tokens choose different experts, as popular as asked for, of few groups where those limit? */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "probe/routing.h"

enum { EXPERTS = 256, TOKENS = 4000 };

static int
by_number(const void *a, const void *b)
{
	return *(const int32_t *)a - *(const int32_t *)b;
}

/* Draws all tokens' experts; counts per expert; returns the most groups that a token used. */
static int
draw(const struct skew *skew, const struct dims *d, int64_t counts[EXPERTS])
{
	double cumulative[EXPERTS];
	int32_t chosen[16];
	int64_t token;
	int most = 0, j;

	skew_popularity(skew, 3, d->experts, cumulative);
	for (token = 0; token < TOKENS; token++) {
		int groups = 1;

		routing_choose(skew, d, cumulative, 3, token, chosen);
		qsort(chosen, (size_t)d->top_k, sizeof(chosen[0]), by_number);
		for (j = 0; j < d->top_k; j++) {
			cr_assert(chosen[j] >= 0 && chosen[j] < d->experts);
			counts[chosen[j]]++;
			if (j == 0)
				continue;
			cr_assert_neq(chosen[j], chosen[j - 1], "token %d", (int)token);
			groups += chosen[j] / 32 != chosen[j - 1] / 32;
		}
		most = groups > most ? groups : most;
	}
	return most;
}

static void
assert_even(const int64_t counts[EXPERTS], int64_t top_k)
{
	double mean = (double)(TOKENS * top_k) / EXPERTS;
	int e;

	for (e = 0; e < EXPERTS; e++) /* five standard deviations of a Poisson count */
		cr_assert_lt(labs((long)counts[e] - (long)mean), 5 * 12, "expert %d: %ld", e,
		    (long)counts[e]);
}

Test(routing, groups_limit_what_a_token_uses)
{
	struct dims d = {.experts = EXPERTS, .top_k = 8, .group_experts = 32, .top_groups = 4};
	struct skew even = {.kind = SKEW_UNIFORM}, one = {.kind = SKEW_ONE};
	struct skew zipf = {.kind = SKEW_BY_ZIPF, .value = 1.2};
	int64_t counts[EXPERTS] = {0}, skewed[EXPERTS] = {0}, first[EXPERTS] = {0};

	cr_assert_eq(draw(&even, &d, counts), 4);
	assert_even(counts, d.top_k);
	cr_assert_leq(draw(&zipf, &d, skewed), 4);
	cr_assert_eq(draw(&one, &d, first), 1);
	cr_assert_eq(first[7], TOKENS);
	cr_assert_eq(first[8], 0);
}

Test(routing, nothing_limits_without_groups)
{
	struct dims d = {.experts = EXPERTS, .top_k = 8};
	struct skew even = {.kind = SKEW_UNIFORM};
	int64_t counts[EXPERTS] = {0};

	cr_assert_gt(draw(&even, &d, counts), 6);
	assert_even(counts, d.top_k);
}

/* One expert a group and as many groups as choices: the tightest that still holds them. */
Test(routing, the_tightest_groups_hold_all_choices)
{
	struct dims d = {.experts = 8, .top_k = 4, .group_experts = 1, .top_groups = 4};
	struct skew even = {.kind = SKEW_UNIFORM};
	int64_t counts[EXPERTS] = {0};

	draw(&even, &d, counts);
	cr_assert_gt(counts[7], 0);
}
