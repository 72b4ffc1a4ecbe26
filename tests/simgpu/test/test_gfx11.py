#!/usr/bin/env python3
"""What gfx11 calls otherwise, packs together or does in another order, on a simulated gfx1100.

    test_gfx11.py SIMGPU_OPS

The rows themselves have their references in the other tests; here it is the new names, the pairs of instructions (v_dual_*), and
what is gfx11's own.
"""
# SPDX-License-Identifier: Apache-2.0
import struct
import sys

import ops

# Rows that no earlier card has: each is tested here.
OWN = {"s_sendmsg_rtn_b64", "s_delay_alu", "v_maxmin_u32", "v_minmax_u32", "v_maxmin_i32", "v_minmax_i32", "v_maxmin_f32",
       "v_minmax_f32",
       "v_dot4_i32_iu8", "v_mov_b16", "v_not_b16", "v_and_b16", "v_or_b16", "v_xor_b16", "v_cndmask_b16", "v_cvt_i32_i16",
       "v_cvt_u32_u16",
       "s_pack_hl_b32_b16", "s_wait_event", "flat_atomic_add_f32"} | {f"ds_cmpstore{rtn}_{type_}" for rtn in ("", "_rtn")
                                                                      for type_ in ("b32", "f32", "b64", "f64")}
LANES = 32
MASK = 2**32 - 1
A = [(0x01234567 * (k + 3)) & MASK for k in range(LANES)]
B = [(0x89ABCDEF * (k + 5)) & MASK for k in range(LANES)]
C = [k * 3 + 1 for k in range(LANES)]


def bytes_of(word, is_signed):
    parts = [word >> 8 * k & 255 for k in range(4)]
    return [p - 256 if is_signed and p > 127 else p for p in parts]


def half(x):
    return int.from_bytes(struct.pack("<e", x), "little")


def fma16(x, y, c):
    """Of whole x and y; what f16 holds fits a double with a product of small numbers."""
    value = struct.unpack("<e", c.to_bytes(2, "little"))[0]
    if value != value:
        return c | 0x200
    return half(x * y + value)


def word(x):
    return x - (x >> 31 << 32)


def dot4(a, b, c, signs):
    return (sum(x * y for x, y in zip(bytes_of(a, signs[0]), bytes_of(b, signs[1]))) + c) & MASK


