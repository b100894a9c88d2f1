/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which framework, release, hosts and sizes do a case's values name, however they are written? */
#include "check/case_values.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "check/import_private.h"

/* Whose arithmetic a framework has; an ETP that is not set is TP in Megatron-Core itself. */
static const struct case_framework known_frameworks[] = {
    {"megatron", FRAMEWORK_MEGATRON, false},
    {"megatron-lm", FRAMEWORK_MEGATRON, false},
    {"megatron-core", FRAMEWORK_MEGATRON, false},
    {"megatron-bridge", FRAMEWORK_MEGATRON, true},
    {"megatron-swift", FRAMEWORK_MEGATRON, true},
    {"nemo", FRAMEWORK_MEGATRON, false}, /* megatron_init.py: none is TP */
    {"nemo-rl", FRAMEWORK_MEGATRON, true},
    {"ms-swift", FRAMEWORK_MEGATRON, true},
    {"swift", FRAMEWORK_MEGATRON, true},
    {"slime", FRAMEWORK_MEGATRON, false},
    {"miles", FRAMEWORK_MEGATRON, false},
    {"verl", FRAMEWORK_MEGATRON, false},
    {"skyrl", FRAMEWORK_MEGATRON, false},
    {"flagscale", FRAMEWORK_MEGATRON, false},
    {"primus", FRAMEWORK_MEGATRON, false},
    {"pai-megatron", FRAMEWORK_MEGATRON, false},
    {"pai-megatron-patch", FRAMEWORK_MEGATRON, false},
    {"deepspeed", FRAMEWORK_DEEPSPEED, false},
    {"deepspeed-mii", FRAMEWORK_DEEPSPEED, false},
    {"megatron-deepspeed", FRAMEWORK_DEEPSPEED, false},
    {"openrlhf", FRAMEWORK_DEEPSPEED, false},
    {"llamafactory", FRAMEWORK_DEEPSPEED, false},
    {"llama-factory", FRAMEWORK_DEEPSPEED, false},
    {"torchtitan", FRAMEWORK_TORCHTITAN, false},
};

/* "core 0.15.0", "0.17 or HEAD": the first thing that looks like a release. */
const char *
case_version(struct arena *arena, const char *text)
{
	for (; *text; text++) {
		size_t digits = strspn(text, "0123456789");

		if (digits > 0 && digits < 3 && text[digits] == '.')
			return arena_strndup(arena, text, strspn(text, "0123456789."));
		text += digits > 0 ? digits - 1 : 0;
	}
	return NULL;
}

/* "Megatron_Core" is "megatron-core". */
static char *
plain_name(struct arena *arena, const char *text, size_t length)
{
	char *name = arena_strndup(arena, text, length);

	for (char *c = name; *c; c++)
		*c = *c == '_' ? '-' : *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
	return name;
}

const struct case_framework *
case_framework(struct arena *arena, const char *text, const char **version)
{
	size_t length = strcspn(text, "@ :(");
	const char *name = plain_name(arena, text, length);

	*version = NULL;
	for (size_t i = 0; i < sizeof(known_frameworks) / sizeof(known_frameworks[0]); i++) {
		if (strcmp(known_frameworks[i].name, name) != 0)
			continue;
		*version = text[length] == '@' ? text + length + 1
					       : case_version(arena, text + length);
		return &known_frameworks[i];
	}
	return NULL;
}

bool
case_integer(const struct doc *value, int64_t *integer)
{
	if (value->kind == DOC_STRING)
		return units_parse_integer(value->text, integer);
	if (value->kind != DOC_NUMBER || value->number < -1e15 || value->number > 1e15)
		return false;
	*integer = value->is_integer ? value->integer : (int64_t)value->number;
	return value->is_integer || (double)*integer == value->number;
}

/* {"host": 8}, {"host": {"slots": 8}}. */
static struct doc *
hosts_of_map(struct arena *arena, const struct doc *map)
{
	struct doc *hosts = doc_new_map(arena, map->loc);

	for (const struct doc *host = map->first; host; host = host->next) {
		const struct doc *slots = host->kind == DOC_MAP ? doc_get(host, "slots") : host;

		if (slots && slots->text)
			doc_add_scalar(arena, hosts, host->key, slots->text, host->loc);
	}
	return hosts;
}

/* Its text, or its lines. */
static const char *
text_of_hosts(struct arena *arena, const struct doc *value)
{
	struct str lines = str_new(arena);

	if (value->kind == DOC_STRING)
		return value->text;
	for (const struct doc *item = value->first; item; item = item->next)
		str_addf(&lines, "%s\n", item->text ? item->text : "");
	return lines.text;
}

int
case_hostfile(
    struct config *config, struct arena *arena, struct diags *diags, const struct doc *value)
{
	struct import in = {
	    .config = config, .arena = arena, .diags = diags, .name = value->loc.file};
	struct import_text text;
	const char *lines;

	if (value->kind == DOC_MAP) {
		config->launch.hostfile = hosts_of_map(arena, value);
		return 0;
	}
	lines = text_of_hosts(arena, value);
	if (import_text_open(&text, arena, diags, value->loc.file, lines, strlen(lines)) != 0)
		return -1;
	return import_hostfile(&in, &text);
}
