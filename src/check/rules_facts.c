/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is worth knowing and cannot be decided from a configuration? Formulas, defaults, habits. */
#include "check/rules.h"

#define MEGATRON "NVIDIA/Megatron-LM core_v0.19.0 megatron/"
#define DEEPSPEED "deepspeedai/DeepSpeed v0.19.5 deepspeed/"
#define TITAN "pytorch/torchtitan release/0.3 torchtitan/"

/* clang-format off */
const struct rule_fact rule_facts[] = {
	{"MEG-002", "Megatron-LM", "the world is divided by TP x PP x CP once more when groups are "
	    "made: a RuntimeError instead of an assertion", MEGATRON "core/parallel_state.py"},
	{"MEG-084", "Megatron-LM", "expert capacity is ceil(tokens x top-k / experts x factor) "
	    "with the rank's own tokens and no minimum",
	    MEGATRON "core/transformer/moe/moe_utils.py"},
	{"MEG-101", "Megatron-LM", "--moe-permute-fusion needs TransformerEngine 2.1 or newer",
	    MEGATRON "core/transformer/transformer_config.py"},
	{"DS-004", "DeepSpeed",
	    "a key twice in the file is an error; the reader of this program says so too",
	    DEEPSPEED "runtime/config_utils.py"},
	{"DS-006", "DeepSpeed", "the file is Hjson: comments and trailing commas are allowed",
	    DEEPSPEED "runtime/config.py"},
	{"DS-011", "DeepSpeed", "the third of batch, micro-batch and accumulation follows from two "
	    "by floor division; what is lost shows as a product that does not come out (DS-010)",
	    DEEPSPEED "runtime/config.py"},
	{"DS-012", "DeepSpeed", "train_batch_size alone: accumulation is 1 and the micro-batch is "
	    "train_batch_size // world; micro-batch alone: accumulation is 1",
	    DEEPSPEED "runtime/config.py"},
	{"DS-014", "DeepSpeed", "the world of the batch rule is the mpu's data-parallel size, else "
	    "world / sequence-parallel size, else the world", DEEPSPEED "runtime/config.py"},
	{"DS-033", "DeepSpeed", "MoE layers may have different ep_size; groups are named ep_size_N",
	    DEEPSPEED "moe/layer.py"},
	{"DS-035", "DeepSpeed", "optimizer groups must mark MoE parameters with the key moe",
	    DEEPSPEED "runtime/zero/stage_1_and_2.py"},
	{"DS-039", "DeepSpeed", "a PipelineModule brings its own mpu: none may be passed",
	    DEEPSPEED "__init__.py"},
	{"DS-041", "DeepSpeed", "expert capacity is max(4, ceil(tokens / experts x factor)); the "
	    "factor is 1.0 and tokens over it are dropped, unless drop_tokens is False",
	    DEEPSPEED "moe/sharded_moe.py"},
	{"DS-042", "DeepSpeed", "expert gradients are reduced over expert data-parallel ranks and "
	    "averaged by the dense size", DEEPSPEED "runtime/engine.py"},
	{"DS-043", "DeepSpeed",
	    "deepspeed.utils.groups.initialize(ep_size) is deprecated: pass ep_size to MoE",
	    DEEPSPEED "utils/groups.py"},
	{"DS-056", "DeepSpeed", "AutoEP goes with AutoTP, though the page of config-json says that "
	    "it does not", DEEPSPEED "runtime/engine.py"},
	{"DS-057", "DeepSpeed", "an mpu with tensor parallelism does not go with AutoEP",
	    DEEPSPEED "runtime/engine.py"},
	{"DS-062", "DeepSpeed",
	    "AutoEP that recognises no MoE layer replaces nothing and says nothing",
	    DEEPSPEED "runtime/engine.py"},
	{"DS-064", "DeepSpeed", "keys of tensor_parallel: autotp_size (0 off), dtype, "
	    "tp_overlap_comm, tp {tp_size}, partition_config, preset_model; others are refused "
	    "(DS-002)", DEEPSPEED "runtime/tensor_parallel/config.py"},
	{"TT-003", "torchtitan", "dp_shard -1 is the world // (dp_replicate x CP x TP x PP)",
	    TITAN "distributed/parallel_dims.py"},
	{"TT-006", "torchtitan", "EP never crosses dp_replicate or PP",
	    TITAN "distributed/parallel_dims.py"},
	{"TT-018", "torchtitan", "minimal_async_ep needs full recomputation",
	    TITAN "distributed/minimal_async_ep/api.py"},
	{"TT-022", "torchtitan",
	    "experts must divide over expert groups of at least two, with num_limited_groups set",
	    TITAN "models/common/moe.py"},
	{"TT-023", "torchtitan",
	    "balancing is by a bias (load_balance_coeff, 1e-3), there is no auxiliary loss setting",
	    TITAN "models/common/moe.py"},
	{"TUT-006", "Tutel", "capacity_factor > 0: capacity k x int(f x samples of an expert); 0 "
	    "dropless; < 0 dropless up to that factor",
	    "microsoft/tutel 82af7aad9fc3 tutel/impls/fast_dispatch.py"},
	{"TUT-008", "Tutel", "a2a_ffn_overlap_degree, of the layer or of a call: parts that "
	    "communication and experts are cut into, 1 for no overlap",
	    "microsoft/tutel 82af7aad9fc3 tutel/impls/moe_layer.py"},
	{"TUT-010", "Tutel",
	    "TUTEL_ALLTOALL_ALGO=2D is read by no Python code: use the argument use_2dh",
	    "microsoft/tutel 82af7aad9fc3"},
	{"TUT-011", "Tutel", "FSDP, TP and PP are unknown: the EP group is the argument `group`",
	    "microsoft/tutel 82af7aad9fc3 tutel/impls/moe_layer.py"},
	{"FS-001", "FairScale",
	    "experts of a rank are the modules in the list; all together W x that",
	    "facebookresearch/fairscale 146f16024165 fairscale/nn/moe/moe_layer.py"},
	{"FS-002", "FairScale",
	    "the first dimension of the input must divide over the local experts",
	    "facebookresearch/fairscale 146f16024165 fairscale/nn/moe/moe_layer.py"},
	{"PT-001", "PyTorch", "the product of a DeviceMesh's shape is at most the world",
	    "pytorch/pytorch torch/distributed/device_mesh.py"},
	{"PT-002", "PyTorch",
	    "a DeviceMesh is row-major: the last dimension has neighbouring ranks",
	    "pytorch/pytorch torch/distributed/_mesh_layout.py"},
	{"PT-003", "PyTorch", "a DeviceMesh has no rank twice, and names of dimensions once; "
	    "slices keep their order", "pytorch/pytorch torch/distributed/device_mesh.py"},
	{"ACC-005", "Accelerate",
	    "mesh order is dp_replicate, dp_shard, cp, sp, tp; there is no EP",
	    "huggingface/accelerate 16cb6eb80dd9"},
	{"ACC-006", "Accelerate", "accelerate launch --parallelism-config-*-size sets "
	    "PARALLELISM_CONFIG_*_SIZE, which ParallelismConfig takes where it is given none",
	    "huggingface/accelerate 16cb6eb80dd9 src/accelerate/commands/launch.py"},
	{"HF-001", "Transformers",
	    "enable_expert_parallel takes the EP degree from the tensor mesh",
	    "huggingface/transformers distributed/configuration_utils.py"},
	{"MT-003", "MaxText", "the axis expert shards the batch of dense layers too: dense DP is "
	    "data x fsdp x expert", "AI-Hypercomputer/maxtext e591f30cbbf2"},
	{"MB-001", "Megatron-Bridge", "the identities are Megatron-LM's: TP x CP x PP divides the "
	    "world, micro-batch x DP the batch (MEG-001, MEG-011)",
	    "NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/training/config.py"},
	{"MB-002", "Megatron-Bridge", "the batch of an evaluation is a multiple of its "
	    "micro-batch x DP as that of training is (MEG-010)",
	    "NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/training/config.py"},
	{"MB-004", "Megatron-Bridge", "virtual stages are set as such, "
	    "model.virtual_pipeline_model_parallel_size, and not by layers of one",
	    "NVIDIA-NeMo/Megatron-Bridge scripts/training/run_recipe.py"},
	{"LAU-001", "launchers", "torchrun sets RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, "
	    "GROUP_RANK, MASTER_ADDR, MASTER_PORT", "pytorch/pytorch torch/distributed/elastic"},
	{"LAU-005", "launchers",
	    "c10d rendezvous promises no order of nodes: give --node-rank for placement",
	    "recalled, not verified"},
	{"LAU-006", "launchers", "a hostfile of deepspeed has lines 'host slots=N' and comments "
	    "with #; a host twice or a line of another form is an error, no file means the GPUs at "
	    "hand",
	    DEEPSPEED "launcher/runner.py"},
	{"LAU-007", "launchers",
	    "deepspeed numbers ranks host by host in the order of the hostfile",
	    DEEPSPEED "launcher/launch.py"},
	{"LAU-009", "launchers",
	    "deepspeed passes --local_rank=N to the script unless --no_local_rank",
	    DEEPSPEED "launcher/launch.py"},
	{"LAU-013", "launchers",
	    "Open MPI sets OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK and no MASTER_ADDR",
	    "docs.open-mpi.org v5.0"},
	{"LAU-014", "launchers", "deepspeed's MPI discovery sets RANK, WORLD_SIZE, LOCAL_RANK, "
	    "MASTER_ADDR and port 29500", DEEPSPEED "comm/comm.py"},
	{"LAU-015", "launchers", "--num_processes of accelerate launch is the total over all "
	    "machines; the sizes of ParallelismConfig must make it (ACC-001)",
	    "huggingface/accelerate 16cb6eb80dd9 src/accelerate/commands/launch.py"},
	{.id = NULL},
};
/* clang-format on */
