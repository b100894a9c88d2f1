/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of the machine, of the program that the ranks run, and of the estimate? */
#include "check/context_machine.h"

#include <string.h>

#include "check/rules_names.h"
#include "planner/rates.h"

struct value
nodes_term(const struct facts *facts)
{
	int64_t nodes = facts->check->config->launch.nodes;

	if (nodes > 0)
		return value_int(nodes);
	return facts->check->cluster ? size_value(facts->check->cluster->nodes) : value_undecided;
}

struct value
gpus_per_node_term(const struct facts *facts)
{
	return facts->check->cluster ? size_value(facts->check->cluster->gpus_per_node)
				     : value_undecided;
}

struct value
cluster_world_term(const struct facts *facts)
{
	return facts->check->cluster ? size_value(facts->check->cluster->world) : value_unset;
}

struct value
domain_gpus_term(const struct facts *facts)
{
	return facts->check->cluster ? size_value(facts->check->cluster->domain_gpus)
				     : value_undecided;
}

/* What was stated, in GiB, stands before the catalogue. */
struct value
gpu_bytes_term(const struct facts *facts)
{
	const struct setting *gib = setting_find(facts->check->config, "gpu_mem_gib");
	const struct setting *gb = setting_find(facts->check->config, "gpu_mem_gb");

	if (gib && gib->value->kind == DOC_NUMBER)
		return value_number(gib->value->number * (double)(1 << 30));
	if (gb && gb->value->kind == DOC_NUMBER)
		return value_number(gb->value->number * 1e9);
	return facts->check->cluster ? value_number(facts->check->cluster->gpu.usable_bytes.value)
				     : value_undecided;
}

/* CUDA compute capability, major, by the name of the part. */
struct value
gpu_arch_term(const struct facts *facts)
{
	static const struct {
		const char *prefix;
		int major;
	} parts[] = {{"V100", 7}, {"T4", 7}, {"A100", 8}, {"A800", 8}, {"L40", 8}, {"A10", 8},
	    {"H100", 9}, {"H200", 9}, {"H800", 9}, {"H20", 9}, {"GH200", 9}, {"B200", 10},
	    {"B300", 10}, {"GB200", 10}, {"GB300", 10}};
	const struct cluster *cluster = facts->check->cluster;

	for (size_t i = 0; cluster && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strncmp(cluster->gpu.name, parts[i].prefix, strlen(parts[i].prefix)) == 0)
			return value_int(parts[i].major);
	return value_unset;
}

