/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cluster as a file, with what was measured in place of what stood there. What was measured
 * before and is not measured now stays as it is.
 */
#include <math.h>
#include <string.h>

#include "model/calibrate.h"

#define SPREAD_SHOWN 0.001

/* A name as YAML takes it: as it is, or between quotes. */
static void
write_name(const char *key, const char *name, struct str *out)
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	if (name[0] && strspn(name, plain) == strlen(name)) {
		str_addf(out, "%s: %s\n", key, name);
		return;
	}
	str_addf(out, "%s: ", key);
	str_add_quoted(out, name);
	str_addc(out, '\n');
}

/* What of the GPU is measured, now or before; zero: not. */
struct gpu_numbers {
	double memory_Bps, ceiling, launch_s, runtime_bytes, gemm_half, spread;
	struct curve grouped;
	bool memory, matmul; /* measured now */
};

static double
half_peak(const struct gpu *g)
{
	return g->flops[FLOP_BF16].value > 0 ? g->flops[FLOP_BF16].value
					     : g->flops[FLOP_FP16].value;
}

static double
or_before(double now, double before)
{
	return now > 0 ? now : before;
}

/* The most that a copy can show: a cache that answers faster than the memory is no rate of it. An
 * earlier measurement is no limit, it may have been a bad one. */
static double
most_Bps(const struct gpu *g)
{
	const struct gpu *row = gpu_find(g->name);

	if (row)
		return 1.05 * row->hbm_Bps.value;
	return g->hbm_Bps.origin == ORIGIN_MEASURED ? INFINITY : 1.05 * g->hbm_Bps.value;
}

static struct gpu_numbers
numbers_of(const struct gpu *g, const struct measurements *m)
{
	double memory = readings_median(&m->memory_Bps), best = readings_median(&m->matmul_flops);
	double ceiling = half_peak(g) > 0 ? best / half_peak(g) : 0;
	struct gpu_numbers n = {
	    .memory = memory > 0 && memory <= most_Bps(g),
	    .matmul = ceiling > 0.01 && ceiling <= 1,
	    .launch_s = or_before(readings_median(&m->launch_s), g->launch_s),
	    .runtime_bytes = or_before(readings_median(&m->runtime_bytes), g->runtime_bytes),
	    .gemm_half = or_before(calibrate_gemm_half(m), g->gemm_half),
	    .spread = fmax(readings_spread(&m->memory_Bps), readings_spread(&m->matmul_flops))};

	n.memory_Bps = n.memory ? memory : g->hbm_Bps.value;
	n.ceiling = n.matmul ? ceiling : g->matmul_ceiling.value;
	n.grouped = n.matmul ? calibrate_grouped(m, best) : g->grouped;
	if (n.grouped.n == 0)
		n.grouped = g->grouped;
	n.spread = or_before(n.spread, g->spread);
	return n;
}

static bool
is_own(const struct quantity *q)
{
	return q->value > 0 && (q->origin == ORIGIN_FILE || q->origin == ORIGIN_MEASURED);
}

/* Peaks and multiprocessors that no catalogue row would bring. */
static void
write_peaks(const struct gpu *g, struct str *out)
{
	static const char *const names[FLOP_TYPES] = {"bf16", "fp16", "fp8", "fp4"};
	bool all = !gpu_find(g->name);
	int type;

	for (type = 0; type < FLOP_TYPES; type++)
		if (g->flops[type].value > 0 && (all || is_own(&g->flops[type])))
			str_addf(
			    out, "  %s_tflops: %.6g\n", names[type], g->flops[type].value / 1e12);
	if (all && g->sm_count > 0)
		str_addf(out, "  sm_count: %lld\n", (long long)g->sm_count);
}

static void
write_rates(
    const struct gpu *g, const struct measurements *m, const struct gpu_numbers *n, struct str *out)
{
	if (n->memory)
		str_addf(out,
		    "  hbm_GBps: %.6g    # measured: two reads and a write; was %.6g (%s)\n",
		    n->memory_Bps / 1e9, g->hbm_Bps.value / 1e9, origin_names[g->hbm_Bps.origin]);
	else if (is_own(&g->hbm_Bps) || !gpu_find(g->name))
		str_addf(out, "  hbm_GBps: %.6g\n", n->memory_Bps / 1e9);
	if (n->matmul)
		str_addf(out,
		    "  matmul_ceiling: %.4f    # measured: best product %.1f TFLOP/s; was %.4f\n",
		    n->ceiling, readings_median(&m->matmul_flops) / 1e12, g->matmul_ceiling.value);
	else if (is_own(&g->matmul_ceiling))
		str_addf(out, "  matmul_ceiling: %.4f\n", n->ceiling);
}

