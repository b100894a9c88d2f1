/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do the pairs of a job say: axes that are pinned, forbidden and capped, uneven loads?
 * Each is a text "tp=2,ep=8", as an option has it, or a map of a file.
 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "model/job_private.h"
#include "model/strategy_grid.h"

static bool
is_degree(enum axis axis)
{
	return axis < AXIS_RECOMPUTE;
}

static bool
parse_axis_value(enum axis axis, const char *text, int64_t *value)
{
	struct recompute recompute;

	if (axis == AXIS_RECOMPUTE) {
		if (!parse_recompute(text, &recompute))
			return false;
		*value = recompute_value(recompute);
		return true;
	}
	if (axis == AXIS_DISPATCHER) {
		*value = str_index(dispatcher_names, text);
		return *value >= 0;
	}
	if (!units_parse_integer(text, value))
		return false;
	return axis == AXIS_ZERO ? *value >= 0 && *value <= 3
				 : *value >= 1 && *value <= GRID_MAX_DEGREE;
}

static const char *
axis_values(enum axis axis)
{
	if (axis == AXIS_RECOMPUTE)
		return "none, full, full:LAYERS or selective:MODULE+MODULE";
	if (axis == AXIS_DISPATCHER)
		return "alltoall, allgather, deepep or hybridep";
	return axis == AXIS_ZERO ? "0 to 3" : "1 to 1048576";
}

/* What one key, option or list item says; the readers below take it apart into these. */
struct entry {
	const struct field *field;
	struct job *job;
	struct field_context *context;
	unsigned seen; /* bits of axes whose values were begun in this reading */
};

typedef int read_entry_fn(
    struct entry *entry, const char *key, const char *text, const struct doc *value);

static int
unknown_key(struct entry *entry, const char *key, const char *const *names, const struct doc *value)
{
	struct diags *diags = entry->context->diags;
	const char *near = str_nearest(key, names);

	diag_error(diags, value->loc, "'%s' has no '%.60s'", entry->field->name, key);
	if (near)
		diag_last_hint(diags, "did you mean '%s'?", near);
	return -1;
}

/* Splits "tp=2,ep=8" and hands over each pair. */
static int
read_pairs(struct entry *entry, const struct doc *value, read_entry_fn *read, const char *example)
{
	struct arena *arena = entry->context->arena;
	int result = 0;

	for (const char *at = value->text; at;) {
		const char *comma = strchr(at, ',');
		size_t length = comma ? (size_t)(comma - at) : strlen(at);
		char *key = arena_strndup(arena, at, length);
		char *equals = strchr(key, '=');

		if (!equals || equals == key || !equals[1])
			return refuse_value(entry->field, value, entry->context, example);
		*equals = '\0';
		result |= read(entry, key, equals + 1, value);
		at = comma ? comma + 1 : NULL;
	}
	return result;
}

static int
refuse_axis_value(struct entry *entry, enum axis axis, const char *text, const struct doc *value)
{
	return diag_error(entry->context->diags, value->loc, "'%s': %s is '%.60s', allowed is %s",
	    entry->field->name, axis_names[axis], text, axis_values(axis));
}

static int
allow_value(struct entry *entry, enum axis axis, const char *text, const struct doc *value)
{
	struct axis_limit *limit = &entry->job->limits[axis];
	int64_t number;

	if (!text || !parse_axis_value(axis, text, &number))
		return refuse_axis_value(
		    entry, axis, text ? text : doc_kind_name(value->kind), value);
	if (!(entry->seen & 1U << axis))
		limit->n_allowed = 0;
	entry->seen |= 1U << axis;
	if (limit->n_allowed == AXIS_MAX_VALUES)
		return diag_error(entry->context->diags, value->loc,
		    "'%s': more than %d values for %s", entry->field->name, AXIS_MAX_VALUES,
		    axis_names[axis]);
	limit->allowed[limit->n_allowed++] = number;
	return 0;
}

static int
pin_pair(struct entry *entry, const char *key, const char *text, const struct doc *value)
{
	int axis = str_index(axis_names, key);

	if (axis < 0)
		return unknown_key(entry, key, axis_names, value);
	return allow_value(entry, (enum axis)axis, text, value);
}

