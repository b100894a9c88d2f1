/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Are the lines of each framework's log read, and nothing else? */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "model/strategy.h"
#include "model/training_log.h"

static struct arena *arena;

static void
setup(void)
{
	arena = arena_new(NULL, NULL);
}

static void
teardown(void)
{
	arena_free(arena);
}

TestSuite(training_log, .init = setup, .fini = teardown);

static bool
read_log(const char *text, struct log_facts *facts)
{
	return log_read_text(arena, text, strlen(text), facts);
}

Test(training_log, megatron)
{
	struct log_facts facts;

	cr_assert(read_log(
	    " iteration 1/ 9 | consumed samples: 64 | elapsed time per iteration (ms): 9000.0 | "
	    "throughput per GPU (TFLOP/s/GPU): 30.0 |\n"
	    " iteration 2/ 9 | consumed samples: 128 | elapsed time per iteration (ms): 1300.0 | "
	    "throughput per GPU (TFLOP/s/GPU): 310.0 |\n"
	    "[Rank 0] (after 2 iterations) memory (MB) | allocated: 100.5 | max allocated: 2048.0 "
	    "| reserved: 1 | max reserved: 4096.0\n"
	    " iteration 3/ 9 | elapsed time per iteration (ms): 1200.0 | x\n"
	    " iteration 4/ 9 | elapsed time per iteration (ms): 1250.0 | x\n"
	    " iteration 5/ 9 | elapsed time per iteration (ms): 1240.0 |",
	    &facts));
	cr_assert_str_eq(facts.format, "Megatron-LM");
	cr_assert_eq(facts.lines, 5);
	cr_assert_float_eq(
	    facts.step_s, 1.245, 1e-9, "%g: the first fifth is left out", facts.step_s);
	cr_assert_float_eq(facts.allocated_bytes, 2048.0 * 1048576, 1);
	cr_assert_float_eq(facts.reserved_bytes, 4096.0 * 1048576, 1);
	cr_assert_float_eq(facts.tflops_per_gpu, 170, 1e-9, "two lines: none is left out");
	cr_assert_leq(facts.step_low_s, facts.step_s);
	cr_assert_geq(facts.step_high_s, facts.step_s);
}

/* Two lines a step: the time counts once. */
Test(training_log, megatron_bridge)
{
	struct log_facts facts;

	cr_assert(read_log("Step Time : 9.09s GPU utilization: 663.5MODEL_TFLOP/s/GPU\n"
			   " iteration 50/ 50 | elapsed time per iteration (ms): 9089.0 | x |\n"
			   "Step Time : 9.11s GPU utilization: 662.5MODEL_TFLOP/s/GPU\n",
	    &facts));
	cr_assert_str_eq(facts.format, "Megatron-Bridge");
	cr_assert_eq(facts.lines, 2);
	cr_assert_float_eq(facts.step_s, 9.10, 1e-9);
	cr_assert_float_eq(facts.tflops_per_gpu, 663, 1e-9);
}

/* As NeMo 2.x prints it; its first step compiles and connects. */
Test(training_log, nemo)
{
	struct str text;
	struct log_facts facts;
	int i;

	text = str_new(arena);
	for (i = 0; i < 20; i++)
		str_addf(&text,
		    "%d: Training epoch 0, iteration %d/99 | lr: 7.4e-06 | "
		    "global_batch_size: 128 | global_step: %d | peak_memory_usage: 70833405952 | "
		    "memory_allocated: 44271689728 | reduced_train_loss: 11.96 | "
		    "train_step_timing in s: %.2f | "
		    "consumed_samples: 6400\n",
		    i % 4, i, i, i ? 12.39 : 48.2);
	cr_assert(log_read_text(arena, text.text, text.length, &facts));
	cr_assert_str_eq(facts.format, "Megatron (NeMo)");
	cr_assert_float_eq(facts.step_s, 12.39, 1e-9);
	cr_assert_float_eq(facts.reserved_bytes, 70833405952.0, 1);
	cr_assert_eq(facts.sizes[LOG_GLOBAL_BATCH], 128);
}

Test(training_log, deepspeed)
{
	struct strategy strategy = {.global_batch = 64};
	struct log_facts facts;

	cr_assert(read_log("steps: 10 loss: 2.3 iter time (s): 1.5 samples/sec: 4\n"
			   "[INFO] step=10 CurrSamplesPerSec=4, MemAllocated=1.0GB, "
			   "MaxMemAllocated=12.5GB\n",
	    &facts));
	cr_assert_str_eq(facts.format, "DeepSpeed");
	cr_assert_float_eq(facts.step_s, 1.5, 1e-9);
	cr_assert_float_eq(facts.allocated_bytes, 12.5 * 1073741824.0, 1);
	cr_assert_float_eq(log_step_s(&facts, &strategy), 1.5, 1e-9);
	cr_assert(read_log("epoch=0/micro_step=4/global_step=2, RunningAvgSamplesPerSec=30.1, "
			   "CurrSamplesPerSec=32.0, MemAllocated=1.0GB, MaxMemAllocated=2.0GB\n",
	    &facts));
	cr_assert_float_eq(facts.step_s, 0, 1e-12);
	cr_assert_float_eq(log_step_s(&facts, &strategy), 2, 1e-9);
}

