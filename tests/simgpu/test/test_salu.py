"""Every row of isa/salu.c against ref_salu.py, on each card and wave size that has it, and the control instructions of
isa/control.c. Register operands, constants of all kinds, special sources and results; edge values in all pairs, then random ones
(the seed is printed and may be given as the second argument)."""
# SPDX-License-Identifier: Apache-2.0
import itertools
import random
import sys
from types import SimpleNamespace

import ops
import ref_salu

EDGES = {"s": [0, 1, 2, 31, 32, 33, 0x7f, 0x80, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe,
               0xffffffff,
               0x12345678, 0x00100004, 0x00200010, 0x007f001f, 0x0040003f],
         "S": [0, 1, 63, 64, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
               0xffffffffffffffff,
               0x123456789abcdef0, 0xf0f0f0f000000001]}
BITS = {"s": 32, "S": 64}
RESULT, SOURCES = 10, (12, 14)
KEPT = (9, 16)                # neighbours that nothing may touch; and RESULT + 1 of 32-bit results
EXECS = (0xffffffffffffffff, 0, 0x8000000000000001, 0x00000000ffff0000, 0xdeadbeef01234567)


def name_of(letter, reg):
    return f"s{reg}" if letter == "s" else f"s[{reg}:{reg + 1}]"


def words(letter, reg, value):
    return {reg: value % 2**32} if letter == "s" else {reg: value % 2**32, reg + 1: value >> 32}


class Failures:
    def __init__(self):
        self.count = self.checks = 0

    def check(self, what, got, want):
        self.checks += 1
        if got != want:
            self.count += 1
            if self.count <= 40:
                print(f"FAIL {what}: got {show(got)}, want {show(want)}")


def show(x):
    return [show(y) for y in x] if isinstance(x, (list, tuple)) else hex(x) if isinstance(x, int) else repr(x)


def value_sets(row, rng):
    columns = [EDGES[letter] for letter in row.sources]
    sets = list(itertools.product(*columns))
    for _ in range(60):
        sets.append(tuple(rng.getrandbits(BITS[letter]) >> rng.randrange(BITS[letter]) for letter in row.sources))
    return sets


def immediates(row, rng):
    """SOPK's immediates as (text, value)."""
    if not (row.name.startswith("s_cmpk") or row.name in ("s_movk_i32", "s_cmovk_i32", "s_addk_i32", "s_mulk_i32")):
        return [None]
    return [0, 1, -1, 0x7fff, -0x8000, 5, -5, rng.randrange(-0x8000, 0x8000)]


def state(values, row, rng):
    return SimpleNamespace(scc=rng.getrandbits(1), old=rng.getrandbits(BITS[row.results]) if row.results else 0,
                           exec=rng.choice(EXECS), k=0)


def run_row(o, row, k, values, m, failures, what):
    """Queues one execution; returns what to compare with later."""
    s = {reg: 0xa5a50000 + reg for reg in KEPT}
    s[RESULT + 1] = 0xa5a50001
    for letter, reg, value in zip(row.sources, SOURCES, values):
        s.update(words(letter, reg, value))
    if row.results:
        s.update(words(row.results, RESULT, m.old))
    reads = [f"s{RESULT}", f"s{RESULT + 1}", "scc", "exec", "state"] + [f"s{reg}" for reg in KEPT]
    o.queue(k, reads, s=s, scc=m.scc, exec=m.exec)
    out = ref_salu.REF[row.name](m, *values)
    result, scc, execute = out if len(out) == 3 else (*out, None)
    if result is None:
        result = m.old
    high = result >> 32 if row.results == "S" else 0xa5a50001
    low = result % 2**32 if row.results else None
    return (f"{what} {show(values)} {m}",
            [low, high, m.scc if scc is None else scc, m.exec if execute is None else execute, "running"]
            + [0xa5a50000 + reg for reg in KEPT])


def compare(o, wants, failures):
    for got, (what, want) in zip(o.flush(), wants):
        if want[0] is None:
            want[0] = got[0]
        failures.check(what, got, want)


