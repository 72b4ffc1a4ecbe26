"""Torch's other databases on the CPU and on the CUDA device: modules (forward, gradients, buffers), optimisers (four steps of
each configuration), and operators on lists of tensors.  Run by tests/torch/run --suite databases, a process a family.

    databases.py FAMILY [TYPE [REGEX]]    modules, optimisers or foreach; those whose name has REGEX

What is judged, and how, is opdb.py's: by more than rounding, and then by the CPU's double precision.
"""
# SPDX-License-Identifier: Apache-2.0
import copy
import itertools
import re
import sys
import warnings

import torch
import torch.testing._internal.common_methods_invocations as methods
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db

import opdb

warnings.filterwarnings("ignore")

# Each device draws these for itself when it trains.
RANDOM_MODULES = {"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "RReLU",
                  "FractionalMaxPool2d", "FractionalMaxPool3d"}
# cuDNN's have gradients in training alone.
RECURRENT = {"RNN", "GRU", "LSTM"}


class Tally:
    def __init__(self):
        self.looked_at, self.bad = 0, []

    def judge(self, what, run, dtype):
        """`run(device, widen)` gives tensors; NotImplementedError and what the CPU refuses is left out."""
        try:
            expected = list(opdb.tensors(run("cpu", lambda v: v)))
        except Exception:
            return
        try:
            actual = list(opdb.tensors(run(opdb.DEVICE, lambda v: v)))
            torch.cuda.synchronize()
        except NotImplementedError:
            return
        except Exception as error:
            self.bad.append(f"{what}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
            return
        self.looked_at += 1
        wrong = opdb.compare(expected, actual, True)
        if wrong and not (dtype in opdb.WIDE and self.as_exact(run, expected, actual)):
            self.bad.append(f"{what}: {wrong}")

    @staticmethod
    def as_exact(run, expected, actual):
        exact = list(opdb.tensors(run("cpu", opdb.widen)))
        return len(exact) == len(actual) and all(
            a.shape == e.shape == x.shape and opdb.nearly(a, e, x.detach()) for x, e, a in zip(exact, expected, actual))

    def end(self, family):
        print(f"{family}: {self.looked_at} looked at, {len(self.bad)} differ")
        print("\n".join(self.bad))
        sys.exit(1 if self.bad or not self.looked_at else 0)


def gradients(result, inputs):
    outputs = [t for t in opdb.tensors(result) if t.requires_grad]
    if not outputs or not inputs:
        return []
    torch.manual_seed(2)
    given = [torch.randn(t.shape, dtype=torch.float64).to(t.dtype).to(t.device) for t in outputs]
    return [g for g in torch.autograd.grad(outputs, inputs, given, allow_unused=True) if g is not None]


def module_run(info, case, dtype, training):
    def run(device, widen):
        torch.manual_seed(1)
        module = info.module_cls(*case.constructor_input.args, **case.constructor_input.kwargs).to(dtype)
        module = (module if widen(torch.zeros(1, dtype=dtype)).dtype == dtype else module.double()).train(training).to(device)
        args, kwargs = (opdb.move(widen(v), device) for v in (case.forward_input.args, case.forward_input.kwargs))
        torch.manual_seed(1)
        result = module(*args, **kwargs)
        inputs = [p for p in module.parameters() if p.requires_grad] + opdb.leaves([args, kwargs])
        if not training and info.module_cls.__name__ in RECURRENT:
            inputs = []
        return [result, gradients(result, inputs), list(module.buffers())]
    return run


def family_modules(dtype, only):
    tally = Tally()
    for info, training in itertools.product(module_db, (True, False)):
        drawn = training and info.module_cls.__name__ in RANDOM_MODULES
        if dtype not in info.dtypes or drawn or not re.search(only, info.name):
            continue
        torch.manual_seed(0)
        cases = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
        for number, case in enumerate(cases):
            if case.forward_input is not None and "dropout" not in case.constructor_input.kwargs:
                what = f"{info.name} {case.desc or number} {'training' if training else 'evaluating'}"
                tally.judge(what, module_run(info, case, dtype, training), dtype)
    tally.end(f"modules of {dtype}")


SHAPES = ((3,), (17, 5), (64, 33), (), (1, 1, 7), (0,))


def optimiser_run(info, settings, dtype):
    def run(device, widen):
        torch.manual_seed(3)
        shapes = [s for s in SHAPES if info.optim_cls.__name__ != "Muon" or len(s) == 2]
        values = [widen(torch.randn(s, dtype=torch.float64).to(dtype)) for s in shapes]
        parameters = [v.to(device).requires_grad_() for v in values]
        settings_there = {k: v.to(device) if isinstance(v, torch.Tensor) and settings.get("fused") else v
                          for k, v in copy.deepcopy(settings).items()}
        if device == "cpu":  # what only the CUDA device has is the same steps
            settings_there = {k: v for k, v in settings_there.items() if k not in ("capturable", "foreach", "fused")}
        optimiser = info.optim_cls(parameters, **settings_there)

        def step():
            optimiser.zero_grad()
            loss = sum((1.5 + at) * (p - 0.5).cosh().sum() for at, p in enumerate(parameters))
            loss.backward()
            if info.only_supports_sparse_grads:
                for p in parameters:
                    p.grad = p.grad.to_sparse()
            return loss

        for _ in range(4):
            optimiser.step(step) if info.step_requires_closure else (step(), optimiser.step())
        if info.step_requires_closure:  # a direction out of differences of gradients is more of rounding than of anything
            return parameters
        state = [v for p in parameters for k, v in sorted(optimiser.state[p].items())
                 if isinstance(v, torch.Tensor) and k != "step"]
        return parameters + state
    return run


def family_optimisers(dtype, only):
    tally = Tally()
    for info in optim_db:
        if not re.search(only, info.name):
            continue
        ways = [{}] + [{way: True} for way in ("foreach", "fused") if way in info.supported_impls]
        for case, way in itertools.product(info.optim_inputs_func(device=opdb.DEVICE, dtype=dtype), ways):
            settings = {**case.kwargs, **way}
            if settings.get("foreach") and settings.get("fused"):
                continue
            tally.judge(f"{info.name} {case.desc} {' '.join(way)}", optimiser_run(info, settings, dtype), dtype)
    tally.end(f"optimisers of {dtype}")


def foreach_run(operator, sample, within):
    def run(device, widen):
        given, args = opdb.move(widen(sample.input), device), opdb.move(widen(sample.args), device)
        kwargs = {k: v for k, v in sample.kwargs.items() if k in ("alpha", "value", "ord", "dtype", "scalar", "weight")}
        if within:
            operator([t.detach() for t in given], *args, **kwargs)
            return given
        return operator(given, *args, **kwargs)
    return run


def family_foreach(dtype, only):
    tally = Tally()
    for info in methods.foreach_op_db:
        if not re.search(only, info.name) or dtype not in info.dtypes:
            continue
        for number, sample in enumerate(info.sample_inputs("cpu", dtype, requires_grad=False, noncontiguous=False)):
            for within, operator in ((False, info.method_variant), (True, info.inplace_variant)):
                if operator is not None and len(sample.input) <= 30:
                    tally.judge(f"{info.name}{'_' * within} {number}", foreach_run(operator, sample, within), dtype)
    tally.end(f"foreach of {dtype}")


if __name__ == "__main__":
    family, dtype, only = (sys.argv[1:] + ["float32", ""][len(sys.argv) - 2:])[:3]
    globals()[f"family_{family}"](getattr(torch, dtype), only)
