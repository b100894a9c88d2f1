/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is a variable worth at this place of a script?
 *
 * Every assignment is kept with the block it stands in. The newest one counts whose block
 * is still open. One in a branch that may not have been taken makes the value uncertain
 * afterwards; but where it only adds to what was there (A+=(…), A="$A …"), what was there
 * is certain and the addition becomes a mark of its own. Other arms of the same `if` and
 * subshells do not count.
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_shell_private.h"

enum { MAX_ADDITIONS = 64 };

static size_t
hash(const char *name)
{
	size_t value = 5381;

	while (*name)
		value = value * 33 + (unsigned char)*name++;
	return value;
}

/* Twice the buckets once there are as many variables: chains stay short in any script. */
static void
grow(struct shell *shell)
{
	size_t n = shell->n_buckets > 0 ? 2 * shell->n_buckets : SHELL_FIRST_BUCKETS;

	if (shell->n_variables < shell->n_buckets)
		return;
	shell->buckets = arena_array(shell->arena, n, sizeof(struct variable *));
	shell->n_buckets = n;
	for (struct variable *v = shell->first; v; v = v->later) {
		struct variable **bucket = &shell->buckets[hash(v->name) % n];

		v->next = *bucket;
		*bucket = v;
	}
}

static struct variable *
add_variable(struct shell *shell, const char *name)
{
	struct variable *variable = arena_alloc(shell->arena, sizeof(*variable)), **bucket;

	grow(shell);
	bucket = &shell->buckets[hash(name) % shell->n_buckets];
	variable->name = arena_strdup(shell->arena, name);
	variable->next = *bucket;
	*bucket = variable;
	if (shell->last)
		shell->last->later = variable;
	else
		shell->first = variable;
	shell->last = variable;
	shell->n_variables++;
	return variable;
}

struct variable *
shell_variable(struct shell *shell, const char *name, bool create)
{
	struct variable *variable =
	    shell->n_buckets > 0 ? shell->buckets[hash(name) % shell->n_buckets] : NULL;

	while (variable && strcmp(variable->name, name) != 0) {
		if (!shell_spend(shell, 1))
			return NULL;
		variable = variable->next;
	}
	return variable || !create ? variable : add_variable(shell, name);
}

/* --- blocks --------------------------------------------------------------------------------- */

enum shell_live
shell_live(const struct shell *shell)
{
	return shell->block->live;
}

/* NULL where nothing changes: what always runs belongs to the block around it. */
struct block *
shell_enter(struct shell *shell, enum shell_live live, int construct, bool subshell)
{
	struct block *block;

	if (live > shell->block->live)
		live = shell->block->live;
	if (live == shell->block->live && live != SHELL_MAYBE && !subshell)
		return NULL;
	block = arena_alloc(shell->arena, sizeof(*block));
	*block = (struct block){live, construct, subshell, true, shell->block};
	shell->block = block;
	return block;
}

void
shell_leave(struct shell *shell, struct block *block)
{
	if (!block)
		return;
	block->open = false;
	shell->block = block->parent;
}

/* An arm that is not taken when the one we are in is. */
static bool
is_other_arm(const struct shell *shell, const struct block *closed)
{
	for (const struct block *b = shell->block; b && closed->construct > 0; b = b->parent)
		if (b->construct == closed->construct)
			return true;
	return false;
}

enum standing { COUNTS, DOES_NOT_COUNT, MAY_COUNT };

static enum standing
standing(const struct shell *shell, const struct block *block)
{
	bool maybe = false;

	for (; block && !block->open; block = block->parent) {
		if (block->subshell || is_other_arm(shell, block))
			return DOES_NOT_COUNT;
		maybe = maybe || block->live == SHELL_MAYBE;
	}
	return maybe ? MAY_COUNT : COUNTS;
}

/* --- values --------------------------------------------------------------------------------- */

static void
add_unknown(struct shell *shell, struct shell_words *value, bool array, const char *name,
    const struct definition *definition)
{
	const struct shell_words *added = &definition->value;
	const struct shell_text *last = added->count > 0 ? &added->items[added->count - 1] : NULL;
	uint32_t origin = last && last->length > 0 ? last->origin[last->length - 1] : 0;
	const char *raw = arena_printf(shell->arena, "%s+=…", name);
	struct shell_text mark = {0};

	if (array || value->count == 0) {
		shell_put_mark(shell, &mark, SHELL_WORDS, raw, strlen(raw), origin);
		shell_push(shell, value, mark);
		return;
	}
	shell_put_text(shell, &mark, &value->items[0]);
	shell_put(shell, &mark, ' ', origin);
	shell_put_mark(shell, &mark, SHELL_WORDS, raw, strlen(raw), origin);
	value->items[0] = mark;
}

static struct shell_words
copy_words(struct shell *shell, const struct shell_words *words)
{
	struct shell_words copy = {0};

	for (size_t i = 0; i < words->count; i++)
		shell_push(shell, &copy, words->items[i]);
	return copy;
}

