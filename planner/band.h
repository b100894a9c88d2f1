/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_BAND_H
#define MOEPLAN_BAND_H

#include "model/cluster.h"
#include "model/model.h"

/*
 * Between which multiples of the predicted step did four of five published runs
 * of this class lie? By model class and GPU generation; see the table in band.c.
 */
struct band {
	const char *runs;   /* what the class holds */
	int count;          /* published runs in it */
	double low, high;   /* of the predicted step: 10th and 90th percentile of measured / predicted */
	double coverage;    /* share of runs inside a band learned without any run of their model */
};
const struct band *band_of(const struct model *model, const struct gpu *gpu);

#endif
