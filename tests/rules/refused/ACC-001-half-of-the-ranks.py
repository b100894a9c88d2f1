# NVIDIA/Model-Optimizer#1302
from accelerate import Accelerator, ParallelismConfig

accelerator = Accelerator(parallelism_config=ParallelismConfig(dp_shard_size=4))
