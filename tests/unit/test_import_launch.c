/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Launch lines, Slurm headers, hostfiles, environment: who starts how many ranks where. */
#include <criterion/criterion.h>
#include <string.h>

#include "import_fixture.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static struct imported imported;

static void
tear_down(void)
{
	if (imported.arena)
		imported_free(&imported);
}

TestSuite(import_launch, .fini = tear_down, .timeout = 20);

struct launched {
	const char *text, *launcher;
	int64_t nodes, per_node, world;
};

static void
check_rows(const struct launched *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct launch *launch;

		imported = import_good("run.sh", rows[i].text);
		launch = &imported.config.launch;
		if (rows[i].launcher)
			cr_assert_str_eq(launch->launcher, rows[i].launcher, "%s", rows[i].text);
		else
			cr_assert_null(launch->launcher, "%s", rows[i].text);
		cr_assert_eq(launch->nodes, rows[i].nodes, "%s: %lld nodes", rows[i].text,
		    (long long)launch->nodes);
		cr_assert_eq(launch->processes_per_node, rows[i].per_node, "%s: %lld a node",
		    rows[i].text, (long long)launch->processes_per_node);
		cr_assert_eq(imported.config.strategy.world, rows[i].world, "%s: world %lld",
		    rows[i].text, (long long)imported.config.strategy.world);
		imported_free(&imported);
	}
	imported.arena = NULL;
}

Test(import_launch, torchrun)
{
	static const struct launched rows[] = {
	    {"torchrun --nproc_per_node=8 --nnodes=2 --node_rank=0 --master_addr=a --master_port=1 "
	     "t.py",
		"torchrun", 2, 8, 16},
	    {"torchrun --nproc-per-node 8 --nnodes 2 t.py --x 1", "torchrun", 2, 8, 16},
	    {"torchrun --nproc-per-node 4 t.py", "torchrun", 1, 4, 4},
	    {"python -m torch.distributed.run --nproc_per_node 8 --nnodes 4 t.py", "torchrun", 4, 8,
		32},
	    {"python3 -u -m torch.distributed.launch --nproc_per_node 2 t.py", "torchrun", 1, 2, 2},
	    {"torchrun --nnodes 2:2 --nproc-per-node 8 t.py", "torchrun", 2, 8, 16},
	    {"torchrun --nnodes 1:4 --nproc-per-node 8 t.py", "torchrun", 0, 8, 0},
	    {"torchrun --nnodes 2 --nproc-per-node gpu t.py", "torchrun", 2, 0, 0},
	    {"torchrun --nnodes 2 --nproc-per-node $(nvidia-smi -L | wc -l) t.py", "torchrun", 2, 0,
		0},
	    {"G=8; N=${N:-4}; torchrun --nnodes $N --nproc-per-node $G t.py", "torchrun", 4, 8, 32},
	    {"nohup numactl --cpunodebind 0 torchrun --standalone --nproc-per-node 8 t.py &",
		"torchrun", 1, 8, 8},
	    {"/opt/bin/torchrun --nproc-per-node=8 -m torchtitan.train --module x", "torchrun", 1,
		8, 8},
	};

	check_rows(rows, ROWS(rows));
}

Test(import_launch, deepspeed)
{
	static const struct launched rows[] = {
	    {"deepspeed --num_gpus=8 --num_nodes=2 --master_addr a --master_port 1 t.py "
	     "--deepspeed_config ds.json",
		"deepspeed", 2, 8, 16},
	    {"deepspeed --num_gpus 8 t.py", "deepspeed", 1, 8, 8},
	    {"deepspeed t.py --deepspeed", "deepspeed", 1, 0, 0},
	    {"deepspeed --hostfile h t.py", "deepspeed", 0, 0, 0},
	};

	check_rows(rows, ROWS(rows));
}

