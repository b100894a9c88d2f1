/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_IMPORT_OPTION_H
#define MOEPLAN_IMPORT_OPTION_H

#include "check/import_private.h"

/* --name */
bool option_is_long(const struct shell_text *word);
/* "-tp" of Megatron-Bridge: the name that it stands for, or NULL. */
const char *option_short(const struct shell_text *word);
/* section.name=value with an optional + in front: the length of the name, or 0. */
size_t option_override(const struct shell_text *word);
/* Names the file that holds DeepSpeed's configuration. */
bool option_is_deepspeed(const char *name);
/* Whose options the words from `from` on are; CONFIG_NUMBERS: nobody's that is known. */
enum config_form option_form(const struct shell_words *words, size_t from);

#endif
