/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does every fault end on all ranks within the time-out, with a message that says who was missing?
 *
 * usage: faults PLAN [PLAN...]   plans for 4 ranks, the first with a tensor-parallel and an
 *                                expert-parallel group
 *
 * Each case forks the first plan's ranks with a backend that blocks, lets one of them do harm, and
 * looks at how each rank ended and what it said. The other plans run clean: where every operation
 * blocks until all members have come to it, two ranks that post in different orders never end.
 * Prints "N passed, N failed" last.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "probe/control_private.h"
#include "probe/launch.h"
#include "probe/probe_run.h"
#include "probe/wire.h"
#include "tests/probe/faults.h"

enum { RANKS = 4 };

struct fault {
	const char *name;
	int rank;	   /* who does it */
	const char *phase; /* after which; NULL: before meeting */
	void (*harm)(struct session *s);
	const char *says;    /* every rank that survives says this */
	const char *besides; /* and, when given, this */
	int status;	     /* of those that survive */
	int except;	     /* a rank that cannot know, -1 none */
};

static void
die(struct session *s)
{
	(void)s;
	raise(SIGKILL);
}

static void
sleep_for_ever(struct session *s)
{
	(void)s;
	for (;;)
		sleep(1);
}

static struct stop_request stop_request;

static void
be_told_to_stop(struct session *s)
{
	stop_request.wanted = true;
	sleep_for_ever(s);
}

static void
cut(struct session *s)
{
	control_cut(s->control);
	sleep(1);
}

/* Everybody else is on the way to an exchange of counts in the expert group. */
static void
wrong_order(struct session *s)
{
	float *one = s->backend.ops->alloc(&s->backend, sizeof(*one));
	struct collective c = {.kind = COLLECTIVE_ALL_REDUCE,
	    .element = ELEMENT_FLOAT,
	    .comm = s->groups[GROUP_TP].comm,
	    .recv = one,
	    .count = 1};

	*one = 0;
	session_collective(s, PART_GRADIENTS, "tp", &c);
}

static void
lie(struct session *s)
{
	(void)s;
	fault_bench.corrupt();
}

/* --- in the middle of a timed step ---------------------------------------------------------- */

static struct session *stepping; /* of the rank that is to stop */
static const struct backend_ops *real;

static int
gemm_until_backward(struct backend *b, const struct gemm *gemm)
{
	if (stepping && strncmp(stepping->control->own.phase, "backward of", 11) == 0)
		sleep_for_ever(stepping);
	return real->gemm(b, gemm);
}

static const struct backend_ops *
wrapped_backend(void)
{
	static struct backend_ops ops;

	real = fault_bench.ops();
	ops = *real;
	ops.gemm = gemm_until_backward;
	return &ops;
}

static void
stop_in_a_step(struct session *s)
{
	stepping = s;
}

static const struct fault faults[] = {
    {"a clean run", -1, NULL, NULL, "", NULL, PROBE_YES, -1},
    {"killed in the groups", 2, "groups", die, "rank 2 is missing", NULL, PROBE_ENVIRONMENT, 2},
    {"killed before the steps", 3, "numerics", die, "rank 3 is missing", NULL, PROBE_ENVIRONMENT,
	3},
    {"rank 0 is killed", 0, "groups", die, "rank 0 is missing", NULL, PROBE_ENVIRONMENT, 0},
    {"never arrives", 3, NULL, NULL, "missing: rank 3", NULL, PROBE_ENVIRONMENT, 3},
    {"rank 0 never arrives", 0, NULL, NULL, "rank 0", NULL, PROBE_ENVIRONMENT, 0},
    {"stuck between operations", 1, "groups", sleep_for_ever, "time-out on rank",
	"missing in every operation: rank 1\n", PROBE_ENVIRONMENT, -1},
    {"stuck in a step", 1, "numerics", stop_in_a_step, "time-out on rank",
	"missing in every operation: rank 1\n", PROBE_ENVIRONMENT, -1},
    {"a collective in the wrong order", 1, "groups", wrong_order, "time-out on rank",
	"all_reduce on tp", PROBE_ENVIRONMENT, -1},
    {"a launcher ends a rank", 1, "groups", be_told_to_stop, "rank 1 was told to stop (SIGTERM) in",
	"rank 1\n", PROBE_ENVIRONMENT, -1},
    {"a connection is cut", 2, "groups", cut, "is missing: its connection", NULL, PROBE_ENVIRONMENT,
	-1},
    {"wrong numbers", 1, "groups", lie, "", NULL, PROBE_NO, -1},
};

/* What all ranks share; ends of a pipe carry "rank status text" lines. */
static const struct fault *current;
static int report_end = -1, own_rank = -1;
static const char *plan_path;
static double clean_s; /* what a clean run takes on this machine */

