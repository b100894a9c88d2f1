/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which training does a script start?
 *
 * Of all commands that the script would run, the one with most options that a framework
 * knows, one that a launcher starts before others. A text that has no command but arrays
 * or variables full of options (people paste such parts) is read as if it used them all.
 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/import_written.h"

/* NAME=value that a command sees. */
struct environment {
	const char *name;
	struct shell_text value;
	struct environment *next;
};

/* A command of the script, with what starts it in front. */
struct candidate {
	struct shell_words words;
	struct environment *env, **last_env;
	size_t options;
	bool launched;
	struct candidate *next;
};

struct script {
	struct import *in;
	const struct import_text *text;
	struct shell *shell;
	struct candidate *first, *last;
	size_t count, commands;
	struct written *written;
	struct shell_words loose; /* options in variables that no command uses */
	bool tasks_source;	  /* tasks read another script first */
	bool starts_itself;	  /* "srun bash $0": tasks run this script again */
};

enum { MAX_CANDIDATES = 1000 };

/* --- commands ------------------------------------------------------------------------------- */

static struct shell_words
joined(struct arena *arena, const struct shell_words *outer, const struct shell_words *inner)
{
	struct shell_words all = {.count = (outer ? outer->count : 0) + inner->count};

	all.items = arena_array(arena, all.count, sizeof(*all.items));
	if (outer && outer->count > 0)
		memcpy(all.items, outer->items, outer->count * sizeof(*all.items));
	if (inner->count > 0)
		memcpy(all.items + all.count - inner->count, inner->items,
		    inner->count * sizeof(*all.items));
	return all;
}

static bool
is_harmless(const char *program)
{
	static const char *const names[] = {"echo", "printf", "cat", "mkdir", "cd", "ls", "rm",
	    "cp", "sed", "grep", "awk", "set", "exit", "return", "sleep", "pip", "git", "module",
	    "trap", "wait", "pkill", "tee", "[", "test", "shift", "scontrol", "nvidia-smi", NULL};

	for (int i = 0; names[i]; i++)
		if (strcmp(program, names[i]) == 0)
			return true;
	return false;
}

static void
note_source(struct script *script, const struct shell_command *command)
{
	const struct shell_text *program = &command->words.items[0];

	if (command->words.count > 1)
		import_unresolved(script->in, shell_loc(script->text, program, 0),
		    arena_printf(script->in->arena, "%s %s", program->bytes,
			shell_plain(script->in->arena, &command->words.items[1])));
}

