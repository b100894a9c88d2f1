/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults over a backend whose operations block for ever when a rank is missing. */
#include "tests/probe/blocking.h"
#include "tests/probe/faults.h"

static void
enter(int rank)
{
	(void)rank;
}

static void
corrupt(void)
{
	blocking_corrupt(3);
}

const struct fault_bench fault_bench = {
    .timeout_s = 3,
    .prepare = blocking_prepare,
    .enter = enter,
    .ops = blocking_backend,
    .corrupt = corrupt,
};
