/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_IMPORT_PRIVATE_H
#define MOEPLAN_IMPORT_PRIVATE_H

/* What the importers share: import_*.c, config*.c, and who reads cases and hosts. */

#include "base/field.h"
#include "check/config.h"
#include "check/import_shell.h"
#include "check/import_text.h"

/* Far more than any framework has; comparing them all with each other stays quick. */
enum { IMPORT_MAX_SETTINGS = 4096, IMPORT_MAX_UNRESOLVED = 256 };

/* One call of config_import(): what is read, and what was there before. */
struct import {
	struct config *config;
	struct arena *arena;
	struct diags *diags;
	const char *name;
	bool arguments;		   /* a command line is read */
	bool overrides;		   /* said on top of files: replaces what they say */
	const struct setting *old; /* the last setting of earlier calls, NULL: none */
	int errors;		   /* of `diags` before this call */
	int contradictions;
	bool full; /* a limit was hit: nothing more is taken */
};

/* A product of sizes; 0, not known, when it does not fit. */
static inline int64_t
size_times(int64_t a, int64_t b)
{
	int64_t product;

	return __builtin_mul_overflow(a, b, &product) ? 0 : product;
}

/* A degree that is not said is 1. */
static inline int64_t
or_one(int64_t degree)
{
	return degree > 0 ? degree : 1;
}

/* --- config.c ------------------------------------------------------------------------------- */

/* Adds a setting, or merges it into one of the same name; contradictions become errors. */
void import_setting(
    struct import *in, enum config_form form, const char *name, const struct doc *value);
/* One that is there, but whose value is only known to be `text`. */
void import_unknown_setting(
    struct import *in, enum config_form form, const char *name, const char *text, struct loc loc);
/* Every member of a map under its dotted name, maps themselves too; `prefix` "" or "a.b". */
void import_map(
    struct import *in, enum config_form form, const char *prefix, const struct doc *map);
void import_unresolved(struct import *in, struct loc loc, const char *text);
/* What kind of configuration this file is; -1 after an error: it does not go with the others. */
int import_form(struct import *in, enum config_form form, struct loc loc);

/* The setting of this name in the words of `form`, or NULL. */
const struct setting *import_find(
    const struct config *config, enum config_form form, const char *name);
/* The same with a known value, null and "auto" left out. */
const struct doc *import_value(
    const struct config *config, enum config_form form, const char *name);
int64_t import_integer(
    const struct config *config, enum config_form form, const char *name, int64_t absent);
const char *import_word(const struct config *config, enum config_form form, const char *name);
/* true: there without a value, or with a true one. */
bool import_flag(const struct config *config, enum config_form form, const char *name);

/* --- import_keys.c -------------------------------------------------------------------------- */

/* Rows that are read beside those of the emitters: other spellings, guides, older releases. */
extern const struct key import_megatron_keys[], import_deepspeed_keys[], import_torchtitan_keys[];
/* import_libraries.c */
extern const struct key import_tutel_keys[], import_fairscale_keys[], import_accelerate_keys[];
void import_conclude_accelerate(struct import *in);
/* import_accelerate.c: files of `accelerate config` */
bool is_accelerate_file(const struct doc *doc);
int import_accelerate_file(struct import *in, const struct doc *doc);
void import_conclude_maxtext(struct import *in);
/* Both tables of a form in the order in which they are read; NULL after them. */
const struct key *const *import_tables(enum config_form form);
const struct key *import_key(enum config_form form, const char *name);

/* --- import_meaning.c, import_megatron.c, import_model.c ------------------------------------- */

/* What all settings so far mean: strategy, launch, model. -1 after adding errors. */
int import_conclude(struct import *in);
/* It came with this file. */
bool import_is_new(const struct import *in, const struct setting *setting);
void import_conclude_launch(struct import *in);
void import_megatron_defaults(struct import *in);
void import_conclude_megatron(struct import *in);
void import_conclude_deepspeed(struct import *in);
void import_conclude_torchtitan(struct import *in);
void import_conclude_model(struct import *in);
/* "([0]*3+[1]*58)" or "[1,0]*4" as a list; NULL when it is not such a thing. */
struct doc *import_pattern(struct arena *arena, const char *text, struct loc loc);

/* --- readers of one form each: 0, or -1 after adding errors ----------------------------------- */

int import_document(struct import *in, const struct doc *doc);
int import_plan(struct import *in, const struct doc *doc);
int import_hostfile(struct import *in, const struct import_text *text);
int import_host_list(struct import *in, const char *text, struct loc loc);
int import_script(struct import *in, const struct import_text *text);
/*
 * A text that a script writes into a file, its first line moved to that of the script. What is
 * no configuration is left alone; `needed`: mistakes in it are told.
 */
int import_embedded(struct import *in, const char *bytes, size_t length, bool needed);
bool import_is_python(const struct import_text *text);
int import_python(struct import *in, const struct import_text *text);
/* Words behind a program's name, as a framework would get them. */
int import_arguments(struct import *in, const struct import_text *source,
    const struct shell_words *words, size_t from);
/* Every line is section.name=value: no shell, which would take brackets and quotes apart. */
bool import_are_overrides(const struct import_text *text);
int import_overrides(struct import *in, const struct import_text *text);
/* section.name=value, as Megatron-Bridge is told. */
bool import_is_override(const struct shell_text *word);
/* How many words name options that some framework has. */
size_t import_count_options(const struct shell_words *words);

/* --- import_launch.c ------------------------------------------------------------------------- */

/*
 * Takes launchers in front of a program: their options become settings. Returns the index of the
 * program's first argument, words->count when there is none. *launched: there was a launcher.
 */
size_t import_launchers(struct import *in, const struct import_text *source,
    const struct shell_words *words, bool commit, bool *launched);
/* import_slurm.c: "#SBATCH --nodes=4" lines, and the variables that Slurm sets from them. */
void import_sbatch(struct import *in, const struct import_text *text, struct shell *shell);
/* NAME=value for the processes that are started. */
void import_environment(
    struct import *in, const char *name, const char *value, bool unknown, struct loc loc);

/* The text of one word as a value: Python's True, False and None are read as such. */
struct doc *import_word_value(
    struct arena *arena, const char *name, const char *text, struct loc loc);

#endif
