# SPDX-License-Identifier: Apache-2.0
#
# The few lines of TAP that the Python tests of this folder share.

import subprocess
import sys


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def ok(self, good, name, why=''):
        """One result. `why` (any text) is shown when it is bad."""
        self.count += 1
        self.failed += not good
        print(f'{"ok" if good else "not ok"} {self.count} - {name}')
        if not good:
            for line in str(why).strip().splitlines()[:40]:
                print('# ' + line)
        sys.stdout.flush()

    def equal(self, got, want, name):
        self.ok(got == want, name, f'got  {got!r}\nwant {want!r}')

    def skip(self, name, why):
        self.count += 1
        print(f'ok {self.count} - {name} # SKIP {why}')

    def done(self):
        print(f'1..{self.count}')
        sys.exit(1 if self.failed or not self.count else 0)


def output_of(*command, **options):
    """Standard output of a command that must succeed."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout
