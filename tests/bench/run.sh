#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Measures accuracy and speed: replays the published runs of runs.csv, times the search, places experts.
#
# usage: tests/bench/run.sh [accuracy|speed|placing]     builds what is missing with -O2 (OBJ: build/release)
set -eu

cd "$(dirname "$0")/../.."
what=${1:-accuracy speed placing}
obj=${OBJ:-build/release}

status=0
for program in $what; do
	make --no-print-directory -s OBJ="$obj" "$obj/tests/bench/$program"
	case $program in
	accuracy) "$obj/tests/bench/accuracy" tests/bench || status=1 ;;
	*) "$obj/tests/bench/$program" || status=1 ;;
	esac
done
exit $status
