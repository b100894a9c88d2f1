/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What does this rule, number or symptom mean, where is it from, what helps? */
#include <string.h>

#include "base/str.h"
#include "check/context.h"
#include "check/rules_private.h"
#include "cmd/explain_report.h"
#include "planner/rates.h"

/* --- a rule in plain words ------------------------------------------------------------------ */

const char *
rule_frameworks(struct arena *arena, const struct rule *rule)
{
	struct str text = str_new(arena);

	if (rule->frameworks == 0)
		return "any";
	for (int i = 0; i < FRAMEWORKS; i++)
		if (rule->frameworks & 1U << i)
			str_addf(&text, "%s%s", text.length > 0 ? ", " : "", framework_names[i]);
	if (rule->frameworks & RULE_OTHER)
		str_addf(&text, "%sother frameworks", text.length > 0 ? ", " : "");
	return text.text;
}

const char *
rule_versions(struct arena *arena, const struct rule *rule)
{
	if (rule->since && rule->until)
		return arena_printf(arena, "from %s to before %s", rule->since, rule->until);
	if (rule->since)
		return arena_printf(arena, "from %s on", rule->since);
	return rule->until ? arena_printf(arena, "before %s", rule->until) : "all";
}

const char *
rule_condition(struct arena *arena, const struct rule *rule)
{
	const struct grid_rule *grid = rule->grid ? rule_grid(rule->id) : NULL;
	struct str text = str_new(arena);

	if (grid)
		str_add(&text, grid->gist);
	if (grid && rule->require)
		str_add(&text, "; ");
	if (rule->require)
		str_add(&text, rule->require);
	return text.text;
}

/* "{remainder: world % ep}" becomes "<world % ep>". */
const char *
rule_plain(struct arena *arena, const char *text)
{
	struct str out = str_new(arena);

	while (text && *text) {
		size_t length = strcspn(text, "{");
		const char *end;

		str_addn(&out, text, length);
		text += length;
		if (!*text || !(end = strchr(text, '}')))
			break;
		for (const char *at = text + 1; at < end; at++)
			if (*at == ':' &&
			    strspn(text + 1, "abcdefghijklmnopqrstuvwxyz0123456789_") ==
				(size_t)(at - text - 1)) {
				text = at + (at[1] == ' ');
				break;
			}
		str_addc(&out, '<');
		str_addn(&out, text + 1, (size_t)(end - text) - 1);
		str_addc(&out, '>');
		text = end + 1;
	}
	return out.text;
}

/* --- what is asked -------------------------------------------------------------------------- */

static int
rate_index(const char *name)
{
	for (int i = 0; i < RATES; i++)
		if (strcmp(rate_table[i].name, name) == 0)
			return i;
	return -1;
}

static const struct symptom *
symptom_find(const char *name)
{
	for (const struct symptom *symptom = symptoms; symptom->name; symptom++)
		if (strcmp(symptom->name, name) == 0)
			return symptom;
	return NULL;
}

static const struct rule_fact *
fact_find(const char *id)
{
	for (const struct rule_fact *fact = rule_facts; fact->id; fact++)
		if (strcmp(fact->id, id) == 0)
			return fact;
	return NULL;
}

/* Rules are written in capitals; people need not. */
static const char *
upper(struct arena *arena, const char *text)
{
	char *copy = arena_strdup(arena, text);

	for (char *at = copy; *at; at++)
		if (*at >= 'a' && *at <= 'z')
			*at = (char)(*at - 'a' + 'A');
	return copy;
}

static bool
find_topic(struct request *request, const char *topic, struct explanation *what)
{
	const char *id = upper(request->arena, topic);

	what->topic = topic;
	what->rate = rate_index(topic);
	what->rule = rule_find(id);
	what->fact = fact_find(id);
	what->part = part_find(topic);
	what->term = term_find(topic);
	what->symptom = symptom_find(topic);
	what->all_rules = strcmp(topic, "rules") == 0;
	what->all_terms = strcmp(topic, "terms") == 0;
	what->all_fields = strcmp(topic, "cases") == 0;
	what->compare = strcmp(topic, "tp-vs-ep") == 0;
	return what->rate >= 0 || what->rule || what->fact || what->part || what->term ||
	       what->symptom || what->all_rules || what->all_terms || what->all_fields ||
	       what->compare;
}

/* Everything that could have been meant. */
static const char *const *
known_topics(struct arena *arena)
{
	enum { MOST = 1024 };
	const char **names = arena_array(arena, MOST, sizeof(*names));
	size_t n = 0;

	for (const struct symptom *s = symptoms; s->name; s++)
		names[n++] = s->name;
	for (const struct part_text *part = part_texts; part->name; part++)
		names[n++] = part->name;
	for (const struct term *term = terms; term->name && n < MOST / 2; term++)
		names[n++] = term->name;
	for (int i = 0; i < RATES; i++)
		names[n++] = rate_table[i].name;
	for (size_t t = 0; rule_tables[t]; t++)
		for (const struct rule *rule = rule_tables[t]; rule->id && n + 5 < MOST; rule++)
			names[n++] = rule->id;
	names[n++] = "rules";
	names[n++] = "terms";
	names[n++] = "cases";
	names[n++] = "tp-vs-ep";
	return names;
}

static enum status
unknown_topic(struct request *request, const char *topic)
{
	const char *near = str_nearest(topic, known_topics(request->arena));
	struct loc nowhere = {NULL, 0, 0};

	diag_error(request->diags, nowhere, "'%s' is no rule, term or symptom", topic);
	if (near)
		diag_last_hint(request->diags, "did you mean '%s'?", near);
	else
		diag_last_hint(request->diags, "'moeplan explain rules', 'terms' and 'cases' list "
					       "them; symptoms are oom, slow, hang, "
					       "loss-spike, launch, tp-vs-ep");
	return STATUS_USAGE;
}

static enum status
wrong_arguments(struct request *request)
{
	struct loc nowhere = {NULL, 0, 0};

	diag_error(request->diags, nowhere, "one rule, term or symptom is wanted%s",
	    request->arguments.count > 2 ? ", and at most one plan" : "");
	diag_last_hint(request->diags, "moeplan explain MEG-003; moeplan explain oom plan.json");
	return STATUS_USAGE;
}

static int
read_the_plan(struct request *request, struct explanation *what)
{
	if (request->arguments.count < 2)
		return 0;
	what->plan = explained_plan_read(request, request->arguments.positional[1]);
	if (!what->plan)
		return -1;
	if (what->symptom && what->symptom->aim >= 0)
		explained_plan_try(request, what->plan, what->symptom->aim);
	return 0;
}

enum status
cmd_explain(struct request *request)
{
	struct explanation *what = arena_alloc(request->arena, sizeof(*what));

	if (request->arguments.count < 1 || request->arguments.count > 2)
		return wrong_arguments(request);
	if (!find_topic(request, request->arguments.positional[0], what))
		return unknown_topic(request, request->arguments.positional[0]);
	if (read_the_plan(request, what) != 0)
		return STATUS_USAGE;
	if (request->common.format == FORMAT_JSON)
		json_explain(request, what);
	else
		text_explain(request, what);
	return STATUS_YES;
}
