/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which words do conditions and messages have beside the frameworks' own? One row a word. */
#include <string.h>

#include "check/context_machine.h"
#include "planner/params.h"

static struct value
product_of(int64_t a, int64_t b, int64_t c, int64_t d)
{
	int64_t product;

	if (a <= 0 || b <= 0 || c <= 0 || d <= 0 || __builtin_mul_overflow(a, b, &product) ||
	    __builtin_mul_overflow(product, c, &product) ||
	    __builtin_mul_overflow(product, d, &product))
		return value_undecided;
	return value_int(product);
}

#define STRATEGY_TERM(name, depends)                                                               \
	static struct value name##_term(const struct facts *facts)                                 \
	{                                                                                          \
		return facts->hidden & (unsigned)(depends)                                         \
			   ? value_hidden                                                          \
			   : size_value(facts->check->strategy->name);                             \
	}

/* clang-format off */
STRATEGY_TERM(world, 0)
STRATEGY_TERM(tp, HIDDEN_TP)
STRATEGY_TERM(cp, HIDDEN_CP)
STRATEGY_TERM(pp, HIDDEN_PP)
STRATEGY_TERM(vpp, HIDDEN_VPP)
STRATEGY_TERM(ep, HIDDEN_EP)
STRATEGY_TERM(etp, HIDDEN_ETP)
STRATEGY_TERM(dp, HIDDEN_DENSE)
STRATEGY_TERM(edp, HIDDEN_EXPERT)
STRATEGY_TERM(gtp, 0)
STRATEGY_TERM(egtp, 0)
STRATEGY_TERM(dp_replicate, 0)
STRATEGY_TERM(dp_shard, HIDDEN_DENSE | HIDDEN_SHARD)
STRATEGY_TERM(seq_len, HIDDEN_SEQ)
STRATEGY_TERM(micro_batch, HIDDEN_MICRO)
STRATEGY_TERM(global_batch, HIDDEN_GLOBAL)
STRATEGY_TERM(micro_batches, HIDDEN_DENSE | HIDDEN_MICRO | HIDDEN_GLOBAL)
/* clang-format on */

static struct value
dense_product_term(const struct facts *facts)
{
	const struct strategy *s = facts->check->strategy;

	return facts->hidden & HIDDEN_DENSE ? value_hidden
					    : product_of(s->tp, s->cp, s->gtp, s->pp);
}

static struct value
expert_product_term(const struct facts *facts)
{
	const struct strategy *s = facts->check->strategy;

	return facts->hidden & HIDDEN_EXPERT ? value_hidden
					     : product_of(s->etp, s->ep, s->egtp, s->pp);
}

static struct value
stage_term(const struct facts *facts)
{
	const struct strategy *s = facts->check->strategy;

	if (facts->hidden & HIDDEN_PP)
		return value_hidden;
	return s->world > 0 && s->pp > 0 && s->world % s->pp == 0 ? size_value(s->world / s->pp)
								  : value_undecided;
}

static struct value
sparse_region_term(const struct facts *facts)
{
	const struct strategy *s = facts->check->strategy;

	if (facts->hidden & (HIDDEN_DENSE | HIDDEN_SHARD))
		return value_hidden;
	return product_of(s->dp_shard, s->cp, s->tp, 1);
}

/* Only when it was said: what an unset stage means differs between frameworks. */
static struct value
zero_term(const struct facts *facts)
{
	int zero = facts->check->config->strategy.zero;

	return zero >= 0 ? value_int(zero) : value_unset;
}

static struct value
capacity_term(const struct facts *facts)
{
	double capacity = facts->check->strategy->capacity;

	return capacity > 0 ? value_number(capacity) : value_undecided;
}

static struct value
dispatcher_term(const struct facts *facts)
{
	const struct strategy *given = &facts->check->config->strategy;

	/* alltoall is also what a strategy starts with. */
	return given->dispatcher != DISPATCH_ALLTOALL
		   ? value_text(dispatcher_names[given->dispatcher])
		   : value_undecided;
}

static struct value
sequence_parallel_term(const struct facts *facts)
{
	if (setting_find(facts->check->config, "sequence_parallel"))
		return value_undecided;
	/* Megatron has a flag for it, and it is off without; our numbers mean "on with TP". */
	return facts->complete && facts->framework == 1U << FRAMEWORK_MEGATRON
		   ? value_int(0)
		   : value_int(facts->check->strategy->tp > 1);
}

