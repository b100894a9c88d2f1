#!/bin/bash
# --seq-length is that of the image tokens, the decoder has its own
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 examples/multimodal/train.py \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
    --seq-length 261 --decoder-seq-length 4096 --max-position-embeddings 4096 \
    --tensor-model-parallel-size 8 --sequence-parallel --bf16 \
    --micro-batch-size 1 --global-batch-size 128
