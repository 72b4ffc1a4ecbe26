#!/usr/bin/env python3
"""What gfx942 has of its own, or does otherwise than gfx90a, on a simulated gfx942: cache bits by other names, sums that keep
denormals, packed sums.

    test_gfx942.py SIMGPU_OPS

The rows that it shares with others have their references in the other tests; its matrix instructions are test_valu_matrix.py's.
"""
# SPDX-License-Identifier: Apache-2.0
import random
import struct
import sys

import mem_model
import ops

# Rows that no earlier card has: each is tested here.
OWN = {"buffer_inv", "flat_atomic_add_f32", "flat_atomic_pk_add_f16", "flat_atomic_pk_add_bf16", "global_atomic_pk_add_bf16",
       "ds_pk_add_f16",
       "ds_pk_add_rtn_f16", "ds_pk_add_bf16", "ds_pk_add_rtn_bf16"}
MASK = 2**32 - 1
AT, DATA = 0x40, 13


def bf16_sum(a, b):
    """Exact (the sum of two bf16 fits a double), then to nearest even; NaNs as mem_model has them in f32."""
    wide = mem_model.add_float(a << 16, b << 16, 4)
    if wide & 0x7FFFFFFF > 0x7F800000:
        return wide >> 16
    exact = struct.unpack("<f", struct.pack("<I", a << 16))[0] + struct.unpack("<f", struct.pack("<I", b << 16))[0]
    near = wide & 0xFFFF0000
    candidates = [x for x in (near - 0x10000, near, near + 0x10000) if 0 <= x <= MASK and x & 0x7F800000 != 0x7F800000]
    if wide & 0x7FFFFFFF == 0x7F800000 or not candidates:
        return wide >> 16
    best = min(candidates, key=lambda x: (abs(struct.unpack("<f", struct.pack("<I", x))[0] - exact), x >> 16 & 1,
                                          (x ^ wide) >> 31))
    return best >> 16


def pk_bf16(o, d):
    return bf16_sum(o & 0xFFFF, d & 0xFFFF) | bf16_sum(o >> 16, d >> 16) << 16


def f32_sum(o, d):
    return mem_model.add_float(o, d, 4)


def pk_f16(o, d):
    return mem_model.add_pk_f16(o, d, 0)


HALVES = [a << 16 | b for a in mem_model.HALVES[:7] for b in mem_model.HALVES[4:]]
BRAINS = [a << 16 | b for a in (0, 0x8000, 0x3F80, 0xBF81, 1, 0x0080, 0x7F80, 0x7FC1, 0x4049)
          for b in (0x3C80, 0x3F81, 0xFF80, 0x0003, 0x3B80)]
# Text with SPACE; edges; what comes of old value and data.
SUMS = [(name + "add_f32", mem_model.FLOATS32, f32_sum) for name in ("flat_atomic_", "global_atomic_")] + \
       [(name + "pk_add_f16", HALVES, pk_f16) for name in ("flat_atomic_", "global_atomic_", "ds_", "ds_rtn_")] + \
       [(name + "pk_add_bf16", BRAINS, pk_bf16) for name in ("flat_atomic_", "global_atomic_", "ds_", "ds_rtn_")]


def text_of(name):
    """Address in v[10:11] or v12, data in v13, the old value to v6 if the form returns."""
    if name.startswith("ds_rtn_"):
        return "ds_pk_add_rtn_" + name.rsplit("_", 1)[1] + " v6, v12, v13", True
    if name.startswith("ds_"):
        return name + " v12, v13", False
    return f"{name} v6, v[10:11], v13{', off' if name.startswith('global') else ''} sc0", True


# Of registers: the words of v[20:21], v[22:23]; text; v[6:7].
WIDE = [(0x0123456789ABCDEF, 0xFEDCBA9876543210)]
MOVES = [("v_mov_b64 v[6:7], v[20:21]", lambda a, c: a), ("v_mov_b64 v[6:7], 0.5", lambda a, c: 0x3FE << 52),
         ("v_mov_b64 v[6:7], -1", lambda a, c: 2**64 - 1),
         ("v_mov_b64 v[6:7], s[4:5]", lambda a, c: 5 << 32 | 4),
         ("v_lshl_add_u64 v[6:7], v[20:21], 0, v[22:23]", lambda a, c: a + c),
         ("v_lshl_add_u64 v[6:7], v[20:21], 3, v[22:23]", lambda a, c: 8 * a + c),
         ("v_lshl_add_u64 v[6:7], v[20:21], v24, s[4:5]", lambda a, c: 4 * a + (5 << 32 | 4))]
HINTS = ["buffer_inv sc0", "buffer_inv sc1", "buffer_inv sc0 sc1", "buffer_wbl2 sc1", "buffer_wbl2 sc0 sc1"]
LOADS = ["global_load_dword v6, v[10:11], off sc0 sc1", "global_load_dword v6, v[10:11], off sc1",
         "flat_load_dword v6, v[10:11] nt",
         "global_load_dword v6, v[10:11], off sc0"]


def main():
    failures, rng, count = [], random.Random(1), 0
    at = ops.MEMORY + AT
    with ops.Ops("gfx942", 64) as o:
        sums = [(name, *text_of(name), edges, function) for name, edges, function in SUMS]
        numbers = [o.asm(text) for _, text, *_ in sums]
        moves, hints, loads = ([o.asm(text) for text in list_] for list_ in ([m[0] for m in MOVES], HINTS, LOADS))
        xcc = o.asm("s_getreg_b32 s6, hwreg(HW_REG_XCC_ID)")
        o.ready()
        v = {10: at & MASK, 11: at >> 32, 12: AT, 20: 0x89ABCDEF, 21: 0x01234567, 22: 0x76543210, 23: 0xFEDCBA98, 24: 2}
        for k, (name, text, returns, edges, function) in zip(numbers, sums):
            room = "lds" if name.startswith("ds_") else "mem"
            for old, data in [(rng.choice(edges), rng.choice(edges)) for _ in range(60)]:
                state, have, v6 = o.run(k, ["state", (room, AT, 1), "v6"], exec=1, v=v | {DATA: data, 6: 0},
                                        **{room: {AT: [old]}}, mode=0)
                count += 1
                if state != "running" or have != [function(old, data)] or (returns and v6[0] != old):
                    failures.append(f"{text} of {old:#x}, {data:#x}: {state}, {have[0]:#x}, {v6[0]:#x}, "
                                    f"not {function(old, data):#x}")
        for k, (text, function) in zip(moves, MOVES):
            (low, high, state), want = o.run(k, ["v6", "v7", "state"], exec=2**64 - 1, v=v,
                                             s={4: 4, 5: 5}), function(*WIDE[0]) % 2**64
            count += 1
            if state != "running" or low[3] | high[3] << 32 != want:
                failures.append(f"{text}: {state}, {low[3] | high[3] << 32:#x}, not {want:#x}")
        for k, text in zip(loads + hints, LOADS + HINTS):
            state, v6 = o.run(k, ["state", "v6"], exec=1, v=v | {6: 0}, mem={AT: [0x5EED]})
            count += 1
            if state != "running" or (text in LOADS and v6[0] != 0x5EED):
                failures.append(f"{text}: {state}, {v6[0]:#x}")
        if o.run(xcc, ["s6", "state"], s={6: 9}) != [0, "running"]:
            failures.append("XCC_ID")
        tested = {text.split()[0] for _, text, *_ in sums} | {text.split()[0] for text in HINTS}
    failures += [f"no test of {name}" for name in sorted(OWN - tested)]
    print(f"{count + 1} checks, {len(failures)} failures")
    for failure in failures[:20]:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
