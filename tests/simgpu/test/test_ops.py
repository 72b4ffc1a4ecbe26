"""The table as a whole, the decoder and the loop: every row is an instruction of LLVM's and has a test, every instruction of
LLVM's has a row or is named below, every encoding is understood or refused; faults, re-decoding and counts.  What instructions
do is the other tests' matter."""
# SPDX-License-Identifier: Apache-2.0
import glob
import importlib
import os
import random
import re
import sys

import ops
import test_gfx11
import test_gfx12
from test_salu import Failures

CARDS = ("gfx1030", "gfx900", "gfx906", "gfx90a", "gfx942")

# Instructions that have no row, and why not: graphics only, debugging, or never emitted for kernels.
NOT_SIMULATED = re.compile("|".join((
    r"exp", r"v_interp_.*", r"ds_ordered_count",                 # graphics
    r"ds_gws_sema_.*",                                            # semaphores: no compiler emits them
    r"s_scratch_.*", r"s_dcache_discard.*", r"buffer_store_lds_dword", r"v_screen_partition_4se_b32", r"s_atc_probe.*",
    r"ds_condxchg32_rtn_b\d+", r"ds_\w+_src2_\w+",
    r"(global|scratch)_load_lds_\w+",                             # gfx942's loads that go to LDS,
    # and its floats of 8 bits, which have a bias of their own: our compiler emits neither
    r"v_cvt_\w*(fp8|bf8)\w*", r"v_s?mfma\w*_(fp8|bf8)\w*",
    r"image_.*",                                                  # beyond linear images without mip levels, and all of gfx9's
)))

# Rows whose arithmetic references judge; the others have tests of their own, which name them.
JUDGED = {"VALU", "TRANS", "F64", "LANES", "SALU"}
# test_mem.py and test_valu_matrix.py run every row of these themselves, and fail on one that they do not know.
ELSEWHERE = {"SMEM", "VMEM_LOAD", "VMEM_STORE", "VMEM_ATOMIC", "SCRATCH", "LDS", "IMAGE", "MATRIX"}


def first_words():
    """First dwords that reach every opcode of every encoding."""
    for high in range(0x10000):
        if high >> 7 == 0x17d:          # SOP1
            lows = range(0, 0x10000, 0x100)
        elif high >> 9 == 0x3f:         # VOP1
            lows = range(0, 0x10000, 0x200)
        elif high >> 10 == 0x37:        # FLAT, GLOBAL, SCRATCH
            lows = (0, 0x4000, 0x8000, 0xc000)
        else:
            lows = (0,)
        for low in lows:
            yield high << 16 | low


def decoded(o, encodings):
    """(text, row and complaint) of each encoding, five dwords each."""
    batch = []
    for words in encodings:
        batch.append(words)
        if len(batch) == 4000:
            yield from decode_batch(o, batch)
            batch = []
    yield from decode_batch(o, batch)


def decode_batch(o, batch):
    for words in batch:
        o.asm(".long " + ",".join(map(hex, words)))
    o.ready()
    return o.texts(len(batch))


def mnemonic(text):
    word = text.split()[0]
    for _ in range(2):
        word = re.sub(r"_(e32|e64|dpp|dpp8|sdwa)$", "", word)
    return word


# Complaints that say nothing against the table.
FAIR = re.compile(r"illegal: (the encoding is malformed|these bytes are no instruction|this source is not simulated|"
                  r"'.*(src_flat_scratch_base_(lo|hi)|UC_VERSION).*' is (not understood|one operand too many)|'.*' is outside "
                  r"of the registers)")


def to_lds(text, verdict):
    """Loads that go to LDS have no result; flat ones are no instructions of these cards but have encodings."""
    return text.endswith(" lds") and "operands are missing" in verdict


