torchrun --nnodes 1:4 --nproc-per-node 8 train.py
