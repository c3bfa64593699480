# SPDX-License-Identifier: Apache-2.0
"""The installed layout that end-to-end tests run against.

Owns: one `meson install` per build, below the build folder, so that the tests see what a user gets
and not the build tree; as the place is not the configured prefix, this also shows that the result
can be moved. Used by run.py and the tests of the `infinirt` command.
"""
import fcntl
import os
import shutil
import subprocess


def stage(build, prefix, meson):
    """Folder of the installed prefix; made anew when anything was built since the last time."""
    root = os.path.join(build, "e2e-stage")
    stamp = os.path.join(root, ".complete")
    built = os.path.getmtime(os.path.join(build, ".ninja_log"))
    with open(os.path.join(build, "e2e-stage.lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(stamp) or os.path.getmtime(stamp) < built:
            shutil.rmtree(root, ignore_errors=True)
            done = subprocess.run(
                [meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", root],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError("meson install: " + done.stdout)
            with open(stamp, "w", encoding="ascii"):
                pass
    return root + os.path.abspath(prefix)


def clean_environment(**extra):
    """The variables that a program needs, and none that the caller's shell happens to have."""
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "TMPDIR", "LANG")}
    env["CUDA_CACHE_DISABLE"] = "1"  # nothing is kept in the user's folder
    env["INFINIRT_BACKEND"] = "cpu"
    env.update(extra)
    return env
