#!/usr/bin/env python3
# Every AMDGPU target makes a loadable code object: right machine, version, metadata and descriptor for each kernel.
# SPDX-License-Identifier: Apache-2.0
"""usage: targets.py COMPILER LLVM_BINDIR FILE.ptx..."""
import os
import re
import subprocess
import sys
import tempfile

WAVE64 = ['gfx900', 'gfx906', 'gfx908', 'gfx90a', 'gfx942', 'gfx950']
WAVE32 = ['gfx1010', 'gfx1030', 'gfx1100', 'gfx1151', 'gfx1201']
SKIP = {'wrong_count'}  # kernels that are meant to be refused


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, errors='replace', check=False)


def check(compiler, readobj, path, kernel, target, version, out):
    def fail(text, extra=''):
        sys.exit(f'{path}: {kernel} for {target}, version {version}: {text}\n{extra}')

    done = run(compiler, 'compile', path, '--target', target, '--kernel', kernel, '--code-object', str(version), '-o', out)
    if done.returncode:
        fail('not compiled', done.stderr)
    read = run(readobj, '--file-headers', '--notes', '--symbols', out)
    if read.returncode:
        fail('not readable', read.stderr)
    text = read.stdout
    wave = 64 if target in WAVE64 else 32
    for wanted in (f'EF_AMDGPU_MACH_AMDGCN_{target.upper()} ', 'OS/ABI: AMDGPU_HSA', f'ABIVersion: {version - 2}',
                   'Type: SharedObject',
                   f'.wavefront_size: {wave}', f'Name: {kernel}.kd', 'STV_PROTECTED', '.kernarg_segment_align: 16'):
        if wanted not in text:
            fail(f'"{wanted}" is missing', text)
    # Nothing is asked of the runtime but the one argument: what version 5 calls hidden arguments are the packet's numbers here.
    if 'hidden_' in text:
        fail('hidden arguments', text)
    # LLVM finds out for itself where the stack's size is not known.
    if version >= 5 and ('.uses_dynamic_stack: true' in text) != ('Name: aw_uses_stack' in text):
        fail('the mark of a stack of unknown size is not as LLVM has it', text)
    m = re.search(r'\.args:\s+-\s+\.name:\s+kernarg\s+\.offset:\s+0\s+\.size:\s+(\d+)\s+\.value_kind:\s+by_value', text)
    if not m or int(m[1]) % 8 or int(m[1]) < 16:
        fail('the one explicit argument is missing', text)
    if re.search(r'Undefined|Section: Undefined \(0x0\)\s*\}\s*Symbol \{\s*Name: [^\s(]', text) and \
       re.search(r'Name: (?!\s*\()(\S+) \(\d+\)[^}]*Section: Undefined', text):
        fail('undefined symbols', text)


# A kernel that traps tells the host, which may look before the kernel has ended: what the card's own cache holds is written back
# first.
TRAP = """.version 7.0
.target sm_50
.address_size 64
.visible .entry traps()
{
    trap;
}
"""
WRITTEN_BACK = {'gfx90a': r'\n.*buffer_wbl2\n', 'gfx942': r' sc1\n.*buffer_wbl2 sc0 sc1\n',
                'gfx1201': r'scope:SCOPE_SYS\n.*global_wb scope:SCOPE_SYS\n'}


def check_trap(compiler, tmp):
    path, out = os.path.join(tmp, 'traps.ptx'), os.path.join(tmp, 'traps.s')
    with open(path, 'w', encoding='ascii') as f:
        f.write(TRAP)
    for target, wanted in WRITTEN_BACK.items():
        done = run(compiler, 'compile', path, '--target', target, '--emit=asm', '-o', out)
        with open(out, encoding='ascii') as f:
            text = f.read()
        if done.returncode or not re.search(r'cmpswap[^\n]*' + wanted, text, re.S):
            sys.exit(f'trap for {target} is not told to the host\n{done.stderr}{text}')


def main(argv):
    if len(argv) < 4:
        sys.exit(__doc__)
    compiler, readobj = argv[1], os.path.join(argv[2], 'llvm-readobj')
    n = 0
    with tempfile.TemporaryDirectory() as tmp:
        check_trap(compiler, tmp)
        for path in argv[3:]:
            kernels = run(compiler, 'compile', path, '--emit=kernels').stdout.split()
            if not kernels:
                sys.exit(f'{path}: no kernels')
            for i, target in enumerate(WAVE64 + WAVE32):
                for j, kernel in enumerate(k for k in kernels if k not in SKIP):
                    check(compiler, readobj, path, kernel, target, 4 + (i + j) % 2, os.path.join(tmp, 'k.hsaco'))
                    n += 1
    print(f'{n} code objects')


main(sys.argv)
