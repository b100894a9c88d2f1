/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which rates does this machine really have?
 *
 * For each level of the cluster, over all collectives that were timed on it:
 *   t = a m + w / B,   w bytes that leave a rank, m messages one after another.
 * a and B minimise sum(((a m + w/B) - t)^2 / t^2), so that small sizes settle a and large ones B.
 * w and m of n ranks (rings; pairwise all-to-all): all-gather, reduce-scatter, all-to-all
 * w = S (n-1)/n, m = n-1; all-reduce twice both. S is a rank's whole buffer, as nccl-tests has it.
 * The GPU's copy rate and best product come from probe reports. Kept out: what the cluster file has
 * no number for (grouped products by rows, launch time, overlap); they stay in the report.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/numeric.h"
#include "model/calibrate.h"

static int
add_sample(struct diags *diags, struct loc loc, struct measurements *m, int level, const char *op,
    double ranks, double bytes, double seconds)
{
	double twice = strstr(op, "all_reduce") ? 2 : 1;

	if (!(ranks > 1) || !(bytes > 0) || !(seconds > 0))
		return 0;
	if (m->n_samples == CALIBRATE_SAMPLES)
		return diag_error(diags, loc, "more than %d measured transfers", CALIBRATE_SAMPLES);
	m->samples[m->n_samples++] = (struct sample){
	    level, twice * bytes * (ranks - 1) / ranks, twice * (ranks - 1), seconds};
	return 0;
}

/* --- a probe's report
 * ----------------------------------------------------------------------------- */

