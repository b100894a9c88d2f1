#!/usr/bin/env python3
"""Do real documents and files keep their JSON Schemas?

outputs  documents of commands that succeed, say no, and fail are validated, and their sums checked
inputs   files in inputs/good-KIND-*.json must please both the schema and the program, files in
         inputs/bad-KIND-*.json neither: a schema that is looser or stricter than the reader fails here
next     the command line that ends a plan's report, run, gives the plan's numbers
keys     every option of a `job:` and a `strategy:` section is a key of the schema, and every key of
         the schema an option
"""

import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
MOEPLAN = os.environ["MOEPLAN"]
H100_16 = ["mixtral-8x7b", "dgx-h100x2", "--seq-len", "4096"]

# command, exit status, whether the document holds an answer
OUTPUTS = [
    (["model", "deepseek-v3"], 0, True),
    (["model", "mixtral-8x7b", "--seq-len", "8192"], 0, True),
    (["model", "llama3.1-8b"], 0, True),
    (["model", "tests/golden/inputs/hybrid.json"], 0, True),
    (["model", "tests/golden/inputs/uncounted.json"], 1, False),
    (["model", "no-such-model"], 2, False),
    (["estimate", *H100_16, "--tp", "2", "--pp", "2", "--ep", "4", "--global-batch", "64",
      "--recompute", "full"], 0, True),
    (["estimate", *H100_16, "--tp", "2", "--pp", "2", "--vpp", "2", "--ep", "4", "--global-batch", "64",
      "--recompute", "selective:moe_act+layernorm", "--capacity", "1.5", "--precision", "fp8",
      "--optimizer", "adam:bf16", "--grad-type", "bf16", "--overlap", "dp,ep"], 0, True),
    (["estimate", *H100_16, "--global-batch", "64", "--offload", "optimizer:0.5"], 1, True),
    (["estimate", *H100_16, "--global-batch", "64", "--offload", "activations"], 1, True),
    (["estimate", *H100_16, "--global-batch", "64", "--framework", "torchtitan",
      "--offload", "optimizer"], 1, False),
    (["estimate", *H100_16, "--global-batch", "64"], 1, True),
    (["estimate", *H100_16, "--tp", "3", "--global-batch", "64"], 1, False),
    (["estimate", *H100_16], 2, False),
    (["estimate", "tests/golden/inputs/sparse.json", "dgx-h100", "--global-batch", "8"], 1, False),
    (["groups", "--world-size", "16", "--tp", "2", "--ep", "4"], 0, True),
    (["groups", "gb200-nvl72", "--ep", "8"], 0, True),
    (["groups", "--framework", "torchtitan", "--world-size", "16", "--ep", "4"], 0, True),
    (["groups", "--framework", "deepspeed", "--world-size", "16", "--ep", "4"], 0, True),
    (["groups", "--world-size", "12", "--ep", "8"], 1, False),
    (["plan", *H100_16, "--global-batch", "64"], 0, True),
    (["plan", *H100_16, "--global-batch", "64", "--top", "1", "--objective", "memory"], 0, True),
    (["plan", "mixtral-8x22b", "dgx-a100", "--seq-len", "8192", "--global-batch", "64"], 1, True),
    (["plan", "tests/golden/inputs/sparse.json", "dgx-h100", "--global-batch", "8"], 1, False),
    (["plan", *H100_16, "--global-batch", "64", "--verbose", "--measured-step", "3s"], 0, True),
    (["place", "examples/loads/mixed-64.csv", "--gpus", "8"], 0, True),
    (["place", "examples/loads/mixed-64.csv", "--gpus", "8", "--redundant", "16"], 0, True),
    (["place", "examples/loads/nodes-64.csv", "--gpus", "16", "--nodes", "4"], 0, True),
    (["place", "examples/loads/routes-8.jsonl", "--gpus", "4", "--nodes", "2"], 0, True),
    (["place", "examples/loads/routes-8.jsonl", "--gpus", "4", "--nodes", "2", "--goal", "chain"], 0, True),
    (["place", "examples/loads/nodes-64.csv", "deepseek-moe-16b", "dgx-h100x2", "--gpus", "16", "--global-batch",
      "256", "--seq-len", "4096"], 0, True),
    (["place", "examples/loads/mixed-64.csv", "--gpus", "7"], 2, False),
]

