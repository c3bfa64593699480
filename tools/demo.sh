#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the project, compiles a CUDA C++ program with nvcc and runs it on the CPU.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    cat <<'TXT'
usage: tools/demo.sh [BODIES [STEPS]]
Installs what is missing (Debian 12; root or sudo), builds into build/, installs into dist/,
compiles tools/demo.cu with nvcc and runs it twice without a GPU: through `infinirt run` and by
LD_PRELOAD alone. Safe to repeat.
TXT
    exit 0
fi

# shellcheck source=tools/setup.sh
. "$root/tools/setup.sh"
build=$root/build

setup_packages
setup_cuda
setup_configure "$build" -Dtests=false
say "building"
quietly ninja -C "$build" -j "$(setup_jobs)"
quietly meson install -C "$build" --no-rebuild --quiet

demo=$build/demo
say "compiling tools/demo.cu with $("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/nvcc \1/p')"
quietly "$nvcc" -O3 -arch=sm_80 -cudart shared -std=c++17 -o "$demo" "$root/tools/demo.cu"

# Neither run may find a toolkit's or a driver's libraries by accident.
unset LD_LIBRARY_PATH LD_PRELOAD
export INFINIRT_BACKEND=cpu
echo "== infinirt run demo"
"$root/dist/bin/infinirt" run -- "$demo" "$@"
echo "== LD_PRELOAD=dist/lib/infinirt/libcudart.so.13 demo"
LD_PRELOAD=$root/dist/lib/infinirt/libcudart.so.13 "$demo" "$@"
