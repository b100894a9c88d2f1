#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Does an installed copy work away from the source tree, and does uninstall leave nothing behind?
set -eu
cd "$(dirname "$0")/.."

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
passed=0
check() { # WHAT COMMAND...
	what=$1
	shift
	"$@" || { echo "failed: $what"; exit 1; }
	passed=$((passed + 1))
}

make_quietly() {
	"${MAKE:-make}" --no-print-directory -s PREFIX=/usr DESTDIR="$root" "$@"
}

check install make_quietly install
for page in man/*.[0-9]; do
	check "$page" cmp -s "$page" "$root/usr/share/man/man${page##*.}/${page##*/}"
done
check 'bash completion' bash -n "$root/usr/share/bash-completion/completions/moeplan"
check 'zsh completion' test -s "$root/usr/share/zsh/site-functions/_moeplan"
check 'fish completion' test -s "$root/usr/share/fish/vendor_completions.d/moeplan.fish"
for schema in schemas/*.json; do
	check "$schema" cmp -s "$schema" "$root/usr/share/moeplan/$schema"
done
for example in examples/models/*.json; do
	check "$example" cmp -s "$example" "$root/usr/share/moeplan/$example"
done

# Built-in models and clusters are in the program: no file of the source tree is needed.
check 'plan elsewhere' sh -c "cd '$root' && ./usr/bin/moeplan plan mixtral-8x7b dgx-h100x2 \
	--seq-len 4096 --global-batch 64 >plan.txt && test -s plan.txt"
rm "$root/plan.txt"

check uninstall make_quietly uninstall
check 'nothing left' test -z "$(find "$root" ! -type d)"
echo "$passed passed, 0 failed"
