/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In how many exchanges of expert tokens does a rank take part in a step?
 *
 * Each MoE layer dispatches and combines in the forward pass and again in the backward pass; a
 * layer that is computed again, all of it or its MoE module, repeats the two of the forward
 * pass. A rank runs the layers of all its chunks, MTP layers with their chunk, once a
 * micro-batch; DualPipe gives it a second stage and half of the micro-batches to each.
 * Counted are the exchanges of tokens, not the small ones of counts and probabilities before
 * them. Source: NVIDIA/Megatron-LM core/transformer/moe/token_dispatcher.py,
 * core/transformer/transformer_block.py.
 */
#include "base/units.h"
#include "cmd/explain_report.h"
#include "cmd/text_common.h"
#include "planner/evaluator.h"

enum { ONCE = 4, AGAIN = 2 };

/* MoE layers of a chunk, and those whose forward pass runs twice: the first of the chunk. */
static void
count_chunk(const struct explained_plan *plan, const struct layout *layout, int chunk,
    struct exchanges *sum)
{
	const struct strategy *s = &plan->estimate.strategy;
	const struct model *model = plan->model;
	bool module = s->recompute.kind == RECOMPUTE_SELECTIVE && s->recompute.modules & MODULE_MOE;
	int replayed = replayed_layers(s, layout->first[chunk + 1] - layout->first[chunk]);
	bool has_mtp = model->mtp_layers > 0 && kind_is_moe(&model->mtp) &&
		       chunk + 1 + layout->mtp_back == layout->pp * layout->vpp;

	for (int layer = layout->first[chunk]; layer < layout->first[chunk + 1]; layer++) {
		if (!kind_is_moe(&model->kinds[model->kind_of[layer]]))
			continue;
		sum->layers++;
		sum->replayed += module || layer - layout->first[chunk] < replayed;
	}
	if (!has_mtp)
		return;
	sum->layers += model->mtp_layers;
	sum->replayed += module || s->recompute.kind == RECOMPUTE_FULL ? model->mtp_layers : 0;
}

/* The stage that has most of them. */
struct exchanges
count_exchanges(struct request *request, const struct explained_plan *plan)
{
	const struct strategy *s = &plan->estimate.strategy;
	const struct layout *layout = &plan->estimate.layout;
	int *chunks = arena_array(request->arena, LAYOUT_MAX_CHUNKS, sizeof(*chunks));
	struct exchanges most = {0};

	if (s->ep < 2)
		return most;
	for (int stage = 0; stage < layout->pp; stage++) {
		struct exchanges sum = {.stage = stage, .micro_batches = s->micro_batches};
		int n = rank_chunks(s, layout, stage, chunks);

		for (int i = 0; i < n; i++)
			count_chunk(plan, layout, chunks[i], &sum);
		if (s->schedule == SCHEDULE_DUALPIPE)
			sum.micro_batches /= 2;
		sum.total = (ONCE * sum.layers + AGAIN * sum.replayed) * sum.micro_batches;
		if (sum.total > most.total)
			most = sum;
	}
	return most;
}

/* "4 x 12 MoE layers + 2 x 6 that are computed again". */
static const char *
factors(struct arena *arena, const struct exchanges *e)
{
	if (e->replayed == 0 || e->replayed == e->layers)
		return arena_printf(arena, "%d x %lld MoE layers%s",
		    e->replayed ? ONCE + AGAIN : ONCE, (long long)e->layers,
		    e->replayed ? ", which are computed again," : "");
	return arena_printf(arena, "(%d x %lld MoE layers + %d x %lld that are computed again)",
	    ONCE, (long long)e->layers, AGAIN, (long long)e->replayed);
}

void
text_exchanges(struct request *request, const struct explained_plan *plan)
{
	static const char *const what[] = {
	    [DISPATCH_ALLTOALL] = "all-to-alls",
	    [DISPATCH_ALLGATHER] = "all-gathers and reduce-scatters",
	    [DISPATCH_DEEPEP] = "dispatches and combines of DeepEP",
	    [DISPATCH_HYBRIDEP] = "dispatches and combines of HybridEP",
	};
	const struct strategy *s = &plan->estimate.strategy;
	struct exchanges e = count_exchanges(request, plan);

	if (model_moe(plan->model) && s->ep < 2)
		text_line(request, "experts", "EP 1: no tokens are exchanged");
	if (e.total == 0)
		return;
	text_line(request, "experts", "a rank of stage %d: %s x %s micro-batches = %s %s a step;",
	    e.stage, factors(request->arena, &e), units_grouped(request->arena, e.micro_batches),
	    units_grouped(request->arena, e.total), what[s->dispatcher]);
	text_line(request, "", "each waits for all %s ranks of its EP group",
	    units_grouped(request->arena, s->ep));
}
