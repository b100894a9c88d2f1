moe = tutel_moe.moe_layer(gate_type={'type': 'top', 'k': 2, 'gate_noise': 0.1}, model_dim=1024,
    experts={'type': 'ffn', 'num_experts_per_device': 2, 'hidden_size_per_expert': 4096})
