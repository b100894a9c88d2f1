/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_STRATEGY_H
#define MOEPLAN_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/field.h"

struct arena;
struct model;

/*
 * What is chosen. In a strategy as read, 0 (or -1, or NULL, where said) means
 * "not given"; strategy_derive() fills in defaults and derived sizes, so that
 * nothing derived is ever read from a file.
 */
enum { STRATEGY_MAX_PP = 256 };

enum framework { FRAMEWORK_MEGATRON, FRAMEWORK_DEEPSPEED, FRAMEWORK_TORCHTITAN, FRAMEWORKS };
extern const char *const framework_names[];

enum precision {
	PRECISION_BF16,
	PRECISION_FP16,
	PRECISION_FP8,
	PRECISION_FP8_BLOCKWISE,
	PRECISION_MXFP8,
	PRECISION_NVFP4,
	PRECISIONS
};
extern const char *const precision_names[];

enum recompute_kind { RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL };
/* Megatron's --recompute-modules. */
enum recompute_module {
	MODULE_CORE_ATTN = 1 << 0,
	MODULE_LAYERNORM = 1 << 1,
	MODULE_MLA_UP_PROJ = 1 << 2,
	MODULE_MLP = 1 << 3,
	MODULE_MOE_ACT = 1 << 4,
	MODULE_MOE = 1 << 5,
	MODULE_SHARED_EXPERTS = 1 << 6,
	MODULES = 7
};
extern const char *const recompute_module_names[MODULES + 1]; /* by bit */

struct recompute {
	enum recompute_kind kind;
	unsigned modules; /* RECOMPUTE_SELECTIVE */
	int64_t layers;   /* RECOMPUTE_FULL: layers a virtual stage, 0 all */
};

enum dispatcher {
	DISPATCH_ALLTOALL,
	DISPATCH_ALLGATHER,
	DISPATCH_DEEPEP,
	DISPATCH_HYBRIDEP,
	DISPATCHERS
};
extern const char *const dispatcher_names[];
enum schedule {
	SCHEDULE_1F1B,
	SCHEDULE_INTERLEAVED,
	SCHEDULE_ZB,        /* ZB-H1, interleaved when vpp > 1 */
	SCHEDULE_ZBV,
	SCHEDULE_DUALPIPE,  /* from both ends, two copies of the parameters */
	SCHEDULE_DUALPIPEV,
	SCHEDULES
};
extern const char *const schedule_names[];
enum loss_kernel { LOSS_FUSED, LOSS_COMPILED, LOSS_EAGER };
extern const char *const loss_names[];
enum float_type { FLOAT_FP32, FLOAT_BF16, FLOAT_FP8 };
extern const char *const float_type_names[];
enum offload { OFFLOAD_NONE, OFFLOAD_OPTIMIZER, OFFLOAD_ACTIVATIONS };
/* Settings that change the cost and that reports of runs leave out: which were stated? */
enum said { SAID_RECOMPUTE = 1, SAID_DISPATCHER = 2, SAID_GRADIENTS = 4, SAID_OPTIMIZER = 8,
	SAID_PRECISION = 16, SAID_FRAMEWORK = 32 };
/* Launches: one by one, modules from graphs, or the whole iteration as one graph. */
enum graphs { GRAPHS_OFF, GRAPHS_ON, GRAPHS_FULL };
extern const char *const graphs_names[];
enum overlap { OVERLAP_DP = 1, OVERLAP_TP = 2, OVERLAP_EP = 4, OVERLAP_PP = 8 };

struct strategy {
	enum framework framework;
	const char *framework_version; /* NULL: newest known */

	int64_t world;
	int64_t tp, cp, pp, vpp, ep, etp;
	int64_t dp;           /* dense: tp*cp*gtp*pp*dp = world */
	int64_t edp;          /* expert: etp*ep*egtp*pp*edp = world */
	int64_t gtp, egtp;    /* Megatron 0.19 weight-sharding axes, 1 when unused */
	int64_t dp_replicate, dp_shard; /* torchtitan */
	bool data_before_expert;        /* DeepSpeed D+E */
	int expert_tp;                  /* DeepSpeed: 1 on, 0 off, -1 not given */
	bool auto_ep;                   /* DeepSpeed AutoEP */

