from tutel import moe as tutel_moe
layer = tutel_moe.moe_layer(
    gate_type={'type': 'top', 'k': 2},
    experts={'type': 'ffn', 'count_per_gpu': 8, 'activation_fn': lambda x: F.relu(x)},
    model_dim=4096,
    scan_expert_func=lambda name, param: setattr(param, 'skip_allreduce', True),
)
