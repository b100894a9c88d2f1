/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CMD_H
#define MOEPLAN_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/doc.h"
#include "base/field.h"
#include "base/str.h"
#include "cmd/place_args.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/model.h"
#include "model/probe_options.h"

#define MOEPLAN_VERSION "0.1.0"

/*
 * To add a command: a row in commands[] (commands.c), a file cmd_<name>.c with
 * its run function, its option tables in <name>_sets(), a golden test.
 * Commands never print and never exit: they fill request->out and return a status.
 */
enum status {
	STATUS_YES = 0,		/* done; warnings and at-risk included */
	STATUS_NO = 1,		/* the answer is no */
	STATUS_USAGE = 2,	/* usage or unreadable input */
	STATUS_ENVIRONMENT = 3, /* out of memory, disk full, broken pipe */
	STATUS_BUG = 70,
};

enum format { FORMAT_TEXT, FORMAT_JSON };
enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Options of every command. */
struct common {
	int format; /* enum format */
	const char *output;
	bool quiet, verbose;
	int color; /* enum color */
	bool help, version;
};
extern const struct field common_fields[];

/* A file that was read, for the fingerprints of a document. */
struct input_file {
	const char *name;
	char sha256[65];
	struct input_file *next;
};

/* What stands before the options. */
enum slot { SLOT_MODEL, SLOT_CLUSTER, SLOT_JOB, SLOTS };
extern const char *const slot_names[SLOTS + 1];

enum { MAX_SETS = 6 };

/* Options that `check` alone takes. */
struct check_options {
	const char *model, *cluster; /* as on the command line of other commands */
	const char *case_file;
	const char *from;	     /* OLD.json of a resharding map */
	int convention;		     /* 0 the framework's, 1 WORLD = DP*EP*TP*PP */
};

/* Options that `detect` alone takes. */
struct detect_options {
	const char *from;
	bool dump;
};
extern const struct field detect_fields[], compare_fields[];

/* One run of the program: what was asked and what came of it. */
struct request {
	const struct command *command;
	struct arena *arena;
	struct diags *diags;
	struct field_context context;
	int argc; /* after the command word */
	char **argv;
	struct arguments arguments;

	struct common common;
	struct job job;	       /* job.base: the strategy */
	struct job given;      /* the job as read, before anything was derived */
	int64_t gpus_per_node; /* groups */
	struct check_options check;
	const char *target;    /* emit */
	struct place_args place;

	struct probe_options probe;
	struct detect_options detect;
	double tolerance_percent; /* compare; 0: not given */
	/* what --measured-on says in words, derived; or NULL */
	const struct strategy *measured_words;
	double measured_predicted_s; /* of --measured-step's strategy, uncorrected; 0 without */

	struct model *model;
	const struct doc *model_doc; /* what `model` was read from */
	struct cluster *cluster;
	/* the same of `cluster`: a mapping, or its name as a string */
	const struct doc *cluster_doc;
	struct input_file *inputs, **last_input;
	const struct doc *strategy_section; /* `strategy:` of a combined file, or NULL */

	bool utf8;  /* the locale can show more than ASCII */
	bool color; /* results may carry colour */
	bool color_errors;
	struct str out; /* the report or the JSON document */
};

/* Fills `sets` with the command's tables over the request's members, a NULL row last. */
typedef void command_sets_fn(struct request *request, struct field_set sets[MAX_SETS]);
typedef enum status command_run_fn(struct request *request);

struct command {
	const char *name;
	const char *summary;   /* one line, for the list of commands */
	const char *arguments; /* "MODEL CLUSTER [JOB]" */
	const char *about;     /* paragraph for --help, lines under 80 columns */
	const char *const *examples;
	command_sets_fn *sets;
	command_run_fn *run;
	unsigned slots;		  /* bit per enum slot that it takes */
	const char *const *words; /* literal arguments: shells, commands; for completion */
	bool has_document;	  /* it has a JSON document */
};
extern const struct command commands[]; /* ends with a NULL name */
const struct command *command_find(const char *name);

/* common.c */
void request_init(struct request *request, struct arena *arena);
/* Reads options into the request; positional arguments are left in request->arguments. */
int request_options(struct request *request, struct diags *diags);

command_run_fn cmd_model, cmd_estimate, cmd_groups, cmd_plan, cmd_check, cmd_explain, cmd_emit,
    cmd_place, cmd_probe, cmd_detect, cmd_calibrate, cmd_compare, cmd_completion, cmd_help;
command_sets_fn place_sets; /* cmd_place.c */

/*
 * inputs.c: loads MODEL, CLUSTER and JOB arguments into the request; options
 * override sections. -1 after adding errors. `required` is a bit per slot.
 */
int inputs_load(struct request *request, unsigned required);
/*
 * plan_source.c: a plan or an estimate as a combined file for the `options` beside it, and the name
 * of its model; NULL: `doc` is neither, or a plan without a strategy.
 */
const struct doc *plan_as_combined(struct arena *arena, const struct doc *doc,
    const struct strategy *options, const char **model_name);

/*
 * prepare.c: what estimate and plan need before the first number: a sequence
 * length, a global batch, a model that the cost model covers. STATUS_YES when all is there.
 */
enum status job_prepare(struct request *request);
/* The loads that --load-skew names, read once; -1 when they are not of this model's experts. */
int job_loads(struct request *request, const struct model *model);
/* Reads a file of expert loads and counts it among the inputs; NULL after adding errors. */
struct loads;
const struct loads *request_loads(struct request *request, const char *path);

/* runs_note.c: notes on measured runs of the cluster, and by how much they correct this model. */
void runs_note(struct request *request);

/* help.c */
void help_short(struct str *out);
void help_command(struct request *request, const struct command *command);
/* "--micro-batch" of the row "micro_batch". */
const char *option_name(struct arena *arena, const struct field *field);

/* print_diags.c */
void print_diags(const struct diags *diags, struct str *out, bool color, enum severity least);

#endif
