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
		.message = "hosts have different slots ({slots: slots_left()}): deepspeed computes "
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
		.when = "(launcher == 'srun' or (launcher == 'mpirun' and launch_read)) and world "
		    "> 1 and not scripted and not said(container_image) and not (launcher == "
		    "'mpirun' and framework == 'deepspeed')",
		.require = "(set(env_world) or stated('WORLD_SIZE')) and (set(master_addr) or "
		    "stated('MASTER_ADDR'))",
		.message = "{launcher} sets {if(launcher == 'srun', 'SLURM_PROCID, SLURM_LOCALID "
		    "and SLURM_NTASKS', 'OMPI_COMM_WORLD_RANK, _LOCAL_RANK and _SIZE')}, and no "
		    "RANK, WORLD_SIZE or MASTER_ADDR: PyTorch then waits for a variable or runs "
		    "{world} jobs of one rank",
		.hint = "export {if(launcher == 'srun', 'RANK=$SLURM_PROCID "
		    "LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS', "
		    "'RANK=$OMPI_COMM_WORLD_RANK LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK "
		    "WORLD_SIZE=$OMPI_COMM_WORLD_SIZE')} MASTER_ADDR=… MASTER_PORT=… in the task",
		.source = "Slurm srun(1); Open MPI mpirun(1); NVIDIA/Megatron-LM "
		    "megatron/core/_slurm_utils.py; NVIDIA/enroot conf/hooks/extra/"
		    "50-slurm-pytorch.sh (sets them in containers)",
	},
	{
		.id = "LAU-012", .severity = SEVERITY_ERROR, .silent = true,
		.when = "in(given(launcher, ''), 'torchrun', 'accelerate') and agents_per_node > 1",
		.require = "agents == launch_nodes and (said(gpus_per_task) or "
		    "said(sbatch.gpus_per_task))",
		.message = "{agents_per_node} tasks a node each start {launcher} with "
		    "{launch_procs} processes: {started: agents_per_node * launch_procs} a node",
		.hint = "use --ntasks-per-node 1 and {if(launcher == 'torchrun', "
		    "'--nproc-per-node', '--num_processes')} for the GPUs",
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
		.when = "set(env_world) and launch_nodes > 1 and not (launch_read and "
		    "in(given(launcher, ''), 'torchrun', 'deepspeed', 'accelerate'))",
		.require = "env_world != launch_nodes or given(launch_procs, given(gpus_per_node, "
		    "2)) == 1 or world == launch_nodes",
		.message = "WORLD_SIZE {env_world} is the number of nodes, {launch_nodes} x "
		    "{given(launch_procs, given(gpus_per_node, world / launch_nodes))} processes "
		    "are meant: some platforms set it so, and torchrun overwrites it, other "
		    "launchers do not",
		.hint = "set WORLD_SIZE={fix_world: launch_nodes * given(launch_procs, "
		    "given(gpus_per_node, world / launch_nodes))} || set WORLD_SIZE to nodes x "
		    "processes a node",
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
		.id = "LAU-019", .severity = SEVERITY_ERROR, .silent = true,
		.when = "launch_nodes > 1",
		/* the first node's own script may call it so */
		.require = "not in(master_addr, 'localhost', '127.0.0.1', '::1') or (launcher == "
		    "'torchrun' and said(rdzv_endpoint)) or given(node_rank, 1) == 0 : "
		    "'MASTER_ADDR {master_addr}'; not (starts(rdzv_endpoint, 'localhost') or "
		    "starts(rdzv_endpoint, '127.0.0.')) : '--rdzv-endpoint {rdzv_endpoint}'; not "
		    "on(standalone) : '--standalone'; not differs('master_addr', 'host') : "
		    "'--master-addr {written('master_addr')}'; not differs('main_process_ip', "
		    "'host') : '--main_process_ip {written('main_process_ip')}'; not "
		    "differs('rdzv_endpoint', 'host') : '--rdzv-endpoint "
		    "{written('rdzv_endpoint')}'; not differs('MASTER_ADDR', 'host') or "
		    "stated('master_addr') or stated('rdzv_endpoint') : 'MASTER_ADDR "
		    "{written('MASTER_ADDR')}'",
		.message = "{problem} on {launch_nodes} nodes: each waits for itself",
		.hint = "use the first node's name or address, the same on all",
		.source = TORCHRUN,
	},
	{
		.id = "LAU-020", .severity = SEVERITY_ERROR,
		.require = "master_port <= 65535 : 'MASTER_PORT {master_port} is no port'; "
		    "number_behind(rdzv_endpoint, ':') <= 65535 : 'the port of --rdzv-endpoint "
		    "{rdzv_endpoint} is none'; not differs('master_port', 'port') and not "
		    "differs('MASTER_PORT', 'port') and not differs('rdzv_endpoint', 'port') "
		    "and not differs('main_process_port', 'port') or launch_nodes == 1 : 'a "
		    "port from $RANDOM is another one on each node'",
		.message = "{problem}",
		.hint = "use one from 1024 to 65535, such as 29500",
		.source = TORCHRUN,
	},
	{
		.id = "LAU-021", .severity = SEVERITY_ERROR,
		.when = "said(slots) and not said(include) and not said(exclude)",
		.require = "sum(slots_left()) >= if(said(replicas), tp * replicas, world)",
		.message = "the hostfile's {count(slots_left())} hosts have {available: "
		    "sum(slots_left())} slots, {needed: if(said(replicas), tp * replicas, world)} "
		    "ranks are asked for",
		.hint = "TP {fix_tp: whole(sum(slots_left()) / replicas)} fits || add hosts, or "
		    "use smaller degrees",
		.source = RUNNER,
	},
	{
		.id = "LAU-022", .severity = SEVERITY_ERROR,
		.when = "launch_procs > 0",
		.require = "launch_procs <= launch_gpus : 'the launch leaves them {launch_gpus} "
		    "GPUs'; launch_procs <= gpus_per_node : 'a node has {gpus_per_node} GPUs'",
		.message = "{launch_procs} processes a node, and {problem}",
		.hint = "start {min(given(launch_gpus, gpus_per_node), given(gpus_per_node, "
		    "launch_gpus))} on each node, or ask for more GPUs",
		.source = "CUDA: one process a GPU",
	},
	{
		.id = "LAU-024", .severity = SEVERITY_ERROR, .silent = true,
		.when = "said(slots) and said(num_gpus)",
		.require = "num_gpus <= min(slots_used())",
		.message = "--num_gpus {num_gpus} on every host, and a host has "
		    "{slots_of_host: min(slots_used())} slots: the launcher starts them all the "
		    "same",
		.hint = "use {min(slots_used())}: --num_gpus counts those of one host",
		.source = RUNNER,
	},
	{
		.id = "LAU-040", .severity = SEVERITY_ERROR, .silent = true,
		.when = "launch_nodes > 1 and set(world) and not said(slots)",
		.require = "world % launch_nodes == 0",
		.message = "{world} processes on {launch_nodes} nodes: launchers start the same "
		    "number on each, {started: floor(world / launch_nodes) * launch_nodes} in all: "
		    "{remainder: world % launch_nodes} left over",
		.hint = "use {fewer: multiple_below(world, launch_nodes)} or {more: "
		    "multiple_above(world, launch_nodes)}",
		.source = "huggingface/accelerate src/accelerate/utils/launch.py: num_processes // "
		    "num_machines; " TORCHRUN "; huggingface/open-r1#353",
	},
	{
		.id = "LAU-023", .severity = SEVERITY_ERROR, .when = "set(env_world)",
		.require = "env_world == world or env_world == given(launch_nodes, 0)",
		.message = "WORLD_SIZE of the environment is {env_world}, the configuration is for "
		    "{world}",
		.hint = "set WORLD_SIZE={world}, or let the launcher set it",
		.source = TORCHRUN,
	},
	{
		.id = "LAU-025", .severity = SEVERITY_ERROR, .silent = true,
		.when = "in(given(launcher, ''), 'torchrun', 'accelerate') and launch_nodes > 0",
		.require = "not (agents > 0 and agents_per_node == 1) or agents == launch_nodes or "
		    "said(nodelist) or said(relative) : '{outer} starts {agents} of it'; "
		    "set(outer) or launch_nodes == 1 or not job_nodes > 1 : 'the script of the job "
		    "runs on its first node alone, no srun starts {launcher} on the others'; "
		    "launch_nodes <= job_nodes : 'the job has {job_nodes}'",
		.message = "{launcher} of {launch_nodes} nodes: {problem}",
		.hint = "start one on each node, srun --nodes {launch_nodes} --ntasks-per-node 1 "
		    "{launcher}, and ask for as many nodes",
		.source = TORCHRUN "; Slurm sbatch(1), srun(1)",
	},
	{
		.id = "LAU-034", .severity = SEVERITY_WARNING, .silent = true,
		.when = "launch_read and launch_nodes > 1 and not launch_open",
		.require = "launcher != 'torchrun' or stated('master_addr') or "
		    "stated('rdzv_endpoint') or stated('PET_MASTER_ADDR') or on(standalone) : "
		    "'torchrun waits at 127.0.0.1 without --master-addr or --rdzv-endpoint, "
		    "whatever MASTER_ADDR is'; launcher != 'torchrun' or stated('node_rank') or "
		    "stated('PET_NODE_RANK') or stated('rdzv_backend') or on(standalone) : 'each "
		    "takes itself for the first without --node-rank or --rdzv-backend c10d'; "
		    "launcher != 'accelerate' or stated('main_process_ip') or said(config_file) : "
		    "'accelerate does not know the first machine without --main_process_ip'",
		.message = "{launch_nodes} nodes: {problem}",
		.hint = "name the first node, and each node's number: --node-rank "
		    "\"$SLURM_NODEID\" inside srun … bash -c '…'",
		.source = TORCHRUN "; huggingface/accelerate src/accelerate/utils/launch.py",
	},
	{
		.id = "LAU-027", .severity = SEVERITY_ERROR,
		.when = "launch_nodes > 1",
		.require = "node_rank < launch_nodes : '{node_rank} is not below {launch_nodes} "
		    "nodes'; not (agents > 1 and node_rank >= 0) : '{node_rank} in all {agents} "
		    "tasks, filled in before srun starts them'; not starts(node_rank, '$') : "
		    "'{node_rank} reaches {launcher} as it is: no shell expands it behind srun'; "
		    "given(counts('node_rank'), 'node') != 'local rank' and "
		    "given(counts('machine_rank'), 'node') != 'local rank' : 'a local rank is 0 on "
		    "every node'; not (agents_per_node > 1) or given(counts('node_rank'), 'node') "
		    "== 'node' : 'a rank counts all tasks, {agents_per_node} on each node'",
		.message = "--node-rank: {problem}",
		.hint = "let each task fill it in: srun … bash -c '… --node-rank $SLURM_NODEID …'",
		.source = TORCHRUN "; Slurm srun(1)",
	},
	{
		.id = "LAU-028", .severity = SEVERITY_ERROR, .silent = true,
		.when = "in(given(launcher, ''), 'srun', 'mpirun') and world > 1",
		.require = "not set(env_rank) : 'RANK is {env_rank}'; not set(env_local_rank) or "
		    "launch_procs == 1 or (env_local_rank == 0 and (said(gpus_per_task) or "
		    "said(sbatch.gpus_per_task) or said(gpu_bind))) : 'LOCAL_RANK is "
		    "{env_local_rank}'",
		.message = "{problem} in all {world} tasks: it is filled in before {launcher} "
		    "starts them",
		.hint = "export them in the task: {if(launcher == 'srun', 'srun bash -c \"export "
		    "RANK=\\$SLURM_PROCID LOCAL_RANK=\\$SLURM_LOCALID', 'mpirun bash -c \"export "
		    "RANK=\\$OMPI_COMM_WORLD_RANK LOCAL_RANK=\\$OMPI_COMM_WORLD_LOCAL_RANK')} …\"",
		.source = "Slurm srun(1), sbatch(1): the script is the first task of the first "
		    "node; Open MPI mpirun(1)",
	},
	{
		.id = "LAU-029", .severity = SEVERITY_ERROR, .silent = true,
		.when = "in(given(launcher, ''), 'srun', 'mpirun') and given(world, 2) > 1",
		.require = "in(given(counts('RANK'), 'rank'), 'rank') or (counts('RANK') == 'node' "
		    "and launch_procs == 1) : 'RANK={written('RANK')} is the "
		    "{counts('RANK')}'; in(given(counts('LOCAL_RANK'), 'local rank'), 'local "
		    "rank') or (counts('LOCAL_RANK') == 'rank' and launch_nodes == 1) : "
		    "'LOCAL_RANK={written('LOCAL_RANK')} is the {counts('LOCAL_RANK')}'; "
		    "in(given(counts('WORLD_SIZE'), 'tasks'), 'tasks') or (counts('WORLD_SIZE') == "
		    "'nodes' and launch_procs == 1) or (counts('WORLD_SIZE') == 'tasks of a node' "
		    "and launch_nodes == 1) : 'WORLD_SIZE={written('WORLD_SIZE')} counts the "
		    "{counts('WORLD_SIZE')}'",
		.message = "environment: {problem}",
		.hint = "RANK counts all processes, LOCAL_RANK those of a node, WORLD_SIZE is how "
		    "many there are in all",
		.source = "Slurm srun(1); Open MPI mpirun(1); pytorch/pytorch "
		    "torch/distributed/distributed_c10d.py (env://)",
	},
	{
		.id = "LAU-030", .severity = SEVERITY_WARNING, .silent = true,
		.when = "launch_read and launch_gpus > 0 and not scripted and not "
		    "stated('CUDA_VISIBLE_DEVICES')",
		.require = "launch_procs >= launch_gpus : '{launch_procs} of {launch_gpus} GPUs of "
		    "a node'; launch_nodes >= job_nodes or agents > 0 or launcher != 'torchrun' : "
		    "'{launch_nodes} of {job_nodes} nodes'",
		.message = "{problem} are used: the others of the job are paid for and idle",
		.hint = "ask for what is used, or start a process on each GPU",
		.source = "Slurm sbatch(1)",
	},
	{
		.id = "LAU-031", .severity = SEVERITY_ERROR,
		.when = "launch_read and launcher == 'deepspeed' and not launch_open",
		.require = "given(num_nodes, 1) <= 1 or said(slots) or stated('hostfile') : "
		    "'--num_nodes {num_nodes} without a hostfile, only this machine is known'; "
		    "num_nodes <= count(slots) : '--num_nodes {num_nodes}, and the hostfile has "
		    "{hosts: count(slots)} hosts: it starts those and says nothing'; "
		    "count(slots_left()) > 0 or said(include) : 'no slot is left to start a rank "
		    "on'; not on(no_ssh) or stated('node_rank') : '--no_ssh needs --node_rank on "
		    "each node'; not (agents > 1) or on(no_ssh) : '{outer} starts it {agents} "
		    "times, and each starts the ranks of all hosts'",
		.message = "deepspeed: {problem}",
		.hint = "start it once, with a hostfile of all hosts, or on each node with "
		    "--no_ssh --node_rank",
		.source = RUNNER,
	},
	{
		.id = "LAU-032", .severity = SEVERITY_ERROR,
		.require = "sbatch.ntasks <= sbatch.nodes * sbatch.ntasks_per_node : '--ntasks "
		    "{sbatch.ntasks} is more than {sbatch.nodes} nodes x {sbatch.ntasks_per_node} "
		    "tasks'; launcher != 'srun' or launch_nodes <= job_nodes : 'srun takes "
		    "{launch_nodes} nodes of a job that has {job_nodes}'; launcher != 'mpirun' or "
		    "on(oversubscribe) or said(slots) or world <= given(sbatch.ntasks, "
		    "sbatch.nodes * sbatch.ntasks_per_node) : 'mpirun starts {world} ranks, and "
		    "Slurm gives {given(sbatch.ntasks, sbatch.nodes * sbatch.ntasks_per_node)} "
		    "tasks to start them in'",
		.message = "Slurm: {problem}",
		.hint = "make nodes x tasks a node the number of ranks",
		.source = "Slurm sbatch(1), srun(1); Open MPI mpirun(1) (slots of a Slurm job)",
	},
	{
		.id = "LAU-033", .severity = SEVERITY_WARNING, .silent = true,
		.when = "launcher == 'deepspeed' and stated('CUDA_VISIBLE_DEVICES')",
		.require = "said(slots) or stated('hostfile') or not (said(include) or "
		    "said(exclude) or said(num_gpus) or given(num_nodes, 1) > 1)",
		.message = "deepspeed does not look at CUDA_VISIBLE_DEVICES "
		    "{written('CUDA_VISIBLE_DEVICES')} beside {if(said(include), '--include', "
		    "if(said(exclude), '--exclude', if(said(num_gpus), '--num_gpus', "
		    "'--num_nodes')))}",
		.hint = "say it with --include localhost:{written('CUDA_VISIBLE_DEVICES')}, or "
		    "leave the option out",
		.source = RUNNER,
	},
	{.id = NULL},
};
/* clang-format on */
