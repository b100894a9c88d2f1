/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many tokens does each expert get? Decides what kind of file it is, puts rows
 * together that came in any order, and refuses what leaves a hole in the table.
 */
#include "model/loads.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "model/loads_private.h"

struct loads *
loads_new(struct arena *arena, int layers, int snapshots, int sources, int experts)
{
	struct loads *loads = arena_alloc(arena, sizeof(*loads));
	size_t rows = (size_t)layers * (size_t)snapshots * (size_t)sources;

	loads->layers = layers;
	loads->snapshots = snapshots;
	loads->sources = sources;
	loads->experts = experts;
	loads->number = arena_array(arena, (size_t)layers, sizeof(*loads->number));
	loads->source_names = arena_array(arena, (size_t)sources, sizeof(char *));
	loads->count = arena_array(arena, rows, (size_t)experts * sizeof(double));
	loads->pairs = arena_array(arena, (size_t)layers, sizeof(float *));
	loads->next = arena_array(arena, (size_t)layers, sizeof(float *));
	for (int l = 0; l < layers; l++)
		loads->number[l] = l;
	for (int s = 0; s < sources; s++)
		loads->source_names[s] = "";
	return loads;
}

const double *
loads_row(const struct loads *loads, int layer, int snapshot, int source)
{
	size_t row =
	    ((size_t)layer * (size_t)loads->snapshots + (size_t)snapshot) * (size_t)loads->sources +
	    (size_t)source;

	return loads->count + row * (size_t)loads->experts;
}

void
loads_total(const struct loads *loads, int layer, double *total)
{
	memset(total, 0, (size_t)loads->experts * sizeof(*total));
	for (int t = 0; t < loads->snapshots; t++)
		for (int s = 0; s < loads->sources; s++) {
			const double *row = loads_row(loads, layer, t, s);

			for (int e = 0; e < loads->experts; e++)
				total[e] += row[e];
		}
}

/* --- checks of values --- */

int
loads_check_count(struct diags *diags, struct loc loc, const char *what, double value)
{
	if (isnan(value))
		return diag_error(diags, loc, "%s is not a number (NaN)", what);
	if (value < 0)
		return diag_error(diags, loc, "%s is %g: a count is not negative", what, value);
	if (value > LOADS_MAX_COUNT)
		return diag_error(
		    diags, loc, "%s is %g, allowed is %g at most", what, value, LOADS_MAX_COUNT);
	return 0;
}

int
loads_check_experts(struct diags *diags, struct loc loc, int64_t experts)
{
	if (experts >= 2 && experts <= LOADS_MAX_EXPERTS)
		return 0;
	return diag_error(diags, loc, "%lld expert%s: allowed are 2 to %d", (long long)experts,
	    experts == 1 ? "" : "s", LOADS_MAX_EXPERTS);
}

/* --- rows --- */

void
builder_init(struct loads_builder *b, struct arena *arena, struct diags *diags, const char *name,
    int experts)
{
	memset(b, 0, sizeof(*b));
	b->arena = arena;
	b->diags = diags;
	b->name = name;
	b->experts = experts;
	b->last = &b->first;
}

/* Rows of one label come together, so the label met last and its successor are tried first. */
static bool
find_label(struct loads_labels *labels, const char *text)
{
	struct loads_label *label = labels->recent;
	int index = labels->recent_index;

	for (int i = 0; i < 2 && label; i++, index++, label = label->next)
		if (strcmp(label->text, text) == 0)
			break;
	if (!label || strcmp(label->text, text) != 0)
		for (index = 0, label = labels->first; label; label = label->next, index++)
			if (strcmp(label->text, text) == 0)
				break;
	if (label) {
		labels->recent = label;
		labels->recent_index = index;
	}
	return label != NULL;
}

static int
label_index(struct loads_builder *b, struct loads_labels *labels, const char *text)
{
	struct loads_label *label;

	if (find_label(labels, text))
		return labels->recent_index;
	label = arena_alloc(b->arena, sizeof(*label));
	label->text = arena_strdup(b->arena, text);
	if (labels->last)
		labels->last->next = label;
	else
		labels->first = label;
	labels->last = labels->recent = label;
	labels->recent_index = labels->count++;
	return labels->recent_index;
}

