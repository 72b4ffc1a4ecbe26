#!/usr/bin/env python3
# NVIDIA's assembler makes machine code of PTX of ours; every instruction must be in ptx/tab/sass.def, and where the machine has
# NVIDIA's disassembler ($NVDISASM, or on PATH), our listing must say the same.  Nothing of either tool's output is kept.
# SPDX-License-Identifier: Apache-2.0
"""usage: check.py --list SASS_LIST [--arch 75,80,86,89] [--every N] [--oracle PROGRAM] [--seed N] [--show N] [FILE.ptx |
FILE.cubin | FOLDER...]

Reads the probes of probes.py, the files named (folders: every .ptx, .cu and .cubin below them) and, with --oracle, every kernel
of the PTX oracle; of cubins, those with an architecture's name in theirs (x.sm_80.cubin), as cuobjdump extracts a wheel's.
--every N takes one in N.  Reports instructions, kinds of instructions (registers aside), those unknown and those listed
otherwise."""
import argparse
import concurrent.futures
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import normal
import probes

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'bench', 'host')
SKIPPED = 77  # meson's code for a test that cannot run here
SCHEDULE = 1 << 105 - 64 | 7 << 110 - 64 | 7 << 113 - 64  # a word that waits for nothing


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--list', required=True, help='the program sass_list')
    p.add_argument('--arch', default='75,80')
    p.add_argument('--every', type=int, default=1)
    p.add_argument('--oracle', help='the oracle program, for its kernels')
    p.add_argument('--show', type=int, default=3, help='differences shown for each opcode')
    p.add_argument('paths', nargs='*')
    return p.parse_args()


def sections(image):
    """(name, type, offset, size) of an ELF file's sections."""
    (at,) = struct.unpack_from('<Q', image, 0x28)
    n, names = struct.unpack_from('<HH', image, 0x3c)
    heads = [struct.unpack_from('<IIQQQQ', image, at + 64 * i) for i in range(n)]
    begin = heads[names][4]
    for name, kind, _, _, offset, size in heads:
        yield image[begin + name:image.index(0, begin + name)].decode(), kind, offset, size


def instructions(image):
    for name, kind, offset, size in sections(image):
        if name.startswith('.text.') and kind == 1:
            for at in range(offset, offset + size - 15, 16):
                yield struct.unpack_from('<QQ', image, at)


def kind_of(low, high):
    """Instructions that differ in the low bits of registers only, in which predicate guards them, or in a branch's distance, are
    of one kind."""
    immediate, guarded = low >> 9 & 7 in (2, 4), low >> 12 & 7 != 7
    return low & ~(0x1f1f7000 if immediate else 0x1f1f1f7000), high & ~0x1f, guarded


def gather(args, folder):
    """PTX files to assemble, and None for the probes."""
    yield None
    paths = []
    for path in args.paths:
        if os.path.isdir(path):
            paths += [os.path.join(at, n) for at, _, names in os.walk(path) for n in names
                      if n.endswith(('.ptx', '.cu', '.cubin'))]
        else:
            paths.append(path)
    if args.oracle:
        subprocess.run([args.oracle, '--emit', folder], stdout=subprocess.DEVNULL, check=False)
        paths += [os.path.join(folder, n) for n in os.listdir(folder)]
    yield from sorted(paths)[::args.every]


def assemble(path, arch, folder, number):
    """The cubin's bytes, or None when this assembler refuses the source for this architecture."""
    if path and path.endswith('.cubin'):
        with open(path, 'rb') as f:
            return f.read() if f'sm_{arch}.' in os.path.basename(path) else None
    out = os.path.join(folder, f'{arch}_{number}.cubin')
    if path and path.endswith('.cu'):
        command = ['nvcc', '-std=c++17', '-cubin', f'-arch=sm_{arch}', '-DROW=""', '-I', BENCH, path, '-o', out]
    else:
        if path:
            with open(path, encoding='utf-8') as f:
                text = f.read()
        else:
            text = probes.module(arch)
        source = os.path.join(folder, f'{arch}_{number}.ptx')
        with open(source, 'w', encoding='utf-8') as f:
            f.write(re.sub(r'^(\s*\.target\s+)sm_\w+', r'\g<1>sm_' + arch, text, flags=re.M))
        command = ['ptxas', f'-arch=sm_{arch}', source, '-o', out]
    r = subprocess.run(command, capture_output=True, text=True, check=False)
    if r.returncode:
        if not path:
            sys.exit(f'the probes for sm_{arch} are refused: {r.stderr}')
        return None
    with open(out, 'rb') as f:
        image = f.read()
    os.unlink(out)
    return image


def disassembler():
    return next((c for c in (os.environ.get('NVDISASM'), shutil.which('nvdisasm')) if c and os.access(c, os.X_OK)), None)


def listed(command, pattern):
    r = subprocess.run(command, capture_output=True, text=True, check=False)
    if r.returncode:
        sys.exit(f'{command[0]}: {r.stderr}')
    return {int(m[1], 16): m[2] for m in (pattern.match(line) for line in r.stdout.split('\n')) if m}


def compare(args, arch, words, folder):
    """Lists one file of all kinds of instructions both ways.  (unknown, different) as lists of texts."""
    path = os.path.join(folder, f'{arch}.bin')
    with open(path, 'wb') as f:
        f.write(b''.join(struct.pack('<QQ', low, high & (1 << 41) - 1 | SCHEDULE) for low, high in words))
    mine = listed([args.list, '--raw', arch, path], re.compile(r'  0x([0-9a-f]+)  (.*)'))
    tool = disassembler()
    theirs = listed([tool, '-b', f'SM{arch}', '-hex', path], normal.LINE) if tool else {}
    unknown, different = [], []
    for i, (low, high) in enumerate(words):
        at, bits = 16 * i, f'{high:016x}{low:016x}'
        their = normal.absolute(theirs[at], at) if at in theirs else ''
        if mine[at].startswith('bytes'):
            unknown.append(f'{low & 0xfff:03x}: {their or "?"}   {bits}')
        elif their and normal.normal(their) != normal.normal(mine[at]):
            different.append(f'{low & 0xfff:03x}: {normal.normal(their)}\n  we say {normal.normal(mine[at])}   {bits}')
    return unknown, different


def report(title, lines, show):
    seen = {}
    for line in lines:
        seen.setdefault(line[:3], []).append(line)
    for key, some in sorted(seen.items()):
        print(f'{title} {key}: {len(some)}')
        for line in some[:show]:
            print('  ' + line)


def main():
    args = parse()
    if not shutil.which('ptxas'):
        print('check: no ptxas')
        return SKIPPED
    failed = False
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        emitted = os.path.join(folder, 'oracle')
        os.mkdir(emitted)
        jobs = list(gather(args, emitted))
        for arch in args.arch.split(','):
            images = [i for i in pool.map(lambda j, a=arch: assemble(j[1], a, folder, j[0]), enumerate(jobs)) if i]
            kinds, n = {}, 0
            for image in images:
                for low, high in instructions(image):
                    n += 1
                    kinds.setdefault(kind_of(low, high), (low, high))
            unknown, different = compare(args, arch, list(kinds.values()), folder)
            report('unknown', unknown, args.show)
            report('different', different, args.show)
            told = f'{len(different)} listed otherwise' if disassembler() else 'no disassembler to compare with'
            print(f'sm_{arch}: {len(images)} cubins of {len(jobs)} sources, {n} instructions, {len(kinds)} kinds, '
                  f'{len(unknown)} unknown, {told}')
            failed = failed or bool(unknown or different or not n)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
