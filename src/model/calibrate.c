/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was measured on this machine? Samples of collectives, and a probe's reports.
 *
 * Of a collective over S bytes (a rank's whole buffer, as nccl-tests has it) by n ranks, i of them
 * in each of N units of the level below, a rank sends over the level that holds them all
 *   all-to-all                   S (1 - i/n)
 *   all-gather, reduce-scatter   S (N-1)/N/i, all i links working (within the first level i = 1)
 *   all-reduce                   twice that
 *   send and receive             S, to the next rank.
 * A ring that the links below bound, by the rates that the cluster has, says nothing of this level
 * and is left out.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/numeric.h"
#include "model/calibrate.h"

enum pattern { PATTERN_RING, PATTERN_TO_ALL, PATTERN_NEXT };

/* As the probe and as nccl-tests call them. */
static const struct collective {
	const char *name;
	enum pattern pattern;
	double rounds; /* over the whole ring */
} collectives[] = {
    {"all_reduce", PATTERN_RING, 2},
    {"all_gather", PATTERN_RING, 1},
    {"reduce_scatter", PATTERN_RING, 1},
    {"all_to_all", PATTERN_TO_ALL, 1},
    {"alltoall", PATTERN_TO_ALL, 1},
    {"sendrecv", PATTERN_NEXT, 1},
};
enum { COLLECTIVES = sizeof(collectives) / sizeof(collectives[0]) };

static const struct collective *
collective_find(const char *name)
{
	int i;

	for (i = 0; i < COLLECTIVES; i++)
		if (strcmp(collectives[i].name, name) == 0)
			return &collectives[i];
	return NULL;
}

static double
ring_bytes(double bytes, double units, double inside)
{
	return bytes * (units - 1) / units / inside;
}

static double
wire_bytes(const struct collective *op, double ranks, double inside, double bytes)
{
	if (op->pattern == PATTERN_TO_ALL)
		return bytes * (1 - inside / ranks);
	if (op->pattern == PATTERN_NEXT)
		return bytes;
	return op->rounds * ring_bytes(bytes, ranks / inside, inside);
}

int
calibrate_add_sample(struct diags *diags, struct loc loc, const struct cluster *cluster,
    struct measurements *m, int level, const char *name, double ranks, double inside, double bytes,
    double seconds)
{
	const struct collective *op = collective_find(name);
	struct sample s = {.level = level, .units = ranks / inside, .seconds = seconds};

	if (!op)
		return diag_error(diags, loc,
		    "'%s' is no collective whose bytes are known: all_reduce, all_gather, "
		    "reduce_scatter, all_to_all (alltoall), sendrecv",
		    name);
	if (!(s.units > 1) || !(inside >= 1) || !(bytes > 0) || !(seconds > 0))
		return 0;
	s.all_to_all = op->pattern == PATTERN_TO_ALL;
	s.wire_bytes = wire_bytes(op, ranks, inside, bytes);
	s.peers = op->pattern == PATTERN_NEXT ? 1 : op->rounds * (ranks - 1);
	if (op->pattern == PATTERN_RING && level > 0 && inside > 1) {
		double below =
		    op->rounds * ring_bytes(bytes, inside, 1) / cluster->levels[0].Bps.value;

		if (below > s.wire_bytes / cluster->levels[level].Bps.value) {
			m->n_left_out++;
			return 0;
		}
	}
	if (m->n_samples == CALIBRATE_SAMPLES)
		return diag_error(diags, loc, "more than %d measured transfers", CALIBRATE_SAMPLES);
	m->samples[m->n_samples++] = s;
	return 0;
}

/* --- a probe's report ------------------------------------------------------------------------- */

static double
number_of(const struct doc *map, const char *key)
{
	const struct doc *value = doc_get(map, key);

	return value && value->kind == DOC_NUMBER && isfinite(value->number) ? value->number : 0;
}

static void
keep(struct readings *readings, double value)
{
	if (value > 0 && readings->n < CALIBRATE_REPORTS)
		readings->values[readings->n++] = value;
}

static int
check_report(struct diags *diags, const struct cluster *cluster, const struct doc *doc)
{
	const struct doc *comparable = doc_get(doc_get(doc, "environment"), "comparable");
	const struct doc *gpu = doc_get(doc, "gpu");

	if (!comparable || comparable->kind != DOC_BOOL || !comparable->boolean) {
		diag_error(
		    diags, doc->loc, "the report's times are not comparable with this cluster");
		diag_last_hint(diags,
		    "a rehearsal on CPUs, small shapes or several ranks on one GPU say nothing "
		    "of its rates: run the probe on the cluster itself");
		return -1;
	}
	if (gpu && gpu->kind == DOC_STRING && strcmp(gpu->text, cluster->gpu.name) != 0)
		return diag_error(diags, gpu->loc, "the report is of '%s', the cluster has '%s'",
		    gpu->text, cluster->gpu.name);
	return 0;
}

static int
add_transfers(struct diags *diags, const struct cluster *cluster, const struct doc *list,
    struct measurements *m)
{
	const struct doc *row;

	for (row = list ? list->first : NULL; row; row = row->next) {
		const struct doc *op = doc_get(row, "op"), *at = doc_get(row, "level_index");
		int level =
		    at && at->kind == DOC_NUMBER ? (int)fmin(1e6, fmax(-1, at->number)) : -1;
		double ranks = number_of(row, "ranks"), units = number_of(row, "units");

		if (!op || op->kind != DOC_STRING || level < 0 || level >= cluster->n_levels)
			return diag_error(diags, row->loc,
			    "a transfer of the report is not one of this cluster's");
		if (!(units > 0)) /* of a group that lies in the first level */
			units = ranks;
		if (calibrate_add_sample(diags, row->loc, cluster, m, level, op->text, ranks,
			ranks / units, number_of(row, "bytes"), number_of(row, "seconds")) != 0)
			return -1;
	}
	return 0;
}

/* "gemm": squares; "experts": the planned experts' first product, by rows. */
static int
add_products(struct diags *diags, const struct doc *list, struct measurements *m)
{
	const struct doc *row;
	double best = 0;

	for (row = list ? list->first : NULL; row; row = row->next) {
		const struct doc *name = doc_get(row, "name");
		double flops = number_of(row, "flops"), rows = number_of(row, "m");
		double columns = number_of(row, "n"), depth = number_of(row, "k");

		best = fmax(best, flops);
		if (!name || name->kind != DOC_STRING || !(flops > 0) || !(rows > 0) ||
		    !(columns > 0) || !(depth > 0))
			continue;
		if (m->n_squares == CALIBRATE_PRODUCTS || m->n_experts == CALIBRATE_PRODUCTS)
			return diag_error(
			    diags, row->loc, "more than %d measured products", CALIBRATE_PRODUCTS);
		if (strcmp(name->text, "gemm") == 0)
			m->squares[m->n_squares++] = (struct point){rows, flops};
		if (strcmp(name->text, "experts") == 0)
			m->experts[m->n_experts++] = (struct product){rows, columns, depth, flops};
	}
	keep(&m->matmul_flops, best);
	return 0;
}

/*
 * Computation and traffic alone and beside each other: Tc, Tm, Tb. What hides of the traffic is
 * (Tc + Tm - Tb) / Tm, of the part of it that has computation beside it; where all of a shorter
 * computation hides, more of it could have.
 */
static void
add_overlap(const struct doc *overlap, struct readings *share)
{
	double compute_s = number_of(overlap, "compute_s"), both_s = number_of(overlap, "both_s");
	double comm_s = number_of(overlap, "communication_s");
	double beside = doc_get(overlap, "beside") ? number_of(overlap, "beside") : 1;
	bool bound = compute_s < comm_s && both_s <= comm_s;

	if (compute_s > 0 && comm_s > 0 && both_s > 0 && beside > 0 && !bound &&
	    share->n < CALIBRATE_REPORTS)
		share->values[share->n++] =
		    fmin(1, fmax(0, (compute_s + comm_s - both_s) / (comm_s * beside)));
}

/* In the step where the plan overlaps it; else an all-to-all beside products by themselves. */
static void
add_overlaps(const struct doc *doc, struct measurements *m)
{
	static const char *const names[HIDDEN_TRAFFICS] = {
	    "expert_overlap", "tensor_parallel_overlap", "data_parallel_overlap"};
	int i;

	for (i = 0; i < HIDDEN_TRAFFICS; i++)
		add_overlap(doc_get(doc, names[i]), &m->hidden[i]);
	if (!doc_get(doc, names[HIDDEN_ALL_TO_ALL]))
		add_overlap(doc_get(doc, "overlap"), &m->hidden[HIDDEN_ALL_TO_ALL]);
}

int
calibrate_add_report(struct diags *diags, const struct cluster *cluster, const struct doc *doc,
    struct measurements *m)
{
	const struct doc *stages = doc_get(doc_get(doc, "memory"), "stages"), *stage;
	double outside = 0;

	if (check_report(diags, cluster, doc) != 0 ||
	    add_transfers(diags, cluster, doc_get(doc, "transfers"), m) != 0 ||
	    add_products(diags, doc_get(doc, "products"), m) != 0)
		return -1;
	keep(&m->memory_Bps, number_of(doc_get(doc, "device"), "memory_Bps"));
	keep(&m->launch_s, number_of(doc_get(doc, "device"), "launch_s"));
	add_overlaps(doc, m);
	for (stage = stages ? stages->first : NULL; stage; stage = stage->next)
		outside = fmax(outside, number_of(doc_get(stage, "measured"), "outside_bytes"));
	keep(&m->runtime_bytes, outside);
	m->reports++;
	return 0;
}
