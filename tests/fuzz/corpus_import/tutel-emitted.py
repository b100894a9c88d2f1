# mixtral-8x7b on 8 GPUs (1 node of 8)
# The layer of experts alone. The rest of the plan is the program's:
# --world-size 8 --tp 1 --pp 1 --ep 8 --etp 1 --micro-batch 1 --global-batch 256 --seq-len 4096 --recompute full --zero 3 --capacity 1 --schedule 1f1b
import torch
from tutel import moe

EXPERT_PARALLEL = 8


def make_moe_layer(activation_fn, ep_group):
    """`ep_group`: the expert-parallel ranks of this rank. Expert parameters have
    skip_allreduce set: leave them out of the data-parallel reduction."""
    assert torch.distributed.get_world_size(ep_group) == EXPERT_PARALLEL
    return moe.moe_layer(
        gate_type={"type": "top", "k": 2, "capacity_factor": 1, "gate_noise": 0.0, "fp32_gate": True},
        model_dim=4096,
        experts={
            "type": "llama_ffn",
            "num_experts_per_device": 1,
            "hidden_size_per_expert": 14336,
            "activation_fn": activation_fn,
        },
        normalize_gate=True,
        parallel_type="adaptive:1",
        a2a_ffn_overlap_degree=1,
        use_2dh=False,
        group=ep_group,
        scan_expert_func=lambda name, parameter: setattr(
            parameter, "skip_allreduce", True),
    )
