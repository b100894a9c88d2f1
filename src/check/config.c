/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How do settings of several files become one configuration?
 *
 * Within a file the last one counts, as command lines and scripts have it. Between files
 * the same setting, or two settings of the same meaning (one term in the key tables), must
 * agree: otherwise one of the files is not what the user believes. Overrides on a command
 * line are meant to replace what files say.
 */
#include "check/config.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/import_private.h"

const char *const config_form_names[] = {"Megatron-LM", "DeepSpeed", "torchtitan",
    "Megatron-Bridge", "tutorial", "moeplan", "numbers", "Tutel", "FairScale", "Accelerate",
    "MaxText", NULL};

void
config_init(struct config *config)
{
	*config = (struct config){.form = CONFIG_NUMBERS};
	config->launch.rank = config->launch.local_rank = -1;
	strategy_init(&config->strategy);
}

const struct setting *
setting_find(const struct config *config, const char *name)
{
	const struct setting *setting = config->settings;

	while (setting && strcmp(setting->name, name) != 0)
		setting = setting->next;
	return setting;
}

const struct setting *
config_says(const struct config *config, const char *option)
{
	for (const struct setting *s = config->settings; s; s = s->next) {
		const struct key *key = s->unresolved ? NULL : import_key(s->form, s->name);

		if (key && key->term && strcmp(key->term, option) == 0 && s->value->is_integer)
			return s;
	}
	return NULL;
}

/* Forms that share their names. */
static enum config_form
family(enum config_form form)
{
	if (form == CONFIG_BRIDGE)
		return CONFIG_MEGATRON;
	return form == CONFIG_TUTORIAL ? CONFIG_DEEPSPEED : form;
}

const struct setting *
import_find(const struct config *config, enum config_form form, const char *name)
{
	const struct setting *setting = config->settings;

	while (
	    setting && (family(setting->form) != family(form) || strcmp(setting->name, name) != 0))
		setting = setting->next;
	return setting;
}

const struct doc *
import_value(const struct config *config, enum config_form form, const char *name)
{
	const struct setting *setting = import_find(config, form, name);
	const struct doc *value = setting ? setting->value : NULL;

	if (!value || setting->unresolved || value->kind == DOC_NULL)
		return NULL;
	/* Hugging Face's integration fills it in, nobody knows with what */
	return value->kind == DOC_STRING && strcmp(value->text, "auto") == 0 ? NULL : value;
}

int64_t
import_integer(const struct config *config, enum config_form form, const char *name, int64_t absent)
{
	const struct doc *value = import_value(config, form, name);

	return value && value->kind == DOC_NUMBER && value->is_integer ? value->integer : absent;
}

const char *
import_word(const struct config *config, enum config_form form, const char *name)
{
	const struct doc *value = import_value(config, form, name);

	return value ? value->text : NULL;
}

bool
import_flag(const struct config *config, enum config_form form, const char *name)
{
	const struct doc *value = import_value(config, form, name);

	return value && (value->kind != DOC_BOOL || value->boolean);
}

/* --- merging -------------------------------------------------------------------------------- */

static bool
same_value(const struct doc *a, const struct doc *b)
{
	const struct doc *x = a->first, *y = b->first;

	if (a->kind == DOC_NUMBER && b->kind == DOC_NUMBER)
		return a->number <= b->number && a->number >= b->number;
	if (a->kind == DOC_MAP && b->kind == DOC_MAP)
		return true; /* their members are compared one by one */
	if (a->kind < DOC_LIST && b->kind < DOC_LIST)
		return a->text && b->text && strcmp(a->text, b->text) == 0;
	if (a->kind != b->kind || a->count != b->count)
		return false;
	for (; x && y; x = x->next, y = y->next)
		if (!same_value(x, y))
			return false;
	return true;
}

static const char *
shown(struct arena *arena, const struct doc *value)
{
	if (value->kind >= DOC_LIST || !value->text)
		return doc_kind_name(value->kind);
	return import_shown(arena, value->text, strlen(value->text));
}