def test_encodings(card, table, rng, failures):
    """Every opcode, with operands 0 and with random ones.  Returns LLVM's mnemonics."""
    names, missing, complaints = set(), set(), {}
    plain = ([w, 0, 0, 0, 0] for w in first_words())
    wild = ([w | (rng.getrandbits(16) if not w & 0xffff else rng.getrandbits(8))] + [rng.getrandbits(32) for _ in range(4)]
            for w in first_words())
    with ops.Ops(card) as o:
        for encodings in (plain, wild):
            for text, verdict in decoded(o, encodings):
                if text.startswith(".long"):
                    continue
                name = mnemonic(text)
                names.add(name)
                if "the instruction is not simulated" in verdict:
                    missing.add(name)
                elif "illegal: " in verdict and not FAIR.search(verdict) and not to_lds(text, verdict):
                    complaints.setdefault(name, (text, verdict))
    failures.check(f"{card}: instructions without a row that are not in NOT_SIMULATED",
                   " ".join(name for name in sorted(missing) if not NOT_SIMULATED.fullmatch(name)), "")
    for name, (text, verdict) in sorted(complaints.items()):
        failures.check(f"{card}: {text}", verdict, "")
    print(f"{card}: {len(names)} instructions, {len(names) - len(missing)} have rows")
    return names


def test_names(table, names, failures):
    """Each row is an instruction of a card it is for."""
    strange = [row.name for row in table if row.name not in test_gfx11.OWN | test_gfx12.OWN
               and not row.name.startswith("v_wmma_") and
               not any(row.name in names[card] for card in CARDS if row.on(card))]
    failures.check("rows that are no instruction of their cards", " ".join(strange), "")


def modules():
    here = os.path.dirname(os.path.abspath(__file__))
    for path in sorted(glob.glob(os.path.join(here, "ref_*.py"))):
        yield importlib.import_module(os.path.basename(path)[:-3])


def test_references(table, failures):
    known = set()
    for module in modules():
        for group in ("REF", "WAVE", "BY_TEST"):
            known |= set(getattr(module, group, ()))
    texts = ""
    here = os.path.dirname(os.path.abspath(__file__))
    for path in glob.glob(os.path.join(here, "test_*.py")) + glob.glob(os.path.join(here, "ref_*.py")):
        if not path.endswith("test_ops.py"):
            texts += open(path, encoding="utf-8").read()
    words = set(re.findall(r"\w+", texts))
    import test_salu
    words |= set(re.findall(r"\w+", test_salu.control_texts()))
    by_name = {row.name for row in table if row.cls == "LANES"} & words | {"s_getpc_b64"}
    unjudged = [row.name for row in table if row.cls in JUDGED and row.name not in known | by_name | test_gfx12.FLOATS]
    failures.check("rows without a reference", " ".join(unjudged), "")
    untested = [row.name for row in table if row.cls not in JUDGED | ELSEWHERE and row.name not in words | known | REFUSED]
    failures.check("rows without a test", " ".join(untested), "")


# Rows that only refuse, tested here.
REFUSED = {"s_setvskip", "s_rfe_restore_b64", "s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join", "v_illegal",
           "s_wait_idle",
           "v_clrexcp", "v_pipeflush", "s_set_gpr_idx_mode"}
REFUSALS = {"gfx900": ["s_setvskip s0, s1", "s_cbranch_g_fork s[0:1], s[2:3]", "s_cbranch_i_fork s[0:1], 4", "s_cbranch_join s0",
                       "s_set_gpr_idx_off",
                       "s_set_gpr_idx_mode gpr_idx(SRC0)", "s_set_gpr_idx_idx s0", "s_rfe_restore_b64 s[0:1], s2"],
            "gfx942": ["v_cvt_f32_fp8 v0, v1", "global_load_lds_dword v[0:1], off"],
            "gfx1030": [".long 0", "exp mrt0 v0, v1, v2, v3 done", "v_mov_b32 v0, src_lds_direct", ".long 0xffffffff"]}


def test_refusals(failures):
    for card, texts in REFUSALS.items():
        with ops.Ops(card) as o:
            numbers = [o.asm(text) for text in texts]
            o.ready()
            for text, k in zip(texts, numbers):
                failures.check(f"{card}: {text}", o.run(k, ["state"])[0].startswith("stopped illegal instruction ("), True)
    with ops.Ops("gfx1030") as o:
        numbers = [o.asm(text) for text in ("s_wait_idle", "v_clrexcp", "v_pipeflush")]
        o.ready()
        for k in numbers:
            failures.check(f"hint {k}", o.run(k, ["state"]), ["running"])


