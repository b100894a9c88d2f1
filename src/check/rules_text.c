/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How do a rule's message and hint read with the values of a configuration, and which
 * numbers do they tell?
 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/rules_private.h"

static const struct expr *
parse(struct arena *arena, struct diags *diags, const char *text, size_t length)
{
	return expr_parse(arena, diags, arena_strndup(arena, text, length), rule_function_tables);
}

/* --- numbers and places --------------------------------------------------------------------- */

static bool
has_number(const struct diag *diag, const char *name)
{
	for (const struct diag_number *number = diag->numbers; number; number = number->next)
		if (strcmp(number->name, name) == 0)
			return true;
	return false;
}

static bool
all_numeric(const struct value *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (!value_is_numeric(&list->items[i]))
			return false;
	return true;
}

/* A list becomes several numbers of one name. */
static void
add_number(struct rule_sink *sink, const char *name, const struct value *value)
{
	if (has_number(sink->diag, name))
		return;
	if (value_is_numeric(value))
		diag_number(sink->diags, sink->diag, name, value_as_number(value));
	else if (value->kind == VALUE_LIST && all_numeric(value))
		for (size_t i = 0; i < value->count; i++)
			diag_number(
			    sink->diags, sink->diag, name, value_as_number(&value->items[i]));
}

void
rule_add_name(void *context, const char *name)
{
	struct rule_sink *sink = context;
	struct expr_scope scope = facts_scope(sink->facts);
	struct value value = scope.resolve(&scope, name);

	add_number(sink, name, &value);
}

void
rule_add_place(void *context, const char *name)
{
	struct rule_sink *sink = context;
	const struct setting *setting = facts_setting(sink->facts, name);

	if (sink->diag->loc.file || !setting)
		return;
	sink->diag->loc = setting->value->loc;
}

/* --- messages ------------------------------------------------------------------------------- */

/* Length of a label in "label: expression", 0 without one. */
static size_t
label_length(const char *text, const char *end)
{
	const char *at = text;

	while (at < end && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
			       (*at >= '0' && *at <= '9') || *at == '_'))
		at++;
	return at < end && *at == ':' ? (size_t)(at - text) : 0;
}

/* The value of what stands in braces, noted as a number when it has a name. */
static const char *
render_braces(struct rule_sink *sink, const char *text, const char *end, const char *problem)
{
	struct arena *arena = sink->facts->arena;
	struct expr_scope scope = facts_scope(sink->facts);
	size_t label = label_length(text, end);
	const char *start = label > 0 ? text + label + 1 : text;
	const struct expr *expr;
	struct value value;

	if ((size_t)(end - text) == strlen("problem") && strncmp(text, "problem", 7) == 0)
		return problem;
	expr = parse(arena, diags_new(arena), start, (size_t)(end - start));
	if (!expr)
		return NULL;
	value = expr_evaluate(expr, &scope);
	if (value.kind <= VALUE_UNSET)
		return NULL;
	if (sink->diag) {
		if (label > 0)
			add_number(sink, arena_strndup(arena, text, label), &value);
		expr_names(expr, rule_add_name, sink);
	}
	return value_show(arena, &value);
}

/* Up to `end`, with braces filled in; *decided becomes false when one cannot be. */
static const char *
render(struct rule_sink *sink, const char *text, const char *end, const char *problem,
    bool *decided)
{
	struct str out = str_new(sink->facts->arena);

	while (text < end) {
		const char *open = memchr(text, '{', (size_t)(end - text));
		const char *close, *shown;

		if (!open || !(close = strchr(open, '}')) || close >= end) {
			str_addn(&out, text, (size_t)(end - text));
			break;
		}
		str_addn(&out, text, (size_t)(open - text));
		shown = render_braces(sink, open + 1, close, problem);
		*decided = *decided && shown;
		str_add(&out, shown ? shown : "unknown");
		text = close + 1;
	}
	return out.text;
}

void
rule_visit_braces(struct rule_sink *sink, const char *text,
    void (*visit)(void *context, const char *name), void *context)
{
	struct arena *arena = sink->facts->arena;
	const char *close;

	while ((text = strchr(text, '{')) != NULL && (close = strchr(text, '}')) != NULL) {
		const char *start = text + 1 + label_length(text + 1, close);
		const struct expr *expr;

		start += *start == ':';
		expr = parse(arena, diags_new(arena), start, (size_t)(close - start));
		if (expr)
			expr_names(expr, visit, context);
		text = close;
	}
}

const char *
rule_render(struct rule_sink *sink, const char *text, const char *problem)
{
	bool decided = true;

	return render(sink, text, text + strlen(text), problem, &decided);
}

const char *
rule_render_hint(struct rule_sink *sink, const char *hint, const char *problem)
{
	struct rule_sink silent = {sink->facts, sink->diags, NULL};

	while (hint) {
		const char *next = strstr(hint, " || ");
		const char *end = next ? next : hint + strlen(hint);
		bool decided = true;

		render(&silent, hint, end, problem, &decided);
		if (decided)
			return render(sink, hint, end, problem, &decided);
		hint = next ? next + 4 : NULL;
	}
	return NULL;
}

/* Everything in braces can be read: asked by a test of every row. */
static int
check_template(const char *text, struct arena *arena, struct diags *diags)
{
	const char *close;
	int result = 0;

	while (text && (text = strchr(text, '{')) != NULL) {
		const char *start;

		if (!(close = strchr(text, '}')))
			return diag_error(
			    diags, (struct loc){NULL, 0, 0}, "'%s': a brace is not closed", text);
		start = text + 1 + label_length(text + 1, close);
		start += *start == ':';
		if (!parse(arena, diags, start, (size_t)(close - start)))
			result = -1;
		text = close;
	}
	return result;
}

int
rule_check_templates(const struct rule *rule, struct arena *arena, struct diags *diags)
{
	struct compiled c;
	int result =
	    check_template(rule->message, arena, diags) | check_template(rule->hint, arena, diags);

	if (rule_compile(rule, &c, arena, diags) != 0)
		return -1;
	for (int i = 0; i < c.n_pieces; i++)
		result |= check_template(c.pieces[i].text, arena, diags);
	return result;
}

