/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which rank is in which group, for a person? A grid with a column a rank when
 * it fits, else a list. Kinds whose groups are the same share a row.
 */
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "cmd/groups_facts.h"
#include "cmd/text_common.h"

enum { GRID_WIDTH = 100, GRID_RANKS = 256, GROUPS_LISTED = 3, MEMBERS_LISTED = 9 };

/* Kinds of more than one rank with equal groups, and their names joined. */
struct row {
	const struct group_kind *kind;
	struct group_span span;
	const char *name;
};

struct rows {
	struct row *rows;
	size_t n;
	struct str single; /* names of kinds whose groups are one rank */
};

static bool
same_groups(const struct group_kind *a, const struct group_kind *b)
{
	return a->size == b->size &&
	       memcmp(a->ranks, b->ranks, (size_t)(a->count * a->size) * sizeof(*a->ranks)) == 0;
}

static struct rows
find_rows(struct request *request, const struct groups_facts *facts)
{
	struct rows rows = {.single = str_new(request->arena)};
	size_t i, j;

	rows.rows = arena_array(request->arena, facts->table->n_kinds + 1, sizeof(*rows.rows));
	for (i = 0; i < facts->table->n_kinds; i++) {
		const struct group_kind *kind = &facts->table->kinds[i];

		if (kind->size == 1) {
			str_addf(&rows.single, "%s%s", rows.single.length ? ", " : "", kind->name);
			continue;
		}
		for (j = 0; j < rows.n && !same_groups(rows.rows[j].kind, kind); j++)
			;
		if (j < rows.n)
			rows.rows[j].name =
			    arena_printf(request->arena, "%s, %s", rows.rows[j].name, kind->name);
		else
			rows.rows[rows.n++] = (struct row){kind, facts->spans[i], kind->name};
	}
	return rows;
}

static const char *
span_text(struct request *request, const struct groups_facts *facts, const struct row *row)
{
	const struct level *level = &facts->cluster->levels[row->span.level];
	const char *size = units_grouped(request->arena, row->kind->size);

	if (row->span.nodes <= 1)
		return arena_printf(request->arena, "%s ranks, inside the node", size);
	if (row->span.level == 0)
		return arena_printf(request->arena, "%s ranks, %s nodes of one %s domain", size,
		    units_grouped(request->arena, row->span.nodes), level->name);
	return arena_printf(request->arena, "%s ranks, across %s nodes", size,
	    units_grouped(request->arena, row->span.nodes));
}

/* --- the grid ------------------------------------------------------------------------------ */

static const char *
group_symbol(struct arena *arena, const struct group_kind *kind, int64_t group)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (kind->count < (int64_t)sizeof(letters))
		return arena_strndup(arena, &letters[group], 1);
	return arena_printf(arena, "%lld", (long long)group);
}

/* Columns of a rank: its number, and group numbers when letters do not suffice. */
static size_t
cell_width(struct arena *arena, const struct rows *rows, int64_t world)
{
	size_t width = strlen(arena_printf(arena, "%lld", (long long)world - 1));
	size_t i;

	for (i = 0; i < rows->n; i++) {
		const struct group_kind *kind = rows->rows[i].kind;
		size_t symbol = strlen(group_symbol(arena, kind, kind->count - 1));

		if (symbol > width)
			width = symbol;
	}
	return width;
}

struct grid {
	struct request *request;
	const struct groups_facts *facts;
	size_t label, cell;
};

static void
grid_cell(const struct grid *grid, int64_t rank, const char *text)
{
	struct str *out = &grid->request->out;

	if (rank > 0 && rank % grid->facts->cluster->gpus_per_node == 0)
		str_add(out, "  ");
	str_pad(out, ' ', grid->cell + 1 - strlen(text));
	str_add(out, text);
}

static void
grid_label(const struct grid *grid, const char *label)
{
	str_add(&grid->request->out, label);
	str_pad(&grid->request->out, ' ', grid->label - strlen(label));
}

static void
grid_nodes(const struct grid *grid)
{
	int64_t world = grid->facts->table->world;
	int64_t gpus = grid->facts->cluster->gpus_per_node;
	struct str *out = &grid->request->out;
	int64_t node;

	grid_label(grid, "");
	for (node = 0; node * gpus < world; node++) {
		size_t width = (size_t)gpus * (grid->cell + 1) + (node > 0 ? 2 : 0);
		const char *text = arena_printf(grid->request->arena, "node %lld", (long long)node);
		size_t blanks = grid->cell + (node > 0 ? 2 : 0);

		if ((node + 1) * gpus < world && blanks + strlen(text) < width) {
			str_pad(out, ' ', blanks);
			str_add(out, text);
			str_pad(out, ' ', width - blanks - strlen(text));
		} else {
			str_pad(out, ' ', blanks);
			str_add(out, text);
		}
	}
	str_addc(out, '\n');
}

