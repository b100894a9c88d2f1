#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Does the tree keep its house rules? Who may include whom, one .c file for each third-party header,
# names that occur once, functions that must not be called, a library that never prints or exits.
#
# usage: tests/deps.sh [FOLDER]      checks FOLDER (default: this tree), exits 1 with file:line messages
#        tests/deps.sh --self-test   breaks every rule once and expects the message
set -eu

self=$(cd "$(dirname "$0")" && pwd)/${0##*/}

# The rules are data: "room NAME FOLDER", "may ROOM PATTERN" (own headers), "third HEADER" (in exactly
# one .c file of ROOMs), "kernel HEADER" (in any .cu file), "never ROOM PATTERN" (headers), "call
# ROOM|all FUNCTION…" (banned), "width ROOM COLUMNS" (a tab is up to 8).
rules() {
	cat <<-'END'
		room base src/base/
		room model src/model/
		room planner planner/
		room emit src/emit/
		room check src/check/
		room cmd src/cmd/
		room probe probe/
		may base ^base/
		may model ^(base|model)/
		may planner ^(planner|model)/
		may planner ^base/(arena|diag|str|units)[.]h$
		may emit ^(base|model|emit)/
		may check ^(base|model|planner|emit|check)/
		may cmd ^(base|model|planner|emit|check|cmd)/
		may probe ^(base|model|probe)/
		may probe ^planner/(tensors|schedule|stages)[.]h$
		third base yaml.h
		third base cjson/cJSON.h
		third planner glpk.h
		third probe mpi.h
		third probe cblas.h
		third probe nccl.h
		third probe cublas_v2.h
		third probe cuda_runtime.h
		kernel cuda_runtime.h
		kernel cuda_bf16.h
		never planner ^stdio[.]h$
		width base 100
		width model 100
		width planner 100
		width emit 100
		width check 100
		width cmd 100
		call all strcpy strcat sprintf vsprintf strtok atoi atol atoll atof alloca gets system popen
		call base printf puts putchar exit _exit
		call model printf puts putchar exit _exit
		call planner printf puts putchar exit _exit
		call emit printf puts putchar exit _exit
		call check printf puts putchar exit _exit
	END
}

# C11 and POSIX headers, and what compilers bring, may be included anywhere.
libc="arpa/inet assert complex ctype dirent dlfcn errno fcntl fenv float inttypes limits locale math netdb netinet/in netinet/tcp poll pthread setjmp
signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings sys/resource sys/socket
sys/stat sys/time sys/types sys/wait sanitizer/asan_interface tgmath time unistd wchar wctype"

check() { # FOLDER
	cd "$1"
	find src planner probe \( -name '*.[ch]' -o -name '*.cu' \) 2>/dev/null | sort >"$list"
	duplicates >"$found"
	wide_tests >>"$found"
	rules >"$table"
	# shellcheck disable=SC2046 # one word a file
	LC_ALL=C awk -v libc="$libc" "$program" "$table" $(cat "$list") >>"$found"
	sort -t: -k1,1 -k2,2n "$found"
	if [ -s "$found" ]; then
		echo "$(wc -l <"$found") rules broken in $(wc -l <"$list") files"
		return 1
	fi
	[ -s "$list" ] || { echo 'no source files found'; return 1; }
	echo "$(wc -l <"$list") files keep the rules"
}

# A name that occurs twice makes messages and object folders ambiguous.
duplicates() {
	find src planner probe tests \( -name '*.[ch]' -o -name '*.cu' \) 2>/dev/null | sort | awk -F/ '
		$NF in first { print $0 ":1: named like " first[$NF] }
		!($NF in first) { first[$NF] = $0 }'
}

# Columns of a line: tabs go to the next eighth, bytes 10xxxxxx of UTF-8 continue a character.
columns='
function columns(line,    at, n) {
	gsub(/[\200-\277]/, "", line)
	while ((at = index(line, "\t"))) {
		n += at - 1
		n += 8 - n % 8
		line = substr(line, at + 1)
	}
	return n + length(line)
}'

# Tests are in no room, but people read them all the same.
wide_tests() {
	# shellcheck disable=SC2016 # awk's own $
	find tests -name '*.[ch]' ! -path 'tests/probe/*' 2>/dev/null | sort | LC_ALL=C xargs -r awk "$columns"'
		columns($0) > 100 { print FILENAME ":" FNR ": " columns($0) " columns, 100 are allowed" }'
}

# shellcheck disable=SC2016 # awk's own $
program=$columns'
function complain(text) {
	print FILENAME ":" FNR ": " text
}
function room_of(file,    i) {
	for (i = 1; i <= n_rooms; i++)
		if (index(file, room_folder[i]) == 1)
			return room_name[i]
	return ""
}
function allowed(header,    i) {
	for (i = 1; i <= n_may; i++)
		if (may_room[i] == room && header ~ may_pattern[i])
			return 1
	return 0
}
function check_own(header) {
	if (!allowed(header))
		complain("\"" header "\" may not be included from " room)
}
function check_system(header,    i) {
	for (i = 1; i <= n_never; i++)
		if (never_room[i] == room && header ~ never_pattern[i])
			complain("<" header "> may not be included from " room)
	if (FILENAME ~ /[.]cu$/ && header in kernel)
		return
	if (header in third) {
		if (third[header] != room || FILENAME !~ /[.]c$/)
			complain("<" header "> may only be included from a .c file of " third[header])
		users[header] = users[header] " " FILENAME
		n_users[header]++
	} else if (!(header in is_libc)) {
		complain("<" header "> is neither libc nor in the table of third-party headers")
	}
}
# The line without comments and without what stands in quotes.
function bare(line,    end) {
	if (in_comment) {
		if (!(end = index(line, "*/")))
			return ""
		line = substr(line, end + 2)
		in_comment = 0
	}
	gsub(/\\./, "", line)
	gsub(/"[^"]*"/, "\"\"", line)
	gsub(/\047[^\047]*\047/, "0", line)
	sub(/\/\/.*/, "", line)
	while (match(line, /\/\*/)) {
		end = index(substr(line, RSTART + 2), "*/")
		if (!end) {
			in_comment = 1
			return substr(line, 1, RSTART - 1)
		}
		line = substr(line, 1, RSTART - 1) " " substr(line, RSTART + 2 + end + 1)
	}
	return line
}
function check_calls(line,    name) {
	while (match(line, /[A-Za-z_][A-Za-z_0-9]*[ \t]*[(]/)) {
		name = substr(line, RSTART, RLENGTH)
		sub(/[ \t]*[(]$/, "", name)
		if (("all " name) in banned || (room " " name) in banned)
			complain(name "() may not be called from " room)
		line = substr(line, RSTART + RLENGTH)
	}
}
BEGIN {
	n = split(libc, words)
	for (i = 1; i <= n; i++)
		is_libc[words[i] ".h"] = 1
}
NR == FNR {
	if ($1 == "room") { room_name[++n_rooms] = $2; room_folder[n_rooms] = $3 }
	else if ($1 == "may") { may_room[++n_may] = $2; may_pattern[n_may] = $3 }
	else if ($1 == "never") { never_room[++n_never] = $2; never_pattern[n_never] = $3 }
	else if ($1 == "third") third[$3] = $2
	else if ($1 == "kernel") kernel[$2] = 1
	else if ($1 == "width") width[$2] = $3
	else if ($1 == "call")
		for (i = 3; i <= NF; i++)
			banned[$2 " " $i] = 1
	next
}
FNR == 1 {
	room = room_of(FILENAME)
	in_comment = 0
	if (room == "")
		complain("not in a room")
}
room in width && columns($0) > width[room] {
	complain(columns($0) " columns, " width[room] " are allowed")
}
!in_comment && /^[ \t]*#[ \t]*include/ {
	if (match($0, /"[^"]+"/))
		check_own(substr($0, RSTART + 1, RLENGTH - 2))
	else if (match($0, /<[^>]+>/))
		check_system(substr($0, RSTART + 1, RLENGTH - 2))
	else
		complain("an include of a macro cannot be checked")
	next
}
{ check_calls(bare($0)) }
END {
	for (header in third)
		if (n_users[header] != 1)
			print "tree:0: <" header "> is included by " n_users[header] + 0 \
				" files, must be one:" users[header]
}'

# --- self-test ------------------------------------------------------------------------------------

tree() { # a small tree that keeps all rules
	rm -rf "$scratch/tree"
	mkdir -p "$scratch/tree/src/base" "$scratch/tree/src/model" "$scratch/tree/src/cmd" "$scratch/tree/src/other" \
		"$scratch/tree/src/emit" "$scratch/tree/src/check" "$scratch/tree/planner" "$scratch/tree/probe" "$scratch/tree/tests/unit"
	cd "$scratch/tree"
	echo '#include <yaml.h>' >src/base/yaml.c
	echo '#include <cjson/cJSON.h>' >src/base/json.c
	echo '#include "base/arena.h"' >src/model/model.c
	echo '/* system("x") */ int x = snprintf(b, 1, "gets(");' >>src/model/model.c
	echo '#include <glpk.h>' >planner/milp.c
	printf '#include <%s>\n' mpi.h cblas.h >probe/cpu.c
	printf '#include <%s>\n' nccl.h cublas_v2.h cuda_runtime.h >probe/cuda.c
	printf '#include <%s>\n' cuda_bf16.h cuda_runtime.h >probe/kernels.cu
	echo '#include "planner/search.h"' >src/cmd/main.c
}

expect() { # FILE LINE MESSAGE: the message must appear when LINE is added to FILE
	tree
	printf '%s\n' "$2" >>"$1"
	if sh "$self" . >"$out" 2>&1 || ! grep -qF "$3" "$out"; then
		echo "not noticed: '$2' in $1"
		cat "$out"
		bad=$((bad + 1))
	else
		good=$((good + 1))
	fi
}

self_test() {
	good=0
	bad=0
	tree
	if sh "$self" . >"$out" 2>&1; then
		good=1
	else
		cat "$out"
		bad=1
	fi
	expect probe/run.c '#include "planner/search.h"' 'may not be included from probe'
	expect src/base/str.c '#include "model/model.h"' 'may not be included from base'
	expect src/model/job.c '#include "planner/search.h"' 'may not be included from model'
	expect src/model/job.c '#include "job.h"' 'may not be included from model'
	expect planner/time.c '#include "base/doc.h"' 'may not be included from planner'
	expect planner/time.c '  # include <stdio.h>' '<stdio.h> may not be included from planner'
	expect planner/time.c '#include "cmd/cmd.h"' 'may not be included from planner'
	expect planner/lp.c '#include <glpk.h>' 'included by 2 files'
	expect planner/lp.h '#include <glpk.h>' 'only be included from a .c file'
	expect planner/time.c '#include "check/rules.h"' 'may not be included from planner'
	expect src/emit/keys.c '#include "planner/search.h"' 'may not be included from emit'
	expect src/emit/keys.c '#include "check/rules.h"' 'may not be included from emit'
	expect src/check/rules.c '#include "cmd/cmd.h"' 'may not be included from check'
	expect probe/kernels.cu '#include <nccl.h>' 'only be included from a .c file'
	expect probe/kernels.cu '#include "planner/search.h"' 'may not be included from probe'
	expect probe/kernels.cu '	sprintf(text, "x");' 'sprintf() may not be called'
	expect probe/host.c '#include <cuda_bf16.h>' 'neither libc'
	expect src/cmd/yes.c '#include <yaml.h>' 'only be included from a .c file of base'
	expect src/base/net.c '#include <curl/curl.h>' 'neither libc'
	expect src/base/net.c '#include NET' 'cannot be checked'
	expect src/other/net.c 'int net;' 'not in a room'
	expect planner/main.c 'int main;' 'named like'
	expect tests/unit/main.c 'int main;' 'named like'
	expect src/check/rules.c "$(printf '\t%093d' 0)" '101 columns, 100 are allowed'
	expect tests/unit/test_rules.c "$(printf '\t%093d' 0)" '101 columns, 100 are allowed'
	for name in strcpy strcat sprintf vsprintf strtok atoi atol atoll atof alloca gets system popen; do
		expect src/cmd/run.c "	/* a */ x = $name (y);" "$name() may not be called"
	done
	for room in src/base src/model src/emit src/check planner; do
		expect $room/say.c '	printf("x");' 'printf() may not be called'
		expect $room/say.c '	/* why */ exit(1);' 'exit() may not be called'
	done
	tree
	rm planner/milp.c
	echo 'int x;' >planner/milp.c
	if sh "$self" . >"$out" 2>&1; then
		bad=$((bad + 1))
	else
		good=$((good + 1))
	fi
	echo "$good passed, $bad failed"
	[ "$bad" = 0 ]
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
list=$scratch/list
found=$scratch/found
table=$scratch/rules
out=$scratch/out

if [ "${1:-}" = --self-test ]; then
	self_test
else
	check "${1:-$(dirname "$self")/..}"
fi
