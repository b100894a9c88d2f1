/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which expert on which GPU, what does that gain, and how far is it from the best possible? */
#include <string.h>

#include "cmd/place_facts.h"
#include "cmd/progress.h"

static const char *const goal_choices[] = {"auto", "load", "traffic", "pairs", "chain", NULL};
static const char *const form_choices[] = {"none", "csv", "eplb", "ranks", "permutation", NULL};

#define MEMBER(name) offsetof(struct place_args, name)

/* clang-format off */
static const struct field place_fields[] = {
	{.name = "gpus", .arg = "N", .kind = FIELD_INT, .offset = MEMBER(gpus), .min = 1,
	    .max = 4096, .option_only = true,
	    .help = "GPUs to place on: the ranks of one expert-parallel group (EP)"},
	{.name = "nodes", .arg = "N", .kind = FIELD_INT, .offset = MEMBER(nodes), .min = 1,
	    .max = 4096, .option_only = true,
	    .help = "nodes of these GPUs (1; with CLUSTER its scale-up domains)"},
	{.name = "slots_per_gpu", .arg = "N", .kind = FIELD_INT, .offset = MEMBER(slots_per_gpu),
	    .min = 1, .max = 4096, .option_only = true,
	    .help = "experts that a GPU holds, copies included"},
	{.name = "redundant", .arg = "N", .kind = FIELD_INT, .offset = MEMBER(redundant), .min = 0,
	    .max = 65536, .option_only = true,
	    .help = "further copies of hot experts, all GPUs together (0)"},
	{.name = "goal", .arg = "auto|load|traffic|pairs|chain", .kind = FIELD_CHOICE,
	    .offset = MEMBER(goal), .choices = goal_choices, .option_only = true,
	    .help = "what is made small: the fullest GPU, the time with traffic between nodes, "
		    "pairs of a token on several nodes, hops between layers (auto: what the "
		    "loads tell)"},
	{.name = "from", .arg = "FILE", .kind = FIELD_TEXT, .offset = MEMBER(from),
	    .option_only = true,
	    .help = "the placement in use, as CSV, EPLB map or document of 'moeplan place'"},
	{.name = "move_cost", .arg = "X", .kind = FIELD_NUMBER, .offset = MEMBER(move_cost),
	    .min = 0, .max = 1, .option_only = true,
	    .help = "what moving one expert must gain, in fullest GPU over mean (0)"},
	{.name = "load_skew", .arg = "SPEC", .kind = FIELD_TEXT, .offset = MEMBER(load_skew),
	    .option_only = true,
	    .help = "loads to make up in place of LOADS: cv=0.4,experts=64,layers=27,nodes=4 ...; "
		    "also lognormal=, zipf=, power=, affinity=, snapshots=, drift=, tokens="},
	{.name = "groups", .arg = "N", .kind = FIELD_INT, .offset = MEMBER(groups), .min = 1,
	    .max = 4096, .option_only = true,
	    .help = "groups of experts for EPLB by nodes (the model's, or 8)"},
	{.name = "speed", .arg = "X,X,...", .kind = FIELD_TEXT, .offset = MEMBER(speed),
	    .option_only = true, .help = "relative speed of each GPU (all 1)"},
	{.name = "map", .arg = "none|csv|eplb|ranks|permutation", .kind = FIELD_CHOICE,
	    .offset = MEMBER(form), .choices = form_choices, .option_only = true,
	    .help = "write the placement alone: layer,slot,gpu,expert; physical_to_logical_map; "
		    "experts by rank; new numbers for frameworks that take contiguous experts "
		    "(none)"},
	{.name = "seed", .arg = "N", .kind = FIELD_INT, .offset = MEMBER(seed), .min = 0,
	    .max = 9007199254740992.0, .option_only = true, .help = "of the random search (0)"},
	{.name = "time_limit", .arg = "T", .kind = FIELD_SECONDS, .offset = MEMBER(time_limit_s),
	    .option_only = true,
	    .help = "begin no search and no proof after this time; bounds hold all the same"},
	{.name = NULL},
};
/* clang-format on */

void
place_sets(struct request *request, struct field_set sets[MAX_SETS])
{
	memset(sets, 0, MAX_SETS * sizeof(*sets));
	sets[0] = (struct field_set){"Placement", place_fields, &request->place};
	sets[1] = (struct field_set){
	    "Strategy, with MODEL and CLUSTER", strategy_fields, &request->job.base};
	sets[2] = (struct field_set){"Output", common_fields, &request->common};
}

static const struct placement *
solve(struct request *request, struct place_facts *facts)
{
	struct progress progress;
	const struct placement *placement;

	facts->options.progress = progress_update;
	facts->options.progress_context = &progress;
	progress_start(&progress, !request->common.quiet);
	placement = placement_solve(request->arena, request->diags, facts->loads, &facts->options);
	progress_end(&progress);
	return placement;
}

/* A placement that fails its recount is our mistake, never the user's. */
static enum status
verify(struct request *request, const struct place_facts *facts)
{
	struct loc nowhere = {NULL, 0, 0};

	if (placement_verify(facts->placement, facts->loads, &facts->options, request->diags) == 0)
		return STATUS_YES;
	diag_error(request->diags, nowhere, "the finished placement fails its own check: a bug");
	diag_last_hint(request->diags,
	    "please report it with the command line, the input files and the output of "
	    "'moeplan --version' (" MOEPLAN_VERSION ")");
	return STATUS_BUG;
}

static void
note_early_stop(struct request *request, const struct place_facts *facts)
{
	struct loc nowhere = {NULL, 0, 0};

	if (!facts->placement->stopped_early)
		return;
	diag_add(request->diags, nowhere, NULL, SEVERITY_WARNING,
	    "the time limit was met: searches and proofs that were not begun by then are left out");
	diag_last_hint(
	    request->diags, "bounds hold all the same; another run may come to another answer");
}

enum status
cmd_place(struct request *request)
{
	struct place_facts *facts = arena_alloc(request->arena, sizeof(*facts));
	enum status status = place_inputs(request, facts);

	if (status == STATUS_YES)
		status = place_price(request, facts);
	if (status != STATUS_YES)
		return status;
	facts->placement = solve(request, facts);
	if (!facts->placement)
		return STATUS_USAGE;
	status = verify(request, facts);
	if (status != STATUS_YES)
		return status;
	note_early_stop(request, facts);
	place_worth(request, facts);
	if (request->place.form != FORM_REPORT)
		place_write_form(request, facts);
	else if (request->common.format == FORMAT_JSON)
		json_place(request, facts);
	else
		text_place(request, facts);
	return STATUS_YES;
}
