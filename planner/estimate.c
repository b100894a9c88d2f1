/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What does one strategy cost? Layout, memory of every stage, step time, verdict. */
#include <math.h>
#include <string.h>

#include "planner/evaluator.h"
#include "planner/partition.h"

const char *const memory_part_names[] = {"weights", "gradients", "optimizer", "wgrad_buffers",
    "activations", "logits", "moe_buffers", "runtime", "fragmentation", NULL};
const char *const time_part_names[] = {"attention", "mlp", "experts", "memory_bound", "head",
    "recompute", "host", "all_to_all", "tensor_parallel", "context_parallel", "pipeline", "bubble",
    "data_parallel", "optimizer", "offload", "step_overhead", NULL};
static const char *const time_part_labels[] = {"attention", "dense MLP and shared experts",
    "expert GEMM", "norms, permutation, casts", "output head and loss", "recompute",
    "host launches", "all-to-all", "tensor-parallel traffic", "context-parallel traffic",
    "stage hand-off", "bubble", "gradient and parameter traffic", "optimizer", "host memory",
    "once a step", NULL};

/* "Mamba and attention" */
const char *
mixers_label(const struct model *model)
{
	static const char *const labels[3][2] = {{"Mamba", "Mamba and attention"},
	    {"DeltaNet", "DeltaNet and attention"},
	    {"lightning attention", "lightning and full attention"}};
	bool attends = false;
	int linear = -1;

	for (int k = 0; k < model->n_kinds; k++)
		switch (model->kinds[k].mixer.kind) {
		case MIXER_MAMBA1:
		case MIXER_MAMBA2:
			linear = 0;
			break;
		case MIXER_GATED_DELTANET:
			linear = 1;
			break;
		case MIXER_LIGHTNING:
			linear = 2;
			break;
		default:
			attends = attends || model->kinds[k].mixer.kind != MIXER_NONE;
		}
	return linear < 0 ? "attention" : labels[linear][attends];
}

const char *
time_part_label(const struct model *model, enum time_part part)
{
	return model && part == TIME_ATTENTION ? mixers_label(model) : time_part_labels[part];
}

const char *const verdict_names[] = {"fits", "at-risk", "oom", "invalid", NULL};

/* Out of memory when even the band's low end is too much, at risk when only its high end is. */
static enum verdict
verdict_of(double low, double high, double capacity)
{
	if (low > capacity)
		return VERDICT_OOM;
	return high > capacity ? VERDICT_AT_RISK : VERDICT_FITS;
}

/* Stages in a row share a node where they have fewer GPUs than it. */
void
add_host_bytes(const struct evaluator *e, const struct strategy *s, int stage, double gpu_bytes,
    double *node_bytes, struct estimate *estimate)
{
	int64_t gpus = e->cluster->gpus_per_node, of_stage = s->world / s->pp;
	int64_t stages = gpus > of_stage ? gpus / of_stage : 1;

	if (stage % stages == 0)
		*node_bytes = 0;
	*node_bytes += gpu_bytes * fmin((double)gpus, (double)of_stage);
	estimate->host_bytes = fmax(estimate->host_bytes, *node_bytes);
}

static void
memory_of_stages(const struct evaluator *e, const struct strategy *s, struct costs *c,
    const struct layout *layout, struct stage_memory *stages, struct estimate *estimate)
{
	double skewed_low = 0, skewed_high = 0, node_bytes = 0;

	estimate->worst_bytes = -1;
	for (int i = 0; i < layout->pp; i++) {
		struct stage_memory one, *m = stages ? &stages[i] : &one;

		stage_memory(e, s, c, layout, i, stages != NULL, m);
		add_host_bytes(e, s, i, m->host_bytes, &node_bytes, estimate);
		skewed_low = fmax(skewed_low, m->skewed_bytes * m->low_bytes / m->total_bytes);
		skewed_high = fmax(skewed_high, m->skewed_bytes * m->high_bytes / m->total_bytes);
		/* the low end is without fragments: not always that of the stage with most */
		estimate->worst_low_bytes = fmax(estimate->worst_low_bytes, m->low_bytes);
		estimate->worst_high_bytes = fmax(estimate->worst_high_bytes, m->high_bytes);
		if (m->total_bytes > estimate->worst_bytes) {
			estimate->worst_bytes = m->total_bytes;
			estimate->worst_stage = i;
		}
	}
	estimate->capacity_bytes = e->capacity_bytes;
	estimate->verdict = verdict_of(
	    estimate->worst_low_bytes, estimate->worst_high_bytes, e->capacity_bytes);
	estimate->skewed_verdict = verdict_of(skewed_low, skewed_high, e->capacity_bytes);
}

