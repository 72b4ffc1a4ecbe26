"""What random programs call (programs.py): a function of OPERATORS[FAMILY] makes a call of some operator, on tensors of random
types, shapes and strides."""
# SPDX-License-Identifier: Apache-2.0
import collections
import random

import torch
import torch.nn.functional as F

FLOATS = (torch.float32, torch.float32, torch.float64, torch.float16, torch.bfloat16)
WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
COMPLEX = (torch.complex64, torch.complex128)
SIZES = (0, 1, 1, 2, 3, 5, 7, 16, 31, 32, 33, 64, 65, 127, 129, 255, 257, 1023, 1025)
LARGE = (1, 2, 65537, 100003, 262147)
LIMIT = 300_000

# f of the inputs; rule says what a right result is: "same" to the bit, "near" a function of each element, "sum" terms that f of
# absolute values bounds, "whole" near, with the largest element of the result as the measure.
Call = collections.namedtuple("Call", "what f inputs rule")


class Maker:
    """What a program's calls are made of."""

    def __init__(self, seed):
        self.r, self.g = random.Random(seed), torch.Generator().manual_seed(seed)

    def some(self, *values):
        return self.r.choice(values)

    def yes(self, chance=0.5):
        return self.r.random() < chance

    def shape(self, least=0, most=4, limit=LIMIT, zero=True):
        if least <= 1 <= most and self.yes(0.15):
            return (self.r.choice(LARGE), )
        shape, left = [], limit
        for _ in range(self.r.randint(least, most)):
            n = self.r.choice([s for s in SIZES if s <= max(1, left) and (zero or s)])
            shape.append(n)
            left //= max(1, n)
        self.r.shuffle(shape)
        return tuple(shape)

    def dim(self, shape):
        return self.r.randrange(-len(shape), len(shape)) if shape else 0

    def numbers(self, shape, dtype, low=None, high=None):
        """On the CPU, contiguous."""
        if dtype == torch.bool:
            return torch.randint(0, 2, shape, generator=self.g).bool()
        if not dtype.is_floating_point and not dtype.is_complex:
            info = torch.iinfo(dtype)
            if low is None:
                low, high = self.some((info.min, info.max), (max(info.min, -9), 9), (0, 3))
            return torch.randint(low, high, shape, generator=self.g, dtype=torch.int64).to(dtype)
        x = torch.randn(shape, generator=self.g, dtype=torch.complex128 if dtype.is_complex else torch.float64)
        if low is not None:
            x = torch.rand(shape, generator=self.g, dtype=torch.float64) * (high - low) + low
        elif self.yes(0.3) and not dtype.is_complex:
            x = x.round()
        return x.to(dtype)

    def tensor(self, shape, dtype, low=None, high=None, plain=False):
        """On the device, of random strides."""
        x = self.numbers(shape, dtype, low, high)
        how = "plain" if plain else self.some("plain", "transposed", "stepped", "expanded", "shifted", "turned", "plain", "last")
        if how == "transposed" and len(shape) > 1:
            a, b = self.r.sample(range(len(shape)), 2)
            return x.transpose(a, b).contiguous().cuda().transpose(a, b)
        if how == "stepped" and shape:
            d, step = self.r.randrange(len(shape)), self.some(2, 3)
            room = torch.zeros([n * step + 1 if k == d else n for k, n in enumerate(shape)], dtype=dtype, device="cuda")
            there = room.narrow(d, 1, shape[d] * step).unflatten(d, (shape[d], step)).select(d + 1, 0) if shape[d] else \
                room.narrow(d, 0, 0)
            return there.copy_(x)
        if how == "expanded" and shape:
            d = self.r.randrange(len(shape))
            if shape[d]:
                return x.narrow(d, 0, 1).cuda().expand(shape)
        if how == "shifted":
            room = torch.zeros(x.numel() + 1, dtype=dtype, device="cuda")
            room[1:] = x.flatten().cuda()
            return room[1:].view(shape)
        if how == "turned" and len(shape) > 2:
            order = list(range(len(shape)))
            self.r.shuffle(order)
            back = [order.index(k) for k in range(len(shape))]
            return x.permute(order).contiguous().cuda().permute(back)
        if how == "last" and len(shape) in (4, 5):
            return x.cuda().contiguous(memory_format=torch.channels_last if len(shape) == 4 else torch.channels_last_3d)
        return x.cuda()

    def broadcast(self, shape):
        """A shape that can be expanded to it."""
        out = [1 if self.yes(0.25) else n for n in shape]
        while out and self.yes(0.2):
            out.pop(0)
        return tuple(out)

    def floats(self):
        return self.r.choice(FLOATS)

    def whole(self):
        return self.r.choice(WHOLE)

    def number(self):
        return self.floats() if self.yes(0.6) else self.whole()

    def any(self):
        return self.some(self.number(), self.number(), torch.bool, self.r.choice(COMPLEX))

    def places(self, shape, n, negative=False):
        return self.tensor(shape, torch.int64, -n if negative else 0, n)


OPERATORS = collections.defaultdict(list)


def operator(family, weight=1):
    def add(make):
        OPERATORS[family] += [make] * weight
        return make
    return add


def rule_of(dtype, rule):
    return rule if dtype.is_floating_point or dtype.is_complex else "same"


# ---- elementwise

UNARY = ("abs neg exp log sqrt rsqrt sin cos tan tanh sinh cosh asin acos atan asinh acosh atanh exp2 expm1 log2 log10 log1p "
         "sigmoid erf erfc erfinv floor ceil round trunc frac sign reciprocal square lgamma digamma sinc i0 logit isnan isinf "
         "isfinite signbit sgn deg2rad nan_to_num logical_not positive").split()
MODULE = ("relu relu6 gelu silu mish elu selu celu softplus softsign tanhshrink hardtanh hardswish hardsigmoid leaky_relu "
          "logsigmoid softshrink hardshrink").split()
BINARY = ("add sub mul maximum minimum fmax fmin eq ne lt le gt ge logical_and logical_or logical_xor copysign atan2 hypot "
          "nextafter logaddexp logaddexp2 xlogy").split()
EXACT = set("abs neg floor ceil round trunc sign isnan isinf isfinite signbit nan_to_num logical_not positive maximum minimum "
            "fmax fmin eq ne lt le gt ge logical_and logical_or logical_xor copysign nextafter relu relu6 hardtanh".split())


@operator("elementwise", 3)
def unary(m):
    name, dtype = m.r.choice(UNARY), m.any()
    rule = "same" if name in EXACT and not (name == "abs" and dtype.is_complex) else "near"
    return Call(f"{name} {dtype}", getattr(torch, name), [m.tensor(m.shape(), dtype)], rule)


@operator("elementwise")
def activation(m):
    name, dtype = m.r.choice(MODULE), m.floats()
    if name == "hardswish" and dtype == torch.float64:  # its sixth is a float's on the device
        dtype = torch.float32
    return Call(f"{name} {dtype}", getattr(F, name), [m.tensor(m.shape(), dtype)], "same" if name in EXACT else "near")


@operator("elementwise", 4)
def binary(m):
    name, shape, a, b = m.r.choice(BINARY), m.shape(), m.any(), m.any()
    f = getattr(torch, name)
    x, y = m.tensor(shape, a), m.tensor(m.broadcast(shape), b)
    if m.yes():
        x, y = y, x
    if m.yes(0.2):
        scalar = m.some(2, -3, 0.5, True)
        return Call(f"{name} {a} {scalar}", lambda x, s=scalar: f(x, s), [x], "same" if name in EXACT else "near")
    return Call(f"{name} {x.dtype} {y.dtype}", f, [x, y], "same" if name in EXACT else "near")


