# the script of node 0 may name it so, that of the other node has its address
torchrun --nnodes 2 --nproc_per_node 4 --node_rank 0 --master_addr 127.0.0.1 --master_port 29500 \
    finetune.py --model some/model
