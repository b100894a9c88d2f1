#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:8
export CUDA_DEVICE_MAX_CONNECTIONS=1
TP=${TP:-2}; PP=4
if [ -z "$EP" ]; then EP=8; fi
ARGS=(
    --num-layers 61 --hidden-size 512 --num-attention-heads 8 --vocab-size 1000
    --num-experts 16 --moe-layer-freq "([0]*3+[1]*58)" --swiglu
    --decoder-first-pipeline-num-layers 15 --decoder-last-pipeline-num-layers 14
    --tensor-model-parallel-size $TP --expert-model-parallel-size "$EP"
    --global-batch-size $((TP * 32)) --recompute-granularity selective
    --recompute-modules moe_act layernorm --bf16 --window-size "(127,0)"
    --window-attn-skip-freq "[1,0]*30+[1]" --multi-latent-attention --q-lora-rank 8
)
[ -n "$X" ] && ARGS+=(--x)
srun bash -c "torchrun --nnodes $SLURM_NNODES --nproc-per-node $SLURM_GPUS_ON_NODE pretrain_gpt.py ${ARGS[*]} --pipeline-model-parallel-size $PP $(date)"
