# SPDX-License-Identifier: Apache-2.0
"""Image instructions for test_mem.py: linear images in the test memory, their texels and samples computed by exact fractions."""
import math
import struct
from fractions import Fraction

from mem_format import layout, pack_channel, reg, unpack
from mem_model import EDGES32, M32, f32
import mem_model

BASE, MEMORY = 0x1000, 0x100000000      # images begin where the test's window does
DST, ADDR, DATA, RSRC, SAMP = 40, 10, 20, 16, 24
TYPES = {'1D': 8, '2D': 9, '3D': 10, '1D_ARRAY': 12, '2D_ARRAY': 13}
FORMATS = {1: '8_UNORM', 13: '16_FLOAT', 20: '32_UINT', 22: '32_FLOAT', 56: '8_8_8_8_UNORM', 60: '8_8_8_8_UINT',
           77: '32_32_32_32_FLOAT',
           133: '5_6_5_UNORM'}


class Image:
    def __init__(self, m, kind, size, code, select=0xfac, pitch=0):
        self.m, self.kind, self.code = m, kind, code
        self.bits, self.number = layout(FORMATS[code])
        self.bytes, self.integer = sum(self.bits) // 8, self.number == 'UINT'
        self.size, self.array = size, 'ARRAY' in kind
        self.select = [select >> 3 * k & 7 for k in range(4)]
        unit = 256 // self.bytes
        self.pitch = pitch or (size[0] + unit - 1) // unit * unit
        w, h, d = size
        address = (MEMORY + BASE) >> 8
        self.words = [address & M32, address >> 32 | code << 20 | (w - 1 & 3) << 30, (w - 1) >> 2 | (h - 1) << 14, select
                      | TYPES[kind] << 28,
                      pitch - 1 if pitch else d - 1 if kind in ('3D', '1D_ARRAY', '2D_ARRAY') else 0, 0, 0, 0]

    def s(self):
        return {RSRC + k: x for k, x in enumerate(self.words)}

    def dims(self):
        return {'1D': 1, '2D': 2, '3D': 3, '1D_ARRAY': 2, '2D_ARRAY': 3}[self.kind]

    def place(self, coordinates):
        """x, y, z of the instruction's coordinates."""
        c = list(coordinates)
        if self.array:
            c = [c[0], c[1] if len(c) == 3 else 0, c[-1]]
        return (c + [0, 0])[:3]

    def where(self, coordinates):
        x, y, z = self.place(coordinates)
        w, h, d = self.size
        if not (0 <= x < w and 0 <= y < h and 0 <= z < d):
            return None
        return BASE + ((z * h + y) * self.pitch + x) * self.bytes

    def texel(self, coordinates, border=None):
        """Four channels; zeros outside, or the border."""
        at = self.where(coordinates)
        if at is None and border is None:
            return [0] * 4
        raw = border if at is None else unpack(self.bits, self.number, bytes(self.m.mem[at:at + self.bytes]))
        one = 1 if self.integer else 0x3f800000
        return [raw[x - 4] if x >= 4 else one if x else 0 for x in self.select]


def images(m):
    return [Image(m, '1D', (50, 1, 1), 22), Image(m, '2D', (9, 7, 1), 56), Image(m, '2D', (9, 7, 1), 56, 0x9c1),
            Image(m, '3D', (5, 3, 2), 20),
            Image(m, '2D_ARRAY', (6, 2, 2), 60), Image(m, '1D_ARRAY', (16, 1, 3), 77), Image(m, '2D', (20, 5, 1), 13, pitch=64),
            Image(m, '2D', (4, 4, 1), 133), Image(m, '2D', (33, 4, 1), 1)]


