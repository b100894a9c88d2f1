/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GLPK's layouts against all layouts of small models, the dynamic programme and glpsol. */
#include <criterion/criterion.h>

#include "base/arena.h"
#include "base/diag.h"
#include "glpsol.h"
#include "layout_cases.h"
#include "planner/pipeline_milp.h"

static const struct pipeline_options plain = {0};
static const struct pipeline_options free_count = {.free_recompute = true};

struct run {
	struct arena *arena;
	struct diags *diags;
};

static struct run
run_new(void)
{
	struct arena *arena = arena_new(NULL, NULL);

	return (struct run){arena, diags_new(arena)};
}

static double
nearly(double value)
{
	return value * (1 + 1e-6);
}

/* The best over all recompute counts too. */
static struct best
brute_force_free(struct instance *in)
{
	struct best best = {INFINITY, INFINITY, INFINITY};

	for (int count = 1; count <= in->model.layers; count++) {
		struct best now;

		in->costs.recomputed = count;
		now = brute_force(in);
		best.time_s = fmin(best.time_s, now.time_s);
	}
	return best;
}

static void
solve(struct run *run, const struct instance *in, const struct pipeline_options *options,
    struct pipeline_solution *solution)
{
	int status =
	    pipeline_solve(run->arena, run->diags, &in->costs, &in->model, options, solution);

	cr_assert_eq(status, 0, "%s", run->diags->last ? run->diags->last->message : "");
}

/* What the solution says of its layout is what the layout costs. */
static void
check_solution(const struct instance *in, const struct pipeline_solution *solution, double best_s)
{
	struct stage_costs costs = in->costs;
	struct partition_peak peak;

	costs.recomputed = solution->recomputed;
	peak = partition_peak(&costs, &in->model, &solution->layout);
	cr_assert_leq(peak.bytes, nearly(costs.capacity_bytes));
	cr_assert_leq(solution->slowest_s, nearly(best_s));
	cr_assert_geq(nearly(solution->slowest_s), best_s);
	cr_assert_float_eq(peak.time_s, solution->slowest_s, 1e-6 * peak.time_s);
}

Test(pipeline, segments_of_layer_lists)
{
	struct model m = {.layers = 61, .n_kinds = 2};
	struct pipeline_segment s[PIPELINE_MAX_SEGMENTS];
	int n;

	for (int l = 3; l < 61; l++)
		m.kind_of[l] = 1;
	cr_assert(pipeline_segments(&m, s, &n));
	cr_assert_eq(n, 2);
	cr_assert(s[0].layers == 3 && s[0].period == 1 && s[1].layers == 58 && s[1].first == 3);
	for (int l = 0; l < 61; l++)
		m.kind_of[l] = l % 2;
	cr_assert(pipeline_segments(&m, s, &n));
	cr_assert_eq(n, 2);
	cr_assert(s[0].layers == 60 && s[0].period == 2 && s[1].layers == 1);
	for (int l = 0; l < 61; l++)
		m.kind_of[l] = l % 4 == 3;
	cr_assert(pipeline_segments(&m, s, &n));
	cr_assert(s[0].layers == 60 && s[0].period == 4 && n == 2);
	for (int l = 0; l < 61; l++) /* runs of 1, 2, 3 …: no pattern */
		m.kind_of[l] =
		    (l == 0) || (l >= 3 && l < 6) || (l >= 10 && l < 15) || (l >= 21 && l < 28);
	cr_assert_not(pipeline_segments(&m, s, &n));
}

Test(pipeline, one_chunk_a_stage_agrees_with_all_layouts)
{
	struct run run = run_new();
	uint64_t state = 21;
	int by_glpk = 0, fit = 0;

	for (int i = 0; i < 400; i++) {
		int pp = 1 + (int)next_random(&state) % 4;
		struct pipeline_solution solution;
		struct instance in;
		struct best best;

		random_instance(&in, pp + (int)next_random(&state) % 8, pp, 1, &state);
		in.costs.recomputed = i % 3 == 0 ? MODEL_MAX_LAYERS : i % 3 - 1;
		best = brute_force(&in);
		solve(&run, &in, &plain, &solution);
		by_glpk += solution.by_glpk;
		if (!isfinite(best.time_s)) {
			cr_assert_eq(solution.status, MILP_INFEASIBLE);
			continue;
		}
		fit++;
		cr_assert_eq(solution.status, MILP_OPTIMAL);
		check_solution(&in, &solution, best.time_s);
	}
	cr_assert_gt(fit, 150);
	cr_assert_gt(by_glpk, 250);
	arena_free(run.arena);
}

