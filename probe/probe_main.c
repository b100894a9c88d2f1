/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * moeplan-probe: does the plan hold on the real machine?
 *
 * Reads the command line and the plan, finds out who this process is, chooses a backend, and runs
 * as one rank, or, started alone, forks one rank for each GPU that the plan takes; for a rehearsal
 * it has mpirun start them.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/field.h"
#include "base/output.h"
#include "probe/backend_load.h"
#include "probe/launch.h"
#include "probe/probe_run.h"

static const char *const format_choices[] = {"text", "json", NULL};

#define MEMBER(name) .offset = offsetof(struct probe_options, name)

/* clang-format off */
static const struct field output_fields[] = {
	{.name = "format", .arg = "text|json", .kind = FIELD_CHOICE, MEMBER(format),
	 .choices = format_choices, .help = "what the result is written as"},
	{.name = "output", .arg = "FILE", .kind = FIELD_TEXT, MEMBER(output),
	 .help = "write the result to FILE, whole or not at all"},
	{.name = "quiet", .kind = FIELD_FLAG, MEMBER(quiet), .help = "no notes"},
	{.name = "help", .kind = FIELD_FLAG, MEMBER(help), .help = "print this text"},
	{.name = "version", .kind = FIELD_FLAG, MEMBER(version), .help = "print the version"},
	{.name = NULL},
};
/* clang-format on */

struct program {
	struct arena *arena;
	struct diags *diags;
	struct probe_options options;
	const struct probe_plan *plan;
	struct skew skew;
	struct backend backend;
	char *const *argv;
	struct identity identity;
	bool mute; /* what the plan and the options are refused for, another rank of this host says */
};

static void
out_of_memory(void *context)
{
	(void)context;
	fputs("moeplan-probe: error: out of memory\n", stderr);
	exit(PROBE_ENVIRONMENT);
}

static void
print_diags(const struct program *p)
{
	const struct diag *d;

	for (d = p->diags->first; d; d = d->next) {
		if (p->options.quiet && d->severity == SEVERITY_NOTE)
			continue;
		if (d->loc.file && d->loc.line)
			fprintf(stderr, "%s:%d: ", d->loc.file, d->loc.line);
		else
			fprintf(stderr, "moeplan-probe: %s%s", d->loc.file ? d->loc.file : "",
			    d->loc.file ? ": " : "");
		fprintf(stderr, "%s: %s\n", severity_name(d->severity), d->message);
		if (d->hint)
			fprintf(stderr, "  %s\n", d->hint);
	}
	fflush(stderr);
}

static int
stop(const struct program *p, enum probe_status status)
{
	if (!p->mute)
		print_diags(p);
	return (int)status;
}

static void
print_fields(const struct field *field)
{
	for (; field->name; field++) {
		char name[48];
		size_t i;

		snprintf(name, sizeof(name), "--%s %s", field->name, field->arg ? field->arg : "");
		for (i = 0; name[i] && name[i] != ' '; i++)
			if (name[i] == '_')
				name[i] = '-';
		printf("  %-26s %s\n", name, field->help);
	}
}

static int
print_help(void)
{
	printf("usage: moeplan-probe PLAN [OPTIONS]\n\n"
	       "Runs a short, real Mixture-of-Experts training step on the planned groups and "
	       "compares\n"
	       "it with the prediction. PLAN is what 'moeplan plan --format json' wrote.\n\n"
	       "  torchrun --nproc-per-node 8 --no-python moeplan-probe plan.json\n"
	       "  deepspeed --no_python moeplan-probe plan.json\n"
	       "  srun moeplan-probe plan.json\n"
	       "  mpirun -n 8 moeplan-probe plan.json --backend cpu\n"
	       "  moeplan-probe plan.json          # alone: forks one rank for each GPU of one "
	       "host,\n"
	       "                                   # or rehearses with mpirun where there is no "
	       "GPU\n\n");
	print_fields(probe_fields);
	print_fields(output_fields);
	return PROBE_YES;
}

/* deepspeed and torch.distributed.launch say in front what they say in LOCAL_RANK as well. */
static bool
is_launchers(const char *argument)
{
	return strncmp(argument, "--local_rank=", 13) == 0 ||
	       strncmp(argument, "--local-rank=", 13) == 0;
}

