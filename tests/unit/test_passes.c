/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Do the probe's ranks, each with its list of passes, hand everything over without waiting
 * for ever?
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/arena.h"
#include "planner/stages.h"
#include "probe/passes.h"

enum { MOST_PP = 8, MOST_BATCHES = 40, MOST_CHUNKS = 4 * MOST_PP };

static void
out_of_memory(void *context)
{
	(void)context;
	abort();
}

static struct shape *
shape_for(struct arena *arena, int schedule, int pp, int vpp, int64_t micro_batches)
{
	struct shape *shape = arena_alloc(arena, sizeof(*shape));

	shape->strategy.framework = FRAMEWORK_MEGATRON;
	shape->strategy.schedule = schedule;
	shape->strategy.pp = pp;
	shape->strategy.vpp = vpp;
	shape->strategy.ep = 2;
	shape->strategy.micro_batches = micro_batches;
	layout_even(&shape->layout, (int64_t)pp * vpp, pp, vpp);
	shape->layout.vee = schedule_is_vee(schedule);
	return shape;
}

/* What was sent and not received yet: by receiving stage, leg and direction. */
struct queue {
	int n, first;
	struct sent {
		int chunk;
		int64_t micro_batch;
	} items[MOST_BATCHES * MOST_CHUNKS];
};

struct world {
	const struct shape *shape;
	struct passes passes[MOST_PP];
	int64_t at[MOST_PP];
	bool half[MOST_PP]; /* of a pair's inputs one is there */
	int64_t given[MOST_PP]; /* how much of what is to set off behind it has */
	bool ran[MOST_PP];	/* it has run, and not all has set off */
	struct queue queues[MOST_PP][LEGS][2];
	int forwards[MOST_CHUNKS][MOST_BATCHES], inputs[MOST_CHUNKS][MOST_BATCHES],
	    weights[MOST_CHUNKS][MOST_BATCHES];
};

static bool
goes_back(const struct pass_op *op)
{
	return op->kind == PASS_BACKWARD || op->kind == PASS_INPUT;
}

/* Whether the pass's input is there; what comes first on the channel must be what it waits for. */
static bool
receives(struct world *w, int stage, const struct pass_op *op)
{
	int from = goes_back(op) ? op->chunk + 1 : op->chunk - 1;
	struct queue *queue = &w->queues[stage][op->leg][goes_back(op)];
	const struct sent *sent = &queue->items[queue->first];

	if (op->kind == PASS_WEIGHT || from < 0 || from > last_chunk(&w->shape->layout))
		return true;
	if (pass_stage(w->shape, from, op->micro_batch) == stage) {
		cr_assert((goes_back(op) ? w->inputs : w->forwards)[from][op->micro_batch] == 1);
		return true;
	}
	if (queue->first == queue->n)
		return false;
	cr_assert(sent->chunk == from && sent->micro_batch == op->micro_batch);
	queue->first++;
	return true;
}

static bool
sends(struct world *w, int stage, const struct pass_op *op)
{
	int to = goes_back(op) ? op->chunk - 1 : op->chunk + 1, other;
	struct queue *queue;

	if (op->kind == PASS_WEIGHT || to < 0 || to > last_chunk(&w->shape->layout))
		return true;
	other = pass_stage(w->shape, to, op->micro_batch);
	if (other == stage)
		return true;
	/* a neighbour, and the one that the leg and the direction have */
	cr_assert((stage + ((op->leg == LEG_ON) != goes_back(op) ? 1 : w->shape->layout.pp - 1)) %
			  w->shape->layout.pp ==
		  other);
	/* as on GPUs: a second one holds its rank until the first one has been received */
	queue = &w->queues[other][op->leg][goes_back(op)];
	if (queue->n > queue->first)
		return false;
	queue->items[queue->n++] = (struct sent){op->chunk, op->micro_batch};
	return true;
}

static void
note(struct world *w, int stage, const struct pass_op *op)
{
	int c = op->chunk;
	int64_t m = op->micro_batch;

	cr_assert_eq(pass_stage(w->shape, c, m), stage);
	cr_assert(stage_holds(w->shape, stage, c));
	cr_assert(op->number >= 0 && op->number < w->passes[stage].numbers);
	w->forwards[c][m] += op->kind == PASS_FORWARD;
	w->inputs[c][m] += goes_back(op);
	w->weights[c][m] += op->kind == PASS_BACKWARD || op->kind == PASS_WEIGHT;
	cr_assert(w->weights[c][m] <= w->inputs[c][m] && w->inputs[c][m] <= w->forwards[c][m]);
}

/* A pair waits for both inputs before it gives anything. */
static bool
is_ready(struct world *w, int stage)
{
	const struct pass_op *op = &w->passes[stage].ops[w->at[stage]];

	if (!w->half[stage] && !receives(w, stage, op))
		return false;
	w->half[stage] = op->paired;
	if (op->paired && !receives(w, stage, &op[1]))
		return false;
	w->half[stage] = false;
	return true;
}

