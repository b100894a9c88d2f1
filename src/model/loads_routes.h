/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_LOADS_ROUTES_H
#define MOEPLAN_LOADS_ROUTES_H

#include "model/loads_private.h"

/* What loads_routes.c and loads_route_line.c share. */

enum { ROUTES_MAX_K = 64 };

/* Experts that one token picks in one layer. */
struct choice {
	int k;
	int ids[ROUTES_MAX_K];
	const char *weights; /* as they stand in the line; only compared */
	size_t weights_length;
};

/* One line, taken apart; texts point into it. */
struct route {
	bool has_layer, has_token, nested, is_domain;
	int64_t layer, token;
	const char *ids;     /* behind the first bracket */
	const char *weights; /* the value, or NULL */
	size_t weights_length;
	const char *request, *source;
	size_t request_length, source_length;
};

/* 1: a row of routes; 0: another object (a head); -1: no JSON object. */
int route_parse(const char *line, size_t length, struct route *route);
/* The one list of ids; -1 when it is none. */
int route_choice(struct route *route, struct choice *choice);
/* Of lists in a list: 1 and the next, 0 behind the last, -1 when it is no list of integers. */
int route_next_choice(struct route *route, struct choice *choice);

#endif
