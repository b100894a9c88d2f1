from deepspeed.moe.layer import MoE

layer = MoE(hidden_size=4096, expert=mlp, num_experts=64, ep_size=8, k=2, noisy_gate_policy='RSample')
