/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_LOADS_FIXTURE_H
#define MOEPLAN_TEST_LOADS_FIXTURE_H

#include "model/loads.h"
#include "scratch.h"

/* Texts of loads that are read, in the memory of scratch.h. */
struct loads *parse_loads(const char *text);
struct loads *good_loads(const char *text);
double count_of(const struct loads *loads, int layer, int snapshot, int source, int expert);

#endif