static double
number_of(const struct doc *map, const char *key)
{
	const struct doc *value = doc_get(map, key);

	return value && value->kind == DOC_NUMBER && isfinite(value->number) ? value->number : 0;
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

int
calibrate_add_report(struct diags *diags, const struct cluster *cluster, const struct doc *doc,
    struct measurements *m)
{
	const struct doc *list = doc_get(doc, "transfers"), *row;
	double value;

	if (check_report(diags, cluster, doc) != 0)
		return -1;
	for (row = list ? list->first : NULL; row; row = row->next) {
		const struct doc *op = doc_get(row, "op");
		int level = (int)number_of(row, "level_index");

		if (!op || op->kind != DOC_STRING || level < 0 || level >= cluster->n_levels)
			return diag_error(diags, row->loc,
			    "a transfer of the report is not one of this cluster's");
		if (add_sample(diags, row->loc, m, level, op->text, number_of(row, "ranks"),
			number_of(row, "bytes"), number_of(row, "seconds")) != 0)
			return -1;
	}
	m->memory_Bps = fmax(m->memory_Bps, number_of(doc_get(doc, "device"), "memory_Bps"));
	list = doc_get(doc, "products");
	for (row = list ? list->first : NULL; row; row = row->next) {
		value = number_of(row, "flops");
		m->matmul_flops = fmax(m->matmul_flops, value);
	}
	m->reports++;
	return 0;
}

/* --- nccl-tests
 * ----------------------------------------------------------------------------------- */

/* Numbers of a line "size count type redop root time algbw busbw …"; how many fields it has. */
enum { FIELDS = 8 };
static int
split_line(const char *line, size_t length, const char *fields[FIELDS])
{
	size_t i = 0;
	int n = 0;

	while (i < length && n < FIELDS) {
		while (i < length && (line[i] == ' ' || line[i] == '\t'))
			i++;
		if (i < length)
			fields[n++] = line + i;
		while (i < length && line[i] != ' ' && line[i] != '\t')
			i++;
	}
	return n;
}

struct nccl_tests {
	double ranks;
	char hosts[64][64];
	int n_hosts;
	const char *op;
};

/* "#  Rank  3 Group  0 Pid 123 on  node-a device  3 [0x1b] NVIDIA H100 80GB HBM3" */
static void
nccl_rank(const char *line, size_t length, struct nccl_tests *t)
{
	static const char before[] = " on ";
	size_t i, n;
	int j;

	for (i = 0;
	     i + sizeof(before) < length && strncmp(line + i, before, sizeof(before) - 1) != 0; i++)
		;
	i += sizeof(before) - 1;
	while (i < length && line[i] == ' ')
		i++;
	for (n = 0; i + n < length && line[i + n] != ' ' && n < 63; n++)
		;
	t->ranks++;
	for (j = 0; j < t->n_hosts; j++)
		if (strlen(t->hosts[j]) == n && strncmp(t->hosts[j], line + i, n) == 0)
			return;
	if (t->n_hosts < 64 && n > 0) {
		memcpy(t->hosts[t->n_hosts], line + i, n);
		t->hosts[t->n_hosts++][n] = '\0';
	}
}

static const char *const nccl_ops[] = {
    "all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv", "broadcast", NULL};

static bool
contains(const char *line, size_t length, const char *word)
{
	size_t n = strlen(word), i;

	for (i = 0; i + n <= length; i++)
		if (strncmp(line + i, word, n) == 0)
			return true;
	return false;
}

static void
nccl_comment(const char *line, size_t length, struct nccl_tests *t)
{
	int i;

	if (contains(line, length, " Rank ") && contains(line, length, " device "))
		nccl_rank(line, length, t);
	for (i = 0; nccl_ops[i]; i++)
		if (contains(line, length, nccl_ops[i]) && contains(line, length, "perf"))
			t->op = nccl_ops[i];
}

/* Bus bandwidth times time are the bytes on the wire, whatever the operation. */
static int
nccl_row(struct diags *diags, const struct cluster *cluster, struct loc loc, const char *line,
    size_t length, const struct nccl_tests *t, struct measurements *m)
{
	const char *fields[FIELDS];
	double size, us, busbw;
	int level = t->n_hosts > 1 ? cluster->n_levels - 1 : 0;
	double messages =
	    t->op && strcmp(t->op, "all_reduce") == 0 ? 2 * (t->ranks - 1) : t->ranks - 1;

	if (split_line(line, length, fields) < FIELDS || fields[0][0] < '0' || fields[0][0] > '9')
		return 0;
	size = numeric_strtod(fields[0], NULL);
	us = numeric_strtod(fields[5], NULL);
	busbw = numeric_strtod(fields[7], NULL);
	if (!(size > 0) || !(us > 0) || !(busbw > 0) || !(messages > 0))
		return 0;
	if (m->n_samples == CALIBRATE_SAMPLES)
		return diag_error(diags, loc, "more than %d measured transfers", CALIBRATE_SAMPLES);
	m->samples[m->n_samples++] = (struct sample){level, busbw * us * 1e3, messages, us * 1e-6};
	return 0;
}

int
calibrate_add_nccl_tests(struct diags *diags, const struct cluster *cluster, const char *name,
    const char *text, size_t length, struct measurements *m)
{
	struct nccl_tests t = {0};
	struct loc loc = {name, 0, 0};
	size_t at = 0;
	int before = m->n_samples;

	while (at < length) {
		const char *line = text + at, *newline = memchr(line, '\n', length - at);
		size_t n = newline ? (size_t)(newline - line) : length - at;

		loc.line++;
		if (line[0] == '#')
			nccl_comment(line, n, &t);
		else if (nccl_row(diags, cluster, loc, line, n, &t, m) != 0)
			return -1;
		at += n + 1;
	}
	loc.line = 0;
	if (t.ranks < 2 || m->n_samples == before) {
		diag_error(diags, loc,
		    "neither the output of nccl-tests (%d ranks, %d rows) nor a training log with "
		    "the time of its steps",
		    (int)t.ranks, m->n_samples - before);
		diag_last_hint(diags,
		    "logs of Megatron-LM, Megatron-Bridge, DeepSpeed and torchtitan are known");
		return -1;
	}
	m->reports++;
	return 0;
}

/* --- the fit
 * --------------------------------------------------------------------------------------- */

struct fit
calibrate_fit(const struct measurements *m, int level)
{
	double mm = 0, mw = 0, ww = 0, mt = 0, wt = 0, least = INFINITY, most = 0, det;
	struct fit fit = {0};
	int i;

	for (i = 0; i < m->n_samples; i++) {
		const struct sample *s = &m->samples[i];
		double x = s->messages / s->seconds, y = s->wire_bytes / s->seconds;

		if (s->level != level)
			continue;
		fit.samples++;
		mm += x * x;
		mw += x * y;
		ww += y * y;
		mt += x;
		wt += y;
		least = fmin(least, s->wire_bytes);
		most = fmax(most, s->wire_bytes);
	}
	det = mm * ww - mw * mw;
	if (fit.samples < 2 || !(most > 4 * least) || !(det > 1e-12 * mm * ww)) {
		fit.samples = 0;
		return fit;
	}
	fit.latency_s = fmax((mt * ww - wt * mw) / det, 0);
	fit.Bps = fit.latency_s > 0 ? det / (wt * mm - mt * mw) : ww / wt;
	if (!(fit.Bps > 0) || !isfinite(fit.Bps))
		fit.samples = 0;
	for (i = 0; i < m->n_samples && fit.samples; i++) {
		const struct sample *s = &m->samples[i];
		double t = fit.latency_s * s->messages + s->wire_bytes / fit.Bps;

		if (s->level == level)
			fit.spread = fmax(fit.spread, fabs(t - s->seconds) / s->seconds);
	}
	return fit;
}

/* --- the file
 * --------------------------------------------------------------------------------------- */

/* What no catalogue row would bring. */
static void
write_own_facts(const struct gpu *g, bool memory, struct str *out)
{
	static const char *const names[FLOP_TYPES] = {"bf16", "fp16", "fp8", "fp4"};
	int type;

	if (!memory)
		str_addf(out, "  hbm_GBps: %.6g\n", g->hbm_Bps.value / 1e9);
	for (type = 0; type < FLOP_TYPES; type++)
		if (g->flops[type].value > 0)
			str_addf(
			    out, "  %s_tflops: %.6g\n", names[type], g->flops[type].value / 1e12);
	if (g->sm_count > 0)
		str_addf(out, "  sm_count: %lld\n", (long long)g->sm_count);
}

static void
write_gpu(const struct cluster *c, const struct measurements *m, struct str *out)
{
	const struct gpu *g = &c->gpu;
	double peak =
	    g->flops[FLOP_BF16].value > 0 ? g->flops[FLOP_BF16].value : g->flops[FLOP_FP16].value;
	double ceiling = peak > 0 ? m->matmul_flops / peak : 0;
	/* a cache that answers faster than the memory, or a wrong peak: no rate of this part */
	bool memory = m->memory_Bps > 0 && m->memory_Bps <= 1.05 * g->hbm_Bps.value;
	bool matmul = ceiling > 0.01 && ceiling <= 1;

	str_addf(out, "gpu:\n  name: %s\n  memory: %.0f\n", g->name, g->usable_bytes.value);
	if (!gpu_find(g->name))
		write_own_facts(g, memory, out);
	if (memory)
		str_addf(out,
		    "  hbm_GBps: %.6g    # measured: two reads and a write; was %.6g (%s)\n",
		    m->memory_Bps / 1e9, g->hbm_Bps.value / 1e9, origin_names[g->hbm_Bps.origin]);
	if (matmul)
		str_addf(out,
		    "  matmul_ceiling: %.4f    # measured: best product %.1f TFLOP/s; was %.4f\n",
		    ceiling, m->matmul_flops / 1e12, g->matmul_ceiling.value);
	if (memory)
		str_add(out, "  origin: measured\n");
}

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
		str_addf(out, "    # not measured: %s\n", origin_names[level->Bps.origin]);
}

