"""References of float vector instructions in exact arithmetic: what one lane gives, written apart from isa/valu_float.c and
isa/valu_half.c.

REF maps a mnemonic to a function (m, *sources) -> result, or a tuple when there are several; m is an M.  Sources and results are
bits.  Rows that accumulate get the result register as their last source, v_div_fmas its VCC bit.  MIX makes the functions of the
mixed rows. Numbers are fractions.Fraction; what is irrational is computed to 60 digits and more.  What the manuals leave open is
settled as isa/float.h says.
"""
# SPDX-License-Identifier: Apache-2.0
import decimal
import math
from collections import namedtuple
from fractions import Fraction

REF = {}

decimal.getcontext().prec = 70
decimal.getcontext().Emax = 10**9
decimal.getcontext().Emin = -10**9


def ref(*names):
    def add(function):
        for name in names:
            REF[name] = function
        return function
    return add


# ---- Formats ----


class Format:
    def __init__(self, width, mantissa, field):
        self.width, self.mantissa, self.field = width, mantissa, field  # field: "f32" or "f64", which of MODE's two it obeys
        self.top = (1 << width - 1 - mantissa) - 1
        self.bias = self.top >> 1
        self.least = 1 - self.bias                                      # exponent of the smallest normal number
        self.inf = self.top << mantissa
        self.quiet = 1 << mantissa - 1
        self.sign = 1 << width - 1
        self.nan = self.sign | self.inf | self.quiet
        self.ones = self.sign - 1


F16, F32, F64 = Format(16, 10, "f64"), Format(32, 23, "f32"), Format(64, 52, "f64")

# kind: "nan", "inf" or "number"; negative; size: a Fraction, not negative.
Value = namedtuple("Value", "kind negative size")
NAN = Value("nan", True, Fraction(0))


class M:
    """The wave's MODE and the instruction's modifiers."""

    def __init__(self, mode, clamp=False, omod=0, card="gfx1030"):
        self.mode, self.clamp, self.omod, self.card = mode, clamp, omod, card
        self.ieee, self.dx10 = mode >> 9 & 1, mode >> 8 & 1

    def round(self, fmt):
        return self.mode >> (0 if fmt.field == "f32" else 2) & 3

    def keeps_in(self, fmt):
        return self.mode >> (4 if fmt.field == "f32" else 6) & 1

    def keeps_out(self, fmt):
        return self.mode >> (5 if fmt.field == "f32" else 7) & 1


def is_nan(fmt, x):
    return (x & fmt.ones) > fmt.inf


def flushed(fmt, x):
    return x if x & fmt.inf else x & fmt.sign


def decode(fmt, x):
    negative, exponent, mantissa = bool(x & fmt.sign), x >> fmt.mantissa & fmt.top, x & (1 << fmt.mantissa) - 1
    if exponent == fmt.top:
        return Value("nan" if mantissa else "inf", negative, Fraction(0))
    if exponent:
        mantissa |= 1 << fmt.mantissa
    return Value("number", negative, Fraction(mantissa) * Fraction(2) ** (max(exponent, 1) - fmt.bias - fmt.mantissa))


def number(x):
    return Value("number", x < 0, Fraction(abs(x)))


def log2_floor(x):
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= x else e - 1


def whole(x, mode, negative):
    """A size rounded to a whole number: 0 nearest even, 1 up, 2 down, 3 toward zero."""
    n, rest = divmod(x.numerator, x.denominator)
    if mode == 0:
        twice = 2 * rest
        return n + (twice > x.denominator or (twice == x.denominator and n & 1))
    away = (mode == 1 and not negative) or (mode == 2 and negative)
    return n + (rest != 0 and away)


def encode(fmt, v, mode=0, keep=True):
    """Bits of a value, rounded; without `keep` flushed when tiny after rounding with unbounded exponent."""
    sign = fmt.sign if v.negative else 0
    if v.kind == "nan":
        return fmt.nan
    if v.kind == "inf":
        return sign | fmt.inf
    if not v.size:
        return sign
    e = log2_floor(v.size)
    quantum = Fraction(2) ** (e - fmt.mantissa)
    size = whole(v.size / quantum, mode, v.negative) * quantum
    if size < Fraction(2) ** fmt.least:
        if not keep:
            return sign
        quantum = Fraction(2) ** (fmt.least - fmt.mantissa)
        return sign | whole(v.size / quantum, mode, v.negative)  # may carry into the smallest normal number: the same bits
    e = log2_floor(size)
    if e > fmt.bias:
        outward = mode == 0 or (mode == 1 and not v.negative) or (mode == 2 and v.negative)
        return sign | (fmt.inf if outward else fmt.inf - 1)
    return sign | (e + fmt.bias) << fmt.mantissa | int(size / Fraction(2) ** (e - fmt.mantissa)) - (1 << fmt.mantissa)


