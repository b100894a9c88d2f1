/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which command line looks closer at a strategy that was found?
 *
 * It says of the strategy what the plan said: the machine, the load, the memory kept free and the
 * run that was measured are those of the plan.
 */
#include <string.h>

#include "cmd/plan_report.h"
#include "cmd/text_common.h"

/* An argument as a shell takes it back. */
static void
add_argument(struct str *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_./,:=+@%";

	if (text[0] && strspn(text, plain) == strlen(text)) {
		str_add(out, text);
		return;
	}
	str_addc(out, '\'');
	for (; *text; text++)
		if (*text == '\'')
			str_add(out, "'\\''");
		else
			str_addc(out, *text);
	str_addc(out, '\'');
}

static bool
is_even(const struct layout *layout, int64_t layers)
{
	struct layout even;

	layout_even(&even, layers, layout->pp, layout->vpp);
	return memcmp(even.first, layout->first,
		   (size_t)(layout->pp * layout->vpp + 1) * sizeof(*even.first)) == 0;
}

/* --- the run that was measured -------------------------------------------------------------- */

/* Whether "tp=2 ep=8" says a key. */
static bool
says_key(const char *words, const char *key)
{
	size_t length = strlen(key);

	for (words += strspn(words, " \t\n"); *words; words += strspn(words, " \t\n")) {
		if (strncmp(words, key, length) == 0 && words[length] == '=')
			return true;
		words += strcspn(words, " \t\n");
	}
	return false;
}

static void
add_word(struct str *words, const char *key, const char *value)
{
	if (value && !says_key(words->text, key))
		str_addf(words, " %s=%s", key, value);
}

/*
 * The measured strategy with every degree said: what is left out is taken from the strategy at
 * hand, and that is another one now.
 */
static const char *
measured_words(struct request *request, const struct strategy *s)
{
	struct arena *arena = request->arena;
	struct str words = str_new(arena);
	int axis;

	str_add(&words, request->job.measured_on);
	add_word(&words, "world_size", arena_printf(arena, "%lld", (long long)s->world));
	for (axis = 0; axis < AXES; axis++)
		add_word(&words, axis_names[axis],
		    axis_value_text(arena, (enum axis)axis,
			strategy_axis_value(s, (enum axis)axis)));
	add_word(&words, "schedule", s->schedule >= 0 ? schedule_names[s->schedule] : NULL);
	if (s->framework == FRAMEWORK_TORCHTITAN) {
		add_word(&words, "dp_replicate",
		    arena_printf(arena, "%lld", (long long)s->dp_replicate));
		add_word(&words, "dp_shard", arena_printf(arena, "%lld", (long long)s->dp_shard));
	}
	return words.text;
}

static void
add_option(struct str *out, const char *option, const char *value)
{
	str_addf(out, " --%s ", option);
	add_argument(out, value);
}

/* A measured step whose strategy is not known corrects nothing, and is left out. */
static void
add_measured(struct request *request, struct str *out)
{
	const struct job *job = &request->job;

	if (!job->measured_on || !(job->measured_step_s > 0))
		return;
	add_option(out, "measured-step",
	    arena_printf(
		request->arena, "%ss", shortest_number(request->arena, job->measured_step_s)));
	add_option(out, "measured-on",
	    request->measured_words ? measured_words(request, request->measured_words)
				    : job->measured_on);
}

/* --- all -------------------------------------------------------------------------------------- */

void
text_next(struct request *request, const struct estimate *best)
{
	const struct arguments *arguments = &request->arguments;
	const struct job *job = &request->job;
	struct arena *arena = request->arena;
	struct str *out = &request->out;
	size_t i;

	text_label(request, "next");
	str_add(out, "moeplan estimate");
	for (i = 0; i < arguments->count; i++) {
		str_addc(out, ' ');
		add_argument(out, arguments->positional[i]);
	}
	str_addf(out, " %s", strategy_options_text(arena, &best->strategy));
	if (!best->strategy.layout && !is_even(&best->layout, request->model->layers))
		add_option(out, "layout", layout_text(arena, &best->layout, request->model));
	if (job->skew.kind != SKEW_BALANCED)
		add_option(out, "load-skew", load_skew_text(arena, &job->skew));
	if (job->reserve_bytes > 0)
		str_addf(out, " --reserve %llu", (unsigned long long)job->reserve_bytes);
	add_measured(request, out);
	str_addc(out, '\n');
}
