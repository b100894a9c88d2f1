/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a recipe of torchtitan 0.3 say outside of the calls that hold its sections?
 *
 *   from torchtitan.models.qwen3 import model_registry     the model's module
 *   config.training = dataclasses.replace(config.training, seq_len=4096)
 *   config.activation_checkpoint = FullAC.Config()          recompute
 *   config.loss = ChunkedLossWrapper.Config(…)              the kernel of the loss
 *
 * Source: pytorch/torchtitan release/0.3 torchtitan/config/configs.py, trainer.py,
 * components/loss.py, models/<module>/config_registry.py.
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_python.h"

/* Classes that are a value of a setting. */
static const struct {
	const char *class, *setting, *value;
} classes[] = {
    {"FullAC", "activation_checkpoint.mode", "full"},
    {"SelectiveAC", "activation_checkpoint.mode", "selective"},
    {"MemoryBudgetAC", "activation_checkpoint.mode", "memory_budget"},
    {"ChunkedLossWrapper", "loss.kernel", "fused"},
};

static const char *const sections[] = {"parallelism", "training", "compile", "optimizer",
    "lr_scheduler", "checkpoint", "metrics", "debug", "comm", NULL};

static void
add_word(struct python *p, const char *setting, const char *value, size_t at)
{
	import_setting(p->in, CONFIG_TORCHTITAN, setting,
	    import_string(p->in->arena, setting, value, import_text_loc(p->text, at)));
}

/* "X.Config(" behind the name X. */
static void
take_class(struct python *p, const char *name, size_t start)
{
	if (strncmp(p->text->bytes + p->at, ".Config(", 8) != 0)
		return;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strcmp(classes[i].class, name) == 0)
			add_word(p, classes[i].setting, classes[i].value, start);
}

/* activation_checkpoint = None */
static void
take_none(struct python *p, size_t start)
{
	const char *bytes = p->text->bytes;
	size_t at = p->at + strspn(bytes + p->at, " \t");

	if (bytes[at] != '=' || bytes[at + 1] == '=')
		return;
	at += 1 + strspn(bytes + at + 1, " \t");
	if (strncmp(bytes + at, "None", 4) == 0 && !python_is_name(bytes[at + 4]))
		add_word(p, "activation_checkpoint.mode", "none", start);
}

/* torchtitan.models.NAME */
static void
take_module(struct python *p, size_t start)
{
	static const char path[] = "torchtitan.models.";
	size_t length = 0;

	if (strncmp(p->text->bytes + start, path, strlen(path)) != 0)
		return;
	start += strlen(path);
	while (python_is_name(p->text->bytes[start + length]))
		length++;
	if (length > 0 && strncmp(p->text->bytes + start, "common", 6) != 0 &&
	    !import_find(p->in->config, CONFIG_TORCHTITAN, "model.name"))
		add_word(p, "model.name",
		    arena_strndup(p->in->arena, p->text->bytes + start, length), start);
}

/* replace(config.training, …: the prefix "training." */
static const char *
replaced_section(struct python *p)
{
	size_t before = p->at;
	const char *name = "", *bytes = p->text->bytes;

	if (bytes[p->at] != '(')
		return NULL;
	p->at++;
	python_skip_space(p);
	for (;;) {
		name = python_name(p);
		if (python_peek(p) != '.')
			break;
		p->at++;
	}
	for (int i = 0; sections[i]; i++)
		if (strcmp(sections[i], name) == 0 && python_peek(p) == ',') {
			p->at++;
			return arena_printf(p->in->arena, "%s.", name);
		}
	p->at = before;
	return NULL;
}

int
recipe_name(struct python *p, const char *name, size_t start, const char **prefix)
{
	bool recipe = p->in->config->form == CONFIG_TORCHTITAN;

	if (strcmp(name, "torchtitan") == 0) {
		if (strncmp(p->text->bytes + p->at, ".trainer", 8) == 0 ||
		    strncmp(p->text->bytes + p->at, ".models.", 8) == 0) {
			if (import_form(
				p->in, CONFIG_TORCHTITAN, import_text_loc(p->text, start)) != 0)
				return -1;
			take_module(p, start);
		}
	} else if (recipe && strcmp(name, "activation_checkpoint") == 0) {
		take_none(p, start);
	} else if (recipe && strcmp(name, "replace") == 0) {
		*prefix = replaced_section(p);
	} else if (recipe) {
		take_class(p, name, start);
	}
	return 0;
}
