#!/usr/bin/env python3
# Which instructions have a uniform predicate for their guard: those of the uniform datapath, also where they write no uniform
# register, and what puts a special register into one; not what a warp brings to it.
# SPDX-License-Identifier: Apache-2.0
"""usage: guards.py SASS_LIST"""
import struct
import subprocess
import sys
import tempfile

GUARD = 2 << 12 | 1 << 15  # @!P2 or @!UP2, in the place of PT's
CASES = [('80', *case) for case in (
    ('@!UP2 UIADD3', 0x605050290, 0x0fffe03f), ('@!UP2 UISETP.GE.AND', 0x41600028c, 0x0bf06270),
    ('@!UP2 UPLOP3.LUT', 0x89c, 0x70e024), ('@!UP2 S2UR', 0x509c3, 0x2600), ('@!P2 VOTEU.ANY', 0x40886, 0x38e0100),
    ('@!P2 R2UR', 0x81103c2, 0xe0000), ('@!P2 REDUX', 0x1a0403c4, 0x10000))] + [('90', *case) for case in (
        ('@!UP2 S2UR', 0x509c3, 0x8800), ('@!UP2 SYNCS.EXCH', 0x8063f05b2, 0x8000100), ('@!UP2 UCGABAR', 0x9c7, 0x8000000),
        ('@!P2 ELECT', 0x3f082f, 0x3840000), ('@!P2 ELECT', 0x3f04082f, 0x8000100),
        ('@!P2 R2UR', 0x21802ca, 0xe0000))]


def main():
    failed = 0
    for arch, want, low, high in CASES:
        with tempfile.NamedTemporaryFile() as f:
            f.write(struct.pack('<QQ', low & ~0xf000 | GUARD, high))
            f.flush()
            text = subprocess.run([sys.argv[1], '--raw', arch, f.name], capture_output=True, text=True, check=True).stdout
        if not text.split(maxsplit=1)[1].startswith(want):
            failed += 1
            print(f'FAIL sm_{arch}: {text.strip()}, not {want}')
    print(f'{len(CASES) - failed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
