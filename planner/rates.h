/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_RATES_H
#define MOEPLAN_RATES_H

#include "model/cluster.h"
#include "model/strategy.h"

/*
 * Every efficiency and constant of the model in one table: name, value, unit,
 * where it is from and what it may be absorbing besides its name.
 */
enum rate {
	RATE_GEMM_BF16,
	RATE_GEMM_FP8,
	RATE_GEMM_FP4,
	RATE_GEMM_SUSTAINED,
	RATE_GEMM_SUSTAINED_FP4,
	RATE_CEILING_DEFAULT,
	RATE_GEMM_HALF_DIM,
	RATE_GROUPED_BF16,
	RATE_GROUPED_HALF_ROWS,
	RATE_FLASH_FORWARD,
	RATE_FLASH_BACKWARD,
	RATE_FLASH_BACKWARD_FLOPS,
	RATE_FLASH_UNTUNED,
	RATE_FLASH_HALF_WIDTH,
	RATE_FLASH_FULL_WIDTH,
	RATE_FLASH_HALF_ROWS,
	RATE_FLASH_HALF_ROWS_BACKWARD,
	RATE_FLASH_HALF_KEYS,
	RATE_FLASH_FULL_KEYS,
	RATE_SM_DEFAULT,
	RATE_SCAN,
	RATE_MEMORY,
	RATE_COPY,
	RATE_PERMUTE,
	RATE_FUSED_EXPERTS,
	RATE_LINK,
	RATE_NIC_ALL_TO_ALL,
	RATE_MESSAGE_PEER_S,
	RATE_MESSAGE_PEERS,
	RATE_HIDDEN_EP,
	RATE_HIDDEN_DUALPIPE,
	RATE_HIDDEN_TP,
	RATE_HIDDEN_CP,
	RATE_HIDDEN_DP,
	RATE_HOST_DENSE_S,
	RATE_HOST_MOE_S,
	RATE_HOST_BACKWARD,
	RATE_HOST_FP8,
	RATE_HOST_GRAPHS,
	RATE_SYNC_GAP_S,
	RATE_HOST_LINK,
	RATE_HOST_LINK_DEFAULT_BPS,
	RATE_HOST_MEMORY_DEFAULT_BPS,
	RATE_CPU_ADAM_TORCH,
	RATE_CPU_ADAM_DEEPSPEED,
	RATE_STEP_S,
	RATE_SPREAD_COMPUTE,
	RATE_SPREAD_STACK,
	RATE_SPREAD_STEP,
	RATE_SPREAD_EXPOSED,
	RATE_CORRECTION_MOST,
	RATE_ACTIVATIONS_MOST,
	RATE_STEP_DOUBTED,
	RATE_STEP_BELIEVED,
	RATE_RUNTIME_BYTES,
	RATE_ALLOCATOR,
	RATE_SKEWED_LOAD,
	RATE_LOGIT_FUSED_BYTES,
	RATE_LOGIT_COMPILED_BYTES,
	RATE_LOGIT_EAGER_BYTES,
	RATE_LOGIT_UNFUSED_BYTES,
	RATE_FP8_CAST_BYTES,
	RATE_FP8_SENT_BYTES,
	RATES
};

struct rate_row {
	const char *name;
	double value;
	const char *unit;
	const char *source;
	const char *absorbs; /* what else may be in it, or NULL */
};
/* Constants, but for the program that fits them (tests/bench/fit.c). */
#ifndef RATE_CONST
#define RATE_CONST const
#endif
extern RATE_CONST struct rate_row rate_table[RATES];

/*
 * Sustained FLOP/s of large dense matrix products on this part: datasheet peak
 * of the type x measured ceiling (bf16, unknown parts: the default) x efficiency.
 */
double gemm_flops(const struct gpu *gpu, enum precision precision);
/* The same for grouped (expert) products with many rows an expert. */
double grouped_flops(const struct gpu *gpu, enum precision precision);
/* Datasheet peak of the precision, FLOP/s: what MFU is measured against. */
double peak_flops(const struct gpu *gpu, enum precision precision);
/* Bytes a second that a level gives one GPU: nominal x RATE_LINK, measured as it is. */
double link_Bps(const struct level *level);
double memory_Bps(const struct gpu *gpu);
/* Memory that no allocator of the framework sees. */
double runtime_bytes(const struct gpu *gpu);
/* Datasheet peak of 16-bit matrix products: bf16, or fp16 on parts without it. */
double half_flops(const struct gpu *gpu);
bool precision_is_fp8(enum precision precision);

#endif
