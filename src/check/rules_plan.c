/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does what is started do what the plan beside it says?
 *
 * A setting that both state is compared when files are merged. Here a plan among the files is
 * read alone, the others without it, and what either means is compared: a script that leaves an
 * argument out gets the framework's default and not the plan's value.
 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/context.h"
#include "check/import_private.h"
#include "model/strategy_grid.h"

/* The settings of a plan, or all others; NULL when there are none. */
static struct config *
part_of(const struct facts *facts, bool plan)
{
	struct config *part = arena_alloc(facts->arena, sizeof(*part));
	struct setting **last = &part->settings;

	config_init(part);
	part->form = plan ? CONFIG_PLAN : facts->check->config->form;
	part->version = facts->check->config->version;
	for (const struct setting *s = facts->check->config->settings; s; s = s->next) {
		if ((s->form == CONFIG_PLAN) != plan)
			continue;
		*last = arena_alloc(facts->arena, sizeof(**last));
		**last = *s;
		(*last)->next = NULL;
		last = &(*last)->next;
	}
	return part->settings ? part : NULL;
}

static const struct strategy *
meaning_of(const struct facts *facts, struct config *part)
{
	struct import in = {.config = part,
	    .arena = facts->arena,
	    .diags = diags_new(facts->arena),
	    .name = "part"};

	import_conclude(&in);
	config_defaults(part);
	if (facts->check->strategy->world > 0)
		part->strategy.world = facts->check->strategy->world;
	strategy_derive(&part->strategy, facts->check->model, 0);
	return &part->strategy;
}

/* Said somewhere outside the plan, be it with a value that is not known. */
static bool
is_said(const struct facts *facts, const char *term)
{
	for (const struct setting *s = facts->check->config->settings; s; s = s->next) {
		const struct key *key =
		    s->form != CONFIG_PLAN ? import_key(s->form, s->name) : NULL;

		if (key && key->term && strcmp(key->term, term) == 0)
			return true;
	}
	return false;
}

static bool
is_unknown(const struct facts *facts, const char *term)
{
	for (const struct setting *s = facts->check->config->settings; s; s = s->next) {
		const struct key *key = s->unresolved ? import_key(s->form, s->name) : NULL;

		if (key && key->term && strcmp(key->term, term) == 0)
			return true;
	}
	return false;
}

struct comparison {
	const struct facts *facts;
	const struct strategy *plan, *other;
	struct str text;
};

static void
differ(struct comparison *c, const char *name, const char *plan, const char *other)
{
	if (strcmp(plan, other) != 0 && !is_unknown(c->facts, name))
		str_addf(&c->text, "%s%s %s and not %s", c->text.length > 0 ? ", " : "", name,
		    other, plan);
}

/* What both say was compared when they were read. */
static void
differ_size(struct comparison *c, const char *name, int64_t plan, int64_t other)
{
	struct arena *arena = c->facts->arena;

	if (plan > 0 && other > 0 && plan != other && !is_said(c->facts, name))
		differ(c, name, arena_printf(arena, "%lld", (long long)plan),
		    arena_printf(arena, "%lld", (long long)other));
}

static const char *
capacity_text(struct arena *arena, double capacity)
{
	return capacity > 0 ? arena_printf(arena, "%g", capacity) : "dropless";
}

static const char *
offload_text(struct arena *arena, const struct strategy *s)
{
	static const char *const names[] = {"none", "optimizer", "activations"};

	return s->offload == OFFLOAD_NONE || s->offload_fraction >= 1
		   ? names[s->offload]
		   : arena_printf(arena, "%s:%g", names[s->offload], s->offload_fraction);
}

/* Overlaps that have something to overlap. */
static const char *
overlap_text(struct arena *arena, const struct strategy *s)
{
	struct str text = str_new(arena);
	const bool there[] = {s->dp > 1, s->tp > 1, s->ep > 1, s->pp > 1};

	for (int bit = 0; bit < 4; bit++)
		if (s->overlap & 1U << bit && there[bit])
			str_addf(&text, "%s%s", text.length > 0 ? "," : "", overlap_names[bit]);
	return text.length > 0 ? text.text : "none";
}

static void
compare_sizes(struct comparison *c)
{
	const struct strategy *p = c->plan, *o = c->other;

	differ_size(c, "tp", p->tp, o->tp);
	differ_size(c, "cp", p->cp, o->cp);
	differ_size(c, "pp", p->pp, o->pp);
	differ_size(c, "vpp", p->vpp, o->vpp);
	differ_size(c, "ep", p->ep, o->ep);
	if (c->facts->check->model && model_moe(c->facts->check->model))
		differ_size(c, "etp", p->etp, o->etp);
	differ_size(c, "gtp", p->gtp, o->gtp);
	differ_size(c, "egtp", p->egtp, o->egtp);
	differ_size(c, "micro_batch", p->micro_batch, o->micro_batch);
	differ_size(c, "global_batch", p->global_batch, o->global_batch);
	differ_size(c, "seq_len", p->seq_len, o->seq_len);
}

static void
compare_words(struct comparison *c)
{
	static const char *const zero[] = {"0", "1", "2", "3"};
	const struct strategy *p = c->plan, *o = c->other;
	struct arena *arena = c->facts->arena;

	differ(c, "recompute", recompute_text(arena, p->recompute),
	    recompute_text(arena, o->recompute));
	if (p->zero >= 0 && p->zero <= 3 && o->zero >= 0 && o->zero <= 3)
		differ(c, "zero", zero[p->zero], zero[o->zero]);
	if (p->ep > 1 && o->ep > 1)
		differ(c, "dispatcher", dispatcher_names[p->dispatcher],
		    dispatcher_names[o->dispatcher]);
	differ(c, "capacity", capacity_text(arena, p->capacity), capacity_text(arena, o->capacity));
	differ(c, "precision", precision_names[p->precision], precision_names[o->precision]);
	differ(c, "grad_type", float_type_names[p->grad_type], float_type_names[o->grad_type]);
	differ(c, "optimizer", float_type_names[p->moment_type], float_type_names[o->moment_type]);
	differ(c, "offload", offload_text(arena, p), offload_text(arena, o));
	differ(c, "cuda_graphs", graphs_names[p->cuda_graphs], graphs_names[o->cuda_graphs]);
	differ(c, "overlap", overlap_text(arena, p), overlap_text(arena, o));
}

/* plan_differences(): what the arguments mean and the plan beside them does not; "" the same. */
static struct value
call_plan_differences(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	struct config *plan = part_of(facts, true), *other = part_of(facts, false);
	struct comparison c = {.facts = facts, .text = str_new(scope->arena)};

	(void)arguments, (void)count;
	if (!plan || !other || !import_find(plan, CONFIG_PLAN, "tp"))
		return value_undecided;
	c.plan = meaning_of(facts, plan);
	c.other = meaning_of(facts, other);
	compare_sizes(&c);
	compare_words(&c);
	return value_text(c.text.text);
}

/* plan_beside(): its file. */
static struct value
call_plan_beside(const struct expr_scope *scope, const struct value *arguments, size_t count)
{
	const struct facts *facts = scope->context;
	const struct setting *tp = import_find(facts->check->config, CONFIG_PLAN, "tp");

	(void)arguments, (void)count;
	return tp && tp->value->loc.file ? value_text(tp->value->loc.file) : value_undecided;
}

const struct expr_function plan_functions[] = {
    {"plan_differences", 0, 0, false, call_plan_differences},
    {"plan_beside", 0, 0, false, call_plan_beside},
    {.name = NULL},
};