static void
grid_row(const struct grid *grid, const struct row *row)
{
	const struct group_kind *kind = row->kind;
	int64_t world = grid->facts->table->world;
	int64_t *group_of = arena_array(grid->request->arena, (size_t)world, sizeof(*group_of));
	int64_t i;

	for (i = 0; i < world; i++)
		group_of[kind->ranks[i]] = i / kind->size;
	grid_label(grid, row->name);
	for (i = 0; i < world; i++)
		grid_cell(grid, i, group_symbol(grid->request->arena, kind, group_of[i]));
	str_addf(&grid->request->out, "   %s\n", span_text(grid->request, grid->facts, row));
}

static void
print_grid(const struct grid *grid, const struct rows *rows)
{
	int64_t world = grid->facts->table->world;
	int64_t rank;
	size_t i;

	if (grid->facts->cluster->gpus_per_node < world)
		grid_nodes(grid);
	grid_label(grid, "rank");
	for (rank = 0; rank < world; rank++)
		grid_cell(grid, rank, arena_printf(grid->request->arena, "%lld", (long long)rank));
	str_addc(&grid->request->out, '\n');
	for (i = 0; i < rows->n; i++)
		grid_row(grid, &rows->rows[i]);
}

/* Does it fit, and how wide are its columns? */
static bool
plan_grid(const struct rows *rows, struct grid *grid)
{
	int64_t world = grid->facts->table->world;
	int64_t nodes =
	    (world + grid->facts->cluster->gpus_per_node - 1) / grid->facts->cluster->gpus_per_node;
	size_t span = 0;
	size_t i;

	if (world > GRID_RANKS)
		return false;
	grid->label = strlen("rank") + 1;
	for (i = 0; i < rows->n; i++) {
		size_t width = strlen(span_text(grid->request, grid->facts, &rows->rows[i]));

		if (strlen(rows->rows[i].name) + 1 > grid->label)
			grid->label = strlen(rows->rows[i].name) + 1;
		span = width > span ? width : span;
	}
	grid->cell = cell_width(grid->request->arena, rows, world);
	return grid->label + (size_t)world * (grid->cell + 1) + 2 * (size_t)(nodes - 1) + 3 +
		   span <=
	       GRID_WIDTH;
}

/* --- the list ------------------------------------------------------------------------------ */

/* "0-7", "0,8,…,56" (equal steps) or the members as they are. */
static void
add_members(struct str *out, const struct request *request, const int32_t *ranks, int64_t size)
{
	int32_t step = ranks[1] - ranks[0];
	bool even = true;
	int64_t i;

	for (i = 1; i < size; i++)
		even = even && ranks[i] - ranks[i - 1] == step;
	if (even && step == 1 && size > 2) {
		str_addf(out, "%d-%d", (int)ranks[0], (int)ranks[size - 1]);
		return;
	}
	for (i = 0; i < size; i++) {
		if (i == 3 && size > MEMBERS_LISTED && !request->common.verbose) {
			str_add(out, request->utf8 ? ",\u2026" : ",...");
			i = size - 1;
		}
		str_addf(out, "%s%d", i > 0 ? "," : "", (int)ranks[i]);
	}
}

static const char *
members_text(struct request *request, const struct group_kind *kind)
{
	int64_t listed =
	    request->common.verbose || kind->count < GROUPS_LISTED ? kind->count : GROUPS_LISTED;
	struct str text = str_new(request->arena);
	int64_t i;

	for (i = 0; i < listed; i++) {
		str_add(&text, i > 0 ? "  " : "");
		add_members(&text, request, &kind->ranks[i * kind->size], kind->size);
	}
	if (listed < kind->count)
		str_add(&text, request->utf8 ? "  \u2026" : "  ...");
	return text.text;
}

static void
print_list(struct request *request, const struct groups_facts *facts, const struct rows *rows)
{
	struct table *table = table_new(request->arena, 4);
	size_t i;

	table_column(table, 0, "group", TABLE_LEFT);
	table_column(table, 1, "groups", TABLE_RIGHT);
	table_column(table, 2, "each", TABLE_LEFT);
	table_column(table, 3, "ranks", TABLE_LEFT);
	for (i = 0; i < rows->n; i++) {
		table_row(table);
		table_cell(table, rows->rows[i].name);
		table_cell(table, units_grouped(request->arena, rows->rows[i].kind->count));
		table_cell(table, span_text(request, facts, &rows->rows[i]));
		table_cell(table, members_text(request, rows->rows[i].kind));
	}
	table_print(table, &request->out, 0);
}

void
text_groups(struct request *request, const struct groups_facts *facts)
{
	struct rows rows = find_rows(request, facts);
	struct grid grid = {.request = request, .facts = facts};

	text_line(request, "strategy", "%s", text_degrees(request->arena, facts->strategy));
	text_line(request, "ranks", "%s on nodes of %s GPUs%s, %s order",
	    units_grouped(request->arena, facts->table->world),
	    units_grouped(request->arena, facts->cluster->gpus_per_node),
	    facts->assumed_nodes ? " (--gpus-per-node changes that)" : "",
	    facts->strategy->order ? facts->strategy->order
				   : framework_names[facts->strategy->framework]);
	str_addc(&request->out, '\n');
	if (plan_grid(&rows, &grid))
		print_grid(&grid, &rows);
	else
		print_list(request, facts, &rows);
	if (rows.single.length > 0)
		text_line(request, "one rank", "%s", rows.single.text);
}
