/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do world, rank order, batch and pipeline come out? The rules are listed in strategy_rules.c. */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "model/layout.h"
#include "model/strategy_rules.h"

bool
world_known_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->world > 0;
}

void
world_known_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)s, (void)model;
	BROKEN(rule, diags,
	    "the world size is not known: there is no cluster, and no '--dp' that it "
	    "would follow from");
	diag_last_hint(diags, "give --world-size");
}

/* The first option that the framework does not have, and whose it is. */
static const char *
find_foreign(const struct strategy *s, enum framework *owner)
{
	*owner = FRAMEWORK_MEGATRON;
	if (s->framework != FRAMEWORK_MEGATRON) {
		if (s->order)
			return "order";
		if (s->gtp > 1)
			return "gtp";
		if (s->egtp > 1)
			return "egtp";
	}
	*owner = FRAMEWORK_DEEPSPEED;
	if (s->framework != FRAMEWORK_DEEPSPEED) {
		if (s->data_before_expert)
			return "data-before-expert";
		if (s->expert_tp >= 0)
			return "expert-tp";
		if (s->auto_ep)
			return "auto-ep";
	}
	*owner = FRAMEWORK_TORCHTITAN;
	if (s->framework != FRAMEWORK_TORCHTITAN) {
		if (s->dp_replicate > 0)
			return "dp-replicate";
		if (s->dp_shard != 0)
			return "dp-shard";
	}
	return NULL;
}

bool
foreign_option_holds(const struct strategy *s, const struct model *model)
{
	enum framework owner;

	(void)model;
	return !find_foreign(s, &owner);
}

void
foreign_option_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	enum framework owner;
	const char *option = find_foreign(s, &owner);

	(void)model;
	BROKEN(rule, diags, "'--%s' is an option of %s, the framework is %s", option,
	    framework_names[owner], framework_names[s->framework]);
	diag_last_hint(diags, "leave it out, or give --framework %s", framework_names[owner]);
}

bool
stages_bounded_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->pp <= STRATEGY_MAX_PP && grid_product(s->pp, s->vpp) <= LAYOUT_MAX_CHUNKS;
}

void
stages_bounded_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags, "pp %lld x vpp %lld is more than this program handles",
	    (long long)s->pp, (long long)s->vpp);
	diag_last_hint(
	    diags, "at most %d stages and %d chunks", STRATEGY_MAX_PP, LAYOUT_MAX_CHUNKS);
}

bool
dense_grid_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	if (s->framework == FRAMEWORK_TORCHTITAN &&
	    grid_product(s->dp_replicate, s->dp_shard) != s->dp)
		return false;
	return s->dp > 0 && grid_product(dense_copy(s), s->dp) == s->world;
}

static const char *
dense_product(const struct strategy *s, struct arena *arena, bool with_dp)
{
	struct str text = str_new(arena);

	if (with_dp && s->framework == FRAMEWORK_TORCHTITAN)
		str_addf(&text, "dp_replicate %lld x dp_shard %lld x ", (long long)s->dp_replicate,
		    (long long)s->dp_shard);
	str_addf(&text, "tp %lld x cp %lld x pp %lld", (long long)s->tp, (long long)s->cp,
	    (long long)s->pp);
	if (s->gtp > 1)
		str_addf(&text, " x gtp %lld", (long long)s->gtp);
	if (with_dp && s->framework != FRAMEWORK_TORCHTITAN)
		str_addf(&text, " x dp %lld", (long long)s->dp);
	return text.text;
}

static void
hint_worlds(
    struct diags *diags, const struct strategy *s, const struct model *model, int64_t copy)
{
	int64_t worlds[2];

	if (copy < 1 || copy > GRID_MAX_DEGREE || s->world > GRID_MAX_DEGREE)
		return;
	strategy_near_worlds(s, model, copy, worlds);
	if (worlds[0] > 0 && worlds[1] > 0)
		diag_last_hint(diags,
		    "use %lld or %lld GPUs, or degrees whose product divides %lld",
		    (long long)worlds[0], (long long)worlds[1], (long long)s->world);
	else if (worlds[0] + worlds[1] > 0)
		diag_last_hint(diags, "use %lld GPUs, or degrees whose product divides %lld",
		    (long long)(worlds[0] + worlds[1]), (long long)s->world);
	else
		diag_last_hint(
		    diags, "use degrees whose product divides %lld", (long long)s->world);
}

void
dense_grid_report(const struct grid_rule *rule, const struct strategy *s, const struct model *model,
    struct diags *diags)
{
	bool titan = s->framework == FRAMEWORK_TORCHTITAN;
	int64_t copy = grid_product(dense_copy(s), titan ? s->dp_replicate : 1);
	int64_t dp = titan ? s->dp_shard : s->dp;
	struct diag *diag;

