/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_LOADS_PRIVATE_H
#define MOEPLAN_LOADS_PRIVATE_H

/* What the parts of loads.h share: loads*.c only. */

#include <stddef.h>
#include <stdio.h>

#include "base/sha256.h"
#include "model/loads.h"

/* A text, line by line, in a buffer that holds one line and not the file. */
enum { LINES_MAX_LENGTH = 16 << 20 };
struct lines {
	struct arena *arena;
	struct diags *diags;
	const char *name;
	FILE *file;	  /* NULL: from memory */
	const char *text; /* what is left of it, from memory */
	size_t text_left;
	char *buffer; /* a byte more than `room`, for the terminator */
	size_t room, begin, end;
	size_t last_begin, last_end; /* of the line given last; lines_again() needs them */
	bool last_cr, last_lf;
	bool at_end, failed;
	int number;	   /* of the line given last, from 1 */
	struct sha256 sha; /* of what came in so far */
};
/* -1 after adding an error. */
int lines_open(struct lines *lines, struct arena *arena, struct diags *diags, const char *path);
void lines_open_text(struct lines *lines, struct arena *arena, struct diags *diags,
    const char *name, const char *text, size_t length);
void lines_close(struct lines *lines);
/* The next line without its end, terminated; NULL at the end, or after an error (`failed`). */
char *lines_next(struct lines *lines, size_t *length);
/* The line given last comes again. */
void lines_again(struct lines *lines);
/* All that is left as one text, up to LINES_MAX_LENGTH; NULL after adding an error. */
char *lines_rest(struct lines *lines, size_t *length);
struct loc lines_loc(const struct lines *lines, int column);

/* Rows of counts as they come, in any order; put together in the end. */
struct loads_label {
	const char *text;
	struct loads_label *next;
};
struct loads_labels {
	struct loads_label *first, *last, *recent;
	int count, recent_index;
};
struct loads_cell_row {
	int layer, snapshot, source;
	struct loc loc;
	double *count;
	struct loads_cell_row *next, *chain; /* chain: of those in one bucket */
};
enum { LOADS_BUCKETS = 1024 };
struct loads_builder {
	struct arena *arena;
	struct diags *diags;
	const char *name;
	int experts;
	enum loads_source kind;
	bool adds_up; /* rows of the same place are summed, else they are errors */
	struct loads_labels layers, snapshots, sources;
	struct loads_cell_row *first, **last;
	struct loads_cell_row *bucket[LOADS_BUCKETS]; /* by place, when rows add up */
	int64_t cells;
};
void builder_init(struct loads_builder *builder, struct arena *arena, struct diags *diags,
    const char *name, int experts);
/* `count` is copied, or added to the row of its place. Labels: "" when the file has no such column.
 * -1 after adding an error. */
int builder_row(struct loads_builder *builder, struct loc loc, int64_t layer, const char *snapshot,
    const char *source, const double *count);
/* NULL after adding errors: a place without its row, a layer without tokens. */
struct loads *builder_finish(struct loads_builder *builder, const char *format);

/* A count as text or number: -1 after adding an error. `what`: "expert 3" … */
int loads_check_count(struct diags *diags, struct loc loc, const char *what, double value);
int loads_check_experts(struct diags *diags, struct loc loc, int64_t experts);

/* Readers: the first line decides (lines_again() was called). NULL after adding errors. */
bool loads_csv_begins(const char *line);
struct loads *loads_csv_read(struct lines *lines);
/* A row of numbers and commas, no header: a matrix. */
bool loads_matrix_begins(const char *line);
struct loads *loads_matrix_read(struct lines *lines);
struct loads *loads_json_read(struct lines *lines);
/* JSON lines of routes: an object on one line that names chosen experts, or a head before such. */
bool loads_routes_begin(const char *line, size_t length);
struct loads *loads_routes_read(struct lines *lines);
struct loads *loads_log_read(struct lines *lines);

#endif
