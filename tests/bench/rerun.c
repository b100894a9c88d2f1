/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does the tool predict for a published run?
 *
 * A row becomes what a user would type: a model by name with changed config
 * keys, a cluster, and strategy options. Measured throughput becomes a step:
 *   step = batch * sequence / (gpus * tokens/s/gpu)
 *        = batch * sequence * F / (gpus * FLOP/s/gpu)
 * F are FLOPs a token by the source's own convention: causal attention, the
 * full square, or the square plus a recomputed forward of all layers.
 */
#include "rerun.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/str.h"
#include "base/units.h"
#include "model/builtin_models.h"
#include "model/job.h"
#include "planner/evaluator.h"
#include "planner/params.h"

enum { MAX_WORDS = 96 };

struct session {
	struct arena *arena;
	struct diags *diags;
	const char *folder;
	const struct run *run;
	struct model *model;
	struct cluster *cluster;
	struct job job;
};

static const char *
first_error(const struct session *s)
{
	for (const struct diag *diag = s->diags->first; diag; diag = diag->next)
		if (diag->severity == SEVERITY_ERROR)
			return arena_printf(s->arena, "%s%s%s", diag->rule ? diag->rule : "",
			    diag->rule ? ": " : "", diag->message);
	return "no reason was given";
}

static bool
is_modelled_class(const struct run *run)
{
	static const char *const modelled[] = {
	    "dense", "moe", "moe-hybrid-mamba", "moe-linear-attn"};

	for (size_t i = 0; i < sizeof(modelled) / sizeof(*modelled); i++)
		if (strcmp(run->class, modelled[i]) == 0)
			return true;
	return false;
}

/* What every prediction needs; the first that the source leaves out. */
static const char *
unstated(const struct run *run)
{
	const struct {
		const char *name, *value;
	} needed[] = {{"model", run->model}, {"GPU type", run->gpu}, {"GPU count", run->gpus},
	    {"sequence length", run->seq}, {"global batch", run->gbs}, {"micro-batch", run->mbs},
	    {"precision", run->precision}};

	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!needed[i].value[0])
			return needed[i].name;
	return NULL;
}

/* --- model --- */

static void
remove_member(struct doc *map, const char *key)
{
	struct doc **link = &map->first;

	while (*link && strcmp((*link)->key, key) != 0)
		link = &(*link)->next;
	if (*link) {
		*link = (*link)->next;
		map->count--;
	}
}

/* Config keys of the row take the place of the file's. */
static struct doc *
override(struct session *s, struct doc *config, const char *overrides)
{
	const char *item;

	while ((item = next_item(s->arena, &overrides))) {
		size_t length = strcspn(item, "=");
		const char *key = arena_strndup(s->arena, item, length);
		const char *value = item[length] ? item + length + 1 : "";

		remove_member(config, key);
		doc_add_scalar(s->arena, config, key, value, s->run->loc);
	}
	return config;
}

static int
read_model(struct session *s)
{
	const char *text = builtin_model_text(s->run->model);
	const char *name = arena_printf(s->arena, "%s/models/%s.json", s->folder, s->run->model);
	size_t length = text ? strlen(text) : 0;
	struct doc *config;

	if (!text)
		text = doc_read_file(s->arena, s->diags, name, &length);
	config = text ? doc_parse(s->arena, s->diags, name, text, length) : NULL;
	if (config)
		s->model = model_read(
		    s->arena, s->diags, override(s, config, s->run->overrides), s->run->model);
	return s->model ? 0 : -1;
}

/* --- cluster --- */

static struct cluster *
read_cluster_file(struct session *s)
{
	const char *path = arena_printf(s->arena, "%s/clusters/%s", s->folder, s->run->cluster);
	size_t length;
	const char *text = doc_read_file(s->arena, s->diags, path, &length);
	struct doc *doc = text ? doc_parse(s->arena, s->diags, path, text, length) : NULL;

	return doc ? cluster_read(s->arena, s->diags, doc) : NULL;
}

