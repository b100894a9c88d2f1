/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who starts the ranks, how many on how many nodes?
 *
 * Launchers in front of a program (srun torchrun train.py …), their options, Slurm's header
 * lines. Each option becomes a setting of the form CONFIG_NUMBERS; import_placement.c works
 * out nodes, processes and world from all of them. Options: PyTorch
 * torch/distributed/run.py, DeepSpeed launcher/runner.py, srun(1), mpirun(1), Accelerate
 * commands/launch.py.
 */
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "check/import_private.h"

/* An option, the setting that it is, and whether a value follows. */
struct launch_option {
	const char *name, *setting;
	bool value;
};

struct launcher {
	const char *program; /* base name of the word, or module of python -m */
	const char *name;    /* as config.launch.launcher has it */
	const char *word;    /* a word that must follow: "accelerate launch" */
	const struct launch_option
	    *options; /* where the name alone does not tell; ends with NULL */
};

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
	{"K", "kill_on_bad_exit", false}, {"no_kill", "no_kill", false}, {"pty", "pty", false},
	{"oversubscribe", "oversubscribe", false}, {"v", "verbose", false},
	{"verbose", "verbose", false}, {"requeue", "requeue", false},
	{"no_container_mount_home", "no_container_mount_home", false},
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
	{"torchrun", "torchrun", NULL, torchrun_options},
	{"torch.distributed.run", "torchrun", NULL, torchrun_options},
	{"torch.distributed.launch", "torchrun", NULL, torchrun_options},
	{"deepspeed", "deepspeed", NULL, deepspeed_options},
	{"deepspeed.launcher.runner", "deepspeed", NULL, deepspeed_options},
	{"srun", "srun", NULL, srun_options},
	{"sbatch", "sbatch", NULL, srun_options},
	{"mpirun", "mpirun", NULL, mpirun_options},
	{"mpiexec", "mpirun", NULL, mpirun_options},
	{"accelerate", "accelerate", "launch", accelerate_options},
	{"accelerate-launch", "accelerate", NULL, accelerate_options},
};
/* Programs that start another one with the rest of the line. */
static const char *const wrappers[] = {"env", "nohup", "exec", "time", "numactl", "nsys", "ncu",
	"sudo", "stdbuf", "taskset", "timeout", "singularity", "apptainer", "docker", "podman",
	"uv", "poetry", "conda", "command", "ray", "nice", "setsid", "ssh", "pdsh", "enroot",
	"rocprof", NULL};
/* clang-format on */

/* Options that say something about ranks; the others are read over. */
/* clang-format off */
static const char *const kept[] = {
	"nodes", "ntasks", "ntasks_per_node", "gpus", "gpus_per_node", "gpus_per_task", "gres",
	"nnodes", "nproc_per_node", "node_rank", "master_addr", "master_port", "rdzv_backend",
	"rdzv_endpoint", "max_restarts", "standalone", "num_gpus", "num_nodes", "hostfile",
	"include", "exclude", "launcher", "no_local_rank", "np", "npernode", "map_by", "host",
	"num_processes", "num_machines", "machine_rank", "main_process_ip", "main_process_port",
	"use_deepspeed", "deepspeed_config_file", "dp_replicate_size", "dp_shard_size", "tp_size",
	"cp_size", "sp_size", NULL
};
/* clang-format on */

static const char *
base_name(const char *word)
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

