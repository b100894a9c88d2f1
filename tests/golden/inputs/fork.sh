#!/bin/bash
# arguments of a fork, and a degree that only a run would tell
TP=$(cat tp)
ARGS="--tensor-model-parallel-size $TP --expert-model-parallel-size 4 --num-experts 8
  --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 4096
  --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --bf16
  --moe-token-dispatcher-type alltoall --moe-ffn-hidden-size 1408 --moe-aux-loss-coeff 0.001
  --moe-router-topk 2 --sequence-parallel --disable-bias-linear --save $HOME/out
  --house-tokenizer fast --house-kernel rms --house-loader 8 --house-swap"
torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py $ARGS
