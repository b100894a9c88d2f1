/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which options does the probe take? One table for both programs. */
#include <stddef.h>

#include "base/field.h"
#include "model/probe_options.h"

const char *const probe_backends[] = {"auto", "cuda", "cpu", NULL};

#define MEMBER(name) .offset = offsetof(struct probe_options, name), .option_only = true

/* clang-format off */
const struct field probe_fields[] = {
	{.name = "backend", .arg = "auto|cuda|cpu", .kind = FIELD_CHOICE, MEMBER(backend),
	 .choices = probe_backends, .help = "cuda: GPUs and NCCL; cpu: a rehearsal (auto)"},
	{.name = "steps", .arg = "N", .kind = FIELD_INT, MEMBER(steps), .min = 1, .max = 1000,
	 .help = "steps that are timed (20; 2 on CPUs)"},
	{.name = "tolerance", .arg = "PCT", .kind = FIELD_NUMBER, MEMBER(tolerance), .min = 0,
	 .max = 1000, .help = "how much slower than predicted a part may be, percent (20)"},
	{.name = "timeout", .arg = "S", .kind = FIELD_NUMBER, MEMBER(timeout_s), .min = 1,
	 .max = 3600, .help = "seconds for ranks to arrive and for every operation (60)"},
	{.name = "load_skew", .arg = "SPEC|FILE", .kind = FIELD_TEXT, MEMBER(load_skew),
	 .help = "which experts tokens choose: balanced, zipf=S, cv=C, one, a file of loads "
	         "(balanced)"},
	{.name = "placement", .arg = "FILE", .kind = FIELD_TEXT, MEMBER(placement),
	 .help = "which expert is on which GPU, copies too: what 'moeplan place' wrote "
	         "(by number)"},
	{.name = "master", .arg = "HOST[:PORT]", .kind = FIELD_TEXT, MEMBER(master),
	 .help = "where rank 0 listens, when the launcher does not say"},
	{.name = NULL},
};
/* clang-format on */

void
probe_options_init(struct probe_options *options)
{
	*options =
	    (struct probe_options){.tolerance = 20, .timeout_s = 60, .load_skew = "balanced"};
}
