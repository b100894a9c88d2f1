/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which ranks form which process group?
 *
 * rank = sum(x_i * stride_i), stride_1 = 1, stride_{i+1} = stride_i * n_i, axes
 * from fastest to slowest. A group lets the axes of its kind run and fixes the
 * others; W / size groups a kind.
 *
 * Axes, read in NVIDIA/Megatron-LM core/parallel_state.py (0.19), DeepSpeed
 * utils/groups.py and module_inject/auto_ep_folding.py (0.19), torchtitan
 * distributed/parallel_dims.py (0.3 and 0.2.2):
 *   Megatron dense   tp gtp cp dp pp in the order given, experts tp ep egtp dp pp
 *   DeepSpeed        model data pipe; experts ep edp stage, data-before-expert
 *                    edp ep stage, with expert tensor parallelism model first
 *   torchtitan       tp cp dp_shard dp_replicate pp; (etp) ep efsdp dp_replicate pp
 *
 * Ignored: groups that are unions or cuts of these (embedding ranks,
 * hierarchical context parallelism, distributed-optimizer instances).
 */
#include "model/groups.h"

#include <string.h>

#include "base/arena.h"
#include "model/strategy_grid.h"

enum { SCHEME_AXES = 8, KINDS_MAX = 16 };

/* Axes in the order in which groups are listed, the first varying fastest. */
struct scheme {
	int n;
	struct {
		const char *name;
		int64_t size, stride;
	} axes[SCHEME_AXES];
	int64_t next_stride;
};

static void
push_axis_at(struct scheme *scheme, const char *name, int64_t size, int64_t stride)
{
	scheme->axes[scheme->n].name = name;
	scheme->axes[scheme->n].size = size;
	scheme->axes[scheme->n].stride = stride;
	scheme->n++;
}

static void
push_axis(struct scheme *scheme, const char *name, int64_t size)
{
	int64_t stride = scheme->next_stride > 0 ? scheme->next_stride : 1;

	push_axis_at(scheme, name, size, stride);
	scheme->next_stride = stride * size;
}

static bool
has_axis(const struct scheme *scheme, const char *name)
{
	for (int i = 0; i < scheme->n; i++)
		if (strcmp(scheme->axes[i].name, name) == 0)
			return true;
	return false;
}

/* True when `name` is one of the words of `list`. */
static bool
in_list(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; *at; at += strspn(at, " ")) {
		size_t word = strcspn(at, " ");

		if (word == length && strncmp(at, name, length) == 0)
			return true;
		at += word;
	}
	return false;
}

/* The offset that the index-th combination of the axes in (or not in) the kind has. */
static int64_t
combination(const struct scheme *scheme, const bool *in_kind, bool wanted, int64_t index)
{
	int64_t offset = 0;

	for (int i = 0; i < scheme->n; i++) {
		if (in_kind[i] != wanted)
			continue;
		offset += index % scheme->axes[i].size * scheme->axes[i].stride;
		index /= scheme->axes[i].size;
	}
	return offset;
}

static void
add_kind(struct arena *arena, struct group_table *table, const struct scheme *scheme,
    const char *name, const char *axes)
{
	struct group_kind *kind = &table->kinds[table->n_kinds++];
	bool in_kind[SCHEME_AXES];

	kind->name = name;
	kind->size = 1;
	for (int i = 0; i < scheme->n; i++) {
		in_kind[i] = in_list(axes, scheme->axes[i].name);
		if (in_kind[i])
			kind->size *= scheme->axes[i].size;
	}
	kind->count = table->world / kind->size;
	kind->ranks = arena_array(arena, (size_t)table->world, sizeof(*kind->ranks));
	for (int64_t g = 0; g < kind->count; g++) {
		int64_t base = combination(scheme, in_kind, false, g);
		int32_t *ranks = kind->ranks + g * kind->size;

		for (int64_t m = 0; m < kind->size; m++)
			ranks[m] = (int32_t)(base + combination(scheme, in_kind, true, m));
	}
}

