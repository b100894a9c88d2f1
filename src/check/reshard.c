/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where was each expert and each tensor-parallel shard, and where will it be?
 *
 * Expert e of E lies on the ranks whose place in their expert-parallel group is
 * e / (E/EP), its ETP shard on those with that place in the expert tensor group,
 * layer l on the stage of its chunk (model/groups.c, model/layout.c). Shard i of n
 * covers [i/n, (i+1)/n) of a matrix: shards of two sizes meet where these overlap.
 *
 * What loads: NVIDIA/Megatron-LM 0.19 dist_checkpointing and distrib_optimizer.py
 * (dp_reshardable and fully_reshardable formats), DeepSpeed 0.19 runtime/engine.py
 * (a file an expert; optimizer states an expert-parallel rank) and
 * checkpoint/autoep_universal.py, torchtitan's DCP checkpoints.
 */
#include "check/reshard.h"

#include <string.h>

#include "base/arena.h"
#include "model/groups.h"
#include "planner/params.h"

const char *const reshard_load_names[] = {"loads", "with", "converts", NULL};

enum { MAX_ROWS = 200000 };

/* Where every rank of a plan stands. */
struct places {
	const struct plan_view *plan;
	int64_t world, pp, ep, etp, tp;
	int32_t *stage, *expert, *expert_tensor, *tensor;
	int32_t *expert_rank; /* first rank of (stage, ep, etp) */
	int32_t *dense_rank;  /* first rank of (stage, tp) */
};

static void
fill_places(const struct group_table *table, const char *name, int32_t *places)
{
	for (size_t k = 0; k < table->n_kinds; k++) {
		const struct group_kind *kind = &table->kinds[k];

		if (strcmp(kind->name, name) != 0)
			continue;
		for (int64_t i = 0; i < kind->count * kind->size; i++)
			places[kind->ranks[i]] = (int32_t)(i % kind->size);
		return;
	}
}

/* Only Megatron may put pipeline stages elsewhere than outermost. */
static void
fill_stages(const struct group_table *table, struct places *places)
{
	for (int64_t r = 0; r < places->world; r++)
		places->stage[r] = (int32_t)(r / (places->world / places->pp));
	if (places->plan->strategy.framework == FRAMEWORK_MEGATRON)
		fill_places(table, "pp", places->stage);
}

static void
find_first_ranks(struct places *p)
{
	for (int64_t i = 0; i < p->pp * p->ep * p->etp; i++)
		p->expert_rank[i] = -1;
	for (int64_t i = 0; i < p->pp * p->tp; i++)
		p->dense_rank[i] = -1;
	for (int64_t r = p->world - 1; r >= 0; r--) {
		int64_t expert =
		    (p->stage[r] * p->ep + p->expert[r]) * p->etp + p->expert_tensor[r];

		p->expert_rank[expert] = (int32_t)r;
		p->dense_rank[p->stage[r] * p->tp + p->tensor[r]] = (int32_t)r;
	}
}

static int
places_init(
    struct places *p, struct arena *arena, struct diags *diags, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;
	const struct group_table *table = groups_build(arena, diags, s);
	size_t world = (size_t)s->world;

	if (!table)
		return -1;
	*p = (struct places){
	    plan, s->world, s->pp, s->ep, s->etp, s->tp, NULL, NULL, NULL, NULL, NULL, NULL};
	p->stage = arena_array(arena, world, sizeof(*p->stage));
	p->expert = arena_array(arena, world, sizeof(*p->expert));
	p->expert_tensor = arena_array(arena, world, sizeof(*p->expert_tensor));
	p->tensor = arena_array(arena, world, sizeof(*p->tensor));
	p->expert_rank =
	    arena_array(arena, (size_t)(p->pp * p->ep * p->etp), sizeof(*p->expert_rank));
	p->dense_rank = arena_array(arena, (size_t)(p->pp * p->tp), sizeof(*p->dense_rank));
	fill_stages(table, p);
	fill_places(table, "ep", p->expert);
	fill_places(table, "tp", p->tensor);
	fill_places(
	    table, s->framework == FRAMEWORK_MEGATRON ? "expert_tp" : "etp", p->expert_tensor);
	if (s->framework == FRAMEWORK_DEEPSPEED && s->etp > 1)
		fill_places(table, "tp", p->expert_tensor);
	find_first_ranks(p);
	return 0;
}

static int
stage_of(const struct layout *layout, int layer)
{
	int chunks = layout->pp * layout->vpp;

	for (int c = 0; c < chunks; c++)
		if (layer >= layout->first[c] && layer < layout->first[c + 1])
			return layout_stage(layout, c);
	return 0;
}

static int64_t
experts_of(const struct model *model, int layer)
{
	return model->kinds[model->kind_of[layer]].ffn.experts;
}

/* --- rows ----------------------------------------------------------------------------------- */

struct builder {
	struct arena *arena;
	const struct places *old_places, *new_places;
	struct reshard *out;
	size_t room;
};

