#!/bin/bash
cat >hostfile <<END
node1 slots=8
node2 slots=8
END
deepspeed --hostfile hostfile --num_nodes 4 train.py