static void
write_link(const struct cluster *c, int at, const struct fit *fit, struct str *out)
{
	const struct level *level = &c->levels[at];
	double Bps = fit->samples ? fit->Bps : level->Bps.value;
	double latency = fit->samples ? fit->latency_s : level->latency_s.value;
	bool network = at == c->n_levels - 1; /* also of one node: it may be planned for more */
	bool measured = fit->samples || level->Bps.origin == ORIGIN_MEASURED;

	if (network)
		str_addf(out,
		    "  scale_out: {nics_per_node: %lld, Gbps: %.6g, latency_us: %.4g, "
		    "oversubscription: %g",
		    (long long)c->nics_per_node,
		    Bps * 8e-9 * (double)c->gpus_per_node /
			(double)(c->nics_per_node ? c->nics_per_node : 1),
		    fmax(latency * 1e6, 1e-3), fit->samples ? 1 : level->oversubscription);
	else if (at == 0 && c->levels[0].gpus > 1 && c->domain_gpus > 1)
		str_addf(out, "  scale_up: {domain_gpus: %lld, GBps: %.6g, latency_us: %.4g",
		    (long long)c->domain_gpus, Bps / 1e9, fmax(latency * 1e6, 1e-3));
	else
		str_addf(out, "  in_node: {GBps: %.6g, latency_us: %.4g", Bps / 1e9,
		    fmax(latency * 1e6, 1e-3));
	str_addf(out, "%s}", measured ? ", origin: measured" : "");
	write_note(level, fit, out);
}

int
calibrate_cluster(struct diags *diags, const struct cluster *c, const struct measurements *m,
    int added, struct str *out)
{
	struct loc nowhere = {NULL, 0, 0};
	bool any = m->memory_Bps > 0 || m->matmul_flops > 0 || added > 0;
	int level;

	for (level = 0; level < c->n_levels; level++)
		any = any || calibrate_fit(m, level).samples > 0;
	if (!any)
		return diag_error(diags, nowhere,
		    "nothing was measured that a cluster file has a number for: a "
		    "link takes transfers of two sizes or more, the largest over 4 times the "
		    "smallest");
	str_addf(out,
	    "# calibrated by moeplan from %d report%s and %d measured step%s\n"
	    "schema: moeplan/cluster/v1\nname: %s\nnodes: %lld\ngpus_per_node: %lld\n",
	    m->reports, m->reports == 1 ? "" : "s", added, added == 1 ? "" : "s", c->name,
	    (long long)c->nodes, (long long)c->gpus_per_node);
	write_gpu(c, m, out);
	str_add(out, "links:\n");
	for (level = 0; level < c->n_levels; level++) {
		struct fit fit = calibrate_fit(m, level);

		write_link(c, level, &fit, out);
	}
	if (c->reserve_bytes)
		str_addf(out, "reserve: %llu\n", (unsigned long long)c->reserve_bytes);
	if (c->runs.n > 0)
		str_add(out, "runs:\n");
	for (level = 0; level < c->runs.n; level++)
		measured_run_write(out->arena, &c->runs.rows[level], out);
	return 0;
}
