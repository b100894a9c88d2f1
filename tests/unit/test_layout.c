/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do pipeline layouts survive text and back, and are Megatron's forms read as Megatron reads them?
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "model/layout.h"
#include "scratch.h"

static struct model model;
static struct layout layout;

static void
set_up(void)
{
	scratch_open();
	model = (struct model){.layers = 61, .n_kinds = 2, .mtp_layers = 1};
	for (int i = 3; i < 61; i++)
		model.kind_of[i] = 1;
}

TestSuite(layout, .init = set_up, .fini = scratch_close);

static int
parse(const char *text, int64_t layers, int64_t mtp, int pp)
{
	model.layers = layers;
	model.mtp_layers = mtp;
	return layout_parse(&layout, text, &model, pp, diags, (struct loc){"--layout", 0, 0});
}

/* Layers of every chunk, "3 2 2". */
static const char *
counts(void)
{
	const char *text = "";

	for (int c = 0; c < layout.pp * layout.vpp; c++)
		text = arena_printf(
		    arena, "%s%s%d", text, c > 0 ? " " : "", layout.first[c + 1] - layout.first[c]);
	return text;
}

/* The example of Megatron's own documentation: DeepSeek-V3 on PP 16 x VPP 2. */
Test(layout, deepseek_v3_of_megatron)
{
	cr_assert_eq(parse("Et*3|(tt|)*29,m|L", 61, 1, 16), 0);
	cr_assert_eq(layout.pp, 16);
	cr_assert_eq(layout.vpp, 2);
	cr_assert_eq(layout.mtp_back, 1);
	cr_assert_str_eq(
	    counts(), "3 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 0 0");
	cr_assert_eq(layout_count(&layout, &model, 0, 0), 3);
	cr_assert_eq(layout_count(&layout, &model, 0, 1), 0);
	cr_assert_eq(layout_count(&layout, &model, 1, 1), 2);
	cr_assert_eq(layout_stage_layers(&layout, 0), 5);
	cr_assert_eq(layout_stage_layers(&layout, 14), 2);
	cr_assert_str_eq(layout_text(arena, &layout, &model), "Et*3|(tt|)*29m|L");
}

/* What Megatron's parse_str_to_list says about groups, in its comments and by its expressions. */
Test(layout, forms_of_megatron)
{
	static const struct {
		const char *text;
		int64_t layers;
		int pp;
		const char *counts;
	} forms[] = {
	    {"Ettt|tt|L", 5, 3, "3 2 0"},
	    {"E|t*4|t*4L", 8, 3, "0 4 4"},
	    {"Et,t,t|t*2,L", 5, 2, "3 2"},
	    {"E(t|t)*3L", 6, 4, "1 2 2 1"},
	    {"E(|tt)*2L", 4, 3, "0 2 2"},
	    {"E(t*2|)*3tL", 7, 4, "2 2 2 1"},
	    {"Et|*3tL", 2, 4, "1 0 0 1"},
	    {"EtL", 1, 1, "1"},
	    {"E|*1tL", 1, 2, "0 1"},
	    {"Et*10L", 10, 1, "10"},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		cr_assert_eq(parse(forms[i].text, forms[i].layers, 0, forms[i].pp), 0, "%s: %s",
		    forms[i].text, diags->last ? diags->last->message : "");
		cr_assert_str_eq(counts(), forms[i].counts, "%s", forms[i].text);
	}
}

