/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do measured rates come back out of what was measured, and is the rest refused? */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/doc.h"
#include "calibrate_fixture.h"

Test(calibrate, fit_finds_rate_and_latency, .init = calibrate_open, .fini = scratch_close)
{
	struct fit fit;

	cr_assert_eq(add_measured(all_to_all_report(320e9, 2e-6, "true", "H100-SXM5-80GB")), 0);
	fit = calibrate_fit(&m, 0);
	cr_assert(fit.samples > 4);
	cr_assert_float_eq(fit.Bps, 320e9, 1e6);
	cr_assert_float_eq(fit.latency_s, 2e-6, 1e-10);
	cr_assert(fit.spread < 1e-5);
	cr_assert_eq(calibrate_fit(&m, 1).samples, 0, "nothing was measured between nodes");
}

Test(calibrate, file_has_measured_numbers, .init = calibrate_open, .fini = scratch_close)
{
	struct str out = str_new(arena);
	struct cluster *again;
	const struct doc *doc;

	cr_assert_eq(add_measured(all_to_all_report(320e9, 2e-6, "true", "H100-SXM5-80GB")), 0);
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 0, &out), 0);
	doc = doc_parse(arena, diags, "calibrated", out.text, out.length);
	cr_assert_not_null(doc, "%s", out.text);
	again = cluster_read(arena, diags, doc);
	cr_assert_not_null(again, "%s", diags->first ? diags->first->message : "");
	cr_assert_eq(again->world, cluster->world);
	cr_assert_eq(again->levels[0].Bps.origin, ORIGIN_MEASURED);
	cr_assert_float_eq(again->levels[0].Bps.value, 320e9, 1e7);
	cr_assert_float_eq(again->levels[0].latency_s.value, 2e-6, 1e-9);
	cr_assert_neq(again->levels[1].Bps.origin, ORIGIN_MEASURED);
	cr_assert_float_eq(again->levels[1].Bps.value, cluster->levels[1].Bps.value, 1e6);
	cr_assert_eq(again->gpu.hbm_Bps.origin, ORIGIN_MEASURED);
	cr_assert_float_eq(again->gpu.hbm_Bps.value, 3.0e12, 1e6);
	cr_assert_float_eq(
	    again->gpu.matmul_ceiling.value, 7e14 / cluster->gpu.flops[FLOP_BF16].value, 1e-3);
}

Test(calibrate, refuses_what_is_not_comparable, .init = calibrate_open, .fini = scratch_close)
{
	cr_assert_eq(add_measured(all_to_all_report(1e9, 1e-6, "false", "H100-SXM5-80GB")), -1);
	cr_assert(strstr(diags->last->message, "not comparable"));
	cr_assert_eq(add_measured(all_to_all_report(1e9, 1e-6, "true", "A100-SXM4-80GB")), -1);
	cr_assert(strstr(diags->last->message, "A100-SXM4-80GB"));
	cr_assert_eq(
	    add_measured("{\"schema\": \"moeplan/probe/v1\"}"), -1, "it says nothing of its times");
	cr_assert_eq(add_measured("{"), -1);
	cr_assert_eq(add_measured("no report at all\n"), -1);
	cr_assert_eq(m.n_samples, 0);
}

Test(calibrate, a_transfer_says_its_level, .init = calibrate_open, .fini = scratch_close)
{
	cr_assert_eq(
	    add_measured("{\"environment\": {\"comparable\": true}, \"transfers\": [{\"op\": "
			 "\"all_gather\", \"ranks\": 8, \"bytes\": 1000, \"seconds\": 1}]}"),
	    -1);
	cr_assert(strstr(diags->last->message, "not one of this cluster's"));
}

Test(calibrate, one_size_is_no_fit, .init = calibrate_open, .fini = scratch_close)
{
	struct str out = str_new(arena);

	m.n_samples = 2;
	m.samples[0] = (struct sample){0, true, 8, 1e6, 7, 1e-5};
	m.samples[1] = (struct sample){0, true, 8, 1.1e6, 7, 1.1e-5};
	cr_assert_eq(calibrate_fit(&m, 0).samples, 0);
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 0, &out), -1);
}

Test(calibrate, all_to_all_by_size_and_nodes, .init = calibrate_open, .fini = scratch_close)
{
	struct loc nowhere = {NULL, 0, 0};
	struct str out = str_new(arena);
	struct traffic_curves curves;
	struct cluster *again;
	const struct doc *doc;
	int network = cluster->n_levels - 1, nodes;

	for (nodes = 2; nodes <= 4; nodes += 2)
		for (int power = 16; power < 30; power += 4) {
			/* faster when there is more, slower over more nodes */
			double bytes = ldexp(1, power);
			double out_bytes = bytes * (1 - 1.0 / nodes);
			double Bps = 50e9 * pow(out_bytes / 1e9, 0.15) / (nodes / 2.0);

			calibrate_add_sample(diags, nowhere, cluster, &m, network, "all_to_all",
			    8 * nodes, 8, bytes, 1e-5 + PEER_S * (8 * nodes - 1) + out_bytes / Bps);
		}
	curves = calibrate_traffic(&m, cluster, network);
	cr_assert_eq(curves.n, 2);
	cr_assert_gt(traffic_Bps(&curves, 2, 4e8), 1.8 * traffic_Bps(&curves, 4, 4e8));
	cr_assert_gt(traffic_Bps(&curves, 2, 4e8), 1.3 * traffic_Bps(&curves, 2, 8e6));
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 0, &out), 0);
	doc = doc_parse(arena, diags, "calibrated", out.text, out.length);
	again = doc ? cluster_read(arena, diags, doc) : NULL;
	cr_assert_not_null(again, "%s", out.text);
	cr_assert_eq(again->levels[network].all_to_all.n, 2);
	cr_assert_float_eq(traffic_Bps(&again->levels[network].all_to_all, 2, 4e8),
	    traffic_Bps(&curves, 2, 4e8), 1e8);
}

