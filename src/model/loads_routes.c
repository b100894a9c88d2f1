/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a log of routes add up to? JSON lines, one object a line:
 *     {"layer": 3, "token_idx": 17, "topk_ids": [5, 60, 2], "topk_weights": [...]}
 * or with the ids of a batch, [token][k], or of all layers of a token, [layer][k]. Read in
 * one pass with memory for the sums alone: counts by layer and source, pairs that a
 * token picks together, and where a token goes from layer to layer.
 *
 * Serving engines log their warm-up too: one choice over and over (vLLM's profile run
 * puts 16,384 equal rows in front of the tokens). A choice that a layer shows WARM_UP_RUN
 * times in a row is taken for that; all rows of it are left out and counted.
 */
#include "model/loads_routes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/numeric.h"

enum {
	WARM_UP_RUN = 1000,
	MAX_WARM = 16,	 /* such choices a layer */
	LINKS = 1 << 18, /* tokens remembered on their way through the layers */
	STEP_EXPERTS = 64,
	LINK_MAX_K = 16, /* ids kept of each */
	MAX_ERRORS = 10,
};

/* Sums of one layer. Rows of `room` experts. */
struct route_layer {
	int64_t number;
	uint64_t **count;    /* [source], NULL until it is met */
	uint32_t *pairs;     /* [expert][expert], the smaller id first */
	uint32_t *next;	     /* [expert here][expert there] */
	int64_t next_number; /* the layer that tokens go to; -1: not met */
	uint64_t last;	     /* the row before: its hash, how often in a row */
	int64_t run;
	int run_from, run_linked; /* of the run: layer before, rows linked from the ids below */
	int run_k;		  /* -1: from different ones */
	uint16_t run_ids[LINK_MAX_K];
	int n_warm;
	uint64_t warm[MAX_WARM];
};

/* Where a token was last. */
struct link {
	uint64_t key; /* 0: nobody */
	int16_t layer, k;
	uint16_t ids[LINK_MAX_K];
};

struct routes {
	struct lines *lines;
	struct route_layer *layer[LOADS_MAX_LAYERS];
	int layers, recent;
	int experts, room;
	int sources, recent_source;
	const char *source[LOADS_MAX_SOURCES];
	enum loads_source kind;
	struct link *links;
	struct loads_account account;
	int top_k, errors;
};

/* --- sums --- */

static void
regrow(struct arena *arena, uint32_t **square, int old, int room)
{
	uint32_t *larger;

	if (!*square)
		return;
	larger = arena_array(arena, (size_t)room * (size_t)room, sizeof(uint32_t));
	for (int i = 0; i < old; i++)
		memcpy(larger + (size_t)i * (size_t)room, *square + (size_t)i * (size_t)old,
		    (size_t)old * sizeof(uint32_t));
	*square = larger;
}

/* More experts than there is room for: everything anew. Ids near the last come early, so it is
 * rare. */
static void
widen(struct routes *r, int experts)
{
	struct arena *arena = r->lines->arena;
	int old = r->room;

	r->room = (experts + STEP_EXPERTS - 1) / STEP_EXPERTS * STEP_EXPERTS;
	for (int l = 0; l < r->layers; l++) {
		struct route_layer *layer = r->layer[l];

		for (int s = 0; s < r->sources; s++)
			if (layer->count[s])
				layer->count[s] = arena_grow(arena, layer->count[s],
				    (size_t)old * sizeof(uint64_t),
				    (size_t)r->room * sizeof(uint64_t));
		if (r->room > LOADS_MAX_PAIR_EXPERTS)
			layer->pairs = layer->next = NULL;
		regrow(arena, &layer->pairs, old, r->room);
		regrow(arena, &layer->next, old, r->room);
	}
}

static int
route_error(struct routes *r, const char *message)
{
	r->errors++;
	return diag_error(r->lines->diags, lines_loc(r->lines, 0), "%s", message);
}

static int
find_layer(struct routes *r, int64_t number)
{
	struct route_layer *layer;

	for (int i = 0; i < 2 && r->layers > 0; i++) {
		int l = (r->recent + i) % r->layers;

		if (r->layer[l]->number == number)
			return r->recent = l;
	}
	for (int l = 0; l < r->layers; l++)
		if (r->layer[l]->number == number)
			return r->recent = l;
	if (r->layers == LOADS_MAX_LAYERS)
		return route_error(
		    r, arena_printf(r->lines->arena, "more than %d layers", LOADS_MAX_LAYERS));
	layer = arena_alloc(r->lines->arena, sizeof(*layer));
	layer->number = number;
	layer->next_number = -1;
	layer->count = arena_array(r->lines->arena, LOADS_MAX_SOURCES, sizeof(uint64_t *));
	r->layer[r->layers] = layer;
	return r->recent = r->layers++;
}

