"""Operators on tensors of sizes that programs have, beside torch's own CPU device: large.py FAMILY, run by tests/torch/run.

The operator database's samples have some ten elements, and kernels take other ways for more: blocks that hand results on to one
another, loops over a grid, wide loads where addresses allow them, sorts of several passes.  Each row runs on shapes around the
sizes at which torch changes its way, and on tensors that begin in the middle of a wide load.

A function family_NAME is a test: it raises where a result is not the CPU's, and names all of its rows that are not.
"""
# SPDX-License-Identifier: Apache-2.0
import sys

import torch
import torch.nn.functional as F

FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
WHOLE = (torch.int64, torch.int32, torch.int16, torch.uint8)
TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.complex64: 2e-5}


def numbers(shape, dtype, seed=0):
    """Of all sizes that the type has, where it has whole numbers."""
    g = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=g).bool()
    if not dtype.is_floating_point and not dtype.is_complex:
        info = torch.iinfo(dtype)
        return torch.randint(info.min, info.max, shape, generator=g, dtype=torch.int64).to(dtype)
    return torch.randn(shape, generator=g, dtype=torch.complex64 if dtype.is_complex else torch.float32).to(dtype)


def there(value, shifted):
    """A copy on the device; `shifted`, at an address that no wide load can begin at."""
    if not isinstance(value, torch.Tensor):
        return value
    if not shifted:
        return value.cuda()
    room = torch.zeros(value.numel() + 1, dtype=value.dtype, device="cuda")
    room[1:] = value.flatten().cuda()
    return room[1:].view(value.shape)


