/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast are an evaluation and a whole search, and how do they grow?
 *
 * Evaluations a second on one core over all valid strategies of a grid, and
 * wall time and peak memory of complete searches, each in a process of its own
 * so that the peak belongs to it.
 *
 * usage: speed [LARGEST_GPU_COUNT]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/table.h"
#include "base/units.h"
#include "model/builtin_models.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/model.h"
#include "planner/search.h"

static const char MODEL[] = "deepseek-v3";
static const char CLUSTER[] = "dgx-h100";
enum { GPUS_PER_NODE = 8, MAX_STRATEGIES = 4096, MIN_ROUNDS = 3 };
static const double MEASURE_S = 1.0;

struct problem {
	struct arena *arena;
	struct diags *diags;
	struct model *model;
	struct cluster *cluster;
	struct job job;
};

static void
out_of_memory(void *context)
{
	(void)context;
	fputs("speed: out of memory\n", stderr);
	_exit(3);
}

static double
now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static _Noreturn void
fail(const struct problem *p, const char *what)
{
	fprintf(stderr, "speed: %s: %s\n", what,
	    p->diags->first ? p->diags->first->message : "no reason was given");
	_exit(1);
}

/* DeepSeek-V3 with another number of experts (0: its own) on `gpus` H100. */
static void
problem_init(struct problem *p, int64_t gpus, int64_t experts)
{
	const char *text = builtin_model_text(MODEL);
	struct doc *config;

	memset(p, 0, sizeof(*p));
	p->arena = arena_new(out_of_memory, NULL);
	p->diags = diags_new(p->arena);
	config = text ? doc_parse(p->arena, p->diags, MODEL, text, strlen(text)) : NULL;
	p->model = config ? model_read(p->arena, p->diags, config, MODEL) : NULL;
	p->cluster = cluster_from_text(p->arena, p->diags, CLUSTER);
	if (!p->model || !p->cluster)
		fail(p, "reading the problem");
	for (int kind = 0; experts > 0 && kind < p->model->n_kinds; kind++)
		if (p->model->kinds[kind].ffn.experts > 0)
			p->model->kinds[kind].ffn.experts = experts;
	if (experts > 0 && p->model->mtp.ffn.experts > 0)
		p->model->mtp.ffn.experts = experts;
	cluster_set_nodes(p->cluster, gpus / GPUS_PER_NODE);
	job_init(&p->job);
	p->job.base.seq_len = 4096;
	p->job.base.global_batch = gpus > 2048 ? 8 * gpus : 16384;
}

/* --- evaluations --- */

struct candidates {
	size_t count;
	struct strategy items[MAX_STRATEGIES];
};

static void
add_candidate(const struct problem *p, struct candidates *list, const int64_t degrees[4], int zero)
{
	struct strategy s = p->job.base;

	s.tp = degrees[0];
	s.pp = degrees[1];
	s.ep = degrees[2];
	s.micro_batch = degrees[3];
	s.zero = zero;
	strategy_derive(&s, p->model, p->cluster->world);
	if (list->count < MAX_STRATEGIES && !strategy_first_violation(&s, p->model))
		list->items[list->count++] = s;
}

/* Every valid strategy with TP 1-8, PP 1-32, EP 1-256, micro-batch 1-4, ZeRO 1 and 2. */
static void
collect(const struct problem *p, struct candidates *list)
{
	for (int64_t tp = 1; tp <= 8; tp *= 2)
		for (int64_t pp = 1; pp <= 32; pp *= 2)
			for (int64_t ep = 1; ep <= 256; ep *= 2)
				for (int64_t b = 1; b <= 4; b *= 2)
					for (int zero = 1; zero <= 2; zero++)
						add_candidate(p, list,
						    (const int64_t[4]){tp, pp, ep, b}, zero);
}

enum method { METHOD_CLOSED, METHOD_BOUND, METHOD_EXACT, METHODS };
static const char *const method_names[METHODS] = {"closed form", "lower bound", "simulated"};

static double
evaluate_one(const struct problem *p, const struct evaluator *evaluator, enum method method,
    const struct strategy *s, struct stage_memory *stages)
{
	struct arena_mark mark = arena_mark(p->arena);
	struct estimate estimate = {0};

	if (method == METHOD_BOUND)
		return evaluate_bound(evaluator, s).step_s;
	if (method == METHOD_CLOSED)
		evaluate(evaluator, s, NULL, stages, &estimate);
	else
		evaluate_exact(evaluator, s, NULL, p->arena, stages, &estimate);
	arena_reset(p->arena, mark);
	return estimate.step_s;
}

static void
evaluation_row(
    const struct problem *p, struct table *table, enum method method, const struct candidates *list)
{
	struct evaluator *evaluator = evaluator_new(p->arena, p->model, p->cluster, &p->job);
	struct stage_memory *stages = arena_array(p->arena, STRATEGY_MAX_PP, sizeof(*stages));
	double start = now_s(), elapsed = 0, sum = 0;
	int64_t done = 0;

	for (int round = 0; round < MIN_ROUNDS || elapsed < MEASURE_S; round++) {
		for (size_t i = 0; i < list->count; i++, done++)
			sum += evaluate_one(p, evaluator, method, &list->items[i], stages);
		elapsed = now_s() - start;
	}
	table_row(table);
	table_cell(table, method_names[method]);
	table_cell(table, units_grouped(p->arena, (int64_t)((double)done / elapsed)));
	table_cellf(table, "%.1f", 1e6 * elapsed / (double)done);
	table_cellf(table, "%.3f", sum / (double)done);
}

