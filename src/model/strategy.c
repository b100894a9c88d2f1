/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which sizes follow from the degrees that were chosen?
 *
 *   dense grid   world = TP * CP * GTP * PP * DP
 *   expert grid  world = ETP * EP * EGTP * PP * EDP
 *   batch        global = micro_batch * micro_batches * DP   (DP is the dense one)
 *
 * Source: NVIDIA/Megatron-LM core/parallel_state.py (two rank generators, since
 * core 0.10). DeepSpeed and torchtitan fit the same two identities: DeepSpeed
 * takes EP from dp (expert TP on, ETP = TP) or from the whole pipeline stage
 * (off and AutoEP, ETP = 1); torchtitan has DP = dp_replicate * dp_shard and
 * EDP = efsdp * dp_replicate. What does not come out stays 0 here and is
 * reported by strategy_rules.c.
 */
#include "model/strategy.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "model/layout.h"
#include "model/model.h"
#include "model/strategy_grid.h"

const char *const framework_names[] = {"megatron", "deepspeed", "torchtitan", NULL};
const char *const precision_names[] = {
    "bf16", "fp16", "fp8", "fp8-blockwise", "mxfp8", "nvfp4", NULL};
const char *const recompute_module_names[MODULES + 1] = {
    "core_attn", "layernorm", "mla_up_proj", "mlp", "moe_act", "moe", "shared_experts", NULL};
const char *const dispatcher_names[] = {"alltoall", "allgather", "deepep", "hybridep", NULL};
const char *const schedule_names[] = {
    "1f1b", "interleaved", "zb", "zbv", "dualpipe", "dualpipev", NULL};
const char *const graphs_names[] = {"off", "on", "full", NULL};
const char *const loss_names[] = {"fused", "compiled", "eager", NULL};
const char *const float_type_names[] = {"fp32", "bf16", "fp8", NULL};
const char *const overlap_names[] = {"dp", "tp", "ep", "pp", NULL};

static const char MEGATRON_ORDER[] = "tp-cp-ep-dp-pp";

void
strategy_init(struct strategy *strategy)
{
	*strategy = (struct strategy){
	    .expert_tp = -1,
	    .zero = -1,
	    .schedule = -1,
	    .overlap = OVERLAP_DP,
	};
}

bool
strategy_is_old_torchtitan(const struct strategy *strategy)
{
	const char *version = strategy->framework_version;

	return strategy->framework == FRAMEWORK_TORCHTITAN && version &&
	       version_compare(version, "0.3") < 0;
}

bool
schedule_is_vee(int schedule)
{
	return schedule == SCHEDULE_ZBV || schedule == SCHEDULE_DUALPIPEV;
}

bool
schedule_is_foreign(const struct strategy *s)
{
	if (s->schedule <= SCHEDULE_INTERLEAVED)
		return false;
	return s->framework != FRAMEWORK_TORCHTITAN || s->schedule == SCHEDULE_DUALPIPE;
}

static void
set_default(int64_t *degree, int64_t value)
{
	if (*degree <= 0)
		*degree = value;
}

static int64_t
default_etp(const struct strategy *s)
{
	if (s->framework == FRAMEWORK_MEGATRON)
		return s->ep > 1 ? 1 : s->tp;
	if (s->framework == FRAMEWORK_DEEPSPEED)
		return s->expert_tp == 1 && !s->auto_ep ? s->tp : 1;
	return 1;
}

/* The stages of a layout string over PP; 1 when there is none or it does not divide. */
static int64_t
default_vpp(const struct strategy *s)
{
	int64_t chunks = s->layout ? layout_chunks(s->layout) : 0;

	return chunks > 0 && chunks % s->pp == 0 ? chunks / s->pp : 1;
}

static void
derive_degrees(struct strategy *s)
{
	set_default(&s->tp, 1);
	set_default(&s->cp, 1);
	set_default(&s->pp, 1);
	set_default(&s->ep, 1);
	set_default(&s->gtp, 1);
	set_default(&s->egtp, 1);
	set_default(&s->etp, default_etp(s));
	set_default(&s->vpp, default_vpp(s));
	if (s->framework == FRAMEWORK_TORCHTITAN)
		set_default(&s->dp_replicate, 1);
}

