/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is the rank that of exactly one launcher, and is a lost rank noticed? */
#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "probe/identity.h"

struct variable {
	const char *name, *value;
};

static const char *
look_up(void *context, const char *name)
{
	const struct variable *v = context;

	for (; v->name; v++)
		if (strcmp(v->name, name) == 0)
			return v->value;
	return NULL;
}

static struct arena *arena;
static struct diags *diags;

static int
read_variables(const struct variable *variables, struct identity *identity)
{
	struct variable copy[32];
	int n = 0;

	do
		copy[n] = variables[n];
	while (variables[n++].name);
	arena = arena_new(NULL, NULL);
	diags = diags_new(arena);
	return identity_read(arena, diags, look_up, copy, identity);
}

static void
teardown(void)
{
	arena_free(arena);
}

Test(identity, alone, .fini = teardown)
{
	static const struct variable none[] = {{NULL, NULL}};
	struct identity id;

	cr_assert_eq(read_variables(none, &id), 0);
	cr_assert_null(id.launcher);
	cr_assert_eq(id.world, 1);
}

Test(identity, torchrun_inside_slurm, .fini = teardown)
{
	static const struct variable v[] = {{"RANK", "5"}, {"WORLD_SIZE", "16"},
	    {"LOCAL_RANK", "5"}, {"LOCAL_WORLD_SIZE", "8"}, {"MASTER_ADDR", "node7"},
	    {"MASTER_PORT", "29500"}, {"TORCHELASTIC_RUN_ID", "abc"}, {"SLURM_PROCID", "0"},
	    {"SLURM_NTASKS", "2"}, {NULL, NULL}};
	struct identity id;

	cr_assert_eq(read_variables(v, &id), 0);
	cr_assert_str_eq(id.launcher, "torchrun");
	cr_assert_eq(id.rank, 5);
	cr_assert_eq(id.world, 16);
	cr_assert_eq(id.local_rank, 5);
	cr_assert_str_eq(id.master, "node7");
	cr_assert_str_eq(id.token, "abc");
	cr_assert_neq(id.port, 29500, "the launcher's own store listens there");
}

Test(identity, deepspeed, .fini = teardown)
{
	static const struct variable v[] = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"},
	    {"LOCAL_SIZE", "2"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "65000"},
	    {NULL, NULL}};
	struct identity id;

	cr_assert_eq(read_variables(v, &id), 0);
	cr_assert_str_eq(id.launcher, "deepspeed");
	cr_assert(id.port > 0 && id.port <= 65535 && id.port != 65000);
}

