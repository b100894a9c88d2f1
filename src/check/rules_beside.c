/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Do the files say the same as the model and the cluster beside them? The model is that of
 * --model, or the one that a plan among the files holds. A size that a file states is compared
 * as it is written; what the files make of the sizes that they leave out is compared as a
 * whole. Of the cluster a job states the GPUs of a node (import_slurm.c).
 */
#include <ctype.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/context.h"
#include "check/import_private.h"
#include "check/import_slurm.h"

enum part { PART_MODEL, PART_MIXER, PART_FFN };

/* A size of a model, and the term of the settings that say it. */
struct size_row {
	const char *term, *name;
	enum part part;
	size_t offset; /* of an int64_t in the part */
};
#define OF_MODEL(member) PART_MODEL, offsetof(struct model, member)
#define OF_MIXER(member) PART_MIXER, offsetof(struct mixer, member)
#define OF_FFN(member) PART_FFN, offsetof(struct ffn, member)

/* clang-format off */
static const struct size_row size_rows[] = {
	{"model.num_layers", "layers", OF_MODEL(layers)},
	{"model.hidden_size", "hidden size", OF_MODEL(hidden)},
	{"model.vocab_size", "vocabulary", OF_MODEL(vocab)},
	{"model.num_attention_heads", "heads", OF_MIXER(heads)},
	{"model.num_key_value_heads", "KV heads", OF_MIXER(kv_heads)},
	{"model.head_dim", "width of a head", OF_MIXER(head_dim)},
	{"model.mla.q_lora_rank", "rank of queries", OF_MIXER(q_rank)},
	{"model.mla.kv_lora_rank", "rank of keys and values", OF_MIXER(kv_rank)},
	{"model.mla.qk_nope_head_dim", "width of a head without position", OF_MIXER(nope_dim)},
	{"model.mla.qk_rope_head_dim", "width of a head with position", OF_MIXER(rope_dim)},
	{"model.mla.v_head_dim", "width of a value", OF_MIXER(value_dim)},
	{"model.ffn_hidden_size", "MLP width", OF_FFN(dense_width)},
	{"model.num_experts", "experts", OF_FFN(experts)},
	{"model.top_k", "experts a token", OF_FFN(top_k)},
	{"model.moe_ffn_hidden_size", "expert width", OF_FFN(expert_width)},
	{"model.shared_expert_width", "shared width", OF_FFN(shared_width)},
	{.term = NULL},
};
/* clang-format on */

static int64_t
member(const void *part, const struct size_row *row)
{
	int64_t size;

	memcpy(&size, (const char *)part + row->offset, sizeof(size));
	return size;
}

/* Heads and ranks of attention only: those of other mixers go by other names. */
static bool
has_mixer_size(const struct mixer *mixer, const struct size_row *row)
{
	bool latent = strncmp(row->term, "model.mla.", strlen("model.mla.")) == 0;

	if (mixer->kind == MIXER_GQA)
		return !latent;
	return mixer->kind == MIXER_MLA && (latent || strcmp(row->name, "heads") == 0);
}

static int64_t
kind_size(const struct layer_kind *kind, const struct size_row *row)
{
	if (row->part == PART_MIXER)
		return has_mixer_size(&kind->mixer, row) ? member(&kind->mixer, row) : 0;
	return member(&kind->ffn, row);
}

/* The size that layers of a model have first; 0: none. */
static int64_t
first_size(const struct model *model, const struct size_row *row)
{
	int64_t size = row->part == PART_MODEL ? member(model, row) : 0;

	for (int i = 0; row->part != PART_MODEL && i < model->n_kinds && size == 0; i++)
		size = kind_size(&model->kinds[i], row);
	return size;
}

/* Layers of one model may have several. */
static bool
has_size(const struct model *model, const struct size_row *row, int64_t size)
{
	bool found = row->part == PART_MODEL && member(model, row) == size;

	for (int i = 0; row->part != PART_MODEL && i < model->n_kinds && !found; i++)
		found = kind_size(&model->kinds[i], row) == size;
	return found;
}

/* The model that the settings did not make: --model's, or that of a plan; NULL: there is none. */
static const struct model *
other_model(const struct facts *facts)
{
	const struct config *config = facts->check->config;

	if (facts->check->model != config->model)
		return facts->check->model;
	return import_find(config, CONFIG_PLAN, "model") ? config->model : NULL;
}

