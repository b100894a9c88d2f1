/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which model do the shape settings describe?
 *
 * Settings whose term is "model.KEY" become the key of one of our model files, and its reader
 * builds the model. Megatron's defaults fill in what is not said; what our files have no
 * key for (biases, LayerNorm, two-matrix MLPs …) is set on the model afterwards. Without the
 * sizes that a parameter count needs there is no model, and rules use what is stated; of the
 * vocabulary a usual size stands in, and the model says so.
 *
 * Source of defaults: NVIDIA/Megatron-LM core_v0.19.0 megatron/training/arguments.py,
 * transformer_config.py (MLATransformerConfig by the argument parser's values).
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_private.h"
#include "model/builtin_models.h"

static const char *const needed[] = {"hidden_size", "num_layers", "num_attention_heads", NULL};

/*
 * Scripts leave the vocabulary to the tokenizer. Today's models have 32,000 (Mixtral) to 202,048
 * entries (Llama 4), most of them about as many as this.
 */
static const int64_t usual_vocabulary = 131072;

struct shape {
	struct import *in;
	struct doc *map, *last, *mla, *last_mla;
	bool fresh; /* this file says some of it */
};

/* A copy of the value under our key. */
static void
add(struct shape *shape, const char *key, const struct doc *value)
{
	struct doc *node = arena_alloc(shape->in->arena, sizeof(*node));
	bool latent = strncmp(key, "mla.", 4) == 0;

	*node = *value;
	node->next = NULL;
	node->key = latent ? key + 4 : key;
	if (latent)
		shape->last_mla = import_append(shape->mla, shape->last_mla, node);
	else
		shape->last = import_append(shape->map, shape->last, node);
}

static void
add_number(struct shape *shape, const char *key, int64_t value)
{
	add(shape, key,
	    import_scalar(shape->in->arena, key,
		arena_printf(shape->in->arena, "%lld", (long long)value), shape->map->loc));
}

static bool
has(const struct doc *map, const char *key)
{
	return doc_get(map, key) != NULL;
}

static int64_t
size_of(const struct shape *shape, const char *key)
{
	const struct doc *value = doc_get(shape->map, key);

	return value && value->is_integer ? value->integer : 0;
}

/* One layer in N, the first of each N; or a list. */
static const struct doc *
moe_layers(struct shape *shape, const struct doc *value)
{
	struct import *in = shape->in;
	int64_t layers = import_integer(in->config, CONFIG_MEGATRON, "num_layers", 0);
	struct doc *list, *last = NULL;

	if (value->kind == DOC_STRING)
		return import_pattern(in->arena, value->text, value->loc);
	if (!value->is_integer || value->integer < 1 || layers < 1 || layers > MODEL_MAX_LAYERS)
		return value->kind == DOC_LIST ? value : NULL;
	list = import_container(in->arena, NULL, DOC_LIST, value->loc);
	for (int64_t i = 0; i < layers; i++)
		last = import_append(list, last,
		    import_scalar(
			in->arena, NULL, i % value->integer == 0 ? "1" : "0", value->loc));
	return list;
}

/* Every setting of a model's shape, whatever its spelling; the first row with a value counts. */
static void
collect(struct shape *shape, enum config_form form)
{
	static const char prefix[] = "model.";

	for (const struct key *const *table = import_tables(form); *table; table++)
		for (const struct key *key = *table; key->name; key++) {
			const struct doc *value = import_value(shape->in->config, form, key->name);
			const char *ours = key->term;

			if (!value || !ours || strncmp(ours, prefix, strlen(prefix)) != 0)
				continue;
			shape->fresh =
			    shape->fresh || import_is_new(shape->in,
						import_find(shape->in->config, form, key->name));
			ours += strlen(prefix);
			if (strcmp(ours, "moe_layer_freq") == 0)
				value = moe_layers(shape, value);
			if (value && !has(strncmp(ours, "mla.", 4) == 0 ? shape->mla : shape->map,
					 strncmp(ours, "mla.", 4) == 0 ? ours + 4 : ours))
				add(shape, ours, value);
		}
}

/* --- Megatron's defaults -------------------------------------------------------------------- */

static bool
is_on(const struct shape *shape, const char *name)
{
	return import_flag(shape->in->config, CONFIG_MEGATRON, name);
}

static bool
is_gated(const struct shape *shape)
{
	return is_on(shape, "swiglu") || is_on(shape, "quick_geglu") ||
	       is_on(shape, "gated_linear_unit");
}

static void
drop(struct shape *shape, const char *key)
{
	struct doc **at = &shape->map->first;

	while (*at && strcmp((*at)->key, key) != 0)
		at = &(*at)->next;
	if (*at) {
		*at = (*at)->next;
		shape->map->count--;
	}
	shape->last = shape->map->first;
	while (shape->last && shape->last->next)
		shape->last = shape->last->next;
}

static void
latent_defaults(struct shape *shape)
{
	static const struct {
		const char *key;
		int64_t value;
	} defaults[] = {{"kv_lora_rank", 32}, {"qk_nope_head_dim", 128}, {"qk_rope_head_dim", 64},
	    {"v_head_dim", 128}};

	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (!has(shape->mla, defaults[i].key))
			add_number(shape, arena_printf(shape->in->arena, "mla.%s", defaults[i].key),
			    defaults[i].value);
	shape->mla->key = "mla";
	shape->last = import_append(shape->map, shape->last, shape->mla);
}

static void
megatron_shape(struct shape *shape)
{
	int64_t hidden = size_of(shape, "hidden_size");

	if (!has(shape->map, "ffn_hidden_size") && hidden > 0 && hidden < 1 << 20)
		add_number(shape, "ffn_hidden_size",
		    is_gated(shape) ? hidden * 8 / 3 / 64 * 64 : 4 * hidden);
	if (size_of(shape, "num_experts") < 1) {
		static const char *const moe[] = {"num_experts", "moe_ffn_hidden_size", "top_k",
		    "shared_expert_width", "moe_layer_freq", NULL};

		for (int i = 0; moe[i]; i++)
			drop(shape, moe[i]);
	} else {
		if (!has(shape->map, "moe_ffn_hidden_size"))
			add_number(shape, "moe_ffn_hidden_size", size_of(shape, "ffn_hidden_size"));
		if (!has(shape->map, "top_k"))
			add_number(shape, "top_k", 2);
	}
	if (!is_on(shape, "group_query_attention") || is_on(shape, "multi_latent_attention"))
		drop(shape, "num_key_value_heads");
	if (is_on(shape, "multi_latent_attention")) {
		drop(shape, "head_dim");
		latent_defaults(shape);
	} else if (!has(shape->map, "num_key_value_heads")) {
		add_number(shape, "num_key_value_heads",
		    is_on(shape, "group_query_attention") ? 1
							  : size_of(shape, "num_attention_heads"));
	}
	add(shape, "tie_embeddings",
	    import_bool(shape->in->arena, "tie_embeddings",
		!is_on(shape, "untie_embeddings_and_output_weights"), shape->map->loc));
}

/* --- what our model files have no key for ----------------------------------------------------- */

static void
patch_mixer(const struct shape *shape, struct mixer *mixer, bool bias)
{
	mixer->qkv_bias = bias || is_on(shape, "add_qkv_bias");
	mixer->out_bias = bias;
	mixer->out_gate = is_on(shape, "attention_output_gate");
	if (is_on(shape, "qk_layernorm") && mixer->kind == MIXER_GQA)
		mixer->qk_norm = QK_NORM_HEAD;
	mixer->sinks = is_on(shape, "softmax_type") &&
		       strcmp(import_word(shape->in->config, CONFIG_MEGATRON, "softmax_type"),
			   "learnable") == 0;
}

static void
patch_ffn(const struct shape *shape, struct ffn *ffn, bool bias)
{
	const struct config *config = shape->in->config;

	ffn->ungated = !is_gated(shape);
	ffn->dense_bias = bias && ffn->dense_width > 0;
	if (ffn->experts == 0)
		return;
	ffn->expert_bias = bias;
	ffn->router_bias = bias || is_on(shape, "moe_router_enable_expert_bias");
	ffn->shared_gate = is_on(shape, "moe_shared_expert_gate");
	ffn->latent = import_integer(config, CONFIG_MEGATRON, "moe_latent_size", 0);
	ffn->route_groups = import_integer(config, CONFIG_MEGATRON, "moe_router_num_groups", 0);
	ffn->top_groups = import_integer(config, CONFIG_MEGATRON, "moe_router_group_topk", 0);
}

/* "(127,0)": tokens to the left of the query, which sees itself too. */
static int64_t
window_of(const struct shape *shape)
{
	const char *text = import_word(shape->in->config, CONFIG_MEGATRON, "window_size");
	int64_t left = 0;

	if (!text)
		return 0;
	for (text += strspn(text, "( "); *text >= '0' && *text <= '9' && left < INT32_MAX; text++)
		left = left * 10 + (*text - '0');
	return left > 0 ? left + 1 : 0;
}

static bool
has_learned_positions(const struct shape *shape)
{
	const char *type =
	    import_word(shape->in->config, CONFIG_MEGATRON, "position_embedding_type");

	if (is_on(shape, "use_rotary_position_embeddings") || is_on(shape, "no_position_embedding"))
		return false;
	return !type || strcmp(type, "learned_absolute") == 0;
}

static void
patch_kind(const struct shape *shape, const struct model *model, struct layer_kind *kind, bool bias,
    bool layer_norm)
{
	patch_mixer(shape, &kind->mixer, bias);
	patch_ffn(shape, &kind->ffn, bias);
	if (layer_norm)
		kind->norm_elements = 4 * model->hidden;
}

/* The kind that differs in its window alone; `twins` holds those made so far. -1: too many. */
static int
windowed_kind(struct model *model, int kind, int64_t window, int twins[MODEL_MAX_KINDS])
{
	if (twins[kind] > 0)
		return twins[kind];
	if (model->n_kinds == MODEL_MAX_KINDS)
		return -1;
	model->kinds[model->n_kinds] = model->kinds[kind];
	model->kinds[model->n_kinds].mixer.window = window;
	twins[kind] = model->n_kinds++;
	return twins[kind];
}

/* Kinds that no layer has any more go. */
static void
drop_unused_kinds(struct model *model)
{
	for (int k = model->n_kinds - 1; k >= 0; k--) {
		if (model_layers_of(model, k) > 0)
			continue;
		for (int i = k + 1; i < model->n_kinds; i++)
			model->kinds[i - 1] = model->kinds[i];
		model->n_kinds--;
		for (int64_t l = 0; l < model->layers; l++)
			if (model->kind_of[l] > k)
				model->kind_of[l]--;
	}
}

/* Layers that see a window only: those of the pattern, all without one. */
static void
patch_windows(const struct shape *shape, struct model *model, int64_t window)
{
	const struct config *config = shape->in->config;
	const struct doc *said = import_value(config, CONFIG_MEGATRON, "window_attn_skip_freq");
	const struct doc *pattern = said && said->kind == DOC_STRING
					? import_pattern(shape->in->arena, said->text, said->loc)
					: said;
	const struct doc *item = pattern ? pattern->first : NULL;
	int twins[MODEL_MAX_KINDS] = {0}; /* kind 0 is nobody's twin */

	for (int64_t l = 0; l < model->layers; l++) {
		/* an integer N: every N-th layer sees all */
		bool sees_all = pattern && (pattern->is_integer && pattern->integer > 0
						   ? (l + 1) % pattern->integer == 0
						   : item && item->integer == 0);
		int kind = sees_all ? model->kind_of[l]
				    : windowed_kind(model, model->kind_of[l], window, twins);

		if (kind >= 0)
			model->kind_of[l] = (uint8_t)kind;
		item = item ? item->next : NULL;
	}
	drop_unused_kinds(model);
}

static void
patch_model(const struct shape *shape, struct model *model)
{
	const char *norm = import_word(shape->in->config, CONFIG_MEGATRON, "normalization");
	bool layer_norm = !norm || strcmp(norm, "LayerNorm") == 0;
	bool bias = !is_on(shape, "disable_bias_linear");
	int64_t window = window_of(shape);

	for (int i = 0; i < model->n_kinds; i++)
		patch_kind(shape, model, &model->kinds[i], bias, layer_norm);
	if (window > 0)
		patch_windows(shape, model, window);
	if (model->mtp_layers > 0)
		patch_kind(shape, model, &model->mtp, bias, layer_norm);
	if (layer_norm)
		model->final_norm = 2 * model->hidden;
	if (has_learned_positions(shape))
		model->learned_positions = model->max_positions;
}

/* --- torchtitan: models by name --------------------------------------------------------------- */

/* Flavors whose shape is that of a model we have (pytorch/torchtitan models/<module>/__init__.py).
 */
static const struct {
	const char *module, *flavor, *model;
} flavors[] = {
    {"deepseek_v3", "16B", "deepseek-v2-lite"},
    {"deepseek_v3", "236B", "deepseek-v2"},
    {"deepseek_v3", "671B", "deepseek-v3"},
    {"gpt_oss", "120b", "gpt-oss-120b"},
    {"llama3", "8B", "llama3.1-8b"},
    {"llama3", "70B", "llama3.1-70b"},
    {"llama3", "405B", "llama3.1-405b"},
    {"llama4", "17bx16e", "llama4-scout"},
    {"qwen3", "8B", "qwen3-8b"},
    {"qwen3", "32B", "qwen3-32b"},
    {"qwen3", "30B-A3B", "qwen3-30b-a3b"},
    {"qwen3", "235B-A22B", "qwen3-235b-a22b"},
};

static void
conclude_flavor(struct import *in)
{
	const struct config *config = in->config;
	const char *module = import_word(config, CONFIG_TORCHTITAN, "model.name");
	const char *flavor = import_word(config, CONFIG_TORCHTITAN, "model.flavor");

	if (!module || !flavor ||
	    !(import_is_new(in, import_find(config, CONFIG_TORCHTITAN, "model.name")) ||
		import_is_new(in, import_find(config, CONFIG_TORCHTITAN, "model.flavor"))))
		return;
	for (size_t i = 0; i < sizeof(flavors) / sizeof(flavors[0]); i++) {
		const char *name = flavors[i].model, *text = builtin_model_text(name);
		struct diags *notes = diags_new(in->arena);
		const struct doc *doc;

		if (strcmp(flavors[i].module, module) != 0 ||
		    strcmp(flavors[i].flavor, flavor) != 0 || !text)
			continue;
		doc = doc_parse(in->arena, notes, name, text, strlen(text));
		in->config->model = doc ? model_read(in->arena, notes, doc, name) : NULL;
	}
}

/* --- all ------------------------------------------------------------------------------------ */

/* The first size that nobody told, or NULL. */
static const char *
lacks(const struct shape *shape)
{
	for (int i = 0; needed[i]; i++)
		if (size_of(shape, needed[i]) < 1)
			return needed[i];
	return NULL;
}

void
import_conclude_model(struct import *in)
{
	struct config *config = in->config;
	enum config_form form =
	    config->form == CONFIG_DEEPSPEED && import_find(config, CONFIG_MEGATRON, "num_layers")
		? CONFIG_MEGATRON
		: config->form;
	struct shape shape = {.in = in};
	bool megatron = form == CONFIG_MEGATRON || form == CONFIG_BRIDGE;
	struct model *model;
	bool assumed;

	/* a model file says more than arguments could */
	if (import_find(config, CONFIG_PLAN, "model"))
		return;
	if (form == CONFIG_TORCHTITAN) {
		conclude_flavor(in);
		return;
	}
	shape.map = import_container(in->arena, NULL, DOC_MAP, (struct loc){in->name, 0, 0});
	shape.mla = import_container(in->arena, "mla", DOC_MAP, shape.map->loc);
	collect(&shape, form);
	if (!shape.fresh)
		return;
	config->model_lacks = lacks(&shape);
	if (!config->model_lacks && !megatron && !has(shape.map, "ffn_hidden_size"))
		config->model_lacks = "ffn_hidden_size";
	if (config->model_lacks)
		return;
	if (megatron)
		megatron_shape(&shape);
	assumed = size_of(&shape, "vocab_size") < 1;
	if (assumed) {
		drop(&shape, "vocab_size");
		add_number(&shape, "vocab_size", usual_vocabulary);
	}
	model = model_read(in->arena, in->diags, shape.map, in->name);
	if (model && megatron)
		patch_model(&shape, model);
	if (model) {
		model->vocab_assumed = assumed;
		config->model = model;
	}
}
