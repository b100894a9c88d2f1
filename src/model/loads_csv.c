/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do a CSV file's rows of counts say?
 *
 * Header `layer,e0,e1,…` with further columns node, domain or snapshot in front of
 * the experts, or `layer,expert,e0,…` for pairs that one token picks together. A
 * file of numbers without header is an E x E matrix of such pairs, its diagonal
 * the load of each expert.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/numeric.h"
#include "base/units.h"
#include "model/loads_private.h"

enum column { COLUMN_LAYER, COLUMN_NODE, COLUMN_DOMAIN, COLUMN_SNAPSHOT, COLUMN_EXPERT, COLUMNS };
static const char *const column_names[COLUMNS] = {"layer", "node", "domain", "snapshot", "expert"};
enum { MAX_ERRORS = 20, MAX_FIELD_COLUMNS = 8, MAX_PAIR_CELLS = 1 << 24 };

struct csv {
	struct lines *lines;
	int before; /* columns before the first expert */
	enum column kinds[MAX_FIELD_COLUMNS];
	bool has[COLUMNS];
	int experts, errors;
};

/* The next cell of a row, trimmed and terminated in place; NULL behind the last one. */
static char *
next_cell(char **at)
{
	char *cell = *at, *end, *comma;

	if (!cell)
		return NULL;
	comma = strchr(cell, ',');
	*at = comma ? comma + 1 : NULL;
	end = comma ? comma : cell + strlen(cell);
	*end = '\0';
	while (end > cell && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return cell + strspn(cell, " \t");
}

static int
column_of(const char *cell)
{
	if (strcmp(cell, "rank") == 0)
		return COLUMN_NODE;
	for (int c = 0; c < COLUMNS; c++)
		if (strcmp(column_names[c], cell) == 0)
			return c;
	return -1;
}

/* "e12" */
static bool
is_expert(const char *cell, int64_t *number)
{
	return cell[0] == 'e' && units_parse_integer(cell + 1, number) && *number >= 0;
}

bool
loads_csv_begins(const char *line)
{
	size_t length = strcspn(line, ",");

	while (length > 0 && isspace((unsigned char)line[length - 1]))
		length--;
	for (int c = 0; c < COLUMNS; c++)
		if (strlen(column_names[c]) == length &&
		    strncmp(line, column_names[c], length) == 0)
			return strchr(line, ',') != NULL;
	return strncmp(line, "rank,", 5) == 0 || strncmp(line, "e0,", 3) == 0;
}

static int
csv_error(struct csv *csv, int column, const char *message)
{
	csv->errors++;
	return diag_error(csv->lines->diags, lines_loc(csv->lines, column), "%s", message);
}

static int
read_key_column(struct csv *csv, const char *cell, int column)
{
	struct arena *arena = csv->lines->arena;
	int kind = column_of(cell);

	if (kind < 0 || csv->before == MAX_FIELD_COLUMNS) {
		csv_error(csv, column, arena_printf(arena, "column '%.40s' is not known", cell));
		diag_last_hint(csv->lines->diags,
		    "columns are layer, node, domain, snapshot, then e0, e1, ... for the experts");
		return -1;
	}
	if (csv->has[kind])
		return csv_error(
		    csv, column, arena_printf(arena, "column '%s' is there twice", cell));
	csv->has[kind] = true;
	csv->kinds[csv->before++] = (enum column)kind;
	return 0;
}

static int
check_header(struct csv *csv)
{
	if (!csv->has[COLUMN_LAYER])
		return csv_error(csv, 1, "there is no column 'layer'");
	if (csv->has[COLUMN_NODE] && csv->has[COLUMN_DOMAIN])
		return csv_error(csv, 1, "tokens come from nodes or from domains, not both");
	if (csv->has[COLUMN_EXPERT] && csv->before > 2)
		return csv_error(csv, 1, "a file of pairs has the columns layer and expert alone");
	return loads_check_experts(csv->lines->diags, lines_loc(csv->lines, 1), csv->experts);
}

static int
read_header(struct csv *csv)
{
	struct arena *arena = csv->lines->arena;
	size_t length;
	char *at = lines_next(csv->lines, &length), *line = at, *cell;

	while ((cell = next_cell(&at)) != NULL) {
		int column = (int)(cell - line) + 1;
		int64_t number;

		if (is_expert(cell, &number)) {
			if (number != csv->experts)
				return csv_error(csv, column,
				    arena_printf(arena,
					"column '%s' follows e%d: experts are "
					"e0, e1, ... in order",
					cell, csv->experts - 1));
			csv->experts++;
		} else if (csv->experts > 0) {
			return csv_error(csv, column,
			    arena_printf(arena, "column '%.40s' stands behind the experts", cell));
		} else if (read_key_column(csv, cell, column) != 0) {
			return -1;
		}
	}
	return check_header(csv);
}

static int
read_number(struct csv *csv, char *cell, int column, int index, double *value)
{
	struct arena_mark mark = arena_mark(csv->lines->arena);
	struct loc loc = lines_loc(csv->lines, column);
	char *end;
	int result = 0;

	*value = numeric_strtod(cell, &end);
	if (cell[0] == '\0' || *end != '\0') {
		csv->errors++;
		return diag_error(csv->lines->diags, loc,
		    "expert %d has '%.40s': a number is wanted", index, cell);
	}
	if (!(*value >= 0 && *value <= LOADS_MAX_COUNT)) {
		csv->errors++;
		return loads_check_count(csv->lines->diags, loc,
		    arena_printf(csv->lines->arena, "expert %d", index), *value);
	}
	arena_reset(csv->lines->arena, mark);
	return result;
}

/* What stands in front of the experts, as text; NULL where the file has no such column. */
struct key {
	const char *text[COLUMNS];
	int64_t layer, expert;
};

static int
read_key(struct csv *csv, char **at, const char *line, struct key *key)
{
	const struct key none = {{NULL}, 0, 0};
	int64_t *const numbers[COLUMNS] = {
	    [COLUMN_LAYER] = &key->layer, [COLUMN_EXPERT] = &key->expert};

	*key = none;
	for (int i = 0; i < csv->before; i++) {
		char *cell = next_cell(at);
		enum column kind = csv->kinds[i];

		if (!cell || cell[0] == '\0')
			return csv_error(csv, cell ? (int)(cell - line) + 1 : 0,
			    arena_printf(csv->lines->arena, "'%s' is empty", column_names[kind]));
		key->text[kind] = cell;
		if (numbers[kind] && !units_parse_integer(cell, numbers[kind]))
			return csv_error(csv, (int)(cell - line) + 1,
			    arena_printf(csv->lines->arena, "%s is '%.40s': an integer is wanted",
				column_names[kind], cell));
	}
	return 0;
}

/* The counts of a row; says how many there are when it is too short or too long. */
static int
read_counts(struct csv *csv, char **at, const char *line, double *count)
{
	int n = 0, errors = csv->errors;
	char *cell;

	while ((cell = next_cell(at)) != NULL) {
		if (n < csv->experts)
			read_number(csv, cell, (int)(cell - line) + 1, n, &count[n]);
		n++;
	}
	if (n == csv->experts)
		return csv->errors > errors ? -1 : 0;
	return csv_error(csv, 0,
	    arena_printf(csv->lines->arena, "the row has %d counts, the header names %d experts", n,
		csv->experts));
}

static bool
is_blank(const char *line)
{
	return line[strspn(line, " \t")] == '\0';
}

static int
read_row(struct csv *csv, struct loads_builder *builder, char *line, size_t length, double *count)
{
	char *at = line;
	struct key key;
	const char *source;

	if (strlen(line) != length)
		return csv_error(csv, 0, "the row holds a NUL byte");
	if (read_key(csv, &at, line, &key) != 0 || read_counts(csv, &at, line, count) != 0)
		return -1;
	source = key.text[COLUMN_NODE] ? key.text[COLUMN_NODE] : key.text[COLUMN_DOMAIN];
	if (builder_row(builder, lines_loc(csv->lines, 0), key.layer,
		key.text[COLUMN_SNAPSHOT] ? key.text[COLUMN_SNAPSHOT] : "", source ? source : "",
		count) == 0)
		return 0;
	csv->errors = MAX_ERRORS; /* too many of something: no use to go on */
	return -1;
}

static struct loads *
read_count_rows(struct csv *csv)
{
	struct lines *lines = csv->lines;
	struct loads_builder builder;
	double *count = arena_array(lines->arena, (size_t)csv->experts, sizeof(double));
	size_t length;
	char *line;

	builder_init(&builder, lines->arena, lines->diags, lines->name, csv->experts);
	builder.kind = csv->has[COLUMN_DOMAIN] ? LOADS_DOMAINS : LOADS_NODES;
	while (csv->errors < MAX_ERRORS && (line = lines_next(lines, &length)) != NULL)
		if (!is_blank(line))
			read_row(csv, &builder, line, length, count);
	if (csv->errors > 0 || lines->failed)
		return NULL;
	return builder_finish(&builder, "CSV counts");
}

/* --- pairs --- */

/* One matrix, row by row. */
struct matrix {
	int64_t layer;
	int rows;
	double *cell; /* [expert][expert] */
	struct matrix *next;
};

static int
check_matrix(struct csv *csv, const struct matrix *m)
{
	struct loc loc = {csv->lines->name, 0, 0};
	int n = csv->experts;

	if (m->rows != n) {
		csv->errors++;
		return diag_error(csv->lines->diags, loc,
		    "the matrix of layer %lld has %d rows and %d columns: it must be square",
		    (long long)m->layer, m->rows, n);
	}
	for (int i = 0; i < n; i++)
		for (int j = 0; j < i; j++)
			if (m->cell[i * n + j] != m->cell[j * n + i]) {
				csv->errors++;
				diag_error(csv->lines->diags, loc,
				    "layer %lld: experts %d and %d are picked together %g times "
				    "in one row and %g in the other",
				    (long long)m->layer, j, i, m->cell[j * n + i],
				    m->cell[i * n + j]);
				diag_last_hint(csv->lines->diags,
				    "counts without header need one: layer,e0,e1,...");
				return -1;
			}
	return 0;
}

static struct loads *
finish_matrices(struct csv *csv, struct matrix *first)
{
	struct lines *lines = csv->lines;
	struct loads_builder builder;
	struct loads *loads;
	size_t n = (size_t)csv->experts;
	double *count = arena_array(lines->arena, n, sizeof(double));

	builder_init(&builder, lines->arena, lines->diags, lines->name, csv->experts);
	for (const struct matrix *m = first; m; m = m->next) {
		if (check_matrix(csv, m) != 0)
			return NULL;
		for (size_t e = 0; e < n; e++)
			count[e] = m->cell[e * n + e];
		if (builder_row(&builder, lines_loc(lines, 0), m->layer, "", "", count) != 0)
			return NULL;
	}
	loads = builder_finish(&builder, "CSV pairs");
	for (const struct matrix *m = first; m && loads; m = m->next)
		for (int l = 0; l < loads->layers; l++) {
			if (loads->number[l] != m->layer)
				continue;
			loads->pairs[l] = arena_array(lines->arena, n * n, sizeof(float));
			for (size_t i = 0; i < n * n; i++)
				loads->pairs[l][i] = (float)m->cell[i];
		}
	return loads;
}

static int
check_pair_experts(struct csv *csv)
{
	struct loc loc = lines_loc(csv->lines, 0);

	if (loads_check_experts(csv->lines->diags, loc, csv->experts) != 0)
		return -1;
	if (csv->experts <= LOADS_MAX_PAIR_EXPERTS)
		return 0;
	return diag_error(csv->lines->diags, loc, "pairs of %d experts: allowed are %d at most",
	    csv->experts, LOADS_MAX_PAIR_EXPERTS);
}

static struct matrix *
find_matrix(struct csv *csv, struct matrix **first, int64_t layer, int *count)
{
	size_t n = (size_t)csv->experts;

	while (*first && (*first)->layer != layer)
		first = &(*first)->next;
	if (*first || (size_t)*count >= MAX_PAIR_CELLS / (n * n))
		return *first;
	++*count;
	*first = arena_alloc(csv->lines->arena, sizeof(**first));
	(*first)->layer = layer;
	(*first)->cell = arena_array(csv->lines->arena, n * n, sizeof(double));
	return *first;
}

/* A row `layer,expert,…` of pairs; the rows of a layer come in the order of their experts. */
static int
read_pair_row(struct csv *csv, struct matrix **first, int *layers, char *line, size_t length)
{
	struct matrix *m;
	struct key key;
	char *at = line;

	if (strlen(line) != length)
		return csv_error(csv, 0, "the row holds a NUL byte");
	if (read_key(csv, &at, line, &key) != 0)
		return -1;
	m = find_matrix(csv, first, key.layer, layers);
	if (!m)
		return csv_error(csv, 0,
		    arena_printf(
			csv->lines->arena, "more than %d pairs in all layers", MAX_PAIR_CELLS));
	if (key.expert != m->rows || m->rows == csv->experts)
		return csv_error(csv, 0,
		    arena_printf(csv->lines->arena, "expert %lld follows expert %d of layer %lld",
			(long long)key.expert, m->rows - 1, (long long)key.layer));
	return read_counts(csv, &at, line, m->cell + (size_t)m->rows++ * (size_t)csv->experts);
}

static struct loads *
read_pair_rows(struct csv *csv)
{
	struct matrix *first = NULL;
	int layers = 0;
	size_t length;
	char *line;

	if (check_pair_experts(csv) != 0)
		return NULL;
	while (csv->errors < MAX_ERRORS && (line = lines_next(csv->lines, &length)) != NULL)
		if (!is_blank(line))
			read_pair_row(csv, &first, &layers, line, length);
	if (csv->errors > 0 || csv->lines->failed)
		return NULL;
	return finish_matrices(csv, first);
}

struct loads *
loads_csv_read(struct lines *lines)
{
	struct csv csv = {.lines = lines};

	if (read_header(&csv) != 0)
		return NULL;
	return csv.has[COLUMN_EXPERT] ? read_pair_rows(&csv) : read_count_rows(&csv);
}

/* --- a matrix without header --- */

bool
loads_matrix_begins(const char *line)
{
	return strchr(line, ',') && line[strspn(line, "0123456789.eE+-, \t\r")] == '\0';
}

static int
count_cells(const char *line)
{
	int n = 1;

	for (; *line; line++)
		n += *line == ',';
	return n;
}

struct loads *
loads_matrix_read(struct lines *lines)
{
	struct csv csv = {.lines = lines};
	struct matrix *m;
	size_t length;
	char *line = lines_next(lines, &length), *at;

	csv.experts = count_cells(line);
	if (check_pair_experts(&csv) != 0)
		return NULL;
	m = arena_alloc(lines->arena, sizeof(*m));
	m->cell =
	    arena_array(lines->arena, (size_t)csv.experts * (size_t)csv.experts, sizeof(double));
	for (; line && csv.errors < MAX_ERRORS; line = lines_next(lines, &length)) {
		if (is_blank(line))
			continue;
		at = line;
		if (m->rows == csv.experts || strlen(line) != length) {
			csv_error(&csv, 0, "a matrix without header has as many rows as columns");
			diag_last_hint(
			    lines->diags, "counts without header need one: layer,e0,e1,...");
			return NULL;
		}
		read_counts(&csv, &at, line, m->cell + (size_t)m->rows++ * (size_t)csv.experts);
	}
	return csv.errors > 0 || lines->failed ? NULL : finish_matrices(&csv, m);
}
