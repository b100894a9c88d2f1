/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_OUTPUT_H
#define MOEPLAN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

/*
 * Writes `text` to `path` whole or not at all: into a temporary file in the
 * same folder, synced, then renamed. A path that is not a regular file
 * (/dev/stdout, a pipe) is written directly. -1 after adding an error.
 */
int output_write_file(struct diags *diags, const char *path, const char *text, size_t length);

#endif
