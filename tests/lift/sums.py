#!/usr/bin/env python3
# Sums of 64 bits out of two instructions are one sum, also where a branch leads past some of what is between them; where the
# carry may be another, they stay two.
# SPDX-License-Identifier: Apache-2.0
"""usage: sums.py SASS_LIFT"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PTX = '''.version 8.0
.target sm_75
.address_size 64
.visible .entry f(.param .u64 p, .param .u64 q, .param .u32 n)
{
.reg .b64 %l<6>; .reg .b32 %r<8>; .reg .pred %q<3>;
ld.param.u64 %l0, [p];
ld.param.u64 %l1, [q];
ld.param.u32 %r0, [n];
mov.u32 %r1, %tid.x;
mul.wide.u32 %l2, %r1, 4;
add.u64 %l3, %l0, %l2;
AGAIN:
ld.global.u32 %r2, [%l3];
mul.wide.s32 %l4, %r2, 4;
add.s64 %l4, %l1, %l4;
ld.global.u32 %r3, [%l4];
setp.gt.s32 %q0, %r3, -1;
@%q0 bra PAST;
st.global.u32 [%l4], %r0;
ld.global.u32 %r1, [%l0+4];
PAST:
add.s64 %l3, %l3, 4;
add.s32 %r0, %r0, 1;
setp.lt.s32 %q1, %r0, %r1;
@%q1 bra AGAIN;
ret;
}
'''
# A sum with a number of 32 bits: its sign is the high word.
SIGN = '''.version 8.0
.target sm_75
.address_size 64
.visible .entry f(.param .u64 p, .param .u64 q, .param .u32 n)
{
.reg .b64 %l<6>; .reg .b32 %r<4>;
ld.param.u64 %l0, [p];
ld.param.u64 %l1, [q];
ld.param.u32 %r0, [n];
mov.u32 %r1, %tid.x;
mul.lo.s32 %r2, %r1, %r0;
ld.global.u64 %l2, [%l0];
cvt.s64.s32 %l3, %r2;
add.s64 %l3, %l3, %l2;
shl.b64 %l4, %l3, 2;
add.s64 %l4, %l1, %l4;
ld.global.u32 %r3, [%l4];
st.global.u32 [%l0+8], %r3;
ret;
}
'''
SIZE = 16  # of an instruction
BSSY, IADD3, ISETP, IMAD, BRA, LEA = 0x145, 0x010, 0x00c, 0x024, 0x147, 0x011
# Changes of LEA.HI.X.SX32: byte, bits.
SIGN_CHANGES = {'as it is': (0, 0), 'another factor': (9, 0x10), 'of another register': (3, 1), 'not the sign': (9, 2)}
CARRY = re.compile(r'selp\.b32 %t\d+, 1, 0, %p')  # a carry by itself


class Code:
    """A kernel's instructions in a cubin, from the first BSSY on."""

    def __init__(self, image):
        self.image = bytearray(image)
        begin = image.index(self.word(BSSY, image))
        self.at = list(range(begin, begin + 16 * SIZE, SIZE))

    @staticmethod
    def word(op, image):
        return next(image[at:at + SIZE] for at in range(0, len(image) - SIZE, SIZE)
                    if int.from_bytes(image[at:at + 2], 'little') & 0xfff == 0x800 | op)

    def find(self, op, good=lambda at: True):
        return next(at for at in self.at if int.from_bytes(self.image[at:at + 2], 'little') & 0x1ff == op and good(at))

    def carry(self, at):
        """The predicate that an addition writes."""
        return self.image[at + 10] >> 1 & 7

    def low(self):
        return self.find(IADD3, lambda at: self.carry(at) != 7)

    def high(self):
        return self.find(IMAD, lambda at: self.image[at + 9] & 4)

    def early(self):
        """The low words are added before the branch."""
        low, begin = self.low(), self.at[0]
        self.image[low:low + SIZE], self.image[begin:begin + SIZE] = self.image[begin:begin + SIZE], self.image[low:low + SIZE]

    def carry_changed(self):
        self.early()
        at = max(at for at in self.at if int.from_bytes(self.image[at:at + 2], 'little') & 0x1ff == ISETP and at < self.high())
        self.image[at + 10] = (self.image[at + 10] & 0xf1) | self.carry(self.low()) << 1

    def entered(self):
        """The loop goes on behind the first sum."""
        self.early()
        forth = self.find(BRA)
        back = self.find(BRA, lambda at: at > self.high())
        value = int.from_bytes(self.image[back:back + SIZE], 'little')
        to = forth + SIZE + 4 * (int.from_bytes(self.image[forth:forth + SIZE], 'little') >> 34 & (1 << 48) - 1)
        field = (1 << 48) - 1
        value = value & ~(field << 34) | ((to - back - SIZE) // 4 & field) << 34
        self.image[back:back + SIZE] = value.to_bytes(SIZE, 'little')

    def factor(self):
        """IMAD.X with factor 1: the register, and nothing is added."""
        self.early()
        at = self.high()
        self.image[at + 1] = self.image[at + 1] & 0xf0 | 0x8
        self.image[at + 3] = self.image[at + 8]
        self.image[at + 4:at + 8] = (1).to_bytes(4, 'little')
        self.image[at + 8] = 0xff


def signs(lift, folder, arch):
    """How many are not as they should be."""
    ptx, cubin, path = (os.path.join(folder, name) for name in ('x.ptx', 'made.cubin', 'x.cubin'))
    failed = 0
    with open(ptx, 'w', encoding='utf-8') as f:
        f.write(SIGN)
    subprocess.run(['ptxas', '-arch=sm_' + arch, ptx, '-o', cubin], check=True)
    with open(cubin, 'rb') as f:
        made = f.read()
    found = [at for at in range(0, len(made) - SIZE, SIZE) if int.from_bytes(made[at:at + 2], 'little') & 0x1ff == LEA and
             made[at + 10] & 1 and made[at + 9] & 6 == 6]
    for what, (byte, bits) in SIGN_CHANGES.items():
        code = bytearray(made)
        for at in found:
            code[at + byte] ^= bits
        with open(path, 'wb') as f:
            f.write(code)
        text = subprocess.run([lift, path, 'f'], capture_output=True, text=True, check=False).stdout
        good = len(found) == 1 and '.entry f' in text and (not CARRY.search(text)) == (not bits)
        print('%-4s sm_%s sign, %s: %s' % ('ok' if good else 'FAIL', arch, what, 'two' if bits else 'one sum'))
        failed += not good
    return failed


def main(lift):
    if not shutil.which('ptxas'):
        print('sums: no ptxas')
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for arch in ('80', '90'):
            failed += signs(lift, folder, arch)
            ptx, cubin = os.path.join(folder, 'x.ptx'), os.path.join(folder, 'made.cubin')
            with open(ptx, 'w', encoding='utf-8') as f:
                f.write(PTX)
            subprocess.run(['ptxas', '-arch=sm_' + arch, ptx, '-o', cubin], check=True)
            with open(cubin, 'rb') as f:
                made = f.read()
            for what, whole in (('early', True), ('carry_changed', False), ('entered', False), ('factor', True)):
                if what == 'entered' and arch == '90':  # its jumps have other bits
                    continue
                code, path = Code(made), os.path.join(folder, 'x.cubin')
                getattr(code, what)()
                with open(path, 'wb') as f:
                    f.write(code.image)
                text = subprocess.run([lift, path, 'f'], capture_output=True, text=True, check=False).stdout
                good = '.entry f' in text and (not CARRY.search(text)) == whole
                print('%-4s sm_%s %s: %s' % ('ok' if good else 'FAIL', arch, what.replace('_', ' '),
                                             'one sum' if whole else 'two'))
                failed += not good
    print(f'{failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
