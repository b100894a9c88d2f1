/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which rank is this process?
 *
 * One row a launcher: the variables that it sets for every process it starts (PyTorch
 * torch/distributed/run.py, deepspeed/launcher/launch.py, Slurm's srun(1), Open MPI 4's
 * orterun, Hydra of MPICH and Intel MPI). Rows go from the innermost launcher out: torchrun
 * started by srun wins over srun. Rank, world and place on the node come from one row, never
 * from two. Slurm's own PMI sets Hydra's names as well, but not its place on the node. A row whose
 * `promise` is set while its rank is not (an sbatch shell, a wrapper that drops variables) is an
 * error: run like that, the probe would be a world of 1 and call it good.
 */
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/units.h"
#include "probe/identity.h"

struct launcher {
	const char *name;
	const char *mark; /* when given, must be set too: tells two rows apart */
	const char *rank, *world, *local_rank, *local_world;
	const char *promise; /* set: this launcher started us, even when `rank` is missing */
	const char *token, *token2;
	const char *hint;
	enum mpi_ranks mpi;
};

static const struct launcher launchers[] = {
    {"torchrun", "LOCAL_WORLD_SIZE", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
	"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RUN_ID", NULL,
	"torchrun --no-python moeplan-probe plan.json passes them on", MPI_NONE},
    {"deepspeed", "LOCAL_SIZE", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_SIZE", NULL, NULL, NULL,
	"deepspeed --no_python moeplan-probe plan.json passes them on", MPI_NONE},
    {"RANK and WORLD_SIZE", NULL, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", NULL,
	NULL, NULL, "set RANK, WORLD_SIZE and LOCAL_RANK together", MPI_NONE},
    {"Open MPI", NULL, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
	"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE",
	"OMPI_MCA_ess_base_jobid", "start it with mpirun -n RANKS moeplan-probe plan.json", MPI_RANKS},
    {"Hydra", "MPI_LOCALRANKID", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL,
	"PMI_JOBID", NULL, "start it with mpiexec -n RANKS moeplan-probe plan.json", MPI_RANKS},
    {"Slurm", "SLURM_STEP_NODELIST", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL,
	"SLURM_NTASKS", "SLURM_JOB_ID", "SLURM_STEP_ID", "start it with srun: srun moeplan-probe plan.json",
	MPI_PERHAPS},
    {"PMI", NULL, "PMI_RANK", "PMI_SIZE", NULL, NULL, "PMI_SIZE", "PMI_JOBID", NULL,
	"start it with mpiexec -n RANKS moeplan-probe plan.json", MPI_RANKS},
};
enum { LAUNCHERS = sizeof(launchers) / sizeof(launchers[0]), MAX_RANKS = 1 << 20 };

struct reader {
	struct arena *arena;
	struct diags *diags;
	lookup_fn *lookup;
	void *context;
};

static const char *
look(const struct reader *r, const char *name)
{
	const char *value = name ? r->lookup(r->context, name) : NULL;

	return value && value[0] ? value : NULL;
}

/* -1 when the variable is not set; errors are in the list. */
static int
number(const struct reader *r, const char *name, int64_t least, int64_t most)
{
	struct loc loc = {name, 0, 0};
	const char *text = look(r, name);
	int64_t value;

	if (!text)
		return -1;
	if (units_parse_integer(text, &value) && value >= least && value <= most)
		return (int)value;
	diag_error(r->diags, loc, "'%s' is '%s'; a number from %lld to %lld is wanted", name, text,
	    (long long)least, (long long)most);
	return -1;
}

static bool
is_there(const struct reader *r, const struct launcher *l)
{
	return (!l->mark || look(r, l->mark)) && look(r, l->rank);
}

/*
 * Slurm describes a batch shell with SLURM_NTASKS too, and as task 0, but of no step; one task is no
 * promise of more.
 */
