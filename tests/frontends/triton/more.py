"""More of the corpus (kernels.py): what models and their training are made of, beyond plain products, softmax and scans."""
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import triton
import triton.language as tl

from kernels import Array, BF16, Case, RNG, from_bits, to_bits, whole


@triton.jit
def split_product(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr,
                  GROUP: tl.constexpr):
    """Programs go through the tiles in groups of rows, share out the depth among them and add up in memory."""
    across = tl.cdiv(n, BN)
    group = tl.program_id(0) // (GROUP * across)
    high = tl.minimum(tl.cdiv(m, BM) - group * GROUP, GROUP)
    rest = tl.program_id(0) % (GROUP * across)
    rows = (group * GROUP + rest % high) * BM + tl.arange(0, BM)
    columns = rest // high * BN + tl.arange(0, BN)
    inner = tl.program_id(1) * BK + tl.arange(0, BK)
    left = a + (rows % m)[:, None] * k + inner[None, :]
    right = b + inner[:, None] * n + (columns % n)[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, tl.cdiv(k, BK * PARTS)):
        there = k - i * BK * PARTS
        total = tl.dot(tl.load(left, mask=inner[None, :] < there, other=0.0),
                       tl.load(right, mask=inner[:, None] < there, other=0.0), total)
        left += BK * PARTS
        right += BK * PARTS * n
    tl.atomic_add(c + rows[:, None] * n + columns[None, :], total, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def packed_product(a, b, scale, c, k, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Weights of four bits, eight to a word, and a scale for each column."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, k, BK):
        left = tl.load(a + rows[:, None] * k + (i + inner)[None, :])
        words = tl.load(b + ((i + inner) // 8)[:, None] * n + columns[None, :])
        weights = (words >> ((inner % 8) * 4)[:, None] & 15) - 8
        total = tl.dot(left, weights.to(tl.float16), total)
    tl.store(c + rows[:, None] * n + columns[None, :], total * tl.load(scale + columns)[None, :])


@triton.jit
def batched(a, b, c, G: tl.constexpr, M: tl.constexpr, K: tl.constexpr):
    """Several products at once: tl.dot of three dimensions."""
    g = tl.arange(0, G)[:, None, None]
    rows = tl.arange(0, M)
    inner = tl.arange(0, K)
    left = tl.load(a + g * M * K + rows[None, :, None] * K + inner[None, None, :])
    right = tl.load(b + g * M * K + inner[None, :, None] * M + rows[None, None, :])
    tl.store(c + g * M * M + rows[None, :, None] * M + rows[None, None, :], tl.dot(left, right))


@triton.jit
def convolution(x, w, out, h, wide, channels, BP: tl.constexpr, BC: tl.constexpr, OUT: tl.constexpr):
    """3 by 3 as products of gathered rows; one loop over taps and channels."""
    pixel = tl.program_id(0) * BP + tl.arange(0, BP)
    y = pixel // wide
    z = pixel % wide
    c = tl.arange(0, BC)
    o = tl.arange(0, OUT)
    total = tl.zeros((BP, OUT), tl.float32)
    steps = channels // BC
    for i in range(0, 9 * steps):
        tap = i // steps
        yy = y + tap // 3 - 1
        zz = z + tap % 3 - 1
        channel = i % steps * BC + c
        seen = (yy >= 0) & (yy < h) & (zz >= 0) & (zz < wide) & (pixel < h * wide)
        part = tl.load(x + (yy * wide + zz)[:, None] * channels + channel[None, :], mask=seen[:, None], other=0.0)
        total = tl.dot(part, tl.load(w + (tap * channels + channel)[:, None] * OUT + o[None, :]), total)
    tl.store(out + pixel[:, None] * OUT + o[None, :], total, mask=(pixel < h * wide)[:, None])


@triton.jit
def attention_gradient(q, k, v, do, most, delta, dq, dk, dv, length, scale, B: tl.constexpr, D: tl.constexpr):
    """For one tile of keys: five products in a loop over the queries; dq by atomics."""
    keys = tl.program_id(0) * B + tl.arange(0, B)
    wide = tl.arange(0, D)
    at = keys[:, None] * D + wide[None, :]
    kk = tl.load(k + at)
    vv = tl.load(v + at)
    sum_k = tl.zeros((B, D), tl.float32)
    sum_v = tl.zeros((B, D), tl.float32)
    for i in range(0, length, B):
        rows = i + tl.arange(0, B)
        there = rows[:, None] * D + wide[None, :]
        qq = tl.load(q + there)
        oo = tl.load(do + there)
        part = tl.exp(tl.dot(qq, tl.trans(kk)) * scale - tl.load(most + rows)[:, None])
        sum_v = tl.dot(tl.trans(part.to(tl.float16)), oo, sum_v)
        slope = (part * (tl.dot(oo, tl.trans(vv)) - tl.load(delta + rows)[:, None]) * scale).to(tl.float16)
        sum_k = tl.dot(tl.trans(slope), qq, sum_k)
        tl.atomic_add(dq + there, tl.dot(slope, kk))
    tl.store(dk + at, sum_k)
    tl.store(dv + at, sum_v)


@triton.jit
def cross_entropy(x, label, loss, slope, n, stride, B: tl.constexpr):
    row = tl.program_id(0)
    target = tl.load(label + row)
    greatest = -float('inf')
    total = 0.0
    for i in range(0, n, B):
        at = i + tl.arange(0, B)
        value = tl.load(x + row * stride + at, mask=at < n, other=-float('inf')).to(tl.float32)
        more = tl.maximum(greatest, tl.max(value, 0))
        total = total * tl.exp(greatest - more) + tl.sum(tl.exp(value - more), 0)
        greatest = more
    if target >= 0:
        tl.store(loss + row, tl.log(total) + greatest - tl.load(x + row * stride + target).to(tl.float32))
    else:
        tl.store(loss + row, 0.0)
    for i in range(0, n, B):
        at = i + tl.arange(0, B)
        value = tl.load(x + row * stride + at, mask=at < n, other=0).to(tl.float32)
        part = tl.exp(value - greatest) / total - tl.where(at == target, 1.0, 0.0)
        tl.store(slope + row * stride + at, tl.where(target >= 0, part, 0.0), mask=at < n)


@triton.jit
def rotary(x, cosine, sine, out, heads, HALF: tl.constexpr):
    at = tl.arange(0, HALF)
    base = (tl.program_id(0) * heads + tl.program_id(1)) * HALF * 2
    c = tl.load(cosine + tl.program_id(0) * HALF + at).to(tl.float32)
    s = tl.load(sine + tl.program_id(0) * HALF + at).to(tl.float32)
    first = tl.load(x + base + at).to(tl.float32)
    second = tl.load(x + base + HALF + at).to(tl.float32)
    tl.store(out + base + at, first * c - second * s)
    tl.store(out + base + HALF + at, second * c + first * s)


@triton.jit
def greatest_few(x, values, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    tl.store(values + row * K + tl.arange(0, K), tl.topk(tl.load(x + row * N + tl.arange(0, N)), K))


@triton.jit
def blocks(x, out, h, w, BH: tl.constexpr, BW: tl.constexpr):
    """A descriptor of a tensor instead of addresses, and its edges."""
    here = tl.make_tensor_descriptor(x, shape=[h, w], strides=[w, 1], block_shape=[BH, BW])
    there = tl.make_tensor_descriptor(out, shape=[w, h], strides=[h, 1], block_shape=[BW, BH])
    there.store([tl.program_id(1) * BW, tl.program_id(0) * BH],
                tl.trans(here.load([tl.program_id(0) * BH, tl.program_id(1) * BW])))


@triton.jit
def own_words(x, y, out, wide_out, B: tl.constexpr):
    """Assembly of one's own: four bytes at once, and a carry."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + at)
    b = tl.load(y + at)
    bytes_ = tl.inline_asm_elementwise('vabsdiff4.u32.u32.u32.add $0, $1, $2, 0;', '=r,r,r', [a, b], dtype=tl.int32, is_pure=True,
                                       pack=1)
    low, high = tl.inline_asm_elementwise('{ mad.lo.cc.u32 $0, $2, $3, $2; madc.hi.u32 $1, $2, $3, 0; }', '=r,=r,r,r', [a, b],
                                          dtype=(tl.int32, tl.int32), is_pure=True, pack=1)
    tl.store(out + at, bytes_)
    tl.store(wide_out + at, (high.to(tl.int64) << 32) | low.to(tl.uint32, bitcast=True).to(tl.int64))


@triton.jit
def doubles(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + at, mask=at < n, other=1)
    tl.store(out + at, tl.exp(a) + tl.log(a) * tl.sin(a) - tl.cos(a * 100) + tl.sqrt(a) + tl.rsqrt(a) + tl.erf(a) + tl.floor(a)
             + tl.fma(a, a, a) / (a + 2), mask=at < n)


@triton.jit
def tickets(queue, head, order, done, n, B: tl.constexpr):
    """Programs draw work until there is none; the last one to end counts all."""
    ticket = tl.atomic_add(head, 1)
    while ticket < n:
        at = ticket * B + tl.arange(0, B)
        tl.store(order + at, tl.load(queue + at) * 2 + ticket)
        ticket = tl.atomic_add(head, 1)
    tl.debug_barrier()
    last = tl.atomic_add(done, 1, sem='acq_rel')
    if last == tl.num_programs(0) - 1:
        total = tl.zeros((B,), tl.int32)
        for i in range(0, n):
            total += tl.load(order + i * B + tl.arange(0, B), volatile=True)
        tl.store(order + n * B + tl.arange(0, B), total)


@triton.jit
def cas_products(x, out, n, B: tl.constexpr):
    """Products by compare and swap, one program for all lanes."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    factor = tl.reduce(tl.load(x + at, mask=at < n, other=1), 0, multiply)
    old = tl.load(out)
    seen = tl.atomic_cas(out, old, old * factor)
    while seen != old:
        old = seen
        seen = tl.atomic_cas(out, old, old * factor)


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def gated(x, gate, out, keep, seed, n, B: tl.constexpr):
    """silu, gelu by tanh and dropout, in one."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < n
    a = tl.load(x + at, mask=mask).to(tl.float32)
    g = tl.load(gate + at, mask=mask).to(tl.float32)
    inner = 0.7978845608 * (a + 0.044715 * a * a * a)
    gelu = a * tl.sigmoid(2 * inner)
    stays = tl.rand(seed, at) < keep
    tl.store(out + at, tl.where(stays, gelu * g * tl.sigmoid(g) / keep, 0.0).to(tl.bfloat16), mask=mask)


def zeros(shape, kind='fp32'):
    return np.zeros(shape, {'fp32': np.float32, 'i32': np.int32, 'i64': np.int64, 'fp64': np.float64, BF16: np.uint16}[kind])


def half(x):
    return Array(to_bits(x, 'fp16'), 'fp16')


def products(stages, warps):
    rng = RNG(21)
    a, b = whole(rng, (70, 200), 3), whole(rng, (200, 50), 3)
    yield Case('split_product', split_product, (3 * 2, 2, 1),
               [half(a), half(b), Array(zeros((70, 50)), 'fp32', a @ b), 70, 50, 200],
               dict(BM=32, BN=32, BK=32, PARTS=2, GROUP=2), stages, warps)
    weights = rng.integers(-8, 8, (128, 64))
    words = np.zeros((16, 64), np.uint32)
    for i in range(128):
        words[i // 8] |= ((weights[i] + 8).astype(np.uint32) & 15) << np.uint32(i % 8 * 4)
    left, scale = whole(rng, (32, 128), 4), whole(rng, 64, 4)
    yield Case('packed_product', packed_product, (1, 2, 1), [half(left), Array(words.view(np.int32), 'i32'),
                                                             Array(scale.astype(np.float32), 'fp32'),
                                                             Array(zeros((32, 64)), 'fp32', left @ weights * scale), 128, 64],
               dict(BM=32, BN=32, BK=32), stages, warps)
    x, w = whole(rng, (9, 11, 64), 2), whole(rng, (9, 64, 32), 2)
    padded = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    want = sum(padded[t // 3:t // 3 + 9, t % 3:t % 3 + 11] @ w[t] for t in range(9))
    yield Case('convolution', convolution, (4, 1, 1), [half(x), half(w), Array(zeros((9, 11, 32)), 'fp32', want), 9, 11, 64],
               dict(BP=32, BC=32, OUT=32), stages, warps)
    yield gradient_case(stages, warps)


def gradient_case(stages, warps, length=96, d=32):
    rng = RNG(22)
    q, k, v, do = (rng.normal(size=(length, d)).astype(np.float16).astype(np.float64) for _ in range(4))
    scale = float(np.float32(d ** -.5))
    score = q @ k.T * scale
    most = np.log(np.exp(score - score.max(1, keepdims=True)).sum(1)) + score.max(1)
    part = np.exp(score - most[:, None])
    delta = (do * (part @ v)).sum(1)
    slope = part * (do @ v.T - delta[:, None]) * scale
    arrays = [half(x) for x in (q, k, v, do)] + [Array(x.astype(np.float32), 'fp32') for x in (most, delta)]
    arrays += [Array(zeros((length, d)), 'fp32', x, 2e-2, 1e-2) for x in (slope @ k, slope.T @ q, part.T @ do)]
    return Case('attention_gradient', attention_gradient, (length // 32, 1, 1), arrays + [length, scale], dict(B=32, D=d), stages,
                warps)


def entropy_arguments():
    rng = RNG(23)
    x = rng.normal(size=(6, 300)).astype(np.float16)
    label = np.array([0, 299, -100, 17, 256, 4], np.int32)
    wide = x.astype(np.float64)
    part = np.exp(wide) / np.exp(wide).sum(1, keepdims=True)
    loss = np.where(label < 0, 0, -np.log(part[np.arange(6), np.maximum(label, 0)]))
    slope = np.where(label[:, None] < 0, 0, part - (np.arange(300)[None, :] == label[:, None]))
    return [Array(x, 'fp16'), Array(label, 'i32'), Array(zeros(6), 'fp32', loss, 1e-4, 1e-5),
            Array(zeros((6, 300)), 'fp32', slope, 1e-3, 1e-6), 300, 300]


def own_words_arguments():
    rng = RNG(24)
    x, y = (rng.integers(-1 << 31, 1 << 31, 256).astype(np.int32) for _ in range(2))
    a, b = x.view(np.uint8).reshape(-1, 4).astype(np.int64), y.view(np.uint8).reshape(-1, 4).astype(np.int64)
    p, q = x.view(np.uint32).astype(np.uint64), y.view(np.uint32).astype(np.uint64)
    # The lower word takes the addend, the upper one the carry.
    return [Array(x, 'i32'), Array(y, 'i32'), Array(zeros(256, 'i32'), 'i32', np.abs(a - b).sum(1)),
            Array(zeros(256, 'i64'), 'i64', (p * q + p).view(np.int64))]


def doubles_arguments():
    import math
    x = RNG(25).uniform(.1, 5, 200)
    erf = np.array([math.erf(v) for v in x])
    want = np.exp(x) + np.log(x) * np.sin(x) - np.cos(x * 100) + np.sqrt(x) + 1 / np.sqrt(x) + erf + np.floor(x) + (x * x
                                                                                                                    + x) / (x + 2)
    return [Array(x, 'fp64'), Array(zeros(200, 'fp64'), 'fp64', want, 1e-12, 1e-12), 200]


def gated_arguments():
    from kernels import philox
    rng = RNG(26)
    x, g = (rng.normal(size=600).astype(np.float16) for _ in range(2))
    a, b = x.astype(np.float64), g.astype(np.float64)
    word = philox(77, np.arange(600)).view(np.int32).astype(np.int64)
    stays = np.where(word < 0, -word - 1, word) * 4.6566127342e-10 < .75
    gelu = a / (1 + np.exp(-2 * 0.7978845608 * (a + 0.044715 * a ** 3)))
    return [Array(x, 'fp16'), Array(g, 'fp16'), Array(zeros(600, BF16), BF16,
                                                      np.where(stays, gelu * b / (1 + np.exp(-b)) / .75, 0), 1e-2, 1e-6), .75, 77,
                                                      600]


def rest(warps):
    rng = RNG(27)
    a, b = whole(rng, (4, 16, 32), 5), whole(rng, (4, 32, 16), 5)
    yield Case('batched', batched, (1, 1, 1), [half(a), half(b), Array(zeros((4, 16, 16)), 'fp32', a @ b)], dict(G=4, M=16, K=32),
               2, warps)
    yield Case('cross_entropy', cross_entropy, (6, 1, 1), entropy_arguments(), dict(B=128), 3, warps)
    x, c, s = (rng.normal(size=n) for n in ((5, 3, 64), (5, 32), (5, 32)))
    x, c, s = (from_bits(to_bits(v, BF16), BF16).astype(np.float64) for v in (x, c, s))
    want = np.concatenate([x[..., :32] * c[:, None] - x[..., 32:] * s[:, None], x[..., 32:] * c[:, None] + x[..., :32]
                           * s[:, None]], 2)
    yield Case('rotary', rotary, (5, 3, 1), [Array(to_bits(v, BF16), BF16) for v in (x, c, s)]
               + [Array(zeros((5, 3, 64)), 'fp32', want, 1e-5, 1e-6), 3], dict(HALF=32), 2, warps)
    few = rng.permutation(4 * 128).reshape(4, 128).astype(np.int32)
    yield Case('greatest_few', greatest_few, (4, 1, 1), [Array(few, 'i32'),
                                                         Array(zeros((4, 8), 'i32'), 'i32', -np.sort(-few, 1)[:, :8])],
                                                         dict(N=128, K=8), 2, warps)
    picture = rng.integers(-99, 99, (40, 60)).astype(np.int32)
    yield Case('blocks', blocks, (2, 2, 1), [Array(picture, 'i32'), Array(zeros((60, 40), 'i32'), 'i32', picture.T), 40, 60],
               dict(BH=32, BW=32), 2, warps)
    yield Case('own_words', own_words, (2, 1, 1), own_words_arguments(), dict(B=128), 2, warps)
    yield Case('doubles', doubles, (2, 1, 1), doubles_arguments(), dict(B=128), 2, warps)
    queue = rng.integers(-99, 99, 20 * 64).astype(np.int32)
    order = queue * 2 + np.repeat(np.arange(20), 64)
    want = np.concatenate([order, order.reshape(20, 64).sum(0)])
    yield Case('tickets', tickets, (5, 1, 1), [Array(queue, 'i32'), Array(zeros(1, 'i32'), 'i32', np.array([25])),
                                               Array(zeros(21 * 64, 'i32'), 'i32', want),
                                               Array(zeros(1, 'i32'), 'i32', np.array([5])), 20],
               dict(B=64), 2, warps)
    factors = rng.choice([-1, 1, 3, 5], 1000).astype(np.int32)
    yield Case('cas_products', cas_products, (8, 1, 1), [Array(factors, 'i32'),
                                                         Array(np.ones(1, np.int32), 'i32',
                                                               np.multiply.reduce(factors, keepdims=True, dtype=np.int32)), 1000],
                                                               dict(B=128), 2, warps)
    yield Case('gated', gated, (5, 1, 1), gated_arguments(), dict(B=128), 2, warps)


def cases():
    for warps in 1, 2, 4, 8:
        for stages in 1, 2, 3, 4:
            yield from products(stages, warps)
        yield from rest(warps)