# Plans whose last line, the command that looks closer at the winner, must give the same numbers.
NEXT = [
    ["plan", *H100_16, "--global-batch", "64"],
    ["plan", "deepseek-v2-lite", "dgx-h100", "--seq-len", "4096", "--global-batch", "256"],
    ["plan", "deepseek-v3", "dgx-h100x256", "--seq-len", "4096", "--global-batch", "15360", "--pin",
     "pp=16,ep=64,micro_batch=1"],
    ["plan", "qwen3-30b-a3b", "gb200-nvl72", "--seq-len", "8192", "--global-batch", "144", "--precision", "mxfp8"],
    ["plan", "llama3.1-70b", "node:4 gpu:8 H100-SXM5-80GB", "--seq-len", "8192", "--global-batch", "128"],
    ["plan", *H100_16, "--global-batch", "32", "--objective", "gpus"],
]

passed = 0
failed = 0


def report(name, problems):
    global passed, failed
    if problems:
        failed += 1
        print("not ok - " + name)
        for problem in problems[:10]:
            print("    " + problem)
    else:
        passed += 1
        print("ok - " + name)


def load_schemas():
    schemas = {}
    folder = os.path.join(TOP, "schemas")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            schemas[name] = json.load(file)
    return schemas


def make_validator(schema, schemas):
    """Schemas name each other by $id; `referencing` came with jsonschema 4.18, RefResolver went away later."""
    try:
        import referencing

        resources = [(s["$id"], referencing.Resource.from_contents(s)) for s in schemas.values()]
        registry = referencing.Registry().with_resources(resources)
        return jsonschema.Draft202012Validator(schema, registry=registry)
    except ImportError:
        store = {s["$id"]: s for s in schemas.values()}
        resolver = jsonschema.RefResolver.from_schema(schema, store=store)
        return jsonschema.Draft202012Validator(schema, resolver=resolver)


def violations(validator, document):
    return ["%s: %s" % ("/".join(str(p) for p in e.absolute_path) or "(top)", e.message[:300])
            for e in sorted(validator.iter_errors(document), key=lambda e: list(map(str, e.absolute_path)))]


def run(arguments):
    return subprocess.run([MOEPLAN, *arguments], cwd=TOP, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600, check=False)


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-6)


def check_estimate_sums(estimate, problems):
    for stage in estimate["memory"]["stages"]:
        parts = stage["parts"]
        total = sum(parts.values())
        if not near(total, stage["total_bytes"]):
            problems.append("stage %d: parts sum to %r, not %r" % (stage["stage"], total, stage["total_bytes"]))
        allocated = total - parts["runtime"] - parts["fragmentation"]
        if not near(allocated, stage["allocated_bytes"]):
            problems.append("stage %d: allocated %r, not %r" % (stage["stage"], stage["allocated_bytes"], allocated))
        if not stage["low_bytes"] <= stage["total_bytes"] <= stage["high_bytes"]:
            problems.append("stage %d: total outside its band" % stage["stage"])
    worst = max(estimate["memory"]["stages"], key=lambda s: s["total_bytes"])
    if not near(worst["total_bytes"], estimate["memory"]["stages"][estimate["memory"]["worst_stage"]]["total_bytes"]):
        problems.append("worst_stage is not the worst")
    oom = worst["total_bytes"] > estimate["memory"]["capacity_bytes"]
    if oom != (estimate["verdict"] == "oom"):
        problems.append("verdict %s does not follow from the memory" % estimate["verdict"])
    time = estimate["time"]
    if not near(sum(time["parts"].values()), time["step_s"]):
        problems.append("time parts sum to %r, not %r" % (sum(time["parts"].values()), time["step_s"]))
    if not time["step_s_low"] <= time["step_s"] <= time["step_s_high"]:
        problems.append("step outside its band")
    s = estimate["strategy"]
    if s["framework"] == "megatron" and s["tp"] * s["cp"] * s["pp"] * s["dp"] * s["gtp"] != s["world_size"]:
        problems.append("the dense grid is not the world")
    if s["micro_batch"] * s["micro_batches"] * s["dp"] != s["global_batch"]:
        problems.append("the batches do not multiply")


def check_sums(document, problems):
    kind = document["schema"].split("/")[1]
    if kind == "model":
        parameters = document["parameters"]
        if sum(parameters["components"].values()) != parameters["total"]:
            problems.append("components do not sum to the total")
        if len(document["shape"]["kind_of_layer"]) != document["shape"]["layers"]:
            problems.append("kind_of_layer has not an entry a layer")
    elif kind == "estimate":
        check_estimate_sums(document, problems)
    elif kind == "groups":
        for name, groups in document["groups"].items():
            if sorted(rank for group in groups for rank in group) != list(range(document["world"])):
                problems.append("the groups of %s do not partition the world" % name)
        if [s["group"] for s in document["spans"]] != list(document["groups"]):
            problems.append("spans and groups have different names")
    elif kind == "plan":
        check_plan_sums(document, problems)
    elif kind == "place":
        check_place_sums(document, problems)