def test_rows(o, table, rng, failures):
    """Register operands: all pairs of edges and random ones."""
    todo = []
    for row in table:
        operands = ([name_of(row.results, RESULT)] if row.results else []) + [name_of(l, r) for l, r in zip(row.sources, SOURCES)]
        for imm in immediates(row, rng):
            text = f"{row.name} " + ", ".join(operands + ([] if imm is None else [str(imm) if imm >= 0 else hex(imm % 2**16)]))
            todo.append((row, imm, o.asm(text), text))
    o.ready()
    for row, imm, k, text in todo:
        wants = []
        for values in value_sets(row, rng) if row.sources else [()] * 40:
            m = state(values, row, rng)
            m.k = imm or 0
            wants.append(run_row(o, row, k, values, m, failures, text))
        compare(o, wants, failures)
    return len(todo)


# Constants: text, its 32-bit and its 64-bit meaning.  A literal's widening depends on the type.
CONSTANTS = [("0", 0, 0), ("64", 64, 64), ("-1", 2**32 - 1, 2**64 - 1), ("-16", 2**32 - 16, 2**64 - 16),
             ("0.5", 0x3f000000, 0x3fe0000000000000),
             ("-0.5", 0xbf000000, 0xbfe0000000000000), ("1.0", 0x3f800000, 0x3ff0000000000000),
             ("-1.0", 0xbf800000, 0xbff0000000000000),
             ("2.0", 0x40000000, 0x4000000000000000), ("-2.0", 0xc0000000, 0xc000000000000000),
             ("4.0", 0x40800000, 0x4010000000000000),
             ("-4.0", 0xc0800000, 0xc010000000000000), ("0.15915494", 0x3e22f983, 0x3fc45f306dc9c882),
             ("0x12345678", 0x12345678, 0x12345678),
             ("0x80000001", 0x80000001, 0x80000001)]


def test_constants(o, table, rng, failures):
    """Each constant as the first source; 64-bit literals are sign-extended for i64 and zero-extended for the rest."""
    todo = []
    for row in table:
        if not row.sources or row.name.startswith("s_cmpk"):
            continue
        rest = [name_of(l, r) for l, r in zip(row.sources[1:], SOURCES[1:])]
        for text, narrow, wide in CONSTANTS:
            if row.sources[0] == "S" and text.startswith("0.159"):
                text = "0.15915494309189532"
            if row.sources[0] == "S" and text == "0x80000001" and row.name.endswith("_i64"):
                text, wide = "0xffffffff80000001", 0xffffffff80000001
            line = f"{row.name} " + ", ".join(([name_of(row.results, RESULT)] if row.results else []) + [text] + rest)
            todo.append((row, line, o.asm(line), narrow if row.sources[0] == "s" else wide))
    o.ready()
    for row, line, k, first in todo:
        wants = []
        for _ in range(3):
            values = (first,) + tuple(rng.getrandbits(BITS[l]) for l in row.sources[1:])
            wants.append(run_row(o, row, k, values, state(values, row, rng), failures, line))
        compare(o, wants, failures)


def test_specials(o, gfx10, failures):
    """Special sources and results of s_mov."""
    exec_now, vcc = 0x00ff00ff00ff00ff if o.wave == 64 else 0x00ff00ff, 0x123456789abcdef0
    cases = [("s_mov_b32 s10, m0", "s10", 0x77), ("s_mov_b32 s10, vcc_lo", "s10", vcc % 2**32),
             ("s_mov_b32 s10, vcc_hi", "s10", vcc >> 32),
             ("s_mov_b64 s[10:11], exec", "s10", 0x00ff00ff), ("s_mov_b32 s10, src_scc", "s10", 1),
             ("s_mov_b32 s10, src_vccz", "s10", 0),
             ("s_mov_b32 s10, src_execz", "s10", 0), ("s_mov_b64 s[10:11], src_shared_base", "s11", 0x00010000),
             ("s_mov_b64 s[10:11], src_shared_base", "s10", 0), ("s_mov_b64 s[10:11], src_private_base", "s11", 0x00020000),
             ("s_mov_b64 s[10:11], src_shared_limit", "s10", 0xffffffff), ("s_mov_b32 m0, 5", "m0", 5),
             ("s_mov_b64 vcc, -3", "vcc", 2**64 - 3),
             ("s_mov_b32 s10, ttmp3", "s10", 0x333), ("s_mov_b32 vcc_hi, 9", "vcc", 9 << 32 | vcc % 2**32)]
    if gfx10:
        cases += [("s_mov_b32 s10, null", "s10", 0), ("s_mov_b64 s[10:11], null", "s11", 0), ("s_mov_b32 null, 7", "s10", 0xa5a5),
                  ("s_mov_b32 s105, 7", "s105", 7)]
    numbers = [o.asm(text) for text, _, _ in cases]
    o.ready()
    for (text, read, want), k in zip(cases, numbers):
        got = o.run(k, [read, "state"], s={10: 0xa5a5, 11: 0xa5a5, 111: 0x333}, m0=0x77, vcc=vcc, exec=exec_now, scc=1)
        failures.check(text, got, [want, "running"])


