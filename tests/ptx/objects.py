#!/usr/bin/env python3
# Code objects for cards without a runtime to try them on: LLVM's own tools must read them, every instruction must be one of the
# card's, and descriptor, metadata, symbols and registers must agree with each other and with what the card has.
# SPDX-License-Identifier: Apache-2.0
"""usage: objects.py ANYWARP LLVM_BINDIR [--target T]... [--apps DIR] FILE.ptx...
Every kernel of the files, and with --apps of the programs there (through nvcc, where there is one), for gfx90a, gfx942, gfx1100
and gfx1201. Kernels that the compiler refuses are listed and must be in REFUSED.  Damaged copies of an object must be found
out."""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

TARGETS = ['gfx90a', 'gfx942', 'gfx1100', 'gfx1201']
REFUSED = {'wrong_count', 'recursive_exit', 'wrong'}   # kernels that are meant to be
APPS_LEFT_OUT = {'rdc_multi.cu', 'rdc_multi_other.cu',  # parts of a module
                 'thrust_sort_reduce.cu'}               # minutes of compiling; the same forms are in cub_block_reduce


class Card:
    """What matters of a target.  Vector registers are counted as one lane of a SIMD has them for a wave of the card's size."""

    def __init__(self, name):
        self.name = name
        number = name[3:]
        self.major = int(number[:-2])
        self.wave = 64 if self.major < 10 else 32
        unified = name in ('gfx90a', 'gfx942', 'gfx950')   # accumulation registers are of the same file
        self.vgprs_of_wave = 512 if unified else 256
        large = name in ('gfx1100', 'gfx1101', 'gfx1151', 'gfx1200', 'gfx1201')
        self.vgprs_of_simd = 512 if unified else 256 if self.major < 10 else 1536 if large else 1024
        self.granule = 8 if unified or self.major >= 10 else 4
        self.sgprs = 106 if self.major >= 10 else 102
        self.lds = 64 << 10
        self.simds = 4   # of a CU, or of RDNA's work-group processor


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors='replace', check=False)


