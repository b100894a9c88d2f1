torchrun --nproc-per-node=8 run_recipe.py model.tensor_model_parallel_size=2 ++train.global_batch_size=64 model.recompute_modules=[a,"b"] -pp 4 mixed_precision=bf16_mixed
