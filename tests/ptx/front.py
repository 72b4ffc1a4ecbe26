#!/usr/bin/env python3
# Golden tests of the compiler's front: each .ptx says in comments how to run ptx_front on it and what must come out.
# SPDX-License-Identifier: Apache-2.0
"""usage: front.py PTX_FRONT FILE.ptx
   // MODE: check print ...   commands of ptx_front, run one after another
   // WITH: other.ptx         further files of the same command (linked)
   // EXPECT: text            must be in the output, in this order
   // REJECT: text            must not be in the output
   // STATUS: 1               exit status of every command; default 0
   // PTXAS: sm_80            where NVIDIA's ptxas is on PATH: it must accept what `print` prints"""
import os
import re
import shutil
import subprocess
import sys
import tempfile


def directives(path):
    found = {}
    with open(path, encoding='utf-8') as f:
        for line in f:
            m = re.match(r'\s*//\s*([A-Z]+):\s?(.*)$', line)
            if m:
                found.setdefault(m[1], []).append(m[2].strip())
    return found


def fail(text, output):
    sys.stdout.write(output)
    sys.exit(f'FAILED: {text}')


def check_output(wanted, output):
    at = 0
    for text in wanted.get('EXPECT', []):
        found = output.find(text, at)
        if found < 0:
            fail(f'expected "{text}"' + (' after the ones before it' if text in output else ''), output)
        at = found + len(text)
    for text in wanted.get('REJECT', []):
        if text in output:
            fail(f'"{text}" must not be there', output)


def check_ptxas(front, files, arch):
    ptxas = shutil.which('ptxas') or shutil.which('ptxas', path='/usr/local/cuda/bin')
    if not ptxas:
        return
    printed = subprocess.run([front, 'print', *files], capture_output=True, check=False).stdout
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, 'printed.ptx')
        with open(path, 'wb') as f:
            f.write(printed)
        options = [] if b'.entry' in printed else ['-c']
        run = subprocess.run([ptxas, f'-arch={arch}', *options, path, '-o', os.path.join(tmp, 'out')], capture_output=True,
                             text=True, check=False)
        if run.returncode:
            fail('ptxas refuses what was printed', printed.decode() + run.stdout + run.stderr)


def main(front, path):
    wanted = directives(path)
    if 'MODE' not in wanted or ('EXPECT' not in wanted and 'REJECT' not in wanted):
        fail('the file has no MODE or nothing to expect', '')
    folder = os.path.dirname(path)
    files = [path] + [os.path.join(folder, name) for names in wanted.get('WITH', []) for name in names.split()]
    status = int(wanted.get('STATUS', ['0'])[0])
    output = ''
    for mode in wanted['MODE'][0].split():
        run = subprocess.run([front, mode, *files], capture_output=True, text=True, check=False)
        output += run.stdout + run.stderr
        if run.returncode != status:
            fail(f'{mode}: exit status {run.returncode}, not {status}', output)
    check_output(wanted, output)
    for arch in wanted.get('PTXAS', []):
        check_ptxas(front, files, arch)


if len(sys.argv) != 3:
    sys.exit(__doc__)
main(sys.argv[1], sys.argv[2])
