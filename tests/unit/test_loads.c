/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts, matrices and logs of routes as loads, and every mistake that is told by its place. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "loads_fixture.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

TestSuite(loads, .init = scratch_open, .fini = scratch_close);

/* --- CSV --- */

Test(loads, csv_counts)
{
	struct loads *loads = good_loads("layer,e0,e1,e2\n3,1,2,3\n1,4,5.5,6e2\n");

	cr_assert(loads->layers == 2 && loads->experts == 3 && loads->sources == 1);
	cr_assert(loads->kind == LOADS_WHOLE && loads->snapshots == 1);
	cr_assert(loads->number[0] == 1 && loads->number[1] == 3); /* in order */
	cr_assert_eq(count_of(loads, 0, 0, 0, 1), 5.5);
	cr_assert_eq(count_of(loads, 0, 0, 0, 2), 600);
	cr_assert_eq(count_of(loads, 1, 0, 0, 2), 3);
	cr_assert_eq(loads->account.rows, 2);
	cr_assert_eq(strlen(loads->sha256), 64);
}

Test(loads, csv_sources_and_snapshots)
{
	struct loads *loads = good_loads("domain,layer,e0,e1\r\nb,1,1,2\r\na,1,3,4\r\n");

	cr_assert(loads->kind == LOADS_DOMAINS && loads->sources == 2);
	cr_assert_str_eq(loads->source_names[0], "b");
	cr_assert_eq(count_of(loads, 0, 0, 1, 0), 3);
	loads = good_loads("layer,node,e0,e1\n1,0,1,2\n1,1,3,4\n\n2,0,5,6\n2,1,7,8");
	cr_assert(loads->kind == LOADS_NODES && loads->sources == 2 && loads->layers == 2);
	cr_assert_eq(count_of(loads, 1, 0, 1, 1), 8);
	loads = good_loads("snapshot,layer,e0,e1\n10,1,1,2\n20,1,3,4\n");
	cr_assert(loads->snapshots == 2 && loads->kind == LOADS_WHOLE);
	cr_assert_eq(count_of(loads, 0, 1, 0, 0), 3);
	loads =
	    good_loads("snapshot,rank,layer,e0,e1\nx,0,1,1,2\nx,1,1,3,4\ny,0,1,5,6\ny,1,1,7,8\n");
	cr_assert(loads->snapshots == 2 && loads->kind == LOADS_NODES);
	cr_assert_eq(count_of(loads, 0, 1, 1, 1), 8);
}

Test(loads, pairs)
{
	struct loads *loads = good_loads("5,1,2\n1,6,3\n2,3,7\n");

	cr_assert(loads->layers == 1 && loads->experts == 3);
	cr_assert_eq(count_of(loads, 0, 0, 0, 2), 7);
	cr_assert_eq(loads->pairs[0][1 * 3 + 2], 3);
	loads = good_loads("layer,expert,e0,e1\n4,0,9,2\n4,1,2,8\n7,0,1,0\n7,1,0,1\n");
	cr_assert(loads->layers == 2 && loads->number[1] == 7);
	cr_assert_eq(loads->pairs[0][1], 2);
}

/* Each row: a text and a piece of the first message. Line and column are told where there are any.
 */
