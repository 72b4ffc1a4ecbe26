#!/usr/bin/env python3
# Tests of tools/gen/sass.py: a sound table goes through, each kind of mistake is refused with its line.
# SPDX-License-Identifier: Apache-2.0
"""usage: sass_test.py SASS_PY"""
import os
import subprocess
import sys
import tempfile

GOOD = 'ADD  010:1245  70-  d p? a^ b c s?.X  cmp@76:3=cmp SAT@77 X@74  d = a + b'
BAD = [
    ('ADD  010:1245  70-  d a b', '4 columns'),
    (GOOD.replace('010:1245', '01:1245'), 'key "01:1245"'),
    (GOOD.replace('010:1245', '210:1245'), 'must be below 200'),
    (GOOD.replace('010:1245', '010:12,91=x'), 'condition "91=x"'),
    (GOOD.replace('70-', 'sm_70'), 'architectures'),
    (GOOD.replace(' p?', ' w?'), 'operand "w?"'),
    (GOOD.replace(' p?', ' d'), 'two operands have one place'),
    (GOOD.replace('=cmp', '=nothing'), 'not defined'),
    (GOOD.replace('cmp@76:3=cmp', 'cmp@76:1=cmp'), 'more values than its bits'),
    (GOOD.replace('SAT@77', 'sat@77'), 'a flag is one bit'),
    (GOOD.replace('SAT@77', 'SAT@129'), 'bits'),
    (GOOD.replace('SAT@77', '77:2=4'), 'more than its bits hold'),
    (GOOD.replace('SAT@77', '77:2=some'), 'bits "77:2=some"'),
    (GOOD.replace(' c ', ' m/nowhere '), 'memory'),
]


def run(tool, rows):
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, 'sass.def')
        with open(path, 'w', encoding='utf-8') as f:
            f.write('# comment\n@cmp = ~F LT EQ ?\n\n' + rows + '\n$0x21 SR_TID.X\n')
        done = subprocess.run([sys.executable, tool, path, tmp], capture_output=True, text=True, check=False)
        return done.returncode, done.stderr, sorted(os.listdir(tmp))


def main(tool):
    status, error, outputs = run(tool, GOOD)
    failed = 0
    if status or outputs != ['sass.def', 'sass.inc', 'sass_forms.c']:
        print(f'a sound table: {error}{outputs}')
        failed += 1
    for rows, part in BAD:
        status, error, _ = run(tool, rows)
        if not status or part not in error or 'sass.def:4' not in error:
            print(f'{rows}\n  should be refused with "{part}" in line 4: {status} {error}')
            failed += 1
    print(f'{len(BAD) + 1 - failed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
