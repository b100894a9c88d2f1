/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_BUILTIN_MODELS_H
#define MOEPLAN_BUILTIN_MODELS_H

/*
 * The files of examples/models, compiled in: embed.sh writes builtin_models.c.
 * Names are the files' without ".json", sorted.
 */

/* The text of the example, in Hugging Face form; NULL for an unknown name. */
const char *builtin_model_text(const char *name);
/* The index-th name; NULL past the last. */
const char *builtin_model_name(int index);

#endif
