/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do calls in a piece of Python say? Native MoE layers and pipelines of DeepSpeed and
 * layers of Tutel have no configuration file: their settings are arguments of a call.
 *
 * Read are the calls of the table below, with literals, and names that the same text gives a
 * literal. Whatever else stands there is an unknown value. Signatures: DeepSpeed
 * deepspeed/moe/layer.py and deepspeed/pipe/module.py (0.19), Tutel tutel/impls/moe_layer.py.
 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/import_private.h"

enum { MAX_DEPTH = 16, MAX_NAMES = 512, MAX_CALLS = 64 };

struct call {
	const char *name;
	enum config_form form;
	const char *prefix;            /* of its settings */
	const char *const *positional; /* names of arguments without one */
};

/* clang-format off */
static const char *const moe_arguments[] = {"hidden_size", "expert", "num_experts", "ep_size", "k",
	"capacity_factor", "eval_capacity_factor", "min_capacity", "use_residual",
	"noisy_gate_policy", "drop_tokens", "use_rts", "use_tutel",
	"enable_expert_tensor_parallelism", "top2_2nd_expert_sampling", NULL};
static const char *const pipeline_arguments[] = {"layers", "num_stages", NULL};
static const char *const tutel_arguments[] = {"gate_type", "model_dim", "experts", NULL};
static const struct call calls[] = {
	{"moe_layer", CONFIG_TUTEL, "", tutel_arguments},
	{"MoE", CONFIG_DEEPSPEED, "MoE.", moe_arguments},
	{"PipelineModule", CONFIG_DEEPSPEED, "PipelineModule.", pipeline_arguments},
};
/* clang-format on */

struct python {
	struct import *in;
	const struct import_text *text;
	size_t at;
	struct doc *names, *last_name; /* NAME = literal */
};

static struct doc *parse_value(struct python *p, const char *key, int depth);

static char
peek(const struct python *p)
{
	return p->text->bytes[p->at];
}

static bool
is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void
skip_space(struct python *p)
{
	for (;;) {
		p->at += strspn(p->text->bytes + p->at, " \t\n\\");
		if (peek(p) != '#')
			return;
		p->at += strcspn(p->text->bytes + p->at, "\n");
	}
}

static char *
take_name(struct python *p)
{
	size_t start = p->at;

	while (is_name(peek(p)))
		p->at++;
	return arena_strndup(p->in->arena, p->text->bytes + start, p->at - start);
}

/* Behind the string at the cursor, of one quote or three. */
static void
skip_string(struct python *p)
{
	const char *bytes = p->text->bytes;
	char quote = peek(p);
	bool three = bytes[p->at + 1] == quote && bytes[p->at + 2] == quote;

	p->at += three ? 3 : 1;
	while (peek(p) != '\0' && (three || peek(p) != '\n')) {
		if (peek(p) == quote && (!three || (bytes[p->at + 1] == quote &&
						       bytes[p->at + 2] == quote)))
			break;
		p->at += peek(p) == '\\' && bytes[p->at + 1] != '\0' ? 2 : 1;
	}
	if (peek(p) == quote)
		p->at += three ? 3 : 1;
}

/* Up to the comma or bracket that ends an expression. */
static void
skip_expression(struct python *p)
{
	int depth = 0;

	for (;;) {
		char c = peek(p);

		if (c == '\0' || (depth == 0 && strchr(",)]}", c)))
			return;
		if (c == '"' || c == '\'') {
			skip_string(p);
			continue;
		}
		if (c == '#') {
			p->at += strcspn(p->text->bytes + p->at, "\n");
			continue;
		}
		if (is_name(c)) { /* parameters of a lambda have commas of their own */
			if (strcmp(take_name(p), "lambda") == 0)
				p->at += strcspn(p->text->bytes + p->at, ":\n");
			continue;
		}
		depth += strchr("([{", c) != NULL;
		depth -= strchr(")]}", c) != NULL;
		p->at++;
	}
}

/* --- literals ------------------------------------------------------------------------------- */

static struct doc *
parse_string(struct python *p, const char *key)
{
	struct loc loc = import_text_loc(p->text, p->at);
	size_t start = p->at + 1;
	const char *text;

	skip_string(p);
	text = arena_strndup(
	    p->in->arena, p->text->bytes + start, p->at > start ? p->at - start - 1 : 0);
	return import_string(p->in->arena, key, text, loc);
}

