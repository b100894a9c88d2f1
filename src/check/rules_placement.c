/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How do experts lie on GPUs, and how much was sharded in a measured series?
 *
 * placement: expert of each slot, slots of a GPU side by side. Copies of an
 * expert share its load equally. The best load for two slots a GPU: every way to
 * give the free slots to experts, the largest copy beside the smallest (optimal
 * for pairs, Graham 1969); with node groups, every split of groups over two nodes.
 * It ignores that copies of one expert should not share a GPU, so it is a lower
 * bound then. Without copies: every way to share experts out, as many a GPU.
 */
#include <string.h>

#include "base/arena.h"
#include "check/context.h"

enum { MAX_EXPERTS = 1024, MAX_SLOTS = 4096, MOST_WAYS = 20000, SEARCHED = 64 };

static bool
is_integer_list(const struct value *list, int64_t below)
{
	if (list->kind != VALUE_LIST || list->count == 0 || list->count > MAX_SLOTS)
		return false;
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].kind != VALUE_INT || list->items[i].integer < 0 ||
		    list->items[i].integer >= below)
			return false;
	return true;
}

/* placement_copies(placement): slots of each expert 0, 1, … up to the greatest. */
static struct value
call_copies(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct value *placement = &arguments[0];
	struct value *copies;
	size_t n = 0;

	(void)count;
	if (!is_integer_list(placement, MAX_EXPERTS))
		return value_undecided;
	for (size_t i = 0; i < placement->count; i++)
		if ((size_t)placement->items[i].integer >= n)
			n = (size_t)placement->items[i].integer + 1;
	copies = arena_array(scope->arena, n, sizeof(*copies));
	for (size_t e = 0; e < n; e++)
		copies[e] = value_int(0);
	for (size_t i = 0; i < placement->count; i++)
		copies[placement->items[i].integer].integer++;
	return value_list(copies, n);
}

/* placement_twins(placement, gpus): GPUs that hold an expert twice. */
static struct value
call_twins(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct value *placement = &arguments[0];
	size_t gpus = (size_t)arguments[1].integer, slots;
	int64_t twins = 0;

	(void)scope, (void)count;
	if (!is_integer_list(placement, MAX_EXPERTS) || arguments[1].kind != VALUE_INT ||
	    arguments[1].integer < 1 || placement->count % gpus != 0)
		return value_undecided;
	slots = placement->count / gpus;
	for (size_t g = 0; g < gpus; g++) {
		bool twice = false;

		for (size_t a = 0; a < slots; a++)
			for (size_t b = a + 1; b < slots; b++)
				twice = twice || placement->items[g * slots + a].integer ==
						     placement->items[g * slots + b].integer;
		twins += twice;
	}
	return value_int(twins);
}

/* placement_loads(load, placement, parts): load of each of so many equal runs of slots. */
static struct value
call_loads(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct value *load = &arguments[0], *placement = &arguments[1];
	struct value copies = call_copies(scope, placement, 1), *sums;
	size_t parts = (size_t)arguments[2].integer, slots;

	(void)count;
	if (copies.kind != VALUE_LIST || load->kind != VALUE_LIST || load->count < copies.count ||
	    arguments[2].kind != VALUE_INT || arguments[2].integer < 1 ||
	    placement->count % parts != 0)
		return value_undecided;
	slots = placement->count / parts;
	sums = arena_array(scope->arena, parts, sizeof(*sums));
	for (size_t p = 0; p < parts; p++) {
		double sum = 0;

		for (size_t s = 0; s < slots; s++) {
			int64_t e = placement->items[p * slots + s].integer;

			sum += value_as_number(&load->items[e]) / (double)copies.items[e].integer;
		}
		sums[p] = value_number(sum);
	}
	return value_list(sums, parts);
}

/* --- the best load for pairs of slots ------------------------------------------------------- */

