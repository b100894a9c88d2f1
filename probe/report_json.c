/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What did the probe find, for a script and for calibration? Schema moeplan/probe/v1. */
#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "probe/probe_run.h"

static void
json_environment(struct jsonw *w, const struct probe_job *job, const struct session *s,
    const struct probe_result *r)
{
	static const char *const variables[] = {"CUDA_DEVICE_MAX_CONNECTIONS",
	    "CUDA_VISIBLE_DEVICES", "NCCL_LAUNCH_ORDER_IMPLICIT", "NCCL_HOSTID", "NCCL_NET",
	    "NCCL_SOCKET_IFNAME", "NCCL_ALGO", "NCCL_PROTO", "NCCL_MAX_CTAS", "NCCL_BUFFSIZE",
	    "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE", "OMP_NUM_THREADS", NULL};
	int i;

	jsonw_open(w, "environment");
	jsonw_string(w, "backend", s->backend.ops->name);
	jsonw_bool(w, "comparable",
	    r->measured.own_shapes && s->backend.ops->times_count && !getenv("NCCL_HOSTID"));
	jsonw_string(w, "launcher", job->identity.launcher ? job->identity.launcher : "alone");
	jsonw_int(w, "hosts", r->hosts);
	jsonw_string(w, "device", r->device.name);
	jsonw_uint(w, "device_bytes", r->device.total_bytes);
	jsonw_string(w, "libraries", r->device.library);
	jsonw_open(w, "variables");
	for (i = 0; variables[i]; i++)
		if (getenv(variables[i]))
			jsonw_string(w, variables[i], getenv(variables[i]));
	jsonw_close(w);
	jsonw_close(w);
}

static void
json_spread(struct jsonw *w, const char *key, const struct spread *spread)
{
	jsonw_open(w, key);
	jsonw_double(w, "min", spread->min);
	jsonw_double(w, "median", spread->median);
	jsonw_double(w, "p90", spread->p90);
	jsonw_double(w, "max", spread->max);
	jsonw_int(w, "worst_rank", spread->worst_rank);
	jsonw_close(w);
}

static void
json_optional(struct jsonw *w, const char *key, bool there, double value)
{
	if (there)
		jsonw_double(w, key, value);
	else
		jsonw_string(w, key, NULL);
}

/* The plan's parts first, by the plan's names; then the probe's own, which have no prediction. */
static void
json_parts(struct jsonw *w, const struct session *s, const struct probe_result *r,
    const struct verdict_rows *v)
{
	bool counts = s->backend.ops->times_count && r->measured.own_shapes;
	int i, way;

	jsonw_list(w, "plan_parts");
	for (i = 0; i < v->n; i++) {
		jsonw_open(w, NULL);
		jsonw_string(w, "name", v->rows[i].name);
		json_optional(w, "predicted_s", counts, v->rows[i].predicted_s);
		json_optional(w, "measured_s", v->rows[i].measured_s >= 0, v->rows[i].measured_s);
		if (v->rows[i].stall_s >= 0) {
			json_optional(w, "predicted_stall_s", counts, v->rows[i].exposed_s);
			jsonw_double(w, "stall_s", v->rows[i].stall_s);
		}
		jsonw_bool(w, "judged", counts && v->rows[i].counts);
		jsonw_close(w);
	}
	jsonw_close(w);
	jsonw_list(w, "parts");
	for (i = 0; i < PARTS; i++)
		for (way = 0; way < 2; way++) {
			if (!(r->measured.parts[i][way].max > 0))
				continue;
			jsonw_open(w, NULL);
			jsonw_string(w, "name", part_rows[i].name);
			jsonw_string(w, "pass", way ? "backward" : "forward");
			jsonw_string(w, "plan_part", part_rows[i].category);
			jsonw_string(w, "predicted_s", NULL);
			json_spread(w, "measured_s", &r->measured.parts[i][way]);
			if (r->measured.stalls[i][way].max > 0)
				json_spread(w, "stall_s", &r->measured.stalls[i][way]);
			jsonw_close(w);
		}
	jsonw_close(w);
}

static void
json_step(struct jsonw *w, const struct session *s, const struct probe_result *r)
{
	const struct measured *m = &r->measured;

	jsonw_open(w, "step");
	jsonw_bool(w, "own_shapes", m->own_shapes);
	jsonw_int(w, "micro_batches", m->micro_batches);
	jsonw_int(w, "micro_batches_planned", s->plan->strategy.micro_batches);
	jsonw_int(w, "steps", m->steps);
	jsonw_double(w, "predicted_s", s->plan->step_s);
	json_spread(w, "measured_s", &m->step_s);
	jsonw_close(w);
}

