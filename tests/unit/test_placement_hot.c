/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a trace of loads makes of the planner: fullest ranks, traffic, and another EP. */
#include <criterion/criterion.h>
#include <math.h>

#include "fixture.h"
#include "model/loads_spec.h"
#include "planner/comm.h"
#include "planner/evaluator.h"
#include "planner/placement_hot.h"
#include "planner/placement_skew.h"
#include "planner/search.h"

static const struct loads *
made_up(const struct fixture *f, const char *text)
{
	struct loc nowhere = {NULL, 0, 0};
	struct loads_spec spec;

	loads_spec_init(&spec);
	cr_assert_eq(loads_spec_parse(f->arena, f->diags, nowhere, text, &spec), 0);
	return loads_generate(f->arena, &spec, 1);
}

static struct load_skew
skew_of(const struct loads *loads)
{
	return (struct load_skew){.kind = SKEW_TRACE, .path = "trace.csv", .loads = loads};
}

/* One expert a rank: the hottest expert; one rank: nothing to be uneven. */
Test(placement_hot, points_of_one_node)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100");
	const struct loads *loads = made_up(&f, "zipf=1,experts=8,layers=4,tokens=10000000");
	struct load_skew skew = skew_of(loads);
	double harmonic = 0, before = 0;

	skew.points = placement_points(f.arena, loads, &skew.n_points);
	for (int i = 1; i <= 8; i++)
		harmonic += 1.0 / i;
	cr_assert_float_eq(load_hot(&skew, 8, 8), 8 / harmonic, 1e-5);
	cr_assert_float_eq(load_hot(&skew, 8, 1), 1, 1e-12);
	for (int64_t ep = 1; ep <= 8; ep *= 2) {
		cr_assert_geq(load_hot(&skew, 8, ep), before);
		before = load_hot(&skew, 8, ep);
	}
	/* 4 ranks: 1 + 1/8 against the mean of two experts */
	cr_assert_float_eq(load_hot(&skew, 8, 4), (1 + 1.0 / 8) / (harmonic / 4), 1e-5);
	fixture_free(&f);
}

/* Nodes whose data differ keep tokens at home; shuffled data do not. */
Test(placement_hot, points_of_nodes)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100");
	const struct loads *apart =
	    made_up(&f, "cv=0.3,experts=64,layers=3,nodes=4,affinity=0.6,tokens=1000000");
	const struct loads *mixed = made_up(&f, "cv=0.3,experts=64,layers=3,nodes=4");
	struct load_skew skew = skew_of(apart);
	const struct skew_point *point;

	skew.points = placement_points(f.arena, apart, &skew.n_points);
	point = load_point(&skew, 16, 4);
	cr_assert(point && point->nodes == 4 && point->off_node < 0.85);
	cr_assert(load_point(&skew, 16, 2)->nodes == 2);
	cr_assert(load_point(&skew, 16, 8)->nodes == 1); /* not told apart: load alone */
	cr_assert_null(load_point(&skew, 3, 1));
	skew.points = placement_points(f.arena, mixed, &skew.n_points);
	cr_assert_float_eq(load_point(&skew, 16, 4)->off_node, 1, 0.02);
	fixture_free(&f);
}

/* Bytes that do not leave the node go over its own links; nothing is lost. */
Test(placement_hot, traffic_kept_near)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100x4");
	struct dispatch even = {.tokens = 4096,
			    .token_bytes = 8192,
			    .experts = 64,
			    .top_k = 6,
			    .hot = 1},
			near = even;
	struct transfer a, b;
	struct links links;
	struct span span;

	links_init(&links, f.cluster, f.cluster->world);
	span = span_of(&links, 1, 32);
	near.off_node = 0.6;
	a = comm_dispatch(&links, &span, &even);
	b = comm_dispatch(&links, &span, &near);
	cr_assert_float_eq(b.bytes[1], 0.6 * a.bytes[1], 1e-6 * a.bytes[1]);
	cr_assert_float_eq(a.bytes[0] + a.bytes[1], b.bytes[0] + b.bytes[1], 1e-6 * a.bytes[1]);
	cr_assert_lt(b.seconds, a.seconds);
	near.off_node = 1;
	b = comm_dispatch(&links, &span, &near);
	cr_assert_float_eq(a.seconds, b.seconds, 1e-12);
	fixture_free(&f);
}

static double
step_of(struct fixture *f, struct load_skew skew, int64_t ep)
{
	struct strategy s = fixture_strategy(f, 1, 1, 2, 1, ep, 1, 256, 4096);
	struct estimate estimate;

	f->job.skew = skew;
	evaluate(fixture_evaluator(f, 4096), &s, NULL, NULL, &estimate);
	return estimate.step_s;
}

Test(placement_hot, estimates_follow_the_trace)
{
	struct fixture f = fixture_new("mixtral-8x7b", NULL, "dgx-h100x4");
	struct load_skew balanced = {.kind = SKEW_BALANCED};
	struct load_skew trace = skew_of(made_up(&f, "zipf=1,experts=8,layers=4"));
	struct load_skew flat = skew_of(made_up(&f, "balanced,experts=8,layers=2"));

	cr_assert_float_eq(step_of(&f, balanced, 8), step_of(&f, flat, 8), 1e-9);
	cr_assert_gt(step_of(&f, trace, 8), 1.2 * step_of(&f, balanced, 8));
	cr_assert_float_eq(step_of(&f, trace, 1), step_of(&f, balanced, 1), 1e-9);
	fixture_free(&f);
}

static int64_t
best_ep(struct fixture *f, struct load_skew skew)
{
	struct plan *plan;

	f->job.skew = skew;
	f->job.base.seq_len = 4096;
	f->job.base.global_batch = 1024;
	f->job.top = 1;
	plan = search(f->arena, f->diags, f->model, f->cluster, &f->job, NULL, NULL);
	cr_assert(plan && plan->n_best == 1);
	cr_assert_eq(plan_check(plan, f->model, f->cluster, &f->job, f->diags), 0);
	return plan->best[0].strategy.ep;
}

/* The point of it all: uneven loads ask for fewer ranks with more experts each. */
Test(placement_hot, a_skewed_model_gets_another_ep)
{
	struct fixture f = fixture_new("mixtral-8x22b", NULL, "dgx-h100x8");
	int64_t balanced, skewed;

	f.job.limits[AXIS_TP] = (struct axis_limit){.n_allowed = 2, .allowed = {1, 2}};
	f.job.limits[AXIS_CP].max = 2;
	f.job.limits[AXIS_VPP].max = 1;
	f.job.limits[AXIS_MICRO_BATCH].max = 1;
	balanced = best_ep(&f, (struct load_skew){.kind = SKEW_BALANCED});
	skewed = best_ep(&f, skew_of(made_up(&f, "zipf=1,experts=8,layers=56")));
	cr_assert_lt(skewed, balanced, "EP %d, with uneven loads %d", (int)balanced, (int)skewed);
	fixture_free(&f);
}
