#!/usr/bin/env python3
"""gdb on the host device: breakpoints by kernel and by line, which block and lanes, faults (docs/debugging.md).

usage: debugger.py ANYWARP       (77 where there is no nvcc, or no gdb 13 with Python)
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import expecting
import nvcc
from expecting import expect

SOURCE = os.path.join(HERE, 'debugger.cu')


def skip(why):
    print('debugger.py: ' + why)
    sys.exit(77)


def lines():
    with open(SOURCE, encoding='utf-8') as f:
        return {m.group(1): i for i, text in enumerate(f, 1) if (m := re.search('// stop: (.*)', text))}


def gdb(anywarp, env, program, *commands):
    """What gdb and the program say; `program` may be several words."""
    words = [w for c in ('set breakpoint pending on',) + commands for w in ('-ex', c)]
    r = subprocess.run([anywarp, 'run', 'gdb', '-nx', '-batch', *words, '--args', *program],
                       capture_output=True, text=True, env=env, timeout=300, check=False)
    return r.stdout + r.stderr


def lanes(seen):
    """Active lanes as `info cuda blocks` has them, of the selected thread."""
    found = re.search(r'(?m)^\* +\d+ +\d+ \(\d+,\d+,\d+\) +\d+  ((?:\d+(?:-\d+)? )*)', seen)
    return found.group(1).strip() if found else seen


def by_name(anywarp, env, program):
    seen = gdb(anywarp, env, program, 'break rows', 'break shapes::scale<3>', 'break hidden', 'run', 'info breakpoints',
               'backtrace 1',
               'info cuda kernels', 'delete 1', 'continue', 'print $blockDim("y")', 'delete 2', 'continue', 'continue')
    expect('the launcher is switched off', 'Breakpoint 1 is for the kernel; place 1.1' in seen and
           re.search(r'1\.1 +n .*rows', seen), seen)
    stops = re.findall(r'(?m)^Thread .* hit Breakpoint \S+, (\S+) \(\)', seen)
    expect('kernels are stopped at by name', stops[:1] == ['rows'] and 'shapes::scale<3>' in stops and
           '(anonymous namespace)::hidden' in seen, seen)
    expect('a backtrace begins with the kernel', re.search(r'(?m)^#0 +rows \(\) at .*debugger\.cu', seen), seen)
    row = r'(?m)^\* +1 \(3,1,1\) +\(40,1,1\) +0 +\d  rows\(float const\*, float\*, int\)'
    expect('the kernel that runs', re.search(row, seen), seen)
    expect('blocks of threads', re.search(r'\$1 = 4\b', seen), seen)
    expect('the program ends well', 'first no error' in seen and 'exited normally' in seen, seen)


def by_line(anywarp, env, program, at):
    there = 'break debugger.cu:%d if $blockIdx("x") == 2 && $warp() == %d'
    seen = gdb(anywarp, env, program, there % (at['some'], 0), 'run', 'info cuda blocks', 'print/x $lanes()', 'cuda lane 5',
               'print $threadIdx("x")', 'cuda lane 2', 'cuda thread 9', 'cuda lane 32', 'print $has_thread(9)',
               'print $has_thread(8)')
    # Block 2 has threads 80 to 119; i % 4 == 1 for lanes 1, 5, 9 and so on, and i < 110 is the first 30.
    expect('which lanes run a branch', lanes(seen) == '1 5 9 13 17 21 25 29', seen)
    expect('as a number', '$1 = 0x22222222' in seen, seen)
    expect('a lane is chosen', 'lane 5, thread (5,0,0)\n$2 = 5\n' in seen and
           'lane 2, thread (2,0,0), which is not active here' in seen and
           'lane 9, thread (9,0,0)\n' in seen and 'the warp has no lane 32' in seen, seen)
    expect('a thread is asked for', '$3 = 1' in seen and '$4 = 0' in seen, seen)
    seen = gdb(anywarp, env, program, there % (at['others'], 0), 'run', 'info cuda blocks')
    expect('the other side', lanes(seen) == '0 2-4 6-8 10-12 14-16 18-20 22-24 26-28', seen)
    seen = gdb(anywarp, env, program, there.replace('== 2', '== 1') % (at['others'], 1), 'run', 'info cuda blocks',
               'info cuda lanes')
    # Warp 1 of a block of 40 has 8 threads; block 1's begin with 40.
    expect('a warp that is not full', lanes(seen) == '0 2-4 6-7' and re.search(r'(?m)^ +7 \(39,0,0\) +active$', seen) and
           not re.search(r'(?m)^ +8 \(', seen), seen)
    seen = gdb(anywarp, env, program, 'break debugger.cu:%d if $blockIdx("x") == 1 && $has_thread(5)' % at['deep'], 'run',
               'backtrace 2', 'info cuda blocks', 'delete', 'continue')
    expect('in a function', re.search(r'#0 +deep \(.*\n#1 .*rows \(\)', seen), seen)
    expect('its lanes', lanes(seen).startswith('1 5 9'), seen)
    # Warps that do not stop there go on from the breakpoint, which must be where they are (displaced-stepping).
    expect('others go on', 'first no error' in seen and 'SIGSEGV' not in seen, seen)


def barrier(anywarp, env, program, at):
    seen = gdb(anywarp, env, program, 'break debugger.cu:%d if $warp() == 1 && $blockIdx("x") == 1' % at['met'], 'run',
               'info cuda lanes', 'backtrace 1')
    row = r'scale<3>.*<<<\(2,1,1\), \(16,4,1\)>>>, block \(1,0,0\), warp 1, active lanes: 0-31'
    expect('behind a barrier', re.search(row, seen), seen)
    expect('threads of a block with rows', re.search(r'(?m)^ +17 \(1,3,0\) +active$', seen), seen)


def variables(anywarp, env, program, at):
    """Of a program built with -G."""
    seen = gdb(anywarp, env, program, 'set print elements 16', 'set print repeats unlimited',
               'break debugger.cu:%d' % at['before'], 'break debugger.cu:%d' % at['after'], 'break deep', 'run', 'info locals',
               'up',
               'print i[5] % 40', 'delete 3', 'continue', 'print i', 'print f', 'print (int)c[4]', 'print flag[0]',
               'print d[1]', 'cuda lane 7', 'cuda print i', 'cuda print i + 1', 'print i[$lane()] + 1', 'continue', 'print f',
               'cuda print f')
    expect("a function's own variables", re.search(r'\nx = \{0, 0, 0, ', seen), seen)
    expect('those of the kernel that calls it', re.search(r'#1 .*rows \(\)(.*\n)*?\$1 = 5\n', seen), seen)
    expect('integers', '$2 = {' + ', '.join(map(str, range(16))) + '...}' in seen, seen)
    expect('floats', '$3 = {' + ', '.join('%g' % (2.5 + i) for i in range(16)) + '...}' in seen, seen)
    expect('letters, truths, doubles', '$4 = %d\n$5 = true\n$6 = 5\n' % (ord('a') + 4 % 3) in seen, seen)
    expect("one lane's", 'lane 7: i = 7\n' in seen and seen.count('takes the name') == 1 and '$7 = 8\n' in seen, seen)
    changed = ', '.join('%g' % (2.5 + i + ord('a') + i % 3) for i in range(16))
    expect('what the line before has changed', '$8 = {' + changed in seen, seen)


def fault(anywarp, env, program, at):
    seen = gdb(anywarp, env, (*program, 'wild'), 'run', 'backtrace 1', 'info cuda blocks', 'continue')
    row = r'#0 .*wild \(\) at .*debugger\.cu:%d' % at['wild']
    expect('gdb stops at a fault', 'SIGSEGV' in seen and re.search(row, seen), seen)
    expect('whose it is', lanes(seen) == '5', seen)
    expect('the kernel ends, the program does not', 'then an illegal memory access was encountered' in seen and
           'exited normally' in seen, seen)


def told(anywarp, env, program):
    """Of a program without lines: what tells of a fault makes the code again, with lines of the PTX."""
    said = subprocess.run([anywarp, 'run', program[0], 'wild'], capture_output=True, text=True, timeout=300, check=False,
                          env=dict(env, ANYWARP_HOST_DEBUG='1')).stderr
    expect('a fault is told with its line', re.search(r'wild\(float\*, int\): .*, at .*PTX\S*:\d+', said), said)


def plain(anywarp, env, program):
    seen = gdb(anywarp, env, program, 'info cuda kernels', 'info cuda lanes', 'cuda', 'print $lane()',
               'info cuda nothing', 'break main', 'run', 'info cuda')
    expect('nothing runs', seen.count('No kernel is running.') == 2 and seen.count('runs no kernel') == 3, seen)
    ask = ['-nx', '-batch', '-ex', 'show environment ANYWARP_HOST_DEBUG']
    said = subprocess.run([anywarp, 'run', 'gdb', *ask, *program], text=True, capture_output=True,
                          env=dict(env, ANYWARP_HOST_DEBUG='0'), check=False).stdout
    expect("the user's wish holds", 'ANYWARP_HOST_DEBUG = 0' in said, said)


if not shutil.which('gdb'):
    skip('no gdb')
version = subprocess.run(['gdb', '-nx', '-batch', '-ex', 'python print("gdb is", gdb.VERSION.split(".")[0])'],
                         capture_output=True, text=True, check=False).stdout
if not (known := re.search(r'gdb is \D*(\d+)', version)) or int(known.group(1)) < 13:
    skip('gdb is older than 13, or has no Python')
compiler = nvcc.find()
if not compiler:
    skip('no nvcc')
with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o700)
    environment = dict(os.environ, ANYWARP_CACHE_DIR=os.path.join(folder, 'cache'), ANYWARP_DEVICE='host',
                       ANYWARP_HOST_THREADS='2')
    environment.pop('ANYWARP_HOST_DEBUG', None)
    it, full, bare = [[os.path.join(folder, name)] for name in ('debugger', 'full', 'bare')]
    for program, flags in (it, ['-lineinfo']), (full, ['-g', '-G']), (bare, []):
        subprocess.run([compiler, '-std=c++17', *flags, '-cudart', 'shared', '-arch=compute_80', '-o', program[0], SOURCE],
                       check=True, timeout=300)
    by_name(sys.argv[1], environment, it)
    by_line(sys.argv[1], environment, it, lines())
    barrier(sys.argv[1], environment, it, lines())
    by_line(sys.argv[1], environment, full, lines())
    variables(sys.argv[1], environment, full, lines())
    fault(sys.argv[1], environment, it, lines())
    told(sys.argv[1], environment, bare)
    plain(sys.argv[1], environment, it)
expecting.finish()
