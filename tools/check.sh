#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the project and runs every test; the last line is `N passed, N failed`.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    cat <<'TXT'
usage: tools/check.sh [--sanitize] [MESON-TEST-ARGUMENT]...
Installs what is missing (Debian 12; root or sudo), builds into build/, installs into dist/, runs
the tests and prints how many passed. Arguments go to `meson test`, for example `--suite e2e`.
With --sanitize the tests of our C code then run again: suites unit, conformance and fuzz built
with AddressSanitizer and UBSan in build-asan/, the race programs with ThreadSanitizer in
build-tsan/; their results are added.
Exit code 0 only if everything was built and every test passed. Safe to repeat.
TXT
    exit 0
fi

sanitize=no
if [ "${1:-}" = --sanitize ]; then
    sanitize=yes
    shift
fi

# shellcheck source=tools/setup.sh
. "$root/tools/setup.sh"
build=$root/build
results=()
launcher=()

# Runs `meson test` in the folder with the other arguments and remembers where the results are.
run_tests() {
    local dir=$1 status
    shift
    # Old logs must not be counted when meson dies before it writes new ones.
    rm -f "$dir"/meson-logs/testlog*
    set +e
    if [ -t 1 ]; then
        "${launcher[@]}" meson test -C "$dir" --no-rebuild --print-errorlogs "$@"
        status=$?
    else
        "${launcher[@]}" meson test -C "$dir" --no-rebuild --print-errorlogs "$@" 2>&1 </dev/null |
            grep -v -E '^ *[0-9]+/[0-9]+ .* OK '
        status=${PIPESTATUS[0]}
    fi
    set -e
    results+=("$dir/meson-logs:$status")
}

# A build with sanitizers is never installed. Kernels that the JIT compiles are not instrumented.
sanitized_build() {
    local dir=$1
    shift
    setup_configure "$dir" -Dtests=true -De2e=disabled -Druntimes="$runtimes" -Db_lundef=false \
        -Dc_args='-fno-sanitize-recover=all -fno-omit-frame-pointer' "$@"
}

setup_packages
setup_cuda
setup_older_majors
setup_configure "$build" -Dtests=true -Dnvcc12="$nvcc12" -Dnvcc11="$nvcc11" -Druntimes="$runtimes"
say "building"
quietly ninja -C "$build" -j "$(setup_jobs)"
quietly meson install -C "$build" --no-rebuild --quiet
say "testing"
run_tests "$build" "$@"

if [ "$sanitize" = yes ]; then
    # LeakSanitizer needs ptrace, which containers often refuse.
    export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
    # The shadow memory of gcc 12 collides with mappings of kernels that randomise by 32 bits.
    if setarch "$(uname -m)" -R true 2>/dev/null; then
        launcher=(setarch "$(uname -m)" -R)
    fi
    say "building with AddressSanitizer and UBSan"
    sanitized_build "$root/build-asan" -Db_sanitize=address,undefined -Dfuzz_seconds=20
    quietly ninja -C "$root/build-asan" -j "$(setup_jobs)"
    say "testing with AddressSanitizer and UBSan"
    run_tests "$root/build-asan" -t 3 --suite unit --suite conformance --suite fuzz

    export TSAN_OPTIONS=halt_on_error=1
    say "building the race programs with ThreadSanitizer"
    sanitized_build "$root/build-tsan" -Db_sanitize=thread -Dkernels=disabled
    # Criterion cannot start under ThreadSanitizer: only the plain programs are built.
    mapfile -t targets < <(ninja -C "$root/build-tsan" -t targets all |
        sed -n -E 's,^(tests/race/[a-z/_]*race_[a-z_]+): .*,\1,p; s,^(backends/cpu/libirt-cpu\.so): .*,\1,p')
    quietly ninja -C "$root/build-tsan" -j "$(setup_jobs)" "${targets[@]}"
    say "testing with ThreadSanitizer"
    run_tests "$root/build-tsan" -t 3 --suite race
fi
python3 "$root/tools/count-tests.py" "$root/tools/expected-skips.txt" "${results[@]}"
