/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which strategy is best for this model on this cluster, and how do we know?
 *
 *  1. search_enumerate.c: every legal point of the grid with a true lower bound of
 *     step time and memory; the others are counted by the rule that they break;
 *  2. search_sweep.c: the best n exactly, all others proved no better by bounds;
 *  3. pipeline_solve.c: GLPK's layout for each of these;
 *  4. master.c: GLPK chooses among the candidates under all limits, and with other
 *     values of an axis forced: the reasons of whynot.c;
 *  5. when nothing fits, nearmiss.c: what misses by least, what would help.
 * Everything but the time limit is deterministic.
 */
#include "planner/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "planner/band.h"
#include "planner/milp.h"
#include "planner/rates.h"
#include "planner/search_private.h"

enum { MAX_BEST = 100 };

static int
compare_by_grid(const struct family *x, const struct family *y)
{
	int order = memcmp(x->first.value, y->first.value, sizeof(x->first.value));

	return order ? order
		     : (x->first.world > y->first.world) - (x->first.world < y->first.world);
}

static int
compare_doubles(double x, double y)
{
	return (x > y) - (x < y);
}

static int
by_time(const void *a, const void *b)
{
	const struct family *x = a, *y = b;
	int order = compare_doubles(x->first.bound_s, y->first.bound_s);

	return order ? order : compare_by_grid(x, y);
}

static int
by_bytes(const void *a, const void *b)
{
	const struct family *x = a, *y = b;
	int order = compare_doubles(x->first.bound_bytes, y->first.bound_bytes);

	return order ? order : compare_by_grid(x, y);
}

static int
by_gpus(const void *a, const void *b)
{
	const struct family *x = a, *y = b;
	int order = (x->first.world > y->first.world) - (x->first.world < y->first.world);

	return order ? order : by_time(a, b);
}

void
search_sort(struct search *search, bool bytes)
{
	enum objective objective = bytes ? OBJECTIVE_MEMORY : search->job->objective;

	if (search->n_families == 0)
		return;
	qsort(search->families, (size_t)search->n_families, sizeof(*search->families),
	    objective == OBJECTIVE_MEMORY ? by_bytes
	    : objective == OBJECTIVE_GPUS ? by_gpus
					  : by_time);
}

void
search_prepare(struct search *search, const struct job *job, const struct cluster *cluster)
{
	search->job = job;
	search->cluster = cluster;
	search->evaluator = evaluator_new(search->arena, search->model, cluster, job);
	search->capacity_bytes = cluster->gpu.usable_bytes.value - (double)cluster->reserve_bytes -
				 (double)job->reserve_bytes;
	search->cap_bytes = search->capacity_bytes;
	if (job->max_memory_bytes > 0)
		search->cap_bytes = fmin(search->cap_bytes, (double)job->max_memory_bytes);
	else if (!search->at_risk_too)
		search->cap_bytes /= memory_bands[memory_class_of(&job->base)].high;
	search->cap_step_s = job->max_step_s > 0 ? job->max_step_s : INFINITY;
	search->deadline_s =
	    job->time_limit_s > 0 ? search_clock_s() + job->time_limit_s : INFINITY;
	grid_init(&search->grid, search->model, cluster, job);
	grid_enumerate(search);
}

/* Finalists get GLPK's layout, which may change their order. */
static int
settle_best(struct search *search, int n, int best[], struct estimate *estimates)
{
	int kept = 0;

	for (int i = 0; i < n && !search->failed; i++) {
		struct candidate *c = &search->candidates[best[i]];
		int at = kept, index = best[i];
		struct estimate estimate;

		if (!candidate_settle(search, c, &estimate))
			continue;
		c->step_s = estimate.step_s;
		c->bytes = estimate.worst_bytes;
		while (at > 0 && search->job->objective == OBJECTIVE_TIME &&
		       estimate.step_s < estimates[at - 1].step_s)
			at--;
		memmove(estimates + at + 1, estimates + at, (size_t)(kept - at) * sizeof(estimate));
		memmove(best + at + 1, best + at, (size_t)(kept - at) * sizeof(*best));
		estimates[at] = estimate;
		best[at] = index;
		kept++;
	}
	return kept;
}

