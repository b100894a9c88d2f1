#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The accuracy section of README.md and the picture are what the replay prints: compares them, or puts
# them in.
#
# usage: ACCURACY=PROGRAM tests/bench/readme.sh [--update]
set -eu

cd "$(dirname "$0")/../.."
ACCURACY=${ACCURACY:-build/release/tests/bench/accuracy}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Tables of the report, by the first words of their head line; a blank line ends a table.
table() { # FIRST-WORDS of a head line, whose next column is "rows" or "groups"
	awk -v head="^  $1  +(rows|groups)" '
		$0 ~ head { on = 1 }
		on && /^$/ { exit }
		on { print }' "$scratch/report"
}

# Error tables whose head line has only the columns stand first: print to the blank line.
first_table() {
	awk '/^Step time/ { on = 1; next } on && /rows/ { go = 1 } go && /^$/ { exit } go { print }' \
		"$scratch/report"
}

# Rows that the figures leave out, with how far off they are.
set_aside() {
	awk '
		/^  set aside  +rows/ { on = 1; next }
		on && /^$/ { exit }
		on { rows += $(NF - 3)
			list = list (list ? "; " : "") $1 " " $(NF - 3) ", " $(NF - 2) " and " $(NF - 1) " %" }
		END { printf "%d more runs have a reason outside the model and are set aside in all figures of step " \
			"time ([why](tests/bench/README.md)); rows, median and p90 error: %s.\n", rows, list }
	' "$scratch/report" | fold -s -w 116 | sed 's/ *$//'
}

section() {
	set_aside
	echo
	echo '```text'
	awk '/^  in one table/ { on = 1 } on && /^$/ { exit } on { print }' "$scratch/report"
	echo
	table '80 % band'
	echo
	echo 'step time, e = predicted / measured - 1'
	first_table
	echo
	table 'after a run'
	echo
	table class
	echo
	table GPU
	echo
	table source
	echo
	table 'one node, exact configurations'
	echo '```'
}

"$ACCURACY" tests/bench >"$scratch/report" || true
"$ACCURACY" --svg tests/bench >"$scratch/accuracy.svg"
section >"$scratch/section"
awk -v section="$scratch/section" '
	/<!-- accuracy: begin -->/ { print; while ((getline line < section) > 0) print line; skip = 1 }
	/<!-- accuracy: end -->/ { skip = 0 }
	!skip { print }' README.md >"$scratch/README.md"
if [ "${1:-}" = --update ]; then
	cat "$scratch/README.md" >README.md
	cat "$scratch/accuracy.svg" >tests/bench/accuracy.svg
elif ! cmp -s README.md "$scratch/README.md"; then
	diff -u README.md "$scratch/README.md" || true
	echo 'README.md: the accuracy section is not what the replay prints (tests/bench/readme.sh --update)' >&2
	exit 1
fi
if ! cmp -s tests/bench/accuracy.svg "$scratch/accuracy.svg"; then
	echo 'tests/bench/accuracy.svg is not what the replay draws (tests/bench/readme.sh --update)' >&2
	exit 1
fi
