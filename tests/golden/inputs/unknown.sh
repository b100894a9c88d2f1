#!/bin/bash
# another framework's program
torchrun --nnodes 2 --nproc-per-node 8 train_house.py --house.tp 4 --house.experts 64
