/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is a profile's time told apart as it ran, whatever the order and the other events in it? */
#include <criterion/criterion.h>
#include <string.h>

#include "base/str.h"
#include "model/trace.h"
#include "scratch.h"

TestSuite(trace, .init = scratch_open, .fini = scratch_close);

static int
read_trace(const char *text, struct trace_facts *facts)
{
	return trace_read_text(arena, diags, "trace.json", text, strlen(text), facts);
}

/* Two steps of 1 s: products 0.4 s, an all-to-all of 0.3 s of which 0.1 s runs beside them. */
static const char two_steps[] =
    "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100\"}],\n"
    "\"traceEvents\": [\n"
    "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"args\": {\"name\": \"python\"}},\n"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"sm90_xmma_gemm_bf16\", \"pid\": 0, \"tid\": "
    "7,\n"
    " \"ts\": 1100000.0, \"dur\": 400000, \"args\": {\"stream\": 7, \"grid\": [1, 2, 3]}},\n"
    "{\"dur\": 400000, \"ts\": 100000, \"name\": \"nvjet_tst_128x256\", \"cat\": \"kernel\", "
    "\"ph\": \"X\", "
    "\"pid\": 0},\n"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_SendRecv(x)\", \"pid\": 0, "
    "\"ts\": 400000, \"dur\": 300000},\n"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_SendRecv(x)\", \"pid\": 0, "
    "\"ts\": 1400000, \"dur\": 300000},\n"
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"of another GPU\", \"pid\": 1, \"ts\": 0, "
    "\"dur\": "
    "2000000},\n"
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 9, \"ts\": 5, \"dur\": "
    "7},\n"
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#1\", \"pid\": 9, "
    "\"ts\": "
    "1000000, \"dur\": 1000000},\n"
    "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#0\", \"pid\": 9, "
    "\"ts\": 0, "
    "\"dur\": 1000000},\n"
    "{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"ProfilerStep#0\", \"pid\": 0, "
    "\"ts\": "
    "0, \"dur\": 700000}\n"
    "], \"traceName\": \"a \\\"b\\\" c\"}\n";

Test(trace, exposed_and_idle_time)
{
	struct trace_facts facts;

	cr_assert_eq(
	    read_trace(two_steps, &facts), 0, "%s", diags->first ? diags->first->message : "");
	cr_assert_eq(facts.steps, 2);
	cr_assert_eq(facts.kernels, 4);
	cr_assert_float_eq(facts.step_s, 1, 1e-9);
	cr_assert_float_eq(facts.window_s, 1, 1e-9);
	cr_assert_float_eq(facts.seconds[TRACE_PRODUCTS], 0.4, 1e-9);
	cr_assert_float_eq(facts.seconds[TRACE_ALL_TO_ALL], 0.3, 1e-9);
	cr_assert_float_eq(facts.computed_s, 0.4, 1e-9);
	cr_assert_float_eq(facts.exposed_s, 0.2, 1e-9);
	cr_assert_float_eq(facts.idle_s, 0.4, 1e-9);
}

/* The CPU runs ahead: of 1 s of kernels in a step marked for 0.5 s, 0.6 s come after the mark. */
Test(trace, world_of_the_job)
{
	static const char text[] =
	    "{\"schemaVersion\": 1, \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, "
	    "\"world_size\": 64, \"pg_config\": [{\"pg_name\": \"0\", \"ranks\": [0, 1]}]},\n"
	    "\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": "
	    "0, \"ts\": 1, \"dur\": 2}]}";
	struct trace_facts facts;

	cr_assert_eq(read_trace(text, &facts), 0);
	cr_assert_eq(facts.world, 64);
	cr_assert_eq(trace_check_world(diags, "t", &facts, 64), 0);
	cr_assert_neq(trace_check_world(diags, "t", &facts, 32), 0);
	cr_assert(strstr(diags->last->message, "64 ranks, the plan has 32"));
	cr_assert_eq(read_trace(two_steps, &facts), 0);
	cr_assert_eq(facts.world, 0);
	cr_assert_eq(trace_check_world(diags, "t", &facts, 32), 0);
}

