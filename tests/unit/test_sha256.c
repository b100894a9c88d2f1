/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-256 against the examples of NIST (FIPS 180-4, CSRC example values and SHAVS). */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

Test(sha256, published_examples)
{
	static const struct {
		const char *text, *hex;
	} rows[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
		{"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
		 "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
		    "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
	};
	char hex[65];

	for (size_t i = 0; i < ROWS(rows); i++) {
		sha256_hex(rows[i].text, strlen(rows[i].text), hex);
		cr_assert_str_eq(hex, rows[i].hex, "row %zu", i);
	}
}

Test(sha256, no_data_at_all)
{
	char hex[65];

	sha256_hex(NULL, 0, hex);
	cr_assert_str_eq(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

Test(sha256, a_million_letters)
{
	size_t length = 1000000;
	char *text = malloc(length);
	char hex[65];

	cr_assert_not_null(text);
	memset(text, 'a', length);
	sha256_hex(text, length, hex);
	free(text);
	cr_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Every length around the block size: the digest of the digests, as Python's hashlib has it. */
Test(sha256, lengths_around_the_padding)
{
	char all[130 * 64];
	char text[130];
	char hex[65];

	memset(text, 'x', sizeof(text));
	for (size_t length = 0; length < 130; length++) {
		sha256_hex(text, length, hex);
		memcpy(all + length * 64, hex, 64);
	}
	sha256_hex(all, sizeof(all), hex);
	cr_assert_str_eq(hex, "199af942eba7fa5d1e16d475169eb24018b14e69339c93d26a9ea6d873b4ace6");
}

/* Pieces of every length that does not divide a block give the digest of the whole. */
Test(sha256, pieces)
{
	unsigned char data[1000];
	char whole[65], hex[65];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 7 + i / 256);
	sha256_hex(data, sizeof(data), whole);
	for (size_t piece = 1; piece < 200; piece++) {
		struct sha256 sha = sha256_begin();

		for (size_t at = 0; at < sizeof(data); at += piece)
			sha256_add(&sha, data + at,
			    piece < sizeof(data) - at ? piece : sizeof(data) - at);
		sha256_end(&sha, hex);
		cr_assert_str_eq(hex, whole, "pieces of %zu bytes", piece);
	}
}
