/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is an estimate built on that nobody said, and what holds the GPUs up? For a person. */
#include "base/units.h"
#include "cmd/text_estimate.h"
#include "cmd/what_if.h"

/* From this share of a step on, waiting for the host is named. */
#define HOST_BOUND 0.10

void
text_unstated(
    struct request *request, const struct strategy *s, const struct unstated *unstated)
{
	struct arena *arena = request->arena;
	const struct {
		enum said said;
		const char *text;
	} rows[] = {{SAID_RECOMPUTE,
			arena_printf(arena, "recompute %s", recompute_text(arena, s->recompute))},
	    {SAID_DISPATCHER, dispatcher_names[s->dispatcher]},
	    {SAID_GRADIENTS, arena_printf(arena, "%s gradients", float_type_names[s->grad_type])},
	    {SAID_OPTIMIZER, arena_printf(arena, "%s moments", float_type_names[s->moment_type])}};
	struct str text = str_new(arena);
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (unstated->settings & rows[i].said)
			str_addf(&text, "%s%s", text.length > 0 ? ", " : "", rows[i].text);
	if (text.length == 0)
		return;
	text_line(request, "assumed", "%s: not stated", text.text);
	if (unstated->combinations > (unstated->assumed_fits ? 1 : 0))
		text_line(request, "", "usual settings that may fit: step %s to %s, peak %s to %s",
		    units_seconds(arena, unstated->step_low_s),
		    units_seconds(arena, unstated->step_high_s),
		    units_gib_number(arena, unstated->low_bytes),
		    units_gib(arena, unstated->high_bytes));
}

/* One change that gives the host less to do: "--cuda-graphs on 5.2 s". A plan tried the others. */
static void
add_help(struct request *request, const struct estimate *estimate, const struct change *change,
    struct str *text)
{
	struct arena *arena = request->arena;
	struct strategy *to = arena_alloc(arena, sizeof(*to));
	struct estimate *changed = arena_alloc(arena, sizeof(*changed));

	if (!change_apply(change, request->model, &estimate->strategy, to) ||
	    (request->command->run == cmd_plan &&
		to->cuda_graphs == estimate->strategy.cuda_graphs) ||
	    !what_if(request, request->model, request->cluster, to, changed) ||
	    changed->verdict == VERDICT_OOM || changed->step_s > 0.99 * estimate->step_s ||
	    changed->exposed_s[TIME_HOST] > 0.9 * estimate->exposed_s[TIME_HOST])
		return;
	str_addf(text, "%s%s %s", text->length > 0 ? ", " : ": ",
	    change_text(arena, to, &estimate->strategy), units_seconds(arena, changed->step_s));
}

const char *
host_bound_text(struct request *request, const struct estimate *estimate)
{
	double share = estimate->exposed_s[TIME_HOST] / estimate->step_s;
	struct str text = str_new(request->arena);
	const struct change *change;

	if (share < HOST_BOUND)
		return NULL;
	for (change = changes; change->name; change++)
		if (change->aim == AIM_TIME)
			add_help(request, estimate, change, &text);
	return arena_printf(request->arena, "the GPUs wait for launches %.0f %% of the step%s",
	    100 * share, text.text);
}
