from transformers import AutoModelForCausalLM
from transformers.distributed import DistributedConfig

model = AutoModelForCausalLM.from_pretrained(
    "model", distributed_config=DistributedConfig(enable_expert_parallel=True))
