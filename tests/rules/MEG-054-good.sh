torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py \
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \
    --group-query-attention --num-query-groups 8 --kv-channels 128 --seq-length 4096 \
    --max-position-embeddings 4096 --vocab-size 32000 --swiglu --disable-bias-linear \
    --untie-embeddings-and-output-weights --tensor-model-parallel-size 2 \
    --pipeline-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 128 --bf16 \
    --use-distributed-optimizer --overlap-grad-reduce --distribute-saved-activations \
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
