/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does a training log say of step time, throughput and memory?
 *
 * A row of the table is a word that a framework prints before a number, with its unit:
 *   Megatron-LM      megatron/training/training.py: "elapsed time per iteration (ms): 1234.5",
 *                    "throughput per GPU (TFLOP/s/GPU): 312.1", "max allocated: 12345.6" (2^20)
 *   Megatron-Bridge  "Step Time : 9.09s GPU utilization: 663.5MODEL_TFLOP/s/GPU"
 *   DeepSpeed        pipeline engine: "iter time (s): 1.234"; utils/timer.py:
 *                    "CurrSamplesPerSec=36.1, MemAllocated=12.3GB, MaxMemAllocated=23.4GB" (2^30)
 *   NeMo             "train_step_timing in s: 12.39", "TFLOPS_per_GPU: 512.3", and of its
 *                    MegatronStrategy "peak_memory_usage: 70833405952", reserved by the allocator
 *   torchtitan       components/metrics.py: "memory: 71.31GiB(90.2%)  tps: 5,762  tflops: 333.9"
 * Of the job itself, Megatron-LM prints "using world size: 32, ..." and its arguments, DeepSpeed
 * its configuration, torchtitan "Building device mesh ..." and "Trainer is initialized with ...".
 * A framework that prints one step on two lines is counted once: the series with most numbers is
 * taken. Colours are stepped over. The median leaves out the first fifth, which is warming up.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/numeric.h"
#include "base/str.h"
#include "model/strategy.h"
#include "model/training_log.h"

enum what { STEP, SAMPLES, TOKENS, TFLOPS, ALLOCATED, RESERVED };

#define NEMO "Megatron (NeMo)"
static const struct {
	const char *before, *format;
	enum what what;
	double unit;
} keys[] = {
    {"elapsed time per iteration (ms):", "Megatron-LM", STEP, 1e-3},
    {"Step Time :", "Megatron-Bridge", STEP, 1},
    {"train_step_timing in s:", NEMO, STEP, 1},
    {"train_step_timing in s=", NEMO, STEP, 1}, /* of its progress bar */
    {"iter time (s):", "DeepSpeed", STEP, 1},
    {"CurrSamplesPerSec=", "DeepSpeed", SAMPLES, 1},
    {"tps:", "torchtitan", TOKENS, 1},
    {"throughput per GPU (TFLOP/s/GPU):", "Megatron-LM", TFLOPS, 1},
    {"GPU utilization:", "Megatron-Bridge", TFLOPS, 1},
    {"TFLOPS_per_GPU:", NEMO, TFLOPS, 1},
    {"tflops:", "torchtitan", TFLOPS, 1},
    {"max allocated:", "Megatron-LM", ALLOCATED, 0x1p20},
    {"max reserved:", "Megatron-LM", RESERVED, 0x1p20},
    {"peak_memory_usage:", NEMO, RESERVED, 1},
    {"MaxMemAllocated=", "DeepSpeed", ALLOCATED, 0x1p30},
    {"Max_MA", "DeepSpeed", ALLOCATED, 0x1p30},
    {"memory:", "torchtitan", RESERVED, 0x1p30},
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]), LINE_ROOM = 16384, KEPT = 8192 };

/* A size of the job stands behind `before` on lines that hold `line`. */
static const struct {
	const char *line, *before;
	enum log_size size;
} size_keys[] = {
    {"using world size:", "using world size:", LOG_WORLD},
    {"using world size:", "tensor-model-parallel size:", LOG_TP},
    {"using world size:", "pipeline-model-parallel size:", LOG_PP},
    {" tensor_model_parallel_size .", "_size ", LOG_TP},
    {" pipeline_model_parallel_size .", "_size ", LOG_PP},
    {" expert_model_parallel_size .", "_size ", LOG_EP},
    {" seq_length .", "_length ", LOG_SEQ_LEN},
    {" global_batch_size .", "_size ", LOG_GLOBAL_BATCH},
    {" iteration ", "global batch size:", LOG_GLOBAL_BATCH},
    {"Training epoch ", "global_batch_size: ", LOG_GLOBAL_BATCH},
    {" train_batch_size .", "_size ", LOG_GLOBAL_BATCH},
    {"Building device mesh", " tp=", LOG_TP},
    {"Building device mesh", " pp=", LOG_PP},
    {"Building device mesh", " ep=", LOG_EP},
    {"Trainer is initialized with", "global batch size ", LOG_GLOBAL_BATCH},
    {"Trainer is initialized with", "sequence length ", LOG_SEQ_LEN},
};
enum { SIZE_KEYS = sizeof(size_keys) / sizeof(size_keys[0]) };

