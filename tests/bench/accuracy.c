/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far is the model from published training runs?
 *
 * Replays every row of runs.csv through the readers that the command line uses
 * and compares. Accuracy never fails this program: only a row that should be
 * modelled and was refused, or a number that is not finite, does.
 *
 * usage: accuracy [--rows|--json|--svg|--bands|--drift] FOLDER
 *        FOLDER holds runs.csv, cross.csv, models/, clusters/
 *   --rows   the tables, with every row and every group
 *   --json   figures and rows for a script      --svg    predicted over measured, a picture
 *   --bands  the tables of planner/band.c       --drift  how old cross.csv is
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "json.h"
#include "picture.h"

static void
out_of_memory(void *context)
{
	(void)context;
	fputs("accuracy: out of memory\n", stderr);
	exit(3);
}

static void
report(struct bench *b, bool rows)
{
	struct figures figures = figures_of(b);

	outcome_summary(b);
	if (rows)
		rows_table(b);
	account_table(b);
	figures_report(b, &figures);
	time_tables(b);
	transfer_report(b);
	counter_table(b);
	memory_tables(b);
	verdict_summary(b);
	ranking_report(b, rows);
	bands_report(b);
	unstated_table(b);
}

static void
tables(struct bench *b)
{
	report(b, false);
}

static void
tables_and_rows(struct bench *b)
{
	report(b, true);
}

/* How much nine of ten shipped predictions have moved since cross.csv was written, at most. */
static void
drift(struct bench *b)
{
	str_addf(
	    &b->out, "%.6f\n", quantile(b->cross_drift.values, b->cross_drift.count, 0.9));
}

static const struct mode {
	const char *option;
	void (*write)(struct bench *b);
} modes[] = {
    {"", tables},
    {"--rows", tables_and_rows},
    {"--json", json_report},
    {"--svg", picture},
    {"--bands", bands_source},
    {"--drift", drift},
};

static const struct mode *
mode_of(int argc, char **argv)
{
	if (argc == 2)
		return modes;
	for (size_t i = 1; argc == 3 && i < sizeof(modes) / sizeof(*modes); i++)
		if (strcmp(argv[1], modes[i].option) == 0)
			return &modes[i];
	return NULL;
}

int
main(int argc, char **argv)
{
	const struct mode *mode = mode_of(argc, argv);
	struct bench b = {.arena = arena_new(out_of_memory, NULL)};
	int status = 2;

	if (!mode || !b.arena) {
		fputs("usage: accuracy [--rows|--json|--svg|--bands|--drift] FOLDER\n", stderr);
		return 2;
	}
	b.diags = diags_new(b.arena);
	b.out = str_new(b.arena);
	if (bench_load(&b, argv[argc - 1]) == 0) {
		mode->write(&b);
		fputs(b.out.text, stdout);
		status = bad_outcomes(&b) > 0;
	}
	arena_free(b.arena);
	return status;
}
