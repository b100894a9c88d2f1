/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What moves where when a checkpoint of one plan is loaded by another? */
#include "base/table.h"
#include "base/units.h"
#include "check/reshard.h"
#include "cmd/check_report.h"
#include "cmd/json_common.h"
#include "cmd/text_common.h"

enum { ROWS_SHOWN = 24 };

static const struct plan_view *
read_plan(struct request *request, const char *path)
{
	const struct doc *doc = request_document(request, path);

	if (!doc)
		diag_last_hint(request->diags, "a plan is JSON: moeplan plan MODEL CLUSTER ... "
					       "--format json --output plan.json");
	return doc ? plan_read(request->arena, request->diags, doc, path) : NULL;
}

static void
print_range(struct table *table, int64_t first, int64_t last)
{
	if (first == last)
		table_cellf(table, "%lld", (long long)first);
	else
		table_cellf(table, "%lld-%lld", (long long)first, (long long)last);
}

static void
print_row(struct table *table, const struct reshard_row *row)
{
	table_row(table);
	print_range(table, row->first_layer, row->last_layer);
	if (row->first_expert < 0)
		table_cell(table, "dense");
	else
		print_range(table, row->first_expert, row->last_expert);
	table_cellf(table, "%lld", (long long)row->old_shard);
	table_cellf(table, "%d", row->old_rank);
	table_cellf(table, "%lld", (long long)row->new_shard);
	table_cellf(table, "%d", row->new_rank);
	table_cell(table, row->moves ? "moves" : "stays");
}

static void
print_rows(struct request *request, const struct reshard *reshard)
{
	static const char *const heads[] = {
	    "layers", "experts", "old shard", "rank", "new shard", "rank", ""};
	struct table *table = table_new(request->arena, 7);
	size_t shown = 0, moving = 0;

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		table_column(table, i, heads[i], i < 2 || i == 6 ? TABLE_LEFT : TABLE_RIGHT);
	for (size_t i = 0; i < reshard->n_rows; i++) {
		moving += reshard->rows[i].moves;
		if (!request->common.verbose && (!reshard->rows[i].moves || shown == ROWS_SHOWN))
			continue;
		print_row(table, &reshard->rows[i]);
		shown++;
	}
	if (moving > 0)
		str_addf(&request->out,
		    "%zu of %zu pieces move: the rank that had one, and its first holder now\n",
		    moving, reshard->n_rows);
	else
		str_addf(&request->out, "none of %zu pieces moves\n", reshard->n_rows);
	if (shown > 0)
		table_print(table, &request->out, 0);
	if (shown < moving)
		str_addf(&request->out, "... %zu more (--verbose)\n", moving - shown);
}

static void
print_load(struct request *request, const char *label, enum reshard_load load, const char *advice)
{
	static const char *const words[] = {[RESHARD_LOADS] = "loaded as saved",
	    [RESHARD_WITH] = "loaded with",
	    [RESHARD_CONVERTS] = "not loaded as saved"};

	if (advice)
		text_line(request, label, "%s%s %s", words[load], load == RESHARD_WITH ? "" : ":",
		    advice);
	else
		text_line(request, label, "%s", words[load]);
}

static void
text_reshard(struct request *request, const struct reshard *reshard,
    const struct plan_view *old_plan, const struct plan_view *new_plan)
{
	struct arena *arena = request->arena;

	text_line(request, "old", "%s GPUs  %s", units_grouped(arena, old_plan->strategy.world),
	    text_degrees(arena, &old_plan->strategy));
	text_line(request, "new", "%s GPUs  %s", units_grouped(arena, new_plan->strategy.world),
	    text_degrees(arena, &new_plan->strategy));
	print_load(request, "weights", reshard->weights, reshard->weights_advice);
	print_load(request, "optimizer", reshard->optimizer, reshard->optimizer_advice);
	if (reshard->needed > 0)
		text_line(request, "experts",
		    "%s of what ranks of the new plan need, they held already; %s move in 16 bits",
		    units_percent(arena, reshard->held / reshard->needed),
		    units_gib(arena, 2 * (reshard->needed - reshard->held)));
	str_addc(&request->out, '\n');
	print_rows(request, reshard);
}

static void
json_row(struct jsonw *w, const struct reshard_row *row)
{
	jsonw_open(w, NULL);
	jsonw_row(w, "layers");
	jsonw_int(w, NULL, row->first_layer);
	jsonw_int(w, NULL, row->last_layer);
	jsonw_close(w);
	if (row->first_expert >= 0) {
		jsonw_row(w, "experts");
		jsonw_int(w, NULL, row->first_expert);
		jsonw_int(w, NULL, row->last_expert);
		jsonw_close(w);
	} else {
		jsonw_string(w, "experts", NULL);
	}
	jsonw_int(w, "old_shard", row->old_shard);
	jsonw_int(w, "old_rank", row->old_rank);
	jsonw_int(w, "new_shard", row->new_shard);
	jsonw_int(w, "new_rank", row->new_rank);
	jsonw_bool(w, "moves", row->moves);
	jsonw_close(w);
}

static void
json_load(struct jsonw *w, const char *key, enum reshard_load load, const char *advice)
{
	jsonw_open(w, key);
	jsonw_string(w, "load", reshard_load_names[load]);
	jsonw_string(w, "advice", advice);
	jsonw_close(w);
}

static void
json_reshard(struct request *request, const struct reshard *reshard,
    const struct plan_view *old_plan, const struct plan_view *new_plan)
{
	struct jsonw w = json_begin(request);

	jsonw_string(&w, "verdict", "ok");
	jsonw_open(&w, "reshard");
	json_strategy(&w, "old", &old_plan->strategy);
	json_strategy(&w, "new", &new_plan->strategy);
	json_load(&w, "weights", reshard->weights, reshard->weights_advice);
	json_load(&w, "optimizer", reshard->optimizer, reshard->optimizer_advice);
	jsonw_double(&w, "expert_parameters_needed", reshard->needed);
	jsonw_double(&w, "expert_parameters_held", reshard->held);
	jsonw_list(&w, "rows");
	for (size_t i = 0; i < reshard->n_rows; i++)
		json_row(&w, &reshard->rows[i]);
	jsonw_close(&w);
	jsonw_close(&w);
	json_finish(request, &w);
}

enum status
check_reshard(struct request *request)
{
	const struct plan_view *old_plan, *new_plan;
	const struct reshard *reshard;
	struct loc nowhere = {NULL, 0, 0};

	if (request->arguments.count != 1) {
		diag_error(request->diags, nowhere, "--from OLD.json goes with one new plan");
		diag_last_hint(request->diags, "moeplan check --from old.json new.json");
		return STATUS_USAGE;
	}
	old_plan = read_plan(request, request->check.from);
	new_plan = read_plan(request, request->arguments.positional[0]);
	if (!old_plan || !new_plan)
		return STATUS_USAGE;
	reshard = reshard_plan(request->arena, request->diags, old_plan, new_plan);
	if (!reshard)
		return STATUS_NO;
	if (request->common.format == FORMAT_JSON)
		json_reshard(request, reshard, old_plan, new_plan);
	else
		text_reshard(request, reshard, old_plan, new_plan);
	return STATUS_YES;
}
