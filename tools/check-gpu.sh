#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with an NVIDIA GPU: the conformance suite on the real libcudart through the nvidia
# backend, and on the cpu backend, test by test; then what a call costs.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    cat <<'TXT'
usage: tools/check-gpu.sh [BUILD]
Runs the programs of tests/conformance of CUDA 13 in the build folder (build/ unless named) with
INFINIRT_BACKEND=nvidia and with cpu, and prints each test that ends differently, then the cost of
a call through the nvidia backend. INFINIRT_NVIDIA_CUDART may name the real libcudart.so.13.
Exit code 0 when all tests that pass on one pass on the other, 1 otherwise, 2 without a GPU.
TXT
    exit 0
fi

build=$(cd "${1:-$root/build}" && pwd)
if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
    echo "error: no NVIDIA device here (/dev/nvidia*)" >&2
    exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CRITERION_JOBS=1 CONFORMANCE_CAPABILITIES=$root/tests/conformance/capabilities.tsv

# Prints "program test result" for each test.
suite() {
    local program name
    for program in "$build"/tests/conformance/conformance_*_13; do
        name=$(basename "$program")
        timeout 300 "$program" --tap=- 2>>"$work/stderr" |
            sed -n -E "s/^(ok|not ok) - ([^ ]+).*/$name \2 \1/p" || true
    done | sort
}

echo "conformance on cpu" >&2
INFINIRT_BACKEND=cpu INFINIRT_BACKEND_PATH=$build/backends/cpu CONFORMANCE_PLATFORM=cpu \
    INFINIRT_CPU_DEVICES=2 suite >"$work/cpu"
echo "conformance on nvidia" >&2
INFINIRT_BACKEND=nvidia INFINIRT_BACKEND_PATH=$build/backends/nvidia CONFORMANCE_PLATFORM=nvidia \
    suite >"$work/nvidia"
echo "cpu: $(grep -c ' ok$' "$work/cpu") pass; nvidia: $(grep -c ' ok$' "$work/nvidia") pass"
status=0
if ! diff "$work/cpu" "$work/nvidia"; then
    echo "(< cpu, > nvidia)"
    status=1
fi
if [ -x "$build/tests/bench/bench_calls" ] && [ -n "${INFINIRT_NVIDIA_CUDART:-}" ]; then
    INFINIRT_BACKEND=nvidia INFINIRT_BACKEND_PATH=$build/backends/nvidia \
        "$build/tests/bench/bench_calls"
fi
exit $status