static void
json_memory(struct jsonw *w, const struct session *s, const struct probe_result *r)
{
	int stage, i;

	jsonw_open(w, "memory");
	jsonw_double(w, "capacity_bytes", s->plan->capacity_bytes);
	jsonw_int(w, "communicators", s->communicators);
	json_optional(
	    w, "communicator_bytes", s->backend.ops->times_count, (double)s->communicator_bytes);
	jsonw_list(w, "stages");
	for (stage = 0; stage < r->measured.n_stages; stage++) {
		const struct memory_account *m = &r->measured.memory[stage];

		jsonw_open(w, NULL);
		jsonw_int(w, "stage", stage);
		jsonw_open(w, "predicted");
		for (i = 0; r->measured.own_shapes && i < s->plan->memory[stage].n; i++)
			jsonw_double(w, s->plan->memory[stage].items[i].name,
			    s->plan->memory[stage].items[i].value);
		jsonw_close(w);
		jsonw_open(w, "measured");
		jsonw_double(w, "weights", m->weights);
		jsonw_double(w, "gradients", m->gradients);
		jsonw_double(w, "optimizer", m->optimizer);
		jsonw_double(w, "activations", m->activations);
		jsonw_double(w, "logits", m->logits);
		jsonw_double(w, "rows", m->rows);
		jsonw_double(w, "buffers", m->buffers);
		jsonw_double(w, "routing", m->routing);
		jsonw_double(w, "allocated_bytes", m->allocated);
		json_optional(w, "outside_bytes", s->backend.ops->times_count, m->outside);
		jsonw_close(w);
		jsonw_close(w);
	}
	jsonw_close(w);
	jsonw_close(w);
}

static void
json_numerics(struct jsonw *w, const struct numerics *n)
{
	int row;

	jsonw_open(w, "numerics");
	jsonw_bool(w, "compared", n->done);
	jsonw_bool(w, "ok", n->ok);
	jsonw_list(w, "rows");
	for (row = 0; n->done && row < NUMERICS_ROWS; row++) {
		if (n->compared[row] == 0)
			continue;
		jsonw_open(w, NULL);
		jsonw_string(w, "name", numerics_names[row]);
		jsonw_double(w, "error", n->error[row]);
		jsonw_double(w, "tolerance", n->tolerance[row]);
		jsonw_int(w, "worst_rank", n->worst_rank[row]);
		jsonw_int(w, "numbers", n->compared[row]);
		jsonw_close(w);
	}
	jsonw_close(w);
	jsonw_open(w, "tokens");
	jsonw_int(w, "expected", n->expected);
	jsonw_int(w, "sent", n->sent);
	jsonw_int(w, "received", n->received);
	jsonw_int(w, "dropped", n->dropped);
	jsonw_bool(w, "conserved", n->conserved);
	jsonw_int(w, "ranks_without", n->empty_ranks);
	jsonw_double(w, "max_over_mean", n->max_over_mean);
	jsonw_close(w);
	jsonw_close(w);
}

static void
json_transfers(struct jsonw *w, const struct session *s, const struct measured *m)
{
	int i;

	jsonw_list(w, "transfers");
	for (i = 0; i < m->n_transfers; i++) {
		const struct transfer_row *t = &m->transfers[i];
		const struct plan_level *level = &s->plan->levels[t->level];

		jsonw_open(w, NULL);
		jsonw_string(w, "group", t->group);
		jsonw_string(w, "op", t->op);
		jsonw_int(w, "ranks", t->size);
		jsonw_string(w, "level", level->name);
		jsonw_int(w, "level_index", t->level);
		jsonw_int(w, "units", t->units);
		jsonw_int(w, "bytes", t->bytes);
		jsonw_double(w, "seconds", t->seconds);
		jsonw_double(w, "seconds_low", t->low_s);
		jsonw_double(w, "seconds_high", t->high_s);
		jsonw_double(w, "bus_Bps", t->bus_Bps);
		jsonw_double(w, "bound_Bps", level->Bps);
		jsonw_close(w);
	}
	jsonw_close(w);
}

