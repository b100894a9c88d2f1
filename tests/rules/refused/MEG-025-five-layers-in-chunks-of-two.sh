#!/bin/bash
# NVIDIA/Megatron-LM#468: 64 of 80 layers were built
export CUDA_DEVICE_MAX_CONNECTIONS=1
LAYERS=80 PP=16
torchrun --nnodes 2 --nproc-per-node 8 --node-rank "$NODE_RANK" --master-addr "$HEAD" \
    pretrain_gpt.py --num-layers $LAYERS --hidden-size 8192 --num-attention-heads 64 \
    --seq-length 4096 --max-position-embeddings 4096 --bf16 \
    --pipeline-model-parallel-size $PP --num-layers-per-virtual-pipeline-stage 2 \
    --micro-batch-size 1 --global-batch-size 64
