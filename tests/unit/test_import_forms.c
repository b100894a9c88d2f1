/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of every framework, of the guides and of our own: which settings, which strategy. */
#include <criterion/criterion.h>
#include <string.h>

#include "import_fixture.h"

static struct imported imported;

static void
tear_down(void)
{
	if (imported.arena)
		imported_free(&imported);
}

TestSuite(import_forms, .fini = tear_down, .timeout = 20);

/* --- Megatron-Bridge ------------------------------------------------------------------------- */

/* The stages of a model with Mamba layers are parts of its pattern, MTP layers stand behind it. */
Test(import_forms, layer_patterns_say_the_stages)
{
	imported = import_good("bridge.txt",
	    "model.pipeline_model_parallel_size=2 \\\nmodel.expert_model_parallel_size=2 \\\n"
	    "'model.hybrid_layer_pattern=\"MEM*|EME/M*/M*\"'\n");
	cr_assert_eq(imported.config.form, CONFIG_BRIDGE);
	cr_assert_str_eq(imported.config.strategy.layout, "Et*4|t*3m*2L");
}

Test(import_forms, layer_patterns_without_stages_say_none)
{
	imported = import_good("bridge.txt",
	    "model.pipeline_model_parallel_size=2 \\\nmodel.expert_model_parallel_size=2 \\\n"
	    "model.hybrid_layer_pattern=MEMEM\n");
	cr_assert_null(imported.config.strategy.layout);
}

/* --- DeepSpeed ------------------------------------------------------------------------------ */

static const char ds_with_comments[] =
    "{\n  \"train_batch_size\": 1024, // sequences\n  \"fp16\": {\"enabled\": true},\n"
    "  \"zero_optimization\": {\"stage\": 1},\n  \"pipeline\": {\"stages\": \"auto\"},\n"
    "  \"moe\": {\"enabled\": true, \"ep_size\": 8, \"num_experts\": 64, \"loss_coef\": 0.1},\n}\n";

Test(import_forms, deepspeed_file_of_the_guides)
{
	imported = import_good("ds_config.json", ds_with_comments);
	cr_assert_eq(imported.config.form, CONFIG_DEEPSPEED);
	cr_assert_eq(imported.config.strategy.framework, FRAMEWORK_DEEPSPEED);
	import_expect(&imported, "moe", "{}");
	import_expect(&imported, "moe.ep_size", "8");
	import_expect(&imported, "moe.loss_coef", "0.1");
	import_expect(&imported, "pipeline.stages", "auto");
	import_expect_sizes(&imported, "ep pp global_batch", "ep=8 pp=0 global_batch=1024");
	cr_assert_eq(imported.config.strategy.zero, 1);
	cr_assert_eq(imported.config.strategy.precision, PRECISION_FP16);
	cr_assert(import_has_message(&imported, SEVERITY_NOTE, "a comment is read over"));
}

Test(import_forms, deepspeed_keys_that_nobody_knows_are_kept)
{
	imported = import_good("x", "{\"train_batch_size\": 8, \"my_block\": {\"a\": [1, 2]}, "
				    "\"bf16\": {\"enabled\": true, \"odd\": 3}}");
	import_expect(&imported, "my_block.a", "[1 2]");
	import_expect(&imported, "bf16.odd", "3");
	cr_assert_eq(setting_find(&imported.config, "my_block.a")->value->loc.line, 1);
}

Test(import_forms, deepspeed_auto_expert_parallelism)
{
	imported = import_good("x",
	    "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 4, "
	    "\"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 2, "
	    "\"offload_optimizer\": {\"device\": \"cpu\"}}, "
	    "\"tensor_parallel\": {\"autotp_size\": 2}, "
	    "\"expert_parallel\": {\"enabled\": true, \"autoep_size\": 4, "
	    "\"preset_model\": \"mixtral\"}}");
	import_expect_sizes(&imported, "tp ep micro_batch", "tp=2 ep=4 micro_batch=2");
	cr_assert(imported.config.strategy.auto_ep);
	cr_assert_eq(imported.config.strategy.offload, OFFLOAD_OPTIMIZER);
	cr_assert_eq(imported.config.strategy.zero, 2);
}