static struct doc *
parse_items(struct python *p, const char *key, char close, int depth)
{
	struct doc *list =
	    import_container(p->in->arena, key, DOC_LIST, import_text_loc(p->text, p->at));
	struct doc *last = NULL, *item;

	p->at++;
	for (skip_space(p); peek(p) != close; skip_space(p)) {
		item = parse_value(p, NULL, depth + 1);
		if (!item)
			return NULL;
		last = import_append(list, last, item);
		skip_space(p);
		if (peek(p) == ',')
			p->at++;
		else if (peek(p) != close)
			return NULL;
	}
	p->at++;
	return list;
}

/* {'key': value, …}; a value that is not known keeps its text, unquoted null. */
static struct doc *
parse_dict(struct python *p, const char *key, int depth)
{
	struct doc *map =
	    import_container(p->in->arena, key, DOC_MAP, import_text_loc(p->text, p->at));
	struct doc *last = NULL, *value;

	p->at++;
	for (skip_space(p); peek(p) != '}'; skip_space(p)) {
		const char *name;
		size_t start;

		if (peek(p) != '"' && peek(p) != '\'')
			return NULL;
		name = parse_string(p, NULL)->text;
		skip_space(p);
		if (peek(p) != ':')
			return NULL;
		p->at++;
		skip_space(p);
		start = p->at;
		value = parse_value(p, name, depth + 1);
		skip_space(p);
		if (!value || !strchr(",}", peek(p))) {
			skip_expression(p);
			value = import_string(p->in->arena, name,
			    import_shown(p->in->arena, p->text->bytes + start, p->at - start),
			    import_text_loc(p->text, start));
			value->kind = DOC_NULL;
		}
		last = import_append(map, last, value);
		if (peek(p) == ',')
			p->at++;
		else if (peek(p) != '}')
			return NULL;
	}
	p->at++;
	return map;
}

static struct doc *
named(struct python *p, const char *key, const char *name, struct loc loc)
{
	const struct doc *known = doc_get(p->names, name);
	struct doc *copy;

	if (!known || known->kind == DOC_NULL)
		return NULL;
	copy = arena_alloc(p->in->arena, sizeof(*copy));
	*copy = *known;
	copy->key = key;
	copy->next = NULL;
	(void)loc; /* where the number stands, not where it is used */
	return copy;
}

static struct doc *
parse_word(struct python *p, const char *key)
{
	struct loc loc = import_text_loc(p->text, p->at);
	size_t start = p->at;
	const char *word;
	struct doc *value;

	while (is_name(peek(p)) || peek(p) == '.' || ((peek(p) == '-' || peek(p) == '+') &&
							  (p->at == start ||
							      strchr("eE", p->text->bytes[p->at - 1]))))
		p->at++;
	word = arena_strndup(p->in->arena, p->text->bytes + start, p->at - start);
	if (word[0] == '\0')
		return NULL;
	value = import_word_value(p->in->arena, key, word, loc);
	if (value->kind != DOC_STRING)
		return value;
	return named(p, key, word, loc);
}

/* NULL when it is no literal and no name of one; the cursor is then anywhere inside. */
static struct doc *
parse_value(struct python *p, const char *key, int depth)
{
	char c;

	skip_space(p);
	c = peek(p);
	if (depth > MAX_DEPTH)
		return NULL;
	if (c == '"' || c == '\'')
		return parse_string(p, key);
	if (c == '{')
		return parse_dict(p, key, depth);
	if (c == '[' || c == '(')
		return parse_items(p, key, c == '[' ? ']' : ')', depth);
	return parse_word(p, key);
}

/* --- names ---------------------------------------------------------------------------------- */

/* NAME = literal on a line of its own; given twice differently it is not known. */
static void
take_constant(struct python *p)
{
	char *name = take_name(p);
	struct doc *value, *before;
	size_t end;

	p->at += strspn(p->text->bytes + p->at, " \t");
	if (peek(p) != '=' || p->text->bytes[p->at + 1] == '=' || p->names->count >= MAX_NAMES)
		return;
	p->at++;
	p->at += strspn(p->text->bytes + p->at, " \t");
	if (!strchr("0123456789\"'-TFN", peek(p)) || peek(p) == '\0')
		return;
	value = parse_value(p, name, 0);
	end = p->at + strspn(p->text->bytes + p->at, " \t");
	if (!value || (p->text->bytes[end] != '\n' && p->text->bytes[end] != '\0' &&
			  p->text->bytes[end] != '#'))
		return;
	for (before = p->names->first; before && strcmp(before->key, name) != 0;)
		before = before->next;
	if (!before)
		p->last_name = import_append(p->names, p->last_name, value);
	else if (!before->text || !value->text || strcmp(before->text, value->text) != 0)
		before->kind = DOC_NULL;
}

