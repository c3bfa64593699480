# SPDX-License-Identifier: Apache-2.0
#
# Names and texts of every error code: each front end against the table, and against the real
# library of its release where it is present. Each library is asked in a process of its own.

import argparse
import ctypes
import glob
import os
import sys

from tap import Tap, output_of

CODES = [*range(-20, 1200), *range(9990, 10010), 12345, 30000, 2**31 - 1, -2**31]
REAL = {11: '11.8', 12: '12.9', 13: '13.5'}
RELEASE = {11: 11080, 12: 12090, 13: 13050}
UNKNOWN = 'unrecognized error code'


def ask(path):
    lib = ctypes.CDLL(path)
    for function in (lib.cudaGetErrorName, lib.cudaGetErrorString):
        function.restype = ctypes.c_char_p
    for code in CODES:
        print(code, lib.cudaGetErrorName(code).decode(), lib.cudaGetErrorString(code).decode(), sep='\t')


def answers(path):
    return output_of(sys.executable, __file__, '--ask', path).splitlines()


def from_table(path, release):
    known = {}
    with open(path, encoding='utf-8') as f:
        for line in f:
            if line.startswith('#'):
                continue
            code, name, since, until, text = line.rstrip('\n').split('\t')
            if (since == '-' or int(since) <= release) and (until == '-' or release <= int(until)):
                known[int(code)] = (name, text)
    return ['\t'.join((str(c), *known.get(c, (UNKNOWN, UNKNOWN)))) for c in CODES]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--ask')
    parser.add_argument('--table')
    parser.add_argument('--runtimes', default='')
    parser.add_argument('--front', action='append', metavar='MAJOR=PATH')
    args = parser.parse_args()
    if args.ask:
        return ask(args.ask)
    tap = Tap()
    for front in args.front:
        major, path = int(front.split('=', 1)[0]), front.split('=', 1)[1]
        ours = answers(path)
        want = from_table(args.table, RELEASE[major])
        tap.ok(ours == want, f'{major}: {len(CODES)} codes as in the table', set(ours) ^ set(want))
        real = glob.glob(os.path.join(args.runtimes, REAL[major], 'lib', 'libcudart.so.1*'))
        name = f'{major}: {len(CODES)} codes as the real library of {REAL[major]}'
        if args.runtimes and real:
            theirs = answers(real[0])
            tap.ok(ours == theirs, name, set(ours) ^ set(theirs))
        else:
            tap.skip(name, 'no real library; tools/fetch-cuda.py runtime')
    return tap.done()


main()
