/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which nodes, tasks and GPUs does Slurm give a step?
 *
 * "#SBATCH" lines ask for those of the job, options of srun for those of the step; where srun
 * says nothing the job's hold. Without tasks there is one a node. Options: sbatch(1), srun(1).
 */
#include "check/import_slurm.h"

#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "check/import_launch.h"

enum { MAX_RANKS = 1 << 20 };

/* --- GPUs ----------------------------------------------------------------------------------- */

/* Bytes of an entry of "gpu:h100:4(S:0-1),nvme:1", without what follows in parentheses. */
static size_t
entry_length(const char *text)
{
	return strcspn(text, ",(");
}

/* The number behind the last ':' or '=' of "gpu:h100:4"; 1 without one, as Slurm takes it. */
static int64_t
entry_count(const char *entry, size_t length)
{
	char digits[16];
	size_t at = length;
	int64_t count;

	while (at > 0 && entry[at - 1] >= '0' && entry[at - 1] <= '9')
		at--;
	if (at == length || (at > 0 && !strchr(":=", entry[at - 1])) || length - at > 9)
		return 1;
	memcpy(digits, entry + at, length - at);
	digits[length - at] = '\0';
	return units_parse_integer(digits, &count) && count <= MAX_RANKS ? count : 0;
}

/* "gpu", "gpu:4", "gres/gpu:4"; of --gpus each entry is one. */
static bool
is_gpu(const char *entry, size_t length, bool generic)
{
	static const char *const prefixes[] = {"gres/", "gres:"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0) {
			entry += strlen(prefixes[i]);
			length -= strlen(prefixes[i]);
		}
	return !generic || (length >= 3 && strncmp(entry, "gpu", 3) == 0 &&
			       (length == 3 || strchr(":=", entry[3])));
}

static int64_t
gpus_in(const char *text, bool generic)
{
	int64_t sum = 0;

	while (text && *text && sum <= MAX_RANKS) {
		size_t length = entry_length(text), whole = strcspn(text, ",");

		if (is_gpu(text, length, generic))
			sum += entry_count(text, length);
		text += whole + (text[whole] == ',');
	}
	return sum <= MAX_RANKS ? sum : 0;
}

/* --- what was asked for --------------------------------------------------------------------- */

/* The text of the step's own option, or the job's; NULL when neither is there. */
static const char *
asked(const struct config *config, const char *name, const char *of_job)
{
	if (import_find(config, CONFIG_NUMBERS, name))
		return import_word(config, CONFIG_NUMBERS, name);
	return import_word(config, CONFIG_NUMBERS, of_job);
}

static int64_t
asked_number(const struct config *config, const char *name, const char *of_job)
{
	const char *text = asked(config, name, of_job);
	int64_t number;

	return text && units_parse_integer(text, &number) && number > 0 && number <= MAX_RANKS
		   ? number
		   : 0;
}

/* Tasks of a node that srun names go before tasks of the job. */
static int64_t
asked_tasks(const struct config *config)
{
	if (!import_find(config, CONFIG_NUMBERS, "ntasks") &&
	    import_find(config, CONFIG_NUMBERS, "ntasks_per_node"))
		return 0;
	return asked_number(config, "ntasks", "sbatch.ntasks");
}

static void
read_tasks(const struct config *config, struct slurm_step *step)
{
	int64_t most = asked_number(config, "ntasks_per_node", "sbatch.ntasks_per_node");
	bool said = asked(config, "ntasks", "sbatch.ntasks") ||
		    asked(config, "ntasks_per_node", "sbatch.ntasks_per_node");

	step->tasks = asked_tasks(config);
	/* what is said and not known is not one task */
	if (step->tasks == 0 && step->nodes > 0 && (most > 0 || !said))
		step->tasks = step->nodes * (most > 0 ? most : 1);
	if (step->tasks > MAX_RANKS)
		step->tasks = 0;
	if (step->nodes == 0 && most > 0 && step->tasks % most == 0)
		step->nodes = step->tasks / most;
	if (step->nodes > 0 && step->tasks % step->nodes == 0)
		step->per_node = step->tasks / step->nodes;
	else if (step->tasks == 0)
		step->per_node = most;
}

/* Options that ask for GPUs of a node, then of all: of a step, and of a job. */
static const char *const gpu_options[][2] = {{"gpus_per_node", "sbatch.gpus_per_node"},
    {"gres", "sbatch.gres"}, {"tres_per_node", "sbatch.tres_per_node"}, {"gpus", "sbatch.gpus"},
    {"gpus_per_task", "sbatch.gpus_per_task"}};
enum { OPTIONS_OF_NODE = 3, OPTIONS_IN_ALL = 5 };

/* Only of GPUs; --gres and --tres-per-node name other things too. */
static int64_t
gpus_asked(const struct config *config, int option, bool job)
{
	const char *text = import_word(config, CONFIG_NUMBERS, gpu_options[option][job]);

	return gpus_in(text, option == 1 || option == 2);
}

