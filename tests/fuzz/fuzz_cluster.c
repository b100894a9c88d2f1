/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Can any text, read as a cluster text, a cluster file, a job or a strategy, crash or hang a reader
 * or give something that breaks its own promises?
 *
 * Either there is a cluster and no error, or an error and no cluster. Levels nest, rates and
 * latencies are positive and finite. A derived strategy is judged without crash.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "model/cluster.h"
#include "model/groups.h"
#include "model/job.h"
#include "promise.h"

static void
check_cluster(const struct cluster *c)
{
	const struct level *last = &c->levels[c->n_levels - 1];

	check(c->name && c->gpu.name && c->n_levels >= 2 && c->n_levels <= CLUSTER_MAX_LEVELS);
	check(c->nodes >= 1 && c->nodes <= CLUSTER_MAX_NODES && c->gpus_per_node >= 1);
	check(c->world == c->nodes * c->gpus_per_node && c->world <= CLUSTER_MAX_WORLD);
	check(last->gpus == c->world && strcmp(last->name, "network") == 0);
	for (int i = 0; i < c->n_levels; i++) {
		const struct level *level = &c->levels[i];

		check(level->gpus >= 1 && (i == 0 || level->gpus >= c->levels[i - 1].gpus));
		check(isfinite(level->Bps.value) && level->Bps.value > 0);
		check(isfinite(level->latency_s.value) && level->latency_s.value > 0);
		check(level->oversubscription >= 1);
	}
	check(c->gpu.usable_bytes.value > 0 && c->gpu.hbm_Bps.value > 0);
}

static void
check_text(struct arena *arena, const char *text)
{
	struct diags *diags = diags_new(arena);
	struct cluster *cluster = cluster_from_text(arena, diags, text);

	is_cluster_text(text);
	check((cluster == NULL) == (diags->errors > 0));
	if (cluster)
		check_cluster(cluster);
}

static void
check_strategy(struct arena *arena, struct strategy *strategy)
{
	struct diags *diags = diags_new(arena);

	strategy_derive(strategy, NULL, 64);
	check(strategy_options_text(arena, strategy) != NULL);
	check((strategy_first_violation(strategy, NULL) == NULL) ==
	      (strategy_violations(strategy, NULL, diags) == 0));
	if (strategy->world <= 4096)
		check((groups_build(arena, diags, strategy) == NULL) == (diags->errors > 0));
}

static void
check_file(struct arena *arena, const char *text, size_t size)
{
	struct diags *diags = diags_new(arena);
	struct field_context context = {arena, diags};
	struct doc *doc = doc_parse(arena, diags, "input", text, size);
	struct cluster *cluster;
	struct job job;
	int errors;

	if (!doc)
		return;
	cluster = cluster_read(arena, diags, doc);
	check((cluster == NULL) == (diags->errors > 0));
	if (cluster)
		check_cluster(cluster);
	job_init(&job);
	errors = diags->errors;
	check((job_read(&job, doc, &context) == 0) == (diags->errors == errors));
	errors = diags->errors;
	if (fields_read(strategy_fields, &job.base, doc, NULL, &context) == 0)
		check(diags->errors == errors);
	check_strategy(arena, &job.base);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	char *text = arena_strndup(arena, (const char *)data, size);

	check_text(arena, text);
	check_file(arena, text, strlen(text));
	arena_free(arena);
	return 0;
}