static void
add_row(struct builder *b, struct reshard_row row)
{
	if (b->out->n_rows >= MAX_ROWS) {
		b->out->n_rows++;
		return;
	}
	if (b->out->n_rows == b->room) {
		size_t more = b->room > 0 ? 2 * b->room : 256;

		b->out->rows =
		    arena_grow(b->arena, b->out->rows, b->room * sizeof(row), more * sizeof(row));
		b->room = more;
	}
	row.moves = row.old_rank != row.new_rank;
	b->out->rows[b->out->n_rows++] = row;
}

/* True when shard i of n and shard j of m have something in common. */
static bool
overlap(int64_t i, int64_t n, int64_t j, int64_t m)
{
	return i * m < (j + 1) * n && j * n < (i + 1) * m;
}

/* The rank of the new plan itself where it had the piece before, otherwise its first holder. */
static int32_t
source_of(const struct places *o, int32_t rank, int stage, int64_t expert, int64_t shard)
{
	bool has = rank < o->world && o->stage[rank] == stage;

	if (expert < 0)
		return has && o->tensor[rank] == shard ? rank
						       : o->dense_rank[stage * o->tp + shard];
	return has && o->expert[rank] == expert && o->expert_tensor[rank] == shard
		   ? rank
		   : o->expert_rank[(stage * o->ep + expert) * o->etp + shard];
}

static void
add_dense(struct builder *b, int first, int last, int old_stage, int new_stage)
{
	const struct places *o = b->old_places, *n = b->new_places;

	for (int64_t i = 0; i < o->tp; i++)
		for (int64_t j = 0; j < n->tp; j++) {
			int32_t rank = n->dense_rank[new_stage * n->tp + j];

			if (overlap(i, o->tp, j, n->tp))
				add_row(b, (struct reshard_row){first, last, -1, -1, i, j,
					       source_of(o, rank, old_stage, -1, i), rank, false});
		}
}

/* Runs of experts that lie together in both plans. */
static void
add_experts(struct builder *b, int first, int last, int old_stage, int new_stage, int64_t experts)
{
	const struct places *o = b->old_places, *n = b->new_places;
	int64_t old_each = experts / o->ep, new_each = experts / n->ep;

	for (int64_t e = 0; e < experts;) {
		int64_t old_ep = e / old_each, new_ep = e / new_each;
		int64_t old_end = (old_ep + 1) * old_each, new_end = (new_ep + 1) * new_each;
		int64_t end = old_end < new_end ? old_end : new_end;

		for (int64_t i = 0; i < o->etp; i++)
			for (int64_t j = 0; j < n->etp; j++) {
				int32_t rank =
				    n->expert_rank[(new_stage * n->ep + new_ep) * n->etp + j];

				if (overlap(i, o->etp, j, n->etp))
					add_row(b,
					    (struct reshard_row){first, last, e, end - 1, i, j,
						source_of(o, rank, old_stage, old_ep, i), rank,
						false});
			}
		e = end;
	}
}

static void
add_rows(struct builder *b, const struct model *model)
{
	const struct layout *old_layout = &b->old_places->plan->layout;
	const struct layout *new_layout = &b->new_places->plan->layout;
	int layers = (int)model->layers;

	for (int first = 0, last; first < layers; first = last + 1) {
		int old_stage = stage_of(old_layout, first),
		    new_stage = stage_of(new_layout, first);
		int64_t experts = experts_of(model, first);

		last = first;
		while (last + 1 < layers && experts_of(model, last + 1) == experts &&
		       stage_of(old_layout, last + 1) == old_stage &&
		       stage_of(new_layout, last + 1) == new_stage)
			last++;
		add_dense(b, first, last, old_stage, new_stage);
		if (experts > 0)
			add_experts(b, first, last, old_stage, new_stage, experts);
	}
}

/* --- how much is there already -------------------------------------------------------------- */

static double
common(double a0, double a1, double b0, double b1)
{
	double start = a0 > b0 ? a0 : b0, end = a1 < b1 ? a1 : b1;

	return end > start ? end - start : 0;
}

/* Experts x layers that rank r of the new plan needs, and those that rank r of the old one held. */
static void
count_rank(struct builder *b, const struct model *model, int64_t r, double elements)
{
	const struct places *o = b->old_places, *n = b->new_places;

	for (int layer = 0; layer < (int)model->layers; layer++) {
		double experts = (double)experts_of(model, layer);
		double each = experts / (double)n->ep, part = 1 / (double)n->etp, both;

		if (experts <= 0 || stage_of(&n->plan->layout, layer) != n->stage[r])
			continue;
		b->out->needed += each * part * elements;
		if (r >= o->world || stage_of(&o->plan->layout, layer) != o->stage[r])
			continue;
		both = common(n->expert[r] * each, (n->expert[r] + 1) * each,
		    o->expert[r] * experts / (double)o->ep,
		    (o->expert[r] + 1) * experts / (double)o->ep);
		both *= common(n->expert_tensor[r] * part, (n->expert_tensor[r] + 1) * part,
		    o->expert_tensor[r] / (double)o->etp,
		    (o->expert_tensor[r] + 1) / (double)o->etp);
		b->out->held += both * elements;
	}
}

