/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which strategy does a document of our own hold? Plans (their best), estimates, combined
 * files (`strategy:` and `job:`), models. Derived sizes are not read, they are derived again.
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_private.h"
#include "model/layout.h"
#include "model/builtin_models.h"

static const char *const not_settings[] = {"micro_batches", "experts_per_rank", "sequence_parallel",
    "framework_version", "dp", "edp", NULL};

static bool
is_listed(const char *const *list, const char *word)
{
	while (*list && strcmp(*list, word) != 0)
		list++;
	return *list != NULL;
}

/* Options of a job that are no strategy's: pins, limits, what the search does. */
static void
take_section(struct import *in, const struct doc *map, bool all)
{
	for (const struct doc *member = map ? map->first : NULL; member; member = member->next) {
		if (is_listed(not_settings, member->key) && !all)
			continue;
		if (import_key(CONFIG_PLAN, member->key))
			import_setting(in, CONFIG_PLAN, member->key, member);
	}
}

/* "megatron", and the release where it was asked for. */
static void
take_framework(struct import *in, const struct doc *strategy)
{
	const struct doc *version = doc_get(strategy, "framework_version");

	if (version && version->text)
		in->config->version = version->text;
}

static bool
is_text(const struct doc *doc, const char *text)
{
	return doc && doc->text && strcmp(doc->text, text) == 0;
}

static int
take_strategy(struct import *in, const struct doc *body)
{
	const struct doc *strategy = doc_get(body, "strategy");
	const struct doc *layout = doc_get(body, "layout");
	const struct doc *framework = doc_get(strategy, "framework");

	if (!strategy || strategy->kind != DOC_MAP)
		return diag_error(in->diags, body->loc, "'%s' holds no strategy", in->name);
	take_section(in, strategy, false);
	take_framework(in, strategy);
	/* the others have no such string: it says nothing where stages are even */
	if (layout && layout->text && strchr(layout->text, '|') &&
	    (is_text(framework, "megatron") || !layout_text_is_even(layout->text)))
		import_setting(in, CONFIG_PLAN, "layout", layout);
	return 0;
}

static int
take_model(struct import *in, const struct doc *section, const char *name)
{
	struct diags *notes = diags_new(in->arena);
	const char *text = section->kind == DOC_STRING ? builtin_model_text(section->text) : NULL;
	const struct doc *doc = section->kind == DOC_MAP ? section : NULL;

	if (text)
		doc = doc_parse(in->arena, notes, section->text, text, strlen(text));
	if (!doc)
		return 0; /* a file, which the command line names again */
	in->config->model = model_read(in->arena, in->diags, doc,
	    name	    ? name
	    : section->text ? section->text
			    : in->name);
	if (!in->config->model)
		return -1;
	import_setting(in, CONFIG_PLAN, "model", doc);
	return 0;
}

static int
take_definition(struct import *in, const struct doc *doc)
{
	const struct doc *definition = doc_get(doc, "model_definition");
	const struct doc *name = doc_get(doc_get(doc, "model"), "name");

	if (!definition || definition->kind != DOC_MAP)
		return 0;
	return take_model(in, definition, name ? name->text : NULL);
}

/* What it was made for: --cluster may be another. */
static void
take_gpu(struct import *in, const struct doc *doc)
{
	const struct doc *gpu = doc_get(doc_get(doc, "cluster"), "gpu");

	if (gpu && gpu->kind == DOC_STRING)
		import_setting(in, CONFIG_PLAN, "cluster.gpu", gpu);
}

static int
take_combined(struct import *in, const struct doc *doc)
{
	const struct doc *model = doc_get(doc, "model");
	const struct doc *strategy = doc_get(doc, "strategy");

	take_section(in, doc_get(doc, "job"), true);
	take_section(in, strategy, true);
	take_framework(in, strategy);
	return model ? take_model(in, model, NULL) : 0;
}

int
import_plan(struct import *in, const struct doc *doc)
{
	const struct doc *schema = doc_get(doc, "schema");
	const char *kind = schema && schema->text ? schema->text : "moeplan/run/v1";
	const struct doc *best = doc_get(doc, "best");

	if (strcmp(kind, "moeplan/model/v1") == 0)
		return take_model(in, doc, NULL);
	if (import_form(in, CONFIG_PLAN, doc->loc) != 0)
		return -1;
	if (strcmp(kind, "moeplan/run/v1") == 0)
		return take_combined(in, doc);
	if (strcmp(kind, "moeplan/job/v1") == 0) {
		take_section(in, doc, true);
		return 0;
	}
	if (strcmp(kind, "moeplan/plan/v1") == 0) {
		if (doc_is_null(best))
			return diag_error(
			    in->diags, doc->loc, "'%s' found no strategy that fits", in->name);
		take_gpu(in, doc);
		return take_strategy(in, best) | take_definition(in, doc);
	}
	if (strcmp(kind, "moeplan/estimate/v1") == 0) {
		take_gpu(in, doc);
		return take_strategy(in, doc) | take_definition(in, doc);
	}
	return diag_error(in->diags, schema->loc,
	    "'%s' is a %s, which holds no strategy: name a plan, an estimate or a combined file",
	    in->name, kind);
}
