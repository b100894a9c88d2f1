/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CONTEXT_H
#define MOEPLAN_CONTEXT_H

#include "check/expr.h"
#include "check/rules.h"

/*
 * What is known when rules are decided: names in conditions become values here.
 * A name is, in this order: `setting`, one of our terms, a setting of the files.
 */
struct facts {
	const struct check_context *check;
	struct arena *arena;
	/* The model, or a one-layer-kind stand-in that holds the few sizes that were stated. */
	const struct model *model;
	bool partial;	    /* it is such a stand-in */
	bool complete;	    /* a setting that is not there has the framework's default */
	bool options;	    /* a case that tells options: others are not there */
	unsigned framework; /* bit as in struct rule */
	const char *version;
	const struct setting *setting; /* in rules for every setting, else NULL */
	unsigned hidden;	       /* sizes that are said and not known: bits below */
	struct value *strange;	       /* what strange() gave; undecided: not asked yet */
};
enum hidden_size {
	HIDDEN_TP = 1 << 0,
	HIDDEN_CP = 1 << 1,
	HIDDEN_PP = 1 << 2,
	HIDDEN_VPP = 1 << 3,
	HIDDEN_EP = 1 << 4,
	HIDDEN_ETP = 1 << 5,
	HIDDEN_SHARD = 1 << 6,
	HIDDEN_SEQ = 1 << 7,
	HIDDEN_MICRO = 1 << 8,
	HIDDEN_GLOBAL = 1 << 9,
	HIDDEN_DENSE = HIDDEN_TP | HIDDEN_CP | HIDDEN_PP,
	HIDDEN_EXPERT = HIDDEN_EP | HIDDEN_ETP | HIDDEN_PP,
};
/* The bits for a configuration, its defaults already filled in. */
unsigned hidden_sizes(const struct config *config);
void facts_init(struct facts *facts, const struct check_context *check, struct arena *arena);
struct expr_scope facts_scope(const struct facts *facts);

/* A word of conditions and messages that is ours, not a framework's. */
struct term {
	const char *name;
	const char *text;    /* what it is, for explain and the man page */
	const char *natives; /* settings that say the same, blank-separated; "" none */
	/* Undecided when it is not known, unset when there is none. NULL: only natives. */
	struct value (*get)(const struct facts *facts);
};
extern const struct term terms[]; /* ends with name NULL */
const struct term *term_find(const char *name);

/* The setting with this name, one of its other spellings, or one that says this term; or NULL. */
const struct setting *facts_setting(const struct facts *facts, const char *name);
/* Another spelling of a setting, or its negation: conditions may ask for it. */
bool setting_is_spelling(const char *name);
/* A term or a rule reads it: what is not known of it leaves something open. */
bool setting_matters(const struct unresolved *what);
/* The key table row that spells a term for the configuration's framework; NULL. */
const struct key *facts_key(const struct facts *facts, const char *term);
struct value value_of_doc(struct arena *arena, const struct doc *doc);

/* rules_functions.c: functions that ask the configuration. */
extern const struct expr_function rule_functions[];
/* rules_placement.c: functions over loads, placements and measured series. */
extern const struct expr_function placement_functions[];
/* rules_hosts.c: functions over the hostfile and the filters of its slots. */
extern const struct expr_function host_functions[];
/* rules_meaning.c: functions over what the variables of a launch count. */
extern const struct expr_function meaning_functions[];
/* rules_meant.c: functions over degrees that a file says where DeepSpeed does not look. */
extern const struct expr_function meant_functions[];
/* rules_layout.c: functions over pipeline layouts and layer patterns. */
extern const struct expr_function layout_functions[];
/* rules_beside.c: functions that hold the files against the model and the cluster beside them. */
extern const struct expr_function beside_functions[];
/* rules_plan.c: functions that hold the files against a plan beside them. */
extern const struct expr_function plan_functions[];
/* rules_mesh.c: functions over MaxText's axes. */
extern const struct expr_function mesh_functions[];
/* All that conditions may call; ends with NULL. */
extern const struct expr_function *const rule_function_tables[];

/* context_memory.c: sizes and bytes on one rank, from the model or from stated numbers. */
struct value facts_params(const struct facts *facts);
struct value facts_expert_params(const struct facts *facts);
struct value facts_dense_rank_params(const struct facts *facts);
struct value facts_expert_rank_params(const struct facts *facts);
struct value facts_state_bytes(const struct facts *facts);
struct value facts_offloaded_bytes(const struct facts *facts);

/*
 * Fills what a framework takes for settings that are not there, before
 * strategy_derive(): Megatron's ETP, DeepSpeed's stage 0.
 */
void config_defaults(struct config *config);
/*
 * Fills the global batch and the micro-batch that follow from the stated ones and accumulation,
 * for `ranks` ranks of dense data parallelism (0: not known, nothing follows).
 */
void config_derive_batch(const struct config *config, struct strategy *s, int64_t ranks);
/* A launcher starts a program that nobody here knows: its degrees are not 1, but not said. */
bool config_is_launch(const struct config *config);
/* Nothing tells whose program that is. */
bool config_is_open(const struct config *config);
bool config_is_toml(const struct config *config);
/* The release whose rules hold when none is named. */
const char *newest_release(enum framework framework);

#endif
