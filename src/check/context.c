/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a name in a condition stand for? Our terms come from the derived
 * strategy, the model, the cluster, the launch and the estimate; everything
 * else is a setting of the files, under any of its spellings. What is not there
 * is "unset" in a complete configuration and "undecided" in a few numbers,
 * where the rest simply was not told.
 */
#include "check/context.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/case_fields.h"
#include "check/context_machine.h"
#include "check/import_private.h"
#include "check/launchers.h"
#include "emit/emit.h"

/* Spellings of one setting: argument and destination, old and new key. */
static const char *const spellings[][2] = {
    {"fp8_format", "fp8"},
    {"fp4_format", "fp4"},
    {"microbatch_group_size_per_virtual_pipeline_stage", "microbatch_group_size_per_vp_stage"},
    {"overlap_p2p_communication_warmup_flush", "overlap_p2p_comm_warmup_flush"},
    {"cuda_graph_modules", "cuda_graph_scope"},
    {"num_experts", "num_moe_experts"},
    {"decoder_first_pipeline_num_layers", "num_layers_in_first_pipeline_stage"},
    {"decoder_last_pipeline_num_layers", "num_layers_in_last_pipeline_stage"},
    {"vocab_size", "padded_vocab_size"},
    {"bf16.enabled", "bfloat16.enabled"},
};

/* Flags that switch something off, and the setting they are about. */
static const char *const negations[][2] = {
    {"no_overlap_p2p_communication", "overlap_p2p_comm"},
    {"disable_bias_linear", "add_bias_linear"},
    {"disable_gloo_process_groups", "use_gloo_process_groups"},
    {"no_align_param_gather", "align_param_gather"},
    {"untie_embeddings_and_output_weights", "share_embeddings_and_output_weights"},
};

bool
setting_is_spelling(const char *name)
{
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
		if (strcmp(spellings[i][0], name) == 0 || strcmp(spellings[i][1], name) == 0)
			return true;
	for (size_t i = 0; i < sizeof(negations) / sizeof(negations[0]); i++)
		if (strcmp(negations[i][0], name) == 0 || strcmp(negations[i][1], name) == 0)
			return true;
	return false;
}

/* What differs between nodes and runs, and is a number or a name there whatever it is. */
static bool
is_of_run(const struct unresolved *what)
{
	static const char *const names[] = {"RANK", "LOCAL_RANK", "NODE_RANK", "node_rank",
	    "machine_rank", "MASTER_ADDR", "MASTER_PORT", "master_addr", "master_port",
	    "rdzv_endpoint", "main_process_ip", "main_process_port", NULL};

	for (int i = 0; what->setting && what->form == CONFIG_NUMBERS && names[i]; i++)
		if (strcmp(names[i], what->setting) == 0)
			return true;
	return false;
}

bool
setting_matters(const struct unresolved *what)
{
	const struct key *key = what->setting ? import_key(what->form, what->setting) : NULL;

	if (is_of_run(what))
		return false;
	if (!what->setting || (key && key->term))
		return true;
	for (const struct term *term = terms; term->name; term++)
		if (strstr(term->natives, what->setting))
			return true;
	return rules_mention(what->setting);
}

static const struct setting *
find_direct(const struct facts *facts, const char *name)
{
	return setting_find(facts->check->config, name);
}

static const struct setting *
find_spelling(const struct facts *facts, const char *name)
{
	const struct setting *found = find_direct(facts, name);

	for (size_t i = 0; !found && i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		if (strcmp(spellings[i][0], name) == 0)
			found = find_direct(facts, spellings[i][1]);
		else if (strcmp(spellings[i][1], name) == 0)
			found = find_direct(facts, spellings[i][0]);
	}
	return found;
}

static struct value
list_of_doc(struct arena *arena, const struct doc *doc)
{
	struct value *items = arena_array(arena, doc->count, sizeof(*items));
	size_t n = 0;

	for (const struct doc *item = doc->first; item; item = item->next)
		items[n++] = value_of_doc(arena, item);
	return value_list(items, n);
}

struct value
value_of_doc(struct arena *arena, const struct doc *doc)
{
	switch (doc->kind) {
	case DOC_NULL:
		break;
	case DOC_BOOL:
		return value_int(doc->boolean);
	case DOC_NUMBER:
		return doc->is_integer ? value_int(doc->integer) : value_number(doc->number);
	case DOC_STRING:
		return value_text(doc->text);
	case DOC_LIST:
	case DOC_MAP:
		return list_of_doc(arena, doc);
	}
	return value_unset;
}

static struct value
setting_value(const struct facts *facts, const struct setting *setting)
{
	if (setting->unresolved)
		return value_hidden;
	return value_of_doc(facts->arena, setting->value);
}

