/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of settings: as keys of files and as options. */
#include <criterion/criterion.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/field.h"
#include "base/str.h"
#include "scratch.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

struct settings {
	bool graphs;
	bool help;
	int64_t tp;
	int64_t any;
	int64_t count;
	double skew;
	double free;
	uint64_t reserve_bytes;
	double step_s;
	const char *name;
	int recompute;
	int customs;
};

static const char *const recompute_names[] = {"none", "selective", "full", NULL};

static int
read_custom(
    const struct field *field, void *object, const struct doc *value, struct field_context *context)
{
	struct settings *settings = object;

	if (strcmp(value->text, "bad") == 0)
		return diag_error(context->diags, value->loc, "'%s' is bad", field->name);
	settings->customs++;
	return 0;
}

#define OFFSET(member) .offset = offsetof(struct settings, member)

static const struct field rows[] = {
    {.name = "graphs", .kind = FIELD_FLAG, OFFSET(graphs)},
    {.name = "tp", .arg = "N", .kind = FIELD_INT, OFFSET(tp), .min = 1, .max = 65536},
    {.name = "any", .arg = "N", .kind = FIELD_INT, OFFSET(any)},
    {.name = "layer_count", .arg = "N", .kind = FIELD_INT, OFFSET(count), .min = 1, .max = 0x1p63},
    {.name = "skew", .arg = "F", .kind = FIELD_NUMBER, OFFSET(skew), .min = 0.5, .max = 2},
    {.name = "free", .arg = "F", .kind = FIELD_NUMBER, OFFSET(free)},
    {.name = "reserve", .arg = "SIZE", .kind = FIELD_BYTES, OFFSET(reserve_bytes)},
    {.name = "step", .arg = "TIME", .kind = FIELD_SECONDS, OFFSET(step_s)},
    {.name = "name", .arg = "TEXT", .kind = FIELD_TEXT, OFFSET(name)},
    {.name = "recompute", .kind = FIELD_CHOICE, OFFSET(recompute), .choices = recompute_names},
    {.name = "custom", .arg = "X", .kind = FIELD_CUSTOM, .read = read_custom},
    {.name = NULL},
};

static const struct field common_rows[] = {
    {.name = "help", .kind = FIELD_FLAG, OFFSET(help), .option_only = true},
    {.name = NULL},
};

static struct field_context context;
static struct settings settings;
static struct settings common;

static void
set_up(void)
{
	scratch_open();
	context = (struct field_context){arena, diags};
	settings = common = (struct settings){0};
}

TestSuite(field, .init = set_up, .fini = scratch_close);

static int
read_text(const char *text)
{
	static const char *const skip[] = {"schema", "owner", NULL};
	const struct doc *doc = doc_parse(arena, diags, "job.yaml", text, strlen(text));

	cr_assert_not_null(doc, "%s", text);
	return fields_read(rows, &settings, doc, skip, &context);
}

Test(field, a_file_sets_every_kind)
{
	cr_assert_eq(
	    read_text("schema: x\nowner: {a: 1}\ngraphs: true\ntp: 8\nany: -3\nlayer_count: 61\n"
		      "skew: 1\nfree: -2.5\nreserve: 2GiB\nstep: 250ms\nname: my name\n"
		      "recompute: full\ncustom: x\n"),
	    0);
	cr_assert(settings.graphs);
	cr_assert_eq(settings.tp, 8);
	cr_assert_eq(settings.any, -3);
	cr_assert_eq(settings.count, 61);
	cr_assert_eq(settings.skew, 1.0);
	cr_assert_eq(settings.free, -2.5);
	cr_assert_eq(settings.reserve_bytes, UINT64_C(2) << 30);
	cr_assert_eq(settings.step_s, 0.25);
	cr_assert_str_eq(settings.name, "my name");
	cr_assert_eq(settings.recompute, 2);
	cr_assert_eq(settings.customs, 1);
	cr_assert_null(diags->first);
}

Test(field, null_leaves_the_default)
{
	settings.tp = 4;
	settings.name = "kept";
	cr_assert_eq(read_text("tp:\nname: null\ncustom: ~\n"), 0);
	cr_assert_eq(settings.tp, 4);
	cr_assert_str_eq(settings.name, "kept");
	cr_assert_eq(settings.customs, 0);
}

