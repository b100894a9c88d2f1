/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_IMPORT_SHELL_H
#define MOEPLAN_IMPORT_SHELL_H

#include <stdbool.h>

#include "check/import_text.h"

/*
 * What would a bash script start, as far as that can be told without running it?
 *
 * Assignments, quotes, ${VAR:-default}, $((arithmetic)), arrays, functions, branches
 * whose condition is known, eval and bash -c are followed. Whatever needs the machine
 * (command substitution, a variable of the environment, a branch on such a thing, a file
 * name pattern) becomes a mark in the word that holds it: SHELL_VALUE text SHELL_END for a
 * value that cannot be told, SHELL_WORDS text SHELL_END for words that may be there or not.
 * The script is taken to be started without arguments.
 */
#define SHELL_VALUE '\x01'
#define SHELL_END '\x02'
#define SHELL_WORDS '\x03'
#define SHELL_UNSET '\x04'

/* Text of which every byte knows its place in the file. */
struct shell_text {
	char *bytes; /* terminated */
	uint32_t *origin;
	size_t length, capacity;
};

struct shell_words {
	struct shell_text *items;
	size_t count, capacity;
};

/* NAME=value in front of a command. */
struct shell_variable {
	const char *name;
	struct shell_text value;
};

struct shell_command {
	struct shell_words words;	  /* expanded; the first is the program */
	const struct shell_variable *env; /* assignments in front of it */
	size_t n_env;
	const struct shell_words *outer; /* "srun …" of srun … bash -c 'this command', or NULL */
	bool maybe;			 /* in a branch or loop that may not be taken */
};

/* A file that the script writes from its own text. */
struct shell_document {
	const char *name;
	struct shell_text text;
	uint32_t origin; /* where the text begins */
	bool maybe;	 /* in a branch or loop that may not be taken */
	bool append;	 /* to what was written before */
};

struct shell;
typedef void shell_document_fn(void *context, const struct shell_document *document);
typedef void shell_command_fn(void *context, const struct shell_command *command);

struct shell *shell_new(struct arena *arena, struct diags *diags, const struct import_text *source,
    shell_command_fn *on_command, void *context);
/* A variable that is there before the script begins; `origin` is the place that says so. */
void shell_define(struct shell *shell, const char *name, const char *value, size_t origin);
/* The script is that of a Slurm job: the first task of its first node. */
void shell_define_batch(struct shell *shell, size_t origin);
void shell_on_document(struct shell *shell, shell_document_fn *on_document);
/* Reads the whole source; -1 after adding errors. */
int shell_read(struct shell *shell);

/* Variables that the script gave a value: the last certain one; `exported` or not. */
typedef void shell_variable_fn(
    void *context, const char *name, const struct shell_words *value, bool exported);
void shell_variables(struct shell *shell, shell_variable_fn *visit, void *context);

/* The words that unquoted use of a value makes: split at blanks outside of marks. */
struct shell_words shell_split(struct arena *arena, const struct shell_words *value);

/* Some of it could not be told. */
bool shell_is_marked(const struct shell_text *text);
/* The text for messages: marks are dropped, what they hold stays. */
const char *shell_plain(struct arena *arena, const struct shell_text *text);
struct loc shell_loc(const struct import_text *source, const struct shell_text *text, size_t at);

#endif
