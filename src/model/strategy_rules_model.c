/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do the degrees divide the model's shapes? The rules are listed in strategy_rules.c. */
#include <string.h>

#include "base/arena.h"
#include "model/strategy_rules.h"

/* A number that TP or another degree must divide, and what it is. */
struct shape {
	const char *name;
	int64_t size;
};

/* The mixer's first head count that TP does not divide; name NULL when there is none. */
static struct shape
odd_heads(const struct mixer *mixer, int64_t tp)
{
	if (mixer->kind == MIXER_NONE || mixer->kind == MIXER_MAMBA1)
		return (struct shape){NULL, 0};
	if (mixer->kind == MIXER_MAMBA2) {
		if (!divides(tp, mixer->heads))
			return (struct shape){"Mamba heads", mixer->heads};
		if (!divides(tp, mixer->groups))
			return (struct shape){"Mamba groups", mixer->groups};
		return (struct shape){NULL, 0};
	}
	if (mixer->kind == MIXER_GATED_DELTANET) {
		if (!divides(tp, mixer->key_heads))
			return (struct shape){"linear key heads", mixer->key_heads};
		if (!divides(tp, mixer->value_heads))
			return (struct shape){"linear value heads", mixer->value_heads};
		return (struct shape){NULL, 0};
	}
	if (!divides(tp, mixer->heads))
		return (struct shape){"attention heads", mixer->heads};
	return (struct shape){NULL, 0};
}

static struct shape
find_odd_heads(const struct strategy *s, const struct model *model)
{
	const struct layer_kind *kind;

	for (int i = 0; (kind = kind_at(model, i)); i++) {
		struct shape shape = odd_heads(&kind->mixer, s->tp);

		if (shape.name)
			return shape;
	}
	return (struct shape){NULL, 0};
}

bool
heads_divide_holds(const struct strategy *s, const struct model *model)
{
	return s->tp == 1 || !find_odd_heads(s, model).name;
}

static void
report_tp(const struct grid_rule *rule, const struct strategy *s, const struct model *model,
    struct shape shape, const char *relation, struct diags *diags)
{
	struct diag *diag = BROKEN(rule, diags, "%lld %s: tp %lld %s", (long long)shape.size,
	    shape.name, (long long)s->tp, relation);

	diag_number(diags, diag, "size", (double)shape.size);
	diag_number(diags, diag, "tp", (double)s->tp);
	hint_divisors(diags, s, model, "tp", shape.size, s->tp);
}

void
heads_divide_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	report_tp(rule, s, model, find_odd_heads(s, model), "does not divide them", diags);
}

static struct shape
find_odd_kv(const struct strategy *s, const struct model *model, bool may_copy)
{
	const struct layer_kind *kind;

	for (int i = 0; (kind = kind_at(model, i)); i++) {
		int64_t heads = kind->mixer.kv_heads;

		if (kind->mixer.kind != MIXER_GQA || heads == 0 || divides(s->tp, heads))
			continue;
		if (!may_copy || !divides(heads, s->tp))
			return (struct shape){"KV heads", heads};
	}
	return (struct shape){NULL, 0};
}

bool
kv_heads_divide_holds(const struct strategy *s, const struct model *model)
{
	return s->tp == 1 || !find_odd_kv(s, model, true).name;
}

void
kv_heads_divide_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	report_tp(rule, s, model, find_odd_kv(s, model, true),
	    "neither divides them nor is a multiple", diags);
}

bool
all_heads_divide_holds(const struct strategy *s, const struct model *model)
{
	return s->tp == 1 || (!find_odd_heads(s, model).name && !find_odd_kv(s, model, false).name);
}

void
all_heads_divide_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	struct shape shape = find_odd_heads(s, model);

	if (!shape.name)
		shape = find_odd_kv(s, model, false);
	report_tp(rule, s, model, shape, "does not divide them", diags);
}

