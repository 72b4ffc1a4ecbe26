#!/usr/bin/env python3
"""What a user sees at a terminal: the status line while kernels compile, and kernels in gdb.

usage: terminal.py ANYWARP       (77 where there is no nvcc)
"""
# SPDX-License-Identifier: Apache-2.0
import os
import pty
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

ERASED = '\r\x1b[K'
KERNELS = 100
def at_terminal(command, env):
    """Runs the command with a terminal of its own; what it wrote there."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, env)
    seen = b''
    try:
        while part := os.read(terminal, 4096):
            seen += part
    except OSError: # its end
        pass
    os.waitpid(pid, 0)
    return seen.decode(errors='replace')


def status_line(anywarp, program, env):
    line = r'\ranywarp: compiling kernel void scale<\d+>\(float\*\) \([^)\x1b]*\)? \[(\d+ under way, )?\d+ done, \d+ s\]\x1b\[K'
    cold = at_terminal([anywarp, 'run', program], env)
    expect('a line while kernels compile', re.search(line, cold), cold)
    # Whoever reads the screen: a line feed after a line that is not erased would leave it there.
    screen = re.sub(r'[^\n\r]*' + re.escape(ERASED), '', re.sub(line, '', cold)).replace('\r\n', '\n')
    expect('only what the program wrote stays', screen.strip().startswith('first ') and screen.strip().endswith('no error'),
           screen)
    shutil.rmtree(env['ANYWARP_CACHE_DIR'])
    expect('no line with --quiet', '\x1b' not in (quiet := at_terminal([anywarp, 'run', '--quiet', program], env)), quiet)
    warm = at_terminal([anywarp, 'run', program], env)
    expect('no line where all is in the cache', '\x1b' not in warm, warm)
    shutil.rmtree(env['ANYWARP_CACHE_DIR'])
    r = subprocess.run([anywarp, 'run', program], capture_output=True, text=True, env=env, timeout=300, check=False)
    expect('no line without a terminal', r.returncode == 0 and not r.stderr, r.stderr)


def no_colours(anywarp, program, env):
    """As docs/commands.md has it; then NO_COLOR has nothing to turn off."""
    for command in (['doctor', program], ['info'], ['profile', program], ['dump', program], ['cache'], ['frob']):
        seen = at_terminal([anywarp, *command], env)
        expect('no colours of ' + command[0], seen and not re.search(r'\x1b\[[\d;]*m', seen), seen)


def debugger(anywarp, program, env):
    if not shutil.which('gdb'):
        print('no gdb: not tried')
        return
    commands = ['set breakpoint pending on', 'break terminal.cu:%d' % stop, 'run', 'backtrace', 'delete', 'continue']
    r = subprocess.run([anywarp, 'run', 'gdb', '-nx', '-batch', *(w for c in commands for w in ('-ex', c)), program],
                       capture_output=True,
                       text=True, env=env, timeout=300, check=False)
    seen = r.stdout + r.stderr
    expect('gdb stops in a kernel', re.search(r'hit Breakpoint 1.*terminal\.cu:%d' % stop, seen), seen)
    way = r'(?m)^#0 +scale<1> \(\) at .*terminal\.cu.*(?:\n.*)*\n#\d .* blocks \(\)'
    expect('it knows the way there', re.search(way, seen), seen)
    expect('it finds the file', 'No such file' not in seen, seen)
    expect('the program ends well', 'no error' in seen and 'exited normally' in seen, seen)


compiler = nvcc.find()
if not compiler:
    print('terminal.py: no nvcc')
    sys.exit(77)
source = os.path.join(HERE, 'terminal.cu')
with open(source, encoding='utf-8') as f:
    stop = next(i for i, text in enumerate(f, 1) if 'stop here' in text)
with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o700)
    environment = dict(os.environ, ANYWARP_CACHE_DIR=os.path.join(folder, 'cache'), ANYWARP_DEVICE='host', TERM='xterm')
    environment.pop('ANYWARP_QUIET', None)
    for name, kernels in ('many', KERNELS), ('one', 1):
        subprocess.run([compiler, '-std=c++17', '-lineinfo', '-DKERNELS=%d' % kernels, '-cudart', 'shared', '-arch=compute_80',
                        '-o',
                        os.path.join(folder, name), source], check=True, timeout=300)
    status_line(sys.argv[1], os.path.join(folder, 'many'), environment)
    no_colours(sys.argv[1], os.path.join(folder, 'one'), environment)
    debugger(sys.argv[1], os.path.join(folder, 'one'), environment)
expecting.finish()
