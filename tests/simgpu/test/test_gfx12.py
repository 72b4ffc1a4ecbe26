#!/usr/bin/env python3
"""What gfx12 has of its own, on a simulated gfx1201.

    test_gfx12.py SIMGPU_OPS

The rows themselves have their references in the other tests; here it is scalar floating point, which must be what the vector
instructions give, scalar loads of bytes, the cache bits of memory instructions, waits, hardware registers, and the barrier in
two instructions.
"""
# SPDX-License-Identifier: Apache-2.0
import random
import struct
import sys

import ops

RELATIONS = ("lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt")
BINARY = ("add", "sub", "mul", "min_num", "max_num", "minimum", "maximum")
ROUNDING = ("ceil", "floor", "trunc", "rndne")
TRANS = ("exp", "log", "rcp", "rsq", "sqrt")
CONVERSIONS = ("s_cvt_f32_i32", "s_cvt_f32_u32", "s_cvt_i32_f32", "s_cvt_u32_f32", "s_cvt_f16_f32", "s_cvt_f32_f16")
FLOATS = {f"s_{name}_{t}" for name in BINARY + ROUNDING + ("fmac",) for t in ("f32", "f16")} | \
    {f"v_s_{name}_{t}" for name in TRANS for t in ("f32", "f16")} | {f"s_cmp_{r}_{t}" for r in RELATIONS
                                                                     for t in ("f32", "f16")} | \
    set(CONVERSIONS) | {"s_cvt_hi_f32_f16", "s_fmaak_f32", "s_fmamk_f32", "s_cvt_pk_rtz_f16_f32"}
HINTS = ["s_wait_kmcnt 0x0", "s_wait_samplecnt 0x0", "s_wait_bvhcnt 0x0", "s_wait_expcnt 0x0", "s_wait_loadcnt 0x1",
         "s_wait_storecnt 0x0",
         "s_wait_dscnt 0x0", "s_wait_loadcnt_dscnt 0x102", "s_wait_storecnt_dscnt 0x0", "s_wait_alu 0xfffe", "s_clause 0x1",
         "s_wait_idle",
         "global_inv scope:SCOPE_DEV", "global_wb scope:SCOPE_SYS", "global_wbinv scope:SCOPE_SYS",
         "s_prefetch_inst s[10:11], 0x10, s4, 3",
         "s_prefetch_inst_pc_rel 0x10, s4, 3", "s_prefetch_data s[10:11], 0x10, s4, 3", "s_prefetch_data_pc_rel 0x10, s4, 3",
         "s_buffer_prefetch_data s[12:15], 0x10, s4, 3"]
# Rows that no earlier card has, each tested here or by test_valu_float.py on gfx1201.
OWN = FLOATS | {text.split()[0] for text in HINTS} | {
    "s_add_nc_u64", "s_sub_nc_u64", "s_mul_u64", "s_sleep_var", "s_barrier_signal", "s_barrier_signal_isfirst",
    "s_barrier_wait"} | \
    {f"s_{kind}load_{t}" for kind in ("", "buffer_") for t in ("u8", "i8", "u16", "i16", "dwordx3")} | \
    {f"v_{name}_{t}" for t in ("f16", "f32") for name in ("min3_num", "max3_num", "med3_num", "minmax_num", "maxmin_num",
                                                          "minimum3", "maximum3",
                                                          "minimummaximum", "maximumminimum")} | \
    {f"v_{name}_{t}" for t in ("f16", "f32", "f64") for name in ("min_num", "max_num", "minimum", "maximum")} | \
    {f"v_pk_{name}_f16" for name in ("min_num", "max_num", "minimum", "maximum")}
MASK = 2**32 - 1
LANES = 32
EDGES32 = [0, 1 << 31, 1, 0x807FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x40490FDB, 0x4B000001, 0xCF000000, 0x4F800000,
           0x7F7FFFFF, 0x7F800000,
           0xFF800000, 0x7FC12345, 0xFF812345]
EDGES16 = [0, 0x8000, 1, 0x83FF, 0x0400, 0x3C00, 0xBC00, 0x4248, 0x6801, 0x7BFF, 0x7C00, 0xFC00, 0x7E12, 0xFD12]
MODES = (0xF0, 0x1F0, 0xFF & 0x05, 0xFA, 0x30)   # rounding and denormals


