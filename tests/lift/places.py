#!/usr/bin/env python3
# Places that machine code of other assemblers has otherwise: variables of bank 3 in what is yet to be linked, which a relocation
# says; the window of shared memory, of which those before 12 read the low word, too; and targets of branches by a register, which
# those leave out on sm_90, as they do the kind of fences for a block; and the half that floats of eight bits leave as it was.
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
BRANCHES = """.version 8.0
.target sm_80
.address_size 64
.visible .entry f(.param .u64 p, .param .u32 n)
{
.reg .b64 %l; .reg .b32 %r, %v;
ld.param.u64 %l, [p];
ld.param.u32 %r, [n];
ld.global.u32 %v, [%l];
TABLE: .branchtargets A, B, C, D;
brx.idx %r, TABLE;
A: add.u32 %v, %v, 7; st.global.u32 [%l], %v; bar.sync 0; bra E;
B: mul.lo.u32 %v, %v, %v; st.global.u32 [%l+4], %v; bar.sync 1; bra E;
C: shr.u32 %v, %v, 3; st.global.u32 [%l+8], %v; bar.sync 2; bra E;
D: popc.b32 %v, %v; st.global.u32 [%l+12], %v; bar.sync 3;
E: st.global.u32 [%l+16], %v;
ret;
}
"""
FENCE = LANE.replace('mov.u32 %r, %laneid;', 'fence.acq_rel.gpu; mov.u32 %r, 7;')
MEMBAR = 0x992
EIGHT_BITS = LANE.replace('mov.u32 %r, %laneid;', """.reg .f32 %a, %b; .reg .b16 %h;
ld.global.v2.f32 {%a, %b}, [%l]; cvt.rn.satfinite.e4m3x2.f32 %h, %a, %b; cvt.u32.u16 %r, %h;""").replace('sm_80', 'sm_90')
F2FP = 0x23e
TARGETS = 0x34  # attribute of .nv.info: of each branch its offset, two of flags and count, its targets


def assembled(folder, text, *options, arch='sm_80'):
    ptx, cubin = os.path.join(folder, 'x.ptx'), os.path.join(folder, 'x.cubin')
    with open(ptx, 'w', encoding='utf-8') as f:
        f.write(text)
    subprocess.run(['ptxas', '-arch=' + arch, *options, ptx, '-o', cubin], check=True)
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


def without_targets(code):
    """Of the one branch; and how many there were."""
    at = code.index(bytes([4, TARGETS])) + 4
    n = int.from_bytes(code[at + 8:at + 12], 'little')
    code[at + 12:at + 12 + 4 * n] = bytes(4 * n)
    return n


def with_high_half(code):
    """Bit 72 of what packs them: the high half of the third operand, not the low one."""
    for at in range(0, len(code) - SIZE, SIZE):
        if int.from_bytes(code[at:at + 2], 'little') & 0xfff == F2FP:
            code[at + 9] |= 1
    return code


def with_plain_fence(code):
    """Its kind, in bits 79 and 80, is ALL before, and 2."""
    for at in range(0, len(code) - SIZE, SIZE):
        if int.from_bytes(code[at:at + 2], 'little') & 0xfff == MEMBAR:
            code[at + 9] &= 0x7f
            code[at + 10] |= 1
    return code


def compared(text):
    return sorted(re.findall(r'setp\.eq\.u32 %q\d+, %[ru]\d+, (\d+)', text))


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
        table = assembled(folder, BRANCHES)
        named = lifted(lift, folder, table)
        n = without_targets(table)
        unnamed = lifted(lift, folder, table)
        fence = assembled(folder, FENCE)
        fences = [lifted(lift, folder, fence), lifted(lift, folder, with_plain_fence(fence))]
        eight = assembled(folder, EIGHT_BITS.replace('.version 8.0', '.version 8.1'), arch='sm_90')
        halves = [lifted(lift, folder, eight), lifted(lift, folder, with_high_half(eight))]
        lane, low = lifted(lift, folder, code), lifted(lift, folder, with_low_word(code))
    cases = {'places in bank 3 without a linker': bool(re.search(r'mov\.b32 %t\d+, 16;', alone)),
             'the lane, as a check of this test': '%laneid' in lane and not stores_zero(lane),
             'targets that the constants have': n > 1 and len(compared(named)) == n and compared(named) == compared(unnamed),
             'a fence of no kind': 'fence.acq_rel.gpu' in fences[0] and 'fence.sc.gpu' in fences[1],
             'the half that floats of eight bits leave': f', {0x5410};' in halves[0] and f', {0x7610};' in halves[1],
             'the low word of the window': '%laneid' not in low and stores_zero(low)}
    for what, good in cases.items():
        print('%-4s %s' % ('ok' if good else 'FAIL', what))
    if not all(cases.values()):
        print(alone, low, sep='\n')
    return not all(cases.values())


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
