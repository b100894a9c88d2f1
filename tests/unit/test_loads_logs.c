/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads of training logs and files, maps of experts, and loads that are made up. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "loads_fixture.h"
#include "model/loads_map.h"
#include "model/loads_spec.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

TestSuite(loads_logs, .init = scratch_open, .fini = scratch_close);

/* --- training logs --- */

Test(loads_logs, training_log)
{
	struct loads *loads = good_loads(" iteration 1/ 10 | loss: 1.0\n"
				   "[rank 0] layer 3 tokens_per_expert: [10, 20, 30]\n"
				   "[rank 0] layers.4.mlp exp_counts = tensor([ 1.,  2.,\n"
				   "         3.], device='cuda:0')\n"
				   "[rank 1] layer 3 tokens_per_expert: [1, 2, 3]\n"
				   "[rank 1] layer_4 Tokens per expert: [4, 5, 6]\n"
				   "[rank 0] layer 3 tokens_per_expert: [100, 200, 300]\n");

	cr_assert(loads->layers == 2 && loads->experts == 3 && loads->sources == 2);
	cr_assert(loads->kind == LOADS_NODES && loads->number[1] == 4);
	cr_assert_eq(count_of(loads, 0, 0, 0, 1), 220);
	cr_assert_eq(count_of(loads, 1, 0, 0, 2), 3);
	cr_assert_eq(count_of(loads, 1, 0, 1, 0), 4);
	cr_assert_eq(loads->account.skipped, 1);
}

Test(loads_logs, training_log_mistakes)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
	    {"hello\nworld\n", "holds no counts of experts"},
	    {"layer 1 exp_counts: [1, 2]\nlayer 1 exp_counts: [1, 2, 3]\n",
		"has 3 counts, others have 2"},
	    {"layer 1 exp_counts: [1, 2]\nexp_counts: [1, 2]\n", "some do not"},
	    {"layer 1 exp_counts: [1, -2]\n", "expert 1 is -2"},
	    {"layer 1 exp_counts: [1, nan]\n", "expert 1 is not a number"},
	    {"layer 1 exp_counts: [1]\n", "1 expert: allowed are 2"},
	    {"layer 1 exp_counts: [1, 2", "holds no counts of experts"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		diags = diags_new(arena);
		cr_assert_null(parse_loads(rows[i].text), "row %zu", i);
		cr_assert(strstr(diags->first->message, rows[i].message), "row %zu: '%s'", i,
		    diags->first->message);
	}
}

/* Many iterations of one place take the room of one. */
Test(loads_logs, training_log_adds_up)
{
	struct str text = str_new(arena);
	struct loads *loads;
	size_t used;

	for (int i = 0; i < 20000; i++)
		str_addf(&text, "layer %d exp_counts: [1, 2, 3, 4]\n", i % 4);
	used = arena_used(arena);
	loads = good_loads(text.text);
	cr_assert_eq(count_of(loads, 3, 0, 0, 3), 20000);
	cr_assert_lt(arena_used(arena) - used, 400000);
}

/* Names without a list, a million of them in one line, are looked at once each. */
Test(loads_logs, training_log_of_one_line, .timeout = 20)
{
	struct str text = str_new(arena);

	for (int i = 0; i < 1000000; i++)
		str_add(&text, "exp_counts ");
	str_add(&text, "layer 1 exp_counts: [1, 2]\n");
	cr_assert_eq(count_of(good_loads(text.text), 0, 0, 0, 1), 2);
}

/* --- files --- */

/* Lines far longer than the first buffer, from a file. */
Test(loads_logs, from_a_file)
{
	const char *path = "/tmp/moeplan-test-loads.csv";
	FILE *file = fopen(path, "w");
	struct loads *loads;

	cr_assert_not_null(file);
	fputs("layer", file);
	for (int e = 0; e < 4096; e++)
		fprintf(file, ",e%d", e);
	for (int l = 0; l < 3; l++) {
		fprintf(file, "\n%d", l);
		for (int e = 0; e < 4096; e++)
			fprintf(file, ",%d.00000000000000000000", e + l);
	}
	fclose(file);
	loads = loads_read(arena, diags, path);
	remove(path);
	cr_assert_not_null(loads, "%s", diags->last ? diags->last->message : "");
	cr_assert(loads->experts == 4096 && loads->layers == 3);
	cr_assert_eq(count_of(loads, 2, 0, 0, 4095), 4097);
	cr_assert_null(loads_read(arena, diags, "/tmp/moeplan-no-such-file.csv"));
	cr_assert(strstr(diags->last->message, "cannot be opened"));
}

/* --- maps --- */