static bool
is_source(const struct routes *r, int s, const char *text, size_t length)
{
	return strncmp(r->source[s], text, length) == 0 && r->source[s][length] == '\0';
}

static int
find_source(struct routes *r, const char *text, size_t length)
{
	if (r->sources > 0 && is_source(r, r->recent_source, text, length))
		return r->recent_source;
	for (int s = 0; s < r->sources; s++)
		if (is_source(r, s, text, length))
			return r->recent_source = s;
	if (r->sources == LOADS_MAX_SOURCES)
		return route_error(
		    r, arena_printf(r->lines->arena, "more than %d sources", LOADS_MAX_SOURCES));
	r->source[r->sources] = arena_strndup(r->lines->arena, text, length);
	return r->recent_source = r->sources++;
}

static uint32_t *
square_of(struct routes *r, uint32_t **square)
{
	if (!*square && r->room <= LOADS_MAX_PAIR_EXPERTS)
		*square = arena_array(
		    r->lines->arena, (size_t)r->room * (size_t)r->room, sizeof(uint32_t));
	return *square;
}

/* Adds `times` choices to the sums of a layer, or takes them away again. */
static void
add_choice(
    struct routes *r, struct route_layer *layer, int source, const struct choice *c, int64_t times)
{
	uint32_t *pairs = c->k > 1 ? square_of(r, &layer->pairs) : NULL;

	if (!layer->count[source])
		layer->count[source] =
		    arena_array(r->lines->arena, (size_t)r->room, sizeof(uint64_t));
	for (int i = 0; i < c->k; i++) {
		layer->count[source][c->ids[i]] += (uint64_t)times;
		for (int j = i + 1; j < c->k && pairs; j++) {
			int low = c->ids[i] < c->ids[j] ? c->ids[i] : c->ids[j];
			int high = c->ids[i] + c->ids[j] - low;

			pairs[(size_t)low * (size_t)r->room + (size_t)high] += (uint32_t)times;
		}
	}
}

/* --- warm-up --- */

static uint64_t
mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

static uint64_t
hash_choice(const struct choice *c, int source)
{
	uint64_t hash = mix((uint64_t)c->k + 1, (uint64_t)source);

	for (int i = 0; i < c->k; i++)
		hash = mix(hash, (uint64_t)c->ids[i]);
	for (size_t i = 0; i < c->weights_length; i++)
		hash = mix(hash, (unsigned char)c->weights[i]);
	return hash;
}

/* The steps to this layer that rows of the run were linked by, all from the same ids. */
static void
take_links_back(struct routes *r, struct route_layer *layer, const struct choice *c)
{
	uint32_t *next = layer->run_k > 0 ? r->layer[layer->run_from]->next : NULL;

	for (int i = 0; i < layer->run_k && next; i++)
		for (int j = 0; j < c->k; j++)
			next[(size_t)layer->run_ids[i] * (size_t)r->room + (size_t)c->ids[j]] -=
			    (uint32_t)layer->run_linked;
	if (next)
		r->account.linked -= layer->run_linked;
}

/* True when the row is warm-up; then what was counted of its run is taken back once. */
static bool
is_warm_up(struct routes *r, struct route_layer *layer, int source, const struct choice *c)
{
	uint64_t hash = hash_choice(c, source);

	for (int i = 0; i < layer->n_warm; i++)
		/* Without weights an equal choice later on may well be a token's. */
		if (layer->warm[i] == hash && (c->weights_length > 0 || layer->last == hash)) {
			r->account.warm_up_rows++;
			return true;
		}
	if (hash != layer->last)
		layer->run = layer->run_linked = layer->run_k = 0;
	layer->run++;
	layer->last = hash;
	if (layer->run < WARM_UP_RUN || layer->n_warm == MAX_WARM)
		return false;
	layer->warm[layer->n_warm++] = hash;
	add_choice(r, layer, source, c, -(layer->run - 1));
	take_links_back(r, layer, c);
	r->account.rows -= layer->run - 1;
	r->account.warm_up_rows += layer->run;
	return true;
}

/* --- tokens through the layers --- */

/* Remembers what the rows of a run are linked from, as long as that is always the same. */
static void
note_run(struct route_layer *layer, int from, const uint16_t *ids, int k)
{
	size_t size = (size_t)k * sizeof(*ids);

	if (layer->run_linked == 0) {
		layer->run_from = from;
		layer->run_k = k;
		memcpy(layer->run_ids, ids, size);
	} else if (layer->run_from != from || layer->run_k != k ||
		   memcmp(layer->run_ids, ids, size) != 0) {
		layer->run_k = -1;
	}
	layer->run_linked++;
}

