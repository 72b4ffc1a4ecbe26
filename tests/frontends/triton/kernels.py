"""The corpus: kernels in Triton, each with cases: how it is compiled, what it is launched with, and what it must leave in memory, computed with numpy.

Values are small whole numbers wherever a sum's order would show, so that most results are compared to the bit."""
# SPDX-License-Identifier: Apache-2.0
import dataclasses

import numpy as np
import triton
import triton.language as tl

RNG = np.random.default_rng
BF16 = 'bf16' # numpy has none: such arrays are u16 under this name
FP8 = 'fp8e5'


@dataclasses.dataclass
class Array:
    """An argument that points to memory.  `want` is what must be there afterwards; None: nobody looks."""
    data: np.ndarray
    type: str
    want: np.ndarray = None
    rtol: float = 0
    atol: float = 0


@dataclasses.dataclass
class Case:
    name: str
    kernel: object
    grid: tuple
    args: list        # Array, int or float, in the kernel's order
    constants: dict   # its constexprs
    stages: int = 2
    warps: int = 4
    arch: int = 80


# ---- types ----

def to_bf16(x):
    """Rounded to nearest even, as bits."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bits(data, kind):
    """What the elements of an Array of this type stand for."""
    if kind == BF16:
        return (data.astype(np.uint32) << 16).view(np.float32)
    if kind == FP8:
        return (data.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    return data


def to_bits(x, kind):
    if kind == BF16:
        return to_bf16(x)
    if kind == FP8:
        return (np.ascontiguousarray(x, np.float16).view(np.uint16) >> 8).astype(np.uint8)
    return np.ascontiguousarray(x, {'fp16': np.float16, 'fp32': np.float32, 'fp64': np.float64, 'i8': np.int8, 'i32': np.int32}[kind])


def whole(rng, shape, most):
    return rng.integers(-most, most + 1, shape).astype(np.float64)


# ---- products of matrices ----

@triton.jit
def product(a, b, c, m, n, k, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr, HOW: tl.constexpr, RELU: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=ACC)
    for at in range(0, k, BK):
        left = tl.load(a + rows[:, None] * am + (at + inner)[None, :] * ak, mask=(rows[:, None] < m) & ((at + inner)[None, :] < k), other=0)
        right = tl.load(b + (at + inner)[:, None] * bk + columns[None, :] * bn, mask=((at + inner)[:, None] < k) & (columns[None, :] < n), other=0)
        total = tl.dot(left, right, total, input_precision=HOW, out_dtype=ACC)
    if RELU:
        total = tl.where(total < 0, total * 2, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(c.dtype.element_ty), mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def product_plain(a, b, c, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACC: tl.constexpr, HOW: tl.constexpr):
    """No masks, and pointers that are moved on."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    left = a + rows[:, None] * k + inner[None, :]
    right = b + inner[:, None] * n + columns[None, :]
    total = tl.zeros((BM, BN), dtype=ACC)
    for _ in range(0, k // BK):
        total += tl.dot(tl.load(left), tl.load(right), input_precision=HOW, out_dtype=ACC)
        left += BK
        right += BK * n
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(c.dtype.element_ty))


@triton.jit
def product_twice(a, b, d, c, k, BM: tl.constexpr, BK: tl.constexpr):
    """(a b) d: a product's result is the next one's operand."""
    at = tl.arange(0, BM)
    inner = tl.arange(0, BK)
    right = tl.load(d + at[:, None] * BM + at[None, :])
    total = tl.zeros((BM, BM), dtype=tl.float32)
    for i in range(0, k, BK):
        x = tl.dot(tl.load(a + at[:, None] * k + (i + inner)[None, :]), tl.load(b + (i + inner)[:, None] * BM + at[None, :]))
        total = tl.dot(x.to(tl.float16), right, total)
    tl.store(c + at[:, None] * BM + at[None, :], total)


KINDS = { # operand, result, accumulator, precision, largest whole number
    'f16': ('fp16', 'fp32', tl.float32, 'ieee', 6), 'f16h': ('fp16', 'fp16', tl.float16, 'ieee', 2), 'bf16': (BF16, 'fp32', tl.float32, 'ieee', 6), 'tf32': ('fp32', 'fp32', tl.float32, 'tf32', 6),
    'f32': ('fp32', 'fp32', tl.float32, 'ieee', 100), 'i8': ('i8', 'i32', tl.int32, 'ieee', 120), 'tf32x3': ('fp32', 'fp32', tl.float32, 'tf32x3', 100), 'fp8': (FP8, 'fp32', tl.float32, 'ieee', 3),
    'f64': ('fp64', 'fp64', tl.float64, 'ieee', 1000)}


