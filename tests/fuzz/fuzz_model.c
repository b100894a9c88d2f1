/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Can any text make the model reader crash, overflow or contradict itself?
 *
 * Either there is a model and no error, or an error and no model. A counted model has layers
 * whose kinds exist, every count is positive and sums up, active parameters are no more than
 * all, and FLOPs are finite.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/doc.h"
#include "model/model.h"
#include "planner/params.h"
#include "promise.h"

static void
check_layers(const struct model *model)
{
	int64_t layers = 0;

	check(model->layers > 0 && model->layers <= MODEL_MAX_LAYERS);
	check(model->n_kinds > 0 && model->n_kinds <= MODEL_MAX_KINDS);
	for (int64_t l = 0; l < model->layers; l++)
		check(model->kind_of[l] < model->n_kinds);
	for (int k = 0; k < model->n_kinds; k++) {
		check(model_layers_of(model, k) > 0);
		layers += model_layers_of(model, k);
	}
	check(layers == model->layers);
}

static void
check_rows(const struct model *model)
{
	struct tensor rows[TENSORS_MAX];

	for (int k = 0; k < model->n_kinds; k++) {
		size_t n = tensors_of_layer(model, &model->kinds[k], rows);

		check(n <= TENSORS_MAX);
		for (size_t i = 0; i < n; i++)
			check(rows[i].name && rows[i].count > 0 && rows[i].rows > 0 &&
			      rows[i].cols > 0);
	}
}

static void
check_params(const struct model *model)
{
	struct params params;
	int64_t sum = 0;

	params_count(model, &params);
	for (int c = 0; c < COMPONENTS; c++) {
		check(params.components[c] >= 0);
		sum += params.components[c];
	}
	check(sum == params.total && params.total > 0 && params.mtp >= 0);
	check(params.active <= params.total);
	check(params.active_without_embedding <= params.active);
	check(params.active_without_embedding_and_head <= params.active_without_embedding);
	for (int i = 0; i < params.n_extras; i++)
		check(params.extras[i].name && params.extras[i].elements > 0);
}

static void
check_flops(const struct model *model)
{
	struct flops plain = flops_per_token(model, 4096, false);
	struct flops mtp = flops_per_token(model, 4096, true);

	check(isfinite(mtp.training) && plain.forward > 0);
	check(mtp.forward >= plain.forward);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct diags *diags = diags_new(arena);
	const struct doc *doc = doc_parse(arena, diags, "fuzz", (const char *)data, size);
	struct model *model = doc ? model_read(arena, diags, doc, "fuzz") : NULL;

	check((model != NULL) == (diags->errors == 0));
	if (model && !model->uncounted) {
		check_layers(model);
		check_rows(model);
		check_params(model);
		check_flops(model);
	}
	arena_free(arena);
	return 0;
}