static void
report_sequence(const struct grid_rule *rule, const struct strategy *s, const char *product,
    int64_t divisor, struct diags *diags)
{
	int64_t above = (s->seq_len + divisor - 1) / divisor * divisor;
	struct diag *diag =
	    BROKEN(rule, diags, "sequence length %lld is not a multiple of %s = %lld",
		(long long)s->seq_len, product, (long long)divisor);

	diag_number(diags, diag, "seq_len", (double)s->seq_len);
	diag_number(diags, diag, "divisor", (double)divisor);
	if (above > divisor)
		diag_hint(diags, diag, "use --seq-len %lld or %lld", (long long)(above - divisor),
		    (long long)above);
	else
		diag_hint(diags, diag, "use --seq-len %lld", (long long)above);
}

bool
context_divides_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->cp == 1 || s->seq_len == 0 || divides(grid_product(2, s->cp), s->seq_len);
}

void
context_divides_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	const char *product = arena_printf(diags->arena, "2 x cp %lld", (long long)s->cp);

	(void)model;
	report_sequence(rule, s, product, 2 * s->cp, diags);
}

/* Sequence parallelism splits each context-parallel part of the sequence over TP. */
bool
tokens_divide_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->tp == 1 || s->seq_len == 0 || divides(grid_product(s->cp, s->tp), s->seq_len);
}

void
tokens_divide_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	const char *product =
	    arena_printf(diags->arena, "cp %lld x tp %lld", (long long)s->cp, (long long)s->tp);

	(void)model;
	report_sequence(rule, s, product, grid_product(s->cp, s->tp), diags);
}

static int64_t
sequence_divisor(const struct strategy *s)
{
	return grid_product(s->tp, s->cp > 1 ? grid_product(2, s->cp) : 1);
}

bool
sequence_divides_holds(const struct strategy *s, const struct model *model)
{
	(void)model;
	return s->seq_len == 0 || divides(sequence_divisor(s), s->seq_len);
}

void
sequence_divides_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	const char *product = s->cp > 1 ? arena_printf(diags->arena, "tp %lld x 2 x cp %lld",
					      (long long)s->tp, (long long)s->cp)
					: arena_printf(diags->arena, "tp %lld", (long long)s->tp);

	(void)model;
	report_sequence(rule, s, product, sequence_divisor(s), diags);
}

static bool
has_experts(const struct model *model)
{
	const struct layer_kind *kind;

	for (int i = 0; (kind = kind_at(model, i)); i++)
		if (kind->ffn.experts > 0)
			return true;
	return false;
}

bool
experts_there_holds(const struct strategy *s, const struct model *model)
{
	return s->ep == 1 || !model || has_experts(model);
}

void
experts_there_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags, "ep %lld: the model has no experts", (long long)s->ep);
	diag_last_hint(diags, "use --ep 1");
}

static int64_t
find_odd_experts(const struct strategy *s, const struct model *model)
{
	const struct layer_kind *kind;

	for (int i = 0; (kind = kind_at(model, i)); i++)
		if (!divides(s->ep, kind->ffn.experts))
			return kind->ffn.experts;
	return 0;
}

bool
experts_divide_holds(const struct strategy *s, const struct model *model)
{
	return find_odd_experts(s, model) == 0;
}

void
experts_divide_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	int64_t experts = find_odd_experts(s, model);
	struct diag *diag = BROKEN(rule, diags, "%lld experts are not a multiple of ep %lld",
	    (long long)experts, (long long)s->ep);

	diag_number(diags, diag, "experts", (double)experts);
	diag_number(diags, diag, "ep", (double)s->ep);
	hint_divisors(diags, s, model, "ep", experts, s->ep);
}

bool
dense_etp_holds(const struct strategy *s, const struct model *model)
{
	return s->etp == 1 || s->etp == s->tp || !model || has_experts(model);
}