static int
read_bound(
    struct entry *entry, enum axis axis, const char *text, const struct doc *value, int64_t *bound)
{
	if (!is_degree(axis) && axis != AXIS_ZERO)
		return diag_error(entry->context->diags, value->loc,
		    "'%s': %s has no least or greatest value", entry->field->name,
		    axis_names[axis]);
	if (!text || !parse_axis_value(axis, text, bound) || *bound < 1)
		return refuse_axis_value(
		    entry, axis, text ? text : doc_kind_name(value->kind), value);
	return 0;
}

/* pin: {pp: {min: 2, max: 16}} */
static int
pin_range(struct entry *entry, enum axis axis, const struct doc *map)
{
	static const char *const bounds[] = {"min", "max", NULL};
	struct axis_limit *limit = &entry->job->limits[axis];
	int result = 0;

	for (const struct doc *member = map->first; member; member = member->next) {
		int bound = str_index(bounds, member->key);

		if (bound < 0)
			result |= unknown_key(entry, member->key, bounds, member);
		else
			result |= read_bound(entry, axis, member->text, member,
			    bound == 0 ? &limit->min : &limit->max);
	}
	return result;
}

static int
pin_member(struct entry *entry, const struct doc *member)
{
	int axis = str_index(axis_names, member->key), result = 0;

	if (axis < 0)
		return unknown_key(entry, member->key, axis_names, member);
	if (member->kind == DOC_MAP)
		return pin_range(entry, (enum axis)axis, member);
	if (member->kind != DOC_LIST)
		return allow_value(entry, (enum axis)axis, member->text, member);
	for (const struct doc *item = member->first; item; item = item->next)
		result |= allow_value(entry, (enum axis)axis, item->text, item);
	return result;
}

int
job_read_pin(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct entry entry = {.field = field, .job = object, .context = context};
	int result = 0;

	if (value->kind == DOC_STRING)
		return read_pairs(&entry, value, pin_pair, "AXIS=VALUE,... such as tp=2,ep=8");
	if (value->kind != DOC_MAP)
		return refuse_value(field, value, context,
		    "a mapping of axes, such as {tp: [1, 2], pp: {max: 16}}");
	for (const struct doc *member = value->first; member; member = member->next)
		result |= pin_member(&entry, member);
	return result;
}

static int
forbid_axis(struct entry *entry, const char *name, const struct doc *value)
{
	int axis = name ? str_index(axis_names, name) : -1;

	if (axis < 0 || axis == AXIS_DISPATCHER)
		return refuse_value(entry->field, value, entry->context,
		    "a list of tp, cp, pp, vpp, ep, etp, micro_batch, recompute, zero");
	if (axis == AXIS_RECOMPUTE || axis == AXIS_ZERO) {
		entry->job->limits[axis].n_allowed = 1;
		entry->job->limits[axis].allowed[0] = 0; /* RECOMPUTE_NONE, no sharding */
	} else {
		entry->job->limits[axis].max = 1;
	}
	return 0;
}

int
job_read_forbid(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct entry entry = {.field = field, .job = object, .context = context};
	int result = 0;

	if (value->kind == DOC_LIST) {
		for (const struct doc *item = value->first; item; item = item->next)
			result |= forbid_axis(&entry, item->text, item);
		return result;
	}
	if (value->kind != DOC_STRING)
		return forbid_axis(&entry, NULL, value);
	for (const char *at = value->text; at && result == 0;) {
		const char *comma = strchr(at, ',');
		size_t length = comma ? (size_t)(comma - at) : strlen(at);

		result = forbid_axis(&entry, arena_strndup(context->arena, at, length), value);
		at = comma ? comma + 1 : NULL;
	}
	return result;
}

static int
refuse_cap(struct entry *entry, const char *key, const char *text, const struct doc *value,
    const char *allowed)
{
	return diag_error(entry->context->diags, value->loc, "'%s': %s is '%.60s', allowed is %s",
	    entry->field->name, key, text, allowed);
}

