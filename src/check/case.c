/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What does a case say? Its fields become sizes, settings and facts of a configuration. */
#include "check/case.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/case_values.h"
#include "check/context.h"
#include "check/import_private.h"
#include "check/rules_names.h"
#include "model/builtin_models.h"

enum { MAX_VARIANTS = 64, MAX_UNKNOWN = 256 };

/* Facts of cases are nobody's words, everything else is the framework's. */
static enum config_form
form_of(const struct config *config, const char *name)
{
	static const enum config_form forms[FRAMEWORKS] = {
	    [FRAMEWORK_MEGATRON] = CONFIG_MEGATRON,
	    [FRAMEWORK_DEEPSPEED] = CONFIG_DEEPSPEED,
	    [FRAMEWORK_TORCHTITAN] = CONFIG_TORCHTITAN,
	};
	if (case_field_is_own(name))
		return CONFIG_NUMBERS;
	return config->form == CONFIG_MAXTEXT ? CONFIG_MAXTEXT : forms[config->strategy.framework];
}

void
config_add(struct config *config, struct arena *arena, const char *name, const struct doc *value)
{
	struct setting **end = &config->settings;

	while (*end)
		end = &(*end)->next;
	*end = arena_alloc(arena, sizeof(**end));
	(*end)->name = name;
	(*end)->value = value;
	(*end)->form = form_of(config, name);
}

struct reader {
	struct arena *arena;
	struct diags *diags;
	struct check_case *out;
	size_t index; /* of the variant: which item of lists of sizes */
};

static void
note_unknown(struct reader *r, const struct doc *value)
{
	if (r->out->n_unknown < MAX_UNKNOWN)
		r->out->unknown[r->out->n_unknown++] = value;
}

/* The item of a list of sizes that this variant has; the value itself when it is no list. */
static const struct doc *
variant_of(const struct reader *r, const struct doc *value)
{
	const struct doc *item;

	if (value->kind != DOC_LIST || value->count == 0)
		return value;
	item = doc_item(value, r->index);
	return item ? item : doc_item(value, value->count - 1);
}

static int
read_size(struct reader *r, const struct doc *value, void *object, size_t offset)
{
	enum { LARGEST = 1 << 30 };
	const struct doc *size = variant_of(r, value);
	int64_t integer;

	if (doc_is_null(size))
		return 0;
	if (!case_integer(size, &integer) && size->kind == DOC_STRING) {
		note_unknown(r, value); /* a description where a number stands elsewhere */
		return 0;
	}
	if (!case_integer(size, &integer) || integer < -1 || integer > LARGEST)
		return diag_error(r->diags, size->loc, "'%s' is %s, allowed is an integer to %d",
		    value->key, size->text ? size->text : doc_kind_name(size->kind), LARGEST);
	*(int64_t *)(void *)((char *)object + offset) = integer;
	return 0;
}

static bool
is_true(const struct doc *value)
{
	return (value->kind == DOC_BOOL && value->boolean) ||
	       (value->kind == DOC_NUMBER && value->number > 0);
}

/* Letters and digits of a name, lower case: "Qwen3-30B-A3B" is "qwen3-30b-a3b". */
static const char *
squeeze(struct arena *arena, const char *name)
{
	struct str out = str_new(arena);

	for (; *name && *name != ' '; name++)
		if (*name >= 'A' && *name <= 'Z')
			str_addc(&out, (char)(*name - 'A' + 'a'));
		else if ((*name >= 'a' && *name <= 'z') || (*name >= '0' && *name <= '9'))
			str_addc(&out, *name);
	return out.text;
}

static struct model *
find_model(struct reader *r, const char *name)
{
	const char *wanted = squeeze(r->arena, name), *builtin;

	for (int i = 0; (builtin = builtin_model_name(i)) != NULL; i++) {
		const char *text = builtin_model_text(builtin);
		struct doc *doc;

		if (strcmp(squeeze(r->arena, builtin), wanted) != 0)
			continue;
		doc = doc_parse(r->arena, r->diags, builtin, text, strlen(text));
		return doc ? model_read(r->arena, r->diags, doc, builtin) : NULL;
	}
	return NULL;
}

static void
read_gpus(struct reader *r, const struct doc *value, int *result)
{
	if (value->kind == DOC_LIST)
		config_add(&r->out->config, r->arena, "gpu_counts", value);
	else
		*result |=
		    read_size(r, value, &r->out->config.strategy, offsetof(struct strategy, world));
}

