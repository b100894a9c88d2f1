/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEXT_COMMON_H
#define MOEPLAN_TEXT_COMMON_H

#include "cmd/cmd.h"
#include "planner/estimate.h"

/* Colour helps and never carries meaning alone. Returns `text` itself without colour. */
enum paint { PAINT_BOLD, PAINT_GOOD, PAINT_DOUBT, PAINT_BAD };
const char *paint(const struct request *request, enum paint paint, const char *text);
/* "fits", "at-risk", "oom" in its colour. */
const char *text_verdict(const struct request *request, enum verdict verdict);

/* A label in the left column; what follows starts at TEXT_LABEL_WIDTH. */
enum { TEXT_LABEL_WIDTH = 10 };
void text_label(struct request *request, const char *label);
void text_line(struct request *request, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "fp8 scales" of a document's key "fp8_scales". */
const char *text_words(struct arena *arena, const char *key);

/* "61 layers (3 dense), 256 experts top-8 + 1 shared" and the like. */
void text_model_line(struct request *request);
void text_cluster_line(struct request *request);
/* "TP 1 CP 1 PP 16 VPP 1 EP 8 ETP 1, DP 8 EDP 1" */
const char *text_degrees(struct arena *arena, const struct strategy *strategy);

/* "dp,tp" and "optimizer:0.5", as the options take them. */
const char *overlap_text(struct arena *arena, unsigned overlap);
/*
 * "attention" of "attention", "expert GEMM" of "experts": a part of a step for people;
 * else the name.
 */
const char *time_name_label(const char *name);
const char *offload_text(struct arena *arena, const struct strategy *strategy);
/* What is there only when asked for: ", zbv, offload optimizer", or "". */
const char *asked_text(struct arena *arena, const struct strategy *strategy);
/* "+-12 %" from a value and its band. */
const char *text_band(const struct request *request, double value, double low, double high);

/* Shared experts of a layer when their width is a multiple of an expert's, else 0. */
int64_t shared_experts(const struct ffn *ffn);

/* A bar of `width` cells filled to `share` (0..1). */
const char *text_bar(const struct request *request, double share, int width);
/* text_memory.c: a stage's memory as letters, free space as dots, '|' where the GPU ends. */
const char *text_memory_bar(
    const struct request *request, const struct stage_memory *stage, double capacity_bytes);
/* Short column heads; their first letters are the bar's. */
extern const char *const memory_part_heads[MEMORY_PARTS];
/* "embedding, 3 dense + 4 MoE, head" */
const char *text_stage_layers(
    struct arena *arena, const struct model *model, const struct estimate *estimate, int stage);

/* text_time.c: parts by exposed seconds, greatest first; how many are worth showing. */
int time_parts_sorted(const struct estimate *estimate, enum time_part order[TIME_PARTS]);
void text_time(struct request *request, const struct estimate *estimate);
void text_traffic(struct request *request, const struct estimate *estimate);

#endif
