/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_MODEL_TEXT_H
#define MOEPLAN_TEST_MODEL_TEXT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/diag.h"
#include "model/model.h"

/* A model read from text, and what was said about it. `model` is NULL after errors. */
struct model_text {
	struct arena *arena;
	struct diags *diags;
	struct model *model;
};

/* JSON with apostrophes for quotes, or YAML. */
struct model_text model_from_text(const char *text);
/* A built-in example; the test fails when it cannot be read. */
struct model_text model_from_example(const char *name);
void model_text_free(struct model_text *text);

/* Is there a message of this severity with this part, on this line (0: any)? */
bool model_text_says(
    const struct model_text *text, enum severity severity, const char *part, int line);

#endif
