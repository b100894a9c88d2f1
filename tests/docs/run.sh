#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Do the documents tell the truth? Runs the examples of README.md and the man pages and compares what they
# show; compares the options of each page with --help, both ways; checks mdoc and cross references.
#
# usage: MOEPLAN=PROGRAM tests/docs/run.sh [--update]   --update puts the real output into the documents
set -eu
cd "$(dirname "$0")/../.."
top=$PWD
MOEPLAN=${MOEPLAN:-$top/moeplan}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

pass() {
	passed=$((passed + 1))
}

fail() { # MESSAGE [FILE to show]
	echo "failed: $1"
	[ -z "${2:-}" ] || head -n 60 "$2"
	failed=$((failed + 1))
}

# Examples run where a reader would try them: `moeplan` is in the path, the examples are at hand.
prepare_place() {
	mkdir "$scratch/bin" "$scratch/place"
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$MOEPLAN" >"$scratch/bin/moeplan"
	chmod +x "$scratch/bin/moeplan"
	ln -s "$top/examples" "$scratch/place/examples"
}

refresh() { # DOCUMENT, to standard output
	case $1 in
	*.md) mdoc=0 locale=C.UTF-8 ;;
	*) mdoc=1 locale=C ;;
	esac
	cd "$scratch/place"
	PATH="$scratch/bin:$PATH" LC_ALL=$locale NO_COLOR=1 \
		awk -v mdoc=$mdoc -f "$top/tests/docs/examples.awk" "$top/$1"
}

uncounted() { # FILE, to standard output
	LC_ALL=C sed -E -f tests/counts.sed "$1"
}

check_examples() { # DOCUMENT
	if ! (refresh "$1") >"$scratch/fresh" 2>"$scratch/errors"; then
		fail "$1: an example does not run" "$scratch/errors"
		return
	fi
	uncounted "$1" >"$scratch/old"
	uncounted "$scratch/fresh" >"$scratch/new"
	if cmp -s "$scratch/old" "$scratch/new"; then
		pass
	elif [ "$update" = 1 ]; then
		cat "$scratch/fresh" >"$1"
		echo "updated: $1"
		pass
	else
		diff -u "$scratch/old" "$scratch/new" >"$scratch/diff" || true
		fail "$1: examples differ from the real output (make docs updates them)" "$scratch/diff"
	fi
}

# A page documents options in its list, and names other pages whose lists hold for it too: up to the mark
# behind which a page has options that it shares with nobody.
options_of_page() { # PAGE
	sed -n 's/^\.It Fl -\([a-z-]*\).*/\1/p' "$1"
	sed -n 's/^\.\\" options of: //p' "$1" | while read -r other; do
		sed -n '/^\.\\" its own options/q; s/^\.It Fl -\([a-z-]*\).*/\1/p' "man/$other"
	done
}

options_of_help() { # COMMAND
	"$MOEPLAN" "$1" --help | sed -n 's/^ *--\([a-z][a-z-]*\).*/\1/p'
}

check_options() { # COMMAND
	options_of_page "man/moeplan-$1.1" | sort -u >"$scratch/page"
	options_of_help "$1" | sort -u >"$scratch/help"
	if [ -s "$scratch/help" ] && cmp -s "$scratch/page" "$scratch/help"; then
		pass
	else
		diff "$scratch/page" "$scratch/help" >"$scratch/diff" || true
		fail "man/moeplan-$1.1 (<) and moeplan $1 --help (>) have different options" "$scratch/diff"
	fi
}

# Every command that the program lists has its paragraph in moeplan(1), and one.
check_commands() {
	"$MOEPLAN" help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' | sort >"$scratch/help"
	sed -n 's/^\.It Cm \([a-z]*\).*/\1/p' man/moeplan.1 | sort >"$scratch/page"
	if [ -s "$scratch/help" ] && cmp -s "$scratch/page" "$scratch/help"; then
		pass
	else
		diff "$scratch/page" "$scratch/help" >"$scratch/diff" || true
		fail "man/moeplan.1 (<) and moeplan help (>) list different commands" "$scratch/diff"
	fi
}

