/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does the cuda backend make its calls in the right order, and does it name every one that fails?
 *
 * usage: cuda_calls [PLAN...]
 *
 * The backend's own files over fake_cuda.h and the kernels on this host: each call fails once, in
 * a process of its own; and every plan's step runs whole, with as many processes as it has ranks,
 * and must match the reference. Where the plan overlaps traffic of experts or of tensor
 * parallelism, products run between its setting off and the wait for it; else none do. Then, in
 * the first plans, a rank stops for ever, and all others must end and say which operation they were
 * in. Prints "N passed, M failed" last.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "probe/control_private.h"
#include "probe/launch.h"
#include "probe/probe_run.h"
#include "tests/probe/fake_cuda.h"

enum { LIMIT_S = 60, RIGHT = 40, WRONG = 41, GOES_ON = 42 };

static int passed, failed;

static void
verdict(const char *name, const char *of, int status, int wanted)
{
	if (status == wanted)
		passed++;
	else
		failed++;
	if (status != wanted)
		printf("FAIL %s%s: status %d, wanted %d\n", name, of, status, wanted);
	fflush(stdout);
}

/* --- every call that fails ---------------------------------------------------------------- */

static struct backend backend;

static enum op_state
finish(enum op_state state, enum stream stream)
{
	int i;

	for (i = 0; state == OP_BUSY && i < 10000; i++)
		state = backend.ops->sync(&backend, stream);
	return state;
}

static int
make_comms(struct comm **world, struct comm **group)
{
	const struct backend_ops *ops = backend.ops;
	unsigned char id[PROBE_ID_BYTES];
	enum op_state state;
	int i;

	if (ops->unique_id(&backend, id) != 0)
		return -1;
	state = ops->world(&backend, id, world);
	for (i = 0; state == OP_BUSY && i < 10000; i++)
		state = ops->progress(&backend, STREAM_COMM);
	if (state != OP_DONE)
		return -1;
	state = ops->split(&backend, *world, 0, 0, group);
	for (i = 0; state == OP_BUSY && i < 10000; i++)
		state = ops->progress(&backend, STREAM_COMM);
	return state == OP_DONE && *group ? 0 : -1;
}

static int
communicate(struct comm *group, void *a, void *b)
{
	const int64_t counts[1] = {8}, zero[1] = {0};
	struct collective c = {.comm = group, .send = a, .recv = b, .count = 8};
	int kind;

	c.send_counts = c.recv_counts = counts;
	c.send_offsets = c.recv_offsets = zero;
	for (kind = COLLECTIVE_ALL_REDUCE; kind <= COLLECTIVE_ALL_TO_ALL; kind++) {
		enum op_state state = backend.ops->depend(&backend, STREAM_COMM, STREAM_COMPUTE);

		c.kind = (enum collective_kind)kind;
		if (state != OP_FAILED)
			state = backend.ops->collective(&backend, STREAM_COMM, &c);
		if (finish(state, STREAM_COMM) != OP_DONE)
			return -1;
	}
	return 0;
}

/* Two products of 8 x 8. */
static int
multiply(char *a, char *b)
{
	struct gemm
	    g = {.m = 8, .n = 8, .k = 8, .a = a, .b = b, .lda = 8, .ldb = 8, .ldc = 8, .alpha = 1},
	    both[2];

	g.c = a + 512;
	both[0] = both[1] = g;
	both[1].c = b + 512;
	if (backend.ops->gemm(&backend, &g) != 0 ||
	    backend.ops->grouped(&backend, both, 2, GROUPED_LOOP) != 0)
		return -1;
	return backend.ops->grouped(&backend, both, 2, GROUPED_API);
}

