#!/usr/bin/env python3
# Loops that let others run (YIELD): those that end by what they read in memory may wait for it, and accesses to shared memory are
# volatile in such kernels; in those whose loops count, all of them, nothing is.
# SPDX-License-Identifier: Apache-2.0
"""usage: loops.py SASS_LIFT SASS_LIST"""
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = '''.version 7.0
.target sm_75
.address_size 64
.visible .entry f(.param .u64 p, .param .u32 n)
{{
.reg .b64 %p; .reg .f32 %f<4>; .reg .b32 %r<8>; .reg .pred %q;
.shared .f32 sum[64];
.shared .u32 flag[64];
ld.param.u64 %p, [p];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
shl.b32 %r3, %r2, 2;
mov.u32 %r4, sum;
add.u32 %r4, %r4, %r3;
mov.u32 %r5, flag;
add.u32 %r5, %r5, %r3;
ld.global.f32 %f0, [%p];
L:
{body}
add.u32 %r2, %r2, 32;
{end}
@%q bra L;
bar.sync 0;
ld.shared.f32 %f2, [%r4];
st.global.f32 [%p], %f2;
ret;
}}
'''
ADD = 'atom.shared.add.f32 %f1, [sum], %f0;\nadd.f32 %f0, %f0, 0f3F800000;\nst.shared.f32 [%r4+4], %f0;'
COUNTS, WAITS = 'setp.lt.u32 %q, %r2, %r1;', 'ld.shared.u32 %r6, [%r5];\nsetp.lt.u32 %q, %r6, %r1;'
SWAP = 'W:\natom.shared.cas.b32 %r7, [flag], 0, 1;\nsetp.ne.u32 %q, %r7, 0;\n@%q bra W;\n'
# What is in the loop, how it ends, and whether accesses are volatile.
CASES = [(ADD, COUNTS, False), (ADD, WAITS, True), (SWAP + ADD, COUNTS, True)]


def main(lift, lister):
    if not shutil.which('ptxas'):
        print('loops: no ptxas')
        return 77
    failed = yields = 0
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = os.path.join(folder, 'x.ptx'), os.path.join(folder, 'x.cubin')
        for arch in ('75', '80'):
            for body, end, volatile in CASES:
                with open(ptx, 'w', encoding='utf-8') as f:
                    f.write(SOURCE.format(body=body, end=end))
                subprocess.run(['ptxas', '-arch=sm_' + arch, ptx, '-o', cubin], check=True)
                text = subprocess.run([lift, cubin, 'f'], capture_output=True, text=True, check=True).stdout
                yields += 'YIELD' in subprocess.run([lister, cubin], capture_output=True, text=True, check=True).stdout
                found = '.volatile.shared' in text
                if 'shared' not in text or found != volatile:
                    failed += 1
                    print(f'loops: sm_{arch}, {end!r} behind {body!r}: accesses are {"" if found else "not "}volatile')
    if yields < len(CASES):
        failed += 1
        print(f'loops: {yields} of the kernels have YIELD')
    print(f'loops: {failed} failed')
    return failed != 0


sys.exit(main(*sys.argv[1:]))
