#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
export MASTER_ADDR=node1
srun torchrun --nnodes 2 --nproc-per-node 8 train.py
