/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which settings hold though nobody gave them, and where is each number of the machine from? */
#include "base/table.h"
#include "base/units.h"
#include "cmd/text_estimate.h"

struct settings {
	struct table *table;
	struct arena *arena;
	const struct strategy *given; /* as read: what was not given is not there yet */
	bool searched;		      /* axes are the search's answer */
};

static void
add_row(struct settings *settings, const char *name, const char *value, const char *origin)
{
	table_row(settings->table);
	table_cell(settings->table, name);
	table_cell(settings->table, value);
	table_cell(settings->table, origin);
}

static void
add_setting(struct settings *settings, const char *name, const char *value, bool is_default)
{
	add_row(settings, name, value, is_default ? "default" : "given");
}

/* A setting that plan chooses and estimate is told. */
static void
add_axis(struct settings *settings, const char *name, const char *value, bool is_default)
{
	if (settings->searched)
		add_row(settings, name, value, "found");
	else
		add_setting(settings, name, value, is_default);
}

static void
add_axes(struct settings *settings, const struct strategy *s)
{
	const struct strategy *given = settings->given;
	struct arena *arena = settings->arena;
	const char *layout = settings->searched ? "as above" : given->layout;

	add_axis(settings, "etp", units_grouped(arena, s->etp), given->etp == 0);
	add_axis(
	    settings, "micro batch", units_grouped(arena, s->micro_batch), given->micro_batch == 0);
	add_axis(settings, "zero", arena_printf(arena, "%d", s->zero), given->zero < 0);
	add_axis(settings, "recompute", recompute_text(arena, s->recompute),
	    given->recompute.kind == RECOMPUTE_NONE);
	add_axis(settings, "dispatcher", dispatcher_names[s->dispatcher],
	    given->dispatcher == DISPATCH_ALLTOALL);
	add_axis(settings, "schedule", schedule_names[s->schedule], given->schedule < 0);
	add_axis(settings, "layout", layout ? layout : "even", layout == NULL);
}

static void
add_kept(struct settings *settings, const struct strategy *s)
{
	const struct strategy *given = settings->given;
	struct arena *arena = settings->arena;
	struct strategy plain;

	strategy_init(&plain);
	add_setting(
	    settings, "sequence length", units_grouped(arena, s->seq_len), given->seq_len == 0);
	add_setting(
	    settings, "framework", framework_names[s->framework], s->framework == plain.framework);
	add_setting(
	    settings, "rank order", s->order ? s->order : "the framework's", given->order == NULL);
	add_setting(
	    settings, "precision", precision_names[s->precision], s->precision == plain.precision);
	add_setting(settings, "main gradients", float_type_names[s->grad_type],
	    s->grad_type == plain.grad_type);
	add_setting(settings, "optimizer",
	    arena_printf(arena, "adam:%s", float_type_names[s->moment_type]),
	    s->moment_type == plain.moment_type);
	add_setting(settings, "capacity",
	    s->capacity > 0 ? arena_printf(arena, "%g", s->capacity) : "dropless",
	    s->capacity == plain.capacity);
	add_setting(settings, "offload", offload_text(arena, s), s->offload == plain.offload);
	add_setting(settings, "loss", loss_names[s->loss], s->loss == plain.loss);
	add_setting(settings, "CUDA graphs", graphs_names[s->cuda_graphs],
	    s->cuda_graphs == plain.cuda_graphs);
	add_setting(
	    settings, "overlap", overlap_text(arena, s->overlap), s->overlap == plain.overlap);
	add_setting(settings, "sequence parallel",
	    s->sequence_parallel ? "on (TP > 1)" : "off (TP 1)", true);
}

/* What only a measurement brings. */
static void
add_measured(struct table *table, const char *name, const char *value)
{
	table_row(table);
	table_cell(table, name);
	table_cell(table, value);
	table_cell(table, origin_names[ORIGIN_MEASURED]);
	table_cell(table, "cluster file");
}

