/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does a variable mean the script of the job, or each of the tasks that it starts?
 *
 * The batch script is the first task of the first node: SLURM_PROCID is 0 there, and `hostname`
 * the first host. Behind srun … bash -c '…' both differ from task to task. What a script
 * expands before it starts the tasks they all get alike, which is the mistake to be found.
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_shell_private.h"

/* srun(1), sbatch(1): differ between tasks. */
static const char *const of_task[] = {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", NULL};

void
shell_define_batch(struct shell *shell, size_t origin)
{
	for (int i = 0; of_task[i]; i++)
		shell_define(shell, of_task[i], "0", origin);
}

/* Variables of a step that options of srun change, beside those of its job. */
static const struct {
	const char *option, *variable;
} of_step[] = {
    {"-N", "SLURM_NNODES"},
    {"--nodes", "SLURM_NNODES"},
    {"-N", "SLURM_NTASKS"},
    {"--nodes", "SLURM_NTASKS"},
    {"-n", "SLURM_NTASKS"},
    {"--ntasks", "SLURM_NTASKS"},
    {"-N", "SLURM_NPROCS"},
    {"--nodes", "SLURM_NPROCS"},
    {"-n", "SLURM_NPROCS"},
    {"--ntasks", "SLURM_NPROCS"},
    {"--ntasks-per-node", "SLURM_NTASKS"},
    {"--ntasks-per-node", "SLURM_NPROCS"},
    {"--ntasks-per-node", "SLURM_NTASKS_PER_NODE"},
};

/* "--nodes", "--nodes=4", "-N4" */
static bool
is_option(const char *word, const char *option)
{
	size_t length = strlen(option);

	if (strncmp(word, option, length) != 0)
		return false;
	return word[length] == '\0' || (option[1] == '-' ? word[length] == '=' : word[1] != '-');
}

static void
forget(struct shell *shell, const char *name)
{
	if (shell_variable(shell, name, false))
		shell_unset(shell, name);
}

static void
forget_step(struct shell *shell, const struct shell_words *outer)
{
	for (size_t w = 0; w < outer->count; w++)
		for (size_t i = 0; i < sizeof(of_step) / sizeof(of_step[0]); i++)
			if (is_option(outer->items[w].bytes, of_step[i].option))
				forget(shell, of_step[i].variable);
}

static bool
starts_tasks(const struct shell_words *outer)
{
	static const char *const names[] = {
	    "srun", "mpirun", "mpiexec", "pdsh", "clush", "ssh", NULL};

	for (size_t w = 0; w < outer->count; w++) {
		const char *slash = strrchr(outer->items[w].bytes, '/');
		const char *name = slash ? slash + 1 : outer->items[w].bytes;

		for (int i = 0; names[i]; i++)
			if (strcmp(name, names[i]) == 0)
				return true;
	}
	return false;
}

bool
shell_enter_task(struct shell *shell, const struct shell_words *outer)
{
	bool before = shell->task;

	if (!starts_tasks(outer))
		return before;
	shell->task = true;
	for (int i = 0; of_task[i]; i++)
		forget(shell, of_task[i]);
	forget_step(shell, outer);
	return before;
}

/* "hostname", but not in "hostnames". */
static bool
has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)) != NULL; at += length)
		if ((at == text || !shell_is_name(at[-1], false)) &&
		    !shell_is_name(at[length], false))
			return true;
	return false;
}

const char *
shell_in_task(struct shell *shell, const char *raw)
{
	static const char *const differ[] = {
	    "hostname", "HOSTNAME", "RANDOM", "SLURMD_NODENAME", "shuf", "uname", NULL};

	/* "scontrol show hostname" lists the nodes of the job, which are the same to all */
	for (int i = 0; shell->task && differ[i] && !strstr(raw, "scontrol"); i++)
		if (has_word(raw, differ[i]))
			return arena_printf(shell->arena, "%s in each task", raw);
	return raw;
}
