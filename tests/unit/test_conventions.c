/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What do the same degrees mean in each framework, and what is nearby? */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "check/conventions.h"
#include "scratch.h"

TestSuite(conventions, .init = scratch_open, .fini = scratch_close);

static struct convention table[CONVENTIONS];
static size_t n_table;

static void
fill(int64_t world, int64_t tp, int64_t cp, int64_t pp, int64_t ep)
{
	struct config config;
	struct strategy s;
	struct check_context check = {.config = &config, .strategy = &s};

	config_init(&config);
	strategy_init(&s);
	s.world = world;
	s.tp = tp;
	s.cp = cp;
	s.pp = pp;
	s.ep = ep;
	strategy_derive(&s, NULL, 0);
	n_table = conventions_fill(table, arena, &check);
}

/* 0 stands for "impossible"; dp -1: not looked at. */
static void
expect(const char *name, int64_t dp, int64_t edp)
{
	for (size_t i = 0; i < n_table; i++) {
		const struct convention *c = &table[i];

		if (strcmp(c->name, name) != 0)
			continue;
		cr_expect_eq(c->valid, edp > 0, "%s: %s", name, c->arithmetic);
		cr_expect(dp < 0 || c->dp == dp, "%s has dp %lld", name, (long long)c->dp);
		cr_expect_eq(
		    c->edp, edp, "%s has edp %lld: %s", name, (long long)c->edp, c->arithmetic);
		return;
	}
	cr_assert_fail("no convention '%s'", name);
}

/* The six rows that show where conventions part, read in the frameworks' group code. */
Test(conventions, experts_over_all_ranks)
{
	fill(8, 1, 1, 1, 8);
	expect("product", 1, 1);
	expect("megatron-etp-tp", 8, 1);
	expect("megatron-etp-1", 8, 1);
	expect("deepspeed-expert-tp", 8, 1);
	expect("deepspeed", 8, 1);
	expect("deepspeed-autoep", 8, 1);
	expect("torchtitan-0.3", 8, 1);
}

Test(conventions, tensor_ranks_in_or_out_of_experts)
{
	fill(16, 2, 1, 1, 4);
	expect("product", 2, 2);
	expect("megatron-etp-tp", 8, 2);
	expect("megatron-etp-1", 8, 4);
	expect("deepspeed-expert-tp", 8, 2);
	expect("deepspeed", 8, 4);
	expect("torchtitan-0.3", 8, 4);
	expect("torchtitan-0.2-etp-tp", 8, 2);
}

Test(conventions, more_experts_than_data_ranks)
{
	fill(8, 2, 1, 2, 4);
	expect("product", 0, 0);
	expect("megatron-etp-tp", 2, 0);
	expect("megatron-etp-1", 2, 1);
	expect("deepspeed-expert-tp", 2, 0);
	expect("deepspeed", 2, 1);
	/* AutoEP with AutoTP excludes a pipeline */
	for (size_t i = 0; i < n_table; i++)
		if (strcmp(table[i].name, "deepspeed-autoep") == 0)
			cr_assert_not(table[i].valid);
	expect("torchtitan-0.3", 2, 1);
}

Test(conventions, context_ranks)
{
	fill(64, 4, 2, 2, 8);
	expect("product", 1, 1);
	cr_assert_not_null(
	    strstr(table[0].arithmetic, "counted: impossible"), "%s", table[0].arithmetic);
	expect("megatron-etp-tp", 4, 1);
	expect("megatron-etp-1", 4, 4);
	expect("torchtitan-0.3", 4, 4);
	for (size_t i = 0; i < n_table; i++)
		cr_expect(strncmp(table[i].name, "deepspeed", 9) != 0 || !table[i].valid);
}

Test(conventions, a_pipeline)
{
	fill(32, 1, 1, 4, 8);
	expect("product", 1, 1);
	expect("megatron-etp-1", 8, 1);
	expect("deepspeed-expert-tp", 8, 1);
	expect("deepspeed", 8, 1);
	expect("torchtitan-0.3", 8, 1);
}

Test(conventions, a_world_that_is_no_power_of_two)
{
	fill(24, 2, 1, 1, 8);
	expect("product", 0, 0);
	expect("megatron-etp-tp", 12, 0);
	expect("megatron-etp-1", 12, 3);
	expect("deepspeed-expert-tp", 12, 0);
	expect("deepspeed", 12, 3);
	expect("torchtitan-0.3", 12, 3);
}

Test(conventions, nearest_choices)
{
	struct config config;
	struct strategy s;
	struct check_context check = {.config = &config, .strategy = &s};
	struct choices choices;

	config_init(&config);
	strategy_init(&s);
	s.world = 24;
	s.tp = 2;
	s.pp = 2;
	s.ep = 8;
	s.etp = 1;
	s.micro_batch = 2;
	s.global_batch = 50;
	strategy_derive(&s, NULL, 0);
	choices_fill(&choices, &check, 64);
	/* EP divides 24/2 = 12 and 64 experts */
	cr_assert_eq(choices.n_ep, 3);
	cr_assert_eq(choices.ep[2], 4);
	/* lcm(4, 16) = 16 */
	cr_assert_eq(choices.n_worlds, 2);
	cr_assert_eq(choices.worlds[0], 16);
	cr_assert_eq(choices.worlds[1], 32);
	/* 2 x DP 6 = 12 */
	cr_assert_eq(choices.batch_below, 48);
	cr_assert_eq(choices.batch_above, 60);
	cr_assert_eq(choices.accumulation, 5);
}

Test(conventions, huge_degrees_do_not_overflow)
{
	fill(1 << 20, 1 << 20, 1 << 20, 256, 1 << 20);
	for (size_t i = 0; i < n_table; i++)
		cr_expect_not(table[i].valid, "%s", table[i].name);
}
