torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 \
	--group-query-attention --num-query-groups 4 --max-position-embeddings 4096 --seq-length 4096 \
	--normalization RMSNorm --swiglu --disable-bias-linear --position-embedding-type rope \
	--num-experts 64 --moe-router-topk 8 --moe-ffn-hidden-size 1024 --moe-router-dtype fp32 \
	--moe-token-dispatcher-type alltoall --moe-aux-loss-coeff 0.001 --moe-grouped-gemm \
	--expert-model-parallel-size 8 --use-distributed-optimizer --overlap-grad-reduce \
	--overlap-param-gather --micro-batch-size 1 --global-batch-size 256 --train-iters 100 --bf16