static void
write_measured(const struct gpu_numbers *n, struct str *out)
{
	if (n->gemm_half > 0)
		str_addf(out,
		    "  gemm_half: %.4g    # products of this size reach an eighth of their "
		    "rate\n",
		    n->gemm_half);
	if (n->grouped.n > 0) {
		str_add(out, "  grouped: ");
		curve_write(&n->grouped, out);
		str_add(out, "    # rows an expert, share of the ceiling\n");
	}
	if (n->launch_s > 0)
		str_addf(out, "  launch_us: %.4g\n", n->launch_s * 1e6);
	if (n->runtime_bytes >= 1)
		str_addf(
		    out, "  runtime: %.0f    # bytes outside the allocator\n", n->runtime_bytes);
	if (n->spread >= SPREAD_SHOWN)
		str_addf(out, "  spread: %.3g    # between reports\n", n->spread);
}

static void
write_gpu(const struct cluster *c, const struct measurements *m, struct str *out)
{
	const struct gpu *g = &c->gpu;
	struct gpu_numbers n = numbers_of(g, m);

	str_add(out, "gpu:\n  ");
	write_name("name", g->name, out);
	str_addf(out, "  memory: %.0f\n", g->usable_bytes.value);
	write_peaks(g, out);
	write_rates(g, m, &n, out);
	write_measured(&n, out);
	if (n.memory || g->hbm_Bps.origin == ORIGIN_MEASURED)
		str_add(out, "  origin: measured\n");
}

/* --- links ------------------------------------------------------------------------------------ */

static void
write_note(const struct level *level, const struct fit *fit, struct str *out)
{
	if (fit->samples)
		str_addf(out,
		    "    # measured: %d transfers, fit within %.0f %%; was %.6g GB/s (%s), %.3g "
		    "us\n",
		    fit->samples, 100 * fit->spread, level->Bps.value / 1e9,
		    origin_names[level->Bps.origin], level->latency_s.value * 1e6);
	else
		str_addf(out, "    # as it was (%s)\n", origin_names[level->Bps.origin]);
}

/* "scale_up" and what it alone has; a network is told per card. */
static void
write_head(const struct cluster *c, int at, double Bps, const struct fit *fit, struct str *out)
{
	const struct level *level = &c->levels[at];
	double cards = (double)(c->nics_per_node ? c->nics_per_node : 1);

	if (at == c->n_levels - 1) {
		str_add(out, "  scale_out:");
		write_note(level, fit, out);
		str_addf(out, "    nics_per_node: %lld\n    Gbps: %.6g\n    oversubscription: %g\n",
		    (long long)c->nics_per_node, Bps * 8e-9 * (double)c->gpus_per_node / cards,
		    fit->samples ? 1 : level->oversubscription);
		return;
	}
	str_add(out, at == 0 ? "  scale_up:" : "  in_node:");
	write_note(level, fit, out);
	if (at == 0)
		str_addf(out, "    domain_gpus: %lld\n",
		    strcmp(level->name, "PCIe") == 0 ? 1LL : (long long)c->domain_gpus);
	str_addf(out, "    GBps: %.6g\n", Bps / 1e9);
}

/* Numbers of units that were measured before and are not now. */
static void
keep_traffic(struct traffic_curves *traffic, const struct traffic_curves *before)
{
	int i, j, k;

	for (i = 0; i < before->n; i++) {
		for (j = 0; j < traffic->n && fabs(traffic->units[j] - before->units[i]) > 1e-9;
		     j++)
			;
		if (j < traffic->n)
			continue;
		for (k = 0; k < before->Bps[i].n; k++)
			traffic_add(traffic, before->units[i], before->Bps[i].at[k],
			    before->Bps[i].value[k]);
	}
}

static void
write_link(const struct cluster *c, int at, const struct measurements *m, struct str *out)
{
	const struct level *level = &c->levels[at];
	struct fit fit = calibrate_fit(m, at);
	struct traffic_curves traffic = calibrate_traffic(m, c, at);
	double latency = fit.samples ? fit.latency_s : level->latency_s.value;
	double spread = fit.samples ? fit.spread : level->spread;

	write_head(c, at, fit.samples ? fit.Bps : level->Bps.value, &fit, out);
	str_addf(out, "    latency_us: %.4g\n", fmax(latency * 1e6, 1e-3));
	keep_traffic(&traffic, &level->all_to_all);
	if (traffic.n > 0) {
		str_add(out, "    all_to_all: ");
		traffic_write(&traffic, out);
		str_addf(out, "    # %s, bytes out of a GPU, GB/s\n", at == 0 ? "GPUs" : "nodes");
	}
	if (spread >= SPREAD_SHOWN)
		str_addf(out, "    spread: %.3g\n", spread);
	if (fit.samples || level->Bps.origin == ORIGIN_MEASURED)
		str_add(out, "    origin: measured\n");
}

