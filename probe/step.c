/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a rank do in a training step, in which order?
 *
 * Passes follow the order that the planner simulated (passes.c). Sends are not waited for; receives
 * are posted when their pass begins, or with pipeline overlap one pass earlier. Each backward of a
 * step has a gradient of its own: were one written again, its rank would wait for its send, in an
 * interleaved pipeline round to itself. The first chunk begins with the embedding, the last one
 * ends with head, loss and MTP modules, where the backward begins. Where a V turns both chunks are
 * here, and the hand-off is a copy.
 * Why nobody waits for ever: a rank waits only for receives, each channel (leg and direction of a
 * boundary) has a stream of its own and carries one chunk's passes, which both its ends run by
 * micro-batch, and every pass waits for passes that the simulation had over before it began.
 * A backward in two: the first pass leaves the gradient of each layer's output where the output
 * was (layer.c), from where the second one takes it.
 */
#include <stdio.h>

#include "base/arena.h"
#include "probe/step.h"

struct run {
	struct stage *stage;
	const struct capture *capture;
	int *slot_of; /* [number of the pass] */
	int *head_of; /* [micro_batch], of the last chunk */
	bool *used, *head_used;
	int64_t *over;		    /* [virtual stage]: micro-batches whose gradients are done */
	const struct pass_op *next; /* whose input may come meanwhile; NULL: no overlap */
	bool *fetched[2];	    /* forwards, backwards, each as slot_of */
	int64_t elements;	    /* T * h */
};

