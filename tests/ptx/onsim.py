#!/usr/bin/env python3
# What the AMDGPU finisher does its own way, run on the simulated card against references computed here: shuffles with constant
# operands, directed rounding by the machine's mode, flushing by mode, conversions that saturate, reductions, sizes of the grid,
# products of matrices by warps that part, loads before barriers.
# SPDX-License-Identifier: Apache-2.0
"""usage: onsim.py ANYWARP SIMGPU_RUN [SEED]"""
import os
import random
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction

HEAD = '.version 8.0\n.target sm_80\n.address_size 64\n'
LANES = 256


class Bench:
    def __init__(self, anywarp, simulator, folder, seed):
        self.anywarp, self.simulator, self.folder = anywarp, simulator, folder
        self.rng = random.Random(seed)
        self.checked = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"onsim: {' '.join(command)}: exit {done.returncode}\n{done.stderr}")

    def compile(self, text, kernel, card):
        with open(self.path('k.ptx'), 'w', encoding='ascii') as f:
            f.write(HEAD + text)
        self.run(self.anywarp, 'compile', self.path('k.ptx'), '--kernel', kernel, '--target', card, '--code-object', '4', '-O3',
                 '-o', self.path('k'))

    def launch(self, kernel, card, grid, block, data, size):
        """The `size` bytes of the kernel's second buffer; its first has `data`."""
        with open(self.path('in'), 'wb') as f:
            f.write(data)
        self.run(self.simulator, '--card', card, '--grid', grid, '--block', block, '--dump', '1=' + self.path('out'),
                 self.path('k'), kernel, f"buf:{len(data)}={self.path('in')}", f'buf:{size}', 'u64:0', 'u64:0')
        with open(self.path('out'), 'rb') as f:
            return f.read()

    def same(self, have, want, what):
        self.checked += 1
        if have != want:
            sys.exit(f'onsim: {what}: {have:#x}, expected {want:#x}')


def entry(name, in_size, out_size, body):
    """A kernel in which %rd3 and %rd5 are this thread's places in the two buffers."""
    return f'''.visible .entry {name}(.param .u64 in, .param .u64 out)
{{
.reg .b64 %rd<8>; .reg .b32 %r<12>; .reg .f32 %f<9>; .reg .f64 %d<9>; .reg .pred %p<3>;
mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.s32 %r3, %r0, %r1, %r2;
ld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out];
mul.wide.u32 %rd2, %r3, {in_size}; add.u64 %rd3, %rd0, %rd2; mul.wide.u32 %rd4, %r3, {out_size}; add.u64 %rd5, %rd1, %rd4;
''' + '\n'.join(body) + '\nret;\n}\n'


# ---- Shuffles: PTX ISA 9.7.9.6
def source(mode, lane, b, c):
    b, clamp, segment = b & 31, c & 31, c >> 8 & 31
    low = lane & segment
    high = low | (clamp & ~segment & 31)
    j = {'up': lane - b, 'down': lane + b, 'bfly': lane ^ b, 'idx': low | (b & ~segment & 31)}[mode]
    ok = j >= high if mode == 'up' else j <= high
    return (j if ok else lane), int(ok)


def shuffles(bench, card):
    modes, rng = ('up', 'down', 'bfly', 'idx'), bench.rng
    cases = [(mode, b, (32 - width) << 8 | (0 if mode == 'up' else 31)) for mode in modes
             for width in (32, 16, 8, 4, 2) for b in range(min(width + 2, 32))]
    cases += [(rng.choice(modes), rng.randrange(32), rng.randrange(32) | rng.randrange(32) << 8) for _ in range(40)]
    threads, each = 128, 64
    values = [bench.rng.getrandbits(32) for _ in range(threads)]
    for at in range(0, len(cases), each):
        group = cases[at:at + each]
        body = ['ld.global.u32 %r4, [%rd3];']
        for i, (mode, b, c) in enumerate(group):
            body.append(f'shfl.sync.{mode}.b32 %r5|%p0, %r4, {b}, {c}, -1; selp.u32 %r6, 1, 0, %p0;'
                        f'st.global.v2.u32 [%rd5+{8 * i}], {{%r5, %r6}};')
        bench.compile(entry('k', 4, 8 * each, body), 'k', card)
        out = bench.launch('k', card, '1', str(threads), struct.pack(f'<{threads}I', *values), 8 * each * threads)
        for t in range(threads):
            for i, (mode, b, c) in enumerate(group):
                lane, ok = source(mode, t & 31, b, c)
                have = struct.unpack_from('<II', out, 8 * (t * each + i))
                what = f'{card}: shfl.{mode} {b}, {c:#x} in thread {t}'
                bench.same(have[0], values[(t & ~31) | lane], what)
                bench.same(have[1], ok, what + ': predicate')


