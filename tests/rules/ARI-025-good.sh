torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py \
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \
    --group-query-attention --num-query-groups 8 --kv-channels 128 --seq-length 4096 \
    --max-position-embeddings 4096 --vocab-size 32000 --swiglu --disable-bias-linear \
    --untie-embeddings-and-output-weights --num-experts 8 --moe-ffn-hidden-size 14336 \
    --moe-router-topk 2 --moe-aux-loss-coeff 0.01 --moe-token-dispatcher-type alltoall \
    --moe-grouped-gemm --tensor-model-parallel-size 2 --sequence-parallel \
    --pipeline-model-parallel-size 2 --expert-model-parallel-size 4 \
    --expert-tensor-parallel-size 1 --micro-batch-size 1 --global-batch-size 128 --bf16 \
    --use-distributed-optimizer --overlap-grad-reduce