const char *
slurm_gpus(const struct config *config)
{
	for (int job = 1; job >= 0; job--)
		for (int i = 0; i < OPTIONS_IN_ALL; i++)
			if (gpus_asked(config, i, job) > 0)
				return import_word(config, CONFIG_NUMBERS, gpu_options[i][job]);
	return NULL;
}

/* Of the step's options or, `job`, of the job's. */
static int64_t
gpus_of(const struct config *config, const struct slurm_step *step, bool job)
{
	int64_t nodes = job && step->job_nodes > 0 ? step->job_nodes : step->nodes, all;

	for (int i = 0; i < OPTIONS_OF_NODE; i++) {
		int64_t gpus = gpus_asked(config, i, job);

		if (gpus > 0)
			return gpus;
	}
	all = gpus_asked(config, OPTIONS_OF_NODE, job);
	return nodes > 0 && all % nodes == 0 ? all / nodes : 0;
}

struct slurm_step
slurm_step(const struct config *config)
{
	struct slurm_step step = {.nodes = asked_number(config, "nodes", "sbatch.nodes")};

	step.job_nodes = import_integer(config, CONFIG_NUMBERS, "sbatch.nodes", 0);
	if (step.job_nodes < 0 || step.job_nodes > MAX_RANKS)
		step.job_nodes = 0;
	read_tasks(config, &step);
	step.gpus_per_task = gpus_in(asked(config, "gpus_per_task", "sbatch.gpus_per_task"), false);
	step.gpus_per_node = gpus_of(config, &step, false);
	step.node_gpus = gpus_of(config, &step, true);
	if (step.gpus_per_node == 0)
		step.gpus_per_node = step.node_gpus;
	if (step.gpus_per_node == 0)
		step.gpus_per_node = step.gpus_per_task * step.per_node;
	if (step.node_gpus == 0)
		step.node_gpus = step.gpus_per_node;
	return step;
}

/* --- the header of a job -------------------------------------------------------------------- */

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

/* Slurm's own variables in the script of a job: it is the first task of the first node. */
static void
define_slurm(struct import *in, struct shell *shell, size_t origin)
{
	struct slurm_step job = slurm_step(in->config);
	bool tasks = import_find(in->config, CONFIG_NUMBERS, "sbatch.ntasks") ||
		     import_find(in->config, CONFIG_NUMBERS, "sbatch.ntasks_per_node");
	const struct {
		const char *name;
		int64_t value;
	} variables[] = {{"SLURM_NNODES", job.nodes}, {"SLURM_JOB_NUM_NODES", job.nodes},
	    {"SLURM_NTASKS_PER_NODE",
		import_integer(in->config, CONFIG_NUMBERS, "sbatch.ntasks_per_node", 0)},
	    {"SLURM_NTASKS", tasks ? job.tasks : 0}, {"SLURM_NPROCS", tasks ? job.tasks : 0},
	    {"SLURM_GPUS_PER_NODE",
		gpus_in(import_word(in->config, CONFIG_NUMBERS, "sbatch.gpus_per_node"), false)},
	    {"SLURM_GPUS_ON_NODE", job.gpus_per_node}};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (variables[i].value > 0)
			shell_define(shell, variables[i].name,
			    arena_printf(in->arena, "%lld", (long long)variables[i].value), origin);
	shell_define_batch(shell, origin);
}

/* Slurm reads lines up to the first command. */
static void
warn_late(struct import *in, const struct import_text *text, size_t at)
{
	diag_add(in->diags, import_text_loc(text, at), NULL, SEVERITY_WARNING,
	    "this #SBATCH line comes behind the first command: Slurm does not read it");
	diag_last_hint(in->diags, "move it to the top of the script");
}

void
import_sbatch(struct import *in, const struct import_text *text, struct shell *shell)
{
	static const char begin[] = "#SBATCH";
	const struct launcher *header = launcher_named("sbatch");
	size_t last = 0;
	bool found = false, commands = false;

	for (size_t i = 0; i < text->n_lines; i++) {
		size_t at = text->lines[i], end = at + strcspn(text->bytes + at, "\n");
		size_t start = at + strspn(text->bytes + at, " \t");
		struct shell_words words;

		if (memchr(text->bytes + at, '<', end - at)) /* another job's, that this writes */
			break;
		commands = commands || (start < end && text->bytes[start] != '#');
		if (strncmp(text->bytes + at, begin, strlen(begin)) != 0)
			continue;
		if (commands) {
			if (found)
				warn_late(in, text, at);
			continue;
		}
		words = split_line(in, text, at + strlen(begin), end);
		for (size_t w = 0; w < words.count && words.items[w].bytes[0] == '-';)
			w += import_launch_option(in, text, header, &words, w, true);
		last = at;
		found = true;
	}
	if (found)
		define_slurm(in, shell, last);
}
