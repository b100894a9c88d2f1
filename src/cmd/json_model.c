/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is this model, for a script? Schema moeplan/model/v1. */
#include "cmd/json_model.h"

#include "cmd/json_common.h"

static void
json_extras(struct jsonw *w, const struct params *params)
{
	int i;

	jsonw_open(w, "extras");
	for (i = 0; i < params->n_extras; i++)
		jsonw_int(w, params->extras[i].name, params->extras[i].elements);
	jsonw_close(w);
}

static void
json_parameters(struct jsonw *w, const struct model_facts *facts)
{
	const struct params *params = &facts->params;
	int i;

	if (!facts->counted) {
		jsonw_string(w, "parameters", NULL);
		return;
	}
	jsonw_open(w, "parameters");
	jsonw_int(w, "total", params->total);
	jsonw_int(w, "active", params->active);
	jsonw_int(w, "active_without_embedding", params->active_without_embedding);
	jsonw_int(
	    w, "active_without_embedding_and_head", params->active_without_embedding_and_head);
	jsonw_int(w, "mtp", params->mtp);
	jsonw_open(w, "components");
	for (i = 0; i < COMPONENTS; i++)
		jsonw_int(w, component_names[i], params->components[i]);
	jsonw_close(w);
	json_extras(w, params);
	jsonw_close(w);
}

static void
json_flops(struct jsonw *w, const struct model_facts *facts)
{
	if (!facts->has_flops) {
		jsonw_string(w, "flops_per_token", NULL);
		return;
	}
	jsonw_open(w, "flops_per_token");
	jsonw_int(w, "seq_len", facts->seq_len);
	jsonw_double(w, "forward", facts->flops.forward);
	jsonw_double(w, "training", facts->flops.training);
	jsonw_double(w, "forward_with_mtp", facts->flops_with_mtp.forward);
	jsonw_double(w, "training_with_mtp", facts->flops_with_mtp.training);
	jsonw_string(w, "attention_convention", "causal half");
	jsonw_close(w);
}

static void
json_ffn(struct jsonw *w, const struct ffn *ffn)
{
	jsonw_int(w, "dense_width", ffn->dense_width);
	jsonw_int(w, "experts", ffn->experts);
	jsonw_int(w, "top_k", ffn->top_k);
	jsonw_int(w, "expert_width", ffn->expert_width);
	jsonw_int(w, "shared_width", ffn->shared_width);
}

static void
json_shape(struct jsonw *w, const struct model *model)
{
	int i;

	jsonw_open(w, "shape");
	jsonw_int(w, "hidden", model->hidden);
	jsonw_int(w, "vocab", model->vocab);
	jsonw_bool(w, "tied", model->tied);
	jsonw_int(w, "max_positions", model->max_positions);
	jsonw_int(w, "layers", model->layers);
	jsonw_int(w, "mtp_layers", model->mtp_layers);
	jsonw_list(w, "kinds");
	for (i = 0; i < model->n_kinds; i++) {
		const struct layer_kind *kind = &model->kinds[i];

		jsonw_open(w, NULL);
		jsonw_int(w, "layers", model_layers_of(model, i));
		jsonw_string(w, "mixer", mixer_kind_names[kind->mixer.kind]);
		jsonw_int(w, "heads", kind->mixer.heads);
		jsonw_int(w, "kv_heads", kind->mixer.kv_heads);
		jsonw_int(w, "head_dim", kind->mixer.head_dim);
		jsonw_int(w, "window", kind->mixer.window);
		json_ffn(w, &kind->ffn);
		jsonw_close(w);
	}
	jsonw_close(w);
	jsonw_row(w, "kind_of_layer");
	for (i = 0; i < model->layers; i++)
		jsonw_int(w, NULL, model->kind_of[i]);
	jsonw_close(w);
	jsonw_close(w);
}

void
json_model(struct request *request, const struct model_facts *facts)
{
	struct jsonw w = json_begin(request);

	jsonw_string(&w, "name", facts->model->name);
	jsonw_string(&w, "architecture", facts->model->architecture);
	json_parameters(&w, facts);
	json_flops(&w, facts);
	if (facts->counted)
		json_shape(&w, facts->model);
	jsonw_string(&w, "unmodelled", facts->model->unmodelled);
	jsonw_string(&w, "uncounted", facts->model->uncounted);
	json_finish(request, &w);
}