Test(loads, csv_mistakes)
{
	static const struct {
		const char *text, *message;
		int line, column;
	} rows[] = {
	    {"", "is empty", 0, 0},
	    {"\n \n", "is empty", 0, 0},
	    {"layer,e0,e1\n", "holds no counts", 0, 0},
	    {"layer,e0,e1\n1,2,-3\n", "expert 1 is -3: a count is not negative", 2, 5},
	    {"layer,e0,e1\n1,nan,3\n", "expert 0 is not a number (NaN)", 2, 3},
	    {"layer,e0,e1\n1,inf,3\n", "expert 0 is inf", 2, 3},
	    {"layer,e0,e1\n1,1e99,3\n", "allowed is 9e+15 at most", 2, 3},
	    {"layer,e0,e1\n1,2\n", "the row has 1 counts, the header names 2 experts", 2, 0},
	    {"layer,e0,e1\n1,2,3,4\n", "the row has 3 counts", 2, 0},
	    {"layer,e0,e1\n1,2,x\n", "expert 1 has 'x': a number is wanted", 2, 5},
	    {"layer,e0,e1\n1,2,\n", "expert 1 has ''", 2, 5},
	    {"layer,e0,e1\none,2,3\n", "layer is 'one': an integer is wanted", 2, 1},
	    {"layer,e0,e1\n1,0,0\n", "layer 1 has no tokens", 0, 0},
	    {"layer,e0,e1\n1,1,2\n1,3,4\n", "layer 1 was already given in line 2", 3, 0},
	    {"node,layer,e0,e1\n0,1,1,2\n1,1,3,4\n0,2,1,2\n", "layer 2, node '1' has no row", 0, 0},
	    {"snapshot,layer,e0,e1\na,1,1,2\nb,1,0,0\n", "layer 1, snapshot 'b' has no tokens", 0,
		0},
	    {"layer,e0,e2\n1,1,2\n", "column 'e2' follows e0", 1, 10},
	    {"layer,e0,e1,time\n", "column 'time' stands behind the experts", 1, 13},
	    {"layer,step,e0,e1\n", "column 'step' is not known", 1, 7},
	    {"layer,layer,e0,e1\n", "column 'layer' is there twice", 1, 7},
	    {"node,domain,layer,e0,e1\n", "from nodes or from domains, not both", 1, 1},
	    {"node,e0,e1\n", "there is no column 'layer'", 1, 1},
	    {"layer,e0\n1,2\n", "1 expert: allowed are 2 to 4096", 1, 1},
	    {"layer,node,e0,e1\n1,,1,2\n", "'node' is empty", 2, 3},
	    {"1,2\n3,4\n", "experts 0 and 1 are picked together 2 times", 0, 0},
	    {"1,2,3\n2,4,5\n", "has 2 rows and 3 columns", 0, 0},
	    {"1,2\n2,4\n5,6\n", "as many rows as columns", 3, 0},
	    {"layer,expert,e0,e1\n1,1,2,3\n", "expert 1 follows expert -1", 2, 0},
	    {"layer,expert,node,e0,e1\n", "the columns layer and expert alone", 1, 1},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		diags = diags_new(arena);
		cr_assert_null(parse_loads(rows[i].text), "row %zu", i);
		cr_assert_not_null(diags->first, "row %zu", i);
		cr_assert(strstr(diags->first->message, rows[i].message), "row %zu: '%s'", i,
		    diags->first->message);
		cr_assert_eq(diags->first->loc.line, rows[i].line, "row %zu: line %d", i,
		    diags->first->loc.line);
		cr_assert_eq(diags->first->loc.column, rows[i].column, "row %zu: column %d", i,
		    diags->first->loc.column);
	}
}

Test(loads, many_mistakes_end)
{
	struct str text = str_new(arena);

	str_add(&text, "layer,e0,e1\n");
	for (int i = 0; i < 1000; i++)
		str_addf(&text, "%d,-1,2\n", i);
	cr_assert_null(parse_loads(text.text));
	cr_assert(diags->errors >= 10 && diags->errors <= 30, "%d", diags->errors);
}

Test(loads, a_nul_byte)
{
	static const char text[] = "layer,e0,e1\n1,2\0,3\n";

	cr_assert_null(loads_parse(arena, diags, "file", text, sizeof(text) - 1));
	cr_assert(strstr(diags->first->message, "NUL"));
}

Test(loads, too_many_counts)
{
	struct str text = str_new(arena);

	str_add(&text, "layer");
	for (int e = 0; e < 4096; e++)
		str_addf(&text, ",e%d", e);
	for (int l = 0; l < 1100; l++) {
		str_addf(&text, "\n%d", l);
		for (int e = 0; e < 4096; e++)
			str_add(&text, ",1");
	}
	cr_assert_null(parse_loads(text.text));
	cr_assert(
	    strstr(diags->last->message, "more than 1024 layers"), "%s", diags->last->message);
}