static int
cap_pair(struct entry *entry, const char *key, const char *text, const struct doc *value)
{
	static const char *const names[] = {"tp", "cp", "pp", "vpp", "ep", "etp", "micro_batch",
	    "zero", "step", "memory", "gpus", NULL};
	struct job *job = entry->job;
	int axis = str_index(axis_names, key);
	double step_s;
	uint64_t bytes;
	int64_t gpus;

	if (axis >= 0)
		return read_bound(entry, (enum axis)axis, text, value, &job->limits[axis].max);
	if (strcmp(key, "step") == 0) {
		if (!units_parse_seconds(text, &step_s) || !(step_s > 0))
			return refuse_cap(entry, key, text, value, "a time such as 20s or 500ms");
		job->max_step_s = step_s;
	} else if (strcmp(key, "memory") == 0) {
		if (!units_parse_bytes(text, &bytes) || bytes == 0)
			return refuse_cap(entry, key, text, value, "a size such as 70GiB");
		job->max_memory_bytes = bytes;
	} else if (strcmp(key, "gpus") == 0) {
		if (!units_parse_integer(text, &gpus) || gpus < 1 || gpus > GRID_MAX_DEGREE)
			return refuse_cap(entry, key, text, value, "1 to 1048576");
		job->max_gpus = gpus;
	} else {
		return unknown_key(entry, key, names, value);
	}
	return 0;
}

int
job_read_max(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	static const char example[] = "tp=8, step=20s, memory=70GiB, gpus=512 or some of them";
	struct entry entry = {.field = field, .job = object, .context = context};
	int result = 0;

	if (value->kind == DOC_STRING)
		return read_pairs(&entry, value, cap_pair, example);
	if (value->kind != DOC_MAP)
		return refuse_value(field, value, context, example);
	for (const struct doc *member = value->first; member; member = member->next)
		result |= cap_pair(&entry, member->key,
		    member->text ? member->text : doc_kind_name(member->kind), member);
	return result;
}

static const struct skew_row {
	const char *name;
	enum skew_kind kind;
	double min, max;
} skew_rows[] = {
    {"max", SKEW_MAX, 1, 10000},
    {"cv", SKEW_CV, 0, 100},
    {"zipf", SKEW_ZIPF, 0, 10},
};

static int
skew_pair(struct entry *entry, const char *key, const char *text, const struct doc *value)
{
	for (size_t i = 0; i < sizeof(skew_rows) / sizeof(skew_rows[0]); i++) {
		const struct skew_row *row = &skew_rows[i];
		double number;

		if (strcmp(row->name, key) != 0)
			continue;
		if (!units_parse_number(text, &number) ||
		    !(number >= row->min && number <= row->max))
			return refuse_cap(entry, key, text, value,
			    arena_printf(entry->context->arena, "%g to %g", row->min, row->max));
		entry->job->skew = (struct load_skew){.kind = row->kind, .value = number};
		return 0;
	}
	return refuse_value(entry->field, value, entry->context, "balanced, max=X, cv=X or zipf=X");
}

/* Beside the file that names it; an option names it from where the user is. */
static const char *
trace_path(struct arena *arena, const struct doc *value)
{
	const char *slash = value->loc.line > 0 ? strrchr(value->loc.file, '/') : NULL;

	if (!slash || value->text[0] == '/')
		return arena_strdup(arena, value->text);
	return arena_printf(
	    arena, "%.*s%s", (int)(slash - value->loc.file) + 1, value->loc.file, value->text);
}

int
job_read_load_skew(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	static const char allowed[] = "balanced, max=1.7, cv=0.4, zipf=1.0 or a file of loads";
	struct entry entry = {.field = field, .job = object, .context = context};

	if (value->kind == DOC_MAP && value->count == 1)
		return skew_pair(&entry, value->first->key,
		    value->first->text ? value->first->text : "", value->first);
	if (value->kind != DOC_STRING)
		return refuse_value(field, value, context, allowed);
	if (strcmp(value->text, "balanced") == 0) {
		entry.job->skew = (struct load_skew){.kind = SKEW_BALANCED};
		return 0;
	}
	if (!strchr(value->text, '=')) {
		entry.job->skew = (struct load_skew){
		    .kind = SKEW_TRACE, .path = trace_path(context->arena, value)};
		return 0;
	}
	if (strchr(value->text, ','))
		return refuse_value(field, value, context, allowed);
	return read_pairs(&entry, value, skew_pair, allowed);
}