Test(field, text_takes_what_looks_like_a_number)
{
	cr_assert_eq(read_text("name: 0.19\nreserve: 1024\nstep: 3"), 0);
	cr_assert_str_eq(settings.name, "0.19");
	cr_assert_eq(settings.reserve_bytes, 1024);
	cr_assert_eq(settings.step_s, 3);
}

static const struct {
	const char *text, *message;
} bad[] = {
    {"tp: 0", "'tp' is 0, allowed is 1 to 65536"},
    {"tp: 65537", "'tp' is 65537, allowed is 1 to 65536"},
    {"tp: 2.0", "'tp' is 2.0, allowed is 1 to 65536"},
    {"tp: 1e3", "'tp' is 1e3, allowed is 1 to 65536"},
    {"tp: '8'", "'tp' is '8', allowed is 1 to 65536"},
    {"tp: eight", "'tp' is 'eight', allowed is 1 to 65536"},
    {"tp: [8]", "'tp' is a list, allowed is 1 to 65536"},
    {"tp: true", "'tp' is true, allowed is 1 to 65536"},
    {"tp: 9223372036854775808", "'tp' is 9223372036854775808, allowed is 1 to 65536"},
    {"any: 1.5", "'any' is 1.5, allowed is an integer"},
    {"any: .nan", "'any' is .nan, allowed is an integer"},
    {"layer_count: 0", "'layer_count' is 0, allowed is an integer, 1 or more"},
    {"skew: 0.4", "'skew' is 0.4, allowed is 0.5 to 2"},
    {"skew: .inf", "'skew' is .inf, allowed is 0.5 to 2"},
    {"free: .nan", "'free' is .nan, allowed is a number"},
    {"free: x", "'free' is 'x', allowed is a number"},
    {"graphs: yes", "'graphs' is 'yes', allowed is true or false"},
    {"graphs: 1", "'graphs' is 1, allowed is true or false"},
    {"reserve: -1", "'reserve' is -1, allowed is a size such as 70GiB, 80GB or 1024 (bytes)"},
    {"reserve: 2 gigs", "'reserve' is '2 gigs', allowed is a size such as"},
    {"reserve: {a: 1}", "'reserve' is a map, allowed is a size such as"},
    {"step: soon", "'step' is 'soon', allowed is a time such as"},
    {"step: [1]", "'step' is a list, allowed is a time such as"},
    {"name: [a]", "'name' is a list, allowed is a string"},
    {"recompute: ful", "'recompute' is 'ful', allowed is none, selective or full"},
    {"recompute: Full", "'recompute' is 'Full', allowed is none, selective or full"},
    {"recompute: {}", "'recompute' is a map, allowed is none, selective or full"},
    {"custom: bad", "'custom' is bad"},
    {"bogus: 1", "unknown key 'bogus'"},
};

Test(field, bad_values_are_refused_and_say_what_is_allowed)
{
	for (size_t i = 0; i < ROWS(bad); i++) {
		int before = diags->errors;

		cr_assert_eq(read_text(bad[i].text), -1, "%s", bad[i].text);
		cr_assert_eq(diags->errors, before + 1, "%s", bad[i].text);
		cr_assert_eq(strncmp(diags->last->message, bad[i].message, strlen(bad[i].message)),
		    0, "%s: %s", bad[i].text, diags->last->message);
		cr_assert_str_eq(diags->last->loc.file, "job.yaml");
		cr_assert_eq(diags->last->loc.line, 1);
	}
	cr_assert(settings.tp == 0 && settings.any == 0 && settings.count == 0);
	cr_assert(settings.skew == 0 && settings.free == 0 && settings.step_s == 0);
	cr_assert(!settings.graphs && !settings.name && settings.reserve_bytes == 0);
	cr_assert(settings.recompute == 0 && settings.customs == 0);
}

Test(field, hints)
{
	read_text("recompute: ful");
	cr_assert_str_eq(diags->last->hint, "did you mean 'full'?");
	read_text("layercount: 1");
	cr_assert_str_eq(diags->last->hint, "did you mean 'layer_count'?");
	read_text("ownr: 1");
	cr_assert_str_eq(diags->last->hint, "did you mean 'owner'?");
	read_text("banana: 1");
	cr_assert_null(diags->last->hint);
	read_text("tp: 2.0");
	cr_assert_not_null(strstr(diags->last->hint, "without point"));
}

