/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which settings do the arguments of a training program give?
 *
 *   Megatron         --name value ..., --flag (argparse: one or more values, no abbreviations)
 *   torchtitan       --section.name value, --section.no-name
 *   Megatron-Bridge  section.name=value, -tp 2 (Hydra overrides, run_recipe.py's short ones)
 *   DeepSpeed        --deepspeed_config FILE beside arguments of a client
 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/import_option.h"

/* Parts of a Bridge configuration whose members have Megatron's names. */
static const char *const sections[] = {"model", "train", "dataset", "ddp", "dist", "optimizer",
    "checkpoint", "comm_overlap", "scheduler", "rng", "logger", "tokenizer", "profiling",
    "validation", NULL};

struct arguments_reader {
	struct import *in;
	const struct import_text *source; /* NULL: an argument vector */
	const struct shell_words *words;
	enum config_form form;
};

struct doc *
import_word_value(struct arena *arena, const char *name, const char *text, struct loc loc)
{
	struct doc *list, *last = NULL;
	size_t length = strlen(text);

	if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0)
		return import_bool(arena, name, text[0] == 'T', loc);
	if (strcmp(text, "None") == 0)
		return import_scalar(arena, name, "null", loc);
	if (length > 2 && text[0] == '"' && text[length - 1] == '"') /* Hydra's quotes */
		return import_scalar(arena, name, arena_strndup(arena, text + 1, length - 2), loc);
	if (length < 2 || text[0] != '[' || text[length - 1] != ']' || strpbrk(text + 1, "[(*"))
		return import_scalar(arena, name, text, loc);
	/* [a,b]: a list of Hydra's */
	list = import_container(arena, name, DOC_LIST, loc);
	for (const char *at = text + 1; *at && *at != ']';) {
		size_t item = strcspn(at, ",]"), skip = strspn(at, " \"'"), end = item;

		while (end > skip && strchr(" \"'", at[end - 1]))
			end--;
		skip = skip < end ? skip : end;
		last = import_append(list, last,
		    import_scalar(arena, NULL, arena_strndup(arena, at + skip, end - skip), loc));
		at += item + (at[item] == ',');
	}
	return list;
}

/* --- what a word is ------------------------------------------------------------------------- */

static bool
is_mark(char c)
{
	return c == SHELL_VALUE || c == SHELL_WORDS || c == SHELL_UNSET;
}

/* "--nproc-per-node=8" → "nproc_per_node", and where the value begins (0: not in this word). */
static char *
long_name(struct arena *arena, const struct shell_text *word, size_t *value)
{
	size_t length = strcspn(word->bytes + 2, "=\x01\x03\x04");
	char *name = arena_strndup(arena, word->bytes + 2, length);

	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : *c;
	*value = word->bytes[2 + length] == '=' ? 3 + length : 0;
	return name;
}

/* --- overrides, one a line ------------------------------------------------------------------- */

/* The line without blanks around it; its length. */
static size_t
trimmed(const struct import_text *text, size_t line, const char **start)
{
	size_t length;

	*start = text->bytes + text->lines[line];
	*start += strspn(*start, " \t");
	length = strcspn(*start, "\n");
	while (length > 0 && strchr(" \t", (*start)[length - 1]))
		length--;
	return length;
}

bool
import_are_overrides(const struct import_text *text)
{
	size_t found = 0;

	for (size_t i = 0; i < text->n_lines; i++) {
		const char *line;
		size_t length = trimmed(text, i, &line);
		struct shell_text word = {.bytes = (char *)line};

		if (length == 0 || *line == '#')
			continue;
		if (option_override(&word) == 0 || line[length - 1] == '\\')
			return false;
		/* several on a line are a shell's words */
		if (memchr(line, ' ', length) && !memchr(line, '[', length) &&
		    !memchr(line, '"', length))
			return false;
		found++;
	}
	return found > 0;
}

/* model.x="a b": the quotes are the shell's. */
static struct shell_text
unquoted(struct arena *arena, const struct import_text *text, const char *line, size_t length)
{
	const char *equals = memchr(line, '=', length);
	bool quoted = equals && length > (size_t)(equals - line) + 2 &&
		      line[length - 1] == equals[1] && strchr("\"'", equals[1]);
	struct str bytes = str_new(arena);
	struct shell_text word = {0};

	word.origin = arena_array(arena, length, sizeof(*word.origin));
	for (size_t i = 0; i < length; i++) {
		if (quoted && (line + i == equals + 1 || i + 1 == length))
			continue;
		word.origin[bytes.length] = (uint32_t)(line - text->bytes + (ptrdiff_t)i);
		str_addc(&bytes, line[i] >= SHELL_VALUE && line[i] <= SHELL_UNSET ? ' ' : line[i]);
	}
	word.bytes = bytes.text;
	word.length = word.capacity = bytes.length;
	return word;
}