# Text; what it reads; its answer, from the lanes of v1 (A), v2 (B) and v3 (C) and s4 = 0xf0f01234, s5 = 0x0ff0ffff.
S4, S5 = 0xF0F01234, 0x0FF0FFFF
REGISTERS = [
    ("s_and_not1_b32 s6, s4, s5", "s6", S4 & ~S5 & MASK),
    ("s_or_not1_b32 s6, s4, s5", "s6", (S4 | ~S5) & MASK),
    ("s_ctz_i32_b32 s6, s4", "s6", 2),
    ("s_clz_i32_u32 s6, s5", "s6", 4),
    ("s_and_not1_saveexec_b32 s6, s4", "exec", S4 & ~MASK),
    ("v_ctz_i32_b32 v6, v3", "v6", [(c & -c).bit_length() - 1 for c in C]),
    ("v_dot4_i32_iu8 v6, v1, v2, v3", "v6", [dot4(a, b, c, (0, 0)) for a, b, c in zip(A, B, C)]),
    ("v_dot4_i32_iu8 v6, v1, v2, v3 neg_lo:[1,0,0]", "v6", [dot4(a, b, c, (1, 0)) for a, b, c in zip(A, B, C)]),
    ("v_dot4_i32_iu8 v6, v1, v2, v3 neg_lo:[1,1,0]", "v6", [dot4(a, b, c, (1, 1)) for a, b, c in zip(A, B, C)]),
    ("v_maxmin_u32 v6, v1, v2, v3", "v6", [min(max(a, b), c) for a, b, c in zip(A, B, C)]),
    ("v_minmax_u32 v6, v1, v3, v2", "v6", [max(min(a, c), b) for a, b, c in zip(A, B, C)]),
    ("v_maxmin_i32 v6, v1, v2, v3", "v6", [min(max(word(a), word(b)), c) & MASK for a, b, c in zip(A, B, C)]),
    ("v_minmax_i32 v6, v1, v3, v2", "v6", [max(min(word(a), c), word(b)) & MASK for a, b, c in zip(A, B, C)]),
    ("v_maxmin_f32 v6, 1.0, 2.0, 4.0", "v6", [0x40000000] * LANES),
    ("v_minmax_f32 v6, 1.0, 2.0, 4.0", "v6", [0x40800000] * LANES),
    # Halves of registers.
    ("v_add_f16 v1.l, 1.0, 2.0", "v1", [a & 0xFFFF0000 | 0x4200 for a in A]),
    ("v_add_f16 v1.h, 1.0, 2.0", "v1", [a & 0xFFFF | 0x42000000 for a in A]),
    ("v_cvt_f16_u16 v6.l, v3.l", "v6", [c & 0xFFFF0000 | half(c) for c in C]),
    ("v_mul_lo_u16 v6.l, v1.h, v2.l", "v6", [c & 0xFFFF0000 | (a >> 16) * (b & 0xFFFF) & 0xFFFF for a, b, c in zip(A, B, C)]),
    ("v_fmac_f16 v1.h, 1.0, 2.0", "v1", [a & 0xFFFF | fma16(1, 2, a >> 16) << 16 for a in A]),
    ("v_fmac_f16 v1.l, 1.0, 2.0", "v1", [a & 0xFFFF0000 | fma16(1, 2, a & 0xFFFF) for a in A]),
    ("v_mov_b16 v6.h, v1.l", "v6", [c & 0xFFFF | (a & 0xFFFF) << 16 for a, c in zip(A, C)]),
    ("v_mov_b16 v6.l, 0x3c00", "v6", [c & 0xFFFF0000 | 0x3C00 for c in C]),
    ("v_not_b16 v6.l, v1.h", "v6", [c & 0xFFFF0000 | ~a >> 16 & 0xFFFF for a, c in zip(A, C)]),
    ("v_and_b16 v6.l, v1.h, v2.l", "v6", [c & 0xFFFF0000 | a >> 16 & b & 0xFFFF for a, b, c in zip(A, B, C)]),
    ("v_or_b16 v6.h, v1.h, v2.l", "v6", [c & 0xFFFF | (a >> 16 | b & 0xFFFF) << 16 for a, b, c in zip(A, B, C)]),
    ("v_xor_b16 v6.l, v1.l, v2.h", "v6", [c & 0xFFFF0000 | (a ^ b >> 16) & 0xFFFF for a, b, c in zip(A, B, C)]),
    ("v_cndmask_b16 v6.h, v1.h, v2.l, vcc_lo", "v6",
     [c & 0xFFFF | (b & 0xFFFF if 0xAAAA5555 >> k & 1 else a >> 16) << 16 for k, (a, b, c) in enumerate(zip(A, B, C))]),
    ("v_cvt_i32_i16 v6, v1.h", "v6", [(a >> 16) - (a >> 31 << 16) & MASK for a in A]),
    ("v_cvt_u32_u16 v6, v1.l", "v6", [a & 0xFFFF for a in A]),
    ("s_pack_hl_b32_b16 s6, s4, s5", "s6", S4 >> 16 | (S5 & 0xFFFF) << 16),
    # Pairs: both halves read before either writes.
    ("v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v2, v1", "v1", B),
    ("v_dual_mov_b32 v1, v2 :: v_dual_mov_b32 v2, v1", "v2", A),
    ("v_dual_mov_b32 v6, v3 :: v_dual_add_nc_u32 v1, v1, v2", "v1", [(a + b) & MASK for a, b in zip(A, B)]),
    ("v_dual_mov_b32 v6, v3 :: v_dual_lshlrev_b32 v7, 4, v1", "v7", [a << 4 & MASK for a in A]),
    ("v_dual_mov_b32 v6, v3 :: v_dual_and_b32 v7, 0x12345678, v1", "v7", [a & 0x12345678 for a in A]),
    ("v_dual_mov_b32 v6, v3 :: v_dual_cndmask_b32 v7, v1, v2", "v7",
     [b if 0xAAAA5555 >> k & 1 else a for k, (a, b) in enumerate(zip(A, B))]),
]
# Text and what it leaves: memory or LDS of 8 words from 0x40 on, and v6 of lane 0.  Lane 0 alone runs, with v[10:11] at that
# place, v12 = 0x40, v13 = 7, v14 = 2, v[15:16] = 0x100000009, v[17:18] the first two words.
WORDS = [2, 9, 0xFFFFFFF0, 5, 0, 1, 0x12345678, 3]
MEMORY = [
    ("global_load_b32 v6, v[10:11], off offset:24", WORDS, 0x12345678),
    ("global_load_u16 v6, v[10:11], off offset:24", WORDS, 0x5678),
    ("global_load_i8 v6, v[10:11], off offset:8", WORDS, 0xFFFFFFF0),
    ("global_store_b64 v[10:11], v[15:16], off", [9, 1] + WORDS[2:], None),
    ("global_store_b8 v[10:11], v13, off offset:24", WORDS[:6] + [0x12345607] + WORDS[7:], None),
    ("global_atomic_add_u32 v6, v[10:11], v13, off glc", [9] + WORDS[1:], 2),
    ("global_atomic_max_i32 v[10:11], v13, off offset:8", WORDS[:2] + [7] + WORDS[3:], None),
    ("global_atomic_swap_b64 v[10:11], v[15:16], off", [9, 1] + WORDS[2:], None),
    ("global_atomic_cmpswap_b32 v6, v[10:11], v[13:14], off glc", [7] + WORDS[1:], 2),
    ("flat_load_b32 v6, v[10:11]", WORDS, 2),
    # Sums of denormals are kept: 2 and 7 of the least.
    ("flat_atomic_add_f32 v6, v[10:11], v13 glc", [9] + WORDS[1:], 2),
    ("global_atomic_add_f32 v[10:11], v13, off offset:24", WORDS, None),
]
LOCAL = [
    ("ds_load_b32 v6, v12 offset:4", WORDS, 9),
    ("ds_load_2addr_b32 v[6:7], v12 offset0:3 offset1:1", WORDS, 5),
    ("ds_store_b32 v12, v13", [7] + WORDS[1:], None),
    ("ds_store_2addr_b32 v12, v13, v14 offset0:1 offset1:2", [2, 7, 2] + WORDS[3:], None),
    ("ds_storexchg_rtn_b32 v6, v12, v13", [7] + WORDS[1:], 2),
    # The new value comes first, then what is compared with: the other way round from ds_cmpst.
    ("ds_cmpstore_rtn_b32 v6, v12, v13, v14", [7] + WORDS[1:], 2),
    ("ds_cmpstore_b32 v12, v14, v13", WORDS, None),
    ("ds_cmpstore_b32 v12, v13, v14", [7] + WORDS[1:], None),
    ("ds_cmpstore_f32 v12, v13, v14", [7] + WORDS[1:], None),
    ("ds_cmpstore_rtn_f32 v6, v12, v13, v14", [7] + WORDS[1:], 2),
    ("ds_cmpstore_b64 v12, v[15:16], v[17:18]", [9, 1] + WORDS[2:], None),
    ("ds_cmpstore_f64 v12, v[15:16], v[17:18]", [9, 1] + WORDS[2:], None),
    ("ds_cmpstore_rtn_b64 v[6:7], v12, v[15:16], v[17:18]", [9, 1] + WORDS[2:], 2),
    ("ds_cmpstore_rtn_f64 v[6:7], v12, v[15:16], v[17:18]", [9, 1] + WORDS[2:], 2),
]