# ---- One object
class Bad(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Bad(text)


class Elf:
    """Sections and dynamic symbols of a little-endian 64-bit object."""

    def __init__(self, data):
        self.data = data
        expect(data[:6] == b'\x7fELF\x02\x01', 'no 64-bit ELF')
        self.type, self.machine = struct.unpack_from('<HH', data, 16)
        at, = struct.unpack_from('<Q', data, 40)
        size, n = struct.unpack_from('<HH', data, 58)
        self.sections = [struct.unpack_from('<IIQQQQIIQQ', data, at + i * size) for i in range(n)]
        self.symbols = {}
        self.undefined = []
        for s in self.sections:
            if s[1] == 11:   # SHT_DYNSYM
                self.read_symbols(s)

    def read_symbols(self, section):
        names = self.sections[section[6]]
        for at in range(section[4] + 24, section[4] + section[5], 24):
            name, _, _, where, value, size = struct.unpack_from('<IBBHQQ', self.data, at)
            text = self.data[names[4] + name:self.data.index(b'\0', names[4] + name)].decode()
            if where:
                self.symbols[text] = (value, size)
            else:
                self.undefined.append(text)

    def bytes_at(self, address, size):
        for s in self.sections:
            if s[1] == 1 and s[3] <= address and address + size <= s[3] + s[5]:
                return self.data[s[4] + address - s[3]:][:size]
        raise Bad(f'no section holds {address:#x}')


def metadata_of(text):
    """The only kernel's fields as strings, and its arguments as a list of such."""
    start = text.find('amdhsa.kernels:')
    expect(start >= 0 and text.count('.symbol:') == 1, 'not one kernel in the metadata')
    body, args = text[start:], []
    for m in re.finditer(r'^ {6}- ((?:\.\w+:.*\n\s*)+?)(?=^ {6}- |^ {4}\.)', body, re.M):
        args.append(dict(re.findall(r'\.(\w+):\s+(\S+)', m[1])))
    fields = dict(re.findall(r'^(?:  - | {4})\.(\w+):\s+(\S+)$', body, re.M))
    target = re.search(r'amdhsa\.target:\s+(\S+)', body)
    return fields, args, target[1] if target else ''


def check_arguments(fields, args, explicit):
    """One argument of `explicit` bytes, LLVM's hidden ones behind it, all inside the segment."""
    expect(args and args[0]['value_kind'] == 'by_value' and args[0]['offset'] == '0', 'the explicit argument is not first')
    expect(int(args[0]['size']) == explicit, f"the explicit argument has {args[0]['size']} bytes, not {explicit}")
    end = explicit
    for arg in args[1:]:
        offset, size = int(arg['offset']), int(arg['size'])
        expect(arg['value_kind'].startswith('hidden_'), f"argument kind {arg['value_kind']}")
        expect(offset >= end and size in (1, 2, 4, 8) and offset % size == 0, f"hidden argument at {offset} of {size} bytes")
        end = offset + size
    total, align = int(fields['kernarg_segment_size']), int(fields['kernarg_segment_align'])
    expect(total >= end, f'the kernarg segment has {total} bytes, arguments end at {end}')
    expect(align in (8, 16), f'kernarg alignment {align}')


def check_descriptor(card, elf, name, fields):
    value, size = elf.symbols[name + '.kd']
    code, _ = elf.symbols[name]
    expect(size == 64 and value % 64 == 0, 'the descriptor is not 64 aligned bytes')
    raw = elf.bytes_at(value, 64)
    lds, private, kernarg, reserved, entry = struct.unpack_from('<IIIIq', raw, 0)
    rsrc3, rsrc1, rsrc2, properties = struct.unpack_from('<IIIH', raw, 44)
    expect(value + entry == code and code % 256 == 0, f'entry {value + entry:#x} is not the code at {code:#x}')
    for what, have, key in (('LDS', lds, 'group_segment_fixed_size'), ('scratch', private, 'private_segment_fixed_size'),
                            ('kernarg', kernarg, 'kernarg_segment_size')):
        expect(have == int(fields[key]), f'{what}: descriptor {have}, metadata {fields[key]}')
    expect(reserved == 0 and raw[24:44] == bytes(20), 'reserved bytes of the descriptor are not zero')
    expect(bool(properties >> 10 & 1) == (card.wave == 32), 'wave size of the descriptor')
    expect(bool(rsrc2 & 1) == (private > 0 or fields.get('uses_dynamic_stack') == 'true') or card.major >= 9,
           'private segment enable')
    expect(rsrc2 >> 7 & 1, 'the block number in x is not asked for')
    allocated = ((rsrc1 & 63) + 1) * card.granule
    used = int(fields['vgpr_count']) + (int(fields['agpr_count']) if card.name == 'gfx908' else 0)
    expect(used <= allocated < used + 2 * card.granule or (used == 0 and allocated == card.granule),
           f'{allocated} vector registers allocated for {used}')
    if card.name in ('gfx90a', 'gfx942'):
        offset = ((rsrc3 & 63) + 1) * 4
        expect(offset <= allocated, f'accumulation registers begin at {offset} of {allocated}')
    return allocated


def check_limits(card, fields, allocated):
    expect(int(fields['wavefront_size']) == card.wave, f"waves of {fields['wavefront_size']}")
    threads = int(fields['max_flat_workgroup_size'])
    expect(1 <= threads <= 1024, f'blocks of {threads}')
    expect(allocated <= card.vgprs_of_wave, f'{allocated} vector registers')
    expect(int(fields['sgpr_count']) <= card.sgprs + 6, f"{fields['sgpr_count']} scalar registers")
    expect(int(fields['group_segment_fixed_size']) <= card.lds, f"{fields['group_segment_fixed_size']} bytes of LDS")
    waves = -(-threads // card.wave)
    per_simd = -(-waves // card.simds)
    expect(per_simd * allocated <= card.vgprs_of_simd,
           f'a block of {threads} does not fit: {per_simd} waves of {allocated} registers')


BRANCH = re.compile(r'\ts_(?:c?branch\w*|call_b64)\b.*<(\S+?)(?:\+0x([0-9a-f]+))?>')


def check_code(card, text, elf, name, fields):
    """Every line of the disassembly is an instruction of the card, branches stay inside, registers are among those stated."""
    _, size = elf.symbols[name]
    lines = text[text.find(f'<{name}>:'):].splitlines()[1:]
    top = {'v': -1, 's': -1}
    ended = 0
    for line in lines:
        if not line.startswith('\t'):
            continue
        words = line.split('//')[0]
        expect(not re.match(r'\t(\.long|\.word|\.byte|<unknown>)', line), f'no instruction: {line.strip()}')
        ended += words.strip() == 's_endpgm'
        branch = BRANCH.match(line)
        if branch:
            expect(branch[1] == name and int(branch[2] or '0', 16) < size, f'branch out of the kernel: {line.strip()}')
        for kind, single, last in re.findall(r'(?<![\w.])([vs])(?:(\d+)|\[\d+:(\d+)\])', words):
            top[kind] = max(top[kind], int(single or last))
    expect(ended >= 1, 'the code has no end')
    expect(top['v'] < max(int(fields['vgpr_count']), 1), f"v{top['v']} of {fields['vgpr_count']} vector registers")
    expect(top['s'] < int(fields['sgpr_count']) or top['s'] < card.sgprs and int(fields['sgpr_count']) == 0,
           f"s{top['s']} of {fields['sgpr_count']} scalar registers")


def check_object(tools, card, path, name, explicit):
    with open(path, 'rb') as f:
        elf = Elf(f.read())
    expect(elf.type == 3 and elf.machine == 224, 'no shared object for AMDGPU')
    expect(not elf.undefined, f'undefined symbols: {elf.undefined}')
    expect(name in elf.symbols and name + '.kd' in elf.symbols, f'symbols {sorted(elf.symbols)}')
    read = run(tools['readelf'], '--notes', '--relocs', '--dynamic-table', '--file-header', '-W', path)
    expect(read.returncode == 0 and 'warning' not in read.stderr and 'error' not in read.stderr, read.stderr)
    expect('There are no relocations' in read.stdout, 'relocations are left')
    expect('NEEDED' not in read.stdout, 'needs another object')
    expect(re.search(rf'Flags:.*\b{card.name}\b', read.stdout), 'ELF flags name another card')
    fields, args, target = metadata_of(read.stdout)
    expect(target.split(':')[0] == f'amdgcn-amd-amdhsa--{card.name}', f'metadata is for {target}')
    expect(fields['symbol'] == name + '.kd' and fields['name'] == name, 'metadata names another kernel')
    check_arguments(fields, args, explicit)
    check_limits(card, fields, check_descriptor(card, elf, name, fields))
    dump = run(tools['objdump'], '-d', path)
    expect(dump.returncode == 0 and not dump.stderr, dump.stderr)
    check_code(card, dump.stdout, elf, name, fields)


# ---- Damaged copies
def damages(data, name):
    """(what, bytes) of copies with one thing wrong."""
    elf = Elf(data)
    kd, code = elf.symbols[name + '.kd'][0], elf.symbols[name][0]

    def offset(address):
        return next(s[4] + address - s[3] for s in elf.sections if s[1] == 1 and s[3] <= address < s[3] + s[5])

    def patched(at, piece):
        return data[:at] + piece + data[at + len(piece):]

    yield 'kernarg size of the descriptor', patched(offset(kd) + 8, struct.pack('<I', 4096))
    yield 'LDS size of the descriptor', patched(offset(kd), struct.pack('<I', 12345))
    yield 'entry', patched(offset(kd) + 16, struct.pack('<q', 256))
    yield 'wave size', patched(offset(kd) + 56, bytes([data[offset(kd) + 56], data[offset(kd) + 57] ^ 4]))
    yield 'vector registers', patched(offset(kd) + 48, bytes([data[offset(kd) + 48] ^ 0x20]))
    yield 'first instruction', patched(offset(code), b'\xff\xff\xff\xff' * 2)
    yield 'machine', patched(48, bytes([0x20]))
    yield 'metadata', data.replace(b'.wavefront_size', b'.wavefront_sizf')
    yield 'value kind', data.replace(b'by_value', b'by_valux')


def check_damages(tools, card, path, name, explicit, tmp):
    with open(path, 'rb') as f:
        data = f.read()
    bad = os.path.join(tmp, f'damaged-{card.name}')
    for what, changed in damages(data, name):
        expect(changed != data, f'nothing to damage: {what}')
        with open(bad, 'wb') as f:
            f.write(changed)
        try:
            check_object(tools, card, bad, name, explicit)
        except (Bad, KeyError, ValueError, struct.error):
            continue
        raise Bad(f'a damaged {what} was not found out')


# ---- All of them
def apps_ptx(folder, tmp):
    nvcc = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
    nvcc = os.path.realpath(nvcc)
    if not os.access(nvcc, os.X_OK):
        print('objects: there is no nvcc: the programs of tests/apps are left out')
        return []
    sources = [p for p in sorted(glob.glob(folder + '/*.cu')) if os.path.basename(p) not in APPS_LEFT_OUT]

    def one(path):
        out = os.path.join(tmp, os.path.basename(path)[:-3] + '.ptx')
        done = run(nvcc, '-std=c++17', '-arch=compute_80', '-rdc=true', '-ptx', path, '-o', out)
        if done.returncode:
            sys.exit(f'objects: {path}: nvcc: {done.stderr}')
        return out

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, sources))


def explicit_size(anywarp, path, kernel):
    """Bytes of the kernel's own argument: the parameters, rounded up, and the two hidden words.  From the SIMT IR's type."""
    done = run(anywarp, 'compile', path, '--emit=ir', '--kernel', kernel, '--target', 'gfx1100')
    m = re.search(r'byref\(\[(\d+) x i8\]\)', done.stdout)
    return int(m[1]) if m else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('anywarp')
    parser.add_argument('bindir')
    parser.add_argument('--target', action='append')
    parser.add_argument('--apps')
    parser.add_argument('files', nargs='+')
    args = parser.parse_args()
    tools = {t: os.path.join(args.bindir, 'llvm-' + t) for t in ('readelf', 'objdump')}
    cards = [Card(t) for t in args.target or TARGETS]
    failures, n, damaged = [], 0, set()
    with tempfile.TemporaryDirectory() as tmp:
        files = args.files + (apps_ptx(args.apps, tmp) if args.apps else [])

        def one(path, kernel):
            made, explicit = [], explicit_size(args.anywarp, path, kernel)
            for i, card in enumerate(cards):
                where = f'{os.path.basename(path)}: {kernel} for {card.name}'
                out = os.path.join(tmp, f'{abs(hash((path, kernel)))}-{card.name}')
                done = run(args.anywarp, 'compile', path, '--target', card.name, '--kernel', kernel, '--code-object',
                           str(4 + i % 2),
                           '-o', out)
                if done.returncode:
                    if kernel not in REFUSED:
                        failures.append(f'{where}: not compiled\n{done.stderr}')
                    continue
                if kernel in REFUSED:
                    failures.append(f'{where}: is in REFUSED but was compiled')
                try:
                    check_object(tools, card, out, kernel, explicit)
                    if card.name not in damaged:
                        damaged.add(card.name)
                        check_damages(tools, card, out, kernel, explicit, tmp)
                    made.append(where)
                except (Bad, KeyError, ValueError, struct.error) as error:
                    failures.append(f'{where}: {error!r}')
                os.unlink(out)
            return len(made)

        jobs = [(p, k) for p in files for k in run(args.anywarp, 'compile', p, '--emit=kernels').stdout.split()]
        if not jobs:
            sys.exit('objects: no kernels')
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            n = sum(pool.map(lambda job: one(*job), jobs))
    for text in failures:
        print(text)
    if failures or damaged != {c.name for c in cards}:
        sys.exit(f'objects: {len(failures)} failures, damaged copies tried for {sorted(damaged)}')
    print(f'{n} code objects of {len(jobs)} kernels')


main()
