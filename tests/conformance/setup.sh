#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes the environment that the real frameworks run in: a Debian trixie tree, for its Python 3.13, with
# one virtual environment. No GPU is needed. Everything lies in build/conformance; a finished one is kept.
#
# usage: tests/conformance/setup.sh        exits 1 with the reason when it cannot be made
set -eu
cd "$(dirname "$0")/../.."

# shellcheck disable=SC1091,SC2154 # it sets packages and old_torchtitan
. tests/conformance/packages

root=build/conformance
tree=$root/trixie
log=$root/setup.log
stamp=$tree/conformance.done
# shellcheck disable=SC2154
wanted="$packages $old_torchtitan"

fail() {
	echo "the environment of the frameworks cannot be made: $1" >&2
	[ ! -f "$log" ] || tail -n 15 "$log" >&2
	exit 1
}

[ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || exit 0
[ "$(id -u)" = 0 ] || fail 'debootstrap and chroot need root'
mkdir -p "$root"
# One at a time: who comes second waits, and finds it made.
exec 9>"$root/lock"
flock 9
[ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || exit 0
: >"$log"

if ! command -v debootstrap >/dev/null; then
	{ apt-get update && apt-get install -y --no-install-recommends debootstrap; } >>"$log" 2>&1 ||
		fail 'debootstrap cannot be installed'
fi

# The mirror that this machine uses.
mirror=$(sed -n 's/^URIs: *//p; s/^deb *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\) .*/\2/p' \
	/etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null | grep debian | head -n 1)
[ -n "$mirror" ] || fail 'no Debian mirror stands in /etc/apt'
if [ ! -x "$tree/usr/bin/python3" ] || [ ! -f "$tree/debootstrap.done" ]; then
	rm -rf --one-file-system "$tree" # what is mounted in it is not its own
	echo "  making a Debian trixie tree in $tree"
	debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates \
		trixie "$tree" "$mirror" >>"$log" 2>&1 ||
		fail 'debootstrap failed'
	touch "$tree/debootstrap.done"
fi

# The tree reaches the package index as this machine does.
cp /etc/resolv.conf "$tree/etc/resolv.conf"
cp /etc/ssl/certs/ca-certificates.crt "$tree/etc/ssl/certs/ca-certificates.crt"
pip=$(python3 -m pip config debug 2>/dev/null | sed -n 's/^ *\(.*\), exists: True$/\1/p' | head -n 1)
[ -z "$pip" ] || cp "$pip" "$tree/etc/pip.conf"

echo "  installing $wanted (gigabytes, some minutes)"
# shellcheck disable=SC2086 # words
sh tests/conformance/inside.sh /bin/sh -c '
	set -e
	unset PIP_FIND_LINKS
	export DS_BUILD_OPS=0 PIP_NO_CACHE_DIR=1
	[ -x /venv/bin/python ] || python3 -m venv /venv
	/venv/bin/pip install -q '"$packages"'
	rm -rf /old
	/venv/bin/pip install -q --no-deps --target /old '"$old_torchtitan"'
' >>"$log" 2>&1 || fail 'pip failed'
echo "$wanted" >"$stamp"
