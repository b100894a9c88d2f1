/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_IMPORT_TOML_H
#define MOEPLAN_IMPORT_TOML_H

#include "check/import_text.h"

/* TOML 1.0 as a tree; dates and times stay text. NULL after adding errors. */
struct doc *import_toml(struct arena *arena, struct diags *diags, const struct import_text *text);
/* A number, true, false, a date or a time; NULL when the word is none of them. */
struct doc *import_toml_bare(
    struct arena *arena, const char *key, const char *word, struct loc loc);

#endif
