#!/usr/bin/env python3
# `anywarp dump` of a cubin: its kernels with what they need, their code with --code, one kernel's PTX, and what it refuses.
# SPDX-License-Identifier: Apache-2.0
"""usage: dump.py ANYWARP"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PTX = '''.version 8.0
.target sm_80
.address_size 64
.visible .entry scaled(.param .u64 p, .param .f32 by) .maxntid 128, 1, 1
{
.shared .align 4 .b8 s[512];
.reg .b64 %l<2>; .reg .f32 %f<3>; .reg .b32 %r<3>;
ld.param.u64 %l0, [p];
ld.param.f32 %f0, [by];
mov.u32 %r0, %tid.x;
mov.u32 %r1, s;
ld.global.f32 %f1, [%l0];
mul.f32 %f1, %f1, %f0;
st.shared.f32 [%r1+508], %f1;
bar.sync 0;
ld.shared.f32 %f2, [%r1+508];
st.global.f32 [%l0], %f2;
ret;
}
.visible .entry _Z5scaleILi3EEvPf(.param .u64 p)
{
ret;
}
.visible .entry _Z5scaleILi4EEvPf(.param .u64 p)
{
trap;
ret;
}
.visible .const .align 4 .f32 taps[4] = {1.0, 2.0, 3.0, 4.0};
.visible .global .align 4 .u32 last = 7;
.visible .global .align 8 .u64 place = last;
.visible .global .align 4 .u32 other = 9;
.visible .entry tapped(.param .u64 p, .param .u64 i)
{
.reg .b64 %l<6>; .reg .f32 %f<2>; .reg .b32 %r<2>;
ld.param.u64 %l0, [p];
ld.param.u64 %l1, [i];
shl.b64 %l1, %l1, 2;
mov.u64 %l2, taps;
add.u64 %l2, %l2, %l1;
ld.const.f32 %f0, [%l2];
st.global.f32 [%l0], %f0;
ld.global.u64 %l3, [place];
st.global.u64 [%l0+8], %l3;
ret;
}
'''


def compiles(anywarp, cubin):
    """What is wrong with a kernel's text by itself, which names variables, one of which has another's address; or None."""
    text = subprocess.run([anywarp, 'dump', '--ptx', 'tapped', cubin], capture_output=True, text=True, check=False).stdout
    if re.search(r'\bother\b', text) and not re.search(r'\blast\b', text):
        return 'other variables than it needs:\n' + text
    for command in ([anywarp, 'compile', '-', '--target', 'host'], [anywarp, 'compile', '-', '--target', 'gfx1030'],
                    ['ptxas', '-arch=sm_80', '-o', os.devnull, '/dev/stdin']):
        r = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if r.returncode:
            return f'{command[0]}: {r.stdout}{r.stderr}\n{text}'
    return None


def main(anywarp):
    if not shutil.which('ptxas'):
        print('dump: no ptxas')
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        cubin, library, damaged = (os.path.join(folder, n) for n in ('k.cubin', 'libcublas.so.12', 'damaged.cubin'))
        ptx = os.path.join(folder, 'k.ptx')
        with open(ptx, 'w', encoding='utf-8') as f:
            f.write(PTX)
        subprocess.run(['ptxas', '-arch=sm_80', ptx, '-o', cubin], check=True)
        with open(cubin, 'rb') as f:
            image = f.read()
        for path, data in ((library, image), (damaged, image[:len(image) // 2])):
            with open(path, 'wb') as f:
                f.write(data)
        # arguments, exit status, what is said
        for args, status, said in (
                ([cubin], 0, r'kernel    scaled  \(2 parameters, \d+ instructions, \d+ registers, 512 bytes of shared memory, '
                 r'maxntid 128x1x1\)\n'),
                (['--code', cubin], 0, r'(?s)  0x0000  .*FMUL R\d+, R\d+, c\[0x0\]\[0x168\]\n.*BAR\.SYNC\.DEFER_BLOCKING 0x0\n.*EXIT\n'),
                (['--code', library], 1, 'licence does not let us'),
                ([damaged], 1, 'cubin: '),
                (['--ptx', cubin], 1, 'no PTX in it'),
                (['--ptx', 'scaled', cubin], 0, r'(?s)^\.version.*\.visible \.entry scaled\(.*mul.*barrier\.sync'),
                (['--ptx', 'scaled', ptx], 0,
                 r'(?s)^\.version 8\.0\n.target sm_80\n\.address_size 64\n+\.visible \.entry scaled\(.*ret;\n}\n(\.visible \.(const|global) .*\n)*$'),
                (['--ptx', '_Z5scaleILi4EEvPf', cubin], 0, r'(?s)\.entry _Z5scaleILi4EEvPf\(.*trap'),
                (['--ptx', 'void scale<4>(float*)', cubin], 0, r'(?s)\.entry _Z5scaleILi4EEvPf\(.*trap'),
                (['--ptx', 'scale<4>', ptx], 0, r'(?s)\.entry _Z5scaleILi4EEvPf\(.*trap'),
                (['--ptx', 'scale', cubin], 1, r"has 3 kernels with 'scale' in their names; .*\n(  .*\n)*  void scale<4>"),
                (['--ptx', 'nothing', cubin], 1, r"has no kernel with 'nothing' in its name"),
                (['--ptx', 'scaled', library], 1, 'licence does not let us lift'),
                (['--ptx', 'scaled', folder], 1, 'is a directory'),
                (['--ptx', 'scaled', damaged], 1, "has no kernel with 'scaled' in its name, and machine code that was not looked through: "),
                (['--ptx', 'no/such', cubin], 1, 'no/such: No such file'),
                (['--ptx', 'scaled'], 1, 'scaled: No such file'),
                (['--code', '--ptx', cubin], 2, 'usage')):
            r = subprocess.run([anywarp, 'dump'] + args, capture_output=True, text=True, check=False)
            if r.returncode != status or not re.search(said, r.stdout + r.stderr) or 'not known' in r.stdout:
                print(f'dump {args}: {r.returncode}, not {status} with {said}:\n{r.stdout}{r.stderr}')
                failed += 1
        why = compiles(anywarp, cubin)
        if why:
            print('a text by itself: ' + why)
            failed += 1
    print(f'{failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
