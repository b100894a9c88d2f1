/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is the distributed step right?
 *
 * Every rank computes the reference for itself and compares what it holds: outputs of the last
 * layer and the losses (last chunk), gradients of the first layer's input (first chunk), its shard
 * of every summed gradient, and the weights after the update, whose change must be Adam's first
 * step, -rate * g / (|g| + eps), wherever g is not tiny. Error: |a - b| / |b| over all numbers of a
 * kind on a rank. Tolerances: float sums of some thousand terms differ in the last digits; bf16
 * keeps 8 bits, each stored value errs by 2^-9.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "probe/numerics.h"

const char *const numerics_names[NUMERICS_ROWS + 1] = {"outputs", "losses", "input_gradients",
    "embedding_gradients", "head_gradients", "mtp_gradients", "router_gradients",
    "expert_gradients", "other_gradients", "updated_weights", NULL};

#define MOST_FLOPS 2e9

/* float, bf16 */
static const double tolerances[NUMERICS_ROWS][2] = {
    [NUMERICS_OUTPUTS] = {2e-5, 2e-2},
    [NUMERICS_LOSSES] = {2e-5, 2e-2},
    [NUMERICS_INPUT_GRADIENTS] = {2e-5, 4e-2},
    [NUMERICS_EMBEDDING] = {5e-5, 4e-2},
    [NUMERICS_HEAD] = {5e-5, 4e-2},
    [NUMERICS_MTP] = {5e-5, 4e-2},
    [NUMERICS_ROUTER] = {5e-5, 6e-2},
    [NUMERICS_EXPERTS] = {5e-5, 4e-2},
    [NUMERICS_OTHERS] = {5e-5, 4e-2},
    [NUMERICS_UPDATED] = {5e-2, 0},
};

/* Sums over the numbers of a kind; a NaN in `difference` stays one. */
struct sums {
	double difference, reference, count;
};

/* What every rank sends to rank 0. */
struct part_of_rank {
	struct sums sums[NUMERICS_ROWS];
	double sent, received, dropped, empty, hot;
	double done;
};

static void
add_pair(struct sums *sums, double got, double wanted)
{
	sums->difference += (got - wanted) * (got - wanted);
	sums->reference += wanted * wanted;
	sums->count++;
}

static void
compare_tokens(struct session *s, const struct shape *shape, int64_t mb, const float *got,
    const double *wanted, int64_t tokens, struct sums *sums)
{
	int64_t h = shape->model.hidden, row, i;

	for (row = 0; row < tokens; row++) {
		const double *line = wanted + token_number(s, shape, mb, row) * h;

		for (i = 0; i < h; i++)
			add_pair(sums, (double)got[(mb * tokens + row) * h + i], line[i]);
	}
}

static void
compare_losses(struct session *s, const struct shape *shape, int64_t mb, const float *got,
    const double *wanted, int64_t rows, struct sums *sums)
{
	const struct strategy *st = &shape->strategy;
	int64_t batches = st->micro_batches, i;
	int64_t all = st->dp * batches * st->micro_batch * st->seq_len;

	for (i = 0; i < (1 + shape->model.mtp_layers) * rows; i++) {
		int64_t module = i / rows, row = i % rows;

		add_pair(sums, (double)got[(module * batches + mb) * rows + row],
		    wanted[module * all + group_token_number(s, shape, mb, row)]);
	}
}

/* Norms of head and MTP modules count with them. */
static enum numerics_row
row_of(const struct shape *shape, const struct weight *w)
{
	if (w->tensor.component == COMPONENT_EMBEDDING)
		return NUMERICS_EMBEDDING;
	if (w->layer == LAYER_ENDS)
		return NUMERICS_HEAD;
	if (w->layer >= shape->model.layers && strncmp(w->tensor.name, "mtp_", 4) == 0)
		return NUMERICS_MTP;
	if (w->tensor.component == COMPONENT_ROUTER)
		return NUMERICS_ROUTER;
	return w->tensor.shard == SHARD_EXPERT ? NUMERICS_EXPERTS : NUMERICS_OTHERS;
}

static double
reference_at(const struct reference_weight *r, const struct weight *w, int64_t element)
{
	int64_t col = element % w->cols, row = element / w->cols % w->rows;
	int64_t matrix = element / (w->cols * w->rows);

	return r->gradient[(weight_matrix(w, matrix) * w->tensor.rows + w->first_row + row) *
			       w->tensor.cols +
			   w->first_col + col];
}

static double
value_at(const struct reference_weight *r, const struct weight *w, int64_t element)
{
	struct reference_weight values = *r;

	values.gradient = r->value;
	return reference_at(&values, w, element);
}

