torchrun --nproc-per-node 8 train_moe.py --tensor-model-parallel-size 2 --sequence-parallel \
	--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 4096 \
	--max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 32 --bf16
