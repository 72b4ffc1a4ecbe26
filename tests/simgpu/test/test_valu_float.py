#!/usr/bin/env python3
"""Float vector instructions on the simulated cards against the exact references in ref_float.py.

    test_valu_float.py SIMGPU_OPS CARD WAVE [SEED]

Every float row that the card has is run with registers, scalars, constants, neg and abs, omod, clamp, op_sel, SDWA and DPP, as
far as LLVM's assembler takes them; over edge values and random ones, all rounding and denormal modes, ieee and dx10_clamp, and
exec masks. Then whole divisions as compilers write them, against the exact quotient.  A failure prints the instruction, the mode
and the seed.
"""
# SPDX-License-Identifier: Apache-2.0
import collections
import random
import sys
from fractions import Fraction

import ref_cmp
import ref_float
import ref_int
import valu_model
from ops import Ops, rows
from ref_float import F16, F32, F64, M, REF, decode, encode
from valu_model import DWORDS, SELS, UNUSED, Case, Source, State, assembles, dpp_text, exec_masks, expect

VDST, VSRC, SSRC, MASK_DST, VCC = 10, (20, 24, 28), (20, 24, 28), 40, 106
DEFAULT_MODE = 0x3F0
FORMAT = {"f": F32, "d": F64, "h": F16}

# Their last source is the result register.
ACCUMULATE = {"v_fmac_f32", "v_mac_f32", "v_fmac_legacy_f32", "v_fmac_f64", "v_fmac_f16", "v_mac_f16", "v_pk_fmac_f16",
              "v_dot2c_f32_f16",
              "v_cvt_pkaccum_u8_f32"}
# 16-bit results of gfx9: these keep the high half of the register, the others clear it.
KEEP_HIGH_GFX9 = {"v_fma_f16", "v_mad_f16", "v_div_fixup_f16", "v_min3_f16", "v_max3_f16", "v_med3_f16", "v_fma_mixlo_f16",
                  "v_mad_mixlo_f16",
                  "v_fma_mixhi_f16", "v_mad_mixhi_f16"}
SLOW = {"v_sin_f32", "v_cos_f32", "v_sin_f16", "v_cos_f16", "v_exp_f32", "v_log_f32", "v_exp_f16", "v_log_f16",
        "v_trig_preop_f64"}

# ---- Values ----


def edges(fmt):
    one = fmt.bias << fmt.mantissa
    least = 1 << fmt.mantissa
    positive = [0, 1, 2, least - 1, least, least + 1, one - 1, one, one + 1, one + (least >> 1), 2 * least, fmt.inf - 1, fmt.inf,
                fmt.inf + 1,
                fmt.inf | fmt.quiet, fmt.inf | fmt.quiet | 0x12, fmt.inf | (fmt.quiet >> 1) | 5, one - least, one - least - 1,
                least | fmt.quiet, (fmt.top - 1) << fmt.mantissa]
    return positive + [x | fmt.sign for x in positive]


EDGES = {fmt: edges(fmt) for fmt in (F16, F32, F64)}
INTEGERS = [0, 1, 2, 3, 7, 8, 0x7F, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0xFFFFFF, 0x1000001, 0x7FFFFFFF, 0x7FFFFFBF, 0x80000000,
            0xFFFFFFFF, 0xFFFFFF7F,
            0xFFFFFFFE, 0x80000001, 0xFFFFFFE0, 0x10, 0x40]


def float_value(rng, fmt):
    how = rng.random()
    if how < 0.3:
        return rng.choice(EDGES[fmt])
    mantissa, sign = rng.getrandbits(fmt.mantissa), rng.getrandbits(1) * fmt.sign
    if rng.random() < 0.3:
        mantissa &= ~((1 << fmt.mantissa - 4) - 1)
    if how < 0.4:
        return rng.getrandbits(fmt.width)
    if how < 0.5:
        return sign | rng.randrange(3) << fmt.mantissa | mantissa
    if how < 0.6:
        return sign | rng.randrange(fmt.top - 3, fmt.top) << fmt.mantissa | mantissa
    if how < 0.68:  # halves and numbers near the limits of integers
        n = rng.choice([0.5, 1.5, 2.5, -0.5, 255.5, 32767.5, 65535, 2**31 - 1, 2**31, 2**32 - 256, 2**32, -2**31, -2**31 - 1,
                        0.25, 100.75,
                        -256, 256.5, rng.randrange(-600, 600) / 4])
        return encode(fmt, ref_float.number(Fraction(n)))
    spread = min(fmt.bias - 2, rng.choice([2, 12, 40]))
    return sign | rng.randrange(fmt.bias - spread, fmt.bias + spread) << fmt.mantissa | mantissa


