/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What ran on the GPU in a profiled step?
 *
 * torch.profiler (Kineto) writes one event a kernel: {"ph": "X", "cat": "kernel", "name": …,
 * "pid": device, "ts": start, "dur": length}, microseconds, in any order, and one
 * "ProfilerStep#12" of "cat": "user_annotation" a step. By the kernel's name it is communication,
 * attention, a matrix product or something else.
 * The file is read as a stream of tokens; of an event only these members are kept.
 * Ignored: other GPUs in the same trace than the first.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/numeric.h"
#include "model/trace_private.h"

/* The first row whose word is in the kernel's name. */
static const struct {
	const char *word;
	enum trace_class class;
} words[] = {
    {"SendRecv", TRACE_ALL_TO_ALL},
    {"AllToAll", TRACE_ALL_TO_ALL},
    {"deep_ep", TRACE_ALL_TO_ALL},
    {"hybrid_ep", TRACE_ALL_TO_ALL},
    {"nccl", TRACE_COLLECTIVE},
    {"rccl", TRACE_COLLECTIVE},
    {"nvshmem", TRACE_COLLECTIVE},
    {"flash", TRACE_ATTENTION},
    {"fmha", TRACE_ATTENTION},
    {"sdpa", TRACE_ATTENTION},
    {"attention", TRACE_ATTENTION},
    {"gemm", TRACE_PRODUCTS},
    {"Gemm", TRACE_PRODUCTS},
    {"GEMM", TRACE_PRODUCTS},
    {"nvjet", TRACE_PRODUCTS},
    {"cutlass", TRACE_PRODUCTS},
    {"xmma", TRACE_PRODUCTS},
    {"Cijk_", TRACE_PRODUCTS},
};

enum { TEXT_ROOM = 512, ROOM = 1 << 16 };

struct reader {
	FILE *file; /* or text */
	const char *text;
	size_t left;
	char *buffer;
	size_t at, end;
	int line;
	struct arena *arena;
	struct diags *diags;
	const char *name;

	char word[TEXT_ROOM]; /* of the last string or number, cut to the room */
	struct trace_events found;
	size_t room_kernels;
	char device[TEXT_ROOM]; /* pid of the first kernel */
	bool events;		/* the list was found */
	double world;
};

/* What of an event matters. */
struct event {
	char phase, category[32], name[TEXT_ROOM], device[TEXT_ROOM];
	double start_us, length_us;
};

/* --- tokens ----------------------------------------------------------------------------------- */

static int
next_byte(struct reader *r)
{
	if (r->at == r->end) {
		size_t got;

		if (r->file) {
			got = fread(r->buffer, 1, ROOM, r->file);
		} else {
			got = r->left < ROOM ? r->left : ROOM;
			memcpy(r->buffer, r->text, got);
			r->text += got;
			r->left -= got;
		}
		r->at = 0;
		r->end = got;
		if (got == 0)
			return -1;
	}
	if (r->buffer[r->at] == '\n')
		r->line++;
	return (unsigned char)r->buffer[r->at++];
}

static int
fail(struct reader *r, const char *what)
{
	return diag_error(r->diags, (struct loc){r->name, r->line, 0}, "%s", what);
}

/* A token that is not the wanted one; an error was added when it is none. */
static int
unexpected(struct reader *r, int token, const char *what)
{
	return token < 0 ? -1 : fail(r, what);
}

static int
read_string(struct reader *r)
{
	size_t n = 0;
	int c;

	while ((c = next_byte(r)) != '"') {
		if (c < 0)
			return fail(r, "the trace ends inside a text");
		if (c == '\\')
			c = next_byte(r);
		if (n + 1 < TEXT_ROOM)
			r->word[n++] = (char)(c > 0 ? c : ' ');
	}
	r->word[n] = '\0';
	return 's';
}

static int
read_word(struct reader *r, int c)
{
	size_t n = 0;

	for (; c >= 0 && !strchr(" \t\r\n,]}:[{\"", c ? c : ' '); c = next_byte(r))
		if (n + 1 < TEXT_ROOM)
			r->word[n++] = (char)c;
	r->word[n] = '\0';
	if (c >= 0) {
		r->at--; /* it was just read from this buffer */
		r->line -= c == '\n';
	}
	return n > 0 ? 'w' : fail(r, "this is no JSON");
}

/* 's' a string, 'w' a number or word, one of {}[]:, or 0 at the end; -1 after an error. */
static int
next_token(struct reader *r)
{
	int c;

	do
		c = next_byte(r);
	while (c == ' ' || c == '\n' || c == '\t' || c == '\r');
	if (c < 0)
		return 0;
	if (c == '"')
		return read_string(r);
	if (strchr("{}[]:,", c) && c)
		return c;
	return read_word(r, c);
}

