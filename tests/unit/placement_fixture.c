/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "placement_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

#include "model/loads_spec.h"
#include "planner/placement_skew.h"

struct loads *
one_layer(const double *count, int experts)
{
	struct loads *loads = loads_new(arena, 1, 1, 1, experts);

	memcpy(loads->count, count, (size_t)experts * sizeof(double));
	return loads;
}

struct loads *
made_up(const char *text, uint64_t seed)
{
	struct loc nowhere = {NULL, 0, 0};
	struct loads_spec spec;

	loads_spec_init(&spec);
	cr_assert_eq(loads_spec_parse(arena, diags, nowhere, text, &spec), 0);
	return loads_generate(arena, &spec, seed);
}

struct placement_options
options_for(int gpus, int nodes, int slots, enum placement_goal goal)
{
	return (struct placement_options){.gpus = gpus,
	    .nodes = nodes,
	    .slots_per_gpu = slots,
	    .groups = 4,
	    .goal = goal,
	    .price = placement_price_default(nodes),
	    .capacity = 1.25};
}

const struct placement *
solve(const struct loads *loads, const struct placement_options *options)
{
	const struct placement *placement = placement_solve(arena, diags, loads, options);

	cr_assert_not_null(placement, "%s", diags->last ? diags->last->message : "");
	cr_assert_eq(placement_verify(placement, loads, options, diags), 0, "%s",
	    diags->last ? diags->last->message : "");
	return placement;
}