static const struct launcher *
find_launcher(const struct shell_words *words, size_t at)
{
	const char *name = base_name(words->items[at].bytes);

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

static bool
is_python(const char *word)
{
	const char *name = base_name(word);

	return strncmp(name, "python", 6) == 0 &&
	       strspn(name + 6, "0123456789.") == strlen(name + 6);
}

static bool
is_shell(const char *word)
{
	return strcmp(base_name(word), "bash") == 0 || strcmp(base_name(word), "sh") == 0;
}

static bool
ends_with(const char *word, const char *end)
{
	size_t length = strlen(word), tail = strlen(end);

	return length >= tail && strcmp(word + length - tail, end) == 0;
}

static bool
is_program(const struct shell_words *words, size_t at)
{
	const char *word = words->items[at].bytes;

	return find_launcher(words, at) || is_python(word) || ends_with(word, ".py") ||
	       ends_with(word, ".sh");
}

/* --- options -------------------------------------------------------------------------------- */

/* "--nproc-per-node=8": name "nproc_per_node", the value's offset or 0. */
static char *
option_name(struct arena *arena, const char *word, size_t *value)
{
	size_t dashes = strspn(word, "-"), length = strcspn(word + dashes, "=");
	char *name = arena_strndup(arena, word + dashes, length);

	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : *c;
	*value = word[dashes + length] == '=' ? dashes + length + 1 : 0;
	return name;
}

static const struct launch_option *
find_option(const struct launcher *launcher, const char *name)
{
	const struct launch_option *option = launcher->options;

	while (option->name && strcmp(option->name, name) != 0)
		option++;
	return option->name ? option : NULL;
}

/* mpirun -x NAME=value */
static void
add_exported(struct import *in, const char *text, bool unknown, struct loc loc)
{
	const char *equals = strchr(text, '=');

	if (equals)
		import_environment(in, arena_strndup(in->arena, text, (size_t)(equals - text)),
		    equals + 1, unknown, loc);
}

static void
add_option(struct import *in, const struct import_text *source, const char *setting,
    const struct shell_text *word, size_t value)
{
	static const char accelerate[] = "parallelism_config_";
	struct loc loc = source ? shell_loc(source, word, value)
				: (struct loc){arena_printf(in->arena, "--%s", setting), 0, 0};
	const char *text = shell_plain(in->arena, word) + value;

	if (strncmp(setting, accelerate, strlen(accelerate)) == 0)
		setting += strlen(accelerate);
	if (strcmp(setting, "x") == 0)
		add_exported(in, text, shell_is_marked(word), loc);
	else if (!is_listed(kept, setting))
		return;
	else if (shell_is_marked(word))
		import_unknown_setting(in, CONFIG_NUMBERS, setting, text, loc);
	else
		import_setting(
		    in, CONFIG_NUMBERS, setting, import_word_value(in->arena, setting, text, loc));
}

/* A short option with its value in the same word, "-N4". */
static bool
take_glued(struct import *in, const struct import_text *source, const struct launcher *launcher,
    const struct shell_text *word, bool commit)
{
	const struct launch_option *option;

	if (word->length < 3 || word->bytes[1] == '-')
		return false;
	option = find_option(launcher, (char[]){word->bytes[1], '\0'});
	if (!option || !option->value)
		return false;
	if (commit)
		add_option(in, source, option->setting, word, 2);
	return true;
}

/* One option at `at`; returns how many words it takes. */
static size_t
take_option(struct import *in, const struct import_text *source, const struct launcher *launcher,
    const struct shell_words *words, size_t at, bool commit)
{
	const struct shell_text *word = &words->items[at];
	size_t value;
	char *name = option_name(in->arena, word->bytes, &value);
	const struct launch_option *option = find_option(launcher, name);
	const char *setting = option ? option->setting : name;
	bool has_next = at + 1 < words->count;

	if (!option && take_glued(in, source, launcher, word, commit))
		return 1;
	if (value > 0) {
		if (commit)
			add_option(in, source, setting, word, value);
		return 1;
	}
	if ((option && !option->value) || !has_next || words->items[at + 1].bytes[0] == '-' ||
	    (!option && is_program(words, at + 1))) {
		if (commit && is_listed(kept, setting))
			import_setting(in, CONFIG_NUMBERS, setting,
			    import_bool(in->arena, setting, true,
				source ? shell_loc(source, word, 0)
				       : (struct loc){word->bytes, 0, 0}));
		return 1;
	}
	if (commit)
		add_option(in, source, setting, &words->items[at + 1], 0);
	return 2;
}

/* What is not known in front of an option or a program, "torchrun ${ARGS[@]} train.py". */
static bool
hides_options(const struct shell_words *words, size_t at)
{
	return shell_is_marked(&words->items[at]) && !is_program(words, at) &&
	       at + 1 < words->count &&
	       (words->items[at + 1].bytes[0] == '-' || is_program(words, at + 1) ||
		   shell_is_marked(&words->items[at + 1]));
}

static size_t
take_launcher(struct import *in, const struct import_text *source, const struct launcher *launcher,
    const struct shell_words *words, size_t at, bool commit)
{
	if (commit) {
		in->config->launch.launcher = launcher->name;
		in->config->launch.loc = source ? shell_loc(source, &words->items[at], 0)
						: (struct loc){words->items[at].bytes, 0, 0};
	}
	at += launcher->word ? 2 : 1;
	while (at < words->count &&
	       (words->items[at].bytes[0] == '-' || hides_options(words, at))) {
		if (strcmp(words->items[at].bytes, "--") == 0)
			return at + 1;
		if (words->items[at].bytes[0] != '-') {
			in->config->launch.open = in->config->launch.open || commit;
			at++;
			continue;
		}
		at += take_option(in, source, launcher, words, at, commit);
	}
	return at;
}

/* Behind "python": its options, and a module that is a launcher itself. */
static size_t
take_python(const struct shell_words *words, size_t at, bool *program)
{
	*program = true;
	while (at < words->count && words->items[at].bytes[0] == '-') {
		const char *word = words->items[at].bytes;

		if (strcmp(word, "-m") == 0 && at + 1 < words->count) {
			*program = !find_launcher(words, at + 1);
			return at + 1;
		}
		if (strcmp(word, "-c") == 0 || word[1] == '-')
			return words->count;
		at += (strcmp(word, "-X") == 0 || strcmp(word, "-W") == 0) ? 2 : 1;
	}
	return at;
}

/* The first word that is a program we know, behind wrappers and their options. */
static size_t
skip_wrapper(const struct shell_words *words, size_t at)
{
	size_t next = at + 1;

	/* "${PROFILER} torchrun …": what is not known may be one too */
	if (!is_listed(wrappers, base_name(words->items[at].bytes)) &&
	    !shell_is_marked(&words->items[at]))
		return at;
	while (next < words->count && !is_program(words, next))
		next++;
	return next < words->count ? next : at;
}

size_t
import_launchers(struct import *in, const struct import_text *source,
    const struct shell_words *words, bool commit, bool *launched)
{
	size_t at = 0;

	*launched = false;
	while (at < words->count) {
		const struct launcher *launcher;
		bool program = true;

		at = skip_wrapper(words, at);
		launcher = find_launcher(words, at);
		if (launcher) {
			*launched = true;
			at = take_launcher(in, source, launcher, words, at, commit);
			continue;
		}
		if (is_python(words->items[at].bytes))
			at = take_python(words, at + 1, &program);
		else if (is_shell(words->items[at].bytes) && at + 1 < words->count &&
			 ends_with(words->items[at + 1].bytes, ".sh"))
			at++;
		if (program && at < words->count && commit)
			in->config->launch.program = base_name(words->items[at].bytes);
		if (program)
			return at < words->count ? at + 1 : at;
	}
	return at;
}

/* --- Slurm's header ------------------------------------------------------------------------- */

/* Words of one line, without quotes: header lines are no shell. */
static struct shell_words
split_line(struct import *in, const struct import_text *text, size_t at, size_t end)
{
	struct shell_words words = {0};

	words.items = arena_array(in->arena, (end - at) / 2 + 1, sizeof(*words.items));
	while (at < end) {
		size_t length = strcspn(text->bytes + at, " \t\n\"'");
		struct shell_text *word = &words.items[words.count];

		if (text->bytes[at] == '#' && words.count > 0)
			break;
		if (length > 0) {
			*word =
			    (struct shell_text){arena_strndup(in->arena, text->bytes + at, length),
				arena_array(in->arena, length, sizeof(uint32_t)), length, length};
			for (size_t i = 0; i < length; i++)
				word->origin[i] = (uint32_t)(at + i);
			words.count++;
		}
		at += length + 1;
	}
	return words;
}

/* The number behind the last ':' of "gpu:h100:8". */
static int64_t
last_number(const char *text)
{
	const char *colon = text ? strrchr(text, ':') : NULL;
	int64_t number;

	return text && units_parse_integer(colon ? colon + 1 : text, &number) ? number : 0;
}

/* Slurm's own variables, srun(1) and sbatch(1), as far as the header says them. */
static void
define_slurm(struct import *in, struct shell *shell, size_t origin)
{
	const struct config *config = in->config;
	int64_t nodes = import_integer(config, CONFIG_NUMBERS, "nodes", 0);
	int64_t per_node = import_integer(config, CONFIG_NUMBERS, "ntasks_per_node", 0);
	int64_t tasks = import_integer(config, CONFIG_NUMBERS, "ntasks", nodes * per_node);
	int64_t gpus = last_number(import_word(config, CONFIG_NUMBERS, "gpus_per_node"));
	const struct {
		const char *name;
		int64_t value;
	} variables[] = {{"SLURM_NNODES", nodes}, {"SLURM_JOB_NUM_NODES", nodes},
	    {"SLURM_NTASKS_PER_NODE", per_node}, {"SLURM_NTASKS", tasks}, {"SLURM_NPROCS", tasks},
	    {"SLURM_GPUS_PER_NODE", gpus},
	    {"SLURM_GPUS_ON_NODE",
		gpus ? gpus : last_number(import_word(config, CONFIG_NUMBERS, "gres"))}};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (variables[i].value > 0)
			shell_define(shell, variables[i].name,
			    arena_printf(in->arena, "%lld", (long long)variables[i].value), origin);
}

void
import_sbatch(struct import *in, const struct import_text *text, struct shell *shell)
{
	static const struct launcher header = {"sbatch", "sbatch", NULL, srun_options};
	static const char begin[] = "#SBATCH";
	size_t last = 0;

	for (size_t i = 0; i < text->n_lines; i++) {
		size_t at = text->lines[i], end = at + strcspn(text->bytes + at, "\n");
		struct shell_words words;

		/* Slurm reads them up to the first command */
		if (end > at && text->bytes[at] != '#')
			break;
		if (strncmp(text->bytes + at, begin, strlen(begin)) != 0)
			continue;
		words = split_line(in, text, at + strlen(begin), end);
		for (size_t w = 0; w < words.count && words.items[w].bytes[0] == '-';)
			w += take_option(in, text, &header, &words, w, true);
		last = at;
	}
	if (last > 0)
		define_slurm(in, shell, last);
}

/* --- environment ---------------------------------------------------------------------------- */

/* Variables that say who is who, or how libraries behave; paths and the like are no settings. */
static bool
matters(const char *name)
{
	static const char *const names[] = {"WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_SIZE",
	    "LOCAL_WORLD_SIZE", "NODE_RANK", "CAP_FACTOR", NULL};
	static const char *const prefixes[] = {"MASTER_", "CUDA_", "NCCL_", "NVTE_", "TORCH_",
	    "PYTORCH_", "OMP_", "SLURM_", "OMPI_", "TUTEL_", "NVSHMEM_", "UB_", "GLOO_", "RDZV_",
	    "DEEPEP_", "DS_", NULL};

	for (int i = 0; prefixes[i]; i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return is_listed(names, name);
}

/* PARALLELISM_CONFIG_DP_SHARD_SIZE is --parallelism_config_dp_shard_size. */
static const char *
accelerate_size(struct arena *arena, const char *name)
{
	static const char prefix[] = "PARALLELISM_CONFIG_";
	char *lower;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return name;
	lower = arena_strdup(arena, name + sizeof(prefix) - 1);
	for (char *c = lower; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
	return lower;
}

void
import_environment(
    struct import *in, const char *name, const char *value, bool unknown, struct loc loc)
{
	name = accelerate_size(in->arena, name);
	if (!matters(name) && !is_listed(kept, name))
		return;
	if (unknown)
		import_unknown_setting(in, CONFIG_NUMBERS, name, value, loc);
	else
		import_setting(
		    in, CONFIG_NUMBERS, name, import_word_value(in->arena, name, value, loc));
}
