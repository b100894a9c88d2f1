/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is what a calibrated file says what was measured and what stood in it before? */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/doc.h"
#include "calibrate_fixture.h"

/* What the file had is kept by a calibration that measures something else. */
Test(calibrate_file, products_memory_and_overlap_are_kept, .init = calibrate_open,
    .fini = scratch_close)
{
	struct str text = str_new(arena), out = str_new(arena), twice = str_new(arena);
	struct cluster *again, *third;
	struct measurements none = {.peer_s = PEER_S, .gemm_half = 48};

	str_add(&text,
	    "{\"schema\": \"moeplan/probe/v1\", \"environment\": {\"comparable\": true}, "
	    "\"device\": {\"memory_Bps\": 3e12, \"launch_s\": 2.5e-6}, \"overlap\": "
	    "{\"compute_s\": 3, \"communication_s\": 2, \"both_s\": 3.6}, "
	    "\"memory\": {\"stages\": [{\"measured\": {\"outside_bytes\": 3e9}}]}, "
	    "\"products\": [");
	for (int size = 256; size <= 8192; size *= 2) {
		double fill = size / (size + 100.0);

		str_addf(&text,
		    "{\"name\": \"gemm\", \"groups\": 1, \"m\": %d, \"n\": %d, \"k\": "
		    "%d, \"flops\": %.9g},",
		    size, size, size, 8e14 * fill * fill * fill);
	}
	str_add(&text,
	    "{\"name\": \"experts\", \"groups\": 8, \"m\": 64, \"n\": 3000, \"k\": 4000, "
	    "\"flops\": 1e14}, {\"name\": \"experts\", \"groups\": 8, \"m\": 4096, \"n\": "
	    "3000, \"k\": 4000, \"flops\": 6e14}]}");
	cr_assert_eq(add_measured(text.text), 0);
	cr_assert_float_eq(calibrate_gemm_half(&m), 100, 0.1);
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 0, &out), 0);
	again = cluster_read(arena, diags, doc_parse(arena, diags, "one", out.text, out.length));
	cr_assert_not_null(again, "%s", out.text);
	cr_assert_float_eq(again->gpu.gemm_half, 100, 0.1);
	cr_assert_eq(again->gpu.grouped.n, 2);
	cr_assert_lt(curve_value(&again->gpu.grouped, 64), 0.5);
	cr_assert_gt(curve_value(&again->gpu.grouped, 4096), 0.7);
	cr_assert_float_eq(again->gpu.launch_s, 2.5e-6, 1e-9);
	cr_assert_float_eq(again->gpu.runtime_bytes, 3e9, 1);
	cr_assert_float_eq(again->hidden[HIDDEN_ALL_TO_ALL], 0.7, 1e-9);
	cr_assert_eq(calibrate_cluster(diags, again, &none, 1, &twice), 0);
	third =
	    cluster_read(arena, diags, doc_parse(arena, diags, "two", twice.text, twice.length));
	cr_assert_not_null(third, "%s", twice.text);
	cr_assert_float_eq(third->gpu.hbm_Bps.value, 3e12, 1e6);
	cr_assert_eq(third->gpu.hbm_Bps.origin, ORIGIN_MEASURED);
	cr_assert_float_eq(third->gpu.gemm_half, 100, 0.1);
	cr_assert_eq(third->gpu.grouped.n, 2);
	cr_assert_float_eq(third->hidden[HIDDEN_ALL_TO_ALL], 0.7, 1e-9);
}

static void
same_level(const struct level *a, const struct level *b)
{
	cr_assert_eq(a->gpus, b->gpus);
	cr_assert_float_eq(a->Bps.value, b->Bps.value, 1);
	cr_assert_eq(a->Bps.origin, b->Bps.origin);
	cr_assert_float_eq(a->latency_s.value, b->latency_s.value, 1e-12);
	cr_assert_float_eq(a->oversubscription, b->oversubscription, 1e-12);
	cr_assert_float_eq(a->spread, b->spread, 1e-12);
	cr_assert_eq(a->all_to_all.n, 1);
	cr_assert_eq(b->all_to_all.n, 1);
	cr_assert_float_eq(
	    traffic_Bps(&a->all_to_all, 2, 1e6), traffic_Bps(&b->all_to_all, 2, 1e6), 1);
}

