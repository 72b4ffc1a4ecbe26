"""A part of torch's own operator database, each operator's samples on the CPU and on the CUDA device: run by tests/torch/run, a
process a part.

    opdb.py DTYPE[+grad][+wide][+layout][+inplace][+out][/N] NAME[=DTYPE[+grad]...]...

A name may have a type and ways of its own.  Writes a line for each operator: "OP name RESULT samples detail", RESULT one of ok,
wrong, error, skip.  What begins is said first ("BEGIN name"), so that whoever reads knows where a process died.  With +grad
gradients of the samples' inputs are compared, for a fixed gradient of the results.  With +wide there are torch's reference
samples too, which have large numbers, infinities and NaN, other shapes and other scalars.  With +layout a sample's tensors lie
otherwise in memory, or have no elements, another way for each sample (LAYOUTS).  With +inplace the operator writes into its
input, with +out into tensors that are given, which lie in every other place of theirs.  With /N an operator has at most N
samples, evenly out of all.

Where the two differ by more than rounding does as a rule, the CPU's float64 decides: the device's result is right where it is
about as near to that as the CPU's own is.
"""
# SPDX-License-Identifier: Apache-2.0
import sys
import time
import warnings
import zlib

import torch
import torch.testing._internal.common_methods_invocations as methods

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
DEVICE = "cuda"

# Results that no seed fixes, or memory that nobody has written: only shape and type are compared.
UNDEFINED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_"}
RANDOM = {"bernoulli", "multinomial", "normal", "normal.in_place", "rand_like", "randint", "randint_like", "randn", "randn_like",
          "uniform", "cauchy",
          "exponential", "geometric", "log_normal", "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d",
          "nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout", "nn.functional.rrelu",
          "nn.functional.fractional_max_pool2d",
          "nn.functional.fractional_max_pool3d", "nn.functional.multi_head_attention_forward", "pca_lowrank", "svd_lowrank"}
# Unique only up to signs and order: what they multiply to is compared by others.
NOT_UNIQUE = {"svd", "linalg.svd", "linalg.eig", "linalg.eigh", "linalg.qr", "qr", "geqrf", "linalg.householder_product",
              "lobpcg", "ormqr", "symeig"}

# What they pick is one of the same values where there are several: the picks are compared, and the value at each.
PICKS = {"kthvalue", "mode", "median", "nanmedian", "topk", "sort", "msort", "max.reduction_with_dim", "min.reduction_with_dim",
         "cummax", "cummin"}
# Operators that give values and where they lie, and which of their arguments after the input is the dimension: where several
# places have the value, any of them is right.
PLACES = {"kthvalue": 1, "topk": 1, "mode": 0, "median": 0, "nanmedian": 0, "sort": 0, "max.reduction_with_dim": 0,
          "min.reduction_with_dim": 0}

# How far results may be apart, relatively and absolutely; sums are taken in another order, and whole numbers are the same.
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.complex32: 2e-3, torch.float32: 2e-4, torch.complex64: 2e-4}

# A constant of torch's CUDA kernel is a float's (1.0f / 6.0f) where its CPU kernel has a double's.
FLOAT_CONSTANTS = {"nn.functional.hardswish"}

# Operators that write into tensors of theirs besides results, and medians, for which torch's CPU device writes into a copy of its
# input that has the input's strides: none of their tensors has a stride of 0.
DISTINCT = {"native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update", "nn.functional.batch_norm",
            "nn.functional.instance_norm", "median", "nanmedian"}

# With max_norm torch's CUDA device takes the stride of its weights' rows for their length: their weights have no gaps.
DENSE = {"nn.functional.embedding", "nn.functional.embedding_bag"}

# How torch says that its CUDA device has no such form where it does not say so by NotImplementedError: linalg.lstsq, ldl_solve;
# channel_shuffle of strides that its CPU device takes.
REFUSALS = ("not supported on CUDA", "view size is not compatible with input tensor's size and stride")

