# SPDX-License-Identifier: Apache-2.0
#
# What the three front ends and the core library show to the loader: names and version nodes equal
# to the table, and to the real libraries of all three majors where these are present; SONAME, flags,
# search path and dependencies as facts of the design.

import argparse
import glob
import os
import re

from tap import Tap, output_of

# major -> (SONAME, releases of the real library: all of ours must cover them, the last exactly)
MAJORS = {
    11: ('libcudart.so.11.0', ['11.8']),
    12: ('libcudart.so.12', ['12.9']),
    13: ('libcudart.so.13', ['13.0', '13.1', '13.2', '13.3', '13.4', '13.5']),
}


def exported(path):
    """{(type, name@version)} of the defined dynamic symbols, e.g. ('T', 'cudaFree@@libcudart.so.13')."""
    rows = (line.split() for line in
            output_of('nm', '-D', '--defined-only', '--with-symbol-versions', path).splitlines())
    return {(row[1], row[2]) for row in rows}


def dynamic(path):
    found = {}
    for tag, value in re.findall(r'\((\w+)\)\s+(.*)', output_of('readelf', '-dW', path)):
        found.setdefault(tag, []).append(re.sub(r'^[^:]*: ', '', value).strip('[]'))
    return found


def check_front(tap, args, major, path):
    soname, releases = MAJORS[major]
    names = output_of(*args.generate, 'symbols', '--major', str(major)).split()
    ours = exported(path)
    want = {('T', f'{n}@@{soname}') for n in names} | {('A', f'{soname}')}
    plain = {(t, n.replace(f'{soname}@@{soname}', soname)) for t, n in ours}
    tap.ok(plain == want, f'{soname} exports the names of the table', sorted(plain ^ want))

    dyn = dynamic(path)
    tap.equal(dyn.get('SONAME'), [soname], f'{soname} has that SONAME')
    tap.ok('SYMBOLIC' in dyn, f'{soname} binds its own calls to itself', dyn)
    tap.ok('NODELETE' in str(dyn.get('FLAGS_1')), f'{soname} cannot be unloaded', dyn)
    tap.ok('RPATH' not in dyn and '$ORIGIN' in str(dyn.get('RUNPATH')),
           f'{soname} finds its core by DT_RUNPATH beside itself', dyn)
    tap.equal(sorted(n for n in dyn['NEEDED'] if 'libc.' not in n), ['libinfinirt_core.so.0'],
              f'{soname} needs the core library only')
    nodes = re.findall(r'Index: \d+ +Cnt: \d+ +Name: (\S+)', output_of('readelf', '-VW', path))
    tap.equal(nodes, [soname, soname], f'{soname} has the base and one node of the same name')

    for release in releases:
        real = glob.glob(os.path.join(args.runtimes, release, 'lib', soname)) if args.runtimes else []
        name = f'{soname} against the real library of {release}'
        if not real:
            tap.skip(name, 'no real library; tools/fetch-cuda.py runtime')
            continue
        theirs = exported(real[0])
        if release == releases[-1]:
            tap.ok(ours == theirs, name + ': the same', sorted(ours ^ theirs))
        else:
            tap.ok(ours >= theirs, name + ': none missing', sorted(theirs - ours))


def check_core(tap, path):
    name = os.path.basename(path)
    tap.ok('libcudart' not in name, 'the core is not named libcudart', name)
    shown = {re.sub('@.*', '', n) for _, n in exported(path)}
    extra = {n for n in shown if not re.fullmatch(r'irt_slots_(\d\d|driver)|irt_info_\w+|INFINIRT_CORE_0', n)}
    tap.ok(not extra, 'the core exports slots and information only', extra)
    needed = dynamic(path).get('NEEDED', [])
    tap.ok(not [n for n in needed if re.search('cuda|LLVM|nvidia', n)],
           'the core is linked to no vendor and no compiler', needed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--generate', required=True, nargs='+')
    parser.add_argument('--runtimes', default='')
    parser.add_argument('--core', required=True)
    parser.add_argument('--front', action='append', required=True, metavar='MAJOR=PATH')
    args = parser.parse_args()
    tap = Tap()
    for front in args.front:
        major, path = front.split('=', 1)
        check_front(tap, args, int(major), path)
    check_core(tap, args.core)
    tap.done()


main()
