torchrun --nnodes 4 train.py
