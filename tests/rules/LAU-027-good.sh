#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun bash -c 'torchrun --nnodes 2 --nproc-per-node 8 --node-rank $SLURM_NODEID --master-addr $MASTER_ADDR --master-port 29500 train.py'
