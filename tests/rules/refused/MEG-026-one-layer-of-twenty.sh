#!/bin/bash
# NVIDIA/Megatron-LM#1778: the count of the last stage is taken for the only one
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 20 --hidden-size 2048 \
    --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 --bf16 \
    --pipeline-model-parallel-size 1 --decoder-last-pipeline-num-layers 1 \
    --micro-batch-size 1 --global-batch-size 64
