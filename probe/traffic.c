/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How popular is each expert, and which slots hold it?
 *
 * Popularity is uniform, Zipf (1/rank^s, ranks shuffled by layer), log-normal with a given
 * coefficient of variation, or the counts of a file, all its snapshots and sources added up. A
 * file's layers are taken by number where it has the layer's, else in turn.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "probe/shape.h"
#include "probe/traffic.h"

static const struct loc nowhere = {"--load-skew", 0, 0};

static int
read_named(const char *text, struct skew *skew)
{
	static const struct {
		const char *name;
		int kind;
		bool valued;
	} words[] = {{"balanced", SKEW_UNIFORM, false}, {"one", SKEW_ONE, false},
	    {"zipf=", SKEW_BY_ZIPF, true}, {"cv=", SKEW_BY_CV, true}};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(words[i].name);
		bool whole = strcmp(text, words[i].name) == 0;

		skew->kind = words[i].kind;
		if (!words[i].valued && whole)
			return 0;
		if (words[i].valued && strncmp(text, words[i].name, length) == 0)
			return units_parse_number(text + length, &skew->value) &&
				       skew->value >= 0 && skew->value <= 10
				   ? 0
				   : -1;
	}
	return 1;
}

int
skew_read(struct arena *arena, struct diags *diags, const char *load, const char *placement,
    struct skew *skew)
{
	int named;

	memset(skew, 0, sizeof(*skew));
	named = read_named(load, skew);
	if (named > 0 && (strchr(load, '.') || strchr(load, '/'))) {
		skew->kind = SKEW_BY_LOADS;
		skew->loads = loads_read(arena, diags, load);
		if (!skew->loads)
			return -1;
	} else if (named != 0) {
		return diag_error(diags, nowhere,
		    "'%s' is no load: balanced, zipf=S, cv=C (0 to 10), one or a file of loads are "
		    "wanted",
		    load);
	}
	if (!placement)
		return 0;
	skew->placement = expert_map_read(arena, diags, placement);
	return skew->placement ? 0 : -1;
}

/* --- does it fit? ------------------------------------------------------------------------- */

static int
check_rank(const struct expert_map *map, int row, int64_t first, int64_t n, int64_t experts,
    bool *there, struct diags *diags)
{
	const int *slots = map->expert + (int64_t)row * map->slots;
	struct loc loc = {map->name, 0, 0};
	int64_t i, j;

	for (i = first; i < first + n; i++) {
		if (slots[i] >= experts)
			return diag_error(diags, loc,
			    "slot %lld holds expert %d, the model's are 0 to %lld", (long long)i,
			    slots[i], (long long)experts - 1);
		for (j = first; j < i; j++)
			if (slots[j] == slots[i])
				return diag_error(diags, loc,
				    "expert %d is twice on expert-parallel rank %lld", slots[i],
				    (long long)(first / n));
		there[slots[i]] = true;
	}
	return 0;
}

static int
check_placement(const struct expert_map *map, int64_t experts, int64_t ep, struct diags *diags)
{
	struct loc loc = {map->name, 0, 0};
	int64_t each = map->slots / ep, first, e;
	int row;

	if (map->slots % ep != 0)
		return diag_error(diags, loc, "%d slots cannot be shared by EP %lld ranks",
		    map->slots, (long long)ep);
	for (row = 0; row < map->layers; row++) {
		bool there[LOADS_MAX_EXPERTS] = {false};

		for (first = 0; first < map->slots; first += each)
			if (check_rank(map, row, first, each, experts, there, diags) != 0)
				return -1;
		for (e = 0; e < experts; e++)
			if (!there[e])
				return diag_error(diags, loc,
				    "no slot of layer %lld holds expert %lld",
				    (long long)map->number[row], (long long)e);
	}
	return 0;
}

static int
check_experts(
    const struct skew *skew, int64_t experts, const struct strategy *s, struct diags *diags)
{
	struct loc loc = {skew->loads ? skew->loads->name : NULL, 0, 0};

	if (experts == 0)
		return 0;
	if (skew->loads && skew->loads->experts != experts)
		return diag_error(diags, loc, "loads of %d experts, the model has %lld",
		    skew->loads->experts, (long long)experts);
	if (experts > LOADS_MAX_EXPERTS)
		return diag_error(diags, loc, "a placement has at most %d experts, the model %lld",
		    LOADS_MAX_EXPERTS, (long long)experts);
	return skew->placement ? check_placement(skew->placement, experts, s->ep, diags) : 0;
}

int
skew_check(const struct skew *skew, const struct model *model, const struct strategy *strategy,
    struct diags *diags)
{
	int kind;

	if (!skew_numbers_experts(skew))
		return 0;
	for (kind = 0; kind < model->n_kinds; kind++)
		if (check_experts(skew, model->kinds[kind].ffn.experts, strategy, diags) != 0)
			return -1;
	return model->mtp_layers ? check_experts(skew, model->mtp.ffn.experts, strategy, diags) : 0;
}

bool
skew_numbers_experts(const struct skew *skew)
{
	return skew->loads || skew->placement;
}

/* --- values ------------------------------------------------------------------------------- */

static int
row_of_layer(const int64_t *number, int layers, int64_t layer)
{
	int row;

	for (row = 0; row < layers; row++)
		if (number[row] == layer)
			return row;
	return (int)(layer % layers);
}

enum { DRAW_WEIGHT = 102 };

static double
weight_of(const struct skew *skew, int64_t layer, int64_t experts, int64_t e)
{
	int64_t rank = (e * 5 + layer * 7) % experts; /* hot experts elsewhere in each layer */
	double sigma, u, v;

	if (skew->kind == SKEW_BY_ZIPF)
		return pow((double)rank + 1, -skew->value);
	if (skew->kind != SKEW_BY_CV)
		return 1;
	sigma = sqrt(log(1 + skew->value * skew->value));
	u = random_share(DRAW_WEIGHT, (uint64_t)layer, (uint64_t)e, 0) + 1e-12;
	v = random_share(DRAW_WEIGHT, (uint64_t)layer, (uint64_t)e, 1);
	return exp(sigma * sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

void
skew_popularity(const struct skew *skew, int64_t layer, int64_t experts, double *cumulative)
{
	double sum = 0;
	int64_t e;

	if (skew->kind == SKEW_BY_LOADS)
		loads_total(skew->loads,
		    row_of_layer(skew->loads->number, skew->loads->layers, layer), cumulative);
	for (e = 0; e < experts; e++) {
		sum += skew->kind == SKEW_BY_LOADS ? cumulative[e]
						   : weight_of(skew, layer, experts, e);
		cumulative[e] = sum;
	}
	for (e = 0; e < experts; e++) /* a layer without counts is balanced */
		cumulative[e] = sum > 0 ? cumulative[e] / sum : (double)(e + 1) / (double)experts;
}

const int *
skew_slots(const struct expert_map *placement, int64_t layer)
{
	if (!placement)
		return NULL;
	return placement->expert +
	       (int64_t)row_of_layer(placement->number, placement->layers, layer) *
		   placement->slots;
}
