#!/bin/bash
# what is recomputed and what is offloaded may overlap unless the whole MoE layer is recomputed
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py \
    --num-layers 16 --hidden-size 2048 --ffn-hidden-size 8192 --num-attention-heads 16 \
    --seq-length 4096 --max-position-embeddings 4096 --disable-bias-linear --bf16 \
    --num-experts 32 --moe-router-topk 4 --moe-ffn-hidden-size 1024 --moe-grouped-gemm \
    --moe-token-dispatcher-type alltoall --moe-router-dtype fp32 --moe-aux-loss-coeff 1e-2 \
    --multi-latent-attention --kv-lora-rank 512 \
    --tensor-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 4 \
    --expert-tensor-parallel-size 1 \
    --recompute-granularity selective --recompute-modules layernorm mla_up_proj mlp moe_act \
    --fine-grained-activation-offloading \
    --offload-modules expert_fc1 moe_act attn_norm core_attn attn_proj \
    --micro-batch-size 1 --global-batch-size 32
