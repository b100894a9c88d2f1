/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which files does a framework take for this plan?
 *
 * One file goes to standard output or to --output as it is; several are listed with a line
 * above each, or go into the folder that --output names.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/output.h"
#include "base/sha256.h"
#include "base/str.h"
#include "cmd/emit_report.h"

static int
need(struct request *request, bool there, const char *what, const char *hint)
{
	struct loc nowhere = {NULL, 0, 0};

	if (there)
		return 0;
	diag_error(request->diags, nowhere, "%s", what);
	diag_last_hint(request->diags, "%s", hint);
	return -1;
}

/* The target's row and, behind '@', the release; a release of two parts means its newest. */
static const struct emit_target *
find_target(struct request *request, const char **version)
{
	const struct emit_target *target;
	struct loc option = {"--for", 0, 0};
	const char *names[32], *at = strchr(request->target, '@');
	size_t length = at ? (size_t)(at - request->target) : strlen(request->target), n = 0;

	for (target = emit_targets; target->name; target++) {
		if (strlen(target->name) == length &&
		    strncmp(target->name, request->target, length) == 0)
			break;
		if (n + 1 < sizeof(names) / sizeof(*names))
			names[n++] = target->name;
	}
	names[n] = NULL;
	*version = at ? at + 1 : target->newest;
	if (target->name)
		return target;
	diag_error(request->diags, option, "there is no target '%s'", request->target);
	if (str_nearest(request->target, names))
		diag_last_hint(
		    request->diags, "did you mean '%s'?", str_nearest(request->target, names));
	else
		diag_last_hint(request->diags, "'moeplan emit --help' lists the targets");
	return NULL;
}

static bool
is_version(const char *text)
{
	return text[0] >= '0' && text[0] <= '9' && strspn(text, "0123456789.") == strlen(text) &&
	       strlen(text) < 16;
}

/* "0.12 to 0.19": both ends count, with every patch of the last. */
static bool
is_covered(const char *versions, const char *version)
{
	const char *last = strstr(versions, " to ") + 4;
	size_t length = strlen(last);

	if (version_compare(version, versions) < 0)
		return false;
	return version_compare(version, last) <= 0 ||
	       (strncmp(version, last, length) == 0 && version[length] == '.');
}

static int
check_version(struct request *request, const struct emit_target *target, const char **version)
{
	struct loc option = {"--for", 0, 0};
	const char *asked = *version;

	if (asked && !target->versions)
		return diag_error(
		    request->diags, option, "'%s' has no versions here", target->name);
	if (!asked)
		return 0;
	if (!is_version(asked) || !is_covered(target->versions, asked))
		return diag_error(request->diags, option,
		    "version '%.20s' of '%s' is not covered, covered are %s", asked, target->name,
		    target->versions);
	/* "0.19" means the newest 0.19. */
	if (strncmp(target->newest, asked, strlen(asked)) == 0)
		*version = target->newest;
	return 0;
}

static const struct plan_view *
load_plan(struct request *request)
{
	const char *path = request->arguments.positional[0];
	const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
	struct input_file *input = arena_alloc(request->arena, sizeof(*input));
	const struct doc *doc;
	size_t length;
	char *text = doc_read_file(request->arena, request->diags, path, &length);

	if (!text)
		return NULL;
	input->name = name;
	sha256_hex(text, length, input->sha256);
	*request->last_input = input;
	request->last_input = &input->next;
	doc = doc_parse(request->arena, request->diags, name, text, length);
	return doc ? plan_read(request->arena, request->diags, doc, name) : NULL;
}

/* --- writing into a folder ------------------------------------------------------------------ */

static bool
is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* "run/" is meant as a folder, there or not. */
static bool
names_folder(const char *path)
{
	return is_folder(path) || (*path && path[strlen(path) - 1] == '/');
}

static int
make_folder(struct request *request, const char *path)
{
	struct loc option = {"--output", 0, 0};

	if (is_folder(path) || mkdir(path, 0777) == 0)
		return 0;
	diag_error(request->diags, option, "cannot make folder '%s': %s", path, strerror(errno));
	if (errno == EEXIST)
		diag_last_hint(request->diags, "this target writes several files: name a folder");
	return -1;
}

static int
write_file(struct request *request, const char *folder, const struct emitted *file)
{
	const char *path = arena_printf(request->arena, "%s%s%s", folder,
	    folder[strlen(folder) - 1] == '/' ? "" : "/", file->name);

	if (output_write_file(request->diags, path, file->text, strlen(file->text)) != 0)
		return -1;
	if (file->executable && chmod(path, 0755) != 0)
		return diag_error(request->diags, (struct loc){NULL, 0, 0},
		    "cannot make '%s' executable: %s", path, strerror(errno));
	str_addf(&request->out, "%s\n", path);
	return 0;
}

/* The report becomes the list of what was written, on standard output. */
static enum status
write_folder(struct request *request, const struct emitted *files)
{
	const char *folder = request->common.output;

	if (make_folder(request, folder) != 0)
		return STATUS_ENVIRONMENT;
	request->common.output = NULL;
	for (; files; files = files->next)
		if (write_file(request, folder, files) != 0)
			return STATUS_ENVIRONMENT;
	return STATUS_YES;
}

enum status
cmd_emit(struct request *request)
{
	const struct emit_target *target;
	const struct plan_view *plan;
	const struct emitted *files;
	const char *version;

	if (need(request, request->arguments.count == 1, "no plan is given",
		"make one: moeplan plan MODEL CLUSTER --format json --output plan.json") != 0 ||
	    need(request, request->target != NULL, "no target is given",
		"add --for TARGET, such as --for megatron") != 0)
		return STATUS_USAGE;
	target = find_target(request, &version);
	if (!target || check_version(request, target, &version) != 0)
		return STATUS_USAGE;
	plan = load_plan(request);
	if (!plan)
		return STATUS_USAGE;
	files = target->emit(request->arena, request->diags, plan, version);
	if (!files)
		return STATUS_NO;
	if (request->common.format == FORMAT_JSON)
		json_emit(request, target, version, files);
	else if (request->common.output && (files->next || names_folder(request->common.output)))
		return write_folder(request, files);
	else
		text_emit(request, files);
	return STATUS_YES;
}
