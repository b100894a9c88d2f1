#!/bin/sh
# Does the program say today what it said yesterday? Each folder is a case:
#   cmd      shell lines, run in the top folder; `moeplan` is the program, $case this folder,
#            $scratch an empty folder
#   stdout   what they print, without numbers that tests/counts.sed takes out
#   stderr   the same, no file: nothing
#   status   their exit status, no file: 0
#
# usage: MOEPLAN=PROGRAM tests/golden/run.sh [--update] [NAME...]     NAME: folders, default all
# SKIP  folders to leave out
set -u
cd "$(dirname "$0")/../.." || exit 2
MOEPLAN=${MOEPLAN:-$PWD/moeplan}
export MOEPLAN
if [ ! -x "$MOEPLAN" ]; then
	echo "there is no program '$MOEPLAN': build it with make, or name another in MOEPLAN"
	exit 2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
# shellcheck disable=SC2016 # expanded when it runs
printf '#!/bin/sh\nexec "$MOEPLAN" "$@"\n' >"$work/bin/moeplan"
chmod +x "$work/bin/moeplan"

# Output must not depend on who runs the tests: a case that wants another setting says so in its cmd.
run() { # CASE; leaves stdout, stderr, status in $work
	rm -rf "$work/scratch"
	mkdir "$work/scratch"
	env -u LANG -u LC_CTYPE -u NO_COLOR PATH="$work/bin:$PATH" LC_ALL=C TERM=dumb \
		case="$1" scratch="$work/scratch" \
		sh "$1/cmd" >"$work/printed" 2>"$work/stderr" </dev/null
	echo $? >"$work/status"
	LC_ALL=C sed -E -f tests/counts.sed "$work/printed" >"$work/stdout"
}

expected() { # CASE FILE, to standard output
	if [ -f "$1/$2" ]; then
		cat "$1/$2"
	elif [ "$2" = status ]; then
		echo 0
	fi
}

update_case() { # CASE
	cp "$work/stdout" "$1/stdout"
	rm -f "$1/stderr" "$1/status"
	[ ! -s "$work/stderr" ] || cp "$work/stderr" "$1/stderr"
	[ "$(cat "$work/status")" = 0 ] || cp "$work/status" "$1/status"
}

compare() { # CASE; the differences to standard output
	differs=0
	for file in stdout stderr status; do
		expected "$1" $file >"$work/expected"
		diff -u --label "expected $file" --label "$file" "$work/expected" "$work/$file" ||
			differs=1
	done
	return $differs
}

update=0
if [ "${1:-}" = --update ]; then
	update=1
	shift
fi
[ $# -gt 0 ] || set -- tests/golden/*/cmd

number=0
passed=0
failed=0
for name in "$@"; do
	name=${name%/cmd}
	name=${name%/}
	case=tests/golden/${name##*/}
	case " ${SKIP:-} " in
	*" ${name##*/} "*)
		echo "# ${name##*/}: left out"
		continue
		;;
	esac
	number=$((number + 1))
	if [ ! -f "$case/cmd" ]; then
		echo "not ok $number - ${case##*/}: there is no $case/cmd"
		failed=$((failed + 1))
		continue
	fi
	run "$case"
	[ $update = 0 ] || update_case "$case"
	if compare "$case" >"$work/diff"; then
		echo "ok $number - ${case##*/}"
		passed=$((passed + 1))
	else
		echo "not ok $number - ${case##*/}"
		sed 's/^/    /' "$work/diff"
		failed=$((failed + 1))
	fi
done
echo "1..$number"
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $number -gt 0 ]
