#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run one CUDA program in every way that a user can, as TAP subtests.

usage: run.py --build DIR --prefix DIR --meson EXE --major N --source FILE.cu PROGRAM

  preload        LD_PRELOAD=<prefix>/lib/infinirt/libcudart.so.N
  library path   LD_LIBRARY_PATH=<prefix>/lib/infinirt

A run passes when the exit code is 0, the last line on stdout is PASS and the library has logged no
warning. `// e2e-env: NAME=VALUE` lines of the source are put into the environment; the words of a
`// e2e-launcher:` line start the program (mpirun and its options). A line `// e2e-forms: lane warp`
asks for a run of the library path in each of these forms of kernels (INFINIRT_CPU_FORM).
"""
import argparse
import os
import re
import subprocess
import sys

from stage import clean_environment, stage

SONAME = {"11": "libcudart.so.11.0", "12": "libcudart.so.12", "13": "libcudart.so.13"}
TIMEOUT = 80  # seconds for one process; two of them stay below Meson's limit


def run(command, env):
    """None, or what went wrong."""
    try:
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired as err:
        return "no end after %d s\n%s" % (TIMEOUT, (err.stderr or b"").decode(errors="replace"))
    out, log = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    lines = out.split("\n")
    if done.returncode != 0:
        return "exit code %d\n%s%s" % (done.returncode, out[-2000:], log[-4000:])
    if len(lines) < 2 or lines[-2:] != ["PASS", ""]:
        return "no PASS at the end of:\n" + out[-2000:]
    if re.search(r"infinirt: .*warning", log):
        return "unexpected warning:\n" + log[-4000:]
    return None


def main():
    parser = argparse.ArgumentParser()
    for name in ("build", "prefix", "meson", "major", "source"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("program")
    args = parser.parse_args()
    lib = os.path.join(stage(args.build, args.prefix, args.meson), "lib", "infinirt")
    with open(args.source, encoding="utf-8") as f:
        source = f.read()
    extra = dict(re.findall(r"^// e2e-env: (\w+)=(.*)$", source, re.M))
    launcher = re.findall(r"^// e2e-launcher: (.*)$", source, re.M)
    command = sum((line.split() for line in launcher), []) + [os.path.abspath(args.program)]
    ways = [
        ("preload", {"LD_PRELOAD": os.path.join(lib, SONAME[args.major])}),
        ("library path", {"LD_LIBRARY_PATH": lib}),
    ]
    forms = re.search(r"^// e2e-forms: (.*)$", source, re.M)
    for form in forms.group(1).split() if forms else []:
        ways.append(("form " + form, {"LD_LIBRARY_PATH": lib, "INFINIRT_CPU_FORM": form}))
    print("1..%d" % len(ways))
    failed = 0
    for number, (name, way) in enumerate(ways, 1):
        wrong = run(command, clean_environment(**way, **extra))
        failed += wrong is not None
        print("%sok %d - %s" % ("not " if wrong else "", number, name))
        for line in (wrong or "").splitlines():
            print("# " + line)
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
