#!/usr/bin/env python3
# A kernel that cannot be lifted is refused by its own name, with the place and the opcode, whatever it is compiled beside;
# the others compile.
# SPDX-License-Identifier: Apache-2.0
"""usage: refused.py ANYWARP"""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import nvcc
import check

PTX = '.version 8.0\n.target sm_80\n.address_size 64\n' + ''.join(f'''
.visible .entry {name}(.param .u64 p, .param .u32 x)
{{
    .reg .b64 %a;
    .reg .b32 %v;
    ld.param.u64 %a, [p];
    ld.param.u32 %v, [x];
    st.global.u32 [%a], %v;
    ret;
}}
''' for name in ('before', 'broken', 'behind'))
OTHER = '.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry other()\n{\n    ret;\n}\n'


def damage(path, kernel, at):
    """An instruction that there is none of."""
    with open(path, 'rb') as f:
        image = bytearray(f.read())
    for name, _, offset, _ in check.sections(bytes(image)):
        if name == '.text.' + kernel:
            image[offset + at : offset + at + 2] = b'\xfe\x7f'
    with open(path, 'wb') as f:
        f.write(image)


def main():
    ptxas = nvcc.find_beside('ptxas')
    if not ptxas:
        print('there is no ptxas')
        return check.SKIPPED
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:

        def path(name, text=None):
            if text:
                with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
                    f.write(text)
            return os.path.join(folder, name)

        cubin = path('x.cubin')
        subprocess.run([ptxas, '-arch=sm_80', path('x.ptx', PTX), '-o', cubin], check=True)
        damage(cubin, 'broken', 0x10)
        want = 'cannot be lifted: broken+0x10: ?: opcode 0xffe that is not known'
        for files in ([cubin], [cubin, path('other.ptx', OTHER)]):
            for kernel in ('before', 'broken', 'behind'):
                done = subprocess.run(
                    [sys.argv[1], 'compile', *files, '--kernel', kernel, '--target', 'host'], capture_output=True, text=True
                )
                said = done.stdout + done.stderr
                good = (
                    done.returncode == 1
                    and want in said
                    and 'operation not supported' in said
                    and 'malformed' not in said
                    and 'before' not in said
                    and 'behind' not in said
                    if kernel == 'broken'
                    else done.returncode == 0 and not said
                )
                if not good:
                    print(f'{kernel} of {len(files)} files: {done.returncode}\n{said}')
                    wrong += 1
    return wrong != 0


sys.exit(main())