# ---- Arithmetic, exactly
FORMATS = {'f32': (24, -126, 127, 32), 'f64': (53, -1022, 1023, 64)}


def decode(bits, form):
    """A Fraction, or None for infinities and NaN."""
    precision, least, _, width = FORMATS[form]
    mantissa, exponent = bits & (1 << precision - 1) - 1, bits >> precision - 1 & (1 << width - precision) - 1
    if exponent == (1 << width - precision) - 1:
        return None
    value = Fraction(mantissa if exponent == 0 else mantissa | 1 << precision - 1)
    value *= Fraction(2) ** (max(exponent, 1) - 1 + least - precision + 1)
    return -value if bits >> width - 1 else value


def encode(value, negative_zero, mode, form):
    """The bits of `value` rounded rn, rz, rm or rp."""
    precision, least, most, width = FORMATS[form]
    sign = 1 if value < 0 or (value == 0 and negative_zero) else 0
    x = abs(value)
    exponent = least
    if x:
        exponent = x.numerator.bit_length() - x.denominator.bit_length()
        exponent = max(least, exponent if x >= Fraction(2) ** exponent else exponent - 1)
    unit = Fraction(2) ** (exponent - precision + 1)
    n, rest = divmod(x, unit)
    up = {'rz': False, 'rm': bool(sign), 'rp': not sign}.get(mode, 2 * rest > unit
                                                             or (2 * rest == unit and n % 2 == 1)) and rest != 0
    bits = int(n) + up + ((exponent - least) << precision - 1)  # a carry goes into the exponent
    infinity = (most - least + 2) << precision - 1
    if bits >= infinity:
        bits = infinity if mode == 'rn' or mode == ('rm' if sign else 'rp') else infinity - 1
    return bits | sign << width - 1


def flushed(bits, form):
    precision, _, _, width = FORMATS[form]
    return bits & 1 << width - 1 if bits >> precision - 1 & (1 << width - precision) - 1 == 0 else bits


def reference(op, mode, ftz, form, v):
    """The result's bits, or None where an infinity or NaN is in it."""
    width = FORMATS[form][3]
    v = [flushed(x, form) if ftz else x for x in v]
    x = [decode(b, form) for b in v]
    sign = [b >> width - 1 for b in v]
    if None in x[:3 if op == 'fma' else 2]:
        return None
    if op == 'mul':
        r, negative = x[0] * x[1], sign[0] != sign[1]
    else:
        a, c = (x[0] * x[1], x[2]) if op == 'fma' else (x[0], x[1])
        sa, sc = (sign[0] ^ sign[1], sign[2]) if op == 'fma' else (sign[0], sign[1])
        r, negative = a + c, sa and sc if sa == sc else mode == 'rm'
    r = encode(r, negative, mode, form)
    return flushed(r, form) if ftz else r


SPECIAL = {'f32': [0, 1 << 31, 1, 1 << 31 | 1, 0x7fffff, 0x800000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x4b400001,
                   0x33800000, 0x807fffff],
           'f64': [0, 1 << 63, 1, 1 << 63 | 1, (1 << 52) - 1, 1 << 52, 0x3ff << 52, 0xbff << 52, 0x7fefffffffffffff,
                   0xffefffffffffffff, 0x3ca << 52]}


def numbers(rng, form, n):
    precision, _, _, width = FORMATS[form]
    middle = (1 << width - precision - 1) - 1

    def one():
        kind = rng.random()
        if kind < 0.25:
            return rng.choice(SPECIAL[form])
        if kind < 0.5:
            return rng.getrandbits(width)
        return rng.getrandbits(1) << width - 1 | rng.randrange(middle - 12, middle
                                                               + 12) << precision - 1 | rng.getrandbits(precision - 1)
    return [one() for _ in range(n)]


