"""A part of torch's own operator database, each operator's samples on the CPU and on the CUDA device: run by tests/torch/run, a
process a part.

    opdb.py DTYPE[+grad][+wide][/N] NAME...

Writes a line for each operator: "OP name RESULT samples detail", RESULT one of ok, wrong, error, skip.  What begins is said
first ("BEGIN name"), so that whoever reads knows where a process died.  With +grad gradients of the samples' inputs are
compared, for a fixed gradient of the results.  With +wide there are torch's reference samples too, which have large numbers,
infinities and NaN, other shapes and other scalars.  With /N an operator has at most N samples, evenly out of all.

Where the two differ by more than rounding does as a rule, the CPU's float64 decides: the device's result is right where it is
about as near to that as the CPU's own is.
"""
# SPDX-License-Identifier: Apache-2.0
import sys
import time
import warnings

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


def as_exact(op, sample, grad, expected, actual):
    """Is the device's result about as near to double precision's as the CPU's is?"""
    try:
        wide = type(sample)(widen(sample.input), args=widen(sample.args), kwargs=widen(sample.kwargs),
                            output_process_fn_grad=sample.output_process_fn_grad)
        torch.manual_seed(1)
        exact = list(tensors(call(op, wide, grad)))
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


def call(op, sample, grad):
    """The operator's result, or with `grad` the gradients of the inputs that have any."""
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


def samples_of(op, dtype, grad, wide):
    made = op.reference_inputs if wide else op.sample_inputs
    return made("cpu", dtype, requires_grad=grad)


def check(op, dtype, samples, grad):
    """RESULT, samples looked at, detail."""
    n = 0
    values = op.name not in RANDOM and op.name not in UNDEFINED and (grad or op.name not in NOT_UNIQUE)
    for sample in samples:
        args = sample.args if op.name in SIZES_ON_CPU else move(sample.args, DEVICE)
        there = type(sample)(move(sample.input, DEVICE), args=args, kwargs=move(sample.kwargs, DEVICE),
                             output_process_fn_grad=sample.output_process_fn_grad)
        sample = type(sample)(move(sample.input, "cpu"), args=move(sample.args, "cpu"), kwargs=move(sample.kwargs, "cpu"),
                              output_process_fn_grad=sample.output_process_fn_grad)
        try:
            torch.manual_seed(1)
            expected = call(op, sample, grad)
        except Exception:  # the CPU has no such form: nothing to compare with
            continue
        if expected is None:
            continue
        try:
            torch.manual_seed(1)
            actual = call(op, there, grad)
            torch.cuda.synchronize()
        except NotImplementedError:  # torch has no such form for CUDA
            continue
        except Exception as error:
            if "not supported on CUDA" in str(error):  # likewise, as linalg.lstsq and ldl_solve say it
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
        if wrong and not (compared and as_exact(op, sample, grad, expected, actual)):
            return "wrong", n, f"sample {n}: {wrong}"
    return ("ok" if n else "skip"), n, ""


def main():
    words, _, most = sys.argv[1].partition("/")
    dtype, *how = words.split("+")
    dtype, grad, wide = getattr(torch, dtype), "grad" in how, "wide" in how
    most, wanted = int(most or 0), set(sys.argv[2:])
    for op in methods.op_db:
        name = name_of(op)
        if name not in wanted:
            continue
        print(f"BEGIN {name}", flush=True)
        begin = time.time()
        of = (op.supported_backward_dtypes if grad else op.supported_dtypes)
        if dtype not in of("cpu") or dtype not in of("cuda") or (grad and not op.supports_autograd):
            result, n, detail = "skip", 0, "not of this type"
        else:
            result, n, detail = check(op, dtype, evenly(samples_of(op, dtype, grad, wide), most), grad)
        print(f"OP {name} {result} {n} {time.time() - begin:.1f} {detail}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main()
    else:
        print("\n".join(name_of(each) for each in methods.op_db))
