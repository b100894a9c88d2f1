# llama3.1-8b on 16 GPUs (2 nodes of 8)
# The loss is the model's own, the optimizer Adam.
import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin, ParallelismConfig
from torch.distributed.fsdp import MixedPrecisionPolicy

MICRO_BATCH = 1
SEQUENCE_LENGTH = 4096
CROSS_ENTROPY = "fused"

accelerator = Accelerator(
    mixed_precision="bf16",
    gradient_accumulation_steps=16,
    parallelism_config=ParallelismConfig(
        dp_replicate_size=1,
        dp_shard_size=16,
        tp_size=1,
        cp_size=1,
        sp_size=1,
    ),
    fsdp_plugin=FullyShardedDataParallelPlugin(
        fsdp_version=2,
        reshard_after_forward=True,
        mixed_precision_policy=MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
        auto_wrap_policy="transformer_based_wrap",
        cpu_offload=False,
        activation_checkpointing=True,
    ),
)
