/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What helps against a symptom, and is it TP or EP? With the numbers of the plan at hand. */
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "cmd/explain_report.h"
#include "cmd/text_common.h"
#include "cmd/what_if.h"

static void
print_plan(struct request *request, const struct explained_plan *plan)
{
	const struct estimate *estimate = &plan->estimate;
	struct arena *arena = request->arena;

	text_line(request, "plan", "%s on %s GPUs  %s", plan->model->name,
	    units_grouped(arena, estimate->strategy.world),
	    text_degrees(arena, &estimate->strategy));
	text_line(request, "", "%s: stage %d of %d needs %s of %s, step %s, all-to-all exposed %s",
	    text_verdict(request, estimate->verdict), estimate->worst_stage, estimate->n_stages,
	    units_gib_number(arena, estimate->worst_bytes),
	    units_gib(arena, estimate->capacity_bytes), units_seconds(arena, estimate->step_s),
	    units_seconds(arena, estimate->exposed_s[TIME_ALL_TO_ALL]));
}

static void
print_parts(struct request *request, const struct explained_plan *plan, int aim)
{
	const struct estimate *estimate = &plan->estimate;
	const struct stage_memory *worst = &estimate->stages[estimate->worst_stage];
	enum time_part order[TIME_PARTS];
	struct str line = str_new(request->arena);
	int n;

	if (aim == AIM_MEMORY) {
		for (int i = 0; i < MEMORY_PARTS; i++)
			if (worst->parts[i] > 0)
				str_addf(&line, "%s%s %s", line.length > 0 ? ", " : "",
				    memory_part_names[i],
				    units_gib_number(request->arena, worst->parts[i]));
		text_line(request, "GiB", "%s", line.text);
		return;
	}
	n = time_parts_sorted(estimate, order);
	for (int i = 0; i < n && i < 6; i++)
		str_addf(&line, "%s%s %s", line.length > 0 ? ", " : "",
		    time_part_label(plan->model, order[i]),
		    units_seconds(request->arena, estimate->exposed_s[order[i]]));
	text_line(request, "step", "%s", line.text);
}

/* Three digits: what differs by a percent is seen to. */
static const char *
step_text(struct arena *arena, double seconds)
{
	if (seconds >= 100 || seconds < 1)
		return units_seconds(arena, seconds);
	return arena_printf(arena, "%.*f s", seconds >= 10 ? 1 : 2, seconds);
}

static void
print_trials(struct request *request, const struct explained_plan *plan)
{
	static const char *const heads[] = {"change", "", "GiB", "step", "all-to-all", ""};
	struct table *table = table_new(request->arena, 6);
	const struct estimate *estimate = &plan->estimate;
	struct arena *arena = request->arena;

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		table_column(table, i, heads[i], i < 2 || i == 5 ? TABLE_LEFT : TABLE_RIGHT);
	table_row(table);
	table_cell(table, "as planned");
	table_cell(table, "");
	table_cell(table, units_gib_number(arena, estimate->worst_bytes));
	table_cell(table, step_text(arena, estimate->step_s));
	table_cell(table, units_seconds(arena, estimate->exposed_s[TIME_ALL_TO_ALL]));
	table_cell(table, verdict_names[estimate->verdict]);
	for (int i = 0; i < plan->n_trials; i++) {
		const struct trial *trial = &plan->trials[i];

		table_row(table);
		table_cell(table, trial->change);
		table_cell(table, trial->option);
		table_cell(table, units_gib_number(arena, trial->worst_bytes));
		table_cell(table, step_text(arena, trial->step_s));
		table_cell(table, units_seconds(arena, trial->all_to_all_s));
		table_cell(table, verdict_names[trial->verdict]);
	}
	str_addc(&request->out, '\n');
	table_print(table, &request->out, 0);
}

/* --- numbers of symptoms that no change of degrees cures -------------------------------------- */

