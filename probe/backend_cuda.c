/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cuda backend: CUDA runtime, cuBLAS and NCCL. Its table; cuda_private.h says what is where.
 */
#include "probe/cuda_entries.h"
#include "probe/cuda_private.h"

const struct backend_ops *moeplan_backend(void);

const struct backend_ops *
moeplan_backend(void)
{
	static struct backend_ops ops = {
	    .abi = PROBE_ABI,
	    .name = "cuda",
	    .act_bytes = 2,
	    .times_count = true,
	    .devices_word = "GPU",
	    .devices = cuda_devices,
	    .open = cuda_open,
	    .close = cuda_close,
	    .abort = cuda_abort,
	    .describe = cuda_describe,
	    .error = cuda_error,
	    .alloc = cuda_alloc,
	    .release = cuda_release,
	    .free_bytes = cuda_free_bytes,
	    .put = cuda_put,
	    .get = cuda_get,
	    .fill = cuda_fill,
	    .unique_id = cuda_unique_id,
	    .world = cuda_world,
	    .split = cuda_split,
	    .collective = cuda_collective,
	    .progress = cuda_progress,
	    .sync = cuda_sync,
	    .depend = cuda_depend,
	    .gemm = cuda_gemm,
	    .grouped = cuda_grouped,
	    .mark = cuda_mark,
	    .passed = cuda_passed,
	    .elapsed = cuda_elapsed,
	};

	cuda_kernel_ops(&ops);
	return &ops;
}
