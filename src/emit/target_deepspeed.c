/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which configuration file does DeepSpeed take for a plan, and what must the client's
 * code do beside it?
 *
 * DeepSpeed ignores a "moe" block in silence: native MoE layers, pipeline stages and
 * recomputation are arguments of Python objects. Source: deepspeedai/DeepSpeed
 * moe/layer.py, pipe/module.py, pipe/topology.py, 0.16 to 0.19.
 */
#include <string.h>

#include "base/arena.h"
#include "base/jsonw.h"
#include "emit/megatron_values.h"
#include "emit/private.h"
#include "emit/values.h"

enum { MAX_DEPTH = 4 };

/* --- ds_config.json ------------------------------------------------------------------------- */

static void
write_value(struct jsonw *w, const char *key, const struct doc *value)
{
	if (value->kind == DOC_BOOL)
		jsonw_bool(w, key, value->boolean);
	else if (value->kind == DOC_STRING)
		jsonw_string(w, key, value->text);
	else if (value->is_integer)
		jsonw_int(w, key, value->integer);
	else
		jsonw_double(w, key, value->number);
}

/* Parts of "zero_optimization.offload_optimizer.device"; returns how many. */
static int
split_name(struct arena *arena, const char *name, const char *parts[MAX_DEPTH])
{
	int n = 0;

	for (const char *dot; n + 1 < MAX_DEPTH && (dot = strchr(name, '.')); name = dot + 1)
		parts[n++] = arena_strndup(arena, name, (size_t)(dot - name));
	parts[n++] = name;
	return n;
}

static const char *
config_text(struct arena *arena, const struct key_value *setting)
{
	struct jsonw w = jsonw_new(arena);
	const char *open[MAX_DEPTH], *parts[MAX_DEPTH];
	int depth = 0;

	jsonw_open(&w, NULL);
	for (; setting; setting = setting->next) {
		int n = split_name(arena, setting->key->name, parts), common = 0;

		while (common < depth && common < n - 1 && strcmp(open[common], parts[common]) == 0)
			common++;
		for (; depth > common; depth--)
			jsonw_close(&w);
		for (; depth < n - 1; depth++) {
			open[depth] = parts[depth];
			jsonw_open(&w, parts[depth]);
		}
		write_value(&w, parts[n - 1], setting->value);
	}
	for (; depth > 0; depth--)
		jsonw_close(&w);
	jsonw_close(&w);
	return jsonw_end(&w);
}

/* --- what is not in the file ---------------------------------------------------------------- */

static bool
is_native_moe(const struct plan_view *plan)
{
	return model_moe(plan->model) && !plan->strategy.auto_ep;
}

static const char *
python_bool(bool value)
{
	return value ? "True" : "False";
}

static void
add_moe(struct str *out, const struct plan_view *plan)
{
	const struct ffn *ffn = &model_moe(plan->model)->ffn;
	const struct strategy *s = &plan->strategy;
	bool drops = s->capacity > 0;
	const char *factor = number_text(out->arena, drops ? s->capacity : 1.0);

	str_addf(out,
	    "\n\nfrom deepspeed.moe.layer import MoE\n"
	    "from deepspeed.moe.utils import "
	    "split_params_into_different_moe_groups_for_optimizer\n\n"
	    "# DeepSpeed has no setting for it: add it to the loss, times the sum of every layer's "
	    "l_aux.\n"
	    "AUX_LOSS_COEFFICIENT = %s\n\n\n",
	    number_text(out->arena, router_aux_coefficient(plan)));
	str_addf(out,
	    "def make_moe_layer(expert):\n"
	    "    \"\"\"`expert`: a module %lld -> %lld -> %lld, which is copied for each expert of "
	    "a rank.\"\"\"\n"
	    "    return MoE(\n"
	    "        hidden_size=%lld,\n        expert=expert,\n        num_experts=%lld,\n"
	    "        ep_size=%lld,\n        k=%lld,\n",
	    (long long)plan->model->hidden, (long long)ffn->expert_width,
	    (long long)plan->model->hidden, (long long)plan->model->hidden, (long long)ffn->experts,
	    (long long)s->ep, (long long)ffn->top_k);
	str_addf(out,
	    "        capacity_factor=%s,\n        eval_capacity_factor=%s,\n        "
	    "min_capacity=4,\n"
	    "        drop_tokens=%s,\n        use_residual=False,\n        use_tutel=False,\n"
	    "        enable_expert_tensor_parallelism=%s,\n    )\n\n\n",
	    factor, factor, python_bool(drops), python_bool(s->expert_tp == 1));
	str_add(out, "def optimizer_groups(parameters):\n"
		     "    \"\"\"ZeRO needs the experts' parameters in groups of their own.\"\"\"\n"
		     "    return split_params_into_different_moe_groups_for_optimizer(\n"
		     "        {\"params\": list(parameters), \"name\": \"parameters\"})\n");
}