def arithmetic(bench, card, form, ftz):
    letter, code, size = ('%f', 'I', 4) if form == 'f32' else ('%d', 'Q', 8)
    word = '.ftz' if ftz else ''
    cases = [(op, mode) for op in ('add', 'mul', 'fma') for mode in ('rn', 'rz', 'rm', 'rp')]
    body = [f'ld.global.{form} {letter}{i}, [%rd3+{size * i}];' for i in range(3)]
    for i, (op, mode) in enumerate(cases):
        third = f', {letter}2' if op == 'fma' else ''
        body.append(f'{op}.{mode}{word}.{form} {letter}3, {letter}0, {letter}1{third}; st.global.{form} [%rd5+{size * i}], '
                    f'{letter}3;')
    bench.compile(entry('k', 3 * size, len(cases) * size, body), 'k', card)
    n = 4 * LANES
    v = numbers(bench.rng, form, 3 * n)
    out = bench.launch('k', card, '4', str(LANES), struct.pack(f'<{3 * n}{code}', *v), len(cases) * size * n)
    for t in range(n):
        for i, (op, mode) in enumerate(cases):
            want = reference(op, mode, ftz, form, v[3 * t:3 * t + 3])
            if want is not None:
                have = struct.unpack_from('<' + code, out, size * (t * len(cases) + i))[0]
                bench.same(have, want, f'{card}: {op}.{mode}{word}.{form} of ' + ' '.join(f'{x:#x}' for x in v[3 * t:3 * t + 3]))


def conversions(bench, card, form):
    letter, code, size = ('%f', 'I', 4) if form == 'f32' else ('%d', 'Q', 8)
    body = [f'ld.global.{form} {letter}0, [%rd3]; cvt.rzi.s32.{form} %r4, {letter}0; cvt.rzi.u32.{form} %r5, {letter}0;',
            'st.global.v2.u32 [%rd5], {%r4, %r5};']
    bench.compile(entry('k', size, 8, body), 'k', card)
    n = 4 * LANES
    v = numbers(bench.rng, form, n)
    precision, _, _, width = FORMATS[form]
    edge = (1 << width - precision - 1) - 1   # the exponent of 1
    minus, two31, two32 = 1 << width - 1, edge + 31 << precision - 1, edge + 32 << precision - 1
    infinity = 0x7f8 << 20 if form == 'f32' else 0x7ff << 52
    v[:8] = [two31, two31 - 1, two32, two32 - 1, minus | two31, minus | two32, infinity, minus | infinity]
    out = bench.launch('k', card, '4', str(LANES), struct.pack(f'<{n}{code}', *v), 8 * n)
    for t, bits in enumerate(v):
        x = decode(bits, form)
        if x is None and bits & (1 << precision - 1) - 1:
            continue  # a NaN: by format, other tests' business
        negative = bits >> width - 1
        whole = (-(1 << 80) if negative else 1 << 80) if x is None else int(x)
        have = struct.unpack_from('<II', out, 8 * t)
        bench.same(have[0], max(-(1 << 31), min((1 << 31) - 1, whole)) & 0xffffffff, f'{card}: cvt.rzi.s32.{form} of {bits:#x}')
        bench.same(have[1], max(0, min((1 << 32) - 1, whole)), f'{card}: cvt.rzi.u32.{form} of {bits:#x}')


def sizes(bench, card):
    """gridDim alone, times blockDim, and the block's own number."""
    body = ['mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y; mov.u32 %r6, %nctaid.z; mul.lo.u32 %r7, %r4, %r1;',
            'mov.u32 %r8, %tid.y; mov.u32 %r9, %tid.z; or.b32 %r8, %r8, %r9; setp.ne.u32 %p0, %r8, 0; @%p0 ret;',
            'setp.ne.u32 %p1, %r2, 0; @%p1 ret; st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7};']
    bench.compile(entry('k', 0, 0, body), 'k', card)
    for grid, block in (((1, 1, 1), (1, 1, 1)), ((7, 3, 2), (96, 2, 1)), ((1000, 1, 1), (33, 1, 1)), ((3, 5, 7), (7, 11, 13)),
                        ((1, 60, 1), (1, 1000, 1)), ((129, 2, 1), (1, 1, 64)), ((2, 1, 9), (5, 200, 1)),
                        ((31, 1, 1), (1023, 1, 1)),
                        ((13, 1, 1), (1024, 1, 1))):
        out = bench.launch('k', card, ','.join(map(str, grid)), ','.join(map(str, block)), bytes(16), 16)
        for have, want in zip(struct.unpack('<4I', out), (*grid, grid[0] * block[0])):
            bench.same(have, want, f'{card}: sizes of grid {grid} and block {block}')


# ---- Reductions: of all lanes, of those of a mask, and of a warp that is not whole
def signed(x):
    return x - (1 << 32) if x >> 31 else x


