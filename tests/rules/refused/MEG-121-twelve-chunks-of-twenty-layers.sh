#!/bin/bash
# NVIDIA-NeMo/Megatron-Bridge#5893
torchrun --nnodes 2 --nproc-per-node 8 --node-rank "$NODE_RANK" --master-addr "$HEAD" \
    pretrain_gpt.py --num-layers 40 --hidden-size 2048 --num-attention-heads 16 \
    --seq-length 4096 --max-position-embeddings 4096 --bf16 \
    --pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 12 \
    --micro-batch-size 1 --global-batch-size 64