static int
broken_promise(const struct reader *r, const struct launcher *l)
{
	struct loc nowhere = {NULL, 0, 0};
	const char *value = look(r, l->promise);
	const char *missing = look(r, l->rank) ? l->mark : l->rank;

	if (!value || strcmp(value, "1") == 0)
		return 0;
	diag_error(r->diags, nowhere,
	    "'%s' is '%s', but '%s' is not set: %s promised ranks, and this "
	    "process is none of them",
	    l->promise, value, missing, l->name);
	diag_last_hint(r->diags, "%s", l->hint);
	return -1;
}

static void
set_token(const struct reader *r, const struct launcher *l, struct identity *identity)
{
	const char *first = look(r, "MOEPLAN_TOKEN"), *second = NULL;

	if (!first) {
		first = look(r, l->token);
		second = look(r, l->token2);
	}
	if (first)
		identity->token = second ? arena_printf(r->arena, "%s.%s", first, second)
					 : arena_strdup(r->arena, first);
}

/* Never the launcher's own port: torchrun's store listens there for the whole job. */
enum { PORT_STEP = 1107 };

static int
port_beside(int port)
{
	return port + PORT_STEP <= 65535 ? port + PORT_STEP : port - PORT_STEP;
}

/*
 * NCCL_COMM_ID is rank 0's own address for NCCL's bootstrap (NCCL user guide, environment
 * variables), so that rank 0 can be reached there when the launcher names no host, or one that
 * does not answer. The port is NCCL's: ours is beside it.
 */
static int
set_comm_id(const struct reader *r, struct identity *identity)
{
	struct identity there = {.port = 0};
	struct loc loc = {"NCCL_COMM_ID", 0, 0};
	const char *text = look(r, "NCCL_COMM_ID");

	if (!text)
		return 0;
	if (identity_master(r->arena, r->diags, text, &there) != 0 || there.port == 0) {
		diag_error(r->diags, loc, "'%s' is no HOST:PORT or [ADDRESS]:PORT", text);
		return -1;
	}
	if (identity->port == 0)
		identity->port = port_beside(there.port);
	if (identity->master)
		identity->other_master = there.master;
	else
		identity->master = there.master;
	return 0;
}

static void
set_master(const struct reader *r, struct identity *identity)
{
	const char *master = look(r, "MASTER_ADDR"), *hosts = look(r, "SLURM_STEP_NODELIST");
	const char *nodes = look(r, "SLURM_STEP_NUM_NODES");
	bool slurm = strcmp(identity->launcher, "Slurm") == 0;
	int port = number(r, "MASTER_PORT", 1, 65535);

	if (port > 0)
		identity->port = port_beside(port);
	if (identity->world == 1 || identity->local_world == identity->world ||
	    (slurm && nodes && strcmp(nodes, "1") == 0))
		identity->master = "127.0.0.1";
	if (master)
		identity->master = arena_strdup(r->arena, master);
	else if (hosts && slurm && !identity->master)
		identity->master = first_host(r->arena, hosts);
}

static int
read_row(const struct reader *r, const struct launcher *l, struct identity *identity)
{
	struct loc nowhere = {NULL, 0, 0};
	int errors = r->diags->errors;

	identity->launcher = l->name;
	identity->mpi = l->mpi;
	identity->world = number(r, l->world, 1, MAX_RANKS);
	if (identity->world < 0 && !look(r, l->world) && strcmp(l->name, "Slurm") == 0)
		identity->world = number(r, "SLURM_NTASKS", 1, MAX_RANKS);
	identity->rank = number(r, l->rank, 0, MAX_RANKS - 1);
	identity->local_rank = number(r, l->local_rank, 0, MAX_RANKS - 1);
	identity->local_world = number(r, l->local_world, 1, MAX_RANKS);
	if (r->diags->errors > errors)
		return -1;
	if (identity->world < 0)
		return diag_error(
		    r->diags, nowhere, "'%s' is set, but '%s' is not", l->rank, l->world);
	if (identity->rank >= identity->world)
		return diag_error(r->diags, nowhere, "'%s' is %d, but '%s' is %d", l->rank,
		    identity->rank, l->world, identity->world);
	set_token(r, l, identity);
	set_master(r, identity);
	return set_comm_id(r, identity);
}