# ---- Exact operations ----


def minus(x):
    return x._replace(negative=not x.negative)


def mul(x, y):
    negative = x.negative != y.negative
    if "inf" in (x.kind, y.kind):
        zero = (x.kind == "number" and not x.size) or (y.kind == "number" and not y.size)
        return NAN if zero else Value("inf", negative, Fraction(0))
    return Value("number", negative, x.size * y.size)


def add(x, y, mode):
    if x.kind == "inf" or y.kind == "inf":
        if x.kind == y.kind:
            return x if x.negative == y.negative else NAN
        return x if x.kind == "inf" else y
    s = (-x.size if x.negative else x.size) + (-y.size if y.negative else y.size)
    if s == 0:
        return Value("number", x.negative if x.negative == y.negative else mode == 2, s)
    return number(s)


def fma(x, y, z, mode):
    p = mul(x, y)
    return p if p.kind == "nan" else add(p, z, mode)


# ---- Instructions ----


def modify(m, fmt, bits):
    """omod and clamp."""
    if m.omod and not m.ieee and not m.keeps_out(fmt) and is_nan(fmt, bits):
        bits |= fmt.quiet
    elif m.omod and not m.ieee and not m.keeps_out(fmt):
        v = decode(fmt, bits)
        bits = encode(fmt, v._replace(size=v.size * (1, 2, 4, Fraction(1, 2))[m.omod]), m.round(fmt), False)
        bits = 0 if bits == fmt.sign else bits
    if m.clamp:
        if is_nan(fmt, bits):
            return 0 if m.dx10 else bits
        v = decode(fmt, bits)
        if v.negative or bits == 0:
            return 0
        one = fmt.bias << fmt.mantissa
        return min(bits, one)
    return bits


def first_nan(fmts, sources):
    for fmt, x in zip(fmts, sources):
        if is_nan(fmt, x):
            return fmt, x | fmt.quiet
    return None


def arithmetic(fmt, compute, flush=False, near=False):
    """A row whose sources and result are of one format; compute(mode of rounding, *values) -> value."""
    def run(m, *sources):
        keep_in, keep_out = (0, 0) if flush else (m.keeps_in(fmt), m.keeps_out(fmt))
        mode = 0 if near else m.round(fmt)
        sources = [x if keep_in else flushed(fmt, x) for x in sources]
        nan = first_nan([fmt] * len(sources), sources)
        if nan:
            return modify(m, fmt, nan[1])
        return modify(m, fmt, encode(fmt, compute(mode, *[decode(fmt, x) for x in sources]), mode, keep_out))
    return run


def is_zero(x):
    return x.kind == "number" and not x.size


def mul_legacy(mode, x, y):
    return number(0) if is_zero(x) or is_zero(y) else mul(x, y)


def fma_legacy(mode, x, y, z):
    return z if is_zero(x) or is_zero(y) else fma(x, y, z, mode)


def twice_rounded(fmt, product):
    """A product rounded and flushed, then a sum."""
    def compute(mode, x, y, z):
        p = product(mode, x, y)
        if p.kind == "number":
            p = decode(fmt, encode(fmt, p, mode, False))
        return p if p.kind == "nan" else add(p, z, mode)
    return compute


for fmt, n in ((F16, "f16"), (F32, "f32"), (F64, "f64")):
    REF[f"v_add_{n}"] = arithmetic(fmt, lambda mode, x, y: add(x, y, mode))
    REF[f"v_sub_{n}"] = arithmetic(fmt, lambda mode, x, y: add(x, minus(y), mode))
    REF[f"v_subrev_{n}"] = arithmetic(fmt, lambda mode, x, y: add(y, minus(x), mode))
    REF[f"v_mul_{n}"] = arithmetic(fmt, lambda mode, x, y: mul(x, y))
    for name in ("fma", "fmac", "fmaak", "fmamk"):
        REF[f"v_{name}_{n}"] = arithmetic(fmt, lambda mode, x, y, z: fma(x, y, z, mode))
    for name in ("mad", "mac", "madak", "madmk"):
        REF[f"v_{name}_{n}"] = arithmetic(fmt, twice_rounded(fmt, lambda mode, x, y: mul(x, y)), flush=True)
