#!/bin/bash
CUDA_VISIBLE_DEVICES=4,5,6,7 deepspeed --num_gpus 4 train.py
