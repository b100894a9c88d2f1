/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does the plan say, and can the probe run it?
 *
 * The document is a plan, or the estimate of one strategy, and is read by the same readers that
 * the planner uses: `model_definition` by the model reader, `strategy` (of a plan, that of
 * `best`) by the table of strategy options. Sizes that follow from others
 * are derived again and must come out as the document has them.
 */
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/field.h"
#include "base/sha256.h"
#include "planner/stages.h"
#include "probe/passes.h"
#include "probe/plan_file.h"

double
named_get(const struct named_list *list, const char *name, double missing)
{
	int i;

	for (i = 0; i < list->n; i++)
		if (strcmp(list->items[i].name, name) == 0)
			return list->items[i].value;
	return missing;
}

/* Members of a mapping that are numbers. */
static struct named_list
read_named(struct arena *arena, const struct doc *map)
{
	struct named_list list = {0};
	const struct doc *member;

	if (!map || map->kind != DOC_MAP)
		return list;
	list.items = arena_array(arena, map->count, sizeof(*list.items));
	for (member = map->first; member; member = member->next)
		if (member->kind == DOC_NUMBER)
			list.items[list.n++] = (struct named){member->key, member->number};
	return list;
}

static const struct doc *
need(struct diags *diags, const struct doc *map, const char *key, enum doc_kind kind)
{
	const struct doc *value = doc_get(map, key);

	if (value && value->kind == kind)
		return value;
	if (map)
		diag_error(diags, value ? value->loc : map->loc, "the plan has no '%s' (%s)", key,
		    kind == DOC_MAP	 ? "a mapping"
		    : kind == DOC_STRING ? "a text"
		    : kind == DOC_LIST	 ? "a list"
					 : "a number");
	return NULL;
}

static double
number_of(const struct doc *map, const char *key)
{
	const struct doc *value = doc_get(map, key);

	return value && value->kind == DOC_NUMBER ? value->number : 0;
}

static int64_t
count_of(struct diags *diags, const struct doc *map, const char *key, int64_t most)
{
	const struct doc *value = need(diags, map, key, DOC_NUMBER);

	if (value && value->is_integer && value->integer >= 1 && value->integer <= most)
		return value->integer;
	if (value)
		diag_error(
		    diags, value->loc, "'%s' is not a number from 1 to %lld", key, (long long)most);
	return 0;
}

static void
read_cluster(
    struct arena *arena, struct diags *diags, const struct doc *doc, struct probe_plan *plan)
{
	const struct doc *cluster = need(diags, doc, "cluster", DOC_MAP);
	const struct doc *levels = need(diags, cluster, "levels", DOC_LIST), *level;
	const struct doc *name = need(diags, cluster, "name", DOC_STRING);
	const struct doc *gpu = need(diags, cluster, "gpu", DOC_STRING);

	if (!cluster || !levels || !name || !gpu)
		return;
	plan->cluster_name = name->text;
	plan->gpu_name = gpu->text;
	plan->nodes = count_of(diags, cluster, "nodes", 1 << 20);
	plan->gpus_per_node = count_of(diags, cluster, "gpus_per_node", 1 << 20);
	plan->levels = arena_array(arena, levels->count, sizeof(*plan->levels));
	for (level = levels->first; level; level = level->next) {
		const struct doc *level_name = need(diags, level, "name", DOC_STRING);

		if (!level_name)
			return;
		plan->levels[plan->n_levels++] =
		    (struct plan_level){level_name->text, count_of(diags, level, "gpus", 1 << 20),
			number_of(level, "bytes_per_s"), number_of(level, "latency_s")};
	}
}

static void
read_prediction(
    struct arena *arena, struct diags *diags, const struct doc *best, struct probe_plan *plan)
{
	const struct doc *time = need(diags, best, "time", DOC_MAP);
	const struct doc *memory = need(diags, best, "memory", DOC_MAP);
	const struct doc *stages = need(diags, memory, "stages", DOC_LIST), *stage;

	if (!time || !memory || !stages)
		return;
	plan->step_s = number_of(time, "step_s");
	plan->exposed_s = read_named(arena, doc_get(time, "parts"));
	plan->hidden_s = read_named(arena, doc_get(time, "hidden"));
	plan->capacity_bytes = number_of(memory, "capacity_bytes");
	plan->memory = arena_array(arena, stages->count, sizeof(*plan->memory));
	plan->total_bytes = arena_array(arena, stages->count, sizeof(*plan->total_bytes));
	for (stage = stages->first; stage; stage = stage->next) {
		plan->total_bytes[plan->n_stages] = number_of(stage, "total_bytes");
		plan->memory[plan->n_stages++] = read_named(arena, doc_get(stage, "parts"));
	}
	if (plan->strategy.pp > 0 && plan->n_stages != plan->strategy.pp)
		diag_error(diags, stages->loc, "the plan has %d stages in 'memory', but pp %lld",
		    plan->n_stages, (long long)plan->strategy.pp);
}