static int
use_all(void)
{
	struct comm *world = NULL, *group = NULL;
	float values[64] = {1};
	struct device_facts facts;
	char *a, *b;

	if (backend.ops->devices(&backend) != 1 || backend.ops->open(&backend, 0, 1, 0) != 0)
		return -1;
	backend.ops->describe(&backend, &facts);
	a = backend.ops->alloc(&backend, 2048);
	b = backend.ops->alloc(&backend, 2048);
	if (!a || !b || backend.ops->put(&backend, ELEMENT_ACT, a, values, 64) != 0 ||
	    backend.ops->fill(&backend, b, 0, 2048) != 0 || make_comms(&world, &group) != 0 ||
	    backend.ops->mark(&backend, 0, STREAM_COMPUTE) != 0 || communicate(group, a, b) != 0 ||
	    multiply(a, b) != 0 || backend.ops->add(&backend, a, b, 64) != 0 ||
	    backend.ops->mark(&backend, 1, STREAM_COMPUTE) != 0 ||
	    finish(OP_BUSY, STREAM_COMPUTE) != OP_DONE || !backend.ops->passed(&backend, 1) ||
	    backend.ops->elapsed(&backend, 0, 1) < 0 ||
	    backend.ops->get(&backend, ELEMENT_ACT, values, a, 64) != 0)
		return -1;
	backend.ops->abort(&backend);
	backend.ops->release(&backend, a);
	backend.ops->release(&backend, b);
	backend.ops->close(&backend);
	return 0;
}

/* What the error says beside the call's own message; NULL: goes on without what it would tell. */
static const struct {
	const char *function;
	int nth;
	const char *says;
} calls[] = {
    {"cudaGetDeviceCount", 1, "fake"},
    {"cudaGetDeviceCount", 2, "counting GPUs"},
    {"cudaDriverGetVersion", 1, "the driver's version"},
    {"cudaSetDevice", 1, "choosing the GPU"},
    {"cudaDeviceGetStreamPriorityRange", 1, "stream priorities"},
    {"cudaStreamCreateWithPriority", 1, "making streams"},
    {"cudaStreamCreateWithPriority", 8, "making streams"},
    {"cudaEventCreateWithFlags", 1, "making events"},
    {"cudaEventCreate", 9, "making events"},
    {"cublasCreate", 1, "starting cuBLAS"},
    {"cublasCreate", 3, "starting cuBLAS"},
    {"cublasSetStream", 1, "cuBLAS' stream"},
    {"cudaMalloc", 1, "memory"},
    {"cudaMalloc", 3, "memory"},
    {"cudaMemcpyAsync", 1, "copying"},
    {"cudaMemcpyAsync", 2, "copying"},
    {"cudaMemsetAsync", 1, "filling"},
    {"ncclGetUniqueId", 1, "the id"},
    {"ncclCommInitRankConfig", 1, "the world: fake: an error: fake: what went wrong"},
    {"ncclCommSplit", 1, "a split"},
    {"ncclCommGetAsyncError", 1, "asking"},
    {"ncclCommGetAsyncError", 9, "asking"},
    {"ncclCommCount", 1, "counting a group"},
    {"an operation", 1, "fake: a peer is gone"},
    {"an operation", 12, "fake: a peer is gone"},
    {"ncclAllReduce", 1, "a collective"},
    {"ncclReduceScatter", 1, "a collective"},
    {"ncclAllGather", 1, "a collective"},
    {"ncclSend", 1, "a collective"},
    {"ncclRecv", 1, "a collective"},
    {"ncclGroupStart", 1, "a collective"},
    {"ncclGroupEnd", 4, "a collective"},
    {"cudaEventRecord", 1, "fake"},
    {"cudaEventRecord", 2, "ordering"},
    {"cudaEventRecord", 7, "ordering"},
    {"cudaStreamWaitEvent", 1, "ordering"},
    {"cudaStreamWaitEvent", 6, "ordering"},
    {"cudaStreamWaitEvent", 8, "ordering"},
    {"cudaStreamQuery", 1, "the GPU: fake"},
    {"cublasGemmEx", 1, "cublasGemmEx"},
    {"cublasGemmEx", 3, "cublasGemmEx"},
    {"a launch", 1, "addresses"},
    {"cublasGemmGroupedBatchedEx", 1, "cublasGemmGroupedBatchedEx"},
    {"a launch", 2, "addition"},
    {"cudaEventElapsedTime", 1, "a time"},
    {"cudaGetDeviceProperties", 1, NULL},
    {"cudaDeviceGetPCIBusId", 1, NULL},
    {"cudaMemGetInfo", 1, NULL},
    {"", 1, NULL},
};

