"""JAX's own list of uses of its primitives, each compiled by XLA for the CPU and for the device, and compared.

    primitives.py PART PARTS

Takes every PARTS-th of them from PART on, in an order that mixes them.  One line for each that differs, is refused or takes
longer than 20 seconds, and one with the counts; what XLA cannot do on one of the two is left out.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import random
import sys
import time

os.environ["JAX_PLATFORMS"] = "cuda,cpu"
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import numpy
from jax._src.internal_test_util import test_harnesses

# Per type: what the larger of a difference's two numbers, and 1, is multiplied by to bound it.
BOUNDS = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-3, "complex64": 1e-3, "float16": 2e-2, "bfloat16": 1e-1}
SLOW = 20


def to_numpy(value):
    if jax.dtypes.issubdtype(getattr(value, "dtype", numpy.float32), jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    return numpy.asarray(value)


def results(harness, device):
    with jax.default_device(device):
        arguments = harness.dyn_args_maker(numpy.random.RandomState(42))
        arguments = jax.tree_util.tree_map(lambda a: jax.device_put(a, device), arguments)
        return [to_numpy(v) for v in jax.tree_util.tree_leaves(jax.jit(harness.dyn_fun)(*arguments))]


def difference(want, got):
    """What a person should read, or None."""
    if want.dtype != got.dtype or want.shape != got.shape:
        return f"{got.dtype}{got.shape} for {want.dtype}{want.shape}"
    if want.dtype.kind in "biu":
        return None if (want == got).all() else f"{(want != got).sum()} of {want.size} differ"
    wide = numpy.complex128 if want.dtype.kind == "c" else numpy.float64
    a, b = want.astype(wide).ravel(), got.astype(wide).ravel()
    if (numpy.isnan(a) != numpy.isnan(b)).any():
        return f"{(numpy.isnan(a) != numpy.isnan(b)).sum()} of {a.size} are NaN in one"
    keep = ~numpy.isnan(a) & (a != b)
    a, b = a[keep], b[keep]
    with numpy.errstate(all="ignore"):
        off = numpy.abs(a - b) / numpy.maximum(numpy.maximum(numpy.abs(a), numpy.abs(b)), 1)
    bad = ~(off <= BOUNDS.get(str(want.dtype), 0.2))
    return f"{bad.sum()} of {want.size} differ, by {numpy.nanmax(off):.2g} at most" if bad.any() else None


def look(harness, cpu, device):
    """(kind, detail); kind is ok, skip, differs or refused."""
    try:
        if not (harness.filter("cpu") and harness.filter("gpu")):
            return "skip", ""
        want = results(harness, cpu)
    except Exception:
        return "skip", ""
    begin = time.monotonic()
    try:
        got = results(harness, device)
    except Exception as error:
        return "refused", " ".join(str(error).split())[:300]
    if time.monotonic() - begin > SLOW:
        print(f"slow {harness.fullname} {time.monotonic() - begin:.0f} s", flush=True)
    found = [d for d in map(difference, want, got) if d]
    return ("differs", "; ".join(found)) if found else ("ok", "")


def main():
    part, parts = int(sys.argv[1]), int(sys.argv[2])
    harnesses = list(test_harnesses.all_harnesses)
    random.Random(7).shuffle(harnesses)
    counts = {"ok": 0, "differs": 0, "refused": 0, "skip": 0}
    cpu, device = jax.devices("cpu")[0], jax.devices("cuda")[0]
    for harness in harnesses[part::parts]:
        kind, detail = look(harness, cpu, device)
        counts[kind] += 1
        if detail:
            print(kind, harness.fullname, detail, flush=True)
    print("counts", " ".join(f"{k}={n}" for k, n in counts.items()), flush=True)


if __name__ == "__main__":
    main()
