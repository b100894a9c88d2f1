/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When does each stage run what, and how much is alive?
 *
 * A stage's programme is a few blocks of passes, each repeated; which micro-batch
 * a pass takes follows from how many of its kind went before.
 * 1F1B: stage r runs p-r-1 forwards, then one forward and one backward in turn.
 * Interleaved (Narayanan et al., arXiv 2104.04473; NVIDIA/Megatron-LM
 * core/pipeline_parallel/schedules.py): passes are numbered group by group of
 * g = p micro-batches, all virtual stages of a group before the next group;
 * warm-up 2(p-r-1) + (v-1)g passes; backwards run through the virtual stages in
 * reverse. A last group may be smaller. Alive at the peak: warm-up + 1 passes.
 * With expert overlap one forward more comes first, then forwards and backwards
 * run in pairs (combined_1f1b.py there).
 * Zero bubble (Qi et al., arXiv 2401.10241): the backward is split; gradients of
 * weights wait, r micro-batches on stage r (ZB-H1), or fill the V of ZB-V. As
 * pytorch/pytorch torch/distributed/pipelining/schedules.py runs them.
 * DualPipe (DeepSeek-V3 report, arXiv 2412.19437; deepseek-ai/DualPipe): p ranks
 * hold stages r and p-1-r and feed micro-batches from both ends. By symmetry it
 * is DualPipeV on half the ranks with half the micro-batches, the order there.
 * What a pass keeps is freed after its weight gradients: in ZB's table 34 against
 * 32 bytes an element wait for them, so nothing is taken off in between. What waits
 * beside that, the gradients of logits, is the caller's to say.
 */
#include "planner/schedule.h"

#include <string.h>

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

bool
pipeline_is_vee(const struct pipeline *p)
{
	return p->order == ORDER_ZBV || p->order == ORDER_DUALPIPE_V;
}

int
pipeline_chunk(const struct pipeline *p, int stage, int virtual_stage)
{
	if (virtual_stage == 1 && pipeline_is_vee(p))
		return 2 * p->pp - 1 - stage;
	return virtual_stage * p->pp + stage;
}

int
pipeline_stage(const struct pipeline *p, int chunk)
{
	if (chunk >= p->pp && pipeline_is_vee(p))
		return 2 * p->pp - 1 - chunk;
	return chunk % p->pp;
}

static int64_t
total_passes(const struct pipeline *p)
{
	return p->micro_batches * p->vpp;
}

int64_t
schedule_warmup(const struct pipeline *p, int stage)
{
	int64_t behind = p->pp - stage - 1, warmup = behind;

	if (p->order == ORDER_ZERO_BUBBLE)
		warmup = behind + (int64_t)(p->vpp - 1) * p->group;
	else if (p->vpp > 1)
		warmup = 2 * behind + (int64_t)(p->vpp - 1) * p->group;
	return least(warmup + p->paired, total_passes(p));
}

/* --- programmes ----------------------------------------------------------------------------- */

#define F(v) {PASS_FORWARD, v, 0}
#define B(v) {PASS_BACKWARD, v, 0}
#define I(v) {PASS_INPUT, v, 0}
#define W(v) {PASS_WEIGHT, v, 0}
#define PAIR(f, b) {PASS_PAIR, f, b}
/* Weight gradients of the oldest pass that waits for them. */
enum { OLDEST = -1 };

#define BLOCK(walk, times, ...)                                                                    \
	do {                                                                                       \
		static const struct schedule_slot slots[] = {__VA_ARGS__};                         \
		add_block(walk, times, slots, sizeof(slots) / sizeof(slots[0]));                   \
	} while (0)

static void
add_block(struct schedule_walk *walk, int64_t times, const struct schedule_slot *slots, size_t n)
{
	struct schedule_block *block = &walk->blocks[walk->n_blocks];

	if (times <= 0)
		return;
	block->times = times;
	block->n = (int)n;
	memcpy(block->slots, slots, n * sizeof(*slots));
	walk->n_blocks++;
}

static void
one_forward_one_backward(struct schedule_walk *walk)
{
	int64_t warmup = schedule_warmup(&walk->pipeline, walk->stage);

	BLOCK(walk, warmup, F(0));
	if (walk->pipeline.paired)
		BLOCK(walk, total_passes(&walk->pipeline) - warmup, PAIR(0, 0));
	else
		BLOCK(walk, total_passes(&walk->pipeline) - warmup, F(0), B(0));
	BLOCK(walk, warmup, B(0));
}

static void
zero_bubble(struct schedule_walk *walk)
{
	int64_t warmup = schedule_warmup(&walk->pipeline, walk->stage), delay = walk->stage;
	int64_t steady = total_passes(&walk->pipeline) - warmup;
	int64_t late = delay > steady ? least(delay - steady, warmup) : 0;

	BLOCK(walk, warmup, F(0));
	BLOCK(walk, least(delay, steady), F(0), I(0));
	BLOCK(walk, steady - delay, F(0), I(0), W(0));
	BLOCK(walk, late, I(0));
	BLOCK(walk, warmup - late, I(0), W(0));
	BLOCK(walk, least(delay, steady + warmup), W(0));
}

