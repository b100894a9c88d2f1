/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How do the layers of a pass run, alone and as a pair of a forward and a backward?
 *
 * Alone each layer waits for its rows. In a pair the k-th layer of the forward and the k-th of the
 * backward, which is another micro-batch's, run part by part in turn, so that each computes while
 * the other's rows travel (NVIDIA/Megatron-LM core/models/common/model_chunk_schedule_plan.py):
 *
 *     rows         combine back | dispatch       | dispatch back | combine
 *     computation  attention    | experts back   | experts       | attention back
 *
 * No rank can wait for another for ever: what is posted, and when, follows from the plan's
 * schedule and the kinds of the chunks' layers, not from what has arrived. Ranks of one tensor,
 * context, expert or expert-tensor group are on one stage and so run the same list of passes over
 * the same layers: they post the same operations of each group in the same order, rows of both
 * passes on one stream. Ranks of different stages meet in hand-offs alone, before and behind a
 * pair, where the schedule, simulated by the planner pair by pair, has them.
 */
#include "probe/stage.h"

/* What comes before a layer's first part. */
static int
enter(struct stage *stage, struct layer_pass *p)
{
	struct weights *weights = &stage->weights;

	if (!p->backward && weights_need(stage->s, weights, p->layer) != 0)
		return -1;
	if (unit_enter(stage->s, weights, p->layer) != 0)
		return -1;
	return p->replays ? layer_replay(
				stage, p->layer, p->micro_batch, p->kept, p->replay_out)
			  : 0;
}

static int
leave(struct stage *stage, const struct layer_pass *p, bool final)
{
	if (unit_leave(stage->s, &stage->weights) != 0)
		return -1;
	return final ? weights_early(stage->s, &stage->weights, p->layer) : 0;
}

int
chunk_run(struct stage *stage, const struct chunk_pass *chunk)
{
	int i;

	for (i = 0; i < chunk->n; i++)
		if (enter(stage, &chunk->layers[i]) != 0 ||
		    layer_run(stage, &chunk->layers[i]) != 0 ||
		    leave(stage, &chunk->layers[i], chunk->final) != 0)
			return -1;
	return 0;
}

/* --- pairs -------------------------------------------------------------------------------- */

static int
part_of(struct stage *stage, const struct chunk_pass *chunk, int k, int part)
{
	struct layer_pass *p = &chunk->layers[k];

	stage->s->backward = p->backward;
	if ((part == 0 && enter(stage, p) != 0) || layer_part(stage, p, part) != 0)
		return -1;
	return part == LAYER_PARTS - 1 ? leave(stage, p, chunk->final) : 0;
}

static int
arrive(struct stage *stage, const struct chunk_pass *chunk, int k)
{
	stage->s->backward = chunk->layers[k].backward;
	return rows_arrive(stage, &chunk->layers[k]);
}

static int
depart(struct stage *stage, const struct chunk_pass *chunk, int k)
{
	stage->s->backward = chunk->layers[k].backward;
	return rows_depart(stage, &chunk->layers[k]);
}

/* Rows of the one depart when those of the other have come: one exchange at a time. */
static int
layers_pair(struct stage *stage, const struct chunk_pass *f, const struct chunk_pass *b, int k)
{
	int part;

	for (part = 0; part < LAYER_PARTS; part++)
		if (part_of(stage, b, k, part) != 0 || (part > 0 && arrive(stage, f, k) != 0) ||
		    depart(stage, b, k) != 0 || part_of(stage, f, k, part) != 0 ||
		    arrive(stage, b, k) != 0 || depart(stage, f, k) != 0)
			return -1;
	return 0;
}

int
chunks_pair(struct stage *stage, const struct chunk_pass *f, const struct chunk_pass *b)
{
	int both = f->n < b->n ? f->n : b->n, k;
	struct chunk_pass rest = f->n > b->n ? *f : *b;

	for (k = 0; k < both; k++)
		if (layers_pair(stage, f, b, k) != 0)
			return -1;
	rest.layers += both;
	rest.n -= both;
	stage->s->backward = rest.n > 0 && rest.layers[0].backward;
	return chunk_run(stage, &rest);
}
