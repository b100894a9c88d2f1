/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which strategies are impossible, and by which rule?
 *
 * Ids MEG, DS and TT are rules that the framework itself enforces, read in its
 * source: NVIDIA/Megatron-LM core 0.19 (arguments.py, parallel_state.py,
 * transformer_config.py, schedules.py), DeepSpeed 0.19 (utils/groups.py,
 * auto_ep_folding.py, pipe/engine.py), torchtitan 0.3 and 0.2.2
 * (parallel_dims.py, trainer.py). GRID rules are ours: what has no meaning, or
 * what the framework cannot be told. Megatron's demand that layers divide over
 * stages (MEG-024 to MEG-026) is not here, because any split can be written as a
 * pipeline layout; that no inner chunk stays empty remains, as GRID-008.
 *
 * Rows are tried in this order; cheap and general ones stand first.
 */
#include "model/strategy_rules.h"

#include <limits.h>
#include <string.h>

#include "base/arena.h"

enum {
	MEG = 1 << FRAMEWORK_MEGATRON,
	DS = 1 << FRAMEWORK_DEEPSPEED,
	TT = 1 << FRAMEWORK_TORCHTITAN,
	ALL = MEG | DS | TT,
	RANKS = 1 << 8, /* what another number of GPUs can mend */
};

#define ROW(id, frameworks, name, gist)                                                            \
	{                                                                                          \
		id, gist, name##_holds, name##_report, frameworks                                  \
	}

/* clang-format off */
const struct grid_rule grid_rules[] = {
	ROW("GRID-001", ALL, world_known, "the world size is known"),
	ROW("GRID-002", ALL, foreign_option, "no option belongs to another framework"),
	ROW("GRID-003", ALL, stages_bounded, "pp is at most 256"),
	ROW("GRID-004", DS, deepspeed_context, "cp is 1: DeepSpeed has no such axis"),
	ROW("MEG-001", MEG | RANKS, dense_grid, "tp*cp*gtp*pp*dp is the world"),
	ROW("DS-038", DS | RANKS, dense_grid, "tp*pp*dp is the world"),
	ROW("TT-004", TT | RANKS, dense_grid, "dp_replicate*dp_shard*cp*tp*pp is the world"),
	ROW("DS-051", DS, deepspeed_etp, "etp is tp with expert tensor parallelism, else 1"),
	ROW("DS-031", DS | RANKS, deepspeed_stage, "ep divides the pipeline stage"),
	ROW("DS-032", DS | RANKS, deepspeed_lane, "with expert tensor parallelism ep divides dp"),
	ROW("DS-050", DS | RANKS, deepspeed_folding, "autoep divides the pipeline stage"),
	ROW("TT-007", TT, torchtitan_etp, "etp is 1 (0.2: 1 or tp)"),
	ROW("TT-005", TT | RANKS, torchtitan_sparse, "ep divides dp_shard*cp*tp"),
	ROW("MEG-003", MEG | RANKS, expert_grid, "etp*ep*egtp*pp*edp is the world"),
	ROW("GRID-006", DS | TT | RANKS, expert_grid, "etp*ep*pp*edp is the world"),
	ROW("GRID-007", MEG, order_complete, "the order names every axis over 1"),
	ROW("MEG-004", MEG, order_end, "the order ends with pp, or pp is 1, or edp is dp"),
	ROW("MEG-005", MEG, order_stages, "dense and expert pipeline groups are the same"),
	ROW("MEG-012", MEG, batch_filled, "there is at least one micro-batch"),
	ROW("MEG-011", MEG, batch_divides, "micro_batch*dp divides the global batch"),
	ROW("DS-010", DS, batch_divides, "micro_batch*dp divides the global batch"),
	ROW("TT-010", TT, batch_divides, "micro_batch*dp divides the global batch"),
	ROW("GRID-008", ALL, chunks_filled, "no inner pipeline chunk is empty"),
	ROW("MEG-130", MEG, virtual_mamba, "Mamba layers had no virtual stages before 0.17"),
	ROW("MEG-028", ALL, virtual_needs_stages, "vpp over 1 needs pp over 1"),
	ROW("GRID-009", ALL, schedule_fits, "the schedule and vpp agree"),
	ROW("GRID-016", MEG | TT, schedule_filled, "the micro-batches fill the schedule"),
	ROW("MEG-029", MEG, virtual_warm_up, "interleaving needs pp micro-batches"),
	ROW("MEG-030", MEG, virtual_rounds, "interleaving: pp divides the micro-batches"),
	ROW("MEG-021", MEG, layout_chunks_fit, "the layout has pp*vpp chunks"),
	ROW("MEG-040", MEG | DS, heads_divide, "tp divides the attention heads"),
	ROW("MEG-041", MEG | DS, kv_heads_divide, "tp divides the KV heads or is a multiple"),
	ROW("TT-014", TT, all_heads_divide, "tp divides attention and KV heads"),
	ROW("MEG-044", MEG, context_divides, "2*cp divides the sequence"),
	ROW("MEG-043", MEG, tokens_divide, "cp*tp divides the sequence"),
	ROW("TT-009", TT, sequence_divides, "tp*2*cp divides the sequence"),
	ROW("MEG-070", ALL, experts_there, "ep over 1 needs experts"),
	ROW("MEG-071", MEG, experts_divide, "ep divides the experts"),
	ROW("DS-030", DS, experts_divide, "ep divides the experts"),
	ROW("TT-008", TT, experts_divide, "ep divides the experts"),
	ROW("GRID-011", ALL, dense_etp, "etp means nothing without experts"),
	ROW("MEG-072", ALL, widths_divide, "tp and etp divide the MLP widths"),
	ROW("MEG-122", MEG, fp8_tokens, "tokens of a rank fill FP8 products"),
	ROW("MEG-123", MEG, fp8_widths, "widths of a rank fill FP8 products"),
	ROW("MEG-074", MEG, expert_bias, "experts with bias need etp 1"),
	ROW("MEG-053", ALL, recompute_fits, "recomputed modules are in the model"),
	ROW("GRID-012", DS | TT, own_recompute, "recompute modules are Megatron's"),
	ROW("GRID-013", DS | TT, dispatcher_known, "the framework has the dispatcher"),
	ROW("MEG-077", MEG | TT, dispatcher_experts, "deepep and hybridep need expert ranks"),
	ROW("GRID-014", ALL, capacity_allowed, "a capacity factor has experts and is known"),
	ROW("MEG-097", MEG, overlap_experts, "expert overlap has what it needs"),
	ROW("GRID-017", MEG, offload_leaves, "offloaded activations are not recomputed"),
	ROW("DS-036", DS, deepspeed_native_zero, "native MoE excludes zero 3"),
	ROW("DS-037", DS, deepspeed_pipeline_zero, "pipelines exclude zero 2 and 3"),
	ROW("DS-055", DS, deepspeed_folding_limits, "AutoEP with tp: no pp, zero 3, offload"),
	ROW("DS-066", DS, deepspeed_offload, "partial offload needs zero 3"),
	ROW("GRID-015", TT, torchtitan_zero, "sharding is FSDP: zero 2 or 3"),
	{ .id = NULL },
};
/* clang-format on */
_Static_assert(sizeof(grid_rules) / sizeof(grid_rules[0]) <= GRID_MAX_RULES, "GRID_MAX_RULES");

