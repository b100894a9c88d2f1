#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs a command inside the tree of setup.sh, with /proc in a mount namespace of its own.
#
# usage: tests/conformance/inside.sh COMMAND [ARGUMENTS]
set -eu
tree=$(cd "$(dirname "$0")/../../build/conformance/trixie" && pwd)
# shellcheck disable=SC2016 # expanded by the inner shell
exec unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$tree" "$@"
