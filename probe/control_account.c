/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where was everybody when it failed, and who was missing?
 *
 * Ranks in the same phase and operation share a line. A rank that is in no operation while others
 * wait in one is who they wait for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/control_private.h"

void
control_state_text(const struct state *state, char text[STATE_TEXT])
{
	if (state->operation[0])
		snprintf(text, STATE_TEXT, "%s: %s on %s (operation %lld)", state->phase,
		    state->operation, state->group, (long long)state->number);
	else
		snprintf(text, STATE_TEXT, "%s: between operations (%lld done)", state->phase,
		    (long long)state->number);
}

/* Ranks of `mask[i] == which` as "0-3,7". */
static void
rank_list(const int *which, int world, int wanted, char *text, size_t size)
{
	size_t used = 0;
	int i, end;

	text[0] = '\0';
	for (i = 0; i < world && used + 24 < size; i = end + 1) {
		end = i;
		if (which[i] != wanted)
			continue;
		while (end + 1 < world && which[end + 1] == wanted)
			end++;
		used += (size_t)snprintf(text + used, size - used, end > i ? "%s%d-%d" : "%s%d",
		    used ? "," : "", i, end);
	}
}

/* Which of the distinct states each rank is in; how many there are. */
static int
classify(struct control *c, int *which, char (*texts)[STATE_TEXT], int most)
{
	char text[STATE_TEXT];
	int n = 0, i, j;

	for (i = 0; i < c->world; i++) {
		which[i] = -1;
		if (c->peers[i].gone)
			continue;
		control_state_text(i == 0 ? &c->own : &c->peers[i].state, text);
		for (j = 0; j < n && strcmp(texts[j], text) != 0; j++)
			;
		if (j == most)
			continue;
		if (j == n)
			snprintf(texts[n++], STATE_TEXT, "%s", text);
		which[i] = j;
	}
	return n;
}

enum { MAX_STATES = 8 };

/* Who keeps the others waiting without being in an operation itself? */
static size_t
missing_there(const struct control *c, char *text, size_t size)
{
	size_t used = 0;
	int i;

	for (i = 0; i < c->world && used + 64 < size; i++) {
		const struct state *state = i == 0 ? &c->own : &c->peers[i].state;

		if (state->operation[0] || (i > 0 && c->peers[i].gone))
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%d",
		    used ? ", " : "\n  missing in every operation: rank ", i);
	}
	return used;
}

/* "…; ranks 0-2: dispatch: all_to_all on ep (operation 17); rank 3: …" */
void
control_describe(struct control *c, const char *why, char text[CONTROL_TEXT])
{
	char states[MAX_STATES][STATE_TEXT], list[256];
	int *which = calloc((size_t)c->world, sizeof(*which));
	size_t used = (size_t)snprintf(text, CONTROL_TEXT, "%s", why);
	int n, i;

	if (!which)
		return;
	n = classify(c, which, states, MAX_STATES);
	used += missing_there(c, text + used, CONTROL_TEXT - used);
	for (i = 0; i < n && used + 1 < CONTROL_TEXT; i++) {
		rank_list(which, c->world, i, list, sizeof(list));
		used += (size_t)snprintf(text + used, CONTROL_TEXT - used, "\n  %s %s: %s",
		    strpbrk(list, "-,") ? "ranks" : "rank", list, states[i]);
	}
	if (c->remark[0] && strstr(why, "time-out") && used + 1 < CONTROL_TEXT)
		snprintf(text + used, CONTROL_TEXT - used, "\n  %s", c->remark);
	free(which);
}

