/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which values does each axis of the search have?
 *
 * What the user allows, else: TP powers of two to 64 and the divisors of the
 * world; CP powers of two while a rank keeps 1,024 tokens; PP every divisor of the
 * world with a chunk for each layer at most; VPP 1 to 8; EP every divisor of the
 * experts; ETP 1 to 8; micro-batch 1 to 8; the recompute sets that drop something
 * of this model; the framework's usual sharding; the dispatchers of the GPU.
 * Values that could change nothing beside another value are left out.
 */
#include <string.h>

#include "planner/search_private.h"

enum {
	MAX_TP = 64,
	MAX_CP = 64,
	LEAST_TOKENS = 1024, /* of a context-parallel rank */
	MAX_VPP = 8,
	MAX_ETP = 8,
	MAX_MICRO_BATCH = 8,
	RACK_DOMAIN_GPUS = 32, /* NVLink domains from this size on are racks, not nodes */
};

static void
add_value(struct grid_axis *axis, int64_t value)
{
	int at = axis->n;

	for (int i = 0; i < axis->n; i++)
		if (axis->values[i] == value)
			return;
	if (axis->n == GRID_MAX_VALUES)
		return;
	for (; at > 0 && axis->values[at - 1] > value; at--)
		axis->values[at] = axis->values[at - 1];
	axis->values[at] = value;
	axis->n++;
}

static void
add_powers(struct grid_axis *axis, int64_t most)
{
	for (int64_t value = 1; value <= most; value *= 2)
		add_value(axis, value);
}

static void
add_divisors(struct grid_axis *axis, int64_t of, int64_t most)
{
	for (int64_t value = 1; value <= most && value <= of; value++)
		if (of % value == 0)
			add_value(axis, value);
}

static int64_t
most_experts(const struct model *model)
{
	const struct layer_kind *moe = model_moe(model);

	return moe ? moe->ffn.experts : 1;
}

/* Divisors of the world that every head count of the model can be split by. */
static void
add_tensor_degrees(struct grid_axis *axis, const struct model *model, int64_t world)
{
	struct grid_axis divisors = {0};

	add_powers(axis, MAX_TP < world ? MAX_TP : world);
	add_divisors(&divisors, world, MAX_TP);
	for (int i = 0; i < divisors.n; i++) {
		bool fits = true;

		for (int k = 0; k < model->n_kinds; k++)
			fits = fits && model->kinds[k].mixer.heads % divisors.values[i] == 0;
		if (fits)
			add_value(axis, divisors.values[i]);
	}
}

/* Recompute sets, each of parts that the model has. Order of enum recompute_module's bits. */
enum { HAS_MOE = 1, HAS_MLA = 2, HAS_DENSE = 4, HAS_SHARED = 8, HAS_NO_MOE = 16 };
static const struct {
	unsigned modules, needs;
} recompute_sets[] = {
    {MODULE_LAYERNORM, 0},
    {MODULE_MOE_ACT, HAS_MOE},
    {MODULE_LAYERNORM | MODULE_MOE_ACT, HAS_MOE},
    {MODULE_MLA_UP_PROJ, HAS_MLA},
    {MODULE_MLA_UP_PROJ | MODULE_LAYERNORM, HAS_MLA},
    {MODULE_MLA_UP_PROJ | MODULE_MOE_ACT, HAS_MLA | HAS_MOE},
    {MODULE_MLA_UP_PROJ | MODULE_LAYERNORM | MODULE_MOE_ACT, HAS_MLA | HAS_MOE},
    {MODULE_LAYERNORM | MODULE_MOE_ACT | MODULE_SHARED_EXPERTS, HAS_MOE | HAS_SHARED},
    {MODULE_MLP, HAS_DENSE | HAS_NO_MOE},
    {MODULE_LAYERNORM | MODULE_MLP, HAS_DENSE | HAS_NO_MOE},
    {MODULE_MOE, HAS_MOE},
    {MODULE_LAYERNORM | MODULE_MOE, HAS_MOE},
};