def check_place_sums(document, problems):
    slots = document["gpus"] * document["slots_per_gpu"]
    for layer in document["layers"]:
        pairs = list(zip(layer["gpu_of_slot"], layer["expert_of_slot"]))
        if len(pairs) != slots or len(set(pairs)) != slots:
            problems.append("layer %d: slots missing, or an expert twice on a GPU" % layer["layer"])
        if set(layer["expert_of_slot"]) != set(range(slots - document["copies"])):
            problems.append("layer %d: not every expert is placed" % layer["layer"])
        if layer["lower_bound"] > layer["max_over_mean"] * (1 + 1e-9):
            problems.append("layer %d: the bound is above what it bounds" % layer["layer"])
        if not near(layer["gap"], max(0, layer["max_over_mean"] / layer["lower_bound"] - 1)):
            problems.append("layer %d: the gap is not between the two" % layer["layer"])


def check_plan_sums(document, problems):
    search = document["search"]
    estimates = [document["best"]] if document["best"] else []
    estimates += document["alternatives"]
    estimates += [document["near_miss"]] if "near_miss" in document else []
    for estimate in estimates:
        check_estimate_sums(estimate, problems)
    placed = sum(search["rejected"].values()) + sum(
        search[key] for key in ("does_not_fit", "over_limit", "not_looked_at", "pruned_by_bound", "evaluated",
                                 "exact"))
    if placed != search["candidates"]:
        problems.append("%d candidates, %d accounted for" % (search["candidates"], placed))
    if (document["best"] is None) != ("near_miss" in document or search["candidates"] == 0):
        problems.append("either a best plan or a near miss is wanted")
    if document["best"] and search["solver"]["objective"] == "time":
        if not near(search["solver"]["incumbent"], document["best"]["time"]["step_s"]):
            problems.append("the incumbent is not the best plan's step")
        if search["solver"]["bound"] > search["solver"]["incumbent"] * (1 + 1e-9):
            problems.append("the bound is above the incumbent")


def test_emit(schemas):
    plan = run(["estimate", *H100_16, "--pp", "2", "--ep", "8", "--global-batch", "64", "--format", "json"]).stdout
    for target, status in (("megatron", 0), ("torchrun", 0), ("torchtitan", 1), ("nothing", 2)):
        result = subprocess.run([MOEPLAN, "emit", "-", "--for", target, "--format", "json"], input=plan, text=True,
                                capture_output=True, timeout=60, check=False)
        document = json.loads(result.stdout)
        problems = violations(make_validator(schemas["emit.output.schema.json"], schemas), document)
        if result.returncode != status or ("files" in document) != (status == 0):
            problems.append("exit status %d, not %d" % (result.returncode, status))
        report("emit " + target, problems)


CHECKS = [
    (["tests/rules/MEG-003-bad.sh", "tests/rules/MEG-075-bad.sh"], 1),
    (["tests/rules/DS-001-bad.json", "--world-size", "16"], 0),
    (["--case", "tests/rules/ARI-003-bad.case.json"], 1),
    (["--world-size", "24", "--tp", "2", "--ep", "8"], 0),
    (["--world-size", "24", "--tp", "2", "--ep", "16"], 1),
    (["--dp", "4", "--ep", "8", "--tp", "2", "--pp", "2", "--convention", "product"], 0),
    (["--model", "mixtral-8x7b", "--cluster", "dgx-h100x2", "--seq-len", "4096", "--global-batch", "256",
      "--pp", "2", "--ep", "2"], 1),
    (["--from", "tests/prop/no-such-plan.json", "tests/prop/no-such-plan.json"], 2),
    ([], 2),
]

EXPLAINED = [("MEG-003", 0), ("optimizer", 0), ("edp", 0), ("hang", 0), ("launch", 0), ("MEG-999", 2), ("slow {}", 0),
             ("oom {}", 0), ("loss-spike {}", 0), ("tp-vs-ep {}", 0)]


def test_check(schemas):
    """A configuration with errors has a verdict all the same; only what cannot be read has none."""
    for arguments, status in CHECKS:
        result = run(["check", *arguments, "--format", "json"])
        document = json.loads(result.stdout)
        problems = violations(make_validator(schemas["check.output.schema.json"], schemas), document)
        errors = [d for d in document["diagnostics"] if d["severity"] == "error"]
        if result.returncode != status:
            problems.append("exit status %d, not %d" % (result.returncode, status))
        if ("verdict" in document) != (status < 2) or bool(errors) != (status > 0):
            problems.append("verdict %s with %d errors" % (document.get("verdict"), len(errors)))
        report("check " + " ".join(arguments), problems)


