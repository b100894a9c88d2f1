/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which file was read? Its SHA-256 digest (NIST FIPS 180-4, sections 4.1.2,
 * 4.2.2, 5.1.1 and 6.2), in the standard's own letters.
 */
#include "base/sha256.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK_BYTES = 64, WORDS = 8, ROUNDS = 64 };

/* Fractions of the cube roots of the first 64 primes. */
/* clang-format off */
static const uint32_t K[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
/* clang-format on */

static uint32_t
rotr(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static void
schedule(const unsigned char *block, uint32_t w[ROUNDS])
{
	for (int t = 0; t < 16; t++) {
		const unsigned char *b = block + 4 * t;

		w[t] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
	}
	for (int t = 16; t < ROUNDS; t++) {
		uint32_t s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
		uint32_t s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10;

		w[t] = s1 + w[t - 7] + s0 + w[t - 16];
	}
}

static void
compress(uint32_t hash[WORDS], const unsigned char *block)
{
	uint32_t w[ROUNDS];
	uint32_t v[WORDS]; /* a b c d e f g h */

	schedule(block, w);
	memcpy(v, hash, sizeof(v));
	for (int t = 0; t < ROUNDS; t++) {
		uint32_t s1 = rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25);
		uint32_t ch = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t t1 = v[7] + s1 + ch + K[t] + w[t];
		uint32_t s0 = rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22);
		uint32_t maj = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += t1;
		v[0] = t1 + s0 + maj;
	}
	for (int i = 0; i < WORDS; i++)
		hash[i] += v[i];
}

/* The rest of the message, a 1 bit, zeros, and the length in bits: one block or two. */
static void
finish(uint32_t hash[WORDS], const unsigned char *rest, uint64_t length)
{
	unsigned char blocks[2 * BLOCK_BYTES] = {0};
	size_t left = length % BLOCK_BYTES;
	size_t end = left < BLOCK_BYTES - 8 ? BLOCK_BYTES : 2 * BLOCK_BYTES;
	uint64_t bits = length * 8;

	memcpy(blocks, rest, left);
	blocks[left] = 0x80;
	for (size_t i = 0; i < 8; i++)
		blocks[end - 1 - i] = (unsigned char)(bits >> (8 * i));
	for (size_t at = 0; at < end; at += BLOCK_BYTES)
		compress(hash, blocks + at);
}

struct sha256
sha256_begin(void)
{
	/* Fractions of the square roots of the first 8 primes. */
	return (struct sha256){.hash = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
	                           0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void
sha256_add(struct sha256 *sha, const void *data, size_t length)
{
	const unsigned char *bytes = data;

	while (length > 0) {
		size_t at = sha->length % BLOCK_BYTES;
		size_t part = length < BLOCK_BYTES - at ? length : BLOCK_BYTES - at;

		if (at == 0 && part == BLOCK_BYTES) {
			compress(sha->hash, bytes);
		} else {
			memcpy(sha->rest + at, bytes, part);
			if (at + part == BLOCK_BYTES)
				compress(sha->hash, sha->rest);
		}
		sha->length += part;
		bytes += part;
		length -= part;
	}
}

void
sha256_end(const struct sha256 *sha, char hex[65])
{
	uint32_t hash[WORDS];

	memcpy(hash, sha->hash, sizeof(hash));
	finish(hash, sha->rest, sha->length);
	for (int i = 0; i < 64; i++)
		hex[i] = "0123456789abcdef"[hash[i / 8] >> (28 - 4 * (i % 8)) & 15];
	hex[64] = '\0';
}

void
sha256_hex(const void *data, size_t length, char hex[65])
{
	struct sha256 sha = sha256_begin();

	sha256_add(&sha, data, length);
	sha256_end(&sha, hex);
}
