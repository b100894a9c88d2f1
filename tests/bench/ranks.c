/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Would the fastest of comparable runs have been chosen?
 *
 * A group of runs.csv holds runs of one model on one GPU type. Its members are
 * compared by FLOP/s a GPU, counted our way, so that different sequence lengths
 * compare; a configuration that was measured several times counts once, with
 * the median. Groups with fewer than two configurations say nothing.
 * Apart from all groups those are scored that were not made to be told apart with
 * ease: neither the strategies of one paper, nor cut-down models on one node, nor
 * series in which only the number of GPUs changes.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/table.h"
#include "bench.h"
#include "score.h"

struct group {
	const char *name, *set;
	size_t count;
	const struct rerun **rows;
	double *measured, *predicted;
};

static bool
is_member(const struct run *run, const char *group)
{
	const char *at = run->group;
	size_t length = strlen(group);

	while ((at = strstr(at, group))) {
		bool starts = at == run->group || at[-1] == ' ';

		if (starts && (at[length] == ' ' || at[length] == '\0'))
			return true;
		at += length;
	}
	return false;
}

static double
throughput(const struct rerun *r, double step_s)
{
	return r->batch * r->seq * r->flops_per_token / r->gpus / step_s;
}

static double
median_throughput(struct bench *b, const struct rerun *first, const char *name)
{
	struct errors values = {0};

	for (size_t i = 0; i < b->count; i++) {
		const struct rerun *r = &b->reruns[i];

		if (counts(r) && is_member(r->run, name) && same_layout(r, first))
			errors_add(b->arena, &values, throughput(r, r->measured_step_s));
	}
	return quantile(values.values, values.count, 0.5);
}

static void
group_fill(struct bench *b, struct group *group)
{
	group->rows = arena_array(b->arena, b->count, sizeof(struct rerun *));
	group->measured = arena_array(b->arena, b->count, sizeof(double));
	group->predicted = arena_array(b->arena, b->count, sizeof(double));
	for (size_t i = 0; i < b->count; i++) {
		const struct rerun *r = &b->reruns[i];
		bool seen = !counts(r) || !is_member(r->run, group->name);

		for (size_t j = 0; j < group->count && !seen; j++)
			seen = same_layout(group->rows[j], r);
		if (seen)
			continue;
		group->rows[group->count] = r;
		group->measured[group->count] = median_throughput(b, r, group->name);
		group->predicted[group->count++] = throughput(r, r->estimate.step_s);
	}
}

/* The groups of all runs with at least two configurations, in the order of the file. */
struct groups {
	struct group *all;
	size_t count;
};

static bool
is_first_of_group(const struct bench *b, size_t index, const char *name)
{
	for (size_t j = 0; j < index; j++)
		if (is_member(b->reruns[j].run, name))
			return false;
	return true;
}

static struct groups
groups_of(struct bench *b)
{
	struct groups groups = {.all = arena_array(b->arena, 2 * b->count, sizeof(*groups.all))};

	for (size_t i = 0; i < b->count; i++) {
		const char *list = b->reruns[i].run->group, *name;

		while ((name = next_item(b->arena, &list)) && groups.count < 2 * b->count) {
			struct group *group = &groups.all[groups.count];

			if (!is_first_of_group(b, i, name))
				continue;
			*group = (struct group){.name = name, .set = b->reruns[i].run->set};
			group_fill(b, group);
			groups.count += group->count >= 2;
		}
	}
	return groups;
}

static bool
same_but_for_gpus(const struct run *a, const struct run *b)
{
	const char *const texts[][2] = {{a->seq, b->seq}, {a->mbs, b->mbs}, {a->tp, b->tp},
	    {a->pp, b->pp}, {a->vpp, b->vpp}, {a->cp, b->cp}, {a->ep, b->ep}, {a->etp, b->etp},
	    {a->zero, b->zero}, {a->precision, b->precision}, {a->recompute, b->recompute},
	    {a->dispatcher, b->dispatcher}, {a->capacity, b->capacity}, {a->loss, b->loss},
	    {a->cuda_graphs, b->cuda_graphs}, {a->overlap, b->overlap}, {a->options, b->options}};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (strcmp(texts[i][0], texts[i][1]) != 0)
			return false;
	return strcmp(a->gpus, b->gpus) != 0;
}