static void
read_zero(struct reader *r, const struct doc *value, const char *name)
{
	struct strategy *s = &r->out->config.strategy;

	if (strncmp(name, "zero", 4) == 0 && value->kind == DOC_NUMBER && value->is_integer)
		s->zero = value->integer >= 0 && value->integer <= 3 ? (int)value->integer : -1;
	else if (strcmp(name, "dist_opt") == 0)
		s->zero = is_true(value) ? 1 : 0;
	else if (strcmp(name, "fully_sharded") == 0 && is_true(value))
		s->zero = 3;
}

/* Maps of a framework's own file: {"bf16": {"enabled": true}} is bf16.enabled. */
static void
flatten(struct reader *r, const char *name, const struct doc *value)
{
	if (value->kind == DOC_STRING) /* "48" is a number, as in a file of YAML */
		value = import_scalar(r->arena, value->key, value->text, value->loc);
	if (value->kind != DOC_MAP) {
		config_add(&r->out->config, r->arena, name, value);
		return;
	}
	config_add(&r->out->config, r->arena, name, value);
	for (const struct doc *member = value->first; member; member = member->next)
		flatten(r, arena_printf(r->arena, "%s.%s", name, member->key), member);
}

/* A setting as the framework spells it says its part of the strategy as well. */
static int
read_setting(struct reader *r, const struct doc *value, const char *name)
{
	struct config *config = &r->out->config;
	struct field_context aloud = {r->arena, r->diags};
	struct field_context silent = {r->arena, diags_new(r->arena)};
	const struct key *key = import_key(form_of(config, name), name);

	flatten(r, name, value);
	if (!key || !key->term || strncmp(key->term, "model.", 6) == 0)
		return 0;
	if (key->kind == KEY_INT)
		return key_read(key, value, &config->strategy, &aloud);
	/* words that no strategy of ours can say are for the rules to judge */
	key_read(key, value, &config->strategy, &silent);
	return 0;
}

/* One argument or key, with what stands behind '=' or a blank as its value. */
static int
read_word(struct reader *r, const struct doc *item, bool is_argument)
{
	const char *text = item->text ? item->text + strspn(item->text, "-") : "";
	size_t length = strcspn(text, "= ");
	char *name = arena_strndup(r->arena, text, length);
	struct doc *map = doc_new_map(r->arena, item->loc);

	for (char *at = name; is_argument && *at; at++)
		*at = *at == '-' ? '_' : *at;
	doc_add_scalar(r->arena, map, name, text[length] ? text + length + 1 : "true", item->loc);
	return read_setting(r, map->first, name);
}

/* Each item becomes a setting; arguments are an argument list. */
static int
read_words(struct reader *r, const struct doc *list, bool are_arguments)
{
	int result = 0;

	if (are_arguments && r->out->config.strategy.framework == FRAMEWORK_MEGATRON)
		r->out->config.form = CONFIG_MEGATRON;
	r->out->config.excerpt = !are_arguments;
	for (const struct doc *item = list->first; item; item = item->next)
		result |= read_word(r, item, are_arguments);
	return result;
}

/* Our names of fused dispatchers are Megatron's flex dispatcher with a backend. */
static int
read_dispatcher(struct reader *r, const struct doc *value)
{
	struct config *config = &r->out->config;
	bool fused = value->text &&
		     (strcmp(value->text, "deepep") == 0 || strcmp(value->text, "hybridep") == 0 ||
			 strcmp(value->text, "ncclep") == 0);
	struct doc *flex;

	if (r->out->other || config->strategy.framework != FRAMEWORK_MEGATRON || !fused) {
		config_add(config, r->arena, "moe_token_dispatcher_type", value);
		return 0;
	}
	flex = arena_alloc(r->arena, sizeof(*flex));
	*flex = (struct doc){.kind = DOC_STRING, .loc = value->loc, .text = "flex"};
	return read_setting(r, flex, "moe_token_dispatcher_type") |
	       read_setting(r, value, "moe_flex_dispatcher_backend");
}