/* Corrected by runs of this model the band is theirs, but never wider than that of its class. */
static void
step_band(const struct evaluator *e, const struct strategy *s, struct estimate *estimate)
{
	static const double eighty = 1.2816; /* of a normal distribution's spreads, either side */
	const struct correction *c = evaluator_correction(e, s);
	const struct band *band = &step_bands[step_class_of(e->model, e->cluster, s)];
	double low = band->low, high = band->high;

	if (c) {
		double half = fmin(eighty * correction_spread(c, estimate), log(high / low) / 2);

		low = exp(-half);
		high = exp(half);
	}
	estimate->step_low_s = estimate->step_s * low;
	estimate->step_high_s = estimate->step_s * high;
}

bool
host_overflows(const struct cluster *cluster, const struct estimate *estimate)
{
	double capacity = cluster->host.memory_bytes.value;

	return capacity > 0 && estimate->host_bytes > capacity;
}

static void
memory_of_host(const struct evaluator *e, struct estimate *estimate)
{
	if (host_overflows(e->cluster, estimate))
		estimate->verdict = estimate->skewed_verdict = VERDICT_OOM;
}

static void
throughput(const struct evaluator *e, const struct strategy *s, struct estimate *estimate)
{
	double tokens = (double)s->global_batch * (double)s->seq_len;

	estimate->tokens_per_s_per_gpu = tokens / estimate->step_s / (double)s->world;
	estimate->model_tflops_per_gpu = estimate->tokens_per_s_per_gpu * e->flops_training / 1e12;
	estimate->mfu = estimate->model_tflops_per_gpu * 1e12 /
	    peak_flops(&e->cluster->gpu, s->precision);
	step_band(e, s, estimate);
}

static void
choose_layout(const struct evaluator *e, const struct strategy *s, const struct costs *c,
    struct layout *layout)
{
	struct stage_costs costs;

	if (s->pp == 1 && s->vpp == 1) {
		layout_even(layout, e->model->layers, 1, 1);
		return;
	}
	stage_costs(e, s, c, &costs);
	partition_fast(&costs, e->model, layout);
}

static bool
evaluate_with(const struct evaluator *e, const struct strategy *s, const struct layout *layout,
    double limit_s, struct arena *scratch, struct stage_memory *stages, struct estimate *estimate)
{
	struct costs c;
	bool is_below;

	memset(estimate, 0, sizeof(*estimate));
	costs_init(e, s, stages != NULL, &c);
	estimate->strategy = *s;
	if (layout)
		estimate->layout = *layout;
	else
		choose_layout(e, s, &c, &estimate->layout);
	estimate->layout.vee = schedule_is_vee(s->schedule);
	estimate->n_stages = (int)s->pp;
	estimate->stages = stages;
	memory_of_stages(e, s, &c, &estimate->layout, stages, estimate);
	is_below = step_time(e, s, &c, &estimate->layout, limit_s, scratch, estimate);
	memory_of_host(e, estimate);
	if (!is_below)
		return false;
	throughput(e, s, estimate);
	return true;
}

void
evaluate(const struct evaluator *e, const struct strategy *s, const struct layout *layout,
    struct stage_memory *stages, struct estimate *estimate)
{
	evaluate_with(e, s, layout, INFINITY, NULL, stages, estimate);
}

void
evaluate_exact(const struct evaluator *e, const struct strategy *s, const struct layout *layout,
    struct arena *scratch, struct stage_memory *stages, struct estimate *estimate)
{
	evaluate_with(e, s, layout, INFINITY, scratch, stages, estimate);
}

bool
evaluate_below(const struct evaluator *e, const struct strategy *s, const struct layout *layout,
    double limit_s, struct arena *scratch, struct stage_memory *stages, struct estimate *estimate)
{
	return evaluate_with(e, s, layout, limit_s, scratch, stages, estimate);
}
