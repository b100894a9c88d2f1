/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do our groups equal those that the frameworks form, rank by rank? */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "groups_cases.h"
#include "model/groups.h"

enum { CASES = sizeof(groups_cases) / sizeof(groups_cases[0]) };

static void
out_of_memory(void *context)
{
	(void)context;
	abort();
}

static bool
are_single(const struct group_kind *kind)
{
	for (int64_t g = 0; g < kind->count; g++)
		if (kind->size != 1 || kind->ranks[g] != g)
			return false;
	return true;
}

static bool
is_whole_world(const struct group_kind *kind)
{
	for (int64_t m = 0; m < kind->size; m++)
		if (kind->count != 1 || kind->ranks[m] != m)
			return false;
	return true;
}

/* "0-3 8" */
static void
add_group(struct str *text, const int32_t *ranks, int64_t size)
{
	for (int64_t i = 0; i < size;) {
		int64_t end = i + 1;

		while (end < size && ranks[end] == ranks[end - 1] + 1)
			end++;
		if (end - i < 3)
			end = i + 1;
		str_addf(text, "%s%d", i > 0 ? " " : "", (int)ranks[i]);
		if (end - i > 1)
			str_addf(text, "-%d", (int)ranks[end - 1]);
		i = end;
	}
}

/* The table in the notation of groups_cases.h. */
static const char *
table_text(struct arena *arena, const struct group_table *table)
{
	struct str text = str_new(arena);

	for (size_t k = 0; k < table->n_kinds; k++) {
		const struct group_kind *kind = &table->kinds[k];

		str_addf(&text, "%s:", kind->name);
		if (are_single(kind))
			str_addc(&text, '.');
		else if (is_whole_world(kind))
			str_addc(&text, '*');
		else
			for (int64_t g = 0; g < kind->count; g++) {
				if (g > 0)
					str_addc(&text, '|');
				add_group(&text, kind->ranks + g * kind->size, kind->size);
			}
		str_addc(&text, ';');
	}
	return text.text;
}

Test(groups, cases_of_the_frameworks)
{
	int valid = 0;

	for (int i = 0; i < CASES; i++) {
		const struct groups_case *c = &groups_cases[i];
		struct arena *arena = arena_new(out_of_memory, NULL);
		struct diags *diags = diags_new(arena);
		struct strategy s = c->strategy;
		struct group_table *table;

		strategy_derive(&s, NULL, 0);
		table = groups_build(arena, diags, &s);
		if (!c->rule) {
			cr_assert_not_null(table, "%s: %s", c->id,
			    diags->first ? diags->first->message : "no message");
			if (c->dp > 0) /* the sources name no dense dp where it plays no role */
				cr_assert_eq(s.dp, c->dp, "%s: dp %d", c->id, (int)s.dp);
			cr_assert_eq(s.edp, c->edp, "%s: edp %d", c->id, (int)s.edp);
			cr_assert_str_eq(table_text(arena, table), c->groups, "%s", c->id);
			valid++;
		}
		arena_free(arena);
	}
	cr_assert_eq(valid, 49);
}

Test(groups, refused_with_the_arithmetic)
{
	int refused = 0;

	for (int i = 0; i < CASES; i++) {
		const struct groups_case *c = &groups_cases[i];
		struct arena *arena = arena_new(out_of_memory, NULL);
		struct diags *diags = diags_new(arena);
		struct strategy s = c->strategy;

		if (c->rule) {
			strategy_derive(&s, NULL, 0);
			cr_assert_null(groups_build(arena, diags, &s), "%s", c->id);
			cr_assert_str_eq(diags->first->rule, c->rule, "%s", c->id);
			cr_assert(strstr(diags->first->message, c->message), "%s: %s", c->id,
			    diags->first->message);
			cr_assert_eq(diags->errors, 1, "%s", c->id);
			refused++;
		}
		arena_free(arena);
	}
	cr_assert_eq(refused, 9);
}

/* Every kind partitions the world, and ranks ascend inside a group. */
static void
check_partition(const struct group_table *table, const char *id)
{
	for (size_t k = 0; k < table->n_kinds; k++) {
		const struct group_kind *kind = &table->kinds[k];
		char *seen = calloc((size_t)table->world, 1);

		cr_assert_eq(kind->count * kind->size, table->world, "%s %s", id, kind->name);
		for (int64_t i = 0; i < table->world; i++) {
			cr_assert(kind->ranks[i] >= 0 && kind->ranks[i] < table->world);
			cr_assert_eq(seen[kind->ranks[i]]++, 0, "%s %s", id, kind->name);
			if (i % kind->size > 0)
				cr_assert_gt(kind->ranks[i], kind->ranks[i - 1]);
		}
		free(seen);
	}
}