static const struct size_row *
row_of(const struct setting *setting)
{
	const struct key *key = setting ? import_key(setting->form, setting->name) : NULL;
	const struct size_row *row = size_rows;

	if (!key || !key->term)
		return NULL;
	while (row->term && strcmp(row->term, key->term) != 0)
		row++;
	return row->term ? row : NULL;
}

/*
 * The row of the setting at hand when it can be held against the model: a dense MLP's width in
 * a model that has none is one that Megatron asks for and nobody uses.
 */
static const struct size_row *
comparable_row(const struct facts *facts, const struct model *model)
{
	const struct size_row *row = row_of(facts->setting);
	bool is_count = row && strcmp(row->term, "model.num_experts") == 0;

	if (!row || facts->setting->unresolved || (!is_count && first_size(model, row) == 0))
		return NULL;
	return row;
}

/* Megatron pads its vocabulary, and configs hold padded ones. */
static bool
is_padding(const struct facts *facts, const struct size_row *row, int64_t said, int64_t size)
{
	const struct config *config = facts->check->config;
	int64_t step =
	    import_integer(config, CONFIG_MEGATRON, "make_vocab_size_divisible_by", 128);
	int64_t tp = facts->check->strategy->tp > 0 ? facts->check->strategy->tp : 1;
	bool padded = strcmp(facts->setting->name, "padded_vocab_size") == 0;

	if (strcmp(row->term, "model.vocab_size") != 0)
		return false;
	if (padded)
		return said > size;
	if (step < 1 || step > 1 << 20 || tp > 1 << 20 || said < 1 || said > 1 << 30)
		return false;
	step *= tp;
	return (said + step - 1) / step * step == size;
}

static bool
agrees(const struct facts *facts, const struct model *model, const struct size_row *row,
    const struct doc *value)
{
	return !value->is_integer || has_size(model, row, value->integer) ||
	       is_padding(facts, row, value->integer, first_size(model, row));
}

/* sizes_agree(setting): it says a size of the model beside the files, and the same. */
static struct value
call_sizes_agree(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	const struct model *model = other_model(facts);
	const struct size_row *row = model ? comparable_row(facts, model) : NULL;
	const struct doc *value;

	(void)arguments, (void)count;
	if (!row)
		return value_undecided;
	value = facts->setting->value;
	if (value->kind != DOC_LIST)
		return value_int(agrees(facts, model, row, value));
	for (const struct doc *item = value->first; item; item = item->next)
		if (!agrees(facts, model, row, item))
			return value_int(0);
	return value_int(1);
}

/* model_size(setting): what the model beside the files has where this one says a size. */
static struct value
call_model_size(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	const struct model *model = other_model(facts);
	const struct size_row *row = model ? comparable_row(facts, model) : NULL;

	(void)arguments, (void)count;
	return row ? value_int(first_size(model, row)) : value_undecided;
}

static const char *
model_name(struct arena *arena, const struct model *model)
{
	const char *file = model->loc.file;

	if (!file || strncmp(file, model->name, strlen(model->name)) == 0)
		return model->name;
	return arena_printf(arena, "%s of %s", model->name, file);
}

/* model_beside(): the name of that model and its file. */
static struct value
call_model_beside(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct model *model = other_model(scope->context);

	(void)arguments, (void)count;
	return model ? value_text(model_name(scope->arena, model)) : value_undecided;
}

/* --- what the files make of sizes that they leave out ----------------------------------------- */

/* Or nobody says it, and nothing follows: the vocabulary is the tokenizer's. */
static bool
is_said(const struct facts *facts, const struct size_row *row)
{
	const struct setting *setting = facts->check->config->settings;

	if (facts->check->config->model->vocab_assumed &&
	    strcmp(row->term, "model.vocab_size") == 0)
		return true;
	while (setting && row_of(setting) != row)
		setting = setting->next;
	return setting != NULL;
}

static void
add_difference(struct str *text, const char *name, int64_t here, int64_t there)
{
	str_addf(text, "%s%s %lld and not %lld", text->length > 0 ? ", " : "", name,
	    (long long)here, (long long)there);
}

