#!/usr/bin/env python3
# Variables of one name, in files that are linked to one cubin: each kernel has its own file's.  Variables with names of all
# lengths, of which constant memory is read at a place: each keeps its name.
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


BYTES = '''.version 8.0
.target sm_80
.address_size 64
.const .align 4 .b8 {0}1[4] = {{1, 2, 3, 4}};
.const .align 4 .b8 {0}2[4] = {{5, 6, 7, 8}};
.visible .entry kernel(.param .u64 p)
{{
.reg .b64 %l; .reg .b32 %r<2>;
ld.param.u64 %l, [p];
ld.const.u8 %r0, [{0}1+1];
ld.const.u8 %r1, [{0}2+2];
st.global.v2.u32 [%l], {{%r0, %r1}};
ret;
}}
'''


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f'names: {" ".join(command)}: exit status {done.returncode}')
    return done.stdout


def check_length(anywarp, folder, length):
    ptx, cubin = os.path.join(folder, 'bytes.ptx'), os.path.join(folder, 'bytes.cubin')
    name = 'c' * (length - 1)
    with open(ptx, 'w', encoding='utf-8') as f:
        f.write(BYTES.format(name))
    subprocess.run(['ptxas', '-arch=sm_80', ptx, '-o', cubin], check=True)
    text = run(anywarp, 'dump', '--ptx', 'kernel', cubin)
    body = text[text.index('.entry'):]
    used = [name + n for n in '12' if re.search(rf'\b{name}{n}\b', body)]
    run(anywarp, 'compile', cubin, '--kernel', 'kernel', '--target', 'host', '-o', os.path.join(folder, 'bytes.o'))
    if len(used) != 2:
        print(f'of two variables with names of {length} characters the text has {len(used)}')
    return len(used) != 2


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
        for length in (2, 17, 18, 19, 38, 39, 40, 41, 300):
            failed |= check_length(anywarp, folder, length)
    return failed


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