/* What this rank has of a bucket at the end, on the host: its shards, or all of it. */
struct window {
	int64_t n, weights_n;
	float *gradient, *weights;
};

static int
fetch(struct session *s, const struct bucket *b, struct window *window)
{
	const float *from = b->shard_gradient ? b->shard_gradient : b->gradient;
	struct backend *backend = &s->backend;

	window->n = b->shard_gradient ? b->shard : b->padded;
	window->gradient = arena_array(s->arena, (size_t)window->n + 1, sizeof(float));
	window->weights_n = b->own ? b->shard : b->padded;
	window->weights = arena_array(s->arena, (size_t)window->weights_n + 1, sizeof(float));
	if (backend->ops->get(backend, ELEMENT_FLOAT, window->gradient, from, window->n) != 0 ||
	    backend->ops->get(backend, ELEMENT_ACT, window->weights, b->own ? b->own : b->weights,
		window->weights_n) != 0)
		return session_fail(s, "results");
	return 0;
}

#define RATE 1e-4 /* weights_update() */
#define NOT_TINY 1e-3

static void
compare_weight(const struct stage *stage, const struct reference *r, const struct weight *w,
    const struct window *window, struct sums *sums)
{
	const struct reference_weight *wanted = reference_find(r, w->layer, w->tensor.name);
	const struct bucket *b = &stage->weights.units[w->unit].buckets[w->bucket];
	const struct piece *piece = piece_at(b, w->offset);
	int64_t i, n = w->count * w->rows * w->cols, first = piece_first(stage->s, b, piece);

	for (i = 0; i < n; i++) {
		double gradient = reference_at(wanted, w, i);
		int64_t at = w->offset + i - first, weight = b->own ? at : w->offset + i;

		if (at >= 0 && at < piece->shard)
			add_pair(&sums[row_of(stage->shape, w)],
			    (double)window->gradient[piece->shard_offset + at], gradient);
		if (stage->s->backend.ops->act_bytes == 4 && fabs(gradient) > NOT_TINY &&
		    weight >= 0 && weight < window->weights_n)
			add_pair(&sums[NUMERICS_UPDATED],
			    (double)window->weights[weight] - value_at(wanted, w, i),
			    gradient > 0 ? -RATE : RATE);
	}
}

static int
compare_weights(
    struct session *s, const struct stage *stage, const struct reference *r, struct sums *sums)
{
	const struct weights *weights = &stage->weights;
	struct window *windows =
	    arena_array(s->arena, (size_t)(weights->n_units * BUCKETS), sizeof(*windows));
	int i;

	for (i = 0; i < weights->n_units * BUCKETS; i++)
		if (fetch(s, &weights->units[i / BUCKETS].buckets[i % BUCKETS], &windows[i]) != 0)
			return -1;
	for (i = 0; i < weights->n; i++) {
		const struct weight *w = &weights->items[i];

		compare_weight(stage, r, w, &windows[w->unit * BUCKETS + (int)w->bucket], sums);
	}
	return 0;
}

static int
chunk_of(const struct layout *layout, int64_t layer)
{
	int chunk = 0;

	while (chunk < last_chunk(layout) && layer >= layout->first[chunk + 1])
		chunk++;
	return chunk;
}

/* Over the passes that are here; the reference counts the same. */
static void
count_tokens(const struct stage *stage, struct part_of_rank *part)
{
	const struct shape *shape = stage->shape;
	int64_t layer, mb;

	for (layer = 0; layer < stage->routings.layers; layer++)
		for (mb = 0; mb < shape->strategy.micro_batches; mb++) {
			const struct routing *r = routing_of(&stage->routings, layer, mb);
			int chunk = chunk_of(&shape->layout, layer);

			if (!r->chosen || pass_stage(shape, chunk, mb) != stage->s->pp)
				continue;
			part->sent += (double)r->slots;
			part->received += (double)r->received;
			part->dropped += (double)r->dropped;
			part->empty = part->empty > 0 || r->united == 0;
		}
}

static int
compare(struct session *s, const struct stage *stage, const struct capture *capture,
    const struct reference *r, struct part_of_rank *part)
{
	const struct shape *shape = stage->shape;
	int64_t tokens = stage->widest.tokens, rows = stage->widest.rows, mb;

	count_tokens(stage, part);
	part->done = r != NULL;
	if (!r)
		return 0;
	for (mb = 0; mb < shape->strategy.micro_batches; mb++) {
		if (pass_stage(shape, last_chunk(&shape->layout), mb) == s->pp) {
			compare_tokens(s, shape, mb, capture->outputs, r->outputs, tokens,
			    &part->sums[NUMERICS_OUTPUTS]);
			compare_losses(s, shape, mb, capture->losses, r->losses, rows,
			    &part->sums[NUMERICS_LOSSES]);
		}
		if (pass_stage(shape, 0, mb) == s->pp)
			compare_tokens(s, shape, mb, capture->input_gradients, r->input_gradients,
			    tokens, &part->sums[NUMERICS_INPUT_GRADIENTS]);
	}
	return compare_weights(s, stage, r, part->sums);
}

