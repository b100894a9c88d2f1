/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What can a condition ask of the configuration beside the values of names? One row a function. */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "check/case_fields.h"
#include "check/context.h"
#include "check/rules_names.h"

static enum framework
framework_of(const struct facts *facts)
{
	return facts->check->strategy->framework;
}

/* since('0.13'): the release is that or newer; an unknown one is the newest. */
static struct value
call_since(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;

	(void)count;
	if (arguments[0].kind != VALUE_TEXT)
		return value_undecided;
	return value_int(
	    !facts->version || version_compare(facts->version, arguments[0].text) >= 0);
}

/* name_state(text): 'known', 'unknown', 'gone', 'later'. */
static struct value
call_name_state(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;

	(void)count;
	if (arguments[0].kind != VALUE_TEXT)
		return value_undecided;
	return value_text(name_state_names[name_state(
	    framework_of(facts), facts->version, arguments[0].text, NULL)]);
}

/* own(text): a field of cases, no setting of a framework. */
static struct value
call_own(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope, (void)count;
	if (arguments[0].kind != VALUE_TEXT)
		return value_undecided;
	return value_int(case_field_is_own(arguments[0].text));
}

/* name_limit(text): ", which 0.17 removed", ", which comes with 0.18", or "". */
static struct value
call_name_limit(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	const struct name_span *span;
	enum name_state state;

	(void)count;
	if (arguments[0].kind != VALUE_TEXT)
		return value_undecided;
	state = name_state(framework_of(facts), facts->version, arguments[0].text, &span);
	if (state == NAME_GONE)
		return value_text(arena_printf(scope->arena, ", which %s removed", span->until));
	if (state == NAME_LATER)
		return value_text(arena_printf(scope->arena, ", which comes with %s", span->since));
	return value_text("");
}

/* is_block('bf16'): the framework has keys below it. */
static struct value
call_is_block(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)count;
	if (arguments[0].kind != VALUE_TEXT)
		return value_undecided;
	return value_int(name_is_block(framework_of(scope->context), arguments[0].text));
}

/* parent('a.b.c'): 'a.b'; '' without a point. */
static struct value
call_parent(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const char *point;

	(void)count;
	if (arguments[0].kind != VALUE_TEXT)
		return value_undecided;
	point = strrchr(arguments[0].text, '.');
	return value_text(point ? arena_strndup(scope->arena, arguments[0].text,
				      (size_t)(point - arguments[0].text))
				: "");
}

/* root('a.b.c'): 'a'. */
static struct value
call_root(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)count;
	if (arguments[0].kind != VALUE_TEXT)
		return value_undecided;
	return value_text(
	    arena_strndup(scope->arena, arguments[0].text, strcspn(arguments[0].text, ".")));
}

/* in_file('.py'): the setting that is looked at comes from a file of this ending. */
static struct value
call_in_file(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	const char *file = facts->setting ? facts->setting->value->loc.file : NULL;
	size_t length = file ? strlen(file) : 0, end;

	(void)count;
	if (arguments[0].kind != VALUE_TEXT)
		return value_undecided;
	end = strlen(arguments[0].text);
	return value_int(length > end && strcmp(file + length - end, arguments[0].text) == 0);
}

/* argument(): the setting that is looked at was said on a command line. */
static struct value
call_argument(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;

	(void)arguments, (void)count;
	return value_int(facts->setting && facts->setting->argument);
}

/* stated('params'): a setting of exactly this name is there. */
static struct value
call_stated(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;

	(void)count;
	if (arguments[0].kind != VALUE_TEXT)
		return value_undecided;
	return value_int(setting_find(facts->check->config, arguments[0].text) != NULL);
}

/* block('moe'): a setting of this name or below it is there. */
static struct value
call_block(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	size_t length;

	(void)count;
	if (arguments[0].kind != VALUE_TEXT)
		return value_undecided;
	length = strlen(arguments[0].text);
	for (const struct setting *s = facts->check->config->settings; s; s = s->next)
		if (strncmp(s->name, arguments[0].text, length) == 0 &&
		    (s->name[length] == '.' || s->name[length] == '\0'))
			return value_int(1);
	return facts->complete ? value_int(0) : value_undecided;
}

static bool
is_strange(const struct facts *facts, const struct setting *s)
{
	return s->form != CONFIG_NUMBERS && s->form != CONFIG_TUTORIAL &&
	       !case_field_is_own(s->name) && !name_is_block(framework_of(facts), s->name) &&
	       name_state(framework_of(facts), facts->version, s->name, NULL) != NAME_KNOWN;
}

