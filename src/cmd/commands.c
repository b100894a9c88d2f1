/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which commands are there, what do they take, and how are they shown? One row a command. */
#include <string.h>

#include "cmd/cmd.h"

/* --- options that one command alone takes --------------------------------------------------- */

/* clang-format off */
static const struct field model_fields[] = {
	{.name = "seq_len", .arg = "N", .help = "tokens of a sequence, for FLOPs a token "
						 "(the longest that the config names)",
	    .kind = FIELD_INT, .offset = offsetof(struct strategy, seq_len), .min = 1,
	    .max = 1 << 27},
	{.name = NULL},
};

static const struct field groups_fields[] = {
	{.name = "gpus_per_node", .arg = "N", .help = "GPUs of a node (the cluster's, or 8)",
	    .kind = FIELD_INT, .offset = offsetof(struct request, gpus_per_node), .min = 1,
	    .max = 1 << 20, .option_only = true},
	{.name = NULL},
};

static const char *const convention_names[] = {"framework", "product", NULL};
static const struct field check_fields[] = {
	{.name = "model", .arg = "MODEL", .help = "shapes, for what depends on them and for memory",
	    .kind = FIELD_TEXT, .offset = offsetof(struct check_options, model),
	    .option_only = true},
	{.name = "cluster", .arg = "CLUSTER", .help = "the machine, for links and memory",
	    .kind = FIELD_TEXT, .offset = offsetof(struct check_options, cluster),
	    .option_only = true},
	{.name = "convention", .arg = "framework|product",
	    .help = "whose DP --dp is: the framework's dense one, or that of "
		    "WORLD = DP x EP x TP x PP",
	    .kind = FIELD_CHOICE, .offset = offsetof(struct check_options, convention),
	    .choices = convention_names, .option_only = true},
	{.name = "case", .arg = "FILE",
	    .help = "check a case: {\"framework\": ..., \"input\": {...}}",
	    .kind = FIELD_TEXT, .offset = offsetof(struct check_options, case_file),
	    .option_only = true},
	{.name = "from", .arg = "OLD.json",
	    .help = "what moves where when a checkpoint of this plan is loaded by the other",
	    .kind = FIELD_TEXT, .offset = offsetof(struct check_options, from),
	    .option_only = true},
	{.name = NULL},
};

static const struct field emit_fields[] = {
	{.name = "for", .arg = "TARGET[@VERSION]", .help = "whose files to write",
	    .kind = FIELD_TEXT, .offset = offsetof(struct request, target), .option_only = true},
	{.name = NULL},
};
/* clang-format on */

/* --- tables by command ---------------------------------------------------------------------- */

static void
fill_sets(struct request *request, struct field_set sets[MAX_SETS], struct field_set first,
    struct field_set second)
{
	size_t n = 0;

	memset(sets, 0, MAX_SETS * sizeof(*sets));
	if (first.fields)
		sets[n++] = first;
	if (second.fields)
		sets[n++] = second;
	sets[n] = (struct field_set){"Output", common_fields, &request->common};
}

static const struct field_set no_set = {NULL, NULL, NULL};

static void
common_sets(struct request *request, struct field_set sets[MAX_SETS])
{
	fill_sets(request, sets, no_set, no_set);
}

static void
model_sets(struct request *request, struct field_set sets[MAX_SETS])
{
	fill_sets(request, sets,
	    (struct field_set){"What to count", model_fields, &request->job.base}, no_set);
}

static void
estimate_sets(struct request *request, struct field_set sets[MAX_SETS])
{
	fill_sets(request, sets,
	    (struct field_set){"Strategy", strategy_fields, &request->job.base},
	    (struct field_set){"Load and measurement", job_estimate_fields, &request->job});
}

static void
groups_sets(struct request *request, struct field_set sets[MAX_SETS])
{
	fill_sets(request, sets,
	    (struct field_set){"Strategy", strategy_fields, &request->job.base},
	    (struct field_set){"Machine", groups_fields, request});
}

static void
plan_sets(struct request *request, struct field_set sets[MAX_SETS])
{
	fill_sets(request, sets, (struct field_set){"Search", job_fields, &request->job},
	    (struct field_set){"Kept by the search", strategy_job_fields, &request->job.base});
}

static void
check_sets(struct request *request, struct field_set sets[MAX_SETS])
{
	fill_sets(request, sets, (struct field_set){"Check", check_fields, &request->check},
	    (struct field_set){"Strategy", strategy_fields, &request->job.base});
}

static void
emit_sets(struct request *request, struct field_set sets[MAX_SETS])
{
	fill_sets(request, sets, (struct field_set){"Target", emit_fields, request}, no_set);
}

