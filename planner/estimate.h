/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_ESTIMATE_H
#define MOEPLAN_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/cluster.h"
#include "model/job.h"
#include "model/layout.h"
#include "model/model.h"
#include "model/strategy.h"

/* Memory of one pipeline stage, by part, in bytes. */
enum memory_part {
	MEMORY_WEIGHTS,
	MEMORY_GRADIENTS,
	MEMORY_OPTIMIZER,
	MEMORY_WGRAD_BUFFERS,
	MEMORY_ACTIVATIONS,
	MEMORY_LOGITS,
	MEMORY_MOE_BUFFERS,
	MEMORY_RUNTIME,       /* context, libraries and communicators */
	MEMORY_FRAGMENTATION,
	MEMORY_PARTS
};
extern const char *const memory_part_names[MEMORY_PARTS + 1]; /* JSON keys */

/* Where a step's seconds go; exposed seconds of the slowest stage sum to the step. */
enum time_part {
	TIME_ATTENTION,      /* projections and core */
	TIME_MLP,            /* dense MLP and shared experts */
	TIME_EXPERTS,        /* grouped GEMM */
	TIME_MEMORY_BOUND,   /* norms, permute, activations, router, casts */
	TIME_HEAD,           /* embedding, output head, loss, MTP */
	TIME_RECOMPUTE,
	TIME_HOST,           /* launch time that the GPU waits for, sync gaps */
	TIME_ALL_TO_ALL,
	TIME_TENSOR_PARALLEL,
	TIME_CONTEXT_PARALLEL,
	TIME_PIPELINE,       /* stage hand-off */
	TIME_BUBBLE,
	TIME_DATA_PARALLEL,  /* gradients, parameter gathers, FSDP */
	TIME_OPTIMIZER,
	TIME_OFFLOAD,        /* copies to and from host memory, the optimizer there */
	TIME_STEP,           /* once a step: data, logging */
	TIME_PARTS
};
extern const char *const time_part_names[TIME_PARTS + 1];   /* JSON keys */
/*
 * For people. What runs along the sequence is called by its name: "Mamba and attention";
 * model NULL: "attention".
 */
const char *mixers_label(const struct model *model);
const char *time_part_label(const struct model *model, enum time_part part);

enum verdict { VERDICT_FITS, VERDICT_AT_RISK, VERDICT_OOM, VERDICT_INVALID };
extern const char *const verdict_names[];

struct stage_memory {
	double parts[MEMORY_PARTS];
	double allocated_bytes; /* what the allocator reports: no runtime, no fragmentation */
	double total_bytes;
	double low_bytes, high_bytes; /* four of five runs lie between */
	double host_bytes;      /* activations of a GPU in host memory */
	double skewed_bytes;    /* total with the fullest expert rank at SKEWED_LOAD x the mean */
	int layers;
	int in_flight;          /* chunks alive at the peak (micro-batches when vpp is 1) */
	bool has_embedding, has_head;
};

struct estimate {
	struct strategy strategy; /* derived */
	struct layout layout;
	int n_stages;
	struct stage_memory *stages; /* arena; may be NULL in a closed-form evaluation */
	int worst_stage;
	double worst_bytes;       /* total of the worst stage */
	double worst_low_bytes, worst_high_bytes; /* its band: four of five runs lie inside */
	double capacity_bytes;    /* usable - reserve */
	double host_bytes;        /* of the fullest node's memory, by what is offloaded */
	enum verdict verdict;     /* at the job's load */
	enum verdict skewed_verdict; /* at 1.7 x the mean */

	double step_s, step_low_s, step_high_s;
	double exposed_s[TIME_PARTS]; /* sum = step_s */
	double hidden_s[TIME_PARTS];  /* behind computation */
	/* Averaged over the stages, to compare strategies whose slowest stages differ; what a
	 * stage waits for others is bubble. Sum = step_s. Only by evaluate_exact(). */
	double mean_s[TIME_PARTS];
	/* leaving a GPU over this level, a step, slowest stage */
	double traffic_bytes[CLUSTER_MAX_LEVELS];
	double tokens_per_s_per_gpu;
	double model_tflops_per_gpu;  /* 3 x forward, causal half, recompute not counted */
	double mfu;                   /* of the datasheet peak of the precision */
	int slowest_stage;
};

