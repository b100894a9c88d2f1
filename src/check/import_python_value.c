/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which literal stands at a place of a piece of Python? Numbers, strings, True, False, None,
 * lists, tuples, dictionaries, and names that the same text gives a literal.
 */
#include <string.h>

#include "base/arena.h"
#include "check/import_python.h"

enum { MAX_DEPTH = 16, MAX_NAMES = 512 };

static struct doc *parse_value(struct python *p, const char *key, int depth);

char
python_peek(const struct python *p)
{
	return p->text->bytes[p->at];
}

bool
python_is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

void
python_skip_space(struct python *p)
{
	for (;;) {
		p->at += strspn(p->text->bytes + p->at, " \t\n\\");
		if (python_peek(p) != '#')
			return;
		p->at += strcspn(p->text->bytes + p->at, "\n");
	}
}

char *
python_name(struct python *p)
{
	size_t start = p->at;

	while (python_is_name(python_peek(p)))
		p->at++;
	return arena_strndup(p->in->arena, p->text->bytes + start, p->at - start);
}

/* Behind the string at the cursor, of one quote or three. */
void
python_skip_string(struct python *p)
{
	const char *bytes = p->text->bytes;
	char quote = python_peek(p);
	bool three = bytes[p->at + 1] == quote && bytes[p->at + 2] == quote;

	p->at += three ? 3 : 1;
	while (python_peek(p) != '\0' && (three || python_peek(p) != '\n')) {
		if (python_peek(p) == quote &&
		    (!three || (bytes[p->at + 1] == quote && bytes[p->at + 2] == quote)))
			break;
		p->at += python_peek(p) == '\\' && bytes[p->at + 1] != '\0' ? 2 : 1;
	}
	if (python_peek(p) == quote)
		p->at += three ? 3 : 1;
}

/* Up to the comma or bracket that ends an expression. */
void
python_skip_expression(struct python *p)
{
	int depth = 0;

	for (;;) {
		char c = python_peek(p);

		if (c == '\0' || (depth == 0 && strchr(",)]}", c)))
			return;
		if (c == '"' || c == '\'') {
			python_skip_string(p);
			continue;
		}
		if (c == '#') {
			p->at += strcspn(p->text->bytes + p->at, "\n");
			continue;
		}
		if (python_is_name(c)) { /* parameters of a lambda have commas of their own */
			if (strcmp(python_name(p), "lambda") == 0)
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

	python_skip_string(p);
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
	for (python_skip_space(p); python_peek(p) != close; python_skip_space(p)) {
		item = parse_value(p, NULL, depth + 1);
		if (!item)
			return NULL;
		last = import_append(list, last, item);
		python_skip_space(p);
		if (python_peek(p) == ',')
			p->at++;
		else if (python_peek(p) != close)
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
	for (python_skip_space(p); python_peek(p) != '}'; python_skip_space(p)) {
		const char *name;
		size_t start;

		if (python_peek(p) != '"' && python_peek(p) != '\'')
			return NULL;
		name = parse_string(p, NULL)->text;
		python_skip_space(p);
		if (python_peek(p) != ':')
			return NULL;
		p->at++;
		python_skip_space(p);
		start = p->at;
		value = parse_value(p, name, depth + 1);
		python_skip_space(p);
		if (!value || !strchr(",}", python_peek(p))) {
			p->at = start;
			python_skip_expression(p);
			value = import_string(p->in->arena, name,
			    import_shown(p->in->arena, p->text->bytes + start, p->at - start),
			    import_text_loc(p->text, start));
			value->kind = DOC_NULL;
		}
		last = import_append(map, last, value);
		if (python_peek(p) == ',')
			p->at++;
		else if (python_peek(p) != '}')
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

	while (python_is_name(python_peek(p)) || python_peek(p) == '.' ||
	       ((python_peek(p) == '-' || python_peek(p) == '+') &&
		   (p->at == start || strchr("eE", p->text->bytes[p->at - 1]))))
		p->at++;
	word = arena_strndup(p->in->arena, p->text->bytes + start, p->at - start);
	if (word[0] == '\0')
		return NULL;
	if (strncmp(word, "torch.", 6) == 0) /* torch.bfloat16 */
		return import_string(p->in->arena, key, word + 6, loc);
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

	python_skip_space(p);
	c = python_peek(p);
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
	char *name = python_name(p);
	struct doc *value, *before;
	size_t end;

	p->at += strspn(p->text->bytes + p->at, " \t");
	if (python_peek(p) != '=' || p->text->bytes[p->at + 1] == '=' ||
	    p->names->count >= MAX_NAMES)
		return;
	p->at++;
	p->at += strspn(p->text->bytes + p->at, " \t");
	if (!strchr("0123456789\"'-TFN[", python_peek(p)) || python_peek(p) == '\0')
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

void
python_read_names(struct python *p)
{
	for (size_t i = 0; i < p->text->n_lines; i++) {
		p->at = p->text->lines[i];
		p->at += strspn(p->text->bytes + p->at, " \t");
		if (python_is_name(python_peek(p)))
			take_constant(p);
	}
}

struct doc *
python_value(struct python *p, const char *key)
{
	return parse_value(p, key, 0);
}
