#!/usr/bin/env python3
"""Runs a compiler with its output in a folder beside the build's stamp, for file names that meson gives to no target of its own.

    place.py STAMP RELATIVE_PATH COMPILER ARGUMENT..."""
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys


def main():
    stamp, relative, *command = sys.argv[1:]
    out = os.path.join(os.path.dirname(os.path.abspath(stamp)), relative)
    os.makedirs(os.path.dirname(out), exist_ok=True)
    status = subprocess.run(command + ['-o', out], check=False).returncode
    if status == 0:
        with open(stamp, 'w', encoding='utf-8') as f:
            f.write(out + '\n')
    return status


if __name__ == '__main__':
    sys.exit(main())
