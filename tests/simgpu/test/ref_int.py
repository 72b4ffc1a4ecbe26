"""References of integer vector instructions, in plain Python integers: what one lane gives, written apart from isa/valu_int.c.

REF maps a mnemonic to a function (m, *sources) -> result, or a tuple when there are several.  Sources and results are unsigned
numbers of as many bits as the signature's letter says; a lane mask is this lane's bit.  `m` has clamp, mode (the MODE register),
old (the result register before) and card.  WAVE maps what crosses lanes to a function (m, exec, lanes, *sources) over whole
registers; see each.  How operands get here (DPP, SDWA, op_sel, exec) is test_valu_int.py's matter.
"""
# SPDX-License-Identifier: Apache-2.0

REF = {}
WAVE = {}


def ref(*names):
    def add(function):
        for name in names:
            REF[name] = function
        return function
    return add


def signed(x, bits):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def fit(m, x, bits, is_signed):
    """An exact result in `bits` bits: saturated when the instruction clamps, else what is left of it."""
    if m.clamp:
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
        x = min(max(x, low), high)
    return x & ((1 << bits) - 1)


def pieces(x, bits, count, is_signed=False):
    parts = [x >> bits * n & ((1 << bits) - 1) for n in range(count)]
    return [signed(p, bits) for p in parts] if is_signed else parts


def join(parts, bits):
    return sum((p & ((1 << bits) - 1)) << bits * n for n, p in enumerate(parts))


# ---- Bits ----

REF.update({
    "v_mov_b32": lambda m, a: a,
    "v_not_b32": lambda m, a: 0xFFFFFFFF - a,
    "v_bfrev_b32": lambda m, a: int(format(a, "032b")[::-1], 2),
    "v_ffbh_u32": lambda m, a: 32 - a.bit_length() if a else 0xFFFFFFFF,
    "v_ffbl_b32": lambda m, a: (a & -a).bit_length() - 1 if a else 0xFFFFFFFF,
    "v_and_b32": lambda m, a, b: a & b,
    "v_or_b32": lambda m, a, b: a | b,
    "v_xor_b32": lambda m, a, b: a ^ b,
    "v_xnor_b32": lambda m, a, b: 0xFFFFFFFF - (a ^ b),
    "v_bcnt_u32_b32": lambda m, a, b: (bin(a).count("1") + b) % 2**32,
    "v_bfm_b32": lambda m, a, b: ((2 ** (a % 32) - 1) * 2 ** (b % 32)) % 2**32,
    "v_bfi_b32": lambda m, a, b, c: sum(((b if a >> n & 1 else c) >> n & 1) << n for n in range(32)),
    "v_bfe_u32": lambda m, a, b, c: (a // 2 ** (b % 32)) % 2 ** (c % 32),
    "v_and_or_b32": lambda m, a, b, c: (a & b) | c,
    "v_or3_b32": lambda m, a, b, c: a | b | c,
    "v_xor3_b32": lambda m, a, b, c: a ^ b ^ c,
    "v_xad_u32": lambda m, a, b, c: ((a ^ b) + c) % 2**32,
    "v_add3_u32": lambda m, a, b, c: (a + b + c) % 2**32,
    "v_lshl_add_u64": lambda m, a, b, c: (a * 2 ** (b % 8) + c) % 2**64,
    "v_lshl_add_u32": lambda m, a, b, c: (a * 2 ** (b % 32) + c) % 2**32,
    "v_add_lshl_u32": lambda m, a, b, c: (a + b) * 2 ** (c % 32) % 2**32,
    "v_lshl_or_b32": lambda m, a, b, c: (a * 2 ** (b % 32) % 2**32) | c,
    "v_alignbit_b32": lambda m, a, b, c: (a * 2**32 + b) // 2 ** (c % 32) % 2**32,
    "v_alignbyte_b32": lambda m, a, b, c: (a * 2**32 + b) // 256 ** (c % 4) % 2**32,
    "v_cndmask_b32": lambda m, a, b, which: b if which else a,
    "v_cndmask_b16": lambda m, a, b, which: b if which else a,
    "v_mov_b16": lambda m, a: a,
    "v_not_b16": lambda m, a: 0xFFFF - a,
    "v_and_b16": lambda m, a, b: a & b,
    "v_or_b16": lambda m, a, b: a | b,
    "v_xor_b16": lambda m, a, b: a ^ b,
    "v_cvt_i32_i16": lambda m, a: signed(a, 16) % 2**32,
    "v_cvt_u32_u16": lambda m, a: a,
    "v_nop": lambda m: (),
})


@ref("v_ffbh_i32")
def ffbh_i32(m, a):
    text = format(a, "032b")
    other = text.find("1" if text[0] == "0" else "0")
    return other if other >= 0 else 0xFFFFFFFF


@ref("v_bfe_i32")
def bfe_i32(m, a, b, c):
    width = c % 32
    return signed(a >> b % 32, width) % 2**32 if width else 0


@ref("v_perm_b32")
def perm_b32(m, a, b, c):
    source = pieces(b, 8, 4) + pieces(a, 8, 4)
    special = {8: 1, 9: 3, 10: 5, 11: 7}
    out = []
    for sel in pieces(c, 8, 4):
        if sel < 8:
            out.append(source[sel])
        elif sel in special:
            out.append(255 if source[special[sel]] >= 128 else 0)
        else:
            out.append(0 if sel == 12 else 255)
    return join(out, 8)


# ---- Shifts, minima and maxima of every width ----

for bits, b_names in ((32, ("v_lshlrev_b32", "v_lshrrev_b32", "v_ashrrev_i32")),
                      (64, ("v_lshlrev_b64", "v_lshrrev_b64", "v_ashrrev_i64")),
                      (16, ("v_lshlrev_b16", "v_lshrrev_b16", "v_ashrrev_i16"))):
    REF[b_names[0]] = lambda m, a, b, n=bits: (b << a % n) % 2**n
    REF[b_names[1]] = lambda m, a, b, n=bits: b >> a % n
    REF[b_names[2]] = lambda m, a, b, n=bits: (signed(b, n) >> a % n) % 2**n

CHOICES = {"min": min, "max": max, "min3": min, "max3": max, "med3": lambda *x: sorted(x)[1]}
CHOICES_32 = {**CHOICES, "maxmin": lambda a, b, c: min(max(a, b), c), "minmax": lambda a, b, c: max(min(a, b), c)}
for bits, choices in ((16, CHOICES), (32, CHOICES_32)):
    for op, choose in choices.items():
        REF[f"v_{op}_u{bits}"] = lambda m, *x, f=choose: f(*x)
        REF[f"v_{op}_i{bits}"] = lambda m, *x, f=choose, n=bits: f(*(signed(y, n) for y in x)) % 2**n

# ---- Sums, products ----

EXACT = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "subrev": lambda a, b: b - a,
    "mul_lo": lambda a, b: a * b,
    "mad": lambda a, b, c: a * b + c,
}