def value(rng, letter):
    if letter in FORMAT:
        x = float_value(rng, FORMAT[letter])
        return x | rng.getrandbits(16) << 16 if letter == "h" else x  # what lies above f16 must not matter
    if letter == "P":
        return float_value(rng, F16) | float_value(rng, F16) << 16
    if letter == "F":
        return float_value(rng, F32) | float_value(rng, F32) << 32
    if letter == "w":
        return rng.choice([rng.getrandbits(32), rng.randrange(48), 0x10000 - rng.randrange(48)])
    return rng.choice([rng.choice(INTEGERS), rng.getrandbits(32), rng.randrange(300), -rng.randrange(300) % 2**32])


def related(rng, case, values):
    """Sometimes makes the last of several float sources nearly cancel, or brings quotients and products near the ends of the
    range."""
    letters = [s.letter for s in case.sources][:len(values)]
    fmt = FORMAT.get(letters[0]) if letters else None
    if not fmt or len(values) < 2 or letters[:2] != [letters[0]] * 2:
        return values
    values = list(values)
    a, b = [x & (1 << fmt.width) - 1 for x in values[:2]]
    how = rng.random()
    if how < 0.15:
        values[1] = a
    elif how < 0.3 and len(values) > 2 and letters[2] == letters[0] and (
            ref_float.decode(fmt, a).kind == ref_float.decode(fmt, b).kind == "number"):
        product = ref_float.mul(decode(fmt, a), decode(fmt, b))
        values[2] = encode(fmt, ref_float.minus(product)) + rng.choice([0, 0, 1]) & (1 << fmt.width) - 1
    elif how < 0.45:
        field = (a >> fmt.mantissa & fmt.top) - rng.choice([fmt.bias, fmt.bias - 1, fmt.bias + 1, 0, 30])
        values[1] = b & ~fmt.inf | max(0, min(fmt.top - 1, fmt.bias - field)) << fmt.mantissa
    if case.name.startswith("v_div_scale") and rng.random() < 0.8:
        values[0] = values[rng.choice([1, 2])]
    return values


# ---- Forms ----


def register(kind, reg, dwords):
    return f"{kind}{reg}" if dwords == 1 else f"{kind}[{reg}:{reg + dwords - 1}]"


CONSTANTS = {"f": [("0.5", 0x3F000000), ("-4.0", 0xC0800000), ("0x3fc00001", 0x3FC00001), ("3", 3), ("0.15915494", 0x3E22F983)],
             "h": [("1.0", 0x3C00), ("-0.5", 0xB800), ("0x3e01", 0x3E01), ("-1", 0xFFFF)],
             "d": [("2.0", 0x4000000000000000), ("-1.0", 0xBFF0000000000000), ("0", 0),
                   ("0.15915494309189532", 0x3FC45F306DC9C882)],
             "P": [("1.0", 0x3C00), ("-4.0", 0xC400)], "b": [("-7", 0xFFFFFFF9), ("64", 64), ("0x12345678", 0x12345678)],
             "w": [("5", 5), ("-3", 0xFFFD)], "F": [], "m": []}


