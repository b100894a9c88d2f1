# SPDX-License-Identifier: GPL-3.0-or-later
"""Random plans, what we emit for them, and what the real frameworks say of it.

usage: MOEPLAN=PROGRAM python3 tests/conformance/cases.py TARGET CASES [SEED]

Valid: random strategies that our rules accept are emitted; the framework must accept every one, with
the same micro-batches and the same groups. Invalid: one or two settings of a valid one are changed.
Where our rules still accept, it is emitted anew and must be accepted; where they do not, the same
change is made in the emitted files by hand, and the framework must refuse. Differences are printed,
those of rules that are stricter for a reason that is known (LATER) apart.
`moeplan check` is then given the files of both kinds and must say what our rules say.
Closing line: "N passed, N failed".
"""
import collections
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile

PROGRAM = os.environ["MOEPLAN"]
HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.join(HERE, "../../build/conformance/trixie")

HYBRID = os.path.join(HERE, "../golden/inputs/hybrid.json")  # Nemotron-3 Nano: Mamba-2, attention, experts

MODELS = {
    "megatron": ["qwen3-30b-a3b", "mixtral-8x7b", "deepseek-v3", "deepseek-v2-lite", "llama3.1-8b",
                 "qwen3-235b-a22b", "gpt-oss-120b", "glm-4.5", "qwen3-32b", "kimi-k2", "llama4-scout",
                 os.path.join(HERE, "qwen3-next-80b-a3b.json"),
                 HYBRID],
    "deepspeed": ["qwen3-30b-a3b", "mixtral-8x7b", "deepseek-v2-lite", "llama3.1-8b", "mixtral-8x22b", "qwen3-8b"],
    "torchtitan": ["qwen3-30b-a3b", "deepseek-v3", "deepseek-v2-lite", "llama3.1-8b", "llama3.1-70b",
                   "qwen3-235b-a22b", "gpt-oss-120b", "qwen3-32b", "deepseek-v2"],
    "accelerate": ["llama3.1-8b", "llama3.1-70b", "qwen3-8b", "qwen3-30b-a3b"],
}
CLUSTERS = ["dgx-h100", "dgx-h100x2", "dgx-h100x4", "dgx-h100x8", "dgx-h100x16", "gb200-nvl72", "dgx-b200x2"]
POWERS = [1, 1, 1, 2, 2, 4, 8]

# Rules of ours that are stricter than what runs here: the failure comes later, or never and in silence.
ALL = ("megatron", "deepspeed", "torchtitan", "torchtitan@0.2.2")
LATER = {
    "MEG-029": (ALL, "the interleaved schedule refuses at the first step (core/pipeline_parallel/schedules.py)"),
    "MEG-030": (ALL, "the interleaved schedule refuses at the first step (core/pipeline_parallel/schedules.py)"),
    "MEG-043": (ALL, "the scatter of sequence parallelism refuses in the first forward pass "
                     "(core/tensor_parallel/mappings.py)"),
    "MEG-072": (ALL, "linear layers refuse when the model is built (core/utils.py divide())"),
    "MEG-077": (ALL, "the dispatcher refuses when the model is built (Megatron token_dispatcher.py, torchtitan "
                     "models/common/token_dispatcher.py)"),
    "MEG-122": (("megatron",), "Transformer Engine refuses such tokens at the first step (pytorch/utils.py)"),
    "MEG-123": (("megatron",), "Transformer Engine refuses such widths at the first step (pytorch/utils.py)"),
    "MEG-040": (("deepspeed",), "heads are refused when the attention of AutoTP or the client is built"),
    "MEG-041": (("deepspeed",), "heads are refused when the attention of AutoTP or the client is built"),
    "MEG-070": (("torchtitan", "torchtitan@0.2.2"), "EP of a dense model is ignored in silence (config/configs.py)"),
    "TT-014": (("torchtitan@0.2.2",), "0.2 has no check: a view of local heads fails in the first forward pass"),
    "GRID-008": (ALL, "a stage without layers has no parameters: its optimizer fails"),
    "GRID-011": (ALL, "ETP without experts means nothing, and nobody looks at it"),
}


LATER_OF_MAMBA = {"MEG-040": "Mamba layers refuse when the model is built (core/ssm/mamba_mixer.py)"}


# AutoTP gives ranks uneven numbers of heads: check warns, and the planner, which knows even ones alone, refuses.
UNEVEN = {"DS-065"}
# A search leaves out what means nothing; in a script that runs all the same, check takes it.
HARMLESS = {"GRID-011"}


