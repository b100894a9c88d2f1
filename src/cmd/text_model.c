/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is this model, for a person? Its shape in words, then exact counts. */
#include "cmd/text_model.h"

#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "cmd/text_common.h"

static const char *
component_label(enum component component, const struct model *model)
{
	static const char *const labels[COMPONENTS] = {
	    [COMPONENT_EMBEDDING] = "input embedding",
	    [COMPONENT_DENSE_MLP] = "dense MLP",
	    [COMPONENT_ROUTER] = "router",
	    [COMPONENT_EXPERTS] = "routed experts",
	    [COMPONENT_SHARED_EXPERT] = "shared expert",
	    [COMPONENT_NORMS] = "norms",
	    [COMPONENT_OTHER] = "other",
	    [COMPONENT_HEAD] = "output head",
	};

	return component == COMPONENT_ATTENTION ? mixers_label(model) : labels[component];
}

static const char *
mixer_label(enum mixer_kind kind)
{
	static const char *const labels[MIXER_KINDS] = {
	    [MIXER_NONE] = "no attention",
	    [MIXER_GQA] = "GQA",
	    [MIXER_MLA] = "MLA",
	    [MIXER_LATENT_MQA] = "latent MQA",
	    [MIXER_GATED_DELTANET] = "gated DeltaNet",
	    [MIXER_LIGHTNING] = "lightning attention",
	    [MIXER_MAMBA1] = "Mamba",
	    [MIXER_MAMBA2] = "Mamba-2",
	};

	return labels[kind];
}

/* "GQA, 64 heads (8 KV), window 128" */
static const char *
mixer_text(struct arena *arena, const struct mixer *mixer)
{
	struct str text = str_new(arena);

	str_add(&text, mixer_label(mixer->kind));
	if (mixer->heads > 0)
		str_addf(&text, ", %s heads", units_grouped(arena, mixer->heads));
	if (mixer->kind == MIXER_GQA)
		str_addf(&text, " x %s (%s KV)", units_grouped(arena, mixer->head_dim),
		    units_grouped(arena, mixer->kv_heads));
	if (mixer->kind == MIXER_MLA)
		str_addf(&text, ", q/kv ranks %s/%s", units_grouped(arena, mixer->q_rank),
		    units_grouped(arena, mixer->kv_rank));
	if (mixer->window > 0)
		str_addf(&text, ", window %s", units_grouped(arena, mixer->window));
	if (mixer->chunk > 0)
		str_addf(&text, ", chunks of %s", units_grouped(arena, mixer->chunk));
	if (mixer->index_heads > 0)
		str_add(&text, ", sparse indexer");
	return text.text;
}

static const char *
ffn_text(struct arena *arena, const struct ffn *ffn)
{
	struct str text = str_new(arena);
	int64_t shared = shared_experts(ffn);

	if (ffn->dense_width > 0)
		str_addf(&text, "dense MLP x %s%s", units_grouped(arena, ffn->dense_width),
		    ffn->experts > 0 ? " + " : "");
	if (ffn->experts > 0)
		str_addf(&text, "MoE, %s of %s experts x %s", units_grouped(arena, ffn->top_k),
		    units_grouped(arena, ffn->experts), units_grouped(arena, ffn->expert_width));
	if (ffn->experts > 0 && shared > 0)
		str_addf(&text, " + %s shared", units_grouped(arena, shared));
	if (ffn->experts > 0 && shared > 0 && shared * ffn->expert_width != ffn->shared_width)
		str_addf(&text, " x %s", units_grouped(arena, ffn->shared_width / shared));
	else if (ffn->experts > 0 && shared == 0 && ffn->shared_width > 0)
		str_addf(&text, " + shared x %s", units_grouped(arena, ffn->shared_width));
	if (ffn->top_groups > 0 && ffn->top_groups < ffn->route_groups)
		str_addf(&text, " (%s of %s groups)", units_grouped(arena, ffn->top_groups),
		    units_grouped(arena, ffn->route_groups));
	if (text.length == 0)
		str_add(&text, "no MLP");
	return text.text;
}

/* One row a kind of layer; kinds that read the same are one row. */
static void
print_layers(struct request *request, const struct model *model)
{
	struct arena *arena = request->arena;
	const char *texts[MODEL_MAX_KINDS];
	struct table *table = table_new(arena, 2);
	int i, j;

	table_column(table, 0, "", TABLE_RIGHT);
	for (i = 0; i < model->n_kinds; i++) {
		const struct layer_kind *kind = &model->kinds[i];

		texts[i] = arena_printf(
		    arena, "%s; %s", mixer_text(arena, &kind->mixer), ffn_text(arena, &kind->ffn));
	}
	for (i = 0; i < model->n_kinds; i++) {
		int64_t layers = 0;

		for (j = 0; j < i && strcmp(texts[j], texts[i]) != 0; j++)
			;
		if (j < i)
			continue;
		for (; j < model->n_kinds; j++)
			if (strcmp(texts[j], texts[i]) == 0)
				layers += model_layers_of(model, j);
		table_row(table);
		table_cell(table, units_grouped(arena, layers));
		table_cell(table, texts[i]);
	}
	text_line(request, "layers", "%s; hidden %s, vocabulary %s%s",
	    units_grouped(arena, model->layers), units_grouped(arena, model->hidden),
	    units_grouped(arena, model->vocab), model->tied ? ", head tied to the embedding" : "");
	table_print(table, &request->out, 2);
}