static int
check_labels(struct loads_builder *b, struct loc loc)
{
	const struct {
		const char *what;
		int count, most;
	} rows[] = {
	    {"layers", b->layers.count, LOADS_MAX_LAYERS},
	    {"snapshots", b->snapshots.count, LOADS_MAX_SNAPSHOTS},
	    {"sources", b->sources.count, LOADS_MAX_SOURCES},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].count > rows[i].most)
			return diag_error(
			    b->diags, loc, "more than %d %s", rows[i].most, rows[i].what);
	if (b->cells > LOADS_MAX_CELLS)
		return diag_error(b->diags, loc, "more than %d counts", LOADS_MAX_CELLS);
	return 0;
}

/* The row of the same place that was given before, its counts raised; NULL when there is none. */
static struct loads_cell_row *
add_to_row(struct loads_builder *b, struct loads_cell_row *row, const double *count)
{
	int place = (row->layer * 31 + row->snapshot) * 31 + row->source;
	struct loads_cell_row **bucket = &b->bucket[place % LOADS_BUCKETS], *same = *bucket;

	while (same && (same->layer != row->layer || same->snapshot != row->snapshot ||
			   same->source != row->source))
		same = same->chain;
	for (int e = 0; same && e < b->experts; e++)
		same->count[e] += count[e];
	if (!same) {
		row->chain = *bucket;
		*bucket = row;
	}
	return same;
}

int
builder_row(struct loads_builder *b, struct loc loc, int64_t layer, const char *snapshot,
    const char *source, const double *count)
{
	struct arena_mark mark = arena_mark(b->arena);
	struct loads_cell_row *row = arena_alloc(b->arena, sizeof(*row));

	row->layer = label_index(b, &b->layers, arena_printf(b->arena, "%lld", (long long)layer));
	row->snapshot = label_index(b, &b->snapshots, snapshot);
	row->source = label_index(b, &b->sources, source);
	row->loc = loc;
	if (b->adds_up && add_to_row(b, row, count)) {
		arena_reset(b->arena, mark); /* labels of a known place were not new either */
		return 0;
	}
	b->cells += b->experts;
	if (check_labels(b, loc) != 0)
		return -1;
	row->count = arena_array(b->arena, (size_t)b->experts, sizeof(double));
	memcpy(row->count, count, (size_t)b->experts * sizeof(double));
	*b->last = row;
	b->last = &row->next;
	return 0;
}

static int
compare_numbers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Layers in the order of their numbers; rank[i]: where the i-th label goes. */
static void
order_layers(struct loads_builder *b, struct loads *loads, int *rank)
{
	int64_t *numbers = arena_array(b->arena, (size_t)loads->layers, sizeof(*numbers));
	int i = 0;

	for (const struct loads_label *label = b->layers.first; label; label = label->next, i++)
		numbers[i] = loads->number[i] = strtoll(label->text, NULL, 10);
	qsort(loads->number, (size_t)loads->layers, sizeof(*loads->number), compare_numbers);
	for (i = 0; i < loads->layers; i++)
		for (int l = 0; l < loads->layers; l++)
			if (loads->number[l] == numbers[i])
				rank[i] = l;
}

static const char *
place_text(struct loads_builder *b, const struct loads *loads, int layer, const char *snapshot,
    const char *source)
{
	const char *text = arena_printf(b->arena, "layer %lld", (long long)loads->number[layer]);

	if (snapshot[0])
		text = arena_printf(b->arena, "%s, snapshot '%.40s'", text, snapshot);
	if (source[0])
		text = arena_printf(b->arena, "%s, %s '%.40s'", text,
		    b->kind == LOADS_DOMAINS ? "domain" : "node", source);
	return text;
}

static const char *
label_at(const struct loads_labels *labels, int index)
{
	const struct loads_label *label = labels->first;

	while (label && index-- > 0)
		label = label->next;
	assert(label); /* the index was counted in this list */
	return label->text;
}

enum { MAX_MESSAGES = 10 };

