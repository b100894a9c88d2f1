/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_JSON_MODEL_H
#define MOEPLAN_JSON_MODEL_H

#include "cmd/model_facts.h"

void json_model(struct request *request, const struct model_facts *facts);

#endif
