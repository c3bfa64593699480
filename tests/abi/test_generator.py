# SPDX-License-Identifier: Apache-2.0
#
# The generator itself: mistakes in a table are reported as file:line with status 1, and the same
# tables give the same bytes. Each case is the real table with one line added or changed.

import argparse
import os
import subprocess
import tempfile

from tap import Tap, output_of

GOOD = 'cudaZebra\t-\t-\tz\tcore\t-\tcudaError_t\tint a, cudaStream_t stream'
# (row put behind a last group of its own, what the message must say)
BAD_ROWS = [
    ('cudaZebra\t-\t-\t-\tcore\t-\tcudaError_t', 'columns instead of 8'),
    ('cudaZebra\t12.8\t-\t-\tcore\t-\tcudaError_t\tvoid', 'is not a CUDART_VERSION'),
    ('cudaZebra\t13000\t12090\t-\tstub\t-\tcudaError_t\tvoid', 'since is after until'),
    ('cudaZebra\t-\t-\tq\tcore\t-\tcudaError_t\tvoid', 'not z, d or -'),
    ('cudaZebra\t-\t-\t-\tmagic\t-\tcudaError_t\tvoid', 'unknown route'),
    ('cudaZebra\t-\t-\t-\tcore\tfast\tcudaError_t\tvoid', 'unknown rule'),
    ('cudaZebra\t-\t-\t-\tcore\t-\tint\tvoid', 'must be raw'),
    ('cudaZebra\t-\t-\tz\tcore\traw\tcudaError_t\tcudaStream_t s', 'cannot have a twin'),
    ('cudaZebra\t-\t-\t-\tcore\t-\tcudaError_t\t?', 'route can only be stub'),
    ('cudaZebra\t-\t-\t-\tcore\t-\tcudaError_t\tint', 'has no name'),
    ('cudaZebra\t-\t-\t-\talias:cudaNowhere\t-\tcudaError_t\tvoid', 'no core row'),
    ('cudaZebra\t-\t12090\t-\tcore\t-\tcudaError_t\tvoid', 'live in the newest release'),
    ('cudaZebra\t-\t-\t-\tcore\t-\tcudaError_t\tvoid\ncudaApple\t-\t-\t-\tcore\t-\tcudaError_t\tvoid',
     'not in order'),
    ('cudaZebra\t-\t-\t-\tstub\t-\tcudaError_t\tvoid\ncudaZebra\t13000\t-\t-\tstub\t-\tcudaError_t\tvoid',
     'overlaps'),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--generate', required=True, nargs='+')
    parser.add_argument('--tables', required=True, help='folder of the real tables')
    args = parser.parse_args()
    tap = Tap()
    with open(os.path.join(args.tables, 'runtime.tsv'), encoding='utf-8') as f:
        table = f.read()
    modes = ['fn-header', 'core-header', 'compat-header', 'fronts', 'slots', 'entries', 'map',
             'symbols', 'assertions', 'layout-test', 'errors', 'coverage']
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'changed.tsv')

        def run(rows, mode='check'):
            with open(path, 'w', encoding='utf-8') as f:
                f.write(table + '#group test - Test\n' + rows + '\n')
            return subprocess.run([*args.generate, mode, '--table', path], text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        good = run(GOOD)
        tap.ok(good.returncode == 0, 'a good row is accepted', good.stderr)
        fronts = run(GOOD, 'fronts').stdout
        tap.ok('stream ? stream : cudaStreamLegacy' in fronts
               and 'stream ? stream : cudaStreamPerThread' in fronts, 'a row makes wrapper and twin')
        for rows, message in BAD_ROWS:
            bad = run(rows)
            line = (table + '#group test - Test\n' + rows).count('\n') + 1
            tap.ok(bad.returncode == 1 and message in bad.stderr
                   and f'changed.tsv:{line}: ' in bad.stderr, f'reported with its line: {message}',
                   bad.stderr)
    for mode in modes:
        once = output_of(*args.generate, mode)
        again = output_of(*args.generate, mode, env={**os.environ, 'PYTHONHASHSEED': '7'})
        tap.ok(once == again and len(once) > 200, f'{mode} gives the same bytes')
    tap.done()


main()