/* "add_bias_linear" read from "disable_bias_linear", and the other way round. */
static struct value
negated_value(const struct facts *facts, const char *name)
{
	for (size_t i = 0; i < sizeof(negations) / sizeof(negations[0]); i++)
		for (int side = 0; side < 2; side++) {
			const struct setting *other;
			struct value value;
			int truth;

			if (strcmp(negations[i][side], name) != 0)
				continue;
			other = find_direct(facts, negations[i][!side]);
			if (!other)
				return value_unset;
			value = setting_value(facts, other);
			truth = value_truth(&value);
			return truth < 0 ? value_undecided : value_int(!truth);
		}
	return value_unset;
}

/* The next blank-separated word; NULL at the end. */
static const char *
next_word(struct arena *arena, const char **list)
{
	const char *start = *list + strspn(*list, " ");
	size_t length = strcspn(start, " ");

	*list = start + length;
	return length > 0 ? arena_strndup(arena, start, length) : NULL;
}

static const struct setting *
find_natives(const struct facts *facts, const char *natives)
{
	const char *word;

	while ((word = next_word(facts->arena, &natives)) != NULL) {
		const struct setting *found = find_direct(facts, word);

		if (found)
			return found;
	}
	return NULL;
}

/* What is not there: known to be absent, or simply not told. */
static struct value
absent(const struct facts *facts, const char *name)
{
	bool environment = name[0] >= 'A' && name[0] <= 'Z';
	const struct launch *launch = &facts->check->config->launch;

	if (case_field_is_own(name))
		return value_unset;
	/* a launch line that was read whole has all its options */
	if (launch->loc.file && !launch->open && launcher_keeps(name))
		return value_unset;
	return (facts->complete || facts->options) && !environment ? value_unset : value_undecided;
}

static struct value
native_value(const struct facts *facts, const char *name)
{
	const struct setting *setting = find_spelling(facts, name);
	struct value value;

	if (setting)
		return setting_value(facts, setting);
	value = negated_value(facts, name);
	return value.kind != VALUE_UNSET ? value : absent(facts, name);
}

static struct value
term_value(const struct facts *facts, const struct term *term)
{
	struct value value = term->get ? term->get(facts) : value_undecided;
	const struct setting *setting;

	if (value.kind > VALUE_UNSET || value.kind == VALUE_HIDDEN)
		return value;
	setting = find_natives(facts, term->natives);
	if (setting)
		return setting_value(facts, setting);
	if (value.kind == VALUE_UNSET || !term->natives[0])
		return value;
	return facts->complete ? value_unset : value_undecided;
}

static struct value
resolve(const struct expr_scope *scope, const char *name)
{
	const struct facts *facts = scope->context;
	const struct term *term = term_find(name);

	if (strcmp(name, "setting") == 0)
		return facts->setting ? value_text(facts->setting->name) : value_undecided;
	if (strcmp(name, "value") == 0)
		return facts->setting ? setting_value(facts, facts->setting) : value_undecided;
	return term ? term_value(facts, term) : native_value(facts, name);
}

struct expr_scope
facts_scope(const struct facts *facts)
{
	return (struct expr_scope){facts->arena, resolve, facts};
}

static const struct key *
table_of(const struct facts *facts)
{
	switch (facts->check->config->form) {
	case CONFIG_MEGATRON:
	case CONFIG_BRIDGE:
		return megatron_keys;
	case CONFIG_DEEPSPEED:
	case CONFIG_TUTORIAL:
		return deepspeed_keys;
	case CONFIG_TORCHTITAN:
		return torchtitan_keys;
	default:
		return NULL;
	}
}

const struct key *
facts_key(const struct facts *facts, const char *term)
{
	const struct key *table = table_of(facts), *first = NULL;

	for (const struct key *key = table; key && key->name; key++) {
		if (!key->term || strcmp(key->term, term) != 0)
			continue;
		if (setting_find(facts->check->config, key->name))
			return key;
		first = first ? first : key;
	}
	return first;
}

const struct setting *
facts_setting(const struct facts *facts, const char *name)
{
	const struct term *term = term_find(name);
	const struct setting *found = NULL;
	const struct key *key;

	if (!term)
		return find_spelling(facts, name);
	found = find_natives(facts, term->natives);
	key = found ? NULL : facts_key(facts, name);
	if (key)
		found = setting_find(facts->check->config, key->name);
	return found ? found : find_direct(facts, name);
}

static int64_t
stated_size(const struct expr_scope *scope, const char *term)
{
	struct value value = resolve(scope, term);

	return value.kind == VALUE_INT && value.integer > 0 ? value.integer : 0;
}

/* What a few stated numbers say of the model; sizes that are not stated stay 0. */
static const struct model *
stated_model(struct facts *facts)
{
	struct model *model = arena_alloc(facts->arena, sizeof(*model));
	struct expr_scope scope = facts_scope(facts);
	struct layer_kind *kind = &model->kinds[0];

	model->partial = true;
	model->n_kinds = 1;
	model->layers = stated_size(&scope, "layers");
	kind->mixer.kind = MIXER_GQA;
	kind->mixer.heads = stated_size(&scope, "heads");
	kind->mixer.kv_heads = stated_size(&scope, "kv_heads");
	kind->ffn.experts = stated_size(&scope, "experts");
	kind->ffn.top_k = stated_size(&scope, "topk");
	kind->ffn.dense_width = stated_size(&scope, "ffn_width");
	kind->ffn.expert_width = stated_size(&scope, "expert_width");
	kind->ffn.shared_width = stated_size(&scope, "shared_width");
	return model;
}