# Given tensors for what they save, torch's CUDA device asserts that these have no gaps; native_batch_norm of its CPU device reads
# the means that it is given, and does not write them.
NO_GAPS = {"native_batch_norm", "_native_batch_norm_legit"}

# Operators whose tensors of sizes torch wants on the CPU in any case.
SIZES_ON_CPU = {"tensor_split"}

# Outside training torch's CPU device has nothing for backward to save; its CUDA device gives what normalisation went by: the
# running mean, and the inverse of the running deviation. In half types it gives them as floats, those of layers too.
NORMS = {"native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update", "native_layer_norm"}


def move_tensor(value, device):
    """A leaf with the same strides in a copy of the whole storage, as operators see more of it than the tensor's own elements."""
    value = value.detach()
    plain = value.device.type == "cpu" and value.layout == torch.strided and not value.is_conj() and not value.is_neg()
    if not plain or not value.untyped_storage().nbytes():
        return value.to(device)
    whole = torch.empty(0, dtype=value.dtype).set_(value.untyped_storage())
    there = torch.empty(0, dtype=value.dtype, device=device).set_(whole.to(device, copy=True).untyped_storage())
    return there.as_strided(value.shape, value.stride(), value.storage_offset()).detach()


def move(value, device):
    if isinstance(value, torch.Tensor):
        return move_tensor(value, device).requires_grad_(value.requires_grad)
    if isinstance(value, torch.device):
        return torch.device(device)
    if isinstance(value, str) and value in ("cpu", "cuda"):
        return device
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        moved = [move(v, device) for v in value]
        return type(value)(*moved) if hasattr(value, "_fields") else type(value)(moved)
    if isinstance(value, dict):
        return {k: move(v, device) for k, v in value.items()}
    return value


def columns(t):
    """Transposed in memory."""
    order = tuple(reversed(range(t.dim())))
    return t.permute(order).contiguous().permute(order)


def channels_last(t):
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return t.contiguous(memory_format=formats[t.dim()]) if t.dim() in formats else columns(t)


def every_other(t):
    """In every other place of a tensor twice as wide."""
    wide = torch.full((*t.shape, 2), 7, dtype=t.dtype)
    wide[..., 0] = t
    return wide[..., 0]


def misaligned(t):
    """Beginning at the second element of its memory."""
    flat = torch.full((t.numel() + 1, ), 7, dtype=t.dtype)
    flat[1:] = t.reshape(-1)
    return flat[1:].view(t.shape)


def within_rows(t):
    """The middle of longer rows."""
    if not t.dim():
        return misaligned(t)
    rows = torch.full((*t.shape[:-1], t.shape[-1] + 5), 7, dtype=t.dtype)
    rows[..., 3:3 + t.shape[-1]] = t
    return rows[..., 3:3 + t.shape[-1]]


def expanded(t):
    """The first along the first dimension, as often as it was long, with a stride of 0."""
    return t[:1].expand(t.shape) if t.dim() and t.shape[0] else t


def nothing(t):
    return t[:0] if t.dim() else t


LAYOUTS = [columns, every_other, misaligned, channels_last, within_rows, expanded, nothing]


def laid_out(value, layout):
    """What a sample has, its tensors laid out in a way of LAYOUTS."""
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_conj() or value.is_neg() or value.is_quantized:
            return value
        return layout(value.detach()).detach().requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        laid = [laid_out(v, layout) for v in value]
        return type(value)(*laid) if hasattr(value, "_fields") else type(value)(laid)
    return {k: laid_out(v, layout) for k, v in value.items()} if isinstance(value, dict) else value


def with_layouts(op, samples):
    """The samples, each in another layout, the first in one that hangs on the operator's name."""
    layouts = [misaligned] if op.name in DENSE else [each for each in LAYOUTS if each != expanded or op.name not in DISTINCT]
    first = zlib.crc32(name_of(op).encode())
    for k, s in enumerate(samples):
        layout = layouts[(first + k) % len(layouts)]
        yield type(s)(laid_out(s.input, layout), args=laid_out(s.args, layout), kwargs=laid_out(s.kwargs, layout),
                      output_process_fn_grad=s.output_process_fn_grad)


def tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from tensors(v)
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from tensors(v)
    elif isinstance(value, (bool, int, float, complex)):
        yield torch.tensor(value)


def compare(expected, actual, values, least=0.0):
    """None, or what differs by more than rounding does, or by more than `least`."""
    e, a = list(tensors(expected)), list(tensors(actual))
    if len(e) != len(a):
        return f"{len(a)} results instead of {len(e)}"
    for k, (x, y) in enumerate(zip(e, a)):
        x, y = x.detach(), y.detach()
        y = y.cpu()
        if x.layout != torch.strided:
            x, y = x.to_dense(), y.to_dense()
        if x.dtype != y.dtype or x.shape != y.shape:
            return f"result {k} is {y.dtype}{list(y.shape)} instead of {x.dtype}{list(x.shape)}"
        if not values:
            continue
        try:
            tolerance = max(least, TOLERANCE.get(x.dtype, 1e-9 if x.is_floating_point() or x.is_complex() else 0))
            torch.testing.assert_close(y, x, rtol=tolerance, atol=tolerance, equal_nan=True)
        except AssertionError as error:
            return f"result {k}: " + " ".join(str(error).split())[:240]
    return None


WIDE = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64,
        torch.complex32: torch.complex128, torch.complex64: torch.complex128}


def widen(value):
    """What a sample has, in double precision."""
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.dtype not in WIDE:
            return value
        return value.detach().to(WIDE[value.dtype]).requires_grad_(value.requires_grad)
    if isinstance(value, torch.dtype):
        return WIDE.get(value, value)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        wide = [widen(v) for v in value]
        return type(value)(*wide) if hasattr(value, "_fields") else type(value)(wide)
    return {k: widen(v) for k, v in value.items()} if isinstance(value, dict) else value


def distance(value, exact):
    """The largest; infinite where one is no number, or infinite, and the other is not."""
    value, exact = value.detach().cpu().to(exact.dtype), exact.cpu()
    value, exact = (torch.view_as_real(t.resolve_conj()) if t.is_complex() else t for t in (value, exact))
    odd = ~exact.isfinite()
    if not (value[odd].nan_to_num(7, 8, 9) == exact[odd].nan_to_num(7, 8, 9)).all() or not value[~odd].isfinite().all():
        return float("inf")
    return (value - exact)[~odd].abs().max().item() if (~odd).any() else 0.0


def as_exact(op, sample, how, expected, actual):
    """Is the device's result about as near to double precision's as the CPU's is?"""
    try:
        wide = type(sample)(widen(sample.input), args=widen(sample.args), kwargs=widen(sample.kwargs),
                            output_process_fn_grad=sample.output_process_fn_grad)
        torch.manual_seed(1)
        exact = list(tensors(call(op, wide, how)))
    except Exception:  # there is no such form in double precision: no other judge
        return False
    results = list(zip(exact, tensors(expected), tensors(actual)))
    return len(results) == len(exact) and all(
        a.shape == e.shape == x.shape and nearly(a, e, x.detach()) for x, e, a in results)


def nearly(actual, expected, exact):
    if actual.dtype not in WIDE:  # a whole number beside the others
        return torch.equal(actual.cpu(), expected.cpu())
    return exact.dtype == WIDE[actual.dtype] and distance(actual, exact) <= 4 * distance(expected, exact) < float("inf")


def norms(sample, result, actual):
    """What the CPU does not give, as it is defined (NORMS), and what the device gives in the CPU's types."""
    if len(sample.args) == 7 and not sample.args[4]:
        mean, variance, _, _, eps = sample.args[2:]
        result = result[0], mean, (variance + eps).rsqrt(), *result[3:]
    if len(result) != len(actual):
        return result, actual
    return result, [a.to(r.dtype) if a.is_floating_point() else a for r, a in zip(result, actual)]