static void
evaluation_table(void)
{
	static const char *const heads[] = {"", "per second", "us each", "mean step s"};
	struct problem p;
	struct candidates *list;
	struct table *table;
	struct str out;

	problem_init(&p, 2048, 0);
	list = arena_alloc(p.arena, sizeof(*list));
	collect(&p, list);
	if (list->count == 0)
		fail(&p, "no valid strategy");
	table = table_new(p.arena, 4);
	out = str_new(p.arena);
	for (size_t i = 0; i < 4; i++)
		table_column(table, i, heads[i], i == 0 ? TABLE_LEFT : TABLE_RIGHT);
	for (int method = 0; method < METHODS; method++)
		evaluation_row(&p, table, (enum method)method, list);
	table_print(table, &out, 2);
	printf("Evaluations on one core, %s on 2048 GPUs, %zu strategies\n\n%s\n", MODEL,
	    list->count, out.text);
	arena_free(p.arena);
}

/* --- searches --- */

struct result {
	double wall_s, peak_bytes, step_s, gap;
	int64_t candidates, evaluated, exact;
	int n_best;
};

static struct result
search_one(int64_t gpus, int64_t experts)
{
	struct problem p;
	struct rusage usage;
	struct result result = {0};
	struct plan *plan;
	double start;

	problem_init(&p, gpus, experts);
	start = now_s();
	plan = search(p.arena, p.diags, p.model, p.cluster, &p.job, NULL, NULL);
	if (!plan)
		fail(&p, "search");
	getrusage(RUSAGE_SELF, &usage);
	result.wall_s = now_s() - start;
	result.peak_bytes = 1024.0 * (double)usage.ru_maxrss; /* Linux: KiB */
	result.candidates = plan->account.candidates;
	result.evaluated = plan->account.evaluated;
	result.exact = plan->account.exact;
	result.gap = plan->account.gap;
	result.n_best = plan->n_best;
	result.step_s = plan->n_best > 0 ? plan->best[0].step_s : 0;
	return result;
}

/* The search in a child, its result through a pipe. -1 when it did not end well. */
static int
search_apart(int64_t gpus, int64_t experts, struct result *result)
{
	int ends[2], status = -1;
	ssize_t got;
	pid_t child;

	fflush(NULL);
	if (pipe(ends) != 0 || (child = fork()) < 0)
		return -1;
	if (child == 0) {
		*result = search_one(gpus, experts);
		_exit(write(ends[1], result, sizeof(*result)) == sizeof(*result) ? 0 : 1);
	}
	close(ends[1]);
	got = read(ends[0], result, sizeof(*result));
	close(ends[0]);
	waitpid(child, &status, 0);
	return status == 0 && got == (ssize_t)sizeof(*result) ? 0 : -1;
}

static void
search_row(struct arena *arena, struct table *table, int64_t gpus, int64_t experts, int *failures)
{
	struct result result;

	table_row(table);
	table_cell(table, units_grouped(arena, gpus));
	table_cellf(table, "%lld", (long long)experts);
	if (search_apart(gpus, experts, &result) != 0) {
		table_cell(table, "failed");
		++*failures;
		return;
	}
	table_cellf(table, "%.2f", result.wall_s);
	table_cellf(table, "%.0f", result.peak_bytes / (1 << 20));
	table_cell(table, units_grouped(arena, result.candidates));
	table_cell(table, units_grouped(arena, result.evaluated));
	table_cell(table, units_grouped(arena, result.exact));
	table_cellf(table, "%.2f", 100 * result.gap);
	table_cellf(table, result.n_best > 0 ? "%.3f" : "nothing fits", result.step_s);
}

static struct table *
search_table(struct arena *arena)
{
	static const char *const heads[] = {"GPUs", "experts", "wall s", "peak MiB", "candidates",
	    "evaluated", "simulated", "gap %", "step s"};
	struct table *table = table_new(arena, 9);

	for (size_t i = 0; i < 9; i++)
		table_column(table, i, heads[i], TABLE_RIGHT);
	return table;
}

static int
search_tables(int64_t largest)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct table *table = search_table(arena);
	struct str out = str_new(arena);
	int failures = 0;

	for (int64_t gpus = 64; gpus <= largest; gpus *= gpus < 2048 ? 2 : 4)
		search_row(arena, table, gpus, 256, &failures);
	table_print(table, &out, 2);
	printf("Searches, %s on %s\n\n%s\n", MODEL, CLUSTER, out.text);
	table = search_table(arena);
	out = str_new(arena);
	for (int64_t experts = 64; experts <= 1024; experts *= 2)
		search_row(arena, table, 2048, experts, &failures);
	table_print(table, &out, 2);
	printf("Growth with the number of experts\n\n%s", out.text);
	arena_free(arena);
	return failures;
}

int
main(int argc, char **argv)
{
	int64_t largest = 131072;

	if (argc > 2 || (argc == 2 && !units_parse_integer(argv[1], &largest))) {
		fputs("usage: speed [LARGEST_GPU_COUNT]\n", stderr);
		return 2;
	}
	evaluation_table();
	return search_tables(largest) > 0;
}
