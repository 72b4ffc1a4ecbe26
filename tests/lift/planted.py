#!/usr/bin/env python3
# Fields of ptx/tab/sass.def in a wrong place are seen without NVIDIA's disassembler: bits that then belong to no field are not
# what they always are.
# SPDX-License-Identifier: Apache-2.0
"""usage: planted.py SASS_DEF PTX...

Assembles probes.py's kernels and the files, and holds every instruction to the table: as it is, where nothing may be found, and
with each error of PLANTS in it, where something must be."""
import os
import re
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'tools', 'gen'))
import check
import sass

ARCH = 80
# Rows, and what is wrong in them.
PLANTS = (
    ('IADD3', 'X@74', 'X@76'), ('IADD3', ' a^', ' a'), ('IMAD', ' c^', ' c'), ('LDG', 'size@73:3', 'size@74:3'),
    ('LDG', 'E@72', 'E@71'),
    ('STG', 'evict@84:3', 'evict@83:3'), ('SHF', 'HI@80', 'HI@81'), ('ISETP', 'cmp@76:3', 'cmp@77:3'),
    ('LOP3', 'l@72:8', 'l@72:7'),
    ('FADD', ' a-|', ' a|'), ('SHFL', 'mode@58:2', 'mode@57:2'), ('LDS', 'size@73:3', 'size@74:3'),
    ('BAR', 'DEFER_BLOCKING@80', 'DEFER_BLOCKING@79'),
    ('S2R', ' r ', ' i@73:7 '), ('HMMA', 'acc@76', 'acc@77'), ('LDSM', 'num@72:2', 'num@71:2'), ('REDUX', 'fn@78:3', 'fn@79:3'),
    ('MUFU', 'fn@74:4', 'fn@76:4'),
)


def table_of(text, folder):
    path = os.path.join(folder, 'sass.def')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    return sass.Table(path)


def planted(text, op, right, wrong):
    """All rows of the operation; what was not there is an error of this test."""
    pattern = re.compile(rf'^({op}\s.*?){re.escape(right)}', re.M)
    changed, n = pattern.subn(lambda m: m[1] + wrong, text)
    return changed if n else None


def forms_of(table):
    keys = {}
    for form in sorted(table.forms, key=lambda f: not f.conds):
        if form.first <= ARCH <= form.last:
            keys.setdefault(form.number, []).append((form, form.rest(), form.usual()))
    return keys


def found(keys, word):
    """Whether an instruction is none that the table has, or says what no field of its row does."""
    for form, rest, usual in keys.get(word & 0xfff | (word >> 91 & 1) << 12, ()):
        if all(word >> at & (1 << n) - 1 == value for at, n, value in form.conds):
            return word & rest != usual
    return True


def main(table, paths):
    if not shutil.which('ptxas'):
        print('planted: no ptxas')
        return 77
    with open(table, encoding='utf-8') as f:
        text = f.read()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        images = [i for i in (check.assemble(p, str(ARCH), folder, k) for k, p in enumerate([None, *paths])) if i]
        words = {low | (high & ~(0x1fffff << 41)) << 64 for image in images for low, high in check.instructions(image)}
        right = forms_of(table_of(text, folder))
        wrong = sum(found(right, word) for word in words)
        print(f'{len(words)} different instructions, {wrong} not as the table has them')
        failed += wrong != 0
        for plant in PLANTS:
            changed = planted(text, *plant)
            keys = changed and forms_of(table_of(changed, folder))
            n = sum(found(keys, word) for word in words) if keys else 0
            print(f'{"ok" if n else "FAIL":4} {plant[0]}: {plant[2].strip()} for {plant[1].strip()}: '
                  + (f'{n} instructions' if keys else 'no such row'))
            failed += not n
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2:]))
