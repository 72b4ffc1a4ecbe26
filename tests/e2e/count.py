#!/usr/bin/env python3
"""`anywarp profile --counters`: bytes, lanes and waiting of kernels whose numbers are known (docs/watching.md).

usage: count.py ANYWARP       (77 where there is no nvcc)
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import subprocess
import sys

import expecting
from expecting import expect

HERE = os.path.dirname(os.path.abspath(__file__))

SOURCE = os.path.join(HERE, 'count.cu')
N = 100003

# Kernel, launches' bytes of global memory loaded and stored, of shared memory loaded and stored.
BYTES = {
    'saxpy': (8 * N, 4 * N, 0, 0),
    'half_of': (100 * 32 * 16, 100 * 32 * 4, 0, 0),
    'short_warp': (50 * 40 * 8, 50 * 40 * 8, 0, 0),
    'updates': (10 * 96 * 4, 10 * 96 * (4 + 1), 0, 0),
    'anywhere': (0, 4 * (64 + 128) * 4, 4 * 128 * 4, 4 * 64 * 4),
    'uneven': (4 * 20 * 128 * 4, 4 * 20 * 128 * 4, 4 * 20 * 128 * 4, 4 * 20 * 128 * 4),
}
# Line, kernel, lanes in use of 32, bytes loaded and stored there.
LINES = {
    'saxpy': ('saxpy', 32 * N / (-(-N // 32) * 32), 8 * N, 4 * N),
    'half': ('half_of', 16, 100 * 32 * 16, 0),
    'half out': ('half_of', 16, 0, 100 * 32 * 4),
    'short': ('short_warp', 20, 50 * 40 * 8, 50 * 40 * 8),
    'byte': ('updates', 32, 0, 10 * 96),
    'back': ('anywhere', 32, 0, 4 * 128 * 4),
}


def places():
    with open(SOURCE, encoding='utf-8') as f:
        return {m.group(1): i for i, text in enumerate(f, 1) if (m := re.search('// line: (.*)', text))}


def profile(anywarp, env, program, *options):
    out = program + '.out'
    r = subprocess.run([anywarp, 'profile', '--counters', *options, '-o', out, program], capture_output=True, text=True, env=env,
                       timeout=300, check=False)
    expect('the program runs', r.returncode == 0 and r.stdout == 'no error\n', r.stdout + r.stderr)
    with open(out, encoding='utf-8') as f:
        return f.read()


def look(counters, how, with_lines):
    kernels = {re.match(r'\w+', k['kernel']).group(0): k for k in counters['kernels']}
    for name, bytes_of in BYTES.items():
        k = kernels.get(name, {})
        found = tuple(k.get(f) for f in ('loaded_bytes', 'stored_bytes', 'shared_loaded_bytes', 'shared_stored_bytes'))
        expect('%s: bytes of %s' % (how, name), found == bytes_of, '%s, expected %s' % (found, bytes_of))
    short = kernels['short_warp']
    expect(how + ': lanes of a block of 40', short['lane_instructions'] == 20 * short['warp_instructions'], short)
    expect(how + ': barriers', kernels['uneven']['barriers'] == 4 * 20, kernels['uneven'])
    lines = {int(line['line'].rsplit(':', 1)[1]): line for line in counters['lines'] if 'count.cu:' in line['line']}
    for name, at in places().items() if with_lines else ():
        if name not in LINES:
            continue
        kernel, lanes, loaded, stored = LINES[name]
        line = lines.get(at)
        expect('%s: line %s' % (how, name), line and line['kernel'].startswith(kernel) and
               (line['loaded_bytes'], line['stored_bytes']) == (loaded, stored) and
               abs(line['lane_instructions'] / line['warp_instructions'] - lanes) < 0.01, line)


def waiting(anywarp, env, program):
    # Four warps do one to four parts: (4 * 4 - 10) of 16 is waiting.  A processor that the machine below takes away for a while
    # looks like a slow warp, so the best of some runs counts.
    seen = []
    for _ in range(6):
        counters = json.loads(profile(anywarp, env, program, '--json'))['counters']
        k = next(k for k in counters['kernels'] if k['kernel'].startswith('uneven'))
        seen.append(k['waiting_ns'] / (k['waiting_ns'] + k['to_barriers_ns']))
        if 0.34 < seen[-1] < 0.41:
            break
    expect('what warps wait for the slowest', 0.34 < seen[-1] < 0.41, seen)


with expecting.given() as (compiler, anywarp, environment, folder):
    environment['ANYWARP_DEVICE'] = 'host'
    for flags in ('-lineinfo',), ('-G',), ():
        it = os.path.join(folder, 'count' + ''.join(flags))
        subprocess.run([compiler, '-std=c++17', *flags, '-cudart', 'shared', '-arch=compute_80', '-o', it, SOURCE], check=True,
                       timeout=300)
        for level in ('', 'x86-64-v3') if flags == ('-lineinfo',) else ('',):
            result = json.loads(profile(anywarp, dict(environment, ANYWARP_HOST_CPU=level), it, '--json'))
            look(result['counters'], ' '.join(flags + (level,)), flags == ('-lineinfo',))
            expect('samples are left out', not result['lines'], result['lines'])
    waiting(anywarp, environment, it)
    said = profile(anywarp, environment, os.path.join(folder, 'count-lineinfo'))
    expect('a table for people', re.search(r'(?m)^ +\d+ +20\.00 +16000 B +16000 B .*  short_warp\(double\*\)$', said), said)
    none = subprocess.run([anywarp, 'profile', '--counters', sys.executable, '-c', ''], capture_output=True, text=True,
                          env=environment, timeout=300, check=False).stderr
    expect('that nothing was counted', 'Nothing was counted: no kernel ran on the host device.' in none, none)
    expect('and of lines', re.search(r'(?m)^ +[\d.]+% +16\.00 +51200 B +0 B  .*count\.cu:\d+  half_of\(', said), said)
expecting.finish()
