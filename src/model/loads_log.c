/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which lines of a training log carry tokens per expert?
 *
 *     … iteration 100 … layer 3 … tokens_per_expert: [1024, 998, …]
 *     [rank 2] layers.7.mlp exp_counts = tensor([ 512,  498, …], device='cuda:0')
 * A known name, then a list in brackets, which may go on over the next lines as PyTorch
 * prints long tensors; the layer is the number behind `layer` or `layers`, the rank
 * the one behind `rank`. What several iterations say is summed. Lines without a list are
 * stepped over and counted.
 */
#include <ctype.h>
#include <string.h>

#include "base/arena.h"
#include "base/numeric.h"
#include "model/loads_private.h"

/* Megatron-LM and its forks, DeepSpeed (MoE returns exp_counts), hooks of users. */
static const char *const names[] = {"tokens_per_expert", "token_per_expert", "tokens per expert",
    "exp_counts", "expert_counts", "expert_count", "expert_load"};

enum { MAX_GAP = 40, MAX_CONTINUED = 1024 };

struct log {
	struct lines *lines;
	struct loads_builder builder;
	double *count;
	int experts, errors;
	bool some_layers, none_layers;
	struct loads_account account;
};

static bool
same_letters(const char *text, const char *word)
{
	for (; *word; text++, word++)
		if (tolower((unsigned char)*text) != *word)
			return false;
	return true;
}

/* The end of a name that a list follows; NULL when the line has none. */
static const char *
find_name(const char *line, const char **list)
{
	for (const char *at = line; *at; at++)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			const char *end, *bracket;

			if (!same_letters(at, names[i]))
				continue;
			end = at + strlen(names[i]);
			bracket = memchr(end, '[', strnlen(end, MAX_GAP + 1));
			if (bracket) {
				*list = bracket + 1;
				return at;
			}
		}
	return NULL;
}

/* The number behind the last `word` before `end`: "layer 3", "layers.3", "layer_3", "rank=3:". */
static bool
number_behind(const char *line, const char *end, const char *word, int64_t *number)
{
	bool found = false;

	for (const char *at = line; at < end; at++) {
		const char *digit;
		int64_t value = 0;
		int digits = 0;

		if (!same_letters(at, word))
			continue;
		digit = at + strlen(word);
		digit += *digit == 's';
		while (*digit && strchr(" _.:=#-[", *digit))
			digit++;
		for (; isdigit((unsigned char)*digit) && digits < 9; digit++, digits++)
			value = 10 * value + (*digit - '0');
		if (digits > 0) {
			*number = value;
			found = true;
		}
	}
	return found;
}

static int
log_error(struct log *log, const char *message)
{
	log->errors++;
	return diag_error(log->lines->diags, lines_loc(log->lines, 0), "%s", message);
}

/* The numbers of a list up to its bracket; further lines are read while it stays open. -1: no list.
 */
static int
read_list(struct log *log, const char *at, double *value, int room)
{
	int n = 0, lines = 0;

	for (;;) {
		char *end;
		size_t length;

		at += strspn(at, " \t,");
		if (*at == ']')
			return n;
		if (*at == '\0') {
			at = lines++ < MAX_CONTINUED ? lines_next(log->lines, &length) : NULL;
			if (!at)
				return -1;
			continue;
		}
		if (n == room)
			return -1;
		value[n++] = numeric_strtod(at, &end);
		if (end == at || !strchr(" \t,]", *end)) /* the terminator is among them */
			return -1;
		at = end;
	}
}

static int
check_list(struct log *log, int n)
{
	struct arena *arena = log->lines->arena;

	if (log->experts == 0) {
		if (loads_check_experts(log->lines->diags, lines_loc(log->lines, 0), n) != 0) {
			log->errors++;
			return -1;
		}
		log->experts = log->builder.experts = n;
	}
	if (n != log->experts)
		return log_error(log,
		    arena_printf(arena, "the list has %d counts, others have %d", n, log->experts));
	for (int e = 0; e < n; e++)
		if (!(log->count[e] >= 0 && log->count[e] <= LOADS_MAX_COUNT)) {
			log->errors++;
			return loads_check_count(log->lines->diags, lines_loc(log->lines, 0),
			    arena_printf(arena, "expert %d", e), log->count[e]);
		}
	return 0;
}

static void
read_line(struct log *log, const char *line)
{
	struct loc loc = lines_loc(log->lines, 0);
	const char *list, *name = find_name(line, &list), *source = "";
	int64_t layer = 0, rank;
	bool has_layer;
	int n;

	if (!name) {
		log->account.skipped++;
		return;
	}
	has_layer = number_behind(line, name, "layer", &layer);
	if (number_behind(line, name, "rank", &rank))
		source = arena_printf(log->lines->arena, "%lld", (long long)rank);
	n = read_list(log, list, log->count, LOADS_MAX_EXPERTS);
	if (n <= 0) {
		log->account.skipped++;
		return;
	}
	if (check_list(log, n) != 0)
		return;
	log->some_layers = log->some_layers || has_layer;
	log->none_layers = log->none_layers || !has_layer;
	if (builder_row(&log->builder, loc, layer, "", source, log->count) != 0)
		log->errors++;
}

struct loads *
loads_log_read(struct lines *lines)
{
	struct log log = {.lines = lines};
	struct loc loc = {lines->name, 0, 0};
	struct loads *loads;
	size_t length;
	char *line;

	builder_init(&log.builder, lines->arena, lines->diags, lines->name, 0);
	log.builder.kind = LOADS_NODES;
	log.builder.adds_up = true;
	log.count = arena_array(lines->arena, LOADS_MAX_EXPERTS, sizeof(double));
	while (log.errors == 0 && (line = lines_next(lines, &length)) != NULL)
		read_line(&log, line);
	if (log.errors > 0 || lines->failed)
		return NULL;
	if (log.experts == 0) {
		diag_error(lines->diags, loc, "'%s' holds no counts of experts", lines->name);
		diag_last_hint(lines->diags,
		    "CSV begins with layer,e0,e1,...; log lines have tokens_per_expert or "
		    "exp_counts and a list; routes are JSON lines with topk_ids");
		return NULL;
	}
	if (log.some_layers && log.none_layers) {
		diag_error(lines->diags, loc, "some lines name their layer, some do not");
		return NULL;
	}
	loads = builder_finish(&log.builder, "training log");
	if (loads)
		loads->account.skipped = log.account.skipped;
	return loads;
}
