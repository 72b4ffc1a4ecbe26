#!/usr/bin/env python3
"""cuSOLVER by rocSOLVER: a stand-in says what it was asked, with AMD's prototypes and numbers.

    amd.py ANYWARP PROGRAM STANDIN"""
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import sys
import tempfile

WANTED = """dpotrf 121 5 there 6 there
cpotrs 122 5 2 there 6 there 7
dgetrf 4 5 there 6 there there
dgetrs 112 4 3 there 6 there there 4
cgeqrf 4 5 there 6 there
dormqr 142 112 4 5 2 there 6 there there 7
cunmqr 141 113 4 5 2 there 6 there there 7
destroy
"""


def main():
    anywarp, program, standin = sys.argv[1:]
    with tempfile.TemporaryDirectory() as tmp:
        shutil.copy(standin, os.path.join(tmp, 'librocsolver.so.0'))
        env = dict(os.environ, LD_LIBRARY_PATH=tmp + ':' + os.environ.get('LD_LIBRARY_PATH', ''))
        run = subprocess.run([anywarp, 'run', '--device=sim:gfx1030', program], capture_output=True, text=True, timeout=120,
                             env=env)
    said = ''.join(line + '\n' for line in run.stdout.splitlines() if not line.startswith('amd:'))
    if run.returncode or said != WANTED:
        print('returned %d\n%s%s\nwanted:\n%s' % (run.returncode, run.stdout, run.stderr, WANTED))
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