static int
read_cluster(struct session *s, int64_t gpus)
{
	bool is_file = strstr(s->run->cluster, ".yaml") != NULL;

	s->cluster =
	    is_file ? read_cluster_file(s) : cluster_from_text(s->arena, s->diags, s->run->cluster);
	if (!s->cluster)
		return -1;
	cluster_set_nodes(
	    s->cluster, (gpus + s->cluster->gpus_per_node - 1) / s->cluster->gpus_per_node);
	if (strcmp(s->cluster->gpu.name, s->run->gpu) != 0)
		return diag_error(s->diags, s->run->loc, "the cluster has '%s', the row says '%s'",
		    s->cluster->gpu.name, s->run->gpu);
	return 0;
}

/* --- strategy --- */

struct words {
	char *argv[MAX_WORDS];
	int count;
	struct str text;
};

static void
add_word(struct session *s, struct words *words, const char *word)
{
	if (words->count < MAX_WORDS)
		words->argv[words->count++] = arena_strdup(s->arena, word);
	str_addf(&words->text, "%s%s", words->text.length ? " " : "", word);
}

static void
add_option(struct session *s, struct words *words, const char *name, const char *value)
{
	if (!value[0])
		return;
	add_word(s, words, name);
	add_word(s, words, value);
}

static void
collect_words(struct session *s, struct words *words)
{
	const struct run *run = s->run;
	const char *options = run->options, *item;
	const struct {
		const char *name, *value;
	} rows[] = {{"--world-size", run->gpus}, {"--seq-len", run->seq},
	    {"--global-batch", run->gbs}, {"--micro-batch", run->mbs}, {"--tp", run->tp},
	    {"--pp", run->pp}, {"--vpp", run->vpp}, {"--cp", run->cp}, {"--ep", run->ep},
	    {"--etp", run->etp}, {"--zero", run->zero}, {"--precision", run->precision},
	    {"--recompute", run->recompute}, {"--dispatcher", run->dispatcher},
	    {"--capacity", run->capacity}, {"--loss", run->loss}, {"--grad-type", run->grad_type},
	    {"--cuda-graphs", run->cuda_graphs}, {"--overlap", run->overlap}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		add_option(s, words, rows[i].name, rows[i].value);
	if (run->moment_type[0])
		add_option(
		    s, words, "--optimizer", arena_printf(s->arena, "adam:%s", run->moment_type));
	while ((item = next_item(s->arena, &options)))
		add_word(s, words, item);
}

static int
read_strategy(struct session *s, struct rerun *rerun)
{
	struct words words = {.text = str_new(s->arena)};
	struct field_context context = {s->arena, s->diags};
	struct field_set sets[] = {{"Strategy", strategy_fields, &s->job.base}, {NULL, NULL, NULL}};
	struct arguments arguments;

	job_init(&s->job);
	collect_words(s, &words);
	rerun->command = arena_printf(s->arena, "%s [%s] on %s: %s", s->run->model,
	    s->run->overrides, s->run->cluster, words.text.text);
	if (options_parse(sets, words.count, words.argv, &arguments, &context) != 0)
		return -1;
	strategy_derive(&s->job.base, s->model, s->cluster->world);
	return strategy_violations(&s->job.base, s->model, s->diags) > 0 ? -1 : 0;
}

/* --- evaluation --- */

static bool
is_finite(const struct estimate *e)
{
	double sum = e->step_s + e->worst_bytes + e->tokens_per_s_per_gpu + e->mfu;

	for (int part = 0; part < TIME_PARTS; part++)
		sum += e->exposed_s[part] + e->hidden_s[part];
	for (int stage = 0; stage < e->n_stages; stage++)
		for (int part = 0; part < MEMORY_PARTS; part++)
			sum += e->stages[stage].parts[part];
	return isfinite(sum) && e->step_s > 0 && e->worst_bytes > 0;
}

/* The split that was run: as given, else even, which is what the frameworks do when nobody says. */
static int
read_layout(struct session *s, struct layout *layout)
{
	const struct strategy *base = &s->job.base;

	if (base->layout)
		return layout_parse(
		    layout, base->layout, s->model, (int)base->pp, s->diags, s->run->loc);
	layout_even(layout, s->model->layers, (int)base->pp, (int)base->vpp);
	return 0;
}

/* Rules for a whole source fill in what it leaves out; the row names it all the same. */
static unsigned
said_of(const struct session *s)
{
	static const struct {
		const char *name;
		unsigned said;
	} rows[] = {{"recompute", SAID_RECOMPUTE}, {"dispatcher", SAID_DISPATCHER},
	    {"optimizer", SAID_GRADIENTS | SAID_OPTIMIZER}};
	const char *list = s->run->unstated, *item;
	unsigned said = SAID_RECOMPUTE | SAID_DISPATCHER | SAID_GRADIENTS | SAID_OPTIMIZER;

	while ((item = next_item(s->arena, &list)))
		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
			if (strcmp(item, rows[i].name) == 0)
				said &= ~rows[i].said;
	return said;
}

/* It ran: what was assumed may be what did, also where too large a peak is predicted of it. */
static void
with_assumed(struct unstated *found, const struct estimate *assumed)
{
	found->step_low_s = fmin(found->step_low_s, assumed->step_s);
	found->step_high_s = fmax(found->step_high_s, assumed->step_s);
	found->low_bytes = fmin(found->low_bytes, assumed->worst_bytes);
	found->high_bytes = fmax(found->high_bytes, assumed->worst_bytes);
}

static void
evaluate_all(struct session *s, const struct layout *layout, struct rerun *rerun)
{
	struct evaluator *evaluator = evaluator_new(s->arena, s->model, s->cluster, &s->job);
	size_t pp = (size_t)s->job.base.pp;
	struct stage_memory *stages = arena_array(s->arena, pp, sizeof(*stages));
	struct estimate closed = {0};

	evaluate(evaluator, &s->job.base, layout, stages, &closed);
	evaluate_exact(evaluator, &s->job.base, layout, s->arena, stages, &rerun->estimate);
	s->job.base.said = said_of(s);
	evaluate_unstated(evaluator, &s->job.base, layout, &rerun->unstated);
	with_assumed(&rerun->unstated, &closed);
	rerun->evaluator = evaluator;
	rerun->closed_step_s = closed.step_s;
	rerun->bound_step_s = evaluate_bound(evaluator, &s->job.base).step_s;
	rerun->outcome = is_finite(&rerun->estimate) ? OUTCOME_PREDICTED : OUTCOME_NOT_FINITE;
	rerun->reason = rerun->outcome == OUTCOME_PREDICTED ? NULL : "a number is not finite";
}

/* FLOPs a token by the source's convention, from its name; 0 for an unknown one. */
static double
source_flops(const struct session *s, int64_t seq)
{
	const struct model *model = s->model;
	bool mtp = model->mtp_layers > 0;
	double head = 2.0 * (double)model->hidden * (double)model->vocab;
	double forward = flops_per_token(model, seq, mtp).forward;

	if (strcmp(s->run->flops, "causal") == 0)
		return 3 * forward;
	for (int64_t layer = 0; layer < model->layers; layer++) {
		const struct mixer *mixer = &model->kinds[model->kind_of[layer]].mixer;
		double dims = (double)(mixer->head_dim + mixer->value_dim);

		forward +=
		    2 * (double)mixer->heads * dims * ((double)seq - attention_context(mixer, seq));
	}
	if (strcmp(s->run->flops, "square") == 0)
		return 3 * forward;
	if (strcmp(s->run->flops, "square+forward") == 0)
		return 4 * (forward - head) + 3 * head;
	return 0;
}

static void
measure(const struct session *s, struct rerun *rerun)
{
	const struct run *run = s->run;
	double tokens = rerun->batch * rerun->seq / rerun->gpus;
	double flops = source_flops(s, (int64_t)rerun->seq);

	if (run->step_s > 0)
		rerun->measured_step_s = run->step_s;
	else if (run->tokens_per_s_per_gpu > 0)
		rerun->measured_step_s = tokens / run->tokens_per_s_per_gpu;
	else if (run->tflops > 0 && flops > 0)
		rerun->measured_step_s = tokens * flops / (run->tflops * 1e12);
	if (run->tflops > 0 && run->tokens_per_s_per_gpu > 0 && flops > 0)
		rerun->counter = run->tflops * 1e12 / run->tokens_per_s_per_gpu / flops;
}

static void
describe(const struct session *s, struct rerun *rerun)
{
	const struct strategy *base = &s->job.base;
	const struct cluster *cluster = s->cluster;
	int64_t domain =
	    cluster->n_levels > 1 ? cluster->levels[cluster->n_levels - 2].gpus : cluster->world;

	rerun->seq = (double)base->seq_len;
	rerun->batch = (double)base->global_batch;
	rerun->gpus = (double)base->world;
	rerun->nodes = (int)cluster->nodes;
	rerun->flops_per_token =
	    flops_per_token(s->model, base->seq_len, s->model->mtp_layers > 0).training;
	rerun->step_class = step_class_of(s->model, cluster, base);
	rerun->expert_group_leaves_domain = base->ep * base->etp > domain;
	measure(s, rerun);
}

static void
give_up(struct rerun *rerun, enum outcome outcome, const char *reason)
{
	rerun->outcome = outcome;
	rerun->reason = reason;
}

void
rerun_run(struct arena *arena, const char *folder, const struct run *run, struct rerun *rerun)
{
	struct session *s = arena_alloc(arena, sizeof(*s)); /* the evaluator keeps its job */
	bool expected = is_modelled_class(run);
	const char *missing = unstated(run);
	struct layout layout;
	int64_t gpus = 0;

	*s = (struct session){
	    .arena = arena, .diags = diags_new(arena), .folder = folder, .run = run};
	*rerun = (struct rerun){.run = run};
	if (missing && !expected)
		return give_up(rerun, OUTCOME_UNMODELLED, run->class);
	if (missing)
		return give_up(rerun, OUTCOME_UNSTATED, missing);
	units_parse_integer(run->gpus, &gpus);
	if (read_model(s) != 0 || read_cluster(s, gpus) != 0 || read_strategy(s, rerun) != 0)
		return give_up(rerun, OUTCOME_REFUSED, first_error(s));
	if (evaluator_refusal(arena, s->model))
		return give_up(rerun, expected ? OUTCOME_REFUSED : OUTCOME_UNMODELLED,
		    evaluator_refusal(arena, s->model));
	if (read_layout(s, &layout) != 0)
		return give_up(rerun, OUTCOME_REFUSED, first_error(s));
	describe(s, rerun);
	evaluate_all(s, &layout, rerun);
}

void
rerun_forget(const struct rerun *rerun)
{
	for (int i = 0; i < TIME_SLOTS; i++)
		rerun->evaluator->slots[i].used = false;
}

/* --- memory --- */

static double
stage_reading(const struct stage_memory *stage, const char *kind)
{
	if (strcmp(kind, "allocated") == 0)
		return stage->allocated_bytes;
	if (strcmp(kind, "reserved") == 0)
		return stage->total_bytes - stage->parts[MEMORY_RUNTIME];
	return stage->total_bytes;
}

struct memory_prediction
rerun_memory(const struct rerun *rerun)
{
	struct memory_prediction best = {0, 0};

	for (int i = 0; i < rerun->estimate.n_stages; i++) {
		const struct stage_memory *stage = &rerun->estimate.stages[i];
		double gib = stage_reading(stage, rerun->run->mem_kind) / GIB;

		if (gib <= best.gib)
			continue;
		best.gib = gib;
		best.state_gib =
		    (stage->parts[MEMORY_WEIGHTS] + stage->parts[MEMORY_GRADIENTS] +
			stage->parts[MEMORY_OPTIMIZER] + stage->parts[MEMORY_WGRAD_BUFFERS]) /
		    GIB;
	}
	return best;
}

struct interval
rerun_step_interval(const struct rerun *r)
{
	return (struct interval){
	    r->estimate.step_low_s * r->unstated.step_low_s / r->closed_step_s,
	    r->estimate.step_high_s * r->unstated.step_high_s / r->closed_step_s};
}

struct interval
rerun_memory_interval(const struct rerun *r)
{
	const struct band *band = &memory_bands[memory_class_of(&r->estimate.strategy)];
	double gib = rerun_memory(r).gib;

	return (struct interval){gib * band->low * r->unstated.low_bytes / r->estimate.worst_bytes,
	    gib * band->high * r->unstated.high_bytes / r->estimate.worst_bytes};
}
