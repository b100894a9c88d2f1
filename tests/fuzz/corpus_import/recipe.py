from torchtitan.models.qwen3 import model_registry
config.parallelism = ParallelismConfig(expert_parallel_degree=8)
config.training = dataclasses.replace(config.training, seq_len=1)
config.activation_checkpoint = None
