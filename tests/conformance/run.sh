#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Do the real frameworks accept what we emit, and refuse what we call wrong? Do their launchers start the probe?
#
# usage: MOEPLAN=PROGRAM [CASES=50] [SEED=1] [TARGETS="megatron …"] tests/conformance/run.sh
# Ends with a line "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 2
MOEPLAN=${MOEPLAN:-$PWD/moeplan}
case $MOEPLAN in /*) ;; *) MOEPLAN=$PWD/$MOEPLAN ;; esac
export MOEPLAN
CASES=${CASES:-50}
TARGETS=${TARGETS:-megatron deepspeed torchtitan torchtitan@0.2.2 accelerate launchers}

sh tests/conformance/setup.sh || { echo '0 passed, 1 failed'; exit 1; }
passed=0
failed=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT

prove() { # TARGET
	if [ "$1" = launchers ]; then
		sh tests/conformance/launchers.sh
	else
		python3 tests/conformance/cases.py "$1" "$CASES" "${SEED:-1}"
	fi
}

for target in $TARGETS; do
	prove "$target" >"$out"
	status=$?
	sed '$d' "$out"
	counts=$(sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$out")
	if [ -z "$counts" ]; then
		tail -n 1 "$out"
		echo "$target: no verdict (exit $status)"
		counts='0 1'
	fi
	passed=$((passed + ${counts% *}))
	failed=$((failed + ${counts#* }))
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