def listed(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


class Rows:

    def __init__(self):
        self.wrong, self.n = [], 0

    def same(self, what, f, *inputs, exact=True, tolerance=None, shifted=False):
        """f of both devices' inputs; the CPU computes in float64 where the type is no exact one."""
        wide = [t.double() if isinstance(t, torch.Tensor) and t.is_floating_point() else t for t in inputs]
        self.n += 1
        try:
            expected = listed(f(*(inputs if exact else wide)))
            actual = listed(f(*(there(t, shifted) for t in inputs)))
        except Exception as error:
            self.wrong.append(f"{what}: {type(error).__name__}: {str(error)[:200]}")
            return
        for x, y in zip(expected, actual):
            y = y.detach().cpu()
            limit = 0 if exact else tolerance or TOLERANCE.get(y.dtype, 0)
            try:
                torch.testing.assert_close(y.to(x.dtype), x, rtol=limit, atol=limit * max(1.0, scale(x)), equal_nan=True)
            except AssertionError as error:
                self.wrong.append(f"{what}: {' '.join(str(error).split())[:200]}")
                return

    def done(self):
        print(self.n, "rows")
        for line in self.wrong:
            print("WRONG", line)
        assert self.n and not self.wrong


def scale(x):
    x = x[x.isfinite()] if x.is_floating_point() else x
    return float(x.abs().max()) if x.numel() and x.dtype != torch.bool and not x.is_complex() else 1.0


SHAPES = ((1, ), (31, ), (1000, ), (4097, ), (100_003, ), (70, 1025), (1025, 70), (3, 5, 2049), (17, 33, 65))


def family_elementwise():
    rows = Rows()
    for dtype in FLOATS + WHOLE + (torch.bool, torch.complex64):
        for shape in SHAPES if dtype == torch.float32 else ((100_003, ), (70, 1025)):
            x, y = numbers(shape, dtype), numbers(shape, dtype, 1)
            for shifted in (False, True):
                rows.same(f"eq {dtype} {shape} {shifted}", lambda a, b: a == b, x, y, shifted=shifted)
                if dtype == torch.bool:
                    rows.same(f"xor {shape}", lambda a, b: (a ^ b, a & b, ~a), x, y, shifted=shifted)
                    continue
                rows.same(f"arithmetic {dtype} {shape} {shifted}",
                          lambda a, b: (a + b, a - b, a * b, -a),
                          x,
                          y,
                          exact=not dtype.is_complex,
                          tolerance=1e-6,
                          shifted=shifted)
                if not dtype.is_complex:
                    rows.same(f"order {dtype} {shape} {shifted}",
                              lambda a, b: (torch.maximum(a, b), a.clamp(0, 5), a < b),
                              x,
                              y,
                              shifted=shifted)
    rows.done()


def family_whole():
    """Division and shifts of whole numbers, of all sizes."""
    rows = Rows()
    for dtype in WHOLE:
        x, y = numbers((5000, ), dtype), numbers((5000, ), dtype, 1)
        small = torch.where(y % 7 == 0, torch.ones_like(y), y % 7)
        for d in (torch.where(y == 0, torch.ones_like(y), y), small):
            rows.same(f"division {dtype}", lambda a, b: (a // b, a % b, torch.fmod(a, b), torch.div(a, b, rounding_mode="trunc")),
                      x, d)
        s = (y % 8).abs()
        rows.same(f"shift {dtype}", lambda a, b: (a << b, a >> b, a & b, a | b, a ^ b, ~a), x, s)
        rows.same(f"gcd {dtype}", lambda a, b: (torch.gcd(a, b), ), x.clamp(-1000, 1000), y)
        rows.same(f"power {dtype}", lambda a: (a**2, a**3, a.abs()), x)
        for to in FLOATS:
            rows.same(f"{dtype} to {to}", lambda a, to=to: a.to(to), x)
    rows.done()


def family_convert():
    rows = Rows()
    for a in FLOATS:
        x = torch.cat((numbers((5000, ), torch.float64) * 100,
                       torch.tensor([0.0, -0.0, 0.5, 1.5, 2.5, 65504.0, 65520.0, 1e-8, 6e-8,
                                     float("inf"),
                                     float("nan")]))).to(a)
        for b in FLOATS + (torch.bool, torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2):
            rows.same(f"{a} to {b}", lambda t, b=b: t.to(b).to(torch.complex64 if b.is_complex else torch.float32), x)
        for b in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
            low = 0 if b == torch.uint8 else -100
            rows.same(f"{a} to {b}", lambda t, b=b: t.to(b), x[:5000].clamp(low, 100))
        rows.same(f"round {a}", lambda t: (t.round(), t.trunc(), t.floor(), t.ceil()), x)
    rows.done()


REDUCED = (((4097, ), None), ((1_000_003, ), None), ((70, 1025), 0), ((70, 1025), 1), ((3, 20_001), 1), ((20_001, 3), 0),
           ((33, 70, 65), 1), ((2, 300_000), 1), ((5000, 130), 0))


def reduce(*dtypes):
    rows = Rows()
    for dtype in dtypes:
        for shape, dim in REDUCED:
            x, d = numbers(shape, dtype), tuple(range(len(shape))) if dim is None else dim
            for shifted in (False, True):
                what = f"{dtype} {shape} {dim} {shifted}"
                if dtype.is_floating_point:
                    rows.same(f"sum {what}", lambda t, d=d: (t.sum(d), t.mean(d), t.var(d)), x, exact=False, shifted=shifted)
                    rows.same(f"norm {what}", lambda t, d=d: torch.linalg.vector_norm(t, 2, d), x, exact=False, shifted=shifted)
                else:
                    rows.same(f"sum {what}", lambda t, d=d: t.sum(d), x, shifted=shifted)
                rows.same(f"max {what}", lambda t, d=d: (t.amax(d), t.amin(d)), x, shifted=shifted)
                if dim is not None or len(shape) == 1:
                    rows.same(f"any {what}",
                              lambda t, d=dim or 0: ((t > 0).any(d), (t > 0).all(d), t.argmax(d)),
                              x if dtype in (torch.float32, torch.int64, torch.int32) else x.to(torch.float32),
                              shifted=shifted)
    rows.done()


def family_reduce_float32():
    reduce(torch.float32)


def family_reduce_float16():
    reduce(torch.float16)


def family_reduce_int32():
    reduce(torch.int32)


def family_reduce_int64():
    reduce(torch.int64)


def family_reduce_uint8():
    reduce(torch.uint8)


def family_scan():
    rows = Rows()
    for dtype in (torch.int64, torch.int32, torch.float32, torch.float64, torch.float16):
        for shape, dim in (((5000, ), 0), ((1_000_003, ), 0), ((70, 1025), 0), ((70, 1025), 1), ((3, 70_001), 1)):
            x = numbers(shape, dtype)
            exact = not dtype.is_floating_point
            limit = {torch.float16: 2e-2, torch.float32: 1e-4}.get(dtype)
            rows.same(f"cumsum {dtype} {shape} {dim}", lambda t, d=dim: t.cumsum(d), x, exact=exact, tolerance=limit)
            rows.same(f"cummax {dtype} {shape} {dim}", lambda t, d=dim: t.cummax(d)[0], x)
            if exact:
                rows.same(f"cumprod {dtype} {shape} {dim}", lambda t, d=dim: t.cumprod(d), x)
    rows.done()


def sort(*dtypes):
    rows = Rows()
    for dtype in dtypes:
        for shape, dim in (((100, ), 0), ((2049, ), 0), ((100_003, ), 0), ((70, 1025), 1), ((70, 1025), 0), ((3, 5000), 1)):
            x, what = numbers(shape, dtype), f"{dtype} {shape} {dim}"
            for down in (False, True):
                rows.same(f"sort {what} {down}",
                          lambda t, d=dim, down=down: torch.sort(t, dim=d, descending=down, stable=True),
                          x)
            if dtype == torch.bool:
                continue
            k = min(37, shape[dim])
            rows.same(f"topk {what}", lambda t, d=dim, k=k: torch.topk(t, k, d)[0], x)
            rows.same(f"kthvalue {what}", lambda t, d=dim, k=k: torch.kthvalue(t, k, d)[0], x)
            rows.same(f"median {what}", lambda t, d=dim: t.median(d)[0], x)
        for n in (5000, 100_003):
            x = numbers((n, ), dtype)
            x = x if dtype in (torch.bool, torch.uint8) or dtype.is_floating_point else x % 1000
            rows.same(f"unique {dtype} {n}", lambda t: torch.unique(t, return_inverse=True, return_counts=True), x)
            rows.same(f"unique_consecutive {dtype} {n}", lambda t: torch.unique_consecutive(t, return_counts=True), x)
            rows.same(f"nonzero {dtype} {n}", lambda t: (t.nonzero(), t[t > 0] if t.dtype != torch.bool else t[t]), x)
    rows.done()


def family_sort_float32():
    sort(torch.float32)


def family_sort_float16():
    sort(torch.float16)


def family_sort_int64():
    sort(torch.int64)


def family_sort_int32():
    sort(torch.int32)


def family_sort_uint8():
    sort(torch.uint8)


def family_sort_bool():
    sort(torch.bool)


def family_index():
    rows = Rows()
    g = torch.Generator().manual_seed(3)
    for dtype in (torch.float32, torch.float16, torch.int64, torch.int32, torch.uint8):
        x, i = numbers((5000, 33), dtype), torch.randint(0, 5000, (20_000, ), generator=g)
        j, wide = torch.randint(0, 33, (5000, 33), generator=g), numbers((20_000, 33), dtype, 1)
        unique = torch.randperm(5000, generator=g)[:3000]
        rows.same(f"gather {dtype}", lambda x, i, j:
                  (x[i], x.index_select(0, i), x.gather(1, j), x.take(i), x[:, j[0]], x[i, i % 33]), x, i, j)
        rows.same(f"put {dtype}", lambda x, u, w:
                  (x.index_copy(0, u, w[:3000]), x.index_fill(0, u, 3), x.index_put((u, ), w[:3000])), x, unique, wide)
        if dtype == torch.float16:
            continue
        exact = not dtype.is_floating_point
        rows.same(f"add {dtype}",
                  lambda x, i, w: (x.index_add(0, i, w), x.index_put((i, ), w, accumulate=True)),
                  x,
                  i,
                  wide,
                  exact=exact)
        rows.same(f"scatter_add {dtype}", lambda x, j, w: x.scatter_add(1, j, w[:5000]), x, j, wide, exact=exact)
        for how in ("sum", "amax", "amin", "prod"):
            if how == "prod" and not exact:
                continue
            rows.same(f"scatter {how} {dtype}",
                      lambda x, j, w, how=how: x.scatter_reduce(1, j, w[:5000], how),
                      x,
                      j,
                      wide,
                      exact=exact)
    i = torch.randint(0, 300, (50_000, ), generator=g)
    rows.same("bincount", lambda t: (torch.bincount(t), torch.bincount(t, minlength=1000)), i)
    rows.same("histc", lambda t: torch.histc(t.float(), 100, 0, 300), i)
    rows.same("searchsorted", lambda s, v: (torch.searchsorted(s, v), torch.bucketize(v, s, right=True)),
              numbers((5000, ), torch.float32).sort()[0], numbers((20_000, ), torch.float32, 1))
    rows.same("bag", lambda w, i: (F.embedding(i[:5000], w), F.embedding_bag(i[:5000].view(500, 10), w, mode="max")),
              numbers((300, 64), torch.float32), i)
    rows.done()


def family_shape():
    rows = Rows()
    for dtype in (torch.float32, torch.float16, torch.uint8, torch.int64, torch.complex64):
        x = numbers((33, 70, 129), dtype)
        rows.same(
            f"transpose {dtype}", lambda t:
            (t.transpose(0, 2).contiguous(), t.permute(1, 0, 2).contiguous(), t.flip(1), t.roll(7, 2), t[:, ::2, 1::3].contiguous(
            ), t.repeat(2, 1, 2), t.tril() + 0, t.triu(3) + 0), x)
        rows.same(
            f"cat {dtype}", lambda t: (torch.cat([t, t[:5], t]), torch.cat([t, t[:, :, :7]], 2), torch.stack([t, t], 1),
                                       torch.cat([t[:, k:k + 1] for k in range(70)], 1)), x)
        rows.same(f"where {dtype}", lambda t:
                  (torch.where(t == t.flip(0), t, t + t), t.masked_fill(t == t, 1), t.repeat_interleave(3, 1)), x)
    x = numbers((2, 3, 40, 50), torch.float32)
    rows.same(
        "pad", lambda t: (F.pad(t, (3, 4, 5, 6), "reflect"), F.pad(t, (3, 4, 5, 6), "replicate"),
                          F.pad(t, (3, 4, 5, 6), "circular"), F.pixel_shuffle(t[:, :2].repeat(1, 2, 1, 1), 2), F.unfold(t, 3)), x)
    rows.done()


def both_ways(f, *inputs):
    """Result and gradients."""
    inputs = [t.detach().requires_grad_() if isinstance(t, torch.Tensor) and t.is_floating_point() else t for t in inputs]
    out = f(*inputs)
    g = torch.Generator().manual_seed(9)
    given = torch.randn(out.shape, generator=g).to(out.device, out.dtype)
    leaves = [t for t in inputs if isinstance(t, torch.Tensor) and t.requires_grad]
    return [out, *torch.autograd.grad(out, leaves, given)]


def family_normal():
    """Softmax and normalisation, forward and backward."""
    rows = Rows()
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for shape in ((70, 33), (7, 1024), (5, 1025), (3, 4096), (3, 20_001), (3000, 64)):
            x, w, b = numbers(shape, dtype), numbers(shape[1:], dtype, 1), numbers(shape[1:], dtype, 2)
            what = f"{dtype} {shape}"
            limit = {torch.float32: 1e-4, torch.float16: 1e-2}.get(dtype, 6e-2)
            for f, name in ((lambda t: t.softmax(-1), "softmax"), (lambda t: t.log_softmax(-1), "log_softmax"),
                            (lambda t: t.softmax(0), "softmax 0")):
                rows.same(f"{name} {what}", lambda t, f=f: both_ways(f, t), x, exact=False, tolerance=limit)
            rows.same(f"layer_norm {what}",
                      lambda t, w, b: both_ways(lambda t, w, b: F.layer_norm(t, w.shape, w, b), t, w, b),
                      x,
                      w,
                      b,
                      exact=False,
                      tolerance=limit)
            rows.same(f"rms_norm {what}",
                      lambda t, w: both_ways(lambda t, w: F.rms_norm(t, w.shape, w, 1e-5), t, w),
                      x,
                      w,
                      exact=False,
                      tolerance=limit)
        x, w, b = numbers((4, 24, 30, 31), dtype), numbers((24, ), dtype, 1), numbers((24, ), dtype, 2)
        for layout in (torch.contiguous_format, torch.channels_last):
            rows.same(f"group_norm {dtype} {layout}",
                      lambda t, w, b, m=layout: both_ways(lambda t, w, b: F.group_norm(t.to(memory_format=m), 6, w, b), t, w, b),
                      x,
                      w,
                      b,
                      exact=False,
                      tolerance=limit)
            with torch.backends.cudnn.flags(enabled=False):
                rows.same(f"batch_norm {dtype} {layout}",
                          lambda t, w, b, m=layout: both_ways(
                              lambda t, w, b: F.batch_norm(t.to(memory_format=m), None, None, w, b, True), t, w, b),
                          x,
                          w,
                          b,
                          exact=False,
                          tolerance=limit)
    rows.done()


def family_layers():
    """Pooling, interpolation, losses, embeddings and convolutions of torch's own, forward and backward."""
    rows = Rows()
    for dtype in (torch.float32, torch.float16):
        limit = 1e-4 if dtype == torch.float32 else 1e-2
        x, g = numbers((2, 12, 37, 41), dtype), torch.Generator().manual_seed(4)
        for name, f in (("max_pool", lambda t: F.max_pool2d(t, 3, 2, 1)), ("avg_pool", lambda t: F.avg_pool2d(t, 3, 2, 1)),
                        ("adaptive", lambda t: F.adaptive_avg_pool2d(t, (5, 7))), ("adaptive max",
                                                                                   lambda t: F.adaptive_max_pool2d(t, (5, 7))),
                        ("bilinear", lambda t: F.interpolate(t, scale_factor=1.7, mode="bilinear")),
                        ("bicubic", lambda t: F.interpolate(t, size=(50, 30), mode="bicubic")),
                        ("nearest", lambda t: F.interpolate(t, scale_factor=2)), ("gelu", F.gelu), ("silu", F.silu),
                        ("mish", F.mish), ("elu", F.elu), ("softplus", F.softplus), ("glu", lambda t: F.glu(t, 1))):
            for layout in (torch.contiguous_format, torch.channels_last):
                rows.same(f"{name} {dtype} {layout}",
                          lambda t, f=f, m=layout: both_ways(lambda t: f(t.to(memory_format=m)), t),
                          x,
                          exact=False,
                          tolerance=limit)
        y, w = torch.randint(0, 1000, (300, ), generator=g), numbers((1000, 65), dtype)
        smooth = 0.1 if dtype == torch.float32 else 0.0  # its sum is beyond float16 on the CPU, too
        rows.same(f"cross_entropy {dtype}",
                  lambda t, y, s=smooth: both_ways(lambda t: F.cross_entropy(t, y, label_smoothing=s), t),
                  numbers((300, 1000), dtype),
                  y,
                  exact=False,
                  tolerance=limit)
        rows.same(f"embedding {dtype}",
                  lambda w, y: both_ways(lambda w: F.embedding(y, w), w),
                  w,
                  y % 50,
                  exact=False,
                  tolerance=limit)
        with torch.backends.cudnn.flags(enabled=False):
            rows.same(f"conv {dtype}",
                      lambda t, w: both_ways(lambda t, w: F.conv2d(t, w, padding=1, stride=2), t, w),
                      x,
                      numbers((8, 12, 3, 3), dtype),
                      exact=False,
                      tolerance=limit)
            rows.same(f"depthwise {dtype}",
                      lambda t, w: both_ways(lambda t, w: F.conv2d(t, w, padding=1, groups=12), t, w),
                      x,
                      numbers((12, 1, 3, 3), dtype),
                      exact=False,
                      tolerance=limit)
            rows.same(f"conv_transpose {dtype}",
                      lambda t, w: both_ways(lambda t, w: F.conv_transpose2d(t, w, stride=2), t, w),
                      x,
                      numbers((12, 5, 3, 3), dtype),
                      exact=False,
                      tolerance=limit)
    rows.done()


if __name__ == "__main__":
    globals()["family_" + sys.argv[1]]()
