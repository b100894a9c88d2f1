/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which rules does a configuration break? Every row of every table that the
 * framework and its version have is decided once, or once a setting; rows whose
 * id is a grid rule's (model/strategy.h) ask that one, so that the planner and
 * the check say the same.
 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/context.h"
#include "check/rules_private.h"
#include "check/rules_tables.h"

const struct rule *const rule_tables[] = {rules_megatron, rules_megatron_moe, rules_megatron_old,
    rules_deepspeed, rules_torchtitan, rules_libraries, rules_grid, rules_launch, rules_arithmetic,
    rules_memory, rules_health, NULL};

static bool
is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.';
}

const struct rule *
rule_find(const char *id)
{
	for (size_t t = 0; rule_tables[t]; t++)
		for (const struct rule *rule = rule_tables[t]; rule->id; rule++)
			if (strcmp(rule->id, id) == 0)
				return rule;
	return NULL;
}

static bool
has_name(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = text; at && (at = strstr(at, name)) != NULL; at += length)
		if ((at == text || !is_name_byte(at[-1])) && !is_name_byte(at[length]))
			return true;
	return false;
}

bool
rules_mention(const char *name)
{
	for (size_t t = 0; rule_tables[t]; t++)
		for (const struct rule *rule = rule_tables[t]; rule->id; rule++)
			if (has_name(rule->when, name) || has_name(rule->require, name) ||
			    has_name(rule->grid, name))
				return true;
	return false;
}

const struct grid_rule *
rule_grid(const char *id)
{
	for (const struct grid_rule *rule = grid_rules; rule->id; rule++)
		if (strcmp(rule->id, id) == 0)
			return rule;
	return NULL;
}

bool
rule_applies(const struct rule *rule, unsigned framework, const char *version)
{
	if (rule->frameworks && !(rule->frameworks & framework))
		return false;
	if (!version || !rule->frameworks)
		return !rule->until;
	if (rule->since && version_compare(version, rule->since) < 0)
		return false;
	return !rule->until || version_compare(version, rule->until) < 0;
}

/* --- reading a row -------------------------------------------------------------------------- */

static const struct expr *
parse(struct arena *arena, struct diags *diags, const char *text, size_t length)
{
	return expr_parse(arena, diags, arena_strndup(arena, text, length), rule_function_tables);
}

/* Where `stop` stands outside quotes and parentheses; the end of the text when nowhere. */
static const char *
find_outside(const char *text, char stop)
{
	int depth = 0;

	for (; *text; text++) {
		if (*text == '\'' || *text == '"') {
			const char *end = strchr(text + 1, *text);

			if (!end)
				return text + strlen(text);
			text = end;
		} else if (*text == stop && depth == 0) {
			return text;
		} else if (*text == '(') {
			depth++;
		} else if (*text == ')') {
			depth--;
		}
	}
	return text;
}

/* "condition : 'text'": the text inside the quotes, or NULL. */
static const char *
piece_text(struct arena *arena, const char *colon, const char *end)
{
	const char *open = colon + 1 + strspn(colon + 1, " ");
	const char *close = end;

	while (close > open && *close != '\'')
		close--;
	if (*open != '\'' || close == open)
		return NULL;
	return arena_strndup(arena, open + 1, (size_t)(close - open) - 1);
}

static int
compile_pieces(struct compiled *c, struct arena *arena, struct diags *diags, const char *text)
{
	while (*text) {
		const char *end = find_outside(text, ';');
		const char *colon = find_outside(text, ':');
		struct rule_piece *piece = &c->pieces[c->n_pieces];
		bool named = colon < end;

		if (c->n_pieces == RULE_MAX_PIECES)
			return diag_error(diags, (struct loc){NULL, 0, 0},
			    "more than %d conditions in one rule", RULE_MAX_PIECES);
		piece->condition =
		    parse(arena, diags, text, (size_t)((named ? colon : end) - text));
		piece->text = named ? piece_text(arena, colon, *end ? end : end - 1) : NULL;
		if (!piece->condition || (named && !piece->text))
			return -1;
		c->n_pieces++;
		text = *end ? end + 1 : end;
	}
	return 0;
}

static void
notice_setting(void *context, const char *name)
{
	if (strcmp(name, "setting") == 0 || strcmp(name, "value") == 0)
		*(bool *)context = true;
}