def test_movrel(o, failures):
    texts = ["s_movrels_b32 s10, s20", "s_movrels_b64 s[10:11], s[20:21]", "s_movreld_b32 s10, s20",
             "s_movreld_b64 s[10:11], s[20:21]"]
    if o.card >= "gfx10" and len(o.card) > 6:
        texts.append("s_movrelsd_2_b32 s10, s20")
    numbers = [o.asm(text) for text in texts]
    o.ready()
    for by in (0, 2, 6, 60):
        for text, k in zip(texts, numbers):
            s = {reg: 0x1000 + reg for reg in range(106)}
            want = dict(s)
            pair = "b64" in text
            if "movrels_" in text:
                want[10], want[11] = s[20 + by], s[21 + by] if pair else s[11]
            elif "movreld" in text:
                want[10 + by] = s[20]
                want[11 + by] = s[21] if pair else want[11 + by]
            else:
                want[10 + 4] = s[20 + by]
            m0 = by if "sd_2" not in text else by | 4 << 16
            got = o.run(k, [f"s{reg}" for reg in range(106)], s=s, m0=m0)
            failures.check(f"{text} m0={m0:#x}", got, [want[reg] for reg in range(106)])
    for text, k in zip(texts, numbers):
        got = o.run(k, ["state"], m0=0x7fffffff)
        failures.check(f"{text} far out", got[0].startswith("stopped illegal instruction (M0 leads out"), True)


# ---- Control ----

def branch_cases(gfx10):
    cases = [("s_branch", {}, True)]
    for scc in (0, 1):
        cases += [("s_cbranch_scc0", {"scc": scc}, not scc), ("s_cbranch_scc1", {"scc": scc}, bool(scc))]
    for mask in (0, 1, 1 << 31, 1 << 40):
        for name in ("vcc", "exec"):
            cases += [(f"s_cbranch_{name}z", {name: mask}, None), (f"s_cbranch_{name}nz", {name: mask}, None)]
    return cases + [(f"s_cbranch_{name}", {}, False) for name in ("cdbgsys", "cdbguser", "cdbgsys_or_user", "cdbgsys_and_user")]


def test_branches(o, gfx10, failures):
    for name, settings, taken in branch_cases(gfx10):
        if taken is None:
            mask = next(iter(settings.values())) % (1 << o.wave)
            taken = (mask != 0) == name.endswith("nz")
        k = o.asm(f"{name} T")
        o.asm("s_mov_b32 s10, 1")
        o.asm("s_endpgm")
        o.asm("T:")
        o.asm("s_mov_b32 s10, 2")
        o.asm("s_endpgm")
        o.ready()
        for _ in range(2):      # the second time the target is known
            failures.check(f"{name} {settings}", o.run(k, ["s10", "state"], go=True, s={10: 0}, **settings),
                           [2 if taken else 1, "ended"])


CALLS = """s_getpc_b64 s[20:21]
s_add_u32 s20, s20, F-P
P:
s_addc_u32 s21, s21, 0
s_mov_b32 s10, 0
s_mov_b32 s11, 3
L:
s_swappc_b64 s[30:31], s[20:21]
s_sub_u32 s11, s11, 1
s_cmp_lg_u32 s11, 0
s_cbranch_scc1 L
s_call_b64 s[30:31], F
s_endpgm
F:
s_add_u32 s10, s10, 7
s_setpc_b64 s[30:31]"""


def test_calls(o, failures):
    for line in CALLS.splitlines():
        # s_getpc gives the place behind itself, where the sum's instruction (8 bytes) begins
        o.asm(line.replace("F-P", "F-P+8"))
    o.ready()
    failures.check("calls", o.run(0, ["s10", "state", "s11"], go=True), [28, "ended", 0])


