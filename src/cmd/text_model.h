/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEXT_MODEL_H
#define MOEPLAN_TEXT_MODEL_H

#include "cmd/model_facts.h"

void text_model(struct request *request, const struct model_facts *facts);

#endif