struct pairing {
	int n; /* experts */
	double load[SEARCHED];
	int copies[SEARCHED];
	double best;
};

static void
sort_descending(double *values, int n)
{
	for (int i = 1; i < n; i++)
		for (int j = i; j > 0 && values[j] > values[j - 1]; j--) {
			double swap = values[j];

			values[j] = values[j - 1];
			values[j - 1] = swap;
		}
}

static void
score(struct pairing *p)
{
	double slots[2 * SEARCHED], worst = 0;
	int n = 0;

	for (int e = 0; e < p->n; e++)
		for (int c = 0; c < p->copies[e]; c++)
			slots[n++] = p->load[e] / p->copies[e];
	sort_descending(slots, n);
	for (int i = 0; i < n / 2; i++)
		if (slots[i] + slots[n - 1 - i] > worst)
			worst = slots[i] + slots[n - 1 - i];
	if (worst < p->best)
		p->best = worst;
}

/* Gives `extra` copies to experts from `from` on in every way, at most `most` copies of one. */
static void
spread(struct pairing *p, int from, int extra, int most)
{
	if (extra == 0) {
		score(p);
		return;
	}
	for (int e = from; e < p->n; e++) {
		if (p->copies[e] == most)
			continue;
		p->copies[e]++;
		spread(p, e, extra - 1, most);
		p->copies[e]--;
	}
}

/* Multisets of `extra` out of n; a number above the limit when it is more than that. */
static double
ways(int n, int extra)
{
	double result = 1;

	for (int i = 0; i < extra && result < 1e12; i++)
		result = result * (n + i) / (i + 1);
	return result;
}

static double
best_pairs(const double *load, int n, int slots, int gpus)
{
	struct pairing p = {.n = n, .best = 1e300};

	if (n > SEARCHED || slots > 2 * SEARCHED || slots < n || slots != 2 * gpus ||
	    ways(n, slots - n) > MOST_WAYS)
		return -1;
	memcpy(p.load, load, (size_t)n * sizeof(*load));
	for (int e = 0; e < n; e++)
		p.copies[e] = 1;
	spread(&p, 0, slots - n, gpus);
	return p.best;
}

static bool
read_loads(const struct value *list, double load[SEARCHED])
{
	if (list->kind != VALUE_LIST || list->count < 2 || list->count > SEARCHED)
		return false;
	for (size_t i = 0; i < list->count; i++) {
		if (!value_is_numeric(&list->items[i]))
			return false;
		load[i] = value_as_number(&list->items[i]);
	}
	return true;
}

/* Groups of experts in the half that `mask` names, and those of the other half, on two nodes. */
static double
best_split(const double *load, int n, int groups, int slots, int gpus, unsigned mask)
{
	double half[2][SEARCHED], first, second;
	int count[2] = {0, 0}, size = n / groups;

	for (int e = 0; e < n; e++) {
		int side = (int)(mask >> e / size & 1U);

		half[side][count[side]++] = load[e];
	}
	if (count[0] != count[1])
		return -1;
	first = best_pairs(half[0], count[0], slots / 2, gpus / 2);
	second = best_pairs(half[1], count[1], slots / 2, gpus / 2);
	return first < 0 || second < 0 ? -1 : first > second ? first : second;
}

static double
best_in_groups(const double *load, int n, int groups, int slots, int gpus)
{
	double best = -1;

	for (unsigned mask = 0; mask < 1U << groups; mask += 2) { /* group 0 on the first node */
		double worst = best_split(load, n, groups, slots, gpus, mask);

		if (worst >= 0 && (best < 0 || worst < best))
			best = worst;
	}
	return best;
}

