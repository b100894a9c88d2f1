/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What are the model, the cluster and the job? Arguments are files, folders
 * that hold a config.json, `-`, names of built-in examples or clusters, or
 * short cluster strings. What a file holds is told by its `schema`, by its
 * sections, or by its place. Sections of a combined file come first, files of
 * their own override them, options override everything.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/sha256.h"
#include "cmd/cmd.h"
#include "model/builtin_models.h"
#include "model/catalogue.h"

const char *const slot_names[SLOTS + 1] = {"model", "cluster", "job", NULL};
static const char *const section_names[] = {"model", "cluster", "job", "strategy", NULL};
static const char *const slot_hints[SLOTS] = {
    "MODEL is a config.json or its folder, a YAML file, '-' for standard input, or a "
    "built-in name such as 'deepseek-v3'",
    "CLUSTER is a YAML file, a built-in name such as 'dgx-h100x16' (16 nodes), or a "
    "string such as \"node:16 gpu:8 H100-SXM5-80GB nvlink:450GB/s nic:8x400Gb/s\"",
    "JOB is a YAML file with 'schema: moeplan/job/v1'",
};

enum source_kind { SOURCE_MODEL, SOURCE_CLUSTER, SOURCE_JOB, SOURCE_COMBINED, SOURCE_TEXT };

struct source {
	const char *argument;	/* as it was given */
	struct loc loc;		/* where: a section, or nowhere */
	const char *path;	/* what to open, or NULL */
	const char *text;	/* of a built-in model, or NULL */
	const char *name;	/* what messages call it */
	const char *folder;	/* with a slash, or "": paths inside are relative to it */
	const char *model_name; /* NULL: the model reader finds one */
	const char *plan_model; /* of the model inside a plan, or NULL */
	enum source_kind kind;
	const struct doc *doc; /* NULL: SOURCE_TEXT */
};

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "dir/deepseek-v3.json" -> "deepseek-v3"; "dir/Mixtral/config.json" -> "Mixtral". */
static const char *
name_of_model(struct arena *arena, const char *path)
{
	const char *base = base_name(path);
	const char *dot = strrchr(base, '.');
	const char *folder;
	size_t length;

	if (strcmp(base, "config.json") != 0)
		return dot && dot != base ? arena_strndup(arena, base, (size_t)(dot - base)) : base;
	if (base == path)
		return NULL;
	length = (size_t)(base - path) - 1;
	folder = arena_strndup(arena, path, length);
	while (length > 1 && folder[length - 1] == '/')
		folder = arena_strndup(arena, path, --length);
	folder = base_name(folder);
	return folder[0] && folder[0] != '.' ? folder : NULL;
}

/* A file or a folder with a config.json; NULL when it is neither. */
static const char *
file_path(struct arena *arena, const char *argument)
{
	struct stat status;
	const char *path;

	if (stat(argument, &status) != 0)
		return NULL;
	if (!S_ISDIR(status.st_mode))
		return argument;
	path = arena_printf(
	    arena, "%s%sconfig.json", argument, argument[strlen(argument) - 1] == '/' ? "" : "/");
	return stat(path, &status) == 0 ? path : NULL;
}

/* Every name that could stand where an unknown one does. */
static const char *const *
known_names(struct arena *arena)
{
	int n_models = 0, n_slugs = 0, i;
	const char **names;

	while (builtin_model_name(n_models))
		n_models++;
	while (cluster_slug(n_slugs))
		n_slugs++;
	names = arena_array(arena, (size_t)n_models + (size_t)n_slugs + 1, sizeof(*names));
	for (i = 0; i < n_models; i++)
		names[i] = builtin_model_name(i);
	for (i = 0; i < n_slugs; i++)
		names[n_models + i] = cluster_slug(i);
	return names;
}

static bool
looks_like_path(const char *argument)
{
	static const char *const endings[] = {".json", ".yaml", ".yml"};
	size_t length = strlen(argument);
	size_t i;

	for (i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t n = strlen(endings[i]);

		if (length > n && strcmp(argument + length - n, endings[i]) == 0)
			return true;
	}
	return strchr(argument, '/') != NULL;
}

/* "8xH100", "H100x8", "h100": the GPUs that may be meant, or NULL. */
static const char *
gpu_meant(struct arena *arena, const char *argument)
{
	size_t count = strspn(argument, "0123456789");
	const char *name = count > 0 && argument[count] == 'x' ? argument + count + 1 : argument;
	const char *x = strrchr(name, 'x');

	if (x && x > name && strspn(x + 1, "0123456789") == strlen(x + 1))
		name = arena_strndup(arena, name, (size_t)(x - name));
	return gpu_suggestion(arena, name);
}

