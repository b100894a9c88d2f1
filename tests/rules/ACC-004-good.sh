export PARALLELISM_CONFIG_DP_SHARD_SIZE=8
accelerate launch --num_processes 8 train.py
