/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a rank do in a training step, in which order?
 *
 * Passes follow the order that the planner simulated (passes.c). Sends are not waited for; receives
 * are posted when their pass begins, or with pipeline overlap one pass earlier. Each backward of a
 * step has a gradient of its own: were one written again, its rank would wait for its send, in an
 * interleaved pipeline round to itself. The first chunk begins with the embedding, the last one
 * ends with head, loss and MTP modules, where the backward begins.
 */
#include <stdio.h>

#include "base/arena.h"
#include "probe/step.h"

struct run {
	struct stage *stage;
	const struct capture *capture;
	int *slot_of; /* [virtual stage * micro_batches + micro_batch] */
	int *head_of; /* [micro_batch], of the last chunk */
	bool *used, *head_used;
	int64_t *backwards;	    /* [virtual stage], done so far */
	const struct pass_op *next; /* whose input may come meanwhile; NULL: no overlap */
	bool *fetched[2];	    /* forwards, backwards, each as slot_of */
	int64_t elements;	    /* T * h */
};

static void
say_where(const struct run *run, struct pass_op op, int chunk)
{
	char text[48];

	snprintf(text, sizeof(text), "%s of micro-batch %lld, chunk %d",
	    op.backward ? "backward" : "forward", (long long)op.micro_batch, chunk);
	control_phase(run->stage->s->control, text);
}

static int
take_slot(struct run *run, bool *used, int slots, int *slot)
{
	for (*slot = 0; *slot < slots && used[*slot]; ++*slot)
		;
	if (*slot == slots)
		return control_fail(
		    run->stage->s->control, "more passes are alive than the schedule allows");
	used[*slot] = true;
	return 0;
}

static bool
is_last(const struct run *run, int chunk)
{
	const struct layout *layout = &run->stage->shape->layout;

	return chunk + 1 == layout->pp * layout->vpp;
}

static int
grab(struct run *run, const void *from, float *to, int64_t micro_batch)
{
	struct stage *stage = run->stage;
	struct backend *b = &stage->s->backend;

	if (!run->capture)
		return 0;
	if (session_sync(stage->s, STREAM_COMPUTE, "results") != 0)
		return -1;
	return kernel_done(stage,
	    b->ops->get(b, ELEMENT_ACT, to + micro_batch * run->elements, from, run->elements),
	    "results");
}

static int
grab_losses(void *context, int module, int64_t micro_batch)
{
	struct run *run = context;
	struct stage *stage = run->stage;
	struct backend *b = &stage->s->backend;
	int64_t rows = stage->widest.rows;
	int64_t at = module * stage->shape->strategy.micro_batches + micro_batch;

	if (!run->capture)
		return 0;
	if (session_sync(stage->s, STREAM_COMPUTE, "results") != 0)
		return -1;
	return kernel_done(stage,
	    b->ops->get(
		b, ELEMENT_FLOAT, run->capture->losses + at * rows, stage->scratch.losses, rows),
	    "results");
}

static int64_t
pass_of(const struct run *run, const struct pass_op *op)
{
	return op->virtual_stage * run->stage->shape->strategy.micro_batches + op->micro_batch;
}

static int
chunk_of(const struct run *run, const struct pass_op *op)
{
	return op->virtual_stage * run->stage->shape->layout.pp + run->stage->s->pp;
}

/* The next pass's input sets off behind the computation so far, and this pass does not wait. */
static int
fetch_next(struct run *run)
{
	const struct pass_op *op = run->next;
	struct stage *stage = run->stage;
	int64_t pass = op ? pass_of(run, op) : 0;
	int chunk = op ? chunk_of(run, op) : 0;
	void *to;

	if (!op || (op->backward ? is_last(run, chunk) : chunk == 0))
		return 0;
	run->fetched[op->backward][pass] = true;
	if (op->backward) {
		to = stage->gradients[pass];
	} else {
		if (take_slot(run, run->used, stage->slots, &run->slot_of[pass]) != 0)
			return -1;
		to = stage->inputs[run->slot_of[pass] * (stage->places + 1)];
	}
	return session_fetch(stage->s, op->backward, to, run->elements);
}

static int
begin_forward(struct run *run, int chunk, int64_t micro_batch, bool fetched, void *to)
{
	if (fetched)
		return session_fetched(run->stage->s, false);
	if (chunk > 0)
		return session_receive(run->stage->s, false, to, run->elements);
	return embedding_forward(run->stage, micro_batch, 0, to);
}

static int
end_forward(struct run *run, int chunk, int64_t micro_batch, const void *out)
{
	int *head = &run->head_of[micro_batch];

	if (!is_last(run, chunk))
		return session_send(run->stage->s, false, out, run->elements);
	if (grab(run, out, run->capture ? run->capture->outputs : NULL, micro_batch) != 0 ||
	    take_slot(run, run->head_used, run->stage->head_slots, head) != 0)
		return -1;
	return ends_forward(run->stage, *head, micro_batch, out, grab_losses, run);
}