static void
probe_sets(struct request *request, struct field_set sets[MAX_SETS])
{
	fill_sets(
	    request, sets, (struct field_set){"Probe", probe_fields, &request->probe}, no_set);
}

static void
calibrate_sets(struct request *request, struct field_set sets[MAX_SETS])
{
	fill_sets(request, sets,
	    (struct field_set){"Measurement", job_measured_fields, &request->job}, no_set);
}

static void
detect_sets(struct request *request, struct field_set sets[MAX_SETS])
{
	fill_sets(
	    request, sets, (struct field_set){"Machine", detect_fields, &request->detect}, no_set);
}

static void
compare_sets(struct request *request, struct field_set sets[MAX_SETS])
{
	fill_sets(request, sets, (struct field_set){"Judgement", compare_fields, request}, no_set);
}

/* --- the commands --------------------------------------------------------------------------- */

static const char *const shells[] = {"bash", "zsh", "fish", NULL};
static const char *const topics[] = {
    "names", "model", "estimate", "plan", "check", "explain", "groups", "emit", "completion",
    NULL};

static const char *const model_examples[] = {
    "moeplan model deepseek-v3 --seq-len 4096",
    "moeplan model path/to/config.json --format json",
    NULL,
};
static const char *const estimate_examples[] = {
    "moeplan estimate mixtral-8x7b dgx-h100x2 --pp 2 --ep 8 --seq-len 4096 \\\n"
    "      --global-batch 256",
    "moeplan estimate run.yaml --ep 16          # sections of run.yaml, EP overridden",
    "moeplan estimate plan.json --micro-batch 2 # a plan with one change",
    NULL,
};
static const char *const plan_examples[] = {
    "moeplan plan deepseek-v2-lite dgx-h100 --seq-len 4096 --global-batch 512",
    "moeplan plan config.json dgx-h100x16 --seq-len 4096 --global-batch 1024 \\\n"
    "      --pin tp=1 --max pp=8,memory=70GiB --top 10",
    "moeplan plan run.yaml --format json --output plan.json",
    NULL,
};
static const char *const groups_examples[] = {
    "moeplan groups --world-size 16 --tp 2 --ep 4 --etp 1 --gpus-per-node 8",
    "moeplan groups dgx-h100x16 --pp 4 --ep 8 --format json",
    NULL,
};
static const char *const check_examples[] = {
    "moeplan check pretrain.sh --cluster dgx-h100x16",
    "moeplan check model_config.json ds_config.json --world-size 16",
    "moeplan check --dp 4 --ep 8 --tp 2 --pp 2 --convention product",
    "moeplan check --from old.json new.json",
    NULL,
};
static const char *const explain_examples[] = {
    "moeplan explain MEG-003",
    "moeplan explain activations",
    "moeplan explain oom plan.json",
    NULL,
};
static const char *const emit_examples[] = {
    "moeplan emit plan.json --for megatron --output run/",
    "moeplan emit plan.json --for deepspeed@0.19.2 --output run/",
    "moeplan plan run.yaml --format json | moeplan emit - --for slurm",
    NULL,
};
static const char *const place_examples[] = {
    "moeplan place counts.csv --gpus 16",
    "moeplan place by-node.csv --gpus 32 --nodes 4 --map csv --output placement.csv",
    "moeplan place --load-skew cv=0.4,experts=256,layers=58 --gpus 64 --redundant 64",
    NULL,
};
static const char *const completion_examples[] = {
    "source <(moeplan completion bash)",
    "moeplan completion fish > ~/.config/fish/completions/moeplan.fish",
    NULL,
};
static const char *const probe_examples[] = {
    "torchrun --nproc-per-node 8 --no-python moeplan-probe plan.json",
    "moeplan probe plan.json                     # alone: one rank for each GPU",
    "mpirun -n 8 moeplan-probe plan.json --backend cpu",
    NULL,
};
static const char *const detect_examples[] = {
    "moeplan detect --output cluster.yaml",
    "srun -N 1 moeplan detect --dump > seen.yaml && moeplan detect --from seen.yaml",
    NULL,
};
static const char *const calibrate_examples[] = {
    "moeplan calibrate dgx-h100x16 probe.json --output measured.yaml",
    "moeplan calibrate cluster.yaml all_reduce_perf.txt alltoall_perf.txt",
    "moeplan calibrate dgx-h100x16 plan.json train.log --output measured.yaml",
    "moeplan calibrate dgx-h100x16 plan.json --measured-step 18.2s --output measured.yaml",
    NULL,
};
static const char *const compare_examples[] = {
    "moeplan compare plan.json probe.json",
    "moeplan compare plan.json train.log --tolerance 10",
    NULL,
};
static const char *const help_examples[] = {"moeplan help plan", "moeplan help names", NULL};