def reductions(bench, card):
    operations = [('add.u32', lambda a, b: a + b), ('min.s32', lambda a, b: min(a, b, key=signed)),
                  ('max.s32', lambda a, b: max(a, b, key=signed)), ('min.u32', min), ('max.u32', max),
                  ('and.b32', lambda a, b: a & b),
                  ('or.b32', lambda a, b: a | b), ('xor.b32', lambda a, b: a ^ b)]
    masks, threads = (0xffffffff, 0x0f0ff00f), 112   # the last warp has 16 lanes
    body = ['ld.global.u32 %r4, [%rd3]; and.b32 %r6, %r2, 31; mov.u32 %r7, 1; shl.b32 %r7, %r7, %r6;']
    for m, mask in enumerate(masks):
        body.append(f'and.b32 %r8, %r7, {mask}; setp.eq.u32 %p0, %r8, 0; @%p0 bra next{m};')
        for i, (op, _) in enumerate(operations):
            body.append(f'redux.sync.{op} %r5, %r4, {mask}; st.global.u32 [%rd5+{4 * (m * len(operations) + i)}], %r5;')
        body.append(f'next{m}:')
    size = 4 * len(masks) * len(operations)
    bench.compile(entry('k', 4, size, body), 'k', card)
    values = [bench.rng.getrandbits(32) | 0x10000 for _ in range(threads)]
    out = bench.launch('k', card, '1', str(threads), struct.pack(f'<{threads}I', *values), size * threads)
    for t in range(threads):
        for m, mask in enumerate(masks):
            if not mask >> (t & 31) & 1:
                continue
            members = [values[j] for j in range(t & ~31, min(threads, (t & ~31) + 32)) if mask >> (j & 31) & 1]
            for i, (op, f) in enumerate(operations):
                want = members[0]
                for x in members[1:]:
                    want = f(want, x)
                have = struct.unpack_from('<I', out, t * size + 4 * (m * len(operations) + i))[0]
                bench.same(have, want & 0xffffffff, f'{card}: redux.{op} of {mask:#x} in thread {t}')


# ---- Products by matrix instructions, which write the registers of lanes that are switched off, too; one alone, and several in
# a row
TRIPS = (4, 4, 2, 5, 3, 1, 6)   # of each warp round the loop; the last has no neighbour in its wave
TILE = '''.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .b64 %rd<6>; .reg .b32 %a<4>, %b<2>, %c<4>, %x<4>, %t, %i, %m, %n, %y, %z; .reg .pred %p;
mov.u32 %t, %tid.x; ld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out];
mul.wide.u32 %rd2, %t, 32; add.u64 %rd3, %rd0, %rd2; add.u64 %rd4, %rd1, %rd2;
ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%rd3]; ld.global.v2.b32 {%b0, %b1}, [%rd3+16]; ld.global.b32 %n, [%rd3+24];
mov.b32 %c0, %t; mov.b32 %c1, 0; mov.b32 %c2, 0; mov.b32 %c3, 0; mov.b32 %i, 0;
LOOP:
mul.lo.u32 %m, %i, 0x1f2e3d4c; xor.b32 %x0, %a0, %m; xor.b32 %x1, %a1, %m; xor.b32 %x2, %a2, %m; xor.b32 %x3, %a3, %m;
mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%c0, %c1, %c2, %c3}, {%x0, %x1, %x2, %x3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};
bar.warp.sync -1; add.u32 %y, %c0, %x1;
mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%c1, %c2, %c3, %c0}, {%x1, %x0, %x3, %x2}, {%b0, %b1}, {%c1, %c2, %c3, %c0};
xor.b32 %z, %c0, %b1;
mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%c0, %c1, %c2, %c3}, {%x2, %x3, %x1, %x0}, {%z, %b0}, {%c0, %c1, %c2, %c3};
mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%c0, %c1, %c2, %c3}, {%x0, %x1, %x2, %x3}, {%b1, %z}, {%c0, %c1, %c2, %c3};
add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n;
@%p bra LOOP;
st.global.v4.b32 [%rd4], {%c0, %c1, %c2, %c3}; st.global.v2.b32 [%rd4+16], {%y, %x3}; st.global.v2.b32 [%rd4+24], {%i, %x0};
ret;
}
'''


def byte(word, i):
    return (word >> 8 * i & 255 ^ 128) - 128


def tile_of(a, b):
    """16 x 8 sums of a warp's registers, by mma.m16n8k32's layout."""
    rows, columns = [[0] * 32 for _ in range(16)], [[0] * 32 for _ in range(8)]
    for lane in range(32):
        g, t = lane // 4, lane % 4
        for e in range(4):
            for r in range(4):
                rows[g + 8 * (r & 1)][4 * t + 16 * (r >> 1) + e] = byte(a[lane][r], e)
            for r in range(2):
                columns[g][4 * t + 16 * r + e] = byte(b[lane][r], e)
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in rows]


