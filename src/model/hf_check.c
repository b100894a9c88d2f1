/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Do the keys of a model agree with each other?
 *
 * One row a rule between two numbers of a layer kind; a broken rule is reported
 * once, at the key that breaks it. A number that is missing was reported before.
 */
#include <stddef.h>

#include "base/diag.h"
#include "model/hf_private.h"

static bool
divides(int64_t part, int64_t whole)
{
	return whole % part == 0;
}

static bool
at_most(int64_t part, int64_t whole)
{
	return part <= whole;
}

static const struct {
	enum hf_key part_key, whole_key;
	size_t part, whole; /* offsets in struct layer_kind */
	bool (*holds)(int64_t part, int64_t whole);
	const char *rule;
	bool gqa_only;
} rules[] = {
    {HF_KV_HEADS, HF_HEADS, offsetof(struct layer_kind, mixer.kv_heads),
	offsetof(struct layer_kind, mixer.heads), divides, "key-value heads divide the query heads",
	true},
    {HF_TOP_K, HF_EXPERTS, offsetof(struct layer_kind, ffn.top_k),
	offsetof(struct layer_kind, ffn.experts), at_most,
	"a token uses no more experts than there are", false},
    {HF_GROUPS, HF_EXPERTS, offsetof(struct layer_kind, ffn.route_groups),
	offsetof(struct layer_kind, ffn.experts), divides, "routing groups divide the experts",
	false},
    {HF_TOP_GROUPS, HF_GROUPS, offsetof(struct layer_kind, ffn.top_groups),
	offsetof(struct layer_kind, ffn.route_groups), at_most,
	"a token uses no more routing groups than there are", false},
    {HF_OUT_GROUPS, HF_HEADS, offsetof(struct layer_kind, mixer.out_groups),
	offsetof(struct layer_kind, mixer.heads), divides, "output groups divide the query heads",
	false},
};
enum { RULES = sizeof(rules) / sizeof(*rules) };

static int64_t
member(const struct layer_kind *kind, size_t offset)
{
	return *(const int64_t *)(const void *)((const char *)kind + offset);
}

static bool
is_broken(const struct layer_kind *kind, size_t rule)
{
	int64_t part = member(kind, rules[rule].part), whole = member(kind, rules[rule].whole);

	if (part <= 0 || whole <= 0 || (rules[rule].gqa_only && kind->mixer.kind != MIXER_GQA))
		return false;
	return !rules[rule].holds(part, whole);
}

static void
check_kind(struct hf *hf, const struct layer_kind *kind, bool reported[RULES])
{
	for (size_t i = 0; i < RULES; i++) {
		if (reported[i] || !is_broken(kind, i))
			continue;
		reported[i] = true;
		diag_error(hf->diags, hf_loc(hf, rules[i].part_key),
		    "'%s' is %lld with '%s' %lld, but %s", hf_key_name(hf, rules[i].part_key),
		    (long long)member(kind, rules[i].part), hf_key_name(hf, rules[i].whole_key),
		    (long long)member(kind, rules[i].whole), rules[i].rule);
	}
}

/* A routed layer whose tokens go nowhere. */
static void
check_top_k(struct hf *hf)
{
	for (int k = 0; k < hf->model->n_kinds; k++) {
		const struct ffn *ffn = &hf->model->kinds[k].ffn;

		if (!ffn->experts || ffn->top_k || !hf_has(hf, HF_TOP_K) || hf->missing[HF_TOP_K])
			continue;
		diag_error(hf->diags, hf_loc(hf, HF_TOP_K), "'%s' is 0 with %lld experts",
		    hf_key_name(hf, HF_TOP_K), (long long)ffn->experts);
		return;
	}
}

/* Every zeroth layer: 0 is for lists only. */
static void
check_frequency(struct hf *hf)
{
	if (hf->experts > 1 && !hf_is_list(hf, HF_MOE_FREQ) && hf_int(hf, HF_MOE_FREQ, 1) == 0)
		diag_error(hf->diags, hf_loc(hf, HF_MOE_FREQ),
		    "'%s' is 0: no layer would be a MoE layer", hf_key_name(hf, HF_MOE_FREQ));
}

void
hf_check(struct hf *hf)
{
	bool reported[RULES] = {false};

	for (int k = 0; k < hf->model->n_kinds; k++)
		check_kind(hf, &hf->model->kinds[k], reported);
	check_kind(hf, &hf->model->mtp, reported);
	check_top_k(hf);
	check_frequency(hf);
}