def test_states(o, gfx10, failures):
    cases = [("s_endpgm", "ended"), ("s_barrier", "barrier"), ("s_sleep 1", "asleep"), ("s_trap 3", "running"),
             ("s_nop 0", "running"),
             ("s_waitcnt vmcnt(0) lgkmcnt(0)", "running"), ("s_setprio 3", "running"),
             ("s_sendmsg sendmsg(MSG_INTERRUPT)", "running"),
             ("s_trap 2", "stopped trap 2: s_trap 2 at "), ("s_sethalt 1", "stopped illegal instruction ("),
             ("s_icache_inv", "running"),
             ("s_sendmsg sendmsg(MSG_GS_DONE, GS_OP_NOP)", "stopped illegal instruction ("), ("s_endpgm_saved", "ended"),
             ("s_wakeup", "running"),
             ("s_ttracedata", "running"), ("s_setkill 1", "stopped illegal instruction ("),
             ("s_sendmsghalt 1", "stopped illegal instruction ("),
             ("s_incperflevel 1", "running"), ("s_decperflevel 1", "running"),
             ("s_rfe_b64 s[2:3]", "stopped illegal instruction ("),
             ("s_getreg_b32 s0, hwreg(9)", "stopped illegal instruction (this hardware register"),
             ("s_endpgm_ordered_ps_done", "ended"),
             ("s_setreg_b32 hwreg(HW_REG_STATUS), s0", "stopped illegal instruction (this hardware register cannot be written")]
    if gfx10:
        cases += [("s_code_end", "stopped illegal instruction ("), ("s_clause 3", "running"), ("s_inst_prefetch 3", "running"),
                  ("s_waitcnt_vscnt null, 0", "running"), ("s_waitcnt_vmcnt null, 0", "running"),
                  ("s_waitcnt_expcnt null, 0", "running"),
                  ("s_waitcnt_lgkmcnt null, 0", "running"), ("s_waitcnt_depctr 0xfffe", "running"), ("s_version 3", "running"),
                  ("s_ttracedata_imm 1", "running")]
    numbers = [o.asm(text) for text, _ in cases]
    o.ready()
    for (text, want), k in zip(cases, numbers):
        failures.check(text, o.run(k, ["state"], s={0: 0})[0][:len(want)], want)


