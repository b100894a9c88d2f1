/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many parameters does a model have, how many does a token use, and how many FLOPs is that?
 *
 * parameters = sum over tensor rows; active = the same with top-k instead of all routed experts.
 * FLOPs a token, forward = 2 * active matmul elements + core(context), training = 3 * forward.
 * core of attention: 2*n*(d_qk + d_v)*context. Of linear mixers: the recurrent form, whose state
 * is d_k x d_v a head: 4*state elements (write, read), the delta rule 6 (it also erases).
 * Ignored: norms, softmax, activations, convolutions, the embedding look-up, recompute.
 * Source of the counting: Megatron-LM's training FLOP counter, causal attention counted half.
 */
#include "planner/params.h"

#include <string.h>

/* Elements of a row that one token uses. */
static double
row_share(const struct tensor *row, const struct ffn *ffn)
{
	if (row->shard != SHARD_EXPERT)
		return 1.0;
	return (double)ffn->top_k / (double)ffn->experts;
}

static int64_t
row_active(const struct tensor *row, const struct ffn *ffn)
{
	int64_t count = row->shard == SHARD_EXPERT ? ffn->top_k : row->count;

	return count * row->rows * row->cols;
}

static void
count_rows(struct params *params, const struct tensor *rows, size_t n, const struct ffn *ffn,
    int64_t times)
{
	for (size_t i = 0; i < n; i++) {
		params->components[rows[i].component] += times * tensor_elements(&rows[i]);
		params->active += times * row_active(&rows[i], ffn);
	}
}

static int64_t
sum_rows(const struct tensor *rows, size_t n)
{
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += tensor_elements(&rows[i]);
	return sum;
}

static int64_t
mtp_elements(const struct model *model)
{
	struct tensor rows[TENSORS_MAX];

	return sum_rows(rows, tensors_of_mtp(model, rows));
}

/* MTP layers in the checkpoint, whether the config mentions them or not. */
static int64_t
stored_mtp_layers(const struct model *model)
{
	return model->mtp_layers + (model->stored & STORED_UNLISTED_MTP ? 1 : 0);
}

static int64_t
mtp_copies(const struct model *model)
{
	return 2 * model->vocab * model->hidden * stored_mtp_layers(model);
}

/*
 * Block-scaled checkpoints keep a scale for each 128 x 128 block of the layers' projections, but
 * these stay in bf16 (deepseek-ai/DeepSeek-V3 and -V3.2-Exp, names in the safetensors index).
 */
static const char *const unscaled[] = {"router", "index_weights", "shared_gate", "mtp_projection"};

static bool
is_scaled(const struct tensor *row)
{
	for (size_t i = 0; i < sizeof(unscaled) / sizeof(*unscaled); i++)
		if (strcmp(row->name, unscaled[i]) == 0)
			return false;
	return row->matmul;
}

static int64_t
block_scales(const struct tensor *rows, size_t n)
{
	enum { BLOCK = 128 };
	int64_t scales = 0;

	for (size_t i = 0; i < n; i++)
		if (is_scaled(&rows[i]))
			scales += rows[i].count * ((rows[i].rows + BLOCK - 1) / BLOCK) *
				  ((rows[i].cols + BLOCK - 1) / BLOCK);
	return scales;
}

static int64_t
fp8_scales(const struct model *model)
{
	struct tensor rows[TENSORS_MAX];
	int64_t scales = 0;

	for (int k = 0; k < model->n_kinds; k++)
		scales += model_layers_of(model, k) *
			  block_scales(rows, tensors_of_layer(model, &model->kinds[k], rows));
	return scales + stored_mtp_layers(model) * block_scales(rows, tensors_of_mtp(model, rows));
}

static int64_t
router_biases(const struct model *model)
{
	int64_t sum = 0;

	for (int k = 0; k < model->n_kinds; k++)
		if (model->kinds[k].ffn.router_bias)
			sum += model_layers_of(model, k) * model->kinds[k].ffn.experts;
	return sum;
}

static int64_t
hash_tables(const struct model *model)
{
	int64_t sum = 0;

	for (int k = 0; k < model->n_kinds; k++)
		sum += model_layers_of(model, k) * model->kinds[k].ffn.hash_entries;
	return sum;
}

/* One row for each stored thing that follows from the tensor table; `when` 0: always. */
static const struct {
	const char *name;
	unsigned when;
	int64_t (*elements)(const struct model *model);
} extra_rows[] = {
    {"mtp_unlisted", STORED_UNLISTED_MTP, mtp_elements},
    {"mtp_duplicates", STORED_MTP_COPIES, mtp_copies},
    {"fp8_scales", STORED_FP8_SCALES, fp8_scales},
    {"router_bias", STORED_NO_ROUTER_BIAS, router_biases},
    {"hash_tables", 0, hash_tables},
};

static void
add_extra(struct params *params, const char *name, int64_t elements)
{
	if (elements && params->n_extras < MODEL_MAX_EXTRAS)
		params->extras[params->n_extras++] = (struct model_extra){name, elements};
}

static void
list_extras(const struct model *model, struct params *params)
{
	for (size_t i = 0; i < sizeof(extra_rows) / sizeof(*extra_rows); i++)
		if (!extra_rows[i].when || model->stored & extra_rows[i].when)
			add_extra(params, extra_rows[i].name, extra_rows[i].elements(model));
	for (int i = 0; i < model->n_parts; i++)
		add_extra(params, model->parts[i].name, model->parts[i].elements);
}