/* Scripts set these for launchers without exporting them; of the others only what is exported. */
static bool
is_rank_variable(const char *name)
{
	static const char *const names[] = {
	    "WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", NULL};

	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

struct seen {
	struct script *script;
	struct candidate *candidate;
};

static void
add_environment(struct seen *seen, const char *name, const struct shell_text *value)
{
	struct environment *env = arena_alloc(seen->script->in->arena, sizeof(*env));

	*env = (struct environment){name, *value, NULL};
	*seen->candidate->last_env = env;
	seen->candidate->last_env = &env->next;
}

static void
see_variable(void *context, const char *name, const struct shell_words *value, bool exported)
{
	if (exported || is_rank_variable(name))
		add_environment(context, name, &value->items[0]);
}

/* What the command would find in its environment: exported so far, then in front of it. */
static void
see_environment(
    struct script *script, struct candidate *candidate, const struct shell_command *command)
{
	struct seen seen = {script, candidate};

	candidate->last_env = &candidate->env;
	shell_variables(script->shell, see_variable, &seen);
	for (size_t i = 0; i < command->n_env; i++)
		add_environment(&seen, command->env[i].name, &command->env[i].value);
}

/* "$0" among the words: what is started is this script again, in each task. */
static bool
names_script(struct script *script, const struct shell_words *words)
{
	for (size_t i = 0; i < words->count; i++)
		if (strcmp(shell_plain(script->in->arena, &words->items[i]), "$0") == 0)
			return true;
	return false;
}

static void
on_command(void *context, const struct shell_command *command)
{
	struct script *script = context;
	struct candidate *candidate;
	const char *program = command->words.items[0].bytes;
	bool sources = strcmp(program, "source") == 0 || strcmp(program, ".") == 0;

	script->commands++;
	if (sources)
		note_source(script, command);
	script->tasks_source = script->tasks_source || (sources && command->outer);
	if (is_harmless(program) || script->count >= MAX_CANDIDATES)
		return;
	candidate = arena_alloc(script->in->arena, sizeof(*candidate));
	candidate->words = joined(script->in->arena, command->outer, &command->words);
	candidate->options = import_count_options(&candidate->words);
	import_launchers(script->in, script->text, &candidate->words, false, &candidate->launched);
	if (candidate->options == 0 && !candidate->launched && strncmp(program, "--", 2) != 0)
		return;
	if (candidate->launched && names_script(script, &candidate->words)) {
		script->starts_itself = true;
		return;
	}
	see_environment(script, candidate, command);
	if (script->last)
		script->last->next = candidate;
	else
		script->first = candidate;
	script->last = candidate;
	script->count++;
}

static void
on_document(void *context, const struct shell_document *document)
{
	struct script *script = context;

	written_add(&script->written, script->in, document);
}

static bool
is_better(const struct candidate *a, const struct candidate *b)
{
	if (!b)
		return true;
	if (a->options != b->options)
		return a->options > b->options;
	/* what prepares a run comes before it */
	return a->launched && (!b->launched || a->options == 0);
}

static const struct candidate *
choose(struct script *script)
{
	const struct candidate *best = NULL;
	struct loc loc;
	size_t others = 0;

	for (const struct candidate *c = script->first; c; c = c->next)
		if (is_better(c, best))
			best = c;
	for (const struct candidate *c = script->first; c && best; c = c->next)
		others += c != best && c->options > 0 && c->words.items[0].origin &&
			  c->words.items[0].length > 0 &&
			  c->words.items[0].origin[0] != best->words.items[0].origin[0];
	if (others == 0)
		return best;
	loc = shell_loc(script->text, &best->words.items[0], 0);
	diag_add(script->in->diags, loc, NULL, SEVERITY_NOTE,
	    "'%s' has %zu more commands with options of a framework, this one is read",
	    script->text->name, others);
	return best;
}

/* A line that begins with an option belongs to the command above, whose last line lacks a '\'. */
static void
check_continuation(struct script *script, const struct candidate *chosen)
{
	for (const struct candidate *c = script->first; c; c = c->next) {
		const struct shell_text *word = &c->words.items[0];

		if (c == chosen || strncmp(word->bytes, "--", 2) != 0 || !chosen->launched)
			continue;
		diag_add(script->in->diags, shell_loc(script->text, word, 0), NULL,
		    SEVERITY_WARNING, "'%s' begins a command of its own: it reaches no program",
		    import_shown(script->in->arena, word->bytes, word->length));
		diag_last_hint(
		    script->in->diags, "end the line before with '\\', and nothing behind it");
	}
}

static int
take_candidate(struct script *script, const struct candidate *chosen)
{
	struct import *in = script->in;
	const struct shell_text *first = &chosen->words.items[0];
	bool launched;
	size_t at = 0;

	for (const struct environment *env = chosen->env; env; env = env->next)
		import_environment(in, env->name, shell_plain(in->arena, &env->value),
		    shell_is_marked(&env->value), shell_loc(script->text, &env->value, 0));
	/* options or overrides alone have no program in front */
	if (first->bytes[0] != '-' && !import_is_override(first))
		at = import_launchers(in, script->text, &chosen->words, true, &launched);
	if (script->starts_itself && !in->config->launch.outer)
		in->config->launch.outer = "srun $0";
	in->config->launch.scripted = in->config->launch.scripted || script->tasks_source;
	check_continuation(script, chosen);
	return import_arguments(in, script->text, &chosen->words, at);
}

/* --- without a command ------------------------------------------------------------------------ */

/* Lines that are options and nothing else, one or more each: they are one list. */
static int
take_option_lines(struct script *script)
{
	struct shell_words all = {0};

	for (const struct candidate *c = script->first; c; c = c->next)
		all = joined(script->in->arena, &all, &c->words);
	return import_arguments(script->in, script->text, &all, 0);
}

/* Words of all variables that hold options. */
static void
collect_loose(void *context, const char *name, const struct shell_words *value, bool exported)
{
	struct script *script = context;
	struct shell_words words = shell_split(script->in->arena, value);

	(void)name, (void)exported;
	if (import_count_options(&words) > 0)
		script->loose = joined(script->in->arena, &script->loose, &words);
}

static void
take_variable(void *context, const char *name, const struct shell_words *value, bool exported)
{
	struct script *script = context;
	const struct shell_text *text = &value->items[0];

	/* a text of nothing but NAME=value is how containers get their environment */
	if (exported || is_rank_variable(name) || script->commands == 0)
		import_environment(script->in, name, shell_plain(script->in->arena, text),
		    shell_is_marked(text), shell_loc(script->text, text, 0));
}

static int
nothing_found(struct script *script)
{
	struct import *in = script->in;
	const struct setting *last = in->old ? in->old->next : in->config->settings;

	if (last)
		return 0;
	diag_error(in->diags, (struct loc){script->text->name, 1, 1},
	    "'%s' starts no ranks and has no options of a framework that is known",
	    script->text->name);
	diag_last_hint(in->diags,
	    "known are scripts and arguments of Megatron-LM, Megatron-Bridge, DeepSpeed and "
	    "torchtitan, and launch lines of torchrun, deepspeed, srun, mpirun, accelerate");
	return -1;
}

static bool
only_option_lines(const struct script *script)
{
	const struct candidate *c = script->first;

	while (c && strncmp(c->words.items[0].bytes, "--", 2) == 0)
		c = c->next;
	return script->first && !c;
}

int
import_script(struct import *in, const struct import_text *text)
{
	struct script script = {.in = in, .text = text};
	const struct candidate *chosen;

	script.shell = shell_new(in->arena, in->diags, text, on_command, &script);
	shell_on_document(script.shell, on_document);
	import_sbatch(in, text, script.shell);
	if (shell_read(script.shell) != 0)
		return -1;
	if (only_option_lines(&script))
		return take_option_lines(&script);
	chosen = choose(&script);
	if (chosen && chosen->options > 0)
		return take_candidate(&script, chosen) |
		       written_read(in, text, script.written, &chosen->words);
	shell_variables(script.shell, collect_loose, &script);
	if (chosen && take_candidate(&script, chosen) != 0)
		return -1;
	if (!chosen)
		shell_variables(script.shell, take_variable, &script);
	if (written_read(in, text, script.written, chosen ? &chosen->words : NULL) != 0)
		return -1;
	if (script.loose.count > 0)
		return import_arguments(in, text, &script.loose, 0);
	return nothing_found(&script);
}
