/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which loads are placed, on which machine? LOADS comes first, or --load-skew makes
 * them up; MODEL and CLUSTER may follow. What does not fit together is refused with the
 * numbers and the nearest that would.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cmd/place_facts.h"
#include "planner/comm.h"
#include "planner/placement_skew.h"

/* Groups of experts in DeepSeek-V3, whose balancer EPLB's hierarchical form is. */
enum { GROUPS_DEFAULT = 8, GPUS_MAX = 4096, SLOTS_MAX = 1 << 16 };

/* Where drops begin to hurt: what Megatron-LM's and DeepSpeed's examples use. */
#define CAPACITY_DEFAULT 1.25

static const struct loc nowhere;

/* --- loads --- */

/* LOADS is taken off the positional arguments; what is left are MODEL, CLUSTER and JOB. */
static const char *
take_loads(struct request *request)
{
	if (request->place.load_skew || request->arguments.count == 0)
		return NULL;
	request->arguments.count--;
	return *request->arguments.positional++;
}

/* Before anything is read: a mistake in the option is told as that. */
static int
check_spec(struct request *request)
{
	struct loc option = {"--load-skew", 0, 0};
	struct loads_spec spec;

	loads_spec_init(&spec);
	return loads_spec_parse(
	    request->arena, request->diags, option, request->place.load_skew, &spec);
}

static const struct loads *
make_up_loads(struct request *request)
{
	const struct layer_kind *moe = request->model ? model_moe(request->model) : NULL;
	struct loc option = {"--load-skew", 0, 0};
	struct loads_spec spec;

	loads_spec_init(&spec);
	if (moe) {
		spec.experts = moe->ffn.experts;
		spec.top_k = moe->ffn.top_k;
	}
	if (loads_spec_parse(
		request->arena, request->diags, option, request->place.load_skew, &spec) != 0)
		return NULL;
	return loads_generate(request->arena, &spec, (uint64_t)request->place.seed);
}

static int
check_model(struct request *request, const struct loads *loads)
{
	const struct layer_kind *moe = request->model ? model_moe(request->model) : NULL;

	if (!request->model || (moe && moe->ffn.experts == loads->experts))
		return 0;
	return diag_error(request->diags, nowhere,
	    "'%s' has loads of %d experts, the model has %lld", loads->name, loads->experts,
	    moe ? (long long)moe->ffn.experts : 0LL);
}

static void
note_account(struct request *request, const struct loads *loads)
{
	const struct loads_account *account = &loads->account;

	if (account->warm_up_rows > 0) {
		diag_add(request->diags, nowhere, NULL, SEVERITY_NOTE,
		    "%s rows of '%s' are left out: the same choice a thousand times and more",
		    units_grouped(request->arena, account->warm_up_rows), loads->name);
		diag_last_hint(request->diags,
		    "serving engines log their warm-up so; it says nothing about tokens");
	}
	if (account->skipped > 0)
		diag_add(request->diags, nowhere, NULL, SEVERITY_NOTE,
		    "%s lines of '%s' carry no counts",
		    units_grouped(request->arena, account->skipped), loads->name);
}

static enum status
read_loads(struct request *request, struct place_facts *facts)
{
	const char *path = take_loads(request);

	if (!path && !request->place.load_skew) {
		diag_error(request->diags, nowhere, "no loads are given");
		diag_last_hint(request->diags,
		    "LOADS is a file of counts (layer,e0,e1,...), JSON, a log of routes or of "
		    "training, or '-'; --load-skew cv=0.4,experts=64 makes some up");
		return STATUS_USAGE;
	}
	if (!path && check_spec(request) != 0)
		return STATUS_USAGE;
	if (path)
		facts->loads = request_loads(request, path);
	if ((path && !facts->loads) || inputs_load(request, 0) != 0)
		return STATUS_USAGE;
	if (!path)
		facts->loads = make_up_loads(request);
	if (!facts->loads || check_model(request, facts->loads) != 0)
		return STATUS_USAGE;
	note_account(request, facts->loads);
	return STATUS_YES;
}

/* --- machine --- */

static int64_t
choose_gpus(struct request *request)
{
	if (request->place.gpus > 0)
		return request->place.gpus;
	return request->job.base.ep > 0 ? request->job.base.ep : 0;
}

/* Scale-up domains that an EP group of this size spans. */
static int64_t
choose_nodes(struct request *request, int64_t gpus)
{
	int64_t ranks = gpus * (request->job.base.etp > 0 ? request->job.base.etp : 1);
	struct links links;
	struct span span;

	if (request->place.nodes > 0)
		return request->place.nodes;
	if (!request->cluster || ranks > request->cluster->world)
		return 1;
	links_init(&links, request->cluster, request->cluster->world);
	span = span_of(&links, ranks / gpus, gpus);
	return (int64_t)(span.units[0] + 0.5);
}

