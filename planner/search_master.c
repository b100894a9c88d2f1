/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which candidates stand in the master MILP?
 *
 * All that were made exact and won something (the best n, the best of each other
 * value), then the others in the order of what is known of them, exact or bound,
 * as far as the model stays small. What is left out is proved no better by the
 * sweeps. Columns that are only bounds become exact when they win.
 */
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "planner/search_private.h"

enum { MAX_COLUMNS = 2500 };

struct key {
	double known;
	int index;
};

static int
compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->known < y->known || x->known > y->known)
		return x->known < y->known ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static double
known_step(const struct candidate *c)
{
	return c->state == CANDIDATE_BOUND ? c->bound_s : c->step_s;
}

struct master_column
candidate_column(const struct search *search, const struct candidate *c)
{
	bool exact = c->state != CANDIDATE_BOUND && c->state != CANDIDATE_LAID_OUT;
	struct master_column column = {.step_s = known_step(c),
	    .bytes = exact ? c->bytes : c->bound_bytes,
	    .gpus = (double)search->grid.worlds[c->world],
	    .exact = exact,
	    .possible = !exact || c->state == CANDIDATE_EXACT};

	for (int a = 0; a < AXES; a++)
		column.values[a] = c->value[a];
	column.values[AXES] = c->world;
	return column;
}

/* "x17_tp2_cp1_pp8_vpp2_ep8_etp1_b1": the number alone makes it unique. */
static const char *
column_name(const struct search *search, const struct candidate *c, int number)
{
	const struct strategy s = candidate_strategy(search, c);

	return arena_printf(search->arena, "x%d_tp%lld_cp%lld_pp%lld_vpp%lld_ep%lld_etp%lld_b%lld",
	    number, (long long)s.tp, (long long)s.cp, (long long)s.pp, (long long)s.vpp,
	    (long long)s.ep, (long long)s.etp, (long long)s.micro_batch);
}

/* ':' and '+' may not stand in a name: "selective_moe_act_layernorm". */
static const char *
value_name(const struct search *search, int axis, int64_t value)
{
	char *name =
	    arena_strdup(search->arena, axis_value_text(search->arena, (enum axis)axis, value));

	for (char *at = name; *at; at++)
		if (*at == ':' || *at == '+')
			*at = '_';
	return name;
}

static const struct master_axis *
axes_of(const struct search *search)
{
	struct master_axis *axes = arena_array(search->arena, AXES + 1, sizeof(*axes));

	for (int a = 0; a <= AXES; a++) {
		bool world = a == AXES;
		int n = world ? search->grid.n_worlds : search->grid.axes[a].n;
		const char **names = arena_array(search->arena, (size_t)n, sizeof(*names));

		for (int v = 0; v < n; v++)
			names[v] = world ? arena_printf(search->arena, "%lld",
					       (long long)search->grid.worlds[v])
					 : value_name(search, a, search->grid.axes[a].values[v]);
		axes[a] = (struct master_axis){world ? "gpus" : axis_names[a], n, names};
	}
	return axes;
}

static void
add_column(struct choice_model *model, int index)
{
	const struct candidate *c = &model->search->candidates[index];
	struct master_column column = candidate_column(model->search, c);

	if (choice_model_column(model, index) >= 0)
		return;
	column.name = column_name(model->search, c, model->n_columns);
	model->candidates[model->n_columns++] = index;
	master_add(model->master, &column);
}

int
choice_model_column(const struct choice_model *model, int candidate)
{
	for (int i = 0; i < model->n_columns; i++)
		if (model->candidates[i] == candidate)
			return i;
	return -1;
}

static void
add_others(struct choice_model *model)
{
	const struct search *search = model->search;
	struct arena_mark mark = arena_mark(search->scratch);
	struct key *keys =
	    arena_array(search->scratch, (size_t)search->n_candidates, sizeof(*keys));
	int n = 0;

	for (int i = 0; i < search->n_candidates; i++) {
		const struct candidate *c = &search->candidates[i];

		if (c->state == CANDIDATE_UNFIT || c->state == CANDIDATE_OVER_LIMIT)
			continue;
		keys[n++] =
		    (struct key){search->job->objective == OBJECTIVE_MEMORY
				     ? (c->state == CANDIDATE_EXACT ? c->bytes : c->bound_bytes)
				     : known_step(c),
			i};
	}
	qsort(keys, (size_t)n, sizeof(*keys), compare_keys);
	for (int i = 0; i < n && model->n_columns < MAX_COLUMNS; i++)
		add_column(model, keys[i].index);
	arena_reset(search->scratch, mark);
}

void
choice_model_init(struct choice_model *model, struct search *search, const int *must, int n_must)
{
	static const enum master_aim aims[] = {MASTER_TIME, MASTER_BYTES, MASTER_GPUS};
	const struct job *job = search->job;
	struct master_caps caps = {.step_s = search->cap_step_s,
	    .bytes = search->cap_bytes,
	    .gpus = job->max_gpus > 0 ? (double)job->max_gpus : INFINITY};

	*model = (struct choice_model){.search = search};
	model->candidates = arena_array(search->arena, MAX_COLUMNS + 256, sizeof(int));
	model->master =
	    master_new(search->arena, axes_of(search), AXES + 1, aims[job->objective], &caps);
	for (int i = 0; i < n_must; i++)
		add_column(model, must[i]);
	add_others(model);
}

static void
make_exact(void *context, int column, struct master_column *numbers)
{
	struct choice_model *model = context;
	struct candidate *c = &model->search->candidates[model->candidates[column]];
	const char *name = numbers->name;

	candidate_price(model->search, c, INFINITY);
	*numbers = candidate_column(model->search, c);
	numbers->name = name;
}

int
choice_model_solve(struct choice_model *model)
{
	struct search *search = model->search;
	struct arena_mark mark = arena_mark(search->scratch);
	struct master_answer answer;
	int status =
	    master_solve(search->scratch, search->diags, model->master, make_exact, model, &answer);

	arena_reset(search->scratch, mark);
	if (status != 0) {
		search->failed = true;
		return -1;
	}
	search->account.master_rounds += answer.rounds;
	return answer.column < 0 ? -1 : model->candidates[answer.column];
}
