/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rank held an expert, which will, and can the framework load it? */
#include <criterion/criterion.h>
#include <string.h>

#include "check/reshard.h"
#include "fixture.h"

static struct fixture fixture;

static void
set_up(void)
{
	fixture = fixture_new("mixtral-8x7b", NULL, "dgx-h100x2");
}

static void
tear_down(void)
{
	fixture_free(&fixture);
}

TestSuite(reshard, .init = set_up, .fini = tear_down);

static struct plan_view
plan_of(enum framework framework, int64_t tp, int64_t pp, int64_t ep, int64_t etp)
{
	struct plan_view plan = {.model = fixture.model};

	strategy_init(&plan.strategy);
	plan.strategy.framework = framework;
	plan.strategy.tp = tp;
	plan.strategy.pp = pp;
	plan.strategy.ep = ep;
	plan.strategy.etp = etp;
	strategy_derive(&plan.strategy, fixture.model, fixture.cluster->world);
	layout_even(&plan.layout, fixture.model->layers, (int)pp, 1);
	return plan;
}

static struct reshard *
reshard(const struct plan_view *old_plan, const struct plan_view *new_plan)
{
	struct reshard *r = reshard_plan(fixture.arena, fixture.diags, old_plan, new_plan);

	cr_assert_not_null(r);
	return r;
}

/*
 * The first holder by the order tp-cp-ep-dp-pp: nothing else is outside the first group of
 * copies.
 */
static int32_t
first_holder(const struct plan_view *plan, int layer, int64_t expert, int64_t shard)
{
	const struct strategy *s = &plan->strategy;
	int64_t stage = 0;

	while (layer >= plan->layout.first[stage + 1])
		stage++;
	if (expert >= 0)
		shard += expert / (fixture.model->kinds[0].ffn.experts / s->ep) * s->etp;
	return (int32_t)(stage * (s->world / s->pp) + shard);
}

/* The rank itself when it had the piece, otherwise the first holder. */
static int32_t
source(const struct plan_view *plan, const struct reshard_row *row)
{
	const struct strategy *s = &plan->strategy;
	int64_t each = s->world / s->pp;
	int64_t copies = row->first_expert < 0 ? s->tp : s->ep * s->etp;
	int32_t first =
	    first_holder(plan, row->first_layer, row->first_expert, row->old_shard);

	return row->new_rank / each == first / each &&
		       row->new_rank % each % copies == first % each % copies
		   ? row->new_rank
		   : first;
}

static void
expect_holders(const struct plan_view *old_plan, const struct plan_view *new_plan)
{
	const struct reshard *r = reshard(old_plan, new_plan);

	for (size_t i = 0; i < r->n_rows; i++) {
		const struct reshard_row *row = &r->rows[i];

		cr_expect_eq(row->old_rank, source(old_plan, row), "row %zu: old rank %d", i,
		    row->old_rank);
		cr_expect_eq(row->new_rank,
		    first_holder(new_plan, row->last_layer, row->last_expert, row->new_shard),
		    "row %zu: new rank %d", i, row->new_rank);
		cr_expect_eq(row->moves, row->old_rank != row->new_rank);
	}
}

/* Every pair of shards that have something in common is a row, for each layer and expert once. */
static void
expect_all(const struct plan_view *old_plan, const struct plan_view *new_plan, int64_t dense_pairs,
    int64_t expert_pairs)
{
	const struct reshard *r = reshard(old_plan, new_plan);
	int64_t layers = fixture.model->layers, dense = 0, experts = 0;

	for (size_t i = 0; i < r->n_rows; i++) {
		const struct reshard_row *row = &r->rows[i];
		int64_t n = row->last_layer - row->first_layer + 1;

		if (row->first_expert < 0)
			dense += n;
		else
			experts += n * (row->last_expert - row->first_expert + 1);
	}
	cr_expect_eq(dense, layers * dense_pairs);
	cr_expect_eq(experts, layers * 8 * expert_pairs);
}

/* Twice the copies of experts: a copy of what a rank needs lies on the rank itself. */
Test(reshard, other_copies_count_too)
{
	struct plan_view a = plan_of(FRAMEWORK_MEGATRON, 1, 1, 8, 1);
	struct plan_view b = plan_of(FRAMEWORK_MEGATRON, 1, 2, 8, 1);
	const struct reshard *r = reshard(&a, &b);

	for (size_t i = 0; i < r->n_rows; i++)
		cr_expect(!r->rows[i].moves, "row %zu moves from %d to %d", i,
		    r->rows[i].old_rank, r->rows[i].new_rank);
	cr_expect_float_eq(r->held, r->needed, 1);
}

Test(reshard, the_same_plan_moves_nothing)
{
	struct plan_view plan = plan_of(FRAMEWORK_MEGATRON, 2, 2, 4, 1);
	const struct reshard *r = reshard(&plan, &plan);

	cr_expect_gt(r->n_rows, 0);
	for (size_t i = 0; i < r->n_rows; i++)
		cr_expect(!r->rows[i].moves);
	cr_expect_float_eq(r->held, r->needed, 1);
	cr_expect_eq(r->weights, RESHARD_LOADS);
	cr_expect_eq(r->optimizer, RESHARD_LOADS);
}

