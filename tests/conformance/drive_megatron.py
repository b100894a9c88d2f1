# SPDX-License-Identifier: GPL-3.0-or-later
"""What does Megatron-LM itself say of arguments? One JSON case a line in, one verdict a line out.

Runs parse_args() and validate_args() of megatron.training, the transformer configuration with its
checks, the batch calculator, and the process groups of parallel_state over torch's "fake" backend.
Replaced: what asks the GPU (capability 9.0, or 10.0 for Blackwell) and Transformer Engine, which no
CPU machine has, for their versions.
"""
import contextlib
import io
import json
import os
import sys
import warnings

warnings.filterwarnings("ignore")

import torch
from megatron.core import num_microbatches_calculator, parallel_state
from megatron.core.models.common.embeddings import rope_utils
from megatron.core.transformer import transformer_config
from megatron.training import arguments
from torch.testing._internal.distributed.fake_pg import FakeStore

KINDS = {  # our name of a group: generator and axes of theirs
    "tp": ("dense", "tp"),
    "cp": ("dense", "cp"),
    "dp": ("dense", "dp"),
    "dp_cp": ("dense", "dp-cp"),
    "pp": ("dense", "pp"),
    "ep": ("expert", "ep"),
    "expert_tp": ("expert", "tp"),
    "expert_dp": ("expert", "dp"),
}


def pretend_gpu(major):
    torch.cuda.get_device_capability = lambda *args: (major, 0)
    arguments.get_device_arch_version = lambda: major
    for module in (arguments, transformer_config):
        module.is_te_min_version = lambda *args, **kwargs: True
    rope_utils.fused_apply_rotary_pos_emb = rope_utils.fused_apply_rotary_pos_emb_thd = object()


def parse(case):
    os.environ.update(WORLD_SIZE=str(case["world"]), RANK="0", LOCAL_RANK="0")
    os.environ.pop("CUDA_DEVICE_MAX_CONNECTIONS", None)
    if case["connections"]:
        os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = case["connections"]
    sys.argv = ["pretrain_gpt.py", *case["arguments"]]
    args = arguments.parse_args()
    arguments.validate_args(args)
    return args


def check_batch(args):
    num_microbatches_calculator.unset_num_microbatches_calculator()
    num_microbatches_calculator.init_num_microbatches_calculator(
        0, None, args.global_batch_size, args.micro_batch_size, args.data_parallel_size, False
    )
    return num_microbatches_calculator.get_num_microbatches()


def make_groups(case, args):
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=case["world"])
    try:
        parallel_state.initialize_model_parallel(
            tensor_model_parallel_size=args.tensor_model_parallel_size,
            pipeline_model_parallel_size=args.pipeline_model_parallel_size,
            virtual_pipeline_model_parallel_size=args.virtual_pipeline_model_parallel_size,
            context_parallel_size=args.context_parallel_size,
            expert_model_parallel_size=args.expert_model_parallel_size,
            expert_tensor_parallel_size=args.expert_tensor_parallel_size,
            order="tp-cp-ep-pp-dp" if args.use_tp_pp_dp_mapping else "tp-cp-ep-dp-pp",
            create_gloo_process_groups=False,
        )
    finally:
        parallel_state.destroy_model_parallel()
        torch.distributed.destroy_process_group()


def compare_groups(case, args):
    order = "tp-cp-ep-pp-dp" if args.use_tp_pp_dp_mapping else "tp-cp-ep-dp-pp"
    etp, ep, pp = args.expert_tensor_parallel_size, args.expert_model_parallel_size, args.pipeline_model_parallel_size
    generators = {
        "dense": parallel_state.RankGenerator(
            tp=args.tensor_model_parallel_size, ep=1, dp=args.data_parallel_size, pp=pp,
            cp=args.context_parallel_size, order=order),
        "expert": parallel_state.RankGenerator(
            tp=etp, ep=ep, dp=case["world"] // (etp * ep * pp), pp=pp, cp=1, order=order),
    }
    for name, groups in case["groups"].items():
        if name not in KINDS:
            continue
        generator, axes = KINDS[name]
        theirs = generators[generator].get_ranks(axes)
        if sorted(map(list, theirs)) != sorted(groups):
            raise ValueError(f"group '{name}' differs: ours {groups[:2]}…, theirs {theirs[:2]}…")


def judge(case):
    pretend_gpu(case["capability"])
    args = parse(case)
    arguments.core_transformer_config_from_args(args)
    micro_batches = check_batch(args)
    if case.get("micro_batches") and micro_batches != case["micro_batches"]:
        raise ValueError(f"{micro_batches} micro-batches, not {case['micro_batches']}")
    if case.get("groups"):
        compare_groups(case, args)
    make_groups(case, args)


def main():
    for line in sys.stdin:
        case = json.loads(line)
        problem = None
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as messages:
            try:
                judge(case)
            except SystemExit:
                problem = "argparse: " + messages.getvalue().strip().splitlines()[-1]
            except Exception as error:  # whatever it raises is its verdict
                problem = f"{type(error).__name__}: {error}"
        print(json.dumps({"id": case["id"], "problem": problem}), flush=True)


main()