Test(import_forms, deepspeed_batch_follows_from_the_world)
{
	imported = imported_new();
	import_add(&imported, "ds.json",
	    "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 4}");
	import_expect_sizes(&imported, "global_batch", "global_batch=0");
	import_add(&imported, "hosts", "a slots=8\nb slots=8\n");
	cr_assert_eq(imported.result, 0);
	import_expect_sizes(&imported, "world_size global_batch", "world_size=16 global_batch=128");
}

Test(import_forms, deepspeed_values_left_to_another_program)
{
	imported = imported_new();
	import_add(&imported, "ds.json",
	    "{\"train_batch_size\": \"auto\", \"train_micro_batch_size_per_gpu\": \"auto\", "
	    "\"gradient_accumulation_steps\": \"auto\", \"zero_optimization\": {\"stage\": 3}}");
	cr_assert_eq(imported.result, 0);
	import_expect_sizes(&imported, "global_batch micro_batch", "global_batch=0 micro_batch=0");
	import_add(&imported, "run.sh",
	    "deepspeed --num_gpus 8 train.py --deepspeed ds.json --per_device_train_batch_size 4 "
	    "--gradient_accumulation_steps 2\n");
	cr_assert_eq(imported.result, 0);
	import_expect(&imported, "gradient_accumulation_steps", "2");
	import_expect_sizes(&imported, 
	    "micro_batch global_batch world_size", "micro_batch=4 global_batch=64 world_size=8");
}

Test(import_forms, deepspeed_native_layers_in_python)
{
	imported = imported_new();
	import_add(
	    &imported, "ds.json", "{\"train_batch_size\": 64, \"bf16\": {\"enabled\": true}}");
	import_add(&imported, "model.py",
	    "import deepspeed\nEXPERTS = 64\nclass Layer:\n"
	    "    # MoE(ep_size=1) in a comment\n"
	    "    moe = deepspeed.moe.layer.MoE(hidden_size=4096, expert=Expert(4096, 1),\n"
	    "        num_experts=EXPERTS, ep_size=8, k=2,\n"
	    "        capacity_factor=1.25, enable_expert_tensor_parallelism=True)\n"
	    "net = PipelineModule(layers=ls, topology=PipeModelDataParallelTopology(\n"
	    "    num_pp=4, num_mp=2, num_dp=2))\n");
	cr_assert_eq(imported.result, 0);
	import_expect(&imported, "MoE.num_experts", "64");
	import_expect_sizes(&imported, "ep pp tp", "ep=8 pp=4 tp=2");
	cr_assert_eq(imported.config.strategy.expert_tp, 1);
	cr_assert_float_eq(imported.config.strategy.capacity, 1.25, 1e-12);
	cr_assert_not_null(import_unknown_of(&imported, "MoE.expert"));
}

/* deepspeed/moe/layer.py: capacity_factor=1., drop_tokens=True */
/* What 'moeplan emit' writes for stages that are not even, and what it does not for even ones. */
Test(import_forms, layers_of_stages)
{
#define CLIENT(layers)                                                                             \
	"import deepspeed\nfrom deepspeed.pipe import PipelineModule\n"                            \
	"LAYERS_OF_STAGES = [" layers "]\ndef pipeline(layers):\n"                                 \
	"    return PipelineModule(layers=layers, num_stages=4)\n"
	imported = import_good("client.py", CLIENT("10, 13, 13, 12"));
	cr_assert_str_eq(imported.config.strategy.layout, "Et*10|t*13|t*13|t*12ML");
	imported_free(&imported);
	imported = import_good("client.py", CLIENT("12, 12, 12, 12"));
	cr_assert_null(imported.config.strategy.layout);
	imported_free(&imported);
	imported = imported_new();
	import_add(&imported, "client.py", CLIENT("24, 24"));
	cr_assert(import_has_message(&imported, SEVERITY_ERROR, "as many numbers as"));
#undef CLIENT
}