static int
not_found(struct request *request, const struct source *source, const char *tried)
{
	const char *near = str_nearest(base_name(source->argument), known_names(request->arena));
	const char *gpus = near ? NULL : gpu_meant(request->arena, source->argument);
	struct stat status;

	if (stat(tried, &status) == 0) {
		diag_error(request->diags, source->loc, "folder '%s' holds no config.json", tried);
		return -1;
	}
	if (looks_like_path(source->argument))
		return diag_error(request->diags, source->loc, "there is no file '%s'", tried);
	diag_error(request->diags, source->loc,
	    "'%s' is neither a file nor a built-in model or cluster", source->argument);
	if (near)
		diag_last_hint(request->diags, "did you mean '%s'?", near);
	else if (gpus)
		diag_last_hint(request->diags, "a node of 8 is 'gpu:8 NAME', NAME %s", gpus);
	else
		diag_last_hint(
		    request->diags, "'moeplan help names' lists the built-in models and clusters");
	return -1;
}

static void
add_input(struct request *request, const char *name, const char *text, size_t length)
{
	struct input_file *input = arena_alloc(request->arena, sizeof(*input));

	input->name = name;
	sha256_hex(text, length, input->sha256);
	*request->last_input = input;
	request->last_input = &input->next;
}

/* A pipe can be read only once. */
static int
find_stdin(struct request *request, struct source *source)
{
	const struct input_file *input;

	source->path = "-";
	source->name = "<stdin>";
	for (input = request->inputs; input; input = input->next)
		if (strcmp(input->name, source->name) == 0)
			return diag_error(
			    request->diags, source->loc, "standard input is asked for twice");
	return 0;
}

/*
 * A built-in cluster, alone or with xN, a GPU of the catalogue, or a short
 * string. Any other bare word may as well be a misspelt model.
 */
static bool
is_known_cluster(const char *argument)
{
	const char *slug;
	int i;

	for (i = 0; (slug = cluster_slug(i)) != NULL; i++) {
		size_t length = strlen(slug);

		if (strncmp(argument, slug, length) == 0 &&
		    (argument[length] == '\0' || argument[length] == 'x'))
			return true;
	}
	return gpu_find(argument) || (strpbrk(argument, " :") && is_cluster_text(argument));
}

/* Settles path, name and folder; a cluster's text has none of them. */
static int
source_find(struct request *request, struct source *source, const char *folder)
{
	struct arena *arena = request->arena;
	const char *argument = source->argument;
	const char *tried =
	    argument[0] == '/' ? argument : arena_printf(arena, "%s%s", folder, argument);

	source->folder = "";
	if (strcmp(argument, "-") == 0)
		return find_stdin(request, source);
	source->path = file_path(arena, tried);
	if (source->path) {
		source->name = source->path;
		source->folder = arena_strndup(
		    arena, source->path, (size_t)(base_name(source->path) - source->path));
		source->model_name = name_of_model(arena, source->path);
		return 0;
	}
	source->text = builtin_model_text(argument);
	if (source->text) {
		source->name = arena_printf(arena, "%s.json", argument);
		source->model_name = argument;
		return 0;
	}
	source->kind = SOURCE_TEXT;
	return is_known_cluster(argument) ? 0 : not_found(request, source, tried);
}

static int
source_parse(struct request *request, struct source *source)
{
	const char *text = source->text;
	size_t length = text ? strlen(text) : 0;
	const struct doc *combined;

	if (source->kind == SOURCE_TEXT)
		return 0;
	if (!text)
		text = doc_read_file(request->arena, request->diags, source->path, &length);
	if (!text)
		return -1;
	add_input(request, source->name, text, length);
	source->doc = doc_parse(request->arena, request->diags, source->name, text, length);
	if (!source->doc)
		return -1;
	combined = plan_as_combined(
	    request->arena, source->doc, &request->job.base, &source->plan_model);
	source->doc = combined ? combined : source->doc;
	return 0;
}

static bool
has_sections(const struct doc *doc)
{
	size_t i;

	if (doc_get(doc, "model_type") || doc_get(doc, "architectures"))
		return false;
	for (i = 0; section_names[i]; i++) {
		const struct doc *section = doc_get(doc, section_names[i]);

		if (section && (section->kind == DOC_MAP || section->kind == DOC_STRING))
			return true;
	}
	return false;
}