Test(loads_logs, maps)
{
	static const char csv[] = "layer,slot,gpu,expert\n5,0,0,2\n5,1,0,1\n5,2,1,0\n5,3,1,3\n";
	static const char json[] = "{\"physical_to_logical_map\": [[2, 1, 0, 3], [0, 1, 2, 3]]}";
	static const char doc[] =
	    "{\"layers\": [{\"layer\": 5, \"expert_of_slot\": [2, 1, 0, 3]}]}";
	struct expert_map *map = expert_map_parse(arena, diags, "map", csv, strlen(csv));

	cr_assert_not_null(map);
	cr_assert(map->layers == 1 && map->slots == 4 && map->named && map->number[0] == 5);
	cr_assert(map->expert[0] == 2 && map->expert[3] == 3);
	map = expert_map_parse(arena, diags, "map", json, strlen(json));
	cr_assert(map && map->layers == 2 && !map->named && map->expert[4 + 1] == 1);
	map = expert_map_parse(arena, diags, "map", doc, strlen(doc));
	cr_assert(map && map->layers == 1 && map->named && map->expert[0] == 2);
}

Test(loads_logs, map_mistakes)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
	    {"layer,slot,gpu,expert\n", "0 layers of 0 slots"},
	    {"layer,slot,gpu,expert\n1,0,0\n", "there is no expert"},
	    {"layer,slot,gpu,expert\n1,0,0,x\n", "expert is 'x'"},
	    {"layer,slot,gpu,expert\n1,0,0,1,2\n", "more than layer, slot, gpu and expert"},
	    {"layer,slot,gpu,expert\n1,0,0,-1\n", "expert -1: allowed are"},
	    {"layer,slot,gpu,expert\n1,99999999,0,1\n", "slot 99999999: allowed are"},
	    {"layer,slot,gpu,expert\n1,0,0,1\n1,0,0,2\n", "is there twice"},
	    {"layer,slot,gpu,expert\n1,0,0,1\n1,2,0,2\n", "has 2 of 3 slots"},
	    {"{\"a\": 1}", "neither 'physical_to_logical_map' nor 'layers'"},
	    {"[[1, 2], [3]]", "a list of 2 experts"},
	    {"[1, 2]", "a list of layers"},
	    {"[[1, \"a\"]]", "slot 1 holds a string"},
	    {"{\"layers\": [{\"layer\": 1}]}", "1 layers of 0 slots"},
	    {"{\"layers\": [{\"expert_of_slot\": [1]}]}", "the keys 'layer' and"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		diags = diags_new(arena);
		cr_assert_null(
		    expert_map_parse(arena, diags, "map", rows[i].text, strlen(rows[i].text)),
		    "row %zu", i);
		cr_assert(strstr(diags->first->message, rows[i].message), "row %zu: '%s'", i,
		    diags->first->message);
	}
}

/* --- made-up loads --- */

Test(loads_logs, specs)
{
	struct loc nowhere = {NULL, 0, 0};
	struct loads_spec spec;

	loads_spec_init(&spec);
	cr_assert_eq(
	    loads_spec_parse(arena, diags, nowhere,
		"cv=0.4,experts=256,layers=58,nodes=8,affinity=0.5,tokens=100,top_k=8", &spec),
	    0);
	cr_assert(spec.experts == 256 && spec.layers == 58 && spec.nodes == 8 && spec.top_k == 8);
	cr_assert_float_eq(spec.value, 0.385253, 1e-6); /* sqrt(log(1 + 0.16)) */
	cr_assert_eq(loads_spec_parse(arena, diags, nowhere, "balanced", &spec), 0);
	cr_assert_eq(spec.value, 0);
}

Test(loads_logs, spec_mistakes)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
	    {"experts=8", "has none of balanced, cv=X"},
	    {"cv=-1", "allowed is 0 to 10"},
	    {"cv=", "allowed is 0 to 10"},
	    {"cv", "allowed is 0 to 10"},
	    {"power=1", "allowed is 1.1 to 100"},
	    {"cv=1,experts=1", "experts is '1'"},
	    {"cv=1,exprts=8", "'exprts' does not describe loads"},
	    {"cv=1,affinity=9", "allowed is 0 to 5"},
	    {"cv=1,experts=4096,layers=1024,nodes=100", "allowed are 8388608"},
	};
	struct loc nowhere = {NULL, 0, 0};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct loads_spec spec;

		diags = diags_new(arena);
		loads_spec_init(&spec);
		cr_assert_neq(
		    loads_spec_parse(arena, diags, nowhere, rows[i].text, &spec), 0, "row %zu", i);
		cr_assert(strstr(diags->first->message, rows[i].message), "row %zu: '%s'", i,
		    diags->first->message);
	}
}
