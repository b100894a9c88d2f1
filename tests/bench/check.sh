#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Is what is published about accuracy true? The README's tables and picture, the bands in planner/band.c,
# the age of cross.csv, the JSON's schema; what the bands promise.
#
# usage: OBJ=FOLDER tests/bench/check.sh
set -u
cd "$(dirname "$0")/../.." || exit 2
OBJ=${OBJ:-build/release}
ACCURACY=${ACCURACY:-$OBJ/tests/bench/accuracy}
export ACCURACY
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

check() { # WHAT COMMAND...
	what=$1
	shift
	if "$@" >"$scratch/log" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "failed: $what"
		head -n 40 "$scratch/log"
	fi
}

# Rates or formulas may have moved since, but for nine runs of ten by less than the bands know.
cross_is_fresh() {
	drift=$("$ACCURACY" --drift tests/bench)
	awk -v drift="$drift" 'BEGIN {
		if (drift > 0.02) print "cross.csv is of other rates: predictions moved by " drift " (make bands)"
		exit drift > 0.02 }'
}

json_is_valid() {
	"$ACCURACY" --json tests/bench >"$scratch/accuracy.json" &&
		python3 - "$scratch/accuracy.json" <<'END'
import json, sys
import jsonschema
document = json.load(open(sys.argv[1]))
jsonschema.validate(document, json.load(open("tests/bench/accuracy.schema.json")))
runs = sum(1 for line in open("tests/bench/runs.csv")) - 1
assert len(document["rows"]) == runs, "a row of runs.csv has no fate"
END
}

# What the README says of bands and verdicts, as numbers.
promises_hold() {
	python3 - "$scratch/accuracy.json" <<'END'
import json, sys
figures = json.load(open(sys.argv[1]))["figures"]
assert 0.75 <= figures["coverage_least"] <= figures["coverage_most"] <= 0.85, figures
assert figures["verdicts"]["ran_called_oom"] == 0, figures["verdicts"]
END
}

same_twice() {
	"$ACCURACY" tests/bench >"$scratch/one" && "$ACCURACY" tests/bench >"$scratch/two" &&
		cmp "$scratch/one" "$scratch/two"
}

check 'README.md and the picture' sh tests/bench/readme.sh
check 'planner/band.c' sh tests/bench/bands.sh
check 'cross.csv' cross_is_fresh
check 'the JSON and its schema' json_is_valid
check 'what the bands promise' promises_hold
check 'two replays are equal' same_twice
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