/* Tensor parallelism that neither the file nor a pipeline's topology says. */
static bool
needs_mpu(const struct plan_view *plan)
{
	return plan->strategy.tp > 1 && plan->strategy.pp == 1 && !deepspeed_has_autotp(plan);
}

/* DeepSpeed's own grid has what it asks of an mpu. */
static void
add_mpu(struct str *out, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;

	str_addf(out,
	    "\n\nfrom deepspeed.runtime.pipe.topology import PipelineParallelGrid\n"
	    "from deepspeed.runtime.pipe.topology import PipeModelDataParallelTopology\n\n\n"
	    "def make_mpu():\n"
	    "    \"\"\"Give it to deepspeed.initialize(mpu=...), after "
	    "deepspeed.init_distributed();\n"
	    "    the model's own layers use its get_model_parallel_group().\"\"\"\n"
	    "    return PipelineParallelGrid(\n"
	    "        PipeModelDataParallelTopology(num_pp=1, num_mp=%lld, num_dp=%lld))\n",
	    (long long)s->tp, (long long)s->dp);
}

static bool
is_uneven(const struct plan_view *plan)
{
	return plan->strategy.pp > 1 && !layout_is_plain(plan);
}

/* PipelineModule counts and balances; what is not balanced is told it here. */
static void
add_stages(struct str *out, const struct plan_view *plan)
{
	const struct layout *layout = &plan->layout;

	str_add(out, "LAYERS_OF_STAGES = [");
	for (int stage = 0; stage < layout->pp; stage++)
		str_addf(out, "%s%d", stage ? ", " : "",
		    layout->first[stage + 1] - layout->first[stage]);
	str_add(out,
	    "]\n\n\nclass PlannedModule(PipelineModule):\n"
	    "    \"\"\"Stages as planned: embedding on the first, norm and head on the "
	    "last.\"\"\"\n\n"
	    "    def _partition_layers(self, method=None):\n"
	    "        ends = list(itertools.accumulate(LAYERS_OF_STAGES, initial=1))\n"
	    "        self.parts = [0, *ends[1:-1], len(self._layer_specs)]\n"
	    "        stage = self._topo.get_coord(self.global_rank).pipe\n"
	    "        self._set_bounds(start=self.parts[stage], stop=self.parts[stage + 1])\n");
}

static void
add_pipeline(struct str *out, const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;
	bool uneven = is_uneven(plan);

	str_addf(out,
	    "\n\n%sfrom deepspeed.pipe import PipelineModule\n"
	    "from deepspeed.runtime.pipe.topology import PipeModelDataParallelTopology\n\n",
	    uneven ? "import itertools\n\n" : "");
	if (uneven)
		add_stages(out, plan);
	str_addf(out,
	    "%sdef pipeline(layers, decoder_layer_class, loss_fn):\n"
	    "    \"\"\"`layers`: LayerSpecs of embedding, %lld decoder layers, norm and "
	    "head.\"\"\"\n"
	    "    return %s(\n        layers=layers,\n        loss_fn=loss_fn,\n"
	    "        num_stages=%lld,\n"
	    "        topology=PipeModelDataParallelTopology(num_pp=%lld, num_mp=%lld, "
	    "num_dp=%lld),\n",
	    uneven ? "\n\n" : "\n", (long long)plan->model->layers,
	    uneven ? "PlannedModule" : "PipelineModule", (long long)s->pp, (long long)s->pp,
	    (long long)s->tp, (long long)s->dp);
	if (!uneven)
		str_add(
		    out, "        partition_method=f\"type:^{decoder_layer_class.__name__}$\",\n");
	str_addf(out, "        activation_checkpoint_interval=%d,\n    )\n",
	    s->recompute.kind == RECOMPUTE_FULL);
}

/* Settings that are the client's, by names of ours, and who is given them. */
static void
add_constants(struct str *out, const struct plan_view *plan)
{
	static const char *const recomputed[] = {
	    [RECOMPUTE_NONE] = "nothing is computed again",
	    [RECOMPUTE_SELECTIVE] = "the attention core of each layer",
	    [RECOMPUTE_FULL] = "each decoder layer",
	};
	const struct strategy *s = &plan->strategy;
	const char *through = s->recompute.kind == RECOMPUTE_NONE ? ""
			      : s->recompute.kind == RECOMPUTE_FULL && s->pp > 1
				  ? ", as the pipeline below does"
				  : ", through deepspeed.checkpointing.checkpoint";

	str_addf(out, "SEQUENCE_LENGTH = %lld\n", (long long)s->seq_len);
	str_addf(out, "CROSS_ENTROPY = \"%s\"\n", loss_names[s->loss]);
	str_addf(out, "RECOMPUTE = \"%s\"  # %s%s\n",
	    s->recompute.kind == RECOMPUTE_SELECTIVE ? "selective"
						     : recompute_text(out->arena, s->recompute),
	    recomputed[s->recompute.kind], through);
	if (s->tp > 1 && s->pp > 1)
		str_add(out, "# Tensor parallelism: the model's layers use the groups of the "
			     "topology below.\n");
}