# moeplan(1) names every other page at its end, in the order of sections and names.
check_see_also() {
	(cd man && find . -name '*.[1-9]' ! -name moeplan.1) |
		sed -n 's|^\./\(.*\)\.\([1-9]\)$|\2 \1|p' | LC_ALL=C sort >"$scratch/pages"
	sed -n '/^\.Sh SEE ALSO/,$s/^\.Xr \([^ ]*\) \([0-9]\).*/\2 \1/p' man/moeplan.1 >"$scratch/page"
	if cmp -s "$scratch/page" "$scratch/pages"; then
		pass
	else
		diff "$scratch/page" "$scratch/pages" >"$scratch/diff" || true
		fail "SEE ALSO of man/moeplan.1 (<) and the pages (>) differ" "$scratch/diff"
	fi
}

# The architectures of moeplan-model(5) are those of the reader's table.
check_architectures() {
	pattern='[A-Za-z0-9_]*\(ForCausalLM\|ForConditionalGeneration\|LMHeadModel\)'
	grep -o "$pattern" src/model/hf_families.c | sort -u >"$scratch/table"
	grep -o "$pattern" man/moeplan-model.5 | sort -u >"$scratch/page"
	if [ -s "$scratch/table" ] && cmp -s "$scratch/page" "$scratch/table"; then
		pass
	else
		diff "$scratch/page" "$scratch/table" >"$scratch/diff" || true
		fail "man/moeplan-model.5 (<) and the reader's families (>) differ" "$scratch/diff"
	fi
}

# A page of section 5 names every key of its schemas. What it leaves to the option lists is in a file.
check_keys() { # PAGE FILE SCHEMA...
	page=$1
	if python3 tests/docs/keys.py "$@" >"$scratch/keys"; then
		pass
	else
		fail "$page and its schemas name different keys" "$scratch/keys"
	fi
}

check_lint() { # PAGE
	if mandoc -T lint -W warning "$1" >"$scratch/lint" 2>&1; then pass; else fail "$1" "$scratch/lint"; fi
}

# .Xr NAME SECTION: one of our pages, or a system page that is named here.
check_references() { # PAGE
	sed -n 's/^\.Xr \([^ ]*\) \([0-9]\).*/\1.\2/p' "$1" | sort -u | while read -r page; do
		case $page in
		glpsol.1 | torchrun.1) ;;
		*) [ -f "man/$page" ] || echo "$page" ;;
		esac
	done >"$scratch/missing"
	if [ -s "$scratch/missing" ]; then fail "$1 refers to pages that are not there" "$scratch/missing"; else pass; fi
}

check_links() { # MARKDOWN
	sed -n 's/.*](\([^):#]*\)[^)]*).*/\1/p' "$1" | while read -r path; do
		[ -z "$path" ] || [ -e "$path" ] || echo "$path"
	done >"$scratch/missing"
	if [ -s "$scratch/missing" ]; then fail "$1 links to files that are not there" "$scratch/missing"; else pass; fi
}

update=0
[ "${1:-}" != --update ] || update=1
prepare_place
for document in README.md man/*.[0-9]; do
	check_examples "$document"
done
for page in man/*.[0-9]; do
	check_lint "$page"
	check_references "$page"
done
check_commands
check_see_also
check_architectures
options_of_page man/moeplan-estimate.1 >"$scratch/options"
# The report of moeplan-probe is another program's document.
# shellcheck disable=SC2046 # one word a file
check_keys man/moeplan-plan.5 "$scratch/options" \
	$(find schemas -name '*.output.schema.json' ! -name 'probe.*' | sort)
check_keys man/moeplan-cluster.5 /dev/null schemas/cluster.schema.json
check_keys man/moeplan-model.5 /dev/null schemas/model.schema.json
for page in man/moeplan-*.1; do
	command=${page#man/moeplan-}
	check_options "${command%.1}"
done
check_links README.md
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
