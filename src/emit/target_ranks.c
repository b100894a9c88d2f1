/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which rank is in which group? As CSV, a row a rank with the number of its group of each
 * kind, and as JSON, each kind's lists of ranks in the order that the framework makes them.
 */
#include "base/arena.h"
#include "base/jsonw.h"
#include "emit/private.h"
#include "model/groups.h"

/* The group of each rank, by kind; ranks of a kind that leaves some out have -1. */
static int32_t *
number_groups(struct arena *arena, const struct group_kind *kind, int64_t world)
{
	int32_t *number = arena_array(arena, (size_t)world, sizeof(*number));

	for (int64_t rank = 0; rank < world; rank++)
		number[rank] = -1;
	for (int64_t i = 0; i < kind->count * kind->size; i++)
		number[kind->ranks[i]] = (int32_t)(i / kind->size);
	return number;
}

static void
add_csv(struct str *out, const struct plan_view *plan, const struct group_table *table)
{
	int32_t **numbers = arena_array(out->arena, table->n_kinds, sizeof(int32_t *));

	str_add(out, "rank,node,local_rank");
	for (size_t k = 0; k < table->n_kinds; k++) {
		str_addf(out, ",%s", table->kinds[k].name);
		numbers[k] = number_groups(out->arena, &table->kinds[k], table->world);
	}
	str_addc(out, '\n');
	for (int64_t rank = 0; rank < table->world; rank++) {
		str_addf(out, "%lld,%lld,%lld", (long long)rank,
		    (long long)(rank / plan->gpus_per_node),
		    (long long)(rank % plan->gpus_per_node));
		for (size_t k = 0; k < table->n_kinds; k++)
			str_addf(out, ",%d", (int)numbers[k][rank]);
		str_addc(out, '\n');
	}
}

static void
add_kind(struct jsonw *w, const struct group_kind *kind)
{
	jsonw_list(w, kind->name);
	for (int64_t i = 0; i < kind->count; i++) {
		jsonw_row(w, NULL);
		for (int64_t j = 0; j < kind->size; j++)
			jsonw_int(w, NULL, kind->ranks[i * kind->size + j]);
		jsonw_close(w);
	}
	jsonw_close(w);
}

struct emitted *
emit_ranks(
    struct arena *arena, struct diags *diags, const struct plan_view *plan, const char *version)
{
	struct group_table *table = groups_build(arena, diags, &plan->strategy);
	struct str csv = str_new(arena), json = str_new(arena);
	struct jsonw w = jsonw_new(arena);
	struct emitted *files = NULL;

	(void)version;
	if (!table)
		return NULL;
	add_csv(&csv, plan, table);
	jsonw_open(&w, NULL);
	jsonw_int(&w, "world", table->world);
	jsonw_int(&w, "gpus_per_node", plan->gpus_per_node);
	jsonw_open(&w, "groups");
	for (size_t k = 0; k < table->n_kinds; k++)
		add_kind(&w, &table->kinds[k]);
	jsonw_close(&w);
	jsonw_close(&w);
	str_add(&json, jsonw_end(&w));
	add_file(arena, &files, "ranks.csv", &csv, false);
	add_file(arena, &files, "ranks.json", &json, false);
	return files;
}