enum {
	TAKES_MODEL = 1U << SLOT_MODEL,
	TAKES_ALL = 1U << SLOT_MODEL | 1U << SLOT_CLUSTER | 1U << SLOT_JOB,
};

#define MODEL_TEXT                                                                                 \
	"MODEL    a Hugging Face config.json or its folder, a YAML file, '-', or a\n"              \
	"         built-in name such as deepseek-v3\n"
#define CLUSTER_TEXT                                                                               \
	"CLUSTER  a YAML file, a built-in name (dgx-h100x16: 16 nodes of that kind), or\n"         \
	"         a text: \"node:16 gpu:8 H100-SXM5-80GB nvlink:450GB/s nic:8x400Gb/s\"\n"
#define JOB_TEXT                                                                                   \
	"JOB      a YAML file with 'schema: moeplan/job/v1'\n"                                     \
	"One file may hold the sections model, cluster, job and strategy, or be a plan\n"          \
	"as JSON; options override what it says.\n"

/* clang-format off */
const struct command commands[] = {
	{
	    .name = "model",
	    .summary = "what a model is: parameters, active parameters, FLOPs a token",
	    .arguments = "MODEL",
	    .about = "What is this model? Parameters by component to the last digit, active\n"
		     "parameters by three conventions, FLOPs a token.\n\n" MODEL_TEXT,
	    .examples = model_examples, .sets = model_sets, .run = cmd_model,
	    .slots = TAKES_MODEL, .has_document = true,
	},
	{
	    .name = "estimate",
	    .summary = "what one exact strategy costs: memory by stage, step time, verdict",
	    .arguments = "MODEL CLUSTER [JOB]",
	    .about = "What would this exact strategy cost? Memory of every pipeline stage, step\n"
		     "time and where it goes, traffic, and whether it fits.\n\n" MODEL_TEXT
			 CLUSTER_TEXT JOB_TEXT,
	    .examples = estimate_examples, .sets = estimate_sets, .run = cmd_estimate,
	    .slots = TAKES_ALL, .has_document = true,
	},
	{
	    .name = "plan",
	    .summary = "the best strategy, why, what was rejected, and what is proved",
	    .arguments = "MODEL CLUSTER [JOB]",
	    .about = "Which strategy is best? Searches all of them, and says why, what was\n"
		     "rejected and why, and how far the answer is from provably optimal.\n\n"
		     MODEL_TEXT CLUSTER_TEXT JOB_TEXT,
	    .examples = plan_examples, .sets = plan_sets, .run = cmd_plan,
	    .slots = TAKES_ALL, .has_document = true,
	},
	{
	    .name = "place",
	    .summary = "which expert on which GPU, what that gains, and what is proved",
	    .arguments = "LOADS [MODEL CLUSTER]",
	    .about =
		"Which expert goes on which GPU? Reads the loads that training or serving logs,\n"
		"says how uneven they are, and places the experts of every layer so that the\n"
		"fullest GPU has least to do and tokens stay on their node, with bounds.\n\n"
		"LOADS    counts as CSV (layer,e0,e1,... and perhaps a first column node, domain\n"
		"         or snapshot) or JSON, a matrix of pairs, a log of routes "
		"(JSON lines) or\n"
		"         of training, or '-'\n" MODEL_TEXT CLUSTER_TEXT
		"With MODEL and CLUSTER placements are weighed by the planner's step time.\n",
	    .examples = place_examples,
	    .sets = place_sets,
	    .run = cmd_place,
	    .slots = TAKES_ALL,
	    .has_document = true,
	},
	{
	    .name = "groups",
	    .summary = "which rank is in which group, and which groups leave the node",
	    .arguments = "[CLUSTER]",
	    .about = "Which rank is in which TP, CP, PP, DP, EP, ETP and EDP group, on which\n"
		     "node, and which groups leave the node?\n\n" CLUSTER_TEXT
		     "A file with a 'strategy:' section, or a plan, may stand in its place.\n",
	    .examples = groups_examples, .sets = groups_sets, .run = cmd_groups,
	    .slots = TAKES_ALL, .has_document = true,
	},
	{
	    .name = "check",
	    .summary = "whether a configuration is right, and what is wrong with it",
	    .arguments = "[FILE ...]",
	    .about =
		"Is this configuration right? Arithmetic in every convention, the rules of\n"
		"the framework and its release, memory, and what would make it right.\n\n"
		"FILE     a launch script, Megatron-LM arguments, a ds_config.json, torchtitan\n"
		"         TOML or overrides, a hostfile, a plan; several are one configuration\n"
		"Nothing in a file is ever run.\n",
	    .examples = check_examples, .sets = check_sets, .run = cmd_check,
	    .slots = TAKES_ALL, .has_document = true,
	},
	{
	    .name = "explain",
	    .summary = "what a rule or a number means, and what to do about a symptom",
	    .arguments = "RULE|TERM|SYMPTOM [PLAN]",
	    .about = "What does this mean, where is it from, what helps?\n\n"
		     "RULE     an id such as MEG-003; 'rules' lists them\n"
		     "TERM     a part of memory or time, a rate, a word of conditions; 'terms'\n"
		     "SYMPTOM  oom slow hang loss-spike launch tp-vs-ep, with the numbers of PLAN\n"
		     "PLAN     what 'moeplan plan' or 'estimate' wrote with --format json\n",
	    .examples = explain_examples, .sets = common_sets, .run = cmd_explain,
	    .slots = TAKES_ALL, .has_document = true,
	},
	{
	    .name = "emit",
	    .summary = "a plan in the words of the framework that runs it",
	    .arguments = "PLAN",
	    .about =
		"Which files does a framework take for this plan? Exactly the plan, with\n"
		"nothing left to a default; what a framework cannot express is refused.\n\n"
		"PLAN     what 'moeplan plan' or 'estimate' wrote with --format json, or '-'\n"
		"TARGET   megatron, megatron-bridge, deepspeed, torchtitan, tutel, fairscale,\n"
		"         accelerate, jax; torchrun, deepspeed-launch, slurm, mpirun; ranks\n"
		"VERSION  a release of the framework: megatron@0.16 (the newest that is known)\n",
	    .examples = emit_examples, .sets = emit_sets, .run = cmd_emit, .has_document = true,
	},
	{
	    .name = "probe",
	    .summary = "does the plan hold on the real machine? (runs moeplan-probe)",
	    .arguments = "PLAN",
	    .about = "Runs a short, real training step on the planned groups, part by part beside\n"
		     "what was predicted, and compares its numbers with a float64 reference.\n\n"
		     "PLAN     what 'moeplan plan' wrote with --format json\n",
	    .examples = probe_examples, .sets = probe_sets, .run = cmd_probe,
	},
	{
	    .name = "detect",
	    .summary = "a cluster file of this machine, each number marked seen or assumed",
	    .arguments = "",
	    .about =
		"Which cluster is this? GPUs, NVLink and memory by the driver's library, network\n"
		"cards by the kernel, nodes by Slurm.\n",
	    .examples = detect_examples, .sets = detect_sets, .run = cmd_detect,
	},
	{
	    .name = "calibrate",
	    .summary = "a cluster file with what was measured: rates, and steps of real training",
	    .arguments = "CLUSTER FILE...",
	    .about =
		"Which rates does the cluster really have, and how long do steps take? Measured\n"
		"rates stand in place of catalogue ones; measured steps correct the plans of\n"
		"their model.\n\n"
		CLUSTER_TEXT
		"FILE     what 'moeplan-probe --format json' wrote, or the output of nccl-tests;\n"
		"         a plan or estimate as JSON, and behind it the training log or the\n"
		"         torch.profiler trace of its run\n",
	    .examples = calibrate_examples, .sets = calibrate_sets, .run = cmd_calibrate,
	    .slots = 1U << SLOT_CLUSTER,
	},
	{
	    .name = "compare",
	    .summary = "predicted beside measured",
	    .arguments = "PLAN MEASURED",
	    .about =
		"What was predicted, and what came of it?\n\n"
		"PLAN     what 'moeplan plan' or 'estimate' wrote with --format json\n"
		"MEASURED a probe's report, the log of a training run (Megatron-LM, DeepSpeed,\n"
		"         torchtitan), or a trace of torch.profiler\n",
	    .examples = compare_examples, .sets = compare_sets, .run = cmd_compare,
	    .slots = TAKES_ALL, .has_document = true,
	},
	{
	    .name = "completion",
	    .summary = "completion of commands, options and names for your shell",
	    .arguments = "bash|zsh|fish",
	    .about = "Writes a completion script, made from the option tables of this program.\n",
	    .examples = completion_examples, .sets = common_sets, .run = cmd_completion,
	    .words = shells,
	},
	{
	    .name = "help",
	    .summary = "this list, a command, or the built-in models and clusters",
	    .arguments = "[COMMAND|names]",
	    .about = "Explains a command, or lists the built-in models and clusters.\n",
	    .examples = help_examples, .sets = common_sets, .run = cmd_help, .words = topics,
	},
	{.name = NULL},
};
/* clang-format on */

const struct command *
command_find(const char *name)
{
	const struct command *command;

	for (command = commands; command->name; command++)
		if (strcmp(command->name, name) == 0)
			return command;
	return NULL;
}