Test(pipeline, the_recompute_count_is_chosen_for_all_stages)
{
	struct run run = run_new();
	uint64_t state = 22;
	int by_glpk = 0, chosen[16] = {0};

	for (int i = 0; i < 200; i++) {
		int pp = 1 + (int)next_random(&state) % 3;
		struct pipeline_solution solution;
		struct instance in;
		struct best best;

		random_instance(&in, pp + (int)next_random(&state) % 7, pp, 1, &state);
		best = brute_force_free(&in);
		solve(&run, &in, &free_count, &solution);
		by_glpk += solution.by_glpk;
		if (!isfinite(best.time_s)) {
			cr_assert_eq(solution.status, MILP_INFEASIBLE);
			continue;
		}
		cr_assert_eq(solution.status, MILP_OPTIMAL);
		check_solution(&in, &solution, best.time_s);
		if (solution.recomputed < 16) /* MODEL_MAX_LAYERS: all of them */
			chosen[solution.recomputed]++;
	}
	cr_assert_gt(by_glpk, 50);
	cr_assert(chosen[1] > 10 && chosen[2] > 3, "%d, %d", chosen[1], chosen[2]);
	arena_free(run.arena);
}

Test(pipeline, several_chunks_a_stage_agree_where_glpk_proves)
{
	struct run run = run_new();
	uint64_t state = 23;
	int proved = 0, improved = 0;

	for (int i = 0; i < 300; i++) {
		int pp = 2 + (int)next_random(&state) % 2, vpp = 2 + (int)next_random(&state) % 2;
		struct pipeline_solution solution;
		struct layout descent;
		struct instance in;
		struct best best;

		random_instance(&in, pp * vpp + (int)next_random(&state) % 6, pp, vpp, &state);
		in.costs.recomputed = i % 2 ? 0 : MODEL_MAX_LAYERS;
		best = brute_force(&in);
		solve(&run, &in, &plain, &solution);
		cr_assert(solution.status != MILP_INFEASIBLE || !isfinite(best.time_s));
		if (solution.status != MILP_OPTIMAL)
			continue;
		proved++;
		check_solution(&in, &solution, best.time_s);
		improved +=
		    !partition_fast(&in.costs, &in.model, &descent) ||
		    partition_peak(&in.costs, &in.model, &descent).time_s > nearly(best.time_s);
	}
	cr_assert_gt(proved, 100);
	cr_assert_gt(improved, 5);
	arena_free(run.arena);
}

/* Embedding, dense layers, MoE layers, head; the sizes at which one binary a layer fails. */
static struct instance
large_instance(int layers, int pp, int vpp)
{
	struct instance in = {.model = {.layers = layers, .n_kinds = 2}};

	for (int l = 3; l < layers; l++)
		in.model.kind_of[l] = 1;
	in.costs = (struct stage_costs){.pp = pp,
	    .vpp = vpp,
	    .n_kinds = 2,
	    .layer_s = {0.7, 1},
	    .recompute_s = {0.2, 0.3},
	    .state_bytes = {1, 4},
	    .activation_bytes = {1, 1.7},
	    .saved_bytes = {0.9, 1.6}};
	in.costs.fixed_s[0] = 0.1;
	in.costs.fixed_s[pp - 1] = 1.7;
	in.costs.fixed_bytes[0] = 3;
	in.costs.fixed_bytes[pp - 1] = 4;
	for (int s = 0; s < pp; s++)
		in.costs.alive[s] = pp - s;
	in.costs.capacity_bytes = (1.7 * pp + 4) * layers / pp * 1.02 + 4;
	return in;
}

Test(pipeline, large_models_are_proved_by_glpk_and_programme)
{
	static const struct {
		int layers, pp;
	} sizes[] = {
	    {32, 2}, {32, 4}, {32, 8}, {61, 4}, {61, 8}, {61, 16}, {94, 16}, {126, 16}, {126, 32}};
	struct run run = run_new();

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct instance in = large_instance(sizes[i].layers, sizes[i].pp, 1);
		struct pipeline_solution solution;
		struct layout layout;

		solve(&run, &in, &plain, &solution);
		cr_assert(solution.by_glpk, "%d layers, %d stages", sizes[i].layers, sizes[i].pp);
		cr_assert_eq(solution.status, MILP_OPTIMAL);
		check_solution(
		    &in, &solution, partition_exact(run.arena, &in.costs, &in.model, &layout));
	}
	arena_free(run.arena);
}

