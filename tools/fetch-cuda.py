#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetch the parts of the CUDA toolkit that the build and the tests need.

Owns: which packages, in which versions, unpacked into which folders. Everything comes through
the ordinary package clients (pip, apt-get) and lands below one git-ignored folder; nothing is
installed into the system. Called by setup.sh, by the ABI tests' set-up and by hand.

  cuda-13      headers, nvcc and runtime 13.0            (Python packages)
  cuda-12      headers, nvcc and runtime 12.4            (Python packages + Debian's compiler)
  cuda-11      headers, nvcc and runtime 11.8            (Python packages + Debian's compiler)
  runtime      headers and libcudart of 11.8, 12.9 and every minor of 13, one folder each:
               DEST/runtime/11.8/{include,lib}, DEST/runtime/12.9/..., DEST/runtime/13.0/...

The Python packages of 11 and 12 hold no compiler driver; Debian's non-free section has it for
11.8 (this release) and 12.4 (the next one). A complete folder is left as it is.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

RUNTIME_13 = {  # minor: (runtime, crt)
    "13.0": ("13.0.96", "13.0.88"),
    "13.1": ("13.1.80", "13.1.115"),
    "13.2": ("13.2.75", "13.2.78"),
    "13.3": ("13.3.29", "13.3.73"),
    "13.4": ("13.4.92", "13.4.92"),
    "13.5": ("13.5.37", "13.5.37"),
}

COMPONENTS = {
    "cuda-13": {
        "pip": [
            "nvidia-cuda-runtime==13.0.96",
            "nvidia-cuda-nvcc==13.0.88",
            "nvidia-cuda-crt==13.0.88",
            "nvidia-nvvm==13.0.88",
            "nvidia-cuda-cccl==13.0.85",
            "nvidia-cuda-profiler-api==13.0.85",  # cudaTypedefs.h includes its header
        ],
    },
    "cuda-12": {
        "pip": [
            "nvidia-cuda-runtime-cu12==12.4.127",
            "nvidia-cuda-nvcc-cu12==12.4.131",
            "nvidia-cuda-cccl-cu12==12.4.127.post1",
        ],
        "deb": ("trixie", "12.4."),
    },
    "cuda-11": {
        "pip": [
            "nvidia-cuda-runtime-cu11==11.8.89",
            "nvidia-cuda-nvcc-cu11==11.8.89",
            "nvidia-cuda-cccl-cu11==11.8.89.post1",
        ],
        "deb": ("bookworm", "11.8."),
    },
    "runtime/11.8": {"pip": ["nvidia-cuda-runtime-cu11==11.8.89", "nvidia-cuda-nvcc-cu11==11.8.89"]},
    "runtime/12.9": {"pip": ["nvidia-cuda-runtime-cu12==12.9.79", "nvidia-cuda-nvcc-cu12==12.9.86"]},
}
for _minor, (_rt, _crt) in RUNTIME_13.items():
    COMPONENTS["runtime/" + _minor] = {
        "pip": ["nvidia-cuda-runtime==" + _rt, "nvidia-cuda-crt==" + _crt]
    }

PROFILE = """
TOP              = $(_HERE_)/..
CICC_PATH        = $(TOP)/nvvm/bin
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH            += $(CICC_PATH):$(_HERE_):
INCLUDES        +=  "-I$(TOP)/include" $(_SPACE_)
SYSTEM_INCLUDES +=  "-isystem" "$(TOP)/include/cccl" $(_SPACE_)
LIBRARIES        =+ $(_SPACE_) "-L$(TOP)/lib"
CUDAFE_FLAGS    +=
PTXAS_FLAGS     +=
"""

# Wheels keep their files below nvidia/<something>/; a folder of ours is all of them overlaid.
WHEEL_PREFIX = re.compile(r"^nvidia/[^/]+/")
RUNTIME_KEEP = re.compile(r"^(include/|lib/libcudart\.so)")


def log(text):
    print("fetch-cuda: " + text, file=sys.stderr, flush=True)


def run(cmd, **kwargs):
    done = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **kwargs)
    if done.returncode != 0:
        raise RuntimeError("%s failed:\n%s" % (" ".join(cmd[:6]), done.stdout[-2000:]))
    return done.stdout


def pip_command():
    """The first Python on the path whose pip works; the one that runs us comes first."""
    for python in (sys.executable, "python3", "/usr/bin/python3"):
        cmd = [python, "-m", "pip"]
        try:
            run(cmd + ["--version"])
            return cmd
        except (RuntimeError, OSError):
            continue
    raise RuntimeError("no working pip (Debian: apt-get install python3-pip)")


def unpack_wheels(specs, top, keep):
    with tempfile.TemporaryDirectory() as tmp:
        run(pip_command() + ["download", "--quiet", "--no-deps", "--only-binary", ":all:",
                             "--disable-pip-version-check", "--dest", tmp] + specs)
        for wheel in glob.glob(os.path.join(tmp, "*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                for info in archive.infolist():
                    name = WHEEL_PREFIX.sub("", info.filename)
                    if name == info.filename or info.is_dir() or name.endswith("__init__.py"):
                        continue
                    if keep and not keep.match(name):
                        continue
                    dest = os.path.join(top, name)
                    os.makedirs(os.path.dirname(dest), exist_ok=True)
                    with archive.open(info) as src, open(dest, "wb") as dst:
                        shutil.copyfileobj(src, dst)
                    if name.startswith(("bin/", "nvvm/bin/")):
                        os.chmod(dest, 0o755)


def debian_mirror():
    """Address of the Debian archive that this system uses, from its own apt configuration."""
    text = run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)"])
    for line in text.splitlines():
        uri, _, release = line.partition(" ")
        if uri.rstrip("/").endswith("/debian") and "/" not in release:
            return uri
    raise RuntimeError("apt knows no Debian archive")


def unpack_debian_nvcc(suite, version, top):
    """The compiler programs of Debian's nvidia-cuda-toolkit, taken out of the package file."""
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    with tempfile.TemporaryDirectory() as tmp:
        for sub in ("lists/partial", "cache/archives/partial", "root", "deb"):
            os.makedirs(os.path.join(tmp, sub))
        os.chmod(tmp, 0o755)
        sources = os.path.join(tmp, "sources.list")
        with open(sources, "w", encoding="ascii") as f:
            f.write("deb [signed-by=%s] %s %s non-free\n" % (keyring, debian_mirror(), suite))
        apt = ["apt-get", "-q", "-o", "Dir::Etc::sourcelist=" + sources,
               "-o", "Dir::Etc::sourceparts=-", "-o", "Dir::State::lists=" + tmp + "/lists",
               "-o", "Dir::Cache=" + tmp + "/cache", "-o", "APT::Sandbox::User=root"]
        run(apt + ["update"])
        cwd = os.path.join(tmp, "deb")
        run(apt + ["download", "nvidia-cuda-toolkit"], cwd=cwd)
        deb = glob.glob(os.path.join(cwd, "nvidia-cuda-toolkit_" + version + "*.deb"))
        if not deb:
            raise RuntimeError("Debian %s has another nvcc: %s" % (suite, os.listdir(cwd)))
        root = os.path.join(tmp, "root")
        run(["dpkg-deb", "-x", deb[0], root])
        own = root + "/usr/lib/nvidia-cuda-toolkit/bin/"
        os.makedirs(top + "/bin/crt", exist_ok=True)
        os.makedirs(top + "/nvvm/bin", exist_ok=True)
        for name in ("bin2c", "cudafe++", "fatbinary", "nvlink", "ptxas", "__nvcc_device_query"):
            shutil.copy2(root + "/usr/bin/" + name, top + "/bin/" + name)
        shutil.copy2(own + "nvcc", top + "/bin/nvcc")
        shutil.copy2(own + "cicc", top + "/nvvm/bin/cicc")
        for stub in glob.glob(own + "crt/*.stub"):
            shutil.copy2(stub, top + "/bin/crt/")


def link_names(top):
    """The names that linkers and nvcc look for: libX.so beside libX.so.N, lib64 beside lib."""
    lib = os.path.join(top, "lib")
    for path in glob.glob(lib + "/lib*.so.*"):
        name = os.path.basename(path)
        link = os.path.join(lib, name[: name.index(".so.") + 3])
        if not os.path.lexists(link):
            os.symlink(name, link)
    if not os.path.lexists(top + "/lib64"):
        os.symlink("lib", top + "/lib64")


def check(top):
    """A compiler folder must compile and link a kernel before it counts as complete."""
    with tempfile.TemporaryDirectory() as tmp:
        src = os.path.join(tmp, "t.cu")
        with open(src, "w", encoding="ascii") as f:
            f.write("__global__ void k(float *p) { p[threadIdx.x] = sinf(p[0]); }\n"
                    "int main() { k<<<1, 32>>>(nullptr); return 0; }\n")
        env = dict(os.environ)
        for name in ("CUDA_HOME", "CUDA_PATH", "LIBRARY_PATH", "CPATH"):
            env.pop(name, None)
        # not every package of a runtime has the library for launches from kernels
        run([top + "/bin/nvcc", "-allow-unsupported-compiler", "-arch=sm_80", "-cudart", "shared",
             "-cudadevrt", "none", "-o", tmp + "/t", src], env=env)


def fetch(name, dest):
    top = os.path.join(dest, name)
    spec = COMPONENTS[name]
    stamp_text = "\n".join(spec["pip"]) + "\n" + repr(spec.get("deb")) + "\n"
    stamp = os.path.join(top, ".complete")
    try:
        with open(stamp, encoding="ascii") as f:
            if f.read() == stamp_text:
                return
    except OSError:
        pass
    log("fetching " + name)
    work = top + ".part"
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    is_toolkit = name.startswith("cuda-")
    unpack_wheels(spec["pip"], work, None if is_toolkit else RUNTIME_KEEP)
    if "deb" in spec:
        unpack_debian_nvcc(spec["deb"][0], spec["deb"][1], work)
    link_names(work)
    if is_toolkit:
        with open(work + "/bin/nvcc.profile", "w", encoding="ascii") as f:
            f.write(PROFILE)
        check(work)
    with open(work + "/.complete", "w", encoding="ascii") as f:
        f.write(stamp_text)
    shutil.rmtree(top, ignore_errors=True)
    os.rename(work, top)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dest", default=os.path.join(here, "..", ".deps"),
                        help="folder to put everything in (default: .deps in the project)")
    parser.add_argument("component", nargs="+",
                        help="cuda-13, cuda-12, cuda-11, runtime, or runtime/VERSION")
    args = parser.parse_args()
    dest = os.path.abspath(args.dest)
    failed = 0
    for want in args.component:
        names = [n for n in COMPONENTS if n == want or n.startswith(want + "/")]
        if not names:
            parser.error("unknown component: " + want)
        for name in names:
            try:
                fetch(name, dest)
            except (RuntimeError, OSError, zipfile.BadZipFile) as err:
                log("%s: %s" % (name, err))
                failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