REF["v_fma_legacy_f16"] = REF["v_fma_f16"]
REF["v_mad_legacy_f16"] = REF["v_mad_f16"]
def legacy(function, flush=False):
    """Zero times anything, NaN also, is +0."""
    def run(m, a, b, *rest):
        if any(is_zero(decode(F32, x if m.keeps_in(F32) and not flush else flushed(F32, x))) for x in (a, b)):
            a = b = 0
        return arithmetic(F32, function, flush)(m, a, b, *rest)
    return run


REF["v_mul_legacy_f32"] = legacy(mul_legacy)
REF["v_mad_legacy_f32"] = legacy(twice_rounded(F32, mul_legacy), flush=True)
REF["v_fma_legacy_f32"] = REF["v_fmac_legacy_f32"] = legacy(fma_legacy)


@ref("v_mullit_f32")
def mullit(m, a, b, c):
    keep = m.keeps_in(F32)
    a, b, c = [x if keep else flushed(F32, x) for x in (a, b, c)]
    vb, vc = decode(F32, b), decode(F32, c)
    least = 0xFF7FFFFF
    if is_nan(F32, b) or b in (least, 0xFF800000) or is_nan(F32, c) or vc.negative or is_zero(vc):
        return modify(m, F32, least)
    if is_nan(F32, a):
        return modify(m, F32, 0) if is_zero(vb) else modify(m, F32, a | F32.quiet)
    return REF["v_mul_legacy_f32"](m, a, b)


# ---- Minimum, maximum, median ----


def less(fmt, a, b):
    x, y = decode(fmt, a), decode(fmt, b)
    if is_zero(x) and is_zero(y):
        return x.negative and not y.negative
    def key(v):
        size = Fraction(2) ** 2000 if v.kind == "inf" else v.size
        return -size if v.negative else size
    return key(x) < key(y)


def lesser(m, fmt, a, b, greatest=False):
    for x in (a, b):
        if m.ieee and is_nan(fmt, x) and not x & fmt.quiet:
            return x | fmt.quiet
    if is_nan(fmt, a):
        return b
    if is_nan(fmt, b):
        return a
    return (b if less(fmt, a, b) else a) if greatest else (a if less(fmt, a, b) else b)


def greater(m, fmt, a, b):
    return lesser(m, fmt, a, b, True)


def equal(fmt, a, b):
    return a == b or not (a | b) & fmt.ones


def median(m, fmt, a, b, c):
    if any(is_nan(fmt, x) for x in (a, b, c)):
        return lesser(m, fmt, lesser(m, fmt, a, b), c)
    most = greater(m, fmt, greater(m, fmt, a, b), c)
    if equal(fmt, most, a):
        return greater(m, fmt, b, c)
    return greater(m, fmt, a, c) if equal(fmt, most, b) else greater(m, fmt, a, b)


def by_bits(fmt, function):
    """Sources and result flushed as MODE says."""
    def run(m, *sources):
        sources = [x if m.keeps_in(fmt) else flushed(fmt, x) for x in sources]
        r = function(m, fmt, *sources)
        return modify(m, fmt, r if m.keeps_out(fmt) else flushed(fmt, r))
    return run


REF["v_maxmin_f32"] = by_bits(F32, lambda m, f, a, b, c: lesser(m, f, greater(m, f, a, b), c))
REF["v_minmax_f32"] = by_bits(F32, lambda m, f, a, b, c: greater(m, f, lesser(m, f, a, b), c))
for fmt, n in ((F16, "f16"), (F32, "f32"), (F64, "f64")):
    REF[f"v_min_{n}"] = by_bits(fmt, lesser)
    REF[f"v_max_{n}"] = by_bits(fmt, greater)
    REF[f"v_min3_{n}"] = by_bits(fmt, lambda m, f, a, b, c: lesser(m, f, lesser(m, f, a, b), c))
    REF[f"v_max3_{n}"] = by_bits(fmt, lambda m, f, a, b, c: greater(m, f, greater(m, f, a, b), c))
    REF[f"v_med3_{n}"] = by_bits(fmt, median)