int64_t
dense_copy(const struct strategy *s)
{
	return grid_product(grid_product(s->tp, s->cp), grid_product(s->gtp, s->pp));
}

int64_t
expert_copy(const struct strategy *s)
{
	return grid_product(grid_product(s->etp, s->ep), grid_product(s->egtp, s->pp));
}

static int64_t
exact_quotient(int64_t dividend, int64_t divisor)
{
	return divisor > 0 && dividend % divisor == 0 ? dividend / divisor : 0;
}

/* torchtitan's dp_shard -1 means the rest of the world, and dp is dp_replicate * dp_shard. */
static void
derive_torchtitan(struct strategy *s)
{
	if (s->dp_shard <= 0 && s->dp > 0)
		s->dp_shard = exact_quotient(s->dp, s->dp_replicate);
	else if (s->dp_shard <= 0)
		s->dp_shard =
		    exact_quotient(s->world, grid_product(s->dp_replicate, dense_copy(s)));
	if (s->dp == 0)
		s->dp = grid_product(s->dp_replicate, s->dp_shard);
}

static void
derive_world(struct strategy *s, int64_t cluster_world)
{
	if (s->world == 0)
		s->world = cluster_world;
	if (s->world != 0)
		return;
	if (s->framework == FRAMEWORK_TORCHTITAN && s->dp_shard > 0 && s->dp == 0)
		s->dp = grid_product(s->dp_replicate, s->dp_shard);
	if (s->dp > 0)
		s->world = grid_product(dense_copy(s), s->dp);
	else if (s->edp > 0)
		s->world = grid_product(expert_copy(s), s->edp);
}

void
strategy_derive(struct strategy *s, const struct model *model, int64_t cluster_world)
{
	const struct layer_kind *moe = model ? model_moe(model) : NULL;

	derive_degrees(s);
	derive_world(s, cluster_world);
	if (s->framework == FRAMEWORK_TORCHTITAN)
		derive_torchtitan(s);
	set_default(&s->dp, exact_quotient(s->world, dense_copy(s)));
	set_default(&s->edp, exact_quotient(s->world, expert_copy(s)));
	if (s->schedule < 0)
		s->schedule = s->vpp > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B;
	if (s->zero < 0)
		s->zero = s->framework == FRAMEWORK_TORCHTITAN ? 3 : 1;
	if (!s->order && s->framework == FRAMEWORK_MEGATRON)
		s->order = MEGATRON_ORDER;
	set_default(&s->micro_batch, 1);
	s->sequence_parallel = s->tp > 1;
	s->micro_batches = exact_quotient(s->global_batch, grid_product(s->micro_batch, s->dp));
	s->experts_per_rank = moe ? exact_quotient(moe->ffn.experts, s->ep) : 0;
}

const char *
recompute_text(struct arena *arena, struct recompute recompute)
{
	struct str text = str_new(arena);

	if (recompute.kind == RECOMPUTE_NONE)
		return "none";
	if (recompute.kind == RECOMPUTE_FULL && recompute.layers == 0)
		return "full";
	if (recompute.kind == RECOMPUTE_FULL)
		return arena_printf(arena, "full:%lld", (long long)recompute.layers);
	for (int bit = 0; bit < MODULES; bit++) {
		if (!(recompute.modules & 1U << bit))
			continue;
		str_add(&text, text.length ? "+" : "selective:");
		str_add(&text, recompute_module_names[bit]);
	}
	return text.text;
}

/* 0 is what was not given: no option takes it. */
static void
add_size(struct str *text, const char *option, int64_t value, int64_t usual)
{
	if (value != usual && value != 0)
		str_addf(text, " --%s %lld", option, (long long)value);
}

static void
add_word(struct str *text, const char *option, const char *word)
{
	str_addf(text, " --%s %s", option, word);
}

/* With the fewest digits that read back as the same number. */
static void
add_number(struct str *text, double value)
{
	for (int digits = 1; digits <= 17; digits++) {
		char *number = arena_printf(text->arena, "%.*g", digits, value);
		double back;

		if (digits == 17 ||
		    (units_parse_number(number, &back) && back >= value && back <= value)) {
			str_add(text, number);
			return;
		}
	}
}