int
import_overrides(struct import *in, const struct import_text *text)
{
	struct shell_words words = {0};

	words.items = arena_array(in->arena, text->n_lines, sizeof(*words.items));
	for (size_t i = 0; i < text->n_lines; i++) {
		const char *line;
		size_t length = trimmed(text, i, &line);

		if (length > 0 && *line != '#')
			words.items[words.count++] = unquoted(in->arena, text, line, length);
	}
	return import_arguments(in, text, &words, 0);
}

/* --- settings ------------------------------------------------------------------------------- */

static struct loc
loc_of(const struct arguments_reader *r, const struct shell_text *word, size_t at, const char *name)
{
	if (r->source)
		return shell_loc(r->source, word, at);
	return (struct loc){arena_printf(r->in->arena, "--%s", name), 0, 0};
}

/* The client of DeepSpeed has Megatron's names or its own, the file has DeepSpeed's. */
static enum config_form
form_for(const struct arguments_reader *r, const char *name)
{
	if (r->form != CONFIG_DEEPSPEED)
		return r->form;
	if (option_is_deepspeed(name))
		return CONFIG_NUMBERS;
	/* its own batch options mean what the program makes of them */
	return key_find(import_deepspeed_keys, name) ||
		       strcmp(name, "gradient_accumulation_steps") == 0
		   ? CONFIG_DEEPSPEED
		   : CONFIG_MEGATRON;
}

static bool
runs_script(const struct import *in)
{
	const char *program = in->config->launch.program;
	size_t length = program ? strlen(program) : 0;

	return length > 3 && strcmp(program + length - 3, ".sh") == 0;
}

static void
add_value(struct arguments_reader *r, const char *name, const struct shell_text *word, size_t at)
{
	struct import *in = r->in;
	struct loc loc = loc_of(r, word, at, name);
	enum config_form form = form_for(r, name);
	const char *text = word->bytes + at;
	size_t length = word->length - at;

	/* another script that takes them reads the quotes again */
	if (length > 1 && text[0] == '\'' && text[length - 1] == '\'' && runs_script(in))
		text = arena_strndup(in->arena, text + 1, length - 2);
	if (shell_is_marked(word))
		import_unknown_setting(in, form, name, shell_plain(in->arena, word) + at, loc);
	else
		import_setting(in, form, name, import_word_value(in->arena, name, text, loc));
}

static void
add_list(struct arguments_reader *r, const char *name, size_t from, size_t count)
{
	struct import *in = r->in;
	const struct shell_text *first = &r->words->items[from];
	struct loc loc = loc_of(r, first, 0, name);
	struct doc *list = import_container(in->arena, name, DOC_LIST, loc), *last = NULL;

	for (size_t i = from; i < from + count; i++) {
		const struct shell_text *word = &r->words->items[i];

		if (shell_is_marked(word)) {
			import_unknown_setting(
			    in, form_for(r, name), name, shell_plain(in->arena, word), loc);
			return;
		}
		last = import_append(list, last,
		    import_scalar(in->arena, NULL, word->bytes, loc_of(r, word, 0, name)));
	}
	import_setting(in, form_for(r, name), name, list);
}

/* --section.no-name: tyro's way to say false. */
static const char *
negated(struct arguments_reader *r, const char *name)
{
	const char *point = strrchr(name, '.');

	if (r->form != CONFIG_TORCHTITAN || !point || strncmp(point + 1, "no_", 3) != 0)
		return NULL;
	return arena_printf(r->in->arena, "%.*s%s", (int)(point + 1 - name), name, point + 4);
}

static void
add_flag(struct arguments_reader *r, const char *name, const struct shell_text *word)
{
	const char *other = negated(r, name);
	struct loc loc = loc_of(r, word, 0, name);

	if (other)
		name = other;
	import_setting(
	    r->in, form_for(r, name), name, import_bool(r->in->arena, name, !other, loc));
}

static bool
is_boolean(const struct shell_text *word)
{
	static const char *const words[] = {"true", "false", "True", "False"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word->bytes, words[i]) == 0)
			return true;
	return false;
}

/* "activation-checkpoint:full": a class that torchtitan 0.3 has in place of a mode. */
static const char class_prefix[] = "activation-checkpoint:";

static bool
names_class(const struct arguments_reader *r, const struct shell_text *word)
{
	return r->form == CONFIG_TORCHTITAN &&
	       strncmp(word->bytes, class_prefix, sizeof(class_prefix) - 1) == 0;
}

