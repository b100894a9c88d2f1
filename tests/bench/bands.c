/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How wide must a band be so that four of five runs lie inside?
 *
 * r = ln(measured / predicted). The band of a class runs from the quantile q of
 * its r to the quantile 1 - q; a class of n runs is drawn towards its family
 * (dense, MoE) and that towards all runs, as if these were `pull` runs more, but
 * a class of few is never narrower than its own runs say:
 *     Q(class) = (n q(class) + pull Q(family)) / (n + pull)
 * Runs of one model err alike, so that q = 0.1 would cover less than 80 % of a
 * model that was not seen: q is the one of a few for which bands learned without
 * a run's model cover most nearly 80 %. Steps are those of rates that were fitted
 * without the run's model on its GPU (cross.csv); peaks are those shipped, whose
 * few constants are not fitted to the runs.
 */
#include "bands.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/table.h"

/* Memory of two stacks has little in common: they are drawn together less. */
enum { LEVELS = 11, STEP_PULL = 20, MEMORY_PULL = 2 };
#define COVERAGE 0.80

/* One run of a class; families are those of the step classes, or one for all. */
struct sample {
	double r;
	int class, family;
	const char *model;
};

struct samples {
	struct arena *arena;
	struct sample *all;
	size_t count;
	double pull;
	double *values; /* room for one choice of them */
};

/* What is chosen: a class, a family or (-1, -1) everything, without one model. */
struct choice {
	int class, family;
	const char *without;
};

static size_t
choose(const struct samples *s, const struct choice *c)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct sample *one = &s->all[i];

		if ((c->class < 0 || one->class == c->class) &&
		    (c->family < 0 || one->family == c->family) &&
		    !(c->without && strcmp(one->model, c->without) == 0))
			s->values[n++] = one->r;
	}
	return n;
}

/* Both ends of the band, logarithms, at one level. */
struct ends {
	double low, high;
};

static struct ends
ends_of(const struct samples *s, int class, int family, const char *without, double level)
{
	const struct choice chain[] = {
	    {-1, -1, without}, {-1, family, without}, {class, -1, without}};
	struct ends ends = {0, 0};

	for (size_t i = 0; i < sizeof(chain) / sizeof(*chain); i++) {
		double n = (double)choose(s, &chain[i]), pull = i == 0 ? 0 : s->pull;

		if (n <= 0)
			continue;
		ends.low =
		    (n * quantile(s->values, (size_t)n, level) + pull * ends.low) / (n + pull);
		ends.high =
		    (n * quantile(s->values, (size_t)n, 1 - level) + pull * ends.high) / (n + pull);
	}
	return ends;
}

/* Runs of the class that lie inside a band learned without their model. */
static size_t
inside(const struct samples *s, int class, int family, double level)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct sample *one = &s->all[i];
		struct ends ends;
		bool seen = one->class != class;

		for (size_t j = 0; j < i && !seen; j++)
			seen = s->all[j].class == class && strcmp(s->all[j].model, one->model) == 0;
		if (seen)
			continue;
		ends = ends_of(s, class, family, one->model, level);
		for (size_t j = i; j < s->count; j++)
			n += s->all[j].class == class && strcmp(s->all[j].model, one->model) == 0 &&
			     s->all[j].r >= ends.low && s->all[j].r <= ends.high;
	}
	return n;
}

/* Few runs cannot say how wide their band is, but it is not narrower than they lie apart. */
static void
cover_own(const struct samples *s, int class, struct ends *ends)
{
	size_t n = choose(s, &(struct choice){class, -1, NULL});

	if (n == 0)
		return;
	ends->low = fmin(ends->low, quantile(s->values, n, 0.1));
	ends->high = fmax(ends->high, quantile(s->values, n, 0.9));
}

static struct learned
learn(const struct samples *s, int class)
{
	struct learned best = {.level = 0.1};
	double nearest = INFINITY;
	int family = -1;
	struct ends ends;

	for (size_t i = 0; i < s->count; i++)
		if (s->all[i].class == class) {
			family = s->all[i].family;
			best.count++;
		}
	for (int l = 0; l < LEVELS && best.count > 0; l++) {
		double level = 0.13 - 0.01 * l; /* narrow bands first */
		size_t n = inside(s, class, family, level);
		double off = fabs((double)n / (double)best.count - COVERAGE);

		if (off < nearest - 1e-9 && (best.count >= BAND_ENOUGH_RUNS || level < 0.105)) {
			nearest = off;
			best.level = level;
			best.inside = n;
		}
	}
	ends = ends_of(s, class, family, NULL, best.level);
	if (best.count < BAND_ENOUGH_RUNS)
		cover_own(s, class, &ends);
	best.low = exp(ends.low);
	best.high = exp(ends.high);
	best.width = best.high - best.low;
	return best;
}

/* --- the runs --- */

static struct samples
samples_new(const struct bench *b, double pull)
{
	return (struct samples){.arena = b->arena,
	    .pull = pull,
	    .all = arena_array(b->arena, 2 * b->count, sizeof(struct sample)),
	    .values = arena_array(b->arena, 2 * b->count, sizeof(double))};
}

