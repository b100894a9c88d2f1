# SPDX-License-Identifier: GPL-3.0-or-later
"""From a report to the next plan: calibrated.py REPORT MOEPLAN FOLDER

REPORT is a rehearsal's. As such it is refused. Given a GPU's rates in place of the CPU's, it has to
change what is planned next by just what it says: of experts' products at half the rate the planner
expects twice the time, and calibrate says by how much the old prediction was off.
"""
import json
import subprocess
import sys

report_file, program, folder = sys.argv[1:4]
with open(report_file, encoding="utf-8") as file:
    report = json.load(file)
CLUSTER = "node:1 gpu:8 H100-SXM5-80GB nvlink:450GB/s nic:8x400Gb/s"
RUN = ["--seq-len", "4096", "--global-batch", "64", "--ep", "8", "--micro-batch", "1"]


def run(*arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def calibrate(name, document):
    path, cluster = f"{folder}/{name}.json", f"{folder}/{name}.yaml"
    with open(path, "w", encoding="utf-8") as out:
        json.dump(document, out)
    said = run("calibrate", CLUSTER, path, "--output", cluster)
    return said, cluster


def experts_s(cluster):
    """Predicted seconds of experts' products in a step."""
    said = run("estimate", "mixtral-8x7b", cluster, *RUN, "--format", "json")
    assert said.returncode in (0, 1), said.stderr
    return json.loads(said.stdout)["time"]["parts"]["experts"]


said, _ = calibrate("rehearsal", report)
assert said.returncode == 2 and "not comparable" in said.stderr, said.stderr

report["environment"]["comparable"] = True
report["transfers"] = []
report["device"].update(memory_Bps=2.6e12, launch_s=3e-6)
report["plan_parts"] = [
    {"name": "experts", "predicted_s": 0.010, "measured_s": 0.012, "judged": True}]
best = max(product["flops"] for product in report["products"])
for product in report["products"]:
    product["flops"] *= 6e14 / best
    if product["name"] == "experts":  # of a model that fills a GPU
        product.update(n=28672, k=4096)
said, fast = calibrate("fast", report)
assert said.returncode == 0, said.stderr
assert "predicted 10.0 ms, measured 12.0 ms (+20 %)" in said.stderr, said.stderr
for product in report["products"]:
    if product["name"] == "experts":
        product["flops"] /= 2
said, slow = calibrate("slow", report)
assert said.returncode == 0, said.stderr

# What hides in the step counts before what hides of an all-to-all by itself, of the part of the
# traffic that the schedule has computation beside.
report["overlap"] = {"compute_s": 4, "communication_s": 2, "both_s": 4, "hidden": 1}
report["expert_overlap"] = {"compute_s": 8, "communication_s": 4, "both_s": 10.5, "hidden": 0.375,
                            "in_step_s": 5, "stall_s": 3, "beside": 0.75}
said, hiding = calibrate("hiding", report)
with open(hiding, encoding="utf-8") as file:
    assert "hidden_all_to_all: 0.5\n" in file.read(), said.stderr

curves = []
for path in (fast, slow):
    with open(path, encoding="utf-8") as file:
        curves.append([line for line in file if line.strip().startswith("grouped:")])
assert all(len(curve) == 1 for curve in curves) and curves[0] != curves[1], curves
before, after, plain = experts_s(fast), experts_s(slow), experts_s(CLUSTER)
assert abs(after / before - 2) < 0.1, (before, after)
assert plain != before, "the planner did not use what was measured"
print(f"experts: {plain:.3f} s by the catalogue, {before:.3f} s measured, {after:.3f} s at half the rate")