/* With colours, as a terminal gets it; thousands have commas. */
Test(training_log, torchtitan)
{
	struct strategy strategy = {.global_batch = 64, .seq_len = 8192, .world = 16};
	struct log_facts facts;

	cr_assert(read_log(
	    "[rank0]:[titan] 2026-01-01 10:00:00 - root - INFO - https://x tps\n"
	    "[titan] \033[31mstep: 10  \033[32mloss:  7.9  \033[38;2;180;60;0mgrad_norm: 1 "
	    "\033[36mmemory: 71.50GiB(90.2%)  \033[34mtps: 5,120  \033[36mtflops: 333.25  "
	    "\033[35mmfu: 33.76%\033[39m\n",
	    &facts));
	cr_assert_str_eq(facts.format, "torchtitan");
	cr_assert_float_eq(facts.tokens_per_s_per_gpu, 5120, 1e-9);
	cr_assert_float_eq(facts.tflops_per_gpu, 333.25, 1e-9);
	cr_assert_float_eq(facts.reserved_bytes, 71.5 * 1073741824.0, 1);
	cr_assert_float_eq(log_step_s(&facts, &strategy), 64 * 8192 / (5120.0 * 16), 1e-9);
}

Test(training_log, what_is_no_log)
{
	struct log_facts facts;

	cr_assert_not(read_log("nothing of the kind\n", &facts));
	cr_assert_not(read_log("", &facts));
	cr_assert_not(
	    read_log("elapsed time per iteration (ms): nan\niter time (s): -1\n", &facts));
	cr_assert_not(read_log("https: 1 http_tps: 3\n", &facts));
}

/* More steps than are kept, and a line longer than is read. */
Test(training_log, long_logs)
{
	struct str text = str_new(arena);
	struct log_facts facts;
	int i;

	for (i = 0; i < 30000; i++)
		str_addf(&text, "iter time (s): %d.5\n", i < 6000 ? 9 : 1);
	for (i = 0; i < 100000; i++)
		str_add(&text, "x");
	str_add(&text, " iter time (s): 77\niter time (s): 1.5");
	cr_assert(log_read_text(arena, text.text, text.length, &facts));
	cr_assert_eq(facts.lines, 30001);
	cr_assert_float_eq(facts.step_s, 1.5, 1e-9);
	cr_assert_float_eq(facts.step_high_s, 1.5, 1e-9);
}

Test(training_log, a_file_that_is_not_there)
{
	struct diags *diags = diags_new(arena);
	struct log_facts facts;

	cr_assert_eq(log_read_file(arena, diags, "/no/such/log", &facts), -1);
	cr_assert_eq(diags->errors, 1);
}

/* Arguments, iterations, and the words that stand without a space before them. */
Test(training_log, sizes_of_the_job)
{
	struct strategy strategy = {
	    .world = 32, .tp = 2, .pp = 4, .ep = 8, .global_batch = 256, .seq_len = 4096};
	struct diags *diags = diags_new(arena);
	struct log_facts facts;

	cr_assert(
	    read_log("using world size: 32, data-parallel size: 4, hierarchical "
		     "context-parallel sizes: Nonetensor-model-parallel size: 2, "
		     "encoder-tensor-model-parallel size: 1, pipeline-model-parallel size: 4\n"
		     "  encoder_seq_length .................. 512\n"
		     "  expert_model_parallel_size .......... 8\n"
		     "  seq_length .......................... 4096\n"
		     " iteration 1/ 9 | elapsed time per iteration (ms): 90.0 | global batch "
		     "size:   128 |\n"
		     " iteration 2/ 9 | elapsed time per iteration (ms): 90.0 | global batch "
		     "size:   256 |\n",
		&facts));
	cr_assert_eq(log_check_sizes(diags, "log", &facts, &strategy), 0);
	strategy.pp = 2;
	cr_assert_eq(log_check_sizes(diags, "log", &facts, &strategy), -1);
	cr_assert_str_eq(diags->last->message, "the log is of another run: PP 4, the plan has 2");
	strategy =
	    (struct strategy){.tp = 1, .pp = 2, .ep = 4, .global_batch = 64, .seq_len = 8192};
	cr_assert(read_log("Building device mesh with parallelism: pp=2, dp_replicate=1, "
			   "dp_shard=8, cp=1, tp=1, ep=4, etp=1\n"
			   "Trainer is initialized with local batch size 8, global batch size 64, "
			   "gradient accumulation steps 1, sequence length 8192, total steps 10\n"
			   "step: 1  loss: 7.5  memory: 0.39GiB(0.13%)  tps: 68  tflops: 0.02\n",
	    &facts));
	cr_assert_eq(log_check_sizes(diags, "log", &facts, &strategy), 0);
	strategy.ep = 8;
	strategy.seq_len = 4096;
	cr_assert_eq(log_check_sizes(diags, "log", &facts, &strategy), -1);
	cr_assert(read_log("[INFO] [config.py:1003:print]   train_batch_size ............. 512\n"
			   "[INFO] [config.py:1003:print]   world_size ............. 2\n"
			   "iter time (s): 1.5\n",
	    &facts));
	cr_assert_eq(facts.sizes[LOG_GLOBAL_BATCH], 512);
	cr_assert_eq(facts.sizes[LOG_WORLD], 0, "DeepSpeed prints its data-parallel ranks there");
}

Test(training_log, a_key_behind_a_longer_word)
{
	struct log_facts facts;

	cr_assert(read_log("see https://example.org step: 1  tps: 5,762\n", &facts));
	cr_assert_str_eq(facts.format, "torchtitan");
	cr_assert_float_eq(facts.tokens_per_s_per_gpu, 5762, 1e-9);
	cr_assert_not(read_log("see https:5 and https:6\n", &facts), "no word of its own");
}
