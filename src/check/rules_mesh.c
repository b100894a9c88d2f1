/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do conditions ask of MaxText's mesh? Each axis has a size inside a slice (ici_*) and one
 * across slices (dcn_*); what is not said is 1, but ici_fsdp and dcn_data, which are -1, the
 * rest. Source: AI-Hypercomputer/maxtext src/maxtext/configs/base.yml and
 * utils/max_utils.py fill_unspecified_mesh_axes().
 */
#include <string.h>

#include "check/context.h"

static const char behind[] = "_parallelism";

/* Axes that take the rest when nobody says otherwise. */
static const char *const rests[] = {"ici_fsdp_parallelism", "dcn_data_parallelism"};

static bool
is_axis(const struct setting *setting, const char *family)
{
	size_t length = strlen(setting->name), tail = sizeof(behind) - 1;

	return setting->form == CONFIG_MAXTEXT && length > tail &&
	       strncmp(setting->name, family, strlen(family)) == 0 &&
	       strcmp(setting->name + length - tail, behind) == 0;
}

/* The product of the sizes that are said and how many are -1; false when one is not known. */
static bool
read_axes(const struct facts *facts, const char *family, int64_t *product, int64_t *open)
{
	const struct config *config = facts->check->config;

	*product = 1;
	*open = 0;
	for (size_t i = 0; i < sizeof(rests) / sizeof(rests[0]); i++)
		*open += strncmp(rests[i], family, strlen(family)) == 0 &&
			 !setting_find(config, rests[i]);
	for (const struct setting *s = config->settings; s; s = s->next) {
		if (!is_axis(s, family))
			continue;
		if (s->unresolved || !s->value->is_integer)
			return false;
		if (s->value->integer == -1)
			++*open;
		else if (__builtin_mul_overflow(*product, s->value->integer, product))
			return false;
	}
	return true;
}

static struct value
axes(const struct expr_scope *scope, const struct value *family, bool open_ones)
{
	int64_t product, open;

	if (family->kind != VALUE_TEXT || !read_axes(scope->context, family->text, &product, &open))
		return value_undecided;
	return value_int(open_ones ? open : product);
}

/* axes_product('ici'): of the sizes that are no -1. */
static struct value
call_axes_product(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)count;
	return axes(scope, &arguments[0], false);
}

/* axes_open('ici'): how many are -1. */
static struct value
call_axes_open(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	(void)count;
	return axes(scope, &arguments[0], true);
}

const struct expr_function mesh_functions[] = {
    {"axes_product", 1, 1, false, call_axes_product},
    {"axes_open", 1, 1, false, call_axes_open},
    {.name = NULL},
};
