#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes man/moeplan-rules.7 from the rule tables: MOEPLAN=PROGRAM tests/rules/page.py >man/moeplan-rules.7"""

import json
import os
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOEPLAN = os.environ.get("MOEPLAN", os.path.join(TOP, "moeplan"))
GROUPS = [("MEG", "Megatron-LM"), ("DS", "DeepSpeed"), ("TT", "torchtitan"),
          ("TUT FS ACC MB", "Tutel, FairScale, Accelerate, Megatron-Bridge"), ("GRID", "Grids"),
          ("LAU", "Launchers and environment"), ("ARI", "Arithmetic"), ("MEM", "Memory"), ("HEA", "Health")]
HEAD = r'''.\" SPDX-License-Identifier: GPL-3.0-or-later
.\" Made by tests/rules/page.py from the rule tables: do not edit.
.Dd November 29, 2026
.Dt MOEPLAN-RULES 7
.Os
.Sh NAME
.Nm moeplan-rules
.Nd rules that moeplan check knows
.Sh DESCRIPTION
.Xr moeplan-check 1
decides these rules for the framework and release of a configuration.
A value in angle brackets is filled in.
A rule is an error, a warning or a note;
.Dq silent
means that the framework itself says nothing.
.Ql moeplan explain ID
tells the exact condition and the source.
'''
TAIL = r'''.Sh FACTS
Formulas, defaults and habits that no configuration decides.
.Bl -tag -width Ds
'''


def roff(text):
    text = text.replace("\\", "\\e").replace("…", "...").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def release(rule):
    if rule["since"] and rule["until"]:
        return f"{rule['since']} to before {rule['until']}"
    if rule["since"]:
        return f"from {rule['since']}"
    return f"before {rule['until']}" if rule["until"] else ""


def item(rule):
    kind = rule["severity"] + (", silent" if rule["silent"] else "")
    lines = [f".It Sy {rule['id']}", roff(f"({', '.join(filter(None, [kind, release(rule)]))})"),
             roff(rule["message"])]
    if rule["hint"]:
        lines += [".br", roff(rule["hint"].replace(" || ", "; or "))]
    return lines


def main():
    run = subprocess.run([MOEPLAN, "explain", "rules", "--format", "json"], capture_output=True, text=True,
                         check=True)
    document = json.loads(run.stdout)
    lines = [HEAD.rstrip("\n")]
    for prefixes, title in GROUPS:
        rules = [r for r in document["rules"] if r["id"].split("-")[0] in prefixes.split()]
        lines += [f".Ss {title}", ".Bl -tag -width Ds"]
        for rule in sorted(rules, key=lambda r: r["id"]):
            lines += item(rule)
        lines.append(".El")
    lines.append(TAIL.rstrip("\n"))
    for fact in document["facts"]:
        lines += [f".It Sy {fact['id']}", roff(f"{fact['about']}: {fact['text']}")]
    lines += [".El", ".Sh SEE ALSO", ".Xr moeplan-check 1 ,", ".Xr moeplan-explain 1"]
    print("\n".join(lines))


main()
