# SPDX-License-Identifier: Apache-2.0
#
# Our libcuda.so.1: what it shows to the loader, compared with the table (and with the functions that
# the toolkit's cuda.h declares), and what a program sees that opens it late and without the runtime.

import argparse
import ctypes
import os
import re
import subprocess
import sys

from tap import Tap, output_of

PTX = b'''.version 7.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 p, .param .u32 n) {
  .reg .u64 %rd<2>; .reg .u32 %r<3>;
  ld.param.u64 %rd0, [p]; ld.param.u32 %r0, [n];
  atom.global.add.u32 %r1, [%rd0], %r0; ret; }
'''


def rows_of(path):
    with open(path, encoding='utf-8') as f:
        for line in f:
            cells = line.rstrip('\n').split('\t')
            if len(cells) == 7 and not line.startswith('#'):
                yield cells


def symbols_of(rows):
    twins = {'z': '_ptsz', 's': '_ptds'}
    for _, symbol, _, twin, *_ in rows:
        yield symbol
        if twin != '-':
            yield symbol + twins[twin[0]]


def check_exports(tap, args, rows):
    shown = {line.split()[2] for line in
             output_of('nm', '-D', '--defined-only', args.library).splitlines()}
    want = set(symbols_of(rows))
    tap.ok(shown == want, 'the names are those of the table', sorted(shown ^ want))
    dynamic = output_of('readelf', '-dW', args.library)
    tap.ok('[libcuda.so.1]' in dynamic, 'the SONAME is libcuda.so.1', dynamic)
    needed = set(re.findall(r'NEEDED\).*\[(.*)\]', dynamic))
    tap.equal(needed, {'libinfinirt_core.so.0'}, 'it needs the core only')
    with open(os.path.join(args.include, 'cuda.h'), encoding='utf-8') as f:
        text = re.sub(r'/\*.*?\*/', '', f.read(), flags=re.S)
    declared = set(re.findall(r'CUresult CUDAAPI (cu\w+)\s*\(', text))
    missing = {n for n in declared if n not in shown and n + '_v2' not in shown}
    lacking = {n for n in missing if not re.search(r'_pt[sd][sz]$', n)} # twins: see the table
    tap.ok(not lacking, 'what cuda.h declares is there', sorted(lacking))


def ask(library):
    """Runs in a process of its own: prints one line per observation."""
    cuda = ctypes.CDLL(library)  # long after the start of the process
    number, pointer = ctypes.c_int(-1), ctypes.c_uint64(0)
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    print('before', cuda.cuDeviceGetCount(ctypes.byref(number)))
    print('init', cuda.cuInit(0))
    print('count', cuda.cuDeviceGetCount(ctypes.byref(number)), number.value)
    print('current', cuda.cuCtxGetCurrent(ctypes.byref(context)), context.value)
    print('create', cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0), context.value is not None)
    print('load', cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    print('function', cuda.cuModuleGetFunction(ctypes.byref(function), module, b'add'))
    print('alloc', cuda.cuMemAlloc_v2(ctypes.byref(pointer), 4))
    print('set', cuda.cuMemsetD32_v2(pointer, 40, 1))
    n = ctypes.c_uint32(2)
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(pointer), ctypes.addressof(n))
    print('launch', cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None))
    print('sync', cuda.cuCtxSynchronize())
    print('copy', cuda.cuMemcpyDtoH_v2(ctypes.byref(number), pointer, 4), number.value)
    print('foreign', cuda.cuGLGetDevices_v2() if hasattr(cuda, 'cuGLGetDevices_v2') else 801)
    print('old', cuda.cuParamSetSize(function, 4))
    print('destroy', cuda.cuCtxDestroy_v2(context))
    print('gone', cuda.cuMemAlloc_v2(ctypes.byref(pointer), 4))


def check_use(tap, args):
    got = output_of(sys.executable, __file__, '--ask', args.library).splitlines()
    want = ['before 3', 'init 0', 'count 0 2', 'current 0 None', 'create 0 True', 'load 0',
            'function 0', 'alloc 0', 'set 0', 'launch 0', 'sync 0', 'copy 0 42', 'foreign 801',
            'old 801', 'destroy 0', 'gone 201']
    tap.ok(got == want, 'a program without the runtime', '\n'.join(
        f'got {g}, want {w}' for g, w in zip(got, want) if g != w) or got)


def check_stubs(tap, args, rows):
    names = [s for s in symbols_of(r for r in rows if r[4] in ('export', 'stub'))]
    code = ('import ctypes, sys\nlib = ctypes.CDLL(sys.argv[1])\nlib.cuInit(0)\n'
            'print([n for n in sys.argv[2:] if getattr(lib, n)(*[None] * 16) != 801])')
    done = subprocess.run([sys.executable, '-c', code, args.library, *names], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    tap.equal(done.stdout.strip(), '[]', f'{len(names)} functions without a body answer 801')
    said = set(re.findall(r'infinirt: (cu\w+) is not supported', done.stderr))
    want = {r[0] for r in rows if r[4] in ('export', 'stub')}
    tap.ok(said == want, 'each names itself', sorted(said ^ want))


def main():
    if sys.argv[1:2] == ['--ask']:
        return ask(sys.argv[2])
    parser = argparse.ArgumentParser()
    parser.add_argument('--library', required=True)
    parser.add_argument('--table', required=True)
    parser.add_argument('--include', required=True)
    args = parser.parse_args()
    tap, rows = Tap(), list(rows_of(args.table))
    check_exports(tap, args, rows)
    check_use(tap, args)
    check_stubs(tap, args, rows)
    return tap.done()


main()
