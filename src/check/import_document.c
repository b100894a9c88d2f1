/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What kind of configuration is a JSON, YAML or TOML document, told by its keys?
 *
 *   schema moeplan/…                              one of our own
 *   train_batch_size, zero_optimization, bf16 …   DeepSpeed; with data_parallel_size and the
 *                                                 like the guides' file of the same name
 *   moe_layer_config                              the guides' other file
 *   parallelism, training, activation_checkpoint  torchtitan
 *   language_model, model_parallel                Megatron-LM's --yaml-cfg
 *   model: tensor_model_parallel_size …           Megatron-Bridge, NeMo, the guides' YAML
 *   MODEL_ARGS: --num-layers: 61 …                arguments of Megatron-LM in a map
 *   num_layers, tensor_model_parallel_size …      arguments of Megatron-LM, dumped
 *   distributed_type, num_processes …             Accelerate (import_accelerate.c)
 *   ici_tensor_parallelism …                      MaxText
 *   model_type, architectures                     a model, Hugging Face's config.json
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_private.h"
#include "check/rules_names.h"

static bool
is_listed(const char *const *list, const char *word)
{
	while (*list && strcmp(*list, word) != 0)
		list++;
	return *list != NULL;
}

static size_t
count_listed(const struct doc *map, const char *const *list)
{
	size_t count = 0;

	for (const struct doc *member = map->first; member; member = member->next)
		count += is_listed(list, member->key);
	return count;
}

static const char *const guide_keys[] = {"data_parallel_size", "expert_parallel_size",
    "tensor_parallel_size", "pipeline_parallel_size", "distributed_backend", "comm_optimization",
    NULL};
static const char *const titan_sections[] = {"parallelism", "training", "activation_checkpoint",
    "lr_scheduler", "checkpoint", "optimizer", "metrics", "job", "compile", "profiling", "comm",
    "quantize", "float8", NULL};
static const char *const yaml_sections[] = {"language_model", "model_parallel", NULL};
static const char *const bridge_sections[] = {"model", "train", "dataset", "ddp", "dist",
    "comm_overlap", "optimizer", "checkpoint", "scheduler", "mixed_precision", "rng", "logger",
    "tokenizer", "trainer", "profiling", "validation", "exp_manager", "run", NULL};

/* --- values --------------------------------------------------------------------------------- */

/* PyYAML reads YAML 1.1: True, yes, on are booleans as well. */
static const struct doc *
yaml_value(struct import *in, const struct doc *value)
{
	static const char *const on[] = {"True", "TRUE", "yes", "Yes", "on", "On", NULL};
	static const char *const off[] = {"False", "FALSE", "no", "No", "off", "Off", NULL};
	struct doc *boolean;

	if (value->kind != DOC_STRING || value->quoted)
		return value;
	if (!is_listed(on, value->text) && !is_listed(off, value->text))
		return value;
	boolean = import_bool(in->arena, value->key, is_listed(on, value->text), value->loc);
	boolean->key_loc = value->key_loc;
	return boolean;
}

/* A member, or an unknown value where the text names a variable: ${TP}. */
static void
add_member(struct import *in, enum config_form form, const char *name, const struct doc *member)
{
	const char *variable = member->kind == DOC_STRING ? strstr(member->text, "${") : NULL;

	if (variable)
		import_unknown_setting(in, form, name, member->text, member->loc);
	else
		import_setting(in, form, name, yaml_value(in, member));
}

/* Members of sections under their own names, those of other maps dotted. */
static void
add_flat(
    struct import *in, enum config_form form, const struct doc *map, const char *const *sections)
{
	for (const struct doc *member = map->first; member && !in->full; member = member->next) {
		if (member->kind == DOC_MAP && sections && is_listed(sections, member->key)) {
			add_flat(in, form, member, NULL);
			continue;
		}
		add_member(in, form, member->key, member);
		if (member->kind == DOC_MAP)
			import_map(in, form, member->key, member);
	}
}

/* --- models --------------------------------------------------------------------------------- */

static int
take_model(struct import *in, const struct doc *doc)
{
	struct model *model = model_read(in->arena, in->diags, doc, in->name);

	if (!model)
		return -1;
	in->config->model = model;
	import_setting(in, CONFIG_PLAN, "model", doc);
	return 0;
}

static bool
is_guide_model(const struct doc *doc)
{
	const struct doc *moe = doc_get(doc, "moe");
	bool sizes = doc_get(doc, "num_layers") && !doc_get(doc, "num_hidden_layers") &&
		     !doc_get(doc, "architectures");

	return doc_get(doc, "moe_layer_config") ||
	       (sizes && (doc_get(doc, "model_type") || (moe && moe->kind == DOC_MAP)));
}

/* --- DeepSpeed ------------------------------------------------------------------------------ */