def text_of(m, name, image, n_data, extra=0, dmask=15, more='', sampler=False):
    n = image.dims() + extra
    # Neighbouring registers, or a list of them.
    regs = [ADDR + k for k in range(n)]
    listed = n > 1 and image.size[0] % 2 == 0
    if listed:
        regs[0], regs[1] = ADDR + 7, ADDR + 5   # no neighbours
    where = '[%s]' % ', '.join('v%d' % r for r in regs) if listed else reg(ADDR, n)
    tail = ', s[%d:%d]' % (SAMP, SAMP + 3) if sampler else ''
    return '%s %s, %s, s[%d:%d]%s dmask:0x%x dim:SQ_RSRC_IMG_%s%s' % (name, n_data, where, RSRC, RSRC + 7, tail, dmask,
                                                                      image.kind, more), regs


def coordinates(m, image, beyond=True):
    limits = [image.size[0], image.size[1], image.size[2]]
    if image.kind == '1D_ARRAY':
        limits = [image.size[0], image.size[2]]
    limits = limits[:image.dims()]
    return [[m.rng.randrange(-2 if beyond else 0, x + (2 if beyond else 0)) for x in limits] for _ in m.lanes]


def clear(m):
    """Texels that are numbers of moderate size in every format, for a few KiB."""
    count = 1024
    words = [m.rng.choice([0x3f800000, 0x3e800000, 0xbf000000, 0x40490fdb, 0x3a83126f, 0x41200000]) for _ in range(count)]
    struct.pack_into('<%dI' % count, m.mem, BASE, *words)
    return {BASE: words}


def moves(m):
    first = {'mem': clear(m)}
    for image in images(m):
        for mip in (False, True):
            for dmask in (15, 5, 8, 1):
                mask = m.masks()[m.rng.randrange(3)]
                c = coordinates(m, image)
                n = bin(dmask).count('1')
                data = {DATA + k: [m.rng.choice([0x3f800000, 0x3f000000, 0x3e99999a, 0xbf800000, 0x40000000, 0]
                                                if not image.integer else
                                                [0, 1, 255, 256, M32]) for _ in m.lanes] for k in range(n)}
                name = 'image_store' + ('_mip' if mip else '')
                text, regs = text_of(m, name, image, reg(DATA, n), mip, dmask, ' unorm')
                v = {r: [(x + [0])[k] & M32 for x in c] for k, r in enumerate(regs)}
                v.update(data)
                for l in m.lanes:
                    at = image.where(c[l])
                    if mask >> l & 1 and at is not None:
                        values = iter([data[DATA + k][l] for k in range(n)])
                        channels = [next(values) if dmask >> k & 1 else 0 for k in range(4)]
                        packed = sum(pack_channel(x, b, image.number) << sum(image.bits[:j]) for j,
                                     (x, b) in enumerate(zip(channels, image.bits)))
                        m.mem[at:at + image.bytes] = packed.to_bytes(image.bytes, 'little')
                m.add(name, text, m.window(), mask, v, s=image.s(), **first)
                first = {}
                name = 'image_load' + ('_mip' if mip else '')
                text, regs = text_of(m, name, image, reg(DST, n), mip, dmask, ' unorm')
                new = [[x for k, x in enumerate(image.texel(c[l])) if dmask >> k & 1] for l in m.lanes]
                m.add(name, text, m.set_result(mask, DST, new), mask, {r: v[r] for r in regs}, s=image.s())
    halves = images(m)[6]
    c = coordinates(m, halves)
    text, regs = text_of(m, 'image_load', halves, 'v%d' % DST, 0, 3, ' unorm d16')
    new = [[(struct.unpack('<H', bytes(m.mem[halves.where(x):halves.where(x) + 2]))[0] if halves.where(x) is not None else 0)]
           for x in c]
    m.add('image_load', text, m.set_result(m.full, DST, new), v={r: [x[k] & M32 for x in c] for k, r in enumerate(regs)},
          s=halves.s())