Test(identity, open_mpi, .fini = teardown)
{
	static const struct variable v[] = {{"OMPI_COMM_WORLD_RANK", "3"},
	    {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
	    {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}, {"PMIX_NAMESPACE", "77"}, {NULL, NULL}};
	struct identity id;

	cr_assert_eq(read_variables(v, &id), 0);
	cr_assert_str_eq(id.launcher, "Open MPI");
	cr_assert_eq(id.rank, 3);
	cr_assert_str_eq(id.master, "127.0.0.1", "one node");
}

Test(identity, slurm, .fini = teardown)
{
	static const struct variable v[] = {{"SLURM_PROCID", "9"}, {"SLURM_NTASKS", "16"},
	    {"SLURM_LOCALID", "1"}, {"SLURM_JOB_ID", "4711"}, {"SLURM_STEP_ID", "0"},
	    {"SLURM_STEP_NODELIST", "gpu-[07-08]"}, {NULL, NULL}};
	struct identity id;

	cr_assert_eq(read_variables(v, &id), 0);
	cr_assert_str_eq(id.launcher, "Slurm");
	cr_assert_eq(id.world, 16);
	cr_assert_str_eq(id.master, "gpu-07");
	cr_assert_str_eq(id.token, "4711.0");
}

/* What sbatch gives to its script, and srun --pty to a shell: no ranks, the second alone. */
Test(identity, shells_of_slurm)
{
	static const struct variable batch[] = {
	    {"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_NTASKS", "8"}, {NULL, NULL}};
	static const struct variable step[] = {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"},
	    {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_STEP_NODELIST", "a1"}, {"PMI_RANK", "0"},
	    {"PMI_SIZE", "1"}, {NULL, NULL}};
	struct identity id;

	cr_assert_eq(read_variables(batch, &id), -1);
	cr_assert(strstr(diags->first->message, "'SLURM_STEP_NODELIST' is not set"));
	teardown();
	cr_assert_eq(read_variables(step, &id), 0);
	cr_assert_null(id.launcher);
	teardown();
}

/* A RANK that every task inherits is no task's; one of a larger world is a script's own. */
Test(identity, left_over_variables)
{
	static const struct variable stale[] = {{"RANK", "0"}, {"WORLD_SIZE", "4"},
	    {"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {NULL, NULL}};
	static const struct variable script[] = {{"RANK", "9"}, {"WORLD_SIZE", "16"},
	    {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_NODELIST", "a[1-2]"},
	    {NULL, NULL}};
	struct identity id;

	cr_assert_eq(read_variables(stale, &id), -1);
	cr_assert_str_eq(diags->first->message,
	    "RANK and WORLD_SIZE say rank 0 of 4, Open MPI rank 2 of 4");
	teardown();
	cr_assert_eq(read_variables(script, &id), 0);
	cr_assert_eq(id.rank, 9);
	teardown();
}

/* On one node nobody needs the network. */
Test(identity, a_step_on_one_node, .fini = teardown)
{
	static const struct variable v[] = {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"},
	    {"SLURM_LOCALID", "1"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_NODES", "1"},
	    {"SLURM_STEP_NODELIST", "gpu-07"}, {NULL, NULL}};
	struct identity id;

	cr_assert_eq(read_variables(v, &id), 0);
	cr_assert_str_eq(id.master, "127.0.0.1");
	cr_assert_eq(id.mpi, MPI_PERHAPS);
}

/* srun with PMI sets PMI_RANK too; Hydra says where on the node a process is. */
Test(identity, pmi_of_slurm_and_of_hydra)
{
	static const struct variable slurm[] = {{"PMI_RANK", "9"}, {"PMI_SIZE", "16"},
	    {"PMI_JOBID", "4711.0"}, {"SLURM_PROCID", "9"}, {"SLURM_STEP_NUM_TASKS", "16"},
	    {"SLURM_LOCALID", "1"}, {"SLURM_STEP_NODELIST", "a1"}, {NULL, NULL}};
	static const struct variable hydra[] = {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"},
	    {"MPI_LOCALRANKID", "3"}, {"MPI_LOCALNRANKS", "4"}, {"SLURM_PROCID", "0"},
	    {"SLURM_NTASKS", "1"}, {NULL, NULL}};
	static const struct variable bare[] = {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {NULL, NULL}};
	struct identity id;

	cr_assert_eq(read_variables(slurm, &id), 0);
	cr_assert_str_eq(id.launcher, "Slurm");
	cr_assert_eq(id.local_rank, 1);
	arena_free(arena);
	cr_assert_eq(read_variables(hydra, &id), 0);
	cr_assert_str_eq(id.launcher, "Hydra");
	cr_assert_eq(id.local_rank, 3);
	cr_assert_str_eq(id.master, "127.0.0.1", "one node");
	arena_free(arena);
	cr_assert_eq(read_variables(bare, &id), 0);
	cr_assert_str_eq(id.launcher, "PMI");
	cr_assert_eq(id.local_rank, -1);
	arena_free(arena);
}

Test(identity, nccl_comm_id)
{
	static const struct variable alone[] = {{"OMPI_COMM_WORLD_RANK", "3"},
	    {"OMPI_COMM_WORLD_SIZE", "16"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
	    {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}, {"NCCL_COMM_ID", "10.0.0.7:4000"}, {NULL, NULL}};
	static const struct variable beside[] = {{"RANK", "1"}, {"WORLD_SIZE", "2"},
	    {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "1"}, {"MASTER_ADDR", "node7"},
	    {"MASTER_PORT", "29500"}, {"NCCL_COMM_ID", "[fd00::7]:4000"}, {NULL, NULL}};
	static const struct variable bad[] = {
	    {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"NCCL_COMM_ID", "10.0.0.7"}, {NULL, NULL}};
	struct identity id;

	cr_assert_eq(read_variables(alone, &id), 0);
	cr_assert_str_eq(id.master, "10.0.0.7");
	cr_assert_null(id.other_master);
	cr_assert(id.port > 0 && id.port != 4000, "NCCL listens there");
	arena_free(arena);
	cr_assert_eq(read_variables(beside, &id), 0);
	cr_assert_str_eq(id.master, "node7");
	cr_assert_str_eq(id.other_master, "fd00::7");
	arena_free(arena);
	cr_assert_eq(read_variables(bad, &id), -1);
	cr_assert(strstr(diags->last->message, "is no HOST:PORT"));
	arena_free(arena);
}

static const struct {
	struct variable variables[4];
	const char *says;
} broken[] = {
    {{{"SLURM_NTASKS", "8"}, {NULL, NULL}}, "promised ranks"},
    {{{"OMPI_COMM_WORLD_SIZE", "4"}, {NULL, NULL}}, "promised ranks"},
    {{{"TORCHELASTIC_RUN_ID", "x"}, {"LOCAL_WORLD_SIZE", "8"}, {NULL, NULL}}, "promised ranks"},
    {{{"RANK", "0"}, {NULL, NULL}}, "'WORLD_SIZE' is not"},
    {{{"RANK", "4"}, {"WORLD_SIZE", "4"}, {NULL, NULL}}, "'RANK' is 4"},
    {{{"RANK", "-1"}, {"WORLD_SIZE", "4"}, {NULL, NULL}}, "a number from 0"},
    {{{"RANK", "0"}, {"WORLD_SIZE", "many"}, {NULL, NULL}}, "'WORLD_SIZE' is 'many'"},
};

Test(identity, what_was_promised_and_is_not_there)
{
	size_t i;

	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct identity id;

		cr_assert_eq(read_variables(broken[i].variables, &id), -1, "case %zu", i);
		cr_assert(
		    strstr(diags->first->message, broken[i].says), "%s", diags->first->message);
		arena_free(arena);
	}
}

Test(identity, first_host)
{
	arena = arena_new(NULL, NULL);
	cr_assert_str_eq(first_host(arena, "n[01-04,7],m3"), "n01");
	cr_assert_str_eq(first_host(arena, "m3,n[01-04]"), "m3");
	cr_assert_str_eq(first_host(arena, "rack[2]-gpu,other"), "rack2-gpu");
	cr_assert_null(first_host(arena, "n[x-4]"));
	cr_assert_null(first_host(arena, ""));
	arena_free(arena);
}

Test(identity, master)
{
	struct identity id = {.port = 7};

	arena = arena_new(NULL, NULL);
	diags = diags_new(arena);
	cr_assert_eq(identity_master(arena, diags, "host", &id), 0);
	cr_assert(strcmp(id.master, "host") == 0 && id.port == 7);
	cr_assert_eq(identity_master(arena, diags, "host:99", &id), 0);
	cr_assert(strcmp(id.master, "host") == 0 && id.port == 99);
	cr_assert_eq(identity_master(arena, diags, "[fe80::1]:80", &id), 0);
	cr_assert(strcmp(id.master, "fe80::1") == 0 && id.port == 80);
	cr_assert_eq(identity_master(arena, diags, "host:0", &id), -1);
	cr_assert_eq(identity_master(arena, diags, "host:70000", &id), -1);
	cr_assert_eq(identity_master(arena, diags, ":80", &id), -1);
	arena_free(arena);
}
