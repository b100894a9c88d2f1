/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_BAND_H
#define MOEPLAN_BAND_H

#include "model/cluster.h"
#include "model/model.h"
#include "model/strategy.h"

/*
 * Between which multiples of the prediction did four of five published runs of
 * this class lie? The tables in band.c are written by `make bands`.
 */
struct band {
	const char *runs;  /* what the class holds */
	int count;         /* published runs in it */
	double low, high;  /* of the prediction */
	double coverage;   /* share of runs inside a band learned without any run of their model */
};

enum step_class {
	STEP_DENSE_HOPPER,
	STEP_DENSE_BLACKWELL,
	STEP_MOE_HOPPER,
	STEP_MOE_HOPPER_WIDE, /* expert groups beyond the NVLink domain */
	STEP_MOE_BLACKWELL,
	STEP_OTHER_MAKERS,
	STEP_CLASSES
};
extern const struct band step_bands[STEP_CLASSES];

enum memory_class {
	MEMORY_BY_HAND,  /* Megatron: fused kernels, buffers of its own */
	MEMORY_AUTOGRAD, /* stacks that leave kernels and buffers to PyTorch */
	MEMORY_CLASSES
};
extern const struct band memory_bands[MEMORY_CLASSES];

/*
 * Two strategies of one job err alike, but not quite: predicted this much apart
 * (of the faster step), four of five pairs ran in that order.
 */
extern const double step_tell_apart;

enum step_class step_class_of(const struct model *model, const struct cluster *cluster,
    const struct strategy *strategy);
enum memory_class memory_class_of(const struct strategy *strategy);

#endif