Test(field, every_mistake_of_a_file_is_reported)
{
	cr_assert_eq(read_text("tp: 0\nx: 1\nany: 5\nskew: 9\ny: 2\n"), -1);
	cr_assert_eq(diags->errors, 4);
	cr_assert_eq(settings.any, 5);
	cr_assert_eq(diags->first->loc.line, 1);
	cr_assert_eq(diags->first->loc.column, 5);
	cr_assert_eq(diags->first->next->loc.column, 1);
	cr_assert_eq(diags->last->loc.line, 5);
}

Test(field, many_unknown_keys_are_counted)
{
	struct str text = str_new(arena);

	for (int i = 0; i < 5000; i++)
		str_addf(&text, "k%d: 1\n", i);
	cr_assert_eq(read_text(text.text), -1);
	cr_assert_eq(diags->errors, 21);
	cr_assert_str_eq(diags->last->message, "4980 more unknown keys");
}

Test(field, long_values_are_cut)
{
	struct str text = str_new(arena);

	str_add(&text, "tp: '");
	for (int i = 0; i < 1000; i++)
		str_add(&text, "\xc3\xa9");
	str_add(&text, "'\n");
	cr_assert_eq(read_text(text.text), -1);
	cr_assert_lt(strlen(diags->last->message), 120);
	cr_assert_not_null(strstr(diags->last->message, "\xc3\xa9...', allowed"));
}

Test(field, a_map_is_needed)
{
	cr_assert_eq(read_text("- tp: 1"), -1);
	cr_assert_str_eq(diags->last->message, "found a list, expected a map");
	cr_assert_eq(read_text("just text"), -1);
	cr_assert_str_eq(diags->last->message, "found 'just text', expected a map");
}

Test(field, options_are_not_keys)
{
	const struct doc *doc = doc_parse(arena, diags, "f", "help: true", 10);

	cr_assert_eq(fields_read(common_rows, &common, doc, NULL, &context), -1);
	cr_assert_not(common.help);
	cr_assert_not_null(strstr(diags->last->message, "'help' is an option of the command line"));
}

Test(field, rows_are_found_by_name)
{
	cr_assert_eq(field_find(rows, "skew"), &rows[4]);
	cr_assert_null(field_find(rows, "nothing"));
}

enum { MAX_WORDS = 12 };

static int
parse_words(const char *const *words, struct arguments *arguments)
{
	struct field_set sets[] = {
	    {"Settings", rows, &settings},
	    {"Common", common_rows, &common},
	    {NULL, NULL, NULL},
	};
	char *argv[MAX_WORDS];
	int argc = 0;

	while (words[argc]) {
		argv[argc] = arena_strdup(arena, words[argc]);
		argc++;
	}
	return options_parse(sets, argc, argv, arguments, &context);
}

Test(field, options_set_every_kind)
{
	static const char *const words[] = {"model.json", "--tp", "8", "--layer-count=61",
	    "--graphs", "--reserve", "2GiB", "--help", "-", "--any", "-3", NULL};
	struct arguments arguments;

	cr_assert_eq(parse_words(words, &arguments), 0);
	cr_assert_null(diags->first);
	cr_assert_eq(settings.tp, 8);
	cr_assert_eq(settings.count, 61);
	cr_assert(settings.graphs);
	cr_assert_eq(settings.reserve_bytes, UINT64_C(2) << 30);
	cr_assert(common.help);
	cr_assert_eq(settings.any, -3);
	cr_assert_eq(arguments.count, 2);
	cr_assert_str_eq(arguments.positional[0], "model.json");
	cr_assert_str_eq(arguments.positional[1], "-");
}

Test(field, two_dashes_end_the_options)
{
	static const char *const words[] = {"a", "--", "--tp", "--", "-x", NULL};
	struct arguments arguments;

	cr_assert_eq(parse_words(words, &arguments), 0);
	cr_assert_eq(arguments.count, 4);
	cr_assert_str_eq(arguments.positional[1], "--tp");
	cr_assert_str_eq(arguments.positional[2], "--");
	cr_assert_eq(settings.tp, 0);
}

Test(field, no_clears_a_flag)
{
	static const char *const words[] = {"--no-graphs", NULL};
	struct arguments arguments;

	settings.graphs = true;
	cr_assert_eq(parse_words(words, &arguments), 0);
	cr_assert_not(settings.graphs);
}

