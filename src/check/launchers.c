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
	{"standalone", "standalone", false}, {"no_python", "no_python", false},
	{"run_path", "run_path", false}, {"module", "module", false}, {"m", "module", false},
	{"t", "tee", true}, {"r", "redirects", true}, {"use_env", "use_env", false},
	{.name = NULL},
};
static const struct launch_option deepspeed_options[] = {
	{"H", "hostfile", true}, {"i", "include", true}, {"e", "exclude", true},
	{"m", "module", false}, {"module", "module", false}, {"no_python", "no_python", false},
	{"no_local_rank", "no_local_rank", false}, {"no_ssh_check", "no_ssh_check", false},
	{"no_ssh", "no_ssh", false}, {"force_multi", "force_multi", false},
	{"save_pid", "save_pid", false}, {"elastic_training", "elastic_training", false},
	{"bind_cores_to_rank", "bind_cores_to_rank", false},
	{"num_accelerators", "num_gpus", true},
	{.name = NULL},
};
static const struct launch_option srun_options[] = {
	{"N", "nodes", true}, {"n", "ntasks", true}, {"G", "gpus", true},
	{"c", "cpus_per_task", true}, {"J", "job_name", true}, {"p", "partition", true},
	{"t", "time", true}, {"o", "output", true},
	{"e", "error", true}, {"A", "account", true}, {"w", "nodelist", true}, {"D", "chdir", true},
	{"x", "exclude_nodes", true}, {"exclude", "exclude_nodes", true}, {"q", "qos", true},
	{"l", "label", false}, {"label", "label", false}, {"u", "unbuffered", false},
	{"unbuffered", "unbuffered", false}, {"exclusive", "exclusive", false},
	{"overlap", "overlap", false}, {"kill_on_bad_exit", "kill_on_bad_exit", false},
	{"K", "kill_on_bad_exit", false}, {"r", "relative", true},
	{"no_kill", "no_kill", false}, {"pty", "pty", false},
	{"oversubscribe", "oversubscribe", false}, {"v", "verbose", false},
	{"verbose", "verbose", false}, {"requeue", "requeue", false},
	{"no_container_mount_home", "no_container_mount_home", false},
	{"spread_job", "spread_job", false}, {"no_requeue", "no_requeue", false},
	{"container_writable", "container_writable", false}, {"parsable", "parsable", false},
	{.name = NULL},
};
static const struct launch_option mpirun_options[] = {
	{"n", "np", true}, {"np", "np", true}, {"c", "np", true}, {"N", "npernode", true},
	{"npernode", "npernode", true}, {"ppn", "npernode", true}, {"map_by", "map_by", true},
	{"H", "host", true}, {"host", "host", true}, {"f", "hostfile", true},
	{"hostfile", "hostfile", true}, {"machinefile", "hostfile", true}, {"x", "x", true},
	{"bind_to", "bind_to", true}, {"allow_run_as_root", "allow_run_as_root", false},
	{"oversubscribe", "oversubscribe", false}, {"tag_output", "tag_output", false},
	{"report_bindings", "report_bindings", false}, {"v", "verbose", false},
	{.name = NULL},
};
static const struct launch_option accelerate_options[] = {
	{"multi_gpu", "multi_gpu", false}, {"use_deepspeed", "use_deepspeed", false},
	{"use_fsdp", "use_fsdp", false}, {"cpu", "cpu", false}, {"module", "module", false},
	{"m", "module", false}, {"quiet", "quiet", false}, {"debug", "debug", false},
	{"use_megatron_lm", "use_megatron_lm", false}, {"no_python", "no_python", false},
	{"same_network", "same_network", false},
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
