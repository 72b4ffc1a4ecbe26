"""What the hardware does around a vector instruction's arithmetic: operands with SDWA, DPP, op_sel, neg and abs, and results
under exec.

Written from the ISA manuals, one lane at a time, apart from isa/lanes.*; the arithmetic comes from the references (ref_*.py).  A
Case is one instruction with its text for the assembler and its parts for the model.
"""
# SPDX-License-Identifier: Apache-2.0
import random
import re
import subprocess
from dataclasses import dataclass, field

DWORDS = {"q": 2, "d": 2, "S": 2, "F": 2, "o": 4}  # else 1; o: only the sums of v_mqsad_u32_u8
SELS = ["DWORD", "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1"]
UNUSED = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"]

# 16-bit instructions of gfx9 that clear the result's high half; the others, and all of gfx10, keep it.
ZERO_HIGH_GFX9 = {"v_add_u16", "v_sub_u16", "v_subrev_u16", "v_mul_lo_u16", "v_lshlrev_b16", "v_lshrrev_b16", "v_ashrrev_i16",
                  "v_min_u16", "v_max_u16",
                  "v_min_i16", "v_max_i16", "v_mad_legacy_u16", "v_mad_legacy_i16", "v_sat_pk_u8_i16"}


@dataclass
class Source:
    letter: str
    kind: str                 # v, s, imm
    reg: int = 0
    bits: int = 0             # imm
    text: str = ""
    neg: bool = False
    abs: bool = False
    sext: bool = False
    sel: int = 0
    op_sel: int = 0
    op_sel_hi: int = 1

    @property
    def dwords(self):
        return DWORDS.get(self.letter, 1)

    def written(self):
        text = self.text
        if self.abs:
            text = f"|{text}|"
        if self.neg:
            text = f"-{text}"
        return f"sext({text})" if self.sext else text


@dataclass
class Case:
    name: str
    sig: str
    suffix: str
    results: list             # (letter, kind v/s, register number)
    sources: list
    clamp: bool = False
    dpp: tuple = None         # (kind, argument, row_mask, bank_mask, bound_ctrl, fi)
    sdwa: tuple = None        # (dst_sel or None, dst_unused)
    op_sel_dst: int = 0
    tail: str = ""            # modifiers as text
    text: str = field(default="")

    def write(self, names):
        """`names`: text of each result."""
        operands = ", ".join(names + [s.written() for s in self.sources])
        self.text = f"{self.name}{self.suffix} {operands}{self.tail}".rstrip()
        return self


class Mods:
    """What a reference may look at besides its sources."""

    def __init__(self, clamp, mode, old, card):
        self.clamp, self.mode, self.old, self.card = clamp, mode, old, card


# ---- DPP ----


def dpp_source(kind, arg, lane, lanes):
    """The lane that `lane` reads, None when there is none."""
    row, place = lane // 16 * 16, lane % 16
    if kind == "quad_perm":
        return lane // 4 * 4 + arg[lane % 4]
    if kind == "dpp8":
        return lane // 8 * 8 + arg[lane % 8]
    if kind == "row_shl":
        return lane + arg if place + arg <= 15 else None
    if kind == "row_shr":
        return lane - arg if place - arg >= 0 else None
    if kind == "row_ror":
        return row + (place - arg) % 16
    if kind == "wave_shl":
        return lane + 1 if lane + 1 < lanes else None
    if kind == "wave_rol":
        return (lane + 1) % lanes
    if kind == "wave_shr":
        return lane - 1 if lane else None
    if kind == "wave_ror":
        return (lane - 1) % lanes
    if kind == "row_mirror":
        return row + 15 - place
    if kind == "row_half_mirror":
        return lane // 8 * 8 + 7 - lane % 8
    if kind == "row_bcast:15":
        return row - 1 if row else None
    if kind == "row_bcast:31":
        return 31 if lane >= 32 else None
    if kind in ("row_share", "row_newbcast"):
        return row + arg
    if kind == "row_xmask":
        return row + (place ^ arg)
    raise ValueError(kind)


