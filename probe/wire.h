/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_WIRE_H
#define MOEPLAN_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Messages between rank 0 and the others: a head of three words in network order, then bytes. */
enum message_kind {
	MESSAGE_HELLO = 1, /* who I am */
	MESSAGE_WELCOME,   /* everybody is there */
	MESSAGE_REFUSE,	   /* why not */
	MESSAGE_CALL_OFF,  /* nobody starts, and why */
	MESSAGE_STATE,	   /* where I am; also a sign of life */
	MESSAGE_DATA,	   /* my part of a gathering */
	MESSAGE_SHARE,	   /* rank 0's answer to all */
	MESSAGE_FAIL,	   /* I cannot go on, and why */
	MESSAGE_ABORT,	   /* nobody goes on, and why */
	MESSAGE_BYE,	   /* done: the connection's end is no accident */
};
enum { WIRE_MAX_BYTES = 4 << 20 };

double wire_now_s(void);

/* -1 with errno; a listener on all addresses, port 0 for any. *port gets the real one. */
int wire_listen(int *port);
/* Tries once; -1 with errno, ENOENT where the name is not known. */
int wire_connect(const char *host, int port, double timeout_s);
/* The other end's address in digits; -1 when it is not known. */
int wire_peer(int fd, char *host, size_t size, bool *on_this_host);
/* Whole messages, -1 when the peer is gone or does not take them in time. */
int wire_send(int fd, enum message_kind kind, const void *bytes, size_t length);

/* Incoming bytes of one peer. */
struct wire_buffer {
	unsigned char *bytes;
	size_t length, capacity;
};
/* Reads what is there. 1: something or nothing came; 0: the peer closed; -1: broken. */
int wire_read(int fd, struct wire_buffer *buffer);
/*
 * Takes the next whole message off; 1 with its kind and bytes (to be freed by
 * the caller, terminated), 0 when there is none yet, -1 when it is no message of ours.
 */
int wire_take(struct wire_buffer *buffer, enum message_kind *kind, char **bytes, size_t *length);
/* One message within the time, for the start; same results, 0 on time-out or end. */
int wire_receive(int fd, struct wire_buffer *buffer, double deadline_s, enum message_kind *kind,
    char **bytes, size_t *length);
void wire_buffer_free(struct wire_buffer *buffer);

#endif