void
dense_etp_report(const struct grid_rule *rule, const struct strategy *s, const struct model *model,
    struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags, "etp %lld: the model has no experts", (long long)s->etp);
	diag_last_hint(diags, "leave --etp out");
}

/* The first MLP width of the layer that its degree does not divide. */
static struct shape
odd_width(const struct ffn *ffn, const struct strategy *s, const char **degree)
{
	*degree = "tp";
	if (!divides(s->tp, ffn->dense_width))
		return (struct shape){"dense MLP width", ffn->dense_width};
	if (!divides(s->tp, ffn->shared_width))
		return (struct shape){"shared expert width", ffn->shared_width};
	*degree = "etp";
	if (!divides(s->etp, ffn->expert_width))
		return (struct shape){"expert width", ffn->expert_width};
	return (struct shape){NULL, 0};
}

static struct shape
find_odd_width(const struct strategy *s, const struct model *model, const char **degree)
{
	const struct layer_kind *kind;

	for (int i = 0; (kind = kind_at(model, i)); i++) {
		struct shape shape = odd_width(&kind->ffn, s, degree);

		if (shape.name)
			return shape;
	}
	return (struct shape){NULL, 0};
}

bool
widths_divide_holds(const struct strategy *s, const struct model *model)
{
	const char *degree;

	return !find_odd_width(s, model, &degree).name;
}

void
widths_divide_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	const char *degree = "tp";
	struct shape shape = find_odd_width(s, model, &degree);
	int64_t value = strcmp(degree, "tp") == 0 ? s->tp : s->etp;
	struct diag *diag = BROKEN(rule, diags, "%s %lld is not a multiple of %s %lld", shape.name,
	    (long long)shape.size, degree, (long long)value);

	diag_number(diags, diag, "width", (double)shape.size);
	diag_number(diags, diag, degree, (double)value);
	hint_divisors(diags, s, model, degree, shape.size, value);
}

bool
expert_bias_holds(const struct strategy *s, const struct model *model)
{
	const struct layer_kind *kind;

	for (int i = 0; s->etp > 1 && (kind = kind_at(model, i)); i++)
		if (kind->ffn.experts > 0 && kind->ffn.expert_bias)
			return false;
	return true;
}

void
expert_bias_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	(void)model;
	BROKEN(rule, diags,
	    "etp %lld: the experts have biases, which are only supported with etp 1",
	    (long long)s->etp);
	diag_last_hint(diags, "use --etp 1");
}

/* Modules of --recompute that no layer of the model has. */
static unsigned
absent_modules(const struct strategy *s, const struct model *model)
{
	/* mlp and core_attn do nothing where there is no such part, as in Megatron. */
	unsigned present = MODULE_CORE_ATTN | MODULE_LAYERNORM | MODULE_MLP;
	const struct layer_kind *kind;

	if (!model || s->recompute.kind != RECOMPUTE_SELECTIVE)
		return 0;
	for (int i = 0; (kind = kind_at(model, i)); i++) {
		if (kind->mixer.kind == MIXER_MLA)
			present |= MODULE_MLA_UP_PROJ;
		if (kind->ffn.experts > 0)
			present |= MODULE_MOE | MODULE_MOE_ACT | MODULE_SHARED_EXPERTS;
	}
	return s->recompute.modules & ~present;
}

bool
recompute_fits_holds(const struct strategy *s, const struct model *model)
{
	return absent_modules(s, model) == 0;
}

void
recompute_fits_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	unsigned absent = absent_modules(s, model);
	int bit = 0;

	while (bit < MODULES - 1 && !(absent & 1U << bit))
		bit++;
	BROKEN(rule, diags, "recompute module '%s': the model has no %s",
	    recompute_module_names[bit],
	    1U << bit == MODULE_MLA_UP_PROJ ? "latent attention (MLA)" : "experts");
	diag_last_hint(diags, "leave '%s' out of --recompute", recompute_module_names[bit]);
}