/* Written for 2p-1 micro-batches at least; passes of those that are not there fall out. */
static void
zero_bubble_vee(struct schedule_walk *walk)
{
	int64_t p = walk->pipeline.pp, r = walk->stage, m = walk->pipeline.micro_batches;

	if (m < 2 * p - 1)
		m = 2 * p - 1;
	BLOCK(walk, 2 * (p - r) - 1, F(0));
	BLOCK(walk, r, F(1), F(0));
	BLOCK(walk, p - r, F(1), I(1), W(1));
	BLOCK(walk, m - (2 * p - 1 - r), F(0), I(0), W(0), F(1), I(1), W(1));
	BLOCK(walk, p - 1 - r, I(0), W(0), F(1), I(1), W(1));
	BLOCK(walk, r, I(0), I(1));
	BLOCK(walk, p - r, I(0), W(0));
	BLOCK(walk, r, W(1));
	BLOCK(walk, r, W(0));
}

static void
dualpipe_vee(struct schedule_walk *walk)
{
	int64_t p = walk->pipeline.pp, r = walk->stage, half = (r + 1) / 2;
	int64_t steady = walk->pipeline.micro_batches - 2 * p + r + 1;
	bool middle = r == p - 1; /* where the V turns */

	BLOCK(walk, 2 * (p - r - 1), F(0));
	BLOCK(walk, r + 1, F(0), F(1));
	BLOCK(walk, p - r - 1, I(1), W(OLDEST), F(1));
	BLOCK(walk, middle && steady > 0, F(0), B(1), PAIR(1, 0));
	BLOCK(walk, steady - middle, PAIR(0, 1), PAIR(1, 0));
	BLOCK(walk, p - r - 1, B(1), PAIR(1, 0));
	BLOCK(walk, half, B(1), B(0));
	if (r % 2 == 1)
		BLOCK(walk, 1, I(1), I(0));
	else
		BLOCK(walk, 1, B(1), I(0));
	BLOCK(walk, r - half, I(1), I(0));
	BLOCK(walk, p - r - 1, W(OLDEST), I(0));
	BLOCK(walk, r + 1, W(OLDEST));
}

void
schedule_begin(struct schedule_walk *walk, const struct pipeline *pipeline, int stage)
{
	static void (*const programmes[])(struct schedule_walk *) = {
	    [ORDER_1F1B] = one_forward_one_backward,
	    [ORDER_ZERO_BUBBLE] = zero_bubble,
	    [ORDER_ZBV] = zero_bubble_vee,
	    [ORDER_DUALPIPE_V] = dualpipe_vee,
	};

	memset(walk, 0, sizeof(*walk));
	walk->pipeline = *pipeline;
	walk->stage = stage;
	programmes[pipeline->order](walk);
}

/* --- one pass after the other --------------------------------------------------------------- */

enum counter { FORWARDS, BACKWARDS, WEIGHTS };

/* The k-th pass of a loop: which micro-batch, which virtual stage, as forwards see them. */
static void
loop_pass(const struct pipeline *p, int64_t k, int32_t *micro_batch, int16_t *virtual_stage)
{
	int64_t all = (int64_t)p->group * p->vpp, group = k / all, within = k % all;
	int64_t size = least(p->micro_batches - group * p->group, p->group);

	*virtual_stage = (int16_t)(within / size);
	*micro_batch = (int32_t)(group * p->group + within % size);
}

static void
take(struct schedule_walk *walk, enum counter counter, int vee_stage, int16_t *virtual_stage,
    int32_t *micro_batch)
{
	const struct pipeline *p = &walk->pipeline;

	*virtual_stage = (int16_t)vee_stage;
	if (pipeline_is_vee(p)) {
		*micro_batch = (int32_t)walk->done[counter][vee_stage]++;
		return;
	}
	loop_pass(p, walk->done[counter][0]++, micro_batch, virtual_stage);
	if (counter != FORWARDS)
		*virtual_stage = (int16_t)(p->vpp - 1 - *virtual_stage);
}

static void
take_weight(struct schedule_walk *walk, int virtual_stage, struct schedule_op *op)
{
	const struct schedule_waiting *oldest = &walk->waiting[walk->first_waiting];

	if (virtual_stage != OLDEST) {
		take(walk, WEIGHTS, virtual_stage, &op->virtual_stage, &op->micro_batch);
		return;
	}
	op->virtual_stage = oldest->virtual_stage;
	op->micro_batch = oldest->micro_batch;
	walk->first_waiting = (walk->first_waiting + 1) % SCHEDULE_QUEUE;
	walk->n_waiting--;
}