/* What a file is shows in its first keys; a hostile one may have a million. */
static size_t
count_known(const struct doc *map, enum framework framework)
{
	size_t count = 0, seen = 0;

	for (const struct doc *member = map->first; member && seen < IMPORT_MAX_SETTINGS;
	     member = member->next, seen++)
		count += name_state(framework, NULL, member->key, NULL) != NAME_UNKNOWN ||
			 (member->kind == DOC_MAP && name_is_block(framework, member->key));
	return count;
}

static int
take_deepspeed(struct import *in, const struct doc *doc)
{
	enum config_form form =
	    count_listed(doc, guide_keys) > 0 && !doc_get(doc, "sequence_parallel_size")
		? CONFIG_TUTORIAL
		: CONFIG_DEEPSPEED;

	if (import_form(in, form, doc->loc) != 0)
		return -1;
	import_map(in, CONFIG_DEEPSPEED, "", doc);
	return 0;
}

/* Arguments of Hugging Face's Trainer in a file: not DeepSpeed's own. */
static int
take_trainer_arguments(struct import *in, const struct doc *doc)
{
	if (import_form(in, CONFIG_DEEPSPEED, doc->loc) != 0)
		return -1;
	in->arguments = true;
	for (const struct doc *member = doc->first; member && !in->full; member = member->next) {
		bool file = strcmp(member->key, "deepspeed") == 0;
		bool own = import_key(CONFIG_DEEPSPEED, member->key) != NULL;

		if (member->kind < DOC_LIST)
			add_member(in,
			    file  ? CONFIG_NUMBERS
			    : own ? CONFIG_DEEPSPEED
				  : CONFIG_MEGATRON,
			    member->key, member);
	}
	in->arguments = false;
	return 0;
}

static int
take_guide_model(struct import *in, const struct doc *doc)
{
	if (import_form(in, CONFIG_TUTORIAL, doc->loc) != 0)
		return -1;
	import_map(in, CONFIG_TUTORIAL, "", doc);
	return 0;
}

/* --- Megatron ------------------------------------------------------------------------------- */

/* Names of its arguments or its configuration classes. */
static bool
is_megatron_name(const char *name)
{
	return import_key(CONFIG_MEGATRON, name) ||
	       name_state(FRAMEWORK_MEGATRON, NULL, name, NULL) != NAME_UNKNOWN;
}

static size_t
count_megatron(const struct doc *map)
{
	size_t count = 0, seen = 0;

	for (const struct doc *member = map ? map->first : NULL;
	     member && seen < IMPORT_MAX_SETTINGS; member = member->next, seen++)
		count += is_megatron_name(member->key);
	return count;
}

/* NeMo's trainer says how many start. */
static void
take_trainer(struct import *in, const struct doc *trainer)
{
	static const char *const names[][2] = {
	    {"num_nodes", "nnodes"}, {"devices", "nproc_per_node"}, {NULL, NULL}};

	for (int i = 0; names[i][0]; i++) {
		const struct doc *value = doc_get(trainer, names[i][0]);

		if (value && value->is_integer && !in->config->launch.launcher)
			in->config->launch.launcher = "torchrun";
		if (value && value->is_integer)
			import_setting(in, CONFIG_NUMBERS, names[i][1], value);
	}
}

static int
take_bridge(struct import *in, const struct doc *doc)
{
	if (import_form(in, CONFIG_BRIDGE, doc->loc) != 0)
		return -1;
	add_flat(in, CONFIG_BRIDGE, doc, bridge_sections);
	take_trainer(in, doc_get(doc, "trainer"));
	return 0;
}

static void
add_argument(struct import *in, const struct doc *member)
{
	enum config_form form = is_megatron_name(member->key) ? CONFIG_MEGATRON : CONFIG_NUMBERS;

	add_member(in, form, member->key, member);
}

/*
 * --yaml-cfg has fields of the configuration classes where the command line has arguments
 * (megatron/training/yaml_arguments.py).
 */
static const struct {
	const char *field, *argument;
	const char *word; /* the argument is on when the field says so; NULL: the same value */
} fields[] = {
    {"num_moe_experts", "num_experts", NULL},
    {"add_bias_linear", "disable_bias_linear", "false"},
    {"activation_func", "swiglu", "swiglu"},
    {"activation_func", "squared_relu", "squaredrelu"},
    {"virtual_pipeline_model_parallel_size", NULL, NULL}, /* follows from the layers of one */
};

static bool
says(const struct doc *value, const char *word)
{
	if (value->kind == DOC_BOOL)
		return strcmp(word, value->boolean ? "true" : "false") == 0;
	return value->kind == DOC_STRING && strcmp(value->text, word) == 0;
}

