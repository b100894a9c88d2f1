#!/bin/bash
# pretrain_gpt.py has arguments of ModelOpt as well
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py \
    --num-layers 8 --hidden-size 1024 --num-attention-heads 16 \
    --seq-length 1024 --max-position-embeddings 1024 --bf16 \
    --export-te-mcore-model --export-kd-teacher-load /teacher --export-kd-cfg kd.yaml \
    --tensor-model-parallel-size 2 --micro-batch-size 4 --global-batch-size 32