/* strange(): settings that the framework's release does not know. Messages ask again and again. */
static struct value
call_strange(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	struct value *items;
	size_t n = 0;

	(void)arguments, (void)count;
	if (facts->strange->kind == VALUE_LIST)
		return *facts->strange;
	for (const struct setting *s = facts->check->config->settings; s; s = s->next)
		n++;
	items = arena_array(facts->arena, n, sizeof(*items));
	n = 0;
	for (const struct setting *s = facts->check->config->settings; s; s = s->next)
		if (is_strange(facts, s))
			items[n++] = value_text(s->name);
	*facts->strange = value_list(items, n);
	return *facts->strange;
}

/* spelled(text): an argument as Megatron's command line writes it, a key as it is. */
static struct value
call_spelled(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	char *text;

	(void)count;
	if (arguments[0].kind != VALUE_TEXT)
		return value_undecided;
	if (framework_of(scope->context) != FRAMEWORK_MEGATRON)
		return arguments[0];
	text = arena_printf(scope->arena, "--%s", arguments[0].text);
	for (char *at = text; *at; at++)
		*at = *at == '_' ? '-' : *at;
	return value_text(text);
}

/* some(list, n): the first n, spelled as arguments, and how many more there are. */
static struct value
call_some(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct value *list = &arguments[0];
	struct str out = str_new(scope->arena);
	size_t most = (size_t)arguments[1].integer;

	(void)count;
	if (list->kind != VALUE_LIST || arguments[1].kind != VALUE_INT)
		return value_undecided;
	for (size_t i = 0; i < list->count && i < most; i++) {
		struct value item = call_spelled(scope, &list->items[i], 1);

		str_addf(&out, "%s%s", i > 0 ? ", " : "", value_show(scope->arena, &item));
	}
	if (list->count > most)
		str_addf(&out, " and %zu more", list->count - most);
	return value_text(out.text);
}

/* strange_in(block): keys of the block that the release does not know. */
static struct value
call_strange_in(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	struct value all = call_strange(scope, NULL, 0), *items;
	size_t n = 0, length;

	(void)count;
	if (arguments[0].kind != VALUE_TEXT)
		return value_undecided;
	length = strlen(arguments[0].text);
	items = arena_array(scope->arena, all.count, sizeof(*items));
	for (size_t i = 0; i < all.count; i++)
		if (strncmp(all.items[i].text, arguments[0].text, length) == 0 &&
		    all.items[i].text[length] == '.' &&
		    !strchr(all.items[i].text + length + 1, '.'))
			items[n++] = all.items[i];
	return value_list(items, n);
}

/* moe_hint('moe'): where the values of a key belong that guides write into DeepSpeed files. */
static struct value
call_moe_hint(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	static const char *const hints[][2] = {
	    {"moe",
		"ep_size and num_experts belong into deepspeed.moe.layer.MoE(…) in the model's "
		"code, loss_coef into the loss; from 0.19.2 on expert_parallel.autoep_size does "
		"it for Hugging Face models"},
	    {"ep_size",
		"write it as MoE(ep_size=…), or as expert_parallel.autoep_size from 0.19.2 on"},
	    {"expert_parallel_size",
		"write it as MoE(ep_size=…), or as expert_parallel.autoep_size from 0.19.2 on"},
	    {"tensor_parallel_size", "write it as tensor_parallel.autotp_size (0.16.4)"},
	    {"pipeline_parallel_size", "give it to PipelineModule(num_stages=…) in the code"},
	    {"distributed_backend", "give it to deepspeed.init_distributed(dist_backend=…)"},
	    {"comm_optimization", "overlap of ZeRO traffic is zero_optimization.overlap_comm; MoE "
				  "all-to-all has none"},
	};

	(void)scope, (void)count;
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		if (arguments[0].kind == VALUE_TEXT && strcmp(hints[i][0], arguments[0].text) == 0)
			return value_text(hints[i][1]);
	return value_undecided;
}

/* dividing(list, n): the items that divide n. */
static struct value
call_dividing(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct value *list = &arguments[0];
	struct value *items;
	size_t n = 0;

	(void)count;
	if (arguments[1].kind != VALUE_INT)
		return value_list(NULL, 0);
	if (list->kind != VALUE_LIST)
		return value_undecided;
	items = arena_array(scope->arena, list->count, sizeof(*items));
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].kind == VALUE_INT && list->items[i].integer > 0 &&
		    arguments[1].integer % list->items[i].integer == 0)
			items[n++] = list->items[i];
	return value_list(items, n);
}

/* starts(text, part) */
static struct value
call_starts(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)scope, (void)count;
	if (arguments[0].kind != VALUE_TEXT || arguments[1].kind != VALUE_TEXT)
		return value_undecided;
	return value_int(
	    strncmp(arguments[0].text, arguments[1].text, strlen(arguments[1].text)) == 0);
}