static void
add_start(struct str *out, const struct plan_view *plan)
{
	str_addf(out,
	    "\n\ndef initialize(model, parameters):\n"
	    "    \"\"\"engine, optimizer, data loader, schedule: behind "
	    "deepspeed.init_distributed()\"\"\"\n"
	    "    return deepspeed.initialize(\n"
	    "        model=model, model_parameters=parameters, config=\"ds_config.json\"%s)\n",
	    needs_mpu(plan) ? ", mpu=make_mpu()" : "");
}

static void
add_client(struct str *out, const struct plan_view *plan)
{
	str_addf(out,
	    "# %s\n# What the client's code does for this plan beside ds_config.json:\n"
	    "import deepspeed\n\n",
	    plan_title(out->arena, plan));
	add_constants(out, plan);
	if (is_native_moe(plan))
		add_moe(out, plan);
	if (needs_mpu(plan))
		add_mpu(out, plan);
	if (plan->strategy.pp > 1)
		add_pipeline(out, plan);
	add_start(out, plan);
}

/* --- what DeepSpeed cannot do --------------------------------------------------------------- */

static bool
other_precision(const struct plan_view *plan)
{
	return plan->strategy.precision != PRECISION_BF16 &&
	       plan->strategy.precision != PRECISION_FP16;
}

static bool
other_moments(const struct plan_view *plan)
{
	return plan->strategy.moment_type != FLOAT_FP32;
}

static bool
offloads_activations(const struct plan_view *plan)
{
	return plan->strategy.offload == OFFLOAD_ACTIVATIONS;
}

static bool
offloads_nothing_sharded(const struct plan_view *plan)
{
	return plan->strategy.offload == OFFLOAD_OPTIMIZER && plan->strategy.zero == 0;
}

static bool
other_schedule(const struct plan_view *plan)
{
	return plan->strategy.schedule != SCHEDULE_1F1B;
}

static bool
early_predictions(const struct plan_view *plan)
{
	return plan->layout.mtp_back > 0;
}

static bool
graphs(const struct plan_view *plan)
{
	return plan->strategy.cuda_graphs;
}

static bool
part_of_layers(const struct plan_view *plan)
{
	return plan->strategy.recompute.kind == RECOMPUTE_FULL && plan->strategy.recompute.layers;
}

static bool
auto_ep_drops(const struct plan_view *plan)
{
	return plan->strategy.auto_ep && plan->strategy.capacity > 0;
}

static bool
auto_ep_unknown(const struct plan_view *plan)
{
	return plan->strategy.auto_ep && !deepspeed_preset(plan->model);
}

static bool
auto_ep_pipeline(const struct plan_view *plan)
{
	return plan->strategy.auto_ep && plan->strategy.pp > 1;
}

static bool
hidden_sends(const struct plan_view *plan)
{
	const struct strategy *s = &plan->strategy;
	bool tp = s->overlap & OVERLAP_TP && s->tp > 1 && !deepspeed_has_autotp(plan);

	return tp || (s->overlap & OVERLAP_EP && s->ep > 1) ||
	       (s->overlap & OVERLAP_PP && s->pp > 1);
}

static const struct obstacle obstacles[] = {
    {other_precision, "its training precisions are bf16 and fp16"},
    {other_moments, "moments of its optimizers are fp32"},
    {offloads_activations, "what of the activations is offloaded is not in the plan"},
    {offloads_nothing_sharded, "the optimizer is offloaded with ZeRO 1 or more"},
    {other_schedule, "its pipeline has the 1f1b schedule only"},
    {early_predictions, "multi-token prediction is on its last stage"},
    {graphs, "it captures no training step as CUDA graphs"},
    {part_of_layers, "it recomputes all layers or none"},
    {auto_ep_drops, "AutoEP drops no tokens"},
    {auto_ep_unknown, "AutoEP has no preset of this architecture"},
    {auto_ep_pipeline, "AutoEP replaces layers of one module, not of pipeline stages"},
    {hidden_sends, "it hides gradient and AutoTP communication only: --overlap dp or dp,tp"},
    {NULL, NULL},
};

struct emitted *
emit_deepspeed(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	const struct plan_view *view = plan_for(arena, diags, plan, FRAMEWORK_DEEPSPEED, version);
	struct str config = str_new(arena), client = str_new(arena);
	const struct key_value *settings;
	struct emitted *files = NULL;

	if (!view || refuse_obstacles(diags, "deepspeed", obstacles, view))
		return NULL;
	settings = keys_write(deepspeed_keys, arena, diags, view);
	if (!settings)
		return NULL;
	str_add(&config, config_text(arena, settings));
	add_client(&client, view);
	add_file(arena, &files, "ds_config.json", &config, false);
	add_file(arena, &files, "deepspeed_client.py", &client, false);
	return files;
}
