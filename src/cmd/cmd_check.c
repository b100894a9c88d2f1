/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is this configuration right? Files, numbers or a case in; every reason why not out. */
#include <string.h>

#include "base/sha256.h"
#include "check/case.h"
#include "check/context.h"
#include "cmd/check_report.h"

const char *const check_verdict_names[] = {"ok", "warn", "error", NULL};

/* "--micro-batch" */
static const char *
option_of(struct arena *arena, const struct field *field)
{
	char *option = arena_strdup(arena, arena_printf(arena, "--%s", field->name));

	for (char *c = option; *c; c++)
		if (*c == '_')
			*c = '-';
	return option;
}

/* Options replace what files say; both places are told. */
static void
note_overrides(struct diags *findings, const struct config *config, const struct strategy *now)
{
	for (const struct field *field = strategy_fields; field->name; field++) {
		const struct setting *said = config_says(config, field->name);
		int64_t before, after;

		if (field->kind != FIELD_INT || !said)
			continue;
		memcpy(&before, (const char *)&config->strategy + field->offset, sizeof(before));
		memcpy(&after, (const char *)now + field->offset, sizeof(after));
		if (before != after && before > 0)
			diag_add(findings, said->value->loc, NULL, SEVERITY_NOTE,
			    "'%s' %lld does not count: the option '%s' says %lld", said->name,
			    (long long)before, option_of(findings->arena, field),
			    (long long)after);
	}
}

/* Options read once more, now over what the files said. */
static int
override(struct request *request, struct config *config, struct diags *findings)
{
	struct arguments files = request->arguments;
	int result;

	request->job.base = config->strategy;
	/* what followed from TP follows from the TP that an option names */
	if (config->form == CONFIG_MEGATRON && !setting_find(config, "expert_tensor_parallel_size"))
		request->job.base.etp = 0;
	result = request_options(request, diags_new(request->arena));
	request->arguments = files;
	note_overrides(findings, config, &request->job.base);
	config->strategy = request->job.base;
	return result;
}

static const char *
read_input(struct request *request, const char *path, const char **name, size_t *length)
{
	const char *text = doc_read_file(request->arena, request->diags, path, length);
	struct input_file *input;

	*name = strcmp(path, "-") == 0 ? "<stdin>" : path;
	if (!text)
		return NULL;
	input = arena_alloc(request->arena, sizeof(*input));
	input->name = *name;
	sha256_hex(text, *length, input->sha256);
	*request->last_input = input;
	request->last_input = &input->next;
	return text;
}

const struct doc *
request_document(struct request *request, const char *path)
{
	const char *name, *text;
	size_t length;

	text = read_input(request, path, &name, &length);
	return text ? doc_parse(request->arena, request->diags, name, text, length) : NULL;
}

/* MODEL and CLUSTER come as options here: they are loaded as the other commands do it. */
static int
load_machine(struct request *request)
{
	struct arguments files = request->arguments;
	const char *names[2];
	size_t n = 0;
	int result;

	if (request->check.model)
		names[n++] = request->check.model;
	if (request->check.cluster)
		names[n++] = request->check.cluster;
	request->arguments = (struct arguments){names, n};
	result = inputs_load(request, 0);
	request->arguments = files;
	return result;
}

static struct check_report *
new_report(struct request *request, struct config *config, bool other, const char *framework)
{
	struct check_report *report = arena_alloc(request->arena, sizeof(*report));

	report->config = config;
	report->other = other;
	report->framework = framework;
	report->model = request->model ? request->model : config->model;
	report->cluster = request->cluster;
	report->findings =
	    request->common.format == FORMAT_JSON ? request->diags : diags_new(request->arena);
	report->best_knob = -1;
	return report;
}

static void
note_unknown(struct check_report *report, const struct check_case *from)
{
	for (size_t i = 0; i < from->n_unknown; i++) {
		diag_add(report->findings, from->unknown[i]->loc, NULL, SEVERITY_NOTE,
		    "the field '%s' of the case is not known and not looked at",
		    from->unknown[i]->key);
	}
}

static struct check_report *
read_case(struct request *request)
{
	struct check_report *first = NULL, **end = &first;
	const struct doc *doc = request_document(request, request->check.case_file);
	struct check_case *cases;

	cases = doc ? case_read(request->arena, request->diags, doc) : NULL;
	for (; cases; cases = cases->next) {
		*end = new_report(request, &cases->config, cases->other, cases->framework);
		if (!(*end)->model)
			(*end)->model = cases->config.model;
		note_unknown(*end, cases);
		if (override(request, &cases->config, (*end)->findings) != 0)
			return NULL;
		end = &(*end)->next;
	}
	return first;
}

/* A value that is refused is a finding like others; a file that says nothing cannot be checked. */
static int
import_files(struct request *request, struct config *config, struct diags *findings)
{
	int result = 0;

	for (size_t i = 0; i < request->arguments.count; i++) {
		const char *name, *text;
		size_t length;

		text = read_input(request, request->arguments.positional[i], &name, &length);
		if (!text)
			return -1;
		result |= config_import(config, request->arena, findings, name, text, length);
	}
	if (result == 0 || config->settings)
		return 0;
	request->diags = findings;
	return -1;
}

static struct check_report *
read_files(struct request *request)
{
	struct config *config = arena_alloc(request->arena, sizeof(*config));
	struct check_report *report;

	config_init(config);
	report = new_report(request, config, false, NULL);
	if (import_files(request, config, report->findings) != 0 ||
	    override(request, config, report->findings) != 0)
		return NULL;
	report->model = request->model ? request->model : config->model;
	report->other = config_is_library(config->form);
	report->framework = report->other	     ? config_form_names[config->form]
			    : config_is_open(config) ? "launchers"
						     : framework_names[config->strategy.framework];
	return report;
}

enum check_verdict
check_verdict(const struct check_report *reports)
{
	enum check_verdict worst = CHECK_OK;

	for (; reports; reports = reports->next) {
		if (reports->findings->errors > 0)
			return CHECK_ERROR;
		if (reports->findings->warnings > 0)
			worst = CHECK_WARN;
	}
	return worst;
}

/* Neither a file nor a size. */
static bool
is_nothing(const struct request *request, const struct check_report *report)
{
	const struct strategy *s = &report->config->strategy;

	return !request->check.case_file && request->arguments.count == 0 && !report->model &&
	       !report->cluster && s->world + s->dp + s->seq_len + s->global_batch == 0 &&
	       s->tp + s->cp + s->pp + s->ep == 0;
}

static enum status
nothing_to_check(struct request *request)
{
	struct loc nowhere = {NULL, 0, 0};

	diag_error(request->diags, nowhere, "nothing to check is given");
	diag_last_hint(request->diags, "name a script, a ds_config.json or a plan, or give "
				       "numbers: moeplan check --world-size "
				       "16 --tp 2 --ep 8");
	return STATUS_USAGE;
}

enum status
cmd_check(struct request *request)
{
	struct check_report *reports, *report;

	if (request->check.from)
		return check_reshard(request);
	if (load_machine(request) != 0)
		return STATUS_USAGE;
	reports = request->check.case_file ? read_case(request) : read_files(request);
	if (!reports)
		return STATUS_USAGE;
	if (is_nothing(request, reports))
		return nothing_to_check(request);
	for (report = reports; report; report = report->next)
		check_run(request, report);
	if (request->common.format == FORMAT_JSON)
		json_check(request, reports);
	else
		text_check(request, reports);
	return check_verdict(reports) == CHECK_ERROR ? STATUS_NO : STATUS_YES;
}
