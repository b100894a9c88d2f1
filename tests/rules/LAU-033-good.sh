#!/bin/bash
CUDA_VISIBLE_DEVICES=4,5,6,7 deepspeed train.py