static void
read_names(struct python *p)
{
	for (size_t i = 0; i < p->text->n_lines; i++) {
		p->at = p->text->lines[i];
		p->at += strspn(p->text->bytes + p->at, " \t");
		if (is_name(peek(p)))
			take_constant(p);
	}
}

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

static void
add_argument(struct python *p, const struct call *call, const char *name)
{
	const char *full = arena_printf(p->in->arena, "%s%s", call->prefix, name);
	struct doc *value;
	size_t start;

	skip_space(p);
	start = p->at;
	value = parse_value(p, full, 0);
	skip_space(p);
	if (!value || !strchr(",)", peek(p))) {
		p->at = start;
		skip_expression(p);
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
	const char *name = take_name(p);

	p->at += strspn(p->text->bytes + p->at, " \t");
	if (name[0] && peek(p) == '=' && p->text->bytes[p->at + 1] != '=') {
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
	import_setting(p->in, call->form, call->name,
	    import_container(p->in->arena, call->name, DOC_MAP, loc));
	for (skip_space(p); peek(p) != ')' && !p->in->full; skip_space(p)) {
		const char *name = argument_name(p);

		if (!name && position >= 0 && call->positional[position] && peek(p) != '*')
			name = call->positional[position++];
		else if (!name)
			position = -1;
		if (name)
			add_argument(p, call, name);
		else
			skip_expression(p);
		if (peek(p) == '\0')
			return diag_error(p->in->diags, loc, "this call of '%s' is not closed",
			    call->name);
		if (peek(p) != ',' && peek(p) != ')')
			return diag_error(p->in->diags, import_text_loc(p->text, p->at),
			    "not Python: expected ',' or ')' in the call of '%s'", call->name);
		p->at += peek(p) == ',';
	}
	return 0;
}

/* The call that begins at the cursor, or NULL; definitions and imports are none. */
static const struct call *
call_at(struct python *p)
{
	const char *bytes = p->text->bytes;
	size_t start = p->at, after;
	const char *name = take_name(p);

	after = p->at + strspn(bytes + p->at, " \t");
	if (bytes[after] != '(' || (start >= 4 && strncmp(bytes + start - 4, "def ", 4) == 0) ||
	    (start >= 6 && strncmp(bytes + start - 6, "class ", 6) == 0))
		return NULL;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0) {
			p->at = after + 1;
			return &calls[i];
		}
	return NULL;
}

bool
import_is_python(const struct import_text *text)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const char *at = text->bytes;
		size_t length = strlen(calls[i].name);

		while ((at = strstr(at, calls[i].name)) != NULL) {
			const char *after = at + length + strspn(at + length, " \t");

			if (*after == '(' && (at == text->bytes || !is_name(at[-1])))
				return true;
			at += length;
		}
	}
	return false;
}

int
import_python(struct import *in, const struct import_text *text)
{
	struct python p = {.in = in, .text = text};
	int found = 0;

	p.names = import_container(in->arena, NULL, DOC_MAP, import_text_loc(text, 0));
	read_names(&p);
	for (p.at = 0; peek(&p) != '\0' && found < MAX_CALLS;) {
		size_t start = p.at;
		const struct call *call;

		if (peek(&p) == '"' || peek(&p) == '\'') {
			skip_string(&p);
		} else if (peek(&p) == '#') {
			p.at += strcspn(text->bytes + p.at, "\n");
		} else if (is_name(peek(&p))) {
			call = call_at(&p);
			if (call && take_call(&p, call, start) != 0)
				return -1;
			found += call != NULL;
		} else {
			p.at++;
		}
	}
	if (found == 0)
		return diag_error(in->diags, import_text_loc(text, 0),
		    "'%s' calls neither MoE, PipelineModule nor moe_layer", in->name);
	return 0;
}