static int
internal_error(struct search *search, double by_master, double by_sweep)
{
	struct loc nowhere = {NULL, 0, 0};

	diag_add(search->diags, nowhere, "internal", SEVERITY_ERROR,
	    "the master MILP and the sweep differ: %.9g and %.9g", by_master, by_sweep);
	diag_last_hint(search->diags, "this is a bug in moeplan: please report it with the inputs");
	search->failed = true;
	return -1;
}

/* Values may be equal but for the tolerance of a simplex solver. */
static bool
same_value(const struct search *search, int a, int b)
{
	const struct candidate *x = &search->candidates[a], *y = &search->candidates[b];
	double vx = candidate_value(search, x), vy = candidate_value(search, y);
	double one = search->job->objective == OBJECTIVE_MEMORY ? GIB : 1;

	if (search->job->objective == OBJECTIVE_GPUS && x->world != y->world)
		return false;
	return fabs(vx - vy) <= 1e-6 * fmax(fabs(vx), one);
}

static int
check_answer(struct search *search, int answer, int expected)
{
	if (search->failed)
		return -1;
	if (answer >= 0 && expected >= 0 && same_value(search, answer, expected))
		return 0;
	if (answer < 0 && expected < 0)
		return 0;
	return internal_error(search,
	    answer < 0 ? INFINITY : candidate_value(search, &search->candidates[answer]),
	    expected < 0 ? INFINITY : candidate_value(search, &search->candidates[expected]));
}

/* Takes an answer and all that are like it out of the choice, or puts them back. */
static void
take_like(struct choice_model *model, int candidate, bool taken)
{
	const struct candidate *candidates = model->search->candidates;

	for (int i = 0; i < model->n_columns; i++)
		if (candidate_is_like(&candidates[candidate], &candidates[model->candidates[i]]))
			master_take(model->master, i, taken);
}

/* The master chooses the best n one after another, each without those before it. */
static int
confirm_best(struct choice_model *model, int n, const int best[], struct plan *plan)
{
	struct search *search = model->search;

	for (int i = 0; i < n; i++) {
		int answer = choice_model_solve(model);

		if (check_answer(search, answer, best[i]) != 0)
			return -1;
		if (i == 0 && search->job->lp_path)
			plan->master_lp = master_lp_text(search->arena, model->master);
		take_like(model, best[i], true);
	}
	for (int i = 0; i < n; i++)
		take_like(model, best[i], false);
	return 0;
}

/* And the best with each other value, forced. */
static int
confirm_others(struct choice_model *model, const struct other_value *others, int n)
{
	for (int i = 0; i < n; i++) {
		int answer;

		master_force(model->master, (int)others[i].axis, others[i].value, MASTER_FORCED);
		answer = choice_model_solve(model);
		master_force(model->master, (int)others[i].axis, others[i].value, MASTER_FREE);
		if (check_answer(model->search, answer, others[i].best) != 0)
			return -1;
	}
	return 0;
}

static int
run_master(struct search *search, int n, const int best[], const struct other_value *others,
    int n_others, struct plan *plan)
{
	int must[MAX_BEST + MAX_OTHER_VALUES], n_must = 0, status;
	struct choice_model model;

	for (int i = 0; i < n; i++)
		must[n_must++] = best[i];
	for (int i = 0; i < n_others; i++)
		if (others[i].best >= 0)
			must[n_must++] = others[i].best;
	choice_model_init(&model, search, must, n_must);
	status = confirm_best(&model, n, best, plan);
	if (status == 0)
		status = confirm_others(&model, others, n_others);
	master_release(model.master);
	return status;
}