def is_later(target, rules, model):
    return all(rule in LATER and target in LATER[rule][0] or model == HYBRID and rule in LATER_OF_MAMBA
               for rule in rules)


def run(*words, text=None):
    return subprocess.run([PROGRAM, *words], input=text, capture_output=True, text=True, timeout=120)


def options_of(strategy):
    words = []
    for name, value in strategy.items():
        if value is True:
            words.append("--" + name)
        elif value is not None and value is not False:
            words += ["--" + name, str(value)]
    return words


def estimate(target, version, model, cluster, strategy):
    """The document of the strategy, and whether our rules accept it."""
    framework = "megatron" if target == "accelerate" else target + ("@" + version if version else "")
    result = run("estimate", model, cluster, "--framework", framework, *options_of(strategy), "--format", "json")
    if result.returncode not in (0, 1) or not result.stdout:
        return None, None
    document = json.loads(result.stdout)
    errors = [d for d in document["diagnostics"] if d["severity"] == "error"]
    rules = [d["rule"] for d in errors if d["rule"]]
    if document.get("verdict") == "invalid" or rules:
        return document, rules or ["?"]
    return (document, []) if "memory" in document else (None, None)


def emit(document, target, version):
    result = run("emit", "-", "--for", target + ("@" + version if version else ""), "--format", "json",
                 text=json.dumps(document))
    answer = json.loads(result.stdout)
    if result.returncode != 0:
        return None, "; ".join(d["message"] for d in answer["diagnostics"] if d["severity"] == "error")
    return {f["name"]: f["text"] for f in answer["files"]}, None


# --- random strategies ----------------------------------------------------------------------------


def draw(rng, target):
    pp = rng.choice([1, 1, 2, 4, 8])
    strategy = {
        "tp": rng.choice(POWERS), "pp": pp, "ep": rng.choice([1, 2, 4, 8, 8, 16, 32]),
        "micro-batch": rng.choice([1, 1, 2, 4]), "seq-len": rng.choice([2048, 4096, 8192]),
        "global-batch": rng.choice([64, 128, 256, 512, 1024]),
        "recompute": rng.choice(["none", "none", "full", "selective"]),
    }
    if target == "megatron":
        strategy |= {
            "cp": rng.choice([1, 1, 1, 2, 4]), "etp": rng.choice([None, None, 1, 2]),
            "vpp": rng.choice([None, None, 2, 3]) if pp > 1 else None,
            "zero": rng.choice([1, 1, 1, 0, 2, 3]),
            "dispatcher": rng.choice([None, "alltoall", "allgather", "deepep", "hybridep"]),
            "capacity": rng.choice([None, None, 1.25, 2]),
            "precision": rng.choice(["bf16", "bf16", "fp8", "fp8-blockwise", "mxfp8", "nvfp4", "fp16"]),
            "optimizer": rng.choice(["adam", "adam", "adam:bf16"]),
            "offload": rng.choice([None, None, None, "optimizer", "optimizer:0.5"]),
            "grad-type": rng.choice([None, None, "bf16"]), "loss": rng.choice(["fused", "eager"]),
            "overlap": rng.choice([None, "none", "dp,tp", "dp,ep", "dp,tp,ep,pp"]),
            "order": rng.choice([None, None, None, "tp-cp-ep-pp-dp"]),
            "recompute": rng.choice(["none", "full", "full:2", "selective:core_attn+moe_act",
                                     "selective:mla_up_proj", "selective:layernorm+mlp", "selective:moe"]),
        }
    elif target == "deepspeed":
        strategy |= {
            "zero": rng.choice([0, 1, 1, 2, 3]), "auto-ep": rng.choice([False, False, True]),
            "expert-tp": rng.choice([None, None, "on"]), "data-before-expert": rng.choice([False, False, True]),
            "capacity": rng.choice([None, None, 1.25]), "precision": rng.choice(["bf16", "bf16", "fp16"]),
            "offload": rng.choice([None, None, "optimizer", "optimizer:0.5"]),
            "overlap": rng.choice([None, "none", "dp,tp"]), "grad-type": rng.choice([None, "bf16"]),
        }
    elif target == "accelerate":
        strategy |= {
            "pp": 1, "ep": 1, "etp": 1, "cp": rng.choice([1, 1, 2, 4]), "zero": rng.choice([0, 2, 3, 3]),
            "recompute": rng.choice(["none", "full"]), "precision": rng.choice(["bf16", "fp16"]),
            "loss": rng.choice(["fused", "eager"]),
        }
    else:
        strategy |= {
            "cp": rng.choice([1, 1, 1, 2, 4]), "vpp": rng.choice([None, None, 2, 3]) if pp > 1 else None,
            "zero": rng.choice([3, 3, 2]), "loss": rng.choice(["compiled", "compiled", "eager", "fused"]),
            "dp-replicate": rng.choice([None, None, 2, 4]), "overlap": rng.choice([None, None, "dp,tp"]),
            "dispatcher": rng.choice([None, None, None, "deepep"]),
        }
    return strategy