/* Words from `at` on that are values of the option before them. */
static size_t
count_values(const struct arguments_reader *r, const char *name, size_t at)
{
	const struct key *key = import_key(r->form, name);
	size_t count = 0;

	if (key && (key->kind == KEY_FLAG || key->kind == KEY_BOOL) && at < r->words->count &&
	    !is_boolean(&r->words->items[at]))
		return 0;
	for (; at + count < r->words->count; count++) {
		const struct shell_text *word = &r->words->items[at + count];

		if (option_is_long(word) || word->bytes[0] == SHELL_WORDS ||
		    strcmp(word->bytes, "--") == 0 || names_class(r, word) ||
		    (r->form == CONFIG_BRIDGE && (option_short(word) || option_override(word) > 0)))
			break;
		/* what is not known may be no word or several: one at most is a value */
		if (count > 0 && is_mark(word->bytes[0]) && !(key && key->kind == KEY_LIST))
			break;
	}
	return count;
}

/* Variables that the script never sets are most often empty. */
static void
leave_open(struct arguments_reader *r, const struct shell_text *word)
{
	if (strpbrk(word->bytes, "\x01\x03"))
		r->in->config->open = true;
}

/* Returns how many words were taken. */
static size_t
take_long(struct arguments_reader *r, size_t at)
{
	const struct shell_text *word = &r->words->items[at];
	size_t value, count;
	const char *name = long_name(r->in->arena, word, &value);

	if (value > 0) {
		add_value(r, name, word, value);
		return 1;
	}
	if (shell_is_marked(word)) { /* the name itself is not known */
		leave_open(r, word);
		import_unresolved(r->in, loc_of(r, word, 0, name), shell_plain(r->in->arena, word));
		return 1;
	}
	count = count_values(r, name, at + 1);
	if (count == 0)
		add_flag(r, name, word);
	else if (count == 1)
		add_value(r, name, &r->words->items[at + 1], 0);
	else
		add_list(r, name, at + 1, count);
	return 1 + count;
}

static void
take_override(struct arguments_reader *r, const struct shell_text *word, size_t length)
{
	size_t plus = strspn(word->bytes, "+");
	const char *name = arena_strndup(r->in->arena, word->bytes + plus, length - plus);
	const char *point = strchr(name, '.');

	for (int i = 0; point && sections[i]; i++)
		if (strlen(sections[i]) == (size_t)(point - name) &&
		    strncmp(name, sections[i], strlen(sections[i])) == 0) {
			name = point + 1;
			break;
		}
	add_value(r, name, word, length + 1);
}

static bool
take_class(struct arguments_reader *r, const struct shell_text *word)
{
	if (!names_class(r, word))
		return false;
	add_value(r, "activation_checkpoint.mode", word, sizeof(class_prefix) - 1);
	return true;
}

static size_t
take_word(struct arguments_reader *r, size_t at)
{
	const struct shell_text *word = &r->words->items[at];
	const char *name = option_short(word);
	size_t length = option_override(word);

	if (option_is_long(word))
		return take_long(r, at);
	if (take_class(r, word))
		return 1;
	if (r->form == CONFIG_BRIDGE && length > 0) {
		take_override(r, word, length);
		return 1;
	}
	if (r->form == CONFIG_BRIDGE && name && at + 1 < r->words->count) {
		add_value(r, name, &r->words->items[at + 1], 0);
		return 2;
	}
	if (shell_is_marked(word)) {
		leave_open(r, word);
		import_unresolved(
		    r->in, loc_of(r, word, 0, "arguments"), shell_plain(r->in->arena, word));
	}
	return 1;
}

/* Options may hide in what is not known. */
static void
note_unknown(struct arguments_reader *r, size_t from)
{
	for (; from < r->words->count; from++)
		if (is_mark(r->words->items[from].bytes[0]))
			import_unresolved(r->in, loc_of(r, &r->words->items[from], 0, "arguments"),
			    shell_plain(r->in->arena, &r->words->items[from]));
}

int
import_arguments(struct import *in, const struct import_text *source,
    const struct shell_words *words, size_t from)
{
	struct arguments_reader r = {in, source, words, option_form(words, from)};
	bool overrides = in->overrides, arguments = in->arguments;

	if (from >= words->count)
		return 0;
	if (r.form == CONFIG_NUMBERS) {
		note_unknown(&r, from);
		return 0;
	}
	if (import_form(in, r.form, loc_of(&r, &words->items[from], 0, "arguments")) != 0)
		return -1;
	/* on top of a configuration file these replace what it says */
	in->overrides = r.form == CONFIG_TORCHTITAN || r.form == CONFIG_BRIDGE;
	in->arguments = true;
	while (from < words->count && !in->full)
		from += take_word(&r, from);
	in->arguments = arguments;
	in->overrides = overrides;
	return 0;
}