Test(field, values_that_look_otherwise_are_text)
{
	static const char *const words[] = {
	    "--name=--odd", "--recompute", "none", "--step=1e-3", NULL};
	static const char *const null_words[] = {"--name", "null", NULL};
	struct arguments arguments;

	cr_assert_eq(parse_words(words, &arguments), 0);
	cr_assert_str_eq(settings.name, "--odd");
	cr_assert_eq(settings.step_s, 1e-3);
	cr_assert_eq(parse_words(null_words, &arguments), 0);
	cr_assert_str_eq(settings.name, "null");
}

static const struct {
	const char *words[4];
	const char *message;
	const char *hint;
} bad_options[] = {
    {{"--tp", "0", NULL}, "'--tp' is 0, allowed is 1 to 65536", NULL},
    {{"--tp=", NULL}, "'--tp' is empty, allowed is 1 to 65536", NULL},
    {{"--tp", NULL}, "'--tp' needs a value", "write --tp N"},
    {{"--tp", "--graphs", NULL}, "'--tp' needs a value", "write --tp N"},
    {{"--tpp", "1", NULL}, "unknown option '--tpp'", "did you mean '--tp'?"},
    {{"--layer", "1", NULL}, "unknown option '--layer'", "did you mean '--layer-count'?"},
    {{"--layer_count", "1", NULL}, "unknown option '--layer_count'",
	"did you mean '--layer-count'?"},
    {{"-t", NULL}, "unknown option '-t'", NULL},
    {{"--=1", NULL}, "unknown option '--'", NULL},
    {{"--no-tp", NULL}, "unknown option '--no-tp'", NULL},
    {{"--graphs=true", NULL}, "'--graphs' takes no value, found 'true'", NULL},
    {{"--no-graphs=1", NULL}, "'--no-graphs' takes no value, found '1'", NULL},
    {{"--tp=1", "--tp=2", NULL}, "'--tp' is given twice: '1' and '2'", NULL},
    {{"--graphs", "--no-graphs", NULL}, "'--no-graphs' is given twice", NULL},
    {{"--recompute", "ful", NULL}, "'--recompute' is 'ful', allowed is none, selective or full",
	"did you mean 'full'?"},
    {{"--tp", "null", NULL}, "'--tp' is null, allowed is 1 to 65536", NULL},
    {{"--custom", "bad", NULL}, "'custom' is bad", NULL},
};

Test(field, bad_options_are_refused)
{
	struct arguments arguments;

	for (size_t i = 0; i < ROWS(bad_options); i++) {
		const char *message = bad_options[i].message;
		int before = diags->errors;

		cr_assert_eq(parse_words(bad_options[i].words, &arguments), -1, "row %zu", i);
		cr_assert_eq(
		    diags->errors, before + 1, "row %zu: %d errors", i, diags->errors - before);
		cr_assert_eq(strncmp(diags->last->message, message, strlen(message)), 0,
		    "row %zu: %s", i, diags->last->message);
		if (bad_options[i].hint)
			cr_assert_str_eq(diags->last->hint, bad_options[i].hint, "row %zu", i);
	}
}

Test(field, an_option_says_where_it_was_given)
{
	static const char *const words[] = {"--skew=3", NULL};
	struct arguments arguments;

	cr_assert_eq(parse_words(words, &arguments), -1);
	cr_assert_str_eq(diags->last->loc.file, "--skew");
	cr_assert_eq(diags->last->loc.line, 0);
	cr_assert_eq(diags->last->loc.column, 0);
}

Test(field, the_same_option_twice_is_read_once)
{
	static const char *const words[] = {
	    "--custom", "x", "--custom=x", "--tp=4", "--tp", "4", NULL};
	struct arguments arguments;

	cr_assert_eq(parse_words(words, &arguments), 0);
	cr_assert_eq(settings.customs, 1);
	cr_assert_eq(settings.tp, 4);
}

Test(field, every_mistake_of_a_command_line_is_reported)
{
	static const char *const words[] = {"--tp=0", "--bogus", "--help", "--skew=9", NULL};
	struct arguments arguments;

	cr_assert_eq(parse_words(words, &arguments), -1);
	cr_assert_eq(diags->errors, 3);
	cr_assert(common.help);
}
