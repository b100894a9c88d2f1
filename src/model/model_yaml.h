/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_MODEL_YAML_H
#define MOEPLAN_MODEL_YAML_H

#include "base/field.h"

/* The keys of a model file or `model:` section, and of its `mla:` map: for help and schema. */
extern const struct field model_fields[];
extern const struct field model_mla_fields[];

#endif
