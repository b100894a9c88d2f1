# the config function of this model turns CUDA graphs off
torchrun --nnodes 1 --nproc-per-node 8 -m torchtitan.train --module deepseek_v3 \
    --config deepseek_v3_16b --parallelism.expert_parallel_degree 8
