/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is it still working? A line that rewrites itself and leaves nothing behind. */
#include "cmd/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_DELAY_S 0.5
#define PROGRESS_INTERVAL_S 0.1
#define CLEAR_LINE "\r\033[K"

static double
now_s(void)
{
	struct timespec time;

	if (clock_gettime(CLOCK_MONOTONIC, &time) != 0)
		return 0;
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void
progress_start(struct progress *progress, bool enabled)
{
	progress->enabled = enabled && isatty(STDERR_FILENO);
	progress->shown = false;
	progress->start_s = now_s();
	progress->last_s = progress->start_s;
}

void
progress_update(void *context, double fraction, const char *what)
{
	struct progress *progress = context;
	double now;

	if (!progress->enabled)
		return;
	now = now_s();
	if (now - progress->start_s < PROGRESS_DELAY_S ||
	    (progress->shown && now - progress->last_s < PROGRESS_INTERVAL_S))
		return;
	fprintf(stderr, CLEAR_LINE "%3.0f %%  %s", 100 * fraction, what);
	fflush(stderr);
	progress->shown = true;
	progress->last_s = now;
}

void
progress_end(struct progress *progress)
{
	if (progress->shown)
		fputs(CLEAR_LINE, stderr);
	progress->shown = false;
}
