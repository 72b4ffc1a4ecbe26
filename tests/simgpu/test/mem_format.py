# SPDX-License-Identifier: Apache-2.0
"""Buffers for test_mem.py: descriptors, bounds, swizzling, private memory by descriptor, and texel formats, which are taken from
the names that LLVM prints for them."""
import bisect
import functools
import math
import re
import struct
from fractions import Fraction

import mem_model
from mem_model import M32, f16, f32

WINDOW, MEMORY = 0x1000, 0x100000000
DST, ADDR, DATA = 40, 10, 20
RSRC, SOFF = 12, 16


def reg(first, n):
    return 'v%d' % first if n == 1 else 'v[%d:%d]' % (first, first + n - 1)


class Buffer:
    """A descriptor as numbers."""

    def __init__(self, m, records, stride=0, swizzle=False, index_stride=0, add_tid=False, bounds=3, code=0, select=0xfac):
        self.m, self.base = m, MEMORY + WINDOW
        self.records, self.stride, self.swizzle, self.add_tid, self.bounds = records, stride, swizzle, add_tid, bounds
        self.index_stride = 8 << index_stride
        last = select | code << 12 | index_stride << 21 | add_tid << 23
        if m.gfx10:
            last |= bounds << 28
        else:
            last = last & ~(code << 12) | (code >> 4 | (code & 15) << 3) << 12
        self.words = [self.base & M32, self.base >> 32 | (stride & 0x3fff) << 16 | swizzle << 31, records, last]

    def s(self, scalar=0):
        return {**{RSRC + k: x for k, x in enumerate(self.words)}, SOFF: scalar}

    def where(self, lane, index, offset, scalar, size, idxen):
        """Offset from WINDOW of `size` bytes, None when out of bounds."""
        index += lane if self.add_tid else 0
        if self.m.gfx10:
            bounds = 0 if self.bounds == 3 and self.swizzle and self.stride else self.bounds
        else:
            bounds = (0 if self.swizzle else 1) if idxen and self.stride else 3
        ok = {0: index < self.records and offset + size <= self.stride, 1: index < self.records, 2: self.records > 0,
              3: offset + size <= self.records}[bounds]
        if not ok:
            return None
        if not self.swizzle:
            return scalar + index * self.stride + offset
        n = self.index_stride
        return scalar + index // n * n * self.stride + offset // 4 * 4 * n + index % n * 4 + offset % 4


MODES = ('', ' offen', ' idxen', ' idxen offen')


def buffers(m):
    """Descriptors, each with the mode that makes sense of it and bounds for the lanes' numbers: (buffer, mode, indices,
    offsets)."""
    return [(Buffer(m, 512), '', 1, 1), (Buffer(m, 400), ' offen', 1, 480), (Buffer(m, 13, 24, bounds=0), ' idxen', 16, 1),
            (Buffer(m, 13, 24, bounds=0), ' idxen offen', 16, 30), (Buffer(m, 20, 24, bounds=1), ' idxen offen', 24, 20),
            (Buffer(m, 1, bounds=2), ' offen', 1, 500), (Buffer(m, 0, bounds=2), ' offen', 1, 500),
            (Buffer(m, 40, 12, True, 0, bounds=0), ' idxen offen', 48, 12), (Buffer(m, 60, 12, True, 1), ' idxen offen', 64, 12),
            (Buffer(m, 1024, 8, add_tid=True), ' offen', 1, 32)]


def place(m, which, size, unit):
    buffer, mode, n_index, n_offset = which
    index = [m.rng.randrange(n_index) if 'idxen' in mode else 0 for _ in m.lanes]
    offset = [m.rng.randrange(0, n_offset, min(unit, n_offset)) if 'offen' in mode else 0 for _ in m.lanes]
    fixed, scalar = m.rng.choice([0, 0, 4 if unit < 8 else 8]), m.rng.choice([0, 16])
    parts = [x for x, there in ((index, 'idxen' in mode), (offset, 'offen' in mode)) if there]
    v = {ADDR + k: x for k, x in enumerate(parts)}
    address = reg(ADDR, len(parts)) if parts else 'off'
    text = '%s, s[%d:%d], s%d%s%s' % (address, RSRC, RSRC + 3, SOFF, mode, ' offset:%d' % fixed if fixed else '')
    idxen = 'idxen' in mode
    def where(lane, delta, n):
        return buffer.where(lane, index[lane], offset[lane] + fixed + delta, scalar, n, idxen)
    return text, where, v, buffer.s(scalar)