@operator("elementwise", 2)
def division(m):
    shape, dtype = m.shape(), m.number()
    x, y = m.tensor(shape, dtype), m.tensor(m.broadcast(shape), dtype, 1, 100)
    f, name = m.some((torch.div, "div"), (torch.remainder, "remainder"), (torch.fmod, "fmod"),
                     (torch.floor_divide, "floor_divide"), (lambda a, b: torch.div(a, b, rounding_mode="trunc"), "div trunc"),
                     (lambda a, b: torch.div(a, b, rounding_mode="floor"), "div floor"), (torch.true_divide, "true_divide"))
    # A quotient of floats next to a whole number may be cut off on either side of it.
    if dtype.is_floating_point and name not in ("div", "true_divide"):
        x, y = x.round(), y.round()
    return Call(f"{name} {dtype}", f, [x, y], "near")


@operator("elementwise")
def bits(m):
    shape, dtype = m.shape(), m.r.choice((*WHOLE, torch.bool))
    names = "bitwise_and bitwise_or bitwise_xor" + (" bitwise_left_shift bitwise_right_shift gcd lcm"
                                                    if dtype != torch.bool else "")
    name = m.r.choice(names.split())
    small = "shift" in name or name == "lcm"
    x = m.tensor(shape, dtype, *((0, 9) if name == "lcm" else (-100 if dtype != torch.uint8 else 0, 100)))
    y = m.tensor(m.broadcast(shape), dtype, *((0, 7) if small else (0, 100)))
    return Call(f"{name} {dtype}", getattr(torch, name), [x, y], "same")


@operator("elementwise")
def power(m):
    shape, dtype = m.shape(), m.number()
    x, e = m.tensor(shape, dtype), m.some(2, 3, 0, 0.5, 1, -1, 2.5) if dtype.is_floating_point else m.some(0, 1, 2, 3, 5)
    if m.yes():
        return Call(f"pow {dtype} {e}", lambda x, e=e: torch.pow(x, e), [x], "near")
    return Call(f"pow {dtype} tensor", torch.pow,
                [x.abs() if dtype.is_floating_point else x,
                 m.tensor(m.broadcast(shape), dtype, 0, 4)], "near")


@operator("elementwise", 2)
def three(m):
    shape, dtype = m.shape(), m.number()
    x, y, z = (m.tensor(m.broadcast(shape) if k else shape, dtype) for k in range(3))
    mask = m.tensor(m.broadcast(shape), torch.bool)
    f, name, rule = m.some((lambda c, x, y, z: torch.where(c, x, y), "where", "same"),
                           (lambda c, x, y, z: torch.addcmul(x, y, z, value=2), "addcmul", "sum"),
                           (lambda c, x, y, z: torch.clamp(x, torch.minimum(y, z), torch.maximum(y, z)), "clamp", "same"),
                           (lambda c, x, y, z: x.masked_fill(c, 3), "masked_fill", "same"),
                           (lambda c, x, y, z: torch.threshold(x, 1, 2), "threshold", "same"))
    return Call(f"{name} {dtype}", f, [mask, x, y, z], rule_of(dtype, rule))


@operator("elementwise", 2)
def convert(m):
    a, b = m.any(), m.any()
    x = m.tensor(m.shape(), a, *((0, 100) if not b.is_complex else (None, None)))
    return Call(f"{a} to {b}", lambda x: x.to(b), [x], "same")


@operator("elementwise")
def small_floats(m):
    a, b = m.floats(), m.some(torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)
    return Call(f"{a} to {b}", lambda x: x.to(b).to(torch.float32), [m.tensor(m.shape(), a)], "same")


@operator("elementwise", 2)
def in_place(m):
    """On a view, what lies around it included."""
    shape, dtype = m.shape(1), m.number()
    x, y = m.tensor(shape, dtype).contiguous(), m.tensor(shape, dtype)
    d, name = m.r.randrange(len(shape)), m.some("add_", "sub_", "mul_", "copy_", "clamp_min_")
    step, scalar = m.some(1, 2, 3), m.some(True, False) and name != "copy_"
    def f(x, y):
        x = x.clone()
        at = [slice(None)] * x.dim()
        at[d] = slice(1, None, step)
        getattr(x[tuple(at)], name)(2 if scalar else y[tuple(at)])
        return x, x.t() if x.dim() == 2 else x
    return Call(f"{name} {dtype}", f, [x, y], "near")


@operator("elementwise")
def into(m):
    """A result with strides of its own, of a type of its own."""
    shape, dtype, name = m.shape(1, 3), m.floats(), m.some("add", "mul", "sub", "maximum")
    wide = m.some(dtype, torch.float64)
    def f(x, y):
        out = torch.full([2 * n for n in reversed(shape)],
                         7,
                         dtype=wide if x.dtype != torch.float64 else x.dtype,
                         device=x.device)
        view = out.permute(*reversed(range(out.dim())))[tuple(slice(0, 2 * n, 2) for n in shape)]
        getattr(torch, name)(x, y, out=view)
        return out
    return Call(f"{name} into {dtype}", f, [m.tensor(shape, dtype), m.tensor(m.broadcast(shape), dtype)], "near")


@operator("elementwise")
def lists(m):
    dtype, n = m.number(), m.r.randint(1, 40)
    xs, ys = ([m.tensor(m.shape(0, 2, 5000), dtype) for _ in range(n)] for _ in range(2))
    ys = [y if y.shape == x.shape else x.flip(-1) if x.dim() else x for x, y in zip(xs, ys)]
    name = m.some("_foreach_add", "_foreach_mul", "_foreach_maximum", "_foreach_sub")
    return Call(f"{name} {dtype} {n}", lambda *t: getattr(torch, name)(list(t[:n]), list(t[n:])), [*xs, *ys], "near")


# ---- reductions

REDUCE = "sum mean prod amax amin any all norm var std logsumexp nansum count_nonzero argmax argmin aminmax".split()


@operator("reductions", 8)
def reduction(m):
    name, dtype = m.r.choice(REDUCE), m.number()
    shape = m.shape(zero=name in ("sum", "any", "all", "nansum", "count_nonzero"))
    dims = tuple(m.r.sample(range(len(shape)), m.r.randint(1, len(shape)))) if shape and m.yes(0.8) else None
    keep, words, rule = m.yes(), {}, "near"
    if name in ("mean", "norm", "var", "std", "logsumexp") and not dtype.is_floating_point:
        dtype = torch.float32
    low = (0.5, 1.5) if name == "prod" and dtype.is_floating_point else (None, None)
    x = m.tensor(shape, dtype, *low)
    if name == "norm":
        p = m.some(0, 1, 2, 3, 0.5, float("inf"), -float("inf"))
        return Call(f"norm {p} {dtype} {dims}", lambda x: torch.linalg.vector_norm(x, p, dims, keep), [x], "near")
    if name in ("argmax", "argmin", "prod", "aminmax"):
        dims = dims[0] if dims else None
    if name in ("var", "std"):
        words["correction"] = m.some(0, 1, 2)
        if 0 < x.numel() and all(x.shape[d] < 3 for d in (dims or range(x.dim()))):
            words["correction"] = 0
    if name == "logsumexp" and dims is None:
        dims = tuple(range(len(shape)))
    if name in ("sum", "nansum", "mean"):
        rule = "sum"
        if m.yes(0.3) and name == "sum":
            words["dtype"] = m.some(torch.float32, torch.float64, torch.int64) if not dtype.is_floating_point else torch.float32
    if name in ("var", "std"):
        rule = "whole"  # of what is left over by a difference
    if name in ("amax", "amin", "any", "all", "count_nonzero", "argmax", "argmin", "aminmax"):
        rule = "same"
    if name == "count_nonzero":
        return Call(f"{name} {dtype} {dims}", lambda x: torch.count_nonzero(x, dims), [x], rule)
    if name == "aminmax":
        return Call(f"{name} {dtype} {dims}", lambda x: torch.aminmax(x, dim=dims, keepdim=keep and dims is not None), [x], rule)
    if dims is None:
        return Call(f"{name} {dtype} all", lambda x: getattr(torch, name)(x, **words), [x], rule)
    return Call(f"{name} {dtype} {dims} {keep} {words}", lambda x: getattr(torch, name)(x, dims, keepdim=keep, **words), [x],
                rule)


