#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes sure that what a target needs is there: looks for each thing itself (a program, a header with
# its library, a Python module), and installs the Debian packages of those that are missing when
# it may (root, or sudo without a password). Otherwise it says what is missing and exits 1.
#
# usage: tests/setup.sh GROUP...   groups are those of the table below
set -eu

CC=${CC:-gcc}
compiler=${CC##*/}

# group | package on Debian and Ubuntu | how to see that it is there
table() {
	cat <<-END
		demo|gcc|program $CC
		demo|libc6-dev|header stdio.h m
		demo|libglpk-dev|header glpk.h glpk
		demo|libyaml-dev|header yaml.h yaml
		demo|libcjson-dev|header cjson/cJSON.h cjson
		test|libcriterion-dev|header criterion/criterion.h criterion
		test|glpk-utils|program glpsol
		test|python3-jsonschema|python jsonschema
		test|pkgconf|program pkg-config
		test|mandoc|program mandoc
		probe|libopenmpi-dev|program mpicc
		probe|openmpi-bin|program mpirun
		probe|libopenblas-dev|header cblas.h openblas
		asan|sanitizer|sanitizer address
		valgrind|valgrind|program valgrind
		clang|clang|program clang
		fuzz|clang|program clang
		fuzz|libclang-rt|fuzzer
		lint|clang-tidy|program clang-tidy
		lint|mandoc|program mandoc
		lint|shellcheck|program shellcheck
	END
}

have() {
	command -v "$1" >/dev/null 2>&1
}

# Does this C text build with this command?
builds() { # TEXT COMMAND...
	printf '%s\n' "$1" >"$scratch/try.c"
	shift
	# shellcheck disable=SC2086 # no library is no word
	"$@" "$scratch/try.c" -o "$scratch/try" $libraries >/dev/null 2>&1
}

present() { # KIND [WHAT [LIBRARY]]
	libraries=
	case $1 in
	program) have "$2" ;;
	python) have python3 && python3 -c "import $2" 2>/dev/null ;;
	header)
		libraries=-l$3
		builds "#include <$2>
int main(void) { return 0; }" "$CC"
		;;
	# What belongs to a compiler is looked for once the compiler is there.
	sanitizer) ! have "$CC" || builds 'int main(void) { return 0; }' "$CC" "-fsanitize=$2" ;;
	fuzzer) ! have clang || builds 'int LLVMFuzzerTestOneInput(void) { return 0; }' clang -fsanitize=fuzzer ;;
	esac
}

runtime_of() { # CLANG
	echo "libclang-rt-$("$1" -dumpversion | sed 's/\..*//')-dev"
}

# The names that depend on the compiler asked for.
package_name() {
	case $1 in
	gcc) case $compiler in cc) echo gcc ;; *) echo "$compiler" ;; esac ;;
	sanitizer) # gcc brings its own
		case $compiler in clang*) runtime_of "$CC" ;; *) package_name gcc ;; esac
		;;
	libclang-rt) runtime_of clang ;;
	*) echo "$1" ;;
	esac
}

missing() {
	table | while IFS='|' read -r group package test; do
		case " $groups " in *" $group "*) ;; *) continue ;; esac
		# shellcheck disable=SC2086 # the test is several words
		present $test || package_name "$package"
	done | sort -u | tr '\n' ' '
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}

may_install() {
	have apt-get && { [ "$(id -u)" = 0 ] || { have sudo && sudo -n true 2>/dev/null; }; }
}

apt() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# Package lists may be absent (a fresh container) or too old to install from.
install_packages() {
	if ! apt-cache show "$@" >/dev/null 2>&1; then
		apt update
	fi
	# shellcheck disable=SC2024
	if ! apt install -y --no-install-recommends "$@" >"$scratch/log" 2>&1; then
		apt update
		apt install -y --no-install-recommends "$@" >"$scratch/log" 2>&1 || {
			cat "$scratch/log" >&2
			return 1
		}
	fi
}

explain() {
	echo "missing: $1"
	if have apt-get; then
		echo "install them, then run the same command again:"
		echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends $1"
	else
		echo "these are the names on Debian and Ubuntu; install what provides:"
		table | while IFS='|' read -r group package test; do
			case " $groups " in *" $group "*) ;; *) continue ;; esac
			case " $1 " in
			*" $(package_name "$package") "*) echo "  $(package_name "$package"): $test" ;;
			esac
		done
	fi
}

groups=$*
case " $groups " in *" test "*) groups="demo $groups" ;; esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

lacking=$(missing)
[ -n "$lacking" ] || exit 0
if ! may_install; then
	explain "$lacking" >&2
	exit 1
fi
# Twice, since what a compiler needs shows only when it is there.
for round in 1 2; do
	echo "installing: $lacking"
	# shellcheck disable=SC2086 # a list of words
	install_packages $lacking || { explain "$lacking" >&2; exit 1; }
	lacking=$(missing)
	[ -n "$lacking" ] || exit 0
done
echo "installed in $round rounds, but still not usable:" >&2
explain "$lacking" >&2
exit 1
