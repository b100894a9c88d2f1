/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How good and how fast are expert placements, beside EPLB's packing, in one run?
 *
 * Balance without copies on 8 and 16 GPUs, balance and time of a DeepSeek-V3-sized
 * problem with and without copies, and traffic between nodes. Loads are made up with
 * the statistics of public traces; files of loads may be named to be measured too. Files by
 * domain are measured summed, and their first four domains as four nodes.
 *
 * usage: placing [LOADS...]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/table.h"
#include "planner/placement.h"
#include "planner/placement_skew.h"

static struct arena *arena;
static struct diags *diags;

static void
out_of_memory(void *context)
{
	(void)context;
	fputs("placement: out of memory\n", stderr);
	_exit(3);
}

/* Seconds of this process on one core, whatever else the machine does. */
static double
now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static _Noreturn void
fail(const char *what)
{
	fprintf(stderr, "placement: %s: %s\n", what,
	    diags->last ? diags->last->message : "no reason was given");
	_exit(1);
}

static const struct loads *
made_up(const char *text)
{
	struct loc nowhere = {NULL, 0, 0};
	struct loads_spec spec;

	loads_spec_init(&spec);
	if (loads_spec_parse(arena, diags, nowhere, text, &spec) != 0)
		fail(text);
	return loads_generate(arena, &spec, 1);
}

static struct placement_options
options_for(int gpus, int nodes, int slots, enum placement_goal goal)
{
	return (struct placement_options){.gpus = gpus, .nodes = nodes, .slots_per_gpu = slots,
	    .groups = 8, .goal = goal, .price = placement_price_default(nodes), .capacity = 1.25};
}

static const struct placement *
solve(const struct loads *loads, const struct placement_options *options)
{
	const struct placement *p = placement_solve(arena, diags, loads, options);

	if (!p || placement_verify(p, loads, options, diags) != 0)
		fail(loads->name);
	return p;
}

/* --- balance --- */

static const char *const balance_heads[] = {"loads", "GPUs", "slots", "contiguous", "EPLB",
    "EPLB by nodes", "moeplan", "bound", "proved", "within 0.05 %", "worst gap %",
    "worse than EPLB", "core s"};
enum { BALANCE_COLUMNS = sizeof(balance_heads) / sizeof(balance_heads[0]) };

/* Layers in which a baseline is better than the answer. */
static int
layers_worse(const struct placement *p, enum baseline baseline)
{
	int worse = 0;

	for (int l = 0; l < p->layers; l++) {
		double other = p->layer[l].baseline[baseline].ratio;

		worse += other > 0 && p->layer[l].cost.ratio > other * (1 + 1e-9);
	}
	return worse;
}

static void
balance_row(struct table *table, const char *label, const struct loads *loads, int gpus, int nodes,
    int copies)
{
	int slots = (loads->experts + copies) / gpus;
	struct placement_options options = options_for(gpus, nodes, slots, GOAL_LOAD);
	const struct placement *p;
	double start;

	if (slots * gpus != loads->experts + copies)
		return;
	start = now_s();
	p = solve(loads, &options);
	table_row(table);
	table_cellf(table, "%s, %d x %d", label, loads->layers, loads->experts);
	table_cellf(table, "%d", gpus);
	table_cellf(table, "%d", slots * gpus);
	table_cellf(table, "%.4f", p->baseline_mean[BASELINE_CONTIGUOUS].ratio);
	table_cellf(table, "%.4f", p->baseline_mean[BASELINE_EPLB].ratio);
	if (p->baseline_mean[BASELINE_EPLB_NODES].ratio > 0)
		table_cellf(table, "%.4f", p->baseline_mean[BASELINE_EPLB_NODES].ratio);
	else
		table_cell(table, "");
	table_cellf(table, "%.5f", p->mean.ratio);
	table_cellf(table, "%.5f", p->bound_mean);
	table_cellf(table, "%d of %d", p->proven, p->layers);
	table_cellf(table, "%d", p->within);
	table_cellf(table, "%.3f", 100 * p->worst_gap);
	table_cellf(table, "%d, %d", layers_worse(p, BASELINE_EPLB),
	    layers_worse(p, BASELINE_EPLB_NODES));
	table_cellf(table, "%.2f", now_s() - start);
}

static struct table *
table_with(const char *const *heads, size_t columns)
{
	struct table *table = table_new(arena, columns);

	for (size_t c = 0; c < columns; c++)
		table_column(table, c, heads[c], c == 0 ? TABLE_LEFT : TABLE_RIGHT);
	return table;
}

static void
print(const char *title, const struct table *table)
{
	struct str out = str_new(arena);

	table_print(table, &out, 2);
	printf("%s\n\n%s\n", title, out.text);
}

static const char *
short_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return arena_strndup(arena, slash ? slash + 1 : path, 24);
}

/*
 * Summed over domains, and of single domains: CV as in public traces (DeepSeek-MoE-16B,
 * OLMoE-1B-7B).
 */
static const char *const balance_specs[][2] = {
    {"cv 0.23", "cv=0.23,experts=64,layers=27"},
    {"cv 0.48", "cv=0.48,experts=64,layers=27"},
    {"cv 0.61", "cv=0.61,experts=64,layers=16"},
    {"cv 1.04", "cv=1.04,experts=64,layers=16"},
};

