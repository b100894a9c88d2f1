torchrun --nnodes 2 --nproc-per-node 8 -m torchtitan.train \
    --module llama3 --config llama3_8b \
    --training.seq_len 8192
