/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which model does a file of our own describe?
 *
 * A shape without an architecture (schema moeplan/model/v1, or the `model:` section of a
 * combined file), or `like: NAME`, a built-in example with some of its keys changed. Each row
 * below is one key and the meaning in hf_keys.c that it sets: from there on the model is built
 * as one of a config.json is, of an architecture that implies nothing.
 */
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/field.h"
#include "base/str.h"
#include "model/builtin_models.h"
#include "model/hf_private.h"
#include "model/model_yaml.h"

struct model_yaml {
	const char *name, *like;
	const struct doc *nodes[HF_KEYS];
};

static void
store(const struct field *field, void *object, const struct doc *value)
{
	const struct doc **node = (const struct doc **)(void *)((char *)object + field->offset);

	*node = value;
}

/* The checks of a plain row; what is kept is the place in the file, for later messages. */
static int
take_integer(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct field plain = *field;
	int64_t ignored;

	plain.kind = FIELD_INT;
	plain.offset = 0;
	if (doc_is_null(value))
		return 0;
	if (field_read(&plain, &ignored, value, context) != 0)
		return -1;
	store(field, object, value);
	return 0;
}

static int
take_flag(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct field plain = *field;
	bool ignored;

	plain.kind = FIELD_FLAG;
	plain.offset = 0;
	if (field_read(&plain, &ignored, value, context) != 0)
		return -1;
	store(field, object, value);
	return 0;
}

static int
take_frequency(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	if (value->kind != DOC_LIST)
		return take_integer(field, object, value, context);
	store(field, object, value);
	return 0;
}

static int
take_mla(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	(void)field;
	return fields_read(model_mla_fields, object, value, NULL, context);
}

#define NODE(key) offsetof(struct model_yaml, nodes[key])
#define INTEGER(key_name, key, least, most, text)                                                  \
	{                                                                                          \
		.name = key_name, .arg = "N", .help = text, .kind = FIELD_CUSTOM,                  \
		.offset = NODE(key), .min = least, .max = most, .read = take_integer               \
	}

const struct field model_mla_fields[] = {
    INTEGER("q_lora_rank", HF_Q_RANK, 0, 1 << 20, "width of the query latent, 0 for none"),
    INTEGER("kv_lora_rank", HF_KV_RANK, 1, 1 << 20, "width of the key-value latent"),
    INTEGER("qk_nope_head_dim", HF_NOPE_DIM, 0, 1 << 16,
	"query and key width of a head without rotary embedding"),
    INTEGER("qk_rope_head_dim", HF_ROPE_DIM, 0, 1 << 16,
	"query and key width of a head with rotary embedding"),
    INTEGER("v_head_dim", HF_VALUE_DIM, 1, 1 << 16, "value width of a head"),
    {.name = NULL},
};

const struct field model_fields[] = {
    {
	.name = "name",
	.arg = "TEXT",
	.help = "what reports call the model",
	.kind = FIELD_TEXT,
	.offset = offsetof(struct model_yaml, name),
    },
    {
	.name = "like",
	.arg = "NAME",
	.help = "a built-in example that the other keys change",
	.kind = FIELD_TEXT,
	.offset = offsetof(struct model_yaml, like),
    },
    INTEGER("hidden_size", HF_HIDDEN, 1, 1 << 20, "width of the residual stream"),
    INTEGER("num_layers", HF_LAYERS, 1, MODEL_MAX_LAYERS, "transformer layers"),
    INTEGER("num_attention_heads", HF_HEADS, 1, 1 << 16, "query heads"),
    INTEGER("num_key_value_heads", HF_KV_HEADS, 1, 1 << 16, "key and value heads"),
    INTEGER("head_dim", HF_HEAD_DIM, 1, 1 << 16,
	"width of a head; hidden_size / num_attention_heads when left out"),
    INTEGER("vocab_size", HF_VOCAB, 1, 1 << 28, "rows of the embedding"),
    INTEGER("ffn_hidden_size", HF_FFN, 1, 1 << 24, "width of a dense MLP"),
    INTEGER("num_experts", HF_EXPERTS, 0, 1e6, "routed experts of a MoE layer"),
    INTEGER("top_k", HF_TOP_K, 1, 1e6, "routed experts that a token uses"),
    INTEGER("moe_ffn_hidden_size", HF_EXPERT_FFN, 1, 1 << 24, "width of a routed expert"),
    INTEGER(
	"shared_expert_width", HF_SHARED_FFN, 0, 1 << 24, "width of all shared experts together"),
    INTEGER("dense_first_layers", HF_FIRST_DENSE, 0, MODEL_MAX_LAYERS,
	"layers in front of the first MoE layer"),
    {
	.name = "moe_layer_freq",
	.arg = "N|LIST",
	.help = "every N-th layer is a MoE layer, or a list of 0 and 1, one a layer",
	.kind = FIELD_CUSTOM,
	.offset = NODE(HF_MOE_FREQ),
	.min = 1,
	.max = MODEL_MAX_LAYERS,
	.read = take_frequency,
    },
    {
	.name = "mla",
	.arg = "MAP",
	.help = "multi-head latent attention: its ranks and head widths",
	.kind = FIELD_CUSTOM,
	.read = take_mla,
    },
    {
	.name = "tie_embeddings",
	.help = "input embedding and output head are one matrix",
	.kind = FIELD_CUSTOM,
	.offset = NODE(HF_TIE),
	.read = take_flag,
    },
    INTEGER("mtp_layers", HF_MTP, 0, 64, "multi-token-prediction layers"),
    INTEGER("sliding_window", HF_WINDOW, 1, 1e12, "tokens that a query sees at most"),
    INTEGER("max_position_embeddings", HF_POSITIONS, 1, 1e12, "longest sequence"),
    {.name = NULL},
};