Test(import_forms, deepspeed_native_layers_drop_by_default)
{
	imported = import_good("m.py", "from x import y\nlayer = MoE(1024, expert, 8, 4)\n");
	import_expect_sizes(&imported, "ep", "ep=4");
	import_expect(&imported, "MoE.num_experts", "8");
	cr_assert_float_eq(imported.config.strategy.capacity, 1, 1e-12);
}

/* --- Accelerate ----------------------------------------------------------------------------- */

Test(import_forms, accelerate_file_of_fsdp)
{
	imported = import_good("a.yaml",
	    "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_machines: 2\n"
	    "num_processes: 16\nmixed_precision: bf16\nfsdp_config:\n  fsdp_version: 2\n"
	    "  fsdp_reshard_after_forward: false\n  fsdp_activation_checkpointing: true\n"
	    "parallelism_config:\n  parallelism_config_dp_shard_size: 8\n"
	    "  parallelism_config_tp_size: 2\ndeepspeed_config: {zero_stage: 1}\n");
	cr_assert_eq(imported.config.form, CONFIG_ACCELERATE);
	cr_assert_str_eq(imported.config.launch.launcher, "accelerate");
	import_expect(&imported, "num_processes", "16");
	import_expect_sizes(&imported, "tp dp", "tp=2 dp=8");
	cr_assert_eq(imported.config.strategy.zero, 2);
	cr_assert_eq(imported.config.strategy.recompute.kind, RECOMPUTE_FULL);
}

/* config_args.py: the block of the distributed type counts */
Test(import_forms, accelerate_file_of_deepspeed)
{
	imported = import_good("a.yaml",
	    "distributed_type: DEEPSPEED\nnum_processes: 8\nmixed_precision: fp16\n"
	    "deepspeed_config:\n  zero_stage: 3\n  gradient_accumulation_steps: 4\n"
	    "  offload_optimizer_device: none\n");
	cr_assert_eq(imported.config.form, CONFIG_DEEPSPEED);
	cr_assert_eq(imported.config.strategy.zero, 3);
	cr_assert_eq(imported.config.strategy.precision, PRECISION_FP16);
	cr_assert_null(
	    setting_find(&imported.config, "zero_optimization.offload_optimizer.device"));
}

Test(import_forms, accelerate_file_of_megatron)
{
	imported = import_good("a.yaml",
	    "distributed_type: MEGATRON_LM\nnum_processes: 8\nmixed_precision: bf16\n"
	    "megatron_lm_config:\n  megatron_lm_tp_degree: 2\n  megatron_lm_pp_degree: 4\n"
	    "  megatron_lm_sequence_parallelism: true\n");
	cr_assert_eq(imported.config.form, CONFIG_MEGATRON);
	import_expect_sizes(&imported, "tp pp", "tp=2 pp=4");
	import_expect(&imported, "bf16", "true");
}

/* --- the guides ----------------------------------------------------------------------------- */

static const char guide_model[] =
    "{\"model_type\": \"gpt\", \"hidden_size\": 4096, \"num_layers\": 32, \"moe_layer_config\": "
    "{\"num_experts\": 64, \"top_k\": 2, \"moe_every_k_layers\": 2, \"aux_loss_factor\": 0.01}}";
static const char guide_config[] =
    "{\"train_batch_size\": 2048, \"fp16\": {\"enabled\": true}, "
    "\"zero_optimization\": {\"stage\": 1}, \"moe\": {\"enabled\": true, \"ep_size\": 8, "
    "\"num_experts\": 64, \"loss_coef\": 0.01}, \"data_parallel_size\": 2, "
    "\"expert_parallel_size\": 8, \"tensor_parallel_size\": 1, \"pipeline_parallel_size\": 1, "
    "\"distributed_backend\": \"nccl\", \"comm_optimization\": {\"all_to_all_overlap\": true}}";

/* A model file without a type, whose experts stand in a block "moe", is no DeepSpeed file. */
Test(import_forms, model_file_with_a_moe_block)
{
	imported = import_good("m.json", "{\"hidden_size\": 2048, \"num_layers\": 24, "
					 "\"moe\": {\"num_experts\": 16, \"ep_size\": 8}}");
	cr_assert_eq(imported.config.form, CONFIG_TUTORIAL);
	import_expect(&imported, "moe.num_experts", "16");
	import_expect_sizes(&imported, "ep", "ep=8");
}

