/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rules does this configuration break, what do its numbers mean, does it fit? */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/context.h"
#include "check/hosts.h"
#include "check/rules_quantities.h"
#include "cmd/check_report.h"

const char *const item_verdict_names[] = {"yes", "no", "open", "later", NULL};

/* Ranks that the launch starts, as far as it says. */
static int64_t
launched(const struct config *config)
{
	const struct launch *launch = &config->launch;
	int64_t slots = hosts_ranks(config, NULL, NULL);
	bool tasks = launch->launcher && strcmp(launch->launcher, "srun") == 0 &&
		     setting_find(config, "ntasks_per_node");
	const struct setting *gpus =
	    setting_find(config, tasks ? "ntasks_per_node" : "physical_gpus_per_node");

	if (launch->nodes > 0 && launch->processes_per_node > 0)
		return launch->nodes * launch->processes_per_node;
	if (launch->nodes > 0 && gpus && gpus->value->is_integer && gpus->value->integer > 0 &&
	    gpus->value->integer < 1 << 16)
		return launch->nodes * gpus->value->integer;
	return slots > 0 ? slots : launch->world_size;
}

/* Values that a framework takes and that no strategy of ours can say. */
static const char *const beyond[][2] = {
    {"activation_checkpoint.mode", "memory_budget"},
    {"moe_flex_dispatcher_backend", "ncclep"},
    {"recompute_modules", "gdn_norm_out"},
    {"recompute_num_layers", "0"},
    {"optimizer", "sgd"},
    {"optimizer", "muon"},
    {"optimizer", "dist_muon"},
    {"parallelism.pipeline_parallel_schedule", "GPipe"},
    {"parallelism.pipeline_parallel_schedule", "LoopedBFS"},
};

static bool
is_beyond(const struct setting *setting)
{
	struct doc single = *setting->value;
	const struct doc *item = setting->value->kind == DOC_LIST ? setting->value->first : &single;

	single.next = NULL;
	for (; item; item = item->next)
		for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++)
			if (item->text && strcmp(beyond[i][0], setting->name) == 0 &&
			    strcmp(beyond[i][1], item->text) == 0)
				return true;
	return false;
}

static bool
same_place(const struct loc *a, const struct loc *b)
{
	return a->file && b->file && strcmp(a->file, b->file) == 0 && a->line == b->line &&
	       a->column == b->column;
}

/* What reading refused and the framework takes is no mistake, only not modelled. */
static void
soften(struct check_report *report)
{
	for (struct diag *diag = report->findings->first; diag; diag = diag->next)
		for (const struct setting *s = report->config->settings; s; s = s->next)
			if (diag->severity == SEVERITY_ERROR && !diag->rule &&
			    same_place(&diag->loc, &s->value->loc) && is_beyond(s)) {
				diag->severity = SEVERITY_NOTE;
				diag->hint =
				    "the framework takes it; what depends on it is not judged";
				report->findings->errors--;
				report->findings->notes++;
			}
}

/* A rule says better what is wrong with a value than that it could not be read. */
static void
drop_doubles(struct diags *findings)
{
	for (struct diag **link = &findings->first; *link;) {
		struct diag *diag = *link, *better = diag->next;

		while (better && !(better->rule && better->severity == SEVERITY_ERROR &&
				     same_place(&better->loc, &diag->loc)))
			better = better->next;
		if (diag->rule || diag->severity != SEVERITY_ERROR || !better) {
			link = &diag->next;
			continue;
		}
		*link = diag->next;
		findings->errors--;
	}
}

/* torchtitan's multi-stage schedules have two stages a rank unless layers a stage are given. */
static void
derive_titan_stages(const struct check_report *report, struct strategy *s)
{
	const struct setting *each =
	    setting_find(report->config, "parallelism.pipeline_parallel_layers_per_stage");
	int64_t layers = each && each->value->is_integer ? each->value->integer : 0;

	/* its files name a schedule whether there is a pipeline or not */
	if (s->framework == FRAMEWORK_TORCHTITAN && s->pp <= 1 && report->config->settings)
		s->schedule = SCHEDULE_1F1B;
	if (s->framework != FRAMEWORK_TORCHTITAN || s->vpp > 0 || s->pp <= 1 ||
	    s->schedule < SCHEDULE_INTERLEAVED)
		return;
	s->vpp = 2;
	if (layers > 0 && report->model)
		s->vpp = (report->model->layers + 2 + layers - 1) / layers / s->pp;
}

