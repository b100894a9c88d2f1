/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many layers and chunks do pipeline layouts and layer patterns spell? One row a function. */
#include <string.h>

#include "base/arena.h"
#include "check/context.h"

enum layout_size { LAYOUT_CHUNKS, LAYOUT_LAYERS, LAYOUT_MTP };

static struct value
layout_size(const struct value *layout, enum layout_size which)
{
	int sizes[3];

	if (layout->kind != VALUE_TEXT)
		return value_undecided;
	sizes[LAYOUT_CHUNKS] =
	    layout_sizes(layout->text, &sizes[LAYOUT_LAYERS], &sizes[LAYOUT_MTP]);
	return sizes[LAYOUT_CHUNKS] > 0 ? value_int(sizes[which]) : value_undecided;
}

/* Of one layout string, or of each in a list; 0 for one that cannot be read. */
static struct value
layout_sizes_of(const struct expr_scope *scope, const struct value *layouts, enum layout_size which)
{
	struct value *items;

	if (layouts->kind != VALUE_LIST)
		return layout_size(layouts, which);
	items = arena_array(scope->arena, layouts->count, sizeof(*items));
	for (size_t i = 0; i < layouts->count; i++) {
		items[i] = layout_size(&layouts->items[i], which);
		if (items[i].kind <= VALUE_UNSET)
			items[i] = value_int(0);
	}
	return value_list(items, layouts->count);
}

static struct value
call_layout_chunks(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)count;
	return layout_sizes_of(scope, &arguments[0], LAYOUT_CHUNKS);
}

static struct value
call_layout_layers(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)count;
	return layout_sizes_of(scope, &arguments[0], LAYOUT_LAYERS);
}

static struct value
call_layout_mtp(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)count;
	return layout_sizes_of(scope, &arguments[0], LAYOUT_MTP);
}

/* Layers that "([0]*3+[1]*58)" names: items of the lists times their counts; -1 for another text.
 */
static int64_t
pattern_text_length(const char *text)
{
	int64_t total = 0;

	for (; *text; text++) {
		int64_t items = 0, times = 1;

		if (strchr("() +,", *text))
			continue;
		if (*text != '[')
			return -1;
		for (text++; *text && *text != ']'; text++)
			items += *text == '0' || *text == '1';
		if (*text != ']')
			return -1;
		if (text[1] == '*') {
			text += 2;
			for (times = 0; *text >= '0' && *text <= '9' && times < MODEL_MAX_LAYERS;
			     text++)
				times = times * 10 + (*text - '0');
			text--;
		}
		total += items * times;
	}
	return total;
}

/* pattern_length(x): of a list, or of a text that spells one; undecided for a number. */
static struct value
call_pattern_length(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	int64_t length;

	(void)scope, (void)count;
	if (arguments[0].kind == VALUE_LIST)
		return value_int((int64_t)arguments[0].count);
	if (arguments[0].kind != VALUE_TEXT)
		return value_undecided;
	length = pattern_text_length(arguments[0].text);
	return length < 0 ? value_undecided : value_int(length);
}

const struct expr_function layout_functions[] = {
    {"pattern_length", 1, 1, false, call_pattern_length},
    {"layout_chunks", 1, 1, false, call_layout_chunks},
    {"layout_layers", 1, 1, false, call_layout_layers},
    {"layout_mtp", 1, 1, false, call_layout_mtp},
    {.name = NULL},
};
