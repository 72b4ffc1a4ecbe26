"""A part of torch's own operator database, each operator's samples on the CPU and on the CUDA device: run by tests/torch/run, a process a part.

    opdb.py DTYPE NAME...

Writes a line for each operator: "OP name RESULT samples detail", RESULT one of ok, wrong, error, skip.  What begins is said first ("BEGIN name"), so
that whoever reads knows where a process died.
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
RANDOM = {"bernoulli", "multinomial", "normal", "normal.in_place", "rand_like", "randint", "randint_like", "randn", "randn_like", "uniform", "cauchy",
          "exponential", "geometric", "log_normal", "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d",
          "nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout", "nn.functional.rrelu", "nn.functional.fractional_max_pool2d",
          "nn.functional.fractional_max_pool3d", "nn.functional.multi_head_attention_forward", "pca_lowrank", "svd_lowrank"}
# Unique only up to signs and order: what they multiply to is compared by others.
NOT_UNIQUE = {"svd", "linalg.svd", "linalg.eig", "linalg.eigh", "linalg.qr", "qr", "geqrf", "linalg.householder_product", "lobpcg", "ormqr", "symeig"}


def move(value, device):
    if isinstance(value, torch.Tensor):
        return value.detach().to(device)
    if isinstance(value, torch.device):
        return torch.device(device)
    if isinstance(value, str) and value == "cpu":
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


def compare(expected, actual, values):
    """None, or what differs."""
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
            torch.testing.assert_close(y, x, rtol=2e-4, atol=2e-4, equal_nan=True)
        except AssertionError as error:
            return f"result {k}: " + " ".join(str(error).split())[:240]
    return None


def call(op, sample):
    return op(sample.input, *sample.args, **sample.kwargs)


def check(op, dtype):
    """RESULT, samples looked at, detail."""
    n = 0
    values = op.name not in RANDOM and op.name not in UNDEFINED and op.name not in NOT_UNIQUE
    for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
        there = type(sample)(move(sample.input, DEVICE), args=move(sample.args, DEVICE), kwargs=move(sample.kwargs, DEVICE))
        try:
            torch.manual_seed(1)
            expected = call(op, sample)
        except Exception as error:  # the CPU has no such form: nothing to compare with
            continue
        try:
            torch.manual_seed(1)
            actual = call(op, there)
            torch.cuda.synchronize()
        except NotImplementedError:  # torch has no such form for CUDA
            continue
        except Exception as error:
            return "error", n, f"{type(error).__name__}: " + " ".join(str(error).split())[:300]
        n += 1
        wrong = compare(expected, actual, values)
        if wrong:
            return "wrong", n, f"sample {n}: {wrong}"
    return ("ok" if n else "skip"), n, ""


def main():
    dtype = getattr(torch, sys.argv[1])
    wanted = set(sys.argv[2:])
    for op in methods.op_db:
        name = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
        if name not in wanted:
            continue
        print(f"BEGIN {name}", flush=True)
        begin = time.time()
        if dtype not in op.supported_dtypes("cpu") or dtype not in op.supported_dtypes("cuda"):
            result, n, detail = "skip", 0, "not of this type"
        else:
            result, n, detail = check(op, dtype)
        print(f"OP {name} {result} {n} {time.time() - begin:.1f} {detail}", flush=True)


if len(sys.argv) == 1:
    for each in methods.op_db:
        print(each.name + ("." + each.variant_test_name if each.variant_test_name else ""))
else:
    main()