def read(m, at, size):
    return bytes(size) if at is None else bytes(m.mem[WINDOW + at:WINDOW + at + size])


def write(m, at, data):
    if at is not None:
        m.mem[WINDOW + at:WINDOW + at + len(data)] = data


def moves(m):
    choices = buffers(m)
    for number, (kind, (size, n, load)) in enumerate(mem_model.LOADS.items()):
        name = 'buffer_load_' + kind
        for k, which in enumerate(choices):
            mask = m.masks()[(k + number) % 3]
            text, where, v, s = place(m, which, size, 1 if k % 2 else 4)
            m.v.update(v)
            step = min(size, 4)
            new = []
            for l in m.lanes:
                data = b''.join(read(m, where(l, d, step), step) for d in range(0, size, step))
                new.append(load(data, [m.v[DST + j][l] for j in range(n)]))
            tfe = k == 3 and m.card != 'gfx90a'
            if tfe:
                new = [x + [0] for x in new]
            m.add(name, '%s %s, %s%s' % (name, reg(DST, n + tfe), text, ' tfe' if tfe else ''), m.set_result(mask, DST, new),
                  mask, v, s=s)
    for number, (kind, (size, n, store)) in enumerate(mem_model.STORES.items()):
        name = 'buffer_store_' + kind
        for k, which in enumerate(choices):
            mask = m.masks()[(k + number) % 3]
            text, where, v, s = place(m, which, size, 4)
            step = min(size, 4)
            # A wide store is one dword after the other where it is not in one piece; lanes do not overlap then but by chance, so
            # the order is that of the whole.
            for l_d in order(m, mask, where, size, step, which[0]):
                l, d = l_d
                data = store([m.v[DATA + j][l] for j in range(n)])
                write(m, where(l, d, step), data[d:d + step])
            m.add(name, '%s %s, %s' % (name, reg(DATA, n), text), m.window(), mask, v, s=s)


def order(m, mask, where, size, step, buffer):
    lanes = [l for l in m.lanes if mask >> l & 1]
    whole = not buffer.swizzle and all(where(l, 0, size) is not None for l in lanes)
    if whole or size <= step:
        return [(l, d) for l in lanes for d in range(0, size, step)]
    return [(l, d) for d in range(0, size, step) for l in lanes]


def atomics(m):
    choices = buffers(m)
    for number, op in enumerate(mem_model.ATOMICS):
        name = 'buffer_atomic_' + op.name
        for k, which in enumerate(choices if m.has(name) else ()):
            mask = m.masks()[(k + number) % 3]
            which = (which[0], which[1], which[2], which[3] & ~7 or 1) if which[0].stride % op.size == 0 else choices[1]
            if op.size == 8 and which[0].swizzle:
                continue
            text, where, v, s = place(m, which, op.size, 8)
            glc = k % 2 or op.name == 'csub'
            at = [where(l, 0, op.size) for l in m.lanes]
            words = op.size // 4
            settings = {'mem': m.seed_atomics(m, m.mem, WINDOW, op)} if k % 3 == 0 else {}
            v.update(m.atomic_operands(m, m.mem, WINDOW, at, op))
            m.v.update(v)
            olds = m.do_atomics(m, m.mem, WINDOW, at, mask, op)
            m.add(name, '%s %s, %s%s' % (name, reg(DATA, words * (2 if op.pair else 1)), text, ' glc' if glc else ''), {}, mask,
                  v, s=s,
                  **settings)
            m.cases[-1].settings['v'] = {r: list(x) for r, x in m.cases[-1].settings['v'].items()}
            if glc:
                m.cases[-1].expect.update(m.set_result(mask, DATA, olds))
            m.cases[-1].expect.update(m.window())


def private_buffer(m):
    """A descriptor whose base is the wave's scratch: its scalar offset counts bytes of all lanes."""
    base = m.scratch_base
    words = [base & M32, base >> 32 | 1 << 31, M32, 0x00e00000]
    for k, mask in enumerate(m.masks()):
        scalar = 4 * k
        s = {**{RSRC + j: x for j, x in enumerate(words)}, SOFF: scalar * m.wave}
        offset = [m.rng.randrange(0, 128, 4) for _ in m.lanes]
        for l in m.lanes:
            if mask >> l & 1:
                at = scalar + offset[l] + 4
                m.private[l][at:at + 8] = struct.pack('<2I', m.v[DATA][l], m.v[DATA + 1][l])
        where = 's[%d:%d], s%d' % (RSRC, RSRC + 3, SOFF)
        m.add('buffer_store_dwordx2', 'buffer_store_dwordx2 %s, v%d, %s offen offset:4' % (reg(DATA, 2), ADDR, where), {}, mask,
              {ADDR: offset}, s=s)
        new = [list(struct.unpack_from('<I', m.private[l], scalar + 40)) for l in m.lanes]
        m.add('buffer_load_dword', 'buffer_load_dword v%d, off, %s offset:40' % (DST, where), m.set_result(mask, DST, new), mask,
              s=s)
    s = {**s, SOFF: 4}
    m.add('', 'buffer_load_dword v%d, off, %s' % (DST, where), {'state': 'scratch'}, s=s)
    s = {**s, SOFF: 0}
    m.add('', 'buffer_load_dword v%d, v%d, %s offen' % (DST, ADDR, where), {'state': 'lane 3'},
          v={ADDR: [4096 * (l == 3) for l in m.lanes]}, s=s)