const struct grid_rule *
strategy_first_violation(const struct strategy *strategy, const struct model *model)
{
	for (const struct grid_rule *rule = grid_rules; rule->id; rule++)
		if (rule->frameworks & 1U << strategy->framework && !rule->holds(strategy, model))
			return rule;
	return NULL;
}

int
strategy_violations(const struct strategy *strategy, const struct model *model, struct diags *diags)
{
	int broken = 0;

	for (const struct grid_rule *rule = grid_rules; rule->id; rule++) {
		if (!(rule->frameworks & 1U << strategy->framework) || rule->holds(strategy, model))
			continue;
		rule->report(rule, strategy, model, diags);
		broken++;
		if (!world_known_holds(strategy, model))
			break; /* everything else would only follow from this */
	}
	return broken;
}

/* --- proposals: a fix must not break another rule ------------------------------------------ */

static int64_t *
degree_of(struct strategy *s, const char *option)
{
	const struct {
		const char *name;
		int64_t *degree;
	} degrees[] = {{"tp", &s->tp}, {"ep", &s->ep}, {"etp", &s->etp},
	    {"global-batch", &s->global_batch}, {"world-size", &s->world}};

	for (size_t i = 0; i < sizeof(degrees) / sizeof(degrees[0]); i++)
		if (strcmp(degrees[i].name, option) == 0)
			return degrees[i].degree;
	return NULL;
}

/* Experts that nobody told of are no reason to propose EP 1. */
static bool
is_untold(const struct grid_rule *rule, const struct model *model)
{
	return model && model->partial && rule->holds == experts_there_holds;
}

/* Rules that are broken with the option changed; what follows from it is derived anew. */
int
degree_breaks(
    const struct strategy *s, const struct model *model, const char *option, int64_t value)
{
	struct strategy changed = *s;
	int64_t *degree = degree_of(&changed, option);
	int broken = 0;

	if (degree == &changed.tp && s->etp == s->tp)
		changed.etp = value;
	*degree = value;
	changed.dp = changed.edp = 0;
	if (s->framework == FRAMEWORK_TORCHTITAN)
		changed.dp_shard = 0;
	strategy_derive(&changed, model, changed.world);
	for (const struct grid_rule *rule = grid_rules; rule->id; rule++)
		broken += rule->frameworks & 1U << s->framework && !is_untold(rule, model) &&
			  !rule->holds(&changed, model);
	return broken;
}

