#!/usr/bin/env python3
"""Lifts programs' machine code and asks ptxas whether it takes the text: accepted.py SASS_LIFT ARCH[,ARCH...] FILE.cu..."""
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import nvcc


def check(lift, path, arch, folder):
    """What is wrong, or None."""
    cubin, ptx = os.path.join(folder, 'x.cubin'), os.path.join(folder, 'x.ptx')
    subprocess.run([nvcc.find(), '-cubin', '-arch=sm_' + arch, path, '-o', cubin], check=True, capture_output=True)
    names = [line.split()[1].rstrip(':') for line in
             subprocess.run([lift, cubin, '--names'], check=True, capture_output=True, text=True).stdout.splitlines()]
    for name in names:
        done = subprocess.run([lift, cubin, name], capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr
        with open(ptx, 'w', encoding='utf-8') as f:
            f.write(done.stdout)
        done = subprocess.run([nvcc.find_beside('ptxas'), '-arch=sm_90', '-c', ptx, '-o', os.devnull], capture_output=True,
                              text=True, check=False)
        if done.returncode:
            return f'{name}: {done.stderr}'
    return None if names else 'no kernels'


def main():
    if not nvcc.find():
        print('no nvcc')
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in sys.argv[3:]:
            for arch in sys.argv[2].split(','):
                why = check(sys.argv[1], path, arch, folder)
                print(f'{"FAIL" if why else "ok":4} {os.path.basename(path)} sm_{arch} {why or ""}')
                failed += why is not None
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
