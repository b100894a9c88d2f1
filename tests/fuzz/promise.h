/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_FUZZ_PROMISE_H
#define MOEPLAN_FUZZ_PROMISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts when a promise is broken; here, so that an analyzer sees what holds behind it. */
static inline void
check(bool holds)
{
	if (!holds)
		abort();
}

/* For arenas: aborts. */
void out_of_memory(void *context);

#endif
