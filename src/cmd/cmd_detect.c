/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which cluster file describes this machine, and which of its numbers were seen? */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "model/detect.h"

const struct field detect_fields[] = {
    {.name = "from",
	.arg = "FILE",
	.help = "what --dump wrote on another machine, in place of this one",
	.kind = FIELD_TEXT,
	.offset = offsetof(struct detect_options, from),
	.option_only = true},
    {.name = "dump",
	.help = "write what is seen, not the cluster made of it",
	.kind = FIELD_FLAG,
	.offset = offsetof(struct detect_options, dump),
	.option_only = true},
    {.name = NULL},
};

static const char *
look_up(void *context, const char *name)
{
	(void)context;
	return getenv(name);
}

static enum status
read_saved(struct request *request, struct seen *seen)
{
	const char *path = request->detect.from;
	const struct doc *doc;
	size_t length;
	char *text = doc_read_file(request->arena, request->diags, path, &length);

	if (!text)
		return STATUS_USAGE;
	doc = doc_parse(request->arena, request->diags, path, text, length);
	if (!doc || seen_read(request->arena, request->diags, doc, seen) != 0)
		return STATUS_USAGE;
	return STATUS_YES;
}

static void
look(struct seen *seen)
{
	memset(seen, 0, sizeof(*seen));
	gethostname(seen->host, sizeof(seen->host) - 1);
	detect_nvml(seen);
	detect_sysfs(seen, "");
	detect_slurm(seen, look_up, NULL);
}

enum status
cmd_detect(struct request *request)
{
	struct seen *seen = arena_alloc(request->arena, sizeof(*seen));
	struct loc nowhere = {NULL, 0, 0};
	enum status status = STATUS_YES;

	if (request->arguments.count > 0) {
		diag_error(request->diags, nowhere, "unexpected argument '%s'",
		    request->arguments.positional[0]);
		return STATUS_USAGE;
	}
	if (request->detect.from)
		status = read_saved(request, seen);
	else
		look(seen);
	if (status != STATUS_YES)
		return status;
	if (request->detect.dump) {
		seen_write(seen, &request->out);
		return STATUS_YES;
	}
	return detect_cluster(request->arena, request->diags, seen, &request->out) == 0
		   ? STATUS_YES
		   : STATUS_ENVIRONMENT;
}