def with_places(sample, at, expected, actual, mode):
    """The CPU's results with the device's places, where these have the values that the device says (PLACES)."""
    if not isinstance(expected, tuple) or len(expected) != 2 or expected[1].shape != actual[1].shape or not sample.input.dim():
        return expected
    dim = sample.kwargs.get("dim", sample.args[at] if len(sample.args) > at else -1)
    values, places = actual[0].cpu(), actual[1].cpu()
    if places.dim() < sample.input.dim():
        values, places = values.unsqueeze(dim), places.unsqueeze(dim)
    if not places.numel() or places.min() < 0 or places.max() >= sample.input.shape[dim]:
        return expected
    if not torch.equal(sample.input.gather(dim, places).nan_to_num(7), values.nan_to_num(7)):
        return expected
    return (as_often(sample.input, dim, expected[0], actual[0].cpu()) if mode else expected[0]), actual[1].cpu()


def sorting(sample, expected, actual):
    """argsort's places on the device, where they sort as the CPU's do; neither need keep the order of what is equal."""
    source, places = sample.input, actual.cpu()
    if expected.shape != places.shape or not source.dim() or not places.numel():
        return expected
    dim = sample.kwargs.get("dim", sample.args[0] if sample.args else -1)
    every = torch.equal(places.sort(dim)[0], expected.sort(dim)[0])
    return places if every and torch.equal(*(source.gather(dim, p).nan_to_num(7) for p in (places, expected))) else expected


def as_often(source, dim, expected, actual):
    """`actual` where all of its values are in `source` as often as those of `expected`: torch's CUDA device has another of
    several values that are the most frequent ones."""
    kept = [v if v.dim() == source.dim() else v.unsqueeze(dim) for v in (expected, actual)]
    counts = [(source == v).sum(dim) for v in kept]
    return actual if torch.equal(*counts) else expected


def is_random(sample):
    """Does it leave out what each device chooses for itself?"""
    return (sample.kwargs.get("dropout_p") or 0) > 0


def leaves(value):
    return [t for t in tensors(value) if t.requires_grad and t.is_leaf]


def whole(t):
    """All of the memory that a tensor lies in."""
    return torch.empty(0, dtype=t.dtype, device=t.device).set_(t.untyped_storage())


def call_inplace(op, sample):
    """The input when the operator has written into it, and all of the memory that it lies in."""
    target = move(sample.input, sample.input.device)
    result = op.inplace_variant(target, *sample.args, **sample.kwargs)
    return [result, whole(result)] if result.dtype == sample.input.dtype else result


def call_out(op, sample):
    """Tensors that the results were written into, which lie in every other place of their memory."""
    results = op(sample.input, *sample.args, **sample.kwargs)
    given = [move_tensor(every_other(torch.full(t.shape, 3, dtype=t.dtype)), t.device) for t in tensors(results)]
    given = tuple(given) if isinstance(results, tuple) else given[0]
    op(sample.input, *sample.args, out=given, **sample.kwargs)
    for t in tensors(given):
        if not (whole(t)[1::2] == torch.tensor(7, dtype=t.dtype)).all():
            raise AssertionError("wrote between the elements of what it was given")
    return given


def call(op, sample, how):
    """What is written in place or into given tensors, or the operator's result, or the gradients of the inputs that have any."""
    if "inplace" in how:
        return call_inplace(op, sample)
    if "out" in how:
        return call_out(op, sample)
    grad = "grad" in how
    result = op(sample.input, *sample.args, **sample.kwargs)
    if sample.output_process_fn_grad is not None and grad:
        result = sample.output_process_fn_grad(result)
    if not grad:
        return result
    inputs = leaves([sample.input, sample.args, sample.kwargs])
    outputs = [t for t in tensors(result) if t.requires_grad]
    if not inputs or not outputs:
        return None
    torch.manual_seed(2)
    given = [torch.randn(t.shape, dtype=t.dtype).to(t.device) for t in outputs]
    return [g for g in torch.autograd.grad(outputs, inputs, given, allow_unused=True) if g is not None]


