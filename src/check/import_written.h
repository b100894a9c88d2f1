/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_IMPORT_WRITTEN_H
#define MOEPLAN_IMPORT_WRITTEN_H

#include "base/str.h"
#include "check/import_private.h"

/* Files that a script writes, in order; the last text of a name counts. */
struct written {
	const char *name;
	struct str text;
	uint32_t origin;
	int versions; /* texts in branches of which one may be written */
	struct written *next;
};

void written_add(struct written **list, struct import *in, const struct shell_document *document);
/* Reads those that are configurations; `command` is what the script starts, or NULL. */
int written_read(struct import *in, const struct import_text *script, const struct written *list,
    const struct shell_words *command);

#endif
