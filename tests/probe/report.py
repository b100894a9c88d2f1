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
expected = {"outputs", "losses", "input_gradients", "embedding_gradients", "head_gradients",
            "router_gradients", "expert_gradients", "other_gradients", "updated_weights"}
if sys.argv[2].startswith("mtp"):
    expected.add("mtp_gradients")
assert numerics["compared"] and names == expected, names
assert all(0 < row["error"] <= row["tolerance"] for row in numerics["rows"]), numerics["rows"]
tokens = numerics["tokens"]
assert tokens["conserved"] and tokens["sent"] + tokens["dropped"] == tokens["expected"] > 0, tokens
if sys.argv[2] == "capacity":
    assert tokens["dropped"] > 0, tokens
if sys.argv[2] == "one-expert":
    assert tokens["ranks_without"] > 0 and tokens["max_over_mean"] > 2, tokens
if sys.argv[2] in ("ep2-edp2", "no-overlap"):
    assert ("data_parallel_overlap" in report) == (sys.argv[2] == "ep2-edp2"), report
# What the plan overlaps also ran in line, so that the hidden share can be told.
hidden = {"expert_overlap": ("pairs", "beside", "all-overlap"),
          "tensor_parallel_overlap": ("tp-overlap", "tp4-overlap", "all-overlap")}
for name, layouts in hidden.items():
    assert (name in report) == any(word in sys.argv[2] for word in layouts), (name, report.keys())
    if name in report:
        assert report[name]["communication_s"] > 0 and report[name]["in_step_s"] > 0, report[name]
        assert 0 <= report[name]["hidden"] <= 1 and 0 < report[name]["beside"] <= 1, report[name]
waited_for = {part["name"] for part in report["parts"] if "stall_s" in part}
assert not waited_for & {"attention", "experts", "mlp", "norm", "router", "permute"}, waited_for
measured = {part["name"] for part in report["parts"]}
assert {"embedding", "attention", "router", "permute", "experts", "head_and_loss",
        "optimizer"} <= measured, measured
assert ("mtp" in measured) == sys.argv[2].startswith("mtp"), measured
assert ("recompute" in measured) == sys.argv[2].startswith("recompute"), measured

# What is allocated comes from the table that the plan sums up: the same elements, four bytes each on
# CPUs, and what buckets add to be divisible.
as_planned = report["step"]["own_shapes"] and not any(
    word in sys.argv[2] for word in ("placement", "zero3", "torchtitan"))  # copies; gathered units
for stage in report["memory"]["stages"] if as_planned else []:
    predicted, got = stage["predicted"], stage["measured"]
    for name, larger in (("weights", 2), ("gradients", 1), ("optimizer", 1)):
        surplus = got[name] - larger * predicted[name]
        assert 0 <= surplus <= 0.02 * got[name] + 1024, (stage["stage"], name, predicted, got)
    if "ep" in sys.argv[2] or "pairs" in sys.argv[2]:
        assert got["rows"] > 0, got
assert report["verdict"] == "rehearsed" and not report["environment"]["comparable"]