/* --- JSON --- */

Test(loads, json)
{
	struct loads *loads = good_loads("[[1, 2, 3], [4, 5, 6]]");

	cr_assert(loads->layers == 2 && loads->experts == 3 && loads->kind == LOADS_WHOLE);
	cr_assert_eq(count_of(loads, 1, 0, 0, 0), 4);
	loads = good_loads("[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]");
	cr_assert(loads->layers == 2 && loads->sources == 2 && loads->kind == LOADS_NODES);
	cr_assert_eq(count_of(loads, 1, 0, 1, 0), 7);
	loads = good_loads("{\"counts\": [[[1, 2], [3, 4]]], \"domains\": [\"law\", \"code\"],\n"
		     " \"layers\": [9], \"top_k\": 2}");
	cr_assert(loads->kind == LOADS_DOMAINS && loads->number[0] == 9 && loads->top_k == 2);
	cr_assert_str_eq(loads->source_names[1], "code");
	loads = good_loads("{\"snapshots\": [[[1, 2]], [[3, 4]], [[5, 6]]]}");
	cr_assert(loads->snapshots == 3 && loads->layers == 1);
	cr_assert_eq(count_of(loads, 0, 2, 0, 1), 6);
	loads = good_loads("{\"logical_count\": [[1, 2], [3, 4]]}");
	cr_assert(loads->snapshots == 1 && loads->layers == 2);
	loads = good_loads(
	    "{\"counts\": [[1, 2], [3, 4]], \"pairs\": [[[0, 5], [5, 0]], [[0, 6], [6, 0]]],\n"
	    " \"transitions\": [[[1, 2], [3, 4]]]}");
	cr_assert_eq(loads->pairs[1][1], 6);
	cr_assert_eq(loads->next[0][2], 3);
	cr_assert_null(loads->next[1]);
}

Test(loads, json_mistakes)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
	    {"[1, 2]", "counts are lists"},
	    {"[[[[1]]]]", "counts are lists"},
	    {"[[1, 2], [3]]", "the list has 1 counts, others have 2"},
	    {"[[1, 2], 3]", "a number stands where a list of 2 counts"},
	    {"[[1, \"x\"]]", "expert 1 is a string: a number is wanted"},
	    {"[[1, -2]]", "expert 1 is -2: a count is not negative"},
	    {"[[1, NaN]]", "expert 1 is not a number"},
	    {"[[0, 0]]", "layer 0 has no tokens"},
	    {"[[]]", "0 experts: allowed are 2"},
	    {"{\"count\": [[1, 2]]}", "loads have no 'count'"},
	    {"{\"top_k\": 2}", "one of 'counts', 'snapshots' and 'logical_count'"},
	    {"{\"counts\": [[1, 2]], \"snapshots\": [[[1, 2]]]}", "one of 'counts'"},
	    {"{\"counts\": [[1, 2]], \"top_k\": 3}", "'top_k' is an integer"},
	    {"{\"counts\": [[1, 2]], \"layers\": [1, 2]}", "'layers' has 2 names, there are 1"},
	    {"{\"counts\": [[1, 2]], \"layers\": [\"a\"]}", "names each layer by an integer"},
	    {"{\"counts\": [[1, 2]], \"pairs\": [[[0, 1], [2, 0]]]}", "more often in one row"},
	    {"{\"counts\": [[1, 2]], \"pairs\": []}", "a list of 1 matrices"},
	    {"{\"counts\": [[1, 2]], \"transitions\": [[[1]]]}", "a list of 0 matrices"},
	    {"{\"counts\": [[[1, 2]]], \"nodes\": [[0]]}", "has a name for each source"},
	    {"{\"counts\":", "file"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		bool found = false;

		diags = diags_new(arena);
		cr_assert_null(parse_loads(rows[i].text), "row %zu", i);
		cr_assert_gt(diags->errors, 0, "row %zu", i);
		for (const struct diag *d = diags->first; d; d = d->next)
			found = found || strstr(d->message, rows[i].message) ||
				strcmp(rows[i].message, "file") == 0;
		cr_assert(found, "row %zu: no '%s'", i, rows[i].message);
	}
}