def by_order(fmt, a, b, greatest, numbers):
    """gfx12: the lesser or greater, -0 below +0; `numbers`: a number rather than a NaN, else a NaN rather than a number."""
    nan_a, nan_b = is_nan(fmt, a), is_nan(fmt, b)
    if nan_a and (nan_b or not numbers):
        return a | fmt.quiet
    if nan_a or nan_b:
        return (b if nan_a else a) if numbers else b | fmt.quiet
    return (b if less(fmt, a, b) else a) if greatest else (a if less(fmt, a, b) else b)


def order(greatest, numbers):
    return lambda m, f, a, b: by_order(f, a, b, greatest, numbers)


def order3(first, then):
    return lambda m, f, a, b, c: then(m, f, first(m, f, a, b), c)


def median_number(m, fmt, a, b, c):
    if any(is_nan(fmt, x) for x in (a, b, c)):
        return order3(order(False, True), order(False, True))(m, fmt, a, b, c)
    return median(m, fmt, a, b, c)


for fmt, n in ((F16, "f16"), (F32, "f32"), (F64, "f64")):
    low, high, least, most = order(False, True), order(True, True), order(False, False), order(True, False)
    for name, function in (("min_num", low), ("max_num", high), ("minimum", least), ("maximum", most)):
        REF[f"v_{name}_{n}"] = by_bits(fmt, function)
    if fmt is F64:
        continue
    for name, first, then in (("min3_num", low, low), ("max3_num", high, high), ("minmax_num", low, high),
                              ("maxmin_num", high, low),
                              ("minimum3", least, least), ("maximum3", most, most), ("minimummaximum", least, most),
                              ("maximumminimum", most, least)):
        REF[f"v_{name}_{n}"] = by_bits(fmt, order3(first, then))
    REF[f"v_med3_num_{n}"] = by_bits(fmt, median_number)


# ---- Cube maps ----


def cube(what):
    def run(mode, x, y, z):
        def size(v):
            return Fraction(2) ** 2000 if v.kind == "inf" else v.size
        def below(v):
            return v.negative and not is_zero(v)
        if size(z) >= size(x) and size(z) >= size(y):
            return {"id": number(5 if below(z) else 4), "sc": minus(x) if below(z) else x, "tc": minus(y),
                    "ma": mul(number(2), z)}[what]
        if size(y) >= size(x):
            return {"id": number(3 if below(y) else 2), "sc": x, "tc": minus(z) if below(y) else z, "ma": mul(number(2), y)}[what]
        return {"id": number(1 if below(x) else 0), "sc": z if below(x) else minus(z), "tc": minus(y),
                "ma": mul(number(2), x)}[what]
    return run


for what in ("sc", "tc", "ma"):
    REF[f"v_cube{what}_f32"] = arithmetic(F32, cube(what), near=True)
REF["v_cubeid_f32"] = arithmetic(F32, cube("id"), near=True)
CUBE_NAN_SKIPPED = {"v_cubeid_f32", "v_cubesc_f32", "v_cubetc_f32", "v_cubema_f32"}  # with NaN sources the manual says nothing


# ---- To whole numbers ----


def to_whole(mode):
    def run(_, x):
        return x if x.kind == "inf" else Value("number", x.negative, Fraction(whole(x.size, mode, x.negative)))
    return run


def fract(fmt):
    below_one = (fmt.bias << fmt.mantissa) - 1
    def compute(mode, x):
        if x.kind == "inf":
            return NAN
        r = add(x, minus(to_whole(2)(mode, x)), mode)
        return decode(fmt, min(encode(fmt, r, mode), below_one)) if not r.negative else r
    return compute


for fmt, n in ((F16, "f16"), (F32, "f32"), (F64, "f64")):
    for name, mode in (("rndne", 0), ("ceil", 1), ("floor", 2), ("trunc", 3)):
        REF[f"v_{name}_{n}"] = arithmetic(fmt, to_whole(mode))
    REF[f"v_fract_{n}"] = arithmetic(fmt, fract(fmt))


# ---- Approximations: correctly rounded ----


