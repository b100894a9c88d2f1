/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a variable of the launch count, and is it the same in every task?
 *
 * Values are most often not known before the job runs, but what they are computed from is
 * written in the script: RANK=$SLURM_LOCALID is wrong whatever it comes to. Variables: srun(1)
 * and the environment of Open MPI (ompi-core, mpirun(1)), of MPICH's Hydra and of PMIx.
 */
#include <string.h>

#include "check/context.h"
#include "check/import_private.h"

static const struct {
	const char *variable, *meaning;
} meanings[] = {
    {"SLURM_PROCID", "rank"},
    {"OMPI_COMM_WORLD_RANK", "rank"},
    {"PMI_RANK", "rank"},
    {"PMIX_RANK", "rank"},
    {"SLURM_LOCALID", "local rank"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "local rank"},
    {"MPI_LOCALRANKID", "local rank"},
    {"SLURM_NODEID", "node"},
    {"SLURM_NTASKS", "tasks"},
    {"SLURM_NPROCS", "tasks"},
    {"OMPI_COMM_WORLD_SIZE", "tasks"},
    {"PMI_SIZE", "tasks"},
    {"SLURM_NNODES", "nodes"},
    {"SLURM_JOB_NUM_NODES", "nodes"},
    {"SLURM_NTASKS_PER_NODE", "tasks of a node"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "tasks of a node"},
    {"MPI_LOCALNRANKS", "tasks of a node"},
};

/* The text of a launch setting as the script has it, whether its value is known or not. */
static const char *
text_of(const struct expr_scope *scope, const char *name)
{
	const struct facts *facts = scope->context;
	const struct setting *setting = import_find(facts->check->config, CONFIG_NUMBERS, name);

	return setting ? setting->value->text : NULL;
}

/* written('RANK'): "$SLURM_LOCALID" */
static struct value
call_written(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const char *text =
	    arguments[0].kind == VALUE_TEXT ? text_of(scope, arguments[0].text) : NULL;

	(void)count;
	return text ? value_text(text) : value_undecided;
}

/* "$NAME" or "${NAME}", nothing else around it. */
static bool
is_variable(const char *text, const char *name)
{
	size_t length = strlen(name), brace = text[0] == '$' && text[1] == '{';

	return text[0] == '$' && strncmp(text + 1 + brace, name, length) == 0 &&
	       strcmp(text + 1 + brace + length, brace ? "}" : "") == 0;
}

/* counts('RANK'): 'rank', 'local rank', 'node', 'tasks' …: of the variable that stands there. */
static struct value
call_counts(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const char *text =
	    arguments[0].kind == VALUE_TEXT ? text_of(scope, arguments[0].text) : NULL;

	(void)count;
	for (size_t i = 0; text && i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (is_variable(text, meanings[i].variable))
			return value_text(meanings[i].meaning);
	return value_undecided;
}

static bool
ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* The script is started on every node by hand or by the platform. */
static bool
runs_on_each_node(const struct launch *launch)
{
	return launch->launcher && !launch->outer && launch->job_nodes == 0 &&
	       (strcmp(launch->launcher, "torchrun") == 0 ||
		   strcmp(launch->launcher, "accelerate") == 0);
}

/* What one node has that no other has. */
static bool
is_of_one(const char *text, const char *what)
{
	static const char *const hosts[] = {
	    "hostname", "HOSTNAME", "SLURMD_NODENAME", "uname", NULL};
	static const char *const ports[] = {"RANDOM", "shuf", NULL};
	const char *const *names = strcmp(what, "host") == 0 ? hosts : ports;

	for (int i = 0; names[i]; i++)
		if (strstr(text, names[i]))
			return !strstr(text, "scontrol"); /* it lists the job's nodes */
	return false;
}

/* differs('master_addr', 'host'): each node fills in its own host, or 'port' its own number. */
static struct value
call_differs(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	const char *text =
	    arguments[0].kind == VALUE_TEXT ? text_of(scope, arguments[0].text) : NULL;

	(void)count;
	if (!text || arguments[1].kind != VALUE_TEXT)
		return value_int(0);
	return value_int(
	    is_of_one(text, arguments[1].text) &&
	    (ends_with(text, " in each task") ||
		(strpbrk(text, "$`") && runs_on_each_node(&facts->check->config->launch))));
}

const struct expr_function meaning_functions[] = {
    {"written", 1, 1, false, call_written},
    {"counts", 1, 1, false, call_counts},
    {"differs", 2, 2, false, call_differs},
    {.name = NULL},
};