/* --- routes --- */

Test(loads, routes)
{
	struct loads *loads = good_loads("{\"type\": \"meta\", \"layers_logged\": [0, 1]}\n"
				   "{\"layer\": 0, \"token_idx\": 0, \"topk_ids\": [3, 1]}\n"
				   "{\"layer\": 0, \"token_idx\": 1, \"topk_ids\": [1, 2]}\n"
				   "{\"layer\": 1, \"token_idx\": 0, \"topk_ids\": [0, 2]}\n"
				   "{\"layer\": 1, \"token_idx\": 1, \"topk_ids\": [2, 3]}\n");

	cr_assert(loads->layers == 2 && loads->experts == 4 && loads->top_k == 2);
	cr_assert_eq(count_of(loads, 0, 0, 0, 1), 2);
	cr_assert_eq(count_of(loads, 1, 0, 0, 2), 2);
	cr_assert_eq(loads->pairs[0][1 * 4 + 3], 1);
	cr_assert_eq(loads->pairs[0][3 * 4 + 1], 1);
	cr_assert_eq(loads->pairs[0][1 * 4 + 2], 1);
	cr_assert_eq(loads->next[0][3 * 4 + 0], 1); /* token 0: 3 then 0 */
	cr_assert_eq(loads->next[0][1 * 4 + 2], 2); /* both tokens: 1 then 2 */
	cr_assert_eq(loads->next[0][2 * 4 + 3], 1);
	cr_assert_eq(loads->account.linked, 2);
	cr_assert_eq(loads->account.rows, 4);
}

Test(loads, routes_of_batches_and_sources)
{
	struct loads *loads = good_loads(
	    "{\"layer\": 2, \"rank\": 0, \"experts\": [[0, 1], [1, 2]], \"weights\": [[1, 2]]}\n"
	    "{\"layer\": 2, \"rank\": 7, \"experts\": [[2, 0]], \"note\": \"a \\\" ] } b\"}\n");

	cr_assert(loads->sources == 2 && loads->kind == LOADS_NODES);
	cr_assert_str_eq(loads->source_names[1], "7");
	cr_assert_eq(count_of(loads, 0, 0, 0, 1), 2);
	cr_assert_eq(count_of(loads, 0, 0, 1, 2), 1);
	loads = good_loads("{\"token\": 5, \"experts\": [[0, 1], [1, 0]]}\n"
		     "{\"token\": 6, \"experts\": [[1], [0]]}\n");
	cr_assert(loads->layers == 2 && loads->sources == 1);
	cr_assert_eq(count_of(loads, 0, 0, 0, 1), 2);
	cr_assert_eq(loads->next[0][1 * 2 + 0], 2);
}

/* The layer of the batch, and ids above what there was room for. */
Test(loads, routes_grow)
{
	struct str text = str_new(arena);
	struct loads *loads;

	for (int t = 0; t < 2000; t++)
		str_addf(&text, "{\"layer\": %d, \"token_idx\": %d, \"topk_ids\": [%d, %d]}\n",
		    t % 2, t / 2, t / 2 % 300, (t / 2 + 7) % 300);
	loads = good_loads(text.text);
	cr_assert(loads->experts == 300 && loads->layers == 2);
	for (int e = 0; e < 300; e++) {
		cr_assert_eq(count_of(loads, 0, 0, 0, e), count_of(loads, 1, 0, 0, e));
		cr_assert_eq(loads->pairs[0][e * 300 + (e + 7) % 300],
		    loads->pairs[1][e * 300 + (e + 7) % 300]);
		cr_assert_geq(loads->next[0][e * 300 + e], 3);
	}
	cr_assert_eq(loads->account.linked, 1000);
}

