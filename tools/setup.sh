# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154,SC2034
# Sourced by demo.sh and check.sh: installs what the build needs, finds or fetches CUDA 13, and
# configures the build folder. Not for running by itself. Quick and quiet when all is there.
#
#   setup_install PACKAGE…   Debian packages, with apt-get, those that are missing
#   setup_packages           what the build needs, by setup_install
#   setup_cuda               sets cuda_include, nvcc
#   setup_older_majors       sets nvcc12, nvcc11, runtimes; each may stay empty
#   setup_configure DIR      meson setup or reconfigure of DIR, prefix dist/
# Both scripts set `root`, the top of the project, before they source this file.

setup_log=$root/.deps/setup.log
mkdir -p "$root/.deps"
: >"$setup_log"

say() {
    printf '%s\n' "$*" >&2
}

die() {
    say "error: $*"
    exit 1
}

# Output of a command goes to the log; it is shown only when the command fails.
quietly() {
    if ! "$@" >>"$setup_log" 2>&1 </dev/null; then
        tail -n 40 "$setup_log" >&2
        die "failed: $* (whole output: $setup_log)"
    fi
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        die "need root or sudo for: $*"
    fi
}

setup_missing() {
    local p
    for p in "$@"; do
        dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null | grep -q '^ii' || printf '%s ' "$p"
    done
}

# Installs those of the packages that are missing.
setup_install() {
    local missing
    missing=$(setup_missing "$@")
    [ -z "$missing" ] && return 0
    say "installing: $missing"
    quietly as_root apt-get -q update
    # shellcheck disable=SC2086
    quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
        install $missing
}

setup_packages() {
    command -v dpkg-query >/dev/null 2>&1 || die "this set-up knows Debian only; see README.md"
    local want="gcc g++ libc6-dev meson ninja-build pkg-config llvm-19-dev libcriterion-dev
        liblz4-dev libzstd-dev libzstd1 uthash-dev libjson-c-dev libelf-dev binutils
        python3 ca-certificates openmpi-bin libopenmpi-dev gdb"
    # pip is needed only where something has to be fetched and no other pip works
    python3 -m pip --version >/dev/null 2>&1 || want="$want python3-pip"
    # shellcheck disable=SC2086
    setup_install $want
}

# Prints the top folder of an installed toolkit of major 13, if there is one.
setup_installed_toolkit() {
    local top
    for top in "${CUDA_HOME:-}" "${CUDA_PATH:-}" \
        "$(dirname "$(dirname "$(readlink -f "$(command -v nvcc || echo /)")")")" \
        /usr/local/cuda; do
        if [ -n "$top" ] && [ -f "$top/include/cuda_runtime.h" ] &&
            "$top/bin/nvcc" --version 2>/dev/null | grep -q 'release 13\.'; then
            printf '%s\n' "$top"
            return 0
        fi
    done
    return 1
}

setup_fetch() {
    python3 "$root/tools/fetch-cuda.py" --dest "$root/.deps" "$@"
}

setup_cuda() {
    local top
    if ! top=$(setup_installed_toolkit); then
        top=$root/.deps/cuda-13
        quietly setup_fetch cuda-13
    fi
    cuda_include=$top/include
    nvcc=$top/bin/nvcc
}

# For the tests only: without these, the tests that want them are not built.
setup_older_majors() {
    local major compiler
    nvcc12='' nvcc11='' runtimes=''
    if setup_fetch runtime >>"$setup_log" 2>&1; then
        runtimes=$root/.deps/runtime
    else
        say "note: the real CUDA runtimes cannot be fetched; tests against them are left out"
    fi
    for major in 12 11; do
        compiler=$root/.deps/cuda-$major/bin/nvcc
        if setup_fetch "cuda-$major" >>"$setup_log" 2>&1; then
            printf -v "nvcc$major" %s "$compiler"
        else
            say "note: no nvcc $major to be had; its test programs are left out"
        fi
    done
}

# Two build folders would build everything twice; demo.sh and check.sh share one and each sets
# only the options that it cares for.
setup_configure() {
    local dir=$1
    shift
    set -- --prefix "$root/dist" --libdir lib -Dtoolkit_include="$cuda_include" -Dnvcc="$nvcc" "$@"
    if [ -f "$dir/build.ninja" ]; then
        meson setup --reconfigure "$dir" "$root" "$@" >>"$setup_log" 2>&1 && return 0
        rm -rf "$dir"
    fi
    quietly meson setup "$dir" "$root" "$@"
}

setup_jobs() {
    nproc 2>/dev/null || echo 2
}
