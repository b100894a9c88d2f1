/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_PLACEMENT_SKEW_H
#define MOEPLAN_PLACEMENT_SKEW_H

#include <stdint.h>

#include "model/loads.h"
#include "model/loads_spec.h"

/* Made-up loads; the same for a seed on every machine. */
struct loads *loads_generate(struct arena *arena, const struct loads_spec *spec, uint64_t seed);

#endif
