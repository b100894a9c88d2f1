/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who starts the ranks, how many on how many nodes?
 *
 * Launchers in front of a program (srun torchrun train.py …) and their options. Each option
 * becomes a setting of the form CONFIG_NUMBERS, those of a job "sbatch.nodes" and so on, since
 * a step of the job may say otherwise; import_placement.c works out nodes, processes and world
 * from all of them.
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_launch.h"

static bool
is_python(const char *word)
{
	const char *name = launcher_base(word);

	return strncmp(name, "python", 6) == 0 &&
	       strspn(name + 6, "0123456789.") == strlen(name + 6);
}

static bool
is_shell(const char *word)
{
	return strcmp(launcher_base(word), "bash") == 0 || strcmp(launcher_base(word), "sh") == 0;
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

	return launcher_find(words, at) || is_python(word) || ends_with(word, ".py") ||
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

/* mpirun -x NAME=value */
static void
add_exported(struct import *in, const char *text, bool unknown, struct loc loc)
{
	const char *equals = strchr(text, '=');

	if (equals)
		import_environment(in, arena_strndup(in->arena, text, (size_t)(equals - text)),
		    equals + 1, unknown, loc);
}

/* mpiexec -genv NAME value */
static void
add_pair(struct import *in, const struct import_text *source, const struct shell_text *name,
    const struct shell_text *value)
{
	struct loc loc = source ? shell_loc(source, value, 0) : (struct loc){"--genv", 0, 0};

	import_environment(in, shell_plain(in->arena, name), shell_plain(in->arena, value),
	    shell_is_marked(value), loc);
}

/* What a job is asked for stands beside what a step of it asks for. */
static const char *
setting_of(struct arena *arena, const struct launcher *launcher, const char *setting)
{
	return launcher->kind == LAUNCHER_JOB ? arena_printf(arena, "sbatch.%s", setting) : setting;
}

static void
add_option(struct import *in, const struct import_text *source, const struct launcher *launcher,
    const char *setting, const struct shell_text *word, size_t value)
{
	static const char accelerate[] = "parallelism_config_";
	struct loc loc = source ? shell_loc(source, word, value)
				: (struct loc){arena_printf(in->arena, "--%s", setting), 0, 0};
	const char *text = shell_plain(in->arena, word) + value;

	if (strncmp(setting, accelerate, strlen(accelerate)) == 0)
		setting += strlen(accelerate);
	if (strcmp(setting, "x") == 0)
		add_exported(in, text, shell_is_marked(word), loc);
	if (!launcher_keeps(setting))
		return;
	setting = setting_of(in->arena, launcher, setting);
	if (shell_is_marked(word))
		import_unknown_setting(in, CONFIG_NUMBERS, setting, text, loc);
	else
		import_setting(
		    in, CONFIG_NUMBERS, setting, import_word_value(in->arena, setting, text, loc));
}

static void
add_flag(struct import *in, const struct import_text *source, const struct launcher *launcher,
    const char *setting, const struct shell_text *word)
{
	if (!launcher_keeps(setting))
		return;
	setting = setting_of(in->arena, launcher, setting);
	import_setting(in, CONFIG_NUMBERS, setting,
	    import_bool(in->arena, setting, true,
		source ? shell_loc(source, word, 0) : (struct loc){word->bytes, 0, 0}));
}

/* A short option with its value in the same word, "-N4". */
static bool
take_glued(struct import *in, const struct import_text *source, const struct launcher *launcher,
    const struct shell_text *word, bool commit)
{
	const struct launch_option *option;

	if (word->length < 3 || word->bytes[1] == '-')
		return false;
	option = launcher_option(launcher, (char[]){word->bytes[1], '\0'});
	if (!option || option->values != 1)
		return false;
	if (commit)
		add_option(in, source, launcher, option->setting, word, 2);
	return true;
}

size_t
import_launch_option(struct import *in, const struct import_text *source,
    const struct launcher *launcher, const struct shell_words *words, size_t at, bool commit)
{
	const struct shell_text *word = &words->items[at];
	size_t value;
	char *name = option_name(in->arena, word->bytes, &value);
	const struct launch_option *option = launcher_option(launcher, name);
	const char *setting = option ? option->setting : name;
	bool has_next = at + 1 < words->count;

	if (!option && take_glued(in, source, launcher, word, commit))
		return 1;
	if (value > 0) {
		if (commit)
			add_option(in, source, launcher, setting, word, value);
		return 1;
	}
	if ((option && option->values == 0) || !has_next || words->items[at + 1].bytes[0] == '-' ||
	    (!option && is_program(words, at + 1))) {
		if (commit)
			add_flag(in, source, launcher, setting, word);
		return 1;
	}
	if (option && option->values == 2) {
		if (commit && strcmp(setting, "genv") == 0 && at + 2 < words->count)
			add_pair(in, source, &words->items[at + 1], &words->items[at + 2]);
		return at + 2 < words->count ? 3 : 2;
	}
	if (commit)
		add_option(in, source, launcher, setting, &words->items[at + 1], 0);
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

/* "srun … torchrun": the one in front starts the other on every node. */
static void
set_launcher(struct launch *launch, const struct launcher *launcher, struct loc loc)
{
	if (launch->launcher && strcmp(launch->launcher, launcher->name) != 0 &&
	    launcher->kind == LAUNCHER_AGENT)
		launch->outer = launch->launcher;
	if (launcher->kind == LAUNCHER_JOB && launch->launcher)
		return;
	launch->launcher = launcher->name;
	launch->loc = loc;
}

static size_t
take_launcher(struct import *in, const struct import_text *source, const struct launcher *launcher,
    const struct shell_words *words, size_t at, bool commit)
{
	if (commit)
		set_launcher(&in->config->launch, launcher,
		    source ? shell_loc(source, &words->items[at], 0)
			   : (struct loc){words->items[at].bytes, 0, 0});
	at += launcher->word ? 2 : 1;
	while (
	    at < words->count && (words->items[at].bytes[0] == '-' || hides_options(words, at))) {
		if (strcmp(words->items[at].bytes, "--") == 0)
			return at + 1;
		if (words->items[at].bytes[0] != '-') {
			in->config->launch.open = in->config->launch.open || commit;
			at++;
			continue;
		}
		at += import_launch_option(in, source, launcher, words, at, commit);
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
			*program = !launcher_find(words, at + 1);
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
skip_wrapper(struct import *in, const struct shell_words *words, size_t at, bool commit)
{
	bool remote, wrapper = launcher_is_wrapper(words->items[at].bytes, &remote);
	size_t next = at + 1;

	/* "${PROFILER} torchrun …": what is not known may be one too */
	if (!wrapper && !shell_is_marked(&words->items[at]))
		return at;
	while (next < words->count && !is_program(words, next))
		next++;
	if (next < words->count && remote && commit)
		in->config->launch.outer = launcher_base(words->items[at].bytes);
	return next < words->count ? next : at;
}

static void
set_program(struct launch *launch, const char *word)
{
	launch->program = launcher_base(word);
	launch->scripted = ends_with(word, ".sh") || ends_with(word, ".bash");
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

		at = skip_wrapper(in, words, at, commit);
		launcher = launcher_find(words, at);
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
			set_program(&in->config->launch, words->items[at].bytes);
		if (program)
			return at < words->count ? at + 1 : at;
	}
	return at;
}

/* --- environment ---------------------------------------------------------------------------- */

/* Variables that say who is who, or how libraries behave; paths and the like are no settings. */
static bool
matters(const char *name)
{
	static const char *const names[] = {"WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_SIZE",
	    "LOCAL_WORLD_SIZE", "NODE_RANK", "CAP_FACTOR", "NVLINK_DOMAIN_SIZE", NULL};
	static const char *const prefixes[] = {"MASTER_", "CUDA_", "NCCL_", "NVTE_", "TORCH_",
	    "PYTORCH_", "OMP_", "SLURM_", "OMPI_", "TUTEL_", "NVSHMEM_", "UB_", "GLOO_", "RDZV_",
	    "DEEPEP_", "DS_", NULL};

	for (int i = 0; prefixes[i]; i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
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
	if (!matters(name) && !launcher_keeps(name))
		return;
	if (unknown)
		import_unknown_setting(in, CONFIG_NUMBERS, name, value, loc);
	else
		import_setting(
		    in, CONFIG_NUMBERS, name, import_word_value(in->arena, name, value, loc));
}