static int
read_special(struct reader *r, const struct doc *value, const char *name)
{
	struct config *config = &r->out->config;
	bool is_text = value->kind == DOC_STRING;
	int result = 0;

	if (strcmp(name, "gpus") == 0) {
		read_gpus(r, value, &result);
	} else if (strcmp(name, "flags") == 0 || strcmp(name, "keys") == 0) {
		result = read_words(r, value, name[0] == 'f');
	} else if (strcmp(name, "moe") == 0 && value->kind == DOC_MAP) {
		flatten(r, name, value);
	} else if (strcmp(name, "moe") == 0) {
		config_add(config, r->arena, "has_experts", value);
	} else if (strcmp(name, "dispatcher") == 0) {
		result = read_dispatcher(r, value);
	} else if (strcmp(name, "hostfile") == 0) {
		result = case_hostfile(config, r->arena, r->diags, value);
	} else if (strcmp(name, "model") == 0 && is_text) {
		config_add(config, r->arena, "model_name", value);
		config->model = find_model(r, value->text);
	} else if (strcmp(name, "layout") == 0 && is_text) {
		config->strategy.layout = value->text;
		config_add(config, r->arena, "pipeline_model_parallel_layout", value);
	} else if (strcmp(name, "launcher") == 0 && is_text) {
		config->launch.launcher = value->text;
	} else if (strcmp(name, "master_addr") == 0 && is_text) {
		config->launch.master_addr = value->text;
	} else if (strcmp(name, "auto_ep") == 0) {
		config->strategy.auto_ep = is_true(value);
	} else if (strcmp(name, "expert_tp") == 0 ||
		   strcmp(name, "enable_expert_tensor_parallelism") == 0) {
		config->strategy.expert_tp = is_true(value);
	} else if (strstr(name, "capacity_factor")) {
		config->strategy.capacity = value->kind == DOC_NUMBER ? value->number : 0;
		config_add(config, r->arena, "moe_expert_capacity_factor", value);
	} else if (strcmp(name, "version") == 0 || strncmp(name, "megatron", 8) == 0) {
		config->version = value->text ? case_version(r->arena, value->text) : NULL;
	} else {
		read_zero(r, value, name);
	}
	return result;
}

/* The name in full when it is a setting of the framework, or a spelling of one; NULL. */
static const char *
framework_setting(struct reader *r, const struct doc *value, const char *name)
{
	enum framework framework = r->out->config.strategy.framework;

	if (r->out->other)
		return strncmp(name, "ici_", 4) == 0 || strncmp(name, "dcn_", 4) == 0 ? name : NULL;
	if (value->kind == DOC_MAP || name_state(framework, NULL, name, NULL) != NAME_UNKNOWN ||
	    (framework == FRAMEWORK_MEGATRON && setting_is_spelling(name)))
		return name;
	return name_in_block(r->arena, framework, name);
}

static bool
ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), n = strlen(end);

	return length > n && strcmp(text + length - n, end) == 0;
}

static int read_field(struct reader *r, const struct doc *value, const char *name);

/* A map that only gathers fields: "env": {"WORLD_SIZE": 16}. */
static int
read_fields(struct reader *r, const struct doc *map)
{
	int result = 0;

	for (const struct doc *member = map->first; member; member = member->next)
		result |= read_field(r, member, member->key);
	return result;
}

