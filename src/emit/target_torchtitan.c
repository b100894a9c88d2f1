/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does torchtitan take for a plan: TOML up to 0.2, a Python recipe since 0.3?
 *
 * The recipe is a function that returns a Trainer.Config, started with --module and
 * --config; its last line builds the object again, so that the class's own checks run.
 * The same settings as command-line overrides of a shipped recipe are the second form.
 * Source: pytorch/torchtitan config/manager.py, v0.2.2 and 0.3.
 */
#include <string.h>

#include "base/arena.h"
#include "emit/private.h"
#include "emit/values.h"

/* --- obstacles ------------------------------------------------------------------------------ */

static bool
is_old(const struct plan_view *plan)
{
	return version_compare(plan->strategy.framework_version, "0.3") < 0;
}

static bool
no_flavor(const struct plan_view *plan)
{
	return !flavor_of(plan);
}

static bool
no_mtp(const struct plan_view *plan)
{
	return plan->model->mtp_layers > 0 &&
	       (is_old(plan) || strcmp(flavor_of(plan)->module, "deepseek_v3") != 0);
}

static bool
mtp_stages(const struct plan_view *plan)
{
	return plan->model->mtp_layers > 0 && plan->strategy.pp > 1;
}

static bool
mtp_loss(const struct plan_view *plan)
{
	return plan->model->mtp_layers > 0 && plan->strategy.loss == LOSS_FUSED;
}

static bool
mtp_context(const struct plan_view *plan)
{
	return plan->model->mtp_layers > 0 && plan->strategy.cp > 1;
}

/* Their flavors attend by FlexAttention, which 0.2.2 does not split. */
static bool
old_context(const struct plan_view *plan)
{
	const char *module = flavor_of(plan)->module;

	return is_old(plan) && plan->strategy.cp > 1 &&
	       (strcmp(module, "deepseek_v3") == 0 || strcmp(module, "gpt_oss") == 0);
}

static bool
old_fused_loss(const struct plan_view *plan)
{
	return is_old(plan) && plan->strategy.loss == LOSS_FUSED;
}

static bool
other_precision(const struct plan_view *plan)
{
	return plan->strategy.precision != PRECISION_BF16;
}

static bool
other_sums(const struct plan_view *plan)
{
	return plan->strategy.grad_type != FLOAT_FP32 || plan->strategy.moment_type != FLOAT_FP32;
}

static bool
offloads(const struct plan_view *plan)
{
	return plan->strategy.offload != OFFLOAD_NONE;
}

static bool
other_schedule(const struct plan_view *plan)
{
	return plan->strategy.schedule == SCHEDULE_DUALPIPE;
}

/* torch/distributed/pipelining: no split backward of a compiled stage. */
static bool
compiled_split(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return s->schedule > SCHEDULE_INTERLEAVED && s->overlap & OVERLAP_TP && s->tp > 1;
}

static bool
tied_stages(const struct plan_view *plan)
{
	return plan->model->tied && plan->strategy.pp > 1;
}

static bool
part_of_layers(const struct plan_view *plan)
{
	return plan->strategy.recompute.kind == RECOMPUTE_FULL && plan->strategy.recompute.layers;
}

static bool
graphs(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	return s->cuda_graphs && (is_old(plan) || s->pp > 1 || s->ep > 1);
}

static bool
nothing_hidden(const struct plan_view *plan)
{
	return !(plan->strategy.overlap & OVERLAP_DP) && plan->strategy.dp * plan->strategy.cp > 1;
}

static bool
other_overlap(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	bool pairs = is_old(plan) && s->schedule == SCHEDULE_DUALPIPEV;

	return (s->overlap & OVERLAP_EP && s->ep > 1 && !pairs) ||
	       (s->overlap & OVERLAP_PP && s->pp > 1);
}

static bool
backend_of_dense(const struct plan_view *plan)
{
	return plan->strategy.dispatcher != DISPATCH_ALLTOALL && !model_moe(plan->model);
}

static const struct obstacle obstacles[] = {
    {no_mtp, "its flavor of this model has no multi-token-prediction layers"},
    {mtp_stages, "multi-token-prediction layers are not split over pipeline stages"},
    {mtp_context, "multi-token-prediction layers have no context parallelism"},
    {old_context, "0.2's flavor of this model has no context parallelism"},
    {mtp_loss, "the loss of multi-token prediction is not fused: --loss compiled or eager"},
    {old_fused_loss, "before 0.3 no loss is fused: --loss compiled or eager"},
    {other_precision, "other precisions than bf16 are converters of a flavor, not settings"},
    {other_sums, "its gradients are summed in fp32 and its moments are fp32"},
    {offloads, "its offload takes parameters, gradients and optimizer together"},
    {other_schedule, "its DualPipe is the V of one direction: --schedule dualpipev"},
    {compiled_split, "stages whose backward is split cannot be compiled, and async TP compiles "
		     "them: leave 'tp' out of --overlap"},
    {tied_stages, "tied embeddings are not split over pipeline stages"},
    {part_of_layers, "it recomputes all layers or none"},
    {graphs, "CUDA graphs need 0.3, one pipeline stage and no expert parallelism"},
    {nothing_hidden, "FSDP always hides its communication: --overlap dp"},
    {other_overlap, "it hides no pipeline communication, and that of experts before 0.3 under "
		    "dualpipev alone"},
    {backend_of_dense, "a dispatcher has nothing to do in a dense model"},
    {NULL, NULL},
};

