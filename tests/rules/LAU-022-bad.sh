torchrun --nnodes 2 --nproc-per-node 16 train.py