def to_lds(m):
    if m.card == 'gfx90a' or not m.gfx10:
        words = Buffer(m, 400)
        for mask in m.masks():
            offset = [m.rng.randrange(0, 480, 4) for _ in m.lanes]
            for l in m.lanes:
                if mask >> l & 1:
                    at = WINDOW + 8 + 4 * l
                    m.lds[at:at + 4] = read(m, words.where(l, 0, offset[l] + 8, 0, 4, False), 4)
            m.add('buffer_load_dword', 'buffer_load_dword v%d, s[%d:%d], 0 offen offset:8 lds' % (ADDR, RSRC, RSRC + 3),
                  m.window('lds'), mask,
                  {ADDR: offset}, s=words.s(), m0=WINDOW)


# ---- Formats ----

KINDS = ('UNORM', 'SNORM', 'USCALED', 'SSCALED', 'UINT', 'SINT', 'FLOAT', 'SRGB')


def layout(name):
    """"10_11_11_FLOAT": channels' bits from the lowest, kind."""
    *bits, kind = name.split('_')
    return [int(x) for x in bits][::-1], kind


def gfx10_formats():
    names = []
    for group in (('8', 6), ('16', 7), ('8_8', 6), ('32', 0), ('16_16', 7), ('10_11_11', 7), ('11_11_10', 7), ('10_10_10_2', 6),
                  ('2_10_10_10', 6),
                  ('8_8_8_8', 6), ('32_32', 0), ('16_16_16_16', 7), ('32_32_32', 0), ('32_32_32_32', 0)):
        for kind in KINDS[:group[1]] or ('UINT', 'SINT', 'FLOAT'):
            names.append(group[0] + '_' + kind)
    return dict(enumerate(names, 1))


def gfx9_formats():
    data = {1: '8', 2: '16', 3: '8_8', 4: '32', 5: '16_16', 6: '10_11_11', 7: '11_11_10', 8: '10_10_10_2', 9: '2_10_10_10',
            10: '8_8_8_8',
            11: '32_32', 12: '16_16_16_16', 13: '32_32_32', 14: '32_32_32_32'}
    out = {}
    for d, bits in data.items():
        for n, kind in ((0, 'UNORM'), (1, 'SNORM'), (2, 'USCALED'), (3, 'SSCALED'), (4, 'UINT'), (5, 'SINT'), (7, 'FLOAT')):
            top = bits.split('_')[0]
            if (top == '32' and n < 4) or (n == 7 and (d in (8, 9) or bits[0] == '8')):
                continue
            out[d | n << 4] = bits + '_' + kind
    return out


def round_f32(x):
    """A Fraction or float to f32 bits, to nearest even; values here are far from the ends of the range."""
    return struct.unpack('<I', struct.pack('<f', float(x)))[0]


@functools.lru_cache(None)
def nearest_f32(x):
    """A Fraction's exact rounding: the double may have been rounded onto a tie."""
    bits = round_f32(x)
    best = min((bits - 1, bits, bits + 1) if bits & 0x7fffffff else (bits,),
               key=lambda b: (abs(Fraction(f32(b)) - x) if b & 0x7f800000 != 0x7f800000 else math.inf, b & 1))
    return best


def small_float(x, bits):
    mantissa = bits - 5
    e, f = x >> mantissa, x & (1 << mantissa) - 1
    if e == 31:
        return 0x7f800000 | (f << 23 - mantissa | 0x400000 if f else 0)
    return round_f32(Fraction(f | (1 << mantissa if e else 0)) * Fraction(2) ** (max(e, 1) - 15 - mantissa))


