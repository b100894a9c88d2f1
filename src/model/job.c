/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does the user want trained, and what may the search choose?
 *
 * A job file (moeplan/job/v1) takes the keys below and, beside them, the
 * settings of a strategy that the search keeps (sequence length, batch,
 * precision …). Degrees are the search's: they are pinned, not given.
 */
#include "model/job.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "model/job_private.h"

const char *const axis_names[AXES + 1] = {
    "tp", "cp", "pp", "vpp", "ep", "etp", "micro_batch", "recompute", "zero", "dispatcher", NULL};
const char *const objective_names[] = {"time", "memory", "gpus", NULL};

enum { DEFAULT_TOP = 3, MAX_TOP = 100 };

void
job_init(struct job *job)
{
	*job = (struct job){.top = DEFAULT_TOP};
	strategy_init(&job->base);
}

bool
axis_allows(const struct axis_limit *limit, int64_t value)
{
	bool allowed = limit->n_allowed == 0;

	for (int i = 0; i < limit->n_allowed && !allowed; i++)
		allowed = limit->allowed[i] == value;
	return allowed && value >= limit->min && (limit->max == 0 || value <= limit->max);
}

enum { MODULES_SHIFT = 2, LAYERS_SHIFT = 16 };

int64_t
recompute_value(struct recompute recompute)
{
	return (int64_t)recompute.kind + ((int64_t)recompute.modules << MODULES_SHIFT) +
	       (recompute.layers << LAYERS_SHIFT);
}

struct recompute
recompute_of_value(int64_t value)
{
	return (struct recompute){
	    .kind = (enum recompute_kind)(value & ((1 << MODULES_SHIFT) - 1)),
	    .modules = (unsigned)(value >> MODULES_SHIFT) & ((1U << MODULES) - 1),
	    .layers = value >> LAYERS_SHIFT,
	};
}

const char *
axis_value_text(struct arena *arena, enum axis axis, int64_t value)
{
	if (axis == AXIS_RECOMPUTE)
		return recompute_text(arena, recompute_of_value(value));
	if (axis == AXIS_DISPATCHER)
		return dispatcher_names[value];
	return arena_printf(arena, "%lld", (long long)value);
}

#define MEMBER(name) offsetof(struct job, name)
#define CUSTOM(key, metavar, reader, words, text)                                                  \
	{                                                                                          \
		.name = key, .arg = metavar, .help = text, .kind = FIELD_CUSTOM, .choices = words, \
		.read = reader                                                                     \
	}

static const char *const skew_words[] = {"balanced", "max=", "cv=", "zipf=", NULL};

#define LOAD_SKEW                                                                                  \
	CUSTOM("load_skew", "balanced|max=X|cv=X|zipf=X|FILE", job_read_load_skew, skew_words,     \
	    "how unevenly tokens spread over experts (balanced); "                                 \
	    "FILE: loads as for 'moeplan place'")

#define MEASURED_STEP                                                                              \
	{                                                                                          \
		.name = "measured_step", .arg = "T", .kind = FIELD_SECONDS,                        \
		.offset = MEMBER(measured_step_s),                                                 \
		.help = "how long a step of the strategy really took: corrects the times"          \
	}

#define MEASURED_ON                                                                                \
	{                                                                                          \
		.name = "measured_on", .arg = "FILE|KEY=VALUE ...", .kind = FIELD_TEXT,            \
		.offset = MEMBER(measured_on),                                                     \
		.help =                                                                            \
		    "the strategy that was measured: a plan as JSON, or 'tp=2 ep=8 ...'"           \
	}

#define RESERVE                                                                                    \
	{                                                                                          \
		.name = "reserve", .arg = "SIZE", .help = "memory kept free on every GPU",         \
		.kind = FIELD_BYTES, .offset = MEMBER(reserve_bytes)                               \
	}

const struct field job_estimate_fields[] = {
    LOAD_SKEW, RESERVE, MEASURED_STEP, MEASURED_ON, {.name = NULL}};