/* Takes a field that has another name as an argument. */
static bool
add_field(struct import *in, const struct doc *member)
{
	const struct doc *value = yaml_value(in, member);
	bool found = false;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(fields[i].field, member->key) != 0)
			continue;
		found = true;
		if (fields[i].argument && !fields[i].word)
			add_member(in, CONFIG_MEGATRON, fields[i].argument, member);
		else if (fields[i].argument && says(value, fields[i].word))
			import_setting(in, CONFIG_MEGATRON, fields[i].argument,
			    import_bool(in->arena, fields[i].argument, true, member->loc));
	}
	return found;
}

/* What is no argument of the command line is a setting of that file alone. */
static int
take_yaml_arguments(struct import *in, const struct doc *doc, const char *const *sections)
{
	if (import_form(in, CONFIG_MEGATRON, doc->loc) != 0)
		return -1;
	for (const struct doc *member = doc->first; member && !in->full; member = member->next) {
		if (member->kind == DOC_MAP && sections && is_listed(sections, member->key)) {
			for (const struct doc *field = member->first; field; field = field->next)
				if (!add_field(in, field))
					add_argument(in, field);
		} else {
			add_argument(in, member);
		}
	}
	return 0;
}

/* Documents with these sections are for --yaml-cfg, which has rules of its own. */
static int
take_yaml_cfg(struct import *in, const struct doc *doc)
{
	if (take_yaml_arguments(in, doc, yaml_sections) != 0)
		return -1;
	import_setting(in, CONFIG_MEGATRON, "yaml_cfg",
	    import_scalar(in->arena, "yaml_cfg", in->name, doc->loc));
	return 0;
}

/* "[a b]": several values, as the test recipes write them. */
static const struct doc *
bracketed(struct import *in, const struct doc *value)
{
	const char *text = value->kind == DOC_STRING ? value->text : "";
	size_t length = strlen(text);
	struct doc *list, *last = NULL;

	if (length < 3 || text[0] != '[' || text[length - 1] != ']' ||
	    strcspn(text + 1, "[]*") != length - 2)
		return value;
	list = import_container(in->arena, value->key, DOC_LIST, value->loc);
	for (const char *at = text + 1; *at != ']' && *at;) {
		size_t item = strcspn(at, " ,]");

		if (item > 0)
			last = import_append(list, last,
			    import_scalar(
				in->arena, NULL, arena_strndup(in->arena, at, item), value->loc));
		at += item + (at[item] == ' ' || at[item] == ',');
	}
	return list;
}

/* --num-layers: 61 as in the test recipes of Megatron-LM: flags have true, some maps false. */
static int
take_flag_map(struct import *in, const struct doc *map)
{
	if (import_form(in, CONFIG_MEGATRON, map->loc) != 0)
		return -1;
	in->arguments = true;
	for (const struct doc *member = map->first; member && !in->full; member = member->next) {
		char *name = arena_strdup(
		    in->arena, member->key + (strncmp(member->key, "--", 2) == 0 ? 2 : 0));
		const struct doc *value = bracketed(in, yaml_value(in, member));

		for (char *c = name; *c; c++)
			*c = *c == '-' ? '_' : *c;
		if (value->kind != DOC_BOOL || value->boolean) /* a false flag is left out */
			add_member(in, CONFIG_MEGATRON, name, value);
	}
	in->arguments = false;
	return 0;
}

static void
take_environment(struct import *in, const struct doc *map)
{
	for (const struct doc *member = map ? map->first : NULL; member; member = member->next) {
		const struct doc *value = member;

		/* "1" is 1 in an environment */
		if (member->kind == DOC_STRING && !strstr(member->text, "${"))
			value = import_scalar(in->arena, member->key, member->text, member->loc);
		if (member->kind < DOC_LIST)
			add_member(in, CONFIG_NUMBERS, member->key, value);
	}
}

static bool
has_flags(const struct doc *map)
{
	return map && map->kind == DOC_MAP && map->first && strncmp(map->first->key, "--", 2) == 0;
}

/* --- torchtitan ----------------------------------------------------------------------------- */

static int
take_titan(struct import *in, const struct doc *doc)
{
	if (import_form(in, CONFIG_TORCHTITAN, doc->loc) != 0)
		return -1;
	if (!in->config->version)
		in->config->version = "0.2.2"; /* the last release that reads such files */
	import_map(in, CONFIG_TORCHTITAN, "", doc);
	return 0;
}

/* Sections that hold maps, one at least that only torchtitan has. */
static bool
is_titan(const struct doc *doc)
{
	size_t maps = 0;

	for (const struct doc *member = doc->first; member; member = member->next)
		maps += member->kind == DOC_MAP && is_listed(titan_sections, member->key);
	return maps > 0 &&
	       (doc_get(doc_get(doc, "training"), "seq_len") ||
		   doc_get(doc_get(doc, "training"), "local_batch_size") ||
		   doc_get(doc, "parallelism") || doc_get(doc, "activation_checkpoint"));
}

