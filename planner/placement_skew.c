/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which loads look like a router's? Popularity p_e of an expert is
 *     lognormal: exp(sigma z)    zipf: rank^-s, ranks shuffled    power: u^(-1/(a-1))
 * (a density that falls like p^-a), times exp(affinity z) for each node, times
 * exp(drift z) for each snapshot; tokens are dealt in proportion and rounded to whole
 * counts. Public traces summed over domains have a coefficient of variation of 0.13 to
 * 0.6, those of one domain 0.3 to 1.0 (OLMoE, DeepSeek-MoE-16B, Qwen1.5-MoE counts of
 * MarmikChaudhari/moe-interp).
 */
#include "planner/placement_skew.h"

#include <math.h>

#include "base/arena.h"
#include "base/str.h"
#include "planner/placement_pack.h"

/* Standard normal: Box and Muller 1958. */
static double
normal(struct rng *rng)
{
	double radius = sqrt(-2 * log(rng_unit(rng)));

	return radius * cos(6.283185307179586 * rng_unit(rng));
}

static void
shuffle(struct rng *rng, double *value, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int j = rng_below(rng, i + 1);
		double swap = value[i];

		value[i] = value[j];
		value[j] = swap;
	}
}

static void
draw_popularity(struct rng *rng, const struct loads_spec *spec, double *popularity)
{
	int n = (int)spec->experts;

	for (int e = 0; e < n; e++)
		switch (spec->kind) {
		case POPULARITY_LOGNORMAL:
			popularity[e] = exp(spec->value * normal(rng));
			break;
		case POPULARITY_ZIPF:
			popularity[e] = pow(e + 1, -spec->value);
			break;
		case POPULARITY_POWER:
			popularity[e] = pow(rng_unit(rng), -1 / (spec->value - 1));
			break;
		}
	if (spec->kind == POPULARITY_ZIPF)
		shuffle(rng, popularity, n);
}

static void
deal_tokens(struct loads *loads, const struct loads_spec *spec, int layer, int snapshot,
    const double *share)
{
	double sum = 0, tokens = (double)spec->tokens * (double)spec->top_k;
	int cells = loads->sources * loads->experts;
	double *count =
	    loads->count +
	    ((size_t)layer * (size_t)loads->snapshots + (size_t)snapshot) * (size_t)cells;

	for (int i = 0; i < cells; i++)
		sum += share[i];
	for (int i = 0; i < cells; i++)
		count[i] = nearbyint(tokens * share[i] / sum);
}

static void
generate_layer(struct arena *scratch, struct loads *loads, const struct loads_spec *spec, int layer,
    struct rng *rng)
{
	struct arena_mark mark = arena_mark(scratch);
	size_t experts = (size_t)loads->experts;
	double *popularity = arena_array(scratch, experts, sizeof(double));
	double *base = arena_array(scratch, (size_t)loads->sources * experts, sizeof(double));
	double *share = arena_array(scratch, (size_t)loads->sources * experts, sizeof(double));

	draw_popularity(rng, spec, popularity);
	for (int s = 0; s < loads->sources; s++)
		for (size_t e = 0; e < experts; e++)
			base[(size_t)s * experts + e] =
			    popularity[e] * exp(spec->affinity * normal(rng));
	for (int t = 0; t < loads->snapshots; t++) {
		for (size_t e = 0; e < experts; e++) {
			double drift = t > 0 ? exp(spec->drift * normal(rng)) : 1;

			for (int s = 0; s < loads->sources; s++)
				share[(size_t)s * experts + e] =
				    base[(size_t)s * experts + e] * drift;
		}
		deal_tokens(loads, spec, layer, t, share);
	}
	arena_reset(scratch, mark);
}

struct loads *
loads_generate(struct arena *arena, const struct loads_spec *spec, uint64_t seed)
{
	struct loads *loads = loads_new(
	    arena, (int)spec->layers, (int)spec->snapshots, (int)spec->nodes, (int)spec->experts);
	struct rng rng = {seed};

	loads->name = "made-up loads";
	loads->kind = spec->nodes > 1 ? LOADS_NODES : LOADS_WHOLE;
	loads->top_k = spec->top_k;
	loads->account.format = "made up";
	loads->account.rows = spec->layers * spec->snapshots * spec->nodes;
	for (int s = 0; s < loads->sources; s++)
		loads->source_names[s] = arena_printf(arena, "%d", s);
	for (int l = 0; l < loads->layers; l++) {
		loads->number[l] = l + 1;
		generate_layer(arena, loads, spec, l, &rng);
	}
	return loads;
}