/* part(text, start): the text behind what it starts with. */
static struct value
call_part(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	struct value starts = call_starts(scope, arguments, count);

	if (starts.kind != VALUE_INT || !starts.integer)
		return value_undecided;
	return value_text(arguments[0].text + strlen(arguments[1].text));
}

/* term_of('reported_dp'): the value of our term dp. */
static struct value
call_term_of(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const char *name = arguments[0].kind == VALUE_TEXT ? arguments[0].text : "";

	(void)count;
	if (strncmp(name, "reported_", 9) != 0 || !term_find(name + 9))
		return value_undecided;
	return scope->resolve(scope, name + 9);
}

/* replacement(text): the name to use instead, undecided without one. */
static struct value
call_replacement(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const char *name;

	(void)scope, (void)count;
	name = arguments[0].kind == VALUE_TEXT ? name_replacement(arguments[0].text) : NULL;
	return name ? value_text(name) : value_undecided;
}

/* nearest_name(text): a known name that is spelled nearly so. */
static struct value
call_nearest_name(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	const char *name = NULL;

	(void)count;
	if (arguments[0].kind == VALUE_TEXT)
		name = name_nearest(
		    scope->arena, framework_of(facts), facts->version, arguments[0].text);
	return name ? value_text(name) : value_undecided;
}

/* number_behind('adaptive:2', ':'): 2. */
static struct value
call_number_behind(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const char *at;
	int64_t number;

	(void)scope, (void)count;
	if (arguments[0].kind != VALUE_TEXT || arguments[1].kind != VALUE_TEXT)
		return value_undecided;
	at = strstr(arguments[0].text, arguments[1].text);
	if (!at || !units_parse_integer(at + strlen(arguments[1].text), &number))
		return value_undecided;
	return value_int(number);
}

/* type_bytes(text): bytes of an element of the type that the text names; undecided without one. */
static struct value
call_type_bytes(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	static const struct {
		const char *name;
		double bytes;
	} types[] = {{"fp32", 4}, {"float32", 4}, {"bf16", 2}, {"bfloat16", 2}, {"fp16", 2},
	    {"float16", 2}, {"fp8", 1}, {"int8", 1}, {"fp4", 0.5}, {"int4", 0.5}, {"nvfp4", 0.5},
	    {"mxfp4", 0.5}};

	(void)scope, (void)count;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (arguments[0].kind == VALUE_TEXT && strstr(arguments[0].text, types[i].name))
			return value_number(types[i].bytes);
	return value_undecided;
}

/* greatest below: ratios of every item of the first list to the same of the second. */
static struct value
call_ratios(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct value *a = &arguments[0], *b = &arguments[1];
	struct value *items;

	(void)count;
	if (a->kind != VALUE_LIST || !value_is_numeric(b))
		return value_undecided;
	items = arena_array(scope->arena, a->count, sizeof(*items));
	for (size_t i = 0; i < a->count; i++) {
		if (!value_is_numeric(&a->items[i]))
			return value_undecided;
		items[i] = value_number(value_as_number(&a->items[i]) / value_as_number(b));
	}
	return value_list(items, a->count);
}

const struct expr_function rule_functions[] = {
    {"since", 1, 1, false, call_since},
    {"name_state", 1, 1, false, call_name_state},
    {"own", 1, 1, false, call_own},
    {"name_limit", 1, 1, false, call_name_limit},
    {"is_block", 1, 1, false, call_is_block},
    {"parent", 1, 1, false, call_parent},
    {"root", 1, 1, false, call_root},
    {"block", 1, 1, false, call_block},
    {"in_file", 1, 1, false, call_in_file},
    {"argument", 0, 0, false, call_argument},
    {"stated", 1, 1, false, call_stated},
    {"strange", 0, 0, false, call_strange},
    {"some", 2, 2, false, call_some},
    {"strange_in", 1, 1, false, call_strange_in},
    {"moe_hint", 1, 1, false, call_moe_hint},
    {"dividing", 2, 2, false, call_dividing},
    {"starts", 2, 2, false, call_starts},
    {"part", 2, 2, false, call_part},
    {"term_of", 1, 1, false, call_term_of},
    {"spelled", 1, 1, false, call_spelled},
    {"replacement", 1, 1, false, call_replacement},
    {"nearest_name", 1, 1, false, call_nearest_name},
    {"number_behind", 2, 2, false, call_number_behind},
    {"type_bytes", 1, 1, false, call_type_bytes},
    {"ratios", 2, 2, false, call_ratios},
    {.name = NULL},
};

const struct expr_function *const rule_function_tables[] = {
    expr_functions, rule_functions, placement_functions, host_functions,
    meaning_functions, meant_functions, layout_functions, beside_functions,
    mesh_functions, plan_functions, NULL};
