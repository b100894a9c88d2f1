#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs test suites, prints a line for each program or runner, and the sum last: "N passed, N failed".
#
# usage: OBJ=FOLDER tests/run.sh SUITE...
#   deps          tests/deps.sh and its self-test
#   unit, prop    every tests/SUITE/test_*.c, built as $OBJ/tests/SUITE/test_* (Criterion)
#   fuzz          every corpus in tests/fuzz/ replayed through its reader
#   accuracy      tests/bench/check.sh: what is published about accuracy is what the replay says
#   install       tests/install.sh
#   other names   sh tests/SUITE/run.sh, which finds the program in $MOEPLAN and may
#                 end with a line "N passed, N failed"
# TEST_FILTER  Criterion's --filter pattern     SKIP  programs to leave out
# VALGRIND=1   run everything under valgrind    TALLY a file that collects the counts instead of
#                                                     the closing line
set -u
cd "$(dirname "$0")/.." || exit 2

OBJ=${OBJ:-build/release}
case $OBJ in /*) ;; *) OBJ=$PWD/$OBJ ;; esac
MOEPLAN=$OBJ/moeplan
export OBJ MOEPLAN
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log
passed=0
failed=0

# What sanitizers and valgrind find goes to files: Criterion does not look at the exit status of a
# test that has passed, and a program's messages stay as they are.
mkdir "$scratch/found"
export ASAN_OPTIONS="detect_leaks=1:log_path=$scratch/found/asan"
export UBSAN_OPTIONS="print_stacktrace=1:log_path=$scratch/found/ubsan"
under=
if [ -n "${VALGRIND:-}" ]; then
	# Leaks that are proved; what Criterion and GLPK keep until exit is no mistake of ours.
	under="valgrind -q --trace-children=yes --error-exitcode=99 --leak-check=full
		--errors-for-leak-kinds=definite --show-leak-kinds=definite
		--log-file=$scratch/found/valgrind.%p"
	MOEPLAN=$scratch/moeplan
	# shellcheck disable=SC2086 # one line
	echo '#!/bin/sh
exec' $under "'$OBJ/moeplan'" '"$@"' >"$MOEPLAN"
	chmod +x "$MOEPLAN"
fi

count() { # NAME PASSED FAILED
	passed=$((passed + $2))
	failed=$((failed + $3))
	printf '  %-28s %5d passed %5d failed\n' "$1" "$2" "$3"
	# That fibers are switched is a remark, and the programs that switch them tell the sanitizer of it.
	grep -rlv 'ASan doesn.t fully support makecontext/swapcontext' "$scratch/found" \
		>"$scratch/reports" || :
	if [ -s "$scratch/reports" ]; then
		xargs cat <"$scratch/reports"
		rm -f "$scratch/found"/*
		failed=$((failed + 1))
		printf '  %-28s %5d passed %5d failed\n' "$1: memory and arithmetic" 0 1
	fi
}

# A runner counts by its closing line; without one it is a single test. A bad exit is a failure
# even when no test failed, and a runner that ran nothing has failed.
count_runner() { # NAME STATUS
	ok=$(sed -n 's/^\([0-9][0-9]*\) passed, [0-9][0-9]* failed$/\1/p' "$log" | tail -n 1)
	bad=$(sed -n 's/^[0-9][0-9]* passed, \([0-9][0-9]*\) failed$/\1/p' "$log" | tail -n 1)
	if [ -z "$ok" ]; then
		ok=$(($2 == 0))
		bad=0
	fi
	if [ "$bad" = 0 ] && { [ "$2" != 0 ] || [ "$ok" = 0 ]; }; then
		bad=1
	fi
	[ "$bad" = 0 ] || grep -v '^[0-9][0-9]* passed, [0-9][0-9]* failed$' "$log"
	count "$1" "$ok" "$bad"
}

# Criterion's last line: Tested: 3 | Passing: 1 | Failing: 2 | Crashing: 1 (which counts in Failing).
criterion() { # PROGRAM NAME
	if [ ! -x "$1" ]; then
		echo "$1: not built"
		count "$2" 0 1
		return
	fi
	# shellcheck disable=SC2086 # $under is several words or none
	timeout "${TEST_TIMEOUT:-1800}" $under "$1" --color=never --filter "${TEST_FILTER:-*}" >"$log" 2>&1
	status=$?
	ok=$(sed -n 's/.*Synthesis: .*Passing: \([0-9]*\).*/\1/p' "$log")
	bad=$(sed -n 's/.*Synthesis: .*Failing: \([0-9]*\).*/\1/p' "$log")
	[ "$status" = 0 ] || [ "${bad:-0}" != 0 ] || bad=1
	[ "${bad:-1}" = 0 ] || cat "$log"
	count "$2" "${ok:-0}" "${bad:-1}"
}

criterion_suite() { # SUITE
	for source in "tests/$1"/test_*.c; do
		name=${source##*/}
		name=${name%.c}
		case " ${SKIP:-} " in
		*" $name "*) echo "  $1/$name: left out" ;;
		*) criterion "$OBJ/tests/$1/$name" "$1/$name" ;;
		esac
	done
}

fuzz_suite() {
	for source in tests/fuzz/fuzz_*.c; do
		name=${source##*/}
		name=${name%.c}
		# shellcheck disable=SC2086
		timeout 600 $under "$OBJ/tests/fuzz/$name" "tests/fuzz/corpus_${name#fuzz_}" >"$log" 2>&1
		count_runner "fuzz/$name" $?
	done
}

runner() { # NAME COMMAND...
	name=$1
	shift
	"$@" >"$log" 2>&1
	count_runner "$name" $?
}

for suite in "$@"; do
	case $suite in
	deps)
		runner deps sh tests/deps.sh
		runner deps/self-test sh tests/deps.sh --self-test
		;;
	accuracy) runner accuracy sh tests/bench/check.sh ;;
	install) runner install sh tests/install.sh ;;
	unit | prop) criterion_suite "$suite" ;;
	fuzz) fuzz_suite ;;
	*) runner "$suite" sh "tests/$suite/run.sh" ;;
	esac
done

if [ -n "${TALLY:-}" ]; then
	echo "$passed $failed" >>"$TALLY"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" = 0 ]