static void
add_gpu_measured(struct table *table, struct arena *arena, const struct gpu *gpu)
{
	const struct curve *grouped = &gpu->grouped;

	if (gpu->gemm_half > 0)
		add_measured(table, "half of a product's rate at",
		    arena_printf(arena, "%.4g", gpu->gemm_half));
	if (grouped->n > 0)
		add_measured(table, "experts' products",
		    arena_printf(arena, "%.0f %% of the ceiling at %.0f rows, %.0f %% at %.0f",
			100 * grouped->value[0], grouped->at[0],
			100 * grouped->value[grouped->n - 1], grouped->at[grouped->n - 1]));
	if (gpu->launch_s > 0)
		add_measured(table, "shortest kernel", units_seconds(arena, gpu->launch_s));
	if (gpu->runtime_bytes > 0)
		add_measured(
		    table, "memory outside the allocator", units_gib(arena, gpu->runtime_bytes));
	if (gpu->spread > 0)
		add_measured(table, "spread between reports", units_percent(arena, gpu->spread));
}

static void
add_level_measured(struct table *table, struct arena *arena, const struct level *level)
{
	const struct traffic_curves *t = &level->all_to_all;
	int points = 0, i;

	for (i = 0; i < t->n; i++)
		points += t->Bps[i].n;
	if (points > 0)
		add_measured(table, arena_printf(arena, "%s all-to-all", level->name),
		    arena_printf(arena, "%d sizes and numbers of units", points));
	if (level->spread > 0)
		add_measured(table, arena_printf(arena, "%s, farthest from the fit", level->name),
		    units_percent(arena, level->spread));
}

static void
add_number(struct table *table, const char *name, const char *value, const struct quantity *from)
{
	table_row(table);
	table_cell(table, name);
	table_cell(table, value);
	table_cell(table, origin_names[from->origin]);
	table_cell(table, from->source ? from->source : "");
}

static void
add_gpu(struct table *table, struct arena *arena, const struct gpu *gpu)
{
	static const char *const types[FLOP_TYPES] = {"bf16", "fp16", "fp8", "fp4"};
	int i;

	add_number(
	    table, "usable memory", units_gib(arena, gpu->usable_bytes.value), &gpu->usable_bytes);
	add_number(table, "memory bandwidth", units_rate(arena, gpu->hbm_Bps.value), &gpu->hbm_Bps);
	for (i = 0; i < FLOP_TYPES; i++)
		if (gpu->flops[i].value > 0)
			add_number(table, arena_printf(arena, "%s peak", types[i]),
			    arena_printf(arena, "%s/s", units_flop(arena, gpu->flops[i].value)),
			    &gpu->flops[i]);
	for (i = 0; i < FLOP_TYPES; i++)
		if (gpu->sustained[i].value > 0)
			add_number(table, arena_printf(arena, "%s sustained", types[i]),
			    units_percent(arena, gpu->sustained[i].value), &gpu->sustained[i]);
	if (gpu->matmul_ceiling.value > 0)
		add_number(table, "matmul ceiling", units_percent(arena, gpu->matmul_ceiling.value),
		    &gpu->matmul_ceiling);
	add_gpu_measured(table, arena, gpu);
}

static void
add_levels(struct table *table, struct arena *arena, const struct cluster *cluster)
{
	int i;

	for (i = 0; i < cluster->n_levels; i++) {
		const struct level *level = &cluster->levels[i];

		add_number(table, arena_printf(arena, "%s rate a GPU", level->name),
		    units_rate(arena, level->Bps.value), &level->Bps);
		add_number(table, arena_printf(arena, "%s latency", level->name),
		    units_seconds(arena, level->latency_s.value), &level->latency_s);
		add_level_measured(table, arena, level);
	}
}

void
text_origins(struct request *request, const struct strategy *strategy)
{
	static const char *const hidden[HIDDEN_TRAFFICS] = {"all-to-all behind computation",
	    "tensor-parallel traffic behind computation",
	    "data-parallel traffic behind computation"};
	int i;
	struct settings settings = {.table = table_new(request->arena, 3),
	    .arena = request->arena,
	    .given = &request->given.base,
	    .searched = request->command->run == cmd_plan};
	struct table *numbers = table_new(request->arena, 4);

	str_add(&request->out, "\nsettings\n");
	add_axes(&settings, strategy);
	add_kept(&settings, strategy);
	table_print(settings.table, &request->out, 2);
	str_add(&request->out, "\nnumbers of the machine\n");
	add_gpu(numbers, request->arena, &request->cluster->gpu);
	add_levels(numbers, request->arena, request->cluster);
	for (i = 0; i < HIDDEN_TRAFFICS; i++)
		if (request->cluster->hidden[i] >= 0)
			add_measured(numbers, hidden[i],
			    units_percent(request->arena, request->cluster->hidden[i]));
	table_print(numbers, &request->out, 2);
}
