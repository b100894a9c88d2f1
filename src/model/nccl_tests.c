/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What did a program of nccl-tests (or rccl-tests) measure?
 *
 * Its text (src/util.cu of NVIDIA/nccl-tests), several programs one behind the other in a file:
 *   # Collective test starting: alltoall_perf         since 2.15; else the command above says it
 *   # Using devices
 *   #  Rank  3 Group  0 Pid 123 on  node-a device  3 [0000:1b:00] NVIDIA H100 80GB HBM3
 *   #       size         count      type   redop    root     time   algbw   busbw #wrong ...
 *       33554432       8388608     float    none      -1   1207.3   27.79   24.32      0 ...
 * with what launchers put in front of a line ("[1,0]<stdout>:", "0: "). Out of place counts. With
 * NCCL_TESTS_SPLIT ranks are in groups that run side by side; time and size are of one of them.
 * Or its JSON (-J FILE): config.devices, and results with out_of_place.time in microseconds.
 */
#include <string.h>

#include "base/arena.h"
#include "base/doc.h"
#include "base/numeric.h"
#include "base/str.h"
#include "model/calibrate.h"
#include "model/catalogue.h"

/* Names stand in the text. */
enum { MOST_HOSTS = 4096, OP_ROOM = 32 };
struct nccl_tests {
	struct diags *diags;
	const struct cluster *cluster;
	struct measurements *m;
	double ranks; /* of the first group */
	struct {
		const char *name;
		size_t length;
	} hosts[MOST_HOSTS];
	int n_hosts;
	char op[OP_ROOM]; /* empty: not said */
	int rows;	  /* with at least two ranks or without */
	int most_ranks;
};

static struct nccl_tests *
tests_new(struct diags *diags, const struct cluster *cluster, struct measurements *m)
{
	struct nccl_tests *t = arena_alloc(diags->arena, sizeof(*t));

	t->diags = diags;
	t->cluster = cluster;
	t->m = m;
	return t;
}

static int
keep_host(struct nccl_tests *t, struct loc loc, const char *name, size_t length)
{
	int i;

	t->ranks++;
	if ((int)t->ranks > t->most_ranks)
		t->most_ranks = (int)t->ranks;
	for (i = t->n_hosts - 1; i >= 0; i--) /* a host's ranks follow each other */
		if (t->hosts[i].length == length && memcmp(t->hosts[i].name, name, length) == 0)
			return 0;
	if (length == 0)
		return 0;
	if (t->n_hosts == MOST_HOSTS)
		return diag_error(t->diags, loc, "ranks on more than %d hosts", MOST_HOSTS);
	t->hosts[t->n_hosts].name = name;
	t->hosts[t->n_hosts++].length = length;
	return 0;
}

/* The part of a catalogue's name that a driver says too: "H100" of "H100-SXM5-80GB". */
static bool
says_gpu(const char *text, const char *name)
{
	char word[OP_ROOM];
	size_t n = strcspn(name, "-");

	if (n >= sizeof(word))
		return false;
	memcpy(word, name, n);
	word[n] = '\0';
	return strstr(text, word) != NULL;
}

/* `text`: what the driver calls the device. Unknown devices are believed. */
static int
check_gpu(struct nccl_tests *t, struct loc loc, const char *text)
{
	const struct gpu_row *row;
	int i;

	if (!gpu_row_find(t->cluster->gpu.name) || says_gpu(text, t->cluster->gpu.name))
		return 0;
	for (i = 0; (row = gpu_row(i)) != NULL; i++)
		if (says_gpu(text, row->gpu.name))
			return diag_error(t->diags, loc,
			    "the ranks are on '%s', the cluster has '%s'", text,
			    t->cluster->gpu.name);
	return 0;
}