def unpack(bits, kind, data):
    value = int.from_bytes(data, 'little')
    out = []
    for n in bits:
        x = value & (1 << n) - 1
        value >>= n
        signed = x - (1 << n) if x >> n - 1 else x
        if kind == 'UNORM':
            out.append(nearest_f32(Fraction(x, (1 << n) - 1)))
        elif kind == 'SNORM':
            out.append(nearest_f32(max(Fraction(signed, (1 << n - 1) - 1 or 1), Fraction(-1))))
        elif kind == 'FLOAT':
            out.append(x if n == 32 else half_bits(x) if n == 16 else small_float(x, n))
        else:
            out.append({'USCALED': lambda: round_f32(x), 'SSCALED': lambda: round_f32(signed), 'UINT': lambda: x,
                        'SINT': lambda: signed & M32}[kind]())
    one = 1 if kind in ('UINT', 'SINT') else 0x3f800000
    return out + [0, 0, 0, one][len(out):]


def half_bits(x):
    if x & 0x7fff > 0x7c00:
        return (x & 0x8000) << 16 | 0x7f800000 | (x & 0x3ff | 0x200) << 13
    return struct.unpack('<I', struct.pack('<f', f16(x)))[0]


def to_half(x):
    if x & M32 >> 1 > 0x7f800000:
        return x >> 16 & 0x8000 | 0x7c00 | 0x200 | x >> 13 & 0x3ff
    try:
        return struct.unpack('<H', struct.pack('<e', f32(x)))[0]
    except OverflowError:
        return x >> 16 & 0x8000 | 0x7c00


def is_nan(x):
    return x & 0x7fffffff > 0x7f800000


@functools.lru_cache(None)
def pack_channel(x, n, kind):
    top, half = (1 << n) - 1, (1 << n - 1) - 1
    if kind == 'UINT':
        return min(x, top)
    if kind == 'SINT':
        signed = x - (1 << 32) if x >> 31 else x
        return max(-half - 1, min(half, signed)) & top
    if kind == 'FLOAT':
        return x if n == 32 else to_half(x) if n == 16 else small_from(x, n)
    if is_nan(x):
        return 0
    low, high = {'UNORM': (0, top), 'SNORM': (-half, half), 'USCALED': (0, top), 'SSCALED': (-half - 1, half)}[kind]
    if x & 0x7fffffff == 0x7f800000:
        return (low if x >> 31 else high) & top
    value = Fraction(f32(x))
    scaled = value * {'UNORM': top, 'SNORM': half}.get(kind, 1)
    whole = math.trunc(scaled) if 'SCALED' in kind else round(scaled)
    return max(low, min(high, whole)) & top


def small_from(x, n):
    mantissa = n - 5
    if is_nan(x):
        return (1 << n) - 1
    if x >> 31 or x == 0:
        return 0
    if x == 0x7f800000:
        return 31 << mantissa
    return bisect.bisect_right(finite_small(n), Fraction(f32(x))) - 1


@functools.lru_cache(None)
def finite_small(n):
    return [Fraction(f32(small_float(c, n))) for c in range(31 << n - 5)]


FLOATS = [0, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0x3effffff, 0x3f7fffff, 0x40000000, 0xc0490fdb, 0x42c88000,
          0x7f800000,
          0xff800000, 0x7fc00000, 0x47000000, 0xc7000100, 0x3b008081, 0x3c23d70a, 0x477fe000, 0x477ff000, 0x4b000000]
INTEGERS = [0, 1, 127, 128, 255, 256, 1023, 1024, 32767, 32768, 65535, 65536, M32, M32 - 127, M32 - 128, M32 - 512, 0x80000000,
            0x7fffffff]


def format_rows(m):
    formats = gfx10_formats() if m.gfx10 else gfx9_formats()
    channels = ('x', 'xy', 'xyz', 'xyzw')
    for k, (code, name) in enumerate(formats.items()):
        bits, kind = layout(name)
        if sum(bits) < 128 or k % 4 == 0:
            for typed in (False, True):
                one_format(m, code, bits, kind, channels[(k + typed) % 4], typed, k % 3)
        one_format(m, code, bits, kind, 'xyzw', k % 2 == 0, 0)
    for n in range(1, 5):
        for typed in (False, True):
            for width in (0, 1, 2):
                one_format(m, 56 if m.gfx10 else 10, [8] * 4, 'UNORM', channels[n - 1], typed, width)
    bad = Buffer(m, 400, code=127 if m.gfx10 else 0)
    m.add('', 'buffer_load_format_x v%d, off, s[%d:%d], 0' % (DST, RSRC, RSRC + 3), {'state': 'format'}, s=bad.s())