const struct field job_measured_fields[] = {MEASURED_STEP, {.name = NULL}};

/* clang-format off */
const struct field job_fields[] = {
	CUSTOM("pin", "AXIS=VALUE,...", job_read_pin, NULL,
	       "values an axis must have; repeat an axis to allow several: tp=1,tp=2,ep=8"),
	CUSTOM("forbid", "AXIS,...", job_read_forbid, axis_names, "axes that stay off: pp,vpp"),
	CUSTOM("max", "WHAT=VALUE,...", job_read_max, NULL,
	       "upper limits of axes, step time, memory, GPUs: tp=8,step=20s,memory=70GiB"),
	{ .name = "top", .arg = "N", .help = "strategies in the answer (3)", .kind = FIELD_INT,
	  .offset = MEMBER(top), .min = 1, .max = MAX_TOP },
	LOAD_SKEW,
	RESERVE,
	{ .name = "objective", .arg = "time|memory|gpus", .help = "what is minimised (time)",
	  .kind = FIELD_CHOICE, .offset = MEMBER(objective), .choices = objective_names },
	{ .name = "measured_step", .arg = "T", .kind = FIELD_SECONDS,
	  .offset = MEMBER(measured_step_s),
	  .help = "a step time that was measured, to compare with or, with measured_on, "
	          "to correct by" },
	MEASURED_ON,
	{ .name = "time_limit", .arg = "T", .kind = FIELD_SECONDS, .offset = MEMBER(time_limit_s),
	  .help = "stop the search after this time and say how far the answer may be off" },
	{ .name = "lp", .arg = "FILE", .kind = FIELD_TEXT, .offset = MEMBER(lp_path),
	  .help = "write the search's integer programme as CPLEX LP", .option_only = true },
	{ .name = NULL },
};
/* clang-format on */

static const char **
all_keys(struct arena *arena)
{
	const char **keys;
	size_t n = 0, jobs = 0, settings = 0;

	while (job_fields[jobs].name)
		jobs++;
	while (strategy_job_fields[settings].name)
		settings++;
	keys = arena_array(arena, jobs + settings + 1, sizeof(*keys));
	for (size_t i = 0; i < jobs; i++)
		if (!job_fields[i].option_only)
			keys[n++] = job_fields[i].name;
	for (size_t i = 0; i < settings; i++)
		keys[n++] = strategy_job_fields[i].name;
	return keys;
}

static int
unknown_member(const struct doc *member, struct field_context *context)
{
	const char *near = str_nearest(member->key, all_keys(context->arena));

	diag_error(context->diags, member->key_loc, "a job has no '%.60s'", member->key);
	if (str_index(axis_names, member->key) >= 0)
		diag_last_hint(
		    context->diags, "the search chooses it: write pin: {%s: …}", member->key);
	else if (near)
		diag_last_hint(context->diags, "did you mean '%s'?", near);
	return -1;
}

static int
read_member(struct job *job, const struct doc *member, struct field_context *context)
{
	const struct field *field = field_find(job_fields, member->key);

	if (strcmp(member->key, "schema") == 0) {
		if (member->text && strcmp(member->text, "moeplan/job/v1") == 0)
			return 0;
		return diag_error(context->diags, member->loc,
		    "schema '%.60s' is not known: a job file has 'moeplan/job/v1'",
		    member->text ? member->text : doc_kind_name(member->kind));
	}
	if (field && !field->option_only)
		return field_read(field, job, member, context);
	field = field_find(strategy_job_fields, member->key);
	if (field)
		return field_read(field, &job->base, member, context);
	return unknown_member(member, context);
}

int
job_read(struct job *job, const struct doc *doc, struct field_context *context)
{
	int result = 0;

	if (doc->kind != DOC_MAP)
		return diag_error(context->diags, doc->loc, "a job is a mapping, not %s",
		    doc_kind_name(doc->kind));
	for (const struct doc *member = doc->first; member; member = member->next)
		result |= read_member(job, member, context);
	return result;
}
