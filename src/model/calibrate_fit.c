/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which laws do the measurements follow?
 *
 * Links: t = a + peers p + w / B, p the cost model's time of a peer; a and B minimise
 * sum((t - fit)^2 / t^2), so that small sizes settle a and large ones B.
 * All-to-all: what leaves a GPU over t without a and the peers' time; sizes of which these are the
 * larger half say nothing of the rate.
 * Products of squares of n: F = R (n / (n + h))^3, so that F^(-1/3) is straight over 1/n.
 * Experts' products: their rate over the ceiling and over what the sizes of the other two
 * dimensions and the rows would leave of it by the same h.
 */
#include <math.h>
#include <string.h>

#include "base/numeric.h"
#include "model/calibrate.h"

/* Sums of the normal equations for t = a x + w y. */
struct sums {
	double xx, xy, yy, xt, yt;
};

static struct sums
sum_level(const struct measurements *m, int level, struct fit *fit, double *least, double *most)
{
	struct sums s = {0};
	int i;

	*least = INFINITY;
	*most = 0;
	for (i = 0; i < m->n_samples; i++) {
		const struct sample *one = &m->samples[i];
		double t = one->seconds - m->peer_s * one->peers;
		double x = 1 / one->seconds, y = one->wire_bytes / one->seconds;

		if (one->level != level || t <= 0)
			continue;
		fit->samples++;
		s.xx += x * x;
		s.xy += x * y;
		s.yy += y * y;
		s.xt += x * t / one->seconds;
		s.yt += y * t / one->seconds;
		*least = fmin(*least, one->wire_bytes);
		*most = fmax(*most, one->wire_bytes);
	}
	return s;
}

struct fit
calibrate_fit(const struct measurements *m, int level)
{
	struct fit fit = {0};
	double least, most, det;
	struct sums s = sum_level(m, level, &fit, &least, &most);
	int i;

	det = s.xx * s.yy - s.xy * s.xy;
	if (fit.samples < 2 || !(most > 4 * least) || !(det > 1e-12 * s.xx * s.yy)) {
		fit.samples = 0;
		return fit;
	}
	fit.latency_s = fmax((s.xt * s.yy - s.yt * s.xy) / det, 0);
	fit.Bps = fit.latency_s > 0 ? det / (s.yt * s.xx - s.xt * s.xy) : s.yy / s.yt;
	if (!(fit.Bps > 0) || !isfinite(fit.Bps))
		fit.samples = 0;
	for (i = 0; i < m->n_samples && fit.samples; i++) {
		const struct sample *one = &m->samples[i];
		double t = fit.latency_s + m->peer_s * one->peers + one->wire_bytes / fit.Bps;

		if (one->level == level)
			fit.spread = fmax(fit.spread, fabs(t - one->seconds) / one->seconds);
	}
	return fit;
}

/* Those of so many units; the next greater number of units into `next`. */
static struct curve
traffic_of(const struct measurements *m, int level, double latency_s, double units, double *next)
{
	struct point points[CALIBRATE_SAMPLES];
	int n = 0, i;

	*next = INFINITY;
	for (i = 0; i < m->n_samples; i++) {
		const struct sample *s = &m->samples[i];
		double t = s->seconds - latency_s - m->peer_s * s->peers;

		if (s->level != level || !s->all_to_all || t < s->seconds / 2 ||
		    !range_holds(&traffic_ranges[0], s->units) ||
		    !range_holds(&traffic_ranges[1], s->wire_bytes) ||
		    !range_holds(&traffic_ranges[2], s->wire_bytes / t / 1e9))
			continue;
		if (s->units > units + 1e-9)
			*next = fmin(*next, s->units);
		else if (s->units >= units - 1e-9)
			points[n++] = (struct point){s->wire_bytes, s->wire_bytes / t};
	}
	return curve_of(points, n);
}

struct traffic_curves
calibrate_traffic(const struct measurements *m, const struct cluster *cluster, int level)
{
	struct traffic_curves curves = {0};
	struct fit fit = calibrate_fit(m, level);
	double latency_s = fit.samples ? fit.latency_s : cluster->levels[level].latency_s.value;
	double units, next;

	traffic_of(m, level, latency_s, 0, &units);
	for (; isfinite(units) && curves.n < TRAFFIC_CURVES; units = next) {
		curves.Bps[curves.n] = traffic_of(m, level, latency_s, units, &next);
		curves.units[curves.n++] = units;
	}
	return curves;
}

double
calibrate_gemm_half(const struct measurements *m)
{
	struct point points[CALIBRATE_PRODUCTS];
	struct curve squares;
	double ww = 0, wx = 0, wxx = 0, wy = 0, wxy = 0, det, at_rest, slope;
	int i;

	memcpy(points, m->squares, (size_t)m->n_squares * sizeof(points[0]));
	squares = curve_of(points, m->n_squares);
	for (i = 0; i < squares.n; i++) {
		double x = 1 / squares.at[i], y = pow(squares.value[i], -1.0 / 3);
		double w = 1 / (y * y);

		ww += w;
		wx += w * x;
		wxx += w * x * x;
		wy += w * y;
		wxy += w * x * y;
	}
	det = ww * wxx - wx * wx;
	if (squares.n < 3 || !(det > 0))
		return 0;
	at_rest = (wy * wxx - wxy * wx) / det;
	slope = (wxy * ww - wy * wx) / det;
	return at_rest > 0 && slope > at_rest && isfinite(slope / at_rest) ? slope / at_rest : 0;
}

struct curve
calibrate_grouped(const struct measurements *m, double ceiling_flops)
{
	double half = calibrate_gemm_half(m);
	struct point points[CALIBRATE_PRODUCTS];
	int n = 0, i;

	if (half <= 0)
		half = m->gemm_half;
	for (i = 0; i < m->n_experts && ceiling_flops > 0; i++) {
		const struct product *p = &m->experts[i];
		double fill = p->rows / (p->rows + half) * p->columns / (p->columns + half) *
			      p->depth / (p->depth + half);
		double share = p->flops / ceiling_flops / fill;

		if (range_holds(&grouped_ranges[0], p->rows) &&
		    range_holds(&grouped_ranges[1], share))
			points[n++] = (struct point){p->rows, share};
	}
	return curve_of(points, n);
}

double
readings_median(const struct readings *readings)
{
	struct readings sorted = *readings;

	if (sorted.n == 0)
		return 0;
	numeric_sort(sorted.values, (size_t)sorted.n);
	return (sorted.values[(sorted.n - 1) / 2] + sorted.values[sorted.n / 2]) / 2;
}

double
readings_spread(const struct readings *readings)
{
	double least = INFINITY, most = 0;
	int i;

	for (i = 0; i < readings->n; i++) {
		least = fmin(least, readings->values[i]);
		most = fmax(most, readings->values[i]);
	}
	return readings->n > 1 ? most / least - 1 : 0;
}
