/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calibrate_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/doc.h"

struct cluster *cluster;
struct measurements m;
void
calibrate_open(void)
{
	scratch_open();
	cluster = cluster_from_text(arena, diags, "dgx-h100x4");
	memset(&m, 0, sizeof(m));
	m.peer_s = PEER_S;
	m.gemm_half = 48;
}

int
add_measured(const char *text)
{
	const struct doc *doc;

	if (text[0] != '{')
		return calibrate_add_nccl_tests(diags, cluster, "report", text, strlen(text), &m);
	doc = doc_parse(arena, diags, "report", text, strlen(text));
	return doc ? calibrate_add_report(diags, cluster, doc, &m) : -1;
}

const char *
all_to_all_report(double Bps, double latency_s, const char *comparable, const char *gpu)
{
	struct str text = str_new(arena);

	str_addf(&text,
	    "{\"schema\": \"moeplan/probe/v1\", \"gpu\": \"%s\", \"environment\": {\"comparable\": "
	    "%s},"
	    "\"device\": {\"memory_Bps\": 3.0e12}, \"products\": [{\"flops\": 7.0e14}, {\"flops\": "
	    "6e14}],"
	    "\"transfers\": [",
	    gpu, comparable);
	for (int power = 10; power < 31; power += 3) {
		double bytes = ldexp(1, power);

		str_addf(&text,
		    "%s{\"op\": \"all_to_all\", \"ranks\": 8, \"level_index\": 0, \"bytes\": %.0f, "
		    "\"seconds\": %.9g}",
		    power > 10 ? ", " : "", bytes, latency_s + 7 * PEER_S + bytes * 7 / 8 / Bps);
	}
	str_add(&text, "]}");
	return text.text;
}

struct cluster *
read_cluster(const char *text, size_t length)
{
	const struct doc *doc = doc_parse(arena, diags, "cluster", text, length);
	struct cluster *read = doc ? cluster_read(arena, diags, doc) : NULL;

	cr_assert_not_null(read, "%s\n%s", diags->first ? diags->first->message : "", text);
	return read;
}
