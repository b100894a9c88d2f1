#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
# scontrol lists the nodes of the job, the same to every task
CMD="torchrun --nproc_per_node=8 --nnodes=2 --node_rank=\$SLURM_PROCID"
CMD="$CMD --master_addr=\$(scontrol show hostname \$SLURM_NODELIST | head -n1) --master_port=29500"
srun bash -c "$CMD train.py"
