/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The split of layers over stages, against all splits of small models. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "layout_cases.h"
#include "planner/partition.h"

static void
check_shape(const struct instance *in, const struct layout *layout)
{
	int chunks = in->costs.pp * in->costs.vpp;

	cr_assert_eq(layout->pp, in->costs.pp);
	cr_assert_eq(layout->vpp, in->costs.vpp);
	cr_assert_eq(layout->first[0], 0);
	cr_assert_eq(layout->first[chunks], in->model.layers);
	for (int c = 0; c < chunks; c++)
		cr_assert_geq(layout->first[c + 1] - layout->first[c], c > 0 && c < chunks - 1);
}

#define cr_assert_near(a, b)                                                                       \
	cr_assert(fabs((a) - (b)) <= 1e-8 * fabs(b), "%.12g is not %.12g", a, b)

Test(partition, one_chunk_a_stage_is_exact)
{
	uint64_t state = 1;
	int fit = 0;

	for (int i = 0; i < 2000; i++) {
		struct instance in;
		struct layout layout;
		int pp = 1 + (int)next_random(&state) % 5;
		int layers = pp + (int)next_random(&state) % 8;
		struct best best;
		struct partition_peak peak;
		bool fits;

		random_instance(&in, layers, pp, 1, &state);
		best = brute_force(&in);
		fits = partition_fast(&in.costs, &in.model, &layout);
		check_shape(&in, &layout);
		peak = partition_peak(&in.costs, &in.model, &layout);
		cr_assert_eq(fits, isfinite(best.time_s), "instance %d", i);
		fit += fits;
		if (fits) {
			cr_assert_near(peak.time_s, best.time_s);
			cr_assert_leq(peak.bytes, in.costs.capacity_bytes * (1 + 1e-8));
		} else {
			cr_assert_gt(peak.bytes, in.costs.capacity_bytes);
		}
		/* Of one kind, the second aim is exact as well. */
		if (in.costs.n_kinds == 1)
			cr_assert_near(peak.bytes, fits ? best.bytes_at_time : best.least_bytes);
	}
	cr_assert(fit > 500 && fit < 1900, "%d of 2000 fit", fit);
}

Test(partition, partly_recomputed_stages_are_exact)
{
	uint64_t state = 7;

	for (int i = 0; i < 1000; i++) {
		struct instance in;
		struct layout layout;
		int pp = 2 + (int)next_random(&state) % 3;
		struct best best;
		bool fits;

		random_instance(&in, pp + (int)next_random(&state) % 8, pp, 1, &state);
		in.costs.recomputed = i % 4 == 3 ? MODEL_MAX_LAYERS : 1 + i % 4;
		best = brute_force(&in);
		fits = partition_fast(&in.costs, &in.model, &layout);
		check_shape(&in, &layout);
		cr_assert_eq(fits, isfinite(best.time_s), "instance %d", i);
		if (fits)
			cr_assert_near(
			    partition_peak(&in.costs, &in.model, &layout).time_s, best.time_s);
	}
}

Test(partition, dynamic_programme_is_exact)
{
	struct arena *arena = arena_new(NULL, NULL);
	uint64_t state = 3;

	for (int i = 0; i < 1000; i++) {
		struct arena_mark mark = arena_mark(arena);
		struct instance in;
		struct layout layout;
		int pp = 1 + (int)next_random(&state) % 5;
		struct best best;
		double found;

		random_instance(&in, pp + (int)next_random(&state) % 8, pp, 1, &state);
		/* No assumption at all: the first layers may be dear to recompute, memory very
		 * tight. */
		in.costs.recomputed = (int)next_random(&state) % 4;
		in.costs.recompute_s[0] *= 10;
		in.costs.capacity_bytes *= uniform(&state, 0.3, 1.2);
		best = brute_force(&in);
		found = partition_exact(arena, &in.costs, &in.model, &layout);
		cr_assert_eq(isfinite(found), isfinite(best.time_s), "instance %d: %g, %g", i,
		    found, best.time_s);
		if (isfinite(found)) {
			check_shape(&in, &layout);
			cr_assert_near(found, best.time_s);
			cr_assert_near(partition_peak(&in.costs, &in.model, &layout).time_s, found);
		}
		arena_reset(arena, mark);
	}
	arena_free(arena);
}

