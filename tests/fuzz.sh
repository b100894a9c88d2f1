#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Fuzzes every reader for FUZZ_SECONDS. New inputs go to build/fuzz-corpus/, so that the kept corpus
# in tests/fuzz/ grows only by choice; what breaks a reader is left in build/fuzz-found/.
set -eu
cd "$(dirname "$0")/.."

found=build/fuzz-found
failed=0
for source in tests/fuzz/fuzz_*.c; do
	name=${source##*/}
	name=${name%.c}
	new=build/fuzz-corpus/${name#fuzz_}
	mkdir -p "$new" "$found"
	echo "$name: ${FUZZ_SECONDS:-60} s"
	if ! "${OBJ:-build/fuzz-clang}/tests/fuzz/$name" -max_total_time="${FUZZ_SECONDS:-60}" \
		-timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 -verbosity=0 \
		-artifact_prefix="$found/$name-" "$new" "tests/fuzz/corpus_${name#fuzz_}"; then
		failed=1
	fi
done
[ "$failed" = 0 ] || echo "inputs that broke a reader are in $found" >&2
exit "$failed"
