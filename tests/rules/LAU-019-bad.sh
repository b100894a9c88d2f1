torchrun --nnodes 2 --nproc-per-node 8 --master-addr localhost --master-port 29500 train.py
