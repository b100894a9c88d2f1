/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_HOST_KERNELS_H
#define MOEPLAN_HOST_KERNELS_H

#include "probe/probe.h"

/* The computing half of a backend in host memory, float everywhere; gemm and grouped are the
 * caller's. */
void host_kernels(struct backend_ops *ops);
/* host_norm.c: norms, biases and gates; host_kernels() calls it. */
void host_norm_kernels(struct backend_ops *ops);

#endif
