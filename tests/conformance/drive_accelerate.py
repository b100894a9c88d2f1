# SPDX-License-Identifier: GPL-3.0-or-later
"""What does Accelerate itself say of its fragment? One JSON case a line in, one verdict a line out.

Runs the fragment with the real ParallelismConfig and FullyShardedDataParallelPlugin, builds the device
mesh over torch's "fake" backend, and compares its groups. Replaced: Accelerator, which wants devices,
with its own condition on the number of processes; the version of transformers, which is asked for with
tensor parallelism and not installed here.
"""
import contextlib
import importlib.metadata
import io
import json
import sys
import warnings

warnings.filterwarnings("ignore")
real_version = importlib.metadata.version
importlib.metadata.version = lambda name: "5.0.0" if name == "transformers" else real_version(name)

import torch
import accelerate
from torch.testing._internal.distributed.fake_pg import FakeStore

AXES = {"tp": ["tp"], "cp": ["cp"], "dp": ["dp_replicate", "dp_shard"]}


def groups_of(mesh, names):
    """The lists of ranks that differ in these axes alone."""
    there = [name for name in names if name in mesh.mesh_dim_names]
    dims = [mesh.mesh_dim_names.index(name) for name in there]
    rest = [i for i in range(mesh.mesh.ndim) if i not in dims]
    size = 1
    for i in dims:
        size *= mesh.mesh.shape[i]
    return mesh.mesh.permute(*rest, *dims).reshape(-1, size).tolist()


def check_groups(case, config):
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=case["world"])
    try:
        mesh = config.build_device_mesh("cpu")
        for name, axes in AXES.items():
            ours = case["groups"].get(name)
            if ours and len(ours[0]) > 1 and sorted(map(sorted, groups_of(mesh, axes))) != sorted(map(sorted, ours)):
                raise ValueError(f"group '{name}' differs: ours {ours[:2]}…, theirs {groups_of(mesh, axes)[:2]}…")
    finally:
        torch.distributed.destroy_process_group()


def judge(case):
    said = {}
    accelerate.Accelerator = lambda **arguments: said.update(arguments)
    exec(case["files"]["accelerate_mesh.py"], {})
    config = said["parallelism_config"]
    if config.total_size != case["world"]:  # parallelism_config.py _validate_accelerator()
        raise ValueError(f"total_size ({config.total_size}) does not match num_processes ({case['world']})")
    if "fsdp_plugin" in said and config.dp_shard_size * config.cp_size == 1:
        raise ValueError("FSDP is enabled but the parallelism config has no dimension to shard across")
    if case.get("micro_batches") and said["gradient_accumulation_steps"] != case["micro_batches"]:
        raise ValueError("another number of micro-batches")
    if case["world"] > 1:
        check_groups(case, config)


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
