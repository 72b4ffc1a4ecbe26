#!/usr/bin/env python3
# tools/bisect finds the passes that a command hangs on, and shows what a pass does to a kernel.
# SPDX-License-Identifier: Apache-2.0
"""usage: bisect.py BUILD_DIR SOURCE_ROOT"""
import os
import subprocess
import sys

# A program that needs two passes left out; one that nothing helps; one that is wrong on one level of processors alone.
TWO = 'case ,${ANYWARP_PASSES#disable=}, in *,jam,*) case $ANYWARP_PASSES in *blend*) exit 0; esac; esac; exit 1'
LEVEL = '[ "$ANYWARP_HOST_CPU" = x86-64-v2 ]'
MALFORMED = 'case $ANYWARP_PASSES in verify-each) echo "malformed IR after jam" >&2; esac; exit 1'


def main(build, root):
    carry = os.path.join(root, 'tests/ptx/lower/carry.ptx')
    on_card = ['--', carry, '--target', 'gfx1030', '--kernel', 'difference']
    cases = [
        (['--', 'true'], 0, ['right with all passes'], []),
        (['--', 'sh', '-c', TWO], 0, ['right without: blend, jam\n'], []),
        (['--', 'sh', '-c', 'exit 1'], 1, ['fails with every pass left out', '--changes'], ['It is right', 'malformed']),
        (['--', 'sh', '-c', LEVEL], 1, ['right with ANYWARP_HOST_CPU=x86-64-v2\n'], []),
        (['--', 'sh', '-c', MALFORMED], 1, ['after each pass: malformed IR after jam'], []),
        (['--changes', *on_card], 0, ['\ncarries '], ['orders ']),
        (['--changes', '--pass', 'carries', *on_card], 0, ['- ', 'usub.with.overflow', '+ ', ' = xor '], []),
        (['--changes', '--pass', 'nonsense', *on_card], 1, ['no pass nonsense'], []),
    ]
    failed = 0
    for args, status, wanted, unwanted in cases:
        done = subprocess.run([sys.executable, os.path.join(root, 'tools/bisect'), '--build', build, *args], capture_output=True,
                              text=True, check=False, env={k: v for k, v in os.environ.items() if k != 'ANYWARP_HOST_CPU'})
        said = done.stdout + done.stderr
        if done.returncode != status or any(w not in said for w in wanted) or any(w in said for w in unwanted):
            print(f'{args}: exit status {done.returncode}, not {status}, or other words than {wanted}:\n{said}')
            failed += 1
    return failed != 0


sys.exit(main(*sys.argv[1:]))