	if (dp > 0 && titan && grid_product(s->dp_replicate, s->dp_shard) != s->dp)
		diag = BROKEN(rule, diags, "dp %lld is not dp_replicate %lld x dp_shard %lld",
		    (long long)s->dp, (long long)s->dp_replicate, (long long)s->dp_shard);
	else if (dp > 0)
		diag = BROKEN(rule, diags, "%s = %lld GPUs, the world is %lld",
		    dense_product(s, diags->arena, true), (long long)grid_product(copy, dp),
		    (long long)s->world);
	else
		diag = BROKEN(rule, diags,
		    "a copy of the model takes %s%s = %lld GPUs, which does not "
		    "divide the world of %lld",
		    titan ? arena_printf(
				diags->arena, "dp_replicate %lld x ", (long long)s->dp_replicate)
			  : "",
		    dense_product(s, diags->arena, false), (long long)copy, (long long)s->world);
	diag_number(diags, diag, "world", (double)s->world);
	diag_number(diags, diag, "copy", (double)copy);
	if (dp > 0 && divides(copy, s->world))
		diag_hint(diags, diag, "leave --%s out: it follows as %lld",
		    titan ? "dp-shard" : "dp", (long long)(s->world / copy));
	else
		hint_worlds(diags, s, model, copy);
}

bool
expert_grid_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	/* Elsewhere the framework's own rule says why EDP does not come out. */
	if (s->edp == 0)
		return s->framework != FRAMEWORK_MEGATRON;
	return grid_product(expert_copy(s), s->edp) == s->world;
}

static void
hint_experts(const struct strategy *s, const struct model *model, struct diags *diags)
{
	int64_t without_etp = grid_product(s->ep, grid_product(s->egtp, s->pp));
	int64_t rest = grid_product(s->etp, grid_product(s->egtp, s->pp));
	bool etp = s->etp > 1 && divides(without_etp, s->world);
	bool ep = divides(rest, s->world);

	/* the one that leaves fewer rules broken */
	if (etp && ep)
		etp = degree_breaks(s, model, "etp", 1) <=
		      divisors_break(s, model, "ep", s->world / rest, s->ep);
	if (etp)
		diag_last_hint(diags, "--etp 1 makes it %lld GPU%s", (long long)without_etp,
		    without_etp == 1 ? "" : "s");
	else if (ep)
		hint_divisors(diags, s, model, "ep", s->world / rest, s->ep);
	else
		hint_worlds(diags, s, model, expert_copy(s));
}

void
expert_grid_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	int64_t copy = expert_copy(s);
	const char *product = arena_printf(diags->arena, "etp %lld x ep %lld x pp %lld",
	    (long long)s->etp, (long long)s->ep, (long long)s->pp);
	struct diag *diag;

	if (s->egtp > 1)
		product = arena_printf(diags->arena, "%s x egtp %lld", product, (long long)s->egtp);
	if (s->edp > 0)
		diag = BROKEN(rule, diags, "%s x edp %lld = %lld GPUs, the world is %lld", product,
		    (long long)s->edp, (long long)grid_product(copy, s->edp), (long long)s->world);
	else
		diag = BROKEN(rule, diags,
		    "a copy of the experts takes %s = %lld GPUs, which does not "
		    "divide the world of %lld",
		    product, (long long)copy, (long long)s->world);
	diag_number(diags, diag, "world", (double)s->world);
	diag_number(diags, diag, "copy", (double)copy);
	if (s->edp > 0 && divides(copy, s->world))
		diag_hint(diags, diag, "leave --edp out: it follows as %lld",
		    (long long)(s->world / copy));
	else
		hint_experts(s, model, diags);
}

/*
 * Rank order, Megatron's RankGenerator: axes left out are appended when their
 * size is 1; gtp follows tp on the dense side, ep on the expert side.
 */
static bool
order_has(const char *order, const char *axis)
{
	return strstr(order, axis) != NULL;
}

static const char *
missing_axis(const struct strategy *s)
{
	if (!s->order)
		return NULL;
	if (!order_has(s->order, "tp") && (s->tp > 1 || s->etp > 1))
		return "tp";
	if (!order_has(s->order, "cp") && s->cp > 1)
		return "cp";
	if (!order_has(s->order, "ep") && s->ep > 1)
		return "ep";
	if (!order_has(s->order, "dp") && (s->dp > 1 || s->edp > 1))
		return "dp";
	if (!order_has(s->order, "pp") && s->pp > 1)
		return "pp";
	return NULL;
}

bool
order_complete_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return !missing_axis(s);
}

void
order_complete_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(
	    rule, diags, "order '%s' does not name %s, which is over 1", s->order, missing_axis(s));
	diag_last_hint(diags, "the usual order is tp-cp-ep-dp-pp");
}

static bool
ends_with_pp(const char *order)
{
	size_t length = strlen(order);

	return length >= 2 && strcmp(order + length - 2, "pp") == 0;
}

bool
order_end_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->pp == 1 || s->dp == s->edp || !s->order || ends_with_pp(s->order);
}

void
order_end_report(const struct grid_rule *rule, const struct strategy *s, const struct model *model,
    struct diags *diags)
{
	struct diag *diag = BROKEN(rule, diags,
	    "order '%s' does not end with pp: then dense dp %lld and expert dp %lld must be the "
	    "same (or pp 1)",
	    s->order, (long long)s->dp, (long long)s->edp);