/* --- rank 0 ------------------------------------------------------------------------------- */

static void
judge_row(const struct part_of_rank *parts, int world, int row, struct numerics *n)
{
	int i;

	n->error[row] = 0;
	for (i = 0; i < world; i++) {
		const struct sums *sums = &parts[i].sums[row];
		double error = sums->reference > 0 ? sqrt(sums->difference / sums->reference)
			       : sums->difference > 0 || isnan(sums->difference) ? INFINITY
										 : 0;

		n->compared[row] += (int64_t)sums->count;
		if (isnan(error))
			error = INFINITY;
		if (error > n->error[row]) {
			n->error[row] = error;
			n->worst_rank[row] = i;
		}
	}
	if (n->done && n->compared[row] > 0 && !(n->error[row] <= n->tolerance[row]))
		n->ok = false;
}

static int64_t
routed_rows(const struct shape *shape)
{
	const struct strategy *s = &shape->strategy;
	int64_t layer, rows = 0;

	for (layer = 0; layer < shape->model.layers + shape->model.mtp_layers; layer++) {
		const struct ffn *f = &shape_kind(shape, layer)->ffn;

		rows += f->experts ? f->top_k : 0;
	}
	return rows * s->dp * s->micro_batches * s->micro_batch * s->seq_len;
}

static void
judge(const struct session *s, const struct shape *shape, const struct part_of_rank *parts,
    struct numerics *n)
{
	double most = 0, sum = 0;
	int i, row;

	n->done = n->ok = true;
	for (i = 0; i < s->world; i++) {
		n->done = n->done && parts[i].done > 0;
		n->sent += (int64_t)parts[i].sent;
		n->received += (int64_t)parts[i].received;
		n->dropped += (int64_t)parts[i].dropped;
		n->empty_ranks += parts[i].empty > 0;
		sum += parts[i].received;
		most = parts[i].received > most ? parts[i].received : most;
	}
	for (row = 0; row < NUMERICS_ROWS; row++) {
		n->tolerance[row] = tolerances[row][s->backend.ops->act_bytes == 2];
		judge_row(parts, s->world, row, n);
	}
	n->max_over_mean = sum > 0 ? most * s->world / sum : 1;
	n->expected = routed_rows(shape);
	n->conserved = n->sent == n->received && n->sent + n->dropped == n->expected;
	n->ok = n->ok && n->conserved;
}

static void
alloc_capture(struct stage *stage, struct capture *capture)
{
	const struct widest *w = &stage->widest;
	int64_t batches = stage->shape->strategy.micro_batches;
	int64_t n = batches * w->tokens * w->h;
	int64_t losses = (1 + stage->shape->model.mtp_layers) * batches * w->rows;

	capture->outputs = arena_array(stage->s->arena, (size_t)(2 * n + losses), sizeof(float));
	capture->input_gradients = capture->outputs + n;
	capture->losses = capture->input_gradients + n;
}

int
numerics_run(struct session *s, const struct shape *shape, const struct skew *skew,
    struct numerics *numerics)
{
	struct arena_mark mark = arena_mark(s->arena);
	struct part_of_rank part, *parts;
	struct stage stage;
	struct capture capture;
	int result;

	memset(numerics, 0, sizeof(*numerics));
	memset(&part, 0, sizeof(part));
	if (stage_open(&stage, s, shape, skew) != 0)
		return -1;
	alloc_capture(&stage, &capture);
	timing_reset(s);
	if (step_run(&stage, 1, &capture) != 0)
		return -1;
	control_phase(s->control, "comparison");
	result = compare(s, &stage, &capture,
	    reference_run(s->arena, shape, skew, s->backend.ops->act_bytes == 2, MOST_FLOPS),
	    &part);
	stage_close(&stage);
	parts = arena_array(s->arena, (size_t)s->world, sizeof(*parts));
	if (result == 0)
		result = control_gather(s->control, &part, sizeof(part), parts);
	if (result == 0 && s->rank == 0)
		judge(s, shape, parts, numerics);
	if (result == 0)
		result = control_share(s->control, numerics, sizeof(*numerics));
	arena_reset(s->arena, mark);
	return result;
}
