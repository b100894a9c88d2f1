/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do calls in a piece of Python say? Native MoE layers and pipelines of DeepSpeed and
 * layers of Tutel have no configuration file: their settings are arguments of a call.
 *
 * Read are the calls of the table below, with literals, and names that the same text gives a
 * literal. Whatever else stands there is an unknown value. Signatures: DeepSpeed
 * deepspeed/moe/layer.py, deepspeed/pipe/module.py and pipe/topology.py (0.19), Tutel
 * tutel/impls/moe_layer.py, recipes of torchtitan 0.3 (torchtitan/config/configs.py).
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_python.h"

enum { MAX_CALLS = 64 };

struct call {
	const char *name;
	enum config_form form;
	const char *prefix;	       /* of its settings */
	const char *const *positional; /* names of arguments without one */
	bool imported;		       /* only where Accelerate is: others have such a name too */
};

/* clang-format off */
static const char *const moe_arguments[] = {"hidden_size", "expert", "num_experts", "ep_size", "k",
	"capacity_factor", "eval_capacity_factor", "min_capacity", "use_residual",
	"noisy_gate_policy", "drop_tokens", "use_rts", "use_tutel",
	"enable_expert_tensor_parallelism", "top2_2nd_expert_sampling", NULL};
static const char *const pipeline_arguments[] = {"layers", "num_stages", NULL};
static const char *const tutel_arguments[] = {"gate_type", "model_dim", "experts", NULL};
static const char *const topology_arguments[] = {"num_pp", "num_mp", "num_dp", NULL};
static const char *const gate_arguments[] = {"model_dim", "num_experts", NULL};
static const char *const registry_arguments[] = {"flavor", NULL};
static const char *const none[] = {NULL};
static const struct call calls[] = {
	{"moe_layer", CONFIG_TUTEL, "", tutel_arguments, false},
	{"MoE", CONFIG_DEEPSPEED, "MoE.", moe_arguments, false},
	{"PipelineModule", CONFIG_DEEPSPEED, "PipelineModule.", pipeline_arguments, false},
	{"PipeModelDataParallelTopology", CONFIG_DEEPSPEED, "topology.", topology_arguments, false},
	{"Top2Gate", CONFIG_FAIRSCALE, "", gate_arguments, false},
	{"Accelerator", CONFIG_ACCELERATE, "", none, true},
	{"FullyShardedDataParallelPlugin", CONFIG_ACCELERATE, "", none, true},
	{"MixedPrecisionPolicy", CONFIG_ACCELERATE, "policy.", none, true},
	{"DistributedConfig", CONFIG_ACCELERATE, "", none, false},
	{"ParallelismConfig", CONFIG_ACCELERATE, "", none, true},
	{"ParallelismConfig", CONFIG_TORCHTITAN, "parallelism.", none, false},
	{"TrainingConfig", CONFIG_TORCHTITAN, "training.", none, false},
	{"CompileConfig", CONFIG_TORCHTITAN, "compile.", none, false},
	{"model_registry", CONFIG_TORCHTITAN, "model.", registry_arguments, false},
};
/* clang-format on */

/* --- calls ---------------------------------------------------------------------------------- */

/* "gate_k" of gate_type={'k': 2}; members of `experts` keep their names. */
static void
add_tutel_map(struct python *p, const char *name, const struct doc *map)
{
	const char *prefix = strcmp(name, "gate_type") == 0 ? "gate_" : "";

	for (const struct doc *member = map->first; member; member = member->next) {
		const char *full = arena_printf(p->in->arena, "%s%s", prefix, member->key);

		if (member->kind == DOC_NULL && member->quoted)
			import_unknown_setting(
			    p->in, CONFIG_TUTEL, full, member->text, member->loc);
		else
			import_setting(p->in, CONFIG_TUTEL, full, member);
	}
}

/* Two libraries have a ParallelismConfig: what is imported tells whose it is. */
static const struct call *
find_call(const struct python *p, const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0 && (!calls[i].imported || p->accelerate))
			return &calls[i];
	return NULL;
}

/* At the cursor: a call that is read by itself. */
static bool
is_other_call(struct python *p)
{
	size_t start = p->at;
	const char *name = python_name(p);
	bool call = find_call(p, name) && python_peek(p) == '(';

	p->at = start;
	return call;
}

static void
add_argument(struct python *p, const struct call *call, const char *name)
{
	const char *full = arena_printf(p->in->arena, "%s%s", call->prefix, name);
	struct doc *value;
	size_t start;

	python_skip_space(p);
	start = p->at;
	value = python_value(p, full);
	python_skip_space(p);
	if (!value || !strchr(",)", python_peek(p))) {
		bool other;

		p->at = start;
		other = is_other_call(p);
		python_skip_expression(p);
		if (other)
			return;
		import_unknown_setting(p->in, call->form, full,
		    import_shown(p->in->arena, p->text->bytes + start, p->at - start),
		    import_text_loc(p->text, start));
	} else if (value->kind == DOC_MAP && call->form == CONFIG_TUTEL) {
		add_tutel_map(p, name, value);
	} else {
		import_setting(p->in, call->form, full, value);
	}
}

/* NAME= in front of an argument, or NULL. */
static const char *
argument_name(struct python *p)
{
	size_t start = p->at;
	const char *name = python_name(p);

	p->at += strspn(p->text->bytes + p->at, " \t");
	if (name[0] && python_peek(p) == '=' && p->text->bytes[p->at + 1] != '=') {
		p->at++;
		return name;
	}
	p->at = start;
	return NULL;
}

