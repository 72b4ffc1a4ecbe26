#!/usr/bin/env python3
"""Matrix instructions (MFMA) on the simulated gfx90a and gfx942 against sums in exact numbers.

    test_valu_matrix.py SIMGPU_OPS [SEED]

The values are small multiples of a power of two, so that every order of additions gives the same sum; one more case rounds, with
a depth of one. Where elements lie in registers is written here from AMD's description of the layouts, apart from
isa/valu_matrix.c.
"""
# SPDX-License-Identifier: Apache-2.0
import random
import re
import sys
from fractions import Fraction

import ref_float
from ops import Ops, rows
from ref_float import F16, F32, F64, encode, number

LANES, A, B, C, D = 64, 0, 8, 16, 48


class Shape:
    """v_mfma_RESULT_MxNxKTYPE, or from gfx940 on v_mfma_RESULT_MxNxK_[BLOCKSb_]TYPE: as many blocks as fill the wave."""

    def __init__(self, name):
        result, m, _, k, new, blocks, kind = re.fullmatch(
            r"v_mfma_(f32|i32|f64)_(\d+)x(\d+)x(\d+)(_(?:(\d+)b_)?)?(f32|f16|bf16|bf16_1k|i8|f64|xf32)",
                                                          name).groups()
        self.card = "gfx942" if new else "gfx90a"
        kind = "bf16_1k" if new and kind == "bf16" else kind
        self.name, self.result, self.m, self.k, self.kind = name, result, int(m), int(k), kind
        self.each = {"f32": 1, "f16": 4, "bf16": 2, "bf16_1k": 4, "i8": 8 if self.m * self.k == 512 and new else 4, "f64": 1,
                     "xf32": 2}[kind]
        self.blocks = LANES * self.each // (self.m * self.k)  # `each`: values of a lane
        if new and self.blocks != int(blocks or 1):
            raise ValueError(f"{name} has {self.blocks} blocks")
        self.source_regs = {"f32": 1, "f16": 2, "bf16": 1, "bf16_1k": 2, "i8": self.each // 4, "f64": 2, "xf32": 2}[kind]
        self.result_regs = self.m * self.m * self.blocks // LANES * (2 if result == "f64" else 1)

    def source_place(self, block, i, k):
        """(lane, value) of an element of A; of B likewise with its column."""
        if self.kind == "f64" and self.m == 4:  # k, block, i from high to low
            return 16 * k + 4 * block + i, 0
        group, value = divmod(k, self.each)
        return self.m * (group + block) + i, value  # one of the two is always 0

    def result_place(self, block, i, j):
        """(lane, value) of an element of C and D."""
        if self.kind == "f64" and self.m == 4:
            return 16 * i + 4 * block + j, 0
        if self.kind == "f64":  # rows go over the four groups of 16 lanes first
            return 16 * (i % 4) + j, i // 4
        if self.m == 4:
            return 4 * block + j, i
        if self.m == 16:
            return 16 * (i // 4) + j, 4 * block + i % 4
        return 32 * (i // 4 % 2) + j, 16 * block + 4 * (i // 8) + i % 4


def bits_of(kind, x):
    if kind == "i8":
        return x & 0xFF
    if kind.startswith("bf16"):
        return encode(F32, number(x)) >> 16
    return encode({"f32": F32, "xf32": F32, "f16": F16, "f64": F64}[kind], number(x))


def width_of(kind):
    return {"f32": 32, "f16": 16, "bf16": 16, "bf16_1k": 16, "i8": 8, "f64": 64, "xf32": 32}[kind]


class Case:
    def __init__(self, shape, rng, cbsz=0, abid=0, blgp=0):
        self.shape, self.cbsz, self.abid, self.blgp = shape, cbsz, abid, blgp
        unit = 1 if shape.result == "i32" else Fraction(1, 4)
        self.a, self.b = [[[[rng.randrange(-40, 41) * unit for _ in range(shape.k)] for _ in range(shape.m)]
                           for _ in range(shape.blocks)]
                          for _ in range(2)]
        self.c = [[[rng.randrange(-1000, 1001) * unit for _ in range(shape.m)] for _ in range(shape.m)]
                  for _ in range(shape.blocks)]
        if shape.result == "i32":
            for block in self.a:
                block[0][0] = -128

    def sources(self, matrix):
        """Registers of A or B."""
        s, width = self.shape, width_of(self.shape.kind)
        lanes = [0] * LANES
        for block in range(s.blocks):
            for i in range(s.m):
                for k in range(s.k):
                    lane, value = s.source_place(block, i, k)
                    lanes[lane] |= bits_of(s.kind, matrix[block][i][k]) << width * value
        return [[x >> 32 * n & 0xFFFFFFFF for x in lanes] for n in range(s.source_regs)]

    def results(self, matrix):
        """Registers of C or D."""
        s, wide = self.shape, 2 if self.shape.result == "f64" else 1
        regs = [[0] * LANES for _ in range(s.result_regs)]
        for block in range(s.blocks):
            for i in range(s.m):
                for j in range(s.m):
                    lane, value = s.result_place(block, i, j)
                    x = matrix[block][i][j]
                    bits = x & 0xFFFFFFFF if s.result == "i32" else bits_of(s.result, x)
                    for n in range(wide):
                        regs[value * wide + n][lane] = bits >> 32 * n & 0xFFFFFFFF
        return regs

    def product(self):
        s = self.shape
        b = self.b_after_blgp()
        d = []
        for block in range(s.blocks):
            span = 1 << self.cbsz
            from_block = block // span * span + self.abid if self.cbsz else block
            d.append([[sum(x * y for x, y in zip(self.a[from_block][i], b[block][j])) + self.c[block][i][j]
                       for j in range(s.m)] for i in range(s.m)])
        return d

    def b_after_blgp(self):
        """B as the instruction sees it when lanes of B are taken from others."""
        s, place = self.shape, {}
        if not self.blgp:
            return self.b
        for block in range(s.blocks):
            for j in range(s.m):
                for k in range(s.k):
                    place[s.source_place(block, j, k)] = self.b[block][j][k]

        def seen(lane):
            return {1: lane % 32, 2: 32 + lane % 32, 3: (lane + 16) % 64}.get(self.blgp, 16 * (self.blgp - 4) + lane % 16)
        out = [[[None] * s.k for _ in range(s.m)] for _ in range(s.blocks)]
        for block in range(s.blocks):
            for j in range(s.m):
                for k in range(s.k):
                    lane, value = s.source_place(block, j, k)
                    out[block][j][k] = place[seen(lane), value]
        return out


def span(kind, first, count):
    return f"{kind}{first}" if count == 1 else f"{kind}[{first}:{first + count - 1}]"


def run(o, shape, rng, failures):
    cases = [Case(shape, rng), Case(shape, rng)]
    if shape.kind != "f64":
        most = (shape.blocks.bit_length() - 1)
        cases += [Case(shape, rng, cbsz=n, abid=rng.randrange(1 << n)) for n in range(1, most + 1)]
        cases += [Case(shape, rng, blgp=n) for n in range(1, 8)]
    texts, settings = [], []
    for n, case in enumerate(cases):
        file = "a" if n % 2 else "v"
        tail = "".join(f" {name}:{x}" for name, x in (("cbsz", case.cbsz), ("abid", case.abid), ("blgp", case.blgp)) if x)
        texts.append(f"{shape.name} {span(file, D, shape.result_regs)}, {span('v', A, shape.source_regs)}, "
                     f"{span('v', B, shape.source_regs)}, "
                     f"{span(file, C, shape.result_regs)}{tail}")
        v = {A + r: x for r, x in enumerate(case.sources(case.a))} | {B + r: x for r, x in enumerate(case.sources(case.b))}
        settings.append((file, v, {C + r: x for r, x in enumerate(case.results(case.c))}))
    texts.append(f"{shape.name} {span('v', D, shape.result_regs)}, {span('v', A, shape.source_regs)}, "
                 f"{span('v', B, shape.source_regs)}, 0")
    case = Case(shape, rng)
    case.c = [[[0] * shape.m for _ in range(shape.m)] for _ in range(shape.blocks)]
    cases.append(case)
    settings.append(("v", {A + r: x for r, x in enumerate(case.sources(case.a))}
                     | {B + r: x for r, x in enumerate(case.sources(case.b))}, {}))
    for text in texts:
        o.asm(text)
    o.ready()
    for k, (file, v, c) in enumerate(settings):
        o.queue(k, read=[f"{file}{D + r}" for r in range(shape.result_regs)] + ["state"], v=v if file == "a" else v | c, a=c
                if file == "a" else {},
                exec=rng.getrandbits(64), mode=rng.getrandbits(10))  # neither matters
    for text, case, got in zip(texts, cases, o.flush()):
        right = case.results(case.product())
        if got[-1] != "running" or got[:-1] != right:
            wrong = [(r, l) for r in range(shape.result_regs) for l in range(LANES) if got[-1] == "running"
                     and got[r][l] != right[r][l]]
            failures.append(f"{text}: {got[-1]}, {len(wrong)} elements wrong, register and lane {wrong[:4]}")
    return len(texts)


def check_rounding(o, rng, failures):
    """Depth one: a * b + c rounded once, to nearest even, denormals kept."""
    shape = Shape("v_mfma_f32_4x4x1_16b_f32" if o.card == "gfx942" else "v_mfma_f32_4x4x1f32")
    k = o.asm(f"{shape.name} v[{D}:{D + 3}], v{A}, v{B}, v[{C}:{C + 3}]")
    o.ready()
    a, b = [[rng.choice([rng.getrandbits(30), 0x3F800001, 0x00800003, 5]) for _ in range(LANES)] for _ in range(2)]
    c = [[rng.choice([rng.getrandbits(30), 0xBF800000, 3]) for _ in range(LANES)] for _ in range(4)]
    got = o.run(k, read=[f"v{D + r}" for r in range(4)], v={A: a, B: b} | {C + r: x for r, x in enumerate(c)}, mode=0x30F, exec=1)
    fma = ref_float.REF["v_fma_f32"]
    for lane in range(LANES):
        for r in range(4):
            right = fma(ref_float.M(0x3F0), a[lane // 4 * 4 + r], b[lane], c[r][lane])
            if got[r][lane] != right:
                failures.append(f"{shape.name} lane {lane} register {r} is {got[r][lane]:x}, not {right:x}")


def check_flush(o, failures):
    """f16 and bf16 sources and their results lose denormals on gfx90a, not on gfx942; f32 keeps them (check_rounding)."""
    new, half = o.card == "gfx942", 0x33800000  # f16's least denormal is 2^-24
    for name, tiny, one, kept in (("v_mfma_f32_4x4x4_16b_f16" if new else "v_mfma_f32_4x4x4f16", 0x0001, 0x3C00, half),
                                  ("v_mfma_f32_4x4x4_16b_bf16" if new else "v_mfma_f32_4x4x2bf16", 0x0001, 0x3F80, 0x00010001)):
        regs = Shape(name).source_regs
        k = o.asm(f"{name} v[{D}:{D + 3}], {span('v', A, regs)}, {span('v', B, regs)}, v[{C}:{C + 3}]")
        o.ready()
        got = o.run(k, read=[f"v{D}"], v={A: tiny, A + 1: 0, B: one, B + 1: 0, C: 1, C + 1: 1, C + 2: 1, C + 3: 1}, mode=0x3F0)[0]
        if got != [kept if new else 0] * LANES:
            failures.append(f"{name} of denormals is {got[0]:x}, not {kept if new else 0:x}")


def check_xf32(o, failures):
    """The lower 13 bits of its sources do not count."""
    k = o.asm(f"v_mfma_f32_16x16x8_xf32 v[{D}:{D + 3}], v[{A}:{A + 1}], v[{B}:{B + 1}], 0")
    o.ready()
    got = o.run(k, read=[f"v{D}"], v={A: 0x3F801FFF, A + 1: 0, B: 0x3F803FFF, B + 1: 0})[0]  # 1 and 1 + 2^-10, four times
    if got != [0x40802000] * LANES:
        failures.append(f"xf32: {got[0]:x}, not 4 + 2^-8")


def main():
    tool = sys.argv[1]
    seed = sys.argv[2] if len(sys.argv) > 2 else "1"
    rng, failures, forms = random.Random(f"{seed} matrix"), [], 0
    names = [row.name for row in rows(tool) if row.name.startswith("v_mfma_")]
    for card in ("gfx90a", "gfx942"):
        with Ops(card, 64, tool) as o:
            for shape in map(Shape, names):
                forms += run(o, shape, rng, failures) if shape.card == card else 0
            if card == "gfx942":
                check_xf32(o, failures)
            check_rounding(o, rng, failures)
            check_flush(o, failures)
    print(f"{len(names)} matrix rows, {forms} forms, {len(failures)} failures (seed {seed})")
    for failure in failures[:30]:
        print(failure)
    return 1 if failures or len(names) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