static void
balance_table(int n_files, const struct loads *const *files)
{
	struct table *table = table_with(balance_heads, BALANCE_COLUMNS);

	for (size_t i = 0; i < sizeof(balance_specs) / sizeof(balance_specs[0]); i++)
		for (int gpus = 8; gpus <= 16; gpus *= 2)
			balance_row(
			    table, balance_specs[i][0], made_up(balance_specs[i][1]), gpus, 1, 0);
	for (int i = 0; i < n_files; i++)
		for (int copies = 0; copies <= 16; copies += 16)
			for (int gpus = 8; gpus <= 16; gpus *= 2)
				balance_row(
				    table, short_name(files[i]->name), files[i], gpus, 1, copies);
	print("Balance: fullest GPU over the mean, means over layers", table);
}

static void
large_table(void)
{
	static const char *const specs[][2] = {
	    {"lognormal 0.4", "lognormal=0.4,experts=256,layers=58"},
	    {"lognormal 1.0", "lognormal=1,experts=256,layers=58"},
	    {"zipf 0.6", "zipf=0.6,experts=256,layers=58"},
	    {"zipf 1.0", "zipf=1,experts=256,layers=58"}};
	struct table *table = table_with(balance_heads, BALANCE_COLUMNS);

	for (int copies = 0; copies <= 64; copies += 64)
		for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
			balance_row(table, specs[i][0], made_up(specs[i][1]), 64, 8, copies);
	print("58 layers of 256 experts on 64 GPUs, one core", table);
}

/* --- traffic --- */

static const char *const traffic_heads[] = {"loads", "GPUs", "contiguous", "load alone",
    "nodes within 5 %", "least possible", "proved", "GPUs then", "answer", "GPUs then",
    "time within %", "core s"};
enum { TRAFFIC_COLUMNS = sizeof(traffic_heads) / sizeof(traffic_heads[0]) };

static void
traffic_row(struct table *table, const char *label, const struct loads *loads, int gpus, int nodes)
{
	struct placement_options options =
	    options_for(gpus, nodes, loads->experts / gpus, GOAL_TRAFFIC);
	const struct placement_point *five, *load;
	const struct placement *p;
	double start = now_s();

	if (loads->experts % gpus != 0)
		return;
	p = solve(loads, &options);
	five = &p->point_mean[PLACEMENT_POINTS - 1];
	load = &p->point_mean[0];
	table_row(table);
	table_cellf(table, "%s, %d x %d", label, loads->layers, loads->experts);
	table_cellf(table, "%d on %d", gpus, nodes);
	table_cellf(table, "%.4f", p->contiguous_share);
	table_cellf(table, "%.4f", load->cost.share);
	table_cellf(table, "%.4f", five->cost.share);
	table_cellf(table, "%.4f", five->share_low);
	table_cellf(table, "%d of %d", p->shares_proven[PLACEMENT_POINTS - 1], p->layers);
	table_cellf(table, "%.4f", five->cost.ratio);
	table_cellf(table, "%.4f", p->mean.share);
	table_cellf(table, "%.4f", p->mean.ratio);
	table_cellf(table, "%.2f", 100 * p->price_gap_mean);
	table_cellf(table, "%.1f", now_s() - start);
}

/* The first domains of a file as so many nodes. */
static const struct loads *
domains_as_nodes(const struct loads *loads, int nodes)
{
	struct loads *part = loads_new(arena, loads->layers, 1, nodes, loads->experts);

	part->name = loads->name;
	part->kind = LOADS_NODES;
	for (int l = 0; l < loads->layers; l++) {
		part->number[l] = loads->number[l];
		for (int s = 0; s < nodes; s++)
			memcpy(part->count + (l * nodes + s) * loads->experts,
			    loads_row(loads, l, 0, s), (size_t)loads->experts * sizeof(double));
	}
	return part;
}

static void
traffic_table(int n_files, const struct loads *const *files)
{
	static const struct {
		int gpus, nodes;
		const char *label, *spec;
	} rows[] = {
	    {8, 2, "lognormal 0.4", "lognormal=0.4,affinity=0.5,experts=64,layers=4,nodes=2"},
	    {8, 4, "lognormal 0.4", "lognormal=0.4,affinity=0.5,experts=64,layers=4,nodes=4"},
	    {16, 4, "lognormal 0.4", "lognormal=0.4,affinity=0.5,experts=64,layers=4,nodes=4"},
	    {16, 8, "lognormal 0.4", "lognormal=0.4,affinity=0.5,experts=64,layers=4,nodes=8"},
	    {32, 8, "lognormal 0.4", "lognormal=0.4,affinity=0.5,experts=256,layers=2,nodes=8"},
	};
	struct table *table = table_with(traffic_heads, TRAFFIC_COLUMNS);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		traffic_row(
		    table, rows[i].label, made_up(rows[i].spec), rows[i].gpus, rows[i].nodes);
	for (int i = 0; i < n_files; i++)
		for (int gpus = 8; gpus <= 16 && files[i]->kind == LOADS_DOMAINS; gpus *= 2)
			traffic_row(table, short_name(files[i]->name),
			    domains_as_nodes(files[i], 4), gpus, 4);
	print("Traffic: tokens that leave their node, means over layers", table);
}

int
main(int argc, char **argv)
{
	const struct loads **files;

	arena = arena_new(out_of_memory, NULL);
	diags = diags_new(arena);
	files = arena_array(arena, (size_t)argc, sizeof(const struct loads *));
	for (int i = 1; i < argc; i++) {
		files[i - 1] = loads_read(arena, diags, argv[i]);
		if (!files[i - 1])
			fail(argv[i]);
	}
	balance_table(argc - 1, files);
	large_table();
	traffic_table(argc - 1, files);
	arena_free(arena);
	return 0;
}
