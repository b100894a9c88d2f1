torchrun --nnodes 2 --nproc-per-node 8 --master-addr node0 --master-port 29500 train.py