@operator("reductions")
def complex_sum(m):
    shape, dtype = m.shape(1), m.r.choice(COMPLEX)
    d = m.dim(shape)
    # The mean of no complex number is NaN + 0i on torch's CUDA device, which fills it in, and NaN + NaN i on its CPU.
    mean = torch.sum if 0 in shape else torch.mean
    return Call(f"sum {dtype} {d}", lambda x: (x.sum(d), mean(x)), [m.tensor(shape, dtype)], "whole")


@operator("reductions", 4)
def scan(m):
    shape = m.shape(1)
    d, dtype = m.dim(shape), m.number()
    name = m.some("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")
    dtype = m.floats() if name == "logcumsumexp" else dtype
    if name == "cumprod" and dtype in (torch.float16, torch.bfloat16):
        dtype = torch.float32  # torch's kernel rounds each product to a half, so that many small steps go one way
    if name == "cumprod" and dtype.is_floating_point:
        return Call(f"cumprod {dtype} {d}", lambda x: x.cumprod(d), [m.tensor(shape, dtype, 0.9, 1.1)], "loose")
    rule = {"cumsum": "sum", "logcumsumexp": "loose"}.get(name, "same")
    return Call(f"{name} {dtype} {d}", lambda x: getattr(torch, name)(x, d), [m.tensor(shape, dtype)], rule)


@operator("reductions", 2)
def softmax(m):
    shape, dtype = m.shape(1, zero=False), m.floats()
    d, name = m.dim(shape), m.some("softmax", "log_softmax", "softmin", "normalize")
    words = {"dim": d}
    if name in ("softmax", "log_softmax") and dtype in (torch.float16, torch.bfloat16) and m.yes(0.3):
        words["dtype"] = torch.float32
    return Call(f"{name} {dtype} {words}", lambda x: getattr(F, name)(x, **words), [m.tensor(shape, dtype)], "near")


@operator("reductions", 2)
def differences(m):
    shape, dtype = m.shape(1, zero=False), m.number()
    d = m.dim(shape)
    f, name = m.some((lambda x: x.diff(dim=d), "diff"), (lambda x: torch.trapezoid(x.double(), dim=d), "trapezoid"),
                     (lambda x: (x if x.is_floating_point() else x.float()).renorm(2, d, 1.0) if x.dim() > 1 else x,
                      "renorm"),
                     (lambda x: torch.equal(x, x), "equal"), (lambda x: x.flatten().dot(x.flatten().flip(0)), "dot"))
    return Call(f"{name} {dtype} {d}", f, [m.tensor(shape, dtype, *((0, 3) if name == "dot" else (None, None)))], "whole")


@operator("reductions", 2)
def list_norms(m):
    dtype, n, p = m.floats(), m.r.randint(1, 30), m.some(1, 2, float("inf"))
    xs = [m.tensor(m.shape(0, 2, zero=False), dtype) for _ in range(n)]
    return Call(f"_foreach_norm {dtype} {p}", lambda *t: torch._foreach_norm(list(t), p), xs, "near")


# ---- places

@operator("places", 2)
def gather(m):
    shape, dtype = m.shape(1, 3, zero=False), m.any()
    d = m.r.randrange(len(shape))
    index = [m.r.randint(1, n) if k != d else m.r.randint(1, 2 * n) for k, n in enumerate(shape)]
    name = m.some("gather", "index_select", "take", "take_along_dim")
    x, n = m.tensor(shape, dtype), shape[d]
    if name == "index_select":
        return Call(f"{name} {dtype} {d}", lambda x, i: x.index_select(d, i), [x, m.places((index[d], ), n)], "same")
    if name == "take":
        return Call(f"{name} {dtype}", torch.take, [x, m.places(index, x.numel(), True)], "same")
    if name == "take_along_dim":
        index = [i if k == d else n for k, (i, n) in enumerate(zip(index, shape))]
    return Call(f"{name} {dtype} {d}", lambda x, i: getattr(torch, name)(x, d, i) if name == "gather" else
                torch.take_along_dim(x, i, d), [x, m.places(index, n)], "same")


@operator("places", 3)
def indexed(m):
    """Tensors as indices, in some of the dimensions."""
    shape, dtype = m.shape(1, 4, zero=False), m.any()
    x, common = m.tensor(shape, dtype), m.shape(0, 2, 2000)
    which = [m.some("all", "index", "index", "slice", "mask") for _ in shape]
    at, inputs, masked = [], [x], False
    for n, how in zip(shape, which):
        if how == "index":
            inputs.append(m.places(m.broadcast(common), n, True))
            at.append(len(inputs) - 1)
        elif how == "mask" and not masked and "index" not in which:
            masked = True
            inputs.append(m.tensor((n, ), torch.bool))
            at.append(len(inputs) - 1)
        else:
            at.append(slice(m.r.randrange(n), None, m.some(1, 2)) if how == "slice" else slice(None))
    def f(*t):
        return t[0][tuple(t[a] if isinstance(a, int) else a for a in at)]
    return Call(f"index {dtype} {which}", f, inputs, "same")


@operator("places", 4)
def put(m):
    shape, dtype = m.shape(1, 3, zero=False), m.number()
    n = m.r.randint(1, 3)
    used, count = min(n, len(shape)), m.r.choice([s for s in SIZES if s])
    x, i = m.tensor(shape, dtype).contiguous(), [m.places((count, ), s, True) for s in shape[:used]]
    add = m.yes(0.7)
    rest = shape[used:]
    while torch.Size((count, *rest)).numel() > 2 * LIMIT:
        count //= 2
        i = [t[:count] for t in i]
    if not add:  # the last to write is not known: all write the same
        return Call(f"index_put {dtype}", lambda x, *i: x.index_put(i, torch.tensor(3, dtype=x.dtype, device=x.device)), [x, *i],
                    "same")
    return Call(f"index_put accumulate {dtype} {used}", lambda x, v, *i: x.index_put(i, v, accumulate=True),
                [x, m.tensor(m.some((count, *rest), (1, *rest), rest), dtype), *i], "sum")


@operator("places", 5)
def scatter(m):
    shape, dtype = m.shape(1, 3, zero=False), m.number()
    d = m.r.randrange(len(shape))
    index = [
        m.r.randint(1, n) if k != d else m.r.choice([s for s in SIZES if s * torch.Size(shape).numel() < 10 * LIMIT or s == 1])
        for k, n in enumerate(shape)
    ]
    x, i, v = m.tensor(shape, dtype).contiguous(), m.places(index, shape[d]), m.tensor(index, dtype)
    how = m.some("sum", "prod", "mean", "amax", "amin", "add")
    itself = m.yes()
    if how == "add":
        return Call(f"scatter_add {dtype} {d}", lambda x, i, v: x.scatter_add(d, i, v), [x, i, v], "sum")
    if how == "prod":
        x, v = (m.tensor(t.shape, dtype, 1, 2) for t in (x, v))
    if how == "mean" and not dtype.is_floating_point:  # rounded down, or cut off
        x, v = (m.tensor(t.shape, dtype, 0, 9) for t in (x, v))
    rule = {"sum": "sum", "mean": "sum"}.get(how, "near")
    return Call(f"scatter_reduce {how} {dtype} {d} {itself}", lambda x, i, v: x.scatter_reduce(d, i, v, how, include_self=itself),
                [x, i, v], rule)


