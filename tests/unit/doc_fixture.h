/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_DOC_FIXTURE_H
#define MOEPLAN_TEST_DOC_FIXTURE_H

#include "base/doc.h"
#include "scratch.h"

/* Documents that are read or refused, in the memory of scratch.h. */
/* The text is in memory of its exact size, which is gone when the tree is looked at. */
struct doc *parse_bytes(const char *text, size_t length);
struct doc *parse(const char *text);
struct doc *parse_good(const char *text);
struct refused {
	const char *text;
	int line, column;
	const char *message; /* a part of it */
};

void check_refused(const struct refused *row);
void assert_place(const struct doc *doc, int line, int column);

#endif