/* --- all ------------------------------------------------------------------------------------ */

static int
not_known(struct import *in, const struct doc *doc)
{
	diag_error(
	    in->diags, doc->loc, "'%s' has no keys of a configuration that is known", in->name);
	diag_last_hint(in->diags,
	    "known are files of DeepSpeed, Megatron-LM, Megatron-Bridge, torchtitan, MaxText and "
	    "Accelerate, scripts, hostfiles, models, and documents of moeplan");
	return -1;
}

static bool
has_our_schema(const struct doc *doc)
{
	const struct doc *schema = doc_get(doc, "schema");

	return schema && schema->text && strncmp(schema->text, "moeplan/", 8) == 0;
}

/* Sections of Megatron-Bridge, some of which are DeepSpeed's keys as well. */
static bool
is_bridge(const struct doc *doc)
{
	static const char *const others[] = {"train_batch_size", "train_micro_batch_size_per_gpu",
	    "zero_optimization", "bf16", "fp16", NULL};

	return count_megatron(doc_get(doc, "model")) > 0 &&
	       count_listed(doc, bridge_sections) > 1 && count_listed(doc, others) == 0;
}

static int
take_megatron(struct import *in, const struct doc *doc)
{
	const struct doc *model = doc_get(doc, "model");
	const struct doc *arguments = doc_get(doc, "MODEL_ARGS");

	if (has_flags(arguments)) {
		take_environment(in, doc_get(doc, "ENV_VARS"));
		if (doc_get(doc, "MODE"))
			add_member(in, CONFIG_NUMBERS, "mode", doc_get(doc, "MODE"));
		return take_flag_map(in, arguments);
	}
	if (has_flags(doc))
		return take_flag_map(in, doc);
	if (count_megatron(doc_get(doc, "language_model")) +
		count_megatron(doc_get(doc, "model_parallel")) >
	    0)
		return take_yaml_cfg(in, doc);
	if (count_megatron(model) > 0 ||
	    (count_listed(doc, bridge_sections) > 1 && count_megatron(doc_get(doc, "ddp")) > 0))
		return take_bridge(in, doc);
	if (count_megatron(doc) > 1 ||
	    (doc->count == 1 && import_key(CONFIG_MEGATRON, doc->first->key)))
		return take_yaml_arguments(in, doc, NULL);
	return not_known(in, doc);
}

static int
take_maxtext(struct import *in, const struct doc *doc)
{
	if (import_form(in, CONFIG_MAXTEXT, doc->loc) != 0)
		return -1;
	import_map(in, CONFIG_MAXTEXT, "", doc);
	return 0;
}

/* Hydra's name of the class that the keys are for: some program's own, whatever they are called. */
static bool
is_of_program(struct import *in, const struct doc *doc)
{
	const struct doc *target = doc_get(doc, "_target_");

	if (!target || !target->text)
		return false;
	if (!in->config->launch.program)
		in->config->launch.program = target->text;
	return true;
}

int
import_document(struct import *in, const struct doc *doc)
{
	if (doc->kind != DOC_MAP)
		return diag_error(in->diags, doc->loc, "'%s' holds %s, a configuration is a map",
		    in->name, doc_kind_name(doc->kind));
	if (has_our_schema(doc))
		return import_plan(in, doc);
	if (is_titan(doc)) /* it has a section [job] as well */
		return take_titan(in, doc);
	if (doc_get(doc, "strategy") || doc_get(doc, "job"))
		return import_plan(in, doc);
	if (doc_get(doc, "ici_fsdp_parallelism") || doc_get(doc, "ici_tensor_parallelism"))
		return take_maxtext(in, doc);
	if (is_accelerate_file(doc))
		return import_accelerate_file(in, doc);
	if (is_guide_model(doc))
		return take_guide_model(in, doc);
	if (doc_get(doc, "model_type") || doc_get(doc, "architectures"))
		return take_model(in, doc);
	if (is_bridge(doc))
		return take_bridge(in, doc);
	if (is_of_program(in, doc))
		return take_megatron(in, doc);
	if (doc_get(doc, "per_device_train_batch_size") ||
	    (doc_get(doc, "num_train_epochs") && doc_get(doc, "learning_rate")))
		return take_trainer_arguments(in, doc);
	if (count_known(doc, FRAMEWORK_DEEPSPEED) > 0 &&
	    count_known(doc, FRAMEWORK_DEEPSPEED) + count_listed(doc, guide_keys) >=
		count_megatron(doc))
		return take_deepspeed(in, doc);
	if (count_listed(doc, guide_keys) > 1 || doc_get(doc_get(doc, "moe"), "ep_size"))
		return take_deepspeed(in, doc);
	return take_megatron(in, doc);
}