def root(x):
    """The square root with a rest that tells whether it is exact."""
    shift = max(400, x.denominator.bit_length())
    scaled, rest = divmod(x.numerator << 2 * shift, x.denominator)
    r = math.isqrt(scaled)
    exact = r * r == scaled and not rest
    return Fraction(2 * r + (not exact), 2 << shift)


def to_decimal(x):
    return decimal.Decimal(x.numerator) / decimal.Decimal(x.denominator)


def rcp(_, x):
    if x.kind == "inf":
        return Value("number", x.negative, Fraction(0))
    return Value("number", x.negative, 1 / x.size) if x.size else Value("inf", x.negative, x.size)


def sqrt(_, x):
    if is_zero(x) or (x.kind == "inf" and not x.negative):
        return x
    return NAN if x.negative else number(root(x.size))


def rsq(_, x):
    if is_zero(x):
        return Value("inf", x.negative, x.size)
    if x.negative:
        return NAN
    return number(0) if x.kind == "inf" else number(root(1 / x.size))


def exp(_, x):
    if x.kind == "inf":
        return number(0) if x.negative else x
    if x.size > 2000:
        return number(Fraction(1, 2**2000) if x.negative else Fraction(2) ** 2000)
    e = -x.size if x.negative else x.size
    if e.denominator == 1:
        return number(Fraction(2) ** int(e))
    return number(Fraction((to_decimal(e) * decimal.Decimal(2).ln()).exp()))


def log(_, x):
    if is_zero(x):
        return Value("inf", True, x.size)
    if x.negative:
        return NAN
    if x.kind == "inf":
        return x
    e = log2_floor(x.size)
    if x.size == Fraction(2) ** e:
        return number(e)
    return number(Fraction(to_decimal(x.size).ln() / decimal.Decimal(2).ln()))