/* megatron/training/yaml_arguments.py: fields of the configuration classes */
Test(import_forms, fields_of_yaml_cfg)
{
	imported = import_good("a.yaml",
	    "language_model:\n  num_layers: 24\n  num_moe_experts: 8\n  add_bias_linear: False\n"
	    "  activation_func: swiglu\nmodel_parallel:\n  tensor_model_parallel_size: 2\n"
	    "  virtual_pipeline_model_parallel_size: null\n");
	import_expect(&imported, "num_experts", "8");
	import_expect(&imported, "disable_bias_linear", "true");
	import_expect(&imported, "swiglu", "true");
	import_expect_sizes(&imported, "tp", "tp=2");
	cr_assert_null(setting_find(&imported.config, "num_moe_experts"));
	cr_assert_null(setting_find(&imported.config, "squared_relu"));
}

/* WORLD_SIZE = DP x EP x TP x PP = 2 x 8 x 1 x 1 = 16 */
Test(import_forms, two_files_of_the_guides)
{
	imported = imported_new();
	import_add(&imported, "model_config.json", guide_model);
	import_add(&imported, "ds_config.json", guide_config);
	cr_assert_eq(imported.result, 0);
	cr_assert_eq(imported.config.form, CONFIG_TUTORIAL);
	cr_assert_eq(imported.config.strategy.framework, FRAMEWORK_DEEPSPEED);
	import_expect_sizes(&imported, 
	    "world_size ep tp pp global_batch", "world_size=16 ep=8 tp=1 pp=1 global_batch=2048");
	cr_assert_eq(imported.config.product_dp, 2);
	import_expect(&imported, "moe_layer_config.moe_every_k_layers", "2");
	import_expect(&imported, "comm_optimization.all_to_all_overlap", "true");
	cr_assert(import_has_message(&imported, SEVERITY_NOTE, "2 x EP 8 x TP 1 x PP 1 = 16 GPUs"));
}

Test(import_forms, files_of_the_guides_that_disagree)
{
	imported = imported_new();
	import_add(&imported, "ds_config.json", guide_config);
	import_add(&imported, "model_config.json",
	    "{\"model_type\": \"gpt\", \"num_layers\": 32, \"moe_layer_config\": {\"num_experts\": "
	    "32}}");
	cr_assert_eq(imported.result, -1);
	cr_assert(import_has_message(&imported, SEVERITY_ERROR,
	    "'moe_layer_config.num_experts' is 32 here, but 'moe.num_experts' is 64 in "
	    "ds_config.json:1"));
}

Test(import_forms, sizes_inside_one_file_that_disagree)
{
	imported = imported_new();
	import_add(&imported, "ds_config.json",
	    "{\"train_batch_size\": 8, \"expert_parallel_size\": 8, \"moe\": {\"ep_size\": 4}}");
	cr_assert_eq(imported.result, -1);
	cr_assert(import_has_message(&imported, SEVERITY_ERROR, "'expert_parallel_size' is 8"));
}

/* 64 GPUs: EP 8 x TP 4 x DP 2, where ETP is TP by Megatron's default. */
Test(import_forms, yaml_of_the_guides)
{
	imported = import_good("m.yaml",
	    "model:\n  num_experts: 8\n  moe_expert_parallel_size: 8\n"
	    "  tensor_model_parallel_size: 4\n  data_parallel_size: 2\n  moe_token_dropping: True\n"
	    "  moe_token_drop_policy: \"probs\"\n  moe_token_drop_coef: 0.1\n");
	cr_assert_eq(imported.config.strategy.framework, FRAMEWORK_MEGATRON);
	import_expect_sizes(&imported, "world_size tp ep etp", "world_size=64 tp=4 ep=8 etp=4");
	strategy_derive(&imported.config.strategy, NULL, 0);
	import_expect_sizes(&imported, "dp edp", "dp=16 edp=2");
	import_expect(&imported, "moe_token_dropping", "true");
	import_expect(&imported, "moe_token_drop_policy", "probs");
}