static void
read_strategy(
    struct arena *arena, struct diags *diags, const struct doc *best, struct probe_plan *plan)
{
	static const char *const derived[] = {
	    "vpp", "micro_batches", "experts_per_rank", "sequence_parallel", "zero", NULL};
	const struct doc *strategy = need(diags, best, "strategy", DOC_MAP);
	const struct doc *layout = need(diags, best, "layout", DOC_STRING);
	struct field_context context = {arena, diags};
	int64_t micro_batches;

	strategy_init(&plan->strategy);
	if (!strategy || !layout)
		return;
	plan->strategy.vpp = count_of(diags, strategy, "vpp", 1024);
	plan->strategy.zero = (int)number_of(strategy, "zero");
	if (fields_read(strategy_fields, &plan->strategy, strategy, derived, &context) != 0)
		return;
	plan->layout_text = layout->text;
	if (plan->strategy.framework == FRAMEWORK_MEGATRON) /* an option of Megatron alone */
		plan->strategy.layout = layout->text;
	strategy_derive(&plan->strategy, plan->model, 0);
	if (strategy_violations(&plan->strategy, plan->model, diags) > 0)
		return;
	micro_batches = count_of(diags, strategy, "micro_batches", 1 << 30);
	if (micro_batches != plan->strategy.micro_batches)
		diag_error(diags, strategy->loc,
		    "'micro_batches' is %lld, but the degrees give %lld", (long long)micro_batches,
		    (long long)plan->strategy.micro_batches);
	layout_parse(
	    &plan->layout, layout->text, plan->model, (int)plan->strategy.pp, diags, layout->loc);
	plan->layout.vee = schedule_is_vee(plan->strategy.schedule);
}

/* What holds the strategy: a plan's best, or an estimate itself; NULL after an error. */
static const struct doc *
strategy_holder(struct diags *diags, const struct doc *doc, const char *file)
{
	const struct doc *schema = doc_get(doc, "schema");
	const char *text = schema && schema->kind == DOC_STRING ? schema->text : "";

	if (strcmp(text, "moeplan/plan/v1") == 0)
		return need(diags, doc, "best", DOC_MAP);
	if (strcmp(text, "moeplan/estimate/v1") == 0)
		return doc;
	diag_error(diags, schema ? schema->loc : doc->loc,
	    "'%s' is no plan: its schema is not 'moeplan/plan/v1' or 'moeplan/estimate/v1'", file);
	diag_last_hint(
	    diags, "'moeplan plan MODEL CLUSTER --format json --output plan.json' writes one");
	return NULL;
}

static int
read_document(
    struct arena *arena, struct diags *diags, const struct doc *doc, struct probe_plan *plan)
{
	const struct doc *model, *best = strategy_holder(diags, doc, plan->file);
	int errors = diags->errors;

	if (!best)
		return -1;
	model = need(diags, doc, "model_definition", DOC_MAP);
	if (!model)
		return -1;
	plan->model = model_read(arena, diags, model, "model");
	if (!plan->model)
		return -1;
	if (doc_get(doc_get(doc, "model"), "name") && doc_get(doc_get(doc, "model"), "name")->text)
		plan->model->name = doc_get(doc_get(doc, "model"), "name")->text;
	read_cluster(arena, diags, doc, plan);
	read_strategy(arena, diags, best, plan);
	read_prediction(arena, diags, best, plan);
	return diags->errors > errors ? -1 : 0;
}

struct probe_plan *
plan_read(struct arena *arena, struct diags *diags, const char *path)
{
	struct probe_plan *plan = arena_alloc(arena, sizeof(*plan));
	const struct doc *doc;
	size_t length;
	char *text = doc_read_file(arena, diags, path, &length);

	if (!text)
		return NULL;
	plan->file = path;
	sha256_hex(text, length, plan->sha256);
	doc = doc_parse(arena, diags, path, text, length);
	if (!doc || read_document(arena, diags, doc, plan) != 0)
		return NULL;
	return plan;
}

static void
cannot(struct diags *diags, const char *what, const char *hint)
{
	struct loc nowhere = {NULL, 0, 0};

	diag_error(diags, nowhere, "the probe cannot run %s", what);
	diag_last_hint(diags, "%s", hint);
}