def test_hwreg(o, gfx10, rng, failures):
    fields = [(0, 32), (0, 4), (4, 2), (6, 2), (8, 1), (9, 1), (31, 1), (3, 7)]
    get = [o.asm(f"s_getreg_b32 s10, hwreg(HW_REG_MODE, {at}, {n})") for at, n in fields]
    put = [o.asm(f"s_setreg_b32 hwreg(HW_REG_MODE, {at}, {n}), s12") for at, n in fields]
    imm = [o.asm(f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, {at}, {n}), 0x5a5a5a5a") for at, n in fields]
    bases = o.asm("s_getreg_b32 s10, hwreg(HW_REG_SH_MEM_BASES, 16, 16)")
    status = o.asm("s_getreg_b32 s10, hwreg(HW_REG_STATUS)")
    modes = [o.asm(text) for text in (["s_round_mode 5", "s_denorm_mode 10"] if gfx10 else [])]
    scratch = [o.asm(text) for text in (["s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s12",
                                         "s_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), s12",
                                         "s_getreg_b32 s10, hwreg(HW_REG_FLAT_SCR_LO, 8, 16)",
                                         "s_getreg_b32 s10, hwreg(HW_REG_FLAT_SCR_HI)"]
                                        if gfx10 else [])]
    o.ready()
    for (at, n), g, p, i in zip(fields, get, put, imm):
        mask = (1 << n) - 1
        for _ in range(8):
            mode, value = rng.getrandbits(32), rng.getrandbits(32)
            failures.check(f"getreg {at} {n}", o.run(g, ["s10", "mode"], mode=mode), [mode >> at & mask, mode])
            for k, x in ((p, value), (i, 0x5a5a5a5a)):
                failures.check(f"setreg {at} {n} {x:#x}", o.run(k, ["mode"], mode=mode, s={12: value}),
                               [mode & ~(mask << at) & 0xffffffff | (x & mask) << at])
    failures.check("apertures", o.run(bases, ["s10"]), [1])
    for scc, execute, vcc in itertools.product((0, 1), (0, 1), (0, 1)):
        got = o.run(status, ["s10"], scc=scc, exec=execute, vcc=vcc)[0]
        failures.check("status", (got & 1, got >> 9 & 1, got >> 10 & 1), (scc, 1 - execute, 1 - vcc))
    if gfx10:
        failures.check("s_round_mode", o.run(modes[0], ["mode"], mode=0x3fff), [0x3ff5])
        failures.check("s_denorm_mode", o.run(modes[1], ["mode"], mode=0x3f3f), [0x3faf])
        o.run(scratch[0], s={12: 0x11223344})
        o.run(scratch[1], s={12: 0x55667788})
        failures.check("flat scratch", o.run(scratch[2], ["s10"]) + o.run(scratch[3], ["s10"]), [0x2233, 0x55667788])


SUBVECTOR = """s_subvector_loop_begin s20, E
L:
s_add_u32 s10, s10, 1
s_or_b32 s11, s11, exec_lo
s_or_b32 s12, s12, exec_hi
s_subvector_loop_end s20, L
E:
s_endpgm"""


def test_subvector(o, failures):
    for line in SUBVECTOR.splitlines():
        o.asm(line)
    o.ready()
    for mask, passes in ((0, 0), (0x5, 1), (0x700000000, 1), (0x900000006, 2)):
        got = o.run(0, ["s10", "s11", "s12", "exec", "state"], go=True, s={10: 0, 11: 0, 12: 0}, exec=mask)
        failures.check(f"subvector {mask:#x}", got, [passes, mask % 2**32, mask >> 32, mask, "ended"])


INDEXING = """s_set_gpr_idx_on s10, gpr_idx(SRC0)
v_mov_b32 v0, v1
s_set_gpr_idx_off
s_set_gpr_idx_on s10, gpr_idx(DST)
v_mov_b32 v2, v1
s_set_gpr_idx_mode gpr_idx(SRC0,DST)
v_mov_b32 v20, v1
s_set_gpr_idx_idx s11
v_mov_b32 v30, v1
s_set_gpr_idx_off
v_mov_b32 v40, v1
s_endpgm"""


def test_indexing(o, failures):
    for line in INDEXING.splitlines():
        o.asm(line)
    o.ready()
    v = {reg: 0x100 + reg for reg in range(60)}
    got = o.run(0, ["v0", "v7", "v25", "v33", "v40", "state"], go=True, v=v, s={10: 5, 11: 3}, exec=ops.EXEC_ALL[64])
    failures.check("indexing", [x if isinstance(x, str) else x[0] for x in got], [0x106, 0x101, 0x106, 0x104, 0x101, "ended"])
    got = o.run(0, ["state"], go=True, s={10: 255}, exec=1)
    failures.check("indexing far out", got[0].startswith("stopped illegal instruction (M0 leads out of the vector"), True)


# The control rows that the tests above execute, for test_ops.py.
def control_texts():
    cases = [name for name, _, _ in branch_cases(True)]
    return " ".join(cases + [CALLS, SUBVECTOR, INDEXING, open(__file__, encoding="utf-8").read()])


def test_card(card, wave, rng, failures):
    gfx10 = card.startswith("gfx1")
    table = [row for row in ops.rows() if row.name in ref_salu.REF and row.on(card)]
    with ops.Ops(card, wave) as o:
        probe = [(row, f"{row.name} ") for row in table]
        if not gfx10:
            table = [row for row, _ in probe if assembles(o, row)]
        lines = test_rows(o, table, rng, failures)
        test_constants(o, table, rng, failures)
        test_specials(o, gfx10, failures)
        test_movrel(o, failures)
        test_branches(o, gfx10, failures)
        test_calls(o, failures)
        test_states(o, gfx10, failures)
        test_hwreg(o, gfx10, rng, failures)
        if gfx10 and wave == 64:
            test_subvector(o, failures)
        if not gfx10:
            test_indexing(o, failures)
    return len(table), lines


def assembles(o, row):
    operands = ([name_of(row.results, RESULT)] if row.results else []) + [name_of(l, r) for l, r in zip(row.sources, SOURCES)]
    return o.assembles(f"{row.name} " + ", ".join(operands + ([] if immediates(row, random.Random(0)) == [None] else ["5"])))


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    print(f"seed {seed}")
    failures = Failures()
    for card, wave in (("gfx1030", 32), ("gfx1030", 64), ("gfx900", 64), ("gfx90a", 64)):
        rows, lines = test_card(card, wave, random.Random(seed), failures)
        print(f"{card} wave{wave}: {rows} rows, {lines} forms")
        old = [name for name in ref_salu.REF if name not in ref_salu.LATER]
        if card == "gfx1030" and rows != len(old):
            failures.check("rows of gfx1030 with a reference", rows, len(old))
    print(f"{failures.checks} checks, {failures.count} failures")
    return 1 if failures.count else 0


if __name__ == "__main__":
    sys.exit(main())
