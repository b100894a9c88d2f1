/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which programs start ranks, and which of their options say how many where?
 *
 * Options: PyTorch torch/distributed/run.py, DeepSpeed launcher/runner.py, srun(1), sbatch(1),
 * mpirun(1), Accelerate commands/launch.py.
 */
#include "check/launchers.h"

#include <string.h>

/* clang-format off */
static const struct launch_option torchrun_options[] = {
	{"standalone", "standalone", 0}, {"no_python", "no_python", 0},
	{"run_path", "run_path", 0}, {"module", "module", 0}, {"m", "module", 0},
	{"t", "tee", 1}, {"r", "redirects", 1}, {"use_env", "use_env", 0},
	{.name = NULL},
};
static const struct launch_option deepspeed_options[] = {
	{"H", "hostfile", 1}, {"i", "include", 1}, {"e", "exclude", 1},
	{"m", "module", 0}, {"module", "module", 0}, {"no_python", "no_python", 0},
	{"no_local_rank", "no_local_rank", 0}, {"no_ssh_check", "no_ssh_check", 0},
	{"no_ssh", "no_ssh", 0}, {"force_multi", "force_multi", 0},
	{"save_pid", "save_pid", 0}, {"elastic_training", "elastic_training", 0},
	{"bind_cores_to_rank", "bind_cores_to_rank", 0},
	{"num_accelerators", "num_gpus", 1},
	{.name = NULL},
};
static const struct launch_option srun_options[] = {
	{"N", "nodes", 1}, {"n", "ntasks", 1}, {"G", "gpus", 1},
	{"c", "cpus_per_task", 1}, {"J", "job_name", 1}, {"p", "partition", 1},
	{"t", "time", 1}, {"o", "output", 1},
	{"e", "error", 1}, {"A", "account", 1}, {"w", "nodelist", 1}, {"D", "chdir", 1},
	{"x", "exclude_nodes", 1}, {"exclude", "exclude_nodes", 1}, {"q", "qos", 1},
	{"l", "label", 0}, {"label", "label", 0}, {"u", "unbuffered", 0},
	{"unbuffered", "unbuffered", 0}, {"exclusive", "exclusive", 0},
	{"overlap", "overlap", 0}, {"kill_on_bad_exit", "kill_on_bad_exit", 0},
	{"K", "kill_on_bad_exit", 0}, {"r", "relative", 1},
	{"no_kill", "no_kill", 0}, {"pty", "pty", 0},
	{"oversubscribe", "oversubscribe", 0}, {"v", "verbose", 0},
	{"verbose", "verbose", 0}, {"requeue", "requeue", 0},
	{"no_container_mount_home", "no_container_mount_home", 0},
	{"spread_job", "spread_job", 0}, {"no_requeue", "no_requeue", 0},
	{"container_writable", "container_writable", 0}, {"parsable", "parsable", 0},
	{.name = NULL},
};
static const struct launch_option mpirun_options[] = {
	{"n", "np", 1}, {"np", "np", 1}, {"c", "np", 1}, {"N", "npernode", 1},
	{"npernode", "npernode", 1}, {"ppn", "npernode", 1}, {"map_by", "map_by", 1},
	{"H", "host", 1}, {"host", "host", 1}, {"f", "hostfile", 1},
	{"hostfile", "hostfile", 1}, {"machinefile", "hostfile", 1}, {"x", "x", 1},
	{"bind_to", "bind_to", 1}, {"allow_run_as_root", "allow_run_as_root", 0},
	{"oversubscribe", "oversubscribe", 0}, {"tag_output", "tag_output", 0},
	{"report_bindings", "report_bindings", 0}, {"v", "verbose", 0},
	{"mca", "mca", 2}, {"gmca", "mca", 2}, {"prtemca", "mca", 2}, {"pmixmca", "mca", 2},
	{"genv", "genv", 2}, {"env", "genv", 2}, {"genvall", "genvall", 0},
	{.name = NULL},
};
static const struct launch_option accelerate_options[] = {
	{"multi_gpu", "multi_gpu", 0}, {"use_deepspeed", "use_deepspeed", 0},
	{"use_fsdp", "use_fsdp", 0}, {"cpu", "cpu", 0}, {"module", "module", 0},
	{"m", "module", 0}, {"quiet", "quiet", 0}, {"debug", "debug", 0},
	{"use_megatron_lm", "use_megatron_lm", 0}, {"no_python", "no_python", 0},
	{"same_network", "same_network", 0},
	{.name = NULL},
};
static const struct launcher launchers[] = {
	{"torchrun", "torchrun", NULL, LAUNCHER_AGENT, torchrun_options},
	{"torch.distributed.run", "torchrun", NULL, LAUNCHER_AGENT, torchrun_options},
	{"torch.distributed.launch", "torchrun", NULL, LAUNCHER_AGENT, torchrun_options},
	{"deepspeed", "deepspeed", NULL, LAUNCHER_AGENT, deepspeed_options},
	{"deepspeed.launcher.runner", "deepspeed", NULL, LAUNCHER_AGENT, deepspeed_options},
	{"srun", "srun", NULL, LAUNCHER_TASKS, srun_options},
	{"sbatch", "sbatch", NULL, LAUNCHER_JOB, srun_options},
	{"salloc", "sbatch", NULL, LAUNCHER_JOB, srun_options},
	{"mpirun", "mpirun", NULL, LAUNCHER_TASKS, mpirun_options},
	{"mpiexec", "mpirun", NULL, LAUNCHER_TASKS, mpirun_options},
	{"accelerate", "accelerate", "launch", LAUNCHER_AGENT, accelerate_options},
	{"accelerate-launch", "accelerate", NULL, LAUNCHER_AGENT, accelerate_options},
};
/* Programs that start another one with the rest of the line. */
static const char *const wrappers[] = {"env", "nohup", "exec", "time", "numactl", "nsys", "ncu",
	"sudo", "stdbuf", "taskset", "timeout", "singularity", "apptainer", "docker", "podman",
	"uv", "poetry", "conda", "command", "ray", "nice", "setsid", "ssh", "pdsh", "clush",
	"enroot",
	"rocprof", NULL};
