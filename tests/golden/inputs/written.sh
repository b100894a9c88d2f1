#!/bin/bash
# a DeepSpeed job that brings its files along
MICRO=2
GAS=4
CONFIG=ds_config_$MICRO.json
cat >"$CONFIG" <<EOF
{
  "train_batch_size": 100,
  "train_micro_batch_size_per_gpu": $MICRO,
  "gradient_accumulation_steps": $GAS,
  "gradient_clipping": 1.0,
  "zero_optimization": {"stage": $STAGE},
  "moe": {"enabled": true, "ep_size": 8}
}
EOF
echo "worker-0 slots=8" >hosts
echo "worker-1 slots=8" >>hosts
deepspeed --hostfile hosts train.py --deepspeed --deepspeed_config $CONFIG --house-seed 4
