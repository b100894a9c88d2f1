/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is a word of a command line, and whose options are they? Names tell: each framework
 * has some that no other has.
 */
#include "check/import_option.h"

#include <string.h>

#include "check/rules_names.h"

/* scripts/training/run_recipe.py of Megatron-Bridge */
static const char *const short_options[][2] = {{"tp", "tensor_model_parallel_size"},
    {"pp", "pipeline_model_parallel_size"}, {"cp", "context_parallel_size"},
    {"vp", "virtual_pipeline_model_parallel_size"}, {"ep", "expert_model_parallel_size"},
    {"etp", "expert_tensor_parallel_size"}, {"gb", "global_batch_size"}, {"mb", "micro_batch_size"},
    {"sl", "seq_length"}, {"ms", "train_iters"}};

bool
option_is_long(const struct shell_text *word)
{
	return word->bytes[0] == '-' && word->bytes[1] == '-' && word->bytes[2] != '\0';
}

static bool
is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

const char *
option_short(const struct shell_text *word)
{
	if (word->bytes[0] != '-')
		return NULL;
	for (size_t i = 0; i < sizeof(short_options) / sizeof(short_options[0]); i++)
		if (strcmp(word->bytes + 1, short_options[i][0]) == 0)
			return short_options[i][1];
	return NULL;
}

size_t
option_override(const struct shell_text *word)
{
	size_t plus = strspn(word->bytes, "+"), length = plus;

	while (is_name_byte(word->bytes[length]) || word->bytes[length] == '.')
		length++;
	if (word->bytes[length] != '=' || length == plus)
		return 0;
	return memchr(word->bytes, '.', length) ||
		       strncmp(word->bytes + plus, "mixed_precision", 15) == 0
		   ? length
		   : 0;
}

bool
import_is_override(const struct shell_text *word)
{
	return option_override(word) > 0;
}

bool
option_is_deepspeed(const char *name)
{
	return strcmp(name, "deepspeed") == 0 || strcmp(name, "deepspeed_config") == 0 ||
	       strcmp(name, "deepspeed_config_file") == 0;
}

/* Words that only one framework would have. */
struct styles {
	size_t megatron, torchtitan, bridge, deepspeed;
	bool module, config; /* torchtitan 0.3 is told both */
};

/* "--parallelism.no-x" is x as well; sections alone are other programs' too. */
static bool
is_titan_name(const char *name)
{
	const char *point = strrchr(name, '.');
	char plain[64];
	size_t section = (size_t)(point + 1 - name);

	if (name_state(FRAMEWORK_TORCHTITAN, NULL, name, NULL) != NAME_UNKNOWN ||
	    import_key(CONFIG_TORCHTITAN, name))
		return true;
	if (strncmp(point + 1, "no_", 3) != 0 || strlen(name) >= sizeof(plain))
		return false;
	memcpy(plain, name, section);
	memcpy(plain + section, point + 4, strlen(point + 4) + 1);
	return name_state(FRAMEWORK_TORCHTITAN, NULL, plain, NULL) != NAME_UNKNOWN;
}

static void
count_word(const struct shell_text *word, struct styles *styles)
{
	char name[64];
	size_t length = 0;

	if (option_override(word) > 0)
		styles->bridge++;
	if (!option_is_long(word)) {
		styles->bridge += option_short(word) != NULL;
		return;
	}
	for (const char *c = word->bytes + 2; *c && *c != '=' && length + 1 < sizeof(name); c++)
		name[length++] = *c == '-' ? '_' : *c;
	name[length] = '\0';
	styles->module = styles->module || strcmp(name, "module") == 0;
	styles->config = styles->config || strcmp(name, "config") == 0;
	if (strchr(name, '.'))
		styles->torchtitan += is_titan_name(name);
	else if (option_is_deepspeed(name))
		styles->deepspeed++;
	else if (import_key(CONFIG_MEGATRON, name))
		styles->megatron++;
	else if (import_key(CONFIG_DEEPSPEED, name))
		styles->deepspeed++;
}

static struct styles
count_styles(const struct shell_words *words, size_t from)
{
	struct styles styles = {0};

	for (size_t i = from; i < words->count; i++)
		count_word(&words->items[i], &styles);
	styles.torchtitan += styles.module && styles.config;
	return styles;
}

size_t
import_count_options(const struct shell_words *words)
{
	struct styles styles = count_styles(words, 0);

	return styles.megatron + styles.torchtitan + styles.bridge + styles.deepspeed;
}

enum config_form
option_form(const struct shell_words *words, size_t from)
{
	struct styles styles = count_styles(words, from);

	if (styles.bridge > 0 && styles.bridge >= styles.torchtitan)
		return CONFIG_BRIDGE;
	if (styles.torchtitan > 0 && styles.torchtitan >= styles.megatron)
		return CONFIG_TORCHTITAN;
	if (styles.deepspeed > 0)
		return CONFIG_DEEPSPEED;
	return styles.megatron > 0 ? CONFIG_MEGATRON : CONFIG_NUMBERS;
}
