/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What are the eigenvalues of a symmetric matrix? Householder's reduction to
 * tridiagonal form, then QL steps with Wilkinson's shift until it is diagonal (Golub and
 * Van Loan, Matrix Computations, chapter 8). O(n^3).
 */
#include "planner/placement_eigen.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"

enum { MAX_STEPS = 60 }; /* of one eigenvalue; three is common */

/* The vector of the reflection that clears column k below its first sub-diagonal; 0: it is clear.
 */
static double
reflector(const double *a, int n, int k, double *v)
{
	double norm = 0, square = 0;

	for (int i = k + 1; i < n; i++) {
		v[i] = a[i * n + k];
		norm += v[i] * v[i];
	}
	if (norm <= 0)
		return 0;
	norm = sqrt(norm);
	v[k + 1] += v[k + 1] >= 0 ? norm : -norm;
	for (int i = k + 1; i < n; i++)
		square += v[i] * v[i];
	return square;
}

/* A <- H A H with H = I - 2 v v' / v'v, rows and columns from k on. */
static void
reflect_matrix(double *a, int n, int k, const double *v, double square, double *p)
{
	double along = 0;

	for (int i = k; i < n; i++) {
		p[i] = 0;
		for (int j = k + 1; j < n; j++)
			p[i] += a[i * n + j] * v[j];
		p[i] *= 2 / square;
	}
	for (int i = k + 1; i < n; i++)
		along += v[i] * p[i] / square;
	for (int i = k + 1; i < n; i++)
		p[i] -= along * v[i];
	for (int i = k + 1; i < n; i++) {
		a[i * n + k] -= v[i] * p[k];
		a[k * n + i] = a[i * n + k];
		for (int j = k + 1; j <= i; j++) {
			a[i * n + j] -= v[i] * p[j] + p[i] * v[j];
			a[j * n + i] = a[i * n + j];
		}
	}
}

/* Q <- Q H. */
static void
reflect_basis(double *q, int n, int k, const double *v, double square)
{
	for (int i = 0; i < n; i++) {
		double sum = 0;

		for (int j = k + 1; j < n; j++)
			sum += q[i * n + j] * v[j];
		sum *= 2 / square;
		for (int j = k + 1; j < n; j++)
			q[i * n + j] -= sum * v[j];
	}
}

/* A = Q T Q'; a is overwritten, d and e get T's diagonal and what is beside it. */
static void
tridiagonal(struct arena *scratch, double *a, int n, double *d, double *e, double *q)
{
	struct arena_mark mark = arena_mark(scratch);
	double *v = arena_array(scratch, (size_t)n, sizeof(double));
	double *p = arena_array(scratch, (size_t)n, sizeof(double));

	memset(q, 0, (size_t)n * (size_t)n * sizeof(double));
	for (int i = 0; i < n; i++)
		q[i * n + i] = 1;
	for (int k = 0; k + 2 < n; k++) {
		double square = reflector(a, n, k, v);

		if (square <= 0)
			continue;
		reflect_matrix(a, n, k, v, square, p);
		reflect_basis(q, n, k, v, square);
	}
	for (int i = 0; i < n; i++) {
		d[i] = a[i * n + i];
		e[i] = i + 1 < n ? a[(i + 1) * n + i] : 0;
	}
	arena_reset(scratch, mark);
}

/* One implicit QL step on l..m, eigenvectors along. */
static void
ql_step(double *d, double *e, double *q, int n, int l, int m)
{
	double g = (d[l + 1] - d[l]) / (2 * e[l]), r = hypot(g, 1), s = 1, c = 1, p = 0;
	int i;

	g = d[m] - d[l] + e[l] / (g + (g >= 0 ? r : -r));
	for (i = m - 1; i >= l; i--) {
		double f = s * e[i], b = c * e[i];

		r = hypot(f, g);
		e[i + 1] = r;
		if (r <= 0) {
			d[i + 1] -= p;
			e[m] = 0;
			return;
		}
		s = f / r;
		c = g / r;
		g = d[i + 1] - p;
		r = (d[i] - g) * s + 2 * c * b;
		p = s * r;
		d[i + 1] = g + p;
		g = c * r - b;
		for (int k = 0; k < n; k++) {
			double x = q[k * n + i + 1];

			q[k * n + i + 1] = s * q[k * n + i] + c * x;
			q[k * n + i] = c * q[k * n + i] - s * x;
		}
	}
	d[l] -= p;
	e[l] = g;
	e[m] = 0;
}

static void
diagonal(double *d, double *e, double *q, int n)
{
	for (int l = 0; l < n; l++)
		for (int step = 0; step < MAX_STEPS; step++) {
			int m = l;

			while (m + 1 < n && fabs(e[m]) > 1e-15 * (fabs(d[m]) + fabs(d[m + 1])))
				m++;
			if (m == l)
				break;
			ql_step(d, e, q, n, l, m);
		}
}

void
eigen_symmetric(struct arena *scratch, const double *matrix, int n, double *value, double *vector)
{
	struct arena_mark mark = arena_mark(scratch);
	size_t cells = (size_t)n * (size_t)n;
	double *a = arena_array(scratch, cells, sizeof(double));
	double *q = arena_array(scratch, cells, sizeof(double));
	double *d = arena_array(scratch, (size_t)n, sizeof(double));
	double *e = arena_array(scratch, (size_t)n + 1, sizeof(double));
	int *order = arena_array(scratch, (size_t)n, sizeof(int));

	memcpy(a, matrix, cells * sizeof(double));
	tridiagonal(scratch, a, n, d, e, q);
	diagonal(d, e, q, n);
	for (int i = 0; i < n; i++) {
		int k = i;

		for (; k > 0 && d[order[k - 1]] < d[i]; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
	for (int k = 0; k < n; k++) {
		value[k] = d[order[k]];
		for (int i = 0; i < n; i++)
			vector[k * n + i] = q[i * n + order[k]];
	}
	arena_reset(scratch, mark);
}
