/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rank is in which group, for a script? Schema moeplan/groups/v1. */
#include "cmd/groups_facts.h"
#include "cmd/json_common.h"

static void
json_kind(struct jsonw *w, const struct group_kind *kind)
{
	int64_t i, j;

	jsonw_list(w, kind->name);
	for (i = 0; i < kind->count; i++) {
		jsonw_row(w, NULL);
		for (j = 0; j < kind->size; j++)
			jsonw_int(w, NULL, kind->ranks[i * kind->size + j]);
		jsonw_close(w);
	}
	jsonw_close(w);
}

void
json_groups(struct request *request, const struct groups_facts *facts)
{
	struct jsonw w = json_begin(request);
	size_t i;

	jsonw_int(&w, "world", facts->table->world);
	jsonw_int(&w, "gpus_per_node", facts->cluster->gpus_per_node);
	json_strategy(&w, "strategy", facts->strategy);
	jsonw_open(&w, "groups");
	for (i = 0; i < facts->table->n_kinds; i++)
		json_kind(&w, &facts->table->kinds[i]);
	jsonw_close(&w);
	jsonw_list(&w, "spans");
	for (i = 0; i < facts->table->n_kinds; i++) {
		jsonw_open(&w, NULL);
		jsonw_string(&w, "group", facts->table->kinds[i].name);
		jsonw_string(&w, "level", facts->cluster->levels[facts->spans[i].level].name);
		jsonw_int(&w, "nodes", facts->spans[i].nodes);
		jsonw_close(&w);
	}
	jsonw_close(&w);
	json_finish(request, &w);
}
