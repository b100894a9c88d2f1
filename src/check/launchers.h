/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_LAUNCHERS_H
#define MOEPLAN_LAUNCHERS_H

#include <stdbool.h>
#include <stddef.h>

#include "check/import_shell.h"

/* An option, the setting that it is, and how many words follow as its value. */
struct launch_option {
	const char *name, *setting;
	int values;
};

enum launcher_kind {
	LAUNCHER_AGENT, /* one on each node, which starts the processes there */
	LAUNCHER_TASKS, /* starts all tasks on all nodes: srun, mpirun */
	LAUNCHER_JOB,	/* asks for nodes and starts one script: sbatch */
};

struct launcher {
	const char *program; /* base name of the word, or module of python -m */
	const char *name;    /* as config.launch.launcher has it */
	const char *word;    /* a word that must follow: "accelerate launch" */
	enum launcher_kind kind;
	const struct launch_option
	    *options; /* where the name alone does not tell; ends with NULL */
};

/* The launcher that the word at `at` is, or NULL; NULL too where none is. */
const struct launcher *launcher_find(const struct shell_words *words, size_t at);
const struct launcher *launcher_named(const char *program);
const struct launch_option *launcher_option(const struct launcher *launcher, const char *name);
/* An option of this setting says something about ranks. */
bool launcher_keeps(const char *setting);
/* A program that starts another one with the rest of its line; *remote: on another machine. */
bool launcher_is_wrapper(const char *word, bool *remote);
/* The file's name in a path. */
const char *launcher_base(const char *word);

#endif