Test(reshard, holders_are_where_the_order_puts_them)
{
	struct plan_view a = plan_of(FRAMEWORK_MEGATRON, 1, 2, 8, 1);
	struct plan_view b = plan_of(FRAMEWORK_MEGATRON, 1, 4, 4, 1);
	struct plan_view c = plan_of(FRAMEWORK_MEGATRON, 4, 2, 2, 4);

	expect_holders(&a, &b);
	expect_holders(&b, &a);
	expect_holders(&a, &c);
	expect_holders(&c, &b);
}

Test(reshard, shards_of_two_sizes_meet_where_they_overlap)
{
	struct plan_view tp2 = plan_of(FRAMEWORK_MEGATRON, 2, 1, 4, 2);
	struct plan_view tp4 = plan_of(FRAMEWORK_MEGATRON, 4, 1, 2, 4);
	struct plan_view etp1 = plan_of(FRAMEWORK_MEGATRON, 4, 1, 8, 1);

	expect_all(&tp2, &tp2, 2, 2);
	expect_all(&tp2, &tp4, 4, 4);
	expect_all(&tp4, &tp2, 4, 4);
	expect_all(&tp4, &etp1, 4, 4);
	expect_all(&etp1, &tp2, 4, 2);
}

/* Of what PP 4 EP 4 needs: the layers of the same stage times the experts of the same rank. */
Test(reshard, held_is_what_both_plans_put_on_a_rank)
{
	struct plan_view a = plan_of(FRAMEWORK_MEGATRON, 1, 2, 8, 1);
	struct plan_view b = plan_of(FRAMEWORK_MEGATRON, 1, 4, 4, 1);
	const struct reshard *r = reshard(&a, &b);
	double needed = 0, held = 0;

	for (int rank = 0; rank < 16; rank++)
		for (int layer = 0; layer < 32; layer++)
			for (int expert = 0; expert < 8; expert++) {
				bool now = layer / 8 == rank / 4 && expert / 2 == rank % 4;

				needed += now;
				held += now && layer / 16 == rank / 8 && expert == rank % 8;
			}
	cr_expect_eq(needed, 16 * 16);
	cr_expect_float_eq(r->held / r->needed, held / needed, 1e-12);
	/* Gate, up and down of each expert: 3 x 4096 x 14336. */
	cr_expect_float_eq(r->needed, needed * 3 * 4096 * 14336, 1);
}

Test(reshard, more_gpus_than_before_held_nothing)
{
	struct plan_view a = plan_of(FRAMEWORK_MEGATRON, 1, 1, 8, 1), b = a;
	const struct reshard *r;

	a.strategy.world = 8;
	a.strategy.dp = a.strategy.edp = 0;
	strategy_derive(&a.strategy, fixture.model, 8);
	r = reshard(&a, &b);
	cr_expect_float_eq(r->held / r->needed, 0.5, 1e-12);
	cr_expect_eq(r->optimizer, RESHARD_WITH);
}

Test(reshard, what_loads_depends_on_the_framework)
{
	struct plan_view megatron = plan_of(FRAMEWORK_MEGATRON, 1, 1, 8, 1);
	struct plan_view megatron_pp = plan_of(FRAMEWORK_MEGATRON, 1, 2, 8, 1);
	struct plan_view deepspeed = plan_of(FRAMEWORK_DEEPSPEED, 1, 1, 8, 1);
	struct plan_view deepspeed_ep = plan_of(FRAMEWORK_DEEPSPEED, 1, 1, 4, 1);
	struct plan_view titan = plan_of(FRAMEWORK_TORCHTITAN, 1, 1, 8, 1);
	struct plan_view titan_ep = plan_of(FRAMEWORK_TORCHTITAN, 1, 1, 4, 1);
	const struct reshard *r = reshard(&megatron, &megatron_pp);

	cr_expect_eq(r->weights, RESHARD_WITH);
	cr_expect(strstr(r->weights_advice, "torch_dist"));
	cr_expect(strstr(r->optimizer_advice, "--dist-ckpt-optim-fully-reshardable"));
	r = reshard(&deepspeed, &deepspeed_ep);
	cr_expect_eq(r->weights, RESHARD_LOADS);
	cr_expect_eq(r->optimizer, RESHARD_CONVERTS);
	r = reshard(&titan, &titan_ep);
	cr_expect_eq(r->weights, RESHARD_LOADS);
	cr_expect_eq(r->optimizer, RESHARD_LOADS);
	r = reshard(&megatron, &titan);
	cr_expect_eq(r->weights, RESHARD_CONVERTS);
	cr_expect_eq(r->optimizer, RESHARD_CONVERTS);
}

Test(reshard, other_models_are_refused)
{
	struct plan_view a = plan_of(FRAMEWORK_MEGATRON, 1, 1, 8, 1), b = a;
	struct fixture other = fixture_new("qwen3-30b-a3b", NULL, "dgx-h100x2");

	b.model = other.model;
	cr_expect_null(reshard_plan(fixture.arena, fixture.diags, &a, &b));
	cr_expect_eq(fixture.diags->errors, 1);
	fixture_free(&other);
}
