#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do rules say yes and no where they should?

launches  launches.txt: launch scripts as people on clusters write them, right and wrong ones
scripts   accepted/ holds files as people have them that run, and no rule may break; those of refused/
          break the rule that their name begins with. Options are in NAME.args beside them.
constants no number that a finding tells is the same for every configuration
files     ID-bad.* must break rule ID; ID-good.* must break no rule and not have ID among its findings.
          ID-good.args and ID-bad.args hold options, *.case.json are cases, everything else is a file
          to check. Every rule has both, and no file is without a rule.
cases     cases.json: public reports reduced to numbers, with the right verdict and the numbers that
          the findings must tell; found and expected are printed
runs      every row of tests/bench/runs.csv that states its sizes is a configuration that somebody ran
examples  examples/plans/*.yaml and what `moeplan plan` makes of them are accepted
emitted   what `moeplan emit` writes for a plan breaks no rule, for every target that can express it
page      man/moeplan-rules.7 is what page.py makes of the tables
"""

import csv
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
MOEPLAN = os.environ["MOEPLAN"]
VERBOSE = "-v" in sys.argv[1:]
passed = failed = 0


def count(ok, message):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print("failed:", message)


def check(arguments):
    """The document of `moeplan check`, or a short one that says what went wrong."""
    run = subprocess.run([MOEPLAN, "check", *arguments, "--format", "json"], cwd=TOP,
                         capture_output=True, text=True)
    try:
        return json.loads(run.stdout)
    except json.JSONDecodeError:
        return {"diagnostics": [], "verdict": f"exit {run.returncode}: {run.stderr[:200]}"}


def errors(document):
    return [f"{d['rule']}: {d['message']}" for d in document["diagnostics"] if d["severity"] == "error"]


def rules():
    run = subprocess.run([MOEPLAN, "explain", "rules", "--format", "json"], capture_output=True, text=True,
                         check=True)
    return json.loads(run.stdout)["rules"]


def rule_ids():
    return [rule["id"] for rule in rules()]


# --- files ------------------------------------------------------------------------------------------


def arguments_of(name):
    arguments = []
    for path in sorted(glob.glob(os.path.join(HERE, name + ".*"))):
        relative = os.path.relpath(path, TOP)
        if path.endswith(".args"):
            with open(path, encoding="utf-8") as file:
                arguments += shlex.split(file.read())
        elif path.endswith(".case.json"):
            arguments += ["--case", relative]
        else:
            arguments.append(relative)
    return arguments


def check_files():
    ids = rule_ids()
    for rule in ids:
        bad, good = arguments_of(rule + "-bad"), arguments_of(rule + "-good")
        if not bad or not good:
            count(False, f"{rule} has no good or no bad file")
            continue
        document = check(bad)
        found = [d["rule"] for d in document["diagnostics"]]
        count(rule in found, f"{rule}-bad breaks {found}, not {rule}")
        document = check(good)
        broken = errors(document)
        found = [d["rule"] for d in document["diagnostics"]]
        count("verdict" in document and not broken and rule not in found,
              f"{rule}-good breaks {broken or found}")
    for path in glob.glob(os.path.join(HERE, "*-good.*")) + glob.glob(os.path.join(HERE, "*-bad.*")):
        rule = os.path.basename(path).rsplit("-", 1)[0]
        count(rule in ids, f"{os.path.basename(path)} belongs to no rule")


def scripts_of(folder):
    """Every file of the folder that is no list of options, with those that belong to it."""
    for path in sorted(glob.glob(os.path.join(HERE, folder, "*"))):
        if not path.endswith(".args"):
            options = os.path.splitext(path)[0] + ".args"
            extra = []
            if os.path.exists(options):
                with open(options, encoding="utf-8") as file:
                    extra = shlex.split(file.read())
            yield os.path.basename(path), check([os.path.relpath(path, TOP), *extra])


def check_launches():
    """launches.txt: a script behind each line "### what it is: ok" or "### what it is: RULE"."""
    with open(os.path.join(HERE, "launches.txt"), encoding="utf-8") as file:
        parts = re.split(r"^### (.*): (\S+)\n", file.read(), flags=re.M)[1:]
    names, verdicts, texts = parts[::3], parts[1::3], parts[2::3]
    count(len(set(names)) == len(names), "launches.txt has two scripts of one name")
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "run.sh")
        for name, verdict, text in zip(names, verdicts, texts):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            found = {d["rule"]: d["message"] for d in check([path])["diagnostics"] if d["severity"] != "note"}
            launch = {rule: message for rule, message in found.items() if str(rule).startswith("LAU")}
            count(not launch if verdict == "ok" else verdict in launch, f"{name} is {verdict}: {found}")
    print(f"{verdicts.count('ok')} launch scripts accepted, {len(verdicts) - verdicts.count('ok')} with a finding")


def check_scripts():
    accepted, refused = list(scripts_of("accepted")), list(scripts_of("refused"))
    count(bool(accepted) and bool(refused), "there are no scripts")
    for name, document in accepted:
        count("diagnostics" in document and document["verdict"] in ("ok", "warn"),
              f"accepted/{name}: {errors(document) or document['verdict']}")
    for name, document in refused:
        rule = "-".join(name.split("-")[:2])
        count(any(error.startswith(rule + ":") for error in errors(document)),
              f"refused/{name} breaks {errors(document) or document['verdict']}")
    print(f"{len(accepted)} scripts accepted, {len(refused)} refused")


def check_constants():
    """A number that a finding tells comes from the configuration: a constant would suit every case."""
    for rule in rules():
        text = " ".join(rule.get(key) or "" for key in ("condition", "message", "hint"))
        constants = re.findall(r"[<{](?:\w+: *)?[0-9.]+[>}]", text)
        count(not constants, f"{rule['id']} tells the same number of every configuration: {constants}")


# --- cases ------------------------------------------------------------------------------------------


def numbers_of(document):
    numbers = {}
    for diagnostic in document["diagnostics"]:
        for name, value in diagnostic["numbers"].items():
            numbers.setdefault(name, []).extend(value if isinstance(value, list) else [value])
    return numbers


def is_near(found, wanted):
    return found is not None and abs(found - wanted) <= max(0.006 * abs(wanted), 0.0051)


def tells(numbers, name, wanted):
    """Under its name when there is one, else under any."""
    found = numbers.get(name) or [x for values in numbers.values() for x in values]
    everything = [x for values in numbers.values() for x in values]
    return all(any(is_near(x, want) for x in found) or any(is_near(x, want) for x in everything)
               for want in (wanted if isinstance(wanted, list) else [wanted]))


def check_cases():
    with open(os.path.join(HERE, "cases.json"), encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    print(f"{'case':5} {'expected':9} {'found':9} {'numbers':8} rules")
    for case in cases:
        path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"moeplan-case-{os.getpid()}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"framework": case["framework"], "input": case["input"]}, file)
        document = check(["--case", path])
        os.unlink(path)
        numbers = numbers_of(document)
        told = [name for name, wanted in case["numbers"].items() if tells(numbers, name, wanted)]
        found = [d["rule"] for d in document["diagnostics"] if d["rule"] and d["severity"] != "note"]
        print(f"{case['id']:5} {case['verdict']:9} {document.get('verdict', '-'):9} "
              f"{len(told)}/{len(case['numbers']):<6} {' '.join(found)}")
        count(document.get("verdict") == case["verdict"],
              f"{case['id']}: {document.get('verdict')}, not {case['verdict']}: {errors(document)}")
        count(len(told) == len(case["numbers"]),
              f"{case['id']}: not told: {sorted(set(case['numbers']) - set(told))}")
        count(all(rule in found for rule in case["rules"]), f"{case['id']}: {found}, not {case['rules']}")


# --- published runs ---------------------------------------------------------------------------------

SIZES = {"gpus": "world-size", "seq": "seq-len", "gbs": "global-batch", "mbs": "micro-batch", "tp": "tp",
         "pp": "pp", "vpp": "vpp", "cp": "cp", "ep": "ep", "etp": "etp", "zero": "zero",
         "precision": "precision", "recompute": "recompute", "dispatcher": "dispatcher",
         "capacity": "capacity", "loss": "loss", "grad_type": "grad-type"}
TITAN = ("gpus", "seq", "gbs", "mbs", "tp", "pp", "cp", "ep", "precision", "loss")


def options_of(row):
    """As somebody would type it; fully sharded rows by torchtitan's arithmetic."""
    sharded = row["zero"] in ("2", "3") and "framework" not in row["options"] and int(row["pp"] or 1) == 1
    titan = sharded or "torchtitan" in row["options"]
    options = shlex.split(row["options"]) + (["--framework", "torchtitan"] if sharded else [])
    for column, option in SIZES.items():
        if column == "dispatcher" and not row["ep"]:
            continue  # a dispatcher and an EP that the source does not state
        if row[column] and not (titan and column not in TITAN and column not in ("zero", "vpp")):
            options += ["--" + option, row[column]]
    if row["model"] and not row["overrides"]:
        own = os.path.join("tests", "bench", "models", row["model"] + ".json")
        options += ["--model", own if os.path.exists(os.path.join(TOP, own)) else row["model"]]
    return options


def check_runs():
    with open(os.path.join(TOP, "tests", "bench", "runs.csv"), encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["gpus"]]
    refused = 0
    for row in rows:
        if row["model"] and row["class"] == "moe-single-layer":
            row["model"] = ""
        document = check(options_of(row))
        bad = errors(document) or "verdict" not in document
        refused += bool(bad)
        count(not bad, f"{row['id']} is refused: {bad} ({shlex.join(options_of(row))})")
    print(f"{len(rows)} published runs, {refused} refused")


# --- examples and the page --------------------------------------------------------------------------


def check_examples():
    plans = sorted(glob.glob(os.path.join(TOP, "examples", "plans", "*.yaml")))
    count(bool(plans), "there are no examples")
    for path in plans:
        document = check([os.path.relpath(path, TOP)])
        count("verdict" in document and not errors(document),
              f"{os.path.basename(path)}: {errors(document) or document.get('verdict')}")


TARGETS = ("megatron", "megatron-bridge", "deepspeed", "torchtitan", "tutel", "fairscale", "accelerate", "jax",
           "torchrun", "deepspeed-launch", "slurm", "mpirun")
OTHERS = ("--pp 4", "--pp 2 --vpp 2 --overlap ep", "--recompute full", "--pp 2 --recompute full", "--tp 2 --ep 4",
          "--cp 2 --ep 8", "--pp 4 --framework deepspeed", "--framework torchtitan", "--pp 2 --framework torchtitan")


def check_emitted_for(plan, target, folder):
    """Whether the target could express the plan; DeepSpeed's client belongs to its configuration."""
    run = subprocess.run([MOEPLAN, "emit", plan, "--for", target, "--output", folder + "/", "--quiet"], cwd=TOP,
                         capture_output=True, text=True)
    files = sorted(glob.glob(os.path.join(folder, "*")))
    count(run.returncode == 0 or "error:" in run.stderr, f"{plan} for {target}: {run.stderr}")
    for part in [files] if target == "deepspeed" and files else [[file] for file in files]:
        document = check(part)
        count("verdict" in document and not errors(document),
              f"{plan} for {target}: {os.path.basename(part[0])}: {errors(document) or document.get('verdict')}")
    return run.returncode == 0


def check_emitted():
    with tempfile.TemporaryDirectory() as scratch:
        plans = sorted(glob.glob(os.path.join(TOP, "examples", "plans", "*.json")))
        for options in OTHERS:
            plans.append(os.path.join(scratch, options.replace(" ", "") + ".json"))
            with open(plans[-1], "w", encoding="utf-8") as file:
                subprocess.run([MOEPLAN, "estimate", "qwen3-30b-a3b", "dgx-h100x4", "--seq-len", "4096",
                                "--global-batch", "256", *options.split(), "--format", "json"], stdout=file,
                               stderr=subprocess.DEVNULL, check=False)
        expressed = dict.fromkeys(TARGETS, 0)
        for number, plan in enumerate(plans):
            for target in TARGETS:
                folder = os.path.join(scratch, f"{number}-{target}")
                os.mkdir(folder)
                expressed[target] += check_emitted_for(plan, target, folder)
        for target in TARGETS:
            count(expressed[target] > 0, f"no plan can be emitted for {target}")
        print(f"{len(plans)} plans emitted: " + ", ".join(f"{n} for {t}" for t, n in expressed.items()))


def check_page():
    run = subprocess.run([MOEPLAN, "explain", "cases", "--format", "json"], capture_output=True, text=True,
                         check=True)
    with open(os.path.join(TOP, "man", "moeplan-check.1"), encoding="utf-8") as file:
        words = set(file.read().split())
    known = json.loads(run.stdout)
    fields = [field["name"] for field in known["fields"]]
    others = [name for row in known["other_names"] for name in row["others"].split()]
    for name in fields + others:
        count(name in words, f"the field {name} is not in moeplan-check(1)")
    for name in others:
        count(others.count(name) == 1 and name not in fields, f"{name} stands for two fields")
    page = os.path.join(TOP, "man", "moeplan-rules.7")
    made = subprocess.run([sys.executable, os.path.join(HERE, "page.py")], capture_output=True, text=True,
                          check=True).stdout
    with open(page, encoding="utf-8") as file:
        count(file.read() == made, "man/moeplan-rules.7 is old: python3 tests/rules/page.py >man/moeplan-rules.7")


check_files()
check_constants()
check_scripts()
check_launches()
check_cases()
check_runs()
check_examples()
check_emitted()
check_page()
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