	(void)model;
	diag_number(diags, diag, "dp", (double)s->dp);
	diag_number(diags, diag, "edp", (double)s->edp);
	diag_hint(diags, diag, "use --order tp-cp-ep-dp-pp, or degrees with tp*cp = etp*ep");
}

/* Ranks between two neighbours of a pipeline group: the product of the axes before pp. */
static int64_t
pipeline_stride(const struct strategy *s, bool expert)
{
	int64_t stride = 1;

	for (const char *at = s->order; at && *at && strncmp(at, "pp", 2) != 0;
	     at += at[2] ? 3 : 2) {
		int64_t size = 1;

		if (strncmp(at, "tp", 2) == 0)
			size = expert ? s->etp : grid_product(s->tp, s->gtp);
		else if (strncmp(at, "cp", 2) == 0)
			size = expert ? 1 : s->cp;
		else if (strncmp(at, "ep", 2) == 0)
			size = expert ? grid_product(s->ep, s->egtp) : 1;
		else
			size = expert ? s->edp : s->dp;
		stride = grid_product(stride, size);
	}
	return stride;
}

bool
order_stages_holds(const struct strategy *s, const struct model *model)
{
	/* With pp last both strides are world / pp; with unequal dp the rule before says it all. */
	return s->pp == 1 || !s->order || ends_with_pp(s->order) || !order_end_holds(s, model) ||
	       pipeline_stride(s, false) == pipeline_stride(s, true);
}

void
order_stages_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags,
	    "order '%s' puts pipeline neighbours %lld ranks apart for dense layers and %lld for "
	    "experts",
	    s->order, (long long)pipeline_stride(s, false), (long long)pipeline_stride(s, true));
	diag_last_hint(diags, "use --order tp-cp-ep-dp-pp");
}

bool
batch_filled_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->global_batch == 0 || s->dp == 0 ||
	       s->global_batch >= grid_product(s->micro_batch, s->dp);
}

void
batch_filled_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	struct diag *diag = BROKEN(rule, diags,
	    "global batch %lld does not give every one of dp %lld ranks a micro-batch of %lld",
	    (long long)s->global_batch, (long long)s->dp, (long long)s->micro_batch);

	(void)model;
	diag_number(diags, diag, "global_batch", (double)s->global_batch);
	diag_number(diags, diag, "needed", (double)grid_product(s->micro_batch, s->dp));
	diag_hint(diags, diag, "use --global-batch %lld or more, or fewer data-parallel ranks",
	    (long long)grid_product(s->micro_batch, s->dp));
}

bool
batch_divides_holds(const struct strategy *s, const struct model *model)
{
	if (s->framework == FRAMEWORK_MEGATRON && !batch_filled_holds(s, model))
		return true; /* it has a message of its own for that */
	return s->global_batch == 0 || s->dp == 0 ||
	       divides(grid_product(s->micro_batch, s->dp), s->global_batch);
}

void
batch_divides_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	int64_t each = grid_product(s->micro_batch, s->dp);
	struct diag *diag = BROKEN(rule, diags,
	    "global batch %lld is not a multiple of micro-batch %lld x dp %lld = %lld",
	    (long long)s->global_batch, (long long)s->micro_batch, (long long)s->dp,
	    (long long)each);

	diag_number(diags, diag, "global_batch", (double)s->global_batch);
	diag_number(diags, diag, "divisor", (double)each);
	hint_multiples(diags, s, model, "global-batch", each, s->global_batch);
}

bool
chunks_filled_holds(const struct strategy *s, const struct model *model)
{
	/* A layout that was written out may leave chunks empty. */
	return !model || s->layout || grid_product(s->pp, s->vpp) <= model->layers + 2;
}

void
chunks_filled_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	int64_t chunks = grid_product(s->pp, s->vpp);
	struct diag *diag = BROKEN(rule, diags,
	    "pp %lld x vpp %lld = %lld chunks leave some without a layer: the model has %lld",
	    (long long)s->pp, (long long)s->vpp, (long long)chunks, (long long)model->layers);

	diag_number(diags, diag, "chunks", (double)chunks);
	diag_number(diags, diag, "layers", (double)model->layers);
	diag_hint(diags, diag,
	    "only the first and the last chunk may be without: at most %lld chunks",
	    (long long)model->layers + 2);
}

bool
layout_chunks_fit_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return !s->layout || layout_chunks(s->layout) == grid_product(s->pp, s->vpp);
}

void
layout_chunks_fit_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	int chunks = layout_chunks(s->layout);

	(void)model;
	if (chunks == 0)
		BROKEN(rule, diags, "layout '%.200s' cannot be read", s->layout);
	else
		BROKEN(rule, diags, "layout '%.200s' has %d chunks, pp %lld x vpp %lld needs %lld",
		    s->layout, chunks, (long long)s->pp, (long long)s->vpp,
		    (long long)grid_product(s->pp, s->vpp));
	diag_last_hint(
	    diags, "chunks are separated by '|': E embedding, t layer, m MTP layer, L loss");
}
