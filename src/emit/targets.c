/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For whom can a plan be written? One row a target. */
#include "emit/private.h"

/* clang-format off */
const struct emit_target emit_targets[] = {
	{"megatron", "Megatron-LM: arguments and a script that starts them",
	    "0.12 to 0.19", "0.19", emit_megatron},
	{"megatron-bridge", "Megatron-Bridge: overrides of a recipe", NULL, NULL, emit_bridge},
	{"deepspeed", "DeepSpeed: ds_config.json and what the client's code does",
	    "0.16 to 0.19", "0.19.8", emit_deepspeed},
	{"torchtitan", "torchtitan: TOML (0.2), a recipe and overrides (0.3)",
	    "0.2 to 0.3", "0.3", emit_torchtitan},
	{"tutel", "Tutel: the MoE layer, a fragment of Python", NULL, NULL, emit_tutel},
	{"fairscale", "FairScale: the MoE layer, a fragment of Python", NULL, NULL, emit_fairscale},
	{"accelerate", "Accelerate: the mesh, a fragment of Python", NULL, NULL, emit_accelerate},
	{"jax", "MaxText: mesh, batch and pipeline keys", NULL, NULL, emit_jax},
	{"torchrun", "launch script", NULL, NULL, emit_torchrun},
	{"deepspeed-launch", "launch script of the deepspeed launcher and its hostfile",
	    NULL, NULL, emit_deepspeed_launch},
	{"slurm", "batch script for Slurm that starts torchrun", NULL, NULL, emit_slurm},
	{"mpirun", "launch script for Open MPI and its hostfile", NULL, NULL, emit_mpirun},
	{"ranks", "which rank is in which group, CSV and JSON", NULL, NULL, emit_ranks},
	{.name = NULL},
};
/* clang-format on */
