/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_SHA256_H
#define MOEPLAN_SHA256_H

#include <stddef.h>

/* FIPS 180-4 digest of `data` as 64 lower-case hex digits and a terminator. */
void sha256_hex(const void *data, size_t length, char hex[65]);

#endif
