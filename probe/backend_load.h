/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_BACKEND_LOAD_H
#define MOEPLAN_BACKEND_LOAD_H

#include "base/diag.h"
#include "probe/probe.h"

struct arena;

/*
 * Loads moeplan-probe-NAME.so: from the folder of MOEPLAN_PROBE_BACKENDS, of the program, or of
 * an installed one beside it (../lib/moeplan). -1 after an error that says where it was looked for.
 */
int backend_load(
    struct arena *arena, struct diags *diags, const char *name, struct backend *backend);

#endif