static int
refuse_slots(struct request *request, int64_t experts, int64_t copies, int64_t gpus)
{
	int64_t more = gpus - (experts + copies) % gpus;

	diag_error(request->diags, nowhere,
	    "%lld experts and %lld copies do not divide over %lld GPUs: (%lld + %lld) mod %lld = "
	    "%lld",
	    (long long)experts, (long long)copies, (long long)gpus, (long long)experts,
	    (long long)copies, (long long)gpus, (long long)((experts + copies) % gpus));
	diag_last_hint(request->diags, "--redundant %lld makes it %lld a GPU",
	    (long long)(copies + more), (long long)((experts + copies + more) / gpus));
	return -1;
}

/* Slots a GPU from --slots-per-gpu, or from the experts and --redundant. */
static int
choose_slots(struct request *request, const struct loads *loads, int64_t gpus, int64_t *slots)
{
	int64_t copies = request->place.redundant, given = request->place.slots_per_gpu;

	if (given > 0 && copies > 0 && given * gpus != loads->experts + copies)
		return diag_error(request->diags, nowhere,
		    "%lld GPUs x %lld slots are not %d experts and %lld copies", (long long)gpus,
		    (long long)given, loads->experts, (long long)copies);
	if (given == 0 && (loads->experts + copies) % gpus != 0)
		return refuse_slots(request, loads->experts, copies, gpus);
	*slots = given > 0 ? given : (loads->experts + copies) / gpus;
	if (*slots * gpus <= SLOTS_MAX)
		return 0;
	return diag_error(request->diags, nowhere, "%lld slots: allowed are %d at most",
	    (long long)(*slots * gpus), SLOTS_MAX);
}

static int
choose_machine(struct request *request, struct place_facts *facts)
{
	const struct layer_kind *moe = request->model ? model_moe(request->model) : NULL;
	int64_t gpus = choose_gpus(request), slots = 0;

	if (gpus == 0) {
		diag_error(request->diags, nowhere, "the number of GPUs is not given");
		diag_last_hint(request->diags,
		    "add --gpus N: the ranks of one expert-parallel group (or --ep N)");
		return -1;
	}
	if (gpus > GPUS_MAX)
		return diag_error(request->diags, nowhere, "%lld GPUs: allowed are %d at most",
		    (long long)gpus, GPUS_MAX);
	if (choose_slots(request, facts->loads, gpus, &slots) != 0)
		return -1;
	facts->options.gpus = (int)gpus;
	facts->options.nodes = (int)choose_nodes(request, gpus);
	facts->options.slots_per_gpu = (int)slots;
	facts->options.groups = request->place.groups > 0	   ? (int)request->place.groups
				: moe && moe->ffn.route_groups > 1 ? (int)moe->ffn.route_groups
								   : GROUPS_DEFAULT;
	return 0;
}

/* --- the other options --- */

/* "1,1,0.9,...": one number a GPU. */
static int
read_speed(struct request *request, struct place_facts *facts)
{
	struct loc option = {"--speed", 0, 0};
	const char *at = request->place.speed;
	double *speed;
	int n = 0;

	if (!at)
		return 0;
	speed = arena_array(request->arena, (size_t)facts->options.gpus, sizeof(double));
	for (; at; n++) {
		size_t length = strcspn(at, ",");
		const char *number = arena_strndup(request->arena, at, length);
		double value;

		if (!units_parse_number(number, &value) || !(value >= 0.01 && value <= 100))
			return diag_error(request->diags, option,
			    "speed of GPU %d is '%.40s', allowed is 0.01 to 100", n, number);
		if (n < facts->options.gpus)
			speed[n] = value;
		at = at[length] == ',' ? at + length + 1 : NULL;
	}
	if (n != facts->options.gpus)
		return diag_error(
		    request->diags, option, "%d speeds for %d GPUs", n, facts->options.gpus);
	facts->options.speed = speed;
	return 0;
}

static int
check_map(struct request *request, const struct place_facts *facts, const struct expert_map *map)
{
	int slots = facts->options.gpus * facts->options.slots_per_gpu;
	struct loc loc = {map->name, 0, 0};

	if (map->layers != facts->loads->layers || map->slots != slots)
		return diag_error(request->diags, loc,
		    "the map has %d layers of %d slots, the loads have %d layers, the machine %d "
		    "slots",
		    map->layers, map->slots, facts->loads->layers, slots);
	for (int l = 0; l < map->layers; l++)
		if (map->named && map->number[l] != facts->loads->number[l])
			return diag_error(request->diags, loc,
			    "the map has layer %lld where the loads have layer %lld",
			    (long long)map->number[l], (long long)facts->loads->number[l]);
	return 0;
}

