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

const struct rule *const rule_tables[] = {rules_megatron, rules_megatron_pipeline,
    rules_megatron_dense, rules_megatron_moe, rules_megatron_old, rules_deepspeed, rules_torchtitan,
    rules_libraries, rules_grid, rules_launch, rules_arithmetic, rules_memory, rules_health, NULL};

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

/* --- deciding ------------------------------------------------------------------------------- */

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
	struct rule_sink sink = {run->facts, run->diags, &draft};
	struct str problem = str_new(run->arena);
	const char *message, *hint;

	if (run->facts->setting)
		draft.loc = run->facts->setting->value->loc;
	for (int i = 0; i < c->n_pieces; i++) {
		if (!broken[i])
			continue;
		expr_names(c->pieces[i].condition, rule_add_place, &sink);
		expr_names(c->pieces[i].condition, rule_add_name, &sink);
		if (c->pieces[i].text) {
			str_add(&problem, problem.length > 0 ? ", " : "");
			str_add(&problem, rule_render(&sink, c->pieces[i].text, NULL));
		}
	}
	if (c->when)
		expr_names(c->when, rule_add_place, &sink);
	message = rule_render(&sink, rule->message, problem.text);
	hint = rule_render_hint(&sink, rule->hint, problem.text);
	/* what a launch line does not say is missing there */
	if (!draft.loc.file && strncmp(rule->id, "LAU", 3) == 0)
		draft.loc = run->facts->check->config->launch.loc;
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
	struct rule_sink sink = {run->facts, run->diags, NULL};
	struct hidden_search search = {run->facts, false};

	if (run->facts->hidden != 0)
		rule_visit_braces(&sink, rule->message, search_hidden, &search);
	return search.found;
}

/* The grid rule's own words, with the place, the user's spelling of options, and our numbers. */
static int
decide_grid(struct run *run, const struct compiled *c)
{
	const struct grid_rule *grid = rule_grid(c->rule->id);
	const struct strategy *strategy = run->facts->check->strategy;
	struct diag *before = run->diags->last, *diag;
	struct rule_sink sink = {run->facts, run->diags, NULL};

	if (!grid || truth(c->grid, run->facts) != 1 || needs_hidden(run, c->rule))
		return -1;
	if (grid->holds(strategy, run->facts->model))
		return 1;
	grid->report(grid, strategy, run->facts->model, run->diags);
	diag = run->diags->last;
	if (diag == before)
		return 1;
	sink.diag = diag;
	rule_render(&sink, c->rule->message, "");
	rule_render_hint(&sink, c->rule->hint, "");
	if (!diag->loc.file)
		rule_visit_braces(&sink, c->rule->message, rule_add_place, &sink);
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

/* Words of launchers, of cases, of plans, and shapes of a guide's model file are no framework's. */
static bool
concerns(const struct rule *rule, const struct setting *setting)
{
	if (setting->form == CONFIG_NUMBERS || setting->form == CONFIG_PLAN)
		return false;
	return setting->form != CONFIG_TUTORIAL || rule->frameworks == ON_ANY;
}

static void
decide_each(struct run *run, const struct compiled *c)
{
	const struct setting *setting = run->facts->check->config->settings;
	int decided = run->decided, undecided = run->undecided, reports = 0;
	struct diags *diags = run->diags;

	for (; setting; setting = setting->next) {
		struct diag *before = diags->last;
		int errors = diags->errors, warnings = diags->warnings, notes = diags->notes;

		if (!concerns(c->rule, setting))
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

/*
 * Broken for certain is what is broken both as DeepSpeed reads the file and as it is meant; what
 * is broken in one of the two may be.
 */
static void
decide_read(struct run *run, const struct compiled *c, const struct check_context *read)
{
	const struct check_context *meant = run->facts->check;
	struct diags *diags = run->diags, *trial = diags_new(run->arena);
	struct diag *before = diags->last;
	int decided = run->decided, undecided = run->undecided;

	run->facts->check = read;
	run->diags = trial;
	decide(run, c);
	run->facts->check = meant;
	run->diags = diags;
	run->decided = decided;
	run->undecided = undecided;
	decide(run, c);
	if ((diags->last != before) == (trial->first != NULL))
		return;
	if (trial->first) {
		run->facts->check = read;
		decide(run, c);
		run->decided--;
		run->facts->check = meant;
	}
	rule_soften(run->facts, diags, diags->last, trial->first ? "unless" : "if");
}

int
rules_run(
    const struct check_context *context, struct arena *arena, struct diags *diags, int *undecided)
{
	struct facts facts;
	struct run run = {&facts, arena, diags, 0, 0};
	struct check_context read = *context;

	facts_init(&facts, context, arena);
	read.strategy = rules_as_read(&facts);
	for (size_t t = 0; rule_tables[t]; t++) {
		for (const struct rule *rule = rule_tables[t]; rule->id; rule++) {
			struct compiled c;

			if (!rule_applies(rule, facts.framework, facts.version) ||
			    rule_compile(rule, &c, arena, diags_new(arena)) != 0)
				continue;
			if (c.each)
				decide_each(&run, &c);
			else if (read.strategy && rule->frameworks == 1U << FRAMEWORK_DEEPSPEED)
				decide_read(&run, &c, &read);
			else
				decide(&run, &c);
		}
	}
	*undecided = run.undecided;
	return run.decided;
}
