#!/usr/bin/env python3
"""Builds a CUDA program with nvcc against one of our libraries and runs it under `anywarp run`, found by its SONAME alone.  77:
no nvcc, or the program says SKIP.

    program.py ANYWARP SOURCE LIBRARY DEVICE..."""
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import nvcc


def main():
    anywarp, source, library, devices = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    compiler = nvcc.find()
    if not compiler:
        print('there is no nvcc: skipped')
        return 77
    with tempfile.TemporaryDirectory() as tmp:
        program = os.path.join(tmp, 'program')
        subprocess.run([compiler, '-cudart', 'shared', '-gencode', 'arch=compute_75,code=compute_75', '-o', program, source,
                        '-Xlinker', library, '-Xlinker', '--allow-shlib-undefined'], check=True)
        for device in devices:
            run = subprocess.run([anywarp, 'run', '--device=' + device, program], capture_output=True, text=True, timeout=300)
            if 'SKIP' in run.stdout:
                print(run.stdout)
                return 77
            if run.returncode or 'PASS' not in run.stdout:
                print('on %s: returned %d\n%s%s' % (device, run.returncode, run.stdout, run.stderr))
                return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
