"""References of scalar arithmetic, in plain Python integers, written apart from isa/salu.c.

REF maps a mnemonic to a function (m, *sources) -> (result, scc) or (result, scc, exec); None: not touched.  Sources are unsigned
numbers of as many bits as the signature's letter says.  `m` has scc, old (the result register before), exec (both words) and k
(SOPK's immediate, signed).
"""
# SPDX-License-Identifier: Apache-2.0

REF = {}


def signed(x, bits):
    x %= 1 << bits
    return x - (1 << bits) if x >= 1 << (bits - 1) else x


def exact(bits, is_signed, operation):
    """A sum or difference, and whether it does not fit: the carry, the borrow, or signed overflow."""
    def run(m, a, b):
        if is_signed:
            a, b = signed(a, bits), signed(b, bits)
        x = operation(m, a, b)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
        return x % (1 << bits), int(not low <= x <= high)
    return run


def logic(bits, operation, sets_scc=True):
    def run(m, *sources):
        x = operation(m, *sources) % (1 << bits)
        return x, int(x != 0) if sets_scc else None
    return run


def pick(is_signed, better):
    """min and max: SCC says whether the first is strictly better."""
    def run(m, a, b):
        first = better(signed(a, 32), signed(b, 32)) if is_signed else better(a, b)
        return (a if first else b), int(first)
    return run


REF["s_add_u32"] = exact(32, False, lambda m, a, b: a + b)
REF["s_sub_u32"] = exact(32, False, lambda m, a, b: a - b)
REF["s_addc_u32"] = exact(32, False, lambda m, a, b: a + b + m.scc)
REF["s_subb_u32"] = exact(32, False, lambda m, a, b: a - b - m.scc)
REF["s_add_i32"] = exact(32, True, lambda m, a, b: a + b)
REF["s_sub_i32"] = exact(32, True, lambda m, a, b: a - b)
REF["s_addk_i32"] = lambda m: exact(32, True, lambda _, a, b: a + b)(m, m.old, m.k % 2**32)
for n in (1, 2, 3, 4):
    REF[f"s_lshl{n}_add_u32"] = exact(32, False, lambda m, a, b, n=n: a * 2**n + b)
for kind, is_signed in (("i32", True), ("u32", False)):
    REF[f"s_min_{kind}"] = pick(is_signed, lambda a, b: a < b)
    REF[f"s_max_{kind}"] = pick(is_signed, lambda a, b: a > b)

LOGIC = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "andn2": lambda a, b: a & ~b,
         "orn2": lambda a, b: a | ~b, "nand": lambda a, b: ~(a & b), "nor": lambda a, b: ~(a | b), "xnor": lambda a, b: ~(a ^ b),
         "andn1": lambda a, b: ~a & b, "orn1": lambda a, b: ~a | b}


def save_exec(bits, operation, gives_new):
    """EXEC becomes operation(source, EXEC), its low word alone in the 32-bit forms; the result is EXEC before, or the new one."""
    def run(m, a):
        old = m.exec % (1 << bits)
        new = operation(a, old) % (1 << bits)
        return (new if gives_new else old), int(new != 0), m.exec - old + new
    return run


def bit_fields(x, bits, width):
    return [x >> n & ((1 << width) - 1) for n in range(0, bits, width)]


def field(x, offset, width, bits, is_signed):
    """`width` bits of x from `offset`; bits past the end are the sign's, or 0."""
    if is_signed:
        x = signed(x, bits)
    return (signed((x >> offset) % (1 << width), width) if width and is_signed else (x >> offset) % (1 << width)) % (1 << bits)


def run_from_top(x, bits):
    """How many bits from the top equal the topmost one; all ones when all do."""
    text = format(x, f"0{bits}b")
    n = len(text) - len(text.lstrip(text[0]))
    return 2**32 - 1 if n == bits else n


