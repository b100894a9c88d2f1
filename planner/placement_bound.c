/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What must the fullest bin hold at least, whatever the placement?
 *
 * With weights w_1 >= w_2 >= ... and K slots in each of G bins:
 *  - the mean: sum / G (rounded up for whole weights);
 *  - pigeonhole: among the jG+1 heaviest some bin holds j+1, so at least the j+1
 *    lightest of those and the K-1-j lightest of all;
 *  - the n heaviest lie in h bins, n/K <= h <= n, which are full: the mean of those bins
 *    is at least (the n heaviest + the hK-n lightest) / h, for the h that is lowest;
 *  - K = 2 without copies: heaviest with lightest is optimal (an exchange argument), so its
 *    value is the bound.
 * With copies: an expert may be split over at most min(G, 1+R) bins. The mean holds;
 * the largest share after giving each copy to the largest share left is the
 * smallest possible largest share, and its bin holds K-1 other experts, each at
 * least w/min(G, 1+R). With bins of different speed: sum over the sum of speeds, and
 * the others as if all bins were the fastest. Several vectors: the sum of the
 * bounds of each, and the bound of their sum, whichever is more.
 */
#include "planner/placement_bound.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"

bool
weights_are_whole(const double *weight, int count)
{
	for (int i = 0; i < count; i++)
		if (weight[i] != floor(weight[i]))
			return false;
	return true;
}

/* Heaviest first. Shell sort: short, no recursion, values only. */
static void
sort_down(double *w, int n)
{
	for (int gap = n / 2; gap > 0; gap /= 2)
		for (int i = gap; i < n; i++) {
			double value = w[i];
			int j = i;

			for (; j >= gap && w[j - gap] < value; j -= gap)
				w[j] = w[j - gap];
			w[j] = value;
		}
}

/* prefix[i]: the i heaviest; the m lightest are prefix[n] - prefix[n-m]. */
static double
lightest(const double *prefix, int n, int m)
{
	return prefix[n] - prefix[n - m];
}

static double
pigeonhole(const double *prefix, int n, int bins, int slots)
{
	double bound = 0;

	for (int j = 0; j < slots; j++) {
		int last = j * bins + 1; /* the jG+1 heaviest */

		if (last + slots - 1 - j > n)
			break;
		bound = fmax(bound,
		    prefix[last] - prefix[last - 1 - j] + lightest(prefix, n, slots - 1 - j));
	}
	return bound;
}

static double
crowded(const double *prefix, int n, int bins, int slots)
{
	double bound = 0;

	for (int top = 1; top <= bins; top++) {
		double least = INFINITY;

		for (int h = (top + slots - 1) / slots; h <= top; h++)
			least =
			    fmin(least, (prefix[top] + lightest(prefix, n, h * slots - top)) / h);
		bound = fmax(bound, least);
	}
	return bound;
}

static double
pairing(const double *w, int n)
{
	double bound = 0;

	for (int i = 0; i < n / 2; i++)
		bound = fmax(bound, w[i] + w[n - 1 - i]);
	return bound;
}

/* One vector, bins alike, no copies; w is sorted. */
static double
closed_single(const double *w, double *prefix, int n, int bins, int slots)
{
	double bound;

	prefix[0] = 0;
	for (int i = 0; i < n; i++)
		prefix[i + 1] = prefix[i] + w[i];
	if (slots == 2)
		return pairing(w, n);
	bound = fmax(pigeonhole(prefix, n, bins, slots), crowded(prefix, n, bins, slots));
	return fmax(bound, prefix[n] / bins);
}

/* The largest share after giving each of `copies` to the largest share there is. */
static double
largest_share(const double *w, int n, int most, int copies, int *count)
{
	int top = 0;

	for (int e = 0; e < n; e++)
		count[e] = 1;
	for (;; copies--) {
		top = 0;
		for (int e = 1; e < n; e++)
			if (w[e] / count[e] > w[top] / count[top])
				top = e;
		if (copies == 0 || count[top] == most)
			return w[top] / count[top];
		count[top]++;
	}
}

static double
closed_copies(const double *w, int n, int bins, int slots, int *count)
{
	int copies = bins * slots - n;
	int most = copies + 1 < bins ? copies + 1 : bins;
	double sum = 0, rest = 0;

	for (int e = 0; e < n; e++)
		sum += w[e];
	for (int k = 0; k < slots - 1; k++)
		rest += w[n - 1 - k] / most;
	return fmax(sum / bins, largest_share(w, n, most, copies, count) + rest);
}

/* `w` is overwritten. */
static double
closed_vector(struct arena *scratch, const struct bound_problem *p, double *w)
{
	int n = p->experts;
	double *prefix = arena_array(scratch, (size_t)n + 1, sizeof(double));
	int *count = arena_array(scratch, (size_t)n, sizeof(int));
	double sum = 0, speed = 0, fastest = INFINITY, bound;
	bool whole = weights_are_whole(w, n), copies = p->bins * p->slots > n;

	sort_down(w, n);
	bound = copies ? closed_copies(w, n, p->bins, p->slots, count)
		       : closed_single(w, prefix, n, p->bins, p->slots);
	if (!p->slow)
		return whole && !copies ? ceil(bound * (1 - 1e-15)) : bound;
	for (int b = 0; b < p->bins; b++) {
		fastest = fmin(fastest, p->slow[b]);
		speed += 1 / p->slow[b];
	}
	for (int e = 0; e < n; e++)
		sum += w[e];
	return fmax(sum / speed, bound * fastest);
}

double
bound_closed(struct arena *scratch, const struct bound_problem *p)
{
	struct arena_mark mark = arena_mark(scratch);
	double *w = arena_array(scratch, (size_t)p->experts, sizeof(double));
	double apart = 0, together;

	for (int v = 0; v < p->vectors; v++) {
		for (int e = 0; e < p->experts; e++)
			w[e] = p->weight[e * p->vectors + v];
		apart += closed_vector(scratch, p, w);
	}
	memset(w, 0, (size_t)p->experts * sizeof(double));
	for (int e = 0; e < p->experts; e++)
		for (int v = 0; v < p->vectors; v++)
			w[e] += p->weight[e * p->vectors + v];
	together = closed_vector(scratch, p, w);
	arena_reset(scratch, mark);
	return fmax(apart, together);
}
