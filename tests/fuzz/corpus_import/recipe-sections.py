from torchtitan.models.deepseek_v3 import model_registry
config = Trainer.Config(
    model_spec=model_registry("16B"),
    loss=ChunkedLossWrapper.Config(num_chunks=8),
    parallelism=ParallelismConfig(pipeline_parallel_degree=2, expert_parallel_degree=8,
        pipeline_parallel_schedule="Interleaved1F1B"),
    compile=CompileConfig(enable=True, components=["model", "loss"]),
    activation_checkpoint=FullAC.Config())
config.optimizer = dataclasses.replace(config.optimizer, lr=1e-4, )
