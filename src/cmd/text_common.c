/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What do all reports share? Labels, colour, the lines about model, cluster and strategy. */
#include "cmd/text_common.h"

#include <stdarg.h>
#include <string.h>

#include "base/units.h"
#include "planner/params.h"

const char *
paint(const struct request *request, enum paint paint, const char *text)
{
	static const char *const codes[] = {[PAINT_BOLD] = "1",
	    [PAINT_GOOD] = "1;32",
	    [PAINT_DOUBT] = "1;33",
	    [PAINT_BAD] = "1;31"};

	if (!request->color)
		return text;
	return arena_printf(request->arena, "\033[%sm%s\033[0m", codes[paint], text);
}

const char *
text_verdict(const struct request *request, enum verdict verdict)
{
	static const enum paint paints[] = {[VERDICT_FITS] = PAINT_GOOD,
	    [VERDICT_AT_RISK] = PAINT_DOUBT,
	    [VERDICT_OOM] = PAINT_BAD,
	    [VERDICT_INVALID] = PAINT_BAD};

	return paint(request, paints[verdict], verdict_names[verdict]);
}

void
text_label(struct request *request, const char *label)
{
	size_t length = strlen(label);

	if (length > 0)
		str_add(&request->out, paint(request, PAINT_BOLD, label));
	str_pad(&request->out, ' ', length < TEXT_LABEL_WIDTH ? TEXT_LABEL_WIDTH - length : 1);
}

void
text_line(struct request *request, const char *label, const char *format, ...)
{
	va_list arguments;

	text_label(request, label);
	va_start(arguments, format);
	str_addv(&request->out, format, arguments);
	va_end(arguments);
	str_addc(&request->out, '\n');
}

const char *
text_words(struct arena *arena, const char *key)
{
	char *words = arena_strdup(arena, key);
	char *c;

	for (c = words; *c; c++)
		if (*c == '_')
			*c = ' ';
	return words;
}

int64_t
shared_experts(const struct ffn *ffn)
{
	if (ffn->shared_count > 0)
		return ffn->shared_count;
	if (ffn->expert_width <= 0 || ffn->shared_width % ffn->expert_width != 0)
		return 0;
	return ffn->shared_width / ffn->expert_width;
}

static void
add_experts(struct str *out, const struct ffn *ffn)
{
	int64_t shared = shared_experts(ffn);

	str_addf(out, ", %s experts top-%s", units_grouped(out->arena, ffn->experts),
	    units_grouped(out->arena, ffn->top_k));
	if (shared > 0)
		str_addf(out, " + %s shared", units_grouped(out->arena, shared));
	else if (ffn->shared_width > 0)
		str_addf(out, " + shared expert");
}

/* "(29 without MLP)", "(3 dense)": layers that have no experts. */
static void
add_other_layers(struct str *out, const struct model *model)
{
	int64_t dense = 0, bare = 0;
	int i;

	for (i = 0; i < model->n_kinds; i++)
		if (model->kinds[i].ffn.dense_width > 0 && !kind_is_moe(&model->kinds[i]))
			dense += model_layers_of(model, i);
		else if (!kind_is_moe(&model->kinds[i]))
			bare += model_layers_of(model, i);
	if (dense > 0)
		str_addf(out, " (%s dense%s", units_grouped(out->arena, dense), bare ? "" : ")");
	if (bare > 0)
		str_addf(out, "%s%s without MLP)", dense ? ", " : " (",
		    units_grouped(out->arena, bare));
}

void
text_model_line(struct request *request)
{
	const struct model *model = request->model;
	const struct layer_kind *moe = model_moe(model);
	struct str line = str_new(request->arena);
	struct params params;

	params_count(model, &params);
	str_addf(&line, "%s  %s parameters", model->name,
	    units_count(request->arena, (double)params.total));
	if (params.active != params.total)
		str_addf(&line, ", %s active", units_count(request->arena, (double)params.active));
	str_addf(&line, "; %s layers", units_grouped(request->arena, model->layers));
	if (moe)
		add_other_layers(&line, model);
	if (moe)
		add_experts(&line, &moe->ffn);
	text_line(request, "model", "%s", line.text);
}

