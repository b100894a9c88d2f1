/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PROGRESS_H
#define MOEPLAN_PROGRESS_H

#include <stdbool.h>

/* A line on standard error: only on a terminal, only when it takes more than half a second. */
struct progress {
	bool enabled;
	bool shown;
	double start_s, last_s;
};

void progress_start(struct progress *progress, bool enabled);
/* A search_progress_fn. */
void progress_update(void *context, double fraction, const char *what);
/* Takes the line away. */
void progress_end(struct progress *progress);

#endif
