# SPDX-License-Identifier: Apache-2.0
#
# Calls every exported function of every major. Without a backend each answers the same error,
# whatever its arguments, and it becomes the last error. On the cpu backend each function without an
# implementation answers 801 and names itself once on stderr; all others answer what
# every_function.tsv says, to good arguments and to each wrong one.

import argparse
import ctypes
import os
import re
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


def read_table(path):
    """{major: {function: (arguments, answers)}}"""
    table = {}
    with open(path, encoding='utf-8') as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                name, majors, arguments, answer, refusals = line.rstrip('\n').split('\t')
                answers = [answer] + ([] if refusals == '-' else refusals.split())
                for major in majors.split(','):
                    table.setdefault(major, {})[name] = (arguments, answers)
    return table


def base_of(name):
    return name.removesuffix('_ptsz').removesuffix('_ptds')


# Words of arguments that stand for loaded code.
CODE = re.compile(r'\b(kernel|khandle|library|symbol|kexec|knode|edgegraph|texref|surfref)\b|@ptx|@code')


def answers(tap, major, path, rows, table, kernels):
    """Each function with good arguments and with each wrong one."""
    names = [n for n, route, rules, ret in rows
             if route != 'stub' and ret == 'cudaError_t' and 'raw' not in rules]
    missing = sorted({base_of(n) for n in names} - set(table))
    tap.ok(not missing, f'{major}: every function has a row', '\n'.join(missing))
    extra = sorted(set(table) - {base_of(n) for n, _, _, _ in rows})
    tap.ok(not extra, f'{major}: every row has a function', '\n'.join(extra))
    names = [n for n in names if base_of(n) in table and (kernels or not CODE.search(table[base_of(n)][0]))]
    caller = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'call_functions.py')
    done = subprocess.run([sys.executable, caller, path, major], text=True, check=False, timeout=250,
                          env={**os.environ, 'INFINIRT_BACKEND': 'cpu', 'INFINIRT_CPU_ARCH': '8.0'},
                          input=''.join(f'{n} {table[base_of(n)][0]}\n' for n in names),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    got = [line.split('\t') for line in done.stdout.splitlines()]
    bad = []
    for name, line in zip(names, got):
        want = table[base_of(name)][1]
        if line[1:] != want:
            bad.append(f'{name} {table[base_of(name)][0]}: {" ".join(line[1:])}, not {" ".join(want)}')
    report(tap, f'{major}: answers on cpu', done, names, bad)


def main():
    if sys.argv[1:2] == ['--ask']:
        return ask(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser()
    parser.add_argument('--generate', required=True, nargs='+')
    parser.add_argument('--table', required=True)
    parser.add_argument('--without-kernels', action='store_true')
    parser.add_argument('--front', action='append', required=True, metavar='MAJOR=PATH')
    args = parser.parse_args()
    tap, table = Tap(), read_table(args.table)
    for front in args.front:
        major, path = front.split('=', 1)
        rows = [line.split('\t') for line in
                output_of(*args.generate, 'list', '--major', major).splitlines()]
        without_backend(tap, major, path, rows)
        stubs(tap, major, path, rows)
        answers(tap, major, path, rows, table.get(major, {}), not args.without_kernels)
    return tap.done()


main()