/* A step of one task is what srun gives to an interactive shell: no launcher of ranks, no PMI. */
static bool
is_shell(const struct reader *r, const struct launcher *l)
{
	const char *tasks = look(r, "SLURM_STEP_NUM_TASKS");

	return (strcmp(l->name, "Slurm") == 0 || strcmp(l->name, "PMI") == 0) && tasks &&
	       strcmp(tasks, "1") == 0;
}

/*
 * RANK and WORLD_SIZE alone may be left over in a shell: then every rank that MPI or Slurm starts
 * is told the same. A script that starts several ranks for each of theirs says a larger world.
 */
static int
check_left_over(const struct reader *r, const struct identity *identity)
{
	struct loc loc = {"RANK", 0, 0};
	int i, world, rank;

	for (i = 0; i < LAUNCHERS; i++) {
		const struct launcher *l = &launchers[i];

		if (l->mpi == MPI_NONE || !is_there(r, l) || is_shell(r, l))
			continue;
		world = number(r, l->world, 1, MAX_RANKS);
		rank = number(r, l->rank, 0, MAX_RANKS - 1);
		if (identity->world > world || (identity->world == world && identity->rank == rank))
			continue;
		diag_error(r->diags, loc, "RANK and WORLD_SIZE say rank %d of %d, %s rank %d of %d",
		    identity->rank, identity->world, l->name, rank, world);
		diag_last_hint(r->diags,
		    "when they are left over from something else: unset RANK WORLD_SIZE LOCAL_RANK");
		return -1;
	}
	return 0;
}

int
identity_read(struct arena *arena, struct diags *diags, lookup_fn *lookup, void *context,
    struct identity *identity)
{
	struct reader reader = {arena, diags, lookup, context};
	int i;

	*identity = (struct identity){.world = 1, .local_rank = -1, .local_world = -1};
	for (i = 0; i < LAUNCHERS; i++) {
		const struct launcher *l = &launchers[i];

		if (!is_there(&reader, l) || is_shell(&reader, l))
			continue;
		if (read_row(&reader, l, identity) != 0)
			return -1;
		return l->mark || l->mpi != MPI_NONE ? 0 : check_left_over(&reader, identity);
	}
	for (i = 0; i < LAUNCHERS; i++)
		if (broken_promise(&reader, &launchers[i]) != 0)
			return -1;
	return 0;
}

const char *
first_host(struct arena *arena, const char *list)
{
	size_t head = strcspn(list, "[,"), digits;

	if (head == 0 && list[0] != '[')
		return NULL;
	if (list[head] != '[')
		return arena_strndup(arena, list, head);
	digits = strspn(list + head + 1, "0123456789");
	if (digits == 0 || !strchr("-,]", list[head + 1 + digits]) || !list[head + 1 + digits])
		return NULL;
	return arena_printf(arena, "%.*s%.*s%.*s", (int)head, list, (int)digits, list + head + 1,
	    strchr(list, ']') ? (int)strcspn(strchr(list, ']') + 1, ",[") : 0,
	    strchr(list, ']') ? strchr(list, ']') + 1 : "");
}

int
identity_master(
    struct arena *arena, struct diags *diags, const char *text, struct identity *identity)
{
	struct loc loc = {"--master", 0, 0};
	const char *end = text[0] == '[' ? strchr(text, ']') : NULL;
	const char *colon = strrchr(text, ':');
	int64_t port = 0;

	if (end && end[1] == '\0')
		colon = NULL;
	if (!end && colon && strchr(text, ':') != colon)
		colon = NULL; /* a bare IPv6 address */
	if (colon && (!units_parse_integer(colon + 1, &port) || port < 1 || port > 65535))
		return diag_error(diags, loc, "'%s' does not end in a port from 1 to 65535", text);
	if (colon == text || !text[0])
		return diag_error(diags, loc, "'%s' names no host", text);
	if (end)
		identity->master = arena_strndup(arena, text + 1, (size_t)(end - text) - 1);
	else
		identity->master = colon ? arena_strndup(arena, text, (size_t)(colon - text))
					 : arena_strdup(arena, text);
	if (port)
		identity->port = (int)port;
	return 0;
}