static void
derive(struct check_report *report)
{
	struct config *config = report->config;
	struct strategy *s = &report->strategy, known;
	const struct setting *rounds = setting_find(config, "num_microbatches");
	int64_t world;

	config_defaults(config);
	*s = config->strategy;
	derive_titan_stages(report, s);
	world = launched(config);
	if (report->product_dp > 0) {
		/* Its DP counts copies of an expert shard, and tensor ranks split experts too. */
		s->dp = 0;
		s->etp = s->etp > 0 ? s->etp : s->tp;
		world = report->product_dp * (s->ep > 0 ? s->ep : 1) * (s->tp > 0 ? s->tp : 1) *
			(s->pp > 0 ? s->pp : 1);
	}
	if (world == 0 && report->cluster && s->dp == 0 && s->edp == 0)
		world = report->cluster->world;
	if (world > 0 && s->world == 0)
		s->world = world;
	known = *s;
	strategy_derive(&known, report->model, 0);
	config_derive_batch(config, s, known.dp);
	strategy_derive(s, report->model, 0);
	if (s->micro_batches == 0 && rounds && rounds->value->is_integer)
		s->micro_batches = rounds->value->integer;
}

/* What a script has and only a run would tell; options may say it instead. */
static const char *
hidden_degrees(struct arena *arena, const struct config *config)
{
	static const struct {
		unsigned bit;
		const char *option;
	} degrees[] = {{HIDDEN_TP, "--tp"}, {HIDDEN_CP, "--cp"}, {HIDDEN_PP, "--pp"},
	    {HIDDEN_EP, "--ep"}, {HIDDEN_ETP, "--etp"}, {HIDDEN_SHARD, "--dp"}};
	unsigned hidden = hidden_sizes(config);
	bool follows = !setting_find(config, "expert_tensor_parallel_size");
	struct str text = str_new(arena);

	for (size_t i = 0; i < sizeof(degrees) / sizeof(degrees[0]); i++)
		if (hidden & degrees[i].bit && !(follows && degrees[i].bit == HIDDEN_ETP))
			str_addf(&text, "%s%s", text.length > 0 ? ", " : "", degrees[i].option);
	return text.length > 0 ? text.text : NULL;
}

/*
 * DP of a guide's file is that of WORLD = DP x EP x TP x PP, unless the ranks that are started
 * make it the dense one.
 */
static void
take_product(struct check_report *report)
{
	const struct strategy *s = &report->strategy;

	if (report->product_dp == 0 &&
	    s->world != report->config->product_dp * s->tp * s->cp * s->pp)
		report->product_dp = report->config->product_dp;
}

static struct check_context
context_of(const struct check_report *report)
{
	return (struct check_context){
	    .config = report->config,
	    .strategy = &report->strategy,
	    .model = report->model,
	    .cluster = report->cluster,
	    .estimate = report->estimate,
	    .other = report->other,
	    .product_dp = report->product_dp,
	};
}

static void
note_unresolved(struct check_report *report)
{
	enum { SHOWN = 5 };
	const struct unresolved *open = report->config->unresolved;
	int count = 0;

	for (; open; open = open->next)
		if (setting_matters(open) && ++count <= SHOWN)
			diag_add(report->findings, open->loc, NULL, SEVERITY_NOTE,
			    "'%s' cannot be told without running the script: what depends on it "
			    "is open",
			    open->name);
	if (count > SHOWN)
		diag_add(report->findings, (struct loc){NULL, 0, 0}, NULL, SEVERITY_NOTE,
		    "%d more cannot be told without running the script", count - SHOWN);
}

/* --- the list before a run ------------------------------------------------------------------ */