class Forms:
    """The cases of one row; those that the assembler does not take are dropped later."""

    def __init__(self, row, card, lanes, rng):
        self.name, self.results, self.letters = row.name, row.results, row.sources
        self.card, self.lanes, self.rng, self.cases = card, lanes, rng, []

    def add(self, tag, kinds, suffix="", edit=None, tail="", literal=None, mask=MASK_DST, **case):
        sources = []
        for place, (letter, kind) in enumerate(zip(self.letters, kinds)):
            if kind == "imm":
                if not CONSTANTS[letter]:
                    return
                text, bits = literal or self.rng.choice(CONSTANTS[letter])
                sources.append(Source(letter, "imm", bits=bits, text=text))
            else:
                reg = {"v": VSRC, "s": SSRC}[kind][place]
                sources.append(Source(letter, kind, reg, text=register(kind, reg, DWORDS.get(letter, 1))))
        if edit:
            edit(sources)
        names = []
        results = [(letter, "s" if letter == "m" else "v", mask if letter == "m" else VDST) for letter in self.results]
        for letter, kind, reg in results:
            dwords = self.lanes // 32 if letter == "m" else DWORDS.get(letter, 1)
            names.append(("vcc" if self.lanes == 64 else "vcc_lo") if reg == VCC else register(kind, reg, dwords))
        omod = case.pop("omod", 0)
        made = Case(self.name, row_sig(self), suffix, results, sources, tail=tail, **case).write(names)
        made.omod, made.tag, made.visible = omod, tag, len(sources)
        if self.name in ACCUMULATE:
            sources.append(Source(self.results[0], "v", VDST))
        if "div_fmas" in self.name:
            sources.append(Source("m", "s", VCC))
        self.cases.append(made)

    def all(self):
        n = len(self.letters)
        regs = ["v"] * n
        for _ in range(3):
            self.add("registers", regs)
        if "m" in self.results:
            self.add("vcc", regs, mask=VCC)
        for place in range(n):
            for kind in ("s", "imm"):
                mixed_kinds = list(regs)
                mixed_kinds[place] = kind
                self.add(kind, mixed_kinds)
        if self.name in ("v_fmaak_f32", "v_fmamk_f32", "v_madak_f32", "v_madmk_f32", "v_fmaak_f16", "v_fmamk_f16", "v_madak_f16",
                         "v_madmk_f16"):
            kinds = ["v", "v", "imm"] if "ak_" in self.name else ["v", "imm", "v"]
            for literal in ("0x3fc00001", "0xff812345") if "f32" in self.name else ("0x3e01", "0xfc12"):
                self.add("literal", kinds, literal=(literal, int(literal, 16)))
            return self.cases
        for tail, omod, clamp in ((" clamp", 0, True), (" mul:2", 1, False), (" mul:4", 2, False), (" div:2", 3, False),
                                  (" clamp mul:4", 2, True)):
            self.add("clamp" if not omod else "omod", regs, suffix="_e64", clamp=clamp, omod=omod, tail=tail)
            self.add("clamp" if not omod else "omod", regs, clamp=clamp, omod=omod, tail=tail)
        self.signs(regs)
        self.op_sel(regs)
        if "_mix" in self.name:
            for _ in range(8):
                self.mixed(regs)
        for _ in range(2):
            self.sdwa(regs)
            self.dpp(regs)
        return self.cases

    def signs(self, regs):
        if self.letters[0] in "PF":  # neg_lo and neg_hi are theirs: op_sel below
            return
        for place in range(len(self.letters)):
            def edit(sources, p=place):
                no_abs = "div_scale" in self.name  # its encoding has no room; LLVM's assembler drops it without a word
                sources[p].neg, sources[p].abs = self.rng.choice([(True, False)] if no_abs
                                                                 else [(True, False), (False, True), (True, True)])
            self.add("signs", regs, suffix="_e64", edit=edit)
            self.add("signs", regs, edit=edit)

    def op_sel(self, regs):
        n, rng = len(self.letters), self.rng
        for _ in range(3):
            low, high, neg_lo, neg_hi = [[rng.randrange(2) for _ in range(n)] for _ in range(4)]
            wide = self.letters[:1] in "PF"

            def edit(sources):
                for k, s in enumerate(sources):
                    if s.letter in "PFhw":
                        s.op_sel, s.op_sel_hi = low[k], high[k]
                    s.neg_lo, s.neg_hi = (neg_lo[k], neg_hi[k]) if wide and s.letter in "PF" else (0, 0)
            if wide:
                for k, letter in enumerate(self.letters):
                    if letter not in "PF":
                        low[k] = high[k] = neg_lo[k] = neg_hi[k] = 0
                self.add("op_sel", regs, edit=edit,
                         tail=f" op_sel:{low} op_sel_hi:{high} neg_lo:{neg_lo} neg_hi:{neg_hi}".replace(", ", ","))
            elif set(self.letters + self.results) <= set("hw"):
                top = rng.randrange(2)
                self.add("op_sel", regs, edit=edit, op_sel_dst=top, tail=f" op_sel:{low + [top]}".replace(", ", ","))

    def mixed(self, regs):
        rng = self.rng
        low, high = [rng.randrange(2) for _ in regs], [rng.randrange(2) for _ in regs]
        kinds = ["s" if k == rng.randrange(6) else "v" for k in range(3)]

        def edit(sources):
            for k, s in enumerate(sources):
                s.letter = "h" if high[k] else "f"
                s.op_sel = low[k] if high[k] else 0
                s.neg, s.abs = rng.random() < 0.3, rng.random() < 0.3
        low = [a & b for a, b in zip(low, high)]
        clamp = rng.random() < 0.3
        tail = f" op_sel:{low} op_sel_hi:{high}".replace(", ", ",") + (" clamp" if clamp else "")
        self.add("mixed", kinds, edit=edit, clamp=clamp, tail=tail)

    def sdwa(self, regs):
        rng = self.rng
        selections = [rng.choice([0, 0, rng.randrange(7)]) for _ in regs]

        def edit(sources):
            for s, sel in zip(sources, selections):
                s.sel = sel
            sources[0].neg, sources[0].abs = rng.random() < 0.3, rng.random() < 0.3
        dst, unused = rng.choice([0, rng.randrange(7)]), rng.randrange(3)
        tail = f" dst_sel:{SELS[dst]} dst_unused:{UNUSED[unused]}" + "".join(f" src{k}_sel:{SELS[sel]}" for k,
                                                                             sel in enumerate(selections))
        self.add("sdwa", regs, suffix="_sdwa", edit=edit, sdwa=(dst, unused), tail=tail)

    def dpp(self, regs):
        rng = self.rng
        for kind, arg in rng.sample([("quad_perm", [rng.randrange(4) for _ in range(4)]), ("row_shr", rng.randrange(1, 16)),
                                     ("row_mirror", None),
                                     ("row_ror", rng.randrange(1, 16)), ("dpp8", [rng.randrange(8) for _ in range(8)])], 2):
            masks = (15, 15) if rng.random() < 0.5 else (rng.randrange(16), rng.randrange(16))
            for fi in (False, True):
                dpp = (kind, arg, *masks, rng.random() < 0.5, fi)
                self.add("dpp", regs, suffix="_dpp", dpp=dpp, tail=dpp_text(dpp))


