#!/usr/bin/env python3
"""`anywarp check --race` on the host device: it finds the race in each kernel of check_race.cu (and in those of races.cu that are
in shared memory), by both lines, once, and nothing in the same kernels in order.

usage: check_race.py ANYWARP [--all]       (77 where there is no nvcc)

--all: also for other processors, without code for one shape of block, and by machine code, which tools/test has no time for.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys

import expecting
from expecting import expect

HERE = os.path.dirname(os.path.abspath(__file__))

RAW, WAR, WAW = 'read after write', 'write after read', 'write after write'
WARP, BLOCK = r'both are lanes of warp \d+, and no __syncwarp', 'no barrier'
# Of each kernel: words of the two lines in the source ('': of one that is not in it), whichever comes first; and what lacks.
RACES = {
    'no_barrier': ('q[t] = s[', 's[t] = p[t]', BLOCK),
    'overwritten': ('sum += b[', 'b[t] = p[t]', BLOCK),
    'barrier_misplaced': ('q[t] = s[', 's[t] = p[t]', BLOCK),
    'reused': ('int first = s[', 's[t] = first', BLOCK),
    'reduction_tail': ('s[t] += s[t + n]', 's[t] += s[t + n]', WARP + '|' + BLOCK),  # whichever block comes first
    'copied': ('q[t] = s[', '', BLOCK),
    'added': ('q[t] = s[t]', '', WARP),
    'named_barrier': ('q[t] = s[', 's[t] = p[t]', BLOCK),
    'loop_head': ('sum += s[', '', BLOCK),
    'lanes': ('lanes_write', 'lanes_read', WARP),
    'one_place': ('one_place', 'one_place', WARP),
    'warp_only': ('warp_write', 'warp_read', BLOCK),
    'dynamic': ('dynamic_write', 'dynamic_read', BLOCK),
    'generic': ('generic_write', 'generic_read', BLOCK),
    'called': ('LINE put', '= get(', BLOCK),
    'bytes': ('bytes_write', 'bytes_read', BLOCK),
    'halves': ('halves_write', 'halves_read', WARP),
    'vectors': ('vectors_write', 'vectors_read', BLOCK),
    'initialised': ('initialised_write', '', WARP),
    'handed_on': ('handed_write', 'handed_read', BLOCK),
    'flagged': ('flagged_write', 'flagged_read', BLOCK),
    'phases': ('phases_write', 'phases_read', BLOCK),
    'shared_lock': ('lock_update', 'lock_update', BLOCK),
    'shuffled': ('shuffled_write', 'shuffled_read', WARP),
    'transposed': ('transposed_write', 'transposed_read', WARP),
    'total': ('total_write', 'total_read', BLOCK),
    'updated': ('updated_write', 'updated_read', WARP),
    'groups': ('groups_write', 'groups_read', BLOCK),
    'fragments': ('fragments_write', 'fragments_read', BLOCK),
    'other_half': ('half_write', 'half_read', WARP),
    'volatile_data': ('volatile_write', 'volatile_read', BLOCK),
    'folded': ('LINE folded', 'LINE folded', WARP),
    'read_then_written': ('read_first', 'written_then', WARP),
    'arrived': ('arrived_read', 'arrived_write', BLOCK),
    'other_warp': ('warp_first', 'warp_second', BLOCK),
}
MORE = {'updated': ('updated_write', 'updated_write', WARP)}  # races there, too
NAMES = {'dynamic': 'd', 'initialised': 'count'}  # of variables; those of the others are s
ACCESS = r'(?:atomic update|(?:atomic or volatile )?(?:read|write)) by thread \(\d+,0,0\), at ([^;]*)'
FINDING = re.compile(r'kernel (\w+)\(int\*, int\*\): race \((%s|%s|%s)\) on \d+ bytes at offset \d+ of shared memory '
                     r'\((\w+) \+ \d+\) in block '
                     r'\(\d,0,0\): %s; then %s; (.*) orders them \[AW1428\]$' % (RAW, WAR, WAW, ACCESS, ACCESS))


def source_lines():
    lines = {}
    for name in 'races.cu', 'check_race.cu':
        with open(os.path.join(HERE, name), encoding='utf-8') as f:
            lines.update({(name, n): line for n, line in enumerate(f, 1)})
    return lines


def fits(texts, lacks, want):
    a, b = texts
    return ((want[0] in a and want[1] in b) or (want[0] in b and want[1] in a)) and bool(re.fullmatch(want[2], lacks))


def judge(what, r, kernels=RACES):
    lines, found = source_lines(), {}
    for said in r.stderr.splitlines():
        m = FINDING.search(said)
        if not m:
            expect(what + ': nothing else is said', False, said)
            continue
        places = [re.match(r'(?:[^,]*/)?([^/:,]+):(\d+)', place) for place in m.group(4, 5)]
        texts = [lines.get((p[1], int(p[2])), '') if p else '' for p in places]
        found.setdefault(m[1].replace('_warm', ''), []).append((texts, m[6], m[3]))
    ran = re.findall(r'^ran (\w+)$', r.stdout, re.M)
    all_of_them = sorted(k + end for k in kernels for end in ('', '_ordered'))
    expect(what + ': all ran', sorted(ran) == all_of_them, (ran, r.stderr))
    for kernel in kernels:
        want, here = RACES[kernel], found.pop(kernel, [])
        told = [f for f in here if fits(*f[:2], want)]
        rest = [f for f in here if f not in told and not (kernel in MORE and fits(*f[:2], MORE[kernel]))]
        right = len(told) == 1 and not rest and {name for _, _, name in here} == {NAMES.get(kernel, 's')}
        expect('%s: %s' % (what, kernel), right, here)
    expect(what + ': nothing in what is in order', not found, found)


def main():
    with expecting.given() as (compiler, anywarp, env, folder):
        program = os.path.join(folder, 'check_race')

        def build(code):
            subprocess.run([compiler, '-lineinfo', '-gencode', 'arch=compute_80,code=' + code, '-o', program,
                            os.path.join(HERE, 'check_race.cu')], check=True)

        def run(*options, more=(), words=()):
            return subprocess.run([anywarp, 'check', *options, program, *words], capture_output=True, text=True,
                                  env=env | dict(more), timeout=600, check=False)

        build('compute_80')
        judge('host', run('--race'))
        # Code calls the host device where it is new; when it is warm it looks itself.
        few = ['no_barrier', 'lanes', 'folded', 'read_then_written', 'other_warp', 'vectors']
        judge('warm', run('--race', words=['warm', *few, *(k + '_ordered' for k in few)]), few)
        if '--all' in sys.argv[2:]:
            judge('all warm', run('--race', words=['warm']))
            judge('with all checks', run('--race', '--init', '--sync'))
            for cpu in 'x86-64', 'x86-64-v2', 'x86-64-v3':
                judge(cpu, run('--race', more={'ANYWARP_HOST_CPU': cpu}))
        r = run('--sync')
        expect('not asked for', 'AW1428' not in r.stderr, r.stderr)
    expecting.finish()


main()
