/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is a job read the same from options and from a file, and is what it cannot mean refused? */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "model/job.h"
#include "scratch.h"

static struct field_context context;

static void
set_up(void)
{
	scratch_open();
	context = (struct field_context){arena, diags};
}

TestSuite(job, .init = set_up, .fini = scratch_close);

static int
read_option(struct job *job, const char *name, const char *value)
{
	struct field_set sets[] = {{"Job", job_fields, job},
	    {"Kept", strategy_job_fields, &job->base}, {NULL, NULL, NULL}};
	char *argv[] = {arena_strdup(arena, name), arena_strdup(arena, value), NULL};
	struct arguments arguments;

	return options_parse(sets, 2, argv, &arguments, &context);
}

static struct job
option(const char *name, const char *value)
{
	struct job job;

	job_init(&job);
	cr_assert_eq(read_option(&job, name, value), 0, "%s %s: %s", name, value,
	    diags->last ? diags->last->message : "");
	return job;
}

static int
read_file(struct job *job, const char *yaml)
{
	struct doc *doc = doc_parse(arena, diags, "job.yaml", yaml, strlen(yaml));

	return doc ? job_read(job, doc, &context) : -1;
}

static struct job
file(const char *yaml)
{
	struct job job;

	job_init(&job);
	cr_assert_eq(
	    read_file(&job, yaml), 0, "%s: %s", yaml, diags->last ? diags->last->message : "");
	return job;
}

Test(job, defaults)
{
	struct job job;

	job_init(&job);
	cr_assert_eq(job.top, 3);
	cr_assert_eq(job.objective, OBJECTIVE_TIME);
	cr_assert_eq(job.skew.kind, SKEW_BALANCED);
	cr_assert_eq(job.base.zero, -1);
	cr_assert_eq(job.max_gpus, 0);
	for (int axis = 0; axis < AXES; axis++)
		cr_assert(axis_allows(&job.limits[axis], 1) && axis_allows(&job.limits[axis], 64));
}

Test(job, pins)
{
	struct job job = option("--pin", "tp=2,ep=8,tp=4,recompute=full,dispatcher=deepep,zero=0");

	cr_assert_eq(job.limits[AXIS_TP].n_allowed, 2);
	cr_assert(axis_allows(&job.limits[AXIS_TP], 2) && axis_allows(&job.limits[AXIS_TP], 4));
	cr_assert(!axis_allows(&job.limits[AXIS_TP], 1) && !axis_allows(&job.limits[AXIS_TP], 8));
	cr_assert(axis_allows(&job.limits[AXIS_EP], 8) && !axis_allows(&job.limits[AXIS_EP], 4));
	cr_assert_eq(job.limits[AXIS_DISPATCHER].allowed[0], DISPATCH_DEEPEP);
	cr_assert_eq(job.limits[AXIS_ZERO].allowed[0], 0);
	cr_assert_eq(job.limits[AXIS_RECOMPUTE].allowed[0],
	    recompute_value((struct recompute){.kind = RECOMPUTE_FULL}));
	cr_assert_eq(job.limits[AXIS_PP].n_allowed, 0);
}

Test(job, forbidden_and_capped_axes)
{
	struct job job = option("--forbid", "pp,recompute");

	cr_assert(axis_allows(&job.limits[AXIS_PP], 1) && !axis_allows(&job.limits[AXIS_PP], 2));
	cr_assert(axis_allows(&job.limits[AXIS_RECOMPUTE], 0));
	cr_assert(!axis_allows(&job.limits[AXIS_RECOMPUTE], RECOMPUTE_FULL));
	job = option("--max", "tp=8,step=20s,memory=70GiB,gpus=512");
	cr_assert(axis_allows(&job.limits[AXIS_TP], 8) && !axis_allows(&job.limits[AXIS_TP], 16));
	cr_assert_float_eq(job.max_step_s, 20, 1e-12);
	cr_assert_eq(job.max_memory_bytes, 70ULL << 30);
	cr_assert_eq(job.max_gpus, 512);
}

Test(job, other_options)
{
	cr_assert_eq(option("--top", "7").top, 7);
	cr_assert_eq(option("--objective", "gpus").objective, OBJECTIVE_GPUS);
	cr_assert_eq(option("--reserve", "2GiB").reserve_bytes, 2ULL << 30);
	cr_assert_float_eq(option("--measured-step", "11.5s").measured_step_s, 11.5, 1e-12);
	cr_assert_float_eq(option("--time-limit", "1min").time_limit_s, 60, 1e-12);
	cr_assert_str_eq(option("--lp", "out.lp").lp_path, "out.lp");
	cr_assert_eq(option("--seq-len", "4096").base.seq_len, 4096);
	cr_assert_eq(option("--framework", "torchtitan").base.framework, FRAMEWORK_TORCHTITAN);
}