/* Values from first to last, each step, that divide a number (0: all of them). */
struct candidates {
	int64_t first, last, step, divide;
};

/*
 * The nearest below and above `value` of those that break the fewest rules, 0 for none; how many
 * rules those are.
 */
static int
find_nearest(const struct strategy *s, const struct model *model, const char *option,
    int64_t value, const struct candidates *candidates, int64_t nearest[2])
{
	int fewest = INT_MAX;

	nearest[0] = nearest[1] = 0;
	for (int64_t c = candidates->first; c <= candidates->last; c += candidates->step) {
		int broken;

		if (c == value || (candidates->divide > 0 && candidates->divide % c != 0))
			continue;
		broken = degree_breaks(s, model, option, c);
		if (broken > fewest)
			continue;
		if (broken < fewest)
			nearest[0] = nearest[1] = 0;
		fewest = broken;
		if (c < value)
			nearest[0] = c;
		else if (nearest[1] == 0)
			nearest[1] = c;
	}
	return fewest;
}

static void
hint_nearest(struct diags *diags, const char *option, const int64_t nearest[2])
{
	if (nearest[0] > 0 && nearest[1] > 0)
		diag_last_hint(diags, "use --%s %lld or %lld", option, (long long)nearest[0],
		    (long long)nearest[1]);
	else if (nearest[0] > 0 || nearest[1] > 0)
		diag_last_hint(
		    diags, "use --%s %lld", option, (long long)(nearest[0] + nearest[1]));
}

int
divisors_break(const struct strategy *s, const struct model *model, const char *option,
    int64_t number, int64_t value)
{
	struct candidates divisors = {1, 4 * value, 1, number};
	int64_t nearest[2];

	if (number < 1 || value < 1 || value > GRID_MAX_DEGREE)
		return INT_MAX;
	return find_nearest(s, model, option, value, &divisors, nearest);
}

void
hint_divisors(struct diags *diags, const struct strategy *s, const struct model *model,
    const char *option, int64_t number, int64_t value)
{
	struct candidates divisors = {1, 4 * value, 1, number};
	int64_t nearest[2];

	if (number < 1 || value < 1 || value > GRID_MAX_DEGREE)
		return;
	find_nearest(s, model, option, value, &divisors, nearest);
	hint_nearest(diags, option, nearest);
}

/* Rounds of interleaved schedules are PP micro-batches: one of so many multiples is whole. */
void
hint_multiples(struct diags *diags, const struct strategy *s, const struct model *model,
    const char *option, int64_t factor, int64_t value)
{
	int64_t reach, nearest[2];
	struct candidates multiples = {.step = factor};

	if (factor < 1 || factor > GRID_MAX_DEGREE || value < 1 || value > INT64_MAX / 2)
		return;
	reach = 2 * factor * (s->pp < STRATEGY_MAX_PP ? s->pp : STRATEGY_MAX_PP);
	multiples.first = value > reach ? (value - reach) / factor * factor : 0;
	multiples.first = multiples.first > 0 ? multiples.first : factor;
	multiples.last = value + reach;
	find_nearest(s, model, option, value, &multiples, nearest);
	hint_nearest(diags, option, nearest);
}

static bool
ranks_fit(const struct strategy *s, const struct model *model, int64_t world)
{
	struct strategy changed = *s;

	changed.world = world;
	changed.dp = changed.edp = 0;
	if (s->framework == FRAMEWORK_TORCHTITAN)
		changed.dp_shard = 0;
	strategy_derive(&changed, model, world);
	for (const struct grid_rule *rule = grid_rules; rule->id; rule++)
		if (rule->frameworks & RANKS && rule->frameworks & 1U << s->framework &&
		    !rule->holds(&changed, model))
			return false;
	return true;
}

void
strategy_near_worlds(
    const struct strategy *s, const struct model *model, int64_t step, int64_t worlds[2])
{
	enum { REACH = 1024 }; /* multiples to try in each direction */
	int64_t below = s->world / step * step;

	worlds[0] = worlds[1] = 0;
	for (int i = 0; i < REACH && worlds[0] == 0 && below - i * step > 0; i++)
		if (ranks_fit(s, model, below - i * step))
			worlds[0] = below - i * step;
	for (int i = 1; i <= REACH && worlds[1] == 0; i++)
		if (ranks_fit(s, model, below + i * step))
			worlds[1] = below + i * step;
}
