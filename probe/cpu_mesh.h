/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_CPU_MESH_H
#define MOEPLAN_CPU_MESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One TCP connection between every two ranks, and messages of communicators over them. */
struct mesh;

enum { MESH_ID_BYTES = 16, MESH_TEXT = 256 };

/* What has come of a communicator from a rank, in the order in which it was sent. */
struct mesh_message {
	uint64_t comm;
	int from;
	size_t length;
	char *bytes;
	struct mesh_message *next;
};

struct mesh *mesh_new(int rank, int world);
void mesh_free(struct mesh *mesh);

/* Rank 0: listens, and writes where into the id. */
int mesh_invite(struct mesh *mesh, unsigned char id[MESH_ID_BYTES]);
/* Collective; comes back when all are connected. `master` is rank 0's address as seen from here. */
int mesh_join(struct mesh *mesh, const unsigned char id[MESH_ID_BYTES], const char *master);

/* The bytes are copied. Nothing blocks: mesh_advance() sends and takes in what it can. */
int mesh_send(struct mesh *mesh, uint64_t comm, int to, const void *bytes, size_t length);
/* -1 when a connection has been gone for a while: whoever watches the ranks may know more. */
int mesh_advance(struct mesh *mesh);
/* All that was sent is on its way. */
bool mesh_flushed(const struct mesh *mesh);
/* The oldest message, or NULL. */
const struct mesh_message *mesh_peek(const struct mesh *mesh, uint64_t comm, int from);
void mesh_drop(struct mesh *mesh, const struct mesh_message *message);

const char *mesh_error(const struct mesh *mesh);

#endif
