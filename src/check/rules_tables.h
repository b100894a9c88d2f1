/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_RULES_TABLES_H
#define MOEPLAN_RULES_TABLES_H

#include "check/rules.h"

/* The tables, a file each; every one ends with a row without an id. */
extern const struct rule rules_megatron[], rules_megatron_pipeline[], rules_megatron_dense[],
    rules_megatron_moe[], rules_megatron_old[];
extern const struct rule rules_deepspeed[], rules_torchtitan[], rules_libraries[];
extern const struct rule rules_grid[], rules_launch[], rules_arithmetic[], rules_memory[],
    rules_health[];

/* Bytes of a weight: of the type that was said, else of 16 bits. */
#define TYPE_BYTES                                                                                 \
	"given(type_bytes(given(dtype, '')), given(type_bytes(given(model_name, '')), 2))"
/* Ulysses under its names: DeepSpeed, verl, Accelerate. */
#define ULYSSES                                                                                    \
	"given(sequence_parallel_size, given(ulysses_sequence_parallel_size, given(sp_size, 1)))"

enum {
	ON_MEGATRON = 1 << FRAMEWORK_MEGATRON,
	ON_DEEPSPEED = 1 << FRAMEWORK_DEEPSPEED,
	ON_TORCHTITAN = 1 << FRAMEWORK_TORCHTITAN,
	ON_ANY = 0,
};

#endif
