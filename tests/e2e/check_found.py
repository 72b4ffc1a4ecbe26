#!/usr/bin/env python3
"""Each defect that is planted in check_*.cu is found by `anywarp check`, at its line, and nothing else is; and nothing in what is
sound.  What is told of wrong accesses in detail is check.py's.

usage: check_found.py ANYWARP       (77 where there is no nvcc)
"""

# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import expecting
import nvcc
from expecting import expect

COME = r'lanes 0x%s come to it, lanes 0x%s of the mask do not.*thread \(%d,0,0\)'
DIFFER = r'in divergent code: of threads that end at one place some have come to 1, some to 0.*thread \(%d,0,0\)'
STRANGE = r'which does not name its callers: lanes 0x%s.*thread \(%d,0,0\)'
# A program, options of check, and of each defect its number, the marks of the lines that are named, and what is said there.
ROWS = [
    (
        'check_sync',
        ['--sync'],
        [
            (1, ['barrier_half'], 'barrier of the block ' + DIFFER % 16),
            (2, ['barrier_sides', 'barrier_sides_too'], r'barrier 0 \(__syncthreads\) in divergent code: lanes 0x\w+ of'),
            (3, ['barrier_warps'], 'barrier of the block ' + DIFFER % 32),
            (4, ['barrier_loop'], 'lanes 0xeeeeeeee of the warp come to it, lanes 0x11111111 do not'),
            (5, ['barrier_count'], 'barrier 1 for 48 threads, which is not a multiple of 32'),
            (6, ['barrier_many'], 'barrier 1 for 96 threads in a block of 64'),
            (8, ['warp_stranger'], '__syncwarp with mask 0x000000ff, ' + STRANGE % ('ffffff00', 8)),
            (9, ['warp_missing'], '__syncwarp with mask 0xffffffff: ' + COME % ('0000ffff', 'ffff0000', 16)),
            (10, ['shuffle_missing'], '__shfl_down_sync with mask 0xffffffff: ' + COME % ('0000ffff', 'ffff0000', 16)),
            (11, ['shuffle_stranger'], '__shfl_xor_sync with mask 0x0fffffff, ' + STRANGE % ('f0000000', 28)),
            (12, ['ballot_missing'], '__ballot_sync with mask 0xffffffff: ' + COME % ('55555555', 'aaaaaaaa', 1)),
            (13, ['vote_loop'], '__any_sync with mask 0xffffffff: ' + COME % ('fefefefe', '01010101', 0)),
            (14, ['match_missing'], '__match_any_sync with mask 0xffffffff: ' + COME % ('ffffff00', '000000ff', 0)),
            (15, ['reduce_stranger'], 'redux.sync with mask 0xfffffffe, ' + STRANGE % ('00000001', 0)),
            (16, ['all_missing'], '__all_sync with mask 0xffffffff: ' + COME % ('fffffffe', '00000001', 0)),
            (17, ['masks_differ'], '__shfl_sync with mask 0xffffffff: ' + COME % ('0000ffff', 'ffff0000', 16)),
            (7, ['barrier_other'], r'deadlocked: barrier 1 has 1 of 2 warps and no other warp can arrive'),
        ],
    ),
]


def marks_of(path):
    with open(path, encoding='utf-8') as f:
        return {n: m.group(1) for n, line in enumerate(f, 1) if (m := re.search(r'// LINE (\w+)', line))}


def check(run, name, options, defects):
    marks = marks_of(os.path.join(HERE, name + '.cu'))
    said = run(options, ['0'])
    expect(name + ': nothing in what is sound', not said, said)
    numbers = [str(number) for number, _, _ in defects]
    said = run(options, numbers)
    named = [{marks.get(int(n)) for n in re.findall(name + r'\.cu:(\d+)', line)} - {None} for line in said]
    for number, places, text in defects:
        here = [line for line, found in zip(said, named) if found & set(places)]
        fits = len(here) == len(places) and all(re.search(text, line) for line in here)
        expect('%s: defect %d' % (name, number), fits, (text, here, said if not here else ''))
    known = {place for _, places, _ in defects for place in places}
    expect(name + ': nothing else', all(found & known for found in named), said)


def main():
    compiler = nvcc.find()
    if not compiler:
        sys.exit(77)
    anywarp = os.path.abspath(sys.argv[1])
    env = {k: v for k, v in os.environ.items() if not k.startswith('ANYWARP_')}
    with tempfile.TemporaryDirectory() as folder:
        env['ANYWARP_CACHE_DIR'] = os.path.join(folder, 'cache')
        for name, options, defects in ROWS:
            program = os.path.join(folder, name)
            source = os.path.join(HERE, name + '.cu')
            arch = ['-gencode', 'arch=compute_80,code=compute_80']
            subprocess.run([compiler, '-lineinfo', *arch, '-o', program, source], check=True)

            def run(options, numbers, program=program):
                words = [anywarp, 'check', *options, program, *numbers]
                r = subprocess.run(words, capture_output=True, text=True, env=env, timeout=300, check=False)
                return r.stderr.splitlines()

            check(run, name, options, defects)
    expecting.finish()


main()