/* "TP 2 x CP 1 x PP 4 x DP 8 = 64", with the axes of further weight shards where there are. */
static void
print_product(struct request *request, const char *label, const int64_t sizes[5], bool expert)
{
	static const char *const names[2][5] = {
	    {"TP", "CP", "GTP", "PP", "DP"}, {"ETP", "EP", "EGTP", "PP", "EDP"}};
	struct str text = str_new(request->arena);
	int64_t product = 1;

	for (int i = 0; i < 5; i++) {
		product *= sizes[i];
		if (i != 2 || sizes[i] > 1)
			str_addf(&text, "%s%s %lld", i > 0 ? " x " : "", names[expert][i],
			    (long long)sizes[i]);
	}
	text_line(
	    request, label, "%s = %s", text.text, units_grouped(request->arena, product));
}

static void
print_ranks(struct request *request, const struct explained_plan *plan)
{
	const struct strategy *s = &plan->estimate.strategy;
	const int64_t dense[] = {s->tp, s->cp, s->gtp, s->pp, s->dp};
	const int64_t expert[] = {s->etp, s->ep, s->egtp, s->pp, s->edp};
	int64_t node = plan->cluster->gpus_per_node;

	print_product(request, "ranks", dense, false);
	if (model_moe(plan->model))
		print_product(request, "", expert, true);
	if (s->world % node == 0)
		text_line(request, "", "to start: %s nodes x %lld processes = %s",
		    units_grouped(request->arena, s->world / node), (long long)node,
		    units_grouped(request->arena, s->world));
	else
		text_line(request, "", "to start: %s processes, a node has %lld GPUs",
		    units_grouped(request->arena, s->world), (long long)node);
	if (s->etp == s->tp && s->cp == 1 && s->ep > 1)
		text_line(request, "", "as WORLD = DP x EP x TP x PP it is DP %lld",
		    (long long)s->edp);
}

static void
print_loads(struct request *request, const struct explained_plan *plan)
{
	const struct strategy *s = &plan->estimate.strategy;
	const struct layer_kind *kind = model_moe(plan->model);

	if (!kind || kind->ffn.experts < 1)
		return;
	text_line(request, "loads", "%s sequences x %s tokens x top-%lld / %lld experts = %s "
				    "tokens of an expert a step at the mean%s",
	    units_grouped(request->arena, s->global_batch),
	    units_grouped(request->arena, s->seq_len), (long long)kind->ffn.top_k,
	    (long long)kind->ffn.experts,
	    units_grouped(request->arena,
		s->global_batch * s->seq_len * kind->ffn.top_k / kind->ffn.experts),
	    s->capacity > 0 ? "" : "; dropless: none are dropped");
	if (s->capacity > 0)
		text_line(request, "",
		    "a capacity factor of %.3g drops what an expert gets over %.3g x the mean",
		    s->capacity, s->capacity);
}

static void
print_numbers(
    struct request *request, const struct symptom *symptom, const struct explained_plan *plan)
{
	static const struct {
		const char *symptom;
		void (*print)(struct request *request, const struct explained_plan *plan);
	} rows[] = {
	    {"launch", print_ranks}, {"hang", text_exchanges}, {"loss-spike", print_loads}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].symptom, symptom->name) == 0)
			rows[i].print(request, plan);
}

void
text_symptom(struct request *request, const struct explanation *what)
{
	const struct symptom *symptom = what->symptom;

	text_line(request, symptom->name, "%s", symptom->question);
	for (int i = 0; symptom->steps[i]; i++)
		str_addf(&request->out, "%2d  %s\n", i + 1, symptom->steps[i]);
	if (!what->plan)
		return;
	str_addc(&request->out, '\n');
	print_plan(request, what->plan);
	print_numbers(request, symptom, what->plan);
	if (symptom->aim < 0)
		return;
	print_parts(request, what->plan, symptom->aim);
	if (what->plan->n_trials > 0)
		print_trials(request, what->plan);
	else
		str_add(&request->out, "no single change helps here\n");
	if (what->plan->no_room)
		str_addf(&request->out, "faster, but out of memory: %s\n", what->plan->no_room);
	if (what->plan->no_gain)
		str_addf(&request->out, "no gain in: %s\n", what->plan->no_gain);
}

/* --- TP against EP -------------------------------------------------------------------------- */

