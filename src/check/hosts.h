/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_HOSTS_H
#define MOEPLAN_HOSTS_H

#include "check/config.h"

/* "work1@work2:0,2" of deepspeed's --include and --exclude, part by part. */
struct host_part {
	const char *host;
	size_t length;	   /* of the host's name */
	const char *slots; /* "0,2@…", or NULL: all of the host */
};
/* The part at *filter, which moves on; false at the end. */
bool host_part_next(const char **filter, struct host_part *part);
/* The slot at *slots, which moves on; false at the end of the part. */
bool host_slot_next(const char **slots, int64_t *slot);
bool host_part_is(const struct host_part *part, const char *host);

/* The hosts of the hostfile that start ranks, at most --num_nodes: zero it but for the config. */
struct host_walk {
	const struct config *config;
	const struct doc *host;
	int64_t slots; /* those of the host that --include, --exclude and --num_gpus leave */
	int64_t count; /* hosts so far */
};
bool host_walk_next(struct host_walk *walk);
/* Ranks on all hosts, as far as --num_nodes allows; *nodes, *each (0: uneven) when not NULL. */
int64_t hosts_ranks(const struct config *config, int64_t *nodes, int64_t *each);

#endif