/* Of these, the ones that start it elsewhere. */
static const char *const remotes[] = {"ray", "ssh", "pdsh", "clush", NULL};

/* Options that say something about ranks; the others are read over. */
static const char *const kept[] = {
	"nodes", "ntasks", "ntasks_per_node", "gpus", "gpus_per_node", "gpus_per_task", "gres",
	"tres_per_node", "gpu_bind", "container_image", "no_ssh", "oversubscribe",
	"config_file", "nodelist", "relative",
	"nnodes", "nproc_per_node", "node_rank", "master_addr", "master_port", "rdzv_backend",
	"rdzv_endpoint", "max_restarts", "standalone", "num_gpus", "num_nodes", "hostfile",
	"include", "exclude", "launcher", "no_local_rank", "np", "npernode", "map_by", "host",
	"num_processes", "num_machines", "machine_rank", "main_process_ip", "main_process_port",
	"use_deepspeed", "deepspeed_config_file", "dp_replicate_size", "dp_shard_size", "tp_size",
	"cp_size", "sp_size", NULL
};
/* clang-format on */

const char *
launcher_base(const char *word)
{
	const char *slash = strrchr(word, '/');

	return slash ? slash + 1 : word;
}

static bool
is_listed(const char *const *list, const char *word)
{
	while (*list && strcmp(*list, word) != 0)
		list++;
	return *list != NULL;
}

const struct launcher *
launcher_find(const struct shell_words *words, size_t at)
{
	const char *name = launcher_base(words->items[at].bytes);

	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		if (strcmp(launchers[i].program, name) != 0)
			continue;
		if (!launchers[i].word ||
		    (at + 1 < words->count &&
			strcmp(words->items[at + 1].bytes, launchers[i].word) == 0))
			return &launchers[i];
	}
	return NULL;
}

const struct launcher *
launcher_named(const char *program)
{
	size_t i = 0;

	while (i < sizeof(launchers) / sizeof(launchers[0]) &&
	       strcmp(launchers[i].program, program) != 0)
		i++;
	return i < sizeof(launchers) / sizeof(launchers[0]) ? &launchers[i] : NULL;
}

const struct launch_option *
launcher_option(const struct launcher *launcher, const char *name)
{
	const struct launch_option *option = launcher->options;

	while (option->name && strcmp(option->name, name) != 0)
		option++;
	return option->name ? option : NULL;
}

bool
launcher_keeps(const char *setting)
{
	return is_listed(kept, setting);
}

bool
launcher_is_wrapper(const char *word, bool *remote)
{
	*remote = is_listed(remotes, launcher_base(word));
	return is_listed(wrappers, launcher_base(word));
}
