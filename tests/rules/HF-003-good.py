from transformers import AutoModelForCausalLM
from transformers.distributed import DistributedConfig

model = AutoModelForCausalLM.from_pretrained(
    "model", distributed_config=DistributedConfig(tp_size=2, fsdp_size=4))
