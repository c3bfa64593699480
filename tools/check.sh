#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the project and runs every test; the last line is `N passed, N failed`.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    cat <<'TXT'
usage: tools/check.sh [MESON-TEST-ARGUMENT]...
Installs what is missing (Debian 12; root or sudo), builds into build/, installs into dist/, runs
the tests and prints how many passed. Arguments go to `meson test`, for example `--suite e2e`.
Exit code 0 only if everything was built and every test passed. Safe to repeat.
TXT
    exit 0
fi

# shellcheck source=tools/setup.sh
. "$root/tools/setup.sh"
build=$root/build

setup_packages
setup_cuda
setup_older_majors
setup_configure "$build" -Dtests=true -Dnvcc12="$nvcc12" -Dnvcc11="$nvcc11" -Druntimes="$runtimes"
say "building"
quietly ninja -C "$build" -j "$(setup_jobs)"
quietly meson install -C "$build" --no-rebuild --quiet

# Old logs must not be counted when meson dies before it writes new ones.
rm -f "$build"/meson-logs/testlog*
say "testing"
set +e
if [ -t 1 ]; then
    meson test -C "$build" --no-rebuild --print-errorlogs "$@"
    status=$?
else
    meson test -C "$build" --no-rebuild --print-errorlogs "$@" 2>&1 </dev/null |
        grep -v -E '^ *[0-9]+/[0-9]+ .* OK '
    status=${PIPESTATUS[0]}
fi
set -e
python3 "$root/tools/count-tests.py" "$build/meson-logs" "$root/tools/expected-skips.txt" "$status"