int
rule_compile(const struct rule *rule, struct compiled *c, struct arena *arena, struct diags *diags)
{
	*c = (struct compiled){.rule = rule};
	if (rule->when && !(c->when = parse(arena, diags, rule->when, strlen(rule->when))))
		return -1;
	if (rule->grid && !(c->grid = parse(arena, diags, rule->grid, strlen(rule->grid))))
		return -1;
	if (rule->require && compile_pieces(c, arena, diags, rule->require) != 0)
		return -1;
	if (c->when)
		expr_names(c->when, notice_setting, &c->each);
	for (int i = 0; i < c->n_pieces; i++)
		expr_names(c->pieces[i].condition, notice_setting, &c->each);
	return 0;
}

/* --- numbers and places --------------------------------------------------------------------- */

struct sink {
	const struct facts *facts;
	struct diags *diags;
	struct diag *diag;
};

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
add_number(struct sink *sink, const char *name, const struct value *value)
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

static void
add_name(void *context, const char *name)
{
	struct sink *sink = context;
	struct expr_scope scope = facts_scope(sink->facts);
	struct value value = scope.resolve(&scope, name);

	add_number(sink, name, &value);
}

/* The first setting that a condition is about tells the place. */
static void
add_place(void *context, const char *name)
{
	struct sink *sink = context;
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
render_braces(struct sink *sink, const char *text, const char *end, const char *problem)
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
		expr_names(expr, add_name, sink);
	}
	return value_show(arena, &value);
}

/* Up to `end`, with braces filled in; *decided becomes false when one cannot be. */
static const char *
render(struct sink *sink, const char *text, const char *end, const char *problem, bool *decided)
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

/* Calls `visit` with the names of everything that stands in braces. */
static void
visit_braces(struct sink *sink, const char *text, void (*visit)(void *context, const char *name),
    void *context)
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

static const char *
render_all(struct sink *sink, const char *text, const char *problem)
{
	bool decided = true;

	return render(sink, text, text + strlen(text), problem, &decided);
}

