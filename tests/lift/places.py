#!/usr/bin/env python3
# Places that machine code of other assemblers has otherwise: variables of bank 3 in what is yet to be linked, which a relocation
# says; and the window of shared memory, of which those before 12 read the low word, too.
# SPDX-License-Identifier: Apache-2.0
"""usage: places.py SASS_LIFT"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SIZE = 16  # of an instruction
S2R, LANEID, SWINLO = 0x919, 0x00, 0x30  # the operation; special registers, in its byte 9
CONSTANTS = """.version 8.0
.target sm_80
.address_size 64
.const .align 4 .b32 pad[7] = {9, 9, 9, 9, 9, 9, 9};
.const .align 4 .b32 table[4] = {1, 2, 3, 4};
.visible .entry f(.param .u64 p)
{
.reg .b64 %l<6>; .reg .b32 %r<9>; .reg .pred %q;
ld.param.u64 %l0, [p];
mov.u32 %r0, %tid.x;
and.b32 %r4, %r0, 3;
mul.wide.u32 %l1, %r4, 4;
mov.u64 %l2, table;
mov.u64 %l4, pad;
setp.gt.u32 %q, %r0, 7;
selp.b64 %l2, %l2, %l4, %q;
add.u64 %l2, %l2, %l1;
ld.const.u32 %r1, [%l2];
add.u64 %l3, %l0, %l1;
st.global.u32 [%l3], %r1;
ret;
}
"""
LANE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry f(.param .u64 p)
{
.reg .b64 %l; .reg .b32 %r;
ld.param.u64 %l, [p];
mov.u32 %r, %laneid;
st.global.u32 [%l], %r;
ret;
}
"""


def assembled(folder, text, *options):
    ptx, cubin = os.path.join(folder, 'x.ptx'), os.path.join(folder, 'x.cubin')
    with open(ptx, 'w', encoding='utf-8') as f:
        f.write(text)
    subprocess.run(['ptxas', '-arch=sm_80', *options, ptx, '-o', cubin], check=True)
    with open(cubin, 'rb') as f:
        return bytearray(f.read())


def lifted(lift, folder, code):
    path = os.path.join(folder, 'y.cubin')
    with open(path, 'wb') as f:
        f.write(code)
    done = subprocess.run([lift, path, 'f'], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def stores_zero(text):
    stored = re.search(r'st\.global\.b32 \[\S+\], (%r\d+);', text)
    return bool(stored) and f'mov.b32 {stored[1]}, 0;' in text


def with_low_word(code):
    for at in range(0, len(code) - SIZE, SIZE):
        if int.from_bytes(code[at:at + 2], 'little') & 0xfff == S2R and code[at + 9] == LANEID:
            code[at + 9] = SWINLO
    return code


def main(lift):
    if not shutil.which('ptxas'):
        print('places: no ptxas')
        return 77
    with tempfile.TemporaryDirectory() as folder:
        alone = lifted(lift, folder, assembled(folder, CONSTANTS, '-c'))  # table first, and `pad` at 16
        code = assembled(folder, LANE)
        lane, low = lifted(lift, folder, code), lifted(lift, folder, with_low_word(code))
    cases = {'places in bank 3 without a linker': bool(re.search(r'mov\.b32 %t\d+, 16;', alone)),
             'the lane, as a check of this test': '%laneid' in lane and not stores_zero(lane),
             'the low word of the window': '%laneid' not in low and stores_zero(low)}
    for what, good in cases.items():
        print('%-4s %s' % ('ok' if good else 'FAIL', what))
    if not all(cases.values()):
        print(alone, low, sep='\n')
    return not all(cases.values())


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
