/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What do all commands share? The common options, the request with its
 * defaults, and what the terminal can show.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"

static const char *const format_names[] = {"text", "json", NULL};
static const char *const color_names[] = {"auto", "always", "never", NULL};

/* clang-format off */
const struct field common_fields[] = {
	{.name = "format", .arg = "text|json", .help = "what the result is written as",
	    .kind = FIELD_CHOICE, .offset = offsetof(struct common, format),
	    .choices = format_names, .option_only = true},
	{.name = "output", .arg = "FILE", .help = "write the result to FILE, whole or not at all",
	    .kind = FIELD_TEXT, .offset = offsetof(struct common, output), .option_only = true},
	{.name = "quiet", .help = "no notes and no progress line", .kind = FIELD_FLAG,
	    .offset = offsetof(struct common, quiet), .option_only = true},
	{.name = "verbose", .help = "also print the defaults that were used, where each number is "
				    "from, and wall times",
	    .kind = FIELD_FLAG, .offset = offsetof(struct common, verbose), .option_only = true},
	{.name = "color", .arg = "auto|always|never",
	    .help = "colour on a terminal (auto; NO_COLOR turns it off), always or never",
	    .kind = FIELD_CHOICE, .offset = offsetof(struct common, color),
	    .choices = color_names, .option_only = true},
	{.name = "help", .help = "print this text", .kind = FIELD_FLAG,
	    .offset = offsetof(struct common, help), .option_only = true},
	{.name = "version", .help = "print the version", .kind = FIELD_FLAG,
	    .offset = offsetof(struct common, version), .option_only = true},
	{.name = NULL},
};
/* clang-format on */

static bool
contains_utf8(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot && (strncmp(dot, ".UTF-8", 6) == 0 || strncmp(dot, ".utf8", 5) == 0 ||
			  strncmp(dot, ".utf-8", 6) == 0 || strncmp(dot, ".UTF8", 5) == 0);
}

/* POSIX: the first of these that is set and not empty names the character set. */
static bool
locale_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = getenv(names[i]);

		if (value && value[0])
			return contains_utf8(value);
	}
	return false;
}

static bool
wants_color(int choice, int descriptor)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (choice != COLOR_AUTO)
		return choice == COLOR_ALWAYS;
	return !(no_color && no_color[0]) && !(term && strcmp(term, "dumb") == 0) &&
	       isatty(descriptor);
}

static void
defaults(struct request *request)
{
	memset(&request->common, 0, sizeof(request->common));
	job_init(&request->job);
	request->gpus_per_node = 0;
	request->target = NULL;
}

static void
look(struct request *request)
{
	request->color =
	    !request->common.output && wants_color(request->common.color, STDOUT_FILENO);
	request->color_errors = wants_color(request->common.color, STDERR_FILENO);
}

void
request_init(struct request *request, struct arena *arena)
{
	memset(request, 0, sizeof(*request));
	request->arena = arena;
	request->diags = diags_new(arena);
	request->context.arena = arena;
	request->context.diags = request->diags;
	request->last_input = &request->inputs;
	request->out = str_new(arena);
	request->utf8 = locale_is_utf8();
	defaults(request);
	look(request);
}

int
request_options(struct request *request, struct diags *diags)
{
	struct field_context context = {request->arena, diags};
	struct field_set sets[MAX_SETS];
	int result;

	request->command->sets(request, sets);
	result = options_parse(sets, request->argc, request->argv, &request->arguments, &context);
	look(request);
	return result;
}