static void
push_megatron_axis(struct scheme *scheme, const struct strategy *s, const char *axis, bool expert)
{
	if (strncmp(axis, "tp", 2) == 0) {
		push_axis(scheme, "tp", expert ? s->etp : s->tp);
		if (!expert)
			push_axis(scheme, "gtp", s->gtp);
	} else if (strncmp(axis, "cp", 2) == 0) {
		push_axis(scheme, "cp", expert ? 1 : s->cp);
	} else if (strncmp(axis, "ep", 2) == 0) {
		push_axis(scheme, "ep", expert ? s->ep : 1);
		if (expert)
			push_axis(scheme, "gtp", s->egtp);
	} else if (strncmp(axis, "dp", 2) == 0) {
		push_axis(scheme, "dp", expert ? s->edp : s->dp);
	} else {
		push_axis(scheme, "pp", s->pp);
	}
}

static struct scheme
megatron_scheme(const struct strategy *s, bool expert)
{
	static const char *const all[] = {"tp", "cp", "ep", "dp", "pp"};
	struct scheme scheme = {0};

	for (const char *at = s->order; *at; at += at[2] ? 3 : 2)
		push_megatron_axis(&scheme, s, at, expert);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!has_axis(&scheme, all[i]))
			push_megatron_axis(&scheme, s, all[i], expert);
	return scheme;
}

static void
build_megatron(struct arena *arena, struct group_table *table, const struct strategy *s)
{
	struct scheme dense = megatron_scheme(s, false);
	struct scheme expert = megatron_scheme(s, true);

	add_kind(arena, table, &dense, "tp", "tp");
	add_kind(arena, table, &dense, "cp", "cp");
	add_kind(arena, table, &dense, "dp", "dp");
	add_kind(arena, table, &dense, "dp_cp", "dp cp");
	add_kind(arena, table, &dense, "pp", "pp");
	add_kind(arena, table, &dense, "tp_cp", "tp cp");
	add_kind(arena, table, &expert, "ep", "ep");
	add_kind(arena, table, &expert, "expert_tp", "tp");
	add_kind(arena, table, &expert, "expert_tp_ep", "tp ep");
	add_kind(arena, table, &expert, "expert_dp", "dp");
	if (s->gtp > 1)
		add_kind(arena, table, &dense, "gtp_remat", "gtp");
	if (s->egtp > 1)
		add_kind(arena, table, &expert, "expert_gtp_remat", "gtp");
}

/* Each data-parallel lane lists its groups before the next lane begins: model varies late. */
static struct scheme
deepspeed_lane_scheme(const struct strategy *s)
{
	struct scheme scheme = {0};
	int64_t edp = s->dp / s->ep;
	int64_t ep_stride = s->data_before_expert ? s->tp * edp : s->tp;
	int64_t edp_stride = s->data_before_expert ? s->tp : s->tp * s->ep;

	push_axis_at(&scheme, "ep", s->ep, ep_stride);
	push_axis_at(&scheme, "edp", edp, edp_stride);
	push_axis_at(&scheme, "model", s->tp, 1);
	push_axis_at(&scheme, "stage", s->pp, s->tp * s->dp);
	return scheme;
}

static struct scheme
deepspeed_stage_scheme(const struct strategy *s)
{
	struct scheme scheme = {0};
	int64_t edp = s->world / s->pp / s->ep;

	if (s->data_before_expert)
		push_axis(&scheme, "edp", edp);
	push_axis(&scheme, "ep", s->ep);
	if (!s->data_before_expert)
		push_axis(&scheme, "edp", edp);
	push_axis(&scheme, "stage", s->pp);
	return scheme;
}

