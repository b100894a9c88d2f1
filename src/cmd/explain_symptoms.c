/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What helps when training does not fit, is slow, hangs, diverges or does not
 * start? Steps in the order in which they are cheapest to try.
 */
#include "cmd/explain_report.h"
#include "cmd/what_if.h"

static const char *const oom_steps[] = {"raise EP: each rank holds fewer experts, the all-to-all "
					"grows; up to the scale-up domain first",
    "recompute: selective modules first (moe_act, layernorm, mla_up_proj), full when nothing else "
    "does",
    "lower the micro-batch: activations fall with it, accumulation makes up for the batch",
    "raise PP: weights and optimizer fall, bubbles grow; the first stage keeps PP micro-batches "
    "alive",
    "shard the optimizer (zero 1), offload it when the host has 12 bytes a parameter and more",
    "raise CP for long sequences; raise TP last: its traffic is in every layer",
    "a failure in the first step and not at the start is the runtime (communicators, libraries) or "
    "a "
    "skewed expert load: look at the estimate at 1.7 x the mean",
    NULL};
static const char *const slow_steps[] = {
    "see what the step is made of: moeplan estimate prints exposed seconds by part",
    "all-to-all exposed: keep EP x ETP in the scale-up domain, use deepep, overlap it, or lower EP",
    "bubble: more micro-batches (global batch), virtual stages, fewer stages",
    "experts slow: fewer than about 2,000 rows an expert; a larger micro-batch or EP, ETP 1",
    "host time: CUDA graphs, a larger micro-batch, a dispatcher that does not wait for the host",
    "recomputation: drop modules that the memory does not need",
    "tensor-parallel traffic: lower TP, overlap it; never across nodes", NULL};
static const char *const hang_steps[] = {"at the start: MASTER_ADDR and MASTER_PORT reachable from "
					 "every node, the same on all; WORLD_SIZE "
					 "ranks really started (moeplan check on the launch line)",
    "at the first collective: one rank failed and the others wait: look at every rank's log",
    "in an MoE layer: all ranks of an EP group must join each all-to-all, with zero tokens as "
    "well; under "
    "ZeRO-3 mark MoE blocks as leaf modules",
    "two communicators used from two threads in different orders can wait for each other: one "
    "thread, one "
    "order",
    "before a watchdog kills it: raise its time-out while checkpoints load; create communicators "
    "before "
    "memory is full",
    "TORCH_DISTRIBUTED_DEBUG=DETAIL and NCCL_DEBUG=INFO name the collective that waits", NULL};
static const char *const loss_steps[] = {"look at the load of the experts: one that gets most "
					 "tokens means a balancing loss that does nothing "
					 "(coefficient 0 is Megatron-LM's default)",
    "balancing coefficient 0.001 to 0.01; a router z-loss of 1e-3 keeps logits small",
    "route in fp32 (--moe-router-dtype fp32), from 32 experts on always",
    "no token dropping in the first steps; a capacity factor of 1.7 or more later",
    "warm the learning rate up; clip gradients at 1.0 (DeepSpeed's default changed in 0.19.3)",
    "after a resume: every expert needs its own weights and moments back, whatever its rank: "
    "moeplan check --from OLD.json NEW.json",
    NULL};
static const char *const launch_steps[] = {
    "count the ranks: nodes x processes a node must be TP x CP x PP x DP and, in Megatron-LM, "
    "ETP x EP x PP x EDP",
    "ask which DP it is: WORLD = DP x EP x TP x PP counts copies of an expert shard, frameworks "
    "count "
    "dense copies",
    "write ETP: left out it is TP in Megatron-Core",
    "WORLD_SIZE of some platforms is the number of nodes; srun sets no RANK",
    "moeplan check SCRIPT names the line", NULL};

const struct symptom symptoms[] = {
    {"oom", "it runs out of memory", oom_steps, AIM_MEMORY},
    {"slow", "it is slower than it should be", slow_steps, AIM_TIME},
    {"hang", "it stops and nothing happens", hang_steps, -1},
    {"loss-spike", "the loss jumps or gradients explode", loss_steps, -1},
    {"launch", "it does not start", launch_steps, -1},
    {.name = NULL},
};
