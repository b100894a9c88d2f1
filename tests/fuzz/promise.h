/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_FUZZ_PROMISE_H
#define MOEPLAN_FUZZ_PROMISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts when a promise is broken. */
void check(bool holds);
/* For arenas: aborts. */
void out_of_memory(void *context);

#endif