def row_sig(forms):
    return f"{forms.results}={forms.letters}"


# ---- Expectation ----


def reference(case):
    """The row's function as valu_model.expect wants it, with what the case adds to the sources."""
    function = REF[case.name]
    if "_mix" in case.name:
        function = ref_float.MIX(case.name, "".join(s.letter for s in case.sources[:3]))

    def run(mods, *values):
        m = M(mods.mode, case.clamp, case.omod, mods.card)
        values = [halves(s, x) if s.letter in "PF" and hasattr(s, "neg_lo") else x for s, x in zip(case.sources, values)]
        if case.name in ref_float.CUBE_NAN_SKIPPED and any(ref_float.is_nan(F32, x) for x in values):
            raise NotSaid
        return function(m, *values)
    return run


class NotSaid(Exception):
    """The manuals do not say."""


def halves(s, x):
    """op_sel of pairs (P has had it from valu_model) and the signs of packed sources."""
    width = 32 if s.letter == "F" else 16
    low, high = x & (1 << width) - 1, x >> width
    if s.letter == "F":
        low, high = (high if s.op_sel else low), (high if s.op_sel_hi else low)
    return (low ^ s.neg_lo << width - 1) | (high ^ s.neg_hi << width - 1) << width


def expected(case, card, state):
    """Like valu_model.expect, and the high half where v_*_mixhi writes."""
    out = expect(case, card, state, reference(case))
    if "mixhi" in case.name:
        for lane in range(state.lanes):
            if state.exec >> lane & 1:
                old = state.v[VDST][lane]
                out["v", VDST][lane] = old & 0xFFFF | (out["v", VDST][lane] & 0xFFFF) << 16
    return out


