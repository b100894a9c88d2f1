torchrun --nnodes 1 --nproc-per-node 8 -m torchtitan.train --module llama3 \
    --parallelism.tensor_parallel_degree 2