/* The word before "_perf", cut to the room. */
static void
keep_program(struct nccl_tests *t, const char *line)
{
	const char *end = strstr(line, "_perf"), *start;
	size_t n;

	if (!end)
		return;
	for (start = end; start > line && !strchr(" \t/\"'", start[-1]); start--)
		;
	n = (size_t)(end - start);
	if (n == 0 || n >= sizeof(t->op))
		return;
	memcpy(t->op, start, n);
	t->op[n] = '\0';
}

static int
add_time(struct nccl_tests *t, struct loc loc, double size, double us)
{
	int level = t->n_hosts > 1 ? t->cluster->n_levels - 1 : 0;
	double inside = t->n_hosts > 1 ? t->ranks / t->n_hosts : 1;

	t->rows += size > 0 && us > 0;
	if (t->ranks < 2) /* nothing is sent */
		return 0;
	if (!t->op[0]) {
		diag_error(t->diags, loc, "nothing before this row says which program timed it");
		diag_last_hint(
		    t->diags, "put its name above the rows, such as '# all_reduce_perf'");
		return -1;
	}
	return calibrate_add_sample(
	    t->diags, loc, t->cluster, t->m, level, t->op, t->ranks, inside, size, us * 1e-6);
}

static int
refuse_cpu_time(struct nccl_tests *t, struct loc loc)
{
	diag_error(t->diags, loc, "these times are of the CPU, not of the collective");
	diag_last_hint(t->diags, "run nccl-tests without --report_cputime (-C)");
	return -1;
}

static int
finish(struct nccl_tests *t, struct loc loc)
{
	loc.line = 0;
	if (t->most_ranks < 2 && t->rows > 0 && t->most_ranks > 0) {
		diag_error(
		    t->diags, loc, "every rank of these rows ran for itself: nothing was sent");
		diag_last_hint(t->diags,
		    "build nccl-tests with MPI=1 where each process has one GPU, or give one "
		    "process several (-g 8)");
		return -1;
	}
	if (t->most_ranks < 2 || t->rows == 0) {
		diag_error(t->diags, loc,
		    "neither the output of nccl-tests (%d ranks, %d rows) nor a training log with "
		    "the time of its steps",
		    t->most_ranks, t->rows);
		diag_last_hint(t->diags,
		    "logs of Megatron-LM, Megatron-Bridge, NeMo, DeepSpeed and torchtitan are "
		    "known");
		return -1;
	}
	t->m->reports++;
	return 0;
}

/* --- text ------------------------------------------------------------------------------------- */

/* Without what a launcher puts in front: "[1,0]<stdout>:" of mpirun, "12: " of srun. */
static const char *
untagged(const char *line)
{
	const char *at = line + strspn(line, " \t"), *end;

	if (*at == '[' && (end = strstr(at, "]<std")) != NULL && (end = strchr(end, '>')) != NULL)
		at = end + 1 + (end[1] == ':');
	else if ((end = at + strspn(at, "0123456789")) > at && *end == ':')
		at = end + 1;
	return at + strspn(at, " \t");
}

/* Numbers of a line "size count type redop root time algbw busbw …"; how many fields it has. */
enum { FIELDS = 8 };
static int
split_line(const char *line, const char *fields[FIELDS])
{
	int n = 0;

	while (*line && n < FIELDS) {
		line += strspn(line, " \t");
		if (*line)
			fields[n++] = line;
		line += strcspn(line, " \t");
	}
	return n;
}

/* The number behind a word, -1 where it is not. */
static double
number_behind(const char *line, const char *word)
{
	const char *at = strstr(line, word);

	return at ? numeric_strtod(at + strlen(word), NULL) : -1;
}

static int
take_rank(struct nccl_tests *t, struct loc loc, const char *line)
{
	static const char on[] = " on ";
	const char *host = strstr(line, on), *device;

	if (number_behind(line, "Group ") > 0 || !host) /* of another group */
		return 0;
	host += sizeof(on) - 1;
	host += strspn(host, " ");
	device = strchr(line, ']');
	if (device && check_gpu(t, loc, device + 1 + strspn(device + 1, " ")) != 0)
		return -1;
	return keep_host(t, loc, host, strcspn(host, " "));
}