/* Our names of the meanings, for messages about keys that are not there. */
static void
set_names(struct hf *hf, const struct field *fields)
{
	for (; fields->name; fields++)
		for (int key = 0; key < HF_KEYS; key++)
			if (fields->kind == FIELD_CUSTOM && fields->offset == NODE(key))
				hf->own_names[key] = fields->name;
}

static void
override(struct hf *hf, void *context)
{
	const struct model_yaml *yaml = context;

	for (int key = 0; key < HF_KEYS; key++)
		if (yaml->nodes[key])
			hf_key_set(hf, (enum hf_key)key, yaml->nodes[key]);
}

/* A built-in example's document; NULL after an error that names the nearest one. */
static const struct doc *
example(struct field_context *context, const struct doc *map, const char *name)
{
	const char *text = builtin_model_text(name);
	const char **names;
	int n = 0;

	if (text)
		return doc_parse(context->arena, context->diags, name, text, strlen(text));
	while (builtin_model_name(n))
		n++;
	names = arena_array(context->arena, (size_t)n + 1, sizeof(*names));
	while (n-- > 0)
		names[n] = builtin_model_name(n);
	diag_error(
	    context->diags, doc_get(map, "like")->loc, "no built-in model is called '%s'", name);
	if (str_nearest(name, names))
		diag_last_hint(context->diags, "did you mean '%s'?", str_nearest(name, names));
	return NULL;
}

static void
check_schema(struct diags *diags, const struct doc *map)
{
	const struct doc *schema = doc_get(map, "schema");

	if (!schema ||
	    (schema->kind == DOC_STRING && strcmp(schema->text, "moeplan/model/v1") == 0))
		return;
	diag_error(diags, schema->loc, "'schema' is '%s', a model is 'moeplan/model/v1'",
	    schema->text ? schema->text : doc_kind_name(schema->kind));
}

static struct model *
build(struct hf *hf, struct model_yaml *yaml, const char *name)
{
	static const struct hf_family plain = {.own_expert_width = true};

	set_names(hf, model_fields);
	set_names(hf, model_mla_fields);
	if (yaml->like)
		return hf_read(hf, name ? name : yaml->like, override, yaml);
	hf->inner = hf->outer;
	hf->family = &plain;
	override(hf, yaml);
	return hf_build(hf, name);
}

struct model *
model_yaml_read(struct arena *arena, struct diags *diags, const struct doc *map, const char *name)
{
	static const char *const skip[] = {"schema", NULL};
	struct field_context context = {arena, diags};
	struct model_yaml yaml = {0};
	struct hf hf = {.arena = arena, .diags = diags, .outer = map, .own = true};
	int errors = diags->errors;
	struct model *model;

	check_schema(diags, map);
	fields_read(model_fields, &yaml, map, skip, &context);
	if (yaml.like)
		hf.outer = example(&context, map, yaml.like);
	if (diags->errors != errors)
		return NULL;
	model = build(&hf, &yaml, yaml.name ? yaml.name : name);
	return diags->errors == errors ? model : NULL;
}