Test(trace, kernels_after_the_marks_are_told)
{
	static const char format[] =
	    "[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"ts\": 100000, "
	    "\"dur\": 1000000}, {\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
	    "\"ProfilerStep#0\", \"pid\": 9, \"ts\": 0, \"dur\": %d}]";
	struct trace_facts facts;

	cr_assert_eq(read_trace(arena_printf(arena, format, 500000), &facts), 0);
	cr_assert_float_eq(facts.outside_share, 0.6, 1e-9);
	cr_assert(strstr(diags->last->message, "60 % of the kernels' time"));
	cr_assert_eq(diags->last->severity, SEVERITY_WARNING);
	diags = diags_new(arena);
	cr_assert_eq(read_trace(arena_printf(arena, format, 1090000), &facts), 0);
	cr_assert_float_eq(facts.outside_share, 0.01, 1e-9);
	cr_assert_null(diags->first, "a little is no sign");
}

Test(trace, kinds_of_kernels)
{
	static const struct {
		const char *name;
		enum trace_class class;
	} rows[] = {{"ncclDevKernel_AllGather_RING_LL", TRACE_COLLECTIVE},
	    {"void deep_ep::intranode::dispatch<8>", TRACE_ALL_TO_ALL},
	    {"void flash_fwd_kernel<cutlass>", TRACE_ATTENTION},
	    {"cudnn_generated_fort_native_sdpa_sm90", TRACE_ATTENTION},
	    {"void cutlass::Kernel<GroupedGemm>", TRACE_PRODUCTS},
	    {"Cijk_Ailk_Bljk_BBS", TRACE_PRODUCTS}, {"elementwise_kernel", TRACE_OTHER}};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text = arena_printf(arena,
		    "[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, \"ts\": "
		    "1, "
		    "\"dur\": 2e6}]",
		    rows[i].name);
		struct trace_facts facts;

		cr_assert_eq(read_trace(text, &facts), 0);
		cr_assert_float_eq(facts.seconds[rows[i].class], 2, 1e-9, "%s", rows[i].name);
		cr_assert_float_eq(facts.step_s, 0, 1e-12, "no step is marked");
	}
}

Test(trace, refuses_what_is_cut_or_no_trace)
{
	static const char *const texts[] = {"", "{", "[", "[{", "[{\"ph\"",
	    "[{\"ph\":", "[{\"ph\": \"X", "{\"traceEvents\": [", "{\"traceEvents\": []}",
	    "{\"a\": [[[[", "17", "[1, 2]", "{}",
	    "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"ts\": 1, \"dur\": -5}]}",
	    "[{\"ph\": \"X\", \"cat\": \"kernel\", \"ts\": 1e999, \"dur\": 1e999}]"};
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct trace_facts facts;
		int errors = diags->errors;

		cr_assert_eq(read_trace(texts[i], &facts), -1, "%s", texts[i]);
		cr_assert_eq(diags->errors, errors + 1, "%s", texts[i]);
	}
}

/* Any cut of a good trace ends in one error or in numbers, never in a crash. */
Test(trace, every_cut)
{
	size_t n;

	for (n = 0; n < sizeof(two_steps) - 1; n++) {
		struct trace_facts facts;
		int errors = diags->errors;
		int result = trace_read_text(arena, diags, "cut", two_steps, n, &facts);

		cr_assert_eq(result == 0, diags->errors == errors, "%zu", n);
	}
}

Test(trace, is_told_by_its_first_bytes)
{
	cr_assert(trace_is(two_steps, 100));
	cr_assert_not(trace_is("{\"schema\": \"moeplan/probe/v1\"", 29));
	cr_assert_not(trace_is("", 0));
}

/* Steps that would not count are named, not dropped. */
Test(trace, too_many_steps_are_an_error)
{
	struct str text = str_new(arena);
	struct trace_facts facts;
	int i;

	str_add(&text, "[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, "
		       "\"ts\": 0, \"dur\": 1}");
	for (i = 0; i <= TRACE_MAX_STEPS; i++)
		str_addf(&text,
		    ", {\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
		    "\"ProfilerStep#%d\", \"pid\": 9, \"ts\": %d, \"dur\": 1}",
		    i, i);
	str_addc(&text, ']');
	cr_assert_eq(read_trace(text.text, &facts), -1);
	cr_assert_str_eq(diags->first->message, "more than 4096 steps");
}