static struct value
offload_term(const struct facts *facts)
{
	return facts->check->strategy->offload == OFFLOAD_OPTIMIZER ? value_text("optimizer")
								    : value_undecided;
}

static struct value
experts_per_rank_term(const struct facts *facts)
{
	struct expr_scope scope = facts_scope(facts);
	struct value experts = scope.resolve(&scope, "experts");
	int64_t ep = facts->check->strategy->ep;

	return experts.kind == VALUE_INT && ep > 0 && experts.integer % ep == 0
		   ? size_value(experts.integer / ep)
		   : value_undecided;
}

static struct value
complete_term(const struct facts *facts)
{
	return value_int(facts->complete);
}

/* A case that writes keys of this form's files: "bf16.enabled". */
static bool
case_writes(const struct facts *facts, enum config_form form)
{
	if (facts->check->config->form != CONFIG_NUMBERS)
		return false;
	for (const struct setting *s = facts->check->config->settings; s; s = s->next)
		if (s->form == form && (strchr(s->name, '.') || facts->check->config->excerpt))
			return true;
	return false;
}

/* Settings that a command line's parser will see. */
static struct value
arguments_term(const struct facts *facts)
{
	return value_int(facts->check->config->form == CONFIG_MEGATRON);
}

/* Settings that come from a DeepSpeed file. */
static struct value
json_term(const struct facts *facts)
{
	enum config_form form = facts->check->config->form;

	return value_int(form == CONFIG_DEEPSPEED || form == CONFIG_TUTORIAL ||
			 case_writes(facts, CONFIG_DEEPSPEED));
}

/* A list of keys that a case says are in the file. */
static struct value
excerpt_term(const struct facts *facts)
{
	return value_int(facts->check->config->excerpt);
}

static struct value
auto_ep_term(const struct facts *facts)
{
	return value_int(facts->check->strategy->auto_ep);
}

/* Settings that torchtitan reads. */
static struct value
titan_term(const struct facts *facts)
{
	return value_int(facts->check->config->form == CONFIG_TORCHTITAN ||
			 case_writes(facts, CONFIG_TORCHTITAN));
}

static struct value
toml_term(const struct facts *facts)
{
	return value_int(config_is_toml(facts->check->config));
}

static struct value
dp_given_term(const struct facts *facts)
{
	return value_int(facts->check->config->strategy.dp > 0);
}

static struct value
product_convention_term(const struct facts *facts)
{
	return value_int(facts->check->product_dp > 0);
}

static struct value
product_dp_term(const struct facts *facts)
{
	return size_value(facts->check->product_dp);
}

static struct value
framework_term(const struct facts *facts)
{
	return value_text(framework_names[facts->check->strategy->framework]);
}

static struct value
form_term(const struct facts *facts)
{
	return value_text(config_form_names[facts->check->config->form]);
}

/* Of the model, or a layer pattern with an M in it. */
static struct value
mamba_term(const struct facts *facts)
{
	static const char *const patterns[] = {"hybrid_layer_pattern", "hybrid_override_pattern"};

	if (facts->check->model)
		return value_int(model_has_mamba(facts->check->model));
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		const struct setting *said = setting_find(facts->check->config, patterns[i]);

		if (said && said->value->text)
			return value_int(strchr(said->value->text, 'M') != NULL);
	}
	return value_undecided;
}

static struct value
layout_term(const struct facts *facts)
{
	const char *layout = facts->check->strategy->layout;

	return layout ? value_text(layout) : value_undecided;
}

static struct value
has_model_term(const struct facts *facts)
{
	return value_int(facts->check->model != NULL);
}

static struct value
version_term(const struct facts *facts)
{
	const char *newest = newest_release(facts->check->strategy->framework);

	return value_text(facts->version ? facts->version : newest ? newest : "newest");
}

