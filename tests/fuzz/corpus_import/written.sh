#!/bin/bash
NNODES=2
MICRO=2
GAS=4
DS_CONFIG=ds_config_$MICRO.json
cat <<EOT > $DS_CONFIG
{
  "train_batch_size": 100,
  "train_micro_batch_size_per_gpu": $MICRO,
  "gradient_accumulation_steps": $GAS,
  "zero_optimization": {"stage": $ZERO_STAGE},
  "moe": {"enabled": true, "ep_size": 8}
}
EOT
cat > README.txt <<'EOT'
Hello ${not a variable
EOT
echo "worker-0 slots=8" > hostfile
echo "worker-1 slots=8" >> hostfile
	cat <<-'EOT' > other.json
	{ "not": "a config" }
	EOT
deepspeed --hostfile hostfile train.py --deepspeed --deepspeed_config $DS_CONFIG --num-experts 64
