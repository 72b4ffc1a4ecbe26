#!/usr/bin/env python3
# Divisions, reciprocals and square roots that the assembler makes in steps, with a function for what these cannot do, are one
# operation again; what only looks like one is not.
# SPDX-License-Identifier: Apache-2.0
"""usage: quotients.py SASS_LIFT"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PTX = '''.version 8.0
.target sm_75
.address_size 64
.visible .entry f(.param .u64 p, .param .TYPE by)
{
.reg .b64 %l<4>; .reg .TYPE %f<4>; .reg .b32 %r<3>; .reg .pred %q;
ld.param.u64 %l0, [p];
ld.param.TYPE %f3, [by];
mov.u32 %r0, %tid.x;
setp.gt.u32 %q, %r0, 99;
@%q exit;
mul.wide.u32 %l1, %r0, 8;
add.u64 %l1, %l1, %l0;
ld.global.TYPE %f0, [%l1];
ld.global.TYPE %f1, [%l1+4096];
OP;
st.global.TYPE [%l1], %f2;
ret;
}
'''
CASES = [('f32', op, text) for op, text in (
    ('div.rn.f32', '%f2, %f0, %f1'), ('div.rn.f32', '%f2, %f0, %f3'), ('div.rn.f32', '%f2, %f0, 0f40400000'),
    ('div.rn.f32', '%f2, 0f40400000, %f1'), ('div.rn.ftz.f32', '%f2, %f0, %f1'), ('div.rn.ftz.f32', '%f2, %f0, 0f40400000'),
    ('rcp.rn.f32', '%f2, %f0'), ('rcp.rn.ftz.f32', '%f2, %f3'), ('sqrt.rn.f32', '%f2, %f0'), ('sqrt.rn.ftz.f32', '%f2, %f3'))]
CASES += [('f64', op, text) for op, text in (
    ('div.rn.f64', '%f2, %f0, %f1'), ('div.rn.f64', '%f2, %f0, %f3'), ('div.rn.f64', '%f2, %f0, 0d4008000000000000'),
    ('rcp.rn.f64', '%f2, %f0'), ('sqrt.rn.f64', '%f2, %f0'))]
SIZE = 16  # of an instruction
STEPS = {'f32': (0x023,), 'f64': (0x028, 0x02b)}  # FFMA; DMUL, DFMA
CALL = 0x144
# What is changed in a step: byte, bits.
CHANGES = {'rounded down': (9, 0x40), 'another operand': (3, 3), 'its factor negated': (9, 1)}
NAMES = (b'_slowpath', b'_f64_full', b'_mediumpath')


def steps_of(code, number):
    """Where the steps are that lead to the result: before the first call for a quotient, on either side of it else."""
    def opcode(at):
        return int.from_bytes(code[at:at + 2], 'little') & 0x1ff
    start = next((at for at in range(0, len(code) - SIZE, SIZE) if opcode(at) == 0x108), None)  # MUFU
    if start is None:
        return []
    end = next(at for at in range(start, len(code), SIZE) if opcode(at) == CALL)
    return [at for at in range(start, end, SIZE) if opcode(at) in STEPS[number] and code[at + 15] < 0x80]


def lifted(lift, folder, code):
    path = os.path.join(folder, 'x.cubin')
    with open(path, 'wb') as f:
        f.write(code)
    return subprocess.run([lift, path, 'f'], capture_output=True, text=True, check=False).stdout


def main(lift):
    if not shutil.which('ptxas'):
        print('quotients: no ptxas')
        return 77
    failed = 0

    def check(what, good):
        nonlocal failed
        print('%-4s %s' % ('ok' if good else 'FAIL', what))
        failed += not good

    def whole(op, text):
        return re.search(r'\b%s ' % re.escape(op), text) and 'approx' not in text.split(op)[1]

    with tempfile.TemporaryDirectory() as folder:
        for arch in ('75', '80', '90'):
            for number, op, operands in CASES:
                ptx, cubin = os.path.join(folder, 'x.ptx'), os.path.join(folder, 'made.cubin')
                with open(ptx, 'w', encoding='utf-8') as f:
                    f.write(PTX.replace('TYPE', number).replace('OP', op + ' ' + operands))
                subprocess.run(['ptxas', '-arch=sm_' + arch, ptx, '-o', cubin], check=True)
                with open(cubin, 'rb') as f:
                    code = f.read()
                check(f'sm_{arch} {op} {operands}', whole(op, lifted(lift, folder, code)))
                if arch != '80' or not op.startswith('div') or ',' not in operands[5:] or '0f' in operands or '0d' in operands:
                    continue
                steps = steps_of(code, number)
                check(f'{op}: the steps were found', len(steps) == (5 if number == 'f32' else 8))
                for k, at in enumerate(steps):
                    for what, (byte, bits) in CHANGES.items():
                        changed = bytearray(code)
                        changed[at + byte] ^= bits
                        text = lifted(lift, folder, changed)
                        check(f'{op}, step {k} {what}: steps', text and op not in text)
                for name in NAMES:
                    if name in code:
                        text = lifted(lift, folder, code.replace(name, name[:-1] + b'?'))
                        check(f'{op}, a function of another name: steps', text and op not in text)
    print(f'{failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