Test(import_forms, yaml_of_the_guides_without_dp)
{
	imported = import_good("m.yaml", "model:\n  num_experts: 8\n  moe_expert_parallel_size: 2\n"
					 "  tensor_model_parallel_size: 4\n");
	import_expect_sizes(&imported, "world_size tp ep etp", "world_size=0 tp=4 ep=2 etp=4");
	strategy_derive(&imported.config.strategy, NULL, 64);
	import_expect_sizes(&imported, "dp edp", "dp=16 edp=8");
}

/* --- Megatron ------------------------------------------------------------------------------- */

Test(import_forms, megatron_yaml)
{
	imported = import_good("gpt_config.yaml",
	    "language_model:\n  num_layers: 24\n  hidden_size: 1024\n  init_method: null\n"
	    "model_parallel:\n  tensor_model_parallel_size: 2\n  sequence_parallel: True\n"
	    "  bf16: yes\nmicro_batch_size: 2\nglobal_batch_size: 16\nseq_length: ${SEQ}\n");
	cr_assert_eq(imported.config.form, CONFIG_MEGATRON);
	import_expect_sizes(
	    &imported, "tp micro_batch global_batch", "tp=2 micro_batch=2 global_batch=16");
	import_expect(&imported, "sequence_parallel", "true");
	import_expect(&imported, "bf16", "true");
	cr_assert_str_eq(import_unknown_of(&imported, "seq_length"), "${SEQ}");
	cr_assert(import_has_unresolved(&imported, "${SEQ}"));
	cr_assert_eq(setting_find(&imported.config, "init_method")->form, CONFIG_NUMBERS);
}

Test(import_forms, megatron_arguments_in_a_map)
{
	imported = import_good("model.yaml",
	    "ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\nMODEL_ARGS:\n"
	    "  --num-layers: 61\n  --tensor-model-parallel-size: ${TP}\n  --bf16: true\n"
	    "  --log-params-norm: false\n  --moe-layer-freq: ([0]*3+[1]*58)\n");
	import_expect(&imported, "num_layers", "61");
	import_expect(&imported, "CUDA_DEVICE_MAX_CONNECTIONS", "1");
	import_expect(&imported, "moe_layer_freq", "([0]*3+[1]*58)");
	cr_assert_null(setting_find(&imported.config, "log_params_norm"));
	cr_assert_str_eq(import_unknown_of(&imported, "tensor_model_parallel_size"), "${TP}");
}

Test(import_forms, bridge_yaml)
{
	imported = import_good("conf.yaml",
	    "model:\n  tensor_model_parallel_size: 2\n  virtual_pipeline_model_parallel_size: 4\n"
	    "train:\n  global_batch_size: 512\nddp:\n  use_distributed_optimizer: true\n"
	    "dataset:\n  seq_length: 4096\n");
	cr_assert_eq(imported.config.form, CONFIG_BRIDGE);
	import_expect_sizes(
	    &imported, "tp vpp global_batch seq_len", "tp=2 vpp=4 global_batch=512 seq_len=4096");
	cr_assert_eq(imported.config.strategy.zero, 1);
}

/* --- torchtitan ----------------------------------------------------------------------------- */

Test(import_forms, torchtitan_toml)
{
	imported = import_good("train.toml",
	    "[job]\ndump_folder = \"./outputs\"\n[model]\nname = \"deepseek_v3\"\nflavor = "
	    "\"16B\"\n[training]\nlocal_batch_size = 4\n"
	    "seq_len = 4096\n[parallelism]\ndata_parallel_replicate_degree = 1\n"
	    "data_parallel_shard_degree = -1\ntensor_parallel_degree = 2\n"
	    "expert_parallel_degree = 8\nexpert_tensor_parallel_degree = 1\n"
	    "[activation_checkpoint]\nmode = \"full\"\n");
	cr_assert_eq(imported.config.form, CONFIG_TORCHTITAN);
	cr_assert_str_eq(imported.config.version, "0.2.2");
	import_expect_sizes(&imported, "tp ep etp dp_shard micro_batch seq_len",
	    "tp=2 ep=8 etp=1 dp_shard=-1 micro_batch=4 seq_len=4096");
	cr_assert_eq(imported.config.strategy.recompute.kind, RECOMPUTE_FULL);
	cr_assert_not(imported.config.strategy.cuda_graphs);
	cr_assert_eq(
	    setting_find(&imported.config, "parallelism.expert_parallel_degree")->value->loc.line,
	    13);
	cr_assert_not_null(imported.config.model);
	cr_assert_eq(imported.config.model->layers, 27);
}

