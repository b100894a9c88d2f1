/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What do all JSON documents share? Head, inputs, diagnostics, model and cluster in brief. */
#include "cmd/json_common.h"

#include <string.h>

#include "planner/params.h"

struct jsonw
json_begin(struct request *request)
{
	struct jsonw w = jsonw_new(request->arena);
	struct str schema = str_new(request->arena);

	str_addf(&schema, "moeplan/%s/v1", request->command->name);
	jsonw_open(&w, NULL);
	jsonw_string(&w, "schema", schema.text);
	jsonw_open(&w, "tool");
	jsonw_string(&w, "name", "moeplan");
	jsonw_string(&w, "version", MOEPLAN_VERSION);
	jsonw_close(&w);
	return w;
}

static void
json_inputs(struct jsonw *w, const struct request *request)
{
	const struct input_file *input;

	jsonw_list(w, "inputs");
	for (input = request->inputs; input; input = input->next) {
		jsonw_open(w, NULL);
		jsonw_string(w, "file", input->name);
		jsonw_string(w, "sha256", input->sha256);
		jsonw_close(w);
	}
	jsonw_close(w);
}

/* Several of one name, which follow each other, are a list. */
static void
json_numbers(struct jsonw *w, const struct diag_number *number)
{
	while (number) {
		const char *name = number->name;

		if (!number->next || strcmp(number->next->name, name) != 0) {
			jsonw_double(w, name, number->value);
			number = number->next;
			continue;
		}
		jsonw_row(w, name);
		for (; number && strcmp(number->name, name) == 0; number = number->next)
			jsonw_double(w, NULL, number->value);
		jsonw_close(w);
	}
}

static void
json_diag(struct jsonw *w, const struct diag *diag)
{
	jsonw_open(w, NULL);
	jsonw_string(w, "rule", diag->rule);
	jsonw_string(w, "severity", severity_name(diag->severity));
	jsonw_bool(w, "silent", diag->silent);
	jsonw_string(w, "message", diag->message);
	jsonw_string(w, "hint", diag->hint);
	jsonw_open(w, "numbers");
	json_numbers(w, diag->numbers);
	jsonw_close(w);
	jsonw_string(w, "file", diag->loc.file);
	jsonw_int(w, "line", diag->loc.line);
	jsonw_int(w, "column", diag->loc.column);
	jsonw_close(w);
}

void
json_finish(struct request *request, struct jsonw *w)
{
	const struct diag *diag;

	json_inputs(w, request);
	jsonw_list(w, "diagnostics");
	for (diag = request->diags->first; diag; diag = diag->next)
		json_diag(w, diag);
	jsonw_close(w);
	jsonw_close(w);
	str_add(&request->out, jsonw_end(w));
}

void
json_failure(struct request *request)
{
	struct jsonw w = json_begin(request);

	json_finish(request, &w);
}

void
json_model_summary(struct jsonw *w, const char *key, const struct model *model)
{
	struct params params;

	params_count(model, &params);
	jsonw_open(w, key);
	jsonw_string(w, "name", model->name);
	jsonw_string(w, "architecture", model->architecture);
	jsonw_int(w, "parameters", params.total);
	jsonw_int(w, "active_parameters", params.active);
	jsonw_int(w, "layers", model->layers);
	jsonw_close(w);
}

void
json_cluster_summary(struct jsonw *w, const char *key, const struct cluster *cluster)
{
	int i;

	jsonw_open(w, key);
	jsonw_string(w, "name", cluster->name);
	jsonw_int(w, "nodes", cluster->nodes);
	jsonw_int(w, "gpus_per_node", cluster->gpus_per_node);
	jsonw_int(w, "world", cluster->world);
	jsonw_string(w, "gpu", cluster->gpu.name);
	jsonw_list(w, "levels");
	for (i = 0; i < cluster->n_levels; i++) {
		const struct level *level = &cluster->levels[i];

		jsonw_open(w, NULL);
		jsonw_string(w, "name", level->name);
		jsonw_int(w, "gpus", level->gpus);
		jsonw_double(w, "bytes_per_s", level->Bps.value);
		jsonw_double(w, "latency_s", level->latency_s.value);
		jsonw_close(w);
	}
	jsonw_close(w);
	jsonw_close(w);
}

enum { COPIED_DEPTH = JSONW_MAX_DEPTH - 4 }; /* what no reader of ours looks into */

static void
json_scalar(struct jsonw *w, const char *key, const struct doc *doc)
{
	if (doc->kind == DOC_NUMBER && doc->is_integer)
		jsonw_int(w, key, doc->integer);
	else if (doc->kind == DOC_NUMBER)
		jsonw_double(w, key, doc->number);
	else if (doc->kind == DOC_BOOL)
		jsonw_bool(w, key, doc->boolean);
	else
		jsonw_string(w, key, doc->kind == DOC_STRING ? doc->text : NULL);
}

void
json_doc(struct jsonw *w, const char *key, const struct doc *doc)
{
	const struct doc *child;

	if (w->depth >= COPIED_DEPTH || (doc->kind != DOC_MAP && doc->kind != DOC_LIST)) {
		json_scalar(w, key, doc);
		return;
	}
	if (doc->kind == DOC_MAP)
		jsonw_open(w, key);
	else
		jsonw_list(w, key);
	for (child = doc->first; child; child = child->next)
		json_doc(w, doc->kind == DOC_MAP ? child->key : NULL, child);
	jsonw_close(w);
}

/* The runs as a cluster file has them: those of --measured-on stand in no file. */
static void
json_runs(struct jsonw *w, struct request *request)
{
	const struct measured_runs *runs = &request->cluster->runs;
	struct str text = str_new(request->arena);
	const struct doc *list;
	int i;

	for (i = 0; i < runs->n; i++)
		measured_run_write(request->arena, &runs->rows[i], &text);
	list = doc_parse(request->arena, request->diags, "runs", text.text, text.length);
	if (list)
		json_doc(w, "runs", list);
}

void
json_made_with(struct jsonw *w, struct request *request)
{
	json_doc(w, "cluster_definition", request->cluster_doc);
	if (request->cluster->runs.n > 0)
		json_runs(w, request);
	jsonw_string(w, "load_skew", load_skew_text(request->arena, &request->job.skew));
	jsonw_double(w, "reserve_bytes", (double)request->job.reserve_bytes);
}