def f32(x):
    return int.from_bytes(struct.pack("<f", x), "little")


# Text, what it reads, the answer: s4, s5 and s[20:23] are given below.
S = {4: f32(2.5), 5: f32(-0.75), 8: 0x12345678, 9: 0xFFFFFFFF, 20: 0xFFFFFFFF, 21: 1, 22: 3, 23: 0}
SCALARS = [
    ("s_add_f32 s6, s4, s5", "s6", f32(1.75)), ("s_sub_f32 s6, s4, s5", "s6", f32(3.25)),
    ("s_mul_f32 s6, s4, s5", "s6", f32(-1.875)),
    ("s_fmac_f32 s4, s4, s5", "s4", f32(0.625)), ("s_fmaak_f32 s6, s4, s5, 0x3f800000", "s6", f32(-0.875)),
    ("s_fmamk_f32 s6, s4, 0x40000000, s5", "s6", f32(4.25)), ("s_min_num_f32 s6, s4, s5", "s6", f32(-0.75)),
    ("s_rndne_f32 s6, s4", "s6", f32(2)), ("s_floor_f32 s6, s5", "s6", f32(-1)), ("s_cvt_i32_f32 s6, s4", "s6", 2),
    ("s_cvt_f32_i32 s6, s9", "s6", f32(-1)), ("s_cvt_f32_u32 s6, s9", "s6", f32(2.0**32)), ("s_cvt_f16_f32 s6, s4", "s6", 0x4100),
    ("s_cvt_pk_rtz_f16_f32 s6, s4, s5", "s6", 0xBA004100), ("s_cvt_f32_f16 s6, 1.0", "s6", f32(1)),
    ("s_cvt_hi_f32_f16 s6, s8", "s6", f32(struct.unpack("<e", (0x1234).to_bytes(2, "little"))[0])),
    ("s_add_f16 s6, 1.0, 1.0", "s6", 0x4000), ("v_s_rcp_f32 s6, 4.0", "s6", f32(0.25)),
    ("v_s_sqrt_f32 s6, |s5| clamp", "s6", None),
    ("v_s_exp_f32 s6, -s4", "s6", None), ("s_cmp_lt_f32 s5, s4", "scc", 1), ("s_cmp_gt_f32 s5, s4", "scc", 0),
    ("s_cmp_u_f32 s9, s4", "scc", 1),
    ("s_cmp_neq_f32 s4, s4", "scc", 0),
    ("s_add_nc_u64 s[6:7], s[20:21], s[22:23]", "s7", 2), ("s_sub_nc_u64 s[6:7], s[22:23], s[20:21]", "s7", 2**32 - 2),
    ("s_mul_u64 s[6:7], s[20:21], s[22:23]", "s7", 5), ("s_add_co_u32 s6, s9, s9", "s6", 2**32 - 2),
    ("s_add_co_ci_u32 s6, s9, 2", "s6", 2),
    ("s_addk_co_i32 s8, 0x100", "s8", 0x12345778),
]
WORDS = [2, 9, 0xFFFFFFF0, 5, 0, 1, 0x12345678, 3]
# As in test_gfx11.py: memory of 8 words, v6 of lane 0, or with "s6" what was loaded.
MEMORY = [
    ("s_load_u8 s6, s[10:11], 0x8", "s6", 0xF0), ("s_load_i8 s6, s[10:11], 0x8", "s6", 0xFFFFFFF0),
    ("s_load_u16 s6, s[10:11], 0x1a", "s6", 0x1234),
    ("s_load_i16 s6, s[10:11], 0x8", "s6", 0xFFFFFFF0), ("s_load_b96 s[4:6], s[10:11], 0x4", "s6", 5),
    ("s_buffer_load_u8 s6, s[12:15], 0x19", "s6", 0x56), ("s_buffer_load_i8 s6, s[12:15], 0x9", "s6", MASK),
    ("s_buffer_load_u16 s6, s[12:15], 0x18", "s6", 0x5678), ("s_buffer_load_i16 s6, s[12:15], 0x40", "s6", 0),
    ("s_buffer_load_b96 s[4:6], s[12:15], 0x0", "s6", 0xFFFFFFF0),
    ("global_load_b32 v6, v[10:11], off offset:24 th:TH_LOAD_NT scope:SCOPE_DEV", "v6", 0x12345678),
    ("flat_load_u16 v6, v[10:11] offset:24 scope:SCOPE_SYS", "v6", 0x5678),
    ("global_store_b8 v[10:11], v13, off offset:24 th:TH_STORE_HT scope:SCOPE_SYS", None, WORDS[:6] + [0x12345607] + WORDS[7:]),
    ("global_atomic_add_u32 v6, v[10:11], v13, off th:TH_ATOMIC_RETURN scope:SCOPE_DEV", "v6", 2),
    ("global_atomic_add_u32 v6, v[10:11], v13, off th:TH_ATOMIC_NT_RETURN", "v6", 2),
    ("global_atomic_add_u32 v[10:11], v13, off scope:SCOPE_DEV", None, [9] + WORDS[1:]),
    ("flat_atomic_add_f32 v[10:11], v13 scope:SCOPE_DEV", None, [9] + WORDS[1:]),
    ("buffer_load_b32 v6, off, s[12:15], null offset:24 th:TH_LOAD_HT", "v6", 0x12345678),
]