/* Programs of Megatron-LM whose parser takes its arguments and no others. */
static bool
is_megatron_program(const char *name)
{
	static const char *const names[] = {"pretrain_gpt.py", "pretrain_mamba.py",
	    "pretrain_hybrid.py", "pretrain_vlm.py", "pretrain_bert.py", "pretrain_t5.py",
	    "pretrain_ict.py", "pretrain_retro.py", "train_rl.py", NULL};

	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Sections that torchtitan 0.3 reads itself; the others belong to configs of models. */
static bool
is_own_section(const struct facts *facts, const char *name)
{
	static const char *const sections[] = {
	    "training.", "parallelism.", "compile.", "comm.", "debug.", NULL};
	bool old = facts->version && version_compare(facts->version, "0.3") < 0;

	for (int i = 0; sections[i]; i++)
		if (strncmp(name, sections[i], strlen(sections[i])) == 0)
			return true;
	return old && strchr(name, '.');
}

/* Some typing errors are no other program, names that no release ever had in number are. */
struct value
foreign_term(const struct facts *facts)
{
	enum { TYPING_ERRORS = 3 };
	const struct config *config = facts->check->config;
	bool titan = config->form == CONFIG_TORCHTITAN;
	enum framework framework = titan ? FRAMEWORK_TORCHTITAN : FRAMEWORK_MEGATRON;
	int unheard = 0;

	if (config->form != CONFIG_MEGATRON && !titan)
		return value_int(0);
	if (!titan && config->launch.program && !is_megatron_program(config->launch.program))
		return value_int(1);
	for (const struct setting *s = config->settings; s && unheard <= TYPING_ERRORS; s = s->next)
		unheard += (titan ? is_own_section(facts, s->name) : s->argument) &&
			   s->form == config->form &&
			   name_state(framework, NULL, s->name, NULL) == NAME_UNKNOWN &&
			   !name_is_block(framework, s->name);
	return value_int(unheard > TYPING_ERRORS);
}

bool
program_pretrains(const char *program)
{
	static const char *const names[] = {"pretrain", "posttrain", "train_rl", NULL};

	for (int i = 0; names[i]; i++)
		if (strncmp(program, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* One of these words is a whole word of "run_text_generation.py". */
static bool
has_word(const char *program, const char *const *words)
{
	for (size_t length; *program; program += length + (program[length] != '\0')) {
		length = strcspn(program, "_-.");
		for (int i = 0; words[i]; i++)
			if (strlen(words[i]) == length && strncmp(program, words[i], length) == 0)
				return true;
	}
	return false;
}

struct value
trains_term(const struct facts *facts)
{
	static const char *const training[] = {"train", "finetune", "sft", NULL};
	static const char *const others[] = {"infer", "inference", "generate", "generation", "eval",
	    "evaluate", "evaluation", "convert", "converter", "chat", "serve", "server", "serving",
	    "export", "preprocess", "prune", NULL};
	const struct setting *mode = setting_find(facts->check->config, "mode");
	const char *program = facts->check->config->launch.program;

	if (mode && mode->value->text && strcmp(mode->value->text, "training") != 0)
		return value_int(0);
	if (!program || program_pretrains(program) || has_word(program, training))
		return value_int(1);
	return value_int(!has_word(program, others));
}

struct value
verdict_term(const struct facts *facts)
{
	const struct estimate *estimate = facts->check->estimate;

	return estimate ? value_text(verdict_names[estimate->verdict]) : value_unset;
}

struct value
runtime_bytes_term(const struct facts *facts)
{
	(void)facts;
	return value_number(rate_table[RATE_RUNTIME_BYTES].value);
}

struct value
skewed_load_term(const struct facts *facts)
{
	(void)facts;
	return value_number(rate_table[RATE_SKEWED_LOAD].value);
}

struct value
skewed_verdict_term(const struct facts *facts)
{
	const struct estimate *estimate = facts->check->estimate;

	return estimate ? value_text(verdict_names[estimate->skewed_verdict]) : value_undecided;
}

struct value
worst_bytes_term(const struct facts *facts)
{
	const struct estimate *estimate = facts->check->estimate;

	return estimate ? value_number(estimate->worst_bytes) : value_undecided;
}

struct value
worst_low_bytes_term(const struct facts *facts)
{
	const struct estimate *estimate = facts->check->estimate;

	return estimate ? value_number(estimate->worst_low_bytes) : value_undecided;
}

struct value
worst_high_bytes_term(const struct facts *facts)
{
	const struct estimate *estimate = facts->check->estimate;

	return estimate ? value_number(estimate->worst_high_bytes) : value_undecided;
}

struct value
skewed_bytes_term(const struct facts *facts)
{
	const struct estimate *estimate = facts->check->estimate;
	double worst = 0;

	for (int i = 0; estimate && estimate->stages && i < estimate->n_stages; i++)
		if (estimate->stages[i].skewed_bytes > worst)
			worst = estimate->stages[i].skewed_bytes;
	return worst > 0 ? value_number(worst) : value_undecided;
}

struct value
capacity_bytes_term(const struct facts *facts)
{
	const struct estimate *estimate = facts->check->estimate;

	return estimate ? value_number(estimate->capacity_bytes) : value_undecided;
}

struct value
worst_stage_term(const struct facts *facts)
{
	const struct estimate *estimate = facts->check->estimate;

	return estimate ? value_int(estimate->worst_stage) : value_undecided;
}

struct value
foreign_schedule_term(const struct facts *facts)
{
	return value_int(schedule_is_foreign(facts->check->strategy));
}