CHANGES = {
    "tp": [1, 2, 3, 4, 5, 6, 8, 16, 32], "pp": [1, 2, 3, 4, 5, 6, 7, 8, 16], "cp": [1, 2, 3, 4, 5, 8, 16],
    "ep": [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 64, 256], "etp": [1, 2, 3, 4, 8],
    "micro-batch": [1, 2, 3, 5, 7, 64], "global-batch": [1, 7, 30, 63, 100, 250, 256],
    "seq-len": [2048, 4095, 4100, 1000], "zero": [0, 1, 2, 3],
}
AXES = {
    "megatron": ["tp", "pp", "cp", "ep", "etp", "micro-batch", "global-batch", "seq-len"],
    "deepspeed": ["tp", "pp", "ep", "micro-batch", "global-batch", "zero"],
    "torchtitan": ["tp", "pp", "cp", "ep", "global-batch", "seq-len"],
}


def has_setting(axis, case):
    """Do the emitted files of DeepSpeed hold it? Stages and groups of ranks stand in the client's code, if at all."""
    client = case["files"].get("deepspeed_client.py", "")
    if axis == "pp":
        return "num_pp" in client
    if axis == "tp":
        return "num_mp" in client or "tensor_parallel" in case["files"]["ds_config.json"] or case["experts"] == 0
    return axis != "ep" or case["experts"] > 0


def change(rng, target, strategy, case):
    changed = dict(strategy)
    axes = [a for a in AXES[target] if not (a == "pp" and strategy.get("vpp"))]
    if target == "deepspeed":
        axes = [a for a in axes if has_setting(a, case)]
    for axis in rng.sample(axes, rng.choice([1, 1, 2])):
        changed[axis] = rng.choice([v for v in CHANGES[axis] if v != changed.get(axis)])
    return changed


# --- the same change in emitted files -------------------------------------------------------------


def set_argument(words, name, values):
    """--name and its values put, changed or (None) taken out of an argument list."""
    flag = "--" + name
    out, i = [], 0
    while i < len(words):
        if words[i] == flag:
            i += 1
            while i < len(words) and not words[i].startswith("--"):
                i += 1
        else:
            out.append(words[i])
            i += 1
    return out if values is None else [*out, flag, *map(str, values)]


def change_megatron(case, old, new):
    words = case["arguments"]
    names = {"tp": "tensor-model-parallel-size", "pp": "pipeline-model-parallel-size", "cp": "context-parallel-size",
             "ep": "expert-model-parallel-size", "etp": "expert-tensor-parallel-size", "micro-batch": "micro-batch-size",
             "global-batch": "global-batch-size", "seq-len": "seq-length"}
    for axis, value in new.items():
        if axis in names and value != old.get(axis) and value is not None:
            words = set_argument(words, names[axis], [value])
    if new["tp"] != old["tp"]:
        words = set_argument(words, "sequence-parallel", [] if new["tp"] > 1 else None)
        if new["tp"] == 1:
            words = set_argument(words, "tp-comm-overlap", None)
    if new["pp"] != old["pp"]:
        words = set_argument(words, "pipeline-model-parallel-layout", None)
    case["arguments"] = words
    fsdp = "--use-megatron-fsdp" in words
    case["connections"] = None if fsdp else "1" if new["tp"] > 1 or new["cp"] > 1 else None
    return case


def replace_python(text, name, value):
    return re.sub(rf"\b{name}=[^,\n)]*", f"{name}={value}", text)


