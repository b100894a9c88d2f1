# SPDX-License-Identifier: GPL-3.0-or-later
"""What does torchtitan itself say of a recipe, of overrides or of TOML? One JSON case a line.

0.3: imports the recipe and builds its Trainer.Config, or lets ConfigManager parse the overrides.
0.2: lets ConfigManager read the TOML file. Then ParallelDims and its device mesh over torch's "fake"
backend, and the checks that Trainer makes before it touches a device, with its own expressions.
"""
import contextlib
import copy
import importlib.util
import io
import json
import logging
import os
import re
import shlex
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
OLD = len(sys.argv) > 1 and sys.argv[1] == "old"
if OLD:
    sys.path.insert(0, "/old")

import torch
from torch.testing._internal.distributed.fake_pg import FakeStore
from torchtitan.config import ConfigManager
from torchtitan.distributed import ParallelDims
from torchtitan.distributed import parallel_dims as parallel_dims_module


def write(name, text):
    path = os.path.join(tempfile.mkdtemp(), name)
    with open(path, "w") as file:
        file.write(text)
    return path


def load_recipe(text):
    spec = importlib.util.spec_from_file_location("torchtitan_recipe", write("torchtitan_recipe.py", text))
    module = importlib.util.module_from_spec(spec)
    sys.modules["torchtitan_recipe"] = module
    spec.loader.exec_module(module)
    return ConfigManager().parse_args(["--module", "torchtitan_recipe", "--config", "planned"])


def check_mesh(case, config):
    p = config.parallelism
    sizes = dict(
        dp_replicate=p.data_parallel_replicate_degree,
        dp_shard=p.data_parallel_shard_degree,
        cp=p.context_parallel_degree,
        tp=p.tensor_parallel_degree,
        pp=p.pipeline_parallel_degree,
        ep=p.expert_parallel_degree,
        world_size=case["world"],
    )
    if OLD:
        sizes["etp"] = p.expert_tensor_parallel_degree
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=case["world"])
    try:
        parallel_dims_module.device_type = "cpu"
        dims = ParallelDims(**sizes)
        dims.build_mesh()
    finally:
        torch.distributed.destroy_process_group()
    return dims


def check_trainer(config, dims):
    """Trainer.__init__ needs a device; these are its conditions on sizes."""
    training, parallelism = config.training, config.parallelism
    if OLD:
        divisor = dims.tp * (2 * dims.cp if dims.cp > 1 else 1)
    else:
        divisor = (dims.tp if parallelism.enable_sequence_parallel else 1) * (2 * dims.cp if dims.cp > 1 else 1)
    if training.seq_len % divisor != 0:
        raise ValueError(f"Training sequence length must be divisible by {divisor}")
    batch = dims.dp_replicate * dims.dp_shard
    if training.global_batch_size > 0 and training.global_batch_size % (training.local_batch_size * batch) != 0:
        raise ValueError("global batch size must be multiple of local batch size times data-parallel degree")
    if OLD and dims.pp > 1 and training.local_batch_size % parallelism.pipeline_parallel_microbatch_size != 0:
        raise ValueError("batch size must be divisible by microbatch_size")


def check_model(config):
    """What the model's own configuration says of the job: heads, sequence length, dispatcher, tied weights."""
    if not OLD:
        config.model_spec.model.update_from_config(config=config)
        return
    from torchtitan.protocols.train_spec import get_train_spec

    copy.deepcopy(get_train_spec(config.model.name).model_args[config.model.flavor]).update_from_config(config)


def check_pipeline(config, dims):
    parts = config.parallelism.module_fqns_per_model_part
    if dims.pp == 1:
        return
    from torch.distributed.pipelining.schedules import PipelineScheduleSingle, get_schedule_class

    single = issubclass(get_schedule_class(config.parallelism.pipeline_parallel_schedule), PipelineScheduleSingle)
    if len(parts) % dims.pp != 0 or (single and len(parts) != dims.pp) or (not single and len(parts) == dims.pp):
        raise ValueError("number of stages and the schedule do not go together")


def check_experts(case, config, dims):
    experts = case.get("experts")
    if experts and experts % dims.ep != 0:
        raise ValueError("experts // ep is floored: some experts are on no rank")


def judge(case):
    files = case["files"]
    configs = []
    if OLD:
        configs.append(ConfigManager().parse_args(["--job.config_file", write("t.toml", files["torchtitan.toml"])]))
    else:
        configs.append(load_recipe(files["torchtitan_recipe.py"]))
        if "torchtitan-overrides.txt" in files:
            configs.append(ConfigManager().parse_args(shlex.split(files["torchtitan-overrides.txt"].replace("\\\n", " "))))
    for theirs in configs[1:]:
        compare_forms(configs[0], theirs, files["torchtitan-overrides.txt"])
    for config in configs:
        dims = check_mesh(case, config)
        check_trainer(config, dims)
        check_model(config)
        check_pipeline(config, dims)
        check_experts(case, config, dims)


def compare_forms(recipe, overrides, text):
    """What the overrides say must be what the recipe says."""
    for section, key in re.findall(r"^--(\w+)\.(\w+)", text, flags=re.M):
        key = key.removeprefix("no_")
        mine, theirs = getattr(getattr(recipe, section), key), getattr(getattr(overrides, section), key)
        if mine != theirs:
            raise ValueError(f"{section}.{key} is {mine} in the recipe, {theirs} in the overrides")
    if recipe.activation_checkpoint != overrides.activation_checkpoint:
        raise ValueError("recipe and overrides recompute other things")


def main():
    for line in sys.stdin:
        case = json.loads(line)
        problem = None
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as messages:
            try:
                judge(case)
            except SystemExit:
                problem = "tyro: " + " ".join(messages.getvalue().split())[-300:]
            except Exception as error:  # whatever it raises is its verdict
                problem = f"{type(error).__name__}: {error}"
        print(json.dumps({"id": case["id"], "problem": problem}), flush=True)


main()
