#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
srun torchrun --nnodes 2 --nproc-per-node 8 train.py