Test(pipeline, large_interleaved_models_are_proved_by_glpk)
{
	static const struct {
		int layers, pp, vpp;
	} sizes[] = {{32, 4, 4}, {61, 8, 4}, {61, 16, 2}, {94, 16, 4}, {126, 16, 4}};
	struct run run = run_new();

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct instance in = large_instance(sizes[i].layers, sizes[i].pp, sizes[i].vpp);
		struct pipeline_solution solution;

		solve(&run, &in, &plain, &solution);
		cr_assert(solution.by_glpk, "%d layers, %d x %d", sizes[i].layers, sizes[i].pp,
		    sizes[i].vpp);
		cr_assert_eq(solution.status, MILP_OPTIMAL);
		check_solution(&in, &solution, solution.slowest_s);
	}
	arena_free(run.arena);
}

Test(pipeline, a_stop_before_the_end_is_not_called_proved)
{
	struct pipeline_options hurry = {.iteration_limit = 1};
	struct instance in = large_instance(94, 16, 4);
	struct pipeline_solution solution;
	struct run run = run_new();

	solve(&run, &in, &hurry, &solution);
	cr_assert_not(solution.by_glpk);
	cr_assert_eq(solution.status, MILP_FEASIBLE);
	in = large_instance(94, 16, 1);
	solve(&run, &in, &hurry, &solution);
	cr_assert_not(solution.by_glpk);
	cr_assert_eq(solution.status, MILP_OPTIMAL, "the dynamic programme proves it");
	arena_free(run.arena);
}

Test(pipeline, glpsol_agrees_on_the_text)
{
	struct run run = run_new();
	struct instance cases[] = {
	    large_instance(32, 4, 1), large_instance(61, 8, 1), large_instance(32, 4, 2)};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pipeline_model *model = pipeline_model_new(
		    run.arena, &cases[i].costs, &cases[i].model, &plain, INFINITY);
		const char *text = milp_lp_text(run.arena, pipeline_model_milp(model));
		struct pipeline_solution solution;

		solve(&run, &cases[i], &plain, &solution);
		cr_assert_float_eq(pipeline_model_seconds(model, glpsol_objective(text)),
		    solution.slowest_s, 1e-6 * solution.slowest_s);
	}
	arena_free(run.arena);
}

/* Patterns through all layers in several chunks a stage: the bound may not be above the best. */
Test(pipeline, the_bound_of_patterns_is_one)
{
	struct milp_options options = {0};
	struct run run = run_new();
	uint64_t state = 29;
	int met = 0;

	for (int i = 0; i < 100; i++) {
		int pp = 2, vpp = 2;
		struct instance in;
		struct best best;
		double bound_s;

		random_instance(&in, pp * vpp + (int)next_random(&state) % 7, pp, vpp, &state);
		best = brute_force(&in);
		pipeline_bound(run.arena, &in.costs, &in.model, &options, &bound_s);
		cr_assert_leq(bound_s, nearly(best.time_s));
		met += bound_s >= best.time_s * (1 - 1e-6);
	}
	cr_assert_gt(met, 20);
	arena_free(run.arena);
}

Test(pipeline, the_quick_layout_fits_whenever_one_does)
{
	struct run run = run_new();
	uint64_t state = 31;

	for (int i = 0; i < 300; i++) {
		int pp = 1 + (int)next_random(&state) % 4, recomputed;
		struct layout layout;
		struct instance in;
		struct best best;
		bool fits;

		random_instance(&in, pp + (int)next_random(&state) % 6, pp, 1, &state);
		in.costs.capacity_bytes *= uniform(&state, 0.6, 1);
		best = brute_force_free(&in);
		in.costs.recomputed = 0;
		fits = pipeline_quick(run.arena, &in.costs, &in.model, true, &layout, &recomputed);
		cr_assert_eq(fits, isfinite(best.time_s), "instance %d", i);
		in.costs.recomputed = recomputed;
		if (fits)
			cr_assert_leq(partition_peak(&in.costs, &in.model, &layout).time_s,
			    nearly(best.time_s));
	}
	arena_free(run.arena);
}
