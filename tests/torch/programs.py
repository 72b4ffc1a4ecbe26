"""Random programs of operators on the device, beside torch's own CPU device: programs.py FAMILY SEED COUNT, run by
tests/torch/run --suite random.

A program is some operators of a family, called one after another without a wait between them, on tensors of random types,
shapes and strides: transposed, every other element, expanded, beginning in the middle of a wide load, with no element or one,
and larger than a block or a grid.  Then each result is compared with the CPU's of the same bits: whole numbers, places and
copies to the bit, sums and functions with float64's, as near as their terms allow.

Each seed is a program of its own, so "programs.py FAMILY SEED 1" is one alone.  program_calls.py makes the calls.
"""
# SPDX-License-Identifier: Apache-2.0
import sys
import warnings

import torch
from program_calls import OPERATORS, Maker

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False

WIDE = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64,
        torch.complex64: torch.complex128}


def leaves(value):
    if isinstance(value, torch.Tensor):
        return [value.to_dense() if value.layout != torch.strided and not value.is_nested else value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in leaves(v)]
    return [torch.tensor(value)]


def here(value):
    """A copy on the CPU with the same strides, as far as its elements reach."""
    value = value.detach()
    if value.layout != torch.strided or value.is_conj() or value.is_neg() or not value.numel():
        return value.cpu()
    reach = 1 + sum((n - 1) * s for n, s in zip(value.shape, value.stride()))
    return value.as_strided((reach, ), (1, )).cpu().as_strided(value.shape, value.stride(), 0)


def wide(value):
    return value.to(WIDE.get(value.dtype, value.dtype))


STEP = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float32: 2.0**-24, torch.float64: 2.0**-48,
        torch.complex64: 2.0**-24, torch.complex128: 2.0**-48}

# How many of them a result may be from what is exact, besides four times what the CPU's is.
STEPS = {"near": 4, "sum": 16, "whole": 24, "loose": 200}


def measure(rule, exact, bound):
    """What an element's error is taken relatively to."""
    size = exact.abs()
    finite = size[size.isfinite()]
    largest = finite.max() if finite.numel() else torch.tensor(0.0)
    if rule == "sum" and bound is not None:
        return bound.abs() + size * 0.5 + 1e-30
    return size + (0.01 if rule == "near" else 0.1 * largest + 1e-6) if rule != "loose" else size + largest + 1e-3


def apart(value, exact, size):
    """The largest error, in parts of the measure; infinite where one is no number, or infinite, and the other is not."""
    odd = ~exact.isfinite()
    value = value.to(exact.dtype)
    if not torch.equal(value[odd].nan_to_num(7, 8, 9), exact[odd].nan_to_num(7, 8, 9)) or not value[~odd].isfinite().all():
        return float("inf")
    return ((value - exact).abs() / size)[~odd].max().item() if (~odd).any() else 0.0


def differs(actual, expected, exact, bound, rule):
    """None, or how the device's result is wrong."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if rule == "same" or not (actual.dtype.is_floating_point or actual.dtype.is_complex):
        if actual.dtype.is_complex:
            actual, expected = torch.view_as_real(actual.resolve_conj()), torch.view_as_real(expected.resolve_conj())
        good = (actual == expected) | ((actual != actual) & (expected != expected))
        if good.all():
            return None
        at = tuple((~good).nonzero()[0].tolist()) if actual.dim() else ()
        return f"{int((~good).sum())} of {good.numel()} differ, at {at} {actual[at].item()} instead of {expected[at].item()}"
    if actual.dtype.is_complex:
        actual, expected = (torch.view_as_real(t.resolve_conj()) for t in (actual, expected))
        exact = torch.view_as_real(exact.resolve_conj()) if exact is not None else None
        bound = None
    exact = exact if exact is not None and exact.shape == actual.shape else expected.double()
    size = measure(rule, exact, bound)
    theirs, ours = apart(expected, exact, size), apart(actual, exact, size)
    allowed = STEPS[rule] * STEP[actual.dtype] + 4 * theirs
    if ours <= allowed or (theirs == ours == float("inf") and torch.equal(actual.isnan(), expected.isnan())):
        return None
    return f"{ours:.3g} apart where {allowed:.3g} is allowed (the CPU {theirs:.3g}) {worst(actual, exact, size)}"


def worst(actual, exact, size):
    off = ((actual.to(exact.dtype) - exact).abs() / size).nan_to_num(float("inf"))
    at = tuple(torch.unravel_index(off.argmax(), off.shape))
    return f"at {[int(k) for k in at]} of {list(actual.shape)}: {actual[at].item()} instead of {exact[at].item()}"


def judge(call, result):
    """None, or what is wrong, or "" where the CPU has nothing to say."""
    inputs = [here(t) for t in call.inputs]
    try:
        expected = call.f(*inputs)
    except Exception:  # the CPU has no such form: nothing to compare with
        return ""
    if isinstance(result, Exception):
        text = " ".join(str(result).split())
        return "" if "not implemented for" in text or "not supported" in text else f"{type(result).__name__}: {text[:300]}"
    try:
        exact = leaves(call.f(*(wide(t) for t in inputs)))
        bound = leaves(call.f(*(wide(t).abs() if t.is_floating_point() else t for t in inputs))) if call.rule == "sum" else None
    except Exception:
        exact = bound = None
    expected, actual = leaves(expected), [t.detach().cpu() for t in leaves(result)]
    if len(expected) != len(actual):
        return f"{len(actual)} results instead of {len(expected)}"
    for k, (a, e) in enumerate(zip(actual, expected)):
        wrong = differs(a, e.detach(), exact[k].detach() if exact and exact[k].dtype == WIDE.get(e.dtype, e.dtype) else None,
                        bound[k].detach() if bound else None, call.rule)
        if wrong:
            return f"result {k}: {wrong}"
    return None


def attempt(call):
    try:
        return call.f(*call.inputs)
    except Exception as error:
        return error


def program(family, seed, length):
    """Lines of what is wrong, and how many calls were looked at."""
    m, calls, results = Maker(seed), [], []
    while len(calls) < length:
        calls.append(m.r.choice(OPERATORS[family])(m))
        results.append(attempt(calls[-1]))
    torch.cuda.synchronize()
    wrong, looked_at = [], 0
    for k, (call, result) in enumerate(zip(calls, results)):
        told = judge(call, result)
        looked_at += told != ""
        if told:
            forms = [(str(t.dtype)[6:], tuple(t.shape), t.stride()) for t in call.inputs[:4]]
            wrong.append(f"seed {seed} call {k}: {call.what} {forms}: {told}")
    return wrong, looked_at


def main():
    family, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    length, wrong, looked_at = 12, [], 0
    for seed in range(first, first + count):
        lines, n = program(family, seed, length)
        for line in lines:
            print("WRONG", family, line, flush=True)
        wrong += lines
        looked_at += n
        print("SEED", seed, n, flush=True)
        torch.cuda.empty_cache()
    print(f"{family}: seeds {first} to {first + count - 1}, {looked_at} calls, {len(wrong)} wrong", flush=True)
    sys.exit(bool(wrong or not looked_at))


if __name__ == "__main__":
    main()
