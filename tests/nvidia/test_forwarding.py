# SPDX-License-Identifier: Apache-2.0
#
# Every function of every major, called through the nvidia backend, reaches the function of the same
# name in the runtime (the recording fake, tests/fakes/cudart) with the same bits in every register
# and stack slot that can hold an argument, and its result comes back whole; registrations and
# functions with a result of another type included. Then what happens when the library is not there,
# or is not one.

import argparse
import ctypes
import ctypes.util
import os
import platform
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'abi'))
from tap import Tap, output_of

INTEGERS = 6 if platform.machine() == 'x86_64' else 8
STACK = 8
RESULT = 0x5eed000100000000


class Record(ctypes.Structure):
    _fields_ = [('index', ctypes.c_uint64), ('calls', ctypes.c_uint64),
                ('integers', ctypes.c_uint64 * 8), ('numbers', ctypes.c_uint64 * 8),
                ('stack', ctypes.c_uint64 * 8)]


def bits_of(number):
    return int.from_bytes(bytes(ctypes.c_double(number)), sys.byteorder)


def call_all(front, record_library, names):
    """In a process of its own: prints each function that does not arrive as it was called."""
    lib = ctypes.CDLL(front)
    record = Record.in_dll(ctypes.CDLL(record_library), 'fake_cudart_record')
    for position, name in enumerate(names):
        integers = [(0xA5C3 << 48) | (position << 16) | i for i in range(INTEGERS + STACK)]
        numbers = [1.5 + position * 64 + i for i in range(8)]
        function = lib[name]
        function.restype = ctypes.c_uint64
        calls = record.calls
        result = function(*map(ctypes.c_uint64, integers), *map(ctypes.c_double, numbers))
        got = (record.index, record.calls - calls, list(record.integers)[:INTEGERS],
               list(record.stack), list(record.numbers), result)
        want = (position, 1, integers[:INTEGERS], integers[INTEGERS:], list(map(bits_of, numbers)),
                RESULT | position)
        if got != want:
            print(f'{name}: got {got}, want {want}')
    print('done', record.calls)


def through_nvidia(setting, **more):
    return {**os.environ, 'INFINIRT_BACKEND': 'nvidia', 'INFINIRT_NVIDIA_CUDART': setting, **more}


def forwarding(tap, args, fronts, fakes):
    for major, front in fronts.items():
        names = [line.split('\t')[0] for line in
                 output_of(*args.generate, 'list', '--major', major).splitlines()]
        done = subprocess.run([sys.executable, __file__, '--call', front, args.record, *names],
                              env=through_nvidia(fakes[major]), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False, timeout=100)
        lines = done.stdout.splitlines()
        tap.ok(done.returncode == 0 and lines == [f'done {len(names)}'],
               f'CUDA {major}: {len(names)} functions arrive bit for bit',
               '\n'.join(lines) + done.stderr)


ASK = '''
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
n = ctypes.c_int(-7)
print(lib.cudaGetDeviceCount(ctypes.byref(n)), n.value, lib.cudaGetLastError())
lib.cudaGetErrorName.restype = ctypes.c_char_p
print(lib.cudaGetErrorName(100).decode())
'''


def ask(front, setting, **more):
    done = subprocess.run([sys.executable, '-c', ASK, front], env=through_nvidia(setting, **more),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          timeout=100)
    return done.stdout.split('\n')[:2] if done.returncode == 0 else done.returncode, done.stderr


def refusals(tap, fronts, fakes, folder):
    text = os.path.join(folder, 'text.so')
    with open(text, 'w', encoding='utf-8') as f:
        f.write('no library\n')
    empty = os.path.join(folder, 'empty')
    os.makedirs(empty, exist_ok=True)
    front = fronts['13']
    cases = [('a file that is not there', os.path.join(folder, 'none.so'), 'No such file'),
             ('a file that is no library', text, 'text.so ('),
             ('an empty folder', empty, f'looked in {empty}'),
             ('ourselves', front, 'this is InfiniRT itself'),
             ('our folder', os.path.dirname(front), 'this is InfiniRT itself'),
             ('another library', ctypes.util.find_library('c') or 'libc.so.6', 'not a CUDA runtime')]
    for what, setting, reason in cases:
        got, said = ask(front, setting)
        lines = [line for line in said.splitlines() if 'CUDA 13 cannot be had' in line]
        tap.ok(got == ['100 -7 100', 'cudaErrorNoDevice'] and len(lines) == 1 and reason in lines[0],
               f'{what} gives no device and one line with the reason', f'{got}\n{said}')
    got, said = ask(front, f'{text}:{fakes["13"]}')
    tap.ok(got != 0 and 'cannot be had' not in said, 'the next of a list is taken', f'{got}\n{said}')
    both = '''
import ctypes, sys
libs = [ctypes.CDLL(p) for p in sys.argv[1:]]
n = ctypes.c_int(0)
for lib in libs:
    print(lib.cudaGetDeviceCount(ctypes.byref(n)) & 0xffffffff)
'''
    done = subprocess.run([sys.executable, '-c', both, fronts['13'], fronts['12']],
                          env=through_nvidia(fakes['13'] + ':' + text), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=100)
    answers = done.stdout.split()
    # Files that the user names need no particular SONAME: the fake of 13 serves both.
    tap.ok(done.returncode == 0 and len(answers) == 2 and '100' not in answers,
           'two majors in one process', f'{answers}\n{done.stderr}')


def main():
    if sys.argv[1] == '--call':
        call_all(sys.argv[2], sys.argv[3], sys.argv[4:])
        return
    parser = argparse.ArgumentParser()
    parser.add_argument('--front', action='append', required=True, help='MAJOR=FILE')
    parser.add_argument('--fake', action='append', required=True, help='MAJOR=FILE')
    parser.add_argument('--record', required=True)
    parser.add_argument('--generate', nargs='+', required=True)
    parser.add_argument('--folder', required=True, help='for files of this test')
    args = parser.parse_args()
    fronts = dict(f.split('=', 1) for f in args.front)
    fakes = dict(f.split('=', 1) for f in args.fake)
    tap = Tap()
    forwarding(tap, args, fronts, fakes)
    refusals(tap, fronts, fakes, args.folder)
    tap.done()


main()