static int
read_arguments(struct program *p, int argc, char **argv, struct arguments *arguments)
{
	struct field_set sets[] = {{"Probe", probe_fields, &p->options},
	    {"Output", output_fields, &p->options}, {NULL, NULL, NULL}};
	struct field_context context = {p->arena, p->diags};
	struct loc nowhere = {NULL, 0, 0};

	if (argc > 1 && is_launchers(argv[1])) {
		argv++;
		argc--;
	}
	probe_options_init(&p->options);
	if (options_parse(sets, argc - 1, argv + 1, arguments, &context) != 0)
		return -1;
	if (p->options.help || p->options.version)
		return 0;
	if (arguments->count != 1)
		return diag_error(p->diags, nowhere,
		    arguments->count ? "one plan is wanted, %zu are given"
				     : "no plan is given (%zu arguments)",
		    arguments->count);
	return skew_read(p->arena, p->diags, p->options.load_skew, p->options.placement, &p->skew);
}

/* --- which backend ------------------------------------------------------------------------ */

static int
count_devices(void *context)
{
	struct program *p = context;
	struct diags *diags = diags_new(p->arena);

	if (backend_load(p->arena, diags, "cuda", &p->backend) != 0)
		return -1;
	return p->backend.ops->devices(&p->backend);
}

/*
 * The parent must not touch the driver before it forks, so a child counts. Auto takes the cuda
 * backend when it loads and sees a GPU.
 */
static enum probe_status
choose_backend(struct program *p, int *devices)
{
	struct loc nowhere = {NULL, 0, 0};
	int choice = p->options.backend;

	*devices = choice == BACKEND_CPU ? 0 : count_in_child(count_devices, p);
	if (choice == BACKEND_AUTO)
		choice = *devices > 0 ? BACKEND_CUDA : BACKEND_CPU;
	if (backend_load(p->arena, p->diags, probe_backends[choice], &p->backend) != 0)
		return PROBE_ENVIRONMENT;
	if (choice == BACKEND_CUDA && *devices <= 0) {
		p->backend.ops->devices(&p->backend);
		diag_error(p->diags, nowhere, "there is no GPU to use: %s",
		    p->backend.ops->error(&p->backend));
		diag_last_hint(p->diags,
		    "'moeplan-probe %s --backend cpu' rehearses the plan without GPUs",
		    p->plan->file);
		return PROBE_ENVIRONMENT;
	}
	if (p->options.steps == 0)
		p->options.steps = p->backend.ops->times_count ? 20 : 2;
	return PROBE_YES;
}

/* --- one rank ----------------------------------------------------------------------------- */

static int
write_result(struct program *p, const struct str *out)
{
	if (p->options.output)
		return output_write_file(p->diags, p->options.output, out->text, out->length);
	return fwrite(out->text, 1, out->length, stdout) == out->length && fflush(stdout) == 0 ? 0
											       : -1;
}

static struct stop_request stop_request;

/* Set for the time that somebody looks; else the signal ends the process. */
static void
told_to_stop(int number)
{
	if (stop_request.watched) {
		stop_request.wanted = true;
		return;
	}
	signal(number, SIG_DFL);
	raise(number);
}

static int
run_rank(void *context, const struct identity *identity, int listener)
{
	struct program *p = context;
	struct probe_job job = {.arena = p->arena,
	    .diags = p->diags,
	    .options = &p->options,
	    .plan = p->plan,
	    .skew = p->skew,
	    .backend = p->backend,
	    .identity = *identity,
	    .listener = listener,
	    .stop = &stop_request};
	struct str out = str_new(p->arena);
	enum probe_status status;

	p->mute = false;
	if (identity->rank == 0)
		plan_notes(p->plan, p->diags);
	signal(SIGTERM, told_to_stop);
	status = probe_run(&job, &out);
	p->mute = job.told && identity->local_rank > 0;

	if (out.length && write_result(p, &out) != 0)
		status = PROBE_ENVIRONMENT;
	return stop(p, status);
}

static const char *
look_up(void *context, const char *name)
{
	(void)context;
	return getenv(name);
}

/* TP x CP x PP x DP ranks are wanted; the launcher says how many there are. */
static enum probe_status
check_world(struct program *p, const struct identity *identity)
{
	const struct strategy *s = &p->plan->strategy;
	struct loc nowhere = {NULL, 0, 0};

	if (identity->world == s->world)
		return PROBE_YES;
	diag_error(p->diags, nowhere,
	    "%s started %d rank%s, the plan takes TP %lld x CP %lld x PP %lld x "
	    "DP %lld = %lld",
	    identity->launcher, identity->world, identity->world == 1 ? "" : "s", (long long)s->tp,
	    (long long)s->cp, (long long)s->pp, (long long)s->dp, (long long)s->world);
	return PROBE_NO;
}

enum { PORT_FIRST = 20000, PORT_RANGE = 10000 };

/* Launchers that name no port: one that follows from the job's token. */
static void
derive_port(struct identity *identity)
{
	uint64_t hash = name_hash(identity->token ? identity->token : "moeplan");

	if (identity->port == 0)
		identity->port = PORT_FIRST + (int)(hash % PORT_RANGE);
}

