from accelerate import Accelerator, FullyShardedDataParallelPlugin, ParallelismConfig

accelerator = Accelerator(
    mixed_precision="bf16",
    parallelism_config=ParallelismConfig(dp_shard_size=1, tp_size=8),
    fsdp_plugin=FullyShardedDataParallelPlugin(fsdp_version=2, reshard_after_forward=True),
)
