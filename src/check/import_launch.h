/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_IMPORT_LAUNCH_H
#define MOEPLAN_IMPORT_LAUNCH_H

#include "check/import_private.h"
#include "check/launchers.h"

/* One option of a launcher at `at` becomes a setting; returns how many words it takes. */
size_t import_launch_option(struct import *in, const struct import_text *source,
    const struct launcher *launcher, const struct shell_words *words, size_t at, bool commit);

#endif
