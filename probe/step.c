/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a rank do in a training step, in which order?
 *
 * Passes follow the order that the planner simulated (passes.c), one by one or a forward and a
 * backward as a pair (pairs.c). Sends are posted where sends.c has them, not waited for; receives
 * when their pass begins, or with pipeline overlap one pass or pair earlier. Each backward of a
 * step has a gradient of its own: were one written again, its rank would wait for its send, in an
 * interleaved pipeline round to itself. The first chunk begins with the embedding, the last one
 * ends with head, loss and MTP modules, where the backward begins. Where a V turns both chunks are
 * here, and the hand-off is a copy.
 * Why nobody waits for ever: a rank waits for receives and for the start of its sends, each channel
 * (leg and direction of a boundary) has a stream of its own whose passes both its ends run in one
 * order, and all that a rank waits for was over in the simulation before the rank came there.
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
	int64_t next;		    /* the first pass behind the one or the pair that runs */
	bool *fetched[2];	    /* forwards, backwards, each as slot_of */
	struct layer_pass *layers[2]; /* room for those of a pass, and of its pair */
	int64_t elements;	    /* T * h */
};

/* The pass and the next one run as one. */
static bool
is_pair(const struct run *run, int64_t i)
{
	const struct stage *stage = run->stage;

	return stage->paired && stage->overlap & OVERLAP_EP && stage->passes.ops[i].paired;
}