static int
child_status(pid_t child)
{
	int status = 0;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int
try_call(size_t i)
{
	pid_t child;
	int result;

	fflush(stdout);
	child = fork();
	if (child != 0)
		return child_status(child);
	alarm(LIMIT_S);
	fake_rank(0, (unsigned)i);
	backend.ops = fake_backend();
	fake_fail(calls[i].function, calls[i].nth);
	result = use_all();
	if (result == 0 && fake_violation()[0])
		printf("  %s\n", fake_violation());
	if (result == 0)
		_exit(fake_violation()[0] ? WRONG : GOES_ON);
	if (calls[i].says && strstr(backend.ops->error(&backend), calls[i].says))
		_exit(RIGHT);
	printf("  it says '%s'\n", backend.ops->error(&backend));
	fflush(stdout);
	_exit(WRONG);
}

/* --- what the versions at hand cannot do ---------------------------------------------------- */

/* An old driver cannot order launches, and the probe says so. */
static int
try_driver(int version, const char *says)
{
	struct device_facts facts;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child != 0)
		return child_status(child);
	unsetenv("NCCL_LAUNCH_ORDER_IMPLICIT");
	fake_driver_version = version;
	fake_rank(0, 1);
	backend.ops = fake_backend();
	if (backend.ops->open(&backend, 0, 1, 0) != 0)
		_exit(WRONG);
	backend.ops->describe(&backend, &facts);
	if (says[0] ? strstr(facts.remark, says) != NULL : !facts.remark[0])
		_exit(RIGHT);
	printf("  it says '%s'\n", facts.remark);
	fflush(stdout);
	_exit(WRONG);
}

/* --- what is posted while rows travel ------------------------------------------------------ */

static const struct backend_ops *real;
static struct travel {
	bool on;
	int departures; /* operations */
	int beside;	/* those with products beside them */
	int products;	/* beside the last one */
} rows, others;

static struct travel *
travel_on(enum stream stream)
{
	return stream == STREAM_ROWS ? &rows : stream == STREAM_COMM ? &others : NULL;
}

static enum op_state
spy_collective(struct backend *b, enum stream stream, const struct collective *c)
{
	struct travel *travel = travel_on(stream);

	if (travel) {
		travel->departures++;
		travel->products = 0;
		travel->on = true;
	}
	return real->collective(b, stream, c);
}

static enum op_state
spy_depend(struct backend *b, enum stream later, enum stream earlier)
{
	struct travel *travel = later == STREAM_COMPUTE ? travel_on(earlier) : NULL;

	if (travel) {
		travel->beside += travel->on && travel->products > 0;
		travel->on = false;
	}
	return real->depend(b, later, earlier);
}

static struct session *stopping; /* stops for ever in its next backward pass */

static int
spy_gemm(struct backend *b, const struct gemm *gemm)
{
	while (stopping && strncmp(stopping->control->own.phase, "backward of", 11) == 0)
		sleep(1);
	rows.products++;
	others.products++;
	return real->gemm(b, gemm);
}

static int
spy_grouped(struct backend *b, const struct gemm *gemms, int n, enum grouped_engine engine)
{
	rows.products++;
	others.products++;
	return real->grouped(b, gemms, n, engine);
}

static const struct backend_ops *
spying_backend(void)
{
	static struct backend_ops ops;

	real = fake_backend();
	ops = *real;
	ops.collective = spy_collective;
	ops.depend = spy_depend;
	ops.gemm = spy_gemm;
	ops.grouped = spy_grouped;
	return &ops;
}

/* Exchanges outside pairs have nothing beside them, and those of steps that run in line. */
static bool
travel_is_planned(const struct probe_plan *plan)
{
	const struct strategy *s = &plan->strategy;
	bool experts = s->overlap & OVERLAP_EP && s->ep > 1;
	bool tensors = s->overlap & OVERLAP_TP && s->tp > 1;

	if ((experts ? 8 * rows.beside > rows.departures : rows.beside == 0) &&
	    (tensors ? others.beside > 0 : others.beside == 0))
		return true;
	printf("  products beside %d of %d exchanges, %d of %d other operations\n", rows.beside,
	    rows.departures, others.beside, others.departures);
	return false;
}