for bits in (32, 64):
    b, B = f"b{bits}", bits
    for name in ("and", "or", "xor", "andn2", "orn2", "nand", "nor", "xnor"):
        REF[f"s_{name}_{b}"] = logic(bits, lambda m, x, y, f=LOGIC[name]: f(x, y))
    for name in LOGIC:
        REF[f"s_{name}_saveexec_{b}"] = save_exec(bits, LOGIC[name], False)
    for name in ("andn1", "andn2"):
        REF[f"s_{name}_wrexec_{b}"] = save_exec(bits, LOGIC[name], True)
    REF[f"s_cselect_{b}"] = lambda m, x, y: (x if m.scc else y, None)
    REF[f"s_mov_{b}"] = lambda m, x: (x, None)
    REF[f"s_cmov_{b}"] = lambda m, x: (x if m.scc else m.old, None)
    REF[f"s_not_{b}"] = logic(bits, lambda m, x: ~x)
    REF[f"s_lshl_{b}"] = logic(bits, lambda m, x, n, B=B: x * 2 ** (n % B))
    REF[f"s_lshr_{b}"] = logic(bits, lambda m, x, n, B=B: x // 2 ** (n % B))
    REF[f"s_ashr_i{bits}"] = logic(bits, lambda m, x, n, B=B: signed(x, B) // 2 ** (n % B))
    REF[f"s_bfm_{b}"] = logic(bits, lambda m, x, n, B=B: (2 ** (x % B) - 1) * 2 ** (n % B), False)
    REF[f"s_bfe_u{bits}"] = logic(bits, lambda m, x, c, B=B: field(x, c % B, c >> 16 & 127, B, False))
    REF[f"s_bfe_i{bits}"] = logic(bits, lambda m, x, c, B=B: field(x, c % B, c >> 16 & 127, B, True))
    REF[f"s_wqm_{b}"] = logic(bits, lambda m, x, B=B: sum(15 << 4 * n for n, q in enumerate(bit_fields(x, B, 4)) if q))
    REF[f"s_quadmask_{b}"] = logic(bits, lambda m, x, B=B: sum(1 << n for n, q in enumerate(bit_fields(x, B, 4)) if q))
    REF[f"s_brev_{b}"] = logic(bits, lambda m, x, B=B: int(format(x, f"0{B}b")[::-1], 2), False)
    REF[f"s_bcnt0_i32_{b}"] = logic(32, lambda m, x, B=B: format(x, f"0{B}b").count("0"))
    REF[f"s_bcnt1_i32_{b}"] = logic(32, lambda m, x: bin(x).count("1"))
    REF[f"s_ff0_i32_{b}"] = logic(32, lambda m, x, B=B: format(x, f"0{B}b")[::-1].find("0"), False)
    REF[f"s_ff1_i32_{b}"] = logic(32, lambda m, x, B=B: format(x, f"0{B}b")[::-1].find("1"), False)
    REF[f"s_flbit_i32_{b}"] = logic(32, lambda m, x, B=B: format(x, f"0{B}b").find("1"), False)
    REF["s_flbit_i32" if bits == 32 else "s_flbit_i32_i64"] = logic(32, lambda m, x, B=B: run_from_top(x, B), False)
    REF[f"s_bitset0_{b}"] = lambda m, n, B=B: (m.old & ~(1 << n % B), None)
    REF[f"s_bitset1_{b}"] = lambda m, n, B=B: (m.old | 1 << n % B, None)
    REF[f"s_bitcmp0_{b}"] = lambda m, x, n, B=B: (None, int(format(x, f"0{B}b")[::-1][n % B] == "0"))
    REF[f"s_bitcmp1_{b}"] = lambda m, x, n, B=B: (None, int(format(x, f"0{B}b")[::-1][n % B] == "1"))

REF["s_mul_i32"] = logic(32, lambda m, a, b: a * b, False)
REF["s_mul_hi_u32"] = logic(32, lambda m, a, b: a * b // 2**32, False)
REF["s_mul_hi_i32"] = logic(32, lambda m, a, b: signed(a, 32) * signed(b, 32) // 2**32, False)
REF["s_mulk_i32"] = lambda m: (m.old * m.k % 2**32, None)
REF["s_absdiff_i32"] = logic(32, lambda m, a, b: abs(signed(signed(a, 32) - signed(b, 32), 32)))
REF["s_abs_i32"] = logic(32, lambda m, a: abs(signed(a, 32)))
REF["s_sext_i32_i8"] = logic(32, lambda m, a: signed(a, 8), False)
REF["s_sext_i32_i16"] = logic(32, lambda m, a: signed(a, 16), False)
REF["s_pack_ll_b32_b16"] = lambda m, a, b: (a % 2**16 + b % 2**16 * 2**16, None)
REF["s_pack_lh_b32_b16"] = lambda m, a, b: (a % 2**16 + b // 2**16 * 2**16, None)
REF["s_pack_hl_b32_b16"] = lambda m, a, b: (a // 2**16 + b % 2**16 * 2**16, None)
REF["s_add_nc_u64"] = lambda m, a, b: ((a + b) % 2**64, None)
REF["s_sub_nc_u64"] = lambda m, a, b: ((a - b) % 2**64, None)
REF["s_mul_u64"] = lambda m, a, b: (a * b % 2**64, None)
REF["s_pack_hh_b32_b16"] = lambda m, a, b: (a // 2**16 + b // 2**16 * 2**16, None)
REF["s_bitreplicate_b64_b32"] = lambda m, a: (int("".join(c * 2 for c in format(a, "032b")), 2), None)
REF["s_movk_i32"] = lambda m: (m.k % 2**32, None)
REF["s_cmovk_i32"] = lambda m: (m.k % 2**32 if m.scc else m.old, None)

RELATIONS = {"eq": lambda a, b: a == b, "lg": lambda a, b: a != b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
             "lt": lambda a, b: a < b, "le": lambda a, b: a <= b}
for name, relation in RELATIONS.items():
    REF[f"s_cmp_{name}_i32"] = lambda m, a, b, f=relation: (None, int(f(signed(a, 32), signed(b, 32))))
    REF[f"s_cmp_{name}_u32"] = lambda m, a, b, f=relation: (None, int(f(a, b)))
    REF[f"s_cmpk_{name}_i32"] = lambda m, a, f=relation: (None, int(f(signed(a, 32), m.k)))
    REF[f"s_cmpk_{name}_u32"] = lambda m, a, f=relation: (None, int(f(a, m.k % 2**16)))
for name in ("eq", "lg"):
    REF[f"s_cmp_{name}_u64"] = lambda m, a, b, f=RELATIONS[name]: (None, int(f(a, b)))

# By their own tests in test_salu.py: registers by M0 are not a function of values.
BY_TEST = {"s_movrels_b32", "s_movrels_b64", "s_movreld_b32", "s_movreld_b64", "s_movrelsd_2_b32"}
# Rows of gfx11 and later: test_gfx11.py, test_gfx12.py.
LATER = {"s_pack_hl_b32_b16", "s_add_nc_u64", "s_sub_nc_u64", "s_mul_u64"}