static void
json_compute(struct jsonw *w, const struct measured *m)
{
	int i;

	jsonw_list(w, "products");
	for (i = 0; i < m->n_products; i++) {
		const struct product_row *p = &m->products[i];

		jsonw_open(w, NULL);
		jsonw_string(w, "name", p->name);
		jsonw_int(w, "groups", p->groups);
		jsonw_int(w, "m", p->m);
		jsonw_int(w, "n", p->n);
		jsonw_int(w, "k", p->k);
		jsonw_double(w, "flops", p->flops);
		jsonw_close(w);
	}
	jsonw_close(w);
	jsonw_open(w, "device");
	jsonw_double(w, "memory_Bps", m->copy_Bps);
	jsonw_double(w, "permute_Bps", m->permute_Bps);
	jsonw_double(w, "launch_s", m->launch_s);
	jsonw_string(w, "grouped_engine", grouped_names[m->engine]);
	jsonw_close(w);
}

static void
json_overlap(struct jsonw *w, const char *name, const struct overlapped *o)
{
	double hidden = overlap_hidden(o);

	if (!(o->both_s > 0))
		return;
	jsonw_open(w, name);
	jsonw_double(w, "compute_s", o->compute_s);
	jsonw_double(w, "communication_s", o->comm_s);
	jsonw_double(w, "both_s", o->both_s);
	json_optional(w, "hidden", o->compute_s > 0 && o->comm_s > 0, hidden);
	if (o->in_step_s > 0) {
		jsonw_double(w, "in_step_s", o->in_step_s);
		jsonw_double(w, "stall_s", o->stall_s);
		jsonw_double(w, "beside", o->beside);
		json_optional(w, "hidden_low", o->hidden_low >= 0, o->hidden_low);
		json_optional(w, "hidden_high", o->hidden_high >= 0, o->hidden_high);
	}
	jsonw_close(w);
}

static const char *
verdict_word(const struct session *s, const struct probe_result *r)
{
	if (!r->numerics.ok)
		return "wrong";
	if (!s->backend.ops->times_count)
		return "rehearsed";
	return r->holds ? "holds" : "slower";
}

static void
json_head(struct jsonw *w, const struct probe_job *job, const struct session *s)
{
	jsonw_open(w, NULL);
	jsonw_string(w, "schema", "moeplan/probe/v1");
	jsonw_open(w, "tool");
	jsonw_string(w, "name", "moeplan-probe");
	jsonw_string(w, "version", PROBE_VERSION);
	jsonw_close(w);
	jsonw_string(w, "plan_sha256", s->plan->sha256);
	jsonw_string(w, "model", s->plan->model->name);
	jsonw_string(w, "cluster", s->plan->cluster_name);
	jsonw_string(w, "gpu", s->plan->gpu_name);
	jsonw_int(w, "world", s->world);
	jsonw_string(w, "load", job->options->load_skew);
	jsonw_string(w, "placement", job->options->placement);
}

static void
json_diagnostics(struct jsonw *w, const struct diags *diags)
{
	const struct diag *diag;

	jsonw_list(w, "diagnostics");
	for (diag = diags->first; diag; diag = diag->next) {
		jsonw_open(w, NULL);
		jsonw_string(w, "rule", diag->rule);
		jsonw_string(w, "severity", severity_name(diag->severity));
		jsonw_bool(w, "silent", diag->silent);
		jsonw_string(w, "message", diag->message);
		jsonw_string(w, "hint", diag->hint);
		jsonw_close(w);
	}
	jsonw_close(w);
}

void
report_json(const struct probe_job *job, const struct session *s, const struct probe_result *r,
    struct str *out)
{
	struct jsonw w = jsonw_new(job->arena);
	struct verdict_rows v;
	int kind;

	plan_holds(s->plan, &r->measured, job->options->tolerance, &v);
	json_head(&w, job, s);
	jsonw_string(&w, "verdict", verdict_word(s, r));
	jsonw_double(&w, "tolerance", job->options->tolerance / 100);
	json_environment(&w, job, s, r);
	json_step(&w, s, r);
	json_parts(&w, s, r, &v);
	json_memory(&w, s, r);
	json_numerics(&w, &r->numerics);
	json_transfers(&w, s, &r->measured);
	json_compute(&w, &r->measured);
	json_overlap(&w, "overlap", &r->measured.experts_overlap);
	for (kind = 0; kind < OVERLAPPED_KINDS; kind++)
		json_overlap(&w, overlap_rows[kind].name, &r->measured.in_step[kind]);
	json_diagnostics(&w, job->diags);
	jsonw_close(&w);
	str_add(out, jsonw_end(&w));
}