static void
let_wait(struct schedule_walk *walk, const struct schedule_op *op)
{
	int at = (walk->first_waiting + walk->n_waiting) % SCHEDULE_QUEUE;

	if (walk->pipeline.order != ORDER_DUALPIPE_V)
		return;
	walk->waiting[at] = (struct schedule_waiting){op->micro_batch, op->virtual_stage};
	walk->n_waiting++;
}

static void
read_slot(struct schedule_walk *walk, const struct schedule_slot *slot, struct schedule_op *op)
{
	int16_t *stage = &op->virtual_stage;
	int32_t *micro_batch = &op->micro_batch;

	*op = (struct schedule_op){.pass = (enum pass)slot->pass};
	switch (op->pass) {
	case PASS_PAIR:
		take(walk, BACKWARDS, slot->back_virtual_stage, &op->back_virtual_stage,
		    &op->back_micro_batch);
		take(walk, FORWARDS, slot->virtual_stage, stage, micro_batch);
		break;
	case PASS_FORWARD:
		take(walk, FORWARDS, slot->virtual_stage, stage, micro_batch);
		break;
	case PASS_BACKWARD:
		take(walk, BACKWARDS, slot->virtual_stage, stage, micro_batch);
		break;
	case PASS_INPUT:
		take(walk, BACKWARDS, slot->virtual_stage, stage, micro_batch);
		let_wait(walk, op);
		break;
	case PASS_WEIGHT:
		take_weight(walk, slot->virtual_stage, op);
		break;
	}
}

bool
schedule_next(struct schedule_walk *walk, struct schedule_op *op)
{
	while (walk->block < walk->n_blocks) {
		const struct schedule_block *block = &walk->blocks[walk->block];

		read_slot(walk, &block->slots[walk->slot], op);
		if (++walk->slot == block->n) {
			walk->slot = 0;
			if (++walk->round == block->times) {
				walk->round = 0;
				walk->block++;
			}
		}
		if (op->micro_batch < walk->pipeline.micro_batches)
			return true;
	}
	return false;
}

/* --- memory --------------------------------------------------------------------------------- */

static bool
all_equal(const double *values, int n)
{
	for (int i = 1; i < n; i++)
		if (values[i] < values[0] || values[i] > values[0])
			return false;
	return true;
}

static void
add_alive(struct alive *alive, const struct schedule_op *op, const double *bytes, int sign)
{
	int v = sign < 0 && op->pass == PASS_PAIR ? op->back_virtual_stage : op->virtual_stage;

	alive->bytes += sign * bytes[v];
	alive->passes += sign;
}

static void
add_waiting(struct alive *alive, const struct schedule_op *op, const double *waiting)
{
	double bytes = waiting ? waiting[op->virtual_stage] : 0;

	if (op->pass == PASS_WEIGHT)
		bytes = -bytes;
	else if (op->pass != PASS_INPUT)
		return;
	alive->bytes += bytes;
	alive->waiting_bytes += bytes;
}

static struct alive
walk_alive(const struct pipeline *p, int stage, const double *bytes, const double *waiting)
{
	struct schedule_walk walk;
	struct schedule_op op;
	struct alive alive = {0}, peak = {0};

	schedule_begin(&walk, p, stage);
	while (schedule_next(&walk, &op)) {
		/* Megatron's pairs go layer by layer: one is freed as another is kept */
		bool trades = p->paired && op.pass == PASS_PAIR;

		if (op.pass == PASS_FORWARD || op.pass == PASS_PAIR)
			add_alive(&alive, &op, bytes, 1);
		if (trades)
			add_alive(&alive, &op, bytes, -1);
		/* a pass of weights alone brings nothing that is not there yet */
		if (alive.bytes > peak.bytes && op.pass != PASS_WEIGHT)
			peak = alive;
		add_waiting(&alive, &op, waiting);
		if (!trades && op.pass != PASS_FORWARD && op.pass != PASS_INPUT)
			add_alive(&alive, &op, bytes, -1);
	}
	return peak;
}

struct alive
schedule_alive(
    const struct pipeline *pipeline, int stage, const double *bytes, const double *waiting)
{
	/* what is alive repeats from group to group once the pipeline is full */
	struct pipeline p = *pipeline;
	int64_t warmup = schedule_warmup(&p, stage), total = total_passes(&p);

	if (p.order == ORDER_1F1B && (p.vpp == 1 || all_equal(bytes, p.vpp))) {
		int passes = (int)least(warmup + !p.paired, total);

		return (struct alive){.bytes = passes * bytes[0], .passes = passes};
	}
	p.micro_batches = least(p.micro_batches, 4 * (int64_t)p.group);
	return walk_alive(&p, stage, bytes, waiting);
}

double
schedule_peak(const struct pipeline *pipeline, int stage, const double *bytes, int *passes)
{
	struct alive alive = schedule_alive(pipeline, stage, bytes, NULL);

	*passes = alive.passes;
	return alive.bytes;
}