Test(job, load_skew)
{
	struct load_skew skew = option("--load-skew", "max=1.7").skew;

	cr_assert(skew.kind == SKEW_MAX && skew.value > 1.69 && skew.value < 1.71);
	skew = option("--load-skew", "cv=0.4").skew;
	cr_assert(skew.kind == SKEW_CV && skew.value > 0.39 && skew.value < 0.41);
	skew = option("--load-skew", "zipf=1").skew;
	cr_assert(skew.kind == SKEW_ZIPF && skew.value > 0.99);
	cr_assert_eq(option("--load-skew", "balanced").skew.kind, SKEW_BALANCED);
	cr_assert_eq(file("load_skew: {cv: 0.3}").skew.kind, SKEW_CV);
	cr_assert_eq(file("load_skew: max=2").skew.kind, SKEW_MAX);
	skew = option("--load-skew", "loads.csv").skew;
	cr_assert_eq(skew.kind, SKEW_TRACE);
	cr_assert_str_eq(skew.path, "loads.csv");
}

Test(job, a_file)
{
	struct job job = file("schema: moeplan/job/v1\n"
			      "seq_len: 4096\n"
			      "global_batch: 1024\n"
			      "precision: fp8\n"
			      "optimizer: adam:bf16\n"
			      "pin: {tp: [1, 2], pp: {min: 2, max: 16}, recompute: none}\n"
			      "forbid: [vpp, cp]\n"
			      "max: {ep: 32, step: 20s, memory: 70GiB}\n"
			      "top: 5\n"
			      "reserve: 1GiB\n"
			      "objective: memory\n");

	cr_assert_eq(job.base.seq_len, 4096);
	cr_assert_eq(job.base.global_batch, 1024);
	cr_assert_eq(job.base.precision, PRECISION_FP8);
	cr_assert_eq(job.base.moment_type, FLOAT_BF16);
	cr_assert_eq(job.limits[AXIS_TP].n_allowed, 2);
	cr_assert(!axis_allows(&job.limits[AXIS_TP], 4));
	cr_assert(!axis_allows(&job.limits[AXIS_PP], 1) && axis_allows(&job.limits[AXIS_PP], 16));
	cr_assert(!axis_allows(&job.limits[AXIS_PP], 32));
	cr_assert_eq(job.limits[AXIS_VPP].max, 1);
	cr_assert_eq(job.limits[AXIS_CP].max, 1);
	cr_assert_eq(job.limits[AXIS_EP].max, 32);
	cr_assert_eq(job.limits[AXIS_RECOMPUTE].allowed[0], 0);
	cr_assert_eq(job.top, 5);
	cr_assert_eq(job.objective, OBJECTIVE_MEMORY);
	cr_assert_eq(job.max_memory_bytes, 70ULL << 30);
}

/* An option after a file replaces the values of its axis and leaves the others. */
Test(job, options_override_files)
{
	struct job job = file("pin: {tp: [1, 2], ep: 8}\nmax: {tp: 16}");

	cr_assert_eq(read_option(&job, "--pin", "tp=4"), 0);
	cr_assert_eq(job.limits[AXIS_TP].n_allowed, 1);
	cr_assert_eq(job.limits[AXIS_TP].allowed[0], 4);
	cr_assert_eq(job.limits[AXIS_TP].max, 16);
	cr_assert_eq(job.limits[AXIS_EP].allowed[0], 8);
}

