/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests of models share: text in, model and messages out. */
#include "model_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/doc.h"
#include "model/builtin_models.h"

static void
out_of_memory(void *context)
{
	(void)context;
	abort();
}

static struct model_text
read_text(const char *text, bool apostrophes)
{
	struct model_text t = {.arena = arena_new(out_of_memory, NULL)};
	char *copy = arena_strdup(t.arena, text);
	const struct doc *doc;

	t.diags = diags_new(t.arena);
	for (char *c = copy; apostrophes && *c; c++)
		if (*c == '\'')
			*c = '"';
	doc = doc_parse(t.arena, t.diags, "test", copy, strlen(copy));
	if (doc)
		t.model = model_read(t.arena, t.diags, doc, "test");
	return t;
}

struct model_text
model_from_text(const char *text)
{
	return read_text(text, text[0] == '{');
}

struct model_text
model_from_example(const char *name)
{
	const char *text = builtin_model_text(name);
	struct model_text t;

	if (!text)
		abort();
	t = read_text(text, false);
	if (!t.model)
		abort();
	return t;
}

void
model_text_free(struct model_text *text)
{
	arena_free(text->arena);
}

bool
model_text_says(const struct model_text *text, enum severity severity, const char *part, int line)
{
	for (const struct diag *d = text->diags->first; d; d = d->next)
		if (d->severity == severity && strstr(d->message, part) &&
		    (!line || d->loc.line == line))
			return true;
	return false;
}