def test_faults(failures):
    with ops.Ops("gfx1030") as o:
        o.asm("s_setpc_b64 s[0:1]")
        o.asm("v_mov_b32 v24, v3")
        o.asm("v_add_f64 v[22:23], v[0:1], v[2:3]")
        o.ready()
        for pc, want in ((0x10, "stopped memory fault: code fetch of 4 bytes at 0x10 ("),
                         (0x200000002, "stopped illegal instruction (the program counter"),
                         (0x100000000, "stopped illegal instruction (these bytes"),
                         (0x200ffffffc, "stopped illegal instruction (")):
            if pc == 0x100000000:
                o.set(mem={0: [0xffffffff] * 8})
            if pc == 0x200ffffffc:
                pc = 0x200fffffc + 0x8     # the end of the code's 16 MiB: past it
                want = "stopped memory fault: code fetch"
            got = o.run(0, ["state"], go=True, s={0: pc % 2**32, 1: pc >> 32})
            failures.check(f"jump to {pc:#x}", got[0][:len(want)], want)
        # the block and wave are named, and the lane of vector faults
        failures.check("where", bool(re.search(r"at 0x200000002, block 0,0,0 wave 0$",
                                               o.run(0, ["state"], go=True, s={0: 2, 1: 2})[0])), True)
        o.vgprs(24)
        failures.check("v24 of 24", o.run(1, ["state"])[0].startswith("stopped illegal instruction (it names a vector register"),
                       True)
        failures.check("v[22:23] of 24", o.run(2, ["state"]), ["running"])
        o.vgprs(23)
        failures.check("v[22:23] of 23",
                       o.run(2, ["state"])[0].startswith("stopped illegal instruction (it names a vector register"), True)


def test_new_code(failures):
    """Other code at the same addresses, longer and shorter instructions, many times; and loops whose links are known."""
    with ops.Ops("gfx1030") as o:
        for turn in range(30):
            o.asm("s_mov_b32 s1, 4")
            o.asm("L:")
            o.asm(f"s_add_u32 s0, s0, {[1, 0x12345][turn % 2]:#x}")
            if turn % 3 == 0:
                o.asm("s_nop 0")
            o.asm("s_sub_u32 s1, s1, 1")
            o.asm("s_cmp_lg_u32 s1, 0")
            o.asm("s_cbranch_scc1 L")
            o.asm("s_endpgm")
            o.ready()
            failures.check(f"turn {turn}", o.run(0, ["s0", "state"], go=True, s={0: 0}), [4 * [1, 0x12345][turn % 2], "ended"])


CLASSES = ("VALU TRANS F64 LANES MATRIX SALU SMEM VMEM_LOAD VMEM_STORE VMEM_ATOMIC SCRATCH LDS IMAGE "
           "BRANCH BARRIER WAIT OTHER").split()


def test_counts(failures):
    with ops.Ops("gfx1030", 32) as o:
        for text in ("s_mov_b32 s1, 3", "L:", "v_add_nc_u32 v0, v1, v2", "v_exp_f32 v3, v4", "s_sub_u32 s1, s1, 1",
                     "s_cmp_lg_u32 s1, 0", "s_waitcnt 0",
                     "s_cbranch_scc1 L", "s_endpgm"):
            o.asm(text)
        o.ready()
        stats = o.run(0, ["stats"], go=True, exec=0xff)[0]
        counts = dict(zip(CLASSES, (int(x, 16) for x in stats)))
        failures.check("classes", {k: v for k, v in counts.items() if v},
                       {"VALU": 3, "TRANS": 3, "SALU": 7, "WAIT": 3, "BRANCH": 4})
        failures.check("lanes", [int(x, 16) for x in stats[18:20]], [48, 192])
        failures.check("taken", int(stats[-1], 16), 2)


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    print(f"seed {seed}")
    failures = Failures()
    table = ops.rows()
    print(f"{len(table)} rows")
    names = {card: test_encodings(card, table, random.Random(seed), failures) for card in CARDS}
    test_names(table, names, failures)
    test_references(table, failures)
    test_refusals(failures)
    test_faults(failures)
    test_new_code(failures)
    test_counts(failures)
    print(f"{failures.checks} checks, {failures.count} failures")
    return 1 if failures.count else 0


if __name__ == "__main__":
    sys.exit(main())