static void
link_choice(struct routes *r, int from, int to, const uint16_t *ids, int k, const struct choice *c)
{
	struct route_layer *layer = r->layer[from];
	uint32_t *next;

	if (layer->next_number < 0)
		layer->next_number = r->layer[to]->number;
	next = layer->next_number == r->layer[to]->number ? square_of(r, &layer->next) : NULL;
	if (!next)
		return;
	for (int i = 0; i < k; i++)
		for (int j = 0; j < c->k; j++)
			next[(size_t)ids[i] * (size_t)r->room + (size_t)c->ids[j]]++;
	note_run(r->layer[to], from, ids, k);
	r->account.linked++;
}

/* The token's choice in the layer before, if it is still remembered; this one takes its place. */
static void
follow_token(struct routes *r, int layer, uint64_t key, const struct choice *c)
{
	struct link *link;

	if (key == 0)
		return;
	if (!r->links)
		r->links = arena_array(r->lines->arena, LINKS, sizeof(*r->links));
	link = &r->links[key % LINKS];
	if (link->key == key && r->layer[link->layer]->number < r->layer[layer]->number)
		link_choice(r, link->layer, layer, link->ids, link->k, c);
	link->key = c->k <= LINK_MAX_K ? key : 0;
	link->layer = (int16_t)layer;
	link->k = (int16_t)c->k;
	for (int i = 0; i < c->k && link->key; i++)
		link->ids[i] = (uint16_t)c->ids[i];
}

static void
forget_token(struct routes *r, uint64_t key)
{
	if (r->links && r->links[key % LINKS].key == key)
		r->links[key % LINKS].key = 0;
}

/* --- rows --- */

static int
check_choice(struct routes *r, const struct choice *c)
{
	struct arena *arena = r->lines->arena;

	for (int i = 0; i < c->k; i++) {
		if (c->ids[i] < 0 || c->ids[i] >= LOADS_MAX_EXPERTS)
			return route_error(r, arena_printf(arena, "expert %d: allowed are 0 to %d",
						  c->ids[i], LOADS_MAX_EXPERTS - 1));
		for (int j = 0; j < i; j++)
			if (c->ids[j] == c->ids[i])
				return route_error(
				    r, arena_printf(arena, "expert %d is picked twice by one token",
					   c->ids[i]));
		if (c->ids[i] >= r->experts)
			r->experts = c->ids[i] + 1;
	}
	if (r->experts > r->room)
		widen(r, r->experts);
	return 0;
}

static int
take_choice(struct routes *r, int64_t number, int source, uint64_t key, const struct choice *c)
{
	int layer;

	if (c->k == 0)
		return 0;
	if (check_choice(r, c) != 0 || (layer = find_layer(r, number)) < 0)
		return -1;
	r->top_k = c->k > r->top_k ? c->k : r->top_k;
	if (is_warm_up(r, r->layer[layer], source, c)) {
		forget_token(r, key);
		return 0;
	}
	add_choice(r, r->layer[layer], source, c, 1);
	follow_token(r, layer, key, c);
	r->account.rows++;
	return 0;
}

/* A token of a request, or of a batch: 0 when the log does not say which. */
static uint64_t
token_key(const struct route *route, int64_t index)
{
	uint64_t key = 0x5bd1e995;

	if (!route->has_token && index < 0)
		return 0;
	for (size_t i = 0; i < route->request_length; i++)
		key = mix(key, (unsigned char)route->request[i]);
	key = mix(key, (uint64_t)(route->has_token ? route->token : 0));
	key = mix(key, (uint64_t)index + 2);
	return key ? key : 1;
}

static int
take_route(struct routes *r, struct route *route)
{
	struct choice choice;
	int64_t index = 0;
	int source = find_source(r, route->source, route->source_length);

	if (source < 0)
		return -1;
	if (route->is_domain)
		r->kind = LOADS_DOMAINS;
	if (!route->nested) {
		if (!route->has_layer)
			return route_error(r, "the row has no layer");
		if (route_choice(route, &choice) != 0)
			return route_error(r, "the row's experts are no list of integers");
		return take_choice(r, route->layer, source, token_key(route, -1), &choice);
	}
	for (;; index++) {
		int more = route_next_choice(route, &choice);

		if (more <= 0)
			return more == 0
				   ? 0
				   : route_error(r, "the row's experts are no lists of integers");
		/* [token][k] of one layer, or [layer][k] of one token. */
		if (take_choice(r, route->has_layer ? route->layer : index, source,
			route->has_layer ? token_key(route, index) : token_key(route, -2),
			&choice) != 0)
			return -1;
	}
}