Test(layout, mistakes_name_the_item)
{
	static const struct {
		const char *text;
		int64_t layers, mtp;
		int pp;
		const char *message;
	} wrong[] = {
	    {"Ettx|tL", 3, 0, 2, "'x' at character 4"},
	    {"tEttL", 3, 0, 1, "'t' at character 1 comes before the embedding"},
	    {"EttELt", 3, 0, 1, "'E' at character 4 is a second embedding"},
	    {"EttLL", 2, 0, 1, "'L' at character 5 is a second loss"},
	    {"EttL|", 2, 0, 1, "'|' at character 5 comes after the loss"},
	    {"EttLt", 2, 0, 1, "'t' at character 5 comes after the loss"},
	    {"Etmt|L", 2, 1, 2, "'t' at character 4 puts a decoder layer after an MTP layer"},
	    {"Etm|mL", 1, 2, 2, "'m' at character 5 spreads the MTP layers"},
	    {"Et|t", 2, 0, 2, "the loss is missing"},
	    {"", 2, 0, 2, "the embedding is missing"},
	    {"E(tt|)L", 2, 0, 2, "'L' at character 7 is where '*N' must follow a group"},
	    {"E(tt|L", 2, 0, 2, "'(' at character 2 opens a group that is not closed"},
	    {"E()*2L", 2, 0, 2, "'(' at character 2 opens an empty group"},
	    {"E((t)*2)*2L", 4, 0, 2, "'(' at character 2 opens a group that holds another"},
	    {"Ett)L", 2, 0, 1, "')' at character 4"},
	    {"Et*L", 1, 0, 1, "at character 4 is where a repeat count from 1 to 1026 is needed"},
	    {"Et*0L", 1, 0, 1, "a repeat count from 1 to 1026 is needed"},
	    {"Et*99999999999999L", 1, 0, 1, "a repeat count from 1 to 1026 is needed"},
	    {"Et*2*3L", 6, 0, 1, "'*' at character 5 is not one of"},
	    {"Et*1000t*1000L", 6, 0, 1, "makes more than 1024 layers"},
	    {"E|*1000|*1000tL", 1, 0, 1, "makes more than 1026 chunks"},
	    {"Ett|ttL", 5, 0, 2, "has 4 't', the model has 5"},
	    {"Ett|ttL", 4, 1, 2, "has 0 'm', the model has 1"},
	    {"Ett|ttmL", 4, 0, 2, "has 1 'm', the model has 0"},
	    {"Ett|tt|L", 4, 0, 2, "has 3 chunks, not a multiple of PP 2"},
	    {"Et|tm|*2L", 2, 1, 2,
		"MTP layers in chunk 1: they must be in the last virtual stage, chunks 2 to 3"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		int errors = diags->errors;

		cr_assert_eq(parse(wrong[i].text, wrong[i].layers, wrong[i].mtp, wrong[i].pp), -1);
		cr_assert_gt(diags->errors, errors);
		if (!strstr(diags->last->message, wrong[i].message))
			cr_assert_fail("%s: %s", wrong[i].text, diags->last->message);
		cr_assert_str_eq(diags->last->loc.file, "--layout");
	}
}

/* Both counts are wrong: both are said. */
Test(layout, several_mistakes_at_once)
{
	cr_assert_eq(parse("Ett|ttL", 5, 2, 2), -1);
	cr_assert_eq(diags->errors, 2);
}

Test(layout, texts_that_are_too_long)
{
	char *text = calloc(20001, 1);

	memset(text, ',', 20000);
	memcpy(text, "EtL", 3);
	cr_assert_eq(parse(text, 1, 0, 1), -1);
	cr_assert(strstr(diags->last->message, "16384"));
	free(text);
}

Test(layout, chunks_of_a_text)
{
	cr_assert_eq(layout_chunks("Et*3|(tt|)*29m|L"), 32);
	cr_assert_eq(layout_chunks("EtL"), 1);
	cr_assert_eq(layout_chunks("Et|"), 0);
	cr_assert_eq(layout_chunks("E|*1025tL"), 1026);
	cr_assert_eq(layout_chunks("E|*1026tL"), 0);
}

Test(layout, even_splits)
{
	static const struct {
		int64_t layers;
		int pp, vpp;
		const char *counts;
	} splits[] = {
	    {60, 4, 1, "15 15 15 15"},
	    {61, 4, 1, "15 15 16 15"},
	    {62, 4, 1, "15 16 16 15"},
	    {63, 4, 1, "16 16 16 15"},
	    {10, 4, 2, "1 1 1 1 1 2 2 1"},
	    {6, 4, 2, "0 1 1 1 1 1 1 0"},
	    {7, 4, 2, "1 1 1 1 1 1 1 0"},
	    {5, 2, 1, "3 2"},
	    {5, 1, 1, "5"},
	};

	for (size_t i = 0; i < sizeof(splits) / sizeof(splits[0]); i++) {
		layout_even(&layout, splits[i].layers, splits[i].pp, splits[i].vpp);
		cr_assert_str_eq(counts(), splits[i].counts);
	}
}

/* Every even split of every small model: complete, within one, inner chunks filled, and readable.
 */
Test(layout, round_trip_of_even_splits)
{
	for (int64_t layers = 1; layers <= 40; layers++)
		for (int pp = 1; pp <= 12; pp++)
			for (int vpp = 1; pp * vpp <= layers + 2 && vpp <= 6; vpp++) {
				struct layout even = {0};
				int chunks = pp * vpp;

				layout_even(&even, layers, pp, vpp);
				cr_assert_eq(even.first[0], 0);
				cr_assert_eq(even.first[chunks], layers);
				for (int c = 0; c < chunks; c++) {
					int n = even.first[c + 1] - even.first[c];

					cr_assert(n == layers / chunks || n == layers / chunks + 1);
					cr_assert(n > 0 || c == 0 || c == chunks - 1);
				}
				cr_assert_eq(parse(layout_text(arena, &even, &model), layers,
						 model.mtp_layers, pp),
				    0);
				cr_assert_eq(
				    memcmp(&even, &layout, offsetof(struct layout, first)), 0);
				cr_assert_eq(memcmp(even.first, layout.first,
						 (size_t)(chunks + 1) * sizeof(even.first[0])),
				    0);
				model.mtp_layers = layers % 3;
			}
}

/* Splits at random places, MTP layers in a chunk of their own or not. */
Test(layout, round_trip_of_uneven_splits)
{
	unsigned seed = 3;

	for (int i = 0; i < 2000; i++) {
		struct layout uneven = {.pp = 1 + i % 9, .vpp = 1 + i % 4};
		int chunks = uneven.pp * uneven.vpp;
		int64_t layers = 0, mtp;
		const char *text;

		for (int c = 0; c < chunks; c++) {
			seed = seed * 1103515245U + 12345U;
			layers += seed / 65536U % 5;
			uneven.first[c + 1] = (int16_t)layers;
		}
		mtp = seed / 524288U % 3;
		if (mtp > 0 && uneven.pp > 1 && uneven.first[chunks] == uneven.first[chunks - 1])
			uneven.mtp_back = 1;
		model.mtp_layers = mtp;
		text = layout_text(arena, &uneven, &model);
		cr_assert_eq(parse(text, layers, mtp, uneven.pp), 0, "%s: %s", text,
		    diags->last ? diags->last->message : "");
		cr_assert_eq(layout.vpp, uneven.vpp);
		cr_assert_eq(layout.mtp_back, uneven.mtp_back);
		cr_assert_str_eq(layout_text(arena, &layout, &model), text);
		cr_assert_eq(memcmp(uneven.first, layout.first,
				 (size_t)(chunks + 1) * sizeof(layout.first[0])),
		    0);
	}
}

/* Frameworks that count decoder layers alone: 'M' is the MTP layers of whatever model it is. */
Test(layout, counts_of_chunks)
{
	static const int64_t uneven[] = {10, 13, 13, 12}, even[] = {11, 12, 12, 11};
	const char *text = layout_of_counts(arena, uneven, 4);

	cr_assert_str_eq(text, "Et*10|t*13|t*13|t*12ML");
	cr_assert_null(layout_of_counts(arena, even, 4));
	cr_assert_null(layout_of_counts(arena, uneven, 1));
	for (int64_t mtp = 0; mtp < 3; mtp++) {
		cr_assert_eq(parse(text, 48, mtp, 4), 0);
		cr_assert_eq(layout.first[1], 10);
		cr_assert_eq(layout.mtp_back, 0);
	}
	cr_assert(layout_text_is_even("Et*11|t*12|t*12|t*11mL"));
	cr_assert_not(layout_text_is_even("Et*11|t*12|t*12m|t*11L"));
	cr_assert_not(layout_text_is_even(text));
}