/* Steps over a value whose first token was read. */
static int
skip_value(struct reader *r, int token)
{
	int depth = 0;

	for (;; token = next_token(r)) {
		if (token <= 0)
			return unexpected(r, token, "the trace ends inside a value");
		if (token == '{' || token == '[')
			depth++;
		else if (token == '}' || token == ']')
			depth--;
		if (depth <= 0)
			return 0;
	}
}

/* --- events ----------------------------------------------------------------------------------- */

static enum trace_class
class_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(name, words[i].word))
			return words[i].class;
	return TRACE_OTHER;
}

static void
keep_member(const char *key, const char *word, struct event *e)
{
	if (strcmp(key, "ph") == 0)
		e->phase = word[0];
	else if (strcmp(key, "cat") == 0)
		memcpy(e->category, word, strnlen(word, sizeof(e->category) - 1) + 1);
	else if (strcmp(key, "name") == 0)
		memcpy(e->name, word, strlen(word) + 1);
	else if (strcmp(key, "pid") == 0)
		memcpy(e->device, word, strlen(word) + 1);
	else if (strcmp(key, "ts") == 0)
		e->start_us = numeric_strtod(word, NULL);
	else if (strcmp(key, "dur") == 0)
		e->length_us = numeric_strtod(word, NULL);
}

static int
too_many(struct reader *r, int most, const char *what)
{
	diag_error(r->diags, (struct loc){r->name, r->line, 0}, "more than %d %s", most, what);
	diag_last_hint(r->diags, "profile a few steps: schedule(wait=…, active=3)");
	return -1;
}

static int
keep_step(struct reader *r, const struct event *e)
{
	if (r->found.n_steps == TRACE_MAX_STEPS)
		return too_many(r, TRACE_MAX_STEPS, "steps");
	r->found.steps[r->found.n_steps++] =
	    (struct interval){1e-6 * e->start_us, 1e-6 * (e->start_us + e->length_us), TRACE_OTHER};
	return 0;
}

static int
keep_kernel(struct reader *r, const struct event *e)
{
	if (r->found.n_kernels == 0)
		memcpy(r->device, e->device, sizeof(r->device));
	if (strcmp(r->device, e->device) != 0)
		return 0;
	if (r->found.n_kernels == TRACE_MAX_KERNELS)
		return too_many(r, TRACE_MAX_KERNELS, "kernels");
	if (r->found.n_kernels == r->room_kernels) {
		size_t room = r->room_kernels ? 2 * r->room_kernels : 4096;

		r->found.kernels = arena_grow(r->arena, r->found.kernels,
		    r->room_kernels * sizeof(*r->found.kernels), room * sizeof(*r->found.kernels));
		r->room_kernels = room;
	}
	r->found.kernels[r->found.n_kernels++] = (struct interval){
	    1e-6 * e->start_us, 1e-6 * (e->start_us + e->length_us), class_of(e->name)};
	return 0;
}

static int
keep_event(struct reader *r, const struct event *e)
{
	bool kernel = strcmp(e->category, "kernel") == 0 ||
		      strcmp(e->category, "gpu_memcpy") == 0 ||
		      strcmp(e->category, "gpu_memset") == 0;
	bool step = strcmp(e->category, "user_annotation") == 0 &&
		    strncmp(e->name, "ProfilerStep#", 13) == 0;

	if (e->phase != 'X' || !(e->length_us >= 0 && e->length_us < 1e12) ||
	    !(e->start_us > -1e18 && e->start_us < 1e18))
		return 0;
	if (step)
		return keep_step(r, e);
	return kernel ? keep_kernel(r, e) : 0;
}

/* One member of an event: its key was read. */
static int
read_member(struct reader *r, struct event *e)
{
	char key[TEXT_ROOM];
	int token;

	memcpy(key, r->word, sizeof(key));
	token = next_token(r);
	if (token != ':')
		return unexpected(r, token, "a member has no value");
	token = next_token(r);
	if (token == 's' || token == 'w') {
		keep_member(key, r->word, e);
		return 0;
	}
	return token <= 0 ? unexpected(r, token, "a member has no value") : skip_value(r, token);
}

static int
read_event(struct reader *r)
{
	struct event e = {0};
	int token;

	while ((token = next_token(r)) != '}') {
		if (token == ',')
			continue;
		if (token != 's')
			return unexpected(r, token, "an event is not closed");
		if (read_member(r, &e) != 0)
			return -1;
	}
	return keep_event(r, &e);
}

static int
read_events(struct reader *r)
{
	int token;

	r->events = true;
	while ((token = next_token(r)) != ']') {
		if (token == ',')
			continue;
		if (token <= 0)
			return unexpected(r, token, "the list of events is not closed");
		if (token == '{' ? read_event(r) != 0 : skip_value(r, token) != 0)
			return -1;
	}
	return 0;
}