static const char *
place(struct arena *arena, struct loc loc)
{
	if (!loc.file)
		return "nowhere";
	return loc.line > 0 ? arena_printf(arena, "%s:%d", loc.file, loc.line) : loc.file;
}

static bool
same_file(const struct doc *a, const struct doc *b)
{
	return a->loc.file && b->loc.file && strcmp(a->loc.file, b->loc.file) == 0;
}

/* A file that contradicts another everywhere is told so often and no more. */
enum { MAX_CONTRADICTIONS = 50 };

static void
contradict(struct import *in, const char *name, const struct doc *value, const char *other,
    const struct doc *before)
{
	diag_error(in->diags, value->loc, "'%s' is %s here, but '%s' is %s in %s", name,
	    shown(in->arena, value), other, shown(in->arena, before),
	    place(in->arena, before->loc));
	diag_last_hint(in->diags, "make them equal, or leave one out");
	in->full = in->full || ++in->contradictions >= MAX_CONTRADICTIONS;
}

/* Settings of the same meaning under other names, in any file. */
static void
check_term(struct import *in, enum config_form form, const char *name, const struct doc *value)
{
	static const enum config_form forms[] = {
	    CONFIG_MEGATRON, CONFIG_DEEPSPEED, CONFIG_TORCHTITAN, CONFIG_PLAN};
	const struct key *key = import_key(form, name);

	if (!key || !key->term || key->kind != KEY_INT || !value->is_integer || value->integer < 1)
		return;
	/* torchtitan cuts a local batch into pieces of the pipeline: both are there, and differ. */
	if (form == CONFIG_TORCHTITAN && strcmp(key->term, "micro_batch") == 0)
		return;
	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++)
		for (const struct key *const *table = import_tables(forms[f]); *table; table++)
			for (const struct key *row = *table; row->name; row++) {
				const struct doc *other;

				if (!row->term || row->kind != KEY_INT ||
				    strcmp(row->term, key->term) != 0 ||
				    (strcmp(row->name, name) == 0 && family(form) == forms[f]))
					continue;
				other = import_value(in->config, forms[f], row->name);
				if (other && other->is_integer && other->integer > 0 &&
				    other->integer != value->integer)
					contradict(in, name, value, row->name, other);
			}
}

static void
append(struct import *in, struct setting setting)
{
	struct setting *added = arena_alloc(in->arena, sizeof(*added)),
		       *last = in->config->settings;
	size_t count = last != NULL;

	for (; last && last->next; count++)
		last = last->next;
	if (count >= IMPORT_MAX_SETTINGS) {
		diag_error(in->diags, setting.value->loc, "more than %d settings, the limit",
		    IMPORT_MAX_SETTINGS);
		in->full = true;
		return;
	}
	*added = setting;
	if (last)
		last->next = added;
	else
		in->config->settings = added;
}

/* "auto": another file or program fills it in. */
static bool
is_open(const struct setting *setting)
{
	return setting->unresolved ||
	       (setting->value->kind == DOC_STRING && strcmp(setting->value->text, "auto") == 0);
}

/* The last one of a file counts; of two files both must say the same. */
static void
merge(struct import *in, struct setting *before, struct setting setting)
{
	const struct doc *value = setting.value, *old = before->value;
	bool known = !is_open(before) && !is_open(&setting);
	bool same = same_file(value, old) && before->argument == setting.argument;

	if (same) {
		if (known && !same_value(value, old))
			diag_add(in->diags, value->loc, NULL, SEVERITY_NOTE,
			    "'%s' is given twice, %s counts and not %s from %s", setting.name,
			    shown(in->arena, value), shown(in->arena, old),
			    place(in->arena, old->loc));
	} else if (known && !in->overrides && !same_value(value, old)) {
		contradict(in, setting.name, value, setting.name, old);
		return;
	}
	if (same || in->overrides || is_open(before)) {
		before->value = value;
		before->form = setting.form;
		before->argument = setting.argument;
		before->unresolved = setting.unresolved;
	}
}