static void
say_where(const struct run *run, int64_t i)
{
	static const char *const names[] = {[PASS_FORWARD] = "forward",
	    [PASS_BACKWARD] = "backward",
	    [PASS_INPUT] = "backward of inputs",
	    [PASS_WEIGHT] = "backward of weights"};
	const struct pass_op *op = &run->stage->passes.ops[i];
	char text[96];

	if (is_pair(run, i))
		snprintf(text, sizeof(text), "forward %lld (chunk %d) + backward %lld (chunk %d)",
		    (long long)op->micro_batch, op->chunk, (long long)op[1].micro_batch,
		    op[1].chunk);
	else
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

static int
fetch(struct run *run, const struct pass_op *op)
{
	struct stage *stage = run->stage;
	void *to;

	if (op->kind == PASS_WEIGHT || source_of(run, op) != SIDE_AWAY)
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

/* Inputs of what runs next set off behind the computation so far; what runs now does not wait. */
static int
fetch_next(struct run *run)
{
	const struct passes *passes = &run->stage->passes;
	int64_t i = run->next;

	if (!run->stage->fetches || i >= passes->n)
		return 0;
	if (fetch(run, &passes->ops[i]) != 0)
		return -1;
	return is_pair(run, i) ? fetch(run, &passes->ops[i + 1]) : 0;
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

	if (target_of(run, op) != SIDE_END)
		return 0;
	if (grab(run, out, run->capture ? run->capture->outputs : NULL, op->micro_batch) != 0 ||
	    take_slot(run, run->head_used, run->stage->head_slots, head) != 0)
		return -1;
	return ends_forward(run->stage, *head, op->micro_batch, out, grab_losses, run);
}

static struct chunk_pass
forward_layers(struct run *run, const struct pass_op *op, struct layer_pass *room)
{
	struct stage *stage = run->stage;
	struct chunk_pass chunk = {room, layers_of(run, op->chunk), false};
	struct kept *kept = &stage->kept[run->slot_of[op->number] * stage->places];
	int i;

	for (i = 0; i < chunk.n; i++)
		room[i] = layer_pass_of(stage, stage->shape->layout.first[op->chunk] + i,
		    op->micro_batch, false, &kept[i], NULL, inputs_of(run, op->number)[i + 1]);
	return chunk;
}

static int
take_forward(struct run *run, const struct pass_op *op)
{
	if (!run->fetched[false][op->number] &&
	    take_slot(run, run->used, run->stage->slots, &run->slot_of[op->number]) != 0)
		return -1;
	run->stage->s->backward = false;
	return begin_forward(run, op, inputs_of(run, op->number)[0]);
}

static int
give_forward(struct run *run, const struct pass_op *op)
{
	run->stage->s->backward = false;
	return end_forward(run, op, inputs_of(run, op->number)[layers_of(run, op->chunk)]);
}

static int
forward_pass(struct run *run, const struct pass_op *op)
{
	struct chunk_pass chunk;

	if (take_forward(run, op) != 0 || fetch_next(run) != 0)
		return -1;
	chunk = forward_layers(run, op, run->layers[0]);
	return chunk_run(run->stage, &chunk) == 0 ? give_forward(run, op) : -1;
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

	if (target_of(run, op) != SIDE_END)
		return 0;
	if (grab(run, dx, captured, op->micro_batch) != 0)
		return -1;
	return embedding_backward(run->stage, op->micro_batch, 0, dx);
}

/* Whether its gradients of weights are the chunk's last in this step: they may be summed. */
static bool
is_final(const struct run *run, const struct pass_op *op)
{
	return op->kind != PASS_INPUT &&
	       run->over[op->virtual_stage] + 1 == run->stage->passes.each;
}

static void
end_slot(struct run *run, const struct pass_op *op)
{
	run->used[run->slot_of[op->number]] = false;
	run->over[op->virtual_stage]++;
}

/* Gradients of outputs stay where outputs were until the weights have had theirs. */
static struct chunk_pass
backward_layers(struct run *run, const struct pass_op *op, struct layer_pass *room)
{
	struct stage *stage = run->stage;
	struct chunk_pass chunk = {room, layers_of(run, op->chunk), is_final(run, op)};
	struct kept *kept = &stage->kept[run->slot_of[op->number] * stage->places];
	void *gradient = stage->gradients[op->number], **inputs = inputs_of(run, op->number);
	int i, place;

	for (i = 0; i < chunk.n; i++) {
		place = chunk.n - 1 - i;
		room[i] = layer_pass_of(stage, stage->shape->layout.first[op->chunk] + place,
		    op->micro_batch, true, &kept[place],
		    stage->apart ? inputs[place + 1] : gradient,
		    stage->apart && place > 0 ? inputs[place] : gradient);
		room[i].replays = stage_replays(stage, place);
		room[i].replay_out = inputs[place + 1];
	}
	return chunk;
}

static int
take_backward(struct run *run, const struct pass_op *op)
{
	struct stage *stage = run->stage;
	void *gradient = stage->gradients[op->number];

	stage->s->backward = true;
	stage->apart = stage->passes.defers && op->kind == PASS_INPUT;
	if (begin_backward(run, op, gradient) != 0)
		return -1;
	return stage->apart
		   ? copy(run, inputs_of(run, op->number)[layers_of(run, op->chunk)], gradient)
		   : 0;
}

static int
give_backward(struct run *run, const struct pass_op *op)
{
	if (op->kind == PASS_BACKWARD)
		end_slot(run, op);
	run->stage->s->backward = true;
	return end_backward(run, op, run->stage->gradients[op->number]);
}

static int
backward_pass(struct run *run, const struct pass_op *op)
{
	struct chunk_pass chunk;

	if (take_backward(run, op) != 0 || fetch_next(run) != 0)
		return -1;
	chunk = backward_layers(run, op, run->layers[0]);
	return chunk_run(run->stage, &chunk) == 0 ? give_backward(run, op) : -1;
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
run_pair(struct run *run, const struct pass_op *forward, const struct pass_op *backward)
{
	struct chunk_pass f, b;

	if (take_forward(run, forward) != 0 || take_backward(run, backward) != 0 ||
	    fetch_next(run) != 0)
		return -1;
	f = forward_layers(run, forward, run->layers[0]);
	b = backward_layers(run, backward, run->layers[1]);
	if (chunks_pair(run->stage, &f, &b) != 0 || give_forward(run, forward) != 0)
		return -1;
	return give_backward(run, backward);
}

/* Results stay where they are until the rank that takes them is done with them. */
static int
send_from(struct run *run, const struct pass_op *behind)
{
	const struct passes *passes = &run->stage->passes;
	int64_t i;

	for (i = 0; i < behind->sends; i++) {
		const struct pass_op *op = &passes->ops[passes->sent[behind->first_send + i]];
		const void *from = goes_back(op)
				       ? run->stage->gradients[op->number]
				       : inputs_of(run, op->number)[layers_of(run, op->chunk)];

		if (session_send(run->stage->s, hand_off_of(op), from, run->elements) != 0)
			return -1;
	}
	return 0;
}

static int
run_pass(struct run *run, const struct pass_op *op)
{
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
	const struct pass_op *ops = run->stage->passes.ops;
	int64_t i;
	int result = 0;

	for (i = 0; i < run->stage->passes.n && result == 0; i = run->next) {
		bool pair = is_pair(run, i);

		run->next = i + 1 + pair;
		say_where(run, i);
		result = pair ? run_pair(run, &ops[i], &ops[i + 1]) : run_pass(run, &ops[i]);
		if (result == 0)
			result = send_from(run, &ops[i]);
		if (result == 0 && pair)
			result = send_from(run, &ops[i + 1]);
	}
	return result;
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
	run.layers[0] =
	    arena_array(arena, 2 * (size_t)stage->places + 1, sizeof(*run.layers[0]));
	run.layers[1] = run.layers[0] + stage->places;
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
