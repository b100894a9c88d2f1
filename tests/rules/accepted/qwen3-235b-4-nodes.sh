#!/bin/bash
# 94 layers in eight stages, the last with ten: verl-project/verl#3019
export CUDA_DEVICE_MAX_CONNECTIONS=1
NNODES=4
PP=8
LAST=10
torchrun --nnodes $NNODES --nproc-per-node 8 --node-rank "$NODE_RANK" --master-addr "$HEAD" \
    pretrain_gpt.py \
    --num-layers 94 --hidden-size 4096 --ffn-hidden-size 12288 --num-attention-heads 64 \
    --group-query-attention --num-query-groups 4 --kv-channels 128 \
    --seq-length 4096 --max-position-embeddings 40960 --disable-bias-linear --bf16 \
    --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 1536 --moe-grouped-gemm \
    --moe-token-dispatcher-type alltoall --moe-router-dtype fp32 --moe-aux-loss-coeff 1e-3 \
    --tensor-model-parallel-size 4 --sequence-parallel --pipeline-model-parallel-size $PP \
    --decoder-last-pipeline-num-layers $LAST \
    --expert-model-parallel-size 4 --expert-tensor-parallel-size 1 \
    --use-distributed-optimizer --micro-batch-size 1 --global-batch-size 32