static bool
advance(struct world *w, int stage)
{
	const struct passes *passes = &w->passes[stage];
	bool moved = false;

	while (w->at[stage] < passes->n && (w->ran[stage] || is_ready(w, stage))) {
		const struct pass_op *op = &passes->ops[w->at[stage]];
		const int64_t *sent = passes->sent + op->first_send;
		int64_t all = op->sends + (op->paired ? op[1].sends : 0);
		int n = 1 + op->paired, i;

		for (i = 0; i < n && !w->ran[stage]; i++)
			note(w, stage, &op[i]);
		w->ran[stage] = true;
		while (w->given[stage] < all &&
		       sends(w, stage, &passes->ops[sent[w->given[stage]]])) {
			w->given[stage]++;
			moved = true;
		}
		if (w->given[stage] < all)
			break;
		w->at[stage] += n;
		w->given[stage] = 0;
		w->ran[stage] = false;
		moved = true;
	}
	return moved;
}

static void
check(int schedule, int pp, int vpp, int64_t micro_batches, unsigned overlap)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct shape *shape = shape_for(arena, schedule, pp, vpp, micro_batches);
	struct world *w = arena_alloc(arena, sizeof(*w));
	bool moved = true;
	int stage, c;
	int64_t m;

	shape->strategy.overlap = overlap;
	w->shape = shape;
	for (stage = 0; stage < pp; stage++)
		passes_make(&w->passes[stage], arena, shape, stage);
	while (moved)
		for (stage = 0, moved = false; stage < pp; stage++)
			moved |= advance(w, stage);
	for (stage = 0; stage < pp; stage++)
		cr_assert_eq(w->at[stage], w->passes[stage].n,
		    "%s pp %d vpp %d m %d: stage %d waits at pass %d", schedule_names[schedule], pp,
		    vpp, (int)micro_batches, stage, (int)w->at[stage]);
	for (c = 0; c < pp * vpp; c++)
		for (m = 0; m < micro_batches; m++)
			cr_assert_eq(w->weights[c][m], 1);
	for (c = 0; c < pp * LEGS * 2; c++) {
		const struct queue *queue = &w->queues[c / (LEGS * 2)][c / 2 % LEGS][c % 2];

		cr_assert_eq(queue->first, queue->n);
	}
	arena_free(arena);
}

Test(passes, all_is_handed_over)
{
	int pp, m;

	for (pp = 2; pp <= MOST_PP; pp++)
		for (m = 1; m <= MOST_BATCHES; m++) {
			check(SCHEDULE_1F1B, pp, 1, m, 0);
			check(SCHEDULE_ZB, pp, 1, m, 0);
			check(SCHEDULE_ZBV, pp, 2, m, 0);
			if (m >= 2 * pp)
				check(SCHEDULE_DUALPIPEV, pp, 2, m, OVERLAP_EP);
			if (m >= 2 * pp && pp % 2 == 0 && m % 2 == 0)
				check(SCHEDULE_DUALPIPE, pp, 1, m, OVERLAP_EP);
			if (m % pp)
				continue;
			check(SCHEDULE_INTERLEAVED, pp, 4, m, 0);
			check(SCHEDULE_INTERLEAVED, pp, 2, m, OVERLAP_EP);
			check(SCHEDULE_ZB, pp, 2, m, 0);
		}
}

/* What is alive is what the planner's memory counts, where chunks are alike. */
Test(passes, as_much_is_alive_as_planned)
{
	static const struct {
		int schedule, vpp;
	} rows[] = {{SCHEDULE_1F1B, 1}, {SCHEDULE_INTERLEAVED, 2}, {SCHEDULE_ZB, 1},
	    {SCHEDULE_ZB, 2}, {SCHEDULE_ZBV, 2}, {SCHEDULE_DUALPIPE, 1}, {SCHEDULE_DUALPIPEV, 2}};
	static const double alike[4] = {1, 1, 1, 1};
	size_t i;
	int pp, stage;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (pp = 2; pp <= MOST_PP; pp += 2)
			for (stage = 0; stage < pp; stage++) {
				struct arena *arena = arena_new(out_of_memory, NULL);
				struct shape *shape = shape_for(
				    arena, rows[i].schedule, pp, rows[i].vpp, 2 * (int64_t)pp);
				struct pipeline p = pipeline_of(&shape->strategy);
				int other = pp - 1 - stage, planned;
				struct passes passes;

				passes_make(&passes, arena, shape, stage);
				schedule_peak(&p, stage < p.pp ? stage : other, alike, &planned);
				cr_assert_eq(passes.alive, planned, "%s pp %d stage %d: %d, not %d",
				    schedule_names[rows[i].schedule], pp, stage, passes.alive,
				    planned);
				arena_free(arena);
			}
}