/* Numbers of one key; when all places are taken every second one is dropped, and so on. */
struct series {
	int64_t seen, stride;
	int n;
	double values[KEPT], most;
};

struct log_reader {
	struct series series[KEYS];
	int64_t sizes[LOG_SIZES];
	char line[LINE_ROOM + 1];
	size_t length;
	bool escape; /* inside a colour: ESC [ ... letter */
};

static void
series_add(struct series *s, double value)
{
	int i;

	s->most = value > s->most ? value : s->most;
	if (s->stride == 0)
		s->stride = 1;
	if (s->seen++ % s->stride != 0)
		return;
	if (s->n == KEPT) {
		for (i = 0; i < KEPT / 2; i++)
			s->values[i] = s->values[2 * i];
		s->n = KEPT / 2;
		s->stride *= 2;
	}
	s->values[s->n++] = value;
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The number at `at`, with commas between thousands; 0 when there is none. */
static double
number_at(const char *at)
{
	char digits[40];
	size_t n = 0;

	while (*at == ' ')
		at++;
	for (; n + 1 < sizeof(digits) && *at && strchr("0123456789.,eE+-", *at); at++)
		if (*at != ',')
			digits[n++] = *at;
		else if (at[1] < '0' || at[1] > '9')
			break;
	digits[n] = '\0';
	return n > 0 ? numeric_strtod(digits, NULL) : 0;
}

static void
read_sizes(struct log_reader *r)
{
	size_t i;

	for (i = 0; i < SIZE_KEYS; i++) {
		const char *at = strstr(r->line, size_keys[i].line);
		double value;

		at = at ? strstr(at, size_keys[i].before) : NULL;
		if (!at)
			continue;
		at += strlen(size_keys[i].before);
		value = number_at(at + strspn(at, " .")); /* "seq_length ........ 4096" */
		if (value >= 1 && value < 1e15)
			r->sizes[size_keys[i].size] = (int64_t)value;
	}
}

/* Where `key` stands as a word of its own, not as the end of a longer one ("https:"), or NULL. */
static const char *
find_key(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	while (at && at > line && (is_letter(at[-1]) || at[-1] == '_'))
		at = strstr(at + 1, key);
	return at;
}

static void
read_line(struct log_reader *r)
{
	size_t i;

	r->line[r->length] = '\0';
	read_sizes(r);
	for (i = 0; i < KEYS; i++) {
		const char *at = find_key(r->line, keys[i].before);
		double value;

		if (!at)
			continue;
		value = number_at(at + strlen(keys[i].before)) * keys[i].unit;
		if (value > 0 && value < 1e18)
			series_add(&r->series[i], value);
	}
	r->length = 0;
}

static void
read_block(struct log_reader *r, const char *block, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++) {
		char c = block[i];

		if (c == '\n' || c == '\r') {
			read_line(r);
			r->escape = false;
		} else if (c == '\033') {
			r->escape = true;
		} else if (r->escape) {
			r->escape = !is_letter(c);
		} else if (r->length < LINE_ROOM) {
			r->line[r->length++] = c ? c : ' ';
		}
	}
}

/* Quantile of what stands behind the first fifth; `sorted` says that this was asked before. */
static double
steady(struct series *s, double q, bool sorted)
{
	int first = s->n / 5, n = s->n - first, below;
	double at = q * (n - 1);

	if (n <= 0)
		return 0;
	if (!sorted)
		numeric_sort(s->values + first, (size_t)n);
	below = (int)at;
	if (below + 1 >= n)
		return s->values[s->n - 1];
	return s->values[first + below] +
	       (at - below) * (s->values[first + below + 1] - s->values[first + below]);
}

/* The key of this kind that has most numbers, or -1. */
static int
fullest(const struct log_reader *r, enum what what)
{
	int best = -1;
	int i;

	for (i = 0; i < KEYS; i++)
		if (keys[i].what == what && r->series[i].seen > 0 &&
		    (best < 0 || r->series[i].seen > r->series[best].seen))
			best = i;
	return best;
}