/* Only what the file said: the rest comes from the catalogue again. */
static void
write_host(const struct host *h, struct str *out)
{
	bool link = is_own(&h->link_Bps), memory = is_own(&h->memory_Bps);
	bool size = is_own(&h->memory_bytes);

	if (!link && !memory && !size)
		return;
	str_add(out, "host:\n");
	if (link)
		str_addf(out, "  GBps: %.6g\n", h->link_Bps.value / 1e9);
	if (memory)
		str_addf(out, "  memory_GBps: %.6g\n", h->memory_Bps.value / 1e9);
	if (size)
		str_addf(out, "  memory: %.0f\n", h->memory_bytes.value);
	if (h->link_Bps.origin == ORIGIN_MEASURED || h->memory_Bps.origin == ORIGIN_MEASURED ||
	    h->memory_bytes.origin == ORIGIN_MEASURED)
		str_add(out, "  origin: measured\n");
}

/* --- the file --------------------------------------------------------------------------------- */

static bool
anything(const struct cluster *c, const struct measurements *m)
{
	int level;

	for (level = 0; level < c->n_levels; level++)
		if (calibrate_fit(m, level).samples > 0)
			return true;
	return m->memory_Bps.n > 0 || m->matmul_flops.n > 0;
}

/* The median and, of several reports, the range. */
static void
write_hidden(const char *name, const struct readings *share, double before, struct str *out)
{
	double least = 1, most = 0;
	int i;

	if (share->n == 0 && before < 0)
		return;
	str_addf(out, "%s: %.3g", name, share->n > 0 ? readings_median(share) : before);
	for (i = 0; i < share->n; i++) {
		least = fmin(least, share->values[i]);
		most = fmax(most, share->values[i]);
	}
	if (share->n > 1)
		str_addf(out, " # %.3g to %.3g in %d reports", least, most, share->n);
	str_addc(out, '\n');
}

static void
write_all(const struct cluster *c, const struct measurements *m, struct str *out)
{
	int i;

	str_add(out, "schema: moeplan/cluster/v1\n");
	write_name("name", c->name, out);
	str_addf(out, "nodes: %lld\ngpus_per_node: %lld\n", (long long)c->nodes,
	    (long long)c->gpus_per_node);
	write_gpu(c, m, out);
	str_add(out, "links:\n");
	for (i = 0; i < c->n_levels; i++)
		write_link(c, i, m, out);
	write_host(&c->host, out);
	for (i = 0; i < HIDDEN_TRAFFICS; i++)
		write_hidden(hidden_names[i], &m->hidden[i], c->hidden[i], out);
	if (c->reserve_bytes)
		str_addf(out, "reserve: %llu\n", (unsigned long long)c->reserve_bytes);
	if (c->runs.n > 0)
		str_add(out, "runs:\n");
	for (i = 0; i < c->runs.n; i++)
		measured_run_write(out->arena, &c->runs.rows[i], out);
}

/* What was measured and is not believed. */
static void
note_refused(struct diags *diags, const struct gpu *g, const struct measurements *m)
{
	struct gpu_numbers n = numbers_of(g, m);
	struct loc nowhere = {NULL, 0, 0};

	if (m->memory_Bps.n > 0 && !n.memory)
		diag_add(diags, nowhere, NULL, SEVERITY_NOTE,
		    "a memory rate of %.6g GB/s is left out: '%s' has at most %.6g GB/s",
		    readings_median(&m->memory_Bps) / 1e9, g->name, most_Bps(g) / 1e9);
	if (m->matmul_flops.n > 0 && !n.matmul)
		diag_add(diags, nowhere, NULL, SEVERITY_NOTE,
		    "a best product of %.4g TFLOP/s is left out, and those of experts with it: "
		    "taken are 1 %% to 100 %% of the peak of '%s', %.6g TFLOP/s",
		    readings_median(&m->matmul_flops) / 1e12, g->name, half_peak(g) / 1e12);
}

int
calibrate_cluster(struct diags *diags, const struct cluster *c, const struct measurements *m,
    int added, struct str *out)
{
	struct loc nowhere = {NULL, 0, 0};

	if (m->n_left_out > 0)
		diag_add(diags, nowhere, NULL, SEVERITY_NOTE,
		    "%d measured rings over nodes are left out: the links inside the node bound "
		    "them",
		    m->n_left_out);
	note_refused(diags, &c->gpu, m);
	if (added == 0 && !anything(c, m)) {
		diag_error(diags, nowhere,
		    "nothing was measured that a cluster file has a number for: a link takes "
		    "transfers of two sizes or more, the largest over 4 times the smallest");
		return -1;
	}
	str_addf(out, "# calibrated by moeplan from %d report%s and %d measured step%s\n",
	    m->reports, m->reports == 1 ? "" : "s", added, added == 1 ? "" : "s");
	write_all(c, m, out);
	return 0;
}