def atomics(m):
    image = Image(m, '2D', (8, 4, 1), 20)
    for op in mem_model.ATOMICS:
        name = 'image_atomic_' + op.name
        for mask in m.masks() if m.has(name) else ():
            c = coordinates(m, image)
            at = [image.where(x) for x in c]
            at = [None if x is None else x - BASE for x in at]
            glc = m.rng.random() < 0.6
            settings = {'mem': m.seed_atomics(m, m.mem, BASE, op)}
            text, regs = text_of(m, name, image, reg(DATA, 2 if op.pair else 1), 0, 3 if op.pair else 1, ' unorm'
                                 + (' glc' if glc else ''))
            v = {r: [x[k] & M32 for x in c] for k, r in enumerate(regs)}
            v.update(m.atomic_operands(m, m.mem, BASE, at, op))
            m.v.update(v)
            olds = m.do_atomics(m, m.mem, BASE, at, mask, op)
            m.add(name, text, {}, mask, v, s=image.s(), **settings)
            m.cases[-1].settings['v'] = {r: list(x) for r, x in v.items()}
            if glc:
                m.cases[-1].expect.update(m.set_result(mask, DATA, olds))
            m.cases[-1].expect.update(m.window())


def information(m):
    for image in images(m):
        w, h, d = image.size
        want = [w, d if image.kind == '1D_ARRAY' else h, d, 1]
        m.add('image_get_resinfo', 'image_get_resinfo %s, v%d, s[%d:%d] dmask:0xf dim:SQ_RSRC_IMG_%s unorm' %
              (reg(DST, 4), ADDR, RSRC, RSRC + 7, image.kind), m.set_result(m.full, DST, [want] * m.wave), v={ADDR: [0] * m.wave},
              s=image.s())


# ---- Samples ----

def wrap(x, size, mode):
    """The texel, None for the border."""
    if mode == 0:
        return x % size
    if mode == 1:
        x %= 2 * size
        return x if x < size else 2 * size - 1 - x
    if mode in (3, 7) and x < 0:
        x = -1 - x
    if mode in (2, 3):
        return min(max(x, 0), size - 1)
    return x if 0 <= x < size else None


BORDERS = ([0, 0, 0, 0], [0, 0, 0, 0x3f800000], [0x3f800000] * 4)


def sampler(modes, linear, border, unnormalized=False):
    return {SAMP: sum(x << 3 * k for k, x in enumerate(modes)) | unnormalized << 15, SAMP + 1: 0, SAMP + 2: linear << 20
            | linear << 22,
            SAMP + 3: border << 30}


def taps(image, c, modes, linear, unnormalized):
    """Per coordinate: the texel and how far to the next."""
    out = []
    filtered = image.dims() - image.array
    for k in range(filtered):
        x = Fraction(c[k])
        x = x if unnormalized else x * image.size[k]
        if linear:
            x = Fraction(math.floor((x - Fraction(1, 2)) * 256 + Fraction(1, 2)), 256)
        out.append((math.floor(x), x - math.floor(x)))
    return out


def fetch(image, places, step, modes, border, c):
    at = [wrap(x + (step >> k & 1), image.size[k], modes[k]) for k, (x, _) in enumerate(places)]
    if None in at:
        return image.texel([-1] * image.dims(), border)
    if image.array:
        at.append(min(max(round(c[-1]), 0), image.size[2] - 1))
    return image.texel(at, border)


def f32_bits(x):
    return struct.unpack('<I', struct.pack('<f', x))[0]


def random_point(m, image, unnormalized):
    c = []
    for k in range(image.dims() - image.array):
        x = m.rng.choice([0.0, 0.5, 1.0, m.rng.uniform(-1.5, 2.5), m.rng.uniform(0, 1)])
        c.append(f32(f32_bits(x * image.size[k] if unnormalized else x)))
    return c + ([float(m.rng.randrange(-1, image.size[2] + 1))] if image.array else [])


