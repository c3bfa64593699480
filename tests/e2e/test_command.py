#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the `infinirt` command and of the installed layout, as TAP subtests.

usage: test_command.py --build DIR --prefix DIR --meson EXE --generator FILE --programs DIR

Owns: exit codes, choice of front end, JSON forms, advice, relocation, linking without nvcc. Every
case is a function whose name begins with `case_`; an AssertionError is a failure.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback

from stage import clean_environment, stage


class Fixture:
    def __init__(self, args):
        self.prefix = stage(args.build, args.prefix, args.meson)
        self.command = os.path.join(self.prefix, "bin", "infinirt")
        self.programs = args.programs
        self.generator = args.generator
        self.tmp = tempfile.mkdtemp(prefix="infinirt-test-")

    def program(self, name):
        """Path of a built test program, or None when its compiler is not there."""
        path = os.path.join(self.programs, name)
        return path if os.path.exists(path) else None

    def file(self, name, content, mode=0o644):
        path = os.path.join(self.tmp, name)
        with open(path, "wb") as f:
            f.write(content)
        os.chmod(path, mode)
        return path

    def call(self, *arguments, command=None, **env):
        return subprocess.run([command or self.command, *arguments],
                              env=clean_environment(**env), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", timeout=60, check=False)


def expect(done, code, *needles):
    text = done.stdout + done.stderr
    assert done.returncode == code, "exit code %d, want %d:\n%s" % (done.returncode, code, text)
    for needle in needles:
        assert needle in text, "%r is not in:\n%s" % (needle, text)


def case_help_and_usage(f):
    expect(f.call("--help"), 0, "run", "info", "doctor")
    expect(f.call("--version"), 0, "infinirt ")
    expect(f.call(), 2, "usage")
    expect(f.call("dance"), 2, "no such verb: dance")
    for verb in ("run", "info", "doctor"):
        expect(f.call(verb, "--help"), 0, "usage: infinirt " + verb)
        expect(f.call(verb, "--nonsense"), 2, "infinirt %s: unrecognized option" % verb)
    assert os.path.exists(os.path.join(f.prefix, "share/man/man1/infinirt.1"))


def case_run_passes_exit_codes_and_signals(f):
    expect(f.call("run", "sh", "-c", "exit 7"), 7)
    expect(f.call("run", "sh", "-c", "kill -TERM $$"), -signal.SIGTERM)
    expect(f.call("run", "sh", "-c", "kill -SEGV $$"), -signal.SIGSEGV)
    expect(f.call("run"), 2, "which program")
    expect(f.call("run", "/nonexistent/program"), 127, "No such file")
    expect(f.call("run", "no-such-program-on-the-path"), 127, "No such file")
    expect(f.call("run", f.file("plain", b"text\n")), 126, "Permission denied")


def case_run_leaves_the_programs_options_alone(f):
    done = f.call("run", "--", "echo", "--devices", "9", "--help")
    expect(done, 0)
    assert done.stdout == "--devices 9 --help\n"
    done = f.call("run", "echo", "--help")  # an own program's option without --
    expect(done, 0)


def case_run_checks_values(f):
    for option, value in (("devices", "0"), ("devices", "x"), ("threads", "-1"), ("memory", "4Q"),
                          ("arch", "80"), ("cuda", "10"), ("cuda", "13x")):
        expect(f.call("run", "--%s" % option, value, "true"), 2, "--" + option)


def case_run_sets_the_environment(f):
    done = f.call("run", "--devices", "3", "--memory", "2G", "--threads", "5", "--arch", "9.0",
                  "--backend", "cpu", "--log", "info", "--cache", "/c", "sh", "-c",
                  "echo $INFINIRT_CPU_DEVICES $INFINIRT_CPU_MEMORY $INFINIRT_CPU_THREADS"
                  " $INFINIRT_CPU_ARCH $INFINIRT_BACKEND $INFINIRT_LOG $INFINIRT_CACHE_DIR")
    expect(done, 0)
    assert done.stdout == "3 2G 5 9.0 cpu info /c\n", done.stdout
    done = f.call("run", "--cuda", "11", "sh", "-c", "echo $LD_PRELOAD; echo $LD_LIBRARY_PATH",
                  INFINIRT_BACKEND="cpu", LD_LIBRARY_PATH="/elsewhere")
    lib = os.path.join(f.prefix, "lib/infinirt")
    assert done.stdout == "%s/libcudart.so.11.0\n%s:%s/driver:/elsewhere\n" % (lib, lib, lib), (
        done.stdout)
    # No stand-in for the driver where the backend is another one, or none can be had.
    done = f.call("run", "--cuda", "11", "sh", "-c", "echo $LD_LIBRARY_PATH",
                  INFINIRT_BACKEND="nvidia", LD_LIBRARY_PATH="/elsewhere")
    assert done.stdout == "%s:/elsewhere\n" % lib, done.stdout


def case_run_chooses_the_front_end(f):
    for major in ("13", "12", "11"):
        program = f.program("device_query-" + major)  # checks the major of the runtime
        if program:
            expect(f.call("run", program), 0, "PASS")
            expect(f.call("run", program, INFINIRT_CPU_DEVICES="2"), 0, "PASS")


def case_run_with_two_devices(f):
    expect(f.call("run", "--devices", "2", "--", f.program("multi_device-13")), 0, "PASS")
    expect(f.call("run", "--devices", "1", "--", f.program("multi_device-13")), 1, "count == 2")


def case_run_with_a_cache(f):
    folder = os.path.join(f.tmp, "cache")
    os.mkdir(folder, 0o700)
    for _ in range(2):  # filled, then used
        expect(f.call("run", "--cache", folder, f.program("vector_add-13"),
                      CUDA_CACHE_DISABLE="0"), 0, "PASS")
        assert os.listdir(folder)
    env = {"INFINIRT_CACHE_DIR": folder, "CUDA_CACHE_DISABLE": "0"}
    expect(f.call("cache", **env), 0, "kept     1 kernels")
    expect(f.call("cache", "--clear", **env), 0, "removed  1 kernels")
    assert not os.listdir(folder)
    expect(f.call("cache", CUDA_CACHE_DISABLE="1"), 0, "no kernels are kept")
    expect(f.call("cache", "--all"), 2)
    expect(f.call("cache", "more"), 2)


def case_run_through_a_script(f):
    script = f.file("script", b"#!/bin/sh\nexec \"$@\"\n", 0o755)
    expect(f.call("run", script, f.program("vector_add-13")), 0, "PASS")


def case_static_runtime(f):
    program = f.program("vector_add-static")
    expect(f.call("run", program), 1, "-cudart shared")
    done = f.call("doctor", "--no-compile", program)
    expect(done, 1, "CUDA runtime: static", "-cudart shared")


def case_machine_code_only(f):
    program = f.program("vector_add-cubin")
    expect(f.call("run", program), 1, "209", "sm_80")
    done = f.call("doctor", "--json", program)
    expect(done, 1)
    report = json.loads(done.stdout)
    assert [k["ptx"] for k in report["kernels"]] == [False], report
    assert "sm_80" in report["problems"][0]["what"], report
    assert "code=compute_80" in report["problems"][0]["advice"], report


def case_kernel_that_does_not_compile(f):
    program = f.program("uncompiled-13")
    expect(f.call("run", program), 0, "PASS", "uncompiled", "mma.sync.aligned")
    done = f.call("doctor", "--json", program)
    expect(done, 1)
    report = json.loads(done.stdout)
    errors = {k["name"]: k["error"] for k in report["kernels"]}
    assert errors["_Z4goodPi"] is None and "mma" in errors["_Z10uncompiledPi"], errors
    done = f.call("doctor", "--no-compile", program)
    expect(done, 0, "2 with PTX")


def case_info(f):
    done = f.call("info", "--json", "--devices", "3", "--memory", "1G", "--arch", "8.6")
    expect(done, 0)
    info = json.loads(done.stdout)
    cpu = [b for b in info["backends"] if b["name"] == "cpu"][0]
    assert cpu["available"] and cpu["chosen"] and cpu["devices"] == 3, cpu
    assert [d["device"] for d in info["devices"]] == [0, 1, 2]
    assert {d["compute_capability"] for d in info["devices"]} == {"8.6"}
    assert {d["memory_total"] for d in info["devices"]} == {1 << 30}
    assert "LLVM" in info["compiler"], info["compiler"]
    assert {"INFINIRT_BACKEND", "INFINIRT_LOG"} <= {s["name"] for s in info["settings"]}
    expect(f.call("info"), 0, "* cpu", "compute capability 8.0", "INFINIRT_CPU_DEVICES")
    expect(f.call("info", "extra"), 2, "no argument")


def case_info_never_falls_back(f):
    done = f.call("info", "--json", INFINIRT_BACKEND="nvidia")
    expect(done, 1)
    info = json.loads(done.stdout)
    assert info["devices"] == []
    nvidia = [b for b in info["backends"] if b["name"] == "nvidia"][0]
    assert not nvidia["available"] and nvidia["reason"], nvidia
    expect(f.call("info", "--backend", "nonsense"), 1, "none")


def case_doctor_on_good_programs(f):
    for name, major, kernels in (("vector_add-13", 13, 1), ("device_query-12", 12, 1),
                                 ("device_query-11", 11, 1), ("sort_radix-13", 13, 3),
                                 ("rdc-13", 13, 2)):
        program = f.program(name)
        if not program:
            continue
        done = f.call("doctor", "--json", program)
        expect(done, 0)
        report = json.loads(done.stdout)
        assert report["runtime"] == "shared" and report["majors"] == [major], report
        assert len(report["kernels"]) == kernels, report
        assert all(k["ptx"] and k["error"] is None for k in report["kernels"]), report
    expect(f.call("doctor", f.program("vector_add-13")), 0, "nothing stands in its way")


def case_doctor_on_a_plug_in(f):
    done = f.call("doctor", "--json", f.program("plugin-13_so"))
    expect(done, 0)
    assert len(json.loads(done.stdout)["kernels"]) == 1


def case_doctor_on_what_is_no_program(f):
    expect(f.call("doctor"), 2, "one program")
    expect(f.call("doctor", "/nonexistent"), 2, "No such file")
    expect(f.call("doctor", f.tmp), 2, "not a regular file")
    expect(f.call("doctor", f.file("script.sh", b"#!/bin/sh\n")), 2, "not an ELF file")
    expect(f.call("doctor", "/bin/true"), 1, "no device code")


def case_doctor_on_damaged_files(f):
    with open(f.program("vector_add-13"), "rb") as source:
        good = source.read()
    for cut in list(range(0, 256, 16)) + list(range(256, len(good), max(1, len(good) // 40))):
        done = f.call("doctor", "--no-compile", f.file("cut", good[:cut]))
        assert done.returncode in (0, 1, 2), (cut, done.returncode)
    seed = 1
    for _ in range(60):
        bad = bytearray(good)
        for _ in range(30):
            seed = (seed * 6364136223846793005 + 1442695040888963407) % 2 ** 64
            bad[(seed >> 20) % len(bad)] = seed >> 56
        done = f.call("doctor", "--no-compile", f.file("bad", bytes(bad)))
        assert done.returncode in (0, 1, 2), done.returncode
        done = f.call("doctor", "--no-compile", "--json", f.file("bad", bytes(bad)))
        assert done.returncode == 2 or json.loads(done.stdout), done.returncode


def compile_c(f, name, text):
    source = f.file(name + ".c", text.encode())
    pkg = subprocess.run(
        ["pkg-config", "--define-variable=prefix=" + f.prefix, "--cflags", "--libs", "infinirt"],
        env=dict(os.environ, PKG_CONFIG_PATH=os.path.join(f.prefix, "lib/pkgconfig")),
        stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    program = os.path.join(f.tmp, name)
    subprocess.run(["cc", "-o", program, source, *pkg], check=True)
    return program


def case_plain_c_program_by_pkg_config(f):
    program = compile_c(f, "count", "#include <stdio.h>\n"
                        "int cudaGetDeviceCount(int *);\n"
                        "int main(void) { int n = -1, e = cudaGetDeviceCount(&n);\n"
                        "printf(\"%d %d\\n\", e, n); return 0; }\n")
    done = f.call(command=program, INFINIRT_CPU_DEVICES="2")
    expect(done, 0)
    assert done.stdout == "0 2\n", done.stdout + done.stderr


def case_doctor_names_stubs(f):
    text = subprocess.run([sys.executable, f.generator, "list", "--major", "13"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    stubs = [line.split("\t")[0] for line in text.splitlines() if line.split("\t")[1] == "stub"]
    if not stubs:
        return
    program = compile_c(f, "stub", "int %s(void);\nint main(int c, char **v) { (void)v;\n"
                        "return c > 1 ? %s() : 0; }\n" % (stubs[0], stubs[0]))
    done = f.call("doctor", "--json", program)
    expect(done, 1)
    report = json.loads(done.stdout)
    assert list(report["not_implemented"]) == [stubs[0]], report
    assert any("801" in p["advice"] for p in report["problems"]), report


def case_prefix_can_be_moved(f):
    moved = os.path.join(f.tmp, "moved here")
    shutil.copytree(f.prefix, moved, symlinks=True)
    command = os.path.join(moved, "bin/infinirt")
    expect(f.call("run", f.program("vector_add-13"), command=command), 0, "PASS")
    done = f.call("info", "--json", command=command)
    cpu = [b for b in json.loads(done.stdout)["backends"] if b["name"] == "cpu"][0]
    assert cpu["module"].startswith(moved), cpu
    link = os.path.join(moved, "bin/link")
    os.symlink(command, link)
    expect(f.call("info", command=link), 0, "* cpu")


def main():
    parser = argparse.ArgumentParser()
    for name in ("build", "prefix", "meson", "generator", "programs"):
        parser.add_argument("--" + name, required=True)
    fixture = Fixture(parser.parse_args())
    cases = [(n[5:].replace("_", " "), c) for n, c in globals().items() if n.startswith("case_")]
    print("1..%d" % len(cases))
    failed = 0
    try:
        for number, (name, case) in enumerate(cases, 1):
            try:
                case(fixture)
                print("ok %d - %s" % (number, name))
            except Exception:  # pylint: disable=broad-except
                failed += 1
                print("not ok %d - %s" % (number, name))
                for line in traceback.format_exc().splitlines():
                    print("# " + line)
            sys.stdout.flush()
    finally:
        shutil.rmtree(fixture.tmp, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
