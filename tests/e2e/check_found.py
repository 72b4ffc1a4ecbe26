#!/usr/bin/env python3
"""Each defect that is planted in check_*.cu is found by `anywarp check`, at its line, and nothing else is; and nothing in what is
sound.  What is told of wrong accesses in detail is check.py's.

usage: check_found.py ANYWARP [--few]       (77 where there is no nvcc)

--few, as tools/test has it: of wrong accesses, each of which takes a run of its own, some.
"""

# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys

import expecting
from expecting import expect

HERE = os.path.dirname(os.path.abspath(__file__))

COME = r'lanes 0x%s come to it, lanes 0x%s of the mask do not.*thread \(%d,0,0\)'
DIFFER = r'in divergent code: of threads that end at one place some have come to 1, some to 0.*thread \(%d,0,0\)'
STRANGE = r'which does not name its callers: lanes 0x%s.*thread \(%d,0,0\)'
UNWRITTEN = r'read of memory that was never written, %d of %d bytes, the first at 0x\w+, in .*thread \(%d,0,0\).*, %d bytes into'
ILLEGAL = r'illegal access to address 0x\w+ in block \(%d,0,0\), warp \d+, thread \(%d,0,0\).*, %d bytes %s'
SHARED = r'illegal access to byte %d of shared memory, which has %d in .*thread \(%d,0,0\)'
PAST = 'past the end of an allocation of 4000 bytes'
# A program, options of check, and of each defect its number, the marks of the lines that are named, and what is said there.
ROWS = [
    (
        'check_memory',
        [],
        [
            (1, ['shared_end'], SHARED % (256, 256, 63)),
            (2, ['shared_column'], SHARED % (4340, 4224, 31)),
            (3, ['shared_count'], SHARED % (256, 256, 41)),
            (4, ['shared_pair'], r'access that is not aligned, to byte 4 of shared memory.*thread \(0,0,0\)'),
            (5, ['copy_async'], ILLEGAL % (0, 31, 0, PAST)),
            (6, ['row_tail'], ILLEGAL % (3, 231, 0, PAST)),
            (7, ['strided'], r'illegal access to address 0x\w+ in .*thread \(1,0,0\)'),
            (8, ['scattered'], ILLEGAL % (0, 63, 0, PAST)),
            (9, ['heap_freed'], r'thread \(0,0,0\).*, 12 bytes into freed memory of 64 bytes'),
            (10, ['one_lane'], ILLEGAL % (0, 13, 0, PAST)),
            (11, ['swap_at'], ILLEGAL % (0, 0, 0, PAST)),
        ],
    ),
    (
        'check_init',
        ['--init'],
        [
            (1, ['first_read'], UNWRITTEN % (4, 4, 0, 0)),
            (2, ['last_byte'], UNWRITTEN % (1, 1, 99, 99)),
            (3, ['beside_rows'], UNWRITTEN % (4, 4, 31, 132)),
            (4, ['scattered'], UNWRITTEN % (4, 4, 31, 124)),
            (5, ['counter'], UNWRITTEN % (4, 4, 0, 0)),
            (6, ['wide'], UNWRITTEN % (4, 4, 31, 508)),
            (7, ['half_stored'], UNWRITTEN % (1, 1, 1, 0)),
            (8, ['loop'], UNWRITTEN % (4, 4, 52, 2000)),
        ],
    ),
    (
        'check_sync',
        ['--sync'],
        [
            (1, ['barrier_half'], 'in divergent code: '),
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


def check(run, name, options, defects, few):
    marks = marks_of(os.path.join(HERE, name + '.cu'))
    said = run(options, ['0'])
    expect(name + ': nothing in what is sound', not said, said)
    numbers = [str(number) for number, _, _ in defects]
    apart = name == 'check_memory'  # nothing runs after a wrong access
    if apart and few:
        defects, numbers = defects[1::4], numbers[1::4]
    said = [line for number in numbers for line in run(options, [number])] if apart else run(options, numbers)
    named = [{marks.get(int(n)) for n in re.findall(name + r'\.cu:(\d+)', line)} - {None} for line in said]
    for number, places, text in defects:
        here = [line for line, found in zip(said, named) if found & set(places)]
        fits = len(here) == len(places) and all(re.search(text, line) for line in here)
        expect('%s: defect %d' % (name, number), fits, (text, here, said if not here else ''))
    known = {place for _, places, _ in defects for place in places}
    expect(name + ': nothing else', all(found & known for found in named), said)


def main():
    with expecting.given() as (compiler, anywarp, env, folder):
        for name, options, defects in ROWS:
            program = os.path.join(folder, name)
            source = os.path.join(HERE, name + '.cu')
            arch = ['-gencode', 'arch=compute_80,code=compute_80']
            subprocess.run([compiler, '-lineinfo', *arch, '-o', program, source], check=True)

            def run(options, numbers, program=program):
                words = [anywarp, 'check', *options, program, *numbers]
                r = subprocess.run(words, capture_output=True, text=True, env=env, timeout=300, check=False)
                return r.stderr.splitlines()

            check(run, name, options, defects, '--few' in sys.argv[2:])
        # Machine code has no masks to look at, which is said, and not taken for nothing found.
        program = os.path.join(folder, 'lifted')
        subprocess.run([compiler, '-gencode', 'arch=compute_80,code=sm_80', '-o', program, os.path.join(HERE, 'check_sync.cu')],
                       check=True)
        said = run(['--sync'], ['8'], program)
        expect('--sync of machine code', len(said) == 1 and 'are not looked at [AW1232]' in said[0], said)
        said = run([], ['0'], program)
        expect('check of machine code', not said, said)
    expecting.finish()


main()