static void
print_volumes(struct request *request, const struct explained_plan *plan)
{
	const struct strategy *s = &plan->estimate.strategy;
	const struct ffn *ffn = &model_moe(plan->model)->ffn;
	double tokens = (double)s->micro_batch * (double)s->seq_len / (double)s->cp;
	double hidden = (double)plan->model->hidden;

	text_line(request, "traffic",
	    "a layer, micro-batch and direction, %s tokens x %s wide, 2 bytes:",
	    units_grouped(request->arena, (int64_t)tokens),
	    units_grouped(request->arena, plan->model->hidden));
	text_line(request, "", "EP  2 S H k = %s to experts and back (k %lld)",
	    units_gib(request->arena, 2 * 2 * tokens * hidden * (double)ffn->top_k),
	    (long long)ffn->top_k);
	text_line(request, "", "TP  4 S H   = %s of all-reduce, each rank sends twice its buffer",
	    units_gib(request->arena, 2 * 4 * tokens * hidden));
	text_line(request, "",
	    "EP sends less while k is smaller than the parallel size; TP's is the "
	    "same whatever the routing");
}

static void
print_choice(struct request *request, const struct explained_plan *plan, struct table *table,
    int64_t tp, int64_t ep, int64_t etp)
{
	struct strategy strategy = plan->estimate.strategy;
	struct estimate estimate = {.n_stages = 0};
	struct arena *arena = request->arena;

	strategy.tp = tp;
	strategy.ep = ep;
	strategy.etp = etp;
	strategy.dp = strategy.edp = strategy.dp_shard = 0;
	strategy.micro_batches = 0;
	strategy_derive(&strategy, plan->model, 0);
	table_row(table);
	table_cellf(
	    table, "TP %lld EP %lld ETP %lld", (long long)tp, (long long)ep, (long long)etp);
	if (!what_if(request, plan->model, plan->cluster, &strategy, &estimate)) {
		table_cell(table, "breaks a rule");
		return;
	}
	table_cell(table, units_grouped(arena, strategy.dp));
	table_cell(table, units_gib_number(arena, estimate.worst_bytes));
	table_cell(table, step_text(arena, estimate.step_s));
	table_cell(table, units_seconds(arena, estimate.exposed_s[TIME_ALL_TO_ALL]));
	table_cell(table, units_seconds(arena, estimate.exposed_s[TIME_TENSOR_PARALLEL]));
	table_cell(table, units_seconds(arena, estimate.exposed_s[TIME_EXPERTS]));
	table_cell(table, verdict_names[estimate.verdict]);
}

static void
print_choices(struct request *request, const struct explained_plan *plan)
{
	static const char *const heads[] = {
	    "", "DP", "GiB", "step", "all-to-all", "TP traffic", "experts", ""};
	struct table *table = table_new(request->arena, 8);
	const struct strategy *s = &plan->estimate.strategy;
	int64_t n = s->ep > s->tp ? s->ep : s->tp;

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		table_column(table, i, heads[i], i == 0 || i == 7 ? TABLE_LEFT : TABLE_RIGHT);
	print_choice(request, plan, table, s->tp, s->ep, s->etp);
	if (s->tp > 1 || s->ep != n || s->etp > 1)
		print_choice(request, plan, table, 1, n, 1);
	print_choice(request, plan, table, n, 1, n);
	print_choice(request, plan, table, n, n, 1);
	str_addc(&request->out, '\n');
	table_print(table, &request->out, 0);
}

void
text_tp_vs_ep(struct request *request, const struct explanation *what)
{
	text_line(request, "tp-vs-ep", "split every expert (TP) or share the experts out (EP)?");
	str_add(&request->out,
	    " 1  EP keeps matrix products whole: few large grouped products instead of many "
	    "slices\n"
	    " 2  EP takes its ranks from DP and leaves DP as it is; TP divides it, so accumulation "
	    "grows\n"
	    " 3  an all-to-all moves 2 S H k bytes a direction, TP all-reduces 4 S H in every "
	    "layer\n"
	    " 4  TP's memory does not depend on the routing, EP's fullest rank does\n"
	    " 5  EP and PP first, TP last and never beyond the scale-up domain\n");
	if (!what->plan)
		return;
	str_addc(&request->out, '\n');
	print_plan(request, what->plan);
	if (!model_moe(what->plan->model)) {
		str_add(&request->out, "the model has no experts\n");
		return;
	}
	print_volumes(request, what->plan);
	print_choices(request, what->plan);
}
