/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How are the ranks of a plan started, equally many on each node, in node order?
 *
 * Each script starts the program that it is given: `torchrun.sh pretrain_gpt.py …`. Static
 * rendezvous, because an elastic one does not promise that rank 0 to 7 are the first host's,
 * and a plan keeps groups inside hosts. Source: PyTorch distributed/run.py, DeepSpeed
 * launcher/runner.py, Slurm's srun and Open MPI's mpirun manual pages.
 */
#include "base/arena.h"
#include "emit/private.h"

static const char PYTHON[] = "\"${PYTHON:-python3}\"";

static void
add_head(struct str *out, const struct plan_view *plan, const char *usage)
{
	str_addf(out, "# %s\n# usage: %s\n", plan_title(out->arena, plan), usage);
}

void
add_torchrun(struct str *out, const struct plan_view *plan)
{
	str_addf(out, "torchrun --nnodes %lld --nproc-per-node %lld", (long long)plan->nodes,
	    (long long)plan->gpus_per_node);
	if (plan->nodes > 1)
		str_add(out, " --node-rank \"${NODE_RANK:?0 on the first node}\" \\\n"
			     "    --master-addr \"${MASTER_ADDR:?host of rank 0}\"");
	else
		str_add(out, " \\\n    --master-addr \"${MASTER_ADDR:-localhost}\"");
	str_add(out, " --master-port \"${MASTER_PORT:-29500}\"");
}

struct emitted *
emit_torchrun(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	struct emitted *files = NULL;
	struct str out = str_new(arena);

	(void)diags, (void)version;
	str_add(&out, "#!/bin/sh\n");
	add_head(&out, plan,
	    plan->nodes > 1
		? "NODE_RANK=n MASTER_ADDR=host torchrun.sh SCRIPT [ARGUMENTS], on each node"
		: "torchrun.sh SCRIPT [ARGUMENTS]");
	str_add(&out, "set -eu\n");
	add_torchrun(&out, plan);
	str_add(&out, " \\\n    \"$@\"\n");
	add_file(arena, &files, "torchrun.sh", &out, true);
	return files;
}

/* Names of hosts are no part of a plan: worker-1 … stand for them. */
static void
add_hosts(struct str *out, const struct plan_view *plan)
{
	str_add(out, "# your hosts in the order of their ranks\n");
	for (int64_t node = 1; node <= plan->nodes; node++)
		str_addf(out, "worker-%lld slots=%lld\n", (long long)node,
		    (long long)plan->gpus_per_node);
}

struct emitted *
emit_deepspeed_launch(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	struct emitted *files = NULL;
	struct str hosts = str_new(arena), out = str_new(arena);

	(void)diags, (void)version;
	str_add(&out, "#!/bin/sh\n");
	add_head(
	    &out, plan, "deepspeed.sh SCRIPT [ARGUMENTS], on one node; hosts are in ./hostfile");
	str_add(&out, "set -eu\n");
	str_addf(&out, "deepspeed --hostfile hostfile --num_nodes %lld --num_gpus %lld",
	    (long long)plan->nodes, (long long)plan->gpus_per_node);
	str_add(&out, " \\\n    --master_port \"${MASTER_PORT:-29500}\" \\\n    \"$@\"\n");
	add_hosts(&hosts, plan);
	add_file(arena, &files, "deepspeed.sh", &out, true);
	add_file(arena, &files, "hostfile", &hosts, false);
	return files;
}

/* One task a node, which starts one process a GPU: SLURM_NTASKS is not the world size. */
static void
add_slurm(struct str *out, const struct plan_view *plan)
{
	str_addf(out, "#SBATCH --nodes=%lld\n#SBATCH --ntasks=%lld\n#SBATCH --ntasks-per-node=1\n",
	    (long long)plan->nodes, (long long)plan->nodes);
	str_addf(out, "#SBATCH --gpus-per-node=%lld\n#SBATCH --exclusive\n",
	    (long long)plan->gpus_per_node);
	add_head(out, plan, "sbatch slurm.sh SCRIPT [ARGUMENTS]");
	str_add(out, "set -eu\n"
		     "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
		     "export MASTER_ADDR\n"
		     "export MASTER_PORT=${MASTER_PORT:-29500}\n"
		     "# shellcheck disable=SC2016 # expanded by each task\n");
	str_addf(out,
	    "srun --kill-on-bad-exit=1 sh -c 'exec torchrun --nnodes %lld --nproc-per-node %lld "
	    "\\\n"
	    "    --node-rank \"$SLURM_NODEID\" --master-addr \"$MASTER_ADDR\" \\\n"
	    "    --master-port \"$MASTER_PORT\" \"$@\"' sh \"$@\"\n",
	    (long long)plan->nodes, (long long)plan->gpus_per_node);
}

struct emitted *
emit_slurm(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	struct emitted *files = NULL;
	struct str out = str_new(arena);

	(void)diags, (void)version;
	str_add(&out, "#!/bin/bash\n");
	add_slurm(&out, plan);
	add_file(arena, &files, "slurm.sh", &out, true);
	return files;
}

/* Frameworks read RANK and its like; Open MPI sets names of its own. */
struct emitted *
emit_mpirun(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	struct emitted *files = NULL;
	struct str hosts = str_new(arena), out = str_new(arena);

	(void)diags, (void)version;
	str_add(&out, "#!/bin/sh\n");
	add_head(&out, plan,
	    "MASTER_ADDR=host mpirun.sh SCRIPT [ARGUMENTS], on one node; hosts are in ./hostfile");
	str_add(&out, "set -eu\nexport MASTER_PORT=\"${MASTER_PORT:-29500}\"\n"
		      "# shellcheck disable=SC2016 # expanded by each rank\n");
	str_addf(&out,
	    "mpirun -np %lld --hostfile hostfile --map-by ppr:%lld:node --bind-to none \\\n",
	    (long long)plan->strategy.world, (long long)plan->gpus_per_node);
	str_addf(&out,
	    "    -x MASTER_ADDR=\"${MASTER_ADDR:?host of rank 0}\" -x MASTER_PORT \\\n"
	    "    sh -c 'export RANK=\"$OMPI_COMM_WORLD_RANK\" "
	    "WORLD_SIZE=\"$OMPI_COMM_WORLD_SIZE\"\n"
	    "        export LOCAL_RANK=\"$OMPI_COMM_WORLD_LOCAL_RANK\"\n"
	    "        exec %s \"$@\"' sh \"$@\"\n",
	    PYTHON);
	add_hosts(&hosts, plan);
	add_file(arena, &files, "mpirun.sh", &out, true);
	add_file(arena, &files, "hostfile", &hosts, false);
	return files;
}
