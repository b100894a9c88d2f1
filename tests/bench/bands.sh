#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The bands in planner/band.c are what the replay learns: compares them, or puts them in.
#
# usage: ACCURACY=PROGRAM tests/bench/bands.sh [--update]
set -eu

cd "$(dirname "$0")/../.."
ACCURACY=${ACCURACY:-build/release/tests/bench/accuracy}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$ACCURACY" --bands tests/bench >"$scratch/bands"
awk -v bands="$scratch/bands" '
	/^\/\* bands: begin \*\// { print; while ((getline line < bands) > 0) print line; skip = 1 }
	/^\/\* bands: end \*\// { skip = 0 }
	!skip { print }' planner/band.c >"$scratch/band.c"
if [ "${1:-}" = --update ]; then
	cmp -s "$scratch/band.c" planner/band.c || cat "$scratch/band.c" >planner/band.c
elif ! cmp -s planner/band.c "$scratch/band.c"; then
	diff -u planner/band.c "$scratch/band.c" || true
	echo 'planner/band.c: the bands are not what the runs say (make bands)' >&2
	exit 1
fi