/* Does what is offloaded exceed the memory of a node, where that is known? */
bool host_overflows(const struct cluster *cluster, const struct estimate *estimate);

/*
 * What is the same for every strategy of one run: the model's tensor sums, the
 * machine's rates and the job. Build once, evaluate many times.
 */
struct evaluator;
struct evaluator *evaluator_new(struct arena *arena, const struct model *model,
    const struct cluster *cluster, const struct job *job);

/*
 * NULL when the model can be estimated, else the reason by name
 * ("Mamba-2 layers (42 of 88)").
 */
const char *evaluator_refusal(struct arena *arena, const struct model *model);
/* NULL, or the choice of this strategy that has no cost model ("the zero-bubble schedule"). */
const char *strategy_refusal(const struct strategy *strategy);

/*
 * Closed form: all stages' memory and time of one strategy, ≤ 20 µs. `strategy`
 * is derived and free of violations. `layout` NULL: the balanced split by time
 * under the memory limit. Time is m*max(stage) + sum(others)/v. No allocation:
 * `stages`, when not NULL, has room for pp entries.
 */
void evaluate(const struct evaluator *evaluator, const struct strategy *strategy,
    const struct layout *layout, struct stage_memory *stages, struct estimate *estimate);

/* The same with the schedule simulated event by event: the exact value of a finalist. */
void evaluate_exact(const struct evaluator *evaluator, const struct strategy *strategy,
    const struct layout *layout, struct arena *scratch, struct stage_memory *stages,
    struct estimate *estimate);
/*
 * The same when the step is below limit_s. False: a lower bound of it is not; that
 * is step_s, memory is as it is, and of times nothing else is known.
 */
bool evaluate_below(const struct evaluator *evaluator, const struct strategy *strategy,
    const struct layout *layout, double limit_s, struct arena *scratch,
    struct stage_memory *stages, struct estimate *estimate);

/*
 * True lower bounds over every layout: step time (perfect balance, hidden
 * communication fully hidden) and worst-stage memory. Never above evaluate_exact().
 */
struct bound {
	double step_s;
	double memory_bytes;
};
struct bound evaluate_bound(const struct evaluator *evaluator, const struct strategy *strategy);

/*
 * What the pipeline split needs of one strategy: seconds and bytes of a layer
 * of each kind, of the ends, and how many are alive. Stage s, kind k:
 *   time(s)   = fixed_s[s] + sum_k n_k (layer_s[k] + r_k recompute_s[k] / n_k)
 *   memory(s) = fixed_bytes[s] + sum_k n_k (state_bytes[k] + alive[s] activation_bytes[k])
 *               - sum_k r_k alive[s] saved_bytes[k]
 */
struct stage_costs {
	int pp, vpp, n_kinds;
	bool vee;
	double layer_s[MODEL_MAX_KINDS], recompute_s[MODEL_MAX_KINDS];
	double state_bytes[MODEL_MAX_KINDS], activation_bytes[MODEL_MAX_KINDS];
	double saved_bytes[MODEL_MAX_KINDS];
	double fixed_s[STRATEGY_MAX_PP], fixed_bytes[STRATEGY_MAX_PP];
	double alive[STRATEGY_MAX_PP]; /* in whole stages: chunks alive / vpp */
	double capacity_bytes;
	/* Full recompute: the first so many layers of every chunk; 0 none, MODEL_MAX_LAYERS all. */
	int recomputed;
};
/* The chunk that is virtual stage v of a stage. */
static inline int
costs_chunk(const struct stage_costs *costs, int stage, int v)
{
	return costs->vee && v == 1 ? 2 * costs->pp - 1 - stage : v * costs->pp + stage;
}
void evaluate_costs(const struct evaluator *evaluator, const struct strategy *strategy,
    struct stage_costs *costs);

#endif