static void
say_where(const struct run *run, const struct pass_op *op)
{
	static const char *const names[] = {[PASS_FORWARD] = "forward",
	    [PASS_BACKWARD] = "backward",
	    [PASS_INPUT] = "backward of inputs",
	    [PASS_WEIGHT] = "backward of weights"};
	char text[64];

	snprintf(text, sizeof(text), "%s of micro-batch %lld, chunk %d", names[op->kind],
	    (long long)op->micro_batch, op->chunk);
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

/* --- from chunk to chunk ------------------------------------------------------------------ */

static bool
goes_back(const struct pass_op *op)
{
	return op->kind == PASS_BACKWARD || op->kind == PASS_INPUT;
}

/* Where a pass gets its input from, and where its result goes: the model's ends, here, or away. */
enum side { SIDE_END, SIDE_HERE, SIDE_AWAY };

static enum side
side_of(const struct run *run, const struct pass_op *op, int neighbour)
{
	const struct shape *shape = run->stage->shape;

	if (neighbour < 0 || neighbour > last_chunk(&shape->layout))
		return SIDE_END;
	return pass_stage(shape, neighbour, op->micro_batch) == run->stage->s->pp ? SIDE_HERE
										   : SIDE_AWAY;
}

static enum side
source_of(const struct run *run, const struct pass_op *op)
{
	return side_of(run, op, goes_back(op) ? op->chunk + 1 : op->chunk - 1);
}

static enum side
target_of(const struct run *run, const struct pass_op *op)
{
	return side_of(run, op, goes_back(op) ? op->chunk - 1 : op->chunk + 1);
}

static struct hand_off
hand_off_of(const struct pass_op *op)
{
	return (struct hand_off){.leg = op->leg, .backward = goes_back(op)};
}

static int
copy(struct run *run, void *to, const void *from)
{
	struct stage *stage = run->stage;
	struct backend *b = &stage->s->backend;

	return kernel_done(stage,
	    b->ops->gather(
		b, to, from, stage->straight, stage->widest.tokens, stage->widest.h),
	    "a hand-off");
}

static int
layers_of(const struct run *run, int chunk)
{
	const struct layout *layout = &run->stage->shape->layout;

	return layout->first[chunk + 1] - layout->first[chunk];
}

static void **
inputs_of(const struct run *run, int64_t number)
{
	return run->stage->inputs + run->slot_of[number] * (run->stage->places + 1);
}

/* The next pass's input sets off behind the computation so far, and this pass does not wait. */
static int
fetch_next(struct run *run)
{
	const struct pass_op *op = run->next;
	struct stage *stage = run->stage;
	void *to;

	if (!op || op->kind == PASS_WEIGHT || source_of(run, op) != SIDE_AWAY)
		return 0;
	run->fetched[goes_back(op)][op->number] = true;
	if (goes_back(op)) {
		to = stage->gradients[op->number];
	} else {
		if (take_slot(run, run->used, stage->slots, &run->slot_of[op->number]) != 0)
			return -1;
		to = inputs_of(run, op->number)[0];
	}
	return session_fetch(stage->s, hand_off_of(op), to, run->elements);
}

static int
arrive(struct run *run, const struct pass_op *op, void *to)
{
	struct session *s = run->stage->s;

	if (run->fetched[goes_back(op)][op->number])
		return session_fetched(s, hand_off_of(op));
	return session_receive(s, hand_off_of(op), to, run->elements);
}

/* --- forward ------------------------------------------------------------------------------ */

static int
begin_forward(struct run *run, const struct pass_op *op, void *to)
{
	int64_t before;

	switch (source_of(run, op)) {
	case SIDE_END:
		return embedding_forward(run->stage, op->micro_batch, 0, to);
	case SIDE_HERE:
		before = pass_number(run->stage->shape, op->chunk - 1, op->micro_batch);
		return copy(run, to, inputs_of(run, before)[layers_of(run, op->chunk - 1)]);
	case SIDE_AWAY:
		break;
	}
	return arrive(run, op, to);
}

static int
end_forward(struct run *run, const struct pass_op *op, const void *out)
{
	int *head = &run->head_of[op->micro_batch];

	switch (target_of(run, op)) {
	case SIDE_HERE: /* taken when that pass begins */
		return 0;
	case SIDE_AWAY:
		return session_send(run->stage->s, hand_off_of(op), out, run->elements);
	case SIDE_END:
		break;
	}
	if (grab(run, out, run->capture ? run->capture->outputs : NULL, op->micro_batch) != 0 ||
	    take_slot(run, run->head_used, run->stage->head_slots, head) != 0)
		return -1;
	return ends_forward(run->stage, *head, op->micro_batch, out, grab_losses, run);
}

static int
forward_pass(struct run *run, const struct pass_op *op)
{
	struct stage *stage = run->stage;
	int64_t first = stage->shape->layout.first[op->chunk];
	int n = layers_of(run, op->chunk), slot, i;
	void **inputs;

	if (!run->fetched[false][op->number] &&
	    take_slot(run, run->used, stage->slots, &run->slot_of[op->number]) != 0)
		return -1;
	slot = run->slot_of[op->number];
	inputs = inputs_of(run, op->number);
	stage->s->backward = false;
	if (begin_forward(run, op, inputs[0]) != 0 || fetch_next(run) != 0)
		return -1;
	for (i = 0; i < n; i++)
		if (weights_need(stage->s, &stage->weights, first + i) != 0 ||
		    unit_enter(stage->s, &stage->weights, first + i) != 0 ||
		    layer_forward(stage, first + i, op->micro_batch,
			&stage->kept[slot * stage->places + i], inputs[i + 1]) != 0 ||
		    unit_leave(stage->s, &stage->weights) != 0)
			return -1;
	return end_forward(run, op, inputs[n]);
}

/* --- backward ----------------------------------------------------------------------------- */

static int
begin_backward(struct run *run, const struct pass_op *op, void *to)
{
	int head = run->head_of[op->micro_batch];
	int64_t behind;

	switch (source_of(run, op)) {
	case SIDE_END:
		run->head_used[head] = run->stage->apart;
		return ends_backward(run->stage, head, op->micro_batch, to);
	case SIDE_HERE:
		behind = pass_number(run->stage->shape, op->chunk + 1, op->micro_batch);
		return copy(run, to, run->stage->gradients[behind]);
	case SIDE_AWAY:
		break;
	}
	return arrive(run, op, to);
}

static int
end_backward(struct run *run, const struct pass_op *op, const void *dx)
{
	float *captured = run->capture ? run->capture->input_gradients : NULL;

	switch (target_of(run, op)) {
	case SIDE_HERE: /* taken when that pass begins */
		return 0;
	case SIDE_AWAY:
		return session_send(run->stage->s, hand_off_of(op), dx, run->elements);
	case SIDE_END:
		break;
	}
	if (grab(run, dx, captured, op->micro_batch) != 0)
		return -1;
	return embedding_backward(run->stage, op->micro_batch, 0, dx);
}

/* Whether its gradients of weights are the chunk's last in this step, so that they may be summed. */
static bool
is_final(const struct run *run, const struct pass_op *op)
{
	return op->kind != PASS_INPUT &&
	       run->over[op->virtual_stage] + 1 == run->stage->passes.each;
}

/* One layer; dout may be dx. */
static int
back_layer(struct run *run, const struct pass_op *op, int place, const void *dout, void *dx)
{
	struct stage *stage = run->stage;
	struct kept *kept = &stage->kept[run->slot_of[op->number] * stage->places + place];
	int64_t layer = stage->shape->layout.first[op->chunk] + place;

	if (unit_enter(stage->s, &stage->weights, layer) != 0 ||
	    (stage_replays(stage, place) && layer_replay(stage, layer, op->micro_batch, kept,
						inputs_of(run, op->number)[place + 1]) != 0) ||
	    layer_backward(stage, layer, op->micro_batch, kept, dout, dx) != 0 ||
	    unit_leave(stage->s, &stage->weights) != 0)
		return -1;
	return is_final(run, op) ? weights_early(stage->s, &stage->weights, layer) : 0;
}

static void
end_slot(struct run *run, const struct pass_op *op)
{
	run->used[run->slot_of[op->number]] = false;
	run->over[op->virtual_stage]++;
}

static int
backward_pass(struct run *run, const struct pass_op *op)
{
	struct stage *stage = run->stage;
	void *gradient = stage->gradients[op->number], **inputs = inputs_of(run, op->number);
	int n = layers_of(run, op->chunk), i;

	stage->s->backward = true;
	stage->apart = stage->passes.defers && op->kind == PASS_INPUT;
	if (begin_backward(run, op, gradient) != 0 || fetch_next(run) != 0)
		return -1;
	if (stage->apart && copy(run, inputs[n], gradient) != 0)
		return -1;
	for (i = n - 1; i >= 0; i--) {
		const void *dout = stage->apart ? inputs[i + 1] : gradient;
		void *dx = stage->apart && i > 0 ? inputs[i] : gradient;

		if (back_layer(run, op, i, dout, dx) != 0)
			return -1;
	}
	if (op->kind == PASS_BACKWARD)
		end_slot(run, op);
	return end_backward(run, op, gradient);
}

static int
weight_layer(struct run *run, const struct pass_op *op, int place)
{
	struct stage *stage = run->stage;
	struct kept *kept = &stage->kept[run->slot_of[op->number] * stage->places + place];
	int64_t layer = stage->shape->layout.first[op->chunk] + place;
	const void *dout = inputs_of(run, op->number)[place + 1];

	if (stage->apart &&
	    (unit_enter(stage->s, &stage->weights, layer) != 0 ||
		layer_weights(stage, layer, op->micro_batch, kept, dout) != 0 ||
		unit_leave(stage->s, &stage->weights) != 0))
		return -1;
	return is_final(run, op) ? weights_early(stage->s, &stage->weights, layer) : 0;
}

static int
weight_ends(struct run *run, const struct pass_op *op)
{
	int head = run->head_of[op->micro_batch];

	if (!run->stage->apart || op->chunk != last_chunk(&run->stage->shape->layout))
		return 0;
	run->head_used[head] = false;
	return ends_weights(run->stage, head, op->micro_batch);
}

static int
weight_pass(struct run *run, const struct pass_op *op)
{
	int i;

	run->stage->s->backward = true;
	run->stage->apart = run->stage->passes.defers;
	if (weight_ends(run, op) != 0)
		return -1;
	for (i = layers_of(run, op->chunk) - 1; i >= 0; i--)
		if (weight_layer(run, op, i) != 0)
			return -1;
	end_slot(run, op);
	return 0;
}

/* --- the step ----------------------------------------------------------------------------- */

static int
run_pass(struct run *run, const struct pass_op *op)
{
	say_where(run, op);
	switch (op->kind) {
	case PASS_FORWARD:
		return forward_pass(run, op);
	case PASS_WEIGHT:
		return weight_pass(run, op);
	default:
		return backward_pass(run, op);
	}
}

static int
passes(struct run *run)
{
	const struct passes *all = &run->stage->passes;
	int64_t i;

	for (i = 0; i < all->n; i++) {
		run->next = run->stage->fetches && i + 1 < all->n ? &all->ops[i + 1] : NULL;
		if (run_pass(run, &all->ops[i]) != 0)
			return -1;
	}
	return 0;
}

int
step_run(struct stage *stage, int number, const struct capture *capture)
{
	struct arena *arena = stage->s->arena;
	struct arena_mark mark = arena_mark(arena);
	struct run run = {
	    .stage = stage, .capture = capture, .elements = stage->widest.tokens * stage->widest.h};
	size_t numbers = (size_t)stage->passes.numbers;
	int result;

	run.slot_of = arena_array(arena, numbers, sizeof(*run.slot_of));
	run.fetched[0] = arena_array(arena, 2 * numbers, sizeof(bool));
	run.fetched[1] = run.fetched[0] + numbers;
	run.over = arena_array(arena, LAYOUT_MAX_CHUNKS, sizeof(*run.over));
	run.head_of = arena_array(arena, numbers, sizeof(*run.head_of));
	run.used = arena_array(
	    arena, (size_t)(stage->slots + stage->head_slots) + 1, sizeof(*run.used));
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
	arena_reset(arena, mark);
	return result;
}
