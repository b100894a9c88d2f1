/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a rank do in a training step, in which order?
 *
 * Passes follow planner/schedule.h: the order that the planner simulated. Sends are not waited
 * for; receives are posted when their pass begins. A gradient's memory goes round a ring, and is
 * written again only behind the sends of before. The embedding, the output head with its loss and
 * MTP layers are allocated and reduced, not computed.
 */
#include <stdio.h>

#include "base/arena.h"
#include "planner/schedule.h"
#include "probe/step.h"

struct run {
	struct stage *stage;
	const struct capture *capture;
	int *slot_of; /* [virtual stage * micro_batches + micro_batch], -1 none */
	bool *used;
	int n_gradients; /* taken from the ring so far */
	float *host;
	int64_t elements; /* T * h */
};

static void
say_where(const struct run *run, struct schedule_op op, int chunk)
{
	char text[48];

	snprintf(text, sizeof(text), "%s of micro-batch %d, chunk %d",
	    op.backward ? "backward" : "forward", op.micro_batch, chunk);
	control_phase(run->stage->s->control, text);
}

static int
take_slot(struct run *run, int64_t pass)
{
	int i;

	for (i = 0; i < run->stage->slots; i++)
		if (!run->used[i]) {
			run->used[i] = true;
			run->slot_of[pass] = i;
			return i;
		}
	control_fail(run->stage->s->control, "more passes are alive than the schedule allows");
	return -1;
}

typedef double value_fn(int64_t token, int64_t col, bool bf16);

/* Values by global token and column; without a capture the same ones for every micro-batch. */
static int
put_values(struct run *run, value_fn *value, int64_t micro_batch, void *to)
{
	struct stage *stage = run->stage;
	struct session *s = stage->s;
	bool bf16 = s->backend.ops->act_bytes == 2;
	int64_t h = stage->shape->model.hidden, i;

	for (i = 0; i < run->elements; i++)
		run->host[i] =
		    (float)value(token_number(s, stage->shape, micro_batch, i / h), i % h, bf16);
	if (session_sync(s, STREAM_COMPUTE, "inputs") != 0)
		return -1;
	return kernel_done(stage,
	    s->backend.ops->put(&s->backend, ELEMENT_ACT, to, run->host, run->elements), "inputs");
}

static int
copy_prepared(struct run *run, const void *from, void *to)
{
	struct stage *stage = run->stage;
	struct backend *b = &stage->s->backend;

	if (b->ops->fill(b, to, 0, (size_t)run->elements * b->ops->act_bytes) != 0)
		return kernel_done(stage, -1, "inputs");
	return kernel_done(stage, b->ops->add(b, to, from, run->elements), "inputs");
}

static int
grab(struct run *run, const void *from, float *to, int64_t micro_batch)
{
	struct stage *stage = run->stage;
	struct backend *b = &stage->s->backend;

	if (session_sync(stage->s, STREAM_COMPUTE, "results") != 0)
		return -1;
	return kernel_done(stage,
	    b->ops->get(b, ELEMENT_ACT, to + micro_batch * run->elements, from, run->elements),
	    "results");
}

static int
begin_forward(struct run *run, int chunk, int64_t micro_batch, void *to)
{
	if (chunk > 0)
		return session_receive(run->stage->s, false, to, run->elements);
	if (run->capture)
		return put_values(run, input_value, micro_batch, to);
	return copy_prepared(run, run->stage->prepared_input, to);
}

static int
end_forward(struct run *run, int chunk, int64_t micro_batch, const void *out)
{
	const struct layout *layout = &run->stage->shape->layout;

	if (chunk + 1 < layout->pp * layout->vpp)
		return session_send(run->stage->s, false, out, run->elements);
	if (run->capture)
		return grab(run, out, run->capture->outputs, micro_batch);
	return 0;
}

static int
forward_pass(struct run *run, struct schedule_op op, int chunk)
{
	struct stage *stage = run->stage;
	const struct layout *layout = &stage->shape->layout;
	int64_t pass = op.virtual_stage * stage->shape->strategy.micro_batches + op.micro_batch;
	int slot = take_slot(run, pass), n = layout->first[chunk + 1] - layout->first[chunk], i;
	void **inputs;

	if (slot < 0)
		return -1;
	inputs = stage->inputs + slot * (stage->places + 1);
	stage->s->backward = false;
	if (begin_forward(run, chunk, op.micro_batch, inputs[0]) != 0)
		return -1;
	for (i = 0; i < n; i++)
		if (layer_forward(stage, layout->first[chunk] + i, op.micro_batch,
			&stage->kept[slot * stage->places + i], inputs[i + 1]) != 0)
			return -1;
	return end_forward(run, chunk, op.micro_batch, inputs[n]);
}

