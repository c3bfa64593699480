#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the conformance suite runs on, as a table, and checks of its two data files.

usage: platforms.py table                  print the Markdown table
       platforms.py readme README [--check]  put it between the marks of README, or compare
       platforms.py test README            TAP: the files agree with the tests and with README

Owns: the format of platforms.tsv and capabilities.tsv (meson.build and capabilities.c read them,
too).
"""
import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MARKS = ('<!-- platforms: begin -->', '<!-- platforms: end -->')


def rows(name, fields):
    path = os.path.join(HERE, name)
    with open(path, encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip('\n')
            if line and not line.startswith('#'):
                row = line.split('\t')
                if len(row) != fields or not all(row):
                    sys.exit(f'{path}:{number}: not {fields} fields')
                yield row


def read():
    platforms = list(rows('platforms.tsv', 6))
    declared, lacks = {}, {}
    for capability, platform, text in rows('capabilities.tsv', 3):
        if platform == '*':
            declared[capability] = text
        else:
            lacks[capability, platform] = text
    return platforms, declared, lacks


def needs():
    """(suite, test, capabilities) of every test; the capabilities of its suite are among them."""
    for path in sorted(glob.glob(os.path.join(HERE, 'test_*.c'))):
        with open(path, encoding='utf-8') as f:
            text = f.read()
        suites = {}
        found = []
        for match in re.finditer(r'^(TestSuite|KERNEL_TEST|Test)\(([^{;]*)\)', text, re.M):
            kind, inside = match.group(1), match.group(2)
            names = [w.strip() for w in inside.split(',')]
            own = re.search(r'NEEDS\("([^"]*)"\)', inside)
            own = set(own.group(1).split()) if own else set()
            if kind == 'TestSuite':
                suites[names[0]] = own
            else:
                if kind == 'KERNEL_TEST':
                    own.add('kernels')
                found.append((names[0], names[1], own))
        for suite, test, own in found:
            yield suite, test, own | suites.get(suite, set())


def table():
    platforms, _, lacks = read()
    tests = list(needs())
    out = ['| platform | runs on | CUDA | tests | left out, because it lacks |', '|---|---|---|---|---|']
    for name, built, library, kind, majors, _ in platforms:
        if built == 'plain':
            continue
        missing = {c: why for (c, p), why in lacks.items() if p == name}
        ran = sum(1 for _, _, need in tests if not need & set(missing))
        text = '; '.join(f'{c}: {why}' for c, why in sorted(missing.items())) or 'nothing'
        out.append(f'| {name} | {library} ({kind}) | {majors.replace(",", ", ")} | {ran} of {len(tests)} | {text} |')
    return out


def with_table(path):
    with open(path, encoding='utf-8') as f:
        old = f.read()
    if old.count(MARKS[0]) != 1 or old.count(MARKS[1]) != 1:
        sys.exit(f'{path}: needs one "{MARKS[0]}" and one "{MARKS[1]}"')
    head, rest = old.split(MARKS[0])
    return old, head + MARKS[0] + '\n' + '\n'.join(table()) + '\n' + MARKS[1] + rest.split(MARKS[1])[1]


def test(path):
    platforms, declared, lacks = read()
    used = set().union(*(n for _, _, n in needs()))
    names = {p[0] for p in platforms}
    checks = [
        ('every capability that a test needs is declared', sorted(used - set(declared))),
        ('every declared capability is needed by a test', sorted(set(declared) - used)),
        ('only known capabilities are lacking', sorted({c for c, _ in lacks} - set(declared))),
        ('only known platforms lack something', sorted({p for _, p in lacks} - names)),
    ]
    old, new = with_table(path)
    checks.append(('the table of platforms in README is current',
                   [] if old == new else ['run tests/conformance/platforms.py readme README.md']))
    print(f'1..{len(checks)}')
    for number, (what, bad) in enumerate(checks, 1):
        print(f'{"not ok" if bad else "ok"} {number} - {what}')
        for item in bad:
            print('# ' + item)
    return 1 if any(bad for _, bad in checks) else 0


def main():
    arguments = sys.argv[1:]
    if arguments == ['table']:
        print('\n'.join(table()))
    elif len(arguments) == 2 and arguments[0] == 'test':
        sys.exit(test(arguments[1]))
    elif len(arguments) in (2, 3) and arguments[0] == 'readme' and arguments[2:] in ([], ['--check']):
        old, new = with_table(arguments[1])
        if arguments[2:] and old != new:
            sys.exit(f'{arguments[1]}: the table of platforms is not current')
        if old != new:
            with open(arguments[1], 'w', encoding='utf-8') as f:
                f.write(new)
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main()