static bool
gathers_fields(const struct doc *value, const char *name)
{
	static const char *const names[] = {"env", "environment", "parallel", "cluster", "batch",
	    "model", "launch", "ds_config", "deepspeed_config", NULL};

	for (int i = 0; value->kind == DOC_MAP && names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static int
read_field(struct reader *r, const struct doc *value, const char *name)
{
	const struct case_field *field = case_field_find(name);
	struct config *config = &r->out->config;

	if (!field && ends_with(name, "_in_job_name"))
		return read_field(r, value, arena_strndup(r->arena, name, strlen(name) - 12));
	if (doc_is_null(value))
		return 0;
	if (gathers_fields(value, name))
		return read_fields(r, value);
	/* A block of the framework under a size's name: "tensor_parallel": {"autotp_size": 4}. */
	if (field && field->target == CASE_STRATEGY && value->kind == DOC_MAP)
		return read_setting(r, value, name);
	if (!field && strncmp(name, "reported_", 9) != 0) {
		const char *full = framework_setting(r, value, name);
		const char *usual = case_name_of(name);

		if (full)
			return read_setting(r, value, full);
		if (usual)
			return read_field(r, value, usual);
		note_unknown(r, value);
		return 0;
	}
	if (!field || field->target == CASE_SETTING) {
		flatten(r, field && field->setting ? field->setting : name, value);
		return 0;
	}
	if (field->target == CASE_SPECIAL)
		return read_special(r, value, name);
	if (field->target == CASE_LAUNCH)
		return read_size(r, value, &config->launch, field->offset);
	if (strncmp(name, "train_", 6) == 0 || strcmp(name, "local_batch_size") == 0)
		config_add(config, r->arena, name, value);
	return read_size(r, value, &config->strategy, field->offset);
}

/* Beside a baseline, numbers under names of their own are alternatives to it. */
static void
gather_alternatives(struct reader *r)
{
	struct doc *list = arena_alloc(r->arena, sizeof(*list)), **end = &list->first;
	size_t kept = 0;

	if (!setting_find(&r->out->config, "baseline"))
		return;
	*list = (struct doc){.kind = DOC_LIST};
	for (size_t i = 0; i < r->out->n_unknown; i++) {
		const struct doc *value = r->out->unknown[i];

		if (value->kind != DOC_NUMBER) {
			r->out->unknown[kept++] = value;
			continue;
		}
		*end = arena_alloc(r->arena, sizeof(**end));
		**end = *value;
		(*end)->next = NULL;
		end = &(*end)->next;
		list->count++;
	}
	r->out->n_unknown = kept;
	if (list->count > 0)
		config_add(&r->out->config, r->arena, "alternatives", list);
}

/* torchtitan and FSDP share out weights, gradients and optimizer unless they are told not to. */
static bool
shards_all(const struct check_case *c)
{
	const char *name = c->framework;

	if (c->other)
		return strncmp(name, "fsdp", 4) == 0 || strncmp(name, "FSDP", 4) == 0;
	return c->config.strategy.framework == FRAMEWORK_TORCHTITAN;
}

static void
settle_framework(struct reader *r, bool whole_experts)
{
	struct strategy *s = &r->out->config.strategy;

	s->framework_version = r->out->config.version;
	if (s->zero < 0 && shards_all(r->out))
		s->zero = 3;
	if (s->framework != FRAMEWORK_MEGATRON || r->out->other || s->etp > 0)
		return;
	s->etp = whole_experts && s->ep > 1 ? 1 : s->tp > 0 ? s->tp : 1;
}

static bool
start_framework(struct reader *r, const struct doc *doc)
{
	const char *text = doc && doc->text ? doc->text : "", *version;
	const struct case_framework *known = case_framework(r->arena, text, &version);

	r->out->framework = text;
	r->out->other = !known;
	if (!known && doc)
		config_add(&r->out->config, r->arena, "framework_name", doc);
	if (strcmp(text, "maxtext") == 0 || strcmp(text, "MaxText") == 0)
		r->out->config.form = CONFIG_MAXTEXT;
	if (!known)
		return false;
	r->out->config.strategy.framework = known->framework;
	r->out->config.version = version;
	return known->whole_experts;
}

/* One variant: the input, and what an entry of `cases` says instead. */
static struct check_case *
read_variant(struct reader *r, const struct doc *doc, const struct doc *override)
{
	const struct doc *input = doc_get(doc, "input");
	bool whole_experts;
	int result = 0;

	r->out = arena_alloc(r->arena, sizeof(*r->out));
	r->out->unknown = arena_array(r->arena, MAX_UNKNOWN, sizeof(struct doc *));
	config_init(&r->out->config);
	whole_experts = start_framework(r, doc_get(doc, "framework"));
	for (const struct doc *value = input->first; value; value = value->next)
		if (!doc_get(override, value->key) && strcmp(value->key, "cases") != 0)
			result |= read_field(r, value, value->key);
	for (const struct doc *value = override ? override->first : NULL; value;
	     value = value->next)
		result |= read_field(r, value, value->key);
	if (result != 0)
		return NULL;
	gather_alternatives(r);
	case_settle_model(r->arena, &r->out->config);
	settle_framework(r, whole_experts);
	return r->out;
}

/* How many configurations the lists of sizes make. */
static size_t
count_variants(const struct doc *input)
{
	size_t most = 1;

	for (const struct doc *value = input->first; value; value = value->next) {
		const struct case_field *field = case_field_find(value->key);

		if (field && field->target == CASE_STRATEGY && value->kind == DOC_LIST &&
		    value->count > most)
			most = value->count;
	}
	return most < MAX_VARIANTS ? most : MAX_VARIANTS;
}

struct check_case *
case_read(struct arena *arena, struct diags *diags, const struct doc *doc)
{
	struct reader reader = {.arena = arena, .diags = diags};
	struct check_case *first = NULL, **end = &first;
	const struct doc *input = doc_get(doc, "input"), *list;
	size_t n;

	if (!input || input->kind != DOC_MAP) {
		diag_error(diags, doc->loc, "a case has a map 'input'");
		diag_last_hint(diags, "{\"framework\": \"megatron\", \"input\": {\"gpus\": 8, …}}");
		return NULL;
	}
	list = doc_get(input, "cases");
	n = list && list->kind == DOC_LIST ? list->count : count_variants(input);
	for (reader.index = 0; reader.index < n && reader.index < MAX_VARIANTS; reader.index++) {
		const struct doc *override =
		    list && list->kind == DOC_LIST ? doc_item(list, reader.index) : NULL;

		*end = read_variant(&reader, doc, override);
		if (!*end)
			return NULL;
		end = &(*end)->next;
	}
	return first;
}
