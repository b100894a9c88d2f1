deepspeed --num_gpus=8 --num_nodes=2 --master_addr 10.0.0.1 --master-port 29500 train.py --deepspeed --deepspeed_config ds_config.json