/* Parameters of one expert of the layer kind with most layers. */
static double
expert_elements(const struct model *model)
{
	struct tensor rows[TENSORS_MAX];
	const struct layer_kind *kind = model_moe(model);
	size_t n = kind ? tensors_of_layer(model, kind, rows) : 0;
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		if (rows[i].shard == SHARD_EXPERT && rows[i].count > 0)
			sum += (double)tensor_elements(&rows[i]) / (double)rows[i].count;
	return sum;
}

/* --- what the framework can load ------------------------------------------------------------ */

static void
judge_megatron(struct reshard *out, const struct strategy *o, const struct strategy *n)
{
	bool model_split = o->tp != n->tp || o->pp != n->pp || o->vpp != n->vpp || o->ep != n->ep ||
			   o->etp != n->etp || o->cp != n->cp;

	if (!model_split && o->dp == n->dp)
		return;
	out->weights = RESHARD_WITH;
	out->weights_advice =
	    "--ckpt-format torch_dist when it is saved (the legacy format 'torch' "
	    "keeps one file a rank and loads into the same degrees only)";
	out->optimizer = RESHARD_WITH;
	out->optimizer_advice =
	    model_split ? "--dist-ckpt-optim-fully-reshardable when it is saved; otherwise load "
			  "with --no-load-optim. Releases of early 2025 could not move optimizer "
			  "states between PP and EP (NVIDIA/Megatron-LM#1517)"
			: "the distributed optimizer's torch_dist format, which follows another DP";
	if (o->etp > 1)
		out->weights_advice =
		    "--ckpt-format torch_dist, saved by 0.15 or newer: before "
		    "NVIDIA/Megatron-LM PR #1770 grouped experts with ETP over 1 were saved by one "
		    "tensor rank only, so shards are missing";
}

static void
judge_deepspeed(struct reshard *out, const struct strategy *o, const struct strategy *n)
{
	if (o->tp != n->tp || o->pp != n->pp || o->ep != n->ep || o->dp != n->dp ||
	    o->zero != n->zero) {
		out->optimizer = RESHARD_CONVERTS;
		out->optimizer_advice =
		    "make a universal checkpoint (ds_to_universal.py; experts of AutoEP "
		    "since 0.19, native MoE layers are not covered): expert "
		    "optimizer states are saved a file an expert-parallel rank";
	}
	if (o->tp != n->tp || o->pp != n->pp) {
		out->weights = RESHARD_CONVERTS;
		out->weights_advice = "make a universal checkpoint, or convert them to Hugging "
				      "Face's form and from it";
	} else if (o->ep != n->ep) {
		out->weights_advice =
		    "experts are saved a file each under their global number: any "
		    "ep_size reads its own";
	}
}

static void
judge(struct reshard *out, const struct strategy *o, const struct strategy *n)
{
	if (o->framework != n->framework) {
		out->weights = out->optimizer = RESHARD_CONVERTS;
		out->weights_advice =
		    "convert them to Hugging Face's form and from it: the frameworks do not read "
		    "each other's checkpoints";
		out->optimizer_advice = "it starts afresh";
	} else if (o->framework == FRAMEWORK_MEGATRON) {
		judge_megatron(out, o, n);
	} else if (o->framework == FRAMEWORK_DEEPSPEED) {
		judge_deepspeed(out, o, n);
	} else {
		out->weights_advice = "DCP checkpoints are read into any mesh";
		out->optimizer_advice = out->weights_advice;
	}
}

/* Same shapes: layers, experts and sizes, whatever it is called. */
static bool
same_model(const struct model *a, const struct model *b)
{
	struct params p, q;

	params_count(a, &p);
	params_count(b, &q);
	return a->layers == b->layers && a->hidden == b->hidden && p.total == q.total;
}

struct reshard *
reshard_plan(struct arena *arena, struct diags *diags, const struct plan_view *old_plan,
    const struct plan_view *new_plan)
{
	struct reshard *out = arena_alloc(arena, sizeof(*out));
	struct loc nowhere = {NULL, 0, 0};
	struct places old_places, new_places;
	struct builder builder = {arena, &old_places, &new_places, out, 0};
	double elements = expert_elements(new_plan->model);

	if (!same_model(old_plan->model, new_plan->model)) {
		diag_error(diags, nowhere, "the plans are for different models: '%s' and '%s'",
		    old_plan->model->name, new_plan->model->name);
		return NULL;
	}
	if (places_init(&old_places, arena, diags, old_plan) != 0 ||
	    places_init(&new_places, arena, diags, new_plan) != 0)
		return NULL;
	add_rows(&builder, new_plan->model);
	if (out->n_rows > MAX_ROWS) {
		diag_error(
		    diags, nowhere, "%zu shards meet, the limit is %d", out->n_rows, MAX_ROWS);
		return NULL;
	}
	for (int64_t r = 0; r < new_places.world; r++)
		count_rank(&builder, new_plan->model, r, elements);
	judge(out, &old_plan->strategy, &new_plan->strategy);
	return out;
}
