#!/usr/bin/env python3
# What code tells the machine of a texture lookup, that no helper lane waits for it (.NODEP, bit 90), changes no result: the text
# is the same with and without.
# SPDX-License-Identifier: Apache-2.0
"""usage: hints.py SASS_LIFT"""
import os
import shutil
import subprocess
import sys
import tempfile

SIZE, NODEP = 16, 1 << 2  # of an instruction; of its byte 11
LOOKUPS = {0x160: 'TEX', 0x166: 'TLD', 0x163: 'TLD4', 0x16c: 'TXD'}  # bits 0-8, where the handle is a constant
SOURCE = '''.version 8.0
.target sm_75
.address_size 64
.visible .entry f(.param .u64 p, .param .u64 t)
{
.reg .b64 %p, %t; .reg .f32 %f<4>; .reg .b32 %r;
ld.param.u64 %p, [p];
ld.param.u64 %t, [t];
ld.global.f32 %f0, [%p];
mov.u32 %r, %tid.x;
OP;
st.global.v4.f32 [%p], {%f0, %f1, %f2, %f3};
ret;
}
'''
RESULT = '{%f0, %f1, %f2, %f3}, [%t, '
CASES = {'TEX': f'tex.level.2d.v4.f32.f32 {RESULT}{{%f0, %f0}}], %f0', 'TLD': f'tex.2d.v4.f32.s32 {RESULT}{{%r, %r}}]',
         'TLD4': f'tld4.r.2d.v4.f32.f32 {RESULT}{{%f0, %f0}}]',
         'TXD': f'tex.grad.2d.v4.f32.f32 {RESULT}{{%f0, %f0}}], {{%f0, %f0}}, {{%f0, %f0}}'}


def lifted(lift, folder, code):
    path = os.path.join(folder, 'x.cubin')
    with open(path, 'wb') as f:
        f.write(code)
    done = subprocess.run([lift, path, 'f'], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ''


def main(lift):
    if not shutil.which('ptxas'):
        print('hints: no ptxas')
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for arch in ('75', '80', '90'):
            for name, op in CASES.items():
                ptx, cubin = os.path.join(folder, 'x.ptx'), os.path.join(folder, 'made.cubin')
                with open(ptx, 'w', encoding='utf-8') as f:
                    f.write(SOURCE.replace('OP', op))
                subprocess.run(['ptxas', '-arch=sm_' + arch, ptx, '-o', cubin], check=True)
                with open(cubin, 'rb') as f:
                    code = bytearray(f.read())
                text = lifted(lift, folder, code)
                found = [at for at in range(0, len(code) - SIZE, SIZE)
                         if LOOKUPS.get(int.from_bytes(code[at:at + 2], 'little') & 0x1ff) == name and code[at + 15] < 0x80]
                for at in found:
                    code[at + 11] |= NODEP
                good = found and text and lifted(lift, folder, code) == text
                print('%-4s sm_%s %s' % ('ok' if good else 'FAIL', arch, name))
                failed += not good
    print(f'{failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
