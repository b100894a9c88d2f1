/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the experts go, for a person: what it gains beside what others do, what is proved, every
 * layer. */
#include <math.h>
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "cmd/place_facts.h"
#include "cmd/text_common.h"

enum { STRIP_WIDTH = 32 };

static const char *
share_text(struct arena *arena, double share)
{
	return isnan(share) ? "" : arena_printf(arena, "%.1f %%", 100 * share);
}

/* A gap as a part of the bound: enough digits to be more than nothing. */
static const char *
gap_text(struct arena *arena, double gap)
{
	if (gap <= 1e-6)
		return "0";
	return arena_printf(arena, gap < 1e-3 ? "%.3f %%" : "%.2f %%", 100 * gap);
}

/* --- head --- */

static void
print_loads(struct request *request, const struct place_facts *facts)
{
	const struct loads *loads = facts->loads;
	const struct placement *p = facts->placement;
	struct str line = str_new(request->arena);
	static const char *const kinds[] = {"", "nodes", "domains"};

	str_addf(&line, "%s  %d layer%s x %d experts", loads->name, loads->layers,
	    loads->layers == 1 ? "" : "s", loads->experts);
	if (loads->top_k > 0)
		str_addf(&line, ", %lld a token", (long long)loads->top_k);
	if (loads->sources > 1)
		str_addf(&line, ", by %d %s", loads->sources, kinds[loads->kind]);
	if (loads->snapshots > 1)
		str_addf(&line, ", %d snapshots", loads->snapshots);
	text_line(request, "loads", "%s (%s)", line.text, loads->account.format);
	text_line(request, "experts",
	    "fullest %.2f x the mean, emptiest %.2f, CV %.2f, entropy "
	    "%.2f of %.2f bits",
	    p->stats_mean.max_over_mean, p->stats_mean.min_over_mean, p->stats_mean.cv,
	    p->stats_mean.entropy_bits, log2(loads->experts));
	text_line(request, "", "%s of the tokens above capacity factor %g",
	    share_text(request->arena, p->dropped_mean), facts->options.capacity);
}

static void
print_machine(struct request *request, const struct place_facts *facts)
{
	const struct placement *p = facts->placement;
	struct str line = str_new(request->arena);

	str_addf(&line, "%d GPU%s", p->gpus, p->gpus == 1 ? "" : "s");
	if (p->nodes > 1)
		str_addf(&line, " on %d nodes", p->nodes);
	str_addf(&line, ", %d expert%s each", p->slots_per_gpu, p->slots_per_gpu == 1 ? "" : "s");
	if (p->copies > 0)
		str_addf(&line, " (%d further copies)", p->copies);
	text_line(request, "machine", "%s; made small: %s", line.text, goal_labels[p->goal]);
	if (facts->worth.known)
		text_line(request, "strategy", "%s",
		    text_degrees(request->arena, &facts->worth.strategy));
}

/* --- the comparison --- */

struct columns {
	bool share, split, hops, step;
};

static struct columns
choose_columns(const struct place_facts *facts)
{
	const struct placement *p = facts->placement;

	return (struct columns){.share = p->nodes > 1,
	    .split = !isnan(p->mean.split),
	    .hops = !isnan(p->mean.hops),
	    .step = facts->worth.known};
}

static struct table *
comparison_table(struct request *request, const struct place_facts *facts, struct columns columns)
{
	struct table *table = table_new(request->arena, 7);
	size_t c = 1;

	table_column(table, 0, "", TABLE_LEFT);
	table_column(table, c++, "fullest GPU / mean", TABLE_RIGHT);
	table_column(table, c++, "worst layer", TABLE_RIGHT);
	if (columns.share)
		table_column(table, c++,
		    facts->even_nodes ? "leave the node (even)" : "leave the node", TABLE_RIGHT);
	if (columns.split)
		table_column(table, c++,
		    facts->placement->nodes > 1 ? "pairs on two nodes" : "pairs on two GPUs",
		    TABLE_RIGHT);
	if (columns.hops)
		table_column(table, c++, "hops between layers", TABLE_RIGHT);
	if (columns.step)
		table_column(table, c++, "step", TABLE_RIGHT);
	return table;
}

static void
comparison_row(struct request *request, struct table *table, struct columns columns,
    const char *label, const struct placement_cost *mean, double worst, double step_s)
{
	table_row(table);
	table_cell(table, label);
	table_cellf(table, "%.4f", mean->ratio);
	table_cellf(table, "%.4f", worst);
	if (columns.share)
		table_cell(table, share_text(request->arena, mean->share));
	if (columns.split)
		table_cell(table, share_text(request->arena, mean->split));
	if (columns.hops)
		table_cell(table, share_text(request->arena, mean->hops));
	if (columns.step)
		table_cell(table, step_s > 0 ? units_seconds(request->arena, step_s) : "");
}