static int
fill_table(struct loads_builder *b, struct loads *loads, const int *rank)
{
	int cells = loads->snapshots * loads->sources, wrong = 0;
	struct loads_cell_row **there =
	    arena_array(b->arena, (size_t)(loads->layers * cells), sizeof(struct loads_cell_row *));

	for (struct loads_cell_row *row = b->first; row; row = row->next) {
		int layer = rank[row->layer];
		int at = layer * cells + row->snapshot * loads->sources + row->source;
		double *count = loads->count + (size_t)at * (size_t)loads->experts;

		if (there[at] && !b->adds_up && wrong++ < MAX_MESSAGES)
			diag_error(b->diags, row->loc, "%s was already given in line %d",
			    place_text(b, loads, layer, label_at(&b->snapshots, row->snapshot),
				label_at(&b->sources, row->source)),
			    there[at]->loc.line);
		there[at] = row;
		for (int e = 0; e < loads->experts; e++)
			count[e] += row->count[e];
	}
	for (int at = 0; at < loads->layers * cells; at++) {
		int cell = at % cells;
		struct loc loc = {b->name, 0, 0};

		if (!there[at] && wrong++ < MAX_MESSAGES)
			diag_error(b->diags, loc, "%s has no row, other layers have one",
			    place_text(b, loads, at / cells,
				label_at(&b->snapshots, cell / loads->sources),
				label_at(&b->sources, cell % loads->sources)));
	}
	return wrong > 0 ? -1 : 0;
}

/* A layer without tokens says nothing; neither does a snapshot of it. */
static int
check_tokens(struct loads_builder *b, const struct loads *loads)
{
	struct loc loc = {b->name, 0, 0};
	int wrong = 0;

	for (int l = 0; l < loads->layers; l++)
		for (int t = 0; t < loads->snapshots; t++) {
			double sum = 0;

			for (int s = 0; s < loads->sources; s++)
				for (int e = 0; e < loads->experts; e++)
					sum += loads_row(loads, l, t, s)[e];
			if (sum > 0 || wrong++ >= MAX_MESSAGES)
				continue;
			diag_error(b->diags, loc, "%s has no tokens",
			    place_text(b, loads, l, label_at(&b->snapshots, t), ""));
		}
	return wrong > 0 ? -1 : 0;
}

struct loads *
builder_finish(struct loads_builder *b, const char *format)
{
	struct loc loc = {b->name, 0, 0};
	struct loads *loads;
	int *rank, i = 0;

	if (!b->first) {
		diag_error(b->diags, loc, "'%s' holds no counts", b->name);
		return NULL;
	}
	loads =
	    loads_new(b->arena, b->layers.count, b->snapshots.count, b->sources.count, b->experts);
	loads->name = b->name;
	loads->kind = b->sources.count > 1 ? b->kind : LOADS_WHOLE;
	loads->account.format = format;
	for (struct loads_cell_row *row = b->first; row; row = row->next)
		loads->account.rows++;
	for (const struct loads_label *label = b->sources.first; label; label = label->next)
		loads->source_names[i++] = label->text;
	rank = arena_array(b->arena, (size_t)loads->layers, sizeof(int));
	order_layers(b, loads, rank);
	if (fill_table(b, loads, rank) != 0 || check_tokens(b, loads) != 0)
		return NULL;
	return loads;
}

/* --- what kind of file it is --- */

static struct loads *
read_lines(struct lines *lines)
{
	struct loc loc = {lines->name, 0, 0};
	struct loads *loads;
	size_t length = 0;
	char *line = lines_next(lines, &length);

	while (line && line[strspn(line, " \t")] == '\0')
		line = lines_next(lines, &length);
	if (!line) {
		if (!lines->failed)
			diag_error(lines->diags, loc, "'%s' is empty", lines->name);
		return NULL;
	}
	line += strspn(line, " \t");
	if (loads_csv_begins(line)) {
		lines_again(lines);
		loads = loads_csv_read(lines);
	} else if (loads_matrix_begins(line)) {
		lines_again(lines);
		loads = loads_matrix_read(lines);
	} else if (loads_routes_begin(line, strlen(line))) {
		lines_again(lines);
		loads = loads_routes_read(lines);
	} else {
		bool json = line[0] == '{' || line[0] == '[';

		lines_again(lines);
		loads = json ? loads_json_read(lines) : loads_log_read(lines);
	}
	if (loads)
		sha256_end(&lines->sha, loads->sha256);
	return loads;
}

struct loads *
loads_read(struct arena *arena, struct diags *diags, const char *path)
{
	struct lines lines;
	struct loads *loads;

	if (lines_open(&lines, arena, diags, path) != 0)
		return NULL;
	loads = read_lines(&lines);
	lines_close(&lines);
	return loads;
}

struct loads *
loads_parse(
    struct arena *arena, struct diags *diags, const char *name, const char *text, size_t length)
{
	struct lines lines;

	lines_open_text(&lines, arena, diags, name, text, length);
	return read_lines(&lines);
}