Test(import_launch, slurm)
{
	static const struct launched rows[] = {
	    {"srun --nodes 2 --ntasks-per-node 8 python t.py", "srun", 2, 8, 16},
	    {"srun -N2 -n 16 python t.py", "srun", 2, 8, 16},
	    {"#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=8 # all\nsrun python "
	     "t.py\n",
		"srun", 4, 8, 32},
	    {"#!/bin/bash\n#SBATCH -N 4\n#SBATCH --ntasks-per-node=1\n#SBATCH --gres=gpu:h100:8\n"
	     "srun torchrun --nnodes $SLURM_NNODES --nproc-per-node $SLURM_GPUS_ON_NODE t.py\n",
		"torchrun", 4, 8, 32},
	    {"#!/bin/bash\n#SBATCH --nodes=2\nx=1\n#SBATCH --nodes=9\nsrun -n 4 python t.py\n",
		"srun", 2, 2, 4},
	    {"srun -N 2 --container-image img bash -c \"cd x && torchrun --nnodes 2 "
	     "--nproc-per-node 8 t.py\"",
		"torchrun", 2, 8, 16},
	    {"#SBATCH --nodes=2\nN=$(scontrol show hostnames | wc -l)\n"
	     "srun torchrun --nnodes $N --nproc-per-node 8 t.py\n",
		"torchrun", 2, 8, 16},
	};

	check_rows(rows, ROWS(rows));
}

struct asked {
	const char *text, *outer;
	int64_t gpus, agents, job_nodes, world;
};

/* What Slurm was asked for, in the header, by srun, or both: sbatch(1), srun(1). */
Test(import_launch, what_slurm_gives)
{
#define JOB "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH "
#define TORCHRUN "torchrun --nnodes 2 --nproc-per-node 8 t.py"
	static const struct asked rows[] = {
	    {JOB "--gpus-per-node=4\nsrun -n 8 python t.py", NULL, 4, 0, 2, 8},
	    {JOB "--gpus-per-node=h100:4\nsrun -n 8 python t.py", NULL, 4, 0, 2, 8},
	    {JOB "--gres=gpu:4\nsrun python t.py", NULL, 4, 0, 2, 2},
	    {JOB "--gres=gpu:h100:4,nvme:1\nsrun python t.py", NULL, 4, 0, 2, 2},
	    {JOB "--gres=gpu\nsrun python t.py", NULL, 1, 0, 2, 2},
	    {JOB "--gres=nvme:2\nsrun python t.py", NULL, 0, 0, 2, 2},
	    {JOB "--tres-per-node=gres/gpu:8\nsrun python t.py", NULL, 8, 0, 2, 2},
	    {JOB "--gpus=8\nsrun python t.py", NULL, 4, 0, 2, 2},
	    {JOB "--gpus=a100:3\nsrun python t.py", NULL, 0, 0, 2, 2},
	    {JOB "--gpus-per-task=2\nsrun --ntasks-per-node 4 python t.py", NULL, 8, 0, 2, 8},
	    {JOB "--gres=gpu:8\nsrun --gres=gpu:2 python t.py", NULL, 2, 0, 2, 2},
	    {JOB "--gres=gpu:8\nexport CUDA_VISIBLE_DEVICES=0,1\nsrun python t.py", NULL, 2, 0, 2,
		2},
	    {JOB "--gres=gpu:4\nsrun torchrun --nnodes 2 --nproc-per-node gpu t.py", "srun", 4, 2,
		2, 8},
	    {"#SBATCH --gres=gpu:4\ndeepspeed t.py", NULL, 4, 0, 0, 4},
	    {JOB "--gres=gpu:8\nsrun " TORCHRUN, "srun", 8, 2, 2, 16},
	    {JOB "--ntasks-per-node=8\nsrun --ntasks-per-node=1 " TORCHRUN, "srun", 0, 2, 2, 16},
	    {JOB "--ntasks-per-node=8\nsrun -n 2 " TORCHRUN, "srun", 0, 2, 2, 16},
	    {JOB "--ntasks=4\n#SBATCH --gpus-per-task=4\nsrun " TORCHRUN, "srun", 4, 4, 2, 16},
	    {"for h in a b; do ssh $h " TORCHRUN "; done", "ssh", 0, 0, 0, 16},
	    {"srun -N 4 -G 16 python t.py", NULL, 4, 0, 0, 4},
	};
#undef JOB
#undef TORCHRUN

	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct launch *launch;

		imported = import_good("run.sh", rows[i].text);
		launch = &imported.config.launch;
		cr_assert_eq(launch->outer != NULL, rows[i].outer != NULL, "%s", rows[i].text);
		cr_assert(!rows[i].outer || strcmp(launch->outer, rows[i].outer) == 0);
		cr_assert_eq(launch->gpus_per_node, rows[i].gpus, "%s: %lld GPUs", rows[i].text,
		    (long long)launch->gpus_per_node);
		cr_assert_eq(launch->agents, rows[i].agents, "%s", rows[i].text);
		cr_assert_eq(launch->job_nodes, rows[i].job_nodes, "%s", rows[i].text);
		cr_assert_eq(imported.config.strategy.world, rows[i].world, "%s: world %lld",
		    rows[i].text, (long long)imported.config.strategy.world);
		imported_free(&imported);
	}
	imported.arena = NULL;
}

