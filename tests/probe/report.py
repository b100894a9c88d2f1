# SPDX-License-Identifier: GPL-3.0-or-later
"""Does a report of the probe follow its schema, and was everything compared? report.py FILE LAYOUT"""
import json
import sys

import jsonschema

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
with open("schemas/probe.output.schema.json", encoding="utf-8") as file:
    jsonschema.validate(report, json.load(file))

numerics = report["numerics"]
names = {row["name"] for row in numerics["rows"]}
expected = {"outputs", "input_gradients", "router_gradients", "expert_gradients", "other_gradients",
            "updated_weights"}
assert numerics["compared"] and names == expected, names
assert all(0 < row["error"] <= row["tolerance"] for row in numerics["rows"]), numerics["rows"]
tokens = numerics["tokens"]
assert tokens["conserved"] and tokens["sent"] + tokens["dropped"] == tokens["expected"] > 0, tokens
if sys.argv[2] == "capacity":
    assert tokens["dropped"] > 0, tokens
if sys.argv[2] == "one-expert":
    assert tokens["ranks_without"] > 0 and tokens["max_over_mean"] > 2, tokens
measured = {part["name"] for part in report["parts"]}
assert {"attention", "router", "permute", "experts", "optimizer"} <= measured, measured
assert report["verdict"] == "rehearsed" and not report["environment"]["comparable"]