static void
add_count(struct request *request, struct table *table, const char *name, int64_t count)
{
	table_row(table);
	table_cellf(table, "  %s", name);
	table_cell(table, units_grouped(request->arena, count));
}

static void
add_head(struct table *table, const char *head)
{
	table_row(table);
	table_cell(table, head);
}

static void
add_components(struct request *request, struct table *table, const struct params *params)
{
	int i;

	add_head(table, "parameters");
	for (i = 0; i < COMPONENTS; i++) {
		if (params->components[i] == 0)
			continue;
		add_count(request, table, component_label((enum component)i, request->model),
		    params->components[i]);
		table_cell(table, units_percent(request->arena,
				      (double)params->components[i] / (double)params->total));
	}
	add_count(request, table, "total", params->total);
}

static void
add_active(struct request *request, struct table *table, const struct params *params)
{
	add_head(table, "active a token");
	add_count(request, table, "with embedding and head", params->active);
	add_count(request, table, "without the input embedding", params->active_without_embedding);
	add_count(request, table, "without embedding and head",
	    params->active_without_embedding_and_head);
}

static void
add_extras(struct request *request, struct table *table, const struct model_facts *facts)
{
	const struct params *params = &facts->params;
	int layers = (int)facts->model->mtp_layers;
	int i;

	if (params->mtp == 0 && params->n_extras == 0)
		return;
	add_head(table, "beside the total");
	if (params->mtp > 0)
		add_count(request, table,
		    arena_printf(request->arena, "multi-token prediction, %d layer%s", layers,
			layers == 1 ? "" : "s"),
		    params->mtp);
	for (i = 0; i < params->n_extras; i++)
		add_count(request, table, text_words(request->arena, params->extras[i].name),
		    params->extras[i].elements);
}

static void
print_parameters(struct request *request, const struct model_facts *facts)
{
	struct table *table = table_new(request->arena, 3);

	table_column(table, 1, "", TABLE_RIGHT);
	table_column(table, 2, "", TABLE_RIGHT);
	add_components(request, table, &facts->params);
	add_active(request, table, &facts->params);
	add_extras(request, table, facts);
	table_print(table, &request->out, 0);
}

static void
add_flops(struct request *request, struct table *table, const char *name, struct flops flops)
{
	table_row(table);
	table_cell(table, name);
	table_cell(table, units_flop(request->arena, flops.forward));
	table_cell(table, units_flop(request->arena, flops.training));
}

static void
print_flops(struct request *request, const struct model_facts *facts)
{
	struct table *table = table_new(request->arena, 3);

	table_column(table, 0,
	    arena_printf(request->arena, "FLOPs a token at sequence %s%s",
		units_grouped(request->arena, facts->seq_len),
		request->job.base.seq_len == 0 ? " (its longest)" : ""),
	    TABLE_LEFT);
	table_column(table, 1, "forward", TABLE_RIGHT);
	table_column(table, 2, "training", TABLE_RIGHT);
	add_flops(request, table,
	    facts->model->mtp_layers > 0 ? "  without multi-token prediction" : "  causal half",
	    facts->flops);
	if (facts->model->mtp_layers > 0)
		add_flops(request, table, "  with multi-token prediction", facts->flops_with_mtp);
	table_print(table, &request->out, 0);
}

static void
print_head(struct request *request, const struct model_facts *facts)
{
	struct arena *arena = request->arena;
	struct str *out = &request->out;

	text_label(request, "model");
	str_addf(out, "%s", facts->model->name);
	if (facts->model->architecture &&
	    strcmp(facts->model->name, facts->model->architecture) != 0)
		str_addf(out, "  (%s)", facts->model->architecture);
	if (facts->counted)
		str_addf(out, "  %s parameters", units_count(arena, (double)facts->params.total));
	if (facts->counted && facts->params.active != facts->params.total)
		str_addf(
		    out, ", %s active a token", units_count(arena, (double)facts->params.active));
	str_addc(out, '\n');
}

void
text_model(struct request *request, const struct model_facts *facts)
{
	print_head(request, facts);
	if (facts->counted) {
		print_layers(request, facts->model);
		str_addc(&request->out, '\n');
		print_parameters(request, facts);
	}
	if (facts->has_flops) {
		str_addc(&request->out, '\n');
		print_flops(request, facts);
	}
}
