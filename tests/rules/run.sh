#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Do rules say yes and no where they should? A good and a bad configuration for every rule, public
# reports with known answers, published runs that must all be accepted, the page that lists the rules.
#
# usage: MOEPLAN=PROGRAM tests/rules/run.sh [-v]
set -u
cd "$(dirname "$0")/../.." || exit 2
MOEPLAN=${MOEPLAN:-$PWD/moeplan}
export MOEPLAN
exec python3 tests/rules/rules.py "$@"