def main():
    failures = []
    with ops.Ops("gfx1100", 32) as o:
        tests = [(text, "registers", what, want) for text, what, want in REGISTERS]
        tests += [(text, room, words, want) for room, list_ in (("mem", MEMORY), ("lds", LOCAL)) for text, words, want in list_]
        hints = ["s_wait_event 0x0", "s_delay_alu instid0(VALU_DEP_1)", "s_waitcnt_vscnt null, 0x0",
                 "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", "s_set_inst_prefetch_distance 0x1"]
        numbers = [o.asm(test[0]) for test in tests] + [o.asm(hint) for hint in hints]
        refused = o.asm("s_sendmsg_rtn_b32 s6, sendmsg(MSG_RTN_GET_DOORBELL)")
        time = o.asm("s_sendmsg_rtn_b64 s[6:7], sendmsg(MSG_RTN_GET_REALTIME)")
        o.ready()
        for (text, kind, what, want), k in zip(tests, numbers):
            if kind == "registers":
                state, have = o.run(k, ["state", what], s={4: S4, 5: S5}, v={1: A, 2: B, 3: C, 6: C}, exec=MASK, vcc=0xAAAA5555)
                ok = have == want
            else:
                at = ops.MEMORY + 0x40
                state, have, v6 = o.run(k, ["state", (kind, 0x40, 8), "v6"], exec=1, **{kind: {0x40: WORDS}},
                                        v={6: 0, 10: at & MASK, 11: at >> 32, 12: 0x40, 13: 7, 14: 2, 15: 9, 16: 1, 17: 2, 18: 9})
                ok = have == what and (want is None or v6[0] == want)
                have = (have, v6[0])
            if not ok or state != "running":
                failures.append(f"{text}: {state}, {have} instead of {what if kind != 'registers' else ''} {want}")
        for hint, k in zip(hints, numbers[len(tests):]):
            if o.run(k, ["state"]) != ["running"]:
                failures.append(f"{hint} is not passed over")
        if not o.run(refused, ["state"])[0].startswith("stopped illegal instruction"):
            failures.append("a message that is not simulated is passed over")
        first, second = (o.run(time, ["s6", "s7", "state"]) for _ in range(2))
        if first[2] != "stopped" and not (first[0] | first[1] << 32) < (second[0] | second[1] << 32):
            failures.append(f"time stands still: {first}, {second}")
    failures += [f"no test of {name}" for name in sorted(OWN - {text.split()[0]
                                                                for text in [*hints,
                                                                             *(t[0] for t in tests)]} - {"s_sendmsg_rtn_b64"})]
    print(f"{len(tests) + len(hints) + 2} checks, {len(failures)} failures")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