def product_case(kind, stages, warps, shape, tiles, order='nn', relu=False, plain=False, arch=80):
    operand, result, acc, how, most = KINDS[kind]
    m, n, k = shape
    rng = RNG(m * 7 + n * 3 + k)
    a, b = whole(rng, (m, k), most), whole(rng, (k, n), most)
    want = a @ b
    want = np.where(want < 0, want * 2, want) if relu else want
    left, right = (x.T if o == 't' else x for x, o in zip((a, b), order))
    c = np.full((m, n), 77)
    name = f'product{"_plain" if plain else ""}-{kind}-{order}{"-relu" if relu else ""}-{m}x{n}x{k}-by-{tiles[0]}x{tiles[1]}x{tiles[2]}'
    arrays = [Array(to_bits(left, operand), operand), Array(to_bits(right, operand), operand), Array(to_bits(c, result), result, want)]
    constants = dict(BM=tiles[0], BN=tiles[1], BK=tiles[2], ACC=acc, HOW=how)
    grid = (-(-m // tiles[0]), -(-n // tiles[1]), 1)
    if plain:
        return Case(name, product_plain, grid, arrays + [n, k], constants, stages, warps, arch)
    strides = ([k, 1] if order[0] == 'n' else [1, m]) + ([n, 1] if order[1] == 'n' else [1, k])
    return Case(name, product, grid, arrays + [m, n, k] + strides, constants | dict(RELU=relu), stages, warps, arch)


def products():
    for stages in 1, 2, 3, 4:
        for warps in 1, 2, 4, 8:
            for kind in KINDS:
                if kind in ('f16', 'bf16', 'tf32', 'f32', 'i8'):
                    yield product_case(kind, stages, warps, (64, 64, 160), (32, 32, 32), plain=True)
                elif stages == 3:
                    yield product_case(kind, stages, warps, (64, 64, 160), (32, 32, 32), plain=True)
            yield product_case('f16', stages, warps, (50, 72, 112), (32, 64, 32))
            yield Case('product_twice', product_twice, (1, 1, 1), twice_arguments(), dict(BM=32, BK=32), stages, warps)
        for kind in 'f16', 'tf32', 'i8', 'bf16':
            yield product_case(kind, stages, 4, (64, 64, 128), (64, 32, 32), 'nt')
            yield product_case(kind, stages, 4, (64, 64, 128), (32, 64, 64), 'tn', relu=True)
            yield product_case(kind, stages, 4, (37, 45, 70), (32, 32, 32), 'tt')
        yield product_case('f16', stages, 4, (128, 128, 128), (128, 128, 32), plain=True)
        yield product_case('f16', stages, 8, (128, 128, 128), (128, 128, 64), plain=True)
        yield product_case('f16', stages, 4, (32, 32, 32), (32, 32, 32), plain=True)
        yield product_case('f16', stages, 4, (16, 16, 64), (16, 16, 16), plain=True)
        for arch in 75, 86, 89:
            yield product_case('f16', stages, 4, (64, 64, 160), (32, 32, 32), plain=True, arch=arch)
        yield product_case('fp8', stages, 4, (64, 64, 160), (32, 32, 32), plain=True, arch=89)


def twice_arguments():
    rng = RNG(5)
    a, b, d = whole(rng, (32, 128), 2), whole(rng, (128, 32), 2), whole(rng, (32, 32), 2)
    return [Array(to_bits(a, 'fp16'), 'fp16'), Array(to_bits(b, 'fp16'), 'fp16'), Array(to_bits(d, 'fp16'), 'fp16'), Array(np.zeros((32, 32), np.float32), 'fp32', a @ b @ d), 128]


# ---- attention ----

@triton.jit
def attention(q, k, v, out, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    """Rows' greatest score and sum are carried along: softmax(q k') v without the scores in memory."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    base = tl.program_id(1) * length * D
    wide = tl.arange(0, D)
    steps = tl.arange(0, BN)
    mine = tl.load(q + base + rows[:, None] * D + wide[None, :], mask=rows[:, None] < length, other=0)
    greatest = tl.full((BM,), -float('inf'), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    end = tl.minimum((tl.program_id(0) + 1) * BM, length) if CAUSAL else length
    for at in range(0, end, BN):
        there = at + steps
        keys = tl.load(k + base + there[None, :] * D + wide[:, None], mask=there[None, :] < length, other=0)
        score = tl.dot(mine, keys) * scale
        seen = there[None, :] < length
        if CAUSAL:
            seen = seen & (rows[:, None] >= there[None, :])
        score = tl.where(seen, score, -float('inf'))
        more = tl.maximum(greatest, tl.max(score, 1))
        part = tl.exp2(score - more[:, None])
        shrink = tl.exp2(greatest - more)
        total = total * shrink + tl.sum(part, 1)
        values = tl.load(v + base + there[:, None] * D + wide[None, :], mask=there[:, None] < length, other=0)
        sums = tl.dot(part.to(values.dtype), values, sums * shrink[:, None])
        greatest = more
    tl.store(out + base + rows[:, None] * D + wide[None, :], (sums / total[:, None]).to(out.dtype.element_ty), mask=rows[:, None] < length)


def attention_case(kind, stages, warps, length, d, causal, tiles=(32, 32)):
    rng = RNG(length + d)
    heads = 2
    q, k, v = (from_bits(to_bits(rng.normal(size=(heads, length, d)), kind), kind).astype(np.float64) for _ in range(3))
    scale = float(np.float32(1.4426950408889634 / d ** .5))
    score = np.einsum('hid,hjd->hij', q, k) * scale
    score = np.where(np.tril(np.ones((length, length), bool)), score, -np.inf) if causal else score
    part = np.exp2(score - score.max(2, keepdims=True))
    want = np.einsum('hij,hjd->hid', part / part.sum(2, keepdims=True), v)
    arrays = [Array(to_bits(x, kind), kind) for x in (q, k, v)] + [Array(np.zeros(want.shape, np.float32), 'fp32', want, 2e-2, 2e-2 if kind == BF16 else 4e-3)]
    return Case(f'attention-{kind}-{length}x{d}{"-causal" if causal else ""}', attention, (-(-length // tiles[0]), heads, 1), arrays + [length, scale],
                dict(BM=tiles[0], BN=tiles[1], D=d, CAUSAL=causal), stages, warps)


def attentions():
    for stages in 1, 2, 3, 4:
        for warps in 1, 2, 4, 8:
            yield attention_case('fp16', stages, warps, 96, 32, warps & 5 != 0)
        yield attention_case('fp16', stages, 4, 80, 64, False, (64, 32))
        yield attention_case(BF16, stages, 4, 100, 32, True)
    yield attention_case('fp32', 2, 4, 64, 32, True)


# ---- rows ----

@triton.jit
def softmax(x, out, columns, stride, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    value = tl.load(x + row * stride + at, mask=at < columns, other=-float('inf'))
    part = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * stride + at, part / tl.sum(part, 0), mask=at < columns)


@triton.jit
def softmax_rows(x, out, rows, columns, B: tl.constexpr, STAGES: tl.constexpr):
    """As many programs as there is room for; each takes rows in turn."""
    at = tl.arange(0, B)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        value = tl.load(x + row * columns + at, mask=at < columns, other=-float('inf'))
        part = tl.exp(value - tl.max(value, 0))
        tl.store(out + row * columns + at, part / tl.sum(part, 0), mask=at < columns)


@triton.jit
def layer_norm(x, weight, bias, out, mean_out, rstd_out, columns, eps, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    first = tl.zeros((B,), tl.float32)
    second = tl.zeros((B,), tl.float32)
    for i in range(0, columns, B):
        value = tl.load(x + row * columns + i + at, mask=i + at < columns, other=0).to(tl.float32)
        first += value
        second += value * value
    mean = tl.sum(first, 0) / columns
    rstd = tl.rsqrt(tl.sum(second, 0) / columns - mean * mean + eps)
    tl.store(mean_out + row, mean)
    tl.store(rstd_out + row, rstd)
    for i in range(0, columns, B):
        mask = i + at < columns
        value = tl.load(x + row * columns + i + at, mask=mask, other=0).to(tl.float32)
        tl.store(out + row * columns + i + at, (value - mean) * rstd * tl.load(weight + i + at, mask=mask) + tl.load(bias + i + at, mask=mask), mask=mask)


@triton.jit
def norm_gradient(x, dy, dw, lock, count, rows, columns, GROUPS: tl.constexpr, B: tl.constexpr):
    """Each program adds its row to one of a few sums, which a lock guards."""
    row = tl.program_id(0)
    at = tl.arange(0, B)
    mask = at < columns
    part = tl.load(x + row * columns + at, mask=mask, other=0) * tl.load(dy + row * columns + at, mask=mask, other=0)
    group = row % GROUPS
    while tl.atomic_cas(lock + group, 0, 1) == 1:
        pass
    seen = tl.load(count + group)
    if seen == 0:
        tl.atomic_xchg(count + group, 1)
    else:
        part += tl.load(dw + group * columns + at, mask=mask)
    tl.store(dw + group * columns + at, part, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock + group, 0)


def rows_cases():
    rng = RNG(11)
    x = rng.normal(size=(7, 200)).astype(np.float32)
    want = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    want /= want.sum(1, keepdims=True)
    weight, bias = (rng.normal(size=200).astype(np.float32) for _ in range(2))
    half = x.astype(np.float16)
    wide = half.astype(np.float64)
    mean, variance = wide.mean(1), wide.var(1)
    rstd = 1 / np.sqrt(variance + 1e-5)
    normal = (wide - mean[:, None]) * rstd[:, None] * weight + bias
    a, b = whole(rng, (24, 100), 5).astype(np.float32), whole(rng, (24, 100), 5).astype(np.float32)
    sums = np.stack([(a * b)[g::4].sum(0) for g in range(4)])
    for warps in 1, 2, 4, 8:
        yield Case('softmax', softmax, (7, 1, 1), [Array(x, 'fp32'), Array(np.zeros_like(x), 'fp32', want, 1e-5, 1e-7), 200, 200], dict(B=256), 2, warps)
        for stages in 1, 2, 3, 4:
            yield Case('softmax_rows', softmax_rows, (2, 1, 1), [Array(x, 'fp32'), Array(np.zeros_like(x), 'fp32', want, 1e-5, 1e-7), 7, 200], dict(B=256, STAGES=stages), stages, warps)
            yield Case('layer_norm', layer_norm, (7, 1, 1), [Array(half, 'fp16'), Array(weight, 'fp32'), Array(bias, 'fp32'), Array(np.zeros_like(x), 'fp32', normal, 1e-3, 1e-3),
                       Array(np.zeros(7, np.float32), 'fp32', mean, 1e-4, 1e-6), Array(np.zeros(7, np.float32), 'fp32', rstd, 1e-4), 200, 1e-5], dict(B=64), stages, warps)
        yield Case('norm_gradient', norm_gradient, (24, 1, 1), [Array(a, 'fp32'), Array(b, 'fp32'), Array(np.full((4, 100), 9, np.float32), 'fp32', sums), Array(np.zeros(4, np.int32), 'i32', np.zeros(4)),
                   Array(np.zeros(4, np.int32), 'i32', np.ones(4)), 24, 100], dict(GROUPS=4, B=128), 2, warps)


# ---- reductions ----

@triton.jit
def reduce_axis(x, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, OP: tl.constexpr):
    value = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    if OP == 'sum':
        answer = tl.sum(value, AXIS)
    elif OP == 'max':
        answer = tl.max(value, AXIS)
    elif OP == 'min':
        answer = tl.min(value, AXIS)
    elif OP == 'argmax':
        answer = tl.argmax(value, AXIS)
    elif OP == 'argmin':
        answer = tl.argmin(value, AXIS)
    elif OP == 'xor':
        answer = tl.xor_sum(value, AXIS)
    tl.store(out + tl.arange(0, N if AXIS == 0 else M), answer)


@triton.jit
def add_up(a_mean, a_square, a_count, b_mean, b_square, b_count):
    """Means and sums of squares of two parts, put together."""
    count = a_count + b_count
    delta = b_mean - a_mean
    return a_mean + delta * b_count / count, a_square + b_square + delta * delta * a_count * b_count / count, count


@triton.jit
def spread(x, out, M: tl.constexpr, N: tl.constexpr):
    value = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    mean, square, count = tl.reduce((value, tl.zeros_like(value), tl.full((M, N), 1, tl.float32)), 1, add_up)
    tl.store(out + tl.arange(0, M), mean)
    tl.store(out + M + tl.arange(0, M), square / count)


@triton.jit
def dot_of_rows(x, y, out, n, B: tl.constexpr):
    """One number of all: a loop, then everything to a scalar, then one more program's atomics."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for i in range(0, n, B * 2):
        mask = at + i < n
        total += tl.load(x + at + i, mask=mask, other=0) * tl.load(y + at + i, mask=mask, other=0)
    tl.atomic_add(out, tl.sum(total))


REDUCE = {'sum': np.sum, 'max': np.max, 'min': np.min, 'argmax': np.argmax, 'argmin': np.argmin, 'xor': np.bitwise_xor.reduce}
TYPES = {'fp32': np.float32, 'i32': np.int32, 'fp16': np.float16, 'i64': np.int64, 'i8': np.int8}


def reductions():
    rng = RNG(3)
    for warps in 1, 2, 4, 8:
        for axis in 0, 1:
            for op, kind in (('sum', 'fp32'), ('max', 'fp16'), ('min', 'i32'), ('argmax', 'fp32'), ('argmin', 'i32'), ('xor', 'i32'), ('sum', 'i64'), ('max', 'i8'), ('sum', 'fp16')):
                x = rng.integers(-9 if 'arg' not in op else -100, 10 if 'arg' not in op else 100, (32, 64)).astype(TYPES[kind])
                want = REDUCE[op](x, axis=axis)
                result = 'i32' if 'arg' in op or kind == 'i8' else kind
                yield Case(f'reduce-{op}-{kind}-{axis}', reduce_axis, (1, 1, 1), [Array(x, kind), Array(np.zeros(want.shape, TYPES[result]), result, want)],
                           dict(M=32, N=64, AXIS=axis, OP=op), 2, warps)
        x = rng.normal(size=(16, 128)).astype(np.float32)
        yield Case('spread', spread, (1, 1, 1), [Array(x, 'fp32'), Array(np.zeros(32, np.float32), 'fp32', np.concatenate([x.mean(1), x.var(1)]), 1e-5, 1e-6)], dict(M=16, N=128), 2, warps)
        a, b = whole(rng, 1000, 9).astype(np.float32), whole(rng, 1000, 9).astype(np.float32)
        for stages in 1, 3, 4:
            yield Case('dot_of_rows', dot_of_rows, (2, 1, 1), [Array(a, 'fp32'), Array(b, 'fp32'), Array(np.zeros(1, np.float32), 'fp32', np.array([(a * b).sum()])), 1000], dict(B=128), stages, warps)


# ---- scans ----

@triton.jit
def steps(a_gate, a_value, b_gate, b_value):
    """h = gate h + value, two steps in one."""
    return a_gate * b_gate, a_value * b_gate + b_value


@triton.jit
def scan_axis(x, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, BACK: tl.constexpr, OP: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + at)
    if OP == 'sum':
        answer = tl.cumsum(value, AXIS, reverse=BACK)
    else:
        answer = tl.cumprod(value, AXIS, reverse=BACK)
    tl.store(out + at, answer)


@triton.jit
def recurrence(gate, x, out, n, M: tl.constexpr, N: tl.constexpr):
    """Rows of linear recurrences, in parts of N with the state carried over."""
    row = tl.arange(0, M)[:, None]
    at = tl.arange(0, N)[None, :]
    state = tl.zeros((M, 1), tl.int32)
    for i in range(0, n, N):
        g = tl.load(gate + row * n + i + at)
        v = tl.load(x + row * n + i + at)
        both, sums = tl.associative_scan((g, v), 1, steps)
        answer = sums + both * state
        tl.store(out + row * n + i + at, answer)
        state = tl.sum(tl.where(at == N - 1, answer, 0), 1, keep_dims=True)


def scans():
    rng = RNG(4)
    for warps in 1, 2, 4, 8:
        for op, kind, axis, back in (('sum', 'i32', 0, False), ('sum', 'fp32', 1, False), ('prod', 'i32', 1, False), ('sum', 'i32', 1, True), ('sum', 'fp32', 0, True), ('sum', 'i64', 1, False), ('sum', 'fp16', 1, False)):
            x = rng.integers(-9 if op == 'sum' else -3, 10 if op == 'sum' else 4, (16, 64)).astype(TYPES[kind])
            f = np.cumsum if op == 'sum' else np.cumprod
            want = np.flip(f(np.flip(x, axis), axis, dtype=x.dtype), axis) if back else f(x, axis, dtype=x.dtype)
            yield Case(f'scan-{op}-{kind}-{axis}{"-back" if back else ""}', scan_axis, (1, 1, 1), [Array(x, kind), Array(np.zeros_like(x), kind, want)], dict(M=16, N=64, AXIS=axis, BACK=back, OP=op), 2, warps)
        g, v = rng.integers(-1, 2, (8, 256)).astype(np.int32), rng.integers(-9, 10, (8, 256)).astype(np.int32)
        want = np.zeros((8, 256), np.int32)
        state = np.zeros(8, np.int32)
        for i in range(256):
            state = state * g[:, i] + v[:, i]
            want[:, i] = state
        for stages in 1, 2, 3, 4:
            yield Case('recurrence', recurrence, (1, 1, 1), [Array(g, 'i32'), Array(v, 'i32'), Array(np.zeros_like(v), 'i32', want), 256], dict(M=8, N=64), stages, warps)


# ---- atomics, gathers and the rest ----

@triton.jit
def atomics(where, what, half, sums, least, most, bits, flips, halves, old, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < n
    place = tl.load(where + at, mask=mask, other=0)
    value = tl.load(what + at, mask=mask, other=0)
    tl.atomic_add(sums + place, value, mask=mask)
    tl.atomic_min(least + place, value, mask=mask)
    tl.atomic_max(most + place, value.to(tl.float32), mask=mask)
    tl.atomic_or(bits + place, value, mask=mask, sem='relaxed')
    tl.atomic_xor(flips + place, value, mask=mask, sem='release')
    tl.atomic_add(halves + place, tl.load(half + at, mask=mask, other=0), mask=mask)
    tl.store(old + at, tl.atomic_xchg(old + at, value + 1, mask=mask) + value, mask=mask)


@triton.jit
def counts(x, out, n, B: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out + tl.arange(0, BINS), tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS, mask=at < n))


@triton.jit
def gathers(table, index, out, back, sorted_out, n, M: tl.constexpr, N: tl.constexpr):
    row = tl.arange(0, M)[:, None]
    at = tl.arange(0, N)[None, :]
    value = tl.load(table + row * N + at)
    which = tl.load(index + row * N + at)
    tl.store(out + row * N + at, tl.gather(value, which, 1))
    far = tl.load(table + which * n + at, mask=(which < M) & (at % 3 != 0), other=-1)
    tl.store(back + row * N + at, far)
    tl.store(sorted_out + row * N + at, tl.sort(value, 1))


@triton.jit
def shapes(x, turned, woven, flipped, M: tl.constexpr, N: tl.constexpr):
    """Layouts that are turned into others, through shared memory or shuffles."""
    row = tl.arange(0, M)[:, None]
    at = tl.arange(0, N)[None, :]
    value = tl.load(x + row * N + at)
    tl.store(turned + tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :], tl.trans(value) * 2)
    even, odd = tl.split(tl.reshape(value, (M, N // 2, 2)))
    tl.store(woven + row * N + at, tl.interleave(odd, even))
    tl.store(flipped + row * N + at, tl.flip(value, 1) + tl.reshape(tl.permute(tl.reshape(value, (M // 2, 2, N)), (1, 0, 2)), (M, N)))


@triton.jit
def numbers(x, y, floats, ints, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < n
    a = tl.load(x + at, mask=mask, other=1)
    b = tl.load(y + at, mask=mask, other=1)
    tl.store(floats + at, tl.exp(a) + tl.log(a + 1) * tl.sin(a) + tl.cos(a) * tl.sqrt(a) + tl.erf(a) + tl.floor(a) + tl.ceil(a * 3) + tl.exp2(-a) + tl.log2(a + 2) + tl.math.div_rn(a, a + 3), mask=mask)
    tl.store(ints + at, (b // 7) + (b % 13) * 100 + tl.umulhi(b.to(tl.uint32), 0x9E3779B9).to(tl.int32) + (b >> 3 ^ b << 5) + tl.clamp(a * 1000, -50., 5000.).to(tl.int32), mask=mask)


@triton.jit
def casts(x, halves, brains, small, again, B: tl.constexpr):
    at = tl.arange(0, B)
    value = tl.load(x + at)
    tl.store(halves + at, value.to(tl.float16))
    tl.store(brains + at, value.to(tl.bfloat16))
    eight = value.to(tl.float8e5)
    tl.store(small + at, eight)
    tl.store(again + at, eight.to(tl.float32) + value.to(tl.int16).to(tl.float32) + value.to(tl.int64).to(tl.float32))


@triton.jit
def dice(out, ints, seed, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(ints + at, tl.randint(seed, at), mask=at < n)
    tl.store(out + at, tl.rand(seed, at), mask=at < n)


@triton.jit
def walks(x, out, B: tl.constexpr):
    """A loop that ends when the values say so, with a branch that programs take or not."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + at)
    steps = tl.zeros((B,), tl.int32)
    while tl.max(value) > 1:
        more = value > 1
        steps += more.to(tl.int32)
        value = tl.where(more, tl.where(value % 2 == 0, value // 2, value * 3 + 1), value)
    if tl.program_id(0) % 2 == 1:
        steps = steps * 2 + tl.sum(steps)
    tl.store(out + at, steps)


@triton.jit
def blur(x, out, h, w, BH: tl.constexpr, BW: tl.constexpr):
    row = (tl.program_id(0) * BH + tl.arange(0, BH))[:, None]
    column = (tl.program_id(1) * BW + tl.arange(0, BW))[None, :]
    total = tl.zeros((BH, BW), tl.int32)
    for dy in tl.static_range(-1, 2):
        for dx in range(-1, 2):
            y = row + dy
            z = column + dx
            total += tl.load(x + y * w + z, mask=(y >= 0) & (y < h) & (z >= 0) & (z < w), other=0).to(tl.int32) * (dx + 2)
    tl.store(out + row * w + column, total, mask=(row < h) & (column < w))


def philox(seed, counter, rounds=10):
    """The first word for each counter, as Salmon and others define the generator."""
    c = [counter.astype(np.uint64)] + [np.zeros(counter.shape, np.uint64)] * 3
    key = [seed & 0xffffffff, seed >> 32]
    for _ in range(rounds):
        a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(b >> 32) ^ c[1] ^ key[0], b & 0xffffffff, (a >> 32) ^ c[3] ^ key[1], a & 0xffffffff]
        key = [(key[0] + 0x9E3779B9) & 0xffffffff, (key[1] + 0xBB67AE85) & 0xffffffff]
    return c[0].astype(np.uint32)


def collatz(values, block):
    out = []
    for v in values.tolist():
        n = 0
        while v > 1:
            v, n = (v // 2 if v % 2 == 0 else v * 3 + 1), n + 1
        out.append(n)
    out = np.array(out).reshape(-1, block)
    out[1::2] = out[1::2] * 2 + out[1::2].sum(1, keepdims=True)
    return out.ravel()


def blurred(x):
    p = np.pad(x.astype(np.int32), 1)
    h, w = x.shape
    return sum(p[1 + dy:1 + dy + h, 1 + dx:1 + dx + w] * (dx + 2) for dy in (-1, 0, 1) for dx in (-1, 0, 1))


def apply_at(function, start, where, what):
    function.at(start, where, what)
    return start


def atomics_arguments(rng):
    n = 1000
    where, what = rng.integers(0, 13, n).astype(np.int32), rng.integers(-1000, 1000, n).astype(np.int32)
    half = rng.integers(-1, 2, n).astype(np.float16)
    old = rng.integers(0, 99, n).astype(np.int32)
    zeros = np.zeros(13, np.int32)
    return [Array(where, 'i32'), Array(what, 'i32'), Array(half, 'fp16'), Array(zeros, 'i32', apply_at(np.add, zeros.copy(), where, what)), Array(zeros, 'i32', apply_at(np.minimum, zeros.copy(), where, what)),
            Array(zeros.astype(np.float32), 'fp32', apply_at(np.maximum, zeros.copy(), where, what)), Array(zeros, 'i32', apply_at(np.bitwise_or, zeros.copy(), where, what)),
            Array(zeros, 'i32', apply_at(np.bitwise_xor, zeros.copy(), where, what)), Array(zeros.astype(np.float16), 'fp16', apply_at(np.add, zeros.astype(np.float32), where, half)),
            Array(old, 'i32', old + what), n]


def numbers_arguments(rng):
    x, y = rng.uniform(0, 3, 500).astype(np.float32), rng.integers(0, 1 << 30, 500).astype(np.int32)
    a, b = x.astype(np.float64), y.astype(np.int64)
    import math
    erf = np.array([math.erf(v) for v in a])
    floats = np.exp(a) + np.log(a + 1) * np.sin(a) + np.cos(a) * np.sqrt(a) + erf + np.floor(a) + np.ceil(x * np.float32(3)) + np.exp2(-a) + np.log2(a + 2) + a / (a + 3)
    ints = b // 7 + b % 13 * 100 + (b * 0x9E3779B9 >> 32) + (b >> 3 ^ (b << 5 & 0xffffffff)) + np.clip(x * np.float32(1000), -50, 5000).astype(np.int64)
    return [Array(x, 'fp32'), Array(y, 'i32'), Array(np.zeros(500, np.float32), 'fp32', floats, 1e-5, 1e-4), Array(np.zeros(500, np.int32), 'i32', (ints & 0xffffffff).astype(np.uint32).view(np.int32)), 500]


def casts_arguments(rng):
    x = np.concatenate([rng.integers(-200, 200, 192) * .25, rng.normal(size=64) * 3]).astype(np.float32)
    half = x.astype(np.float16)
    # To fp8e5, which is the upper byte of f16, rounded to nearest even from f32.
    scale = np.exp2(np.floor(np.log2(np.maximum(np.abs(x), 2.0 ** -14))) - 2)
    eight = (np.rint(x / scale) * scale).astype(np.float32)
    again = eight + np.trunc(x) * 2
    return [Array(x, 'fp32'), Array(np.zeros(256, np.float16), 'fp16', half), Array(np.zeros(256, np.uint16), BF16, from_bits(to_bf16(x), BF16)),
            Array(np.zeros(256, np.uint8), FP8, eight), Array(np.zeros(256, np.float32), 'fp32', again)]


def rest():
    rng = RNG(9)
    table, index = rng.integers(-99, 99, (16, 64)).astype(np.int32), rng.integers(0, 64, (16, 64)).astype(np.int32)
    at = np.arange(64)[None, :]
    far = np.where((index < 16) & (at % 3 != 0), table.ravel()[np.minimum(index * 64 + at, 1023)], -1)
    value = rng.integers(-99, 99, (32, 64)).astype(np.int32)
    woven = value.reshape(32, 32, 2)[:, :, ::-1].reshape(32, 64)
    flipped = value[:, ::-1] + value.reshape(16, 2, 64).transpose(1, 0, 2).reshape(32, 64)
    bins = rng.integers(0, 32, 1000).astype(np.int32)
    dice_want = philox(1234567890123, np.arange(500))
    starts = rng.integers(1, 60, 4 * 64).astype(np.int32)
    picture = rng.integers(0, 255, (37, 61)).astype(np.int8)
    for warps in 1, 2, 4, 8:
        yield Case('atomics', atomics, (4, 1, 1), atomics_arguments(RNG(2)), dict(B=256), 2, warps)
        yield Case('counts', counts, (4, 1, 1), [Array(bins, 'i32'), Array(np.zeros(32, np.int32), 'i32', np.bincount(bins, minlength=32)), 1000], dict(B=256, BINS=32), 2, warps)
        yield Case('gathers', gathers, (1, 1, 1), [Array(table, 'i32'), Array(index, 'i32'), Array(np.zeros_like(table), 'i32', np.take_along_axis(table, index, 1)), Array(np.zeros_like(table), 'i32', far),
                   Array(np.zeros_like(table), 'i32', np.sort(table, 1)), 64], dict(M=16, N=64), 2, warps)
        yield Case('shapes', shapes, (1, 1, 1), [Array(value, 'i32'), Array(np.zeros((64, 32), np.int32), 'i32', value.T * 2), Array(np.zeros_like(value), 'i32', woven),
                   Array(np.zeros_like(value), 'i32', flipped)], dict(M=32, N=64), 2, warps)
        yield Case('shapes-i8', shapes, (1, 1, 1), [Array(value.astype(np.int8), 'i8'), Array(np.zeros((64, 32), np.int8), 'i8', (value.T * 2).astype(np.int8)), Array(np.zeros_like(value).astype(np.int8), 'i8', woven),
                   Array(np.zeros_like(value).astype(np.int8), 'i8', flipped.astype(np.int8))], dict(M=32, N=64), 2, warps)
        yield Case('numbers', numbers, (4, 1, 1), numbers_arguments(RNG(6)), dict(B=128), 2, warps)
        yield Case('casts', casts, (1, 1, 1), casts_arguments(RNG(7)), dict(B=256), 2, warps)
        yield Case('dice', dice, (4, 1, 1), [Array(np.zeros(500, np.float32), 'fp32', np.where(dice_want.view(np.int32) < 0, -dice_want.view(np.int32).astype(np.int64) - 1, dice_want) * 4.6566127342e-10, 1e-6),
                   Array(np.zeros(500, np.int32), 'i32', dice_want.view(np.int32)), 1234567890123, 500], dict(B=128), 2, warps)
        yield Case('walks', walks, (4, 1, 1), [Array(starts, 'i32'), Array(np.zeros_like(starts), 'i32', collatz(starts, 64))], dict(B=64), 2, warps)
        for stages in 1, 3:
            yield Case('blur', blur, (3, 2, 1), [Array(picture, 'i8'), Array(np.zeros(picture.shape, np.int32), 'i32', blurred(picture)), 37, 61], dict(BH=16, BW=32), stages, warps)


def cases():
    """Every case, by name; stages and warps are part of it."""
    import more # which needs what is above
    all_of = {}
    for case in [*products(), *attentions(), *rows_cases(), *reductions(), *scans(), *rest(), *more.cases()]:
        case.name += f'-s{case.stages}-w{case.warps}' + (f'-sm{case.arch}' if case.arch != 80 else '')
        all_of[case.name] = case
    return all_of
