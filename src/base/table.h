/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TABLE_H
#define MOEPLAN_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

/* Text tables: columns sized to their widest cell, two blanks between, no trailing blanks. */
enum table_align { TABLE_LEFT, TABLE_RIGHT };
struct table;

struct table *table_new(struct arena *arena, size_t columns);
void table_column(struct table *table, size_t column, const char *head, enum table_align align);
/* Starts a row; cells are then added left to right, missing ones stay empty. Text is copied. */
void table_row(struct table *table);
void table_cell(struct table *table, const char *text);
void table_cellf(struct table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/*
 * Appends the table, each line indented by `indent` blanks. The head line is left out when
 * all heads are empty.
 */
void table_print(const struct table *table, struct str *out, size_t indent);

#endif
