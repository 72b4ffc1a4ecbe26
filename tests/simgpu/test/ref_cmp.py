"""References of vector compares: REF as in ref_int.py; the result is this lane's bit.  Numbers are exact (fractions.Fraction)."""
# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction

REF = {}

FORMATS = {16: (5, 10), 32: (8, 23), 64: (11, 52)}
NAN = None


def value(bits, width, keep_denormals):
    """The number that the bits are; NAN; infinities as floats, which compare with fractions."""
    exponent_bits, mantissa_bits = FORMATS[width]
    sign = -1 if bits >> (width - 1) else 1
    exponent, mantissa = bits >> mantissa_bits & (1 << exponent_bits) - 1, bits & (1 << mantissa_bits) - 1
    bias = (1 << exponent_bits - 1) - 1
    if exponent == (1 << exponent_bits) - 1:
        return NAN if mantissa else sign * float("inf")
    if exponent == 0:
        return sign * Fraction(mantissa if keep_denormals else 0) / 2 ** (bias - 1 + mantissa_bits)
    return sign * Fraction(mantissa + (1 << mantissa_bits)) * Fraction(2) ** (exponent - bias - mantissa_bits)


# Which of less, equal, greater, unordered make the relation true.
ORDERS = {"f": "", "lt": "<", "eq": "=", "le": "<=", "gt": ">", "lg": "<>", "ge": "=>", "o": "<=>", "u": "u", "nge": "<u",
          "nlg": "=u", "ngt": "<=u",
          "nle": ">u", "neq": "<>u", "nlt": "=>u", "tru": "<=>u"}
INT_ORDERS = {"f": "", "lt": "<", "eq": "=", "le": "<=", "gt": ">", "ne": "<>", "ge": "=>", "t": "<=>"}


def order(a, b):
    if a is NAN or b is NAN:
        return "u"
    return "<" if a < b else ">" if a > b else "="


def compare_floats(width, orders):
    denormals = 4 if width == 32 else 6

    def run(m, a, b):
        keep = m.mode >> denormals & 1
        return int(order(value(a, width, keep), value(b, width, keep)) in orders)
    return run


def compare_ints(kind, width, orders):
    def number(x):
        return x - (1 << width) if kind == "i" and x >> (width - 1) else x
    return lambda m, a, b: int(order(number(a), number(b)) in orders)


def class_of(bits, width):
    exponent_bits, mantissa_bits = FORMATS[width]
    number = value(bits, width, True)
    negative = bits >> (width - 1)
    if number is NAN:
        return 1 if bits >> (mantissa_bits - 1) & 1 else 0
    if abs(number) == float("inf"):
        return 2 if negative else 9
    if number == 0:
        return 5 if negative else 6
    least_normal = Fraction(1, 2 ** ((1 << exponent_bits - 1) - 2))
    if abs(number) < least_normal:
        return 4 if negative else 7
    return 3 if negative else 8


for x in ("", "x"):
    for width in (16, 32, 64):
        for name, orders in ORDERS.items():
            REF[f"v_cmp{x}_{name}_f{width}"] = compare_floats(width, orders)
        for name, orders in INT_ORDERS.items():
            REF[f"v_cmp{x}_{name}_u{width}"] = compare_ints("u", width, orders)
            REF[f"v_cmp{x}_{name}_i{width}"] = compare_ints("i", width, orders)
        REF[f"v_cmp{x}_class_f{width}"] = lambda m, a, mask, n=width: mask >> class_of(a, n) & 1
