"""How long a process's first calls of operators take: first.py COUNT, run by tests/torch/run --suite first.

The operators are the first of torch's database that its CUDA device has in float32; each is called once, with its first sample.
Writes a line for each, "FIRST name seconds".  What it was given lies on the device before.
"""
# SPDX-License-Identifier: Apache-2.0
import sys
import time
import warnings

import torch
import torch.testing._internal.common_methods_invocations as methods
from opdb import move, name_of

warnings.filterwarnings("ignore")
torch.set_num_threads(1)


def first_call(op):
    """Seconds, or None where there is no such form."""
    sample = next(iter(op.sample_inputs("cpu", torch.float32)))
    there = [move(part, "cuda") for part in (sample.input, sample.args, sample.kwargs)]
    torch.cuda.synchronize()
    begin = time.perf_counter()
    try:
        op(there[0], *there[1], **there[2])
    except NotImplementedError:
        return None
    torch.cuda.synchronize()
    return time.perf_counter() - begin


left = int(sys.argv[1])
for each in methods.op_db:
    if left and torch.float32 in each.supported_dtypes("cuda"):
        seconds = first_call(each)
        if seconds is not None:
            print(f"FIRST {name_of(each)} {seconds:.6f}", flush=True)
            left -= 1