static unsigned
parts_of(const struct model *model)
{
	unsigned parts = model_moe(model) ? HAS_MOE : HAS_NO_MOE;

	for (int k = 0; k < model->n_kinds; k++) {
		const struct layer_kind *kind = &model->kinds[k];

		parts |= kind->mixer.kind == MIXER_MLA ? HAS_MLA : 0;
		parts |= kind->ffn.dense_width > 0 ? HAS_DENSE : 0;
		parts |= kind->ffn.shared_width > 0 ? HAS_SHARED : 0;
	}
	return parts;
}

static void
add_recompute(struct grid_axis *axis, const struct model *model, enum framework framework)
{
	size_t sets = sizeof(recompute_sets) / sizeof(recompute_sets[0]);
	unsigned parts = parts_of(model);

	axis->values[axis->n++] = recompute_value((struct recompute){.kind = RECOMPUTE_NONE});
	for (size_t i = 0; i < sets && framework == FRAMEWORK_MEGATRON; i++) {
		struct recompute set = {RECOMPUTE_SELECTIVE, recompute_sets[i].modules, 0};

		if ((recompute_sets[i].needs & ~parts) == 0)
			axis->values[axis->n++] = recompute_value(set);
	}
	axis->values[axis->n++] = recompute_value((struct recompute){.kind = RECOMPUTE_FULL});
}

static void
add_sharding(struct grid_axis *axis, const struct strategy *base)
{
	if (base->zero >= 0)
		add_value(axis, base->zero);
	else if (base->framework == FRAMEWORK_TORCHTITAN)
		add_value(axis, 3);
	else
		add_value(axis, 1);
	if (base->zero < 0 && base->framework == FRAMEWORK_DEEPSPEED) {
		add_value(axis, 2);
		add_value(axis, 3);
	}
}

/* DeepEP runs on Hopper and Blackwell; HybridEP is made for their NVLink racks. */
static bool
has_deepep(const struct cluster *cluster)
{
	static const char *const names[] = {"H1", "H2", "H8", "B1", "B2", "B3", "GB", "GH"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(cluster->gpu.name, names[i], 2) == 0)
			return true;
	return false;
}

static void
add_dispatchers(struct grid_axis *axis, const struct model *model, const struct cluster *cluster,
    enum framework framework)
{
	add_value(axis, DISPATCH_ALLTOALL);
	if (!model_moe(model) || framework == FRAMEWORK_DEEPSPEED || !has_deepep(cluster))
		return;
	add_value(axis, DISPATCH_DEEPEP);
	if (cluster->levels[0].gpus >= RACK_DOMAIN_GPUS)
		add_value(axis, DISPATCH_HYBRIDEP);
}

static int64_t
most_expert_tensor(const struct model *model, const struct strategy *base)
{
	if (!model_moe(model))
		return 1;
	if (base->framework == FRAMEWORK_DEEPSPEED)
		return base->expert_tp == 1 ? MAX_TP : 1; /* there it is tp or 1 */
	return base->framework == FRAMEWORK_MEGATRON ? MAX_ETP : 1;
}

/*
 * Megatron-Bridge asserts that Mamba models have no virtual stages (models/mamba/
 * mamba_provider.py 0.2 to 0.5, models/hybrid/hybrid_provider.py 0.6); Megatron-LM takes them
 * from the layer pattern since 0.17: whoever starts it so names them.
 */
static int64_t
most_virtual_stages(const struct model *model, enum framework framework)
{
	if (framework == FRAMEWORK_DEEPSPEED ||
	    (framework == FRAMEWORK_MEGATRON && model_has_mamba(model)))
		return 1;
	return MAX_VPP;
}

