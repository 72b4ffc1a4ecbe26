#!/usr/bin/env python3
"""What `anywarp check` says of planted defects: kernel, line, address beside which allocation, and who made it; and of what is
sound, nothing.

usage: check.py ANYWARP       (77 where there is no nvcc)
"""

# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess

import expecting
from expecting import expect

HERE = os.path.dirname(os.path.abspath(__file__))

SOURCE = os.path.join(HERE, 'check.cu')
ILLEGAL, SOUND = 'an illegal memory access was encountered', 'no error'
MAKER = r', allocated by .*check\+0x[0-9a-f]+'
# Number in check.cu, what the program sees, the line's mark, what is said.
ROWS = [
    (
        1,
        ILLEGAL,
        'read',
        r'kernel read_at\(.*: illegal access to address 0x\w+ in block \(0,0,0\), warp 0, thread \(0,0,0\), '
        r'at .*LINE, 0 bytes past the end of an '
    r'allocation of 1001 bytes',
    ),
    (2, ILLEGAL, 'write', r'kernel write_at\(.*LINE, 0 bytes past the end of an allocation of 1001 bytes at 0x\w+' + MAKER),
    (3, ILLEGAL, 'read', r'kernel read_at\(.*LINE, 0 bytes past the end of an allocation of 5000001 bytes at 0x\w+' + MAKER),
    (4, ILLEGAL, 'read', r'kernel read_at\(.*LINE'),
    (5, ILLEGAL, 'wide', r'kernel wide_at\(.*LINE, 1000 bytes into an allocation of 1001 bytes'),
    (6, ILLEGAL, 'add', r'kernel add_at\(.*device_atomic_functions\.hpp:\d+, inlined at .*LINE, 1000 bytes into an allocation'),
    (7, ILLEGAL, 'read', r'kernel read_at\(.*LINE, 399 bytes into freed memory of 400 bytes at 0x\w+' + MAKER),
    (8, ILLEGAL, 'write', r'kernel write_at\(.*LINE, \d+ bytes into freed memory of 400 bytes'),
    (
        9,
        'misaligned address',
        None,
        r'kernel add_at\(.*access that is not aligned, to address 0x\w+ .*, 2 bytes into an allocation of 1001 bytes',
    ),
    (10, SOUND, None, r'free of what is not allocated, 0x\w+, 0 bytes into freed memory of 400 bytes .*; called by .*check\+0x'),
    (11, SOUND, None, r'free of what is not allocated, 0x\w+, 8 bytes into an allocation of 1001 bytes at 0x\w+' + MAKER),
]


def main():
    with open(SOURCE, encoding='utf-8') as f:
        marks = {m.group(1): n for n, line in enumerate(f, 1) if (m := re.search(r'// LINE (\w+)', line))}
    with expecting.given() as (compiler, anywarp, env, folder):
        program = os.path.join(folder, 'check')
        subprocess.run([compiler, '-lineinfo', '-gencode', 'arch=compute_80,code=compute_80', '-o', program, SOURCE], check=True)

        def run(*words):
            return subprocess.run([anywarp, *words], capture_output=True, text=True, env=env, timeout=300, check=False)

        for number, text, mark, said in ROWS:
            r = run('check', program, str(number))
            line = said.replace('LINE', r'check\.cu:%d' % marks[mark]) if mark else said
            expect(
                'defect %d' % number,
                r.stdout == text + '\n' and len(re.findall(line, r.stderr)) == 1 and r.stderr.count('\n') == 1,
                (line, r.stdout, r.stderr),
            )
        for words in (['check', program], ['check', '--leaks', program], ['check', '--leaks', program, '0']):
            r = run(*words)
            expect('nothing wrong', r.returncode == 0 and r.stdout == SOUND + '\n' and not r.stderr, (words, r.stdout, r.stderr))
        r = run('check', '--leaks', program, '12')
        expect(
            'a leak',
            re.fullmatch(
                r'anywarp: err: host: leak of 1001 bytes at 0x\w+, 0 bytes into an allocation of 1001 bytes at 0x\w+'
                r'%s.* \[AW1413\]\n'
                r'.*core: 1 allocation, 1001 bytes in all, not freed at the program.s end \[AW1214\]\n' % MAKER,
                r.stderr,
            ),
            r.stderr,
        )
        r = run('run', '--device=host', program, '2')
        expect('without, a card lets it pass', r.stdout == SOUND + '\n' and not r.stderr, (r.stdout, r.stderr))
        r = run('check', '--fail', program, '10')
        said = len(re.findall(r'(?m)^anywarp: err: ', r.stderr))
        expect(
            'check --fail',
            r.returncode == 1 and said and r.stderr.endswith('[AW1643]\n') and 'anywarp check: %d line' % said in r.stderr,
            (r.returncode, r.stderr),
        )
        r = run('check', '--fail', 'sh', '-c', '"$0" 10; exit 4', program)
        expect('check --fail, whose program fails', r.returncode == 4 and 'AW1643' not in r.stderr, (r.returncode, r.stderr))
        r = run('check', '--fail', 'true')
        expect('check --fail, nothing found', r.returncode == 0 and not r.stderr, (r.returncode, r.stderr))
        for words, status, text in (
            (['--help'], 0, 'Exit status'),
            ([], 2, 'usage'),
            (['--leaks', '--race', '--device=sim:gfx1030', program], 2, 'usage'),
            (['--fail', '--race', '--device=sim:gfx1030', program], 2, 'usage'),
            (['/missing'], 127, 'No such'),
        ):
            r = run('check', *words)
            expect(
                'check ' + ' '.join(words),
                r.returncode == status and text in r.stdout + r.stderr,
                (r.returncode, r.stdout, r.stderr),
            )
    expecting.finish()


main()
