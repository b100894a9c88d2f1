#!/bin/bash
# an MTP layer alone on a virtual stage: modelscope/ms-swift#9827
LAYOUT='E(|tt)*30,|mL'
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nnodes 16 --nproc-per-node 8 --node-rank "$NODE_RANK" --master-addr "$HEAD" \
    pretrain_gpt.py \
    --num-layers 60 --hidden-size 4096 --ffn-hidden-size 12288 --num-attention-heads 64 \
    --seq-length 4096 --max-position-embeddings 4096 --disable-bias-linear --bf16 \
    --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 1536 \
    --moe-token-dispatcher-type alltoall --moe-router-dtype fp32 --moe-aux-loss-coeff 1e-3 \
    --mtp-num-layers 1 --pipeline-model-parallel-size 16 \
    --pipeline-model-parallel-layout "$LAYOUT" \
    --expert-model-parallel-size 8 --micro-batch-size 1 --global-batch-size 128
