/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Can any text make the readers of logs, profiles and nccl-tests crash, hang or say what is no
 * number?
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/doc.h"
#include "model/calibrate.h"
#include "model/strategy.h"
#include "model/trace.h"
#include "model/training_log.h"
#include "promise.h"

static void
check_log(struct arena *arena, const char *text, size_t size)
{
	struct strategy strategy = {.global_batch = 64, .seq_len = 4096, .world = 8};
	struct log_facts facts;

	check(log_read_text(arena, text, size, &facts) == (facts.format != NULL));
	check(facts.step_s >= 0 && isfinite(facts.step_s));
	check(facts.step_low_s <= facts.step_s && facts.step_s <= facts.step_high_s);
	check(facts.allocated_bytes >= 0 && facts.allocated_bytes < 1e28);
	check(log_step_s(&facts, &strategy) >= 0);
}

static void
check_trace(struct arena *arena, const char *text, size_t size)
{
	struct diags *diags = diags_new(arena);
	struct trace_facts facts;
	bool read = trace_read_text(arena, diags, "trace", text, size, &facts) == 0;

	check(read == (diags->errors == 0));
	if (!read)
		return;
	check(facts.kernels > 0 && facts.window_s >= 0 && isfinite(facts.window_s));
	check(facts.exposed_s >= -1e-6 * facts.window_s && facts.computed_s >= 0);
	check(isfinite(facts.idle_s) && isfinite(facts.step_s));
	(void)trace_is(text, size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct diags *diags = diags_new(arena);
	struct cluster *cluster = cluster_from_text(arena, diags, "dgx-h100x4");
	struct measurements *m = arena_alloc(arena, sizeof(*m));
	const char *text = arena_strndup(arena, (const char *)data, size);
	const struct doc *doc;
	int level;

	check_log(arena, text, size);
	check_trace(arena, text, size);
	(void)calibrate_add_nccl_tests(diags, cluster, "text", text, size, m);
	doc = doc_parse(arena, diags_new(arena), "json", text, size);
	if (doc && calibrate_is_nccl_json(doc))
		(void)calibrate_add_nccl_json(diags, cluster, doc, m);
	for (level = 0; level < cluster->n_levels; level++) {
		struct fit fit = calibrate_fit(m, level);

		check(fit.samples == 0 || (fit.Bps > 0 && isfinite(fit.Bps) && fit.latency_s >= 0));
	}
	arena_free(arena);
	return 0;
}