def float_texts(rng):
    """(scalar text, vector text, type of the operands, what the scalar one gives)."""
    for t in ("f32", "f16"):
        for name in BINARY + ("fmac",):
            yield f"s_{name}_{t} s6, s4, s5", f"v_{name}_{t} v6, v4, v5", t, "s6"
        for name in ROUNDING:
            yield f"s_{name}_{t} s6, s4", f"v_{name}_{t} v6, v4", t, "s6"
        for name in TRANS:
            yield f"v_s_{name}_{t} s6, s4", f"v_{name}_{t} v6, v4", t, "s6"
        for name in RELATIONS:
            yield f"s_cmp_{name}_{t} s4, s5", f"v_cmp_{name}_{t} vcc_lo, v4, v5", t, "scc"
    for name in CONVERSIONS:
        yield f"{name} s6, s4", f"v_{name[2:]} v6, v4", "f16" if name.endswith("_f16") else "f32", "s6"


def floats(o, failures, rng):
    texts = list(float_texts(rng))
    numbers = [(o.asm(s), o.asm(v)) for s, v, _, _ in texts]
    o.ready()
    count = 0
    for (text, vector, t, what), (k, j) in zip(texts, numbers):
        edges, bits = (EDGES32, 32) if t == "f32" else (EDGES16, 16)
        for turn in range(40):
            a, b, old = (rng.choice(edges) if rng.random() < 0.6 else rng.getrandbits(bits) for _ in range(3))
            mode = rng.choice(MODES)
            given = dict(s={4: a, 5: b, 6: old}, v={4: a, 5: b, 6: old if "fmac" in text else 0}, mode=mode, vcc=0)
            have, state, vcc, exec_, v6 = o.run(k, [what, "state", "vcc", "exec", "v6"], exec=0xFF00FF00, **given)
            want = o.run(j, ["vcc" if what == "scc" else "v6"], exec=1, **given)[0]
            want = want & 1 if what == "scc" else want[0] & 0xFFFF if t == "f16" and "_f32_f16" not in text else want[0]
            kept = vcc == 0 and exec_ == 0xFF00FF00 and v6[0] == given["v"][6]
            count += 1
            if have != want or state != "running" or not kept:
                failures.append(f"{text} of {a:#x}, {b:#x}, {old:#x}, mode {mode:#x}: {state} {have:#x} instead of {want:#x}, "
                                f"or others changed")
                break
    return count


def fixed(o, failures):
    at = ops.MEMORY + 0x40
    scalars, memory, hints = ([o.asm(text) for text in texts]
                              for texts in ([t[0] for t in SCALARS], [t[0] for t in MEMORY], HINTS))
    o.ready()
    for (text, what, want), k in zip(SCALARS, scalars):
        have, state = o.run(k, [what, "state"], s=S, scc=1, exec=MASK, mode=0xF0)
        if state != "running" or (want is not None and have != want):
            failures.append(f"{text}: {state} {have:#x} instead of {want}")
    for (text, what, want), k in zip(MEMORY, memory):
        reads = ["state", ("mem", 0x40, 8), what or "s6"]
        state, words, have = o.run(k, reads, exec=1, mem={0x40: WORDS}, v={6: 0, 10: at & MASK, 11: at >> 32, 13: 7},
                                   s={10: at & MASK, 11: at >> 32, 12: at & MASK, 13: at >> 32, 14: 32, 15: 0x31014000})
        have = words if what is None else have[0] if what[0] == "v" else have
        if state != "running" or have != want:
            failures.append(f"{text}: {state} {have} instead of {want}")
    for text, k in zip(HINTS, hints):
        if o.run(k, ["state"], s={10: at & MASK, 11: at >> 32}) != ["running"]:
            failures.append(f"{text} is not passed over")
    return len(SCALARS) + len(MEMORY) + len(HINTS)


