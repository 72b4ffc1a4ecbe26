#!/usr/bin/env python3
# The compiler's passes from ptx/pass/pass.def, and the ways to make a memory access from ptx/simt/emit/access_way.def:
# docs/passes.md, and the rows for tests.
# SPDX-License-Identifier: Apache-2.0
"""usage: passes.py PASS_DEF PASSES_MD            writes the list into the page, between its marks
       passes.py PASS_DEF PASSES_MD --check    says whether it is as written, and which golden tests are missing"""
import os
import re
import sys

import page

FIELDS = ('id', 'name', 'stage', 'on', 'how', 'may', 'needs', 'changes', 'what', 'test')
WAY_FIELDS = ('name', 'load', 'store', 'update', 'pass', 'what')
STAGES = {'LANE': 'What one lane does', 'STRUCTURE': 'Its control flow', 'VECTOR': 'One warp as vectors',
          'MACHINE': 'What a processor or a card is good at'}


def split(text):
    """The fields of a row, at commas outside of strings and parentheses."""
    fields, depth, quoted, at = [''], 0, False, 0
    while at < len(text):
        c = text[at]
        if c == '\\':
            fields[-1] += text[at:at + 2]
            at += 2
            continue
        quoted ^= c == '"'
        depth += 0 if quoted else (c == '(') - (c == ')')
        if c == ',' and not depth and not quoted:
            fields.append('')
        else:
            fields[-1] += c
        at += 1
    return [f.strip() for f in fields]


def table(path, macro, names):
    """The rows of a .def file, {field: text}."""
    for piece in re.split(rf'^{macro}\(', page.table(path), flags=re.M)[1:]:
        fields = split(piece.rstrip()[:-1])
        if len(fields) != len(names):
            sys.exit(f'{path}: the row of {fields[0]} has {len(fields)} fields, not {len(names)}')
        yield dict(zip(names, fields))


def rows(path):
    ret = []
    for row in table(path, 'AW_PASS', FIELDS):
        for f in ('needs', 'changes', 'what'):
            row[f] = row[f][1:-1]
        row['on'] = [x.strip() for x in row['on'].split('|')]
        ret.append(row)
    return ret


def where(row):
    return ', '.join(x.lower().replace('no_', 'no ') for x in row['on'])


def markdown(all_rows, ways):
    out = ''
    for stage, title in STAGES.items():
        out += f'\n## {title}\n\n| pass | where | what | needs | from there on | may | test |\n|---|---|---|---|---|---|---|\n'
        for r in (r for r in all_rows if r['stage'] == stage):
            name = ('&nbsp;&nbsp;' if r['how'] == 'INNER' else '') + f"`{r['name']}`"
            may = {'NEEDED': '', 'DISABLE': 'disable', 'FORCE': 'disable, force'}[r['may']]
            out += f"| {name} | {where(r)} | {r['what']} | {r['needs']} | {r['changes']} | {may} | {r['test']} |\n"
    out += '\n## One memory access\n\nThe vectoriser tries these in order; the first that fits makes the access'
    out += ' (`ptx/simt/emit/access_way.def`).\n\n'
    out += '| way | load | store | update | what | pass |\n|---|---|---|---|---|---|\n'
    names = {r['id']: r['name'] for r in all_rows}
    for w in ways:
        kinds = ' | '.join('yes' if w[kind] == 'OWN' else '' for kind in ('load', 'store', 'update'))
        out += f"| {w['name']} | {kinds} | {w['what'][1:-1]} | {names.get(w['pass'], '')} |\n"
    return out + '\n'


def main(argv):
    if len(argv) not in (3, 4):
        sys.exit(__doc__)
    all_rows = rows(argv[1])
    ways = list(table(os.path.join(os.path.dirname(argv[1]), '../simt/emit/access_way.def'), 'AW_ACCESS', WAY_FIELDS))
    same = page.update(argv[2], [(page.marks('passes', 'passes.py'), markdown(all_rows, ways))], len(argv) == 4)
    if len(argv) == 3:
        return 0
    golden = os.path.join(os.path.dirname(argv[1]), '../../tests/ptx/lower')
    missing = [r['name'] for r in all_rows if not os.path.exists(os.path.join(golden, r['test'] + '.ptx'))]
    for name in missing:
        print(f'pass {name} names no golden test of tests/ptx/lower')
    if not same:
        print(f'{argv[2]} is not what the table says: run tools/gen/passes.py')
    return 1 if missing or not same else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