/* Behind the '('. */
static int
take_call(struct python *p, const struct call *call, size_t start)
{
	struct loc loc = import_text_loc(p->text, start);
	int position = 0;

	if (import_form(p->in, call->form, loc) != 0)
		return -1;
	if (call->form != CONFIG_TORCHTITAN)
		import_setting(p->in, call->form, call->name,
		    import_container(p->in->arena, call->name, DOC_MAP, loc));
	for (python_skip_space(p); python_peek(p) != ')' && !p->in->full; python_skip_space(p)) {
		const char *name = argument_name(p);

		if (!name && position >= 0 && call->positional[position] && python_peek(p) != '*')
			name = call->positional[position++];
		else if (!name)
			position = -1;
		if (name)
			add_argument(p, call, name);
		else
			python_skip_expression(p);
		if (python_peek(p) == '\0')
			return diag_error(
			    p->in->diags, loc, "this call of '%s' is not closed", call->name);
		if (python_peek(p) != ',' && python_peek(p) != ')')
			return diag_error(p->in->diags, import_text_loc(p->text, p->at),
			    "not Python: expected ',' or ')' in the call of '%s'", call->name);
		p->at += python_peek(p) == ',';
	}
	return 0;
}

/* The cursor is behind `name`; behind the '(' when it is called, not defined. */
static bool
is_called(struct python *p, size_t start)
{
	const char *bytes = p->text->bytes;
	size_t after = p->at + strspn(bytes + p->at, " \t");

	if (bytes[after] != '(' || (start >= 4 && strncmp(bytes + start - 4, "def ", 4) == 0) ||
	    (start >= 6 && strncmp(bytes + start - 6, "class ", 6) == 0))
		return false;
	p->at = after + 1;
	return true;
}

/* import deepspeed: a client of it, unless something else is configured. */
static bool
is_deepspeed(const struct python *p, const char *name, size_t start)
{
	const char *bytes = p->text->bytes + start;

	return strcmp(name, "deepspeed") == 0 && p->in->config->form == CONFIG_NUMBERS &&
	       start >= 7 && strncmp(bytes - 7, "import ", 7) == 0;
}

/* A name at the cursor: a call, or a part of a recipe. Calls inside of calls are looked at too. */
static int
take_name(struct python *p, int *found)
{
	size_t start = p->at, inside;
	const char *name = python_name(p), *prefix = NULL;
	const struct call *call = find_call(p, name);
	struct call section = {.name = "replace", .form = CONFIG_TORCHTITAN, .positional = none};

	if (recipe_name(p, name, start, &prefix) != 0)
		return -1;
	if (is_deepspeed(p, name, start) &&
	    import_form(p->in, CONFIG_DEEPSPEED, import_text_loc(p->text, start)) == 0)
		++*found;
	if (prefix) {
		section.prefix = prefix;
		call = &section;
	} else if (!call || !is_called(p, start)) {
		return 0;
	}
	++*found;
	inside = p->at;
	if (take_call(p, call, start) != 0)
		return -1;
	p->at = inside;
	return 0;
}

/* Statements that only Python has, or one of the calls. */
bool
import_is_python(const struct import_text *text)
{
	const char *import = strstr(text->bytes, " import ");

	for (size_t i = 0; i < text->n_lines; i++) {
		const char *line = text->bytes + text->lines[i];

		if (import && import < line)
			import = strstr(line, " import ");
		if (strncmp(line, "import ", 7) == 0 || strncmp(line, "def ", 4) == 0 ||
		    (strncmp(line, "from ", 5) == 0 && import &&
			import < line + strcspn(line, "\n")))
			return true;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		size_t length = strlen(calls[i].name);

		for (const char *at = text->bytes; (at = strstr(at, calls[i].name)) != NULL;) {
			const char *after = at + length + strspn(at + length, " \t");

			if (*after == '(' && (at == text->bytes || !python_is_name(at[-1])))
				return true;
			at += length;
		}
	}
	return false;
}

/* Constants whose names the form knows; `moeplan emit` writes them. */
static void
take_constants(struct python *p)
{
	for (const struct doc *name = p->names->first; name; name = name->next)
		if (name->kind != DOC_NULL && import_key(p->in->config->form, name->key))
			import_setting(p->in, p->in->config->form, name->key, name);
}

int
import_python(struct import *in, const struct import_text *text)
{
	struct python p = {.in = in, .text = text};
	int found = 0;

	p.accelerate = strstr(text->bytes, "from accelerate") != NULL ||
		       strstr(text->bytes, "import accelerate") != NULL;
	p.names = import_container(in->arena, NULL, DOC_MAP, import_text_loc(text, 0));
	python_read_names(&p);
	for (p.at = 0; python_peek(&p) != '\0' && found < MAX_CALLS && !in->full;) {
		char c = python_peek(&p);

		if (c == '"' || c == '\'')
			python_skip_string(&p);
		else if (c == '#')
			p.at += strcspn(text->bytes + p.at, "\n");
		else if (!python_is_name(c))
			p.at++;
		else if (take_name(&p, &found) != 0)
			return -1;
	}
	take_constants(&p);
	if (found == 0)
		diag_add(in->diags, import_text_loc(text, 0), NULL, SEVERITY_NOTE,
		    "'%s' calls nothing that says how a model is trained: MoE, PipelineModule, "
		    "moe_layer, ParallelismConfig",
		    in->name);
	return 0;
}
