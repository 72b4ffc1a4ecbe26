#!/usr/bin/env python3
# Tests of tools/gen/instr.py: a sound table goes through, each kind of mistake is refused with its line.
# SPDX-License-Identifier: Apache-2.0
"""usage: instr_test.py INSTR_PY TAB_DIR"""
import os
import shutil
import subprocess
import sys
import tempfile

GOOD = 'add_x  add{.@rnd}.{u32,f32}{.sat}  d0 s.u32 m?  1.0  10  add_x  add  0  9.7.1.1  -'
BAD = [
    ('add_x  add.u32  d0 s0  1.0  10  add_x  add  0  9.7.1.1', '9 columns'),
    (GOOD + '\n' + GOOD, 'already in line'),
    (GOOD.replace('@rnd', '@nothing'), 'not defined'),
    (GOOD.replace('{u32,f32}', '{u32,rn}'), 'mixes'),
    (GOOD.replace('d0', 'd1'), 'there are 1 type groups'),
    (GOOD.replace('d0', 'q0'), 'operand "q0"'),
    (GOOD.replace('s.u32', 's.u33'), 'no type u33'),
    (GOOD.replace('m?', 'p0'), 'a predicate has no other type'),
    (GOOD.replace('1.0', 'one'), 'not major.minor'),
    (GOOD.replace('  10  ', '  sm10  '), 'is no number'),
    (GOOD.replace('9.7.1.1', 'nine'), 'section'),
    (GOOD[:-1] + 'fast', 'trait "fast"'),
    (GOOD.replace('.{u32', '.{u32}{'), 'syntax near'),
    (GOOD.replace('  add  0', '  Add!  0'), 'lowering'),
]


def run(tool, tab_dir, rows):
    with tempfile.TemporaryDirectory() as tmp:
        shutil.copy(os.path.join(tab_dir, 'type.def'), tmp)
        with open(os.path.join(tmp, 'instr.def'), 'w', encoding='utf-8') as f:
            f.write('# comment\n@rnd = rn rz\n\n' + rows + '\n')
        done = subprocess.run([sys.executable, tool, tmp, tmp], capture_output=True, text=True, check=False)
        outputs = [name for name in ('mods.inc', 'lowerings.inc', 'forms.c') if os.path.exists(os.path.join(tmp, name))]
        return done.returncode, done.stderr, outputs


def main(tool, tab_dir):
    code, text, outputs = run(tool, tab_dir, GOOD)
    if code or len(outputs) != 3:
        sys.exit(f'a sound table is refused: {text}')
    for rows, message in BAD:
        code, text, outputs = run(tool, tab_dir, rows)
        if code == 0 or message not in text or 'instr.def:' not in text or outputs:
            sys.exit(f'not refused as it should be ({message}): exit {code}, {outputs}, {text}\n{rows}')


main(sys.argv[1], sys.argv[2])
