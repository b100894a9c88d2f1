/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do these degrees mean in each framework's arithmetic?
 *
 *   product        W = DP EP TP PP                      DP counts copies of an expert shard
 *   Megatron       W = TP CP PP DP and W = ETP EP PP EDP; ETP = TP when unset in the core
 *   DeepSpeed      expert TP on: EP divides dp = W/(TP PP); off, AutoEP: EP divides W/PP
 *   torchtitan 0.3 dp_shard CP TP = efsdp EP, EP never crosses dp_replicate or PP
 *   torchtitan 0.2 dp_shard CP TP = efsdp EP ETP, ETP 1 or TP
 *
 * Sources: NVIDIA/Megatron-LM core/parallel_state.py (0.19), DeepSpeed
 * utils/groups.py and auto_ep_folding.py (0.19), torchtitan parallel_dims.py
 * (0.3, 0.2.2).
 */
#include "check/conventions.h"

#include "base/arena.h"
#include "base/numeric.h"
#include "model/strategy_grid.h"

struct sizes {
	struct arena *arena;
	int64_t world, tp, cp, pp, ep, etp, dp_replicate;
};

static int64_t
quotient(int64_t world, int64_t copy)
{
	return copy > 0 && world % copy == 0 ? world / copy : 0;
}

static int64_t
times(int64_t a, int64_t b)
{
	int64_t product;

	return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static const char *
not_divided(const struct sizes *s, const char *what, int64_t copy)
{
	return arena_printf(s->arena, "%s = %lld GPUs a copy do not divide %lld", what,
	    (long long)copy, (long long)s->world);
}

static void
product(const struct sizes *s, struct convention *c)
{
	int64_t copy = times(times(s->ep, s->tp), s->pp);

	c->name = "product";
	c->framework = -1;
	c->title = "product DP x EP x TP x PP";
	c->dp = quotient(s->world, copy);
	c->edp = c->dp;
	c->valid = c->dp > 0;
	c->arithmetic =
	    c->valid
		? arena_printf(s->arena, "EP %lld x TP %lld x PP %lld = %lld, %lld / %lld: DP %lld",
		      (long long)s->ep, (long long)s->tp, (long long)s->pp, (long long)copy,
		      (long long)s->world, (long long)copy, (long long)c->dp)
		: not_divided(s, "EP x TP x PP", copy);
	if (s->cp > 1 && c->valid) {
		bool counted = s->world % times(copy, s->cp) == 0;

		c->arithmetic = arena_printf(s->arena, "%s (CP %lld not counted; counted: %s)",
		    c->arithmetic, (long long)s->cp,
		    counted ? arena_printf(
				  s->arena, "DP %lld", (long long)(s->world / times(copy, s->cp)))
			    : "impossible");
	}
}

static void
megatron(const struct sizes *s, struct convention *c, int64_t etp)
{
	int64_t dense = times(times(s->tp, s->cp), s->pp);
	int64_t expert = times(times(etp, s->ep), s->pp);

	c->framework = FRAMEWORK_MEGATRON;
	c->dp = quotient(s->world, dense);
	c->edp = quotient(s->world, expert);
	c->etp = etp;
	c->valid = c->dp > 0 && c->edp > 0;
	if (c->dp == 0)
		c->arithmetic = not_divided(s, "TP x CP x PP", dense);
	else if (c->edp == 0)
		c->arithmetic = not_divided(s,
		    arena_printf(s->arena, "ETP %lld x EP %lld x PP %lld", (long long)etp,
			(long long)s->ep, (long long)s->pp),
		    expert);
	else
		c->arithmetic = arena_printf(s->arena,
		    "%lld / (TP x CP x PP %lld): DP %lld; %lld / (ETP x EP x PP %lld): EDP %lld%s",
		    (long long)s->world, (long long)dense, (long long)c->dp, (long long)s->world,
		    (long long)expert, (long long)c->edp,
		    s->ep > c->dp ? " (EP over DP is fine)" : "");
}

static void
deepspeed(const struct sizes *s, struct convention *c, bool expert_tp, bool auto_ep)
{
	int64_t stage = quotient(s->world, s->pp);
	int64_t dp = quotient(s->world, times(s->tp, s->pp));
	int64_t pool = expert_tp ? dp : stage;

	c->name = auto_ep ? "deepspeed-autoep" : expert_tp ? "deepspeed-expert-tp" : "deepspeed";
	c->title = auto_ep     ? "DeepSpeed AutoEP"
		   : expert_tp ? "DeepSpeed, expert TP on"
			       : "DeepSpeed, expert TP off";
	c->framework = FRAMEWORK_DEEPSPEED;
	c->expert_tp = expert_tp;
	c->auto_ep = auto_ep;
	c->etp = expert_tp ? s->tp : 1;
	c->dp = dp;
	c->edp = pool > 0 && pool % s->ep == 0 ? pool / s->ep : 0;
	c->valid = dp > 0 && c->edp > 0 && s->cp == 1;
	if (s->cp > 1)
		c->arithmetic = "there is no CP axis";
	else if (dp == 0)
		c->arithmetic = not_divided(s, "TP x PP", times(s->tp, s->pp));
	else if (c->edp == 0)
		c->arithmetic = arena_printf(s->arena, "%s %lld is not a multiple of EP %lld",
		    expert_tp ? "dp" : "a stage of", (long long)pool, (long long)s->ep);
	else
		c->arithmetic = arena_printf(s->arena, "%s %lld / EP %lld: EDP %lld",
		    expert_tp ? "dp" : "stage", (long long)pool, (long long)s->ep,
		    (long long)c->edp);
	if (s->cp > 1)
		c->dp = c->edp = 0;
	if (auto_ep && c->valid && s->tp > 1 && s->pp > 1) {
		c->valid = false;
		c->arithmetic = "AutoEP with AutoTP needs PP 1";
	}
}

static void
torchtitan(const struct sizes *s, struct convention *c, int64_t etp)
{
	int64_t copy = times(times(times(s->dp_replicate, s->cp), s->tp), s->pp);
	int64_t shard = quotient(s->world, copy);
	int64_t region = times(times(shard, s->cp), s->tp);
	int64_t experts = times(etp, s->ep);

	c->framework = FRAMEWORK_TORCHTITAN;
	c->etp = etp;
	c->dp = times(s->dp_replicate, shard);
	c->edp = shard > 0 && region % experts == 0 ? times(s->dp_replicate, region / experts) : 0;
	c->valid = c->dp > 0 && c->edp > 0;
	if (shard == 0)
		c->arithmetic = not_divided(s, "dp_replicate x CP x TP x PP", copy);
	else if (c->edp == 0)
		c->arithmetic = arena_printf(s->arena,
		    "dp_shard %lld x CP %lld x TP %lld = %lld is not a multiple of %lld",
		    (long long)shard, (long long)s->cp, (long long)s->tp, (long long)region,
		    (long long)experts);
	else
		c->arithmetic = arena_printf(s->arena, "dp_shard %lld, %lld / EP %lld: efsdp %lld",
		    (long long)shard, (long long)region, (long long)experts,
		    (long long)(region / experts));
}

/* Is this the arithmetic that the configuration is in? */
static bool
is_asked(const struct convention *c, const struct check_context *check)
{
	const struct strategy *s = check->strategy;

	if (check->product_dp > 0 || check->other)
		return c->framework < 0 && check->product_dp > 0;
	if (c->framework != (int)s->framework)
		return false;
	if (c->framework == FRAMEWORK_DEEPSPEED)
		return c->auto_ep == s->auto_ep &&
		       (s->auto_ep || c->expert_tp == (s->expert_tp == 1));
	return c->etp == s->etp;
}

size_t
conventions_fill(
    struct convention out[CONVENTIONS], struct arena *arena, const struct check_context *check)
{
	const struct strategy *given = check->strategy;
	struct sizes s = {arena, given->world, given->tp, given->cp, given->pp, given->ep,
	    given->etp, given->dp_replicate > 0 ? given->dp_replicate : 1};
	size_t n = 0;

	for (size_t i = 0; i < CONVENTIONS; i++)
		out[i] = (struct convention){.etp = 0};
	product(&s, &out[n++]);
	out[n].name = "megatron-etp-tp";
	out[n].title = "Megatron, ETP = TP";
	megatron(&s, &out[n++], s.tp);
	out[n].name = "megatron-etp-1";
	out[n].title = "Megatron, ETP 1";
	megatron(&s, &out[n++], 1);
	if (s.etp != s.tp && s.etp != 1) {
		out[n].name = "megatron";
		out[n].title = arena_printf(arena, "Megatron, ETP %lld", (long long)s.etp);
		megatron(&s, &out[n++], s.etp);
	}
	deepspeed(&s, &out[n++], true, false);
	deepspeed(&s, &out[n++], false, false);
	deepspeed(&s, &out[n++], false, true);
	out[n].name = "torchtitan-0.3";
	out[n].title =
	    strategy_is_old_torchtitan(given) ? "torchtitan 0.2, ETP 1" : "torchtitan 0.3";
	torchtitan(&s, &out[n++], 1);
	if (s.tp > 1) {
		out[n].name = "torchtitan-0.2-etp-tp";
		out[n].title = "torchtitan 0.2, ETP = TP";
		torchtitan(&s, &out[n++], s.tp);
	}
	for (size_t i = 0; i < n; i++)
		out[i].asked = is_asked(&out[i], check);
	return n;
}

/* --- nearest choices ------------------------------------------------------------------------ */

/* GPUs that one step of sizes that work takes; 0 when it is beyond reason. */
static int64_t
smallest_world(const struct strategy *s)
{
	int64_t dense = times(times(s->tp, s->cp), times(s->gtp, s->pp));
	int64_t expert = times(times(s->etp, s->ep), times(s->egtp, s->pp));
	int64_t step;

	if (dense >= INT64_MAX || expert >= INT64_MAX)
		return 0;
	if (s->framework == FRAMEWORK_TORCHTITAN)
		dense = times(dense, s->dp_replicate > 0 ? s->dp_replicate : 1);
	step = times(dense / numeric_gcd(dense, expert), expert);
	return step < INT64_MAX ? step : 0;
}

static void
fill_worlds(struct choices *choices, const struct strategy *s, const struct model *model)
{
	int64_t step = smallest_world(s), worlds[2];

	if (step <= 0 || step > 1 << 24 || s->world > 1 << 24)
		return;
	strategy_near_worlds(s, model, step, worlds);
	if (worlds[0] > 0)
		choices->worlds[choices->n_worlds++] = worlds[0];
	if (worlds[0] != s->world && worlds[1] > 0)
		choices->worlds[choices->n_worlds++] = worlds[1];
}

static void
fill_ep(struct choices *choices, const struct strategy *s, int64_t experts)
{
	int64_t rest = times(times(s->etp, s->egtp), s->pp);
	int64_t pool = quotient(s->world, rest);
	size_t room = sizeof(choices->ep) / sizeof(choices->ep[0]);

	if (s->framework == FRAMEWORK_TORCHTITAN)
		pool = s->dp_shard > 0 ? times(times(s->dp_shard, s->cp), s->tp) / s->etp : 0;
	if (s->framework == FRAMEWORK_DEEPSPEED && s->expert_tp == 1 && !s->auto_ep)
		pool = s->dp;
	for (int64_t ep = 1; ep <= pool && ep <= 4096 && choices->n_ep < room; ep++)
		if (pool % ep == 0 && experts % ep == 0)
			choices->ep[choices->n_ep++] = ep;
}

/* Sequences of a rank that a global batch must be whole times: torchtitan's local batch is one. */
static int64_t
rank_batch(const struct check_context *check)
{
	const struct setting *local = setting_find(check->config, "training.local_batch_size");

	if (check->strategy->framework == FRAMEWORK_TORCHTITAN && local &&
	    local->value->is_integer && local->value->integer > 0)
		return local->value->integer;
	return check->strategy->micro_batch;
}

static void
fill_batch(struct choices *choices, const struct check_context *check)
{
	const struct strategy *s = check->strategy;
	int64_t step = times(rank_batch(check), s->dp);

	if (s->global_batch <= 0 || s->dp <= 0 || step <= 0 || s->global_batch % step == 0)
		return;
	choices->batch_below = s->global_batch / step * step;
	choices->batch_above = choices->batch_below + step;
	choices->accumulation = choices->batch_above / step;
}

void
choices_fill(struct choices *choices, const struct check_context *check, int64_t experts)
{
	*choices = (struct choices){.n_ep = 0};
	if (check->strategy->world <= 0)
		return;
	fill_ep(choices, check->strategy, experts);
	fill_worlds(choices, check->strategy, check->model);
	fill_batch(choices, check);
}
