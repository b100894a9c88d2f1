/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_SHA256_H
#define MOEPLAN_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* FIPS 180-4 digest of `data` as 64 lower-case hex digits and a terminator. */
void sha256_hex(const void *data, size_t length, char hex[65]);

/* The same of what comes in pieces. */
struct sha256 {
	uint32_t hash[8];
	uint64_t length;
	unsigned char rest[64]; /* what did not fill a block yet */
};
struct sha256 sha256_begin(void);
void sha256_add(struct sha256 *sha, const void *data, size_t length);
void sha256_end(const struct sha256 *sha, char hex[65]);

#endif
