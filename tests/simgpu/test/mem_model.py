# SPDX-License-Identifier: Apache-2.0
"""What memory instructions move and compute, on Python integers: the reference of test_mem.py."""
import math
import struct

M32, M64 = 0xffffffff, 0xffffffffffffffff


def only_gfx90a(name):
    return name.endswith(('_add_f32', '_pk_add_f16', '_add_f64', '_min_f64', '_max_f64', '_add_rtn_f64')) and \
        name not in ('ds_add_f32', 'ds_min_f64', 'ds_max_f64') or name in ('buffer_wbl2', 'buffer_invl2')


# ---- Moves ----

def _signed(b):
    return int.from_bytes(b, 'little', signed=True)


def _unsigned(b):
    return int.from_bytes(b, 'little')


def _low(old, x):
    return [old[0] & 0xffff0000 | x & 0xffff]


def _high(old, x):
    return [old[0] & 0xffff | (x & 0xffff) << 16]


def _words(b, old):
    return list(struct.unpack('<%dI' % (len(b) // 4), b))


# name: bytes, registers, (bytes of memory, old registers) -> registers
LOADS = {
    'ubyte': (1, 1, lambda b, old: [_unsigned(b)]), 'sbyte': (1, 1, lambda b, old: [_signed(b) & M32]),
    'ushort': (2, 1, lambda b, old: [_unsigned(b)]), 'sshort': (2, 1, lambda b, old: [_signed(b) & M32]),
    'ubyte_d16': (1, 1, lambda b, old: _low(old, _unsigned(b))), 'ubyte_d16_hi': (1, 1, lambda b, old: _high(old, _unsigned(b))),
    'sbyte_d16': (1, 1, lambda b, old: _low(old, _signed(b))), 'sbyte_d16_hi': (1, 1, lambda b, old: _high(old, _signed(b))),
    'short_d16': (2, 1, lambda b, old: _low(old, _unsigned(b))), 'short_d16_hi': (2, 1, lambda b, old: _high(old, _unsigned(b))),
    'dword': (4, 1, _words), 'dwordx2': (8, 2, _words), 'dwordx3': (12, 3, _words), 'dwordx4': (16, 4, _words),
}


def _pack(regs):
    return struct.pack('<%dI' % len(regs), *regs)


# name: bytes, registers, registers -> bytes of memory
STORES = {
    'byte': (1, 1, lambda r: bytes([r[0] & 255])), 'byte_d16_hi': (1, 1, lambda r: bytes([r[0] >> 16 & 255])),
    'short': (2, 1, lambda r: _pack(r)[:2]), 'short_d16_hi': (2, 1, lambda r: _pack(r)[2:]),
    'dword': (4, 1, _pack), 'dwordx2': (8, 2, _pack), 'dwordx3': (12, 3, _pack), 'dwordx4': (16, 4, _pack),
}

# ---- Floats ----


def f32(x):
    return struct.unpack('<f', struct.pack('<I', x))[0]


def f64(x):
    return struct.unpack('<d', struct.pack('<Q', x))[0]


def f16(x):
    return struct.unpack('<e', struct.pack('<H', x))[0]


def _bits(x, letter, infinity):
    try:
        return int.from_bytes(struct.pack('<' + letter, x), 'little')
    except OverflowError:
        return infinity | (1 << 8 * struct.calcsize(letter) - 1 if x < 0 else 0)


def _is_nan(x, size):
    exponent = {2: 0x7c00, 4: 0x7f800000, 8: 0x7ff << 52}[size]
    return x & (1 << 8 * size - 1) - 1 > exponent


def add_float(o, d, size):
    """Rounded once: the exact sum of f32 and f16 is rounded to a double first, which has more than twice their bits and two."""
    quiet = {2: 0x200, 4: 0x400000, 8: 1 << 51}[size]
    for x in (o, d):
        if _is_nan(x, size):
            return x | quiet
    value = {2: f16, 4: f32, 8: f64}[size]
    letter, infinity = {2: ('e', 0x7c00), 4: ('f', 0x7f800000), 8: ('d', 0x7ff << 52)}[size]
    a, b = value(o), value(d)
    if math.isinf(a) and math.isinf(b) and a != b:
        return infinity | quiet
    return _bits(a + b, letter, infinity)


def flush(x):
    return x if x & 0x7f800000 else x & 0x80000000


def add_f32_flushed(o, d, c):   # later cards keep denormals: test_gfx11.py
    return flush(add_float(flush(o), flush(d), 4))


def add_pk_f16(o, d, c):
    return add_float(o & 0xffff, d & 0xffff, 2) | add_float(o >> 16, d >> 16, 2) << 16


EDGES32 = [0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe]
EDGES64 = [0, 1, 2, M64 >> 1, 1 << 63, M64, M64 - 1, 1 << 32, M32]
FLOATS32 = [0, 0x80000000, 0x3f800000, 0xbf800000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
            0xff800000,
            0x7fc01234, 0x7f801234, 0xffc00001, 0x33800000, 0x40490fdb]
FLOATS64 = [0, 1 << 63, 0x3ff << 52, 0xbff << 52, 1, (1 << 52) - 1, 1 << 52, (0x7ff << 52) - 1, 0x7ff << 52, 0xfff << 52,
            0x7ff8000000001234,
            0x7ff0000000001234, 0x3ca << 52]
HALVES = [0, 0x8000, 0x3c00, 0xbc00, 1, 0x03ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e12, 0x7c01]


class Atomic:
    """`function` takes old value, data and the compared value to the new value.  `swapped`: the compared value comes first."""

    def __init__(self, name, size, function, edges, pair=False, type='', swapped=False, by_mode=None):
        self.name, self.size, self.function, self.edges, self.pair = name, size, function, edges, pair
        self.type, self.swapped, self.by_mode = type, swapped, by_mode

    def for_mode(self, mode):
        if not self.by_mode:
            return self
        return Atomic(self.name, self.size, self.by_mode(mode), self.edges, self.pair, self.type, self.swapped)


def _integers(size):
    edges = EDGES32 if size == 4 else EDGES64
    mask, top = (1 << 8 * size) - 1, 1 << 8 * size - 1
    def signed(x):
        return x - 2 * top if x & top else x
    return edges, {
        'swap': lambda o, d, c: d, 'cmpswap': lambda o, d, c: d if o == c else o, 'add': lambda o, d, c: o + d & mask,
        'sub': lambda o, d, c: o - d & mask, 'smin': lambda o, d, c: min(o, d, key=signed), 'umin': lambda o, d, c: min(o, d),
        'smax': lambda o, d, c: max(o, d, key=signed), 'umax': lambda o, d, c: max(o, d), 'and': lambda o, d, c: o & d,
        'or': lambda o, d, c: o | d, 'xor': lambda o, d, c: o ^ d, 'inc': lambda o, d, c: 0 if o >= d else o + 1,
        'dec': lambda o, d, c: d if o == 0 or o > d else o - 1, 'csub': lambda o, d, c: max(o - d, 0),
        'rsub': lambda o, d, c: d - o & mask, 'mskor': lambda o, d, c: o & ~d | c, 'wrap': lambda o, d, c: o - d if o >= d
        else o + c & mask,
    }


def _compares(size):
    value = f32 if size == 4 else f64
    def less(a, b):
        return value(a) < value(b)
    return {'fmin': lambda o, d, c: d if less(d, o) else o, 'fmax': lambda o, d, c: d if less(o, d) else o,
            'fcmpswap': lambda o, d, c: d if value(o) == value(c) else o}


def _make():
    for size, suffix in ((4, ''), (8, '_x2')):
        edges, table = _integers(size)
        for name, function in table.items():
            if name not in ('rsub', 'mskor', 'wrap') and (size == 4 or name != 'csub'):
                yield Atomic(name + suffix, size, function, edges, name == 'cmpswap')
        for name, function in _compares(size).items():
            yield Atomic(name + suffix, size, function, FLOATS32 if size == 4 else FLOATS64, name == 'fcmpswap')
    yield Atomic('add_f32', 4, add_f32_flushed, FLOATS32)
    yield Atomic('pk_add_f16', 4, add_pk_f16, [a << 16 | b for a in HALVES for b in HALVES])
    yield Atomic('add_f64', 8, lambda o, d, c: add_float(o, d, 8), FLOATS64)
    yield Atomic('min_f64', 8, _compares(8)['fmin'], FLOATS64)
    yield Atomic('max_f64', 8, _compares(8)['fmax'], FLOATS64)


ATOMICS = list(_make())


def swap(size):
    return Atomic('swap', size, lambda o, d, c: d, [])


def _add_by_mode(mode):
    into = (lambda x: x) if mode & 0x10 else flush
    out = (lambda x: x) if mode & 0x20 else flush
    return lambda o, d, c: out(add_float(into(o), into(d), 4))


def _make_lds():
    names = {'add': ('add', 'u'), 'sub': ('sub', 'u'), 'rsub': ('rsub', 'u'), 'inc': ('inc', 'u'), 'dec': ('dec', 'u'),
             'smin': ('min', 'i'),
             'smax': ('max', 'i'), 'umin': ('min', 'u'), 'umax': ('max', 'u'), 'and': ('and', 'b'), 'or': ('or', 'b'),
             'xor': ('xor', 'b'),
             'mskor': ('mskor', 'b'), 'cmpswap': ('cmpst', 'b'), 'swap': ('wrxchg', 'b'), 'wrap': ('wrap', 'b')}
    for size in (4, 8):
        edges, table = _integers(size)
        for name, (lds, letter) in names.items():
            yield Atomic(lds, size, table[name], edges, name in ('mskor', 'cmpswap', 'wrap'), '%s%d' % (letter, 8 * size),
                         name == 'cmpswap')
        for name, function in _compares(size).items():
            yield Atomic({'fmin': 'min', 'fmax': 'max', 'fcmpswap': 'cmpst'}[name], size, function, FLOATS32 if size == 4
                         else FLOATS64,
                         name == 'fcmpswap', 'f%d' % (8 * size), name == 'fcmpswap')
    yield Atomic('add', 4, add_f32_flushed, FLOATS32, type='f32', by_mode=_add_by_mode)
    yield Atomic('add', 8, lambda o, d, c: add_float(o, d, 8), FLOATS64, type='f64')


LDS_ATOMICS = list(_make_lds())


# ---- Across lanes ----

def swizzle(pattern, wave):
    """The lane that each lane reads in ds_swizzle."""
    out = []
    for lane in range(wave):
        l = lane % 32
        if pattern >= 0xe000:
            mask = pattern & 31
            source = int('{:05b}'.format(l)[::-1], 2) >> bin(mask).count('1') | l & mask
        elif pattern >= 0xc000:
            mask, by = pattern & 31, pattern >> 5 & 31
            source = l & mask | (l - by if pattern >> 10 & 1 else l + by) & ~mask & 31
        elif pattern & 0x8000:
            source = l & ~3 | pattern >> 2 * (l & 3) & 3
        else:
            source = (l & pattern & 31 | pattern >> 5 & 31) ^ pattern >> 10 & 31
        out.append(lane - l + source)
    return out
