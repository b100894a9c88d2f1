/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does "so far off" look like? Predicted over measured steps of all runs.
 *
 * Both axes are logarithmic, so that a relative error is a distance from the
 * diagonal, the same everywhere; the strip holds what is off by less than 20 %.
 * Predictions are those of rates that never saw the model on its GPU (cross.csv).
 */
#include "picture.h"

#include <math.h>
#include <string.h>

#include "errors.h"

enum { SIZE = 560, LEFT = 64, TOP = 16, RIGHT = 24, BOTTOM = 48, DECADES = 5 };
#define LEAST 0.1 /* s */
#define MOST 2000.0

/* Kinds of runs, told apart by shape and by colours that the colour-blind see too. */
static const struct kind {
	const char *name, *colour;
	bool moe, blackwell;
} kinds[] = {
    {"dense, other GPUs", "#0072b2", false, false},
    {"dense, Blackwell", "#56b4e9", false, true},
    {"MoE, other GPUs", "#d55e00", true, false},
    {"MoE, Blackwell", "#e69f00", true, true},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static double
at(double seconds)
{
	double share = log(seconds / LEAST) / log(MOST / LEAST);

	return fmin(1, fmax(0, share)) * SIZE;
}

static double
x_of(double seconds)
{
	return LEFT + at(seconds);
}

static double
y_of(double seconds)
{
	return TOP + SIZE - at(seconds);
}

static void
frame(struct str *out)
{
	double s = LEAST;

	str_addf(out,
	    "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#888\"/>\n",
	    LEFT, TOP, SIZE, SIZE);
	for (int decade = 0; decade < DECADES; decade++, s *= 10) {
		str_addf(out,
		    "<path d=\"M%.1f %d V%d M%d %.1f H%d\" stroke=\"#ccc\" fill=\"none\"/>\n",
		    x_of(s), TOP, TOP + SIZE, LEFT, y_of(s), LEFT + SIZE);
		str_addf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
		    x_of(s), TOP + SIZE + 18, s);
		str_addf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT - 6,
		    y_of(s) + 4, s);
	}
	str_addf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">measured step, s</text>\n",
	    LEFT + SIZE / 2, TOP + SIZE + 38);
	str_addf(out,
	    "<text x=\"16\" y=\"%d\" text-anchor=\"middle\" transform=\"rotate(-90 16 "
	    "%d)\">predicted "
	    "step, s</text>\n",
	    TOP + SIZE / 2, TOP + SIZE / 2);
}

static void
diagonal(struct str *out)
{
	str_addf(out,
	    "<path d=\"M%.1f %.1f L%.1f %.1f L%.1f %.1f L%.1f %.1f Z\" fill=\"#eee\"/>\n",
	    x_of(LEAST), y_of(LEAST * 1.2), x_of(MOST / 1.2), y_of(MOST), x_of(MOST),
	    y_of(MOST / 1.2), x_of(LEAST * 1.2), y_of(LEAST));
	str_addf(out, "<path d=\"M%.1f %.1f L%.1f %.1f\" stroke=\"#888\"/>\n", x_of(LEAST),
	    y_of(LEAST), x_of(MOST), y_of(MOST));
}

/* MoE models are squares, dense ones circles. */
static void
mark(struct str *out, const struct kind *kind, double x, double y)
{
	if (kind->moe)
		str_addf(out, "<path d=\"M%.1f %.1fh5v5h-5z\"/>\n", x - 2.5, y - 2.5);
	else
		str_addf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.8\"/>\n", x, y);
}

static bool
is_of_kind(const struct rerun *r, const struct kind *kind)
{
	bool blackwell =
	    r->step_class == STEP_DENSE_BLACKWELL || r->step_class == STEP_MOE_BLACKWELL;

	return has_cross(r) && is_moe(r) == kind->moe && blackwell == kind->blackwell;
}

static void
points(struct bench *b, const struct kind *kind, int index)
{
	int y = TOP + 20 + 18 * index, n = 0;

	str_addf(&b->out, "<g fill=\"%s\" fill-opacity=\"0.65\">\n", kind->colour);
	for (size_t i = 0; i < b->count; i++) {
		const struct rerun *r = &b->reruns[i];

		if (!is_of_kind(r, kind))
			continue;
		mark(&b->out, kind, x_of(r->measured_step_s), y_of(r->cross_step_s));
		n++;
	}
	mark(&b->out, kind, LEFT + 16, y);
	str_addf(&b->out, "</g>\n<text x=\"%d\" y=\"%d\">%s (%d)</text>\n", LEFT + 26, y + 4,
	    kind->name, n);
}

void
picture(struct bench *b)
{
	str_addf(&b->out,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
	    "font-family=\"sans-serif\" font-size=\"12\">\n",
	    LEFT + SIZE + RIGHT, TOP + SIZE + BOTTOM);
	str_addf(
	    &b->out, "<title>Predicted over measured steps of published training runs</title>\n");
	str_addf(&b->out, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", LEFT + SIZE + RIGHT,
	    TOP + SIZE + BOTTOM);
	diagonal(&b->out);
	frame(&b->out);
	for (int i = 0; i < KINDS; i++)
		points(b, &kinds[i], i);
	str_add(&b->out, "</svg>\n");
}
