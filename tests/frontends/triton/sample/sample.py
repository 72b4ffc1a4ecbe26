#!/usr/bin/env python3
"""Two kernels of the corpus (../kernels.py) as Triton 3.9 compiled them for sm_80, in three stages and four warps, so that who
tests needs no Triton: a product of matrices of halves and attention. Run under `anywarp run`; needs nothing but Python.  The PTX
is Triton's output of our own kernels, by ../compile.py with TRITON_DISABLE_LINE_INFO=1:

    product.ptx      product_plain-f16-nn-64x64x160-by-32x32x32-s3-w4
    attention.ptx    attention-fp16-96x32-causal-s3-w4"""
# SPDX-License-Identifier: Apache-2.0
import math
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import driver


def ptx(name):
    with open(os.path.join(HERE, name), encoding='utf-8') as f:
        return f.read()


def halves(values):
    return bytearray(struct.pack(f'<{len(values)}e', *values))


def floats(memory):
    return struct.unpack(f'<{len(memory) // 4}f', memory)


def product(device):
    """How many elements of 64 by 64 are wrong; the sums are whole numbers that floats hold."""
    m, n, k = 64, 64, 160
    a, b = [i * 7 % 13 - 6 for i in range(m * k)], [i * 5 % 11 - 5 for i in range(k * n)]
    c = bytearray(m * n * 4)
    device.launch(ptx('product.ptx'), 'product_plain', (2, 2, 1), 128, 8192, [halves(a), halves(b), c, n, k, None, None])
    columns = [b[j::n] for j in range(n)]
    want = [sum(x * y for x, y in zip(a[i * k:(i + 1) * k], columns[j])) for i in range(m) for j in range(n)]
    return sum(x != y for x, y in zip(floats(c), want))


def attention_row(q, k, v, i, d):
    """Of one head: softmax over those before and itself."""
    scores = [sum(x * y for x, y in zip(q[i], k[j])) / d ** .5 for j in range(i + 1)]
    most = max(scores)
    parts = [math.exp(s - most) for s in scores]
    return [sum(p * v[j][c] for j, p in enumerate(parts)) / sum(parts) for c in range(d)]


def attention(device):
    heads, length, d = 2, 96, 32
    # Numbers of a few bits, without a pattern that repeats.
    q, k, v = ([((i * s >> 5) % 61 - 30) / 16 for i in range(heads * length * d)] for s in (1103, 2371, 3539))
    out = bytearray(heads * length * d * 4)
    device.launch(ptx('attention.ptx'), 'attention', (3, heads, 1), 128, 10240,
                  [halves(q), halves(k), halves(v), out, length, math.log2(math.e) / d ** .5, None, None])
    got, wrong = floats(out), 0
    for h in range(heads):
        rows = [[x[(h * length + i) * d:][:d] for i in range(length)] for x in (q, k, v)]
        for i in range(length):
            want = attention_row(*rows, i, d)
            wrong += sum(not abs(x - y) <= 5e-3 for x, y in zip(got[(h * length + i) * d:], want))
    return wrong


def main():
    device, bad = driver.Device(), 0
    for kernel in product, attention:
        wrong = kernel(device)
        print(f'{kernel.__name__}: {wrong} elements are wrong' if wrong else f'{kernel.__name__}: right')
        bad += wrong
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
