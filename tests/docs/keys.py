# SPDX-License-Identifier: GPL-3.0-or-later
"""Does a man page name the keys of its schemas, all of them and no others?

usage: keys.py PAGE OPTIONS SCHEMA...    OPTIONS: a file of names that other pages explain
Prints what differs; the exit status says whether anything did.
"""
import json
import re
import sys


def properties(node):
    """Names of all properties at any depth of a JSON Schema."""
    if isinstance(node, dict):
        yield from node.get("properties", {})
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from properties(child)


def keys_of_page(path):
    """Words that the page marks as keys (mdoc's .Ic)."""
    for line in open(path, encoding="utf-8"):
        match = re.match(r"\.(?:It )?Ic (.*)", line)
        if match:
            yield from re.findall(r"[A-Za-z_0-9]+", match.group(1))


page, options, *schemas = sys.argv[1:]
in_schemas = {name for path in schemas for name in properties(json.load(open(path, encoding="utf-8")))}
in_page = set(keys_of_page(page))
of_options = {line.strip().replace("-", "_") for line in open(options, encoding="utf-8")}
wrong = sorted(in_page - in_schemas)
missing = sorted(in_schemas - in_page - of_options)
if wrong:
    print("in the page, in no schema:", *wrong)
if missing:
    print("in a schema, not in the page:", *missing)
sys.exit(bool(wrong or missing))
