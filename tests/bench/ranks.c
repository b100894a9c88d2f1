/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Would the fastest of comparable runs have been chosen?
 *
 * A group of runs.csv holds runs of one model on one GPU type. Its members are
 * compared by FLOP/s a GPU, counted our way, so that different sequence lengths
 * compare; a configuration that was measured several times counts once, with
 * the median. Groups with fewer than two configurations say nothing.
 */
#include <string.h>

#include "base/arena.h"
#include "base/table.h"
#include "bench.h"
#include "score.h"

enum { MAX_GROUP = 64 };
struct group {
	const char *name, *set;
	size_t count;
	const struct rerun *rows[MAX_GROUP];
	double measured[MAX_GROUP], predicted[MAX_GROUP];
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
	for (size_t i = 0; i < b->count && group->count < MAX_GROUP; i++) {
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

struct ranks {
	const char *set;
	int groups, top1;
	double tau, regret;
};

static void
ranks_add(struct ranks *ranks, const struct rank_score *score)
{
	ranks->groups++;
	ranks->top1 += score->top1;
	ranks->tau += score->tau;
	ranks->regret += score->regret;
}

static void
ranks_row(struct table *table, const struct ranks *r)
{
	if (r->groups == 0)
		return;
	table_row(table);
	table_cell(table, r->set);
	table_cellf(table, "%d", r->groups);
	table_cellf(table, "%.2f", r->tau / r->groups);
	table_cellf(table, "%d", r->top1);
	table_cellf(table, "%.1f", 100 * r->regret / r->groups);
}

static void
rank_group(struct bench *b, const char *name, const char *set, bool rows, struct ranks *all,
    struct ranks *of_set)
{
	struct group *group = arena_alloc(b->arena, sizeof(*group));
	struct rank_score score;

	group->name = name;
	group->set = set;
	group_fill(b, group);
	if (group->count < 2)
		return;
	score = ranking_score(&(struct ranking){group->count, group->measured, group->predicted});
	ranks_add(all, &score);
	ranks_add(of_set, &score);
	if (rows)
		str_addf(&b->out, "    %-34s %2zu layouts, tau %+.2f, regret %4.1f %%%s\n", name,
		    group->count, score.tau, 100 * score.regret, score.top1 ? ", first right" : "");
}

static bool
is_first_of_group(const struct bench *b, size_t index, const char *name)
{
	for (size_t j = 0; j < index; j++)
		if (is_member(b->reruns[j].run, name))
			return false;
	return true;
}

static void
rank_set(struct bench *b, const char *set, bool rows, struct ranks *all, struct ranks *of_set)
{
	of_set->set = set;
	for (size_t i = 0; i < b->count; i++) {
		const char *list = b->reruns[i].run->group, *name;

		if (strcmp(b->reruns[i].run->set, set) != 0)
			continue;
		while ((name = next_item(b->arena, &list)))
			if (is_first_of_group(b, i, name))
				rank_group(b, name, set, rows, all, of_set);
	}
}

void
ranking_report(struct bench *b, bool rows)
{
	static const char *const heads[] = {
	    "source", "groups", "mean tau", "first right", "mean regret %"};
	struct table *table = table_new(b->arena, 5);
	struct ranks all = {.set = "all"};

	str_add(&b->out, "Ranking inside groups of comparable runs\n\n");
	for (size_t i = 0; i < 5; i++)
		table_column(table, i, heads[i], i == 0 ? TABLE_LEFT : TABLE_RIGHT);
	for (size_t i = 0; i < b->count; i++) {
		const char *set = b->reruns[i].run->set;
		struct ranks of_set = {0};

		if (i > 0 && strcmp(b->reruns[i - 1].run->set, set) == 0)
			continue;
		rank_set(b, set, rows, &all, &of_set);
		ranks_row(table, &of_set);
	}
	ranks_row(table, &all);
	if (rows)
		str_addc(&b->out, '\n');
	table_print(table, &b->out, 2);
	str_addc(&b->out, '\n');
}