/* "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 64, …} */
static int
read_world(struct reader *r)
{
	int token;

	while ((token = next_token(r)) != '}') {
		bool world = token == 's' && strcmp(r->word, "world_size") == 0;

		if (token == ',')
			continue;
		if (token != 's')
			return unexpected(r, token, "the trace is not closed");
		token = next_token(r);
		if (token != ':')
			return unexpected(r, token, "a member has no value");
		token = next_token(r);
		if (world && token == 'w')
			r->world = numeric_strtod(r->word, NULL);
		if (skip_value(r, token) != 0)
			return -1;
	}
	return 0;
}

static int
read_value(struct reader *r, const char *key, int token)
{
	if (token == '[' && strcmp(key, "traceEvents") == 0)
		return read_events(r);
	if (token == '{' && strcmp(key, "distributedInfo") == 0)
		return read_world(r);
	return skip_value(r, token);
}

/* {"schemaVersion": 1, …, "traceEvents": [ … ], …}, or the list alone. */
static int
read_document(struct reader *r)
{
	int token = next_token(r);
	char key[TEXT_ROOM];

	if (token == '[')
		return read_events(r);
	if (token != '{')
		return unexpected(r, token, "a trace is a JSON object or a list of events");
	while ((token = next_token(r)) != '}') {
		if (token == ',')
			continue;
		if (token != 's')
			return unexpected(r, token, "the trace is not closed");
		memcpy(key, r->word, sizeof(key));
		token = next_token(r);
		if (token != ':')
			return unexpected(r, token, "a member has no value");
		if (read_value(r, key, next_token(r)) != 0)
			return -1;
	}
	return 0;
}

/* --- all -------------------------------------------------------------------------------------- */

/* Steps are marked by the CPU; where it runs ahead, their kernels end after the last mark. */
static void
warn_of_kernels_outside(struct reader *r, const struct trace_facts *facts)
{
	if (!(facts->outside_share > TRACE_MAX_OUTSIDE))
		return;
	diag_add(r->diags, (struct loc){r->name, 0, 0}, NULL, SEVERITY_WARNING,
	    "%.0f %% of the kernels' time is before or after the marked steps and is left out",
	    100 * facts->outside_share);
	diag_last_hint(
	    r->diags, "profile more steps, or synchronize the GPU before step() of the profiler");
}

static int
read_all(struct reader *r, struct arena *arena, struct diags *diags, const char *name,
    struct trace_facts *facts)
{
	memset(facts, 0, sizeof(*facts));
	r->arena = arena;
	r->diags = diags;
	r->name = name;
	r->line = 1;
	r->buffer = arena_alloc(arena, ROOM);
	r->found.steps = arena_array(arena, TRACE_MAX_STEPS, sizeof(*r->found.steps));
	if (read_document(r) != 0)
		return -1;
	if (!r->events || r->found.n_kernels == 0) {
		fail(
		    r, r->events ? "the trace has no GPU kernels" : "the file has no trace events");
		diag_last_hint(r->diags, "torch.profiler exports them with ProfilerActivity.CUDA");
		return -1;
	}
	trace_sum(&r->found, facts);
	if (r->world >= 1 && r->world < 1e9)
		facts->world = (int64_t)r->world;
	warn_of_kernels_outside(r, facts);
	return 0;
}

int
trace_read_text(struct arena *arena, struct diags *diags, const char *name, const char *text,
    size_t length, struct trace_facts *facts)
{
	struct reader *r = arena_alloc(arena, sizeof(*r));

	r->text = text;
	r->left = length;
	return read_all(r, arena, diags, name, facts);
}

int
trace_read_file(
    struct arena *arena, struct diags *diags, const char *path, struct trace_facts *facts)
{
	struct reader *r = arena_alloc(arena, sizeof(*r));
	struct loc loc = {path, 0, 0};
	int result;

	r->file = fopen(path, "rb");
	if (!r->file)
		return diag_error(diags, loc, "'%s' cannot be opened: %s", path, strerror(errno));
	result = read_all(r, arena, diags, path, facts);
	fclose(r->file);
	return result;
}

int
trace_check_world(
    struct diags *diags, const char *name, const struct trace_facts *facts, int64_t world)
{
	if (facts->world == 0 || world <= 0 || facts->world == world)
		return 0;
	diag_error(diags, (struct loc){name, 0, 0},
	    "the profile is of another run: %lld ranks, the plan has %lld", (long long)facts->world,
	    (long long)world);
	diag_last_hint(
	    diags, "give the plan or the estimate that this run was started from, or its profile");
	return -1;
}

bool
trace_is(const char *start, size_t length)
{
	static const char *const signs[] = {
	    "\"traceEvents\"", "\"schemaVersion\"", "\"deviceProperties\"", "\"ph\""};
	size_t i, at, n;

	for (i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		for (at = 0, n = strlen(signs[i]); at + n <= length; at++)
			if (memcmp(start + at, signs[i], n) == 0)
				return true;
	return false;
}
