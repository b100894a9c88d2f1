/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_EMIT_REPORT_H
#define MOEPLAN_EMIT_REPORT_H

#include "cmd/cmd.h"
#include "emit/emit.h"
#include "emit/keys.h"

void text_emit(struct request *request, const struct emitted *files);
void json_emit(struct request *request, const struct emit_target *target, const char *version,
    const struct emitted *files);

#endif