static double
worst_of_baseline(const struct placement *p, int baseline)
{
	double worst = 0;

	for (int l = 0; l < p->layers; l++)
		worst = fmax(worst, p->layer[l].baseline[baseline].ratio);
	return worst;
}

static double
worst_of_point(const struct placement *p, int k)
{
	double worst = 0;

	for (int l = 0; l < p->layers; l++)
		worst = fmax(worst, p->layer[l].points[k].cost.ratio);
	return worst;
}

/* The trade that GOAL_TRAFFIC looked at, a row each. */
static void
point_rows(
    struct request *request, const struct placement *p, struct table *table, struct columns columns)
{
	for (int k = 0; k < PLACEMENT_POINTS; k++) {
		const struct placement_point *point = &p->point_mean[k];
		const char *label = k == 0 ? "load alone"
					   : arena_printf(request->arena, "nodes within %g %%",
						 100 * placement_tolerances[k]);

		if (point->feasible)
			comparison_row(
			    request, table, columns, label, &point->cost, worst_of_point(p, k), 0);
	}
}

static void
print_comparison(struct request *request, const struct place_facts *facts)
{
	const struct placement *p = facts->placement;
	struct columns columns = choose_columns(facts);
	struct table *table = comparison_table(request, facts, columns);

	if (facts->options.from)
		comparison_row(request, table, columns, "in use", &p->from_mean, p->from_worst,
		    facts->worth.from_s);
	for (int b = 0; b < BASELINES; b++)
		if (p->baseline_mean[b].ratio > 0)
			comparison_row(request, table, columns, baseline_labels[b],
			    &p->baseline_mean[b], worst_of_baseline(p, b),
			    facts->worth.baseline_s[b]);
	point_rows(request, p, table, columns);
	comparison_row(request, table, columns, paint(request, PAINT_BOLD, "moeplan"), &p->mean,
	    p->worst_ratio, facts->worth.step_s);
	str_addc(&request->out, '\n');
	table_print(table, &request->out, 0);
}

/* --- what is proved --- */

static void
print_load_proof(struct request *request, const struct placement *p)
{
	struct str line = str_new(request->arena);

	str_addf(&line, "fullest GPU at least %.4f x the mean in any placement", p->bound_mean);
	if (p->goal == GOAL_LOAD)
		str_addf(&line, "; optimal in %d of %d layers, within 0.05 %% in %d, worst %s",
		    p->proven, p->layers, p->within, gap_text(request->arena, p->worst_gap));
	text_line(request, "proved", "%s", line.text);
}

static void
print_traffic_proof(struct request *request, const struct placement *p)
{
	struct arena *arena = request->arena;
	int last = PLACEMENT_POINTS - 1;

	if (p->no_traffic_gain) {
		text_line(request, "",
		    "at least %s of the tokens leave their node with any placement, "
		    "%s with contiguous experts:",
		    share_text(arena, p->share_low_mean), share_text(arena, p->contiguous_share));
		text_line(
		    request, "", "no placement can help the traffic; experts go by load alone");
		return;
	}
	text_line(request, "",
	    "at least %s leave the node with nodes within %g %%: reached and "
	    "optimal in %d of %d layers",
	    share_text(arena, p->point_mean[last].share_low), 100 * placement_tolerances[last],
	    p->shares_proven[last], p->layers);
	text_line(request, "",
	    "time of a layer (computation + all-to-all) within %s of a bound, "
	    "worst layer %s",
	    gap_text(arena, p->price_gap_mean), gap_text(arena, p->price_gap_worst));
}

static void
print_objective_proof(struct request *request, const struct placement *p)
{
	struct arena *arena = request->arena;

	if (p->goal == GOAL_PAIRS)
		text_line(request, "",
		    "at least %s of the pairs are split when bins are so balanced; "
		    "optimal in %d of %d layers",
		    share_text(arena, p->objective_low_mean), p->objectives_proven, p->layers);
	else if (p->chain_proven)
		text_line(
		    request, "", "no placement so balanced (within 10 %%) has fewer hops: optimal");
	else
		text_line(request, "", "a local optimum: hops at least %s by a loose bound",
		    share_text(arena, p->chain_low));
}

static void
print_worth(struct request *request, const struct place_facts *facts)
{
	const struct placement *p = facts->placement;
	const struct place_worth *worth = &facts->worth;
	struct str line = str_new(request->arena);

	if (worth->known)
		str_addf(&line, "step %s -> %s (%+.1f %%)",
		    units_seconds(request->arena, worth->from_s),
		    units_seconds(request->arena, worth->step_s),
		    100 * (worth->step_s / worth->from_s - 1));
	if (p->moved >= 0)
		str_addf(&line, "%s%s of %s experts move%s", line.length > 0 ? "; " : "",
		    units_grouped(request->arena, p->moved),
		    units_grouped(request->arena, (int64_t)p->layers * p->gpus * p->slots_per_gpu),
		    facts->options.from ? "" : " from where contiguous numbers put them");
	if (p->moved > 0 && worth->expert_bytes > 0)
		str_addf(&line, ", %s of bf16 weights once",
		    units_gib(request->arena, (double)p->moved * worth->expert_bytes));
	if (line.length > 0)
		text_line(request, worth->known ? "worth it" : "moves", "%s", line.text);
}