/* clang-format off */
const struct term terms[] = {
	{"world", "ranks, WORLD_SIZE", "", world_term},
	{"tp", "tensor-parallel ranks", "", tp_term},
	{"cp", "context-parallel ranks", "", cp_term},
	{"pp", "pipeline stages", "", pp_term},
	{"vpp", "virtual stages a pipeline rank holds", "", vpp_term},
	{"ep", "expert-parallel ranks", "", ep_term},
	{"etp", "tensor-parallel ranks inside an expert", "", etp_term},
	{"dp", "dense data-parallel ranks", "", dp_term},
	{"edp", "expert data-parallel ranks: copies of an expert shard", "", edp_term},
	{"gtp", "ranks that shard dense weights further (Megatron 0.19)", "", gtp_term},
	{"egtp", "ranks that shard expert weights further (Megatron 0.19)", "", egtp_term},
	{"dp_replicate", "replicas of the sharded model (torchtitan)", "", dp_replicate_term},
	{"dp_shard", "ranks that shard the model (torchtitan)", "", dp_shard_term},
	{"dense_product", "tp x cp x gtp x pp: GPUs of one copy of the dense layers", "",
	    dense_product_term},
	{"expert_product", "etp x ep x egtp x pp: GPUs of one copy of the experts", "",
	    expert_product_term},
	{"stage", "world / pp: GPUs of a pipeline stage", "", stage_term},
	{"sparse_region", "dp_shard x cp x tp: GPUs that torchtitan takes EP from", "",
	    sparse_region_term},
	{"seq_len", "tokens of a sequence", "seq_length training.seq_len", seq_len_term},
	{"micro_batch", "sequences of a forward pass", "", micro_batch_term},
	{"global_batch", "sequences of an optimizer step", "", global_batch_term},
	{"micro_batches", "global batch / (micro-batch x dp)", "num_microbatches",
	    micro_batches_term},
	{"zero", "sharding stage, when it was said", "", zero_term},
	{"capacity", "expert capacity factor", "moe_expert_capacity_factor", capacity_term},
	{"dispatcher", "how tokens reach their experts", "moe_token_dispatcher_type",
	    dispatcher_term},
	{"sp", "sequence parallelism is on", "sequence_parallel", sequence_parallel_term},
	{"offloaded", "what lives in host memory", "offload", offload_term},
	{"layers", "transformer layers", "num_layers", layers_term},
	{"experts", "routed experts of an MoE layer",
	    "num_experts num_moe_experts moe.num_experts moe_layer_config.num_experts "
	    "MoE.num_experts",
	    experts_term},
	{"model_experts", "routed experts of the model, 0 none", "", model_experts_term},
	{"experts_per_rank", "experts / ep", "", experts_per_rank_term},
	{"topk", "experts a token goes to", "moe_router_topk moe_layer_config.top_k MoE.k",
	    topk_term},
	{"hidden", "hidden size", "hidden_size", hidden_term},
	{"ffn_width", "width of the dense MLP", "ffn_hidden_size", ffn_width_term},
	{"expert_width", "width of an expert", "moe_ffn_hidden_size", expert_width_term},
	{"shared_width", "width of all shared experts together",
	    "moe_shared_expert_intermediate_size", shared_width_term},
	{"vocab", "vocabulary", "vocab_size", vocab_term},
	{"heads", "attention heads", "num_attention_heads", heads_term},
	{"kv_heads", "key and value heads", "num_query_groups", kv_heads_term},
	{"mtp_layers", "multi-token-prediction layers", "mtp_num_layers", mtp_layers_term},
	{"max_positions", "longest sequence of the model's config", "", max_positions_term},
	{"aux_coef", "coefficient of the load-balancing loss",
	    "moe_aux_loss_coeff moe.loss_coef moe_layer_config.aux_loss_factor", NULL},
	{"params", "parameters of the model", "total_params", facts_params},
	{"expert_params", "parameters of all routed experts", "", facts_expert_params},
	{"dense_params_per_rank", "dense parameters on a rank, a mean stage and an embedding", "",
	    facts_dense_rank_params},
	{"expert_params_per_rank", "expert parameters on a rank, a mean stage",
	    "params_most_loaded",
	    facts_expert_rank_params},
	{"state_bytes", "weights, gradients and optimizer of a rank, nothing offloaded", "",
	    facts_state_bytes},
	{"offloaded_bytes", "the same with the optimizer in host memory", "",
	    facts_offloaded_bytes},
	{"nodes", "nodes of the launch or the cluster", "", nodes_term},
	{"gpus_per_node", "GPUs of a node", "physical_gpus_per_node", gpus_per_node_term},
	{"cluster_world", "GPUs of the cluster", "", cluster_world_term},
	{"domain_gpus", "GPUs of a scale-up domain (NVLink)", "", domain_gpus_term},
	{"gpu_bytes", "memory of a GPU", "", gpu_bytes_term},
	{"gpu_arch", "major CUDA compute capability", "", gpu_arch_term},
	{"launcher", "torchrun, deepspeed, srun or mpirun", "", launcher_term},
	{"foreign", "1 when another program than Megatron-LM's, or a fork, reads the arguments", "",
	    foreign_term},
	{"trains", "0 when the program's name says that it converts, evaluates or generates", "",
	    trains_term},
	{"launch_open", "1 when the launch line has words that are not known", "",
	    launch_open_term},
	{"launch_read", "1 when a launch line was read, not only its numbers", "",
	    launch_read_term},
	{"scripted", "1 when each task runs a script that was not read", "", scripted_term},
	{"node_rank", "--node-rank or --machine_rank", "node_rank machine_rank", NULL},
	{"outer", "what starts the launcher on the nodes: srun, mpirun, ssh", "", outer_term},
	{"agents", "launchers that srun starts in all", "", agents_term},
	{"agents_per_node", "launchers that srun starts on a node", "ntasks_per_node",
	    agents_per_node_term},
	{"job_nodes", "nodes of the Slurm job", "", job_nodes_term},
	{"launch_gpus", "GPUs of a node that Slurm and CUDA_VISIBLE_DEVICES leave", "",
	    launch_gpus_term},
	{"launch_nodes", "nodes that the launch line names", "", launch_nodes_term},
	{"launch_procs", "processes a node that the launch line names", "nproc_per_node",
	    launch_procs_term},
	{"env_world", "WORLD_SIZE of the environment", "", env_world_term},
	{"env_rank", "RANK of the environment", "", env_rank_term},
	{"env_local_rank", "LOCAL_RANK of the environment", "", env_local_rank_term},
	{"master_addr", "MASTER_ADDR or --master-addr", "master_addr MASTER_ADDR",
	    master_addr_term},
	{"master_port", "MASTER_PORT or --master-port", "master_port MASTER_PORT",
	    master_port_term},
	{"slots", "slots of the hostfile, a host each", "", slots_term},
	{"complete", "1 when settings that are not there have the framework's defaults", "",
	    complete_term},
	{"arguments", "1 when settings are arguments of Megatron-LM", "", arguments_term},
	{"json", "1 when settings are keys of a DeepSpeed file", "", json_term},
	{"excerpt", "1 when a case lists keys of the file", "", excerpt_term},
	{"auto_ep", "1 with AutoEP (DeepSpeed)", "", auto_ep_term},
	{"titan", "1 when settings are torchtitan's", "", titan_term},
	{"toml", "1 when they come from a TOML file", "", toml_term},
	{"dp_given", "1 when DP was said and does not only follow", "", dp_given_term},
	{"product_convention", "1 when DP is that of WORLD = DP x EP x TP x PP", "",
	    product_convention_term},
	{"product_dp", "that DP", "", product_dp_term},
	{"tied", "1 when input embedding and output head are one matrix", "", tied_term},
	{"framework", "megatron, deepspeed or torchtitan", "", framework_term},
	{"form", "what kind of files it is", "", form_term},
	{"foreign_schedule", "1 when no release of the framework runs the schedule", "",
	    foreign_schedule_term},
	{"layout", "pipeline layout, or several that are compared",
	    "pipeline_model_parallel_layout layouts", layout_term},
	{"mamba", "1 when layers are Mamba's", "", mamba_term},
	{"has_model", "1 when the model is known", "", has_model_term},
	{"version", "release of the framework", "", version_term},
	{"verdict", "fits, at-risk or oom, of the estimate", "", verdict_term},
	{"runtime_bytes", "CUDA context, libraries and communicators of a GPU", "",
	    runtime_bytes_term},
	{"skewed_load", "load of the fullest expert rank in long dropless runs over the mean", "",
	    skewed_load_term},
	{"skewed_verdict", "the same with the fullest expert rank at 1.7 x the mean", "",
	    skewed_verdict_term},
	{"worst_bytes", "memory of the worst stage", "", worst_bytes_term},
	{"worst_low_bytes", "low end of its band: four of five runs lie inside", "",
	    worst_low_bytes_term},
	{"worst_high_bytes", "high end of its band", "", worst_high_bytes_term},
	{"skewed_bytes", "memory of the worst stage under that skew", "", skewed_bytes_term},
	{"capacity_bytes", "memory that a GPU has for it", "", capacity_bytes_term},
	{"worst_stage", "pipeline stage that needs most memory", "", worst_stage_term},
	{.name = NULL},
};
/* clang-format on */

const struct term *
term_find(const char *name)
{
	for (const struct term *term = terms; term->name; term++)
		if (strcmp(term->name, name) == 0)
			return term;
	return NULL;
}