/* --- the result --- */

static int
compare_layers(const void *a, const void *b)
{
	const struct route_layer *x = *(struct route_layer *const *)a;
	const struct route_layer *y = *(struct route_layer *const *)b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Counters become floats where they stand, `experts` to a row instead of `room`. */
static float *
floats_of(uint32_t *square, int room, int experts, bool symmetric)
{
	float *to = (float *)(void *)square;

	if (!square)
		return NULL;
	for (int i = 0; i < experts; i++)
		for (int j = 0; j < experts; j++) {
			uint32_t value = square[(size_t)i * (size_t)room + (size_t)j];
			float number = (float)value;

			memcpy(
			    &to[(size_t)i * (size_t)experts + (size_t)j], &number, sizeof(number));
		}
	for (int i = 0; i < experts && symmetric; i++)
		for (int j = 0; j < i; j++)
			to[i * experts + j] = to[j * experts + i];
	return to;
}

static void
fill_layer(struct routes *r, struct loads *loads, int l)
{
	struct route_layer *layer = r->layer[l];

	loads->number[l] = layer->number;
	for (int s = 0; s < loads->sources; s++) {
		double *count = loads->count + ((size_t)l * (size_t)loads->sources + (size_t)s) *
						   (size_t)loads->experts;

		for (int e = 0; e < loads->experts && layer->count[s]; e++)
			count[e] = (double)layer->count[s][e];
	}
	loads->pairs[l] = floats_of(layer->pairs, r->room, r->experts, true);
	if (l + 1 < r->layers && layer->next_number == r->layer[l + 1]->number)
		loads->next[l] = floats_of(layer->next, r->room, r->experts, false);
}

static struct loads *
finish(struct routes *r)
{
	struct lines *lines = r->lines;
	struct loc loc = {lines->name, 0, 0};
	struct loads *loads;

	if (r->account.rows <= 0) {
		diag_error(lines->diags, loc, "'%s' holds no routes%s", lines->name,
		    r->account.warm_up_rows > 0 ? " beside those of the warm-up" : "");
		return NULL;
	}
	if (loads_check_experts(lines->diags, loc, r->experts) != 0)
		return NULL;
	if ((double)r->layers * r->sources * r->experts > LOADS_MAX_CELLS) {
		diag_error(lines->diags, loc, "more than %d counts", LOADS_MAX_CELLS);
		return NULL;
	}
	qsort(r->layer, (size_t)r->layers, sizeof(struct route_layer *), compare_layers);
	loads = loads_new(lines->arena, r->layers, 1, r->sources, r->experts);
	loads->name = lines->name;
	loads->kind = r->sources > 1 ? r->kind : LOADS_WHOLE;
	loads->top_k = r->top_k;
	loads->account = r->account;
	loads->account.format = "routes";
	for (int s = 0; s < r->sources; s++)
		loads->source_names[s] = r->source[s];
	for (int l = 0; l < r->layers; l++)
		fill_layer(r, loads, l);
	return loads;
}

static int
check_layer_tokens(struct routes *r, const struct loads *loads)
{
	struct loc loc = {r->lines->name, 0, 0};
	int wrong = 0;

	for (int l = 0; l < loads->layers; l++) {
		double sum = 0;

		for (int s = 0; s < loads->sources; s++)
			for (int e = 0; e < loads->experts; e++)
				sum += loads_row(loads, l, 0, s)[e];
		if (sum <= 0)
			wrong = diag_error(r->lines->diags, loc, "layer %lld has no tokens",
			    (long long)loads->number[l]);
	}
	return wrong;
}

static bool
is_blank(const char *line)
{
	return line[strspn(line, " \t")] == '\0';
}

struct loads *
loads_routes_read(struct lines *lines)
{
	struct routes *r = arena_alloc(lines->arena, sizeof(*r));
	struct loads *loads;
	size_t length;
	char *line;

	r->lines = lines;
	r->room = STEP_EXPERTS;
	r->kind = LOADS_NODES;
	while (r->errors < MAX_ERRORS && (line = lines_next(lines, &length)) != NULL) {
		struct route route;
		int kind = is_blank(line) ? 0 : route_parse(line, length, &route);

		if (kind > 0)
			take_route(r, &route);
		else if (kind < 0 && lines->last_lf)
			route_error(r, "the line is no JSON object");
		else if (kind < 0)
			r->account.skipped++; /* a log that is still being written */
	}
	if (r->errors > 0 || lines->failed)
		return NULL;
	loads = finish(r);
	return loads && check_layer_tokens(r, loads) == 0 ? loads : NULL;
}