def add_tile(c, a, b, order):
    d = tile_of(a, b)
    for lane in range(32):
        for r in range(4):
            at = order[r]
            c[lane][at] = c[lane][at] + d[lane // 4 + 8 * (r >> 1)][lane % 4 * 2 + (r & 1)] & 0xffffffff


def tiles(bench, card):
    threads, low = 32 * len(TRIPS), 0xffffffff
    words = [[bench.rng.getrandbits(32) for _ in range(6)] for _ in range(threads)]
    data = b''.join(struct.pack('<8I', *words[t], TRIPS[t // 32], 0) for t in range(threads))
    bench.compile(TILE, 'k', card)
    out = bench.launch('k', card, '1', str(threads), data, len(data))
    for warp, trips in enumerate(TRIPS):
        mine = words[32 * warp:32 * warp + 32]
        c = [[32 * warp + lane, 0, 0, 0] for lane in range(32)]
        b = [w[4:6] for w in mine]
        for i in range(trips):
            m = i * 0x1f2e3d4c & low
            x = [[v ^ m for v in w[:4]] for w in mine]
            add_tile(c, x, b, (0, 1, 2, 3))
            y = [c[lane][0] + x[lane][1] & low for lane in range(32)]
            add_tile(c, [(v[1], v[0], v[3], v[2]) for v in x], b, (1, 2, 3, 0))
            z = [c[lane][0] ^ b[lane][1] for lane in range(32)]
            add_tile(c, [(v[2], v[3], v[1], v[0]) for v in x], [(z[lane], b[lane][0]) for lane in range(32)], (0, 1, 2, 3))
            add_tile(c, x, [(b[lane][1], z[lane]) for lane in range(32)], (0, 1, 2, 3))
        for lane in range(32):
            have = struct.unpack_from('<8I', out, 32 * (32 * warp + lane))
            want = (*c[lane], y[lane], x[lane][3], trips, x[lane][0])
            for r in range(8):
                bench.same(have[r], want[r], f'{card}: product in warp {warp}, lane {lane}, word {r}')


# ---- What is loaded before a barrier, and used on one way from it only, is loaded before others write.
def ordered(bench, card):
    threads, rounds = 256, 5
    body = ['.shared .align 4 .b8 row[1028];', 'mov.u32 %r4, row;', 'shl.b32 %r5, %r2, 2;', 'add.s32 %r4, %r4, %r5;',
            'mov.u32 %r8, 0;',
            'ld.global.u32 %r6, [%rd3];', 'st.shared.u32 [%r4+4], %r6;', 'st.shared.u32 [row], %r8;',
            'ld.global.u32 %r7, [%rd0+1024];',
            'NEXT:', 'bar.sync 0;', 'ld.shared.u32 %r9, [%r4];', 'bar.sync 0;', 'setp.eq.s32 %p0, %r7, 0;', '@%p0 bra DONE;',
            'add.s32 %r9, %r9, %r9;', 'st.shared.u32 [%r4+4], %r9;', 'add.s32 %r7, %r7, -1;', 'bra NEXT;',
            'DONE:', 'ld.shared.u32 %r6, [%r4+4];', 'st.global.u32 [%rd5], %r6;']
    values = [bench.rng.getrandbits(20) for _ in range(threads)]
    bench.compile(entry('shift', 4, 4, body), 'shift', card)
    out = bench.launch('shift', card, '1', str(threads), struct.pack('<257I', *values, rounds), 4 * threads)
    for t, have in enumerate(struct.unpack(f'<{threads}I', out)):
        bench.same(have, values[t - rounds] << rounds if t >= rounds else 0, f'{card}: a row shifted {rounds} times: {t}')


def main(argv):
    if len(argv) < 3:
        sys.exit(__doc__)
    seed = int(argv[3]) if len(argv) > 3 else random.randrange(1 << 32)
    print(f'seed {seed}')
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(argv[1], argv[2], folder, seed)
        for card in ('gfx1030', 'gfx1100', 'gfx90a', 'gfx942'):   # waves of 32, twice, and of 64, twice
            shuffles(bench, card)
            for form, ftz in (('f32', False), ('f64', False), ('f32', True)):
                arithmetic(bench, card, form, ftz)
            conversions(bench, card, 'f32')
            conversions(bench, card, 'f64')
            reductions(bench, card)
            sizes(bench, card)
            tiles(bench, card)
            ordered(bench, card)
    print(f'{bench.checked} results')


main(sys.argv)