/* Layers whose cost the probe's own would not have. */
static const char *
unlike(const struct model *model, const struct layer_kind *kind)
{
	const struct mixer *m = &kind->mixer;
	int64_t norms = kind->norm_elements / model->hidden;

	if (m->kind != MIXER_GQA && m->kind != MIXER_MLA)
		return m->kind == MIXER_NONE ? "layers without attention" : mixer_kind_names[m->kind];
	if (m->index_heads)
		return "a sparse-attention indexer";
	if (m->out_gate && (m->sinks || m->value_dim != m->head_dim))
		return "an output gate beside sinks or values of another width";
	if (kind->ffn.latent)
		return "experts on a latent width";
	if (kind->extra_elements)
		return kind->extra_name;
	if (norms * model->hidden != kind->norm_elements || (norms != 2 && norms != 4))
		return "layers of other than two or four norms";
	return NULL;
}

static void
check_layers(const struct model *model, struct diags *diags)
{
	int kind;

	for (kind = 0; kind <= model->n_kinds; kind++) {
		const char *what =
		    kind < model->n_kinds	? unlike(model, &model->kinds[kind])
		    : model->mtp_layers > 0 ? unlike(model, &model->mtp)
					    : NULL;

		if (what) {
			cannot(diags, what,
			    "its layers have grouped-query or latent (MLA) attention, MLPs and "
			    "experts; such models are planned, not probed");
			return;
		}
	}
}

static void
note(struct diags *diags, const char *what, const char *as)
{
	struct loc nowhere = {NULL, 0, 0};

	diag_add(diags, nowhere, NULL, SEVERITY_NOTE, "%s is run as %s", what, as);
}

static void
note_schedule(const struct strategy *s, struct diags *diags)
{
	bool splits = s->schedule > SCHEDULE_INTERLEAVED && s->pp > 1;

	if (splits && s->recompute.kind != RECOMPUTE_NONE)
		note(diags, "a backward in two with recomputation", "one pass, the first of them");
	if (s->overlap & OVERLAP_DP && weight_copies(s) > 1)
		note(diags, "overlap of data-parallel traffic with dualpipe", "traffic at the end");
}

static void
note_expert_overlap(const struct probe_plan *plan, struct diags *diags)
{
	const struct layer_kind *moe = model_moe(plan->model);

	if (!pairs_hide(&plan->strategy))
		note(diags, "overlap of expert traffic",
		    moe && moe->ffn.shared_width > 0 ? "traffic beside the shared expert"
						     : "traffic in line");
}

void
plan_notes(const struct probe_plan *plan, struct diags *diags)
{
	const struct strategy *s = &plan->strategy;

	if (s->dispatcher != DISPATCH_ALLTOALL)
		note(diags, dispatcher_names[s->dispatcher], "an all-to-all");
	if (s->precision != PRECISION_BF16)
		note(diags, precision_names[s->precision], "the backend's own type");
	if (s->offload != OFFLOAD_NONE)
		note(diags, "offloading", "none");
	if (s->cuda_graphs)
		note(diags, "CUDA graphs", "single launches");
	note_schedule(s, diags);
	if (s->overlap & OVERLAP_EP && s->ep > 1)
		note_expert_overlap(plan, diags);
}

int
plan_timed(const struct probe_plan *plan, struct diags *diags)
{
	enum precision precision = plan->strategy.precision;

	if (precision == PRECISION_BF16 || precision == PRECISION_FP16)
		return 0;
	cannot(diags, precision_names[precision],
	    "its products are bf16, and their times would be judged as the plan's; plan with "
	    "--precision bf16, or rehearse it with --backend cpu");
	return -1;
}

int
plan_runnable(const struct probe_plan *plan, struct diags *diags)
{
	const struct strategy *s = &plan->strategy;
	int errors = diags->errors;

	if (s->gtp > 1 || s->egtp > 1)
		cannot(diags, "GTP or EGTP", "plan with --gtp 1 --egtp 1");
	if (s->zero > 2 && s->pp > 1 && s->dp * s->cp * s->edp > 1 && !fsdp_stays_gathered(s))
		cannot(diags, "sharded weights on several pipeline stages",
		    "plan with --pin zero=1 or pp=1");
	if (s->zero > 1 && !fsdp_stays_gathered(s) && !ends_meet(s) &&
	    (plan->model->tied || plan->model->mtp_layers > 0))
		cannot(diags, "sharded gradients of an embedding that two stages hold",
		    "plan with --pin zero=1 or pp=1");
	if (s->zero > 1 && plan->model->tied && plan->model->head_bias)
		cannot(diags, "sharded gradients of a tied head with a bias",
		    "plan with --pin zero=1");
	if (s->zero > 1 && s->dp_replicate > 1)
		cannot(diags, "hybrid sharding", "plan with --pin dp_replicate=1");
	if (plan->layout.mtp_back > 0 && plan->model->mtp_layers > 0)
		cannot(diags, "MTP layers on another stage than the loss",
		    "plan with a layout whose last stage has them");
	check_layers(plan->model, diags);
	return diags->errors > errors ? -1 : 0;
}