static int
forward_pass(struct run *run, struct pass_op op, int chunk)
{
	struct stage *stage = run->stage;
	const struct layout *layout = &stage->shape->layout;
	int64_t pass = pass_of(run, &op);
	bool fetched = run->fetched[false][pass];
	int slot, n = layout->first[chunk + 1] - layout->first[chunk], i;
	void **inputs;

	if (!fetched && take_slot(run, run->used, stage->slots, &run->slot_of[pass]) != 0)
		return -1;
	slot = run->slot_of[pass];
	inputs = stage->inputs + slot * (stage->places + 1);
	stage->s->backward = false;
	if (begin_forward(run, chunk, op.micro_batch, fetched, inputs[0]) != 0 ||
	    fetch_next(run) != 0)
		return -1;
	for (i = 0; i < n; i++)
		if (weights_need(stage->s, &stage->weights, layout->first[chunk] + i) != 0 ||
		    unit_enter(stage->s, &stage->weights, layout->first[chunk] + i) != 0 ||
		    layer_forward(stage, layout->first[chunk] + i, op.micro_batch,
			&stage->kept[slot * stage->places + i], inputs[i + 1]) != 0 ||
		    unit_leave(stage->s, &stage->weights) != 0)
			return -1;
	return end_forward(run, chunk, op.micro_batch, inputs[n]);
}

static int
begin_backward(struct run *run, int chunk, int64_t micro_batch, bool fetched, void *to)
{
	int head = run->head_of[micro_batch];

	if (fetched)
		return session_fetched(run->stage->s, true);
	if (!is_last(run, chunk))
		return session_receive(run->stage->s, true, to, run->elements);
	run->head_used[head] = false;
	return ends_backward(run->stage, head, micro_batch, to);
}

static int
end_backward(struct run *run, int chunk, int64_t micro_batch, const void *dx)
{
	if (chunk > 0)
		return session_send(run->stage->s, true, dx, run->elements);
	if (grab(run, dx, run->capture ? run->capture->input_gradients : NULL, micro_batch) != 0)
		return -1;
	return embedding_backward(run->stage, micro_batch, 0, dx);
}

static int
backward_pass(struct run *run, struct pass_op op, int chunk)
{
	struct stage *stage = run->stage;
	const struct layout *layout = &stage->shape->layout;
	int64_t pass = pass_of(run, &op);
	bool fetched = run->fetched[true][pass];
	bool last = ++run->backwards[op.virtual_stage] == stage->shape->strategy.micro_batches;
	int slot = run->slot_of[pass], i;
	void *gradient = stage->gradients[pass],
	     **inputs = stage->inputs + slot * (stage->places + 1);

	stage->s->backward = true;
	if (begin_backward(run, chunk, op.micro_batch, fetched, gradient) != 0 ||
	    fetch_next(run) != 0)
		return -1;
	for (i = layout->first[chunk + 1] - layout->first[chunk] - 1; i >= 0; i--) {
		struct kept *kept = &stage->kept[slot * stage->places + i];
		int64_t layer = layout->first[chunk] + i;

		if (unit_enter(stage->s, &stage->weights, layer) != 0 ||
		    (stage_replays(stage, i) &&
			layer_replay(stage, layer, op.micro_batch, kept, inputs[i + 1]) != 0))
			return -1;
		if (layer_backward(stage, layer, op.micro_batch, kept, gradient, gradient) != 0 ||
		    unit_leave(stage->s, &stage->weights) != 0 ||
		    (last && weights_early(stage->s, &stage->weights, layer) != 0))
			return -1;
	}
	run->used[slot] = false;
	return end_backward(run, chunk, op.micro_batch, gradient);
}

static int
passes(struct run *run)
{
	struct stage *stage = run->stage;
	int64_t i;

	for (i = 0; i < stage->passes.n; i++) {
		struct pass_op op = stage->passes.ops[i];
		int chunk = chunk_of(run, &op);

		run->next =
		    stage->fetches && i + 1 < stage->passes.n ? &stage->passes.ops[i + 1] : NULL;
		say_where(run, op, chunk);
		if ((op.backward ? backward_pass(run, op, chunk) : forward_pass(run, op, chunk)) !=
		    0)
			return -1;
	}
	return 0;
}

int
step_run(struct stage *stage, int number, const struct capture *capture)
{
	const struct strategy *s = &stage->shape->strategy;
	struct arena_mark mark = arena_mark(stage->s->arena);
	struct run run = {
	    .stage = stage, .capture = capture, .elements = stage->widest.tokens * stage->widest.h};
	int result;

	run.slot_of =
	    arena_array(stage->s->arena, (size_t)(s->vpp * s->micro_batches), sizeof(*run.slot_of));
	run.fetched[0] =
	    arena_array(stage->s->arena, 2 * (size_t)(s->vpp * s->micro_batches), sizeof(bool));
	run.fetched[1] = run.fetched[0] + s->vpp * s->micro_batches;
	run.backwards = arena_array(stage->s->arena, (size_t)s->vpp, sizeof(*run.backwards));
	run.head_of = arena_array(stage->s->arena, (size_t)s->micro_batches, sizeof(*run.head_of));
	run.used = arena_array(
	    stage->s->arena, (size_t)(stage->slots + stage->head_slots) + 1, sizeof(*run.used));
	run.head_used = run.used + stage->slots;
	result = weights_begin(stage->s, &stage->weights);
	if (result == 0)
		result = passes(&run);
	control_phase(stage->s->control, "gradients and optimizer");
	if (result == 0)
		result = weights_reduce(stage->s, stage->shape, &stage->weights);
	if (result == 0)
		result = weights_update(stage->s, &stage->weights, number);
	if (result == 0 && capture)
		result = weights_settle(stage->s, &stage->weights);
	if (result == 0)
		result = session_sync_all(stage->s, "the end of the step");
	arena_reset(stage->s->arena, mark);
	return result;
}