	int64_t seq_len, micro_batch, global_batch;
	struct recompute recompute;
	int zero;             /* 0..3, -1 not given; 1 = Megatron's distributed optimizer */
	enum dispatcher dispatcher;
	double capacity;      /* capacity factor, 0 dropless */
	int schedule;         /* enum schedule, -1 not given: interleaved when vpp > 1 */
	const char *layout;   /* Megatron's pipeline layout string, NULL even */
	const char *order;    /* NULL: the framework's */
	enum precision precision;
	enum float_type grad_type;      /* main gradients: fp32 or bf16 */
	enum float_type moment_type;    /* Adam moments */
	enum offload offload;
	double offload_fraction;        /* of the optimizer state, 0..1 */
	enum loss_kernel loss;
	enum graphs cuda_graphs;
	unsigned overlap;               /* enum overlap bits */
	unsigned said;                  /* enum said bits */

	/* derived */
	bool sequence_parallel;         /* tp > 1 */
	int64_t micro_batches;          /* global / (micro * dp) */
	int64_t experts_per_rank;
};

/* Chunks that run down the stages and back up, two a stage. */
bool schedule_is_vee(int schedule);
/* No release of the framework runs its schedule: a program of somebody's own does. */
bool schedule_is_foreign(const struct strategy *strategy);

/* Everything not given, with the defaults of the command line's contract. */
void strategy_init(struct strategy *strategy);

/* The rows of all strategy options, for options_parse() and the `strategy:` section. */
extern const struct field strategy_fields[];
/*
 * The tail of that table which a job takes too: what the search keeps (sequence, batch,
 * precision …).
 */
extern const struct field *const strategy_job_fields;

/*
 * Fills in what follows: world from the degrees or dp from world, etp, edp,
 * schedule, zero, order, micro_batches, experts_per_rank. `world` in the
 * strategy or, when 0, `cluster_world`. Arithmetic that does not come out is
 * reported by strategy_violations(), not here; derived sizes are then 0.
 */
void strategy_derive(struct strategy *strategy, const struct model *model, int64_t cluster_world);

/*
 * The multiples of `step` nearest to the strategy's world, at most it and above it, on which
 * all ranks of its degrees come out, whatever else is wrong with them; 0 where there is none.
 */
void strategy_near_worlds(
    const struct strategy *strategy, const struct model *model, int64_t step, int64_t worlds[2]);

/*
 * The arithmetic and divisibility rules that a grid must satisfy, the same for
 * the search and for the user: returns the row of the first rule that is
 * broken, or NULL when all hold. Allocates nothing (the search calls it 1e5 times).
 */
struct grid_rule {
	const char *id;   /* as in the rule table: "MEG-001" … */
	const char *gist; /* "tp*cp*pp divides the world" */
	bool (*holds)(const struct strategy *strategy, const struct model *model);
	/* Writes the message with the numbers, and the smallest fix as a hint. */
	void (*report)(const struct grid_rule *rule, const struct strategy *strategy,
	    const struct model *model, struct diags *diags);
	unsigned frameworks; /* bit per enum framework */
};
enum { GRID_MAX_RULES = 64 }; /* rows of the table, the end included, are at most this many */
extern const struct grid_rule grid_rules[]; /* ends with id NULL */
const struct grid_rule *strategy_first_violation(
    const struct strategy *strategy, const struct model *model);
/* Reports all broken rules as errors; the number of them. `model` may be NULL (groups). */
int strategy_violations(
    const struct strategy *strategy, const struct model *model, struct diags *diags);

/* "selective:layernorm+moe_act", "full:2", "none": as --recompute takes it. */
const char *recompute_text(struct arena *arena, struct recompute recompute);
/* "tp 2 pp 8 ep 8 …": the options that pin this strategy, ready to paste. */
const char *strategy_options_text(struct arena *arena, const struct strategy *strategy);

#endif