/* With layers of one kind the descent ends at the best; with several it must be near and rarely
 * miss. */
Test(partition, several_chunks_a_stage_are_near_the_best)
{
	uint64_t state = 11;
	int missed = 0, fit = 0;
	double sum = 0;

	for (int i = 0; i < 1000; i++) {
		struct instance in;
		struct layout layout;
		int pp = 2 + (int)next_random(&state) % 2, vpp = 2 + (int)next_random(&state) % 2;
		struct best best;
		struct partition_peak peak;
		bool fits;

		random_instance(&in, pp * vpp + (int)next_random(&state) % 6, pp, vpp, &state);
		best = brute_force(&in);
		fits = partition_fast(&in.costs, &in.model, &layout);
		check_shape(&in, &layout);
		peak = partition_peak(&in.costs, &in.model, &layout);
		cr_assert(!fits || peak.bytes <= in.costs.capacity_bytes * (1 + 1e-8));
		cr_assert(!fits || isfinite(best.time_s));
		if (in.model.n_kinds == 1) {
			cr_assert_eq(fits, isfinite(best.time_s));
			cr_assert(!fits || peak.time_s <= best.time_s * (1 + 1e-8));
		}
		missed += !fits && isfinite(best.time_s);
		if (fits) {
			fit++;
			sum += peak.time_s / best.time_s;
		}
	}
	cr_assert(fit > 300);
	cr_assert_lt(missed, 50, "%d", missed);
	cr_assert_lt(sum / fit, 1.05, "%g", sum / fit);
}

/* DeepSeek-V3's 3 dense and 58 MoE layers on 16 stages with a head worth a layer. */
Test(partition, the_stage_with_most_micro_batches_holds_fewer_layers)
{
	struct instance in = {.model = {.layers = 61, .n_kinds = 2}};
	struct layout layout;
	struct partition_peak peak;

	for (int l = 3; l < 61; l++)
		in.model.kind_of[l] = 1;
	in.costs = (struct stage_costs){.pp = 16,
	    .vpp = 1,
	    .n_kinds = 2,
	    .layer_s = {1, 1},
	    .state_bytes = {1, 1},
	    .activation_bytes = {0.1, 0.1},
	    .capacity_bytes = 100};
	in.costs.fixed_s[15] = 1;
	for (int s = 0; s < 16; s++)
		in.costs.alive[s] = 16 - s;
	cr_assert(partition_fast(&in.costs, &in.model, &layout));
	peak = partition_peak(&in.costs, &in.model, &layout);
	cr_assert_near(peak.time_s, 4.0);
	/* 61 + 1 = 62 of 64 places: two stages hold 3, and they are the first ones. */
	cr_assert_eq(layout_stage_layers(&layout, 0), 3);
	cr_assert_eq(layout_stage_layers(&layout, 1), 3);
	cr_assert_eq(layout_stage_layers(&layout, 15), 3);
	cr_assert_near(peak.bytes, 4 + 4 * 0.1 * 14);
}

Test(partition, nothing_fits_gives_the_least_excess)
{
	struct instance in = {.model = {.layers = 8, .n_kinds = 1}};
	struct layout layout;

	in.costs = (struct stage_costs){.pp = 2,
	    .vpp = 1,
	    .n_kinds = 1,
	    .layer_s = {1},
	    .state_bytes = {10},
	    .capacity_bytes = 20};
	in.costs.fixed_bytes[0] = 30;
	cr_assert_not(partition_fast(&in.costs, &in.model, &layout));
	/* 30 + 2 * 10 against 6 * 10: 5 and 3 would be 60, 2 and 6 is 60, 3 and 5 is 60 too. */
	cr_assert_near(partition_peak(&in.costs, &in.model, &layout).bytes, 60.0);
}