static struct strategy
random_strategy(unsigned *seed)
{
	static const int64_t sizes[] = {1, 1, 2, 3, 4, 8};
	struct strategy s;
	int64_t *degrees[] = {&s.tp, &s.cp, &s.pp, &s.ep, &s.dp_replicate};

	strategy_init(&s);
	for (size_t i = 0; i < sizeof(degrees) / sizeof(degrees[0]); i++) {
		*seed = *seed * 1103515245U + 12345U;
		*degrees[i] = sizes[*seed / 65536U % 6];
	}
	*seed = *seed * 1103515245U + 12345U;
	s.world = 48LL << *seed / 65536U % 5;
	s.framework = (enum framework)(*seed / 1048576U % FRAMEWORKS);
	if (s.framework != FRAMEWORK_TORCHTITAN)
		s.dp_replicate = 0;
	if (s.framework == FRAMEWORK_DEEPSPEED) {
		s.cp = 1;
		s.expert_tp = (int)(*seed / 4194304U % 2);
		s.data_before_expert = *seed / 8388608U % 2;
	}
	return s;
}

Test(groups, partition_the_world)
{
	unsigned seed = 7;
	int built = 0;

	for (int i = 0; i < 3000; i++) {
		struct arena *arena = arena_new(out_of_memory, NULL);
		struct diags *diags = diags_new(arena);
		struct strategy s = random_strategy(&seed);
		struct group_table *table;

		strategy_derive(&s, NULL, 0);
		table = groups_build(arena, diags, &s);
		if (table) {
			check_partition(table, framework_names[s.framework]);
			built++;
		}
		cr_assert_eq(table == NULL, diags->errors > 0);
		arena_free(arena);
	}
	cr_assert_gt(built, 500);
}

static const struct group_kind *
find_kind(const struct group_table *table, const char *name)
{
	for (size_t k = 0; k < table->n_kinds; k++)
		if (strcmp(table->kinds[k].name, name) == 0)
			return &table->kinds[k];
	return NULL;
}

/* DeepSpeed with TP but without expert TP: dense lanes beside whole-stage expert groups. */
Test(groups, deepspeed_dense_axes)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct diags *diags = diags_new(arena);
	struct strategy s;
	struct group_table *table;

	strategy_init(&s);
	s.framework = FRAMEWORK_DEEPSPEED;
	s.world = 8;
	s.tp = 2;
	s.ep = 8;
	strategy_derive(&s, NULL, 0);
	table = groups_build(arena, diags, &s);
	cr_assert_not_null(table);
	cr_assert_str_eq(table_text(arena, table),
	    "tp:0 1|2 3|4 5|6 7;dp:0 2 4 6|1 3 5 7;pp:.;ep:*;expert_dp:.;pp_stage:*;");
	arena_free(arena);
}

Test(groups, worlds_beyond_the_limit)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct diags *diags = diags_new(arena);
	struct strategy s;

	strategy_init(&s);
	s.tp = 8;
	s.dp = 1 << 20;
	strategy_derive(&s, NULL, 0);
	cr_assert_eq(s.world, 8LL << 20);
	cr_assert_null(groups_build(arena, diags, &s));
	cr_assert(strstr(diags->first->message, "8388608"));
	arena_free(arena);
}

Test(groups, the_largest_world)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct diags *diags = diags_new(arena);
	const struct group_kind *pp;
	struct strategy s;

	strategy_init(&s);
	s.world = 1 << 20;
	s.tp = 8;
	s.pp = 16;
	strategy_derive(&s, NULL, 0);
	pp = find_kind(groups_build(arena, diags, &s), "pp");
	cr_assert_eq(pp->size, 16);
	cr_assert_eq(pp->ranks[pp->count * pp->size - 1], (1 << 20) - 1);
	cr_assert_eq(pp->ranks[1], 1 << 16);
	arena_free(arena);
}

/* Eight GPUs a node, NVLink inside: EP 4 stays, the expert copies of worked example 4 leave. */
Test(groups, spans_of_levels)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct diags *diags = diags_new(arena);
	struct cluster *cluster = cluster_from_text(arena, diags, "dgx-h100x2");
	static const int32_t inside[] = {4, 5, 6, 7}, across[] = {0, 4, 8, 12}, one[] = {9};
	struct group_span span = group_span(cluster, inside, 4);

	cr_assert_eq(span.level, 0);
	cr_assert_eq(span.nodes, 1);
	span = group_span(cluster, across, 4);
	cr_assert_eq(span.level, 1);
	cr_assert_eq(span.nodes, 2);
	span = group_span(cluster, one, 1);
	cr_assert_eq(span.level, 0);
	cr_assert_eq(span.nodes, 1);
	arena_free(arena);
}

/* A rack of GB200: eight ranks are two nodes but one NVLink domain. */
Test(groups, spans_of_a_rack)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct diags *diags = diags_new(arena);
	struct cluster *cluster = cluster_from_text(arena, diags, "gb200-nvl72x36");
	static const int32_t two[] = {0, 1, 2, 3, 4, 5, 6, 7}, racks[] = {70, 71, 72, 73};
	struct group_span span = group_span(cluster, two, 8);

	cr_assert_eq(span.level, 0);
	cr_assert_eq(span.nodes, 2);
	span = group_span(cluster, racks, 4);
	cr_assert_eq(span.level, cluster->n_levels - 1);
	cr_assert_eq(span.nodes, 2);
	arena_free(arena);
}
