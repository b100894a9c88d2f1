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
#include "check/import_private.h"

/* A command of the script, with what starts it in front. */
struct candidate {
	struct shell_words words;
	const struct shell_variable *env;
	size_t n_env, options;
	bool launched;
	struct candidate *next;
};

struct script {
	struct import *in;
	const struct import_text *text;
	struct candidate *first, *last;
	size_t count, commands;
	struct shell_words loose; /* options in variables that no command uses */
};

enum { MAX_CANDIDATES = 1000 };

/* --- commands ------------------------------------------------------------------------------- */

static struct shell_words
joined(struct arena *arena, const struct shell_words *outer, const struct shell_words *inner)
{
	struct shell_words all = {.count = (outer ? outer->count : 0) + inner->count};

	all.items = arena_array(arena, all.count, sizeof(*all.items));
	if (outer)
		memcpy(all.items, outer->items, outer->count * sizeof(*all.items));
	memcpy(all.items + all.count - inner->count, inner->items,
	    inner->count * sizeof(*all.items));
	return all;
}

static bool
is_harmless(const char *program)
{
	static const char *const names[] = {"echo", "printf", "cat", "mkdir", "cd", "ls", "rm", "cp",
	    "sed", "grep", "awk", "set", "exit", "return", "sleep", "pip", "git", "module", "trap",
	    "wait", "pkill", "tee", "[", "test", "shift", "scontrol", "nvidia-smi", NULL};

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

static void
on_command(void *context, const struct shell_command *command)
{
	struct script *script = context;
	struct candidate *candidate;
	const char *program = command->words.items[0].bytes;

	script->commands++;
	if (strcmp(program, "source") == 0 || strcmp(program, ".") == 0)
		note_source(script, command);
	if (is_harmless(program) || script->count >= MAX_CANDIDATES)
		return;
	candidate = arena_alloc(script->in->arena, sizeof(*candidate));
	candidate->words = joined(script->in->arena, command->outer, &command->words);
	candidate->env = command->env;
	candidate->n_env = command->n_env;
	candidate->options = import_count_options(&candidate->words);
	import_launchers(
	    script->in, script->text, &candidate->words, false, &candidate->launched);
	if (candidate->options == 0 && !candidate->launched)
		return;
	if (script->last)
		script->last->next = candidate;
	else
		script->first = candidate;
	script->last = candidate;
	script->count++;
}

static bool
is_better(const struct candidate *a, const struct candidate *b)
{
	if (!b)
		return true;
	if (a->options != b->options)
		return a->options > b->options;
	return a->launched && !b->launched;
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
		diag_last_hint(script->in->diags,
		    "end the line before with '\\', and nothing behind it");
	}
}

static int
take_candidate(struct script *script, const struct candidate *chosen)
{
	struct import *in = script->in;
	const struct shell_text *first = &chosen->words.items[0];
	bool launched;
	size_t at = 0;

	for (size_t i = 0; i < chosen->n_env; i++) {
		const struct shell_variable *v = &chosen->env[i];

		import_environment(in, v->name, shell_plain(in->arena, &v->value),
		    shell_is_marked(&v->value), shell_loc(script->text, &v->value, 0));
	}
	/* options or overrides alone have no program in front */
	if (first->bytes[0] != '-' && !import_is_override(first))
		at = import_launchers(in, script->text, &chosen->words, true, &launched);
	check_continuation(script, chosen);
	return import_arguments(in, script->text, &chosen->words, at);
}

/* --- variables ------------------------------------------------------------------------------ */

static bool
matters(const char *name, bool exported)
{
	static const char *const names[] = {
	    "WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", NULL};

	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return exported;
}

static void
on_variable(void *context, const char *name, const struct shell_words *value, bool exported)
{
	struct script *script = context;
	struct import *in = script->in;
	const struct shell_text *text = &value->items[0];

	if (matters(name, exported))
		import_environment(in, name, shell_plain(in->arena, text), shell_is_marked(text),
		    shell_loc(script->text, text, 0));
}

/* Without a command that uses them: words of all variables that hold options. */
static void
collect_loose(void *context, const char *name, const struct shell_words *value, bool exported)
{
	struct script *script = context;
	struct shell_words words = shell_split(script->in->arena, value);

	(void)name, (void)exported;
	if (import_count_options(&words) > 0)
		script->loose = joined(script->in->arena, &script->loose, &words);
}

/* A text of nothing but NAME=value, as containers get their environment. */
static void
all_exported(void *context, const char *name, const struct shell_words *value, bool exported)
{
	(void)exported;
	on_variable(context, name, value, true);
}

int
import_script(struct import *in, const struct import_text *text)
{
	struct script script = {.in = in, .text = text};
	struct shell *shell = shell_new(in->arena, in->diags, text, on_command, &script);
	const struct candidate *chosen;

	import_sbatch(in, text, shell);
	if (shell_read(shell) != 0)
		return -1;
	chosen = choose(&script);
	if (chosen && chosen->options > 0) {
		shell_variables(shell, on_variable, &script);
		return take_candidate(&script, chosen);
	}
	shell_variables(shell, collect_loose, &script);
	if (script.loose.count > 0) {
		shell_variables(shell, on_variable, &script);
		if (chosen && take_candidate(&script, chosen) != 0)
			return -1;
		return import_arguments(in, text, &script.loose, 0);
	}
	shell_variables(shell, script.commands > 0 ? on_variable : all_exported, &script);
	return chosen ? take_candidate(&script, chosen) : 0;
}
