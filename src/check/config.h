/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CONFIG_H
#define MOEPLAN_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/doc.h"
#include "emit/keys.h"
#include "model/model.h"
#include "model/strategy.h"

struct arena;

enum config_form {
	CONFIG_MEGATRON, /* arguments, script, YAML */
	CONFIG_DEEPSPEED,
	CONFIG_TORCHTITAN,
	CONFIG_BRIDGE,	  /* Megatron-Bridge overrides */
	CONFIG_TUTORIAL,  /* model_config.json + ds_config.json of the guides */
	CONFIG_PLAN,	  /* our own documents */
	CONFIG_NUMBERS,	  /* options of the command line only, launch files, environment */
	CONFIG_TUTEL,	  /* a call of Tutel's moe_layer */
	CONFIG_FAIRSCALE, /* a call of its Top2Gate */
	CONFIG_ACCELERATE,
	CONFIG_MAXTEXT,
	CONFIG_FORMS
};
extern const char *const config_form_names[];
/* A library that is none of enum framework. */
static inline bool
config_is_library(enum config_form form)
{
	return form >= CONFIG_TUTEL && form < CONFIG_FORMS;
}

/*
 * What somebody's files say, in the words of their framework and in ours.
 * Importers fill it; rules read it. Nothing in an input is ever executed.
 *
 * Names: options of Megatron as they are written ("disable_bias_linear",
 * "no_overlap_p2p_communication"), dotted paths for DeepSpeed
 * ("zero_optimization.stage") and torchtitan ("parallelism.tensor_parallel_degree");
 * sections of Megatron-Bridge ("model.") are left out, so that its names are Megatron's.
 * A map is a setting as well as each of its members. Options of launchers ("nnodes",
 * "nproc_per_node", "num_gpus", "include", "ntasks_per_node") and exported variables
 * ("WORLD_SIZE") keep their names and have the form CONFIG_NUMBERS: they are no words of
 * the framework. Arguments of MoE(…) and PipelineModule(…) in Python are "MoE.ep_size";
 * those of Tutel's moe_layer are "model_dim", "gate_k", "count_per_gpu".
 */
struct setting {
	const char *name;
	const struct doc *value; /* its own location inside */
	enum config_form form;	 /* whose words these are */
	bool argument;		 /* said on a command line, no key of a file */
	bool unresolved;	 /* it is there, but not its value: `value` holds the text */
	struct setting *next;
};

/* Something that could not be expanded without running the script. */
struct unresolved {
	struct loc loc;
	const char *name;    /* "$(nvidia-smi -L | wc -l)", "$UNSET" */
	const char *setting; /* whose value it is, or NULL */
	enum config_form form;
	struct unresolved *next;
};

/* Who starts the ranks, as far as files and environment say. 0 or NULL: not said. */
struct launch {
	const char *launcher; /* "torchrun", "deepspeed", "srun", "mpirun" */
	const char *outer;    /* what starts that launcher on the nodes: "srun", "ssh" */
	bool open;	      /* words that are not known may be options of it */
	bool scripted;	      /* each task runs a script that was not read */
	const char *program;  /* what the ranks run: "pretrain_gpt.py" */
	struct loc loc;
	int64_t nodes, processes_per_node;
	int64_t agents, agents_per_node; /* launchers that `outer` starts, on a node */
	int64_t job_nodes;		 /* of the Slurm job that the script is of */
	int64_t gpus_per_node;		 /* that the launcher sees */
	int64_t world_size, rank, local_rank; /* of the environment; rank -1 not said */
	const char *master_addr;
	int64_t master_port;
	const struct doc *hostfile; /* map: host -> slots */
};

struct config {
	enum config_form form;
	const char *version;	  /* of the framework; NULL newest known */
	struct setting *settings; /* every setting that was found, known or not */
	struct unresolved *unresolved;
	bool open; /* words of a command line that are not known may hold more settings */
	bool excerpt; /* a case lists a few keys of the framework's file */
	struct strategy strategy; /* what they mean, not derived: 0 is not given */
	struct model *model;	  /* from shape settings, or NULL */
	const char *model_lacks;  /* the size that these miss to make one, or NULL */
	struct launch launch;
	int64_t product_dp; /* DP of the guides' WORLD = DP x EP x TP x PP; 0 not said */
};

/* Nothing said: CONFIG_NUMBERS, no rank. */
void config_init(struct config *config);
/*
 * Reads one file by its content (JSON, TOML, YAML, shell, hostfile, launch line)
 * into `config`; files are merged in order and contradictions between them are
 * errors that name both places. -1 after adding errors.
 */
int config_import(struct config *config, struct arena *arena, struct diags *diags, const char *name,
    const char *text, size_t length);
/* An argument vector as a framework would get it. */
int config_import_arguments(
    struct config *config, struct arena *arena, struct diags *diags, int argc, char **argv);

const struct setting *setting_find(const struct config *config, const char *name);
/* A setting with a known number that says this option of a strategy ("tp"), or NULL. */
const struct setting *config_says(const struct config *config, const char *option);

#endif
