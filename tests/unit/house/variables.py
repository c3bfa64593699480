# SPDX-License-Identifier: Apache-2.0
#
# Every environment variable that env.def documents is read somewhere, and every one that the code
# reads is documented there.

import glob
import os
import re
import sys

NAME = r'"((?:INFINIRT|CUDA)_[A-Z_]+)"'


def main():
    root = sys.argv[1]
    documented, read = set(), set()
    with open(os.path.join(root, 'shim/api/env.def'), encoding='utf-8') as f:
        documented.update(re.findall(r'^IRT_ENV\(' + NAME, f.read(), re.M))
    for folder in ('shim', 'backends', 'compat', 'tools'):
        for path in glob.glob(os.path.join(root, folder, '**/*.[ch]'), recursive=True):
            with open(path, encoding='utf-8') as f:
                read.update(re.findall(NAME, f.read()))
    problems = [f'documented in env.def but read nowhere: {n}' for n in sorted(documented - read)]
    problems += [f'read but not documented in env.def: {n}' for n in sorted(read - documented)]
    print(f'1..1\n{"not ok" if problems or not documented else "ok"} 1 - environment variables')
    for text in problems:
        print('# ' + text)
    return bool(problems)


sys.exit(main())