static int
begin_backward(struct run *run, int chunk, int64_t micro_batch, void *to)
{
	const struct layout *layout = &run->stage->shape->layout;

	if (chunk + 1 < layout->pp * layout->vpp)
		return session_receive(run->stage->s, true, to, run->elements);
	if (run->capture)
		return put_values(run, output_gradient, micro_batch, to);
	return copy_prepared(run, run->stage->prepared_gradient, to);
}

static int
end_backward(struct run *run, int chunk, int64_t micro_batch, const void *dx)
{
	if (chunk > 0)
		return session_send(run->stage->s, true, dx, run->elements);
	if (run->capture)
		return grab(run, dx, run->capture->input_gradients, micro_batch);
	return 0;
}

/* A gradient that may still be on its way is not written over. */
static void *
take_gradient(struct run *run)
{
	struct stage *stage = run->stage;
	int n = run->n_gradients++;

	if (n >= stage->n_gradients && session_sent(stage->s) != 0)
		return NULL;
	return stage->gradients[n % stage->n_gradients];
}

static int
backward_pass(struct run *run, struct schedule_op op, int chunk)
{
	struct stage *stage = run->stage;
	const struct layout *layout = &stage->shape->layout;
	int64_t pass = op.virtual_stage * stage->shape->strategy.micro_batches + op.micro_batch;
	int slot = run->slot_of[pass], i;
	void *gradient = take_gradient(run), **inputs = stage->inputs + slot * (stage->places + 1);

	stage->s->backward = true;
	if (!gradient || begin_backward(run, chunk, op.micro_batch, gradient) != 0)
		return -1;
	for (i = layout->first[chunk + 1] - layout->first[chunk] - 1; i >= 0; i--) {
		struct kept *kept = &stage->kept[slot * stage->places + i];
		int64_t layer = layout->first[chunk] + i;

		if (stage->recompute &&
		    layer_forward(stage, layer, op.micro_batch, kept, inputs[i + 1]) != 0)
			return -1;
		if (layer_backward(stage, layer, op.micro_batch, kept, gradient, gradient) != 0)
			return -1;
	}
	run->used[slot] = false;
	return end_backward(run, chunk, op.micro_batch, gradient);
}

static int
passes(struct run *run)
{
	struct stage *stage = run->stage;
	const struct strategy *s = &stage->shape->strategy;
	int64_t i, total = 2 * s->micro_batches * s->vpp;

	for (i = 0; i < total; i++) {
		struct schedule_op op =
		    schedule_op((int)s->pp, (int)s->vpp, s->micro_batches, stage->s->pp, i);
		int chunk = op.virtual_stage * (int)s->pp + stage->s->pp;

		say_where(run, op, chunk);
		if ((op.backward ? backward_pass(run, op, chunk) : forward_pass(run, op, chunk)) !=
		    0)
			return -1;
	}
	return 0;
}

static int
prepare(struct run *run)
{
	struct stage *stage = run->stage;

	if (run->capture || stage->prepared)
		return 0;
	stage->prepared = true;
	if (put_values(run, input_value, 0, stage->prepared_input) != 0)
		return -1;
	return put_values(run, output_gradient, 0, stage->prepared_gradient);
}

int
step_run(struct stage *stage, int number, const struct capture *capture)
{
	const struct strategy *s = &stage->shape->strategy;
	struct arena_mark mark = arena_mark(stage->s->arena);
	int64_t elements = stage->widest.tokens * stage->widest.h;
	struct run run = {.stage = stage, .capture = capture, .elements = elements};
	int result;

	run.slot_of =
	    arena_array(stage->s->arena, (size_t)(s->vpp * s->micro_batches), sizeof(*run.slot_of));
	run.used = arena_array(stage->s->arena, (size_t)stage->slots, sizeof(*run.used));
	run.host = arena_array(stage->s->arena, (size_t)elements, sizeof(*run.host));
	result = prepare(&run);
	if (result == 0)
		result = weights_zero_gradients(stage->s, &stage->weights);
	if (result == 0)
		result = passes(&run);
	control_phase(stage->s->control, "gradients and optimizer");
	if (result == 0)
		result = weights_reduce(stage->s, stage->shape, &stage->weights);
	if (result == 0)
		result = weights_update(stage->s, stage->shape, &stage->weights, number);
	if (result == 0)
		result = session_sync_all(stage->s, "the end of the step");
	arena_reset(stage->s->arena, mark);
	return result;
}