def arithmetic(name, op, bits, is_signed):
    def run(m, *x):
        return fit(m, EXACT[op](*(signed(y, bits) if is_signed else y for y in x)), bits, is_signed)
    REF[name] = run


for op, kinds in (("add", "u32 i32 u16 i16"), ("sub", "u32 i32 u16 i16"), ("subrev", "u32 u16")):
    for kind in kinds.split():
        arithmetic(f"v_{op}_{kind}", op, int(kind[1:]), kind[0] == "i")
for op, kinds in (("add", "u32 i32 u16 i16"), ("sub", "u32 i32 u16 i16"), ("subrev", "u32")):
    for kind in kinds.split():
        arithmetic(f"v_{op}_nc_{kind}", op, int(kind[1:]), kind[0] == "i")
for kind in ("u16", "i16"):
    arithmetic(f"v_mad_{kind}", "mad", 16, kind[0] == "i")
    arithmetic(f"v_mad_legacy_{kind}", "mad", 16, kind[0] == "i")
arithmetic("v_mul_lo_u16", "mul_lo", 16, False)

REF.update({
    "v_mul_lo_u32": lambda m, a, b: a * b % 2**32,
    "v_mul_hi_u32": lambda m, a, b: a * b // 2**32,
    "v_mul_hi_i32": lambda m, a, b: (signed(a, 32) * signed(b, 32) // 2**32) % 2**32,
    "v_mul_u32_u24": lambda m, a, b: fit(m, (a % 2**24) * (b % 2**24), 32, False),
    "v_mul_i32_i24": lambda m, a, b: fit(m, signed(a, 24) * signed(b, 24), 32, True),
    "v_mul_hi_u32_u24": lambda m, a, b: (a % 2**24) * (b % 2**24) // 2**32,
    "v_mul_hi_i32_i24": lambda m, a, b: (signed(a, 24) * signed(b, 24) // 2**32) % 2**32,
    "v_mad_u32_u24": lambda m, a, b, c: fit(m, (a % 2**24) * (b % 2**24) + c, 32, False),
    "v_mad_i32_i24": lambda m, a, b, c: fit(m, signed(a, 24) * signed(b, 24) + signed(c, 32), 32, True),
    "v_mad_u32_u16": lambda m, a, b, c: fit(m, a * b + c, 32, False),
    "v_mad_i32_i16": lambda m, a, b, c: fit(m, signed(a, 16) * signed(b, 16) + signed(c, 32), 32, True),
})


@ref("v_mad_u64_u32")
def mad_u64_u32(m, a, b, c):
    exact = a * b + c
    return fit(m, exact, 64, False), exact >> 64 & 1


@ref("v_mad_i64_i32")
def mad_i64_i32(m, a, b, c):
    exact = signed(a, 32) * signed(b, 32) + signed(c, 64)
    return fit(m, exact, 64, True), exact >> 64 & 1


def with_carry(sum_of):
    def run(m, a, b, carry=0):
        exact = sum_of(a, b, carry)
        return fit(m, exact, 32, False), int(not 0 <= exact < 2**32)
    return run


for names, sum_of in ((("v_add_co_u32", "v_add_co_ci_u32", "v_addc_co_u32"), lambda a, b, c: a + b + c),
                      (("v_sub_co_u32", "v_sub_co_ci_u32", "v_subb_co_u32"), lambda a, b, c: a - b - c),
                      (("v_subrev_co_u32", "v_subrev_co_ci_u32", "v_subbrev_co_u32"), lambda a, b, c: b - a - c)):
    for name in names:
        REF[name] = with_carry(sum_of)

# ---- Bytes, halves, nibbles ----


def sad(a, b, bits, masked=False):
    return sum(abs(x - y) for x, y in zip(pieces(a, bits, 32 // bits), pieces(b, bits, 32 // bits)) if y or not masked)


REF.update({
    "v_sad_u8": lambda m, a, b, c: fit(m, sad(a, b, 8) + c, 32, False),
    "v_sad_hi_u8": lambda m, a, b, c: fit(m, sad(a, b, 8) * 65536 + c, 32, False),
    "v_sad_u16": lambda m, a, b, c: fit(m, sad(a, b, 16) + c, 32, False),
    "v_sad_u32": lambda m, a, b, c: fit(m, abs(a - b) + c, 32, False),
    "v_msad_u8": lambda m, a, b, c: fit(m, sad(a, b, 8, True) + c, 32, False),
    "v_lerp_u8": lambda m, a, b, c: join([(x + y + z % 2) // 2 for x, y,
                                          z in zip(pieces(a, 8, 4), pieces(b, 8, 4), pieces(c, 8, 4))], 8),
    "v_cvt_pk_u16_u32": lambda m, a, b: join([min(a, 65535), min(b, 65535)], 16),
    "v_cvt_pk_i16_i32": lambda m, a, b: join([min(max(signed(x, 32), -32768), 32767) for x in (a, b)], 16),
    "v_sat_pk_u8_i16": lambda m, a: join([min(max(x, 0), 255) for x in pieces(a, 16, 2, True)], 8),
})


def quad_sad(masked, bits):
    def run(m, a, b, c):
        return join([fit(m, sad(a >> 8 * n & 0xFFFFFFFF, b, 8, masked) + part, bits, False) for n,
                     part in enumerate(pieces(c, bits, 4))], bits)
    return run


REF["v_qsad_pk_u16_u8"] = quad_sad(False, 16)
REF["v_mqsad_pk_u16_u8"] = quad_sad(True, 16)
REF["v_mqsad_u32_u8"] = quad_sad(True, 32)


def dot(bits, is_signed):
    def run(m, a, b, c=None):
        c = m.old if c is None else c
        products = sum(x * y for x, y in zip(pieces(a, bits, 32 // bits, is_signed), pieces(b, bits, 32 // bits, is_signed)))
        return fit(m, products + (signed(c, 32) if is_signed else c), 32, is_signed)
    return run


REF.update({
    "v_dot2_i32_i16": dot(16, True), "v_dot2_u32_u16": dot(16, False), "v_dot4_i32_i8": dot(8, True),
    "v_dot4_u32_u8": dot(8, False),
    "v_dot4_i32_iu8": lambda m, a, b, c: fit(m, sum(x * y for x, y in zip(pieces(a, 8, 4, False), pieces(b, 8, 4, False)))
                                             + signed(c, 32), 32, True),
    "v_dot8_i32_i4": dot(4, True), "v_dot8_u32_u4": dot(4, False), "v_dot2c_i32_i16": dot(16, True),
    "v_dot4c_i32_i8": dot(8, True),
    "v_dot8c_i32_i4": dot(4, True),
})


def halves(name, one):
    REF[name] = lambda m, *x: join([one(m, *(y >> at & 0xFFFF for y in x)) for at in (0, 16)], 16)


for name in ("add_u16", "sub_u16", "add_i16", "sub_i16", "mul_lo_u16", "lshlrev_b16", "lshrrev_b16", "ashrrev_i16", "min_u16",
             "max_u16", "min_i16",
             "max_i16", "mad_u16", "mad_i16"):
    halves("v_pk_" + name, REF["v_" + name])


@ref("v_pack_b32_f16")
def pack_b32_f16(m, a, b):
    keep = m.mode >> 6 & 3 == 3
    return join([x if keep or x & 0x7C00 else x & 0x8000 for x in (a, b)], 16)


# ---- Across lanes.  Registers are lists of lanes; the result is (list of lanes) or a scalar. ----


def wave(*names):
    def add(function):
        for name in names:
            WAVE[name] = function
        return function
    return add


def first_active(exec_mask):
    return (exec_mask & -exec_mask).bit_length() - 1 if exec_mask else 0


WAVE["v_readlane_b32"] = lambda m, exec_mask, lanes, a, lane: a[lane % lanes]
WAVE["v_readfirstlane_b32"] = lambda m, exec_mask, lanes, a: a[first_active(exec_mask)]
WAVE["v_writelane_b32"] = lambda m, exec_mask, lanes, value, lane: [value if l == lane % lanes else m.old[l]
                                                                    for l in range(lanes)]


def active(m, exec_mask, new):
    return [x if exec_mask >> l & 1 and x is not None else m.old[l] for l, x in enumerate(new)]


@wave("v_mbcnt_lo_u32_b32")
def mbcnt_lo(m, exec_mask, lanes, a, b):
    return active(m, exec_mask, [(bin(a[l] & (2 ** min(l, 32) - 1)).count("1") + b[l]) % 2**32 for l in range(lanes)])


@wave("v_mbcnt_hi_u32_b32")
def mbcnt_hi(m, exec_mask, lanes, a, b):
    return active(m, exec_mask, [(bin(a[l] & (2 ** max(l - 32, 0) - 1)).count("1") + b[l]) % 2**32 for l in range(lanes)])


def permlane(cross):
    def run(m, exec_mask, lanes, a, low, high, fetch_inactive=False, bound_ctrl=False):
        new = []
        for l in range(lanes):
            row = l // 16 ^ 1 if cross else l // 16
            at = row * 16 + int(format(high << 32 | low, "016x")[15 - l % 16], 16)
            readable = fetch_inactive or exec_mask >> at & 1
            new.append(a[at] if readable else 0 if bound_ctrl else None)
        return active(m, exec_mask, new)
    return run


WAVE["v_permlane16_b32"] = permlane(False)
WAVE["v_permlanex16_b32"] = permlane(True)

# Tested as moves between registers in test_valu_int.py (check_moves): their operands are register numbers, which M0 changes, or
# accumulation registers.
BY_TEST = {"v_swap_b32", "v_swaprel_b32", "v_movreld_b32", "v_movrels_b32", "v_movrelsd_b32", "v_movrelsd_2_b32", "v_pk_mov_b32",
           "v_accvgpr_read_b32",
         "v_accvgpr_write_b32", "v_accvgpr_mov_b32", "v_mov_b64"}
