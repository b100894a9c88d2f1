/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Can any text make an importer crash, hang, contradict itself or end without a word?
 *
 * The text is imported as one file; what lies behind a line "--- next file ---" is another. An
 * error means -1 and the other way round; settings have names and values, places lie in a
 * file; what a strategy says is within the ranges of its options, so that deriving it and
 * asking for its rules is safe.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "check/config.h"
#include "promise.h"

static const char separator[] = "--- next file ---\n";

static void
check_value(const struct doc *value)
{
	size_t count = 0;

	check(value->kind >= DOC_LIST || value->text);
	for (const struct doc *item = value->first; item; item = item->next) {
		check_value(item);
		count++;
	}
	check(count == value->count);
}

static void
check_settings(const struct config *config)
{
	size_t count = 0;

	for (const struct setting *s = config->settings; s; s = s->next) {
		check(s->name && s->value && s->form < CONFIG_FORMS);
		check(!s->unresolved || s->value->text);
		check(s->value->loc.line >= 0 && s->value->loc.column >= 0);
		check_value(s->value);
		count++;
	}
	check(count <= 4096);
	for (const struct unresolved *u = config->unresolved; u; u = u->next)
		check(u->name && !strpbrk(u->name, "\x01\x02\x03\x04\n"));
}

static void
check_strategy(const struct config *config, struct arena *arena)
{
	struct strategy s = config->strategy;

	for (const struct field *f = strategy_fields; f->name; f++) {
		const void *member = (const char *)&s + f->offset;

		if (f->kind == FIELD_INT && *(const int64_t *)member != 0)
			check(*(const int64_t *)member >= -1 &&
			      *(const int64_t *)member <= INT64_MAX >> 1);
	}
	check(s.framework < FRAMEWORKS && s.precision < PRECISIONS && s.dispatcher < DISPATCHERS);
	strategy_derive(&s, config->model, 0);
	strategy_violations(&s, config->model, diags_new(arena));
	check(strategy_options_text(arena, &s) != NULL);
}

static void
check_model(const struct model *model)
{
	int64_t layers = 0;

	if (!model || model->uncounted)
		return;
	check(model->layers > 0 && model->layers <= MODEL_MAX_LAYERS && model->n_kinds > 0);
	for (int k = 0; k < model->n_kinds; k++)
		layers += model_layers_of(model, k);
	check(layers == model->layers);
}

static void
import(struct config *config, struct arena *arena, const char *bytes, size_t size)
{
	struct diags *diags = diags_new(arena);
	int result = config_import(config, arena, diags, "fuzz", bytes, size);

	check((result != 0) == (diags->errors > 0));
	for (const struct diag *d = diags->first; d; d = d->next)
		check(d->message[0] != '\0');
	check_settings(config);
	check_strategy(config, arena);
	check_model(config->model);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	const char *text = arena_strndup(arena, (const char *)data, size), *next;
	struct config config;

	config_init(&config);
	/* a NUL ends the search for more files, not the last one of them */
	while ((next = strstr(text, separator)) != NULL) {
		import(&config, arena, text, (size_t)(next - text));
		size -= (size_t)(next - text) + strlen(separator);
		text = next + strlen(separator);
	}
	import(&config, arena, text, size);
	arena_free(arena);
	return 0;
}