@operator("places", 4)
def index_by(m):
    shape, dtype = m.shape(1, 3, zero=False), m.number()
    d = m.r.randrange(len(shape))
    n, count = shape[d], m.r.choice([s for s in SIZES if s and s * torch.Size(shape).numel() // shape[d] <= 2 * LIMIT])
    x, i, part = m.tensor(shape, dtype).contiguous(), m.places((count, ),
                                                               n), [count if k == d else s for k, s in enumerate(shape)]
    name = m.some("index_add", "index_copy", "index_fill", "index_reduce")
    if name == "index_add":
        return Call(f"{name} {dtype} {d}", lambda x, i, v: x.index_add(d, i, v, alpha=2), [x, i, m.tensor(part, dtype)], "sum")
    if name == "index_fill":
        return Call(f"{name} {dtype} {d}", lambda x, i: x.index_fill(d, i, 5), [x, i], "same")
    if name == "index_copy":
        i = torch.randperm(n, generator=m.g)[:count].cuda()
        part[d] = len(i)
        return Call(f"{name} {dtype} {d}", lambda x, i, v: x.index_copy(d, i, v), [x, i, m.tensor(part, dtype)], "same")
    how, itself = m.some("prod", "mean", "amax", "amin"), m.yes()
    low = (1, 2) if how == "prod" else (0, 9)
    return Call(f"{name} {how} {dtype} {d} {itself}", lambda x, i, v: x.index_reduce(d, i, v, how, include_self=itself),
                [m.tensor(shape, dtype, *low).contiguous(), i, m.tensor(part, dtype, *low)], "sum" if how == "mean" else "near")


@operator("places", 2)
def masked(m):
    shape, dtype = m.shape(), m.any()
    x, mask = m.tensor(shape, dtype), m.tensor(m.broadcast(shape) if m.yes() else shape, torch.bool)
    name = m.some("masked_select", "nonzero", "argwhere", "masked_scatter")
    if name == "masked_scatter":
        return Call(f"{name} {dtype}", lambda x, c, v: x.masked_scatter(c, v), [x, mask, m.tensor((max(1, x.numel()), ), dtype)],
                    "same")
    if name == "masked_select":
        return Call(f"{name} {dtype}", torch.masked_select, [x, mask], "same")
    return Call(f"{name} {dtype}", getattr(torch, name), [x], "same")


@operator("places", 3)
def arrange(m):
    shape, dtype = m.shape(2, 4), m.any()
    d, e = m.r.sample(range(len(shape)), 2)
    k, n = m.r.randint(-5, 5), m.some(1, 2, 3)
    f, name = m.some((lambda x: x.flip(d, e), "flip"), (lambda x: x.roll(
        (k, n), (d, e)), "roll"), (lambda x: torch.rot90(x, k, (d, e)), "rot90"), (lambda x: torch.tril(x, k), "tril"),
                     (lambda x: torch.triu(x, k), "triu"), (lambda x: x.diagonal(0, d, e) + 0, "diagonal"),
                     (lambda x: x.repeat_interleave(n, d), "repeat_interleave"),
                     (lambda x: torch.cat([x, x.flip(d), x], e), "cat"), (lambda x: torch.stack([x, x.roll(1, d)], e), "stack"),
                     (lambda x: torch.tile(x, (n, 2)), "tile"), (lambda x: x.transpose(d, e).reshape(-1), "reshape"),
                     (lambda x: torch.diag_embed(x.flatten()[:50], k), "diag"),
                     (lambda x: x.unfold(d, 1, n).contiguous(), "unfold"),
                     (lambda x: x.clone().fill_diagonal_(3) if x.dim() == 2 else x, "fill_diagonal"),
                     (lambda x: torch.cat([t for t in x.split(2, d)] * 2, e), "split") if shape[d] else (lambda x: x + 0, "copy"))
    return Call(f"{name} {dtype} {d} {e}", f, [m.tensor(shape, dtype)], "same")


@operator("places")
def joined(m):
    """Many tensors, of several types and strides."""
    shape, n = m.shape(1, 3, 3000), m.r.randint(1, 40)
    d, dtype = m.r.randrange(len(shape)), m.any()
    parts = [m.tensor([m.r.choice(SIZES[:9]) if k == d else s for k, s in enumerate(shape)], dtype if m.yes(0.8) else m.number())
             for _ in range(n)]
    return Call(f"cat of {n} {dtype} {d}", lambda *t: torch.cat(t, d), parts, "same")


@operator("places", 2)
def padded(m):
    dims, dtype = m.r.randint(1, 3), m.floats()
    shape = (m.some(1, 2), m.some(1, 3), *(m.some(3, 5, 8, 33) for _ in range(dims)))
    mode = m.some("constant", "reflect", "replicate", "circular")
    pad = [m.r.randint(0, 2) for _ in range(2 * dims)]
    return Call(f"pad {mode} {dtype} {pad}", lambda x: F.pad(x, pad, mode), [m.tensor(shape, dtype)], "same")


@operator("places")
def bags(m):
    dtype, rows, width = m.some(torch.float32, torch.float64, torch.float16), m.some(1, 10, 300), m.some(1, 3, 32, 65, 130)
    n, mode = m.some(1, 7, 100, 2000), m.some("sum", "mean", "max")
    i = m.tensor((n, ), torch.int64, 0, rows, plain=True)
    offsets = torch.cat((torch.zeros(1, dtype=torch.int64), torch.randint(0, n + 1, (m.r.randint(0, 20), ),
                                                                          generator=m.g).sort()[0])).cuda()
    w = m.tensor((n, ), dtype, plain=True) if mode == "sum" and m.yes() else None
    return Call(f"embedding_bag {mode} {dtype} {rows} {width} {n}",
                lambda i, t, o, *w: F.embedding_bag(i, t, o, mode=mode, per_sample_weights=w[0] if w else None),
                [i, m.tensor((rows, width), dtype, plain=True), offsets, *([w] if w is not None else [])],
                "near" if mode == "max" else "sum")


# ---- order

@operator("order", 4)
def sorts(m):
    shape, dtype = m.shape(1), m.some(m.number(), m.number(), torch.bool)
    d, down = m.dim(shape), m.yes()
    f, name = m.some((lambda x: torch.sort(x, dim=d, descending=down, stable=True), "sort"),
                     (lambda x: torch.argsort(x, dim=d, descending=down, stable=True), "argsort"),
                     (lambda x: torch.sort(x, dim=d, descending=down)[0], "values"))
    return Call(f"{name} {dtype} {shape} {d} {down}", f, [m.tensor(shape, dtype)], "same")


@operator("order", 4)
def picks(m):
    shape, dtype = m.shape(1, zero=False), m.number()
    d = m.r.randrange(len(shape))
    k, largest, keep = m.r.randint(1, shape[d]), m.yes(), m.yes()
    f, name = m.some((lambda x: torch.topk(x, k, d, largest)[0], "topk"),
                     (lambda x: torch.kthvalue(x, k, d, keep)[0], "kthvalue"), (lambda x: x.median(d, keep)[0], "median"),
                     (lambda x: x.median(), "median of all"), (lambda x: x.max(d, keep)[0], "max"),
                     (lambda x: x.min(d)[0], "min"), (lambda x: torch.msort(x), "msort"),
                     (lambda x: x.gather(d,
                                         torch.topk(x, k, d, largest)[1]), "topk places"),
                     (lambda x: torch.topk(x, k, d, largest, sorted=False)[0].sort(d)[0], "topk unsorted"))
    return Call(f"{name} {dtype} {shape} {d} {k} {largest}", f, [m.tensor(shape, dtype)], "same")


@operator("order", 2)
def quantiles(m):
    shape, dtype = m.shape(1, zero=False), m.some(torch.float32, torch.float64)
    d, how = m.dim(shape), m.some("linear", "lower", "higher", "midpoint", "nearest")
    q = m.tensor((m.some(1, 3), ), dtype, 0, 1, plain=True)
    name = m.some("quantile", "nanquantile")
    how = how if dtype == torch.float64 else m.some("lower", "higher", "linear")
    return Call(f"{name} {dtype} {how} {d}", lambda x, q: getattr(torch, name)(x, q, d, interpolation=how),
                [m.tensor(shape, dtype), q], "near" if how in ("linear", "midpoint") else "same")


@operator("order", 3)
def uniques(m):
    shape, dtype = m.shape(1, 2), m.some(m.number(), torch.bool)
    x, d = m.tensor(shape, dtype), m.dim(shape)
    if dtype.is_floating_point:
        x = x.round()
    f, name = m.some((lambda x: torch.unique(x, return_inverse=True, return_counts=True), "unique"),
                     (lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True), "consecutive"),
                     (lambda x: torch.unique(x.narrow(d, 0, min(x.shape[d], 300)), dim=d, return_inverse=True, return_counts=True)
                      if x.numel() else x, "of a dimension"))
    return Call(f"{name} {dtype} {shape} {d}", f, [x], "same")


@operator("order", 3)
def searches(m):
    dtype, n = m.number(), m.r.choice(SIZES[1:])
    right, small = m.yes(), m.yes()
    if m.yes():
        s = m.tensor((n, ), dtype).sort()[0]
        return Call(f"bucketize {dtype} {n} {right}", lambda v, s: torch.bucketize(v, s, right=right, out_int32=small),
                    [m.tensor(m.shape(), dtype), s], "same")
    rows = m.some(1, 3, 40)
    return Call(f"searchsorted {dtype} {n} {right}", lambda s, v: torch.searchsorted(s, v, right=right, out_int32=small),
                [m.tensor((rows, n), dtype).sort(-1)[0], m.tensor((rows, m.some(1, 5, 500)), dtype)], "same")


@operator("order", 3)
def histograms(m):
    n, top, dtype = m.r.choice((*SIZES, *LARGE)), m.some(2, 50, 3000), m.some(torch.int64, torch.int32, torch.uint8, torch.int16)
    x = m.tensor((n, ), dtype, 0, min(top, 200 if dtype == torch.uint8 else top))
    f, name = m.some((lambda x, w: torch.bincount(x, minlength=10), "bincount"), (lambda x, w: torch.bincount(x, w), "weighted"),
                     (lambda x, w: torch.histc(w, 37, 0, 3), "histc"), (lambda x, w: torch.isin(x, x[::3]), "isin"),
                     (lambda x, w: torch.histc(x.float(), top, 0, top), "histc whole"))
    weights = m.tensor((n, ), torch.float64)
    return Call(f"{name} {dtype} {n}", f, [x, weights], "same" if name in ("bincount", "isin", "histc", "histc whole") else "sum")


# ---- products and linear algebra

def product_type(m):
    return m.some(*FLOATS, torch.complex64)


@operator("products", 4)
def matmul(m):
    dtype, (i, k, j) = product_type(m), (m.r.choice((1, 2, 7, 16, 33, 64, 129, 257)) for _ in range(3))
    batch = m.some((), (), (1, ), (3, ), (2, 3), (17, ))
    a = m.tensor((*m.broadcast(batch), i, k), dtype)
    b = m.tensor((*m.broadcast(batch), k, j) if m.yes(0.9) else (k, ), dtype)
    if dtype.is_complex and m.yes():
        a = a.conj()
    return Call(f"matmul {dtype} {tuple(a.shape)} {tuple(b.shape)}", torch.matmul, [a, b], "whole" if dtype.is_complex else "sum")


@operator("products", 2)
def added(m):
    dtype, (i, k, j) = product_type(m), (m.r.choice((1, 2, 7, 16, 33, 64, 129)) for _ in range(3))
    beta, alpha = m.some(0, 1, 0.5), m.some(1, 2, -1)
    name = m.some("addmm", "baddbmm", "addmv", "addr", "addbmm")
    shapes = {"addmm": ((i, j), (i, k), (k, j)), "baddbmm": ((3, i, j), (3, i, k), (3, k, j)), "addmv": ((i, ), (i, k), (k, )),
              "addr": ((i, j), (i, ), (j, )), "addbmm": ((i, j), (3, i, k), (3, k, j))}[name]
    shapes = (m.broadcast(shapes[0]), *shapes[1:]) if name != "addbmm" else shapes
    return Call(f"{name} {dtype} {shapes} {beta} {alpha}", lambda c, a, b: getattr(torch, name)(c, a, b, beta=beta, alpha=alpha),
                [m.tensor(s, dtype) for s in shapes], "whole")


@operator("products", 3)
def einsum(m):
    dtype, letters = product_type(m), "abcdef"
    size = {c: m.r.choice((1, 2, 3, 5, 8, 17)) for c in letters}
    parts = ["".join(m.r.sample(letters, m.r.randint(1, 4))) for _ in range(m.r.randint(1, 3))]
    used = sorted(set("".join(parts)))
    out = "".join(m.r.sample(used, m.r.randint(0, min(4, len(used)))))
    equation = ",".join(parts) + "->" + out
    return Call(f"einsum {dtype} {equation} {size}", lambda *t: torch.einsum(equation, *t),
                [m.tensor([size[c] for c in p], dtype) for p in parts], "whole")


@operator("products", 2)
def distances(m):
    dtype, (n, k, d) = m.some(torch.float32, torch.float64), (m.r.choice((1, 2, 7, 30, 33, 100)) for _ in range(3))
    p = m.some(0.0, 1.0, 2.0, 3.0, float("inf"), 1.5)
    if m.yes():
        return Call(f"pdist {dtype} {p}", lambda x: F.pdist(x, p), [m.tensor((n + 1, d), dtype)], "whole")
    return Call(f"cdist {dtype} {p}", lambda x, y: torch.cdist(x, y, p, "donot_use_mm_for_euclid_dist"),
                [m.tensor((2, n, d), dtype), m.tensor((2, k, d), dtype)], "whole")


@operator("products")
def whole_products(m):
    i, k, j = (m.some(32, 64, 136) for _ in range(3))
    return Call(f"_int_mm {i} {k} {j}", torch._int_mm, [m.tensor((i, k), torch.int8, -128, 128, plain=True),
                                                      m.tensor((k, j), torch.int8, -128, 128, plain=True)], "same")


@operator("products", 4)
def solves(m):
    dtype, n, batch = m.some(torch.float32, torch.float64, *COMPLEX), m.some(1, 2, 3, 5, 16, 31, 40), m.some((), (1, ), (3, ),
                                                                                                             (2, 4))
    k = m.some(1, 3, 33)
    a, b = m.tensor((*batch, n, n), dtype), m.tensor((*batch, n, k), dtype)
    a = a + 3 * n**0.5 * torch.eye(n, dtype=dtype, device="cuda")
    up, left = m.yes(), m.yes()
    f, name = m.some(
        (torch.linalg.solve, "solve"), (lambda a, b: torch.linalg.inv(a), "inv"),
        (lambda a, b: torch.linalg.slogdet(a), "slogdet"), (lambda a, b: torch.linalg.cholesky(a @ a.mH, upper=up), "cholesky"),
        (lambda a, b: torch.linalg.solve_triangular(a.triu() if up else a.tril(), b if left else b.mT, upper=up, left=left),
         "triangular"), (lambda a, b: torch.linalg.lu_factor(a)[0], "lu"), (lambda a, b: torch.linalg.matrix_exp(a / n), "exp"),
        (lambda a, b: torch.linalg.lstsq(a, b)[0], "lstsq"), (lambda a, b: torch.linalg.matrix_power(a, 3), "power"),
        (lambda a, b: torch.cholesky_solve(b, torch.linalg.cholesky(a @ a.mH)), "cholesky_solve"),
        (lambda a, b: torch.linalg.svdvals(b), "svdvals"), (lambda a, b: torch.linalg.eigvalsh(a + a.mH), "eigvalsh"),
        (lambda a, b: (lambda q: q[0] @ q[1])(torch.linalg.qr(b)), "qr"), (lambda a, b: torch.linalg.pinv(b), "pinv"),
        (lambda a, b: (lambda u: (u[0] * u[1].unsqueeze(-2)) @ u[2])
         (torch.linalg.svd(b, full_matrices=False)), "svd"), (lambda a, b: (lambda e: (e[1] * e[0].unsqueeze(-2)) @ e[1].mH)
                                                              (torch.linalg.eigh(a + a.mH)), "eigh"),
        (lambda a, b: torch.linalg.det(a), "det"), (lambda a, b: torch.linalg.matrix_rank(a), "rank"))
    return Call(f"{name} {dtype} {n} {k} {batch}", f, [a, b], "loose")


# ---- layers, with gradients

def both_ways(f, count, *inputs):
    """Result and gradients with respect to the first `count` inputs."""
    inputs = [t.detach().requires_grad_() if k < count else t for k, t in enumerate(inputs)]
    out = f(*inputs)
    out = out[0] if isinstance(out, tuple) else out
    given = torch.linspace(-1, 1, out.numel(), dtype=torch.float64).view(out.shape).to(out.device, out.dtype)
    return [out.detach(), *torch.autograd.grad(out, inputs[:count], given)]


def layer(what, f, count, inputs, rule="whole"):
    return Call(what, lambda *t: both_ways(f, count, *t), inputs, rule)


@operator("layers", 5)
def convolution(m):
    dims, dtype, groups = m.some(1, 2, 2, 2, 3), m.floats(), m.some(1, 1, 1, 2, 4)
    transposed, n = m.yes(0.3), m.some(1, 2, 3)
    into, out = groups * m.some(1, 2, 3, 8), groups * m.some(1, 2, 5, 8)
    kernel = [m.some(1, 2, 3, 5) for _ in range(dims)]
    words = {"stride": [m.some(1, 2, 3) for _ in kernel], "padding": [m.r.randint(0, k // 2) for k in kernel],
             "dilation": [m.some(1, 1, 2) for _ in kernel], "groups": groups}
    size = [m.some(9, 11, 16, 21) if dims < 3 else m.some(9, 10) for _ in kernel]
    x, bias = m.tensor((n, into, *size), dtype), m.tensor((out, ), dtype)
    w = m.tensor((into, out // groups, *kernel) if transposed else (out, into // groups, *kernel), dtype)
    f = getattr(F, f"conv_transpose{dims}d" if transposed else f"conv{dims}d")
    cudnn = m.yes(0.7)
    def run(x, w, b):
        with torch.backends.cudnn.flags(enabled=cudnn, allow_tf32=False):
            return both_ways(lambda x, w, b: f(x, w, b, **words), 3, x, w, b)
    return Call(f"{f.__name__} {dtype} {tuple(x.shape)} {tuple(w.shape)} {words} cudnn={cudnn}", run, [x, w, bias], "whole")


@operator("layers", 4)
def pool(m):
    dims, dtype = m.some(1, 2, 2, 3), m.floats()
    x = m.tensor((m.some(1, 2), m.some(1, 3, 9), *(m.some(7, 8, 13, 33) if dims < 3 else m.some(5, 8) for _ in range(dims))),
                 dtype)
    k = [m.some(2, 3) for _ in range(dims)]
    s, p, ceil = [m.some(1, 2, 3) for _ in k], [m.r.randint(0, 1) for _ in k], m.yes()
    if m.yes(0.25):
        name = m.some("adaptive_avg_pool", "adaptive_max_pool")
        to = [m.some(1, 2, 5) for _ in k]
        return layer(f"{name}{dims}d {dtype} {tuple(x.shape)} {to}", lambda x: getattr(F, f"{name}{dims}d")(x, to), 1, [x])
    if m.yes():
        d = [m.some(1, 2) for _ in k]
        return layer(f"max_pool{dims}d {dtype} {tuple(x.shape)} {k} {s} {p} {d} {ceil}",
                     lambda x: getattr(F, f"max_pool{dims}d")(x, k, s, p, d, ceil), 1, [x])
    counted = m.yes()
    return layer(f"avg_pool{dims}d {dtype} {tuple(x.shape)} {k} {s} {p} {ceil} {counted}",
                 lambda x: getattr(F, f"avg_pool{dims}d")(x, k, s, p, ceil, counted), 1, [x])


@operator("layers", 4)
def interpolate(m):
    mode, dtype = m.some("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area"), m.floats()
    dims = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}.get(mode) or m.some(1, 2, 3)
    x = m.tensor((m.some(1, 2), m.some(1, 3, 5), *(m.some(2, 5, 9) for _ in range(dims))), dtype)
    words = {"mode": mode, "size": [m.some(1, 3, 7, 20) for _ in range(dims)]}
    if "linear" in mode or mode == "bicubic":
        words["align_corners"] = m.yes()
        if dims == 2 and m.yes(0.3):
            words["antialias"] = True
    return layer(f"interpolate {dtype} {tuple(x.shape)} {words}", lambda x: F.interpolate(x, **words), 1, [x])


@operator("layers", 2)
def sample_grid(m):
    dims, dtype = m.some(2, 2, 3), m.some(torch.float32, torch.float64)
    mode, pad, corners = m.some("bilinear", "nearest",
                                *(["bicubic"] if dims == 2 else [])), m.some("zeros", "border", "reflection"), m.yes()
    x = m.tensor((2, m.some(1, 4), *(m.some(3, 6, 9) for _ in range(dims))), dtype)
    grid = m.tensor((2, *(m.some(2, 5, 12) for _ in range(dims)), dims), dtype, -1.3, 1.3)
    return layer(f"grid_sample {dtype} {mode} {pad} {corners} {tuple(x.shape)}",
                 lambda x, g: F.grid_sample(x, g, mode, pad, corners), 2, [x, grid])


@operator("layers", 4)
def norms(m):
    dtype, shape = m.floats(), (m.some(2, 3), m.some(4, 8, 12), m.some(5, 9, 33), m.some(5, 7, 64))
    x, w, b = m.tensor(shape, dtype), m.tensor((shape[1], ), dtype), m.tensor((shape[1], ), dtype)
    k = m.r.randint(1, 3)
    last = m.tensor(shape[k:], dtype)
    f, inputs, name = m.some((lambda x, w: F.layer_norm(x, w.shape, w), [x, last], "layer_norm"),
                             (lambda x, w: F.rms_norm(x, w.shape, w, 1e-5), [x, last], "rms_norm"),
                             (lambda x, w, b: F.group_norm(x, 4, w, b), [x, w, b], "group_norm"),
                             (lambda x, w, b: F.instance_norm(x, None, None, w, b), [x, w, b], "instance_norm"),
                             (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), [x, w, b], "batch_norm"),
                             (lambda x, w, b: F.batch_norm(x, b * 0, b.abs() + 1, w, b), [x, w, b], "batch_norm evaluating"),
                             (lambda x: F.local_response_norm(x, 3), [x], "local_response_norm"))
    return layer(f"{name} {dtype} {shape} {k}", f, len(inputs) if "evaluating" not in name else 2, inputs)


@operator("layers", 3)
def loss(m):
    dtype, n, c, how = m.some(torch.float32, torch.float64), m.some(1, 7, 65, 1025), m.some(2, 5, 33,
                                                                                            1000), m.some("mean", "sum", "none")
    x, t = m.tensor((n, c), dtype), m.tensor((n, c), dtype, 0.1, 0.9)
    y, w = m.places((n, ), c), m.tensor((c, ), dtype, 0.5, 2)
    smooth = m.some(0.0, 0.1)
    f, inputs, name = m.some(
        (lambda x, y, w: F.cross_entropy(x, y, w, reduction=how, label_smoothing=smooth), [x, y, w], "cross_entropy"),
        (lambda x, y, w: F.cross_entropy(
            x, torch.where(y == 0, -100, y).index_fill(0, torch.zeros(1, dtype=torch.int64, device=y.device), 1), reduction=how),
         [x, y, w], "ignored"), (lambda x, t: F.cross_entropy(x, t, reduction=how), [x, t], "soft"),
        (lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction=how), [x, t], "bce"),
        (lambda x, t: F.kl_div(x.log_softmax(1), t, reduction=how), [x, t], "kl_div"),
        (lambda x, t: F.smooth_l1_loss(x, t, reduction=how, beta=0.7), [x, t], "smooth_l1"),
        (lambda x, t: F.huber_loss(x, t, how), [x, t], "huber"), (lambda x, t: F.mse_loss(x, t, reduction=how), [x, t], "mse"),
        (lambda x, y: F.multi_margin_loss(x, y, reduction=how), [x, y], "multi_margin"),
        (lambda x, t: F.poisson_nll_loss(x, t, reduction=how), [x, t], "poisson"),
        (lambda x, t: F.gaussian_nll_loss(x, t, t + 0.1, reduction=how), [x, t], "gaussian"),
        (lambda x, t: F.soft_margin_loss(x, t.round() * 2 - 1, reduction=how), [x, t], "soft_margin"),
        (lambda x, t: F.triplet_margin_loss(x, t, x.flip(0) + 1, reduction=how), [x, t], "triplet"),
        (lambda x, t: F.cosine_similarity(x, t, 1), [x, t], "cosine"))
    return layer(f"{name} {dtype} {n} {c} {how} {smooth}", f, 1, inputs)


@operator("layers")
def ctc(m):
    dtype, length, n, c = m.some(torch.float32, torch.float64), m.some(20, 50, 130), m.some(1, 4), m.some(5, 40)
    most = m.some(3, 8)
    y = m.tensor((n, most), torch.int64, 1, c, plain=True)
    lengths, wanted = torch.randint(18, length + 1, (n, ), generator=m.g), torch.randint(1, most + 1, (n, ), generator=m.g)
    return layer(f"ctc_loss {dtype} {length} {n} {c}", lambda x, y, a, b: F.ctc_loss(x.log_softmax(2), y, a, b, reduction="none"),
                 1, [m.tensor(
                     (length, n, c), dtype), y, lengths.cuda(), wanted.cuda()])


@operator("layers", 2)
def looked_up(m):
    dtype, rows, width, n = m.floats(), m.some(2, 50, 1000), m.some(1, 5, 64, 129), m.some(1, 33, 3000)
    i = m.tensor((n, ), torch.int64, 0, rows)
    words = m.some({}, {"padding_idx": 1}, {"scale_grad_by_freq": True})
    return layer(f"embedding {dtype} {rows} {width} {n} {words}", lambda w, i: F.embedding(i, w, **words), 1,
                 [m.tensor((rows, width), dtype), i])


@operator("layers", 3)
def attention(m):
    dtype, n, h, d = m.some(torch.float32, torch.float16, torch.bfloat16,
                            torch.float64), m.some(1, 2), m.some(1, 3), m.some(8, 32, 40, 64)
    q, k = m.some(1, 7, 64, 65, 130), m.some(1, 7, 64, 65, 130)
    causal = m.yes(0.4)
    mask = m.some(None, torch.bool, dtype) if not causal else None
    inputs = [m.tensor((n, h, s, d), dtype) for s in (q, k, k)]
    if mask is torch.bool:
        inputs.append(m.tensor((n, 1, q, k), torch.bool).index_fill(3, torch.zeros(1, dtype=torch.int64, device="cuda"), True))
    elif mask:
        inputs.append(m.tensor((1, h, q, k), dtype))
    return layer(f"attention {dtype} {n} {h} {q} {k} {d} causal={causal} {mask}",
                 lambda q, k, v, *a: F.scaled_dot_product_attention(q, k, v, a[0]
                                                                    if a else None, is_causal=causal), 3, inputs, "loose")


@operator("layers", 2)
def folded(m):
    dtype, k, s, p = m.floats(), m.some(1, 2, 3), m.some(1, 2), m.r.randint(0, 1)
    x = m.tensor((2, 4, 9, 11), dtype)
    f, name = m.some(
        (lambda x: F.unfold(x, k, 1, p, s), "unfold"), (lambda x: F.fold(F.unfold(x, k, 1, p, s), (9, 11), k, 1, p, s), "fold"),
        (lambda x: F.pixel_shuffle(x, 2), "pixel_shuffle"), (lambda x: F.channel_shuffle(x.contiguous(), 2), "channel_shuffle"),
        (lambda x: F.pad(x, (k, p, s, 1), "reflect"), "reflect"), (lambda x: F.pad(x, (k, p, s, 1), "replicate"), "replicate"),
        (lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=x.shape), "max_unpool"),
        (lambda x: F.lp_pool2d(x.abs() + 1, 2.0, 2), "lp_pool"))
    return layer(f"{name} {dtype} {k} {s} {p}", f, 1, [x])


@operator("layers", 2)
def recurrent(m):
    kind, layers, two = m.some("LSTM", "GRU", "RNN"), m.some(1, 2), m.yes()
    n, length, a, b = m.some(1, 3), m.some(1, 5, 9), m.some(3, 8), m.some(4, 7)
    seed, cudnn, packed = m.r.randrange(1 << 30), m.yes(), m.yes(0.4)
    lengths = sorted((m.r.randint(1, length) for _ in range(n)), reverse=True)
    def run(x):
        torch.manual_seed(seed)
        net = getattr(torch.nn, kind)(a, b, layers, bidirectional=two).to(torch.float32).to(x.device, x.dtype)
        with torch.backends.cudnn.flags(enabled=cudnn, allow_tf32=False):
            if packed:
                return both_ways(lambda x: net(torch.nn.utils.rnn.pack_padded_sequence(x, lengths))[0].data, 1, x)
            return both_ways(lambda x: net(x)[0], 1, x)
    return Call(f"{kind} {n} {length} {a} {b} {layers} {two} cudnn={cudnn} packed={packed}", run,
                [m.tensor((length, n, a), m.some(torch.float32, torch.float64))], "loose")


# ---- transforms, sparse, ragged

@operator("transforms", 4)
def fourier(m):
    name, dtype = m.some("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"), m.some(torch.float32, torch.float64)
    shape = m.r.choice(((m.r.randint(1, 300), ), (3, m.r.randint(2, 130)), (m.r.randint(2, 70), 5), (2, 3, m.r.randint(2, 64)),
                        (m.some(97, 101, 127, 251, 509, 1021), ), (m.some(1000, 1024, 2187, 3125), 2)))
    d, norm = m.dim(shape), m.some("forward", "backward", "ortho")
    n = m.some(None, None, m.r.randint(2, 100))
    if name in ("irfft", "hfft") and n is None and shape[d] < 2:
        n = 4
    real = name in ("rfft", "ihfft") or (name not in ("irfft", "hfft") and m.yes())
    x = m.tensor(shape, dtype if real else {torch.float32: torch.complex64, torch.float64: torch.complex128}[dtype])
    return Call(f"{name} {x.dtype} {shape} {n} {d} {norm}", lambda x: getattr(torch.fft, name)(x, n, d, norm), [x], "whole")


@operator("transforms", 3)
def fourier_many(m):
    name = m.some("fft2", "ifft2", "rfft2", "fftn", "ifftn", "rfftn", "irfftn", "irfft2")
    shape = tuple(m.r.randint(2, 24) for _ in range(m.r.randint(2, 4)))
    dims = tuple(m.r.sample(range(len(shape)), 2 if name.endswith("2") else m.r.randint(1, min(3, len(shape)))))
    norm, real = m.some("forward", "backward", "ortho"), name.startswith("rfft") or ("irfft" not in name and m.yes())
    x = m.tensor(shape, m.some(torch.float32, torch.float64) if real else m.r.choice(COMPLEX))
    return Call(f"{name} {x.dtype} {shape} {dims} {norm}", lambda x: getattr(torch.fft, name)(x, dim=dims, norm=norm), [x],
                "whole")


@operator("transforms", 2)
def frames(m):
    n, hop, size = m.some(16, 25, 64), m.some(3, 8, 16), m.some(200, 333, 1025)
    x, w = m.tensor((m.some(1, 3), size), torch.float64), m.tensor((n, ), torch.float64, 0.5, 1, plain=True)
    centre, sides = m.yes(), m.yes()
    def f(x, w):
        made = torch.stft(x, n, hop, window=w, center=centre, onesided=sides, return_complex=True)
        return made, torch.istft(made, n, hop, window=w, onesided=sides) if centre and hop < n else made
    return Call(f"stft {n} {hop} {size} {centre} {sides}", f, [x, w], "whole")


def sparse(m, dtype, rows, columns, layout):
    mask = torch.rand(rows, columns, generator=m.g) < m.some(0.02, 0.2, 0.7)
    x = (m.numbers((rows, columns), dtype) * mask).cuda()
    return x, {"coo": lambda t: t.to_sparse(), "csr": lambda t: t.to_sparse_csr(), "csc": lambda t: t.to_sparse_csc(),
               "bsr": lambda t: t.to_sparse_bsr((4, 4)), "bsc": lambda t: t.to_sparse_bsc((4, 4))}[layout]


@operator("transforms", 4)
def sparse_products(m):
    dtype, layout = m.some(torch.float32, torch.float64, torch.complex64), m.some("coo", "csr", "csc", "bsr")
    n, k, j = (m.some(4, 8, 32, 100, 260) for _ in range(3))
    x, made = sparse(m, dtype, n, k, layout)
    beta, alpha = m.some(0, 1, 2), m.some(1, -2)
    dense = m.tensor((k, j), dtype)
    f, name = m.some((lambda x, d, c: made(x) @ d, "mm"),
                     (lambda x, d, c: torch.addmm(c, made(x), d, beta=beta, alpha=alpha), "addmm"),
                     (lambda x, d, c: made(x) @ d[:, 0], "mv"))
    return Call(f"{layout} {name} {dtype} {n} {k} {j}", f, [x, dense, m.tensor((n, j), dtype)], "whole")


@operator("transforms", 3)
def sparse_forms(m):
    dtype, layout = m.some(m.number(), torch.float32), m.some("coo", "csr", "csc", "bsr", "bsc")
    n, k = m.some(4, 8, 32, 100, 260), m.some(4, 8, 32, 100, 260)
    x, made = sparse(m, dtype, n, k, layout)
    i, v = m.places((2, 300), min(n, k)), m.tensor((300, ), dtype)
    f, name = m.some((lambda x, i, v: made(x).to_dense(), "dense"), (lambda x, i, v: made(x).t().to_dense(), "transposed"),
                     (lambda x, i, v: torch.sparse_coo_tensor(i, v, (n, k)).coalesce().to_dense(), "coalesce"),
                     (lambda x, i, v: torch.sparse.sum(x.to_sparse(), 0).to_dense(), "sum"),
                     (lambda x, i, v: (x.to_sparse() + torch.sparse_coo_tensor(i, v, (n, k))).to_dense(), "add"),
                     (lambda x, i, v: (x.to_sparse() * 2).to_dense(), "mul"),
                     (lambda x, i, v: torch.sparse_coo_tensor(i, v, (n, k)).coalesce().values(), "values"))
    return Call(f"{layout} {name} {dtype} {n} {k}", f, [x, i, v], "whole")


@operator("transforms")
def sparse_functions(m):
    dtype = m.some(torch.float32, torch.float64)
    n, k = m.some(4, 32, 100), m.some(4, 32, 100)
    x, _ = sparse(m, dtype, n, k, "coo")
    y, _ = sparse(m, dtype, k, n, "coo")
    f, name = m.some((lambda x, y: torch.sparse.softmax(x.to_sparse(), 1).to_dense(), "softmax"),
                     (lambda x, y: torch.sparse.log_softmax(x.to_sparse(), 0).to_dense(), "log_softmax"),
                     (lambda x, y: torch.sparse.mm(x.to_sparse(), y.to_sparse()).to_dense(), "spgemm"),
                     (lambda x, y: (x.to_sparse_csr() @ y.to_sparse_csr()).to_dense(), "spgemm csr"),
                     (lambda x, y: torch.sparse.sampled_addmm(x.to_sparse_csr(), x, y @ x, beta=0.5).to_dense(), "sampled_addmm"),
                     (lambda x, y: (x.to_sparse_csr() + y.t().to_sparse_csr()).to_dense(), "add csr"))
    return Call(f"{name} {dtype} {n} {k}", f, [x, y], "whole")


@operator("transforms", 2)
def segments(m):
    dtype, how, n = m.floats(), m.some("sum", "mean", "max", "min", "prod"), m.some(1, 5, 40)
    lengths = torch.randint(1, 20, (n, ), generator=m.g)
    x = m.tensor((int(lengths.sum()), *m.some((), (3, ), (33, ))), dtype, 0.8, 1.2, plain=True)
    return layer(f"segment_reduce {how} {dtype} {n}", lambda x, l: torch.segment_reduce(x, how, lengths=l, axis=0), 1,
                 [x, lengths.cuda()])


@operator("transforms", 2)
def ragged(m):
    dtype, lengths, d = m.some(torch.float32,
                               torch.float64), [m.r.randint(1, 40) for _ in range(m.r.randint(1, 6))], m.some(1, 8, 33)
    parts, w = [m.tensor((n, d), dtype, plain=True) for n in lengths], m.tensor((d, d), dtype, plain=True)
    f, name = m.some((lambda t, w: (t @ w), "matmul"), (lambda t, w: t.softmax(-1), "softmax"),
                     (lambda t, w: F.gelu(t) * 2 + t, "gelu"), (lambda t, w: F.layer_norm(t, (d, )), "layer_norm"))
    layout = m.some(torch.jagged, torch.strided)
    def run(w, *parts):
        made = torch.nested.nested_tensor(list(parts), layout=layout)
        return [made.to_padded_tensor(0.0), *f(made, w).unbind()]
    return Call(f"nested {layout} {name} {dtype} {lengths} {d}", run, [w, *parts], "whole")


@operator("transforms", 3)
def special(m):
    names = (
        "bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 i0e i1 i1e erfcx ndtr "
        "ndtri log_ndtr entr scaled_modified_bessel_k0 spherical_bessel_j0 airy_ai").split()
    name, dtype = m.r.choice(names), m.some(torch.float32, torch.float64)
    low = (0.05, 0.95) if name == "ndtri" else (0.1, 9)
    return Call(f"{name} {dtype}", getattr(torch.special, name), [m.tensor(m.shape(), dtype, *low)], "whole")