Test(import_forms, torchtitan_overrides_replace_the_file)
{
	imported = imported_new();
	import_add(&imported, "t.toml",
	    "[training]\nseq_len = 4096\nenable_cpu_offload = true\n[parallelism]\n"
	    "tensor_parallel_degree = 2\n");
	import_add_arguments(&imported,
	    "--training.seq_len 8192 --parallelism.tensor-parallel-degree=4 "
	    "--training.no-enable-cpu-offload");
	cr_assert_eq(imported.result, 0);
	import_expect_sizes(&imported, "seq_len tp", "seq_len=8192 tp=4");
	import_expect(&imported, "training.enable_cpu_offload", "false");
	cr_assert_eq(imported.config.strategy.offload, OFFLOAD_NONE);
}

Test(import_forms, torchtitan_recipe)
{
	imported = import_good("recipe.py",
	    "import dataclasses\nfrom torchtitan.models.qwen3 import model_registry\n"
	    "def planned():\n"
	    "    config.model_spec = model_registry(\"30B-A3B\", moe_comm_backend=\"deepep\")\n"
	    "    config.loss = ChunkedLossWrapper.Config(loss_fn=x)\n"
	    "    config.parallelism = ParallelismConfig(data_parallel_shard_degree=64,\n"
	    "        pipeline_parallel_degree=2, expert_parallel_degree=8)\n"
	    "    config.training = dataclasses.replace(config.training, local_batch_size=2,\n"
	    "        seq_len=4096, disable_cuda_graphs=True)\n"
	    "    config.activation_checkpoint = FullAC.Config()\n");
	cr_assert_eq(imported.config.form, CONFIG_TORCHTITAN);
	cr_assert_null(imported.config.version);
	import_expect_sizes(
	    &imported, "pp ep dp_shard seq_len", "pp=2 ep=8 dp_shard=64 seq_len=4096");
	cr_assert_eq(imported.config.strategy.dispatcher, DISPATCH_DEEPEP);
	cr_assert_eq(imported.config.strategy.loss, LOSS_FUSED);
	cr_assert_eq(imported.config.strategy.recompute.kind, RECOMPUTE_FULL);
	cr_assert_eq(imported.config.model->layers, 48);
}

/* --- Tutel ---------------------------------------------------------------------------------- */

Test(import_forms, tutel_fragment_of_the_guides)
{
	imported = import_good("layer.py",
	    "moe = tutel_moe.moe_layer(\n    gate_type={'type': 'top', 'k': 2},\n"
	    "    experts={'type': 'ffn', 'count_per_gpu': 8, 'activation_fn': lambda x, y: f(x)},\n"
	    "    model_dim=4096,\n"
	    "    scan_expert_func=lambda name, param: setattr(param, 'skip_allreduce', True))\n");
	cr_assert_eq(imported.config.form, CONFIG_TUTEL);
	import_expect(&imported, "count_per_gpu", "8");
	import_expect(&imported, "gate_k", "2");
	import_expect(&imported, "gate_type", "top");
	import_expect(&imported, "model_dim", "4096");
	cr_assert_str_eq(import_unknown_of(&imported, "scan_expert_func"),
	    "lambda name, param: setattr(param, 'skip_allreduce', True)");
	cr_assert_str_eq(import_unknown_of(&imported, "activation_fn"), "lambda x, y: f(x)");
}

/* --- our own -------------------------------------------------------------------------------- */

