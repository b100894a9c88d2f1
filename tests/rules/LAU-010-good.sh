deepspeed --hostfile hosts --include a:0,1 train.py