static double
median_of(struct log_reader *r, enum what what)
{
	int key = fullest(r, what);

	return key < 0 ? 0 : steady(&r->series[key], 0.5, false);
}

static double
most_of(const struct log_reader *r, enum what what)
{
	double most = 0;
	int i;

	for (i = 0; i < KEYS; i++)
		if (keys[i].what == what && r->series[i].most > most)
			most = r->series[i].most;
	return most;
}

/* The last line may have no end. */
static void
finish(struct log_reader *r, struct log_facts *facts)
{
	static const enum what timed[] = {STEP, SAMPLES, TOKENS, TFLOPS, ALLOCATED, RESERVED};
	size_t i;
	int key;

	read_line(r);
	memset(facts, 0, sizeof(*facts));
	memcpy(facts->sizes, r->sizes, sizeof(facts->sizes));
	for (i = 0; i < sizeof(timed) / sizeof(timed[0]) && !facts->format; i++) {
		key = fullest(r, timed[i]);
		if (key < 0)
			continue;
		facts->format = keys[key].format;
		facts->lines = i < 3 ? r->series[key].seen : 0;
	}
	key = fullest(r, STEP);
	if (key >= 0) {
		facts->step_s = steady(&r->series[key], 0.5, false);
		facts->step_low_s = steady(&r->series[key], 0.1, true);
		facts->step_high_s = steady(&r->series[key], 0.9, true);
	}
	facts->samples_per_s = median_of(r, SAMPLES);
	facts->tokens_per_s_per_gpu = median_of(r, TOKENS);
	facts->tflops_per_gpu = median_of(r, TFLOPS);
	facts->allocated_bytes = most_of(r, ALLOCATED);
	facts->reserved_bytes = most_of(r, RESERVED);
}

bool
log_read_text(struct arena *arena, const char *text, size_t length, struct log_facts *facts)
{
	struct log_reader *r = arena_alloc(arena, sizeof(*r));

	read_block(r, text, length);
	finish(r, facts);
	return facts->format != NULL;
}

int
log_read_file(struct arena *arena, struct diags *diags, const char *path, struct log_facts *facts)
{
	struct log_reader *r = arena_alloc(arena, sizeof(*r));
	struct loc loc = {path, 0, 0};
	FILE *file = fopen(path, "rb");
	char block[8192];
	int errors = diags->errors;
	size_t got;

	if (!file)
		return diag_error(diags, loc, "'%s' cannot be opened: %s", path, strerror(errno));
	while ((got = fread(block, 1, sizeof(block), file)) > 0)
		read_block(r, block, got);
	if (ferror(file))
		diag_error(diags, loc, "'%s' cannot be read: %s", path, strerror(errno));
	finish(r, facts);
	if (fclose(file) != 0)
		return -1;
	return diags->errors > errors ? -1 : 0;
}

int
log_check_sizes(struct diags *diags, const char *name, const struct log_facts *facts,
    const struct strategy *s)
{
	static const char *const names[LOG_SIZES] = {
	    "world size", "global batch", "sequence length", "TP", "PP", "EP"};
	const int64_t planned[LOG_SIZES] = {
	    s->world, s->global_batch, s->seq_len, s->tp, s->pp, s->ep};
	struct str text = str_new(diags->arena);
	int i;

	for (i = 0; i < LOG_SIZES; i++)
		if (facts->sizes[i] > 0 && planned[i] > 0 && facts->sizes[i] != planned[i])
			str_addf(&text, "%s%s %lld, the plan has %lld", text.length ? "; " : "",
			    names[i], (long long)facts->sizes[i], (long long)planned[i]);
	if (text.length == 0)
		return 0;
	diag_error(diags, (struct loc){name, 0, 0}, "the log is of another run: %s", text.text);
	diag_last_hint(
	    diags, "give the plan or the estimate that this run was started from, or its log");
	return -1;
}

double
log_step_s(const struct log_facts *facts, const struct strategy *s)
{
	if (facts->step_s > 0)
		return facts->step_s;
	if (facts->samples_per_s > 0)
		return (double)s->global_batch / facts->samples_per_s;
	if (facts->tokens_per_s_per_gpu > 0 && s->world > 0)
		return (double)s->global_batch * (double)s->seq_len /
		       (facts->tokens_per_s_per_gpu * (double)s->world);
	return 0;
}
