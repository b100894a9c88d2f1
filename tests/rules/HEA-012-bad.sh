#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:a100:8
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
export WORLD_SIZE=16 MASTER_ADDR=node0
srun python train.py
