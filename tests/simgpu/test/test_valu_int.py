#!/usr/bin/env python3
"""Integer vector instructions, compares and what crosses lanes, on the simulated cards against the references in ref_int.py and
ref_cmp.py.

    test_valu_int.py SIMGPU_OPS CARD WAVE [SEED]

Every row that the card has is run in each of its forms: registers, scalars, constants, clamp, neg and abs, op_sel, SDWA, DPP;
over edge values and random ones, exec masks and modes.  Which forms there are LLVM's assembler says.  All registers that an
instruction may write are compared in all lanes.  A failure prints the instruction and the seed.
"""
# SPDX-License-Identifier: Apache-2.0
import collections
import subprocess
import sys

import ref_cmp
import ref_int
from valu_model import DWORDS, SELS, UNUSED, Case, Mods, Source, State, assembles, dpp_text, exec_masks, expect, lane_word, seeded

REF = {**ref_int.REF, **ref_cmp.REF}
MODES = [0xF0, 0xF0, 0x00, 0x30, 0xC0, 0x10, 0x20, 0x40, 0x80, 0x3FF]
VDST, VSRC, SSRC, MASK_DST, MASK_SRC = 10, (20, 24, 28), (20, 24, 28), 40, 44
VCC = 106
RUNS, RUNS_COMPARE = 3, 2  # of each form; compares are many and alike

# ---- Forms of an instruction ----


def int_constant(rng, letter):
    """(text, bits) of an inline constant or a literal."""
    width = {"w": 16, "q": 64}.get(letter, 32)
    if rng.random() < 0.6 or letter in "qdhp":
        value = rng.choice([-16, -1, 0, 1, 5, 31, 64])
        return str(value), value % 2 ** (32 if letter in "pP" else width)
    value = rng.choice([0x80000001, 0x12345678, 0x7FFFFFFF, 0xDEADBEEF]) if width == 32 else rng.choice([0x8001, 0x1234, 0x7FFF])
    return hex(value), value


def float_constant(rng, letter):
    text, half, single = rng.choice([("0.5", 0x3800, 0x3F000000), ("1.0", 0x3C00, 0x3F800000), ("-4.0", 0xC400, 0xC0800000)])
    double = {0x3F000000: 0x3FE0000000000000, 0x3F800000: 0x3FF0000000000000, 0xC0800000: 0xC010000000000000}[single]
    return text, {"h": half, "f": single, "d": double}[letter]


def name_of(kind, reg, dwords, lanes=None):
    if kind == "s" and reg == VCC:
        return "vcc" if lanes in (None, 64) else "vcc_lo"
    return f"{kind}{reg}" if dwords == 1 else f"{kind}[{reg}:{reg + dwords - 1}]"


def source(letter, kind, place, lanes, rng):
    dwords = lanes // 32 if letter == "m" else DWORDS.get(letter, 1)
    if kind == "imm":
        text, bits = float_constant(rng, letter) if letter in "fhd" else int_constant(rng, letter)
        return Source(letter, "imm", bits=bits, text=text)
    if kind == "vcc":
        return Source(letter, "s", VCC, text=name_of("s", VCC, dwords, lanes))
    reg = {"v": VSRC, "s": SSRC}[kind][place] if letter != "m" else MASK_SRC
    return Source(letter, kind, reg, text=name_of(kind, reg, dwords, lanes))


