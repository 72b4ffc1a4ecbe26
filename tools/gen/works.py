#!/usr/bin/env python3
"""Writes what works, counted in the tables, into README.md and docs/works.md, between their marks; or says whether it is there.

    works.py SOURCE_ROOT [--check]
"""
# SPDX-License-Identifier: Apache-2.0
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import api
import instr
import lib
import page
import sass

STATUS = ('full', 'partial', 'stub')


def count(functions):
    """[all, there, with limits, refused by name]"""
    return [len(functions)] + [sum(f.status == s for f in functions) for s in STATUS]


def share(numbers):
    return '%d functions: %d there, %d with limits, %d refused by name' % tuple(numbers)


def short(apis, ptx, machine, libraries):
    """The table of README.md."""
    rows = [('Runtime API', share(count(apis['cudart'])), 'works.md#runtime-api'),
            ('Driver API', share(count(apis['cuda'])), 'works.md#driver-api'),
            ('PTX', '%d forms of %d instructions, %d compared with a reference by tests' % (
                len(ptx.rows), len({row.mnemonic for row in ptx.rows}),
                sum(row.reference not in ('', '-') for row in ptx.rows)), 'works.md#ptx'),
            ('Machine code', '%d operations of sm_70 to sm_90' % len(machine.ops), 'lifting.md'),
            ('Libraries', '%d, %s' % (len(libraries), share(count([f for table in libraries for f in table.functions]))),
             'libraries.md#what-there-is')]
    return '| part | what there is |\n|---|---|\n' + ''.join('| [%s](docs/%s) | %s |\n' % (name, link, what)
                                                           for name, what, link in rows)


def sections(functions):
    """Counts by section of NVIDIA's manual, in the table's order."""
    groups = {}
    for f in functions:
        groups.setdefault(f.section, []).append(f)
    head = '| section | functions | there | with limits | refused by name |\n|---|---|---|---|---|\n'
    rows = [(name, count(group)) for name, group in sorted(groups.items())] + [('all', count(functions))]
    return head + ''.join('| %s | %d | %d | %d | %d |\n' % (name, *numbers) for name, numbers in rows)


def instructions(table):
    """The instructions by their mnemonic's first word."""
    forms = {}
    for row in table.rows:
        forms.setdefault(row.mnemonic.split('.')[0], []).append(row)
    return ', '.join('`%s`%s' % (name, ' (%d)' % len(rows) if len(rows) > 1 else '')
                     for name, rows in sorted(forms.items())) + '\n'


def main(argv):
    if len(argv) < 2:
        sys.exit(__doc__)
    root, check = argv[1], '--check' in argv
    apis = {name: api.load(name, os.path.join(root, 'src/abi', name + '.api')) for name in ('cuda', 'cudart')}
    ptx = instr.Table(os.path.join(root, 'ptx/tab'))
    machine = sass.Table(os.path.join(root, 'ptx/tab/sass.def'))
    libraries = [lib.Table(path) for path in lib.table_paths(os.path.join(root, 'libs'))]
    same = page.update(os.path.join(root, 'README.md'),
                       [(page.marks('works', 'works.py'), short(apis, ptx, machine, libraries))], check)
    same &= page.update(os.path.join(root, 'docs/works.md'),
                        [(page.marks('runtime', 'works.py'), sections(apis['cudart'])),
                         (page.marks('driver', 'works.py'), sections(apis['cuda'])),
                         (page.marks('instructions', 'works.py'), instructions(ptx))], check)
    if check and not same:
        sys.exit('README.md or docs/works.md: what works is another: python3 tools/gen/works.py .')


if __name__ == '__main__':
    main(sys.argv)
