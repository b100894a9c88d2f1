/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults over the cuda backend and the stand-ins for CUDA's libraries. */
#include "tests/probe/fake_cuda.h"
#include "tests/probe/faults.h"

static void
enter(int rank)
{
	fake_rank(rank, 7 + (unsigned)rank);
}

const struct fault_bench fault_bench = {
    .timeout_s = 10,
    .prepare = fake_prepare,
    .enter = enter,
    .ops = fake_backend,
};