/* By which time, memory or number of GPUs everything that is not exact is bounded below. */
static double
least_open(const struct search *search, double incumbent)
{
	double least = incumbent;

	for (int f = 0; f < search->n_families; f++) {
		const struct candidate *c = &search->families[f].first;

		/* An opened family's bound is below that of all its candidates. */
		least = fmin(least, search->job->objective == OBJECTIVE_GPUS
					? (double)search->grid.worlds[c->world]
					: candidate_bound(search, c));
	}
	return least;
}

static void
add_rules(struct search_account *account, const struct search *search)
{
	for (int r = 0; grid_rules[r].id; r++) {
		int at = account->n_rules;

		if (search->broken[r] == 0 || account->n_rules == SEARCH_MAX_RULES)
			continue;
		for (; at > 0 && account->rules[at - 1].count < search->broken[r]; at--)
			account->rules[at] = account->rules[at - 1];
		account->rules[at].id = grid_rules[r].id;
		account->rules[at].gist = grid_rules[r].gist;
		account->rules[at].count = search->broken[r];
		account->n_rules++;
	}
}

/* Where a candidate counts that has only bounds: proved no better, or out of time. */
static int64_t *
unpriced(struct search *search, const struct candidate *c, const struct estimate *limit)
{
	struct search_account *account = &search->account;
	bool proved = !account->stopped_early ||
		      (limit && candidate_bound(search, c) >=
				    (search->job->objective == OBJECTIVE_MEMORY ? limit->worst_bytes
										: limit->step_s));

	if (limit && search->job->objective == OBJECTIVE_GPUS)
		proved = proved && search->grid.worlds[c->world] >= limit->strategy.world;
	return proved ? &account->pruned : &account->open;
}

static void
close_account(struct search *search, struct plan *plan)
{
	struct search_account *account = &search->account;
	const struct estimate *best = &plan->best[0];
	/* The last answer, when there are as many as were wanted: what is not below it is no
	 * answer. */
	const struct estimate *limit = plan->n_best > 0 && plan->n_best >= search->job->top
					   ? &plan->best[plan->n_best - 1]
					   : NULL;

	for (int f = 0; f < search->n_families; f++)
		if (search->families[f].n_members < 0)
			*unpriced(search, &search->families[f].first, limit) +=
			    search->families[f].legal;
	for (int i = 0; i < search->n_candidates; i++) {
		switch ((enum candidate_state)search->candidates[i].state) {
		case CANDIDATE_BOUND:
			++*unpriced(search, &search->candidates[i], limit);
			break;
		case CANDIDATE_LAID_OUT:
			account->evaluated++;
			break;
		case CANDIDATE_EXACT:
			account->exact++;
			break;
		case CANDIDATE_UNFIT:
			account->does_not_fit++;
			break;
		case CANDIDATE_OVER_LIMIT:
			account->over_limit++;
			break;
		}
	}
	add_rules(account, search);
	account->solver = "GLPK";
	account->solver_version = arena_strdup(search->arena, milp_solver_version());
	account->status = account->stopped_early ? "feasible" : "optimal";
	if (plan->n_best == 0)
		account->status = account->stopped_early ? "unknown" : "infeasible";
	else
		account->incumbent = search->job->objective == OBJECTIVE_MEMORY ? best->worst_bytes
				     : search->job->objective == OBJECTIVE_GPUS
					 ? (double)best->strategy.world
					 : best->step_s;
	account->bound =
	    account->stopped_early ? least_open(search, account->incumbent) : account->incumbent;
	if (account->incumbent > 0)
		account->gap = (account->incumbent - account->bound) / account->incumbent;
}

static void
report_progress(const struct search *search, double fraction, const char *what)
{
	if (search->progress)
		search->progress(search->progress_context, fraction, what);
}