/* Rows of a warm-up, whole and in two layers: out of counts, pairs and transitions. */
Test(loads, warm_up)
{
	struct str text = str_new(arena);
	struct loads *loads;

	for (int t = 0; t < 1500; t++)
		for (int l = 0; l < 2; l++)
			str_addf(&text,
			    "{\"layer\": %d, \"token_idx\": %d, \"topk_ids\": [9, 5], "
			    "\"topk_weights\": [0.5, 0.5]}\n",
			    l, t);
	for (int t = 0; t < 600; t++)
		for (int l = 0; l < 2; l++)
			str_addf(&text,
			    "{\"layer\": %d, \"token_idx\": %d, \"topk_ids\": [%d, %d], "
			    "\"topk_weights\": [0.%d, 0.1]}\n",
			    l, t, t % 8, 8 + t % 2, 1 + t % 9);
	loads = good_loads(text.text);
	cr_assert_eq(loads->account.warm_up_rows, 3000);
	cr_assert_eq(loads->account.rows, 1200);
	cr_assert_eq(count_of(loads, 0, 0, 0, 9), 300);
	cr_assert_eq(count_of(loads, 1, 0, 0, 5), 75);
	cr_assert_eq(loads->pairs[0][9 * 10 + 5], 75);
	cr_assert_eq(loads->next[0][9 * 10 + 9], 300);
	cr_assert_eq(loads->account.linked, 600);
}

/* A choice that is common but not repeated without end is no warm-up. */
Test(loads, no_warm_up)
{
	struct str text = str_new(arena);
	struct loads *loads;

	for (int t = 0; t < 4000; t++)
		str_addf(&text, "{\"layer\": 0, \"topk_ids\": [%d, 1]}\n", t % 500 == 0 ? 2 : 0);
	loads = good_loads(text.text);
	cr_assert_eq(loads->account.warm_up_rows, 0);
	cr_assert_eq(count_of(loads, 0, 0, 0, 1), 4000);
}

Test(loads, routes_mistakes)
{
	static const char head[] = "{\"layer\": 0, \"topk_ids\": [0, 1]}\n";
	static const struct {
		const char *line, *message;
	} rows[] = {
	    {"{\"layer\": 0, \"topk_ids\": [0, 0]}\n", "expert 0 is picked twice"},
	    {"{\"layer\": 0, \"topk_ids\": [4096]}\n", "expert 4096: allowed are 0 to 4095"},
	    {"{\"layer\": 0, \"topk_ids\": [-1]}\n", "no list of integers"},
	    {"{\"layer\": 0, \"topk_ids\": [1.5]}\n", "no list of integers"},
	    {"{\"layer\": 0, \"topk_ids\": [[1], 2]}\n", "no lists of integers"},
	    {"{\"topk_ids\": [1]}\n", "the row has no layer"},
	    {"{\"layer\": 0, \"topk_ids\": [1]\n", "no JSON object"},
	    {"layer 0\n", "no JSON object"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		diags = diags_new(arena);
		cr_assert_null(
		    parse_loads(arena_printf(arena, "%s%s", head, rows[i].line)), "row %zu", i);
		cr_assert(strstr(diags->first->message, rows[i].message), "row %zu: '%s'", i,
		    diags->first->message);
		cr_assert_eq(diags->first->loc.line, 2, "row %zu", i);
	}
}

/* A log that is still being written ends in the middle of a row. */
Test(loads, routes_cut_short)
{
	struct loads *loads =
	    good_loads("{\"layer\": 0, \"topk_ids\": [0, 1]}\n{\"layer\": 0, \"topk_i");

	cr_assert_eq(loads->account.rows, 1);
	cr_assert_eq(loads->account.skipped, 1);
}
