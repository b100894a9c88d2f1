/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From one process to a report: which phases does a rank go through?
 *
 * Meet; look at the devices; make the groups; compare a small step with the reference; measure
 * the plan's step (or, where times say nothing, rehearse it); judge. What can be wrong is checked
 * before anything is allocated.
 */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "probe/probe_run.h"

/* --- who is there ------------------------------------------------------------------------- */

static int
check_pair_of_devices(struct session *s, const struct device_facts *all, int a, int b)
{
	if (!all[a].bus_id[0] || strcmp(all[a].bus_id, all[b].bus_id) != 0 ||
	    strcmp(all[a].host, all[b].host) != 0)
		return 0;
	return control_fail(s->control,
	    "ranks %d and %d share %s %s on %s: give each rank a GPU of its own", a, b, all[a].name,
	    all[a].bus_id, all[a].host);
}

static int
check_node(struct session *s, const struct device_facts *all, const char *host)
{
	const struct probe_plan *plan = s->plan;
	int64_t wanted = plan->gpus_per_node < s->world ? plan->gpus_per_node : s->world, ranks = 0;
	int i;

	for (i = 0; i < s->world; i++)
		ranks += strcmp(all[i].host, host) == 0;
	if (ranks == wanted || (s->world % wanted != 0 && ranks < wanted))
		return 0;
	return control_fail(s->control,
	    "%lld ranks run on %s, the plan has %lld GPUs a node (%lld nodes x "
	    "%lld): groups would cross nodes that the plan keeps apart",
	    (long long)ranks, host, (long long)wanted,
	    (long long)((s->world + wanted - 1) / wanted), (long long)wanted);
}

static int
check_devices(struct session *s, const struct device_facts *all)
{
	int i, j;

	for (i = 0; i < s->world; i++) {
		if (all[i].partitioned)
			return control_fail(s->control,
			    "rank %d's %s is partitioned (MIG): a plan is for whole "
			    "GPUs",
			    i, all[i].name);
		if (s->backend.ops->times_count && !all[i].pretended &&
		    check_node(s, all, all[i].host) != 0)
			return -1;
		for (j = 0; j < i; j++)
			if (check_pair_of_devices(s, all, j, i) != 0)
				return -1;
		if (strcmp(all[i].name, all[0].name) != 0)
			return control_fail(s->control,
			    "rank %d has %s, rank 0 has %s: a plan is for GPUs of one "
			    "kind",
			    i, all[i].name, all[0].name);
	}
	return 0;
}

static int
count_hosts(const struct device_facts *all, int world)
{
	int hosts = 0, i, j;

	for (i = 0; i < world; i++) {
		for (j = 0; j < i && strcmp(all[j].host, all[i].host) != 0; j++)
			;
		hosts += j == i;
	}
	return hosts;
}

/* The plan's worst stage must fit into what is free, on the real device only. */
static int
check_memory(struct session *s, const struct device_facts *facts)
{
	double most = 0;
	int stage;

	for (stage = 0; stage < s->plan->n_stages; stage++)
		most = fmax(most, s->plan->total_bytes[stage]);
	if (!s->backend.ops->times_count || (double)facts->free_bytes >= most)
		return 0;
	return control_fail(s->control,
	    "%.1f GiB are free of %.1f GiB on %s %s, the plan needs %.1f GiB: is "
	    "another process on it?",
	    (double)facts->free_bytes / 0x1p30, (double)facts->total_bytes / 0x1p30, facts->name,
	    facts->bus_id, most / 0x1p30);
}

/* The first rank's that has one: versions may differ from node to node. */
static void
take_remark(struct probe_job *job, struct session *s, const struct device_facts *all)
{
	struct loc nowhere = {NULL, 0, 0};
	int i;

	for (i = 0; i < s->world && !all[i].remark[0]; i++)
		;
	if (i == s->world)
		return;
	control_remark(s->control, all[i].remark);
	diag_add(job->diags, nowhere, NULL, SEVERITY_NOTE, "rank %d: %s", i, all[i].remark);
}

static int
meet_devices(struct probe_job *job, struct session *s, struct probe_result *result)
{
	struct device_facts *all = arena_array(s->arena, (size_t)s->world, sizeof(*all)), facts;

	control_phase(s->control, "devices");
	memset(&facts, 0, sizeof(facts));
	control_enter(s->control, "open", job->backend.ops->name);
	if (s->backend.ops->open(&s->backend, s->rank, s->world, job->identity.local_rank) != 0)
		return session_fail(s, "opening the device");
	control_leave(s->control);
	s->backend.ops->describe(&s->backend, &facts);
	s->free_at_start = facts.free_bytes;
	if (check_memory(s, &facts) != 0 ||
	    control_gather(s->control, &facts, sizeof(facts), all) != 0)
		return -1;
	if (s->rank == 0) {
		take_remark(job, s, all);
		result->device = all[0];
		result->hosts = count_hosts(all, s->world);
		if (check_devices(s, all) != 0)
			return -1;
	}
	return control_barrier(s->control);
}

