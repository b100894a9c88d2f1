/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does DeepSpeed make of a file that says degrees where it does not look?
 *
 * Guides write "moe": {"ep_size": 8} and "pipeline": {"stages": 2} into ds_config.json; their
 * user means EP 8 and PP 2, the arithmetic shows that, and the code may do it. DeepSpeed itself
 * takes EP and PP from MoE(ep_size=…) and PipelineModule(num_stages=…) alone, so a rule is
 * broken for certain only where it is broken without them: all else is a warning.
 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/import_private.h"
#include "check/rules_private.h"

static const struct {
	const char *term, *name;
	size_t offset; /* of an int64_t in struct strategy */
} degrees[] = {{"tp", "TP", offsetof(struct strategy, tp)},
    {"pp", "PP", offsetof(struct strategy, pp)}, {"ep", "EP", offsetof(struct strategy, ep)}};
enum { DEGREES = sizeof(degrees) / sizeof(degrees[0]) };

static int64_t *
degree(struct strategy *strategy, int which)
{
	return (int64_t *)(void *)((char *)strategy + degrees[which].offset);
}

static bool
is_unread(const struct setting *setting, const struct key *key)
{
	const char *file = setting->value->loc.file;
	size_t length = file ? strlen(file) : 0;

	if (setting->argument || (length > 3 && strcmp(file + length - 3, ".py") == 0))
		return false;
	/* a block that DeepSpeed has, with a key that makes no pipeline */
	return strcmp(setting->name, "pipeline.stages") == 0 ||
	       (key->until && strcmp(key->until, "0") == 0);
}

/* The setting that says this degree where nothing reads it, unless one that is read says it too. */
static const struct setting *
unread(const struct config *config, const char *term)
{
	const struct setting *found = NULL;

	for (const struct setting *s = config->settings; s; s = s->next) {
		const struct key *key = import_key(s->form, s->name);

		if (!key || !key->term || strcmp(key->term, term) != 0 || !s->value->is_integer)
			continue;
		if (!is_unread(s, key))
			return NULL;
		found = found ? found : s;
	}
	return found;
}

static const struct setting *
unread_degree(const struct facts *facts, int which)
{
	struct strategy meant = *facts->check->strategy;
	const struct setting *found = NULL;

	if (facts->framework == 1U << FRAMEWORK_DEEPSPEED && !meant.auto_ep)
		found = unread(facts->check->config, degrees[which].term);
	/* an option that says something else counts */
	if (!found || *degree(&meant, which) <= 1 ||
	    found->value->integer != *degree(&meant, which))
		return NULL;
	return found;
}

struct strategy *
rules_as_read(const struct facts *facts)
{
	const struct check_context *check = facts->check;
	struct strategy *read = arena_alloc(facts->arena, sizeof(*read)), known;
	bool any = false;

	*read = *check->strategy;
	for (int i = 0; i < DEGREES; i++)
		if (unread_degree(facts, i)) {
			*degree(read, i) = 1;
			any = true;
		}
	if (!any)
		return NULL;
	read->dp = read->edp = read->dp_shard = read->micro_batches = 0;
	read->etp = 0;
	read->global_batch = check->config->strategy.global_batch;
	read->micro_batch = check->config->strategy.micro_batch;
	if (!import_value(check->config, CONFIG_DEEPSPEED, "train_batch_size"))
		read->global_batch = 0;
	known = *read;
	strategy_derive(&known, check->model, 0);
	config_derive_batch(check->config, read, known.dp);
	strategy_derive(read, check->model, 0);
	return read;
}

/* "'moe.ep_size' and 'pipeline.stages'", with their degrees behind when asked for. */
static const char *
unread_names(const struct facts *facts, bool sizes)
{
	struct str text = str_new(facts->arena);

	for (int i = 0; i < DEGREES; i++) {
		const struct setting *setting = unread_degree(facts, i);

		if (!setting)
			continue;
		str_addf(&text, "%s'%s'", text.length > 0 ? " and " : "", setting->name);
		if (sizes)
			str_addf(&text, " (%s %lld)", degrees[i].name,
			    (long long)setting->value->integer);
	}
	return text.text;
}

void
rule_soften(
    const struct facts *facts, struct diags *diags, struct diag *diag, const char *condition)
{
	const char *names = unread_names(facts, false);

	if (diag->severity == SEVERITY_NOTE)
		return;
	diag->message = arena_printf(facts->arena, "%s, %s the code does what %s say%s",
	    diag->message, condition, names, strstr(names, " and ") ? "" : "s");
	if (diag->severity != SEVERITY_ERROR)
		return;
	diag->severity = SEVERITY_WARNING;
	diags->errors--;
	diags->warnings++;
}

/* meant(): "'moe.ep_size' (EP 8)"; undecided when all degrees are said where they are read. */
static struct value
call_meant(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const char *names = unread_names(scope->context, true);

	(void)arguments, (void)count;
	return names && *names ? value_text(names) : value_undecided;
}

/* as_read(): "EP 1 and DP 16", what DeepSpeed runs without them. */
static struct value
call_as_read(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	struct strategy *read = rules_as_read(facts);
	struct str text = str_new(scope->arena);

	(void)arguments, (void)count;
	for (int i = 0; read && i < DEGREES; i++)
		if (unread_degree(facts, i))
			str_addf(&text, "%s 1, ", degrees[i].name);
	if (!read || read->dp < 1)
		return value_undecided;
	str_addf(&text, "DP %lld", (long long)read->dp);
	return value_text(text.text);
}

const struct expr_function meant_functions[] = {
    {"meant", 0, 0, false, call_meant},
    {"as_read", 0, 0, false, call_as_read},
    {.name = NULL},
};