/* --- whole steps -------------------------------------------------------------------------- */

static const char *plan_path;
static unsigned seed;
static bool stuck; /* rank 1 stops in a step that is timed */
/* Of the first plans: each waits until the time is over, and there are no more kinds of waits. */
enum { STOPS = 3 };

enum { STUCK_S = 15 }; /* more than any part takes on a busy host */

static void
stop_in_a_step(struct session *s, const char *phase)
{
	if (s->rank == 1 && strcmp(phase, "numerics") == 0)
		stopping = s;
}

/* What is on the device is named, not the wait for it. */
static void
judge_last_words(const char *text)
{
	bool right = strstr(text, "time-out on rank") && strstr(text, "operation: rank 1\n") &&
		     (strstr(text, "all_reduce on ") || strstr(text, "reduce_scatter on ") ||
			 strstr(text, "all_gather on ") || strstr(text, "all_to_all on ") ||
			 strstr(text, "receive on "));

	if (!right)
		printf("  %s\n", text);
	fflush(stdout);
	_exit(right ? RIGHT : WRONG);
}

static int
run_rank(void *context, const struct identity *identity, int listener)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct probe_options options = {.steps = 1,
	    .tolerance = 20,
	    .timeout_s = stuck ? STUCK_S : LIMIT_S,
	    .load_skew = "zipf=1",
	    .quiet = true};
	struct probe_job job = {.arena = arena,
	    .diags = diags_new(arena),
	    .options = &options,
	    .identity = *identity,
	    .listener = listener,
	    .print = stuck ? judge_last_words : NULL,
	    .between = stuck ? stop_in_a_step : NULL};
	struct str out = str_new(arena);
	enum probe_status status;

	(void)context;
	alarm(5 * LIMIT_S);
	fake_rank(identity->rank, seed + (unsigned)identity->rank);
	job.plan = plan_read(arena, job.diags, plan_path);
	if (!job.plan || skew_read(arena, job.diags, options.load_skew, NULL, &job.skew) != 0)
		_exit(PROBE_USAGE);
	job.backend.ops = spying_backend();
	status = probe_run(&job, &out);
	if (status == PROBE_YES && !travel_is_planned(job.plan))
		status = PROBE_NO;
	if (fake_violation()[0])
		printf("  rank %d: %s\n", identity->rank, fake_violation());
	if (status != PROBE_YES && out.length)
		fputs(out.text, stdout);
	fflush(stdout);
	_exit(fake_violation()[0] ? WRONG : (int)status);
}

static void
run_plan(const char *path, int wanted)
{
	struct arena *arena = arena_new(NULL, NULL);
	const struct probe_plan *plan = plan_read(arena, diags_new(arena), path);
	const char *name = strrchr(path, '/');
	int status = PROBE_USAGE;

	plan_path = path;
	seed += 1000;
	if (plan && fake_prepare((int)plan->strategy.world) == 0)
		status = launch_ranks((int)plan->strategy.world, run_rank, NULL);
	verdict(stuck ? "a stop in " : "a step of ", name ? name + 1 : path, status, wanted);
	arena_free(arena);
}

int
main(int argc, char **argv)
{
	char text[64];
	size_t i;
	int n;

	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		snprintf(text, sizeof(text), " (%d.)", calls[i].nth);
		verdict(calls[i].function, text, try_call(i), calls[i].says ? RIGHT : GOES_ON);
	}
	verdict("a driver", " of today", try_driver(13000, ""), RIGHT);
	verdict("a driver", " of long ago", try_driver(12020, "driver for CUDA 12.2"), RIGHT);
	for (n = 1; n < argc; n++)
		run_plan(argv[n], PROBE_YES);
	stuck = true;
	for (n = 1; n < argc && n <= STOPS; n++)
		run_plan(argv[n], RIGHT);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