def test_explain(schemas):
    plan = run(["estimate", *H100_16, "--pp", "2", "--ep", "4", "--global-batch", "64", "--format", "json"]).stdout
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(plan)
        file.flush()
        for words, status in EXPLAINED:
            result = run(["explain", *words.format(file.name).split(), "--format", "json"])
            document = json.loads(result.stdout)
            problems = violations(make_validator(schemas["explain.output.schema.json"], schemas), document)
            if result.returncode != status:
                problems.append("exit status %d, not %d" % (result.returncode, status))
            report("explain " + words, problems)


def test_outputs(schemas):
    for arguments, status, answered in OUTPUTS:
        kind = arguments[0]
        result = run([*arguments, "--format", "json"])
        problems = []
        if result.returncode != status:
            problems.append("exit status %d, not %d" % (result.returncode, status))
        if result.stderr:
            problems.append("standard error: " + result.stderr[:300])
        try:
            document = json.loads(result.stdout, parse_constant=lambda c: problems.append("has " + c))
        except ValueError as error:
            report("document: " + " ".join(arguments), problems + [str(error)])
            continue
        validator = make_validator(schemas[kind + ".output.schema.json"], schemas)
        problems += violations(validator, document)
        errors = [d for d in document["diagnostics"] if d["severity"] == "error"]
        if answered and errors:
            problems.append("an answer with errors: " + errors[0]["message"])
        if not answered and not errors:
            problems.append("no answer and no error")
        if answered and not problems:
            check_sums(document, problems)
        report("document: " + " ".join(arguments), problems)


def test_next(_schemas):
    """What plan found is what estimate says of it."""
    for arguments in NEXT:
        name = "next: " + " ".join(arguments)
        plan = json.loads(run([*arguments, "--format", "json"]).stdout)["best"]
        lines = [line for line in run(arguments).stdout.splitlines() if line.startswith("next ")]
        if plan is None or len(lines) != 1:
            report(name, ["no plan, or not one line that says what is next"])
            continue
        result = run([*shlex.split(lines[0])[2:], "--format", "json"])
        try:
            estimate = json.loads(result.stdout)
        except ValueError as error:
            report(name, [str(error), result.stderr[:300]])
            continue
        problems = ["%s: %r, planned %r" % (key, estimate.get(key), plan[key])
                    for key in ("verdict", "skewed_verdict", "strategy", "layout", "memory", "time", "traffic")
                    if estimate.get(key) != plan[key]]
        report(name, problems)


# How a file of each kind is handed to the program.
READERS = {
    "model": lambda path: ["model", path],
    "cluster": lambda path: ["groups", path],
    "job": lambda path: ["groups", "dgx-h100", path],
    "moeplan": lambda path: ["groups", path],
}


def test_inputs(schemas):
    folder = os.path.join(HERE, "inputs")
    for name in sorted(os.listdir(folder)):
        verdict, kind, _ = name.split("-", 2)
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        found = violations(make_validator(schemas[kind + ".schema.json"], schemas), document)
        result = run(READERS[kind](path))
        problems = []
        if verdict == "good":
            problems += ["schema: " + v for v in found]
            if result.returncode != 0:
                problems.append("moeplan: " + result.stderr[:300])
        else:
            if not found:
                problems.append("the schema takes it")
            if result.returncode != 2:
                problems.append("moeplan ends with %d: %s" % (result.returncode, result.stderr[:300]))
        report("input: " + name, problems)


def options_of(command, sections):
    """Option names of --help under these headings, as keys of files."""
    keys, heading = set(), None
    for line in run([command, "--help"]).stdout.splitlines():
        if line and not line.startswith(" "):
            heading = line
        option = re.match(r"  --([a-z-]+)", line)
        if option and heading in sections:
            keys.add(option.group(1).replace("-", "_"))
    return keys


def test_keys(schemas):
    for name, command, sections, other in (
            ("strategy", "estimate", ["Strategy"], set()),
            ("job", "plan", ["Search", "Kept by the search"], {"lp"})):
        schema = schemas["job.schema.json"] if name == "job" else schemas["moeplan.schema.json"]["$defs"]["strategy"]
        keys = set(schema["properties"]) - {"schema"}
        options = options_of(command, sections) - other
        problems = ["'%s' is an option and no key of the schema" % k for k in sorted(options - keys)]
        problems += ["'%s' is a key of the schema and no option" % k for k in sorted(keys - options)]
        report("keys: " + name, problems if options else ["no options found in --help"])


def main():
    schemas = load_schemas()
    for name, schema in schemas.items():
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
            report("schema: " + name, [])
        except jsonschema.SchemaError as error:
            report("schema: " + name, [error.message])
    test_emit(schemas)
    test_check(schemas)
    test_explain(schemas)
    test_outputs(schemas)
    test_next(schemas)
    test_inputs(schemas)
    test_keys(schemas)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
