import deepspeed
NUM_EXPERTS = 64
EP = 8
class M:
    def __init__(self):
        self.moe = deepspeed.moe.layer.MoE(hidden_size=4096, expert=Expert(4096, 11008),
            num_experts=NUM_EXPERTS, ep_size=EP, k=2, capacity_factor=1.25)