static int
run_launched(struct program *p, struct identity *identity)
{
	struct loc nowhere = {NULL, 0, 0};
	enum probe_status status = check_world(p, identity);

	if (status != PROBE_YES)
		return stop(p, status);
	if (p->options.master &&
	    identity_master(p->arena, p->diags, p->options.master, identity) != 0)
		return stop(p, PROBE_USAGE);
	if (!identity->master) {
		diag_error(p->diags, nowhere, "%s names no host of rank 0", identity->launcher);
		diag_last_hint(p->diags, "add --master HOST, or set MASTER_ADDR");
		return stop(p, PROBE_USAGE);
	}
	derive_port(identity);
	return run_rank(p, identity, -1);
}

/* The cpu backend's ranks are MPI's: it comes back only when there is no mpirun. */
static int
run_mpirun(struct program *p)
{
	long long world = p->plan->strategy.world;
	struct loc nowhere = {NULL, 0, 0};
	int result;

	if (!p->options.quiet)
		fprintf(stderr, "moeplan-probe: note: starting %lld ranks with mpirun\n", world);
	result = launch_mpirun((int)world, p->argv);
	if (result > 0)
		diag_error(p->diags, nowhere,
		    "this mpirun tells its ranks apart by variables that are not known here");
	else
		diag_error(p->diags, nowhere,
		    "the cpu backend talks over MPI, and mpirun cannot be started: %s",
		    strerror(errno));
	diag_last_hint(p->diags,
	    "with Open MPI or MPICH: mpirun -n %lld moeplan-probe %s --backend cpu", world,
	    p->plan->file);
	return stop(p, PROBE_ENVIRONMENT);
}

static int
run_alone(struct program *p, int devices)
{
	int64_t world = p->plan->strategy.world;
	struct identity one = {
	    .world = 1, .local_world = 1, .local_rank = 0, .master = "127.0.0.1"};
	struct loc nowhere = {NULL, 0, 0};
	int status;

	if (world == 1 && !p->backend.ops->times_count)
		return run_rank(p, &one, -1);
	if (!p->backend.ops->times_count)
		return run_mpirun(p);
	if (world > devices) {
		diag_error(p->diags, nowhere, "the plan takes %lld GPUs, this host has %d",
		    (long long)world, devices);
		diag_last_hint(
		    p->diags, "start it on every node with torchrun, deepspeed, srun or mpirun");
		return stop(p, PROBE_NO);
	}
	status = launch_ranks((int)world, run_rank, p);
	if (status >= 0)
		return status;
	diag_error(p->diags, nowhere, "ranks cannot be forked on this host");
	return stop(p, PROBE_ENVIRONMENT);
}

static int
run_program(struct program *p, const char *path)
{
	enum probe_status status;
	int devices;

	p->plan = plan_read(p->arena, p->diags, path);
	if (!p->plan || identity_read(p->arena, p->diags, look_up, NULL, &p->identity) != 0)
		return stop(p, PROBE_USAGE);
	if (plan_runnable(p->plan, p->diags) != 0)
		return stop(p, PROBE_NO);
	if (skew_check(&p->skew, p->plan->model, &p->plan->strategy, p->diags) != 0)
		return stop(p, PROBE_USAGE);
	p->mute = false; /* a GPU may be missing on this rank alone */
	status = choose_backend(p, &devices);
	if (status != PROBE_YES)
		return stop(p, status);
	p->mute = p->identity.local_rank > 0;
	if (p->backend.ops->times_count && plan_timed(p->plan, p->diags) != 0)
		return stop(p, PROBE_NO);
	return p->identity.launcher ? run_launched(p, &p->identity) : run_alone(p, devices);
}

int
main(int argc, char **argv)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct arguments arguments = {NULL, 0};
	struct program *p;
	int status;

	if (!arena)
		out_of_memory(NULL);
	signal(SIGPIPE, SIG_IGN);
	p = arena_alloc(arena, sizeof(*p));
	p->arena = arena;
	p->argv = argv;
	p->diags = diags_new(arena);
	p->mute = identity_read(arena, diags_new(arena), look_up, NULL, &p->identity) == 0 &&
		  p->identity.local_rank > 0;
	if (read_arguments(p, argc, argv, &arguments) != 0)
		status = stop(p, PROBE_USAGE);
	else if (p->options.help)
		status = print_help();
	else if (p->options.version)
		status = puts("moeplan-probe " PROBE_VERSION) < 0;
	else
		status = run_program(p, arguments.positional[0]);
	arena_free(arena);
	return status;
}
