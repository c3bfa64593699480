# SPDX-License-Identifier: Apache-2.0
#
# Prototypes, struct sizes and offsets of our tables against NVIDIA's own headers: those that the
# project is built with, and the real ones of all three majors where they are present. The compiler
# does the comparing; each release is one file of static assertions.

import argparse
import os
import re
import subprocess
import tempfile

from tap import Tap, output_of

LAYOUTS = {'11.8': 11, '12.9': 12, '13.5': 13}  # the releases of the columns in layouts.tsv


def compile_check(tap, args, name, source, include):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'check.c')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(source)
        run = subprocess.run([*args.cc, '-std=gnu11', '-fsyntax-only', '-isystem', include, path],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    count = re.search(r'_checked = (\d+)', source)
    if run.returncode == 0 and int(count.group(1)) < 250:
        tap.ok(False, name, f'only {count.group(1)} assertions')
    else:
        tap.ok(run.returncode == 0, f'{name} ({count.group(1)})', run.stdout)


def signatures(tap, args, label, release, include):
    source = output_of(*args.generate, 'assertions', '--release', str(release))
    compile_check(tap, args, f'prototypes of {label}', source, include)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--generate', required=True, nargs='+')
    parser.add_argument('--cc', required=True, nargs='+')
    parser.add_argument('--runtimes', default='')
    parser.add_argument('--include', required=True, help='headers of the build')
    args = parser.parse_args()
    tap = Tap()
    with open(os.path.join(args.include, 'cuda_runtime_api.h'), encoding='utf-8') as f:
        release = int(re.search(r'#define CUDART_VERSION\s+(\d+)', f.read()).group(1))
    signatures(tap, args, f'the build\'s headers ({release})', release, args.include)
    for label in ('11.8', '12.9', '13.0', '13.1', '13.2', '13.3', '13.4', '13.5'):
        include = os.path.join(args.runtimes, label, 'include')
        if not args.runtimes or not os.path.exists(os.path.join(include, 'cuda_runtime_api.h')):
            tap.skip(f'headers of {label}', 'no headers; tools/fetch-cuda.py runtime')
            continue
        major, minor = label.split('.')
        signatures(tap, args, label, int(major) * 1000 + int(minor) * 10, include)
        if label in LAYOUTS:
            source = output_of(*args.generate, 'layout-test', '--major', str(LAYOUTS[label]))
            compile_check(tap, args, f'layouts of {label}', source, include)
    tap.done()


main()
