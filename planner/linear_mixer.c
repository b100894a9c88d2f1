/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do state-space and linear-attention layers move and keep, beside their projections?
 *
 * They run over chunks of C tokens: a short convolution, products inside a chunk, a state of
 * d_k x d_v a head written at the end of every chunk, a pass over those states, and the
 * output. Widths are elements a token, divided by TP:
 *     bytes = 2 (2 conv) + 2 * 3 in + 2 * 3 out + 4 * 4 state / C
 * inputs are read for the states, the scores and the output; the output meets its gate and
 * norm; states are fp32: written, read and written by the pass over chunks, read. Backward
 * runs the forward kernels again. Chunks: Mamba-2 128 (NVIDIA/Megatron-LM mamba_mixer.py),
 * gated delta rule 64 (fla-org/flash-linear-attention), lightning 256 (MiniMax-01, arXiv
 * 2501.08313); Mamba-1 keeps its state in registers (arXiv 2312.00752).
 * Ignored: FLOPs inside chunks, which hide under that traffic; the states that pass between
 * context-parallel ranks.
 */
#include "planner/linear_mixer.h"

static struct linear_widths
mamba2(const struct mixer *m)
{
	double inner = (double)m->inner, shared = 2 * (double)(m->groups * m->state);

	return (struct linear_widths){.input = 2 * inner + shared + (double)m->heads,
	    .conv = inner + shared, .output = inner, .state = inner * (double)m->state / 128};
}

/* Step size, B and C come from a second projection of the convolved input. */
static struct linear_widths
mamba1(const struct mixer *m)
{
	double inner = (double)m->inner;

	return (struct linear_widths){.input = 2 * inner, .conv = inner, .output = inner,
	    .second = inner + (double)(m->dt_rank + 2 * m->state)};
}

/* Kept besides: the scores of a chunk that the delta rule inverts. */
static struct linear_widths
gated_deltanet(const struct mixer *m)
{
	double key = (double)(m->key_heads * m->key_dim);
	double value = (double)(m->value_heads * m->value_dim);

	return (struct linear_widths){.input = 2 * key + 2 * value + 2 * (double)m->value_heads,
	    .conv = 2 * key + value, .output = value, .second = 64 * (double)m->value_heads,
	    .state = value * (double)m->key_dim / 64};
}

static struct linear_widths
lightning(const struct mixer *m)
{
	double width = (double)(m->heads * m->head_dim);

	return (struct linear_widths){
	    .input = 4 * width, .output = width, .state = width * (double)m->head_dim / 256};
}

struct linear_widths
linear_widths(const struct mixer *mixer)
{
	switch (mixer->kind) {
	case MIXER_MAMBA1:
		return mamba1(mixer);
	case MIXER_MAMBA2:
		return mamba2(mixer);
	case MIXER_GATED_DELTANET:
		return gated_deltanet(mixer);
	case MIXER_LIGHTNING:
		return lightning(mixer);
	default:
		return (struct linear_widths){0};
	}
}

double
linear_bytes(const struct linear_widths *w)
{
	return 2 * (2 * w->conv + 3 * w->input + 3 * w->output + 2 * w->second) + 4 * 4 * w->state;
}