enum lookup
shell_lookup(struct shell *shell, const char *name, struct shell_words *value, bool *array)
{
	struct variable *variable = shell_variable(shell, name, false);
	const struct definition *d = variable ? variable->newest : NULL, *additions[MAX_ADDITIONS];
	size_t n = 0;

	for (; d; d = d->older) {
		enum standing counts = standing(shell, d->block);

		if (!shell_spend(shell, 4))
			return LOOKUP_UNCERTAIN;
		if (counts == COUNTS)
			break;
		if (counts == DOES_NOT_COUNT)
			continue;
		if (!d->append || n == MAX_ADDITIONS)
			return LOOKUP_UNCERTAIN;
		additions[n++] = d;
	}
	if (!d || d->unset)
		return n > 0 ? LOOKUP_UNCERTAIN : LOOKUP_UNSET;
	*value = copy_words(shell, &d->value);
	*array = d->array;
	while (n > 0)
		add_unknown(shell, value, *array, name, additions[--n]);
	return LOOKUP_FOUND;
}

static bool
text_begins(const struct shell_text *text, const struct shell_text *with)
{
	return text->length >= with->length && memcmp(text->bytes, with->bytes, with->length) == 0;
}

/* The new value begins with the old one. */
static bool
is_addition(const struct shell_words *value, const struct shell_words *old, bool array)
{
	if (!array)
		return value->count == 1 && old->count == 1 &&
		       text_begins(&value->items[0], &old->items[0]);
	if (value->count < old->count)
		return false;
	for (size_t i = 0; i < old->count; i++)
		if (value->items[i].length != old->items[i].length ||
		    !text_begins(&value->items[i], &old->items[i]))
			return false;
	return true;
}

static void
define(struct shell *shell, const char *name, struct definition definition)
{
	struct variable *variable = shell_variable(shell, name, true);
	struct definition *kept;

	if (!variable)
		return;
	kept = arena_alloc(shell->arena, sizeof(*kept));
	*kept = definition;
	kept->block = shell->block;
	kept->older = variable->newest;
	variable->newest = kept;
}

static uint32_t
first_origin(const struct shell_words *words)
{
	return words->count > 0 && words->items[0].length > 0 ? words->items[0].origin[0] : 0;
}

/* What A+=value makes of the old one. */
static struct shell_words
added(
    struct shell *shell, const struct shell_words *old, const struct shell_words *value, bool array)
{
	struct shell_words sum = {0};
	struct shell_text joined = {0};

	if (array || old->count != 1 || value->count != 1) {
		for (size_t i = 0; i < old->count; i++)
			shell_push(shell, &sum, old->items[i]);
		for (size_t i = 0; i < value->count; i++)
			shell_push(shell, &sum, value->items[i]);
		return sum;
	}
	shell_put_text(shell, &joined, &old->items[0]);
	shell_put_text(shell, &joined, &value->items[0]);
	shell_push(shell, &sum, joined);
	return sum;
}

void
shell_assign(
    struct shell *shell, const char *name, const struct shell_words *value, bool array, bool append)
{
	struct definition definition = {.value = *value, .array = array};
	struct shell_words old = {0};
	bool old_array = false;
	enum lookup found;

	if (shell_live(shell) == SHELL_DEAD || !shell_spend(shell, 16))
		return;
	found = shell_lookup(shell, name, &old, &old_array);
	if (append && found == LOOKUP_UNCERTAIN) {
		struct shell_text mark = {0};

		shell_put_mark(shell, &mark, SHELL_WORDS, name, strlen(name), first_origin(value));
		shell_push(shell, &old, mark);
	}
	if (append && found != LOOKUP_UNSET) {
		definition.array = array = array || old_array;
		definition.value = added(shell, &old, value, array);
	}
	if (found == LOOKUP_FOUND && array == old_array)
		definition.append = is_addition(&definition.value, &old, array);
	define(shell, name, definition);
}

void
shell_export(struct shell *shell, const char *name)
{
	struct variable *variable =
	    shell_live(shell) == SHELL_DEAD ? NULL : shell_variable(shell, name, true);

	if (variable)
		variable->exported = true;
}

void
shell_unset(struct shell *shell, const char *name)
{
	if (shell_live(shell) != SHELL_DEAD)
		define(shell, name, (struct definition){.unset = true});
}

void
shell_define(struct shell *shell, const char *name, const char *value, size_t origin)
{
	struct shell_words words = {0};
	struct shell_text text = {0};

	shell_put_string(shell, &text, value, (uint32_t)origin);
	shell_push(shell, &words, text);
	shell_assign(shell, name, &words, false, false);
}

void
shell_variables(struct shell *shell, shell_variable_fn *visit, void *context)
{
	for (struct variable *v = shell->first; v && !shell->failed; v = v->later) {
		struct shell_words value;
		bool array;

		if (shell_lookup(shell, v->name, &value, &array) == LOOKUP_FOUND && value.count > 0)
			visit(context, v->name, &value, v->exported);
	}
}
