/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Can any text make the layout reader crash, hang or accept what it cannot write again?
 *
 * Three bytes give PP, layers and MTP layers, the rest is the text. What is accepted holds every
 * layer once, in order, and its own text reads back as the same layout.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "model/layout.h"
#include "promise.h"

static void
check_layout(struct arena *arena, const struct layout *layout, const struct model *model)
{
	const struct loc nowhere = {NULL, 0, 0};
	struct diags *diags = diags_new(arena);
	const char *text = layout_text(arena, layout, model);
	int chunks = layout->pp * layout->vpp, layers = 0;
	struct layout again;

	check(chunks <= LAYOUT_MAX_CHUNKS && layout->first[0] == 0);
	for (int c = 0; c < chunks; c++)
		check(layout->first[c] <= layout->first[c + 1]);
	check(layout->first[chunks] == model->layers);
	for (int s = 0; s < layout->pp; s++)
		layers += layout_stage_layers(layout, s);
	check(layers == model->layers && layout_chunks(text) == chunks);
	check(layout_parse(&again, text, model, layout->pp, diags, nowhere) == 0);
	check(again.vpp == layout->vpp && again.mtp_back == layout->mtp_back);
	check(
	    memcmp(again.first, layout->first, (size_t)(chunks + 1) * sizeof(again.first[0])) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct loc nowhere = {NULL, 0, 0};
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct diags *diags = diags_new(arena);
	struct model *model = arena_alloc(arena, sizeof(*model));
	struct layout layout;
	const char *text;
	int pp, result;

	if (size >= 3) {
		pp = 1 + data[0] % 64;
		model->layers = data[1];
		model->mtp_layers = data[2] % 4;
		text = arena_strndup(arena, (const char *)data + 3, size - 3);
		result = layout_parse(&layout, text, model, pp, diags, nowhere);
		check((result == 0) == (diags->errors == 0));
		if (result == 0) {
			check(layout_chunks(text) == layout.pp * layout.vpp);
			check_layout(arena, &layout, model);
		}
	}
	arena_free(arena);
	return 0;
}
