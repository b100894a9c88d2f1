/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does this release of the framework know a setting of this name, and if not, what was meant? */
#include "check/rules_names.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "emit/keys.h"

const char *const name_state_names[] = {"known", "unknown", "gone", "later", NULL};

/* Arguments of Megatron-LM that were renamed or have something better in their place. */
static const char *const replacements[][2] = {
    {"batch_size", "micro_batch_size"},
    {"warmup", "lr_warmup_fraction"},
    {"model_parallel_size", "tensor_model_parallel_size"},
    {"checkpoint_activations", "recompute_activations"},
    {"moe_extended_tp", "expert_tensor_parallel_size"},
    {"moe_enable_deepep", "moe_flex_dispatcher_backend deepep"},
    {"moe_deepep_num_sms", "moe_flex_dispatcher_num_sms"},
    {"moe_hybridep_num_sms", "moe_flex_dispatcher_num_sms"},
    {"moe_layer_recompute", "recompute_modules moe"},
    {"moe_router_padding_for_fp8", "moe_router_padding_for_quantization"},
    {"enable_cuda_graph", "cuda_graph_impl local"},
    {"external_cuda_graph", "cuda_graph_impl transformer_engine"},
    {"cuda_graph_scope", "cuda_graph_modules"},
    {"hybrid_override_pattern", "hybrid_layer_pattern"},
    {"rampup_batch_size", "step_batch_size_schedule"},
    {"use_rotary_position_embeddings", "position_embedding_type rope"},
    {"moe_router_topk_limited_devices", "moe_router_group_topk"},
    {"overlap_p2p_comm", "overlap_p2p_communication_warmup_flush"},
    {"fake_init_process_group", "fake_process_group"},
    {"moe_expert_parallel_size", "expert_model_parallel_size"},
    {"moe_token_dropping", "moe_expert_capacity_factor"},
    {"moe_token_drop_coef", "moe_expert_capacity_factor"},
};

static const struct name_span *
table_of(enum framework framework)
{
	static const struct name_span *const tables[FRAMEWORKS] = {
	    [FRAMEWORK_MEGATRON] = megatron_names,
	    [FRAMEWORK_DEEPSPEED] = deepspeed_names,
	    [FRAMEWORK_TORCHTITAN] = torchtitan_names,
	};

	return tables[framework];
}

/* The lists are long and asked for every setting: strstr() skips most of them quickly. */
static bool
has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	if (length == 0 || strchr(word, ' '))
		return false;
	for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
		if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return true;
	return false;
}

static bool
span_has(const struct name_span *span, const char *name)
{
	size_t length = strlen(span->prefix);

	return strncmp(name, span->prefix, length) == 0 && has_word(span->names, name + length);
}

enum name_state
name_state(
    enum framework framework, const char *version, const char *name, const struct name_span **span)
{
	const struct name_span *row = table_of(framework);

	while (row->names && !span_has(row, name))
		row++;
	if (span)
		*span = row->names ? row : NULL;
	if (!row->names)
		return NAME_UNKNOWN;
	if (row->until && (!version || version_compare(version, row->until) >= 0))
		return NAME_GONE;
	if (row->since && version && version_compare(version, row->since) < 0)
		return NAME_LATER;
	return NAME_KNOWN;
}

bool
name_is_block(enum framework framework, const char *name)
{
	size_t length = strlen(name);

	for (const struct name_span *row = table_of(framework); row->names; row++)
		if (strncmp(row->prefix, name, length) == 0 && row->prefix[length] == '.')
			return true;
	return false;
}

const char *
name_in_block(struct arena *arena, enum framework framework, const char *name)
{
	const char *prefix = NULL;

	for (const struct name_span *row = table_of(framework); row->names; row++) {
		if (!row->prefix[0] || !has_word(row->names, name))
			continue;
		if (prefix && strcmp(prefix, row->prefix) != 0)
			return NULL;
		prefix = row->prefix;
	}
	return prefix ? arena_printf(arena, "%s%s", prefix, name) : NULL;
}

/* All names of the release, ending with NULL. */
static const char *const *
names_of(struct arena *arena, enum framework framework, const char *version)
{
	enum { MOST = 2048 };
	const char **names = arena_array(arena, MOST, sizeof(*names));
	size_t n = 0;

	for (const struct name_span *row = table_of(framework); row->names; row++) {
		if (row->until && (!version || version_compare(version, row->until) >= 0))
			continue;
		for (const char *at = row->names; *at && n + 1 < MOST; at += strspn(at, " ")) {
			size_t length = strcspn(at, " ");

			names[n++] = arena_printf(arena, "%s%.*s", row->prefix, (int)length, at);
			at += length;
		}
	}
	return names;
}

const char *
name_nearest(struct arena *arena, enum framework framework, const char *version, const char *name)
{
	return str_nearest(name, names_of(arena, framework, version));
}

const char *
name_replacement(const char *name)
{
	for (size_t i = 0; i < sizeof(replacements) / sizeof(replacements[0]); i++)
		if (strcmp(replacements[i][0], name) == 0)
			return replacements[i][1];
	return NULL;
}
