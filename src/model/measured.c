/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which training steps were timed on this machine?
 *
 *   runs:
 *   - {model: mixtral-8x7b, parameters: 46702792704, gpu: H100-SXM5-80GB, step: 5.31s,
 *      predicted: 4.87s, strategy: {world_size: 32, tp: 2, ep: 8, ...}}
 *
 * The strategy is kept rather than a factor: what a later release, or better rates in the same
 * file, would have predicted for it can be found again.
 */
#include <string.h>

#include "base/arena.h"
#include "model/measured.h"

static int
read_strategy(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct measured_run *run = object;

	(void)field;
	return fields_read(strategy_fields, &run->strategy, value, NULL, context);
}

#define MEMBER(name) offsetof(struct measured_run, name)

/* clang-format off */
static const struct field run_fields[] = {
	{ .name = "model", .arg = "NAME", .kind = FIELD_TEXT, .offset = MEMBER(model),
	  .help = "what the model is called" },
	{ .name = "parameters", .arg = "N", .kind = FIELD_INT, .offset = MEMBER(parameters),
	  .min = 1, .max = 9e15, .help = "of the model, by which it is known" },
	{ .name = "gpu", .arg = "NAME", .kind = FIELD_TEXT, .offset = MEMBER(gpu),
	  .help = "the GPU that it ran on" },
	{ .name = "step", .arg = "T", .kind = FIELD_SECONDS, .offset = MEMBER(step_s),
	  .help = "how long an optimizer step took" },
	{ .name = "predicted", .arg = "T", .kind = FIELD_SECONDS, .offset = MEMBER(predicted_s),
	  .help = "what had been predicted" },
	{ .name = "exposed", .arg = "T", .kind = FIELD_SECONDS, .offset = MEMBER(exposed_s),
	  .help = "of the step, communication that nothing hid" },
	{ .name = "allocated", .arg = "SIZE", .kind = FIELD_BYTES,
	  .offset = MEMBER(allocated_bytes),
	  .help = "the most that the framework's allocator gave out" },
	{ .name = "reserved", .arg = "SIZE", .kind = FIELD_BYTES, .offset = MEMBER(reserved_bytes),
	  .help = "the most that it held" },
	{ .name = "strategy", .arg = "MAP", .kind = FIELD_CUSTOM, .read = read_strategy,
	  .help = "what ran: keys as in a strategy section" },
	{ .name = NULL },
};
/* clang-format on */

static int
check_run(const struct measured_run *run, struct diags *diags)
{
	const struct {
		const char *name;
		bool there;
	} needed[] = {{"model", run->model != NULL}, {"parameters", run->parameters > 0},
	    {"gpu", run->gpu != NULL}, {"step", run->step_s > 0},
	    {"strategy", run->strategy.seq_len > 0 && run->strategy.global_batch > 0}};
	int errors = diags->errors;
	size_t i;

	for (i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!needed[i].there)
			diag_error(diags, run->loc, "a measured run has no '%s'%s", needed[i].name,
			    i == 4 ? " with seq_len and global_batch" : "");
	if (run->step_s > 0 && run->exposed_s > run->step_s)
		diag_error(diags, run->loc,
		    "'exposed' is %g s of a step of %g s: at most all of it", run->exposed_s,
		    run->step_s);
	return diags->errors > errors ? -1 : 0;
}

static int
read_run(struct measured_runs *runs, const struct doc *row, struct field_context *context)
{
	struct measured_run *run = &runs->rows[runs->n];

	run->loc = row->loc;
	strategy_init(&run->strategy);
	if (fields_read(run_fields, run, row, NULL, context) != 0 ||
	    check_run(run, context->diags) != 0)
		return -1;
	runs->n++;
	return 0;
}

int
measured_runs_read(
    struct measured_runs *runs, const struct doc *list, struct field_context *context)
{
	const struct doc *row;
	int result = 0;

	if (list->kind != DOC_LIST)
		return diag_error(context->diags, list->loc,
		    "'runs' takes a list of measured runs, not %s", doc_kind_name(list->kind));
	if (list->count > MEASURED_MAX_RUNS)
		return diag_error(context->diags, list->loc,
		    "%zu measured runs: at most %d are read", list->count, MEASURED_MAX_RUNS);
	runs->rows = arena_array(context->arena, list->count, sizeof(*runs->rows));
	for (row = list->first; row; row = row->next)
		result |= read_run(runs, row, context);
	return result;
}

/* --- writing --------------------------------------------------------------------------------- */

/* "--micro-batch" of this length as a key. */
static void
write_key(struct str *out, const char *option, size_t length)
{
	size_t i;

	for (i = 2; i < length; i++)
		str_addc(out, option[i] == '-' ? '_' : option[i]);
	str_add(out, ": ");
}

/* The options that pin the strategy, as a mapping: "{world_size: 16, overlap: 'dp,ep'}". */
static void
write_strategy(struct arena *arena, const struct strategy *strategy, struct str *out)
{
	const char *at = strategy_options_text(arena, strategy), *separator = "{";

	while (*at) {
		size_t length = strcspn(at, " ");

		str_add(out, separator);
		separator = ", ";
		write_key(out, at, length);
		at += length + strspn(at + length, " ");
		if (strncmp(at, "--", 2) == 0 || !*at) {
			str_add(out, "true"); /* a flag */
			continue;
		}
		length = *at == '\'' ? strcspn(at + 1, "'") + 2 : strcspn(at, " ");
		if (strspn(at, "0123456789.") >= length || *at == '\'')
			str_addf(out, "%.*s", (int)length, at);
		else
			str_addf(out, "'%.*s'", (int)length, at);
		at += length + strspn(at + length, " ");
	}
	str_addc(out, '}');
}

void
measured_run_write(struct arena *arena, const struct measured_run *run, struct str *out)
{
	str_add(out, "- model: ");
	str_add_quoted(out, run->model);
	str_addf(out, "\n  parameters: %lld\n  gpu: ", (long long)run->parameters);
	str_add_quoted(out, run->gpu);
	str_addf(out, "\n  step: %.6gs\n", run->step_s);
	if (run->predicted_s > 0)
		str_addf(out, "  predicted: %.6gs\n", run->predicted_s);
	if (run->exposed_s > 0)
		str_addf(out, "  exposed: %.6gs\n", run->exposed_s);
	if (run->allocated_bytes > 0)
		str_addf(out, "  allocated: %llu\n", (unsigned long long)run->allocated_bytes);
	if (run->reserved_bytes > 0)
		str_addf(out, "  reserved: %llu\n", (unsigned long long)run->reserved_bytes);
	str_add(out, "  strategy: ");
	write_strategy(arena, &run->strategy, out);
	str_addc(out, '\n');
}
