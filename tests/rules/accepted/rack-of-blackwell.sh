#!/bin/bash
# one NVLink domain of 72 GPUs: many CUDA queues beside TP are right there
export CUDA_DEVICE_MAX_CONNECTIONS=32 NVLINK_DOMAIN_SIZE=72
torchrun --nnodes 16 --nproc-per-node 4 --node-rank "$NODE_RANK" --master-addr "$HEAD" \
    pretrain_gpt.py \
    --num-layers 48 --hidden-size 4096 --ffn-hidden-size 8192 --num-attention-heads 32 \
    --seq-length 8192 --max-position-embeddings 8192 --disable-bias-linear --bf16 \
    --num-experts 512 --moe-router-topk 22 --moe-ffn-hidden-size 2688 --moe-grouped-gemm \
    --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep \
    --moe-router-dtype fp32 --moe-aux-loss-coeff 1e-4 \
    --tensor-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 64 \
    --expert-tensor-parallel-size 1 --micro-batch-size 1 --global-batch-size 512