/* --- settings by section -------------------------------------------------------------------- */

static size_t
section_length(const char *name)
{
	return (size_t)(strchr(name, '.') - name);
}

static bool
same_section(const char *a, const char *b)
{
	size_t length = section_length(a);

	return length == section_length(b) && strncmp(a, b, length) == 0;
}

/* Is it the first of its section? Sections of the table are not contiguous. */
static bool
begins_section(const struct key_value *first, const struct key_value *setting)
{
	while (first != setting && !same_section(first->key->name, setting->key->name))
		first = first->next;
	return first == setting;
}

typedef void add_value_fn(struct str *out, const struct doc *value);

static void
add_section(struct str *out, const struct key_value *settings, const char *section,
    const char *format, add_value_fn *add_value)
{
	for (; settings; settings = settings->next) {
		const char *name = settings->key->name;

		if (!same_section(name, section))
			continue;
		str_add(out, format);
		str_add(out, name + section_length(name) + 1);
		str_add(out, add_value == add_python ? "=" : " = ");
		add_value(out, settings->value);
		str_add(out, add_value == add_python ? ",\n" : "\n");
	}
}

static void
add_toml(struct str *out, const struct plan_view *plan, const struct key_value *settings)
{
	const struct key_value *setting;

	str_addf(out, "# %s\n# torchtitan %s: --job.config_file torchtitan.toml\n",
	    plan_title(out->arena, plan), plan->strategy.framework_version);
	for (setting = settings; setting; setting = setting->next) {
		const char *name = setting->key->name;

		if (!begins_section(settings, setting))
			continue;
		str_addf(out, "\n[%.*s]\n", (int)section_length(name), name);
		add_section(out, settings, name, "", add_json);
	}
}

/* --- recipe of 0.3 -------------------------------------------------------------------------- */

static const char *const backends[DISPATCHERS] = {
    [DISPATCH_ALLTOALL] = "standard",
    [DISPATCH_ALLGATHER] = "standard",
    [DISPATCH_DEEPEP] = "deepep",
    [DISPATCH_HYBRIDEP] = "hybridep",
};

static const char *
recompute_class(const struct plan_view *plan)
{
	switch (plan->strategy.recompute.kind) {
	case RECOMPUTE_SELECTIVE:
		return "SelectiveAC";
	case RECOMPUTE_FULL:
		return "FullAC";
	case RECOMPUTE_NONE:
		break;
	}
	return NULL;
}

static void
add_imports(struct str *out, const struct plan_view *plan)
{
	const struct flavor *flavor = flavor_of(plan);
	bool fused = plan->strategy.loss == LOSS_FUSED, mtp = plan->model->mtp_layers > 0;

	str_add(out, "import dataclasses\n\n");
	if (!mtp)
		str_addf(out, "from torchtitan.components.loss import %sCrossEntropyLoss\n",
		    fused ? "ChunkedLossWrapper, " : "");
	str_add(out, "from torchtitan.config import CompileConfig, ParallelismConfig\n");
	if (recompute_class(plan))
		str_addf(out, "from torchtitan.distributed.activation_checkpoint import %s\n",
		    recompute_class(plan));
	str_add(out, "from torchtitan.models.common.config_utils import decoder_vocab_size\n");
	str_addf(out, "from torchtitan.models.%s import model_registry\n", flavor->module);
	str_addf(out, "from torchtitan.models.%s.config_registry import %s\n", flavor->module,
	    flavor->recipe);
	if (mtp)
		str_addf(out, "from torchtitan.models.%s.mtp import MTPLoss\n", flavor->module);
	str_add(out, "from torchtitan.trainer import Trainer\n\n\n");
}

static void
add_model(struct str *out, const struct plan_view *plan)
{
	const struct flavor *flavor = flavor_of(plan);

	str_addf(out, "    config.model_spec = model_registry(\n        \"%s\",\n", flavor->name);
	if (flavor->experts > 0)
		str_addf(
		    out, "        moe_comm_backend=\"%s\",\n", backends[plan->strategy.dispatcher]);
	if (plan->model->mtp_layers > 0)
		str_addf(out, "        num_mtp_layers=%lld,\n", (long long)plan->model->mtp_layers);
	str_add(out, "    )\n");
}