static bool
is_plan(const char *schema)
{
	return strcmp(schema, "moeplan/plan/v1") == 0 ||
	       strcmp(schema, "moeplan/estimate/v1") == 0;
}

static int
source_classify(struct request *request, struct source *source, unsigned taken)
{
	const struct doc *schema = doc_get(source->doc, "schema");
	int slot;

	if (source->kind == SOURCE_TEXT)
		return 0;
	if (schema && schema->kind == DOC_STRING) {
		static const char *const schemas[] = {"moeplan/model/v1", "moeplan/cluster/v1",
		    "moeplan/job/v1", "moeplan/run/v1", NULL};
		int i;

		for (i = 0; schemas[i] && strcmp(schemas[i], schema->text) != 0; i++)
			;
		source->kind = (enum source_kind)i;
		if (schemas[i])
			return 0;
		if (is_plan(schema->text))
			return diag_error(request->diags, schema->loc,
			    "'%s' holds no strategy: nothing did fit", source->name);
		diag_error(request->diags, schema->loc, "unknown schema '%s'", schema->text);
		diag_last_hint(request->diags,
		    "schemas that are read: %s, %s, %s, %s, moeplan/plan/v1, moeplan/estimate/v1",
		    schemas[0], schemas[1], schemas[2], schemas[3]);
		return -1;
	}
	source->kind = SOURCE_COMBINED;
	if (has_sections(source->doc))
		return 0;
	source->kind = SOURCE_MODEL;
	if (doc_get(source->doc, "model_type") || doc_get(source->doc, "architectures"))
		return 0;
	for (slot = SLOT_MODEL; slot < SLOTS; slot++)
		if (request->command->slots & ~taken & (1U << slot)) {
			source->kind = (enum source_kind)slot;
			return 0;
		}
	return 0;
}

static int
source_open(struct request *request, struct source *source, const char *folder, unsigned taken)
{
	if (source_find(request, source, folder) != 0 || source_parse(request, source) != 0)
		return -1;
	return source_classify(request, source, taken);
}

/* Which slot a source fills; a combined file fills none by itself. */
static unsigned
slot_bit(const struct source *source)
{
	switch (source->kind) {
	case SOURCE_MODEL:
		return 1U << SLOT_MODEL;
	case SOURCE_CLUSTER:
	case SOURCE_TEXT:
		return 1U << SLOT_CLUSTER;
	case SOURCE_JOB:
		return 1U << SLOT_JOB;
	case SOURCE_COMBINED:
		break;
	}
	return 0;
}

static const struct doc *
text_doc(struct arena *arena, const char *text)
{
	struct doc *doc = arena_alloc(arena, sizeof(*doc));

	doc->kind = DOC_STRING;
	doc->text = text;
	return doc;
}

static int
read_source(struct request *request, const struct source *source)
{
	struct arena *arena = request->arena;

	switch (source->kind) {
	case SOURCE_MODEL:
		request->model = model_read(arena, request->diags, source->doc, source->model_name);
		request->model_doc = source->doc;
		return request->model ? 0 : -1;
	case SOURCE_CLUSTER:
		request->cluster = cluster_read(arena, request->diags, source->doc);
		request->cluster_doc = source->doc;
		return request->cluster ? 0 : -1;
	case SOURCE_TEXT:
		request->cluster = cluster_from_text(arena, request->diags, source->argument);
		request->cluster_doc = text_doc(arena, source->argument);
		return request->cluster ? 0 : -1;
	case SOURCE_JOB:
		return job_read(&request->job, source->doc, &request->context);
	case SOURCE_COMBINED:
		break;
	}
	return 0;
}

/* `model:` and `cluster:` are a mapping, or a name as on the command line. */
static int
read_section(struct request *request, const struct source *parent, const struct doc *section,
    enum source_kind kind)
{
	struct source source = {.argument = section->text, .loc = section->loc, .kind = kind};

	if (section->kind == DOC_MAP) {
		source.doc = section;
		source.model_name = parent->plan_model;
		return read_source(request, &source);
	}
	if (section->kind != DOC_STRING)
		return diag_error(request->diags, section->loc,
		    "'%s' is %s; a mapping or a name is wanted", section->key,
		    doc_kind_name(section->kind));
	if (source_open(request, &source, parent->folder, ~(1U << kind)) != 0)
		return -1;
	if (slot_bit(&source) != 1U << kind)
		return diag_error(
		    request->diags, section->loc, "'%s' is not a %s", section->text, section->key);
	return read_source(request, &source);
}