class Forms:
    """The cases of one row on one card; those that the assembler does not take are dropped later."""

    def __init__(self, row, lanes, rng):
        self.name, self.sig, self.lanes, self.rng = row[0], row[1], lanes, rng
        self.results, self.letters = self.sig.split("=")
        self.cases = []

    def add(self, tag, kinds, suffix="", vcc=False, edit=None, tail="", **case):
        """One case: `kinds` of the sources; `vcc`: masks are in VCC; `edit` changes the sources."""
        sources = [source(letter, ("vcc" if vcc else "s") if letter == "m" else kind, place, self.lanes, self.rng)
                   for place, (letter, kind) in enumerate(zip(self.letters, kinds))]
        results, names = [], []
        for letter in self.results:
            kind, reg = ("s", VCC if vcc else MASK_DST) if letter == "m" else ("v", VDST)
            results.append((letter, kind, reg))
            names.append(name_of(kind, reg, self.lanes // 32 if letter == "m" else DWORDS.get(letter, 1), self.lanes))
        if edit:
            edit(sources)
        made = Case(self.name, self.sig, suffix, results, sources, tail=tail, **case).write(names)
        made.tag = tag
        self.cases.append(made)

    def all(self):
        n = len(self.letters)
        regs = ["v"] * n
        for vcc in (False, True) if "m" in self.sig else (False,):
            self.add("registers", regs, vcc=vcc)
        for place in range(n):
            if self.letters[place] == "m":
                continue
            for kind in ("s", "imm"):
                mixed = list(regs)
                mixed[place] = kind
                for vcc in (False, True) if "m" in self.sig else (False,):
                    self.add(kind, mixed, vcc=vcc)
        self.add("clamp", regs, clamp=True, tail=" clamp")
        self.signs(regs)
        self.op_sel(regs)
        for _ in range(4):
            self.sdwa(regs)
        for _ in range(3):
            self.dpp(regs)
        return self.cases

    def signs(self, regs):
        for neg, absolute in ((1, 0), (0, 1), (1, 1)):
            for place in range(min(2, len(self.letters))):
                def edit(sources, p=place):
                    sources[p].neg, sources[p].abs = bool(neg), bool(absolute)
                self.add("signs", regs, edit=edit)

    def op_sel(self, regs):
        n = len(self.letters)
        for _ in range(4):
            low, high = [self.rng.randrange(2) for _ in range(n)], [self.rng.randrange(2) for _ in range(n)]

            def edit(sources):
                for s, a, b in zip(sources, low, high):
                    s.op_sel, s.op_sel_hi = a, b
            if "p" in self.letters:
                self.add("op_sel", regs, edit=edit, tail=f" op_sel:{low} op_sel_hi:{high}".replace(", ", ","))
            else:
                top = self.rng.randrange(2) if self.results == "w" else 0
                if "w" not in self.letters and self.name not in ("v_pack_b32_f16", "v_alignbit_b32", "v_alignbyte_b32"):
                    return
                if self.name.startswith("v_align"):
                    low[0] = low[1] = 0
                for k, letter in enumerate(self.letters):
                    low[k] = low[k] if letter in "wh" or self.name.startswith("v_align") else 0
                self.add("op_sel", regs, edit=edit, op_sel_dst=top, tail=f" op_sel:{low + [top]}".replace(", ", ","))

    def sdwa(self, regs):
        rng = self.rng
        selections = [rng.randrange(7) for letter in self.letters if letter != "m"]
        sext = [rng.random() < 0.4 for _ in selections]
        neg, absolute = rng.random() < 0.3, rng.random() < 0.3
        floats = self.letters[:1] in "fh"

        def edit(sources):
            for s, sel, extend in zip(sources, selections, sext):
                s.sel, s.sext = sel, extend and not floats
            if floats and sources:
                sources[0].neg, sources[0].abs = neg, absolute
        dst, unused = rng.randrange(7), rng.randrange(3)
        tail = "".join(f" src{k}_sel:{SELS[sel]}" for k, sel in enumerate(selections))
        if self.results[:1] != "m" and self.results:
            tail = f" dst_sel:{SELS[dst]} dst_unused:{UNUSED[unused]}" + tail
        scalar = rng.random() < 0.3
        kinds = ["s" if scalar and k == 1 else kind for k, kind in enumerate(regs)]
        for vcc in (True, False):
            self.add("sdwa", kinds, suffix="_sdwa", vcc=vcc, edit=edit, sdwa=(dst, unused), tail=tail)

    def dpp(self, regs):
        rng = self.rng
        kinds = [("quad_perm", [rng.randrange(4) for _ in range(4)]), ("dpp8", [rng.randrange(8) for _ in range(8)]),
                 ("row_shl", rng.randrange(1, 16)), ("row_shr", rng.randrange(1, 16)), ("row_ror", rng.randrange(1, 16)),
                 ("row_mirror", None),
                 ("row_half_mirror", None), ("wave_shl", 1), ("wave_rol", 1), ("wave_shr", 1), ("wave_ror", 1),
                 ("row_bcast:15", None),
                 ("row_bcast:31", None), ("row_share", rng.randrange(16)), ("row_xmask", rng.randrange(16)),
                 ("row_newbcast", rng.randrange(16))]
        for kind, arg in kinds if self.name == "v_mov_b32" else rng.sample(kinds, 4):
            masks = (15, 15) if rng.random() < 0.5 else (rng.randrange(16), rng.randrange(16))
            for fi in (False, True):
                dpp = (kind, arg, *masks, rng.random() < 0.5, fi)
                self.add("dpp " + kind, regs, suffix="_dpp", vcc=True, dpp=dpp, tail=dpp_text(dpp))


# ---- Running ----


class Script:
    """Commands for one simgpu-ops process; `expected` has what each `get` must answer."""

    def __init__(self, tool, card, wave):
        self.argv = [tool, "--card", card, "--wave", str(wave)]
        self.lines, self.expected = [], []

    def get(self, what, value, about):
        self.lines.append("get " + what)
        self.expected.append((value, what, about))

    def run(self):
        """The failures, as text."""
        done = subprocess.run(self.argv, input="\n".join(self.lines) + "\n", capture_output=True, text=True, check=False)
        answers = done.stdout.splitlines()
        if done.returncode or not answers or not answers[0].startswith("ready") or len(answers) != len(self.expected) + 1:
            return [f"simgpu-ops: exit {done.returncode}, {len(answers)} answers of {len(self.expected) + 1}; {answers[:1]} "
                    f"{done.stderr[:300]}"]
        failures = []
        for answer, (value, what, about) in zip(answers[1:], self.expected):
            if answer != value:
                failures.append(f"{about}: {what}\n    is  {answer}\n    not {value}")
        return failures


def words(lanes):
    return " ".join(format(x, "x") for x in lanes)


def prepare(script, case, state, rng):
    """Gives all registers that the case touches values, in the model and the simulation."""
    for letter, kind, reg in case.results:
        for n in range(DWORDS.get(letter, 1) if kind == "v" else state.lanes // 32):
            if kind == "v":
                state.v[reg + n] = [rng.getrandbits(32) if rng.random() < 0.7 else lane_word(rng, "b", 0)
                                    for _ in range(state.lanes)]
            else:
                state.s[reg + n] = rng.getrandbits(32)
    for s in case.sources:
        for n in range(state.lanes // 32 if s.letter == "m" else s.dwords):
            if s.kind == "v":
                state.v[s.reg + n] = [lane_word(rng, s.letter, n) for _ in range(state.lanes)]
            elif s.kind == "s":
                state.s[s.reg + n] = lane_word(rng, s.letter, n)
    # Equal sources matter to compares.
    if len(case.sources) > 1 and case.sources[0].kind == "v" and case.sources[1].kind == "v" and rng.random() < 0.7:
        for n in range(min(case.sources[0].dwords, case.sources[1].dwords)):
            for lane in range(0, state.lanes, 3):
                state.v[case.sources[1].reg + n][lane] = state.v[case.sources[0].reg + n][lane]
    script.lines += [f"v {reg:x} {words(lanes)}" for reg, lanes in state.v.items()]
    script.lines += [f"s {reg:x} {value:x}" for reg, value in state.s.items()]
    script.lines += [f"s exec {state.exec:x}", f"s mode {state.mode:x}"]


def run_case(script, number, case, card, lanes, rng):
    masks = exec_masks(rng, lanes)
    for n in range(RUNS_COMPARE if case.name.startswith("v_cmp") else RUNS):
        state = State(lanes, masks[0] if n == 0 else rng.choice(masks), rng.choice(MODES))
        about = f"{case.text} [{card}, wave{lanes}, exec {state.exec:x}, mode {state.mode:x}]"
        prepare(script, case, state, rng)
        script.lines.append(f"run {number:x}")
        script.get("state", "running", about)
        result = expect(case, card, state, REF[case.name])
        exec_after = state.exec
        if case.name.startswith("v_cmpx"):
            exec_after = cmpx_exec(case, card, state)
        for (kind, reg), value in result.items():
            script.get(f"{kind} {reg:x}", words(value) if kind == "v" else format(value, "x"), about)
        script.get("s exec", format(exec_after, "x"), about)


def cmpx_exec(case, card, state):
    """v_cmpx sets exec to what its mask is."""
    probe = Case(case.name, case.sig, "", [("m", "s", MASK_DST)], case.sources, dpp=case.dpp, sdwa=case.sdwa)
    saved = {n: state.s.get(n) for n in (MASK_DST, MASK_DST + 1)}
    out = expect(probe, card, state, REF[case.name])
    state.s.update(saved)
    return out["s", MASK_DST] | (out["s", MASK_DST + 1] << 32 if state.lanes == 64 else 0)


def rows_of(tool, card):
    """(name, signature) of our rows for the card's generation."""
    bit = 1 if card.startswith("gfx9") else 2
    rows = []
    for line in subprocess.run([tool, "--list"], capture_output=True, text=True, check=True).stdout.splitlines():
        name, sig, _, cards = line.split("\t")
        if name in REF and (int(cards, 16) == 0 or int(cards, 16) & bit):
            rows.append((name, sig))
    return rows


# ---- Rows whose operands are whole waves or register numbers ----


def check_wave_rows(script, add, card, lanes, rng):
    """readlane, writelane, mbcnt, permlane."""
    def setup(state, old, *regs):
        state.v[VDST] = old
        for reg, values in zip(VSRC, regs):
            state.v[reg] = values
        script.lines.extend([f"v {reg:x} {words(values)}" for reg, values in state.v.items()])
        script.lines.append(f"s exec {state.exec:x}")

    def random_lanes():
        return [rng.getrandbits(32) for _ in range(lanes)]

    for exec_mask in exec_masks(rng, lanes):
        state = State(lanes, exec_mask, 0xF0)
        a, b, old = random_lanes(), random_lanes(), random_lanes()
        setup(state, old, a, b)
        mods = Mods(False, 0xF0, old, card)
        for lane in (0, 1, lanes - 1, lanes, rng.getrandbits(32)):
            script.lines.append(f"s 14 {lane:x}")
            number = add(f"v_readlane_b32 s40, v{VSRC[0]}, s20")
            script.lines.append(f"run {number:x}")
            script.get("s 28", format(ref_int.WAVE["v_readlane_b32"](mods, exec_mask, lanes, a, lane), "x"),
                       f"v_readlane_b32 lane {lane:x}")
            # Before GFX10 one scalar register is all that it may read.
            value, text = (0xABCD1234, "s24") if card.startswith("gfx10") else (0xFFFFFFF6, "-10")
            script.lines += ["s 18 abcd1234", f"v {VDST:x} {words(old)}", f"run {add(f'v_writelane_b32 v{VDST}, {text}, s20'):x}"]
            script.get(f"v {VDST:x}", words(ref_int.WAVE["v_writelane_b32"](mods, exec_mask, lanes, value, lane)),
                       f"v_writelane_b32 {lane:x}")
        script.lines.append(f"run {add(f'v_readfirstlane_b32 s40, v{VSRC[0]}'):x}")
        script.get("s 28", format(ref_int.WAVE["v_readfirstlane_b32"](mods, exec_mask, lanes, a), "x"),
                   f"v_readfirstlane_b32 exec {exec_mask:x}")
        for name in ("v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32"):
            script.lines += [f"v {VDST:x} {words(old)}", f"run {add(f'{name} v{VDST}, v{VSRC[0]}, v{VSRC[1]}'):x}"]
            script.get(f"v {VDST:x}", words(ref_int.WAVE[name](mods, exec_mask, lanes, a, b)), f"{name} exec {exec_mask:x}")
            script.lines += [f"v {VDST:x} {words(old)}", f"run {add(f'{name} v{VDST}, -1, 0'):x}"]
            script.get(f"v {VDST:x}", words(ref_int.WAVE[name](mods, exec_mask, lanes, [0xFFFFFFFF] * lanes, [0] * lanes)),
                       f"{name} -1, 0")
        if card.startswith("gfx10"):
            check_permlane(script, add, mods, exec_mask, lanes, rng, a, old)


def check_permlane(script, add, mods, exec_mask, lanes, rng, a, old):
    for name in ("v_permlane16_b32", "v_permlanex16_b32"):
        for fi, bound in ((0, 0), (1, 0), (0, 1), (1, 1)):
            low, high = rng.getrandbits(32), rng.getrandbits(32)
            number = add(f"{name} v{VDST}, v{VSRC[0]}, s24, s28 op_sel:[{fi},{bound}]")
            script.lines += [f"v {VDST:x} {words(old)}", f"s 18 {low:x}", f"s 1c {high:x}", f"run {number:x}"]
            script.get(f"v {VDST:x}", words(ref_int.WAVE[name](mods, exec_mask, lanes, a, low, high, fi, bound)),
                       f"{name} fi {fi} bound_ctrl {bound}")


def check_moves(script, add, card, lanes, rng):
    """Swaps, moves relative to M0, accumulation registers: what registers 50 to 65 hold afterwards."""
    base, count = 50, 16

    def run(text, m0, change):
        for exec_mask in exec_masks(rng, lanes)[:4]:
            before = [[rng.getrandbits(32) for _ in range(lanes)] for _ in range(count)]
            after = [list(x) for x in before]
            for to, value in change(before):
                after[to] = [value[l] if exec_mask >> l & 1 else before[to][l] for l in range(lanes)]
            script.lines += [f"v {base + n:x} {words(x)}" for n, x in enumerate(before)]
            script.lines += [f"s exec {exec_mask:x}", f"s m0 {m0:x}", f"run {add(text):x}"]
            for n, x in enumerate(after):
                script.get(f"v {base + n:x}", words(x), f"{text} with M0 {m0:x}, exec {exec_mask:x}")

    run("v_swap_b32 v50, v51", 0, lambda v: [(0, v[1]), (1, v[0])])
    if card.startswith("gfx10"):
        run("v_movreld_b32 v50, v51", 7, lambda v: [(7, v[1])])
        run("v_movrels_b32 v50, v51", 7, lambda v: [(0, v[8])])
        run("v_movrelsd_b32 v50, v51", 3, lambda v: [(3, v[4])])
        run("v_movrelsd_2_b32 v50, v51", 5 << 16 | 9, lambda v: [(5, v[10])])
        run("v_swaprel_b32 v50, v51", 2 << 16 | 4, lambda v: [(2, v[5]), (5, v[2])])
        script.lines += ["s m0 1000", f"run {add('v_movrels_b32 v50, v51'):x}", "get state"]
        script.expected.append((None, "state", "v_movrels_b32 past the registers"))
    if card == "gfx942":
        run("v_mov_b64 v[50:51], v[52:53]", 0, lambda v: [(0, v[2]), (1, v[3])])
    if card in ("gfx90a", "gfx942"):
        run("v_pk_mov_b32 v[50:51], v[52:53], v[54:55]", 0, lambda v: [(0, v[2]), (1, v[4])])
        run("v_pk_mov_b32 v[50:51], v[52:53], v[54:55] op_sel:[1,0]", 0, lambda v: [(0, v[3]), (1, v[4])])
        run("v_pk_mov_b32 v[50:51], v[52:53], v[54:55] op_sel:[0,1]", 0, lambda v: [(0, v[2]), (1, v[5])])
        a = [rng.getrandbits(32) for _ in range(lanes)]
        script.lines += [f"s exec {(1 << lanes) - 1:x}", f"v 32 {words(a)}"] + [f"run {add(t):x}" for t in (
            # a16 is a word for images, too
            "v_accvgpr_write_b32 a3, v50", "v_accvgpr_mov_b32 a16, a3", "v_accvgpr_read_b32 v51, a16")]
        script.get("v 33", words(a), "v_accvgpr write, mov, read")


# ---- All of it ----


def build(tool, card, lanes, seed):
    rng = seeded(f"{seed} {card} {lanes}")
    rows = rows_of(tool, card)
    # to LLVM's assembler words for v_dot4_i32_iu8 and its like
    other = {"v_dot4_i32_i8", "v_dot8_i32_i4"} if card.startswith(("gfx11", "gfx12")) else set()
    cases = [case for row in rows if row[0] not in other for case in Forms(row, lanes, rng).all()]
    taken = assembles(card, lanes, [case.text for case in cases])
    kept = [case for case, ok in zip(cases, taken) if ok]
    unique = list({case.text: case for case in kept}.values())
    return rng, rows, unique


def main():
    tool, card, lanes = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seed = sys.argv[4] if len(sys.argv) > 4 else "1"
    rng, rows, cases = build(tool, card, lanes, seed)
    texts = [case.text for case in cases]

    def add(text):
        texts.append(text)
        return len(texts) - 1

    script = Script(tool, card, lanes)
    for number, case in enumerate(cases):
        run_case(script, number, case, card, lanes, rng)
    check_wave_rows(script, add, card, lanes, rng)
    check_moves(script, add, card, lanes, rng)
    script.lines = ["asm " + text for text in texts] + ["ready"] + script.lines
    failures = [f for f in script.run() if not ("past the registers" in f and "stopped" in f)]

    tags = collections.Counter(case.tag for case in cases)
    tested = {case.name for case in cases}
    print(f"{card} wave{lanes}: {len(tested)} of {len(rows)} rows, {len(cases)} forms {dict(sorted(tags.items()))}, "
          f"{len(script.expected)} comparisons, "
          f"{len(failures)} failures (seed {seed})")
    for failure in failures[:20]:
        print(failure)
    missing = {name for name, _ in rows} - tested
    unexpected = {name for name in missing if not elsewhere(name, card)}
    if unexpected:
        print("rows without a form that assembles:", *sorted(unexpected))
    if "-v" in sys.argv and missing:
        print("not on this card:", *sorted(missing))
    return 1 if failures or unexpected or len(cases) < 1000 else 0


def elsewhere(name, card):
    """Is a row that this card cannot assemble one of another card?"""
    dots = name.startswith("v_dot")
    gfx9_only = {"v_add_u32", "v_sub_u32", "v_subrev_u32", "v_add_i32", "v_sub_i32", "v_add_u16", "v_sub_u16", "v_subrev_u16",
                 "v_add_i16", "v_sub_i16",
                 "v_addc_co_u32", "v_subb_co_u32", "v_subbrev_co_u32", "v_mad_legacy_u16", "v_mad_legacy_i16", "v_dot2c_i32_i16",
                 "v_dot8c_i32_i4"}
    gfx11_only = {"v_maxmin_i32", "v_maxmin_u32", "v_minmax_i32", "v_minmax_u32", "v_dot4_i32_iu8", "v_cvt_i32_i16",
                  "v_cvt_u32_u16"}
    halves = {"v_mov_b16", "v_not_b16", "v_and_b16", "v_or_b16", "v_xor_b16", "v_cndmask_b16"}   # test_gfx11.py
    if name in halves:
        return True
    if name == "v_lshl_add_u64":
        return card != "gfx942"
    if name in gfx11_only:
        return not card.startswith(("gfx11", "gfx12"))
    if card.startswith("gfx12") and name.startswith(("v_cmp_", "v_cmpx_")) and name.split("_")[2] in ("f", "t", "tru"):
        return True
    if card.startswith(("gfx11", "gfx12")) and name in ("v_dot2_i32_i16", "v_dot2_u32_u16", "v_dot4_i32_i8", "v_dot8_i32_i4",
                                                        "v_dot4c_i32_i8"):
        return True
    if card.startswith("gfx9"):
        return dots or "_nc_" in name or "_co_ci_" in name or name in ("v_xor3_b32",) or (name == "v_xnor_b32"
                                                                                          and card == "gfx900")
    return name in gfx9_only


if __name__ == "__main__":
    sys.exit(main())