static bool
is_close_call(const struct group *group)
{
	bool scales = true;

	for (size_t i = 1; i < group->count && scales; i++)
		scales = same_but_for_gpus(group->rows[i - 1]->run, group->rows[i]->run);
	return !scales && strcmp(group->set, "folding") != 0 && strcmp(group->set, "simumax") != 0;
}

static void
ranks_add(struct ranks *ranks, const struct rank_score *score)
{
	ranks->groups++;
	ranks->top1 += score->top1;
	ranks->tau += score->tau;
	ranks->regret += score->regret;
}

static struct rank_score
score_of(const struct group *group)
{
	return ranking_score(&(struct ranking){group->count, group->measured, group->predicted});
}

struct ranks
ranking_of(struct bench *b, bool close_calls)
{
	struct groups groups = groups_of(b);
	struct ranks ranks = {0};

	for (size_t i = 0; i < groups.count; i++) {
		struct rank_score score = score_of(&groups.all[i]);

		if (!close_calls || is_close_call(&groups.all[i]))
			ranks_add(&ranks, &score);
	}
	return ranks;
}

void
ranking_differences(struct bench *b, double gap, struct errors *differences)
{
	struct groups groups = groups_of(b);

	for (size_t g = 0; g < groups.count; g++) {
		const struct group *group = &groups.all[g];

		for (size_t i = 0; i < group->count; i++)
			for (size_t j = i + 1; j < group->count; j++) {
				double m = log(group->measured[i] / group->measured[j]);
				double p = log(group->predicted[i] / group->predicted[j]);

				if (fabs(p) < gap && group->rows[i]->seq == group->rows[j]->seq)
					errors_add(b->arena, differences, fabs(m - p));
			}
	}
}

static void
ranks_row(struct table *table, const char *name, const struct ranks *r)
{
	if (r->groups == 0)
		return;
	table_row(table);
	table_cell(table, name);
	table_cellf(table, "%d", r->groups);
	table_cellf(table, "%.2f", r->tau / r->groups);
	table_cellf(table, "%d", r->top1);
	table_cellf(table, "%.1f", 100 * r->regret / r->groups);
}

static void
list_groups(struct bench *b, const struct groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		const struct group *group = &groups->all[i];
		struct rank_score score = score_of(group);

		str_addf(&b->out, "    %-34s %2zu layouts, tau %+.2f, regret %4.1f %%%s%s\n",
		    group->name, group->count, score.tau, 100 * score.regret,
		    score.top1 ? ", first right" : "", is_close_call(group) ? ", close call" : "");
	}
	str_addc(&b->out, '\n');
}

void
ranking_report(struct bench *b, bool rows)
{
	static const char *const heads[] = {
	    "source", "groups", "mean tau", "first right", "mean regret %"};
	struct table *table = table_new(b->arena, 5);
	struct groups groups = groups_of(b);
	struct ranks all = ranking_of(b, false), close = ranking_of(b, true);

	str_add(&b->out, "Ranking inside groups of comparable runs\n\n");
	for (size_t i = 0; i < 5; i++)
		table_column(table, i, heads[i], i == 0 ? TABLE_LEFT : TABLE_RIGHT);
	for (size_t i = 0; i < groups.count;) {
		const char *set = groups.all[i].set;
		struct ranks of_set = {0};

		for (; i < groups.count && strcmp(groups.all[i].set, set) == 0; i++) {
			struct rank_score score = score_of(&groups.all[i]);

			ranks_add(&of_set, &score);
		}
		ranks_row(table, set, &of_set);
	}
	ranks_row(table, "all", &all);
	ranks_row(table, "close calls", &close);
	if (rows)
		list_groups(b, &groups);
	table_print(table, &b->out, 2);
	str_addc(&b->out, '\n');
}
