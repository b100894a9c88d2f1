/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
out_of_memory(void *context)
{
	(void)context;
	abort();
}

static void
need(const void *pointer, const struct diags *diags, const char *what)
{
	if (pointer)
		return;
	for (const struct diag *d = diags->first; d; d = d->next)
		fprintf(stderr, "%s: %s\n", what, d->message);
	abort();
}

struct fixture
fixture_new(const char *model, const char *overrides, const char *cluster)
{
	struct fixture f = {.arena = arena_new(out_of_memory, NULL)};
	const char *text;
	struct doc *doc;

	f.diags = diags_new(f.arena);
	text = arena_printf(f.arena, "schema: moeplan/model/v1\nlike: %s\n%s", model,
	    overrides ? overrides : "");
	doc = doc_parse(f.arena, f.diags, "model", text, strlen(text));
	need(doc, f.diags, model);
	f.model = model_read(f.arena, f.diags, doc, "model");
	need(f.model, f.diags, model);
	f.cluster = cluster_from_text(f.arena, f.diags, cluster);
	need(f.cluster, f.diags, cluster);
	job_init(&f.job);
	return f;
}

void
fixture_free(struct fixture *f)
{
	arena_free(f->arena);
}

struct strategy
fixture_strategy(const struct fixture *f, int64_t tp, int64_t cp, int64_t pp, int64_t vpp,
    int64_t ep, int64_t micro_batch, int64_t global_batch, int64_t seq_len)
{
	struct strategy s;

	strategy_init(&s);
	s.tp = tp;
	s.cp = cp;
	s.pp = pp;
	s.vpp = vpp;
	s.ep = ep;
	s.micro_batch = micro_batch;
	s.global_batch = global_batch;
	s.seq_len = seq_len;
	strategy_derive(&s, f->model, f->cluster->world);
	return s;
}

struct evaluator *
fixture_evaluator(struct fixture *f, int64_t seq_len)
{
	f->job.base.seq_len = seq_len;
	return evaluator_new(f->arena, f->model, f->cluster, &f->job);
}