static void
add_defaults(struct grid_axis *axis, enum axis which, const struct model *model,
    const struct cluster *cluster, const struct job *job, int64_t world)
{
	const struct strategy *base = &job->base;
	int64_t most = base->seq_len / LEAST_TOKENS, chunks = model->layers + 2;

	switch (which) {
	case AXIS_TP:
		add_tensor_degrees(axis, model, world);
		break;
	case AXIS_CP:
		add_powers(axis, base->framework == FRAMEWORK_DEEPSPEED || most < 1 ? 1
				 : most > MAX_CP				    ? MAX_CP
										    : most);
		break;
	case AXIS_PP:
		add_divisors(axis, world, chunks < STRATEGY_MAX_PP ? chunks : STRATEGY_MAX_PP);
		break;
	case AXIS_VPP:
		for (int64_t v = 1; v <= most_virtual_stages(model, base->framework); v++)
			add_value(axis, v);
		break;
	case AXIS_EP:
		add_divisors(axis, most_experts(model), world);
		break;
	case AXIS_ETP:
		add_powers(axis, most_expert_tensor(model, base));
		break;
	case AXIS_MICRO_BATCH:
		add_powers(axis, MAX_MICRO_BATCH);
		break;
	case AXIS_RECOMPUTE:
		add_recompute(axis, model, base->framework);
		break;
	case AXIS_ZERO:
		add_sharding(axis, base);
		break;
	case AXIS_DISPATCHER:
		add_dispatchers(axis, model, cluster, base->framework);
		break;
	case AXES:
		break;
	}
}

/* None of the usual values is in the user's range: then all of the range. */
static void
add_range(struct grid_axis *axis, int64_t least, int64_t most)
{
	for (int64_t value = least; value <= most && axis->n < GRID_MAX_VALUES; value++)
		add_value(axis, value);
}

/* What the user names is tried even where it is not usual; what he bounds is cut. */
static void
limit_axis(struct grid_axis *axis, const struct axis_limit *limit)
{
	int64_t least = limit->min > 1 ? limit->min : 1;
	struct grid_axis kept = {0};

	if (limit->n_allowed > 0) {
		axis->n = limit->n_allowed;
		memcpy(axis->values, limit->allowed, sizeof(limit->allowed));
	}
	for (int i = 0; i < axis->n; i++)
		if (axis_allows(limit, axis->values[i]))
			kept.values[kept.n++] = axis->values[i];
	if (kept.n == 0 && limit->n_allowed == 0)
		add_range(&kept, least, limit->max);
	*axis = kept;
}

/* World sizes: all GPUs, or whole nodes and parts of one down from the most that may be used. */
static void
add_worlds(struct grid *grid, const struct cluster *cluster, const struct job *job)
{
	int64_t most = cluster->world, node = cluster->gpus_per_node;
	struct grid_axis worlds = {0};
	bool fewest = job->objective == OBJECTIVE_GPUS;

	if (job->max_gpus > 0 && job->max_gpus < most)
		most = job->max_gpus;
	add_divisors(&worlds, node, node);
	for (int64_t n = 1; n <= cluster->nodes; n++)
		if (cluster->nodes % n == 0 || (n & (n - 1)) == 0 || n == most / node)
			add_value(&worlds, n * node);
	for (int i = 0; i < worlds.n; i++) {
		int64_t world = worlds.values[i];
		bool usual = most == cluster->world ? world == most : 2 * world > most;

		if (world <= most && (fewest || usual))
			grid->worlds[grid->n_worlds++] = world;
	}
}

void
grid_init(struct grid *grid, const struct model *model, const struct cluster *cluster,
    const struct job *job)
{
	int64_t most;

	*grid = (struct grid){0};
	add_worlds(grid, cluster, job);
	most = grid->n_worlds > 0 ? grid->worlds[grid->n_worlds - 1] : cluster->world;
	for (int a = 0; a < AXES; a++) {
		add_defaults(&grid->axes[a], (enum axis)a, model, cluster, job, most);
		limit_axis(&grid->axes[a], &job->limits[a]);
	}
	grid->free_recompute =
	    job->base.framework == FRAMEWORK_MEGATRON && job->limits[AXIS_RECOMPUTE].n_allowed == 0;
}

int
grid_vpp_values(const struct grid *grid, int64_t pp)
{
	const struct grid_axis *axis = &grid->axes[AXIS_VPP];

	/* Without a stage to interleave only the first value is a candidate of its own. */
	return pp > 1 || axis->n == 0 ? axis->n : 1;
}

int
grid_dispatchers(const struct grid *grid, int64_t ep, int64_t etp)
{
	const struct grid_axis *axis = &grid->axes[AXIS_DISPATCHER];

	return ep * etp > 1 || axis->n == 0 ? axis->n : 1;
}
