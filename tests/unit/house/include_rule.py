#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks who may include what (design: data flows one way), and prints TAP.

shim never includes a concrete backend; a backend includes backend.h, its own folder and small
utilities of shim/util; LLVM headers appear only in backends/cpu/jit; vendor headers nowhere but in
the vendor's folder; the stages of the cpu backend only look downwards (exec reaches the compiler
through jit/engine.h alone).
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')


def sources(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".def", ".S"):
                yield path


def includes(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def resolve(path, name):
    """Path below the root of a quoted include, or None."""
    for base in (path.parent, ROOT, ROOT / "shim", ROOT / "backends/cpu"):
        target = (base / name).resolve()
        if target.is_file() and ROOT.resolve() in target.parents:
            return target.relative_to(ROOT.resolve()).as_posix()
    return None


def check(folders, allowed):
    """allowed(path below root of the including file, target) -> reason or None"""
    wrong = []
    for path in sources(*folders):
        here = path.relative_to(ROOT).as_posix()
        for number, kind, name in includes(path):
            target = resolve(path, name) if kind == '"' else None
            reason = allowed(here, target, name)
            if reason:
                wrong.append(f"{here}:{number}: {name}: {reason}")
    return wrong


def shim_rule(here, target, name):
    if target and target.startswith("backends/") and target != "backends/backend.h":
        return "shim includes a concrete backend"
    return None


def llvm_rule(here, target, name):
    if name.startswith(("llvm/", "llvm-c/")) and not here.startswith("backends/cpu/jit/"):
        return "LLVM headers belong in backends/cpu/jit"
    return None


def backend_rule(here, target, name):
    if target and target.startswith("shim/") and not target.startswith("shim/util/"):
        return "a backend includes more of the shim than shim/util"
    if target and target.startswith("backends/"):
        mine = "/".join(here.split("/")[:2]) + "/"
        if target != "backends/backend.h" and not target.startswith(mine):
            return "a backend includes another backend"
    return None


# What each stage of the cpu backend may include besides itself.
STAGES = {
    "ptx": [],
    "ir": ["ptx"],
    "jit": ["ir", "ptx"],
    "exec": [],
}
DOORS = ["backends/cpu/kernel_abi.h", "backends/cpu/jit/engine.h", "backends/cpu/jit/jit.h",
         "backends/backend.h"]


def stage_rule(here, target, name):
    parts = here.split("/")
    stage = parts[2] if len(parts) > 3 else None
    if stage not in STAGES or not target or not target.startswith("backends/cpu/"):
        return None
    other = target.split("/")[2]
    if other == stage or other in STAGES[stage] or target in DOORS or target.startswith("shim/util/"):
        return None
    if other in STAGES:
        return f"stage {stage} includes stage {other}"
    return None


def vendor_rule(here, target, name):
    vendors = {"acl/": "ascend", "mcr/": "metax", "musa": "moore", "hip/": "hip", "cnrt": "cambricon"}
    for prefix, folder in vendors.items():
        if name.startswith(prefix) and not here.startswith(f"backends/{folder}/"):
            return f"vendor header outside backends/{folder}"
    return None


TESTS = [
    ("shim includes no concrete backend", ["shim", "compat"], shim_rule),
    ("LLVM headers only in backends/cpu/jit", ["shim", "compat", "backends", "tools"], llvm_rule),
    ("backends include backend.h and shim/util only", ["backends"], backend_rule),
    ("stages of the cpu backend look one way", ["backends/cpu"], stage_rule),
    ("vendor headers stay in their folder", ["shim", "compat", "backends"], vendor_rule),
]

print(f"1..{len(TESTS)}")
failed = 0
for index, (title, folders, rule) in enumerate(TESTS, 1):
    wrong = check(folders, rule)
    print(f"{'not ok' if wrong else 'ok'} {index} - {title}")
    for line in wrong:
        print(f"# {line}")
    failed += bool(wrong)
sys.exit(1 if failed else 0)
