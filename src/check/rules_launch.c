/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Will the ranks that are started be the ranks that were meant? Launch lines,
 * hostfiles and environment, whatever the framework. Sources: PyTorch
 * torch/distributed/run.py and elastic agent, DeepSpeed launcher/runner.py and
 * launch.py, the Slurm and Open MPI environment.
 */
#include "check/rules_tables.h"

#define TORCHRUN "pytorch/pytorch torch/distributed/run.py"
#define RUNNER "deepspeedai/DeepSpeed v0.19.5 deepspeed/launcher/runner.py"
#define FILTER "given(include, given(exclude, ''))"

/* clang-format off */
const struct rule rules_launch[] = {
	{
		.id = "LAU-002", .severity = SEVERITY_ERROR,
		.when = "set(launch_nodes) and set(launch_procs) and not said(slots)",
		.require = "launch_nodes * launch_procs == world",
		.message = "{launch_nodes} nodes x {launch_procs} processes = {started: "
		    "launch_nodes * launch_procs} ranks are started, the configuration is for "
		    "{world}",
		.hint = "use {fix_nodes: whole(world / launch_procs)} nodes || use degrees for "
		    "{launch_nodes * launch_procs} ranks",
		.source = TORCHRUN " (WORLD_SIZE = nnodes x nproc_per_node)",
	},
	{
		.id = "LAU-003", .severity = SEVERITY_WARNING, .silent = true,
		.when = "said(nnodes)", .require = "pieces(nnodes, ':') == 1",
		.message = "--nnodes {nnodes} lets WORLD_SIZE vary: a fixed plan holds for one "
		    "size only",
		.hint = "give one number",
		.source = TORCHRUN,
	},
	{
		.id = "LAU-004", .severity = SEVERITY_WARNING, .silent = true,
		.when = "launcher == 'torchrun' and launch_nodes > 1 and not launch_open",
		.require = "stated('nproc_per_node') or given(launch_procs, 1) > 1",
		.message = "torchrun without --nproc-per-node starts one process a node: "
		    "{launch_nodes} ranks",
		.hint = "add --nproc-per-node",
		.source = TORCHRUN,
	},
	{
		.id = "LAU-008", .severity = SEVERITY_WARNING, .silent = true,
		.when = "said(slots) and count(slots_left()) > 1",
		.require = "min(slots_left()) == max(slots_left())",
		.message = "hosts have different slots ({slots_left()}): deepspeed computes "
		    "LOCAL_RANK as rank % local count, which is wrong behind a host with another "
		    "count",
		.hint = "give every host the same slots",
		.source = "deepspeedai/DeepSpeed v0.19.5 deepspeed/launcher/launch.py",
	},
	{
		.id = "LAU-010", .severity = SEVERITY_ERROR,
		.require = "not (said(include) and said(exclude)) : '--include and --exclude "
		    "exclude each other'; not ((said(include) or said(exclude)) and "
		    "(said(num_nodes) or said(num_gpus))) : '--include and --exclude exclude "
		    "--num_nodes and --num_gpus'",
		.message = "deepspeed: {problem}",
		.hint = "keep one",
		.source = RUNNER,
	},
	{
		.id = "LAU-011", .severity = SEVERITY_WARNING, .silent = true,
		.when = "launcher == 'srun' and world > 1",
		.require = "set(env_world) and set(master_addr)",
		.message = "srun sets SLURM_PROCID, SLURM_LOCALID and SLURM_NTASKS, and no RANK, "
		    "WORLD_SIZE or MASTER_ADDR: PyTorch then waits for a variable or runs {world} "
		    "jobs of one rank",
		.hint = "export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID "
		    "WORLD_SIZE=$SLURM_NTASKS MASTER_ADDR=… MASTER_PORT=… in the task",
		.source = "Slurm srun(1); NVIDIA/Megatron-LM megatron/core/_slurm_utils.py",
	},
	{
		.id = "LAU-012", .severity = SEVERITY_ERROR, .silent = true,
		.when = "launcher == 'torchrun' and said(ntasks_per_node)",
		.require = "ntasks_per_node == 1",
		.message = "{ntasks_per_node} tasks a node each start a torchrun of {launch_procs} "
		    "processes: {started: ntasks_per_node * launch_procs} a node",
		.hint = "use --ntasks-per-node 1 and --nproc-per-node for the GPUs",
		.source = "pytorch/torchtitan multinode_trainer.slurm",
	},
	{
		.id = "LAU-016", .severity = SEVERITY_ERROR,
		.when = "said(slots) and (said(include) or said(exclude))",
		.require = "count(missing_hosts(" FILTER ")) == 0 : 'the hostfile has no "
		    "{missing_hosts(" FILTER ")}'; count(missing_slots(" FILTER ")) == 0 : 'slots "
		    "{requested: asked_slots(" FILTER ")} are asked for, those of the host end at "
		    "{max_slot_index: short_host(" FILTER ") - 1}'",
		.message = "deepspeed {if(said(include), '--include', '--exclude')} {" FILTER "}: "
		    "{problem}",
		.hint = "write slots={slots_needed: max(missing_slots(" FILTER ")) + 1} in the "
		    "hostfile and keep the filter || name hosts as the hostfile does",
		.source = RUNNER,
	},
	{
		.id = "LAU-017", .severity = SEVERITY_ERROR, .silent = true,
		.when = "set(env_world) and launch_nodes > 1",
		.require = "env_world != launch_nodes or given(launch_procs, gpus_per_node) == 1 "
		    "or world == launch_nodes",
		.message = "WORLD_SIZE {env_world} is the number of nodes, {launch_nodes} x "
		    "{given(launch_procs, given(gpus_per_node, 'n'))} processes are meant: some "
		    "platforms set it so, and torchrun overwrites it, other launchers do not",
		.hint = "set WORLD_SIZE={fix_world: launch_nodes * given(launch_procs, "
		    "gpus_per_node)} || set WORLD_SIZE to nodes x processes a node",
		.source = "platforms' own job environments; " TORCHRUN,
	},
	{
		.id = "LAU-018", .severity = SEVERITY_ERROR, .when = "set(env_world)",
		.require = "not set(env_rank) or env_rank < env_world : 'RANK {env_rank} is not "
		    "below WORLD_SIZE {env_world}'; not set(env_local_rank) or env_local_rank < "
		    "launch_procs : 'LOCAL_RANK {env_local_rank} is not below {launch_procs} "
		    "processes a node'; not set(env_rank) or not set(env_local_rank) or env_rank % "
		    "launch_procs == env_local_rank : 'RANK {env_rank} % {launch_procs} is not "
		    "LOCAL_RANK {env_local_rank}'",
		.message = "environment: {problem}",
		.hint = "RANK counts all processes, LOCAL_RANK those of a node",
		.source = "pytorch/pytorch "
		    "torch/distributed/elastic/agent/server/local_elastic_agent.py",
	},
	{
		.id = "LAU-019", .severity = SEVERITY_ERROR,
		.when = "launch_nodes > 1 and set(master_addr)",
		.require = "not in(master_addr, 'localhost', '127.0.0.1', '::1')",
		.message = "MASTER_ADDR {master_addr} on {launch_nodes} nodes: each waits for "
		    "itself",
		.hint = "use the first node's name or address",
		.source = TORCHRUN,
	},
	{
		.id = "LAU-020", .severity = SEVERITY_ERROR, .when = "set(master_port)",
		.require = "master_port <= 65535",
		.message = "MASTER_PORT {master_port} is no port",
		.hint = "use one from 1024 to 65535, such as 29500",
		.source = TORCHRUN,
	},
	{
		.id = "LAU-021", .severity = SEVERITY_ERROR,
		.when = "said(slots) and not said(include) and not said(exclude)",
		.require = "sum(slots) >= if(said(replicas), tp * replicas, world)",
		.message = "the hostfile has {available: sum(slots)} slots, {needed: "
		    "if(said(replicas), tp * replicas, world)} ranks are asked for",
		.hint = "TP {fix_tp: whole(sum(slots) / replicas)} fits || add hosts, or use "
		    "smaller degrees",
		.source = RUNNER,
	},
	{
		.id = "LAU-022", .severity = SEVERITY_ERROR,
		.when = "launch_procs > 0 and gpus_per_node > 0",
		.require = "launch_procs <= gpus_per_node",
		.message = "{launch_procs} processes a node, and a node has {gpus_per_node} GPUs",
		.hint = "use {gpus_per_node}",
		.source = "CUDA: one process a GPU",
	},
	{
		.id = "LAU-024", .severity = SEVERITY_ERROR, .silent = true,
		.when = "said(slots) and said(num_gpus)",
		.require = "num_gpus <= min(slots_used())",
		.message = "--num_gpus {num_gpus} on every host, and a host has "
		    "{min(slots_used())} slots: the launcher starts them all the same",
		.hint = "use {min(slots_used())}: --num_gpus counts those of one host",
		.source = RUNNER,
	},
	{
		.id = "LAU-023", .severity = SEVERITY_ERROR, .when = "set(env_world)",
		.require = "env_world == world or env_world == given(launch_nodes, 0)",
		.message = "WORLD_SIZE of the environment is {env_world}, the configuration is for "
		    "{world}",
		.hint = "set WORLD_SIZE={world}, or let the launcher set it",
		.source = TORCHRUN,
	},
	{.id = NULL},
};
/* clang-format on */