def samples(m):
    m.add('', 's_nop 0', {}, mem=clear(m))
    for number, image in enumerate(i for i in images(m) if not i.integer):
        for mode in range(8):
            if mode in (4, 5):
                continue                  # half a texel of border: not modelled apart
            linear, border = (mode + number) % 2, mode % 3
            unnormalized = mode in (2, 6) and number % 2 == 0
            modes = [mode, mode if unnormalized else (mode + 1) % 3, mode]
            level = ('', '_l', '_lz')[(mode + number) % 3]
            c = [random_point(m, image, unnormalized) for _ in m.lanes]
            name = 'image_sample' + level
            text, regs = text_of(m, name, image, reg(DST, 4), level == '_l', 15, '', True)
            v = {r: [f32_bits((x + [0.0])[k]) for x in c] for k, r in enumerate(regs)}
            new = []
            for x in c:
                places = taps(image, x, modes, linear, unnormalized)
                if not linear:
                    new.append(fetch(image, places, 0, modes, BORDERS[border], x))
                    continue
                total = [Fraction(0)] * 4
                for step in range(1 << len(places)):
                    weight = Fraction(1)
                    for k, (_, between) in enumerate(places):
                        weight *= between if step >> k & 1 else 1 - between
                    if weight:
                        total = [t + weight * Fraction(f32(y)) for t,
                                 y in zip(total, fetch(image, places, step, modes, BORDERS[border], x))]
                new.append([f32_bits(float(t)) for t in total])
            mask = m.masks()[mode % 3]
            m.add(name, text, m.set_result(mask, DST, new), mask, v,
                  s={**image.s(), **sampler(modes, linear, border, unnormalized)})
            if image.kind in ('2D', '2D_ARRAY'):
                gather(m, image, c, modes, border, unnormalized, v, mask, '' if mode % 2 else '_lz')


def gather(m, image, c, modes, border, unnormalized, v, mask, suffix):
    channel = m.rng.randrange(4)
    text, regs = text_of(m, 'image_gather4' + suffix, image, reg(DST, 4), 0, 1 << channel, '', True)
    new = []
    for x in c:
        places = taps(image, x, modes, True, unnormalized)
        new.append([fetch(image, places, step, modes, BORDERS[border], x)[channel] for step in (2, 3, 1, 0)])
    m.add('image_gather4' + suffix, text, m.set_result(mask, DST, new), mask, {r: v[r] for r in regs},
          s={**image.s(), **sampler(modes, 0, border, unnormalized)})


def refusals(m):
    """What is not modelled stops the wave."""
    image = images(m)[1]
    text, regs = text_of(m, 'image_load', image, reg(DST, 4), 0, 15, ' unorm')
    for word, bits, why in ((3, 5 << 20, 'tiles'), (3, 1 << 16, 'mipmaps'), (1, 0x1ff << 20, 'format'), (3, 11 << 28, 'kind')):
        s = image.s()
        s[RSRC + word] = (s[RSRC + word] & ~(15 << 28) if why == 'kind' else s[RSRC + word]) | bits
        m.add('', text, {'state': why}, s=s)
    text, regs = text_of(m, 'image_sample', image, reg(DST, 4), 0, 15, '', True)
    m.add('', text, {'state': 'filters differ'}, s={**image.s(), **sampler([0] * 3, 0, 0), SAMP + 2: 1 << 20})
    m.add('', text, {'state': 'table'}, s={**image.s(), **sampler([0] * 3, 0, 0), SAMP + 3: 3 << 30})
    far = image.s()
    far[RSRC] = (MEMORY + 0x10000) >> 8
    text, regs = text_of(m, 'image_load', image, reg(DST, 4), 0, 15, ' unorm')
    m.add('', text, {'state': 'memory fault'}, v={r: [0] * m.wave for r in regs}, s=far)


def image_rows(m):
    if m.gfx10:
        moves(m)
        atomics(m)
        information(m)
        samples(m)
        refusals(m)
