torchrun --nnodes 2 --nproc-per-node 8 -m torchtitan.train \
    --module llama3 --config llama3_8b \
    --parallelism.pipeline_parallel_degree 2 --training.local_batch_size 4 --training.disable_cuda_graphs
