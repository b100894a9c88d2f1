# SPDX-License-Identifier: GPL-3.0-or-later
"""What does DeepSpeed itself say of a configuration and the client's fragment? One JSON case a line.

Runs DeepSpeedConfig (with the client's mpu where it has one), the AutoEP parser and
its folding rules, native MoE layers and PipelineModule as the emitted Python makes them, and the
expert groups of utils.groups, over torch's "fake" backend. Replaced: the kernel that DeepSpeed
compiles for communication between CPUs.
"""
import contextlib
import io
import json
import logging
import os
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
os.environ.update(DS_ACCELERATOR="cpu", RANK="0", LOCAL_RANK="0")

import torch
import deepspeed
from deepspeed.module_inject.auto_ep_config import parse_autoep_config, validate_autoep_config
from deepspeed.runtime.config import DeepSpeedConfig
from deepspeed.runtime.pipe.topology import PipelineParallelGrid, PipeModelDataParallelTopology
from deepspeed.utils import groups
from torch.testing._internal.distributed.fake_pg import FakeStore


sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None


class DecoderLayer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))


class Embedding(DecoderLayer):
    pass


class Head(DecoderLayer):
    pass


def make_mpu(case, scope):
    """The grid of the client, or the one that a pipeline makes of its topology."""
    if "make_mpu" in scope:
        grid = scope["make_mpu"]()
    elif case["pp"] > 1:
        grid = PipelineParallelGrid(PipeModelDataParallelTopology(
            num_pp=case["pp"], num_mp=case["tp"], num_dp=case["world"] // (case["tp"] * case["pp"])))
    else:
        return None
    topology = grid.topology()
    for name, axis in (("tp", "model"), ("pp", "pipe"), ("dp", "data")):
        if topology.get_dim(axis) > 1:
            compare(case, name, topology.get_axis_comm_lists(axis))
    return grid


def check_config(case, config, scope):
    mpu = make_mpu(case, scope)
    parsed = DeepSpeedConfig(config, mpu=mpu)
    if case.get("global_batch") and "tensor_parallel" not in config and parsed.train_batch_size != case["global_batch"]:
        raise ValueError(f"train_batch_size {parsed.train_batch_size}, not {case['global_batch']}")
    if case["pp"] > 1 and parsed.zero_optimization_stage > 1:  # runtime/pipe/engine.py
        raise AssertionError("ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism")
    return parsed


def check_auto_ep(case, config, parsed):
    section = config.get("expert_parallel")
    if not section:
        return
    auto = parse_autoep_config(section)
    offload = parsed.zero_config.offload_optimizer
    validate_autoep_config(
        auto, case["world"], case["pp"], case["tp"], 1,
        zero_stage=parsed.zero_optimization_stage,
        use_data_before_expert_parallel=parsed.use_data_before_expert_parallel_,
        zero_offload_optimizer=offload is not None and str(offload.device) != "none",
    )
    if parsed.zero_optimization_stage == 3 and case["tp"] > 1:  # runtime/engine.py
        raise ValueError("AutoEP with ZeRO Stage 3 does not support AutoTP")
    if case["experts"] % auto.autoep_size != 0:  # validate_autoep_post_detection, which wants a model
        raise ValueError(f"num_experts ({case['experts']}) not divisible by autoep_size")


def check_tensor_parallel(case, config):
    size = config.get("tensor_parallel", {}).get("autotp_size", 1)
    if case["world"] % max(size, 1) != 0:
        groups._ensure_divisibility(case["world"], size)


def check_native(case, scope, config):
    layer = scope["make_moe_layer"](torch.nn.Linear(1, 1))
    if config["zero_optimization"]["stage"] == 3:  # runtime/engine.py
        raise AssertionError("Native DeepSpeed MoE is not supported with ZeRO Stage 3")
    stage = case["world"] // case["pp"]
    if layer.enable_expert_tensor_parallelism:
        theirs, copies = groups._get_expert_parallel_ranks(
            case["world"], case["tp"], layer.ep_size, case["pp"], case["data_first"])
        compare(case, "ep", theirs)
        compare(case, "expert_dp", copies)
    else:
        groups._ensure_divisibility(stage, layer.ep_size)
    scope["optimizer_groups"](layer.parameters())


def compare(case, name, theirs):
    ours = case.get("groups", {}).get(name)
    if ours and sorted(map(list, theirs)) != sorted(ours):
        raise ValueError(f"group '{name}' differs: ours {ours[:2]}…, theirs {theirs[:2]}…")


def check_pipeline(case, scope):
    from deepspeed.pipe import LayerSpec

    layers = [LayerSpec(Embedding), *(LayerSpec(DecoderLayer) for _ in range(case["layers"])), LayerSpec(Head)]
    module = scope["pipeline"](layers, DecoderLayer, None)
    planned = [n + (i == 0) + (i == case["pp"] - 1) for i, n in enumerate(case["stages"])]
    if [module.parts[i + 1] - module.parts[i] for i in range(case["pp"])] != planned:
        raise ValueError(f"stages hold other layers than planned: {module.parts}")


def judge(case):
    config = json.loads(case["files"]["ds_config.json"])
    scope = {}
    exec(case["files"].get("deepspeed_client.py", ""), scope)
    if case["world"] % case["pp"] != 0:
        raise ValueError("num_stages must divide distributed world size")  # pipe/module.py
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=case["world"])
    try:
        deepspeed.init_distributed(dist_backend="fake", verbose=False)
        parsed = check_config(case, config, scope)
        check_auto_ep(case, config, parsed)
        check_tensor_parallel(case, config)
        if "make_moe_layer" in scope:
            check_native(case, scope, config)
        if "pipeline" in scope:
            check_pipeline(case, scope)
    finally:
        deepspeed.comm.comm.cdb = None
        torch.distributed.destroy_process_group()


def main():
    for line in sys.stdin:
        case = json.loads(line)
        problem = None
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                judge(case)
            except Exception as error:  # whatever it raises is its verdict
                problem = f"{type(error).__name__}: {error}"
        print(json.dumps({"id": case["id"], "problem": problem}), flush=True)


main()