# ---- Running ----


def fill(case, state, rng):
    """Values for all registers of the case."""
    spans = [(s.reg, s) for s in case.sources if s.kind == "v"]
    for letter, kind, reg in case.results:
        for n in range(DWORDS.get(letter, 1) if kind == "v" else state.lanes // 32):
            if kind == "v":
                state.v[reg + n] = [rng.getrandbits(32) for _ in range(state.lanes)]
            else:
                state.s[reg + n] = rng.getrandbits(32)
    for s in case.sources:
        for n in range(2 if s.letter == "m" else s.dwords):
            if s.kind == "v":
                state.v[s.reg + n] = [0] * state.lanes
        if s.kind == "s":
            x = rng.getrandbits(64) if s.letter == "m" else value(rng, s.letter)
            for n in range(2):
                state.s[s.reg + n] = x >> 32 * n & 0xFFFFFFFF
    for lane in range(state.lanes):
        made = [value(rng, s.letter) for s in case.sources]
        made = related(rng, case, made)
        for reg, s in spans:
            x = made[case.sources.index(s)]
            for n in range(s.dwords):
                state.v[reg + n][lane] = x >> 32 * n & 0xFFFFFFFF


def cubes_without_nans(case, state):
    if case.name in ref_float.CUBE_NAN_SKIPPED:
        for file in (state.v.values()):
            for lane, x in enumerate(file):
                if ref_float.is_nan(F32, x):
                    file[lane] = x & ~0x40000000
        for reg, x in state.s.items():
            if ref_float.is_nan(F32, x):
                state.s[reg] = x & ~0x40000000


def runs_of(case, per_form):
    return max(1, per_form // 3) if case.name in SLOW or case.tag not in ("registers", "omod", "clamp", "mixed",
                                                                          "vcc") else per_form


def check(o, cases, card, lanes, rng, per_form, failures):
    """Runs and compares; returns how many registers were compared."""
    numbers = [o.asm(case.text) for case in cases]
    o.ready()
    waiting, compared = [], 0
    for k, case in zip(numbers, cases):
        masks = exec_masks(rng, lanes)
        for n in range(runs_of(case, per_form)):
            mode = rng.choice([DEFAULT_MODE, 0xF0, rng.getrandbits(10), rng.getrandbits(10)])
            state = State(lanes, masks[0] if n % 3 else rng.choice(masks), mode)
            fill(case, state, rng)
            cubes_without_nans(case, state)
            want = expected(case, card, state)
            reads = [f"{kind}{reg}" for kind, reg in want] + ["state"]
            o.queue(k, read=reads, v={r: x for r, x in state.v.items()}, s=dict(state.s), exec=state.exec, mode=mode)
            waiting.append((case, state, want))
    for (case, state, want), got in zip(waiting, o.flush()):
        compared += len(want)
        where = f"{case.text}   [{card} wave{lanes}, exec {state.exec:x}, mode {state.mode:03x}]"
        if got[-1] != "running":
            failures.append(f"{where}: {got[-1]}")
            continue
        for ((kind, reg), right), is_ in zip(want.items(), got):
            if is_ != right:
                failures.append(f"{where}: {kind}{reg}" + difference(case, state, is_, right))
    return compared


def difference(case, state, is_, right):
    if not isinstance(right, list):
        return f" is {is_:x}, not {right:x}"
    lane = next(l for l in range(len(right)) if is_[l] != right[l])
    sources = []
    for s in case.sources:
        words = [state.v[s.reg + n][lane] if s.kind == "v" else state.s.get(s.reg + n, 0)
                 for n in range(s.dwords)] if s.kind != "imm" else [s.bits]
        sources.append(":".join(f"{x:x}" for x in reversed(words)))
    return f" lane {lane} is {is_[lane]:x}, not {right[lane]:x}; sources {' '.join(sources)}"


# ---- Whole divisions and square roots, as LLVM expands fdiv and sqrt ----

PROGRAMS = {
    "f32": """v_div_scale_f32 v4, s20, v1, v1, v0
v_div_scale_f32 v5, vcc, v0, v1, v0
v_rcp_f32 v6, v4
v_fma_f32 v7, -v4, v6, 1.0
v_fma_f32 v6, v7, v6, v6
v_mul_f32 v7, v5, v6
v_fma_f32 v8, -v4, v7, v5
v_fma_f32 v7, v8, v6, v7
v_fma_f32 v8, -v4, v7, v5
v_div_fmas_f32 v8, v8, v6, v7
v_div_fixup_f32 v10, v8, v1, v0
s_endpgm""",
    "f64": """v_div_scale_f64 v[4:5], s[20:21], v[2:3], v[2:3], v[0:1]
v_rcp_f64 v[6:7], v[4:5]
v_fma_f64 v[8:9], -v[4:5], v[6:7], 1.0
v_fma_f64 v[6:7], v[6:7], v[8:9], v[6:7]
v_fma_f64 v[8:9], -v[4:5], v[6:7], 1.0
v_fma_f64 v[6:7], v[6:7], v[8:9], v[6:7]
v_div_scale_f64 v[8:9], vcc, v[0:1], v[2:3], v[0:1]
v_mul_f64 v[12:13], v[8:9], v[6:7]
v_fma_f64 v[4:5], -v[4:5], v[12:13], v[8:9]
v_div_fmas_f64 v[4:5], v[4:5], v[6:7], v[12:13]
v_div_fixup_f64 v[10:11], v[4:5], v[2:3], v[0:1]
s_endpgm""",
    "sqrt f64": """v_cmp_gt_f64 vcc, s[30:31], v[0:1]
v_cndmask_b32 v4, 0, 1, vcc
v_lshlrev_b32 v4, 8, v4
v_ldexp_f64 v[0:1], v[0:1], v4
v_rsq_f64 v[4:5], v[0:1]
v_mul_f64 v[6:7], v[0:1], v[4:5]
v_mul_f64 v[4:5], v[4:5], 0.5
v_fma_f64 v[8:9], -v[4:5], v[6:7], 0.5
v_fma_f64 v[6:7], v[6:7], v[8:9], v[6:7]
v_fma_f64 v[4:5], v[4:5], v[8:9], v[4:5]
v_fma_f64 v[8:9], -v[6:7], v[6:7], v[0:1]
v_fma_f64 v[6:7], v[8:9], v[4:5], v[6:7]
v_fma_f64 v[8:9], -v[6:7], v[6:7], v[0:1]
v_fma_f64 v[4:5], v[8:9], v[4:5], v[6:7]
v_mov_b32 v6, 0xffffff80
v_cndmask_b32 v6, 0, v6, vcc
v_ldexp_f64 v[4:5], v[4:5], v6
v_mov_b32 v7, 0x260
v_cmp_class_f64 vcc, v[0:1], v7
v_cndmask_b32 v10, v4, v0, vcc
v_cndmask_b32 v11, v5, v1, vcc
s_endpgm"""}


def quotient(fmt, n, d):
    x, y = decode(fmt, n), decode(fmt, d)
    for v, bits in ((x, n), (y, d)):
        if v.kind == "nan":
            return bits | fmt.quiet
    negative = x.negative != y.negative
    if x.kind == "inf" or y.kind == "inf":
        if x.kind == y.kind:
            return fmt.nan
        return encode(fmt, ref_float.Value("inf" if x.kind == "inf" else "number", negative, Fraction(0)))
    if not y.size:
        return encode(fmt, ref_float.Value("inf", negative, Fraction(0))) if x.size else fmt.nan
    return encode(fmt, ref_float.Value("number", negative, x.size / y.size))


def square_root(fmt, x):
    if ref_float.is_nan(fmt, x):
        return x | fmt.quiet
    return encode(fmt, ref_float.sqrt(0, decode(fmt, x)))


def operands(rng, fmt, lanes):
    """Numerators and denominators; half of them with quotients near the ends of the range."""
    n, d = [[float_value(rng, fmt) for _ in range(lanes)] for _ in range(2)]
    for lane in range(0, lanes, 2):
        q = rng.choice([0, 0, 1, -1, 2]) + rng.choice([0, 1, fmt.least, fmt.least - fmt.mantissa, fmt.least - fmt.mantissa // 2,
                                                       fmt.bias])
        field = max(0, min(fmt.top - 1, (d[lane] >> fmt.mantissa & fmt.top) + q))
        n[lane] = n[lane] & ~fmt.inf | field << fmt.mantissa
    return n, d


def check_program(o, name, lanes, rng, failures):
    fmt = F32 if "f32" in name else F64
    lines = PROGRAMS[name]
    if lanes == 32:
        lines = lines.replace("vcc,", "vcc_lo,").replace(", vcc", ", vcc_lo").replace("vcc_lo_lo", "vcc_lo").replace("s[20:21]",
                                                                                                                     "s20")
    else:
        lines = lines.replace("s20,", "s[20:21],")
    for line in lines.split("\n"):
        o.asm(line)
    o.ready()
    dwords, count, waiting = fmt.width // 32, 640 // lanes, []
    for _ in range(count):
        n, d = operands(rng, fmt, lanes)
        v = {reg + k: [x >> 32 * k & 0xFFFFFFFF for x in file] for reg, file in ((0, n), (dwords, d)) for k in range(dwords)}
        o.queue(0, go=True, read=[f"v{10 + k}" for k in range(dwords)] + ["state"], v=v, s={30: 0, 31: 0x10000000},
                exec=(1 << lanes) - 1,
                mode=DEFAULT_MODE)
        waiting.append((n, d))
    for (n, d), got in zip(waiting, o.flush()):
        if got[-1] != "ended":
            failures.append(f"{name}: {got[-1]}")
            continue
        for lane in range(lanes):
            is_ = sum(got[k][lane] << 32 * k for k in range(dwords))
            right = square_root(fmt, n[lane]) if "sqrt" in name else quotient(fmt, n[lane], d[lane])
            if is_ != right and not (ref_float.is_nan(fmt, is_) and ref_float.is_nan(fmt, right)):
                failures.append(f"{name}: {n[lane]:x}, {d[lane]:x} is {is_:x}, not {right:x}")
    return count * lanes


# ---- f16 values all over the range through the functions of one ----


def check_halves(o, ours, lanes, first_half, failures):
    rows_of_one = [row for row in ours if row.sig == "h=h"]
    numbers = [o.asm(f"{row.name} v{VDST}, v{VSRC[0]}") for row in rows_of_one]
    o.ready()
    for k, row in zip(numbers, rows_of_one):
        m = M(DEFAULT_MODE, card=o.card)
        step = 89 if row.name in SLOW else 7  # another seed begins elsewhere
        sample = range(first_half % step, 0x10000, step)
        for first in range(0, len(sample), lanes):
            values = list(sample[first:first + lanes])
            o.queue(k, read=[f"v{VDST}"], v={VDST: 0, VSRC[0]: values + [0] * (lanes - len(values))}, exec=(1 << lanes) - 1,
                    mode=DEFAULT_MODE)
        got = [x for (lanes_,) in o.flush() for x in lanes_]
        for x, is_ in zip(sample, got):
            if is_ != REF[row.name](m, x):
                failures.append(f"{row.name} of {x:x} is {is_:x}, not {REF[row.name](m, x):x}")
    return len(rows_of_one)


# ---- All of it ----


def is_float_row(row):
    return row.name in REF and not row.name.startswith("v_cmp")


def without_reference(all_rows):
    """Rows with float operands that no test knows."""
    known = {**REF, **ref_cmp.REF, **ref_int.REF, **ref_int.WAVE, "v_pk_mov_b32": "test_valu_int.py"}
    return {row.name for row in all_rows if row.name.startswith("v_") and not row.name.startswith("v_s_")
            and set(row.sig) & set("fhdPF") and row.name not in known}


def main():
    tool, card, lanes = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seed = sys.argv[4] if len(sys.argv) > 4 else "1"
    only = sys.argv[5] if len(sys.argv) > 5 else ""
    rng = random.Random(f"{seed} {card} {lanes}")
    all_rows = rows(tool)
    ours = [row for row in all_rows if is_float_row(row) and row.on(card) and only in row.name and
            not (card.startswith("gfx12") and row.name in renamed_on_gfx12())]
    valu_model.ZERO_HIGH_GFX9 |= {row.name for row in ours if row.results in "hw" and row.name not in KEEP_HIGH_GFX9}
    cases = [case for row in ours for case in Forms(row, card, lanes, rng).all()]
    taken = assembles(card, lanes, [case.text for case in cases])
    seen, kept = set(), []
    for case, ok in zip(cases, taken):
        if ok and (case.tag == "registers" or case.text not in seen):
            seen.add(case.text)
            kept.append(case)
    failures, compared = [], 0
    with Ops(card, lanes, tool) as o:
        compared += check(o, kept, card, lanes, rng, 3 if lanes == 32 else 2, failures)
        for name in [] if only else PROGRAMS:
            compared += check_program(o, name, lanes, rng, failures)
        if card == "gfx1030" and lanes == 64 and not only:
            check_halves(o, ours, lanes, rng.getrandbits(16), failures)
    tested, tags = {case.name for case in kept}, collections.Counter(case.tag for case in kept)
    missing = ({row.name for row in ours} - tested - elsewhere(card)) | without_reference(all_rows)
    print(f"{card} wave{lanes}: {len(tested)} of {len(ours)} rows, {len(kept)} forms {dict(sorted(tags.items()))}, {compared} "
          f"comparisons, "
          f"{len(failures)} failures (seed {seed})")
    for failure in failures[:40]:
        print(failure)
    if missing:
        print("rows without a reference or a form that assembles:", *sorted(missing))
    return 1 if failures or missing or (not only and len(kept) < 500) else 0


def renamed_on_gfx12():
    """To LLVM's assembler these are words for v_min_num_f32 and its like, which compute something else."""
    return {f"v_{name}_{n}" for name in ("min", "max", "min3", "max3", "med3", "minmax", "maxmin")
            for n in ("f16", "f32", "f64")} | \
        {"v_pk_min_f16", "v_pk_max_f16"}


def elsewhere(card):
    """Rows of other cards."""
    mad = {f"v_{kind}_{n}" for kind in ("mad", "mac", "madak", "madmk") for n in ("f16", "f32")}
    gfx9 = mad | {"v_mad_legacy_f16", "v_mad_legacy_f32", "v_fma_legacy_f16", "v_div_fixup_legacy_f16", "v_exp_legacy_f32",
                  "v_log_legacy_f32",
                  "v_cvt_pkaccum_u8_f32"}
    gfx900 = {"v_mad_mix_f32", "v_mad_mixlo_f16", "v_mad_mixhi_f16"}
    gfx90a = {"v_fmac_f64", "v_pk_add_f32", "v_pk_mul_f32", "v_pk_fma_f32"}
    gfx10 = {"v_fma_legacy_f32", "v_fmac_legacy_f32", "v_mullit_f32", "v_fmac_f16", "v_fmaak_f16", "v_fmamk_f16", "v_fmaak_f32",
             "v_fmamk_f32"}
    later = {"v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16", "v_fmac_f32", "v_dot2_f32_f16", "v_dot2c_f32_f16",
             "v_pk_fmac_f16"}
    gfx11 = {"v_maxmin_f32", "v_minmax_f32"}
    gfx12 = {row.name for row in rows(sys.argv[1]) if row.cards == 8} & set(REF)
    if card.startswith("gfx12"):
        return gfx9 | gfx900 | gfx90a | {"v_mullit_f32", "v_fmac_legacy_f32", "v_dot2c_f32_f16"}
    gfx9, gfx10 = gfx9 | gfx12 | (set() if card.startswith("gfx11") else gfx11), gfx10 | gfx11 | gfx12
    return {"gfx1100": gfx9 | gfx900 | gfx90a, "gfx1030": gfx9 | gfx900 | gfx90a, "gfx900": gfx10 | later | gfx90a,
            "gfx90a": gfx10 | gfx900,
            "gfx942": gfx10 - {"v_fmaak_f32", "v_fmamk_f32"} | gfx900
            | {"v_mac_f32", "v_mad_f32", "v_mad_legacy_f32", "v_madak_f32", "v_madmk_f32"},
            "gfx906": gfx10 | gfx900 | gfx90a | {"v_dot2c_f32_f16", "v_pk_fmac_f16"}}.get(card, set())


if __name__ == "__main__":
    sys.exit(main())