/* The script of a job expands before tasks are started; a shell in the task does it in each. */
Test(import_launch, script_and_task)
{
	static const struct {
		const char *text, *rank;
	} rows[] = {
	    {"#SBATCH -n 4\nexport RANK=$SLURM_PROCID\nsrun python t.py", "0"},
	    {"#SBATCH -n 4\nsrun bash -c 'RANK=$SLURM_PROCID python t.py'", "$SLURM_PROCID"},
	    {"#SBATCH -n 4\nsrun bash -c \"RANK=\\$SLURM_PROCID python t.py\"", "$SLURM_PROCID"},
	    {"#SBATCH -n 4\nsrun bash -c \"RANK=$SLURM_PROCID python t.py\"", "0"},
	    {"#SBATCH -n 4\nsrun bash -c 'RANK=$SLURM_NTASKS python t.py'", "4"},
	    {"#SBATCH -n 4\nsrun -n2 bash -c 'RANK=$SLURM_NTASKS python t.py'", "$SLURM_NTASKS"},
	    {"#SBATCH -n 4\nsrun --ntasks=2 bash -c 'RANK=$SLURM_NTASKS python t.py'",
		"$SLURM_NTASKS"},
	    {"srun -n 4 bash -c 'RANK=$(hostname) python t.py'", "$(hostname) in each task"},
	    {"export RANK=$(hostname)\nsrun -n 4 bash -c 'python t.py'", "$(hostname)"},
	    {"RANK=${RANK:-0} torchrun --nproc-per-node 4 t.py", "${RANK:-0}"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct setting *rank;

		imported = import_good("run.sh", rows[i].text);
		rank = setting_find(&imported.config, "RANK");
		cr_assert_not_null(rank, "%s", rows[i].text);
		cr_assert_str_eq(rank->value->text, rows[i].rank, "%s", rows[i].text);
		imported_free(&imported);
	}
	imported.arena = NULL;
}

/* Whose rules hold for a launch line without options of a framework. */
Test(import_launch, framework_of_the_program)
{
	static const struct {
		const char *text;
		enum framework framework;
		bool told;
	} rows[] = {
	    {"torchrun --nproc-per-node 8 -m torchtitan.train", FRAMEWORK_TORCHTITAN, true},
	    {"deepspeed --num_gpus 8 train.py", FRAMEWORK_DEEPSPEED, true},
	    {"torchrun --nproc-per-node 8 pretrain_gpt.py", FRAMEWORK_MEGATRON, true},
	    {"torchrun --nproc-per-node 8 train.py", FRAMEWORK_MEGATRON, false},
	    {"torchrun --nproc-per-node 8 \"$@\"", FRAMEWORK_MEGATRON, false},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct strategy *s = &imported.config.strategy;

		imported = import_good("run.sh", rows[i].text);
		cr_assert_eq(s->framework, rows[i].framework, "%s", rows[i].text);
		cr_assert_eq((s->said & SAID_FRAMEWORK) != 0, rows[i].told, "%s", rows[i].text);
		imported_free(&imported);
	}
	imported.arena = NULL;
}

Test(import_launch, late_header)
{
	imported =
	    import_good("run.sh", "#SBATCH --nodes=2\nx=1\n#SBATCH --ntasks=4\nsrun python t.py\n");
	cr_assert_eq(imported.diags->warnings, 1);
	imported_free(&imported);
	imported = import_good("run.sh",
	    "#SBATCH --nodes=2\ncat >b.sh <<E\n#SBATCH --ntasks=4\nE\nsrun python t.py\n");
	cr_assert_eq(imported.diags->warnings, 0);
}

Test(import_launch, hosts_of_mpirun)
{
	imported = import_good("run.sh", "mpirun -np 16 -H a:8,b:8 python t.py\n");
	cr_assert_not_null(imported.config.launch.hostfile);
	cr_assert_eq(imported.config.launch.hostfile->count, 2);
	imported_free(&imported);
	imported = import_good("run.sh", "mpirun -np 16 -H a,b python t.py\n");
	cr_assert_null(imported.config.launch.hostfile);
}

Test(import_launch, others)
{
	static const struct launched rows[] = {
	    {"mpirun -np 16 -N 8 python t.py", "mpirun", 2, 8, 16},
	    {"mpirun -n 16 --map-by ppr:4:node -x WORLD_SIZE=16 python t.py", "mpirun", 4, 4, 16},
	    {"mpirun -np 16 python t.py", "mpirun", 0, 0, 16},
	    {"accelerate launch --num_processes 16 --num_machines 2 t.py", "accelerate", 2, 8, 16},
	    {"accelerate launch --num_processes 8 t.py", "accelerate", 1, 8, 8},
	    {"export WORLD_SIZE=16\nMASTER_ADDR=a\n", NULL, 0, 0, 16},
	    {"WORLD_SIZE=4\nRANK=1\nLOCAL_RANK=1\n", NULL, 0, 0, 4},
	};

	check_rows(rows, ROWS(rows));
}

Test(import_launch, environment)
{
	imported = import_good("run.sh",
	    "export MASTER_ADDR=10.0.0.1\nexport MASTER_PORT=29500\nexport "
	    "CUDA_DEVICE_MAX_CONNECTIONS=1\n"
	    "export WANDB_NAME=x\nRANK=3 LOCAL_RANK=3 WORLD_SIZE=16 python t.py "
	    "--tensor-model-parallel-size 2\n");
	cr_assert_str_eq(imported.config.launch.master_addr, "10.0.0.1");
	cr_assert_eq(imported.config.launch.master_port, 29500);
	cr_assert_eq(imported.config.launch.rank, 3);
	cr_assert_eq(imported.config.launch.local_rank, 3);
	cr_assert_eq(imported.config.launch.world_size, 16);
	cr_assert_str_eq(import_value_of(&imported, "CUDA_DEVICE_MAX_CONNECTIONS"), "1");
	cr_assert_null(setting_find(&imported.config, "WANDB_NAME"));
	cr_assert_eq(
	    setting_find(&imported.config, "CUDA_DEVICE_MAX_CONNECTIONS")->form, CONFIG_NUMBERS);
}

/* What a command finds when it starts, not what the script does later or in another shell. */
Test(import_launch, environment_of_the_moment)
{
	imported = import_good("run.sh",
	    "export NCCL_DEBUG=INFO\nsrun -n 4 sh -c 'export RANK=$SLURM_PROCID WORLD_SIZE=4; "
	    "exec python t.py --tensor-model-parallel-size 2'\nexport NCCL_DEBUG=WARN\n");
	cr_assert_str_eq(import_value_of(&imported, "NCCL_DEBUG"), "INFO");
	cr_assert_str_eq(import_unknown_of(&imported, "RANK"), "$SLURM_PROCID");
	cr_assert_eq(imported.config.launch.world_size, 4);
	cr_assert_eq(imported.config.launch.rank, -1);
}

Test(import_launch, nothing_is_said)
{
	imported = import_good("run.sh", "python t.py --tensor-model-parallel-size 2\n");
	cr_assert_null(imported.config.launch.launcher);
	cr_assert_eq(imported.config.launch.rank, -1);
	cr_assert_eq(imported.config.launch.local_rank, -1);
	cr_assert_eq(imported.config.strategy.world, 0);
}

/* --- hostfiles ------------------------------------------------------------------------------ */

Test(import_launch, hostfile)
{
	const struct doc *hosts;

	imported = import_good("hosts", "# workers\nwork1 slots=8\n\nwork2\tslots=8 max_slots=8\n");
	hosts = imported.config.launch.hostfile;
	cr_assert_eq(hosts->count, 2);
	cr_assert_str_eq(hosts->first->key, "work1");
	cr_assert_eq(hosts->first->integer, 8);
	cr_assert_eq(hosts->first->next->loc.line, 4);
	cr_assert_eq(imported.config.launch.nodes, 2);
	cr_assert_eq(imported.config.launch.processes_per_node, 8);
	cr_assert_eq(imported.config.strategy.world, 16);
}

Test(import_launch, hostfile_and_filters)
{
	static const struct {
		const char *options;
		int64_t nodes, world;
	} rows[] = {
	    {"--num_nodes 1", 1, 8},
	    {"--num_gpus 4", 2, 8},
	    {"--num_nodes 2 --num_gpus 2", 2, 4},
	    {"--include work1", 1, 8},
	    {"--include work1:0,1@work2:2", 2, 3},
	    {"--exclude work2", 1, 8},
	    {"--exclude work2:0", 2, 15},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		imported = imported_new();
		import_add(&imported, "hosts", "work1 slots=8\nwork2 slots=8\n");
		import_add(&imported, "run.sh",
		    arena_printf(
			imported.arena, "deepspeed --hostfile hosts %s t.py\n", rows[i].options));
		cr_assert_eq(imported.result, 0);
		cr_assert_eq(imported.config.launch.nodes, rows[i].nodes, "%s", rows[i].options);
		cr_assert_eq(imported.config.strategy.world, rows[i].world, "%s: %lld",
		    rows[i].options, (long long)imported.config.strategy.world);
		imported_free(&imported);
	}
	imported.arena = NULL;
}

Test(import_launch, uneven_hostfile)
{
	imported = import_good("hosts", "a slots=8\nb slots=4\n");
	cr_assert_eq(imported.config.launch.processes_per_node, 0);
	cr_assert_eq(imported.config.strategy.world, 12);
}

Test(import_launch, bad_hostfiles)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
	    {"a slots=8\na slots=8\n", "host 'a' is already in line 1"},
	    {"a slots=8\nb slots\n", "'b slots' is no line of a hostfile"},
	    {"a slots=8\nb 8\n", "'b 8' is no line of a hostfile"},
	    {"a slots=99999999999999999999\n", "is no line of a hostfile"},
	    {"a slots=8 extra\n", "is no line of a hostfile"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		imported = imported_new();
		import_add(&imported, "hosts", rows[i].text);
		cr_assert_eq(imported.result, -1, "%s", rows[i].text);
		cr_assert(import_has_message(&imported, SEVERITY_ERROR, rows[i].message), "%s: %s",
		    rows[i].text, imported.diags->last->message);
		imported_free(&imported);
	}
	imported.arena = NULL;
}

Test(import_launch, two_hostfiles)
{
	imported = imported_new();
	import_add(&imported, "one", "a slots=8\n");
	import_add(&imported, "same", "a slots=8\n");
	cr_assert_eq(imported.result, 0);
	import_add(&imported, "two", "a slots=4\n");
	cr_assert_eq(imported.result, -1);
	cr_assert(
	    import_has_message(&imported, SEVERITY_ERROR, "names other hosts or slots than one"));
}

Test(import_launch, fewer_ranks_than_planned)
{
	imported = imported_new();
	import_add(&imported, "e.json",
	    "{\"schema\": \"moeplan/estimate/v1\", \"strategy\": {\"framework\": \"megatron\", "
	    "\"world_size\": 32}}");
	import_add(&imported, "run.sh", "torchrun --nnodes 2 --nproc-per-node 8 t.py\n");
	cr_assert_eq(imported.result, -1);
	cr_assert(import_has_message(
	    &imported, SEVERITY_ERROR, "16 ranks are started, 'world_size' is 32 in e.json:1"));
}
