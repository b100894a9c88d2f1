/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLACEMENT_EIGEN_H
#define MOEPLAN_PLACEMENT_EIGEN_H

struct arena;

/*
 * All eigenvalues of a symmetric n x n matrix, greatest first, and its orthonormal
 * eigenvectors: row k of `vector` belongs to value[k]. `matrix` is kept.
 */
void eigen_symmetric(
    struct arena *scratch, const double *matrix, int n, double *value, double *vector);

#endif
