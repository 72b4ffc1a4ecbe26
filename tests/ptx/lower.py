#!/usr/bin/env python3
# Golden tests of lowering and finishers: each .ptx says in comments how to compile it and what must come out.
# SPDX-License-Identifier: Apache-2.0
"""usage: lower.py COMPILER FILE.ptx
   // RUN: --target gfx1030 --emit=ir --kernel k    begins a run; the directives after it belong to it
   // EXPECT: text            must be in its output (both streams), in this order; {{...}} is a regular expression
   // REJECT: text            must not be in the output
   // STATUS: 1               exit status; default 0"""
import re
import subprocess
import sys


def pattern(text):
    parts = re.split(r'(\{\{.*?\}\})', text)
    return re.compile(''.join(p[2:-2] if p.startswith('{{') else re.escape(p) for p in parts))


def runs_of(path):
    runs = []
    with open(path, encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            m = re.match(r'\s*//\s*(RUN|EXPECT|REJECT|STATUS):\s?(.*)$', line)
            if not m:
                continue
            if m[1] == 'RUN':
                runs.append({'line': number, 'args': m[2].split(), 'checks': [], 'status': 0})
            elif not runs:
                sys.exit(f'{path}:{number}: directive before the first RUN')
            elif m[1] == 'STATUS':
                runs[-1]['status'] = int(m[2])
            else:
                runs[-1]['checks'].append((m[1], m[2].strip(), number))
    return runs


def run_one(compiler, path, run):
    done = subprocess.run([compiler, 'compile', path, *run['args']], capture_output=True, text=True, errors='replace',
                          check=False)
    output, at = done.stderr + done.stdout, 0

    def fail(number, text):
        sys.stdout.write(output)
        sys.exit(f'{path}:{number}: {text}')

    if done.returncode != run['status']:
        fail(run['line'], f'exit status {done.returncode}, not {run["status"]}')
    for kind, text, number in run['checks']:
        found = pattern(text).search(output, at if kind == 'EXPECT' else 0)
        if kind == 'REJECT' and found:
            fail(number, f'"{text}" must not be there')
        if kind == 'EXPECT' and not found:
            fail(number, f'expected "{text}"' + (' after those before it' if pattern(text).search(output) else ''))
        at = found.end() if found and kind == 'EXPECT' else at
    if not run['checks'] and run['status'] == 0:
        fail(run['line'], 'a run without EXPECT or REJECT checks nothing')


def main(argv):
    if len(argv) != 3:
        sys.exit(__doc__)
    runs = runs_of(argv[2])
    if not runs:
        sys.exit(f'{argv[2]}: no RUN')
    for run in runs:
        run_one(argv[1], argv[2], run)


main(sys.argv)
