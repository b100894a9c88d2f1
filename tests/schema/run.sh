#!/bin/sh
# Do the documents that the program writes, and the files that it reads, keep their JSON Schemas?
#
# usage: MOEPLAN=PROGRAM tests/schema/run.sh
set -u
cd "$(dirname "$0")/../.." || exit 2
MOEPLAN=${MOEPLAN:-$PWD/moeplan}
export MOEPLAN

if ! python3 -c 'import jsonschema' 2>/dev/null; then
	echo 'the Python package jsonschema is missing: apt-get install python3-jsonschema'
	echo '0 passed, 1 failed'
	exit 1
fi
exec python3 tests/schema/validate.py
