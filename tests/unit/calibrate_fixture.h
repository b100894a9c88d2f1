/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TEST_CALIBRATE_FIXTURE_H
#define MOEPLAN_TEST_CALIBRATE_FIXTURE_H

#include "model/calibrate.h"
#include "scratch.h"

/* A machine, and what is measured of it. */
#define PEER_S 0.7e-6

extern struct cluster *cluster;
extern struct measurements m;
void calibrate_open(void);
int add_measured(const char *text);
/* A report of all-to-alls over 8 ranks with this rate and latency. */
const char *all_to_all_report(double Bps, double latency_s, const char *comparable,
    const char *gpu);
struct cluster *read_cluster(const char *text, size_t length);

#endif
