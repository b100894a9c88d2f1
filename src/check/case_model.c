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

/* Layers of a virtual stage say how many of them a stage has. */
static void
settle_virtual_stages(struct config *config)
{
	struct strategy *s = &config->strategy;
	int64_t each = setting_size(config, "num_layers_per_virtual_pipeline_stage");
	int64_t said = setting_size(config, "num_layers"), pp = s->pp > 0 ? s->pp : 1;
	int64_t layers = said > 0 ? said : config->model ? config->model->layers : 0;

	if (each > 0 && s->vpp == 0 && layers > 0 && layers % pp == 0 && layers / pp % each == 0)
		s->vpp = layers / pp / each;
}

/* verl counts its batches in prompts: an optimizer step has as many answers to each. */
static void
settle_prompts(struct config *config)
{
	int64_t answers = setting_size(config, "rollout_n");
	int64_t mini = setting_size(config, "ppo_mini_batch_size");
	int64_t prompts = mini > 0 ? mini : setting_size(config, "train_batch_size");

	if (prompts > 0 && answers > 0 && setting_size(config, "train_batch_size") > 0)
		config->strategy.global_batch = prompts * answers;
	else if (mini > 0)
		config->strategy.global_batch = 0;
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
	settle_virtual_stages(config);
	settle_prompts(config);
}