static int
take_comment(struct nccl_tests *t, struct loc loc, const char *line)
{
	keep_program(t, line);
	if (strstr(line, "Using devices"))
		t->ranks = t->n_hosts = 0;
	if (strstr(line, "cputime") && strstr(line, "busbw"))
		return refuse_cpu_time(t, loc);
	if (strstr(line, " Rank ") && strstr(line, " device "))
		return take_rank(t, loc, line);
	return 0;
}

static int
take_row(struct nccl_tests *t, struct loc loc, const char *line)
{
	const char *fields[FIELDS];

	if (split_line(line, fields) < FIELDS || fields[0][0] < '0' || fields[0][0] > '9') {
		keep_program(t, line); /* a command */
		return 0;
	}
	return add_time(t, loc, numeric_strtod(fields[0], NULL), numeric_strtod(fields[5], NULL));
}

int
calibrate_add_nccl_tests(struct diags *diags, const struct cluster *cluster, const char *name,
    const char *text, size_t length, struct measurements *m)
{
	struct nccl_tests *t = tests_new(diags, cluster, m);
	char *lines = arena_alloc(diags->arena, length + 1), *at = lines;
	struct loc loc = {name, 0, 0};
	size_t i;

	for (i = 0; i < length; i++) /* a file that was being written may have NUL bytes */
		lines[i] = (char)(text[i] ? text[i] : ' ');
	while (at && *at) {
		char *end = strchr(at, '\n');
		const char *line;

		if (end)
			*end = '\0';
		at[strcspn(at, "\r")] = '\0';
		loc.line++;
		line = untagged(at);
		if ((*line == '#' ? take_comment(t, loc, line) : take_row(t, loc, line)) != 0)
			return -1;
		at = end ? end + 1 : NULL;
	}
	return finish(t, loc);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static double
number_of(const struct doc *map, const char *key)
{
	const struct doc *value = doc_get(map, key);

	return value && value->kind == DOC_NUMBER ? value->number : 0;
}

static const char *
text_of(const struct doc *map, const char *key)
{
	const struct doc *value = doc_get(map, key);

	return value && value->kind == DOC_STRING ? value->text : "";
}

bool
calibrate_is_nccl_json(const struct doc *doc)
{
	return doc_get(doc, "nccl_version") && doc_get(doc, "results");
}

static int
take_devices(struct nccl_tests *t, const struct doc *list)
{
	const struct doc *device;

	for (device = list ? list->first : NULL; device; device = device->next) {
		const char *host = text_of(device, "hostname");

		if (number_of(device, "group") > 0)
			continue;
		if (check_gpu(t, device->loc, text_of(device, "device_info")) != 0 ||
		    keep_host(t, device->loc, host, strlen(host)) != 0)
			return -1;
	}
	return 0;
}

static int
take_result(struct nccl_tests *t, const struct doc *row)
{
	const struct doc *times = doc_get(row, "out_of_place");

	if (!times || times->kind != DOC_MAP) /* a replay has one of both */
		times = doc_get(row, "in_place");
	if (doc_get(times, "cpu_time"))
		return refuse_cpu_time(t, row->loc);
	return add_time(t, row->loc, number_of(row, "size"), number_of(times, "time"));
}

int
calibrate_add_nccl_json(struct diags *diags, const struct cluster *cluster, const struct doc *doc,
    struct measurements *m)
{
	struct nccl_tests *t = tests_new(diags, cluster, m);
	const struct doc *args = doc_get(doc, "args"), *results = doc_get(doc, "results"), *row;

	if (args && args->kind == DOC_LIST && args->first && args->first->text)
		keep_program(t, args->first->text);
	if (take_devices(t, doc_get(doc_get(doc, "config"), "devices")) != 0)
		return -1;
	for (row = results->kind == DOC_LIST ? results->first : NULL; row; row = row->next)
		if (take_result(t, row) != 0)
			return -1;
	return finish(t, doc->loc);
}