Test(job, options_that_are_refused)
{
	static const struct {
		const char *name, *value, *message;
	} wrong[] = {
	    {"--pin", "tp", "AXIS=VALUE"},
	    {"--pin", "tp=", "AXIS=VALUE"},
	    {"--pin", "=2", "AXIS=VALUE"},
	    {"--pin", "tp=2,", "AXIS=VALUE"},
	    {"--pin", "tp=0", "tp is '0', allowed is 1 to 1048576"},
	    {"--pin", "tp=many", "tp is 'many'"},
	    {"--pin", "zero=4", "zero is '4', allowed is 0 to 3"},
	    {"--pin", "recompute=some", "recompute is 'some'"},
	    {"--pin", "dispatcher=mail", "dispatcher is 'mail'"},
	    {"--pin", "dpp=2", "has no 'dpp'"},
	    {"--forbid", "dispatcher", "allowed is a list of"},
	    {"--forbid", "pp,", "allowed is a list of"},
	    {"--forbid", "dp", "allowed is a list of"},
	    {"--max", "tp=0", "tp is '0'"},
	    {"--max", "step=-1s", "a time such as"},
	    {"--max", "step=0s", "a time such as"},
	    {"--max", "memory=lots", "a size such as"},
	    {"--max", "gpus=0", "1 to 1048576"},
	    {"--max", "recompute=full", "no least or greatest value"},
	    {"--max", "stepp=20s", "has no 'stepp'"},
	    {"--load-skew", "max=0.5", "allowed is 1 to 10000"},
	    {"--load-skew", "cv=-1", "allowed is 0 to 100"},
	    {"--load-skew", "zipf=nan", "allowed is 0 to 10"},
	    {"--load-skew", "heavy=2", "balanced, max=X"},
	    {"--load-skew", "cv=1,max=2", "balanced, max=1.7"},
	    {"--top", "0", "top"},
	    {"--top", "101", "top"},
	    {"--objective", "money", "objective"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct job job;

		job_init(&job);
		cr_assert_eq(read_option(&job, wrong[i].name, wrong[i].value), -1, "%s %s",
		    wrong[i].name, wrong[i].value);
		if (!strstr(diags->last->message, wrong[i].message))
			cr_assert_fail(
			    "%s %s: %s", wrong[i].name, wrong[i].value, diags->last->message);
	}
}

Test(job, files_that_are_refused)
{
	static const struct {
		const char *yaml, *message, *hint;
	} wrong[] = {
	    {"[1]", "a job is a mapping, not a list", NULL},
	    {"schema: moeplan/cluster/v1", "moeplan/job/v1", NULL},
	    {"tp: 2", "a job has no 'tp'", "write pin: {tp: …}"},
	    {"seq_length: 4096", "a job has no 'seq_length'", "did you mean 'seq_len'"},
	    {"objectiv: time", "a job has no 'objectiv'", "did you mean 'objective'"},
	    {"lp: x", "a job has no 'lp'", NULL},
	    {"pin: [1]", "a mapping of axes", NULL},
	    {"pin: {tp: two}", "tp is 'two'", NULL},
	    {"pin: {tp: [1, [2]]}", "tp is 'a list'", NULL},
	    {"pin: {tp: {most: 4}}", "has no 'most'", NULL},
	    {"pin: {tp: {max: 0}}", "tp is '0'", NULL},
	    {"pin: {dispatcher: {max: 2}}", "no least or greatest", NULL},
	    {"pin: {tpp: 2}", "has no 'tpp'", "did you mean 'tp'"},
	    {"forbid: {pp: 1}", "allowed is a list of", NULL},
	    {"forbid: [pp, [vpp]]", "allowed is a list of", NULL},
	    {"max: 8", "tp=8, step=20s", NULL},
	    {"max: {tp: [8]}", "tp is 'a list'", NULL},
	    {"load_skew: {cv: 0.3, max: 2}", "balanced, max=1.7", NULL},
	    {"load_skew: {cv: [1]}", "allowed is 0 to 100", NULL},
	    {"load_skew: 2", "balanced, max=1.7", NULL},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct job job;

		job_init(&job);
		cr_assert_eq(read_file(&job, wrong[i].yaml), -1, "%s", wrong[i].yaml);
		if (!strstr(diags->last->message, wrong[i].message))
			cr_assert_fail("%s: %s", wrong[i].yaml, diags->last->message);
		if (wrong[i].hint)
			cr_assert(diags->last->hint && strstr(diags->last->hint, wrong[i].hint),
			    "%s: %s", wrong[i].yaml, diags->last->hint);
		cr_assert_eq(diags->last->loc.line, 1);
	}
}

Test(job, every_mistake_of_a_file)
{
	struct job job;

	job_init(&job);
	cr_assert_eq(read_file(&job, "tp: 2\ntop: 0\nseq_len: x\npin: {ep: 0, zz: 1}\n"), -1);
	cr_assert_eq(diags->errors, 5);
}

Test(job, too_many_pinned_values)
{
	const char *yaml = "pin: {tp: [1";
	struct job job;

	for (int i = 2; i <= 33; i++)
		yaml = arena_printf(arena, "%s, %d", yaml, i);
	job_init(&job);
	cr_assert_eq(read_file(&job, arena_printf(arena, "%s]}", yaml)), -1);
	cr_assert(strstr(diags->last->message, "more than 32 values"));
}

Test(job, recompute_as_a_value)
{
	for (unsigned modules = 1; modules < 1U << MODULES; modules++) {
		struct recompute recompute = {.kind = RECOMPUTE_SELECTIVE, .modules = modules};
		struct recompute back = recompute_of_value(recompute_value(recompute));

		cr_assert_eq(back.kind, RECOMPUTE_SELECTIVE);
		cr_assert_eq(back.modules, modules);
		cr_assert_eq(back.layers, 0);
	}
	cr_assert_str_eq(axis_value_text(arena, AXIS_RECOMPUTE,
			     recompute_value((struct recompute){RECOMPUTE_FULL, 0, 1024})),
	    "full:1024");
	cr_assert_str_eq(axis_value_text(arena, AXIS_RECOMPUTE, 0), "none");
	cr_assert_str_eq(axis_value_text(arena, AXIS_DISPATCHER, DISPATCH_HYBRIDEP), "hybridep");
	cr_assert_str_eq(axis_value_text(arena, AXIS_EP, 16), "16");
}
