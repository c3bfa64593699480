#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ordinary tools on kernels, as TAP subtests: gdb, messages about faults, what perf reads.

usage: test_debug.py --build DIR --prefix DIR --meson EXE --source FILE.cu --lineinfo PROGRAM
                     --debug PROGRAM

The programs are debug_lines.cu, built with -lineinfo and with -G. Every case is a function whose
name begins with `case_`; an AssertionError is a failure.
"""
import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import traceback

from stage import clean_environment, stage

FORMS = ("lane", "warp")


class Fixture:
    def __init__(self, args):
        self.lib = os.path.join(stage(args.build, args.prefix, args.meson), "lib", "infinirt")
        self.programs = {"lineinfo": os.path.abspath(args.lineinfo),
                         "debug": os.path.abspath(args.debug)}
        self.source = os.path.basename(args.source)
        with open(args.source, encoding="utf-8") as f:
            self.lines = {mark.group(1): number for number, text in enumerate(f, 1)
                          for mark in [re.search(r"// LINE (.+)$", text)] if mark}

    def environment(self, **env):
        return clean_environment(INFINIRT_BACKEND="cpu", LD_LIBRARY_PATH=self.lib, **env)

    def call(self, command, **env):
        return subprocess.run(command, env=self.environment(**env), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", timeout=90, check=False)

    def gdb(self, program, *commands, **env):
        command = ["gdb", "-q", "-nx", "-batch", "-ex", "set debuginfod enabled off",
                   "-ex", "set breakpoint pending on"]
        for text in commands:
            command += ["-ex", text]
        done = self.call(command + [self.programs[program]], **env)
        return done.stdout + done.stderr

    def place(self, mark):
        return "%s:%d" % (self.source, self.lines[mark])


def debugging_refused(f):
    """Why gdb cannot run a program here (containers often refuse ptrace), or None."""
    if not shutil.which("gdb"):
        return "no gdb"
    done = f.call(["gdb", "-q", "-nx", "-batch", "-ex", "run", shutil.which("true")])
    return None if "exited normally" in done.stdout else "gdb cannot run programs here"


def expect(text, *patterns):
    """The patterns occur in this order."""
    at = 0
    for pattern in patterns:
        match = re.compile(pattern).search(text, at)
        assert match, "%r is not in, or not in order:\n%s" % (pattern, text)
        at = match.end()


def case_gdb_stops_at_a_line_and_shows_the_calls(f):
    for form in FORMS:
        text = f.gdb("lineinfo", "break " + f.place("inlined"), "run", "bt", "delete", "continue",
                     INFINIRT_CPU_FORM=form)
        expect(text, r"\(.*:\d+\) pending",
               r"hit Breakpoint 1.*shop::price.*%s" % re.escape(f.place("inlined")),
               r"#0 .*shop::price .*%s" % re.escape(f.place("inlined")),
               r"#1 .*shop::total<int> .*%s" % re.escape(f.place("call")),
               r"#\d+ .*exec_grid_run", r"\n6\n")


def case_gdb_steps_behind_a_barrier(f):
    text = f.gdb("lineinfo", "break " + f.place("store"), "run", "bt 1", "delete", "continue")
    expect(text, r"#0 .*shop::total<int> .*%s" % re.escape(f.place("store")), r"\n6\n")


def case_gdb_finds_a_kernel_by_name(f):
    text = f.gdb("lineinfo", "break " + f.place("call"), "run", "info breakpoints",
                 "break shop::total<int>", "info symbol $pc")
    expect(text, r"in shop::total<int>\(int\*, int\) at .*%s" % re.escape(f.place("call")),
           r"Breakpoint 2 at 0x[0-9a-f]+: (file .*%s|shop::total)" % re.escape(f.source))


def case_gdb_with_debug_code(f):
    text = f.gdb("debug", "break " + f.place("store"), "run", "bt 1", "delete", "continue")
    expect(text, r"#0 .*shop::total<int> .*%s" % re.escape(f.place("store")), r"\n6\n")


def case_messages_name_the_line(f):
    for form in FORMS:
        for what, error in (("illegal", 700), ("after barrier", 700), ("trap", 719),
                            ("free", 719)):
            done = f.call([f.programs["lineinfo"], what], INFINIRT_CPU_FORM=form)
            assert done.returncode == 0, done.stderr
            expect(done.stderr, r" at \S*%s \(error %d\)\n" % (re.escape(f.place(what)), error))


def case_perf_map(f):
    process = subprocess.Popen([f.programs["lineinfo"]], stdout=subprocess.PIPE, text=True,
                               env=f.environment(INFINIRT_PERF="map"))
    out, _ = process.communicate(timeout=90)
    path = "/tmp/perf-%d.map" % process.pid
    assert out == "6\n", out
    with open(path, encoding="utf-8") as map_file:
        text = map_file.read()
    os.unlink(path)
    expect(text, r"(?m)^[0-9a-f]+ [0-9a-f]+ void shop::total<int>\(int\*, int\)$")


def records(data):
    """(id, content) of each record of a jitdump file."""
    magic, version, size, _, _, pid, _, _ = struct.unpack_from("<IIIIIIQQ", data)
    assert (magic, version, size) == (0x4A695444, 1, 40), data[:40]
    at = size
    while at < len(data):
        kind, total, _ = struct.unpack_from("<IIQ", data, at)
        assert total >= 16 and at + total <= len(data)
        yield pid, kind, data[at + 16:at + total]
        at += total


def case_perf_dump(f):
    process = subprocess.Popen([f.programs["lineinfo"]], stdout=subprocess.PIPE, text=True,
                               env=f.environment(INFINIRT_PERF="dump"))
    out, _ = process.communicate(timeout=90)
    path = "/tmp/jit-%d.dump" % process.pid
    assert out == "6\n", out
    with open(path, "rb") as dump:
        data = dump.read()
    os.unlink(path)
    names, places = [], set()
    for pid, kind, content in records(data):
        assert pid == process.pid
        if kind == 0:
            _, _, _, _, size, _ = struct.unpack_from("<IIQQQQ", content)
            name, code = content[40:].split(b"\0", 1)
            assert len(code) == size > 0
            names.append(name.decode())
        else:
            assert kind == 2, kind
            _, count = struct.unpack_from("<QQ", content)
            at = 16
            for _ in range(count):
                _, line, _ = struct.unpack_from("<QII", content, at)
                end = content.index(b"\0", at + 16)
                places.add("%s:%d" % (os.path.basename(content[at + 16:end].decode()), line))
                at = end + 1
            assert at == len(content)
    assert "void shop::total<int>(int*, int)" in names, names
    assert f.place("inlined") in places and f.place("store") in places, places


def case_perf_mode_is_checked(f):
    done = f.call([f.programs["lineinfo"]], INFINIRT_PERF="maps")
    assert done.returncode != 0 and "INFINIRT_PERF is neither map nor dump" in done.stderr, \
        done.stderr


def main():
    parser = argparse.ArgumentParser()
    for name in ("build", "prefix", "meson", "source", "lineinfo", "debug"):
        parser.add_argument("--" + name, required=True)
    fixture = Fixture(parser.parse_args())
    cases = [(name, case) for name, case in globals().items() if name.startswith("case_")]
    print("1..%d" % len(cases))
    failed = False
    refused = debugging_refused(fixture)
    for number, (name, case) in enumerate(cases, 1):
        label = "%d - %s" % (number, name[len("case_"):].replace("_", " "))
        if "gdb" in name and refused:
            print("ok %s # SKIP %s" % (label, refused))
            continue
        try:
            case(fixture)
            print("ok " + label, flush=True)
        except (AssertionError, OSError, subprocess.TimeoutExpired) as err:
            failed = True
            print("not ok " + label)
            traceback.print_exc()
            print("# " + str(err).replace("\n", "\n# "), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