/* --- phases ------------------------------------------------------------------------------- */

static int
between(struct probe_job *job, struct session *s, const char *phase)
{
	if (job->between)
		job->between(s, phase);
	return control_failed(s->control) ? -1 : 0;
}

/* A CPU runs the plan's own shapes only when they are as small as an example's. */
#define HOST_MOST_FLOPS 2e9

static void
choose_shape(const struct session *s, const struct skew *skew, struct shape *shape)
{
	int64_t micro_batches = shape_micro_batches(&s->plan->strategy);

	shape_of_plan(s->plan, skew, micro_batches, shape);
	if (!s->backend.ops->times_count && shape_flops(shape) > HOST_MOST_FLOPS)
		shape_scaled(s->plan, skew, micro_batches, shape);
}

static int
run_phases(struct probe_job *job, struct session *s, struct probe_result *result)
{
	struct shape *small = arena_alloc(s->arena, sizeof(*small)),
		     *own = arena_alloc(s->arena, sizeof(*own));

	if (meet_devices(job, s, result) != 0 || between(job, s, "devices") != 0 ||
	    session_groups(s) != 0 || between(job, s, "groups") != 0)
		return -1;
	shape_scaled(s->plan, &job->skew, shape_micro_batches(&s->plan->strategy), small);
	if (numerics_run(s, small, &job->skew, &result->numerics) != 0 ||
	    between(job, s, "numerics") != 0)
		return -1;
	choose_shape(s, &job->skew, own);
	control_phase(s->control, "measuring parts");
	if (measure_parts(s, own, &result->measured) != 0 ||
	    measure_steps(s, own, &job->skew, job->options->steps, &result->measured) != 0)
		return -1;
	return between(job, s, "steps");
}

static struct control *
meet(struct probe_job *job, char why[CONTROL_TEXT])
{
	const struct identity *id = &job->identity;
	struct control_options options = {.rank = id->rank,
	    .world = id->world,
	    .host = id->master,
	    .other_host = id->other_master,
	    .port = id->port,
	    .listener = job->listener,
	    .timeout_s = job->options->timeout_s,
	    .token = id->token,
	    .version = PROBE_VERSION,
	    .plan_sha256 = job->plan->sha256,
	    .backend = job->backend.ops->name,
	    .local_rank = id->local_rank,
	    .stop = job->stop,
	    .told = &job->told,
	    .print = job->print};

	return control_open(&options, why);
}

static void
session_init(struct session *s, struct probe_job *job, struct control *control,
    const struct group_table *table)
{
	memset(s, 0, sizeof(*s));
	s->backend = job->backend;
	s->backend.mpi = job->identity.mpi;
	s->backend.master = control_master(control);
	s->control = control;
	s->arena = job->arena;
	s->plan = job->plan;
	s->table = table;
	s->rank = job->identity.rank;
	s->world = job->identity.world;
	s->intervals = arena_array(job->arena, PROBE_EVENTS + 1, sizeof(*s->intervals));
	timing_reset(s);
}

static void
judge(const struct probe_job *job, struct session *s, struct probe_result *result)
{
	result->holds = result->numerics.ok &&
			(!s->backend.ops->times_count ||
			    plan_holds(s->plan, &result->measured, job->options->tolerance, NULL));
}

enum probe_status
probe_run(struct probe_job *job, struct str *out)
{
	struct probe_result *result = arena_alloc(job->arena, sizeof(*result));
	const struct group_table *table =
	    groups_build(job->arena, job->diags, &job->plan->strategy);
	struct loc nowhere = {NULL, 0, 0};
	char why[CONTROL_TEXT];
	struct control *control;
	struct session s;

	if (!table)
		return PROBE_NO;
	control = meet(job, why);
	if (!control) {
		diag_error(job->diags, nowhere, "rank %d: %s", job->identity.rank, why);
		return PROBE_ENVIRONMENT;
	}
	session_init(&s, job, control, table);
	if (run_phases(job, &s, result) != 0 || control_barrier(control) != 0) {
		s.backend.ops->abort(&s.backend);
		control_die(control);
	}
	judge(job, &s, result);
	if (s.rank == 0) {
		if (job->options->format == 1)
			report_json(job, &s, result, out);
		else
			report_text(job, &s, result, out);
	}
	if (control_share(control, &result->holds, sizeof(result->holds)) != 0)
		control_die(control);
	s.backend.ops->close(&s.backend);
	control_close(control);
	return result->holds || s.rank > 0 ? PROBE_YES : PROBE_NO;
}
