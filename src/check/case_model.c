/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which model do the shapes of a case state? */
#include "base/arena.h"
#include "check/case.h"

static int64_t
setting_size(const struct config *config, const char *name)
{
	const struct setting *setting = setting_find(config, name);

	return setting && setting->value->is_integer ? setting->value->integer : 0;
}

/* A model of one layer kind, when its shapes were stated. */
static struct model *
shaped_model(struct arena *arena, const struct config *config)
{
	struct model *model = arena_alloc(arena, sizeof(*model));
	struct mixer *mixer = &model->kinds[0].mixer;
	struct ffn *ffn = &model->kinds[0].ffn;

	model->name = "case";
	model->hidden = setting_size(config, "hidden_size");
	model->layers = setting_size(config, "num_layers");
	model->vocab = setting_size(config, "vocab_size");
	model->n_kinds = 1;
	model->final_norm = model->hidden;
	model->kinds[0].norm_elements = 2 * model->hidden;
	mixer->kind = MIXER_GQA;
	mixer->heads = setting_size(config, "num_attention_heads");
	mixer->kv_heads = setting_size(config, "num_query_groups");
	mixer->head_dim = setting_size(config, "kv_channels");
	ffn->dense_width = setting_size(config, "ffn_hidden_size");
	ffn->experts = setting_size(config, "num_experts");
	ffn->top_k = setting_size(config, "moe_router_topk");
	ffn->expert_width = setting_size(config, "moe_ffn_hidden_size");
	if (ffn->experts > 0 && ffn->expert_width > 0)
		ffn->dense_width = 0;
	if (mixer->kv_heads == 0)
		mixer->kv_heads = mixer->heads;
	if (mixer->head_dim == 0 && mixer->heads > 0)
		mixer->head_dim = model->hidden / mixer->heads;
	mixer->value_dim = mixer->head_dim;
	if (model->hidden < 1 || model->layers < 1 || model->layers > MODEL_MAX_LAYERS ||
	    model->vocab < 1 || mixer->heads < 1 || (ffn->dense_width < 1 && ffn->expert_width < 1))
		return NULL;
	return model;
}

void
case_settle_model(struct arena *arena, struct config *config)
{
	int64_t layers = setting_size(config, "num_layers");
	int64_t hidden = setting_size(config, "hidden_size");
	const struct model *found = config->model;

	if (found &&
	    ((layers > 0 && layers != found->layers) || (hidden > 0 && hidden != found->hidden)))
		config->model = NULL;
	if (!config->model)
		config->model = shaped_model(arena, config);
}