Test(import_forms, estimate_of_ours)
{
	imported = import_good("e.json",
	    "{\"schema\": \"moeplan/estimate/v1\", \"strategy\": {\"framework\": \"megatron\", "
	    "\"world_size\": 16, \"tp\": 2, \"cp\": 1, \"pp\": 2, \"vpp\": 1, \"ep\": 4, \"etp\": "
	    "1, "
	    "\"dp\": 4, \"edp\": 2, \"micro_batch\": 1, \"global_batch\": 64, \"micro_batches\": "
	    "16, "
	    "\"zero\": 1, \"dispatcher\": \"alltoall\", \"capacity\": \"dropless\", "
	    "\"recompute\": \"selective:moe_act\", \"cuda_graphs\": \"off\"}, \"layout\": "
	    "\"Et*4|t*4L\"}");
	cr_assert_eq(imported.config.form, CONFIG_PLAN);
	import_expect_sizes(&imported, "world_size tp pp ep etp global_batch",
	    "world_size=16 tp=2 pp=2 ep=4 etp=1 global_batch=64");
	cr_assert_str_eq(imported.config.strategy.layout, "Et*4|t*4L");
	cr_assert_eq(imported.config.strategy.recompute.modules, (unsigned)MODULE_MOE_ACT);
}

Test(import_forms, plan_of_ours_holds_its_best)
{
	imported = import_good("p.json",
	    "{\"schema\": \"moeplan/plan/v1\", \"best\": {\"strategy\": {\"framework\": "
	    "\"torchtitan\", \"world_size\": 8, \"tp\": 1, \"ep\": 8, \"dp_shard\": 8}}}");
	cr_assert_eq(imported.config.strategy.framework, FRAMEWORK_TORCHTITAN);
	import_expect_sizes(&imported, "world_size ep dp_shard", "world_size=8 ep=8 dp_shard=8");
}

Test(import_forms, plan_without_a_best)
{
	imported = imported_new();
	import_add(&imported, "p.json", "{\"schema\": \"moeplan/plan/v1\", \"best\": null}");
	cr_assert_eq(imported.result, -1);
	cr_assert(import_has_message(&imported, SEVERITY_ERROR, "found no strategy that fits"));
}

Test(import_forms, combined_file_of_ours)
{
	imported = import_good("run.yaml",
	    "schema: moeplan/run/v1\nmodel: mixtral-8x7b\njob:\n  seq_len: 4096\n"
	    "  global_batch: 256\n  load_skew: {max: 1.3}\nstrategy:\n  tp: 2\n  ep: 8\n");
	import_expect_sizes(
	    &imported, "tp ep seq_len global_batch", "tp=2 ep=8 seq_len=4096 global_batch=256");
	cr_assert_eq(imported.config.model->layers, 32);
}

Test(import_forms, model_of_hugging_face)
{
	imported = import_good("config.json",
	    "{\"architectures\": [\"MixtralForCausalLM\"], \"model_type\": \"mixtral\", "
	    "\"hidden_size\": 4096, \"num_hidden_layers\": 32, \"num_attention_heads\": 32, "
	    "\"num_key_value_heads\": 8, \"intermediate_size\": 14336, \"vocab_size\": 32000, "
	    "\"num_local_experts\": 8, \"num_experts_per_tok\": 2, \"tie_word_embeddings\": "
	    "false}");
	cr_assert_eq(imported.config.form, CONFIG_NUMBERS);
	cr_assert_eq(imported.config.model->layers, 32);
}

/* --- neither -------------------------------------------------------------------------------- */

Test(import_forms, nothing_that_is_known)
{
	static const char *const texts[] = {"{\"name\": \"x\"}", "a: 1\nb: 2\n",
	    "[project]\nname = \"x\"\n", "echo hello\n", "just some words\n", "[1, 2]",
	    "- a\n- b\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		imported = imported_new();
		import_add(&imported, "x", texts[i]);
		cr_assert_eq(imported.result, -1, "taken: %s", texts[i]);
		cr_assert_gt(imported.diags->errors, 0);
		imported_free(&imported);
	}
	imported.arena = NULL;
}