/* A step alone changes nothing of what a file with every key says. */
Test(calibrate_file, every_key_of_the_file_is_kept, .init = calibrate_open, .fini = scratch_close)
{
	static const char text[] =
	    "schema: moeplan/cluster/v1\nname: mine\nnodes: 4\ngpus_per_node: 8\n"
	    "gpu: {name: H100-SXM5-80GB, memory: 78GiB, hbm_GBps: 3000, bf16_tflops: 900, "
	    "fp16_tflops: 910, fp8_tflops: 1800, matmul_ceiling: 0.7, gemm_half: 100, "
	    "grouped: [[64, 0.4]], launch_us: 3, runtime: 2GiB, spread: 0.02, origin: measured}\n"
	    "links:\n"
	    "  scale_up: {domain_gpus: 4, GBps: 400, latency_us: 5, spread: 0.03, "
	    "all_to_all: [[2, 1000, 30]], origin: measured}\n"
	    "  in_node: {GBps: 40, latency_us: 6, spread: 0.04, all_to_all: [[2, 1000, 20]]}\n"
	    "  scale_out: {nics_per_node: 4, Gbps: 200, latency_us: 9, oversubscription: 2, "
	    "spread: 0.05, all_to_all: [[2, 1000, 10]]}\n"
	    "host: {GBps: 33, memory_GBps: 250, memory: 100GiB, origin: measured}\n"
	    "reserve: 3GiB\nhidden_all_to_all: 0.6\n";
	struct cluster *a = read_cluster(text, sizeof(text) - 1), *b;
	struct str out = str_new(arena);
	int i;

	cr_assert_eq(calibrate_cluster(diags, a, &m, 1, &out), 0);
	b = read_cluster(out.text, out.length);
	cr_assert_str_eq(a->name, b->name);
	cr_assert_eq(a->world, b->world);
	cr_assert_eq(a->gpus_per_node, b->gpus_per_node);
	cr_assert_eq(a->domain_gpus, b->domain_gpus);
	cr_assert_eq(a->nics_per_node, b->nics_per_node);
	cr_assert_float_eq(a->gpu.usable_bytes.value, b->gpu.usable_bytes.value, 1);
	cr_assert_float_eq(a->gpu.hbm_Bps.value, b->gpu.hbm_Bps.value, 1);
	for (i = 0; i < FLOP_TYPES; i++)
		cr_assert_float_eq(a->gpu.flops[i].value, b->gpu.flops[i].value, 1);
	cr_assert_float_eq(a->gpu.matmul_ceiling.value, b->gpu.matmul_ceiling.value, 1e-9);
	cr_assert_eq(b->gpu.matmul_ceiling.origin, ORIGIN_MEASURED);
	cr_assert_float_eq(a->gpu.gemm_half, b->gpu.gemm_half, 1e-9);
	cr_assert_float_eq(curve_value(&b->gpu.grouped, 64), 0.4, 1e-9);
	cr_assert_float_eq(a->gpu.launch_s, b->gpu.launch_s, 1e-12);
	cr_assert_float_eq(a->gpu.runtime_bytes, b->gpu.runtime_bytes, 1);
	cr_assert_float_eq(a->gpu.spread, b->gpu.spread, 1e-12);
	cr_assert_eq(a->n_levels, b->n_levels);
	for (i = 0; i < a->n_levels; i++)
		same_level(&a->levels[i], &b->levels[i]);
	cr_assert_float_eq(b->host.link_Bps.value, 33e9, 1);
	cr_assert_float_eq(b->host.memory_Bps.value, 250e9, 1);
	cr_assert_float_eq(b->host.memory_bytes.value, 100 * 0x1p30, 1);
	cr_assert_eq(b->host.link_Bps.origin, ORIGIN_MEASURED);
	cr_assert_eq(a->reserve_bytes, b->reserve_bytes);
	cr_assert_float_eq(a->hidden[HIDDEN_ALL_TO_ALL], b->hidden[HIDDEN_ALL_TO_ALL], 1e-12);
}