def dpp_text(dpp):
    kind, arg, row_mask, bank_mask, bound_ctrl, fi = dpp
    text = kind if arg is None else f"{kind}:{arg}".replace(" ", "")
    if kind != "dpp8":
        text += f" row_mask:{row_mask:#x} bank_mask:{bank_mask:#x}"
        if bound_ctrl:
            text += " bound_ctrl:1"
    return " " + text + (" fi:1" if fi else "")


# ---- One wave's state and what a case makes of it ----


class State:
    def __init__(self, lanes, exec_mask, mode):
        self.lanes, self.exec, self.mode = lanes, exec_mask, mode
        self.v, self.s = {}, {}


def cut(x, sel, sext):
    width = 32 if sel == 0 else 8 if sel <= 4 else 16
    at = 0 if sel == 0 else 8 * (sel - 1) if sel <= 4 else 16 * (sel - 5)
    x = x >> at & (1 << width) - 1
    return (x - (1 << width)) % 2**32 if sext and x >> (width - 1) else x


def dwords(case, state, source, lane):
    """The source's register content or constant, as one number."""
    if source.kind == "imm":
        return source.bits
    if source.kind == "v":
        regs = [state.v[source.reg + n][lane] for n in range(source.dwords)]
    else:
        regs = [state.s[source.reg + n] for n in range(source.dwords)]
    return sum(r << 32 * n for n, r in enumerate(regs))


def source_value(case, state, index, lane):
    """What the arithmetic gets from a source in this lane; None when DPP keeps the lane from being written."""
    source = case.sources[index]
    if source.letter == "m":
        return state.s[source.reg + lane // 32] >> lane % 32 & 1
    at, readable = lane, True
    if case.dpp and index == 0:
        kind, arg, _, _, bound_ctrl, fi = case.dpp
        at = dpp_source(kind, arg, lane, state.lanes)
        readable = at is not None and (fi or state.exec >> at & 1)
        if not readable and not (bound_ctrl or kind == "dpp8"):
            return None
    x = dwords(case, state, source, at) if readable else 0
    x = cut(x, source.sel, source.sext) if case.sdwa else x
    return modified(case, source, x)


def modified(case, source, x):
    letter = source.letter
    if letter in "pP":
        low = x >> 16 if source.op_sel else x
        high = x >> 16 if source.op_sel_hi else x
        return (low & 0xFFFF) | (high & 0xFFFF) << 16
    if letter in "whk":
        x = (x >> 16 if source.op_sel else x) & 0xFFFF
    elif case.name.startswith("v_align") and source.op_sel:
        x >>= 16  # the shift count
    top = {"w": 15, "h": 15, "k": 15, "d": 63, "q": 63}.get(letter, 31)
    if source.abs:
        x &= ~(1 << top)
    if source.neg:
        x ^= 1 << top
    return x


def written_lanes(case, state):
    mask = state.exec
    if case.dpp and case.dpp[0] != "dpp8":
        for lane in range(state.lanes):
            if not case.dpp[2] >> lane // 16 & 1 or not case.dpp[3] >> lane // 4 % 4 & 1:
                mask &= ~(1 << lane)
    return mask


def merge(case, card, old, x, letter):
    """The dword that a 32-bit or 16-bit result leaves in the register."""
    if case.sdwa and case.sdwa[0]:
        sel, unused = case.sdwa
        width, at = (8, 8 * (sel - 1)) if sel <= 4 else (16, 16 * (sel - 5))
        part = x & (1 << width) - 1
        if unused == 2:
            return old & ~(((1 << width) - 1) << at) | part << at
        if unused == 1 and part >> (width - 1):
            part |= 0xFFFFFFFF << width
        return part << at & 0xFFFFFFFF
    if letter in "whk":
        if case.op_sel_dst:
            return old & 0xFFFF | x << 16
        zero = card.startswith("gfx9") and case.name in ZERO_HIGH_GFX9
        return x if zero else old & 0xFFFF0000 | x
    return x


def expect(case, card, state, reference):
    """{("v", register): lanes, ("s", register): value}: all results after the case, by the reference."""
    out, masks = {}, {}
    for letter, kind, reg in case.results:
        if kind == "v":
            for n in range(DWORDS.get(letter, 1)):
                out["v", reg + n] = list(state.v[reg + n])
        else:
            masks[reg] = 0
    writable = written_lanes(case, state)
    for lane in range(state.lanes):
        if not state.exec >> lane & 1:
            continue
        values = [source_value(case, state, k, lane) for k in range(len(case.sources))]
        if None in values or not writable >> lane & 1:
            continue  # as if it were inactive: nothing is written, its bit of a mask is 0
        old = state.v[case.results[0][2]][lane] if case.results and case.results[0][1] == "v" else 0
        result = reference(Mods(case.clamp, state.mode, old, card), *values)
        result = result if isinstance(result, tuple) else (result,)
        for (letter, kind, reg), x in zip(case.results, result):
            if kind == "s":
                masks[reg] |= x << lane
            elif DWORDS.get(letter, 1) == 1:
                out["v", reg][lane] = merge(case, card, out["v", reg][lane], x, letter)
            else:
                for n in range(DWORDS[letter]):
                    out["v", reg + n][lane] = x >> 32 * n & 0xFFFFFFFF
    for reg, mask in masks.items():
        out["s", reg] = mask & 0xFFFFFFFF
        if state.lanes == 64:
            out["s", reg + 1] = mask >> 32
    return out


# ---- Values ----

EDGES16 = [0, 1, 2, 15, 16, 0x7F, 0x80, 0xFF, 0x100, 0x3FF, 0x400, 0x3C00, 0x7BFF, 0x7C00, 0x7C01, 0x7E00, 0x7FFF, 0x8000, 0x8001,
           0x83FF, 0x8400, 0xBC00,
           0xFBFF, 0xFC00, 0xFC01, 0xFE12, 0xFFFE, 0xFFFF]
EDGES32 = [0, 1, 2, 31, 32, 0x7F, 0x80, 0xFF, 0xFF00, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFF, 0x800000, 0x800001, 0xFFFFFF,
           0x1000000, 0x3F800000,
           0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0x807FFFFF, 0x80800000, 0xBF800000,
           0xFF800000,
           0xFF812345, 0xFFC00000, 0xFFFF8000, 0xFFFFFFFE, 0xFFFFFFFF, 0x0C0D0B0A, 0x08090706]
EDGES64_HIGH = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x000FFFFF, 0x00100000, 0x3FF00000, 0x7FEFFFFF, 0x7FF00000, 0x7FF80000,
                0xFFF00000, 0xFFF80001]