/* Arguments of programs and of calls in Python say nothing about keys that are not in the file. */
static bool
has_deepspeed_file(const struct config *config)
{
	static const char *const calls[] = {"MoE", "PipelineModule", "PipeModel", "topology"};

	for (const struct setting *s = config->settings; s; s = s->next) {
		bool is_call = s->form != CONFIG_DEEPSPEED || s->argument;

		for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
			is_call = is_call || strncmp(s->name, calls[i], strlen(calls[i])) == 0;
		if (!is_call)
			return true;
	}
	return false;
}

/* A file that builds on others does not say what is left to the framework. */
static bool
builds_on_others(const struct config *config)
{
	static const char *const keys[] = {"extends", "includes", "bases", "defaults", NULL};

	for (int i = 0; keys[i]; i++)
		if (setting_find(config, keys[i]))
			return true;
	return false;
}

static bool
is_complete(const struct config *config)
{
	if (config->open || builds_on_others(config))
		return false;
	switch (config->form) {
	case CONFIG_MEGATRON:
		return setting_find(config, "num_layers") &&
		       (!config->launch.program || program_pretrains(config->launch.program));
	case CONFIG_DEEPSPEED:
	case CONFIG_TUTORIAL:
		return has_deepspeed_file(config);
	case CONFIG_TORCHTITAN:
		return true;
	default:
		return false;
	}
}

/* Settings that no field of a case stands for were written as the framework spells them. */
static bool
tells_options(const struct config *config)
{
	for (const struct setting *s = config->settings; s; s = s->next)
		if (config->form == CONFIG_NUMBERS && s->form != CONFIG_NUMBERS &&
		    !case_field_says(s->name) && strncmp(s->name, "reported_", 9) != 0)
			return true;
	return false;
}

bool
config_is_launch(const struct config *config)
{
	const struct strategy *s = &config->strategy;

	return config->form == CONFIG_NUMBERS && config->launch.launcher && s->tp == 0 &&
	       s->cp == 0 && s->pp == 0 && s->ep == 0 && s->dp == 0;
}

bool
config_is_open(const struct config *config)
{
	return config_is_launch(config) && config->launch.loc.file &&
	       !(config->strategy.said & SAID_FRAMEWORK);
}

void
facts_init(struct facts *facts, const struct check_context *check, struct arena *arena)
{
	const char *version = check->strategy->framework_version;

	*facts = (struct facts){.check = check, .arena = arena, .model = check->model};
	facts->complete = is_complete(check->config);
	facts->options = tells_options(check->config);
	facts->framework = check->other || config_is_library(check->config->form)
			       ? (unsigned)RULE_OTHER
			       : 1U << check->strategy->framework;
	if (config_is_open(check->config))
		facts->framework = 0;
	facts->version = version ? version : check->config->version;
	facts->hidden = hidden_sizes(check->config);
	facts->partial = !check->model;
	facts->strange = arena_alloc(arena, sizeof(*facts->strange));
	*facts->strange = value_undecided;
	if (facts->partial)
		facts->model = stated_model(facts);
}

const char *
newest_release(enum framework framework)
{
	for (const struct emit_target *target = emit_targets; target->name; target++)
		if (strcmp(target->name, framework_names[framework]) == 0)
			return target->newest;
	return NULL;
}

bool
config_is_toml(const struct config *config)
{
	for (const struct setting *s = config->settings; s; s = s->next) {
		const char *file = s->value->loc.file;
		size_t length = file ? strlen(file) : 0;

		if (length > 5 && strcmp(file + length - 5, ".toml") == 0)
			return true;
	}
	return false;
}

/* --job.config_file train.toml */
static bool
names_toml(const struct config *config)
{
	const struct setting *file = setting_find(config, "job.config_file");
	const char *text = file && file->value->text ? file->value->text : "";
	size_t length = strlen(text);

	return length > 5 && strcmp(text + length - 5, ".toml") == 0;
}

void
config_defaults(struct config *config)
{
	struct strategy *s = &config->strategy;
	bool complete = is_complete(config);

	/* torchtitan reads TOML files up to 0.2.2. */
	if (config->form == CONFIG_TORCHTITAN && !config->version &&
	    (config_is_toml(config) || names_toml(config)))
		config->version = "0.2.2";
	if (!s->framework_version)
		s->framework_version = config->version;

	/* Megatron-Core: "expert_tensor_model_parallel_size defaults to
	 * tensor_model_parallel_size". */
	if (config->form == CONFIG_MEGATRON && s->etp <= 0)
		s->etp = s->tp > 0 ? s->tp : 1;
	if (complete && s->zero < 0 && config->form != CONFIG_TORCHTITAN)
		s->zero = 0;
}
