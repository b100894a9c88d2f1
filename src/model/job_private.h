/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_JOB_PRIVATE_H
#define MOEPLAN_JOB_PRIVATE_H

#include "model/job.h"

/* job_entries.c: readers of the fields that hold pairs. */
field_read_fn job_read_pin, job_read_forbid, job_read_max, job_read_load_skew;

#endif
