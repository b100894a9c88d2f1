deepspeed --hostfile hosts --include a:0,1 --num_gpus 2 train.py