void
params_count(const struct model *model, struct params *params)
{
	const struct ffn no_ffn = {0};
	struct tensor rows[TENSORS_MAX];

	memset(params, 0, sizeof(*params));
	count_rows(params, rows, tensors_of_embedding(model, rows), &no_ffn, 1);
	count_rows(params, rows, tensors_of_head(model, rows), &no_ffn, 1);
	for (int k = 0; k < model->n_kinds; k++) {
		const struct layer_kind *kind = &model->kinds[k];

		count_rows(params, rows, tensors_of_layer(model, kind, rows), &kind->ffn,
		    model_layers_of(model, k));
	}
	for (int c = 0; c < COMPONENTS; c++)
		params->total += params->components[c];
	params->active_without_embedding_and_head = params->active -
						    params->components[COMPONENT_EMBEDDING] -
						    params->components[COMPONENT_HEAD];
	/* A tied matrix still multiplies as the head; learned positions are looked up only. */
	params->active_without_embedding = params->active -
					   params->components[COMPONENT_EMBEDDING] +
					   (model->tied ? model->vocab * model->hidden : 0);
	params->mtp = model->mtp_layers ? model->mtp_layers * mtp_elements(model) : 0;
	list_extras(model, params);
}

/* Mean over s queries of the keys in a window: min(i, w) for the i-th query. */
static double
window_context(double s, double w)
{
	if (w >= s)
		return (s + 1) / 2;
	return (w * (w + 1) / 2 + (s - w) * w) / s;
}

static double
chunk_context(int64_t s, int64_t chunk)
{
	int64_t whole = s / chunk, left = s % chunk;
	double c = (double)chunk, rest = (double)left;

	return ((double)whole * c * (c + 1) / 2 + rest * (rest + 1) / 2) / (double)s;
}

/* DeepSeek-V4: a window of raw tokens and 1/compress of all, or of what the indexer picked. */
static double
compressed_context(const struct mixer *mixer, double s)
{
	double pooled = s / (double)mixer->compress;

	return window_context(s, (double)mixer->window) +
	       window_context(pooled, mixer->sparse > 0 ? (double)mixer->sparse : pooled);
}

double
attention_context(const struct mixer *mixer, int64_t seq_len)
{
	double s = (double)seq_len;
	bool attends =
	    mixer->kind == MIXER_GQA || mixer->kind == MIXER_MLA || mixer->kind == MIXER_LATENT_MQA;

	if (seq_len <= 0 || !attends)
		return 0;
	if (mixer->compress > 0)
		return compressed_context(mixer, s);
	if (mixer->chunk > 0)
		return chunk_context(seq_len, mixer->chunk);
	if (mixer->window > 0)
		return window_context(s, (double)mixer->window);
	return window_context(s, mixer->sparse > 0 ? (double)mixer->sparse : s);
}

/* The indexer scores every earlier token, or every pooled one. */
static double
indexer_flops(const struct mixer *mixer, int64_t seq_len)
{
	double keys = ((double)seq_len + 1) / 2 / (double)(mixer->compress ? mixer->compress : 1);

	return 2.0 * (double)mixer->index_heads * (double)mixer->index_dim * keys;
}

static double
core_flops(const struct mixer *mixer, int64_t seq_len)
{
	double heads = (double)mixer->heads;

	switch (mixer->kind) {
	case MIXER_GQA:
	case MIXER_MLA:
	case MIXER_LATENT_MQA:
		return indexer_flops(mixer, seq_len) +
		       2.0 * heads * (double)(mixer->head_dim + mixer->value_dim) *
			   attention_context(mixer, seq_len);
	case MIXER_GATED_DELTANET:
		return 6.0 * (double)mixer->value_heads * (double)mixer->key_dim *
		       (double)mixer->value_dim;
	case MIXER_LIGHTNING:
		return 4.0 * heads * (double)mixer->head_dim * (double)mixer->head_dim;
	case MIXER_MAMBA1:
	case MIXER_MAMBA2:
		return 4.0 * (double)mixer->inner * (double)mixer->state;
	case MIXER_NONE:
	case MIXER_KINDS:
		break;
	}
	return 0;
}

static double
matmul_flops(const struct tensor *rows, size_t n, const struct ffn *ffn)
{
	double flops = 0;

	for (size_t i = 0; i < n; i++)
		if (rows[i].matmul)
			flops += 2.0 * (double)tensor_elements(&rows[i]) * row_share(&rows[i], ffn);
	return flops;
}

struct flops
flops_per_token(const struct model *model, int64_t seq_len, bool mtp)
{
	struct tensor rows[TENSORS_MAX];
	double head = 2.0 * (double)model->vocab * (double)model->hidden;
	struct flops flops = {head, 0};

	for (int k = 0; k < model->n_kinds; k++) {
		const struct layer_kind *kind = &model->kinds[k];
		size_t n = tensors_of_layer(model, kind, rows);

		flops.forward +=
		    (double)model_layers_of(model, k) *
		    (matmul_flops(rows, n, &kind->ffn) + core_flops(&kind->mixer, seq_len));
	}
	if (mtp && model->mtp_layers) {
		size_t n = tensors_of_mtp(model, rows);

		flops.forward +=
		    (double)model->mtp_layers * (head + matmul_flops(rows, n, &model->mtp.ffn) +
						    core_flops(&model->mtp.mixer, seq_len));
	}
	flops.training = 3.0 * flops.forward;
	return flops;
}
