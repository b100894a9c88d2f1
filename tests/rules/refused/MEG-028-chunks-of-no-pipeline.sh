#!/bin/bash
# NVIDIA/cloudai#1025
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 48 --hidden-size 2048 \
    --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 --bf16 \
    --num-virtual-stages-per-pipeline-rank 2 --micro-batch-size 1 --global-batch-size 64