static void
add_loss(struct str *out, const struct plan_view *plan)
{
	static const char vocab[] = "global_vocab_size=decoder_vocab_size(config.model_spec)";

	if (plan->model->mtp_layers > 0)
		str_addf(out, "    config.loss = MTPLoss.Config(%s)\n", vocab);
	else if (plan->strategy.loss == LOSS_FUSED)
		str_addf(out,
		    "    config.loss = ChunkedLossWrapper.Config(\n"
		    "        loss_fn=CrossEntropyLoss.Config(%s),\n    )\n",
		    vocab);
	else
		str_addf(out, "    config.loss = CrossEntropyLoss.Config(%s)\n", vocab);
}

static void
add_recipe(struct str *out, const struct plan_view *plan, const struct key_value *settings)
{
	const char *recompute = recompute_class(plan);

	str_addf(out,
	    "# %s\n# torchtitan %s: -m torchtitan.train --module torchtitan_recipe --config "
	    "planned\n",
	    plan_title(out->arena, plan), plan->strategy.framework_version);
	add_imports(out, plan);
	str_addf(
	    out, "def planned() -> Trainer.Config:\n    config = %s()\n", flavor_of(plan)->recipe);
	add_model(out, plan);
	add_loss(out, plan);
	str_add(out, "    config.parallelism = ParallelismConfig(\n");
	add_section(out, settings, "parallelism.", "        ", add_python);
	str_add(
	    out, "    )\n    config.training = dataclasses.replace(\n        config.training,\n");
	add_section(out, settings, "training.", "        ", add_python);
	str_add(out, "    )\n    config.compile = CompileConfig(\n");
	add_section(out, settings, "compile.", "        ", add_python);
	str_addf(out, "    )\n    config.activation_checkpoint = %s%s\n",
	    recompute ? recompute : "None", recompute ? ".Config()" : "");
	str_add(out, "    return dataclasses.replace(config)  # its own checks run here\n");
}

/* --- overrides of 0.3 ----------------------------------------------------------------------- */

/* Arguments of the model registry and lists of lists are no flags. */
static bool
has_flags(const struct plan_view *plan)
{
	return plan->strategy.pp == 1 && plan->strategy.dispatcher == DISPATCH_ALLTOALL &&
	       plan->model->mtp_layers == 0 && plan->strategy.loss == LOSS_FUSED;
}

static void
add_flag(struct str *out, const struct key_value *setting)
{
	const struct doc *value = setting->value;
	const char *name = setting->key->name;
	size_t length = section_length(name);

	if (value->kind == DOC_BOOL) {
		str_addf(out, "--%.*s.%s%s \\\n", (int)length, name, value->boolean ? "" : "no_",
		    name + length + 1);
		return;
	}
	str_addf(out, "--%s ", name);
	if (value->kind == DOC_LIST)
		for (const struct doc *item = value->first; item; item = item->next)
			str_addf(out, "%s%s", item->text, item->next ? "," : " \\\n");
	else
		str_addf(out, "%s \\\n", value->text);
}

static void
add_overrides(struct str *out, const struct plan_view *plan, const struct key_value *settings)
{
	static const char *const modes[] = {"none", "selective", "full"};
	const struct flavor *flavor = flavor_of(plan);

	str_addf(out, "--module %s \\\n--config %s \\\n", flavor->module, flavor->recipe);
	for (; settings; settings = settings->next)
		add_flag(out, settings);
	str_addf(out, "activation-checkpoint:%s\n", modes[plan->strategy.recompute.kind]);
}

struct emitted *
emit_torchtitan(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	const struct plan_view *view = plan_for(arena, diags, plan, FRAMEWORK_TORCHTITAN, version);
	struct str main_file = str_new(arena), overrides = str_new(arena);
	const struct key_value *settings;
	struct emitted *files = NULL;

	if (!view)
		return NULL;
	if (no_flavor(view))
		return refuse_plan(diags, "torchtitan",
		    "it has no flavor of this model, "
		    "and a flavor is where experts and widths are");
	if (refuse_obstacles(diags, "torchtitan", obstacles, view))
		return NULL;
	settings = keys_write(torchtitan_keys, arena, diags, view);
	if (!settings)
		return NULL;
	if (is_old(view)) {
		add_toml(&main_file, view, settings);
		add_file(arena, &files, "torchtitan.toml", &main_file, false);
		return files;
	}
	add_recipe(&main_file, view, settings);
	add_file(arena, &files, "torchtitan_recipe.py", &main_file, false);
	if (!has_flags(view) || !flavor_of(view)->own_recipe)
		return files;
	add_overrides(&overrides, view, settings);
	add_file(arena, &files, "torchtitan-overrides.txt", &overrides, false);
	return files;
}
