moe = tutel_moe.moe_layer(gate_type={'type': 'top', 'k': 2}, model_dim=1024,
    experts={'type': 'ffn', 'num_experts_per_device': -4, 'hidden_size_per_expert': 1024})
