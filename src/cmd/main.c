/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does the user want, and how did it end? The command table's run
 * functions do the work; only this file writes to standard output, and only
 * this file ends the process.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "cmd/cmd.h"
#include "cmd/json_common.h"

static void
out_of_memory(void *context)
{
	(void)context;
	fputs("moeplan: error: out of memory\n", stderr);
	exit(STATUS_ENVIRONMENT);
}

/* Standard output may be a full disk or a closed pipe: the text is out only when flushed. */
static enum status
write_stdout(const char *text, size_t length)
{
	errno = 0;
	if (fwrite(text, 1, length, stdout) == length && fflush(stdout) == 0)
		return STATUS_YES;
	fprintf(stderr, "moeplan: error: cannot write to standard output: %s\n", strerror(errno));
	return STATUS_ENVIRONMENT;
}

static void
print_messages(const struct request *request, const struct diags *diags, enum severity least)
{
	struct str text = str_new(request->arena);

	print_diags(diags, &text, request->color_errors, least);
	fputs(text.text, stderr);
}

static enum status
write_results(struct request *request)
{
	struct diags *diags;

	if (!request->common.output)
		return write_stdout(request->out.text, request->out.length);
	diags = diags_new(request->arena);
	if (output_write_file(
		diags, request->common.output, request->out.text, request->out.length) == 0)
		return STATUS_YES;
	print_messages(request, diags, SEVERITY_ERROR);
	return STATUS_ENVIRONMENT;
}

/*
 * Messages go to standard error, or into the document when that is what was
 * asked for (with --output both: the person at the terminal sees no document).
 */
static enum status
finish(struct request *request, enum status status)
{
	bool document = request->common.format == FORMAT_JSON && request->command->has_document &&
			!request->common.help && !request->common.version;
	enum severity least = request->common.quiet ? SEVERITY_WARNING : SEVERITY_NOTE;
	enum status written = STATUS_YES;

	if (document && request->out.length == 0)
		json_failure(request);
	if (!document)
		print_messages(request, request->diags, least);
	else if (request->common.output)
		print_messages(request, request->diags, SEVERITY_ERROR);
	if (request->out.length)
		written = write_results(request);
	return written != STATUS_YES ? written : status;
}

/* --help and --version answer whatever else stands on the line. */
static bool
asks_for(int argc, char **argv, const char *option, const char *letter)
{
	int i;

	for (i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], option) == 0 || (letter && strcmp(argv[i], letter) == 0))
			return true;
	return false;
}

/* Commands without inputs take one word at most. */
static int
check_words(struct request *request)
{
	struct loc nowhere = {NULL, 0, 0};

	if (request->command->slots || request->arguments.count <= 1)
		return 0;
	return diag_error(
	    request->diags, nowhere, "unexpected argument '%s'", request->arguments.positional[1]);
}

static enum status
run_command(struct request *request)
{
	request->common.help = asks_for(request->argc, request->argv, "--help", "-h");
	request->common.version = asks_for(request->argc, request->argv, "--version", NULL);
	if (request->common.help) {
		help_command(request, request->command);
		return STATUS_YES;
	}
	if (request->common.version) {
		str_add(&request->out, "moeplan " MOEPLAN_VERSION "\n");
		return STATUS_YES;
	}
	if (request_options(request, request->diags) != 0 || check_words(request) != 0)
		return STATUS_USAGE;
	return request->command->run(request);
}

static enum status
unknown_command(struct request *request, const char *word)
{
	struct loc nowhere = {NULL, 0, 0};
	const char *names[16];
	const char *near;
	size_t n = 0;

	while (commands[n].name && n + 1 < sizeof(names) / sizeof(*names)) {
		names[n] = commands[n].name;
		n++;
	}
	names[n] = NULL;
	diag_error(request->diags, nowhere, "unknown %s '%s'",
	    word[0] == '-' ? "option" : "command", word);
	near = str_nearest(word, names);
	if (near)
		diag_last_hint(request->diags, "did you mean '%s'?", near);
	else
		diag_last_hint(request->diags, "'moeplan help' lists the commands");
	return STATUS_USAGE;
}

static enum status
run_main(struct request *request, int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;

	request->command = command_find("help");
	if (!word) {
		struct str text = str_new(request->arena);

		help_short(&text);
		fputs(text.text, stderr);
		return STATUS_USAGE;
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		word = "help";
	if (strcmp(word, "--version") == 0) {
		str_add(&request->out, "moeplan " MOEPLAN_VERSION "\n");
		return STATUS_YES;
	}
	if (!command_find(word))
		return unknown_command(request, word);
	request->command = command_find(word);
	request->argc = argc - 2;
	request->argv = argv + 2;
	return run_command(request);
}

int
main(int argc, char **argv)
{
	struct arena *arena = arena_new(out_of_memory, NULL);
	struct request *request;
	enum status status;

	if (!arena)
		out_of_memory(NULL);
	signal(SIGPIPE, SIG_IGN);
	request = arena_alloc(arena, sizeof(*request));
	request_init(request, arena);
	status = run_main(request, argc, argv);
	status = finish(request, status);
	arena_free(arena);
	return status;
}
