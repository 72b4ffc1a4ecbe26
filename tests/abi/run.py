#!/usr/bin/env python3
"""Runs a sample program on the host device and looks at what it logs: a stub once, calls only when traced, outputs of calls only
when they succeeded.

    run.py PROGRAM STUB [EXPECTED_TRACE_REGEX...]"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys


def run(program, log):
    env = {**os.environ, 'ANYWARP_DEVICE': 'host', 'ANYWARP_LOG': log}
    return subprocess.run([program], env=env, capture_output=True, text=True, timeout=120)


def main():
    program, stub, expected = sys.argv[1], sys.argv[2], sys.argv[3:]
    bad = []

    plain = run(program, 'warn')
    if plain.returncode:
        bad.append('returned %d' % plain.returncode)
    said = [line for line in plain.stderr.splitlines() if '%s is not implemented' % stub in line]
    if len(said) != 1:
        bad.append('%s was announced %d times, not once' % (stub, len(said)))
    if 'trace' in plain.stderr:
        bad.append('calls are traced though nobody asked')

    traced = run(program, 'trace:abi')
    if traced.returncode != plain.returncode or traced.stdout != plain.stdout:
        bad.append('tracing changes the program: returned %d' % traced.returncode)
    lines = [line.partition('abi: ')[2] for line in traced.stderr.splitlines() if 'trace: abi: ' in line]
    for regex in expected:
        if not any(re.fullmatch(regex, line) for line in lines):
            bad.append('no traced call is %s' % regex)
    if bad:
        print(plain.stdout, plain.stderr, sep='')
        print('\n'.join(lines))
    for line in bad:
        print(line)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
