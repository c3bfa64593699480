#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cross-builds everything for AArch64 and runs its tests under qemu-user.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
    cat <<'TXT'
usage: tools/check-aarch64.sh [MESON-TEST-ARGUMENT]...
On Debian 12 (root or sudo): installs the cross compiler and qemu-user, unpacks Debian's AArch64
packages that the build needs into .deps/aarch64/ (no package of this system is changed), tells the
kernel to start AArch64 programs with qemu (binfmt_misc; programs that start others need that),
builds into build-aarch64/ and runs the tests of the suites unit, abi and conformance, or what the
arguments choose. nvcc does not run there: programs in CUDA C++ are not built. Takes long: qemu
emulates every instruction. Exit code 0 only if everything was built and every test passed.
TXT
    exit 0
fi

# shellcheck source=tools/setup.sh
. "$root/tools/setup.sh"
deps=$root/.deps/aarch64
sysroot=$deps/root
build=$root/build-aarch64
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
packages="libc6-dev libgcc-12-dev llvm-19-dev libcriterion-dev liblz4-dev libzstd-dev uthash-dev
    libjson-c-dev libelf-dev python3"

# apt with folders of its own, in which nothing is installed.
fetch_sysroot() {
    [ -f "$deps/complete" ] && return 0
    say "fetching Debian's packages for AArch64"
    rm -rf "$deps"
    mkdir -p "$deps"/apt/etc/{apt.conf.d,preferences.d,sources.list.d} "$sysroot" \
        "$deps"/apt/{state/lists/partial,cache/archives/partial}
    : >"$deps/apt/state/status"
    # From where this machine's own packages come.
    apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
        sort -u | while read -r place release component; do
            printf 'deb [arch=arm64 signed-by=%s] %s %s %s\n' "$keyring" "$place" "$release" \
                "$component"
        done >"$deps/apt/etc/sources.list"
    [ -s "$deps/apt/etc/sources.list" ] || die "apt on this machine has no sources"
    local apt=(apt-get -q -y -o "Dir::Etc=$deps/apt/etc" -o "Dir::State=$deps/apt/state"
        -o "Dir::State::status=$deps/apt/state/status" -o "Dir::Cache=$deps/apt/cache"
        -o APT::Architecture=arm64 -o APT::Architectures=arm64
        -o APT::Install-Recommends=false -o APT::Sandbox::User=)
    quietly "${apt[@]}" update
    # shellcheck disable=SC2086
    quietly "${apt[@]}" --download-only install $packages
    local archive
    for archive in "$deps"/apt/cache/archives/*.deb; do
        quietly dpkg-deb -x "$archive" "$sysroot"
    done
    rm -rf "$deps/apt"
    touch "$deps/complete"
}

register_qemu() {
    local binfmt=/proc/sys/fs/binfmt_misc qemu
    [ "$(uname -m)" = aarch64 ] && return 0
    qemu=$(command -v qemu-aarch64) || die "qemu-aarch64 is not on PATH"
    [ -e $binfmt/register ] || quietly as_root mount -t binfmt_misc binfmt_misc $binfmt ||
        die "binfmt_misc cannot be mounted"
    grep -qs '^enabled' $binfmt/*aarch64* && return 0
    local magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    local mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    printf '%s' ":qemu-aarch64:M::$magic:$mask:$qemu:" | as_root tee $binfmt/register >/dev/null ||
        die "the kernel does not take qemu-aarch64 as interpreter"
}

# The compiler as one word: tests start it, too.
write_cross_file() {
    local lib=$sysroot/usr/lib/aarch64-linux-gnu
    printf '#!/bin/sh\nexec aarch64-linux-gnu-gcc --sysroot="%s" "$@"\n' "$sysroot" >"$deps/cc"
    chmod +x "$deps/cc"
    cat >"$deps/cross.ini" <<TXT
[binaries]
c = '$deps/cc'
target-python3 = '$sysroot/usr/bin/python3'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
llvm-config = '$sysroot/usr/lib/llvm-19/bin/llvm-config'

[properties]
sys_root = '$sysroot'
pkg_config_libdir = '$lib/pkgconfig:$sysroot/usr/share/pkgconfig'
needs_exe_wrapper = false

[built-in options]
c_link_args = ['-Wl,-rpath-link=$lib', '-Wl,-rpath-link=$sysroot/lib/aarch64-linux-gnu']

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
TXT
}

setup_packages
setup_install gcc-aarch64-linux-gnu qemu-user
setup_cuda
fetch_sysroot
register_qemu
write_cross_file
export QEMU_LD_PREFIX=$sysroot
setup_configure "$build" --cross-file "$deps/cross.ini" -Dtests=true -De2e=disabled
say "building for AArch64"
quietly ninja -C "$build" -j "$(setup_jobs)"
say "testing under $(qemu-aarch64 --version | head -n 1)"
[ $# -gt 0 ] || set -- --suite unit --suite abi --suite conformance
exec meson test -C "$build" --no-rebuild --print-errorlogs -t 20 "$@"