/* --- layers --- */

/* Load over mean in eight steps up to twice the mean. */
static const char *
strip_cell(const struct request *request, double load)
{
	static const char *const blocks[] = {
	    "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
	static const char *const ascii[] = {".", ":", "-", "=", "+", "*", "#", "@"};
	int step = (int)fmin(7, fmax(0, load * 4 - 0.5));

	return request->utf8 ? blocks[step] : ascii[step];
}

/* GPU by GPU, or the fullest of several where GPUs are many. */
static const char *
load_strip(
    struct request *request, const struct place_facts *facts, int layer, const struct assignment *a)
{
	int gpus = facts->options.gpus, cells = gpus < STRIP_WIDTH ? gpus : STRIP_WIDTH;
	double *load = arena_array(request->arena, (size_t)gpus, sizeof(double)), sum = 0;
	struct str strip = str_new(request->arena);

	placement_gpu_loads(request->arena, facts->loads, layer, a, load);
	for (int g = 0; g < gpus; g++)
		sum += load[g];
	for (int c = 0; c < cells; c++) {
		double most = 0;

		for (int g = c * gpus / cells; g < (c + 1) * gpus / cells; g++)
			most = fmax(most, load[g]);
		str_add(&strip, strip_cell(request, sum > 0 ? most * gpus / sum : 0));
	}
	return strip.text;
}

static void
layer_row(struct request *request, const struct place_facts *facts, struct table *table, int l)
{
	const struct placement *p = facts->placement;
	const struct placement_layer *layer = &p->layer[l];
	struct assignment *before = placement_baseline(
	    request->arena, facts->loads, &facts->options, l, BASELINE_CONTIGUOUS);
	struct assignment after = assignment_of_slots(
	    request->arena, layer->expert_of_slot, p->gpus * p->slots_per_gpu, p->slots_per_gpu);

	table_row(table);
	table_cellf(table, "%lld", (long long)layer->number);
	table_cellf(table, "%.2f", layer->stats.max_over_mean);
	table_cellf(table, "e%d e%d", layer->stats.hottest[0], layer->stats.hottest[1]);
	table_cell(table, load_strip(request, facts, l, before));
	table_cellf(table, "%.3f", layer->baseline[BASELINE_CONTIGUOUS].ratio);
	table_cell(table, load_strip(request, facts, l, &after));
	table_cellf(table, "%.4f", layer->cost.ratio);
	table_cellf(table, "%.4f", layer->lower_bound);
	if (p->goal == GOAL_LOAD)
		table_cell(table, layer->proven ? "optimal" : gap_text(request->arena, layer->gap));
	else if (p->goal == GOAL_TRAFFIC)
		table_cell(table, share_text(request->arena, layer->cost.share));
	else
		table_cell(
		    table, share_text(request->arena,
			       p->goal == GOAL_PAIRS ? layer->cost.split : layer->cost.hops));
}

static void
print_layers(struct request *request, const struct place_facts *facts)
{
	static const char *const heads[] = {
	    "layer", "expert", "hottest", "contiguous", "", "moeplan", "", "bound"};
	static const char *const last[GOALS] = {"gap", "leaves node", "pairs split", "hops on"};
	struct table *table = table_new(request->arena, 9);

	for (size_t c = 0; c < 8; c++)
		table_column(
		    table, c, heads[c], c == 2 || c == 3 || c == 5 ? TABLE_LEFT : TABLE_RIGHT);
	table_column(table, 8, last[facts->placement->goal], TABLE_RIGHT);
	for (int l = 0; l < facts->placement->layers; l++)
		layer_row(request, facts, table, l);
	str_addf(&request->out, "\nload of the GPUs by layer%s, over the mean: %s 0 to %s 1.9\n",
	    facts->options.gpus > STRIP_WIDTH ? " (fullest of several)" : "",
	    strip_cell(request, 0), strip_cell(request, 2));
	table_print(table, &request->out, 0);
}

void
text_place(struct request *request, const struct place_facts *facts)
{
	const struct placement *p = facts->placement;

	if (request->model)
		text_model_line(request);
	if (request->cluster)
		text_cluster_line(request);
	print_loads(request, facts);
	print_machine(request, facts);
	print_comparison(request, facts);
	str_addc(&request->out, '\n');
	print_load_proof(request, p);
	if (p->goal == GOAL_TRAFFIC)
		print_traffic_proof(request, p);
	else if (p->goal != GOAL_LOAD)
		print_objective_proof(request, p);
	print_worth(request, facts);
	print_layers(request, facts);
	if (request->common.verbose)
		str_addf(
		    &request->out, "\nsolved in %s\n", units_seconds(request->arena, p->wall_s));
}