static int
check_section_names(struct request *request, const struct source *source)
{
	const struct doc *member;
	int result = 0;

	for (member = source->doc->first; member; member = member->next) {
		const char *near;
		size_t i = 0;

		while (section_names[i] && strcmp(section_names[i], member->key) != 0)
			i++;
		if (section_names[i] || strcmp(member->key, "schema") == 0)
			continue;
		result = diag_error(
		    request->diags, member->key_loc, "unknown section '%s'", member->key);
		near = str_nearest(member->key, section_names);
		if (near)
			diag_last_hint(request->diags, "did you mean '%s'?", near);
		else
			diag_last_hint(request->diags,
			    "a combined file has the sections model, cluster, job, strategy");
	}
	return result;
}

/* `skip`: bits of slots that an argument of its own fills. */
static int
read_combined(struct request *request, const struct source *source, unsigned skip)
{
	unsigned wanted = request->command->slots & ~skip;
	const struct doc *model = doc_get(source->doc, "model");
	const struct doc *cluster = doc_get(source->doc, "cluster");
	const struct doc *job = doc_get(source->doc, "job");
	const struct doc *strategy = doc_get(source->doc, "strategy");
	int result = 0;

	if (model && (wanted & 1U << SLOT_MODEL))
		result |= read_section(request, source, model, SOURCE_MODEL);
	if (cluster && (wanted & 1U << SLOT_CLUSTER))
		result |= read_section(request, source, cluster, SOURCE_CLUSTER);
	if (job)
		result |= job_read(&request->job, job, &request->context);
	request->strategy_section = strategy;
	if (strategy)
		result |= fields_read(
		    strategy_fields, &request->job.base, strategy, NULL, &request->context);
	result |= check_section_names(request, source);
	return result;
}

static int
check_slots(struct request *request, const struct source *sources, size_t n)
{
	struct loc nowhere = {NULL, 0, 0};
	const char *first[SLOTS] = {NULL};
	int result = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		unsigned bit = slot_bit(&sources[i]);
		int slot;

		for (slot = 0; slot < SLOTS; slot++) {
			if (!(bit & 1U << slot))
				continue;
			if (!(request->command->slots & bit))
				result = diag_error(request->diags, nowhere,
				    "'moeplan %s' takes no %s: '%s'", request->command->name,
				    slot_names[slot], sources[i].argument);
			else if (first[slot])
				result = diag_error(request->diags, nowhere,
				    "two %ss are given: '%s' and '%s'", slot_names[slot],
				    first[slot], sources[i].argument);
			first[slot] = sources[i].argument;
		}
	}
	return result;
}

static int
check_required(struct request *request, unsigned required)
{
	struct loc nowhere = {NULL, 0, 0};
	bool there[SLOTS] = {request->model != NULL, request->cluster != NULL, true};
	int result = 0;
	int slot;

	for (slot = 0; slot < SLOTS; slot++) {
		if (there[slot] || !(required & 1U << slot))
			continue;
		result = diag_error(request->diags, nowhere, "no %s is given", slot_names[slot]);
		diag_last_hint(request->diags, "%s", slot_hints[slot]);
	}
	return result;
}

static int
read_all(struct request *request, struct source *sources, size_t n)
{
	unsigned taken = 0;
	int result = 0;
	size_t i;

	for (i = 0; i < n; i++)
		taken |= slot_bit(&sources[i]);
	for (i = 0; i < n; i++)
		if (sources[i].kind == SOURCE_COMBINED)
			result |= read_combined(request, &sources[i], taken);
	for (i = 0; i < n; i++)
		result |= read_source(request, &sources[i]);
	return result;
}

int
inputs_load(struct request *request, unsigned required)
{
	size_t n = request->arguments.count;
	struct source *sources = arena_array(request->arena, n, sizeof(*sources));
	unsigned taken = 0;
	int result = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		sources[i].argument = request->arguments.positional[i];
		result |= source_open(request, &sources[i], "", taken);
		taken |= slot_bit(&sources[i]);
	}
	if (result != 0 || check_slots(request, sources, n) != 0)
		return -1;
	job_init(&request->job);
	if (read_all(request, sources, n) != 0 || check_required(request, required) != 0)
		return -1;
	/* The same options once more, now over what the files said: they were checked before. */
	result = request_options(request, diags_new(request->arena));
	request->given = request->job;
	return result;
}