/* True when a finding of one of these rules is there. */
static bool
found(const struct check_report *report, const char *const *rules)
{
	for (const struct diag *diag = report->findings->first; diag; diag = diag->next)
		for (size_t i = 0; rules[i]; i++)
			if (diag->rule && diag->severity >= SEVERITY_WARNING &&
			    strcmp(diag->rule, rules[i]) == 0)
				return true;
	return false;
}

static void
add_item(struct check_report *report, int i, const char *name, const char *text, bool known,
    const char *const *rules)
{
	report->items[i].name = name;
	report->items[i].text = text;
	report->items[i].verdict = found(report, rules) ? ITEM_NO : known ? ITEM_YES : ITEM_OPEN;
}

/* Numbers as rules see them, for what the list wants to know. */
static struct value
value_named(struct request *request, const struct check_report *report, const char *name)
{
	struct check_context context = context_of(report);
	struct facts facts;
	struct expr_scope scope;

	facts_init(&facts, &context, request->arena);
	scope = facts_scope(&facts);
	return scope.resolve(&scope, name);
}

static bool
is_known(struct request *request, const struct check_report *report, const char *name)
{
	return value_named(request, report, name).kind > VALUE_UNSET;
}

static void
fill_items(struct request *request, struct check_report *report)
{
	static const char *const product[] = {"MEG-001", "MEG-003", "DS-038", "DS-031", "DS-032",
	    "DS-050", "TT-004", "TT-005", "ARI-001", "ARI-002", "ARI-004", "LAU-002", NULL};
	static const char *const experts[] = {
	    "MEG-071", "DS-030", "DS-052", "TT-008", "ARI-010", "HEA-004", NULL};
	static const char *const balance[] = {"HEA-001", "MEG-086", NULL};
	static const char *const dropping[] = {"HEA-002", NULL};
	static const char *const links[] = {"HEA-005", NULL};
	bool trains = value_named(request, report, "trains").integer;

	add_item(report, 0, "product", "the product of the degrees is the number of GPUs",
	    !report->only_launch && is_known(request, report, "world") &&
		is_known(request, report, "dp"),
	    product);
	add_item(report, 1, "experts", "EP divides the experts",
	    is_known(request, report, "experts") && is_known(request, report, "ep"), experts);
	add_item(report, 2, "balance", "the balancing coefficient is small and not zero",
	    trains && is_known(request, report, "aux_coef"), balance);
	add_item(report, 3, "dropping", "no tokens are dropped early",
	    trains && (report->config->form != CONFIG_NUMBERS || report->strategy.capacity > 0),
	    dropping);
	add_item(report, 4, "all-to-all", "the all-to-all stays in the scale-up domain",
	    is_known(request, report, "domain_gpus"), links);
	report->items[5] = (struct check_item){"checkpoints",
	    "a checkpoint can be loaded again: moeplan check --from OLD.json NEW.json", ITEM_LATER,
	    NULL};
	report->items[6] = (struct check_item){"metrics",
	    "log memory, step time and load of each expert: moeplan probe, moeplan compare",
	    ITEM_LATER, NULL};
}

void
check_run(struct request *request, struct check_report *report)
{
	struct check_context context;

	if (request->check.convention == 1) {
		report->product_dp = report->config->strategy.dp;
		if (report->product_dp == 0)
			report->product_dp = 1;
	}
	soften(report);
	derive(report);
	take_product(report);
	report->hidden = hidden_degrees(request->arena, report->config);
	check_estimate(request, report);
	context = context_of(report);
	report->decided = rules_run(&context, request->arena, report->findings, &report->undecided);
	drop_doubles(report->findings);
	quantities_note(&context, request->arena, report->findings);
	note_unresolved(report);
	report->only_launch = config_is_launch(report->config);
	if (report->strategy.world > 0 && !report->hidden && !report->only_launch)
		report->n_conventions =
		    conventions_fill(report->conventions, request->arena, &context);
	if (!report->hidden && !report->only_launch)
		choices_fill(&report->choices, &context,
		    report->model && model_moe(report->model)
			? model_moe(report->model)->ffn.experts
			: 0);
	check_try_knobs(request, report);
	fill_items(request, report);
}
