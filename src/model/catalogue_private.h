/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CATALOGUE_PRIVATE_H
#define MOEPLAN_CATALOGUE_PRIVATE_H

#include "model/catalogue.h"

/* Where the catalogue's numbers are from. */
#define AICONFIGURATOR "ai-dynamo/aiconfigurator systems yaml"
#define AUTOMODEL "NVIDIA-NeMo/Automodel _transformers/mfu.py"
#define BUDECOSYSTEM "BudEcosystem/simulator hardware.json"
#define DEEPEP "deepseek-ai/DeepEP docs/legacy.md"
#define LLM_ANALYSIS "cli99/llm-analysis gpu_configs"
#define ML_ENGINEERING "stas00/ml-engineering accelerator and network pages"
#define PRIMUS "AMD-AGI/Primus examples/hardware_configs"
#define TORCHTITAN "pytorch/torchtitan tools/utils.py"
#define RECALLED "recalled"
#define WEB_H20 "ke60.top and zangshuxian.com (weak)"
#define DEVICE_H200 "driver of one H200: 143771 MiB"
#define MODULE_MI250X "stas00/ml-engineering; the module: software sees two halves of 64 GiB"
#define GB200_PAGES "Google Cloud A4X and Azure ND GB200 v6 pages"
#define GB300_PAGES "Google Cloud A4X Max and Azure GB300 pages"
#define GB200_NEWS "windowsforum.com summary of Microsoft Learn"
#define GB300_NEWS "particle.news summary of Azure GB300"
#define AZURE_PAGE "Azure ND H100 v5 page"
#define GOOGLE_PAGE "Google Cloud GPU network bandwidth page"
/* stas00/ml-engineering, maximum achievable matmul FLOP/s over the datasheet's. */
#define MAMF_A100 "stas00/ml-engineering MAMF table: 271 of 312 TFLOP/s"
#define MAMF_H100 "stas00/ml-engineering MAMF table: 795 of 989 TFLOP/s on H100"
#define MAMF_B200 "stas00/ml-engineering MAMF table: 1745 of 2250 TFLOP/s on B200"
#define MAMF_GB200 "stas00/ml-engineering MAMF table: 1822 of 2500 TFLOP/s on GB200"
#define MAMF_MI300X "stas00/ml-engineering MAMF table: 668 of 1307 TFLOP/s"
#define MAMF_MI325X "stas00/ml-engineering MAMF table: 785 of 1307 TFLOP/s"
#define MAMF_MI355X "stas00/ml-engineering MAMF table: 1565 of 2500 TFLOP/s"
/*
 * What large products keep up for minutes on random data: power limits it, so parts of a
 * generation differ by their power limit more than by their datasheet. B200 1000 W, B300 1100 W,
 * GB200 1200 W, GB300 1400 W (verda.com, GB300 NVL72 architecture).
 */
#define AZURE_H100 "Azure/AI-benchmarking-guide: 1377 of 1979 TFLOP/s, fp8, H100"
#define AZURE_H200 "Azure/AI-benchmarking-guide: 1366 of 1979 TFLOP/s, fp8, H200"
#define AZURE_GB200 "Azure/AI-benchmarking-guide: 2877 of 5000 TFLOP/s, fp8, GB200"
#define AZURE_GB200_FP4 "Azure/AI-benchmarking-guide: 7536 of 10000 TFLOP/s, fp4, GB200"
#define SIMUMAX_B200 "MooreThreads/SimuMax b200_bf16_ceperm.json: median of 514 products, B200"
#define AZURE_A100 "Azure/AI-benchmarking-guide: 256 of 312 TFLOP/s on A100"
#define BY_POWER(from) from "; by power limit"
/* 148 TFLOP/s in the power of a part that has 989. */
#define NOT_POWER(from) from ", which its power does not limit either"
#define BY_BEST(from) from "; by the best products of both parts (MAMF)"

#define FACT(number, from)                                                                         \
	{                                                                                          \
		.value = (number), .origin = ORIGIN_CATALOGUE, .source = (from)                    \
	}

#endif
