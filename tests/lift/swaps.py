#!/usr/bin/env python3
# Loops of compare-and-swap that the assembler makes of operations in shared memory are atomics again; what only looks like one
# is not.
# SPDX-License-Identifier: Apache-2.0
"""usage: swaps.py SASS_LIFT"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PTX = '''.version 8.0
.target sm_75
.address_size 64
.visible .entry add(.param .u64 p, .param .NUMBER by)
{
.shared .align 8 .b8 s[512];
.reg .b64 %l<2>; .reg .NUMBER %f<4>; .reg .b32 %r<3>;
ld.param.u64 %l0, [p];
ld.param.NUMBER %f0, [by];
ld.global.u32 %r0, [%l0];
and.b32 %r0, %r0, 63;
shl.b32 %r0, %r0, 3;
mov.u32 %r1, s;
add.u32 %r1, %r1, %r0;
MAKE %f2, %f0;
atom.shared.OPERATION.NUMBER %f1, [%r1], %f2;
st.global.NUMBER [%l0+8], %f1;
ret;
}
'''
SIZE = 16  # of an instruction
LOAD, SWAP = 0x984, 0x38d  # LDS, ATOMS.CAS
# Operation, type, and how its operand is made.
OPERATIONS = [('add', 'f32', 'neg.f32'), ('add', 'f64', 'neg.f64'), ('add', 'u64', 'not.b64'), ('and', 'b64', 'not.b64'),
              ('or', 'b64', 'not.b64'), ('xor', 'b64', 'not.b64')]
# What is changed in the loop of f32, and of u64: instruction, byte, bits.
CHANGES = {'flushed': (1, 10, 1), 'saturated': (1, 9, 0x20), 'rounded down': (1, 9, 0x40), 'asks for 0': (3, 4, 1),
           'asks whether it is not': (3, 9, 0x70), 'leaves when it failed': (4, 1, 0x80), 'another place': (2, 5, 4),
           'adds to another': (1, 3, 1), 'guarded': (1, 1, 0x70)}


CHANGES_WIDE = {'another word': (2, 3, 1), 'carries into another predicate': (1, 10, 4), 'takes another carry': (2, 10, 0x80),
                'asks for 0': (4, 4, 1), 'asks for another high word': (5, 4, 1), 'leaves when it failed': (6, 1, 0x80),
                'adds to another': (1, 3, 1), 'another place': (3, 5, 4), 'guarded': (2, 1, 0x70), 'negative': (1, 9, 1)}


def opcode(code, at):
    return int.from_bytes(code[at:at + 2], 'little') & 0xfff


def loop_of(code):
    """Where the loop begins; machine code lies at a multiple of an instruction."""
    found = [at for at in range(0, len(code), SIZE) if opcode(code, at) == SWAP]
    loads = [at for at in range(0, found[0] if found else 0, SIZE) if opcode(code, at) == LOAD]
    return loads[-1] if len(found) == 1 and loads else None


def lifted(lift, folder, code):
    path = os.path.join(folder, 'x.cubin')
    with open(path, 'wb') as f:
        f.write(code)
    done = subprocess.run([lift, path, 'add'], capture_output=True, text=True, check=False)
    return done.stdout


def main(lift):
    if not shutil.which('ptxas'):
        print('swaps: no ptxas')
        return 77
    failed = 0

    def check(what, good):
        nonlocal failed
        print('%-4s %s' % ('ok' if good else 'FAIL', what))
        failed += not good

    with tempfile.TemporaryDirectory() as folder:
        for arch in ('75', '80', '90'):
            for operation, number, make in OPERATIONS:
                ptx, cubin = os.path.join(folder, 'x.ptx'), os.path.join(folder, 'made.cubin')
                with open(ptx, 'w', encoding='utf-8') as f:
                    f.write(PTX.replace('NUMBER', number).replace('OPERATION', operation).replace('MAKE', make))
                subprocess.run(['ptxas', '-arch=sm_' + arch, ptx, '-o', cubin], check=True)
                with open(cubin, 'rb') as f:
                    code = f.read()
                text = lifted(lift, folder, code)
                found = re.search(rf'atom\.relaxed\.cta\.shared\.{operation}\.{number} ', text)
                check(f'sm_{arch} {operation} {number}', found and '.cas.' not in text)
                changes = {('80', 'f32'): CHANGES, ('80', 'u64'): CHANGES_WIDE}.get((arch, number), {})
                at = loop_of(code) if changes else None
                for what, (which, byte, bits) in changes.items() if at is not None else ():
                    changed = bytearray(code)
                    changed[at + which * SIZE + byte] ^= bits
                    text = lifted(lift, folder, changed)
                    check(f'{number}, {what}: a loop', '.cas.' in text and f'shared.{operation}' not in text)
                if changes:
                    check(f'sm_{arch} {number}: the loop was found', at is not None)
    print(f'{failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
