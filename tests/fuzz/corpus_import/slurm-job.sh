#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
export MASTER_PORT=29500
if [ -z "$STEP" ]; then export STEP=1; srun bash $0; exit; fi
torchrun --nnodes 2 --nproc-per-node 8 --node-rank $SLURM_NODEID --master-addr $MASTER_ADDR --master-port 29500 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 256 --tensor-model-parallel-size 2 --num-experts 8 --expert-model-parallel-size 4 --moe-router-topk 2 --bf16 --sequence-parallel --moe-aux-loss-coeff 0.01 --moe-token-dispatcher-type alltoall --use-distributed-optimizer --moe-grouped-gemm --disable-bias-linear --vocab-size 32000 --moe-ffn-hidden-size 5632 --ffn-hidden-size 5632 --expert-tensor-parallel-size 1 --train-iters 100 --lr 1e-4