def one_format(m, code, bits, kind, channels, typed, width):
    """Loads and stores; width 0: a register for each channel, 1: halves, 2: the upper half (x of a buffer's own format only)."""
    if width == 2 and (typed or channels != 'x'):
        width = 1
    size = sum(bits) // 8
    integer = kind in ('UINT', 'SINT')
    select = [4, 5, 6, 7] if typed or m.rng.random() < 0.5 else [m.rng.choice([0, 1, 4, 5, 6, 7]) for _ in range(4)]
    buffer = Buffer(m, 400, code=0 if typed else code, select=sum(x << 3 * k for k, x in enumerate(select)))
    head = ('t' if typed else '') + 'buffer_%s_format_' + ('', 'd16_', 'd16_hi_')[width] + channels
    n = len(channels) if width == 0 else (len(channels) + 1) // 2
    tail = ', v%d, s[%d:%d], 0' % (ADDR, RSRC, RSRC + 3) + (' format:%d' % code if typed and m.gfx10 else '')
    if typed and not m.gfx10:
        tail = ', v%d, s[%d:%d], dfmt:%d, nfmt:%d, 0' % (ADDR, RSRC, RSRC + 3, code & 15, code >> 4)
    tail += ' offen'
    offset = [m.rng.randrange(0, 416, 4) for _ in m.lanes]
    v = {ADDR: offset}
    mask = m.masks()[m.rng.randrange(3)]
    at = [buffer.where(l, 0, offset[l], 0, size, False) for l in m.lanes]
    # Stores first, so that loads see values of all kinds.
    values = {DATA + j: [value_of(m, integer, width) for _ in m.lanes] for j in range(n)}
    for l in m.lanes:
        if mask >> l & 1 and at[l] is not None:
            c = spread([values[DATA + j][l] for j in range(n)], len(channels), width, kind)
            packed = sum(pack_channel(x, b, kind) << sum(bits[:j]) for j, (x, b) in enumerate(zip(c, bits)))
            write(m, at[l], packed.to_bytes(size, 'little'))
    m.add(head % 'store', (head + ' %s%s') % ('store', reg(DATA, n), tail), m.window(), mask, {**v, **values}, s=buffer.s())
    new = []
    for l in m.lanes:
        c = [0] * 4
        if at[l] is not None:
            raw = unpack(bits, kind, read(m, at[l], size))
            one = 1 if integer else 0x3f800000
            c = [raw[x - 4] if x >= 4 else one if x else 0 for x in select]
        new.append(gather(c[:len(channels)], width, integer, m.v[DST][l]))
    m.add(head % 'load', (head + ' %s%s') % ('load', reg(DST, n), tail), m.set_result(mask, DST, new), mask, v, s=buffer.s())


def value_of(m, integer, width):
    def one():
        if integer:
            return m.rng.choice(INTEGERS)
        return m.rng.choice(FLOATS) if m.rng.random() < 0.6 else round_f32(m.rng.uniform(-2, 2))
    if width == 0:
        return one()
    return (one() if integer else to_half(one())) & 0xffff | ((one() if integer else to_half(one())) & 0xffff) << 16


def spread(regs, n, width, kind):
    """Registers to four channels of 32 bits."""
    out = []
    for k in range(n):
        if width == 0:
            out.append(regs[k])
            continue
        x = regs[k // 2] >> (16 if k % 2 or width == 2 else 0) & 0xffff
        out.append((x | 0xffff0000 if kind == 'SINT' and x & 0x8000 else x) if kind in ('UINT', 'SINT') else half_bits(x))
    return out + [0] * (4 - n)


def gather(c, width, integer, old):
    if width == 0:
        return c
    h = [(x & 0xffff) if integer else to_half(x) for x in c]
    if width == 2:
        return [old & 0xffff | h[0] << 16]
    if len(h) == 1:
        return [old & 0xffff0000 | h[0]]
    return [h[k] | (h[k + 1] if k + 1 < len(h) else 0) << 16 for k in range(0, len(h), 2)]


def buffer_rows(m):
    moves(m)
    atomics(m)
    private_buffer(m)
    to_lds(m)
    format_rows(m)


def names(o):
    """What LLVM calls the formats of gfx10: {number: "8_8_UNORM"}; an assembled instruction for each."""
    for k in range(1, 78):
        o.asm('tbuffer_load_format_x v0, off, s[0:3], 0 format:%d' % k)
    o.ready()
    found = [re.search(r'BUF_FMT_(\w+)', o.text(k)[0]) for k in range(77)]
    return {k + 1: f.group(1) if f else None for k, f in enumerate(found)}
