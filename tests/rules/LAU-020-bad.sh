torchrun --nnodes 2 --nproc-per-node 8 --master-addr node0 --master-port 129500 train.py
