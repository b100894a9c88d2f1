/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How would the user's own framework write a hint? "--ep 8" becomes its setting. */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/rules_private.h"

/* "--expert-model-parallel-size", "expert_parallel.autoep_size", "--parallelism.…". */
static void
add_native(struct str *out, const struct facts *facts, const struct key *key)
{
	enum config_form form = facts->check->config->form;
	const char *name = key->name;

	if (form == CONFIG_MEGATRON || form == CONFIG_TORCHTITAN)
		str_add(out, "--");
	for (; *name; name++)
		str_addc(out, form == CONFIG_MEGATRON && *name == '_' ? '-' : *name);
}

static size_t
option_length(const char *text)
{
	size_t length = 0;

	while ((text[length] >= 'a' && text[length] <= 'z') || text[length] == '-')
		length++;
	return length;
}

const char *
rule_spell(const struct facts *facts, const char *hint)
{
	struct str out = str_new(facts->arena);

	while (*hint) {
		size_t length = strncmp(hint, "--", 2) == 0 ? option_length(hint + 2) : 0;
		const struct key *key = NULL;
		char *term;

		if (length == 0) {
			str_addc(&out, *hint++);
			continue;
		}
		term = arena_strndup(facts->arena, hint + 2, length);
		for (char *at = term; *at; at++)
			*at = *at == '-' ? '_' : *at;
		key = facts_key(facts, term);
		if (key)
			add_native(&out, facts, key);
		else
			str_addn(&out, hint, length + 2);
		hint += length + 2;
	}
	return out.text;
}