def lane_word(rng, letter, high):
    """A dword for a register of an operand of this type: an edge, two half edges, or anything."""
    how = rng.random()
    if letter in "dq" and high and how < 0.5:
        return rng.choice(EDGES64_HIGH)
    if letter in "whkpP" and how < 0.7 or how < 0.1:
        return rng.choice(EDGES16) | rng.choice(EDGES16) << 16
    if how < 0.6:
        return rng.choice(EDGES32)
    return rng.getrandbits(32)


def exec_masks(rng, lanes):
    full = (1 << lanes) - 1
    return [full, full, rng.getrandbits(lanes), 0, 1 << rng.randrange(lanes), rng.getrandbits(lanes) & rng.getrandbits(lanes),
            0x55555555_55555555 & full]


# ---- The assembler, to learn which forms an instruction has ----


def assembles(card, wave, texts):
    """For each text whether LLVM accepts it."""
    feature = [f"-mattr=+wavefrontsize{wave}"] if card.startswith("gfx1") else []
    run = subprocess.run(["llvm-mc-22", "-triple=amdgcn-amd-amdhsa", f"-mcpu={card}", *feature, "-o", "/dev/null"],
                         input="\n".join(texts) + "\n",
                         capture_output=True, text=True, check=False)
    bad = {int(line) - 1 for line in re.findall(r"^<stdin>:(\d+):\d+: error", run.stderr, re.M)}
    if run.returncode and not bad:
        raise RuntimeError(run.stderr[:500])
    return [k not in bad for k in range(len(texts))]


def seeded(text):
    return random.Random(text)
