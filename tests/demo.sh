#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A public model on a public cluster: what to train it with, and why.
set -eu
cd "$(dirname "$0")/.."

set -- plan deepseek-v3 dgx-h100x256 --seq-len 4096 --global-batch 15360
echo
echo "\$ moeplan $*"
./moeplan "$@"