static void
add_degrees(struct str *text, const struct strategy *s)
{
	add_size(text, "world-size", s->world, 0);
	add_size(text, "tp", s->tp, 0);
	add_size(text, "cp", s->cp, 1);
	add_size(text, "pp", s->pp, 0);
	add_size(text, "vpp", s->vpp, 1);
	add_size(text, "ep", s->ep, 0);
	/* Always written: what an unset ETP means differs between frameworks. */
	add_size(text, "etp", s->etp, 0);
	add_size(text, "gtp", s->gtp, 1);
	add_size(text, "egtp", s->egtp, 1);
	if (s->framework == FRAMEWORK_TORCHTITAN) {
		add_size(text, "dp-replicate", s->dp_replicate, 1);
		add_size(text, "dp-shard", s->dp_shard, 0);
	}
	add_size(text, "micro-batch", s->micro_batch, 0);
	add_size(text, "global-batch", s->global_batch, 0);
	add_size(text, "seq-len", s->seq_len, 0);
}

static void
add_framework(struct str *text, const struct strategy *s)
{
	if (s->framework != FRAMEWORK_MEGATRON || s->framework_version)
		add_word(text, "framework", framework_names[s->framework]);
	if (s->framework_version)
		str_addf(text, "@%s", s->framework_version);
	if (s->order && strcmp(s->order, MEGATRON_ORDER) != 0)
		add_word(text, "order", s->order);
	if (s->data_before_expert)
		str_add(text, " --data-before-expert");
	if (s->expert_tp >= 0)
		add_word(text, "expert-tp", s->expert_tp ? "on" : "off");
	if (s->auto_ep)
		str_add(text, " --auto-ep");
	if (s->layout)
		str_addf(text, " --layout '%s'", s->layout);
}

static void
add_overlap(struct str *text, unsigned overlap)
{
	const char *separator = " --overlap ";

	if (overlap == OVERLAP_DP)
		return;
	if (overlap == 0)
		str_add(text, " --overlap none");
	for (int bit = 0; overlap_names[bit]; bit++) {
		if (!(overlap & 1U << bit))
			continue;
		str_addf(text, "%s%s", separator, overlap_names[bit]);
		separator = ",";
	}
}

static void
add_offload(struct str *text, const struct strategy *s)
{
	if (s->offload == OFFLOAD_NONE)
		return;
	add_word(text, "offload", s->offload == OFFLOAD_OPTIMIZER ? "optimizer" : "activations");
	if (s->offload_fraction < 1) {
		str_addc(text, ':');
		add_number(text, s->offload_fraction);
	}
}

static void
add_settings(struct str *text, struct arena *arena, const struct strategy *s)
{
	if (s->recompute.kind != RECOMPUTE_NONE)
		add_word(text, "recompute", recompute_text(arena, s->recompute));
	if (s->zero >= 0)
		str_addf(text, " --zero %d", s->zero);
	if (s->dispatcher != DISPATCH_ALLTOALL)
		add_word(text, "dispatcher", dispatcher_names[s->dispatcher]);
	if (s->capacity > 0) {
		str_add(text, " --capacity ");
		add_number(text, s->capacity);
	}
	if (s->schedule >= 0)
		add_word(text, "schedule", schedule_names[s->schedule]);
	if (s->precision != PRECISION_BF16)
		add_word(text, "precision", precision_names[s->precision]);
	if (s->grad_type != FLOAT_FP32)
		add_word(text, "grad-type", float_type_names[s->grad_type]);
	if (s->moment_type != FLOAT_FP32)
		str_addf(text, " --optimizer adam:%s", float_type_names[s->moment_type]);
	add_offload(text, s);
	if (s->loss != LOSS_FUSED)
		add_word(text, "loss", loss_names[s->loss]);
	if (s->cuda_graphs != GRAPHS_OFF)
		add_word(text, "cuda-graphs", graphs_names[s->cuda_graphs]);
	add_overlap(text, s->overlap);
}

const char *
strategy_options_text(struct arena *arena, const struct strategy *strategy)
{
	struct str text = str_new(arena);

	add_degrees(&text, strategy);
	add_framework(&text, strategy);
	add_settings(&text, arena, strategy);
	return text.length ? text.text + 1 : "";
}
