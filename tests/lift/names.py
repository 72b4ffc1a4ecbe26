#!/usr/bin/env python3
# Variables of one name, in files that are linked to one cubin: each kernel has its own file's.
# SPDX-License-Identifier: Apache-2.0
"""usage: names.py ANYWARP"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PTX = '''.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 table[4] = {{{0}1, {0}2, {0}3, {0}4}};
.global .align 4 .u32 {1};
.visible .entry kernel{0}(.param .u64 p)
{{
.reg .b64 %l<4>; .reg .b32 %r<3>;
ld.param.u64 %l0, [p];
mov.u32 %r0, %tid.x;
mul.wide.u32 %l1, %r0, 4;
mov.u64 %l2, table;
add.u64 %l2, %l2, %l1;
ld.global.u32 %r1, [%l2];
atom.global.add.u32 %r0, [{2}], %r1;
st.global.u32 [%l0], %r1;
ret;
}}
'''


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f'names: {" ".join(command)}: exit status {done.returncode}')
    return done.stdout


def main(anywarp):
    if not shutil.which('ptxas') or not shutil.which('nvlink'):
        print('names: no ptxas or no nvlink')
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for n in (1, 2, 3):
            ptx, o = os.path.join(folder, f'{n}.ptx'), os.path.join(folder, f'{n}.cubin')
            with open(ptx, 'w', encoding='utf-8') as f:
                taken = [f'table${i}' for i in range(100, 160)]  # what the others might be called
                f.write(PTX.format(n, ', '.join(taken), taken[n]))
            subprocess.run(['ptxas', '-arch=sm_80', '-c', ptx, '-o', o], check=True)
            objects.append(o)
        linked = os.path.join(folder, 'linked.cubin')
        subprocess.run(['nvlink', '-arch=sm_80', *objects, '-o', linked], check=True)
        for n in (1, 2, 3):
            text = run(anywarp, 'dump', '--ptx', f'kernel{n}', linked)
            used = set(re.findall(r'\btable[$\d]*', text[text.index('.entry'):]))
            module = run(anywarp, 'compile', linked, '--kernel', f'kernel{n}', '--target', 'host', '--emit=ptx')
            found = [re.search(r'\b' + re.escape(name) + r'\[\d+\] = \{(\d+)', module) for name in used]
            values = [int(match[1]) for match in found if match]
            if values != [10 * n + 1]:
                print(f'kernel{n} reads {sorted(used)}, which begins with {values}, not {10 * n + 1}')
                failed = 1
    return failed


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