void
text_cluster_line(struct request *request)
{
	const struct cluster *cluster = request->cluster;
	struct str line = str_new(request->arena);
	int i;

	if (cluster->name && !strchr(cluster->name, ' ')) /* a short string would say all twice */
		str_addf(&line, "%s  ", cluster->name);
	str_addf(&line, "%s node%s x %s %s = %s GPUs",
	    units_grouped(request->arena, cluster->nodes), cluster->nodes == 1 ? "" : "s",
	    units_grouped(request->arena, cluster->gpus_per_node), cluster->gpu.name,
	    units_grouped(request->arena, cluster->world));
	for (i = 0; i < cluster->n_levels; i++)
		str_addf(&line, "%s%s %s", i == 0 ? "; " : ", ", cluster->levels[i].name,
		    units_rate(request->arena, cluster->levels[i].Bps.value));
	str_add(&line, " a GPU");
	text_line(request, "cluster", "%s", line.text);
}

/* "DP 8", or "DP -" when the arithmetic does not come out. */
static void
add_degree(struct str *out, const char *name, int64_t value)
{
	str_addf(out, "%s%s %s", out->length > 0 ? "  " : "", name,
	    value > 0 ? units_grouped(out->arena, value) : "-");
}

const char *
text_degrees(struct arena *arena, const struct strategy *s)
{
	struct str text = str_new(arena);

	add_degree(&text, "TP", s->tp);
	add_degree(&text, "CP", s->cp);
	add_degree(&text, "PP", s->pp);
	if (s->vpp > 1)
		add_degree(&text, "VPP", s->vpp);
	add_degree(&text, "EP", s->ep);
	add_degree(&text, "ETP", s->etp);
	if (s->gtp > 1)
		add_degree(&text, "GTP", s->gtp);
	if (s->egtp > 1)
		add_degree(&text, "EGTP", s->egtp);
	add_degree(&text, "DP", s->dp);
	add_degree(&text, "EDP", s->edp);
	return text.text;
}

static void
add_overlap(struct str *out, unsigned overlap)
{
	static const char *const names[] = {"dp", "tp", "ep", "pp"};
	bool first = true;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (overlap & 1U << i) {
			str_addf(out, "%s%s", first ? "" : ",", names[i]);
			first = false;
		}
	if (first)
		str_add(out, "none");
}

const char *
overlap_text(struct arena *arena, unsigned overlap)
{
	struct str text = str_new(arena);

	add_overlap(&text, overlap);
	return text.text;
}

const char *
time_name_label(const char *name)
{
	int part;

	for (part = 0; part < TIME_PARTS; part++)
		if (strcmp(time_part_names[part], name) == 0)
			return time_part_label(NULL, (enum time_part)part);
	return name;
}

const char *
offload_text(struct arena *arena, const struct strategy *s)
{
	switch (s->offload) {
	case OFFLOAD_NONE:
		break;
	case OFFLOAD_OPTIMIZER:
		return s->offload_fraction < 1
			   ? arena_printf(arena, "optimizer:%g", s->offload_fraction)
			   : "optimizer";
	case OFFLOAD_ACTIVATIONS:
		return s->offload_fraction < 1
			   ? arena_printf(arena, "activations:%g", s->offload_fraction)
			   : "activations";
	}
	return "none";
}

const char *
asked_text(struct arena *arena, const struct strategy *s)
{
	struct str text = str_new(arena);

	if (s->schedule > SCHEDULE_INTERLEAVED)
		str_addf(&text, ", %s", schedule_names[s->schedule]);
	if (s->offload != OFFLOAD_NONE)
		str_addf(&text, ", offload %s", offload_text(arena, s));
	return text.text ? text.text : "";
}

const char *
text_band(const struct request *request, double value, double low, double high)
{
	double below = value > 0 ? 1 - low / value : 0, above = value > 0 ? high / value - 1 : 0;

	return arena_printf(request->arena, "-%.0f/+%.0f %%", 100 * below, 100 * above);
}