/* Every expert somewhere, none beyond those that the loads know. */
static int
check_map_experts(
    struct request *request, const struct place_facts *facts, const struct expert_map *map)
{
	int *count = arena_array(request->arena, (size_t)facts->loads->experts, sizeof(int));
	struct loc loc = {map->name, 0, 0};

	for (int l = 0; l < map->layers; l++) {
		memset(count, 0, (size_t)facts->loads->experts * sizeof(int));
		for (int s = 0; s < map->slots; s++) {
			int expert = map->expert[l * map->slots + s];

			if (expert >= facts->loads->experts)
				return diag_error(request->diags, loc,
				    "layer %lld places expert %d, the loads have %d",
				    (long long)facts->loads->number[l], expert,
				    facts->loads->experts);
			count[expert]++;
		}
		for (int e = 0; e < facts->loads->experts; e++)
			if (count[e] == 0)
				return diag_error(request->diags, loc,
				    "layer %lld has expert %d nowhere",
				    (long long)facts->loads->number[l], e);
	}
	return 0;
}

static int
read_map(struct request *request, struct place_facts *facts)
{
	struct input_file *input = arena_alloc(request->arena, sizeof(*input));
	struct expert_map *map;

	if (!request->place.from)
		return 0;
	map = expert_map_read(request->arena, request->diags, request->place.from);
	if (!map || check_map(request, facts, map) != 0 ||
	    check_map_experts(request, facts, map) != 0)
		return -1;
	input->name = map->name;
	memcpy(input->sha256, map->sha256, sizeof(input->sha256));
	*request->last_input = input;
	request->last_input = &input->next;
	facts->options.from = map->expert;
	return 0;
}

/* What is worth making small when nobody says: traffic where nodes are told apart, else pairs, else
 * load. */
static enum placement_goal
choose_goal(const struct request *request, const struct place_facts *facts)
{
	const struct loads *loads = facts->loads;
	const struct placement_options *o = &facts->options;
	bool pairs = o->nodes > 1 || loads->kind == LOADS_WHOLE;

	if (request->place.goal > 0)
		return (enum placement_goal)(request->place.goal - 1);
	if (o->gpus * o->slots_per_gpu > loads->experts)
		return GOAL_LOAD;
	if (loads->sources > 1 && o->nodes > 1 &&
	    (loads->kind == LOADS_NODES || loads->sources == o->nodes))
		return GOAL_TRAFFIC;
	for (int l = 0; l < loads->layers; l++)
		pairs = pairs && loads->pairs[l];
	return pairs && o->nodes > 1 ? GOAL_PAIRS : GOAL_LOAD;
}

static void
note_sources(struct request *request, struct place_facts *facts)
{
	const struct loads *loads = facts->loads;
	int nodes = facts->options.nodes;

	facts->mixed_domains = loads->kind == LOADS_DOMAINS && loads->sources != nodes;
	facts->even_nodes = nodes > 1 && (loads->kind == LOADS_WHOLE || facts->mixed_domains);
	if (loads->kind == LOADS_DOMAINS && loads->sources == nodes && nodes > 1) {
		diag_add(request->diags, nowhere, NULL, SEVERITY_NOTE,
		    "each of the %d nodes is taken to serve one domain: the best case for traffic",
		    nodes);
		diag_last_hint(request->diags,
		    "with data shuffled over nodes, log counts by node: column 'node'");
	} else if (facts->mixed_domains) {
		diag_add(request->diags, nowhere, NULL, SEVERITY_NOTE,
		    "the %d domains are summed: every node sees the same mix", loads->sources);
	}
}

/* New numbers are no answer where an expert has two. */
static int
check_form(struct request *request, const struct place_facts *facts)
{
	if (request->place.form != FORM_PERMUTATION ||
	    facts->options.gpus * facts->options.slots_per_gpu == facts->loads->experts)
		return 0;
	return diag_error(request->diags, nowhere,
	    "a permutation has no place for copies: drop --redundant or take --map eplb");
}

enum status
place_inputs(struct request *request, struct place_facts *facts)
{
	struct placement_options *o = &facts->options;
	enum status status = read_loads(request, facts);

	if (status != STATUS_YES)
		return status;
	if (choose_machine(request, facts) != 0 || read_speed(request, facts) != 0 ||
	    read_map(request, facts) != 0)
		return STATUS_USAGE;
	o->goal = choose_goal(request, facts);
	o->price = placement_price_default(o->nodes);
	o->seed = (uint64_t)request->place.seed;
	o->move_cost = request->place.move_cost;
	o->time_limit_s = request->place.time_limit_s;
	o->capacity =
	    request->job.base.capacity > 0 ? request->job.base.capacity : CAPACITY_DEFAULT;
	if (placement_check_options(request->diags, facts->loads, o) != 0 ||
	    check_form(request, facts) != 0)
		return STATUS_USAGE;
	note_sources(request, facts);
	return STATUS_YES;
}
