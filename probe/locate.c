/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who is in the groups that the step uses, in the words of each framework?
 *
 * Members are those of the framework's own list of groups (model/groups.h), rank order and all. A
 * group that a list has in parts (torchtitan's shards and replicas) is joined; one that it leaves
 * out, because its axis is one rank long there, is the rank alone. The pipeline is the slowest axis
 * of all frameworks. DualPipe has every chunk on two stages: those who sum its gradients are twice
 * as many.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "planner/stages.h"
#include "probe/locate.h"

/* Kinds whose axes together are the group's: the first row of two that the list has. */
enum { ALTERNATIVES = 2, JOINED = 2 };
static const char *const group_kinds[FRAMEWORKS][LOCATED][ALTERNATIVES][JOINED] = {
    [FRAMEWORK_MEGATRON] =
	{
	    [GROUP_TP] = {{"tp"}},
	    [GROUP_CP] = {{"cp"}},
	    [GROUP_DP_CP] = {{"dp_cp"}},
	    [GROUP_EP] = {{"ep"}},
	    [GROUP_EXPERT_TP] = {{"expert_tp"}},
	    [GROUP_EXPERT_DP] = {{"expert_dp"}},
	    [LOCATE_DP] = {{"dp"}},
	    [LOCATE_PP] = {{"pp"}},
	},
    /* without tensor parallelism its list has no data-parallel group: that is the whole stage */
    [FRAMEWORK_DEEPSPEED] =
	{
	    [GROUP_TP] = {{"tp"}},
	    [GROUP_DP_CP] = {{"dp"}, {"ep", "expert_dp"}},
	    [GROUP_EP] = {{"ep"}},
	    [GROUP_EXPERT_TP] = {{"tp"}},
	    [GROUP_EXPERT_DP] = {{"expert_dp"}},
	    [LOCATE_DP] = {{"dp"}, {"ep", "expert_dp"}},
	    [LOCATE_PP] = {{"pp"}},
	},
    [FRAMEWORK_TORCHTITAN] =
	{
	    [GROUP_TP] = {{"tp"}},
	    [GROUP_CP] = {{"cp"}},
	    [GROUP_DP_CP] = {{"fsdp", "dp_replicate"}},
	    [GROUP_EP] = {{"ep"}},
	    [GROUP_EXPERT_TP] = {{"etp"}},
	    [GROUP_EXPERT_DP] = {{"efsdp", "dp_replicate"}},
	    [LOCATE_DP] = {{"batch"}},
	    [LOCATE_PP] = {{"pp"}},
	},
};

static const struct group_kind *
kind_find(const struct group_table *table, const char *name)
{
	size_t i;

	for (i = 0; i < table->n_kinds; i++)
		if (strcmp(table->kinds[i].name, name) == 0)
			return &table->kinds[i];
	return NULL;
}

static int
compare_ranks(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static bool
is_member(const int32_t *members, int64_t n, int32_t rank)
{
	int64_t i;

	for (i = 0; i < n; i++)
		if (members[i] == rank)
			return true;
	return false;
}

/* All ranks that share a group of this kind with one of `ranks`, which grow. */
static void
join(const struct group_kind *kind, int32_t *ranks, int *n)
{
	int64_t group, i;
	int had = *n, j;

	for (group = 0; group < kind->count; group++) {
		const int32_t *members = kind->ranks + group * kind->size;

		for (j = 0; j < had; j++) {
			if (!is_member(members, kind->size, ranks[j]))
				continue;
			for (i = 0; i < kind->size; i++)
				if (members[i] != ranks[j])
					ranks[(*n)++] = members[i];
		}
	}
}

/* The first alternative that the framework's list has; NULL: the rank is alone. */
static const char *const *
choose_kinds(const struct session *s, int which)
{
	int framework = (int)s->plan->strategy.framework, i;

	for (i = 0; i < ALTERNATIVES; i++) {
		const char *const *names = group_kinds[framework][which][i];

		if (names[0] && kind_find(s->table, names[0]))
			return names;
	}
	return NULL;
}

static int64_t
degree_of(const struct strategy *s, int which)
{
	const int64_t degrees[LOCATED] = {
	    [GROUP_TP] = s->tp,
	    [GROUP_CP] = s->cp,
	    [GROUP_DP_CP] = s->dp * s->cp,
	    [GROUP_EP] = s->ep,
	    [GROUP_EXPERT_TP] = s->etp,
	    [GROUP_EXPERT_DP] = s->edp,
	    [LOCATE_DP] = s->dp,
	    [LOCATE_PP] = s->pp,
	};

	return degrees[which];
}

static void
pipeline_ranks(const struct session *s, int32_t *ranks, int *n)
{
	int pp = (int)s->plan->strategy.pp, stage = s->world / pp;

	for (*n = 0; *n < pp; ++*n)
		ranks[*n] = s->rank % stage + *n * stage;
}

/*
 * DualPipe: the ranks of the stage as far from the other end, which hold copies of the same chunks.
 */
static void
add_mirrored(const struct session *s, int32_t *ranks, int *n)
{
	int pp = (int)s->plan->strategy.pp, stage = s->world / pp, had = *n, i;

	for (i = 0; i < had; i++)
		ranks[(*n)++] = (pp - 1 - ranks[i] / stage) * stage + ranks[i] % stage;
}

int
session_locate(struct session *s, int which, struct group_comm *group)
{
	int64_t degree = degree_of(&s->plan->strategy, which);
	bool copied = which == GROUP_DP_CP || which == GROUP_EXPERT_DP;
	const char *const *names = degree > 1 ? choose_kinds(s, which) : NULL;
	int32_t *ranks = arena_array(s->arena, (size_t)s->world + 1, sizeof(*ranks));
	int n = 1, i;

	ranks[0] = s->rank;
	if (!names && degree > 1 && which == LOCATE_PP)
		pipeline_ranks(s, ranks, &n);
	for (i = 0; names && i < JOINED && names[i]; i++) {
		const struct group_kind *kind = kind_find(s->table, names[i]);

		if (!kind)
			return control_fail(s->control, "the plan's groups have no '%s'", names[i]);
		join(kind, ranks, &n);
	}
	if (n != degree)
		return control_fail(s->control,
		    "the plan's groups of '%s' have %d ranks, its degrees give %lld",
		    names ? names[0] : "no name", n, (long long)degree);
	if (copied && weight_copies(&s->plan->strategy) > 1)
		add_mirrored(s, ranks, &n);
	qsort(ranks, (size_t)n, sizeof(*ranks), compare_ranks);
	for (i = 0; ranks[i] != s->rank; i++)
		;
	*group = (struct group_comm){.id = ranks[0], .index = i, .size = n, .ranks = ranks};
	return 0;
}