/* The share of the all-to-all that is hidden, in the file; -1: the file has none. */
static double
hidden_of(double compute_s, double comm_s, double both_s)
{
	struct str text = str_new(arena), out = str_new(arena);

	memset(&m.hidden, 0, sizeof(m.hidden));
	str_addf(&text,
	    "{\"environment\": {\"comparable\": true}, \"overlap\": {\"compute_s\": %g, "
	    "\"communication_s\": %g, \"both_s\": %g, \"hidden\": 0.99}}",
	    compute_s, comm_s, both_s);
	cr_assert_eq(add_measured(text.text), 0);
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 1, &out), 0);
	return read_cluster(out.text, out.length)->hidden[HIDDEN_ALL_TO_ALL];
}

Test(calibrate, overlap_is_a_share_of_the_all_to_all, .init = calibrate_open, .fini = scratch_close)
{
	cr_assert_float_eq(cluster->hidden[HIDDEN_ALL_TO_ALL], -1, 0);
	cr_assert_float_eq(hidden_of(4, 2, 5), 0.5, 1e-9);
	cr_assert_float_eq(hidden_of(1, 4, 4.5), 0.125, 1e-9);
	cr_assert_float_eq(hidden_of(2, 2, 4), 0, 1e-9);
	cr_assert_float_eq(hidden_of(2, 2, 4.5), 0, 1e-9);
	cr_assert_float_eq(hidden_of(1, 4, 4), -1, 0, "all of the products hid: more could have");
	cr_assert_float_eq(hidden_of(0, 0, 0), -1, 0);
}

/* Traffic of a step hides where computation is beside it: one part in four has none. */
Test(calibrate, overlap_in_the_step_counts_before_that_by_itself, .init = calibrate_open,
    .fini = scratch_close)
{
	struct str out = str_new(arena);
	const struct cluster *read;

	cr_assert_eq(
	    add_measured("{\"environment\": {\"comparable\": true},"
			 "\"overlap\": {\"compute_s\": 4, \"communication_s\": 2, \"both_s\": 4},"
			 "\"expert_overlap\": {\"compute_s\": 8, \"communication_s\": 4,"
			 "\"both_s\": 10.5, \"beside\": 0.75},"
			 "\"tensor_parallel_overlap\": {\"compute_s\": 8, \"communication_s\": 4,"
			 "\"both_s\": 11, \"beside\": 1}}"),
	    0);
	cr_assert_eq(calibrate_cluster(diags, cluster, &m, 1, &out), 0);
	read = read_cluster(out.text, out.length);
	cr_assert_float_eq(read->hidden[HIDDEN_ALL_TO_ALL], 0.5, 1e-9);
	cr_assert_float_eq(read->hidden[HIDDEN_TENSOR_PARALLEL], 0.25, 1e-9);
	cr_assert_float_eq(read->hidden[HIDDEN_DATA_PARALLEL], -1, 0);
}

/* Of what several reports say of one size the median, in whatever order they come. */
Test(calibrate, order_of_reports_does_not_matter, .init = calibrate_open, .fini = scratch_close)
{
	static const double flops[2][3] = {{4e14, 4e14, 6e14}, {6e14, 4e14, 4e14}};
	struct loc nowhere = {NULL, 0, 0};
	struct traffic_curves traffic;
	struct str text;
	int order, i;

	for (order = 0; order < 2; order++) {
		memset(&m, 0, sizeof(m));
		for (i = 0; i < 3; i++) {
			text = str_new(arena);
			str_addf(&text,
			    "{\"environment\": {\"comparable\": true}, \"products\": [{\"name\": "
			    "\"experts\", \"m\": 512, \"n\": 4096, \"k\": 4096, \"flops\": %g}]}",
			    flops[order][i]);
			cr_assert_eq(add_measured(text.text), 0);
			calibrate_add_sample(diags, nowhere, cluster, &m, 1, "all_to_all",
			    order ? 32 - 8 * i : 16 + 8 * i, 8, 1e9, 1);
			calibrate_add_sample(diags, nowhere, cluster, &m, 1, "all_to_all", 16, 8,
			    2e9, 1e14 / flops[order][i]);
		}
		cr_assert_float_eq(calibrate_grouped(&m, 4e14).value[0], 1, 1e-9);
		traffic = calibrate_traffic(&m, cluster, 1);
		cr_assert_eq(traffic.n, 3);
		for (i = 0; i < 3; i++)
			cr_assert_float_eq(traffic.units[i], 2 + i, 1e-9);
		cr_assert_eq(traffic.Bps[0].n, 2);
		cr_assert_float_eq(traffic.Bps[0].value[1], 4e9, 1e6);
	}
}

Test(calibrate, several_reports_are_merged, .init = calibrate_open, .fini = scratch_close)
{
	cr_assert_eq(add_measured(all_to_all_report(320e9, 2e-6, "true", "H100-SXM5-80GB")), 0);
	cr_assert_eq(add_measured(all_to_all_report(300e9, 2e-6, "true", "H100-SXM5-80GB")), 0);
	m.memory_Bps.values[1] = 2.7e12;
	cr_assert_float_eq(readings_median(&m.memory_Bps), 2.85e12, 1);
	cr_assert_float_eq(readings_spread(&m.memory_Bps), 3.0 / 2.7 - 1, 1e-9);
	cr_assert(calibrate_fit(&m, 0).Bps > 300e9 && calibrate_fit(&m, 0).Bps < 320e9);
	cr_assert_eq(m.reports, 2);
}