/* A poor first measurement does not bar a better one; what the part cannot do is named. */
Test(calibrate_file, readings_beyond_the_part, .init = calibrate_open, .fini = scratch_close)
{
	struct str out = str_new(arena);

	cluster->gpu.hbm_Bps = (struct quantity){2e12, ORIGIN_MEASURED, NULL};
	m.memory_Bps = (struct readings){1, {2.7e12}};
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 0, &out), 0);
	cr_assert(strstr(out.text, "hbm_GBps: 2700 "), "%s", out.text);
	cr_assert_eq(diags->notes, 0);
	m.memory_Bps.values[0] = 9e12;
	m.matmul_flops = (struct readings){1, {2e15}};
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 0, &out), 0);
	cr_assert_eq(diags->notes, 2);
	cr_assert(strstr(diags->first->message, "9000 GB/s"), "%s", diags->first->message);
	cr_assert(strstr(diags->last->message, "2000 TFLOP/s"), "%s", diags->last->message);
}

Test(calibrate_file, rows_out_of_range_are_refused, .init = calibrate_open, .fini = scratch_close)
{
	static const struct {
		const char *key, *row;
		bool read;
	} rows[] = {
	    {"grouped", "[512, 0.6]", true},
	    {"grouped", "[512, 0.0001]", true},
	    {"grouped", "[512, 1e-310]", false},
	    {"grouped", "[512, 2.1]", false},
	    {"grouped", "[1e-300, 0.6]", false},
	    {"grouped", "[512, 0.6], [512, 0.7]", false},
	    {"all_to_all", "[8, 1000, 1e-6]", true},
	    {"all_to_all", "[8, 1000, 1e-310]", false},
	    {"all_to_all", "[8, 1000, 1e7]", false},
	    {"all_to_all", "[8, 0.1, 10]", false},
	    {"all_to_all", "[0.5, 1000, 10]", false},
	    {"all_to_all", "[8, 1000, 10], [8, 1000, 20]", false},
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool of_gpu = rows[i].key[0] == 'g';
		const char *text =
		    arena_printf(arena, "nodes: 4\ngpu: {name: H100-SXM5-80GB%s%s%s}\n%s%s%s",
			of_gpu ? ", grouped: [" : "", of_gpu ? rows[i].row : "", of_gpu ? "]" : "",
			of_gpu ? "" : "links: {scale_up: {all_to_all: [", of_gpu ? "" : rows[i].row,
			of_gpu ? "" : "]}}\n");
		const struct doc *doc = doc_parse(arena, diags, "cluster", text, strlen(text));

		cr_expect_eq(cluster_read(arena, diags, doc) != NULL, rows[i].read, "%s: %s", text,
		    diags->last ? diags->last->message : "");
	}
}

/* What was measured and cannot be read again is not written. */
Test(calibrate_file, rows_out_of_range_are_not_written, .init = calibrate_open,
    .fini = scratch_close)
{
	struct loc nowhere = {NULL, 0, 0};

	m.n_experts = 2;
	m.experts[0] = (struct product){64, 4096, 4096, 1e9};
	m.experts[1] = (struct product){512, 4096, 4096, 4e14};
	cr_assert_eq(calibrate_grouped(&m, 6e14).n, 1);
	calibrate_add_sample(diags, nowhere, cluster, &m, 0, "all_to_all", 2, 1, 1, 1);
	calibrate_add_sample(diags, nowhere, cluster, &m, 0, "all_to_all", 2, 1, 1e9, 1);
	cr_assert_eq(calibrate_traffic(&m, cluster, 0).Bps[0].n, 1);
}

