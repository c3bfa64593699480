# SPDX-License-Identifier: Apache-2.0
#
# The nvidia backend over NVIDIA's own libraries on a machine without a driver: each function of
# each release answers what the library answers when it is called directly, and those of 13.0 what
# was measured. Functions that a release does not have yet answer 801 and are named.

import argparse
import ctypes
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'abi'))
from tap import Tap, output_of

ZEROS = [ctypes.c_size_t(0)] * 16  # more than any function has: registers and stack
# Crash on null pointers in the real libraries, or end the process.
NOT_CALLED = ('__cuda',)


def ask(path, names):
    """In a process of its own: name, result and last error of each function."""
    lib = ctypes.CDLL(path)
    for name in names:
        try:
            function = lib[name]
        except AttributeError:
            print(name, 'absent', sep='\t')
            continue
        result = function(*ZEROS)
        print(name, result, lib.cudaPeekAtLastError(), lib.cudaGetLastError(), sep='\t')


def run(path, names, **env):
    done = subprocess.run([sys.executable, __file__, '--ask', path, *names], text=True,
                          env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, timeout=200)
    return done.returncode, done.stdout.splitlines(), done.stderr


def compare(tap, release, front, real, names):
    code, direct, error = run(real, names)
    if code:
        tap.ok(False, f'{release}: the real library, called directly', f'exit code {code}\n{error}')
        return
    code, ours, said = run(front, names, INFINIRT_BACKEND='nvidia', INFINIRT_NVIDIA_CUDART=real)
    bad = [] if code == 0 else [f'exit code {code}', said]
    absent = 0
    for a, b in zip(direct, ours):
        if a.endswith('\tabsent'):
            absent += 1
            name = a.split('\t')[0]
            base = name.removesuffix('_ptsz').removesuffix('_ptds')
            if b.split('\t')[1] != '801' or f'{base} is not supported by the nvidia backend' not in said:
                bad.append(f'{a} but {b}')
        elif a != b:
            bad.append(f'{a} but {b}')
    tap.ok(not bad and len(ours) == len(names), f'{release}: {len(names)} functions answer as when '
           f'called directly ({absent} are not in it)', '\n'.join(bad))


def transcript(tap, program, table, real_folder, front_folder):
    want = []
    with open(table, encoding='utf-8') as f:
        for line in f:
            if not line.startswith('#'):
                number, _, code, _, outputs = line.rstrip('\n').split('\t')
                want.append(f'{number}\t{code}\t{outputs}')
    for what, folder, env in (
            ('called directly', real_folder, {}),
            ('through the nvidia backend', front_folder,
             {'INFINIRT_BACKEND': 'nvidia', 'INFINIRT_NVIDIA_CUDART': real_folder})):
        got = output_of(program, env={**os.environ, 'LD_LIBRARY_PATH': folder, **env}).splitlines()
        bad = [f'want {w}\ngot  {g}' for w, g in zip(want, got) if w != g]
        tap.ok(not bad and len(got) == len(want), f'13.0 {what} answers as was measured',
               '\n'.join(bad) or f'{len(got)} lines for {len(want)}')


def library_folder(runtimes, release):
    """(folder, file) of the runtime of a release, or None."""
    for sub in ('lib', 'lib64', ''):
        folder = os.path.join(runtimes, release, sub)
        if os.path.isdir(folder):
            for name in sorted(os.listdir(folder)):
                if name in ('libcudart.so.11.0', 'libcudart.so.12', 'libcudart.so.13'):
                    return folder, os.path.join(folder, name)
    return None


def main():
    if sys.argv[1] == '--ask':
        ask(sys.argv[2], sys.argv[3:])
        return
    parser = argparse.ArgumentParser()
    parser.add_argument('--runtimes', required=True)
    parser.add_argument('--front', action='append', required=True, help='MAJOR=FILE')
    parser.add_argument('--generate', nargs='+', required=True)
    parser.add_argument('--program', required=True)
    parser.add_argument('--table', required=True)
    args = parser.parse_args()
    fronts = dict(f.split('=', 1) for f in args.front)
    tap = Tap()
    for release in sorted(os.listdir(args.runtimes)):
        found = library_folder(args.runtimes, release)
        if not found:
            continue
        major = release.split('.')[0]
        rows = [line.split('\t') for line in
                output_of(*args.generate, 'list', '--major', major).splitlines()]
        names = [n for n, _, _, ret in rows
                 if ret == 'cudaError_t' and not n.startswith(NOT_CALLED)]
        compare(tap, release, fronts[major], found[1], names)
        if release == '13.0':
            transcript(tap, args.program, args.table, found[0], os.path.dirname(fronts['13']))
    tap.done()


main()
