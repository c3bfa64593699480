# SPDX-License-Identifier: Apache-2.0
#
# The loader experiments of the design: whatever way a program reaches libcudart, the front end of
# the right major answers. Programs and a stand-in for NVIDIA's library are compiled on the spot;
# nothing here needs a device. Each program prints which major answered (programs/client.c).

import argparse
import os
import subprocess
import tempfile

from tap import Tap

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'programs')
SONAMES = {'11': 'libcudart.so.11.0', '12': 'libcudart.so.12', '13': 'libcudart.so.13'}


class Lab:
    """A folder with decoys, programs and plug-ins."""

    def __init__(self, folder, cc, fronts):
        self.folder, self.cc, self.fronts = folder, cc, fronts
        self.ours = ':'.join(os.path.dirname(f) for f in fronts.values())
        self.decoys = os.path.join(folder, 'decoys')
        os.mkdir(self.decoys)
        for major, soname in SONAMES.items():
            script = self.write(f'{major}.map', f'{soname} {{ global: cuda*; local: *; }};\n')
            for name in (soname, f'libcudart-0a1b2c3d.so.{major}'):  # the second: as auditwheel does
                self.build(os.path.join(self.decoys, name), 'decoy.c', '-shared', '-fPIC',
                           f'-Wl,-soname,{name}', f'-Wl,--version-script={script}')
            decoy = os.path.join(self.decoys, soname)
            self.build(f'client{major}', 'client.c', '-DLINKED', decoy)
            self.build(f'rpath{major}', 'client.c', '-DLINKED', decoy,
                       f'-Wl,--disable-new-dtags,-rpath,{self.decoys}')
            self.build(f'runpath{major}', 'client.c', '-DLINKED', decoy,
                       f'-Wl,--enable-new-dtags,-rpath,{self.decoys}')
            self.build(f'now{major}', 'client.c', '-DLINKED', decoy, '-Wl,-z,now')
            self.build(f'renamed{major}', 'client.c', '-DLINKED',
                       os.path.join(self.decoys, f'libcudart-0a1b2c3d.so.{major}'))
            self.build(f'plugin{major}.so', 'plugin.c', '-shared', '-fPIC', decoy)
        self.build('client', 'client.c')

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        return path

    def build(self, name, source, *flags):
        subprocess.run([*self.cc, '-D_GNU_SOURCE', '-o', os.path.join(self.folder, name), os.path.join(HERE, source),
                        *flags, '-ldl'], check=True)

    def run(self, program, *arguments, path='', preload=''):
        """What the program prints; its error text when it fails."""
        env = {k: v for k, v in os.environ.items() if not k.startswith('LD_')}
        env.update({'LD_LIBRARY_PATH': path, 'LD_PRELOAD': preload, 'INFINIRT_BACKEND': 'cpu'})
        if os.environ.get('LD_PRELOAD'):  # a sanitizer
            env['LD_PRELOAD'] = ' '.join((os.environ['LD_PRELOAD'], preload)).strip()
        run = subprocess.run([os.path.join(self.folder, program), *arguments], env=env, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=60)
        return run.stdout.strip() if run.returncode == 0 else f'{run.returncode}: {run.stderr}'

    def plugins(self):
        return [os.path.join(self.folder, f'plugin{m}.so') for m in SONAMES]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--cc', required=True, nargs='+')
    parser.add_argument('--front', action='append', required=True, metavar='MAJOR=PATH')
    args = parser.parse_args()
    fronts = dict(f.split('=', 1) for f in args.front)
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(folder, args.cc, fronts)
        everything = ' '.join(fronts.values())
        for m, soname in SONAMES.items():
            tap.equal(lab.run(f'client{m}', 'linked', path=lab.decoys), 'decoy', f'{m}: the decoy works')
            tap.equal(lab.run(f'client{m}', 'linked', path=lab.ours), m, f'{m}: linked, library path')
            tap.equal(lab.run(f'now{m}', 'linked', path=lab.ours), m, f'{m}: linked with -z now')
            tap.equal(lab.run('client', 'dlsym', soname, path=lab.ours), m, f'{m}: dlsym')
            tap.equal(lab.run('client', 'dlvsym', soname, soname, path=lab.ours), m, f'{m}: dlvsym')
            tap.equal(lab.run('client', 'dlvsym', soname, 'libcudart.so.10', path=lab.ours), 'none',
                      f'{m}: dlvsym of another node finds nothing')
            tap.equal(lab.run(f'runpath{m}', 'linked', path=lab.ours), m, f'{m}: DT_RUNPATH, library path')
            for title, preload in (('own major', fronts[m]), ('all majors', everything)):
                def preloaded(program, *arguments, p=preload):
                    return lab.run(program, *arguments, path=lab.decoys, preload=p)
                tap.equal(preloaded(f'client{m}', 'linked'), m, f'{m}: preload {title}')
                tap.equal(preloaded(f'rpath{m}', 'linked'), m, f'{m}: DT_RPATH, preload {title}')
                tap.equal(preloaded(f'renamed{m}', 'linked'), m, f'{m}: renamed SONAME, preload {title}')
                tap.equal(preloaded('client', 'dlsym', soname), m, f'{m}: dlsym, preload {title}')
                tap.equal(preloaded('client', 'noload', soname), m, f'{m}: RTLD_NOLOAD, preload {title}')
                tap.equal(preloaded('client', 'dlvsym', soname, soname), m, f'{m}: dlvsym, preload {title}')
            tap.equal(lab.run(f'client{m}', 'linked', preload=fronts[m]), m,
                      f'{m}: preload without any real library')
            tap.equal(lab.run('client', 'default', path=lab.decoys, preload=fronts[m]), m,
                      f'{m}: RTLD_DEFAULT, preload')
        tap.equal(lab.run('client', 'plugins', *lab.plugins(), path=lab.ours), '11 12 13',
                  'RTLD_LOCAL plug-ins of three majors in one process, library path')
        tap.equal(lab.run('client', 'plugins', *lab.plugins(), path=lab.decoys, preload=everything),
                  '11 12 13', 'RTLD_LOCAL plug-ins of three majors in one process, preload')
        tap.equal(lab.run('client', 'plugins', 'deep', *lab.plugins(), path=lab.decoys,
                          preload=everything), '11 12 13', 'RTLD_DEEPBIND plug-ins, preload')
        tap.equal(lab.run('client12', 'plugins', *lab.plugins(), path=lab.ours), '11 12 13',
                  'plug-ins of three majors in a program linked against 12')
        # The known limit: a path names a file, so a library opened by path is not replaced.
        tap.equal(lab.run('client', 'dlsym', os.path.join(lab.decoys, SONAMES['13']),
                          preload=fronts['12']), 'decoy', 'a library opened by path is not replaced')
    tap.done()


main()