static void
build_deepspeed(struct arena *arena, struct group_table *table, const struct strategy *s)
{
	bool lanes = s->expert_tp == 1 && !s->auto_ep;
	bool folding = s->auto_ep && s->tp > 1;
	struct scheme dense = {0};
	struct scheme expert = lanes ? deepspeed_lane_scheme(s) : deepspeed_stage_scheme(s);

	push_axis(&dense, "model", s->tp);
	push_axis(&dense, "data", s->dp);
	push_axis(&dense, "pipe", s->pp);
	if (lanes || s->tp > 1) {
		add_kind(arena, table, &dense, "tp", "model");
		add_kind(arena, table, &dense, "dp", "data");
		if (!folding)
			add_kind(arena, table, &dense, "pp", "pipe");
	}
	add_kind(arena, table, &expert, "ep", "ep");
	add_kind(arena, table, &expert, "expert_dp", "edp");
	if (!lanes && !folding)
		add_kind(arena, table, &expert, "pp_stage", "ep edp");
}

static void
build_torchtitan(struct arena *arena, struct group_table *table, const struct strategy *s)
{
	struct scheme dense = {0}, sparse = {0};

	push_axis(&dense, "tp", s->tp);
	push_axis(&dense, "cp", s->cp);
	push_axis(&dense, "dp_shard", s->dp_shard);
	push_axis(&dense, "dp_replicate", s->dp_replicate);
	push_axis(&dense, "pp", s->pp);
	push_axis(&sparse, "etp", s->etp);
	push_axis(&sparse, "ep", s->ep);
	push_axis(&sparse, "efsdp", s->dp_shard * s->cp * s->tp / (s->etp * s->ep));
	push_axis(&sparse, "dp_replicate", s->dp_replicate);
	push_axis(&sparse, "pp", s->pp);
	add_kind(arena, table, &dense, "tp", "tp");
	add_kind(arena, table, &dense, "cp", "cp");
	add_kind(arena, table, &dense, "dp_shard", "dp_shard");
	add_kind(arena, table, &dense, "dp_replicate", "dp_replicate");
	add_kind(arena, table, &dense, "pp", "pp");
	add_kind(arena, table, &dense, "fsdp", "dp_shard cp");
	add_kind(arena, table, &dense, "batch", "dp_shard dp_replicate");
	add_kind(arena, table, &sparse, "ep", "ep");
	add_kind(arena, table, &sparse, "efsdp", "efsdp");
	if (strategy_is_old_torchtitan(s))
		add_kind(arena, table, &sparse, "etp", "etp");
}

struct group_table *
groups_build(struct arena *arena, struct diags *diags, const struct strategy *strategy)
{
	static void (*const builders[FRAMEWORKS])(
	    struct arena *, struct group_table *, const struct strategy *) = {
	    [FRAMEWORK_MEGATRON] = build_megatron,
	    [FRAMEWORK_DEEPSPEED] = build_deepspeed,
	    [FRAMEWORK_TORCHTITAN] = build_torchtitan,
	};
	struct group_table *table = arena_alloc(arena, sizeof(*table));

	if (strategy_violations(strategy, NULL, diags) > 0)
		return NULL;
	if (strategy->world > CLUSTER_MAX_WORLD) {
		diag_error(diags, (struct loc){NULL, 0, 0},
		    "a world of %lld ranks is too large to list: at most %d",
		    (long long)strategy->world, CLUSTER_MAX_WORLD);
		return NULL;
	}
	table->world = strategy->world;
	table->kinds = arena_array(arena, KINDS_MAX, sizeof(*table->kinds));
	builders[strategy->framework](arena, table, strategy);
	return table;
}

/* Ranks ascend in every group of groups_build(), so equal nodes stand side by side. */
struct group_span
group_span(const struct cluster *cluster, const int32_t *ranks, int64_t size)
{
	struct group_span span = {.level = cluster->n_levels - 1, .nodes = 0};
	int64_t node = -1;

	for (int64_t i = 0; i < size; i++) {
		int64_t on = ranks[i] / cluster->gpus_per_node;

		span.nodes += on != node;
		node = on;
	}
	for (int level = cluster->n_levels - 1; level >= 0; level--) {
		int64_t gpus = cluster->levels[level].gpus;

		if (size > 0 && ranks[0] / gpus == ranks[size - 1] / gpus)
			span.level = level;
	}
	return span;
}