static void
add(struct import *in, struct setting setting)
{
	struct setting *before = in->config->settings;

	if (in->full)
		return;
	setting.argument = in->arguments;
	while (before && (family(before->form) != family(setting.form) ||
			     strcmp(before->name, setting.name) != 0))
		before = before->next;
	if (before)
		merge(in, before, setting);
	else
		append(in, setting);
	if (!setting.unresolved)
		check_term(in, setting.form, setting.name, setting.value);
}

void
import_setting(struct import *in, enum config_form form, const char *name, const struct doc *value)
{
	add(in, (struct setting){.name = name, .value = value, .form = form});
}

static void
add_unresolved(struct import *in, struct unresolved what, const char *text)
{
	struct unresolved **last = &in->config->unresolved;
	struct loc loc = what.loc;
	int count = 0;

	text = import_shown(in->arena, text, strlen(text));
	for (; *last; last = &(*last)->next, count++)
		if (strcmp((*last)->name, text) == 0 && (*last)->loc.line == loc.line &&
		    (*last)->loc.column == loc.column)
			return;
	if (count >= IMPORT_MAX_UNRESOLVED)
		return;
	what.name = text;
	*last = arena_alloc(in->arena, sizeof(**last));
	**last = what;
}

void
import_unknown_setting(
    struct import *in, enum config_form form, const char *name, const char *text, struct loc loc)
{
	struct doc *value = import_string(in->arena, name, text, loc);

	value->kind = DOC_NULL;
	add(in, (struct setting){.name = name, .value = value, .form = form, .unresolved = true});
	add_unresolved(in, (struct unresolved){.loc = loc, .setting = name, .form = form}, text);
}

void
import_unresolved(struct import *in, struct loc loc, const char *text)
{
	add_unresolved(in, (struct unresolved){.loc = loc}, text);
}

void
import_map(struct import *in, enum config_form form, const char *prefix, const struct doc *map)
{
	for (const struct doc *member = map->first; member; member = member->next) {
		const char *name =
		    *prefix ? arena_printf(in->arena, "%s.%s", prefix, member->key) : member->key;

		if (in->full)
			return;
		/* a variable that stands for the whole value */
		if (member->kind == DOC_STRING && strncmp(member->text, "${", 2) == 0)
			import_unknown_setting(in, form, name, member->text, member->loc);
		else
			import_setting(in, form, name, member);
		if (member->kind == DOC_MAP)
			import_map(in, form, name, member);
	}
}

/* --- forms ---------------------------------------------------------------------------------- */

/* What two files of these forms are together; -1: they do not go together. */
static int
joined_form(enum config_form a, enum config_form b)
{
	if (a == b || b == CONFIG_NUMBERS)
		return (int)a;
	if (a == CONFIG_NUMBERS || a == CONFIG_PLAN)
		return (int)b;
	if (b == CONFIG_PLAN)
		return (int)a;
	/* the two files of the guides, and Megatron-DeepSpeed's script and file */
	if (family(a) == CONFIG_DEEPSPEED && family(b) == CONFIG_DEEPSPEED)
		return CONFIG_TUTORIAL;
	if ((a == CONFIG_MEGATRON && b == CONFIG_DEEPSPEED) ||
	    (a == CONFIG_DEEPSPEED && b == CONFIG_MEGATRON))
		return CONFIG_DEEPSPEED;
	return -1;
}

int
import_form(struct import *in, enum config_form form, struct loc loc)
{
	enum config_form before = in->config->form;
	int joined = joined_form(before, form);
	const struct setting *first = in->config->settings;

	if (joined >= 0) {
		in->config->form = (enum config_form)joined;
		return 0;
	}
	while (first && first->form != before)
		first = first->next;
	return diag_error(in->diags, loc, "this is a %s configuration, %s is a %s one",
	    config_form_names[form], first ? place(in->arena, first->value->loc) : "another file",
	    config_form_names[before]);
}