def evenly(samples, most):
    """`most` of them, or all."""
    samples = list(samples)
    return samples if not most or len(samples) <= most else [samples[i * len(samples) // most] for i in range(most)]


def name_of(op):
    return op.name + ("." + op.variant_test_name if op.variant_test_name else "")


def samples_of(op, dtype, how):
    made = op.reference_inputs if "wide" in how else op.sample_inputs
    return made("cpu", dtype, requires_grad="grad" in how)


def check(op, samples, how):
    """RESULT, samples looked at, detail."""
    n, grad = 0, "grad" in how
    values = op.name not in RANDOM and op.name not in UNDEFINED and (grad or op.name not in NOT_UNIQUE)
    for sample in samples:
        args = sample.args if op.name in SIZES_ON_CPU else move(sample.args, DEVICE)
        there = type(sample)(move(sample.input, DEVICE), args=args, kwargs=move(sample.kwargs, DEVICE),
                             output_process_fn_grad=sample.output_process_fn_grad)
        sample = type(sample)(move(sample.input, "cpu"), args=move(sample.args, "cpu"), kwargs=move(sample.kwargs, "cpu"),
                              output_process_fn_grad=sample.output_process_fn_grad)
        try:
            torch.manual_seed(1)
            expected = call(op, sample, how)
        except Exception:  # the CPU has no such form: nothing to compare with
            continue
        if expected is None:
            continue
        try:
            torch.manual_seed(1)
            actual = call(op, there, how)
            torch.cuda.synchronize()
        except NotImplementedError:  # torch has no such form for CUDA
            continue
        except Exception as error:
            if any(refusal in str(error) for refusal in REFUSALS):
                continue
            return "error", n, f"{type(error).__name__}: " + " ".join(str(error).split())[:300]
        n += 1
        if op.name in NORMS and not grad:
            expected, actual = norms(sample, expected, actual)
        if name_of(op) in PLACES and not grad and not sample.kwargs.get("stable"):
            expected = with_places(sample, PLACES[name_of(op)], expected, actual, op.name == "mode")
        if op.name == "argsort" and not sample.kwargs.get("stable"):
            expected = sorting(sample, expected, actual)
        compared = values and not is_random(sample)
        wrong = compare(expected, actual, compared, 1e-7 if op.name in FLOAT_CONSTANTS else 0.0)
        if wrong and not (compared and as_exact(op, sample, how, expected, actual)):
            return "wrong", n, f"sample {n}: {wrong}"
    return ("ok" if n else "skip"), n, ""


def applies(op, dtype, how):
    of = op.supported_backward_dtypes if "grad" in how else op.supported_dtypes
    return (dtype in of("cpu") and dtype in of("cuda") and (op.supports_autograd or "grad" not in how) and
            (op.inplace_variant or "inplace" not in how) and
            (op.supports_out and op.name not in NO_GAPS or "out" not in how))


def look(op, case, words, most):
    print(f"BEGIN {case}", flush=True)
    dtype, *how = words.split("+")
    dtype, begin = getattr(torch, dtype), time.time()
    result, n, detail = "skip", 0, "not of this type"
    if applies(op, dtype, how):
        samples = evenly(samples_of(op, dtype, how), most)
        samples = with_layouts(op, samples) if "layout" in how else samples
        result, n, detail = check(op, samples, how)
    print(f"OP {case} {result} {n} {time.time() - begin:.1f} {detail}", flush=True)


def main():
    words, _, most = sys.argv[1].partition("/")
    operators = {name_of(op): op for op in methods.op_db}
    for case in sys.argv[2:]:
        name, _, own = case.partition("=")
        if name in operators:
            look(operators[name], case, own or words, int(most or 0))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main()
    else:
        print("\n".join(name_of(each) for each in methods.op_db))
