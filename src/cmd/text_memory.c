/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where does a stage's memory go? A bar of letters, and what the stage holds. */
#include <string.h>

#include "base/units.h"
#include "cmd/text_common.h"

enum { BAR_CELLS = 48 };

/* Their first letters are the letters of the bar, so they differ. */
const char *const memory_part_heads[MEMORY_PARTS] = {
    [MEMORY_WEIGHTS] = "weights",
    [MEMORY_GRADIENTS] = "grads",
    [MEMORY_OPTIMIZER] = "optim",
    [MEMORY_WGRAD_BUFFERS] = "bufs",
    [MEMORY_ACTIVATIONS] = "activ",
    [MEMORY_LOGITS] = "logits",
    [MEMORY_MOE_BUFFERS] = "moe",
    [MEMORY_RUNTIME] = "runtime",
    [MEMORY_FRAGMENTATION] = "frag",
};

/* Cells up to `bytes`, rounded; the last cell of a sum is the sum's, so parts never drift. */
static size_t
cells(double bytes, double scale)
{
	double n = bytes / scale * BAR_CELLS + 0.5;

	return n <= 0 ? 0 : n >= BAR_CELLS ? BAR_CELLS : (size_t)n;
}

const char *
text_memory_bar(
    const struct request *request, const struct stage_memory *stage, double capacity_bytes)
{
	double scale = stage->total_bytes > capacity_bytes ? stage->total_bytes : capacity_bytes;
	struct str bar = str_new(request->arena);
	double sum = 0;
	size_t filled = 0;
	int i;

	str_addc(&bar, '[');
	for (i = 0; i < MEMORY_PARTS; i++) {
		size_t end;

		sum += stage->parts[i];
		end = cells(sum, scale);
		str_pad(&bar, memory_part_heads[i][0], end > filled ? end - filled : 0);
		filled = end > filled ? end : filled;
	}
	for (; filled < BAR_CELLS; filled++)
		str_add(&bar, request->utf8 ? "\u00b7" : ".");
	str_addc(&bar, ']');
	if (stage->total_bytes > capacity_bytes) {
		/* The bar has one byte a cell here: all of it is letters. */
		size_t edge = cells(capacity_bytes, scale);

		bar.text[1 + (edge < BAR_CELLS ? edge : BAR_CELLS - 1)] = '|';
	}
	return bar.text;
}

/* Layers of a stage, by what they do after the mixer. */
enum layer_sort { LAYERS_DENSE, LAYERS_BARE, LAYERS_MOE, LAYER_SORTS };

static void
add_layers(struct str *out, const int *n)
{
	static const char *const names[] = {"dense", "without MLP", "MoE"};
	const char *separator = "";
	int sort;

	for (sort = 0; sort < LAYER_SORTS; sort++)
		if (n[sort] > 0) {
			str_addf(out, "%s%d %s", separator, n[sort], names[sort]);
			separator = " + ";
		}
	if (!*separator)
		str_add(out, "0 dense");
}

static void
count_stage(const struct layout *layout, const struct model *model, int stage, int *n)
{
	int v, kind;

	for (v = 0; v < layout->vpp; v++)
		for (kind = 0; kind < model->n_kinds; kind++) {
			const struct layer_kind *k = &model->kinds[kind];

			n[kind_is_moe(k)	     ? LAYERS_MOE
			    : k->ffn.dense_width > 0 ? LAYERS_DENSE
						     : LAYERS_BARE] +=
			    layout_count(layout, model, layout_chunk(layout, stage, v), kind);
		}
}

static int
mtp_stage(const struct layout *layout)
{
	return layout_stage(layout, layout->pp * layout->vpp - 1 - layout->mtp_back);
}

const char *
text_stage_layers(
    struct arena *arena, const struct model *model, const struct estimate *estimate, int stage)
{
	const struct layout *layout = &estimate->layout;
	struct str text = str_new(arena);
	int n[LAYER_SORTS] = {0};

	count_stage(layout, model, stage, n);
	if (estimate->strategy.schedule == SCHEDULE_DUALPIPE) /* and those of its mirror image */
		count_stage(layout, model, layout->pp - 1 - stage, n);
	if (estimate->stages[stage].has_embedding)
		str_add(&text, "embedding, ");
	add_layers(&text, n);
	if (model->mtp_layers > 0 && stage == mtp_stage(layout))
		str_add(&text, ", MTP");
	if (estimate->stages[stage].has_head)
		str_add(&text, ", head");
	return text.text;
}
