/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which shapes do FP8 products take?
 *
 * Both inner and outer sizes of a product in FP8 are multiples of 16, in MXFP8 of a block of 32:
 * NVIDIA/TransformerEngine transformer_engine/pytorch/utils.py assert_dim_for_fp8_exec,
 * common/gemm/cublaslt_gemm.cu (leading dimensions; tokens are one in gradients of weights),
 * csrc/quantizer.cpp; NVIDIA/Megatron-LM core_v0.19.0 megatron/core/fp8_utils.py
 * get_fp8_align_size. Tokens of experts are padded by the framework and not looked at.
 */
#include "model/strategy_rules.h"

static int64_t
alignment_of(const struct strategy *s)
{
	switch (s->precision) {
	case PRECISION_FP8:
	case PRECISION_FP8_BLOCKWISE:
		return 16;
	case PRECISION_MXFP8:
		return 32;
	default:
		return 1;
	}
}

/* Ranks that share the tokens of a sequence. */
static int64_t
sharers(const struct strategy *s)
{
	return grid_product(s->cp, s->tp);
}

bool
fp8_tokens_holds(const struct strategy *s, const struct model *model)
{
	int64_t tokens = grid_product(s->seq_len, s->micro_batch);

	(void)model;
	return !divides(sharers(s), tokens) || divides(alignment_of(s), tokens / sharers(s));
}

void
fp8_tokens_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	int64_t alignment = alignment_of(s), tokens = s->seq_len * s->micro_batch / sharers(s);
	struct diag *diag = BROKEN(rule, diags,
	    "%lld tokens of a rank (sequence %lld x micro-batch %lld / %lld ranks that share one) "
	    "are not a multiple of %lld, which %s products need",
	    (long long)tokens, (long long)s->seq_len, (long long)s->micro_batch,
	    (long long)sharers(s), (long long)alignment, precision_names[s->precision]);

	(void)model;
	diag_number(diags, diag, "tokens", (double)tokens);
	diag_number(diags, diag, "alignment", (double)alignment);
	diag_number(diags, diag, "remainder", (double)(tokens % alignment));
	diag_last_hint(diags, "use a larger micro-batch, a longer sequence, or --precision bf16");
}

/* A width of the model that is cut into `parts`; NULL name: none is wrong. */
struct width {
	const char *name;
	int64_t size, parts;
};

static bool
is_aligned(int64_t alignment, struct width width)
{
	return !divides(width.parts, width.size) || divides(alignment, width.size / width.parts);
}

static struct width
unaligned_width(const struct strategy *s, const struct model *model)
{
	static const struct width none = {.parts = 1};
	int64_t alignment = alignment_of(s);
	const struct layer_kind *kind;

	if (alignment == 1 || !model)
		return none;
	if (!divides(alignment, model->hidden))
		return (struct width){"hidden size", model->hidden, 1};
	for (int i = 0; (kind = kind_at(model, i)); i++) {
		const struct width widths[] = {{"MLP width", kind->ffn.dense_width, s->tp},
		    {"expert width", kind->ffn.expert_width, s->etp},
		    {"shared expert width", kind->ffn.shared_width, s->tp}};

		for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++)
			if (!is_aligned(alignment, widths[w]))
				return widths[w];
	}
	return none;
}

bool
fp8_widths_holds(const struct strategy *s, const struct model *model)
{
	return !unaligned_width(s, model).name;
}

void
fp8_widths_report(const struct grid_rule *rule, const struct strategy *s,
    const struct model *model, struct diags *diags)
{
	struct width wrong = unaligned_width(s, model);
	int64_t alignment = alignment_of(s), width = wrong.size / wrong.parts;
	struct diag *diag = BROKEN(rule, diags,
	    "%s %lld / %lld ranks = %lld is not a multiple of %lld, which %s products need",
	    wrong.name, (long long)wrong.size, (long long)wrong.parts, (long long)width,
	    (long long)alignment, precision_names[s->precision]);

	diag_number(diags, diag, "width", (double)width);
	diag_number(diags, diag, "alignment", (double)alignment);
	diag_number(diags, diag, "remainder", (double)(width % alignment));
	diag_last_hint(diags, "use less tensor parallelism, or --precision bf16");
}