def change_deepspeed(case, old, new):
    config = json.loads(case["files"]["ds_config.json"])
    client = case["files"].get("deepspeed_client.py", "")
    world = case["world"]
    dp = world // (new["tp"] * new["pp"]) or 1
    if "tensor_parallel" in config or (case["experts"] == 0 and new["tp"] > 1 and new["pp"] == 1):
        config["tensor_parallel"] = {"autotp_size": new["tp"]}
    if "expert_parallel" in config:
        config["expert_parallel"]["autoep_size"] = new["ep"]
    config["train_micro_batch_size_per_gpu"] = new["micro-batch"]
    config["gradient_accumulation_steps"] = new["global-batch"] // (new["micro-batch"] * dp)
    config["train_batch_size"] = new["global-batch"] * (world // dp if "tensor_parallel" in config else 1)
    config["zero_optimization"]["stage"] = new["zero"]
    client = replace_python(client, "ep_size", new["ep"])
    for name, value in (("num_pp", new["pp"]), ("num_mp", new["tp"]), ("num_dp", dp)):
        client = replace_python(client, name, value)
    case["files"] = {"ds_config.json": json.dumps(config), "deepspeed_client.py": client}
    case |= {"tp": new["tp"], "pp": new["pp"]}
    return case


def change_torchtitan(case, old, new):
    name = "torchtitan.toml" if "torchtitan.toml" in case["files"] else "torchtitan_recipe.py"
    text = case["files"][name]
    values = {"tensor_parallel_degree": new["tp"], "pipeline_parallel_degree": new["pp"],
              "context_parallel_degree": new["cp"], "expert_parallel_degree": new["ep"],
              "global_batch_size": new["global-batch"], "seq_len": new["seq-len"]}
    for key, value in values.items():
        text = re.sub(rf"^(\s*{key} ?= ?)[^,\n]*", rf"\g<1>{value}", text, flags=re.M)
    # What is left over shards, as with -1.
    shard = case["world"] // (new["tp"] * new["pp"] * new["cp"] * (new.get("dp-replicate") or 1))
    text = re.sub(r"^(\s*data_parallel_shard_degree ?= ?)[^,\n]*", rf"\g<1>{max(shard, 1)}", text, flags=re.M)
    case["files"] = {name: text}
    return case


def change_accelerate(rng, case):
    """No strategy stands behind it: sizes are changed in the fragment, and `moeplan check` is our verdict."""
    case = json.loads(json.dumps(case))
    text = case["files"]["accelerate_mesh.py"]
    for name in rng.sample(["dp_replicate_size", "dp_shard_size", "tp_size", "cp_size"], rng.choice([1, 2, 2, 3])):
        text = replace_python(text, name, rng.choice([1, 2, 3, 4, 8, 16]))
    case["files"] = {"accelerate_mesh.py": text}
    wrong, why = check_files("accelerate", case)
    sizes = " ".join(re.findall(r"\w+_size=\d+", text))
    case |= {"groups": {}, "micro_batches": None, "rules": [why] if wrong else [], "what": f"{case['what']}: {sizes}"}
    return case


CHANGE = {"megatron": change_megatron, "deepspeed": change_deepspeed, "torchtitan": change_torchtitan}


# --- cases for the drivers ------------------------------------------------------------------------


def script_arguments(script):
    """Runs the emitted script with a torchrun that prints what it is started with."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pretrain.sh")
        open(path, "w").write(script)
        fake = os.path.join(folder, "torchrun")
        open(fake, "w").write('#!/bin/sh\nprintf "%s\\0" "${CUDA_DEVICE_MAX_CONNECTIONS:-}" "$@"\n')
        os.chmod(fake, 0o755)
        environment = {"PATH": folder + ":" + os.environ["PATH"], "NODE_RANK": "0", "MASTER_ADDR": "localhost"}
        out = subprocess.run(["bash", path], env=environment, capture_output=True, text=True, check=True).stdout
    connections, *words = out.split("\0")[:-1]
    program = next(i for i, word in enumerate(words) if re.fullmatch(r"pretrain_\w+\.py", word))
    return connections, words[program + 1:]


def count_layers(layout):
    """Layers of each chunk of "Et*3|(tt|)*29m|L"."""
    layout = re.sub(r"\(([^()]*)\)\*(\d+)", lambda m: m[1] * int(m[2]), layout)
    return [re.sub(r"t\*(\d+)", lambda m: "t" * int(m[1]), part).count("t") for part in layout.split("|")]


def make_case(target, document, files, model):
    strategy, layers = document["strategy"], document["model"]["layers"]
    case = {
        "model": model, "stages": count_layers(document["layout"] or ""),
        "world": strategy["world_size"], "micro_batches": strategy["micro_batches"], "layers": layers,
        "tp": strategy["tp"], "pp": strategy["pp"], "global_batch": strategy["global_batch"],
        "experts": strategy["experts_per_rank"] * strategy["ep"], "files": files,
        "data_first": strategy.get("data_before_expert", False),
    }
    ranks, _ = emit(document, "ranks", None)
    case["groups"] = json.loads(ranks["ranks.json"])["groups"]
    if not case["experts"]:  # groups of experts mean nothing in a dense model
        case["groups"] = {name: groups for name, groups in case["groups"].items()
                          if not name.startswith(("ep", "expert"))}
    if target == "megatron":
        connections, words = script_arguments(files["pretrain.sh"])
        gpu = document["cluster"]["gpu"]
        case |= {"arguments": words, "connections": connections, "files": {},
                 "capability": 10 if gpu.startswith(("B200", "GB200", "B300", "GB300")) else 9}
    return case


def judge(target, version, cases):
    """The framework's verdict by case: None or its message."""
    driver = f"drive_{target}.py"
    os.makedirs(os.path.join(TREE, "conformance"), exist_ok=True)
    with open(os.path.join(HERE, driver)) as source, open(os.path.join(TREE, "conformance", driver), "w") as copy:
        copy.write(source.read())
    words = ["sh", os.path.join(HERE, "inside.sh"), "/venv/bin/python", "/conformance/" + driver]
    if version == "0.2.2":
        words.append("old")
    result = subprocess.run(words, input="".join(json.dumps(c) + "\n" for c in cases), capture_output=True, text=True)
    verdicts = {}
    for line in result.stdout.splitlines():
        if line.startswith('{"id"'):
            verdict = json.loads(line)
            verdicts[verdict["id"]] = verdict["problem"]
    if len(verdicts) != len(cases):
        sys.exit(f"{driver} judged {len(verdicts)} of {len(cases)} cases:\n{result.stderr[-3000:]}")
    return verdicts


# --- what `moeplan check` says of the same files ---------------------------------------------------


def check_files(target, case):
    """Exit status of `moeplan check` on the native files of a case and a line that starts its ranks."""
    world, node = case["world"], min(8, case["world"])
    with tempfile.TemporaryDirectory() as folder:
        files = dict(case["files"])
        start = f"torchrun --nnodes {world // node} --nproc-per-node {node}"
        if target == "megatron":
            files = {"pretrain.sh": f"{start} pretrain_gpt.py {shlex.join(case['arguments'])}\n"}
            if case["connections"]:
                files["pretrain.sh"] = f"export CUDA_DEVICE_MAX_CONNECTIONS={case['connections']}\n" + files["pretrain.sh"]
        else:
            files["start.sh"] = f"{start} train.py\n"
        for name, text in files.items():
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        # DeepSpeed's files say nothing of the model, Megatron-LM's arguments not all of a hybrid one
        model = ["--model", case["model"]] if target == "deepspeed" or case["model"] == HYBRID else []
        result = run("check", *(os.path.join(folder, name) for name in files), *model, "--format", "json")
    if result.returncode not in (0, 1):
        return None, result.stdout[-400:]
    errors = [d for d in json.loads(result.stdout)["diagnostics"]
              if d["severity"] == "error" or d["rule"] in UNEVEN and case.get("rules")]
    return bool(errors), ", ".join(f"{d['rule']}: {d['message'][:90]}" for d in errors[:3])


# --- the two proofs -------------------------------------------------------------------------------


def draw_valid(rng, target, version, wanted):
    cases, refused = [], collections.Counter()
    tries = 0
    while len(cases) < wanted:
        tries += 1
        if tries > 400 * wanted:
            sys.exit(f"{target}: only {len(cases)} of {wanted} valid plans in {tries} tries")
        model, cluster = rng.choice(MODELS[target]), rng.choice(CLUSTERS)
        strategy = draw(rng, target)
        document, rules = estimate(target, version, model, cluster, strategy)
        if document is None or rules:
            continue
        files, reason = emit(document, target, version)
        if files is None:
            refused[reason] += 1
            continue
        case = make_case(target, document, files, model)
        case |= {"id": len(cases), "what": f"{model} {cluster} {' '.join(options_of(strategy))}"}
        cases.append((case, (model, cluster, strategy, document)))
    return cases, refused


def draw_invalid(rng, target, version, valid, wanted):
    cases = []
    while len(cases) < wanted:
        base, (model, cluster, strategy, document) = rng.choice(valid)
        if target == "accelerate":
            cases.append(change_accelerate(rng, base) | {"id": len(cases)})
            continue
        changed = change(rng, target, strategy, base)
        other, rules = estimate(target, version, model, cluster, changed)
        if other is None:
            continue
        if rules:
            if "etp" in changed:  # where it is not given it follows from the others
                changed["etp"] = other["strategy"]["etp"]
            case = CHANGE[target](json.loads(json.dumps(base)), {"cp": 1, **strategy}, {"cp": 1, **changed})
            case |= {"groups": {}, "micro_batches": None, "global_batch": None}
        else:
            if rng.random() < 0.6:  # most of them are to be wrong
                continue
            files, reason = emit(other, target, version)
            if files is None:
                continue
            case = make_case(target, other, files, model)
        case |= {"id": len(cases), "rules": rules, "what": f"{model} {cluster} {' '.join(options_of(changed))}"}
        cases.append(case)
    return cases


def report_valid(target, version, cases, refused, verdicts):
    wrong = [(c, verdicts[c["id"]]) for c, _ in cases if verdicts[c["id"]]]
    print(f"{target} {version}: {len(cases) - len(wrong)} of {len(cases)} valid plans accepted")
    for reason, count in refused.most_common(8):
        print(f"    {count:5} refused by emit: {reason[:110]}")
    for case, problem in wrong[:10]:
        print(f"    REFUSED {case['what']}\n        {problem[:300]}")
    return len(cases) - len(wrong), len(wrong)


def report_invalid(target, version, cases, verdicts):
    name = target + ("@" + version if version else "")
    agreed = later = 0
    differences = []
    for case in cases:
        problem, rules = verdicts[case["id"]], case["rules"]
        if bool(problem) == bool(rules):
            agreed += 1
        elif rules and is_later(name, rules, case["model"]):
            later += 1
        else:
            differences.append((case, problem, rules))
    broken = sum(bool(c["rules"]) for c in cases)
    print(f"{target} {version}: {len(cases)} changed plans, {broken} of them wrong by our rules; verdicts agree on "
          f"{agreed}, {later} are stricter for a reason, {len(differences)} differ")
    counted = collections.Counter(r for c in cases for r in set(c["rules"]) if not verdicts[c["id"]])
    for rule, count in counted.most_common():
        if is_later(name, [rule], HYBRID):
            print(f"    {count:5} {rule}: {LATER[rule][1] if is_later(name, [rule], None) else LATER_OF_MAMBA[rule]}")
    for case, problem, rules in differences[:10]:
        print(f"    DIFFERS {case['what']}\n        ours: {', '.join(rules) or 'valid'}; theirs: {(problem or 'valid')[:300]}")
    return agreed + later, len(differences)


def report_check(target, version, valid, changed):
    """`moeplan check` reads the same files: it must find mistakes in those that our rules call wrong, and in no other."""
    differences = []
    for case, rules in [(c, []) for c, _ in valid] + [(c, c["rules"]) for c in changed]:
        says, why = check_files(target, case)
        if says is None or says != bool(rules) and (says or not HARMLESS.issuperset(rules)):
            differences.append((case, rules, why))
    total = len(valid) + len(changed)
    print(f"{target} {version}: moeplan check agrees on {total - len(differences)} of {total} configurations")
    for case, rules, why in differences[:10]:
        print(f"    CHECK DIFFERS {case['what']}\n        rules: {', '.join(rules) or 'none'}; check: {why[:300] or 'ok'}")
    return total - len(differences), len(differences)


def main():
    target, wanted = sys.argv[1], int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    target, _, version = target.partition("@")
    rng = random.Random(f"{seed} {target} {version}")
    valid, refused = draw_valid(rng, target, version, wanted)
    good, bad = report_valid(target, version, valid, refused, judge(target, version, [c for c, _ in valid]))
    changed = draw_invalid(rng, target, version, valid, wanted)
    agreed, differ = report_invalid(target, version, changed, judge(target, version, changed))
    same, other = report_check(target, version, valid, changed)
    print(f"{good + agreed + same} passed, {bad + differ + other} failed")
    return bad + differ + other > 0


sys.exit(main())
