# SPDX-License-Identifier: Apache-2.0
#
# Calls every exported function of every major with zeros. Without a backend each answers the same
# error, whatever its arguments, and it becomes the last error. On the cpu backend each function
# without an implementation answers 801 and names itself once on stderr.

import argparse
import ctypes
import os
import subprocess
import sys

from tap import Tap, output_of

ZEROS = [ctypes.c_size_t(0)] * 16  # more than any function has: registers and stack


def ask(path, names):
    """In a process of its own: prints name, result, last error for each function."""
    lib = ctypes.CDLL(path)
    for name in names:
        result = lib[name](*ZEROS)
        print(name, result, lib.cudaGetLastError(), lib.cudaPeekAtLastError(), sep='\t')
    for name in names:  # a second time, for the messages
        lib[name](*ZEROS)


def run(path, names, backend):
    env = {**os.environ, 'INFINIRT_BACKEND': backend}
    return subprocess.run([sys.executable, __file__, '--ask', path, *names], text=True, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=100)


def report(tap, title, done, names, bad):
    why = f'exit code {done.returncode}\n{done.stderr[-2000:]}' if done.returncode else '\n'.join(bad)
    tap.ok(done.returncode == 0 and len(done.stdout.splitlines()) == len(names) and not bad,
           f'{title} ({len(names)} functions)', why)


def without_backend(tap, major, path, rows):
    names = [n for n, route, rules, ret in rows
             if ret == 'cudaError_t' and not {'raw', 'noinit'} & set(rules.split(','))]
    done = run(path, names, 'no-such-backend')
    answers = [line.split('\t') for line in done.stdout.splitlines()]
    expected = {'100', '35'} & {a[1] for a in answers[:1]}
    bad = ['\t'.join(a) for a in answers if a[1] not in expected or a[2] != a[1]]
    report(tap, f'{major}: without a backend', done, names, bad)


def stubs(tap, major, path, rows):
    names = [n for n, route, rules, ret in rows
             if route == 'stub' and ret == 'cudaError_t' and 'raw' not in rules]
    done = run(path, names, 'cpu')
    bad = [line for line in done.stdout.splitlines() if line.split('\t')[1:] != ['801', '801', '0']]
    for base in {n.removesuffix('_ptsz').removesuffix('_ptds') for n in names}:
        said = [line for line in done.stderr.splitlines() if f'{base} ' in line]
        if len(said) != 1:
            bad.append(f'{base} was named {len(said)} times on stderr')
    report(tap, f'{major}: missing functions on cpu', done, names, bad)


def main():
    if sys.argv[1:2] == ['--ask']:
        return ask(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser()
    parser.add_argument('--generate', required=True, nargs='+')
    parser.add_argument('--front', action='append', required=True, metavar='MAJOR=PATH')
    args = parser.parse_args()
    tap = Tap()
    for front in args.front:
        major, path = front.split('=', 1)
        rows = [line.split('\t') for line in
                output_of(*args.generate, 'list', '--major', major).splitlines()]
        without_backend(tap, major, path, rows)
        stubs(tap, major, path, rows)
    return tap.done()


main()
