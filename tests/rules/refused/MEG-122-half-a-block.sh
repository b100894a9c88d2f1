#!/bin/bash
# modelscope/ms-swift#9723: 31936 / TP 4 = 7984 tokens, blocks have 32
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 3072 \
    --ffn-hidden-size 8192 --num-attention-heads 24 --seq-length 31936 \
    --max-position-embeddings 32768 --bf16 --fp8-format e4m3 --fp8-recipe mxfp8 \
    --tensor-model-parallel-size 4 --sequence-parallel --micro-batch-size 1 --global-batch-size 8