/* The first alternative in which everything is known. */
static const char *
render_hint(struct sink *sink, const char *hint, const char *problem)
{
	struct sink silent = {sink->facts, sink->diags, NULL};

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

/* --- deciding ------------------------------------------------------------------------------- */

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

struct run {
	struct facts *facts;
	struct arena *arena;
	struct diags *diags;
	int decided, undecided;
};

static int
truth(const struct expr *expr, const struct facts *facts)
{
	struct expr_scope scope = facts_scope(facts);
	struct value value = expr_evaluate(expr, &scope);

	return value_truth(&value);
}

static void
report(struct run *run, const struct compiled *c, const bool *broken)
{
	const struct rule *rule = c->rule;
	/* Numbers and place are found while the message is written, and the message comes first. */
	struct diag draft = {.loc = {NULL, 0, 0}}, *diag;
	struct sink sink = {run->facts, run->diags, &draft};
	struct str problem = str_new(run->arena);
	const char *message, *hint;

	if (run->facts->setting)
		draft.loc = run->facts->setting->value->loc;
	for (int i = 0; i < c->n_pieces; i++) {
		if (!broken[i])
			continue;
		expr_names(c->pieces[i].condition, add_place, &sink);
		expr_names(c->pieces[i].condition, add_name, &sink);
		if (c->pieces[i].text) {
			str_add(&problem, problem.length > 0 ? ", " : "");
			str_add(&problem, render_all(&sink, c->pieces[i].text, NULL));
		}
	}
	if (c->when)
		expr_names(c->when, add_place, &sink);
	message = render_all(&sink, rule->message, problem.text);
	hint = render_hint(&sink, rule->hint, problem.text);
	diag = diag_add(run->diags, draft.loc, rule->id, rule->severity, "%s", message);
	diag->silent = rule->silent;
	diag->numbers = draft.numbers;
	if (hint)
		diag_hint(run->diags, diag, "%s", hint);
}

/* 1 when it holds, 0 when it was reported, -1 undecided. */
static int
decide_pieces(struct run *run, const struct compiled *c)
{
	bool broken[RULE_MAX_PIECES] = {false};
	int result = c->n_pieces > 0 ? -1 : 1;

	for (int i = 0; i < c->n_pieces; i++) {
		int holds = truth(c->pieces[i].condition, run->facts);

		broken[i] = holds == 0;
		if (holds == 0)
			result = 0;
		else if (holds == 1 && result < 0)
			result = 1;
	}
	if (result == 0)
		report(run, c, broken);
	return result;
}

/* The grid rule asks the strategy, which has 1 where a size is said and not known. */
struct hidden_search {
	const struct facts *facts;
	bool found;
};

static void
search_hidden(void *context, const char *name)
{
	struct hidden_search *search = context;
	struct expr_scope scope = facts_scope(search->facts);

	search->found = search->found || scope.resolve(&scope, name).kind == VALUE_HIDDEN;
}

static bool
needs_hidden(struct run *run, const struct rule *rule)
{
	struct sink sink = {run->facts, run->diags, NULL};
	struct hidden_search search = {run->facts, false};

	if (run->facts->hidden != 0)
		visit_braces(&sink, rule->message, search_hidden, &search);
	return search.found;
}

/* The grid rule's own words, with the place, the user's spelling of options, and our numbers. */
static int
decide_grid(struct run *run, const struct compiled *c)
{
	const struct grid_rule *grid = rule_grid(c->rule->id);
	const struct strategy *strategy = run->facts->check->strategy;
	struct diag *before = run->diags->last, *diag;
	struct sink sink = {run->facts, run->diags, NULL};

	if (!grid || truth(c->grid, run->facts) != 1 || needs_hidden(run, c->rule))
		return -1;
	if (grid->holds(strategy, run->facts->model))
		return 1;
	grid->report(grid, strategy, run->facts->model, run->diags);
	diag = run->diags->last;
	if (diag == before)
		return 1;
	sink.diag = diag;
	render_all(&sink, c->rule->message, "");
	render_hint(&sink, c->rule->hint, "");
	if (!diag->loc.file)
		visit_braces(&sink, c->rule->message, add_place, &sink);
	if (diag->hint)
		diag->hint = rule_spell(run->facts, diag->hint);
	diag->silent = c->rule->silent;
	return 0;
}

static void
decide(struct run *run, const struct compiled *c)
{
	int when = c->when ? truth(c->when, run->facts) : 1;
	int result = 1;

	if (when == 1) {
		result = c->grid ? decide_grid(run, c) : -1;
		if (result != 0) {
			int pieces = decide_pieces(run, c);

			result = c->n_pieces > 0 && (pieces >= 0 || result < 0) ? pieces : result;
		}
	}
	if (when < 0 || result < 0)
		run->undecided++;
	else
		run->decided++;
}

/* A block and its members may say the same thing: once is enough. */
static void
drop_repetition(struct diags *diags, struct diag *before, int errors, int warnings, int notes)
{
	if (!before || diags->last == before || before->next != diags->last || !before->rule ||
	    strcmp(before->rule, diags->last->rule) != 0 ||
	    strcmp(before->message, diags->last->message) != 0)
		return;
	before->next = NULL;
	diags->last = before;
	diags->errors = errors;
	diags->warnings = warnings;
	diags->notes = notes;
}

/* Somebody who reads on has another version, or another framework, in mind. */
enum { MAX_REPORTS = 50 };

static void
decide_each(struct run *run, const struct compiled *c)
{
	const struct setting *setting = run->facts->check->config->settings;
	int decided = run->decided, undecided = run->undecided, reports = 0;
	struct diags *diags = run->diags;

	for (; setting; setting = setting->next) {
		struct diag *before = diags->last;
		int errors = diags->errors, warnings = diags->warnings, notes = diags->notes;

		/* Words of launchers, of cases, and shapes of a guide's model file. */
		if (setting->form == CONFIG_NUMBERS || setting->form == CONFIG_TUTORIAL)
			continue;
		run->facts->setting = setting;
		decide(run, c);
		drop_repetition(diags, before, errors, warnings, notes);
		reports += diags->last != before;
		if (reports == MAX_REPORTS) {
			diag_add(diags, setting->value->loc, c->rule->id, SEVERITY_NOTE,
			    "told %d times: what else breaks this rule is left out", MAX_REPORTS);
			break;
		}
	}
	run->facts->setting = NULL;
	run->decided = decided + 1;
	run->undecided = undecided;
}

int
rules_run(
    const struct check_context *context, struct arena *arena, struct diags *diags, int *undecided)
{
	struct facts facts;
	struct run run = {&facts, arena, diags, 0, 0};

	facts_init(&facts, context, arena);
	for (size_t t = 0; rule_tables[t]; t++) {
		for (const struct rule *rule = rule_tables[t]; rule->id; rule++) {
			struct compiled c;

			if (!rule_applies(rule, facts.framework, facts.version) ||
			    rule_compile(rule, &c, arena, diags_new(arena)) != 0)
				continue;
			if (c.each)
				decide_each(&run, &c);
			else
				decide(&run, &c);
		}
	}
	*undecided = run.undecided;
	return run.decided;
}
