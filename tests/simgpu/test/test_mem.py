#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory instructions of the simulated Radeon against a model of their own: bytes of memory, LDS and private memory, and what
each instruction does to them lane by lane.  Every row of the memory tables must have been executed on some card, or the test
fails."""
import os
import random
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mem_format
import mem_image
import mem_model
import test_gfx11
import test_gfx12
import test_gfx942
from mem_model import M32, M64
from ops import EXEC_ALL, MEMORY, Ops, binary, rows

SEED = int(os.environ.get('SEED', '20260401'))
WINDOW, WINDOW_BYTES = 0x1000, 1024      # what loads and stores stay in, of memory and of LDS
PRIVATE_BYTES = 256
SCRATCH = 0x800000000000               # of the driver's wave
FAMILIES = ('global_', 'flat_', 'scratch_', 'buffer_', 'tbuffer_', 'ds_', 's_load_', 's_buffer_', 's_store_', 's_atomic_',
            's_mem',
            's_dcache_', 's_gl1_', 's_atc_', 'image_')
CARDS = (('gfx1030', 32), ('gfx1030', 64), ('gfx900', 64), ('gfx90a', 64))
DST, ADDR, DATA = 40, 10, 20             # vector registers of results, addresses, data
SADDR, RSRC, SOFF, SDATA = 10, 12, 16, 20


class Case:
    """One execution: what is set before, what is read after and what it must be.  An expected None is not compared; a string is
    a part of the state."""

    def __init__(self, name, text, settings, expect):
        self.name, self.text, self.settings, self.expect = name, text, settings, expect


class Machine:
    """The model's state on one card, and the cases made from it in order."""

    def __init__(self, card, wave):
        self.card, self.wave, self.rng = card, wave, random.Random('%d %s %d' % (SEED, card, wave))
        self.gfx10 = len(card) > 6
        self.full = EXEC_ALL[wave]
        self.lanes = range(wave)
        self.mem = bytearray(self.rng.randbytes(0x10000))
        self.lds = bytearray(self.rng.randbytes(0x10000))
        self.private = [bytearray(4096) for _ in self.lanes]
        self.v = {r: [self.rng.getrandbits(32) for _ in self.lanes] for r in range(64)}
        self.rows = {}
        self.cases = []
        self.scratch_base = SCRATCH
        self.seed_atomics, self.atomic_operands, self.do_atomics = seed_atomics, atomic_operands, do_atomics

    def has(self, name):
        row = self.rows.get(name)
        theirs = test_gfx11.OWN | test_gfx942.OWN
        return row is not None and row.on(self.card) and name not in theirs and (
            self.card == 'gfx90a' or not mem_model.only_gfx90a(name))

    def masks(self):
        """All, some, one and no lanes."""
        some = self.rng.getrandbits(self.wave) | 2
        return [self.full, some & ~1, 1 << self.rng.randrange(self.wave), 0]

    def add(self, name, text, expect, exec=None, v=None, **settings):
        """A case; `v` is kept in the model."""
        self.v.update(v or {})
        settings['exec'] = self.full if exec is None else exec
        settings['v'] = {r: self.v[r] for r in v or {}}
        self.cases.append(Case(name, text, settings, dict(expect, state=expect.get('state', 'running'))))

    def set_result(self, mask, reg, lanes):
        """Lanes of `mask` get their values (lanes: list of values per register); returns what must be read."""
        for k in range(len(lanes[0])):
            self.v[reg + k] = [lanes[l][k] if mask >> l & 1 else self.v[reg + k][l] for l in self.lanes]
        return {'v%d' % (reg + k): self.v[reg + k] for k in range(len(lanes[0]))}

    def window(self, what='mem'):
        data = self.mem if what == 'mem' else self.lds
        return {(what, WINDOW, WINDOW_BYTES // 4): list(struct.unpack_from('<%dI' % (WINDOW_BYTES // 4), data, WINDOW))}

    # ---- Running ----

    def run(self, program):
        texts = list(dict.fromkeys(c.text for c in self.cases))
        with Ops(self.card, self.wave, program) as o:
            for text in texts:
                o.asm(text)
            o.ready()
            o.set(mem={0: struct.unpack('<16384I', self.first_mem)}, lds={0: struct.unpack('<16384I', self.first_lds)},
                  v=self.first_v)
            number = {text: k for k, text in enumerate(texts)}
            failures = []
            for at in range(0, len(self.cases), 200):
                part = self.cases[at:at + 200]
                for c in part:
                    o.queue(number[c.text], list(c.expect), **c.settings)
                for c, answer in zip(part, o.flush()):
                    failures += self.compare(c, answer)
                if len(failures) > 20:
                    break
            return failures

    def compare(self, case, answer):
        out = []
        for what, got in zip(case.expect, answer):
            want = case.expect[what]
            if want is None or (what == 'state' and want in got if isinstance(want, str) else got == want):
                continue
            detail = ''
            if isinstance(want, list):
                bad = [k for k in range(len(want)) if k >= len(got) or got[k] != want[k]]
                detail = ' first at %d of %d wrong: got %x, want %x' % (bad[0], len(bad), got[bad[0]], want[bad[0]])
            else:
                detail = ' got %r, want %r' % (got, want)
            out.append('%s wave%d exec %x: %s: %s%s' % (self.card, self.wave, case.settings['exec'], case.text, what, detail))
        return out

    def start(self):
        self.first_mem, self.first_lds = bytes(self.mem), bytes(self.lds)
        self.first_v = {r: list(x) for r, x in self.v.items()}


def reg(first, n):
    return 'v%d' % first if n == 1 else 'v[%d:%d]' % (first, first + n - 1)


# ---- Vector memory: where lanes' addresses come from ----

def offsets(m, size, pattern, room=WINDOW_BYTES, unit=None):
    """Offsets of the lanes within a window: 'packed', 'same', 'random' (multiples of unit), 'loose' (any)."""
    if pattern == 'packed' and size * m.wave <= room:
        base = m.rng.randrange(0, room - size * m.wave + 1, unit or 4)
        return [base + l * size for l in m.lanes]
    if pattern == 'same':
        return [m.rng.randrange(0, room - size + 1, unit or 4)] * m.wave
    return [m.rng.randrange(0, room - size + 1, 1 if pattern == 'loose' else unit or 4) for _ in m.lanes]


def place_global(m, where, mode):
    """Operands and settings for lanes at `where` (offsets of memory): (address text, base text, modifiers, v, s)."""
    address = [MEMORY + WINDOW + x for x in where]
    if mode == 'base':
        base = MEMORY + WINDOW - 0x40000001
        return 'v%d' % ADDR, 's[%d:%d]' % (SADDR, SADDR + 1), '', {ADDR: [a - base for a in address]}, {SADDR: base & M32, SADDR
                                                                                                        + 1: base >> 32}
    offset = 0 if mode == 'plain' else m.rng.choice([-2048, -4, 16, 2047])
    low = [(a - offset) & M64 for a in address]
    mod = ' offset:%d' % offset if offset else ''
    return reg(ADDR, 2), 'off', mod, {ADDR: [x & M32 for x in low], ADDR + 1: [x >> 32 for x in low]}, {}


def place_flat(m, where, mode):
    offset = 0 if mode == 'plain' or m.gfx10 else 2044
    base = {'lds': 0x1000000000000 + WINDOW}.get(mode, MEMORY + WINDOW)
    low = [base + x - offset for x in where]
    mod = ' offset:%d' % offset if offset else ''
    return reg(ADDR, 2), None, mod, {ADDR: [x & M32 for x in low], ADDR + 1: [x >> 32 for x in low]}, {}


def vector_text(op, parts):
    return op + ' ' + ', '.join(p for p in parts if p)


MODES = {'global': ['plain', 'base', 'offset'], 'flat': ['plain', 'lds', 'offset']}
PLACES = {'global': place_global, 'flat': place_flat}
PATTERNS = ['packed', 'loose', 'same', 'random', 'packed', 'loose']


def vector_cases(m, space, visit, unit=None):
    """Calls visit(mode, pattern, mask) so that modes, patterns and masks meet."""
    masks = m.masks()
    for k in range(12):
        visit(MODES[space][k % len(MODES[space])], PATTERNS[k % 6 if unit is None else k % 2 * 3], masks[k % 4 if k < 8 else 0])


def vector_loads(m):
    for space in ('global', 'flat'):
        for kind, (size, n, load) in mem_model.LOADS.items():
            name = '%s_load_%s' % (space, kind)
            if not m.has(name):
                continue

            def visit(mode, pattern, mask):
                where = offsets(m, size, pattern)
                to = ADDR if pattern == 'same' else DST
                at, base, mod, v, s = PLACES[space](m, where, mode)
                m.v.update(v)
                data = m.lds if mode == 'lds' else m.mem
                old = [[m.v[to + k][l] for k in range(n)] for l in m.lanes]
                new = [load(bytes(data[WINDOW + x:WINDOW + x + size]), o) for x, o in zip(where, old)]
                m.add(name, vector_text(name, [reg(to, n), at, base]) + mod, {}, mask, v, s=s)
                m.cases[-1].settings['v'] = {r: list(x) for r, x in m.cases[-1].settings['v'].items()}
                m.cases[-1].expect.update(m.set_result(mask, to, new))
            vector_cases(m, space, visit)


def vector_stores(m):
    for space in ('global', 'flat'):
        for kind, (size, n, store) in mem_model.STORES.items():
            name = '%s_store_%s' % (space, kind)

            def visit(mode, pattern, mask):
                where = offsets(m, size, pattern)
                at, base, mod, v, s = PLACES[space](m, where, mode)
                data = m.lds if mode == 'lds' else m.mem
                for l in m.lanes:
                    if mask >> l & 1:
                        x = WINDOW + where[l]
                        data[x:x + size] = store([m.v[DATA + k][l] for k in range(n)])
                m.add(name, vector_text(name, [at, reg(DATA, n), base]) + mod, m.window('lds' if mode == 'lds' else 'mem'), mask,
                      v, s=s)
            vector_cases(m, space, visit)


def do_atomics(m, data, base, where, mask, op, first=DATA, second=None):
    """The lanes' atomics in order; their old values, as registers."""
    size, function = op.size, op.function
    words = size // 4
    second = first + words if second is None else second
    olds = []
    for l in m.lanes:
        if not mask >> l & 1 or where[l] is None:
            olds.append([0] * words)
            continue
        x = base + where[l]
        old = int.from_bytes(data[x:x + size], 'little')
        d = sum(m.v[first + k][l] << 32 * k for k in range(words))
        c = sum(m.v[second + k][l] << 32 * k for k in range(words)) if op.pair else 0
        data[x:x + size] = function(old, d, c).to_bytes(size, 'little')
        olds.append([old >> 32 * k & M32 for k in range(words)])
    return olds


def atomic_operands(m, data, base, where, op, swapped=False):
    """Values that make the operation's cases happen: edges, what memory holds, and near it."""
    v = {}
    words = op.size // 4
    for part in range(2 if op.pair else 1):
        values = []
        for l in m.lanes:
            x = base + (where[l] or 0)
            now = int.from_bytes(data[x:x + op.size], 'little')
            near = [now, now + 1, now - 1, m.rng.getrandbits(8 * op.size)]
            values.append(m.rng.choice(near + op.edges) & (1 << 8 * op.size) - 1)
        for k in range(words):
            v[DATA + part * words + k] = [x >> 32 * k & M32 for x in values]
    return v


def seed_atomics(m, data, base, op):
    """Fills the window with values of which the operation has cases."""
    for x in range(base, base + WINDOW_BYTES, op.size):
        value = m.rng.choice(op.edges + [m.rng.getrandbits(8 * op.size)]) & (1 << 8 * op.size) - 1
        data[x:x + op.size] = value.to_bytes(op.size, 'little')
    return {WINDOW: struct.unpack_from('<%dI' % (WINDOW_BYTES // 4), data, base)}


def vector_atomics(m):
    for space in ('global', 'flat'):
        for op in mem_model.ATOMICS:
            name = '%s_atomic_%s' % (space, op.name)
            if not m.has(name):
                continue
            returns = [True] if op.name == 'csub' else [True, False]

            def visit(mode, pattern, mask):
                where = offsets(m, op.size, pattern, unit=op.size)
                at, base, mod, v, s = PLACES[space](m, where, mode)
                data = m.lds if mode == 'lds' else m.mem
                what = 'lds' if mode == 'lds' else 'mem'
                settings = {what: seed_atomics(m, data, WINDOW, op)} if m.rng.random() < 0.4 else {}
                v.update(atomic_operands(m, data, WINDOW, where, op))
                m.v.update(v)
                glc = m.rng.choice(returns)
                words = op.size // 4
                olds = do_atomics(m, data, WINDOW, where, mask, op)
                parts = [reg(DST, words) if glc else None, at, reg(DATA, words * (2 if op.pair else 1)), base]
                m.add(name, vector_text(name, parts) + mod + (' glc' if glc else ''), {}, mask, v, s=s, **settings)
                if glc:
                    m.cases[-1].expect.update(m.set_result(mask, DST, olds))
                m.cases[-1].expect.update(m.window(what))
            vector_cases(m, space, visit, unit=op.size)


def addtid(m):
    if not m.gfx10:
        return
    for mask in m.masks():
        base = MEMORY + WINDOW + 64
        s = {SADDR: base & M32, SADDR + 1: base >> 32}
        new = [[int.from_bytes(m.mem[WINDOW + 72 + 4 * l:WINDOW + 76 + 4 * l], 'little')] for l in m.lanes]
        m.add('global_load_dword_addtid', 'global_load_dword_addtid v%d, s[%d:%d] offset:8' % (DST, SADDR, SADDR + 1),
              m.set_result(mask, DST, new), mask, s=s)
        for l in m.lanes:
            if mask >> l & 1:
                m.mem[WINDOW + 64 + 4 * l:WINDOW + 68 + 4 * l] = m.v[DATA][l].to_bytes(4, 'little')
        m.add('global_store_dword_addtid', 'global_store_dword_addtid v%d, s[%d:%d]' % (DATA, SADDR, SADDR + 1), m.window(), mask,
              s=s)


# ---- Private memory ----

def private_rows(m):
    for kind, (size, n, store) in mem_model.STORES.items():
        name = 'scratch_store_' + kind
        for k, mask in enumerate(m.masks()):
            at, saddr, mod, where, v, s = place_private(m, size, k)
            for l in m.lanes:
                if mask >> l & 1:
                    m.private[l][where[l]:where[l] + size] = store([m.v[DATA + j][l] for j in range(n)])
            m.add(name, '%s %s, %s, %s%s' % (name, at, reg(DATA, n), saddr, mod), {}, mask, v, s=s)
            check_private(m)
    for kind, (size, n, load) in mem_model.LOADS.items():
        name = 'scratch_load_' + kind
        for k, mask in enumerate(m.masks()):
            at, saddr, mod, where, v, s = place_private(m, size, k)
            m.v.update(v)
            new = [load(bytes(m.private[l][where[l]:where[l] + size]), [m.v[DST + j][l] for j in range(n)]) for l in m.lanes]
            m.add(name, '%s %s, %s, %s%s' % (name, reg(DST, n), at, saddr, mod), m.set_result(mask, DST, new), mask, v, s=s)


def place_private(m, size, k):
    offset = m.rng.randrange(0, 64, 4)
    mod = ' offset:%d' % offset if offset else ''
    if k % 2:
        base = m.rng.randrange(0, PRIVATE_BYTES - 64 - size, 4)
        return 'off', 's%d' % SADDR, mod, [base + offset] * m.wave, {}, {SADDR: base}
    where = offsets(m, size, 'loose', PRIVATE_BYTES - 64)
    return 'v%d' % ADDR, 'off', mod, [x + offset for x in where], {ADDR: where}, {}


def check_private(m):
    """Reads a piece of everyone's private memory through a row that private_rows tests."""
    at = m.rng.randrange(0, PRIVATE_BYTES - 16, 4)
    new = [list(struct.unpack_from('<4I', m.private[l], at)) for l in m.lanes]
    none = m.gfx10 and m.rng.random() < 0.5
    m.add('scratch_load_dwordx4', 'scratch_load_dwordx4 v[50:53], off, %s offset:%d' % ('off' if none else 's%d' % SADDR, at),
          m.set_result(m.full, 50, new), s={SADDR: 0})


def flat_private(m):
    """Flat addresses of private memory, alone and with lanes that are elsewhere."""
    for mixed in (False, True):
        where = offsets(m, 8, 'loose', PRIVATE_BYTES)
        base = [(0x2000000000000, 0x1000000000000 + WINDOW, MEMORY + WINDOW)[l % 3 if mixed else 0] for l in m.lanes]
        data = [(m.private[l], m.lds, m.mem)[l % 3 if mixed else 0] for l in m.lanes]
        v = {ADDR: [(b + x) & M32 for b, x in zip(base, where)], ADDR + 1: [b >> 32 for b in base]}
        begin = [0 if b == 0x2000000000000 else WINDOW for b in base]
        m.v.update(v)
        new = [list(struct.unpack_from('<2I', data[l], begin[l] + where[l])) for l in m.lanes]
        m.add('flat_load_dwordx2', 'flat_load_dwordx2 %s, %s' % (reg(DST, 2), reg(ADDR, 2)), m.set_result(m.full, DST, new), v=v)
        for l in m.lanes:
            data[l][begin[l] + where[l]:begin[l] + where[l] + 4] = m.v[DATA][l].to_bytes(4, 'little')
        m.add('flat_store_dword', 'flat_store_dword %s, v%d' % (reg(ADDR, 2), DATA), {**m.window(), **m.window('lds')}, v=v)
        check_private(m)


# ---- Faults ----

def faults(m):
    """A lane that reaches where nothing is stops the wave; nothing is read or written then."""
    lane = 5
    def bad(low, high):
        return {ADDR: [low if l == lane else (MEMORY + WINDOW + 4 * l) & M32 for l in m.lanes],
                ADDR + 1: [high if l == lane else MEMORY >> 32 for l in m.lanes]}
    kept = {'v%d' % DST: m.v[DST]}
    for low, high in ((0, 0), (0x0000fffe, 1), (0x10000, 1), (0xfffffffe, 0)):
        places = (('global', 'load', 'load of 4 bytes at 0' if not high | low else '0x%x' % (high << 32 | low)),
                  ('global', 'store', 'store of 4'), ('flat', 'load', 'lane 5'), ('global', 'atomic', 'atomic of 4'))
        for op, text, where in places:
            off = ', off' if op == 'global' else ''
            full = {'load': '%s_load_dword v%d, %s%s' % (op, DST, reg(ADDR, 2), off),
                    'store': '%s_store_dword %s, v%d%s' % (op, reg(ADDR, 2), DATA, off),
                    'atomic': '%s_atomic_add v%d, %s, v%d%s glc' % (op, DST, reg(ADDR, 2), DATA, off)}[text]
            m.add('', full, {**m.window(), **kept, 'state': where}, v=bad(low, high))
            m.add('', full, {**kept, 'state': 'lane 5'}, 1 << lane, bad(low, high))
            m.add('', full, {**kept, 'state': 'running'}, 0, bad(low, high))
    for low, high in ((0xfffe, 0x10000), (0x10000, 0x10000), (4094, 0x20000), (0xffffffff, 0x2ffff)):
        m.add('', 'flat_load_dword v%d, %s' % (DST, reg(ADDR, 2)), {**kept, 'state': 'lane 5'}, v=bad(low, high))
    m.add('', 'scratch_load_dword v%d, v%d, off' % (DST, ADDR), {**kept, 'state': 'lane 7'},
          v={ADDR: [4093 if l == 7 else 0 for l in m.lanes]})
    m.add('', 'scratch_store_dword v%d, v%d, off' % (ADDR, DATA), {'state': 'lane 7'}, 1 << 7, {ADDR: [M32] * m.wave})
    m.add('', 's_load_dwordx4 s[20:23], s[10:11], 0x0', {'state': 'load of 16 bytes', 's20': 7}, s={10: 0xfff8, 11: 1, 20: 7})
    m.add('', 'global_atomic_add %s, v%d, off' % (reg(ADDR, 2), DATA), {**m.window(), 'state': 'multiple of its size'},
          v={ADDR: [WINDOW + 2] * m.wave, ADDR + 1: [MEMORY >> 32] * m.wave})


# ---- Scalar memory ----

def scalar_rows(m):
    s = {SADDR: (MEMORY + WINDOW) & M32, SADDR + 1: MEMORY >> 32}
    for kind, n in (('', 1), ('x2', 2), ('x4', 4), ('x8', 8), ('x16', 16)):
        to = 's%d' % SDATA if n == 1 else 's[%d:%d]' % (SDATA, SDATA + n - 1)
        for text, at, more in (('0x20', 0x20, {}), ('s%d' % SOFF, 0x44, {SOFF: 0x46}),
                               ('s%d offset:0x10' % SOFF, 0x54, {SOFF: 0x44}),
                               ('-0x10', -0x10, {})):
            words = struct.unpack_from('<%dI' % n, m.mem, WINDOW + at)
            m.add('s_load_dword' + kind, 's_load_dword%s %s, s[%d:%d], %s' % (kind, to, SADDR, SADDR + 1, text),
                  {'s%d' % (SDATA + k): x for k, x in enumerate(words)}, s={**s, **more})
        for records, stride, at in ((0x60, 0, 0x20), (0x24, 0, 0x20), (0x20, 0, 0x20), (4, 16, 0x20), (0, 0, 0),
                                    (0xffffffff, 0, 0x40)):
            size = records * (stride or 1)
            rsrc = {RSRC: s[SADDR], RSRC + 1: s[SADDR + 1] | stride << 16, RSRC + 2: records, RSRC + 3: 0}
            words = [int.from_bytes(m.mem[WINDOW + x:WINDOW + x + 4], 'little') if x + 4 <= size else 0
                     for x in range(at, at + 4 * n, 4)]
            m.add('s_buffer_load_dword' + kind, 's_buffer_load_dword%s %s, s[%d:%d], 0x%x' % (kind, to, RSRC, RSRC + 3, at),
                  {'s%d' % (SDATA + k): x for k, x in enumerate(words)}, s=rsrc)
    m.add('s_load_dword', 's_load_dword vcc_lo, s[10:11], 0x0', {'vcc': None}, s=s)
    if m.gfx10:
        m.add('s_load_dword', 's_load_dword null, s[10:11], 0x0', {}, s=s)
    m.add('s_memtime', 's_memtime s[%d:%d]' % (SDATA, SDATA + 1), {'s%d' % (SDATA + 1): 0}, s={SDATA + 1: 7})
    m.add('s_memrealtime', 's_memrealtime s[%d:%d]' % (SDATA, SDATA + 1), {})
    for name in ('s_dcache_inv', 's_dcache_wb', 's_dcache_inv_vol', 's_dcache_wb_vol', 's_gl1_inv', 'buffer_gl0_inv',
                 'buffer_gl1_inv',
                 'buffer_wbinvl1', 'buffer_wbinvl1_vol', 'buffer_wbl2', 'buffer_invl2', 'ds_nop'):
        if m.has(name):
            m.add(name, name, m.window())
    m.add('s_atc_probe', 's_atc_probe 7, s[10:11], 0x10', m.window())
    m.add('s_atc_probe_buffer', 's_atc_probe_buffer 7, s[12:15], 0x10', m.window())
    if not m.gfx10:
        scalar_stores(m, s)


def scalar_stores(m, s):
    for kind, n in (('', 1), ('x2', 2), ('x4', 4)):
        words = [m.rng.getrandbits(32) for _ in range(n)]
        data = {SDATA + k: x for k, x in enumerate(words)}
        of = 's%d' % SDATA if n == 1 else 's[%d:%d]' % (SDATA, SDATA + n - 1)
        struct.pack_into('<%dI' % n, m.mem, WINDOW + 0x40, *words)
        m.add('s_store_dword' + kind, 's_store_dword%s %s, s[%d:%d], 0x40' % (kind, of, SADDR, SADDR + 1), m.window(),
              s={**s, **data})
        for records in (0x100, 0x88, 0x80):
            rsrc = {RSRC: s[SADDR], RSRC + 1: s[SADDR + 1], RSRC + 2: records, RSRC + 3: 0}
            for k, x in enumerate(words):
                if 0x84 + 4 * k <= records:
                    struct.pack_into('<I', m.mem, WINDOW + 0x80 + 4 * k, x)
            m.add('s_buffer_store_dword' + kind, 's_buffer_store_dword%s %s, s[%d:%d], 0x80' % (kind, of, RSRC, RSRC + 3),
                  m.window(),
                  s={**rsrc, **data})
    for op in mem_model.ATOMICS:
        for name in ('s_atomic_' + op.name, 's_buffer_atomic_' + op.name):
            for glc in (True, False) if m.has(name) else ():
                scalar_atomic(m, s, op, name, glc)


def scalar_atomic(m, s, op, name, glc):
    words = op.size // 4
    old = int.from_bytes(m.mem[WINDOW + 16:WINDOW + 16 + op.size], 'little')
    mask = (1 << 8 * op.size) - 1
    d, c = m.rng.choice(op.edges + [old + 1]) & mask, m.rng.choice([old, old ^ 1])
    data = {SDATA + k: (d | c << 8 * op.size) >> 32 * k & M32 for k in range(words * (2 if op.pair else 1))}
    m.mem[WINDOW + 16:WINDOW + 16 + op.size] = op.function(old, d, c).to_bytes(op.size, 'little')
    n = len(data)
    of = 's%d' % SDATA if n == 1 else 's[%d:%d]' % (SDATA, SDATA + n - 1)
    where = 's[%d:%d]' % ((RSRC, RSRC + 3) if 'buffer' in name else (SADDR, SADDR + 1))
    rsrc = {RSRC: s[SADDR], RSRC + 1: s[SADDR + 1], RSRC + 2: 16 + op.size, RSRC + 3: 0}
    after = {SDATA + k: old >> 32 * k & M32 for k in range(words)} if glc else data
    m.add(name, '%s %s, %s, 0x10%s' % (name, of, where, ' glc' if glc else ''),
          {**m.window(), **{'s%d' % r: x for r, x in after.items()}},
          s={**s, **rsrc, **data})


# ---- LDS ----

def lds_rows(m):
    names = {'dword': 'b32', 'dwordx2': 'b64', 'dwordx3': 'b96', 'dwordx4': 'b128', 'ubyte': 'u8', 'sbyte': 'i8', 'ushort': 'u16',
             'sshort': 'i16', 'short_d16': 'u16_d16', 'short_d16_hi': 'u16_d16_hi', 'ubyte_d16': 'u8_d16',
             'ubyte_d16_hi': 'u8_d16_hi',
             'sbyte_d16': 'i8_d16', 'sbyte_d16_hi': 'i8_d16_hi', 'byte': 'b8', 'short': 'b16', 'byte_d16_hi': 'b8_d16_hi',
             'store short_d16_hi': 'b16_d16_hi'}
    for kind, (size, n, load) in mem_model.LOADS.items():
        name = 'ds_read_' + names[kind]
        for pattern, mask in zip(PATTERNS, m.masks() + m.masks()):
            where, offset, v = place_lds(m, size, pattern)
            m.v.update(v)
            new = [load(lds_bytes(m, x, size), [m.v[DST + k][l] for k in range(n)]) for l, x in enumerate(where)]
            m.add(name, '%s %s, v%d offset:%d' % (name, reg(DST, n), ADDR, offset), m.set_result(mask, DST, new), mask, v)
    for kind, (size, n, store) in mem_model.STORES.items():
        name = 'ds_write_' + names.get('store ' + kind, names[kind])
        for pattern, mask in zip(PATTERNS, m.masks() + m.masks()):
            where, offset, v = place_lds(m, size, pattern)
            for l in m.lanes:
                if mask >> l & 1:
                    lds_write(m, where[l], store([m.v[DATA + k][l] for k in range(n)]))
            m.add(name, '%s v%d, %s offset:%d' % (name, ADDR, reg(DATA, n), offset), m.window('lds'), mask, v)


def place_lds(m, size, pattern):
    """Lanes' addresses, a few out of range when they are random; the offset that is added and the registers."""
    offset = m.rng.choice([0, 4, 252])
    where = [WINDOW + x for x in offsets(m, size, pattern)]
    if pattern == 'loose':
        where = [m.rng.choice([0x10000 - size + 1, 0x10000, 0xfffffff0]) if m.rng.random() < 0.1 else x for x in where]
    return where, offset, {ADDR: [(x - offset) & M32 for x in where]}


def lds_bytes(m, x, size):
    return bytes(m.lds[x:x + size]) if x + size <= 0x10000 else bytes(size)


def lds_write(m, x, data):
    if x + len(data) <= 0x10000:
        m.lds[x:x + len(data)] = data


def lds_pairs(m):
    for bits, words in ((32, 1), (64, 2)):
        for far in ('', 'st64'):
            unit = 4 * words * (64 if far else 1)
            for mask in m.masks():
                o0, o1 = (m.rng.sample(range(0, 2), 2) if far else m.rng.sample(range(0, 20), 2))
                where = [WINDOW + 4 * words * m.rng.randrange(0, 10) for _ in m.lanes]
                v = {ADDR: where}
                m.v.update(v)
                mods = (' offset0:%d' % o0 if o0 else '') + (' offset1:%d' % o1 if o1 else '')
                def value(o):
                    return [list(struct.unpack_from('<%dI' % words, m.lds, x + o * unit)) for x in where]
                new = [a + b for a, b in zip(value(o0), value(o1))]
                name = 'ds_read2%s_b%d' % (far, bits)
                m.add(name, '%s %s, v%d%s' % (name, reg(DST, 2 * words), ADDR, mods), m.set_result(mask, DST, new), mask, v)
                for o, first in ((o0, DATA), (o1, DATA + 2)):
                    for l in m.lanes:
                        if mask >> l & 1:
                            struct.pack_into('<%dI' % words, m.lds, where[l] + o * unit,
                                             *[m.v[first + k][l] for k in range(words)])
                name = 'ds_write2%s_b%d' % (far, bits)
                m.add(name, '%s v%d, %s, %s%s' % (name, ADDR, reg(DATA, words), reg(DATA + 2, words), mods), m.window('lds'),
                      mask, v)
                swap = mem_model.swap(4 * words)
                olds = [a + b for a, b in zip(*[do_atomics(m, m.lds, o * unit, where, mask, swap, first)
                                                 for o, first in ((o0, DATA), (o1, DATA + 2))])]
                name = 'ds_wrxchg2%s_rtn_b%d' % (far, bits)
                m.add(name, '%s %s, v%d, %s, %s%s' % (name, reg(DST, 2 * words), ADDR, reg(DATA, words), reg(DATA + 2, words),
                                                      mods), {}, mask, v)
                m.cases[-1].expect.update(m.set_result(mask, DST, olds))
                m.cases[-1].expect.update(m.window('lds'))


def lds_atomics(m):
    for op in mem_model.LDS_ATOMICS:
        for returns in (True, False):
            name = 'ds_%s_%s%s' % (op.name, 'rtn_' if returns else '', op.type)
            for mask in m.masks() * 2 if m.has(name) else ():
                mode = m.rng.choice([0, 0x10, 0x20, 0xf0])
                settings = {'lds': seed_atomics(m, m.lds, WINDOW, op)}
                inside = offsets(m, op.size, 'random', unit=op.size)
                where = [None if m.rng.random() < 0.05 else x for x in inside]
                v = {ADDR: [0x10000 if x is None else WINDOW + x for x in where], **atomic_operands(m, m.lds, WINDOW, where, op)}
                m.v.update(v)
                words = op.size // 4
                first, second = DATA, DATA + words
                if op.swapped:
                    first, second = second, first
                olds = do_atomics(m, m.lds, WINDOW, where, mask, op.for_mode(mode), first, second)
                text = name + ' ' + ', '.join([reg(DST, words)] * returns + ['v%d' % ADDR, reg(DATA, words)]
                                              + [reg(DATA + words, words)] * op.pair)
                m.add(name, text, {}, mask, v, mode=mode, **settings)
                if returns:
                    m.cases[-1].expect.update(m.set_result(mask, DST, olds))
                m.cases[-1].expect.update(m.window('lds'))


def lds_others(m):
    """Counters, words by lane number, and the instructions that only move between lanes."""
    for mask in m.masks():
        for name, sign in (('ds_append', 1), ('ds_consume', -1)):
            old = int.from_bytes(m.lds[WINDOW + 8:WINDOW + 12], 'little')
            m.add(name, '%s v%d offset:8' % (name, DST), m.set_result(mask, DST, [[old]] * m.wave), mask, m0=0xabc00000 | WINDOW)
            m.lds[WINDOW + 8:WINDOW + 12] = (old + sign * bin(mask).count('1') & M32).to_bytes(4, 'little')
            m.cases[-1].expect.update(m.window('lds'))
        new = [list(struct.unpack_from('<I', m.lds, WINDOW + 16 + 4 * l)) for l in m.lanes]
        m.add('ds_read_addtid_b32', 'ds_read_addtid_b32 v%d offset:16' % DST, m.set_result(mask, DST, new), mask, m0=WINDOW)
        for l in m.lanes:
            if mask >> l & 1:
                m.lds[WINDOW + 16 + 4 * l:WINDOW + 20 + 4 * l] = m.v[DATA][l].to_bytes(4, 'little')
        m.add('ds_write_addtid_b32', 'ds_write_addtid_b32 v%d offset:16' % DATA, m.window('lds'), mask, m0=WINDOW)
        for offset in (0, 4, 132):
            across_lanes(m, mask, offset)
        for pattern in (0x041f, 0x001f, 0x7c1f, 0x00e0, 0x2ae3, 0x801b, 0x80e4, 0x8055, 0xc020, 0xc427, 0xc3f8, 0xe000, 0xe003,
                        0xe01f, 0xe00c):
            new = [[m.v[DATA][s] if mask >> s & 1 else 0] for s in mem_model.swizzle(pattern, m.wave)]
            m.add('ds_swizzle_b32', 'ds_swizzle_b32 v%d, v%d offset:0x%x' % (DST, DATA, pattern), m.set_result(mask, DST, new),
                  mask)
    # Global wave sync with one wave in it: the barrier does not wait.
    m.add('ds_gws_init', 'ds_gws_init v%d gds' % DATA, {}, v={DATA: [0] * m.wave}, m0=3 << 16)
    m.add('ds_gws_barrier', 'ds_gws_barrier v%d gds' % DATA, {}, v={DATA: [0] * m.wave}, m0=3 << 16)
    m.add('ds_gws_init', 'ds_gws_init v%d offset:1 gds' % DATA, {}, v={DATA: [1] * m.wave}, m0=4 << 16)
    m.add('ds_gws_barrier', 'ds_gws_barrier v%d gds' % DATA, {'state': None}, v={DATA: [1] * m.wave}, m0=5 << 16)
    if m.card != 'gfx90a':
        m.add('', 'ds_add_u32 v%d, v%d gds' % (ADDR, DATA), {'state': 'global data share'})


def across_lanes(m, mask, offset):
    span = 32 if m.gfx10 else m.wave
    picks = [m.rng.getrandbits(32) for _ in m.lanes]
    v = {ADDR: picks}
    m.v.update(v)
    source = [(l & ~(span - 1)) | (((picks[l] + offset) & M32) >> 2) % span for l in m.lanes]
    new = [[m.v[DATA][s] if mask >> s & 1 else 0] for s in source]
    mod = ' offset:%d' % offset if offset else ''
    m.add('ds_bpermute_b32', 'ds_bpermute_b32 v%d, v%d, v%d%s' % (DST, ADDR, DATA, mod), m.set_result(mask, DST, new), mask, v)
    pushed = [[0] for _ in m.lanes]
    for l in m.lanes:
        if mask >> l & 1:
            pushed[source[l]] = [m.v[DATA][l]]
    m.add('ds_permute_b32', 'ds_permute_b32 v%d, v%d, v%d%s' % (DST, ADDR, DATA, mod), m.set_result(mask, DST, pushed), mask, v)


# ---- Statistics ----

def statistics(program):
    """Counts of some accesses that one can do in one's head: (text, address of lane l, what is counted)."""
    failures = []
    with Ops('gfx1030', 32, program) as o:
        cases = [
            ('global_load_dword v40, v10, s[10:11]', lambda l: 4 * l, ('bytes', 128, 0, 'lines', 2)),
            ('global_load_dword v40, v10, s[10:11]', lambda l: 4 * l + 60, ('bytes', 128, 0, 'lines', 3)),
            ('global_load_dword v40, v10, s[10:11]', lambda l: 256 * l, ('bytes', 128, 0, 'lines', 32)),
            ('global_load_dword v40, v10, s[10:11]', lambda l: 8, ('bytes', 128, 0, 'lines', 1)),
            ('global_store_dwordx4 v10, v[20:23], s[10:11]', lambda l: 16 * l, ('bytes', 0, 512, 'lines', 8)),
            ('global_store_dwordx4 v10, v[20:23], s[10:11]', lambda l: 128 * (l ^ 7) + 56, ('bytes', 0, 512, 'lines', 64)),
            ('global_atomic_add v10, v20, s[10:11]', lambda l: 4 * (l % 2), ('bytes', 128, 128, 'lines', 1)),
            ('ds_read_b32 v40, v10', lambda l: 4 * l, ('lds', 1, 0)),
            ('ds_read_b32 v40, v10', lambda l: 0, ('lds', 1, 0)),
            ('ds_read_b32 v40, v10', lambda l: 8 * l, ('lds', 1, 1)),
            ('ds_read_b32 v40, v10', lambda l: 128 * l, ('lds', 1, 31)),
            ('ds_read_b32 v40, v10', lambda l: 132 * l, ('lds', 1, 0)),
            ('ds_read_u8 v40, v10', lambda l: l, ('lds', 1, 0)),
            ('ds_read_b64 v[40:41], v10', lambda l: 8 * l, ('lds', 1, 0)),
            ('ds_read_b64 v[40:41], v10', lambda l: 128 * l, ('lds', 1, 30)),
            ('ds_read_b128 v[40:43], v10', lambda l: 16 * l, ('lds', 1, 0)),
            ('ds_add_u32 v10, v20', lambda l: 0, ('lds', 1, 31)),
            ('s_load_dwordx4 s[20:23], s[10:11], 0x0', lambda l: 0, ('scalar', 16)),
        ]
        for text, _, _ in cases:
            o.asm(text)
        o.ready()
        for k, (text, address, want) in enumerate(cases):
            before = counts(o.run(k, ['stats'], v={10: [address(l) for l in range(32)]},
                                  s={10: MEMORY & M32, 11: MEMORY >> 32})[0])
            after = counts(o.run(k, ['stats'])[0])
            name, got = None, []
            for x in want:
                if isinstance(x, str):
                    name, at = x, 0
                else:
                    got.append(after[name, at] - before[name, at] == x)
                    at += 1
            if not all(got):
                failures.append('statistics of %s (case %d): %s, then %s; want %s' % (text, k, before, after, want))
    return failures


def lines_of(addresses, size):
    """Distinct 64-byte lines."""
    return len({line for x in addresses for line in range(x >> 6, (x + size - 1 >> 6) + 1)})


def conflicts_of(addresses, mask, size, together):
    """Passes beyond the first: of 32 banks, with as many lanes at once as fill them, each reaches one word at a time."""
    words = (size + 3) // 4
    at_once, conflicts = {1: 32, 2: 16}.get(words, 8), 0
    for first in range(0, len(addresses), at_once):
        banks = {}
        for l in range(first, first + at_once):
            for k in range(words if mask >> l & 1 else 0):
                word = (addresses[l] >> 2) + k
                banks.setdefault(word % 32, []).append(word)
        conflicts += max((len(set(b) if together else b) for b in banks.values()), default=1) - 1
    return conflicts


def random_addresses(rng, lanes, size):
    """Of some usual shapes and some unusual ones, below 16 KiB."""
    step, base, few = rng.choice((0, 1, 2, 4, 8, 12, 16, 20, 64, 68, 128, 132, 256)), 4 * rng.randrange(64), rng.randrange(1, 9)
    unit = rng.choice((1, 4, 4, size, size, 64, 128))
    return rng.choice((
        lambda: [base + step * l for l in range(lanes)],
        lambda: [base + step * (lanes - 1 - l) for l in range(lanes)],
        lambda: [base + size * (l % 16) for l in range(lanes)],
        lambda: [base + 256 * (l // 16) for l in range(lanes)],
        lambda: [unit * rng.randrange(16384 // unit) for _ in range(lanes)],
        lambda: [unit * rng.randrange(64) for _ in range(lanes)],
        lambda: rng.choices([unit * rng.randrange(16384 // unit) for _ in range(few)], k=lanes),
    ))()


def random_statistics(program):
    """Lines and bank conflicts of random accesses against their definition."""
    failures, rng = [], random.Random(SEED)
    texts = [('global_load_dword v40, v10, s[10:11]', 4), ('global_load_dwordx2 v[40:41], v10, s[10:11]', 8),
             ('global_store_dwordx4 v10, v[20:23], s[10:11]', 16), ('ds_read_b32 v40, v10', 4), ('ds_read_b64 v[40:41], v10', 8),
             ('ds_read_b96 v[40:42], v10', 12), ('ds_write_b128 v10, v[20:23]', 16), ('ds_write_b8 v10, v20', 1),
             ('ds_add_u32 v10, v20', 4), ('ds_add_u64 v10, v[20:21]', 8)]
    for wave in (32, 64):
        with Ops('gfx1030', wave, program) as o:
            for text, _ in texts:
                o.asm(text)
            o.ready()
            before = counts(o.run(0, ['stats'], exec=0)[0])
            for _ in range(1500):
                k = rng.randrange(len(texts))
                text, size = texts[k]
                address = random_addresses(rng, wave, size)
                if 'ds_add' in text:
                    address = [x // size * size for x in address]
                every = (1 << wave) - 1
                mask = rng.choice((every, every, rng.getrandbits(wave), rng.getrandbits(wave) & rng.getrandbits(wave),
                                   1 << rng.randrange(wave)))
                after = counts(o.run(k, ['stats'], v={10: address}, s={10: MEMORY & M32, 11: MEMORY >> 32}, exec=mask)[0])
                live = [x for l, x in enumerate(address) if mask >> l & 1]
                want = {'lines': 0, 'lds': 0}
                if text.startswith('ds'):
                    want['lds'] = conflicts_of(address, mask, size, 'add' not in text)
                else:
                    want['lines'] = lines_of(live, size)
                got = {'lines': after['lines', 0] - before['lines', 0], 'lds': after['lds', 1] - before['lds', 1]}
                before = after
                if got != want:
                    failures.append('wave%d %s, exec %x, %s: %s, want %s' % (wave, text, mask, address, got, want))
    return failures


def format_names(program):
    """The numbers of formats that the tests use against LLVM's names for them."""
    with Ops('gfx1030', 32, program) as o:
        theirs, ours = mem_format.names(o), mem_format.gfx10_formats()
    theirs[1] = theirs[1] or '8_UNORM'   # the default has no text
    return ['format %d is %s, LLVM says %s' % (k, ours[k], theirs[k]) for k in ours if ours[k] != theirs[k]]


def counts(words):
    out, name, at = {}, None, 0
    for word in words:
        if word.isalpha() and word not in ('a', 'b', 'c', 'd', 'e', 'f') and not all(c in '0123456789abcdef' for c in word):
            name, at = word, 0
        else:
            out[name, at] = int(word, 16)
            at += 1
    return out


def main():
    program = binary()
    table = {r.name: r for r in rows(program) if r.name.startswith(FAMILIES)}
    tested, failures, count = set(), [], 0
    print('seed %d' % SEED)
    for card, wave in CARDS:
        m = Machine(card, wave)
        m.rows = table
        m.start()
        for part in (vector_loads, vector_stores, vector_atomics, addtid, private_rows, flat_private, scalar_rows, lds_rows,
                     lds_pairs,
                     lds_atomics, lds_others, mem_format.buffer_rows, mem_image.image_rows, faults):
            part(m)
        failures += m.run(program)
        tested |= {c.name for c in m.cases}
        count += len(m.cases)
    failures += statistics(program)
    failures += random_statistics(program)
    failures += format_names(program)
    failures += ['no test of the row ' + name
                 for name in sorted(set(table) - tested - test_gfx11.OWN - test_gfx12.OWN - test_gfx942.OWN)]
    failures += ['test of a row that is not there: ' + name for name in sorted(tested - set(table) - {''})]
    for line in failures[:60]:
        print(line)
    print('%d executions of %d rows, %d failures' % (count, len(table), len(failures)))
    return 1 if failures or not count else 0


if __name__ == '__main__':
    sys.exit(main())