/* A measured step is enough for a file, and what the file had stays in it. */
Test(calibrate_file, runs_are_written_and_read_again, .init = calibrate_open, .fini = scratch_close)
{
	struct str out = str_new(arena);
	struct measured_run run = {.model = "it's mine",
	    .parameters = 46702792704,
	    .gpu = "H100-SXM5-80GB",
	    .step_s = 5.25,
	    .predicted_s = 4.5,
	    .exposed_s = 0.75};
	const struct measured_run *back;
	struct cluster *again;
	const struct doc *doc;

	strategy_init(&run.strategy);
	run.strategy.world = 32;
	run.strategy.cp = run.strategy.vpp = run.strategy.gtp = run.strategy.egtp = 1;
	run.strategy.tp = 2;
	run.strategy.pp = 2;
	run.strategy.ep = 8;
	run.strategy.etp = 1;
	run.strategy.micro_batch = 1;
	run.strategy.global_batch = 256;
	run.strategy.seq_len = 4096;
	run.strategy.capacity = 1.5;
	run.strategy.recompute = (struct recompute){RECOMPUTE_SELECTIVE, MODULE_MOE_ACT, 0};
	run.strategy.overlap = OVERLAP_DP | OVERLAP_EP;
	run.strategy.layout = "Et*16|t*16L";
	run.strategy.framework_version = "0.14";
	cluster->runs = (struct measured_runs){1, &run};
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 1, &out), 0);
	doc = doc_parse(arena, diags, "calibrated", out.text, out.length);
	cr_assert_not_null(doc, "%s", out.text);
	again = cluster_read(arena, diags, doc);
	cr_assert_not_null(again, "%s%s", diags->first ? diags->first->message : "", out.text);
	cr_assert_eq(again->runs.n, 1);
	back = &again->runs.rows[0];
	cr_assert_str_eq(back->model, run.model);
	cr_assert_eq(back->parameters, run.parameters);
	cr_assert_float_eq(back->step_s, 5.25, 1e-9);
	cr_assert_float_eq(back->exposed_s, 0.75, 1e-9);
	cr_assert_eq(back->strategy.tp, 2);
	cr_assert_eq(back->strategy.global_batch, 256);
	cr_assert_eq(back->strategy.overlap, run.strategy.overlap);
	cr_assert_eq(back->strategy.recompute.modules, MODULE_MOE_ACT);
	cr_assert_float_eq(back->strategy.capacity, 1.5, 1e-12);
	cr_assert_str_eq(back->strategy.layout, "Et*16|t*16L");
	cr_assert_str_eq(back->strategy.framework_version, "0.14");
}

Test(calibrate_file, a_run_must_be_whole, .init = calibrate_open, .fini = scratch_close)
{
	static const char text[] = "nodes: 1\ngpu: H100-SXM5-80GB\nruns:\n- {model: m, step: 1s}\n";
	const struct doc *doc = doc_parse(arena, diags, "file", text, sizeof(text) - 1);

	cr_assert_null(cluster_read(arena, diags, doc));
	cr_assert_eq(diags->errors, 3, "parameters, gpu, strategy");
	cr_assert_eq(diags->first->loc.line, 4);
}

/* Of a step, no more than all of it. */
Test(calibrate_file, exposed_seconds_are_of_the_step, .init = calibrate_open, .fini = scratch_close)
{
	static const char text[] =
	    "nodes: 1\ngpu: H100-SXM5-80GB\nruns:\n"
	    "- {model: m, parameters: 7, gpu: H100-SXM5-80GB, "
	    "step: 2s, exposed: 100s, strategy: {seq_len: 4096, global_batch: 64}}\n";
	const struct doc *doc = doc_parse(arena, diags, "file", text, sizeof(text) - 1);

	cr_assert_null(cluster_read(arena, diags, doc));
	cr_assert_eq(diags->errors, 1);
	cr_assert_not_null(strstr(diags->first->message, "100 s of a step of 2 s"));
}
