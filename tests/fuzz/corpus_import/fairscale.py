# mixtral-8x7b on 8 GPUs (1 node of 8)
# The layer of experts alone. The rest of the plan is the program's:
# --world-size 8 --tp 1 --pp 1 --ep 8 --etp 1 --micro-batch 1 --global-batch 256 --seq-len 4096 --recompute full --zero 3 --capacity 1 --schedule 1f1b
import torch
from fairscale.nn.moe import MOELayer, Top2Gate

EXPERT_PARALLEL = 8
# FairScale has no setting for it: add it to the loss, times every layer's l_aux.
AUX_LOSS_COEFFICIENT = 0.01


def make_moe_layer(make_expert, ep_group):
    """`make_expert()`: a module 4096 -> 14336 -> 4096; `ep_group`: the expert-parallel
    ranks of this rank. The layer takes (sequence, batch, hidden)."""
    assert torch.distributed.get_world_size(ep_group) == EXPERT_PARALLEL
    experts = torch.nn.ModuleList(make_expert() for _ in range(1))
    gate = Top2Gate(model_dim=4096, num_experts=8)
    return MOELayer(gate, experts, group=ep_group)