static void
add(struct samples *s, double r, int class, int family, const struct rerun *rerun)
{
	s->all[s->count++] = (struct sample){r, class, family, rerun->run->model};
}

void
bands_learn_steps(const struct bench *b, struct learned out[STEP_CLASSES])
{
	struct samples s = samples_new(b, STEP_PULL);

	for (size_t i = 0; i < b->count; i++) {
		const struct rerun *r = &b->reruns[i];

		if (counts(r) && r->cross_step_s > 0)
			add(&s, log(r->measured_step_s / r->cross_step_s), (int)r->step_class,
			    strncmp(r->run->class, "moe", 3) == 0, r);
	}
	for (int class = 0; class < STEP_CLASSES; class++)
		out[class] = learn(&s, class);
}

void
bands_learn_memory(const struct bench *b, struct learned out[MEMORY_CLASSES])
{
	struct samples s = samples_new(b, MEMORY_PULL);

	for (size_t i = 0; i < b->count; i++) {
		const struct rerun *r = &b->reruns[i];

		if (r->outcome == OUTCOME_PREDICTED && r->run->mem_gib > 0 &&
		    strcmp(r->run->complete, "yes") == 0)
			add(&s, log(r->run->mem_gib / rerun_memory(r).gib),
			    (int)memory_class_of(&r->estimate.strategy), 0, r);
	}
	for (int class = 0; class < MEMORY_CLASSES; class++)
		out[class] = learn(&s, class);
}

/* --- output --- */

static void
source_table(struct bench *b, const char *type, const char *const *names, int count,
    const struct band *shipped, const struct learned *learned)
{
	str_addf(&b->out, "const struct band %s = {\n", type);
	for (int i = 0; i < count; i++) {
		double runs = (double)learned[i].count;
		bool enough = learned[i].count >= BAND_ENOUGH_RUNS;

		str_addf(&b->out, "    [%s] = {\"%s\", %zu, %.3f, %.3f, %.2f},\n", names[i],
		    shipped[i].runs, learned[i].count, learned[i].low, learned[i].high,
		    enough ? (double)learned[i].inside / runs : 0);
	}
	str_add(&b->out, "};\n");
}

/* Of pairs predicted within 10 %: far apart ones err apart too, but nobody mistakes their order. */
double
bands_tell_apart(struct bench *b)
{
	struct errors differences = {0};

	ranking_differences(b, 0.1, &differences);
	return quantile(differences.values, differences.count, 0.6);
}

void
bands_source(struct bench *b)
{
	static const char *const steps[STEP_CLASSES] = {"STEP_DENSE_HOPPER", "STEP_DENSE_BLACKWELL",
	    "STEP_MOE_HOPPER", "STEP_MOE_HOPPER_WIDE", "STEP_MOE_BLACKWELL", "STEP_OTHER_MAKERS"};
	static const char *const memory[MEMORY_CLASSES] = {"MEMORY_BY_HAND", "MEMORY_AUTOGRAD"};
	struct learned step_learned[STEP_CLASSES], memory_learned[MEMORY_CLASSES];

	bands_learn_steps(b, step_learned);
	bands_learn_memory(b, memory_learned);
	source_table(
	    b, "step_bands[STEP_CLASSES]", steps, STEP_CLASSES, step_bands, step_learned);
	source_table(b, "memory_bands[MEMORY_CLASSES]", memory, MEMORY_CLASSES, memory_bands,
	    memory_learned);
	str_addf(&b->out, "const double step_tell_apart = %.2f;\n", bands_tell_apart(b));
}

static void
report_rows(struct table *table, int count, const struct band *bands, const struct learned *learned)
{
	for (int i = 0; i < count; i++) {
		double runs = (double)learned[i].count;

		table_row(table);
		table_cell(table, bands[i].runs);
		table_cellf(table, "%zu", learned[i].count);
		table_cellf(table, "%+.0f", 100 * (bands[i].low - 1));
		table_cellf(table, "%+.0f", 100 * (bands[i].high - 1));
		if (learned[i].count >= BAND_ENOUGH_RUNS)
			table_cellf(table, "%.0f", 100 * (double)learned[i].inside / runs);
		else
			table_cell(table, "too few");
	}
}

void
bands_report(struct bench *b)
{
	static const char *const heads[] = {
	    "80 % band", "rows", "low %", "high %", "left out inside %"};
	struct learned steps[STEP_CLASSES], memory[MEMORY_CLASSES];
	struct table *table = table_new(b->arena, 5);

	bands_learn_steps(b, steps);
	bands_learn_memory(b, memory);
	for (size_t i = 0; i < 5; i++)
		table_column(table, i, heads[i], i == 0 ? TABLE_LEFT : TABLE_RIGHT);
	report_rows(table, STEP_CLASSES, step_bands, steps);
	report_rows(table, MEMORY_CLASSES, memory_bands, memory);
	str_add(&b->out, "Bands, learned without any run of the model in question\n\n");
	table_print(table, &b->out, 2);
	str_addc(&b->out, '\n');
}
