#!/usr/bin/env python3
# Products of sparse matrices that share the register of their places: the assembler marks all but the last of a run (bit 50, as
# it marks operands that are kept for the next instruction), and that changes nothing.
# SPDX-License-Identifier: Apache-2.0
"""usage: sparse.py SASS_LIFT"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SIZE, KEPT = 16, 1 << 2  # of an instruction; of its byte 6
# Form, registers of A and of B, of C, selectors that it may have.
FORMS = [('m16n8k32.row.col.f32.f16.f16.f32', 4, 4, 2), ('m16n8k32.row.col.f16.f16.f16.f16', 4, 2, 2),
         ('m16n8k32.row.col.f32.bf16.bf16.f32', 4, 4, 2), ('m16n8k16.row.col.f32.f16.f16.f32', 2, 4, 4),
         ('m16n8k16.row.col.f32.tf32.tf32.f32', 4, 4, 2), ('m16n8k8.row.col.f32.tf32.tf32.f32', 2, 4, 4)]
PRODUCTS = 8


def fragment(name, n):
    return '{' + ', '.join(f'%{name}_{k}' for k in range(n)) + '}'


def source(form, words, sums, selectors):
    """Products of one A with several B, each added to a C of its own; the last two have other places than those before."""
    lines, at = [], 0

    def load(name, n):
        nonlocal at
        for k in range(n):
            lines.append(f'.reg .b32 %{name}_{k}; ld.global.b32 %{name}_{k}, [%p+{at}];')
            at += 4
    load('e', 2)
    load('a', words)
    for k in range(PRODUCTS):
        load(f'b{k}', words)
        load(f'c{k}', sums)
    for k in range(PRODUCTS):
        lines.append(f'mma.sp.sync.aligned.{form} {fragment(f"c{k}", sums)}, {fragment("a", words)}, {fragment(f"b{k}", words)}, '
                     f'{fragment(f"c{k}", sums)}, %e_{k // (PRODUCTS - 2)}, {k % selectors};')
    for k in range(PRODUCTS):
        lines += [f'st.global.b32 [%p+{at + 4 * (k * sums + n)}], %c{k}_{n};' for n in range(sums)]
    return ('.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f(.param .u64 p)\n{\n.reg .b64 %p;\n'
            'ld.param.u64 %p, [p];\n' + '\n'.join(lines) + '\nret;\n}\n')


def products(code):
    return [at for at in range(0, len(code) - SIZE, SIZE)
            if int.from_bytes(code[at:at + 2], 'little') & 0xfff == 0x23c and code[at + 9] & 2]


def lifted(lift, folder, code):
    path = os.path.join(folder, 'x.cubin')
    with open(path, 'wb') as f:
        f.write(code)
    done = subprocess.run([lift, path, 'f'], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ''


def main(lift):
    if not shutil.which('ptxas'):
        print('sparse: no ptxas')
        return 77
    failed = kept = 0

    def check(what, good):
        nonlocal failed
        print('%-4s %s' % ('ok' if good else 'FAIL', what))
        failed += not good

    with tempfile.TemporaryDirectory() as folder:
        for form, words, sums, selectors in FORMS:
            ptx, cubin = os.path.join(folder, 'x.ptx'), os.path.join(folder, 'made.cubin')
            with open(ptx, 'w', encoding='utf-8') as f:
                f.write(source(form, words, sums, selectors))
            subprocess.run(['ptxas', '-arch=sm_80', ptx, '-o', cubin], check=True, capture_output=True)
            with open(cubin, 'rb') as f:
                code = f.read()
            found = products(code)
            kept += sum(bool(code[at + 6] & KEPT) for at in found)
            text = lifted(lift, folder, code)
            of = re.findall(r'mma\.sp\S*\.sync\.aligned\.%s .*?, (\d+);' % re.escape(form), text)
            check(f'{form}: selectors', sorted(map(int, of)) == sorted(k % selectors for k in range(PRODUCTS)))
            for what, byte, bits in (('none is kept', ~KEPT & 255, 0), ('all are kept', 255, KEPT)):
                changed = bytearray(code)
                for at in found:
                    changed[at + 6] = changed[at + 6] & byte | bits
                check(f'{form}, {what}: the same', text and lifted(lift, folder, changed) == text)
            changed = bytearray(code)
            changed[found[0] + 6] |= 8
            check(f'{form}, the next bit: refused', not lifted(lift, folder, changed))
        check(f'the assembler marks some ({kept})', kept > 0)
    print(f'{failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
