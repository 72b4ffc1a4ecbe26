#!/usr/bin/env python3
"""The matrix instructions of gfx11 and gfx12 (WMMA) against sums of whole numbers, placed in lanes and registers as the manuals'
tables say.

    test_wmma.py SIMGPU_OPS

Products and sums are small whole numbers, exact in every format and order; a second turn has the sums cancel past what an f16
holds, and what clamp cuts off."""
# SPDX-License-Identifier: Apache-2.0
import random
import struct
import sys

from ops import Ops, rows

LANES, SIDE = 32, 16
D, A, B, C = 40, 64, 80, 96      # first registers
FORMATS = {"f16": 16, "bf16": 16, "iu8": 8, "iu4": 4}


def bits_of(value, fmt):
    if fmt == "f32":
        return int.from_bytes(struct.pack("<f", value), "little")
    if fmt == "f16":
        return int.from_bytes(struct.pack("<e", value), "little")
    if fmt == "bf16":
        return int.from_bytes(struct.pack("<f", value), "little") >> 16
    return int(value) & (1 << {"iu8": 8, "iu4": 4, "i32": 32}[fmt]) - 1


class Instruction:
    """v_wmma_<result>_16x16x<depth>_<source>"""

    def __init__(self, name, card):
        _, _, self.result, size, self.source = name.split("_")
        self.name, self.old, self.depth, self.width = name, card == "gfx1100", int(size.split("x")[2]), FORMATS[self.source]
        self.each = self.depth if self.old else self.depth // 2
        self.source_regs = self.each * self.width // 32
        self.half = self.result in ("f16", "bf16")
        self.result_regs = 4 if self.half and not self.old else 8

    def source_places(self, at, k):
        """(lanes, register, shift) of element k of a row of A or column of B."""
        lanes = [at, at + SIDE] if self.old else [at + SIDE * (k // self.each)]
        return lanes, k % self.each * self.width // 32, k % self.each * self.width % 32

    def result_place(self, row, column, high):
        """Gfx11: two rows to a register, the odd one in the upper lanes.  Gfx12: rows 0 to 7 in the lower lanes."""
        if self.old:
            return column + SIDE * (row % 2), row // 2, 16 if high else 0
        index = row % 8
        return column + SIDE * (row // 8), index // 2 if self.half else index, 16 * (index % 2) if self.half else 0


def put(registers, places, bits):
    lanes, reg, shift = places
    for lane in lanes if isinstance(lanes, list) else [lanes]:
        registers[reg][lane] |= bits << shift


def numbers(rng, ins, signed):
    if ins.source in ("f16", "bf16"):
        return [[rng.randint(-8, 8) for _ in range(ins.depth)] for _ in range(SIDE)]
    top = 1 << ins.width
    return [[rng.randrange(-top // 2, top // 2) if signed else rng.randrange(top) for _ in range(ins.depth)] for _ in range(SIDE)]


def turn(o, k, ins, rng, failures, text, signs, high, clamp):
    a, b = numbers(rng, ins, signs[0]), numbers(rng, ins, signs[1])
    whole = ins.result == "i32"
    c = [[rng.choice([2**31 - 5, -2**31 + 5]) if clamp else rng.randint(-60, 60) for _ in range(SIDE)] for _ in range(SIDE)]
    source_a, source_b = ([[0] * LANES for _ in range(ins.source_regs)] for _ in range(2))
    addend = [[0] * LANES for _ in range(ins.result_regs)]
    for at in range(SIDE):
        for n in range(ins.depth):
            put(source_a, ins.source_places(at, n), bits_of(a[at][n], ins.source))
            put(source_b, ins.source_places(at, n), bits_of(b[at][n], ins.source))
        for column in range(SIDE):
            put(addend, ins.result_place(at, column, high), bits_of(c[at][column], ins.result))
    negated = signs if not whole else (0, 0)
    before = [[rng.getrandbits(32) for _ in range(LANES)] for _ in range(ins.result_regs)]
    want = [list(r) for r in before]
    for row in range(SIDE):
        for column in range(SIDE):
            total = c[row][column] + sum(x * y for x, y in zip(a[row], b[column])) * (-1) ** sum(negated)
            total = min(max(total, -2**31), 2**31 - 1) if clamp else total
            lane, reg, shift = ins.result_place(row, column, high)
            mask = 0xFFFF << shift if ins.half else 0xFFFFFFFF
            if ins.result == "bf16":    # 8 bits: rounded to even
                bits = bits_of(total, "f32")
                value = bits + 0x7FFF + (bits >> 16 & 1) >> 16
            else:
                value = bits_of(total, ins.result)
            want[reg][lane] = want[reg][lane] & ~mask | value << shift
    v = {A + n: r for n, r in enumerate(source_a)} | {B + n: r for n, r in enumerate(source_b)}
    v |= {C + n: r for n, r in enumerate(addend)} | {D + n: r for n, r in enumerate(before)}
    *have, state = o.run(k, [f"v{D + n}" for n in range(ins.result_regs)] + ["state"], v=v, exec=rng.getrandbits(32) | 1)
    if have != want or state != "running":
        failures.append(f"{text}: {state}, {sum(x != y for h, w in zip(have, want) for x, y in zip(h, w))} lanes differ")


def check(o, ins, rng, failures):
    span = lambda first, n: f"v[{first}:{first + n - 1}]" if n > 1 else f"v{first}"
    plain = f"{ins.name} {span(D, ins.result_regs)}, {span(A, ins.source_regs)}, "\
            f"{span(B, ins.source_regs)}, {span(C, ins.result_regs)}"
    forms = []
    for signs in ((0, 0), (1, 0), (0, 1), (1, 1)):
        text = plain
        if any(signs):
            text += f" neg_lo:[{signs[0]},{signs[1]},0]" + ("" if ins.result == "i32" else f" neg_hi:[{signs[0]},{signs[1]},0]")
        forms.append((text, signs, False, False))
        if ins.result == "i32":
            forms.append((text + " clamp", signs, False, True))
        if ins.half and ins.old:
            forms.append((plain + " op_sel:[0,0,1]" + text[len(plain):], signs, True, False))
    numbers_ = [o.asm(form[0]) for form in forms]
    o.ready()
    for k, (text, *how) in zip(numbers_, forms):
        for _ in range(3):
            turn(o, k, ins, rng, failures, text, *how)
    return len(forms)


def main():
    tool, rng, failures, count = sys.argv[1], random.Random("wmma"), [], 0
    table = [row for row in rows(tool) if row.name.startswith("v_wmma_")]
    for card in ("gfx1100", "gfx1201"):
        with Ops(card, 32, tool) as o:
            for row in table:
                count += check(o, Instruction(row.name, card), rng, failures) if row.on(card) else 0
    print(f"{len(table)} rows, {count} forms, {len(failures)} failures")
    for failure in failures[:30]:
        print(failure)
    return 1 if failures or len(table) < 7 else 0


if __name__ == "__main__":
    sys.exit(main())