/* Everything after the grid is known; -1 when GLPK failed. */
static int
choose(struct search *search, struct plan *plan)
{
	int64_t top = search->job->top;
	int wanted = (int)(top < 1 ? 1 : top > MAX_BEST ? MAX_BEST : top);
	struct other_value others[MAX_OTHER_VALUES];
	int best[MAX_BEST + 1], n, n_others = 0;
	struct candidate winner;

	search_sort(search, false);
	report_progress(search, 0.3, "evaluating");
	n = search_sweep(search, (struct filter){AXES, 0}, wanted, best);
	plan->best = arena_array(search->arena, (size_t)wanted + 1, sizeof(*plan->best));
	report_progress(search, 0.6, "layouts");
	plan->n_best = settle_best(search, n, best, plan->best);
	if (search->failed)
		return -1;
	if (plan->n_best == 0)
		return 0;
	report_progress(search, 0.8, "reasons");
	winner = search->candidates[best[0]];
	n_others = search_other_values(search, &winner, others);
	if (!search->account.stopped_early &&
	    run_master(search, n, best, others, n_others, plan) != 0)
		return -1;
	search_why_not(search, &plan->best[0], others, n_others, plan);
	return search->failed ? -1 : 0;
}

static bool
is_refused(
    struct arena *arena, struct diags *diags, const struct model *model, const struct job *job)
{
	const char *refusal = evaluator_refusal(arena, model);

	if (!refusal && strategy_refusal(&job->base))
		refusal = arena_printf(
		    arena, "the cost of %s is not modelled", strategy_refusal(&job->base));
	if (!refusal && schedule_is_foreign(&job->base))
		refusal = arena_printf(arena, "%s does not run the schedule '%s'",
		    framework_names[job->base.framework], schedule_names[job->base.schedule]);
	if (refusal)
		diag_error(diags, model->loc, "no plan for '%s': %s", model->name, refusal);
	if (refusal && schedule_is_foreign(&job->base))
		diag_last_hint(diags, "%s",
		    job->base.schedule == SCHEDULE_DUALPIPE
			? "use --framework torchtitan --schedule dualpipev; "
			  "moeplan estimate takes it"
			: "use --framework torchtitan; moeplan estimate takes it");
	return refusal != NULL;
}

static void
out_of_memory(void *context)
{
	struct arena *arena = context;

	/* The run's own arena knows what to do. */
	(void)arena_array(arena, SIZE_MAX, SIZE_MAX);
}

/*
 * An answer should leave room for what no model foresees: layouts that the high
 * end of the memory band would not fit are taken only when there is no other, or
 * when the user's own memory limit allows them.
 */
static int
attempt(struct search *search, const struct job *job, const struct cluster *cluster,
    bool at_risk_too, struct plan *plan)
{
	*search = (struct search){.arena = search->arena,
	    .scratch = search->scratch,
	    .diags = search->diags,
	    .model = search->model,
	    .at_risk_too = at_risk_too,
	    .progress = search->progress,
	    .progress_context = search->progress_context};
	report_progress(search, 0, "enumerating");
	search_prepare(search, job, cluster);
	return search->failed ? -1 : choose(search, plan);
}

struct plan *
search(struct arena *arena, struct diags *diags, const struct model *model,
    const struct cluster *cluster, const struct job *job, search_progress_fn *progress,
    void *progress_context)
{
	struct search *search = arena_alloc(arena, sizeof(*search));
	struct plan *plan = arena_alloc(arena, sizeof(*plan));
	double start_s = search_clock_s();
	int status;

	if (is_refused(arena, diags, model, job))
		return NULL;
	*search = (struct search){.arena = arena,
	    .diags = diags,
	    .model = model,
	    .progress = progress,
	    .progress_context = progress_context};
	search->scratch = arena_new(out_of_memory, arena);
	if (!search->scratch)
		out_of_memory(arena);
	status = attempt(search, job, cluster, false, plan);
	if (status == 0 && plan->n_best == 0 && job->max_memory_bytes == 0 &&
	    !search->account.stopped_early)
		status = attempt(search, job, cluster, true, plan);
	if (status == 0 && plan->n_best == 0)
		search_near_miss(search, plan);
	close_account(search, plan);
	plan->account = search->account;
	plan->account.wall_s = search_clock_s() - start_s;
	arena_free(search->scratch);
	report_progress(search, 1, "done");
	return status == 0 && !search->failed ? plan : NULL;
}
