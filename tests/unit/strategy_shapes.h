/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two models by their shapes and strategies by their options, for the tests of strategies. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "model/model.h"
#include "model/strategy.h"

static struct arena *arena;
static struct diags *diags;
static struct field_context context;
static struct model moe, dense;

static void
out_of_memory(void *unused)
{
	(void)unused;
	abort();
}

/* DeepSeek-V3's shapes: 3 dense and 58 MoE layers, one MTP layer. */
static struct model
latent_model(void)
{
	struct model m = {.layers = 61, .n_kinds = 2, .mtp_layers = 1, .hidden = 7168};

	for (int k = 0; k < 2; k++)
		m.kinds[k].mixer = (struct mixer){.kind = MIXER_MLA, .heads = 128, .kv_heads = 128};
	m.kinds[0].ffn.dense_width = 18432;
	m.kinds[1].ffn =
	    (struct ffn){.experts = 256, .top_k = 8, .expert_width = 2048, .shared_width = 2048};
	for (int i = 3; i < 61; i++)
		m.kind_of[i] = 1;
	m.mtp = m.kinds[1];
	return m;
}

/* Llama-3.1-70B's shapes. */
static struct model
dense_model(void)
{
	struct model m = {.layers = 80, .n_kinds = 1, .hidden = 8192};

	m.kinds[0].mixer = (struct mixer){.kind = MIXER_GQA, .heads = 64, .kv_heads = 8};
	m.kinds[0].ffn.dense_width = 28672;
	return m;
}

static void
set_up(void)
{
	arena = arena_new(out_of_memory, NULL);
	diags = diags_new(arena);
	context = (struct field_context){arena, diags};
	moe = latent_model();
	dense = dense_model();
}

static void
tear_down(void)
{
	arena_free(arena);
}

/* Options as on a command line: "--tp 2 --ep 8". -1 after adding errors. */
static int
read_options(struct strategy *s, const char *text)
{
	struct field_set sets[] = {{"Strategy", strategy_fields, s}, {NULL, NULL, NULL}};
	struct arguments arguments;
	char *argv[80] = {NULL}, *at = arena_strdup(arena, text);
	int argc = 0;

	while (*at && argc < 79) {
		char stop = *at == '\'' ? '\'' : ' ';

		at += stop == '\'';
		argv[argc++] = at;
		while (*at && *at != stop)
			at++;
		while (*at && (*at == stop || *at == ' '))
			*at++ = '\0';
	}
	strategy_init(s);
	return options_parse(sets, argc, argv, &arguments, &context);
}

static struct strategy
given(const char *options)
{
	struct strategy s;

	cr_assert_eq(read_options(&s, options), 0, "%s: %s", options,
	    diags->last ? diags->last->message : "");
	return s;
}

static struct strategy
derived(const char *options, const struct model *model)
{
	struct strategy s = given(options);

	strategy_derive(&s, model, 0);
	return s;
}
