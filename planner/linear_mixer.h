/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_LINEAR_MIXER_H
#define MOEPLAN_LINEAR_MIXER_H

#include "model/model.h"

/* Elements a token of a mixer that does not attend, before TP; all 0 for one that does. */
struct linear_widths {
	double input;  /* what the in-projections write */
	double conv;   /* channels of the short convolution */
	double output; /* of the scan */
	double second; /* what else is written between them and kept */
	double state;  /* of the states at the ends of chunks */
};
struct linear_widths linear_widths(const struct mixer *mixer);
/* Bytes a token that its kernels read and write in the forward pass. */
double linear_bytes(const struct linear_widths *widths);

#endif
