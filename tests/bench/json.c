/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The replay for a script: figures, then every row with its fate. Schema accuracy.schema.json. */
#include "json.h"

#include <string.h>

#include "base/jsonw.h"
#include "base/units.h"
#include "cmd/cmd.h"

static void
json_errors(struct jsonw *w, const char *key, const struct summary *s)
{
	jsonw_open(w, key);
	jsonw_uint(w, "rows", s->count);
	jsonw_double(w, "mean_abs", s->mean_abs);
	jsonw_double(w, "median_abs", s->median_abs);
	jsonw_double(w, "p90_abs", s->p90_abs);
	jsonw_double(w, "max_abs", s->max_abs);
	jsonw_double(w, "bias", s->bias);
	jsonw_close(w);
}

static void
json_after_run(struct jsonw *w, const char *key, const struct after_run *a)
{
	jsonw_open(w, key);
	jsonw_uint(w, "rows", a->runs);
	jsonw_double(w, "median_abs", a->median);
	jsonw_double(w, "p90_abs", a->p90);
	jsonw_double(w, "coverage", a->coverage);
	jsonw_close(w);
}

static void
json_ranks(struct jsonw *w, const char *key, const struct ranks *r)
{
	jsonw_open(w, key);
	jsonw_int(w, "groups", r->groups);
	jsonw_double(w, "mean_tau", r->tau / r->groups);
	jsonw_double(w, "mean_regret", r->regret / r->groups);
	jsonw_double(w, "first_right", (double)r->top1 / r->groups);
	jsonw_close(w);
}

static void
json_verdicts(struct jsonw *w, const struct verdict_count *v)
{
	jsonw_open(w, "verdicts");
	jsonw_int(w, "ran", v->ran);
	jsonw_int(w, "ran_called_oom", v->ran_oom);
	jsonw_int(w, "ran_called_at_risk", v->ran_at_risk);
	jsonw_int(w, "ran_out", v->out);
	jsonw_int(w, "ran_out_called_oom", v->out_caught);
	jsonw_int(w, "ran_out_complete", v->out_complete);
	jsonw_int(w, "ran_out_complete_called_oom", v->out_complete_caught);
	jsonw_close(w);
}

static void
json_figures(struct jsonw *w, const struct figures *f)
{
	jsonw_open(w, "figures");
	json_errors(w, "peak", &f->peak);
	json_errors(w, "peak_simumax", &f->rival_peak);
	json_errors(w, "activation", &f->activation);
	json_errors(w, "activation_simumax", &f->rival_activation);
	json_verdicts(w, &f->verdicts);
	json_errors(w, "step_shipped", &f->shipped);
	json_errors(w, "step_cross_validated", &f->cross);
	json_after_run(w, "step_after_one_run", &f->one_run);
	json_after_run(w, "step_after_all_others", &f->all_runs);
	json_ranks(w, "ranking", &f->ranks);
	json_ranks(w, "close_calls", &f->close_calls);
	jsonw_double(w, "coverage_least", f->coverage_least);
	jsonw_double(w, "coverage_most", f->coverage_most);
	jsonw_double(w, "coverage_all", f->coverage_all);
	jsonw_double(w, "tell_apart", f->tell_apart);
	jsonw_close(w);
}

static void
json_bands(struct jsonw *w, const char *key, int count, const struct band *bands,
    const struct learned *learned)
{
	jsonw_list(w, key);
	for (int i = 0; i < count; i++) {
		jsonw_open(w, NULL);
		jsonw_string(w, "runs", bands[i].runs);
		jsonw_uint(w, "rows", learned[i].count);
		jsonw_double(w, "low", bands[i].low);
		jsonw_double(w, "high", bands[i].high);
		jsonw_uint(w, "left_out_inside", learned[i].inside);
		jsonw_close(w);
	}
	jsonw_close(w);
}

static void
json_positive(struct jsonw *w, const char *key, double value)
{
	if (value > 0)
		jsonw_double(w, key, value);
}

static void
json_row(struct jsonw *w, const struct rerun *r)
{
	const struct estimate *e = &r->estimate;

	jsonw_open(w, NULL);
	jsonw_string(w, "id", r->run->id);
	jsonw_string(w, "set", r->run->set);
	jsonw_string(w, "source", r->run->source);
	jsonw_string(w, "fate", fate(w->out.arena, r));
	if (r->outcome == OUTCOME_PREDICTED) {
		jsonw_string(w, "configuration", r->command);
		jsonw_string(w, "unstated", r->run->unstated);
		jsonw_double(w, "step_s", e->step_s);
		jsonw_double(w, "step_s_low", rerun_step_interval(r).low);
		jsonw_double(w, "step_s_high", rerun_step_interval(r).high);
		json_positive(w, "measured_step_s", r->measured_step_s);
		json_positive(w, "cross_validated_step_s", r->cross_step_s);
		jsonw_double(w, "memory_bytes", rerun_memory(r).gib * GIB);
		jsonw_double(w, "memory_bytes_low", rerun_memory_interval(r).low * GIB);
		jsonw_double(w, "memory_bytes_high", rerun_memory_interval(r).high * GIB);
		json_positive(w, "measured_memory_bytes", r->run->mem_gib * GIB);
		jsonw_string(w, "verdict", verdict_names[e->verdict]);
	}
	jsonw_close(w);
}

void
json_report(struct bench *b)
{
	struct jsonw w = jsonw_new(b->arena);
	struct figures f = figures_of(b);
	struct learned steps[STEP_CLASSES], memory[MEMORY_CLASSES];

	bands_learn_steps(b, steps);
	bands_learn_memory(b, memory);
	jsonw_open(&w, NULL);
	jsonw_string(&w, "schema", "moeplan/accuracy/v1");
	jsonw_string(&w, "version", MOEPLAN_VERSION);
	json_figures(&w, &f);
	json_bands(&w, "step_bands", STEP_CLASSES, step_bands, steps);
	json_bands(&w, "memory_bands", MEMORY_CLASSES, memory_bands, memory);
	jsonw_list(&w, "rows");
	for (size_t i = 0; i < b->count; i++)
		json_row(&w, &b->reruns[i]);
	jsonw_close(&w);
	jsonw_close(&w);
	str_add(&b->out, jsonw_end(&w));
}
