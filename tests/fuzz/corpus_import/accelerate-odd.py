from accelerate import Accelerator
E = -8
X = ("a", [1.5, {'k': None}],)
a = Accelerator(mixed_precision='no', parallelism_config=ParallelismConfig(tp_size=E, cp_size=X, dp_shard_size=len(x)),
    fsdp_plugin=FullyShardedDataParallelPlugin(reshard_after_forward="HYBRID_SHARD", cpu_offload=f(lambda a, b: """)"""))) # end
