#!/usr/bin/env python3
"""The race detector of the simulated Radeon: it reports the kernels of races.cu that have a race, by both lines, and none of
those that are in order.

usage: races.py ANYWARP [CARD...]      (default gfx1030, gfx906, gfx942, gfx1100 and gfx1201)
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import nvcc

SOURCE = os.path.join(HERE, 'races.cu')
# kernel: what the two accesses are, and words of their source lines
RACES = {
    'no_barrier': ('load', 'q[t] = s[', 'store', 's[t] = p[t]'),
    'overwritten': ('load', 'sum += b[', 'store', 'b[t] = p[t]'),
    'barrier_misplaced': ('load', 'q[t] = s[', 'store', 's[t] = p[t]'),
    'reused': ('load', 'int first = s[', 'store', 's[t] = first'),
    'flag': ('load', 'q[threadIdx.x ^ 1]', 'store', 'q[threadIdx.x] = p['),
    'not_released': ('load', 'p[N] = q[0]', 'store', 'q[0] = p[0]'),
    'not_acquired': ('load', 'p[N] = q[0]', 'store', 'q[0] = p[0]'),
    'same_word': ('store', 'q[0] = ORDERED', 'store', 'q[0] = ORDERED'),
    'atomic_and_store': ('atomic', '', 'store', 'q[0] = p[0] * 3'),
    'reduction_tail': ('load', 's[t] += s[t + n]', 'store', 's[t] += s[t + n]'),
    'copied': ('load', 'q[t] = s[', 'store', ''),
    'added': ('load', 'q[t] = s[t]', 'atomic', ''),
    'named_barrier': ('load', 'q[t] = s[', 'store', 's[t] = p[t]'),
    'last_block': ('load', '= q[threadIdx.x] + q[', 'store', '= p[threadIdx.x]'),
    'loop_head': ('load', 'sum += s[', 'store', 's[t] = p[t]'),
    'locked': ('load', 'q[0] += 1', 'store', 'q[0] += 1'),
}
# With waves of 64, what is left without barriers is one wave's, and in order.
ONE_WAVE = {card: ('reduction_tail',) for card in ('gfx906', 'gfx90a', 'gfx942')}


def build(compiler, folder):
    program = os.path.join(folder, 'races')
    subprocess.run([compiler, '-std=c++17', '-lineinfo', '-cudart', 'shared', '-o', program, SOURCE], check=True, timeout=300)
    return program


def run(anywarp, card, program, folder, *kernels, check=True):
    options = ['--check=race'] if check else []
    env = dict(os.environ, ANYWARP_CACHE_DIR=os.path.join(folder, 'cache'))
    r = subprocess.run([anywarp, 'run', '--device=sim:' + card, *options, '--', program, *kernels], capture_output=True,
                       text=True,
                       timeout=120, env=env, check=False)
    return r.returncode, r.stdout, r.stderr


def parse(err):
    """Kernel: list of its races, each the two (what, line of source)."""
    with open(SOURCE, encoding='utf-8') as f:
        source = [''] + f.read().splitlines()
    found = {}
    for m in re.finditer(r'race \d+ in kernel _Z\d+(\w+?)PiS_ on [^\n]*\n([^\n]*\n)([^\n]*\n)', err):
        places = []
        for line in (m[2], m[3]):
            p = re.match(r'simgpu:   (\w[\w ]*): .* at \+\d+ of the kernel, block \d+,0,0 wave \d+(?: lane \d+)?, (.*):(\d+)$',
                         line)
            if not p:
                raise SystemExit('not a place: ' + line)
            places.append((p[1], source[int(p[3])] if p[2].endswith('races.cu') else ''))
        found.setdefault(m[1], []).append(places)
    return found


def matches(places, want):
    a, b = places
    one, other = want[:2], want[2:]
    fits = lambda p, w: p[0] == w[0] and w[1] in p[1]
    return (fits(a, one) and fits(b, other)) or (fits(b, one) and fits(a, other))


def judge(card, status, out, err):
    problems = []
    found = parse(err)
    ran = re.findall(r'^ran (\w+)$', out, re.M)
    if sorted(ran) != sorted(list(RACES) + [k + '_ordered' for k in RACES]):
        problems.append('not all kernels ran: ' + ' '.join(ran))
    racy = {k: want for k, want in RACES.items() if k not in ONE_WAVE.get(card, ())}
    for kernel, want in racy.items():
        if not any(matches(p, want) for p in found.get(kernel, [])):
            problems.append('%s: %s' % (kernel, found.get(kernel, 'nothing was found')))
    problems += ['%s has no race: %s' % (k, p) for k, p in found.items() if k not in racy]
    count = sum(map(len, found.values()))
    if 'simgpu: %d races\n' % count not in err:
        problems.append('%d races were printed, but the last line does not say so' % count)
    if status != 66:
        problems.append('exit status %d' % status)
    return ['%s: %s' % (card, p) for p in problems]


def main():
    anywarp, cards = sys.argv[1], sys.argv[2:] or ['gfx1030', 'gfx906', 'gfx942', 'gfx1100', 'gfx1201']
    compiler = nvcc.find()
    if not compiler:
        print('there is no nvcc: skipped')
        return 77
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        program = build(compiler, folder)
        for card in cards:
            status, out, err = run(anywarp, card, program, folder)
            found = judge(card, status, out, err)
            problems += found + ([err] if found else [])
            status, out, err = run(anywarp, card, program, folder, 'no_barrier_ordered', 'flag_ordered')
            if status or 'simgpu: no races\n' not in err:
                problems.append('%s: without a race: exit status %d, %s' % (card, status, err))
        status, out, err = run(anywarp, cards[0], program, folder, 'no_barrier', check=False)
        if status or 'race' in err:
            problems.append('not asked for: exit status %d, %s' % (status, err))
    print('\n'.join(problems) if problems else '%d pairs of kernels on %s' % (len(RACES), ', '.join(cards)))
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