static void
report(int status, const char *text)
{
	char line[CONTROL_TEXT + 64];
	int n = snprintf(line, sizeof(line), "%d %d %s%c", own_rank, status, text, '\1');

	if (write(report_end, line, (size_t)n) != n)
		_exit(70);
}

static void
report_end_of_process(const char *text)
{
	report(PROBE_ENVIRONMENT, text);
}

static void
between(struct session *s, const char *phase)
{
	if (current->rank == s->rank && current->phase && strcmp(current->phase, phase) == 0)
		current->harm(s);
}

static int
run_rank(void *context, const struct identity *identity, int listener)
{
	struct arena *arena = arena_new(NULL, NULL);
	struct probe_options options = {.steps = 1,
	    .tolerance = 20,
	    .timeout_s = fault_bench.timeout_s,
	    .load_skew = "balanced",
	    .quiet = true};
	struct probe_job job = {.arena = arena,
	    .diags = diags_new(arena),
	    .options = &options,
	    .identity = *identity,
	    .listener = listener,
	    .print = report_end_of_process,
	    .stop = &stop_request,
	    .between = between};
	struct str out = str_new(arena);
	enum probe_status status;

	(void)context;
	own_rank = identity->rank;
	fault_bench.enter(own_rank);
	if (current->rank == own_rank && !current->phase)
		_exit(0);
	job.plan = plan_read(arena, job.diags, plan_path);
	if (!job.plan)
		_exit(PROBE_USAGE);
	job.backend.ops = wrapped_backend();
	status = probe_run(&job, &out);
	report((int)status, job.diags->last ? job.diags->last->message : "");
	arena_free(arena);
	return (int)status;
}

static bool
is_right(const char *line, const struct fault *fault, int *rank)
{
	int status = -1, used = 0, wanted = fault->status;

	if (sscanf(line, "%d %d %n", rank, &status, &used) < 2)
		return false;
	if (wanted == PROBE_NO && *rank > 0)
		wanted = PROBE_YES; /* the verdict is rank 0's */
	if (*rank == fault->except)
		return true;
	if (status != wanted || !strstr(line + used, fault->says) ||
	    (fault->besides && !strstr(line + used, fault->besides))) {
		printf("  rank %d ended with %d: %s\n", *rank, status, line + used);
		return false;
	}
	return true;
}

/* Every rank but the excepted one has reported, and rightly. */
static bool
check_reports(int fd, const struct fault *fault, int world)
{
	static char text[1 << 16];
	bool seen[RANKS] = {false}, right = true;
	char *line = text, *end;
	ssize_t n = 0, got;
	int rank;

	while ((got = read(fd, text + n, sizeof(text) - 1 - (size_t)n)) > 0)
		n += got;
	text[n] = '\0';
	for (; (end = strchr(line, '\1')) != NULL; line = end + 1) {
		*end = '\0';
		rank = -1;
		if (!is_right(line, fault, &rank))
			right = false;
		if (rank >= 0 && rank < world)
			seen[rank] = true;
	}
	for (rank = 0; rank < world; rank++)
		if (!seen[rank] && rank != fault->except) {
			printf("  rank %d said nothing\n", rank);
			right = false;
		}
	return right;
}

static bool
run_fault(const struct fault *fault, int world)
{
	double start = wire_now_s(), took;
	int ends[2];
	bool right;

	if (pipe(ends) != 0 || fault_bench.prepare(world) != 0)
		return false;
	current = fault;
	report_end = ends[1];
	launch_ranks(world, run_rank, NULL);
	close(ends[1]);
	took = wire_now_s() - start;
	right = check_reports(ends[0], fault, world);
	close(ends[0]);
	/* as long as a clean run; arriving may take one time-out, an operation another; then grace */
	if (!fault->harm && fault->phase == NULL && fault->status == PROBE_YES)
		clean_s = took;
	if (fault->status == PROBE_ENVIRONMENT &&
	    took > clean_s + 2 * fault_bench.timeout_s + 15) {
		printf("  took %.1f s\n", took);
		right = false;
	}
	printf("%s %s (%.1f s)\n", right ? "ok  " : "FAIL", fault->name, took);
	fflush(stdout);
	return right;
}

int
main(int argc, char **argv)
{
	size_t i, n = sizeof(faults) / sizeof(faults[0]);
	int passed = 0, tried = 0, more;

	if (argc < 2) {
		fprintf(stderr, "usage: faults PLAN [PLAN...]\n");
		return 2;
	}
	plan_path = argv[1];
	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < n; i++) {
		if (faults[i].harm == lie && !fault_bench.corrupt)
			continue;
		passed += run_fault(&faults[i], RANKS);
		tried++;
	}
	for (more = 2; more < argc; more++, tried++) {
		plan_path = argv[more];
		passed += run_fault(&faults[0], RANKS);
	}
	printf("%d passed, %d failed\n", passed, tried - passed);
	return passed == tried ? 0 : 1;
}