static void
add_differences(struct str *text, const struct facts *facts, const struct model *made,
    const struct model *other)
{
	for (const struct size_row *row = size_rows; row->term; row++) {
		int64_t here = first_size(made, row), there = first_size(other, row);
		bool counts = strcmp(row->term, "model.num_experts") == 0;

		if (!has_size(other, row, here) && !is_said(facts, row) &&
		    ((here > 0 && there > 0) || counts))
			add_difference(text, row->name, here, there);
	}
	if (made->tied != other->tied)
		str_addf(text, "%sinput embedding and output head %s", text->length > 0 ? ", " : "",
		    made->tied ? "are one matrix, two there" : "are two matrices, one there");
}

/*
 * model_differences(): sizes that no file states and in which what the files make differs from
 * the model beside them; "" when it does not. Undecided when they make none.
 */
static struct value
call_model_differences(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	const struct model *made = facts->check->config->model;
	struct str text = str_new(scope->arena);

	(void)arguments, (void)count;
	if (!made || !facts->check->model || made == facts->check->model)
		return value_undecided;
	add_differences(&text, facts, made, facts->check->model);
	return value_text(text.text);
}

/* --- the header of a job ---------------------------------------------------------------------- */

/* header_gpus(): how many a node of the job has. */
static struct value
call_header_gpus(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	int64_t gpus = slurm_step(facts->check->config).node_gpus;

	(void)arguments, (void)count;
	return gpus > 0 ? value_int(gpus) : value_undecided;
}

/* Letters of either case, up to the first '-': "H100" of "H100-SXM5-80GB" in "nvidia_h100_80gb". */
static bool
holds_family(const char *text, const char *name)
{
	size_t length = strcspn(name, "-");

	for (; *text; text++) {
		size_t i = 0;

		while (i < length && tolower((unsigned char)text[i]) ==
					 tolower((unsigned char)name[i]))
			i++;
		if (i == length && !isdigit((unsigned char)text[i]))
			return true;
	}
	return false;
}

/* The longest family that the text holds: "GH200", not "H200". NULL: none of the catalogue. */
static const char *
family_of(struct arena *arena, const char *text)
{
	const struct gpu *gpu, *best = NULL;

	for (int i = 0; (gpu = gpu_catalogue(i)) != NULL; i++)
		if (holds_family(text, gpu->name) &&
		    (!best || strcspn(gpu->name, "-") > strcspn(best->name, "-")))
			best = gpu;
	return best ? arena_strndup(arena, best->name, strcspn(best->name, "-")) : NULL;
}

/* header_gpu(), cluster_gpu(): the family, "H100". */
static struct value
call_header_gpu(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	const char *text = slurm_gpus(facts->check->config);
	const char *family = text ? family_of(scope->arena, text) : NULL;

	(void)arguments, (void)count;
	return family ? value_text(family) : value_undecided;
}

static struct value
call_cluster_gpu(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	const struct cluster *cluster = facts->check->cluster;
	const char *family = cluster ? family_of(scope->arena, cluster->gpu.name) : NULL;

	(void)arguments, (void)count;
	return family ? value_text(family) : value_undecided;
}

/* cluster_gpu_name(): "H100-SXM5-80GB". */
static struct value
call_cluster_gpu_name(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	const struct cluster *cluster = facts->check->cluster;

	(void)arguments, (void)count;
	return cluster ? value_text(cluster->gpu.name) : value_undecided;
}

/* cluster_beside(): its name. */
static struct value
call_cluster_beside(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	const struct cluster *cluster = facts->check->cluster;

	(void)arguments, (void)count;
	return cluster && cluster->name ? value_text(cluster->name) : value_undecided;
}

const struct expr_function beside_functions[] = {
    {"sizes_agree", 1, 1, false, call_sizes_agree},
    {"model_size", 1, 1, false, call_model_size},
    {"model_beside", 0, 0, false, call_model_beside},
    {"model_differences", 0, 0, false, call_model_differences},
    {"header_gpus", 0, 0, false, call_header_gpus},
    {"header_gpu", 0, 0, false, call_header_gpu},
    {"cluster_gpu", 0, 0, false, call_cluster_gpu},
    {"cluster_gpu_name", 0, 0, false, call_cluster_gpu_name},
    {"cluster_beside", 0, 0, false, call_cluster_beside},
    {.name = NULL},
};
