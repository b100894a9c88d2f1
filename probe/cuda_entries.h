/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CUDA_ENTRIES_H
#define MOEPLAN_CUDA_ENTRIES_H

#include "probe/probe.h"

/* Puts the kernels into the table. */
void cuda_kernel_ops(struct backend_ops *ops);

/* backend_cuda.c: where they run, and what becomes of a launch that failed. */
void *cuda_compute_stream(struct backend *b);
int cuda_launched(struct backend *b, int error, const char *what);

#endif