def lanes_moved(o, failures):
    """DPP beside a scalar register, which earlier cards do not have."""
    swapped = o.asm("v_add_nc_u32_e64_dpp v6, v1, s8 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf")
    reversed_ = o.asm("v_sub_nc_u32_e64_dpp v6, v1, s8 dpp8:[7,6,5,4,3,2,1,0]")
    o.ready()
    v1 = [1000 + 3 * k for k in range(LANES)]
    for what, k, want in (("quad_perm", swapped, [v1[n ^ 1] + 5 for n in range(LANES)]),
                          ("dpp8", reversed_, [v1[n ^ 7] - 5 for n in range(LANES)])):
        if o.run(k, ["v6", "state"], v={1: v1, 6: 0}, s={8: 5}, exec=MASK) != [want, "running"]:
            failures.append(f"{what} beside a scalar register")
    return 2


def barrier(o, failures):
    """One wave, so the barrier is reached by all as soon as it has signalled; the rest is in test_run.py."""
    wait, signal, first, other, sleep = (o.asm(text) for text in ("s_barrier_wait -1", "s_barrier_signal -1",
                                                                  "s_barrier_signal_isfirst -1",
                                                                  "s_barrier_signal 1", "s_sleep_var s3"))
    low, high = o.asm("s_getreg_b32 s6, hwreg(HW_REG_SHADER_CYCLES_LO)"), o.asm("s_getreg_b32 s6, hwreg(HW_REG_SHADER_CYCLES_HI)")
    o.ready()
    checks = [("a wait without a signal", wait, ["state"], "stopped illegal instruction (the wave waits"),
              ("another barrier", other, ["state"], "stopped illegal instruction (of barriers"),
              ("a sleep", sleep, ["state"], "asleep"),
              ("a signal", signal, ["state"], "running"), ("a second signal", signal, ["state"],
                                                           "stopped illegal instruction (the wave has signalled"),
              ("a wait", wait, ["state"], "barrier")]
    for what, k, reads, want in checks:
        have = o.run(k, reads)[0]
        if not have.startswith(want):
            failures.append(f"{what}: {have} instead of {want}")
    begin, middle, end = o.run(low, ["s6"])[0], o.run(high, ["s6"])[0], o.run(low, ["s6"])[0]
    if middle or end != begin + 2:
        failures.append(f"cycles: {begin}, {middle}, {end}")
    with ops.Ops("gfx1201", 32) as fresh:
        fresh.asm("s_barrier_signal_isfirst -1")
        fresh.ready()
        if fresh.run(0, ["scc", "state"], scc=0) != [1, "running"]:
            failures.append("the first signal is not the first")
    return len(checks) + 2 + (first >= 0)


def main():
    failures, rng = [], random.Random("gfx12")
    with ops.Ops("gfx1201", 32) as o:
        count = floats(o, failures, rng) + fixed(o, failures) + lanes_moved(o, failures) + barrier(o, failures)
    tested = {t.split()[0] for t in HINTS} | {t[0].split()[0] for t in SCALARS + MEMORY} | {t[0].split()[0]
                                                                                            for t in float_texts(rng)}
    renamed = {"s_load_dwordx3": "s_load_b96", "s_buffer_load_dwordx3": "s_buffer_load_b96"}
    elsewhere = ("s_barrier_", "s_sleep_var", "v_m", "v_pk_")
    failures += [f"no test of {name}" for name in sorted(OWN) if renamed.get(name, name) not in tested
                 and not name.startswith(elsewhere)]
    print(f"{count} checks, {len(failures)} failures")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
