#!/bin/bash
accelerate launch --num_machines 2 --num_processes 7 --machine_rank $NODE_RANK --main_process_ip node1 --main_process_port 29500 train.py