def make_pi():
    def arctan_inverse(n, one):
        total, term, k, sign = 0, one // n, 1, 1
        while term:
            total += sign * (term // k)
            term //= n * n
            k, sign = k + 2, -sign
        return total
    one = 1 << 1500
    return Fraction(4 * (4 * arctan_inverse(5, one) - arctan_inverse(239, one)), one)


PI = make_pi()
PI_SHORT = Fraction(int(PI * 2**300), 2**300)


def sine_of_turns(t):
    """sin(2 pi t), |t| <= 1/4; the relative error is below 2^-150."""
    x = 2 * PI_SHORT * t
    total, term, k = Fraction(0), x, 1
    while abs(term) > abs(x) / 2**160:
        total += term
        term = term * x * x / ((k + 1) * (k + 2)) * -1
        term = Fraction(round(term * 2**600), 2**600)
        k += 2
    return total


def sin(_, x):
    if x.kind == "inf":
        return NAN
    if x.size > 256:
        return number(0)
    t = x.size - math.floor(x.size)
    if t in (0, Fraction(1, 2)):
        return Value("number", x.negative, Fraction(0))
    s = sine_of_turns(t if t <= Fraction(1, 4) else Fraction(1, 2) - t if t <= Fraction(3, 4) else t - 1)
    return number(-s if x.negative else s)


def cos(_, x):
    if x.kind == "inf":
        return NAN
    if x.size > 256:
        return number(1)
    t = x.size - math.floor(x.size)
    return number(sine_of_turns(Fraction(1, 4) - min(t, 1 - t)))


for name, function in (("rcp", rcp), ("rsq", rsq), ("sqrt", sqrt), ("exp", exp), ("log", log)):
    REF[f"v_{name}_f32"] = arithmetic(F32, function, flush=True, near=True)
    REF[f"v_{name}_f16"] = arithmetic(F16, function, near=True)
for name, function in (("sin", sin), ("cos", cos)):
    REF[f"v_{name}_f32"] = arithmetic(F32, function, near=True)
    REF[f"v_{name}_f16"] = arithmetic(F16, function, near=True)
REF["v_rcp_iflag_f32"], REF["v_exp_legacy_f32"], REF["v_log_legacy_f32"] = REF["v_rcp_f32"], REF["v_exp_f32"], REF["v_log_f32"]


def coarse(function):
    """29 significant bits, ties away from zero."""
    def run(mode, x):
        v = function(mode, x)
        if v.kind != "number" or v.size < Fraction(2) ** F64.least:
            return v
        quantum = Fraction(2) ** (log2_floor(v.size) - 28)
        return v._replace(size=math.floor(v.size / quantum + Fraction(1, 2)) * quantum)
    return run


REF["v_rcp_f64"] = arithmetic(F64, rcp, near=True)
for name, function in (("rsq", rsq), ("sqrt", sqrt)):
    REF[f"v_{name}_f64"] = arithmetic(F64, coarse(function), near=True)


# ---- Exponents and mantissas ----


def signed(x, bits):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> bits - 1 else x


def ldexp(fmt, bits):
    def run(m, a, n):
        n = min(max(signed(n, bits), -5000), 5000)
        return arithmetic(fmt, lambda mode, x: x._replace(size=x.size * Fraction(2) ** n))(m, a)
    return run


def mantissa(_, x):
    if x.kind == "inf" or not x.size:
        return x
    return x._replace(size=x.size / Fraction(2) ** (log2_floor(x.size) + 1))


def exponent(fmt, bits):
    def run(m, a):
        v = decode(fmt, a if m.keeps_in(fmt) else flushed(fmt, a))
        return (log2_floor(v.size) + 1) & (1 << bits) - 1 if v.kind == "number" and v.size else 0
    return run


for fmt, n, bits in ((F16, "f16", 16), (F32, "f32", 32), (F64, "f64", 32)):
    REF[f"v_ldexp_{n}"] = ldexp(fmt, bits)
    REF[f"v_frexp_mant_{n}"] = arithmetic(fmt, mantissa)
    REF[f"v_frexp_exp_i{bits}_{n}"] = exponent(fmt, bits)


TWO_BY_PI = int(2 / PI * 2**1201)


@ref("v_trig_preop_f64")
def trig_preop(m, a, segment):
    a = a if m.keeps_in(F64) else flushed(F64, a)
    field = a >> 52 & 0x7FF
    shift = segment % 32 * 53 + max(field - 1077, 0)
    bits = (TWO_BY_PI << shift >> 1201 - 53) & (1 << 53) - 1
    v = number(bits * Fraction(2) ** (-53 - shift + (128 if field >= 1968 else 0)))
    return modify(m, F64, encode(F64, v, 0, m.keeps_out(F64)))


# ---- Division ----


def div_scale(fmt, far, small, step):
    def run(m, s, d, n):
        s, d, n = [x if m.keeps_in(fmt) else flushed(fmt, x) for x in (s, d, n)]
        vs, vd, vn = decode(fmt, s), decode(fmt, d), decode(fmt, n)
        fs, fd, fn = [x >> fmt.mantissa & fmt.top for x in (s, d, n)]
        least = Fraction(2) ** fmt.least
        if is_zero(vd) or is_zero(vn):
            return modify(m, fmt, fmt.nan), 0
        tiny_reciprocal = vd.kind == "number" and 1 / vd.size < least
        tiny_quotient = vd.kind == vn.kind == "number" and vn.size / vd.size < least
        same_d = vs.kind != "nan" and (s == d or (is_zero(vs) and is_zero(vd)))
        same_n = vs.kind != "nan" and (s == n or (is_zero(vs) and is_zero(vn)))
        power, flag = 0, 0
        if fn - fd >= far:
            flag, power = 1, step if same_d else 0
        elif fd == 0:
            power = step
        elif tiny_reciprocal and tiny_quotient:
            flag, power = 1, -step if same_d else 0
        elif tiny_reciprocal:
            power = -step
        elif tiny_quotient:
            flag, power = 1, step if same_n else 0
        elif fn <= small:
            power = step
        if vs.kind == "nan":
            return modify(m, fmt, s | fmt.quiet), flag
        r = encode(fmt, vs._replace(size=vs.size * Fraction(2) ** power), m.round(fmt), m.keeps_out(fmt))
        return modify(m, fmt, r), flag
    return run


def div_fmas(fmt, step):
    def run(m, a, b, c, vcc):
        power = (step if (c >> fmt.mantissa & fmt.top) > fmt.bias else -step) if vcc else 0
        def compute(mode, x, y, z):
            v = fma(x, y, z, mode)
            return v._replace(size=v.size * Fraction(2) ** power)
        return arithmetic(fmt, compute)(m, a, b, c)
    return run


def div_fixup(fmt, far):
    def run(m, f, q, d, n):
        sign = (d ^ n) & fmt.sign
        vd, vn = decode(fmt, d), decode(fmt, n)
        for v, x in ((vn, n), (vd, d)):
            if v.kind == "nan":
                return x | fmt.quiet
        if (is_zero(vd) and is_zero(vn)) or vd.kind == vn.kind == "inf":
            return fmt.nan
        if is_zero(vd) or vn.kind == "inf":
            return sign | fmt.inf
        if vd.kind == "inf" or is_zero(vn):
            return sign
        if far and (n >> fmt.mantissa & fmt.top) - (d >> fmt.mantissa & fmt.top) < far:
            return encode(fmt, Value("number", bool(sign), Fraction(1, 2**5000)), m.round(fmt))
        if far and q & fmt.inf == fmt.inf:  # the quotient overflowed, and its refinement may have made a NaN of it
            return encode(fmt, Value("number", bool(sign), Fraction(2) ** 5000), m.round(fmt))
        return sign | (q & fmt.ones)
    return by_bits(fmt, run)


REF["v_div_scale_f32"], REF["v_div_scale_f64"] = div_scale(F32, 96, 23, 64), div_scale(F64, 768, 53, 128)
REF["v_div_fmas_f32"], REF["v_div_fmas_f64"] = div_fmas(F32, 64), div_fmas(F64, 128)
REF["v_div_fixup_f32"], REF["v_div_fixup_f64"] = div_fixup(F32, -150), div_fixup(F64, -1075)
REF["v_div_fixup_f16"] = REF["v_div_fixup_legacy_f16"] = div_fixup(F16, 0)


# ---- Conversions ----


def saturated(v, low, high, mode=3):
    """The whole number, 0 for NaN."""
    if v.kind == "nan":
        return 0
    if v.kind == "inf":
        return low if v.negative else high
    n = whole(v.size, mode, v.negative)
    return min(max(-n if v.negative else n, low), high)


def to_int(fmt, low, high, bits, mode=3, offset=0):
    def run(m, a):
        v = decode(fmt, a if m.keeps_in(fmt) else flushed(fmt, a))
        if offset and v.kind == "number":
            v = number((-v.size if v.negative else v.size) + offset)
        return saturated(v, low, high, mode) & (1 << bits) - 1
    return run


def from_int(fmt, value):
    def run(m, a):
        return modify(m, fmt, encode(fmt, number(value(a)), m.round(fmt)))
    return run


def between(source, result, by=None):
    """Float to float; `by`: the format whose rounding mode counts."""
    def run(m, a):
        a = a if m.keeps_in(source) else flushed(source, a)
        if is_nan(source, a):
            sign, narrower = a & source.sign, source.width - result.width
            up = sign >> narrower if narrower > 0 else sign << -narrower
            payload = a & (1 << source.mantissa) - 1
            gap = result.mantissa - source.mantissa
            payload = payload << gap if gap > 0 else payload >> -gap
            return modify(m, result, up | result.inf | result.quiet | payload)
        return modify(m, result, encode(result, decode(source, a), m.round(by or result), m.keeps_out(result)))
    return run


I32, U32, I16, U16 = (-2**31, 2**31 - 1), (0, 2**32 - 1), (-2**15, 2**15 - 1), (0, 2**16 - 1)
REF.update({
    "v_cvt_i32_f32": to_int(F32, *I32, 32), "v_cvt_u32_f32": to_int(F32, *U32, 32), "v_cvt_i32_f64": to_int(F64, *I32, 32),
    "v_cvt_u32_f64": to_int(F64, *U32, 32), "v_cvt_i16_f16": to_int(F16, *I16, 16), "v_cvt_u16_f16": to_int(F16, *U16, 16),
    "v_cvt_flr_i32_f32": to_int(F32, *I32, 32, mode=2), "v_cvt_rpi_i32_f32": to_int(F32, *I32, 32, mode=2, offset=Fraction(1, 2)),
    "v_cvt_f32_i32": from_int(F32, lambda a: signed(a, 32)), "v_cvt_f32_u32": from_int(F32, int),
    "v_cvt_f64_u32": from_int(F64, int),
    "v_cvt_f64_i32": from_int(F64, lambda a: signed(a, 32)), "v_cvt_f16_u16": from_int(F16, lambda a: a & 0xFFFF),
    "v_cvt_f16_i16": from_int(F16, lambda a: signed(a, 16)),
    "v_cvt_f32_f64": between(F64, F32, by=F64), "v_cvt_f64_f32": between(F32, F64), "v_cvt_f16_f32": between(F32, F16),
    "v_cvt_f32_f16": between(F16, F32),
    "v_cvt_off_f32_i4": from_int(F32, lambda a: Fraction(signed(a, 4), 16)),
})
for n in range(4):
    REF[f"v_cvt_f32_ubyte{n}"] = from_int(F32, lambda a, n=n: a >> 8 * n & 255)


def normed(m, fmt, x, least, parts):
    v = decode(fmt, x if m.keeps_in(fmt) else flushed(fmt, x))
    if v.kind == "number":
        v = v._replace(size=v.size * parts)
    return saturated(v, least * parts, parts, 0) & 0xFFFF


def pknorm(fmt, least, parts):
    return lambda m, *s: sum(normed(m, fmt, x, least, parts) << 16 * n for n, x in enumerate(s))


for fmt, n in ((F32, "f32"), (F16, "f16")):
    REF[f"v_cvt_pknorm_i16_{n}"], REF[f"v_cvt_pknorm_u16_{n}"] = pknorm(fmt, -1, 32767), pknorm(fmt, 0, 65535)
REF["v_cvt_norm_i16_f16"], REF["v_cvt_norm_u16_f16"] = pknorm(F16, -1, 32767), pknorm(F16, 0, 65535)


@ref("v_cvt_pk_u8_f32", "v_cvt_pkaccum_u8_f32")
def pk_u8(m, a, which, word):
    v = decode(F32, a if m.keeps_in(F32) else flushed(F32, a))
    at = 8 * (which & 3)
    return word & ~(255 << at) | saturated(v, 0, 255, m.round(F32)) << at


@ref("v_cvt_pkrtz_f16_f32")
def pkrtz(m, a, b):
    toward_zero = M(m.mode | 0xC, m.clamp, 0, m.card)
    return sum(between(F32, F16)(toward_zero, x) << 16 * n for n, x in enumerate((a, b)))


# ---- Packed, dot products, mixed ----


def packed(name, width=16):
    def run(m, *s):
        mask = (1 << width) - 1
        plain = M(m.mode, m.clamp, 0, m.card)  # omod is not theirs
        return sum(REF[name](plain, *[x >> width * n & mask for x in s]) << width * n for n in range(2))
    return run


for name in ("add", "mul", "fma", "fmac", "min", "max", "min_num", "max_num", "minimum", "maximum"):
    REF[f"v_pk_{name}_f16"] = packed(f"v_{name}_f16")
for name in ("add", "mul", "fma"):
    REF[f"v_pk_{name}_f32"] = packed(f"v_{name}_f32", 32)


def widen(m, x):
    """f16 to f32, exactly; denormals of f16 by MODE."""
    return between(F16, F32)(M(m.mode | 0x20), x)


@ref("v_dot2_f32_f16", "v_dot2c_f32_f16")
def dot2(m, a, b, c):
    plain = M(m.mode & ~0xF0 if m.card == "gfx90a" else m.mode, card=m.card)
    keep = plain.keeps_in(F32)
    halves = [widen(plain, x >> at & 0xFFFF) for at in (0, 16) for x in (a, b)]
    nan = first_nan([F32] * 5, [*halves, c if keep else flushed(F32, c)])
    if nan:
        return modify(m, F32, nan[1])
    s = REF["v_fma_f32"](plain, halves[0], halves[1], c)
    return modify(m, F32, F32.nan if is_nan(F32, s) else REF["v_fma_f32"](plain, halves[2], halves[3], s))


def mixed(letters, half, fused):
    """`letters`: h or f of each source; `half`: an f16 result."""
    def run(m, *s):
        plain = M(m.mode, card=m.card)
        s = [widen(m, x) if letter == "h" else x for letter, x in zip(letters, s)]
        r = REF["v_fma_f32" if fused else "v_mad_f32"](plain, *s)
        if not half:
            return modify(m, F32, r)
        return between(F32, F16)(M(m.mode | 0x10, m.clamp, m.omod, m.card), r)
    return run


def MIX(name, letters):
    return mixed(letters, "_f16" in name, "fma" in name)


for name in ("mix_f32", "mixlo_f16", "mixhi_f16"):
    for kind in ("fma", "mad"):
        REF[f"v_{kind}_{name}"] = MIX(f"v_{kind}_{name}", "fff")