/* best_placement(load, slots, gpus, nodes, groups): least load of the fullest GPU. */
static struct value
call_best(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	double load[SEARCHED], best;
	int64_t size[4];
	int n;

	(void)scope, (void)count;
	for (int i = 0; i < 4; i++) {
		if (arguments[i + 1].kind != VALUE_INT || arguments[i + 1].integer < 1 ||
		    arguments[i + 1].integer > MAX_SLOTS)
			return value_undecided;
		size[i] = arguments[i + 1].integer;
	}
	if (!read_loads(&arguments[0], load))
		return value_undecided;
	n = (int)arguments[0].count;
	if (size[2] == 1 || size[3] == 1)
		best = best_pairs(load, n, (int)size[0], (int)size[1]);
	else if (size[2] == 2 && size[3] <= 8 && n % size[3] == 0)
		best = best_in_groups(load, n, (int)size[3], (int)size[0], (int)size[1]);
	else
		return value_undecided;
	return best < 0 ? value_undecided : value_number(best);
}

/*
 * fit_state(gpus, memory): the sharded part S of M(n) = A + S/n, the median over
 * neighbours of (M1 - M2) / (1/n1 - 1/n2).
 */
static struct value
fits(const struct expr_scope *scope, const struct value *gpus, const struct value *memory)
{
	struct value *sums;

	if (gpus->kind != VALUE_LIST || memory->kind != VALUE_LIST || gpus->count < 2 ||
	    gpus->count != memory->count)
		return value_undecided;
	sums = arena_array(scope->arena, gpus->count, sizeof(*sums));
	for (size_t i = 0; i + 1 < gpus->count; i++) {
		double n1 = value_as_number(&gpus->items[i]);
		double n2 = value_as_number(&gpus->items[i + 1]);
		double drop =
		    value_as_number(&memory->items[i]) - value_as_number(&memory->items[i + 1]);

		sums[i] = value_number(drop / (1 / n1 - 1 / n2));
		if (sums[i].kind != VALUE_NUMBER)
			return value_undecided;
	}
	return value_list(sums, gpus->count - 1);
}

static struct value
call_fit_states(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)count;
	return fits(scope, &arguments[0], &arguments[1]);
}

static struct value
call_fit_state(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	struct value list = fits(scope, &arguments[0], &arguments[1]);
	double *values;
	int n;

	(void)count;
	if (list.kind != VALUE_LIST)
		return value_undecided;
	n = (int)list.count;
	values = arena_array(scope->arena, list.count, sizeof(*values));
	for (int i = 0; i < n; i++)
		values[i] = list.items[i].number;
	sort_descending(values, n);
	return value_number((values[(n - 1) / 2] + values[n / 2]) / 2);
}

/* gains(list, base): every item over the base, less one. */
static struct value
call_gains(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct value *list = &arguments[0];
	struct value *items;

	(void)count;
	if (list->kind != VALUE_LIST || !value_is_numeric(&arguments[1]))
		return value_undecided;
	items = arena_array(scope->arena, list->count, sizeof(*items));
	for (size_t i = 0; i < list->count; i++) {
		items[i] = value_number(
		    value_as_number(&list->items[i]) / value_as_number(&arguments[1]) - 1);
		if (items[i].kind != VALUE_NUMBER)
			return value_undecided;
	}
	return value_list(items, list->count);
}

/* sum_of(list): of decimals too. */
static struct value
call_sum_of(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	double sum = 0;

	(void)scope, (void)count;
	if (arguments[0].kind != VALUE_LIST)
		return value_undecided;
	for (size_t i = 0; i < arguments[0].count; i++)
		sum += value_as_number(&arguments[0].items[i]);
	return value_number(sum);
}

const struct expr_function placement_functions[] = {
    {"gains", 2, 2, false, call_gains},
    {"sum_of", 1, 1, false, call_sum_of},
    {"placement_copies", 1, 1, false, call_copies},
    {"placement_twins", 2, 2, false, call_twins},
    {"placement_loads", 3, 3, false, call_loads},
    {"best_placement", 5, 5, false, call_best},
    {"fit_state", 2, 2, false, call_fit_state},
    {"fit_states", 2, 2, false, call_fit_states},
    {.name = NULL},
};
