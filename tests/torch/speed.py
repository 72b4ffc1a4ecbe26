"""How long training steps and operators take beside torch's own CPU device: speed.py NAME ROUNDS, run by tests/torch/run.

Each of SPEEDS runs on one device and then on the other, ROUNDS times in turn, with the same threads.  Writes a line for each,
"SPEED name clock: device CPU ratio, processor: device CPU ratio", in milliseconds: the least of the rounds by the clock, and the
median of what processors worked in them, which other programs beside it change less.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from models import resnet
from torch import nn

THREADS = len(os.sched_getaffinity(0))
torch.set_num_threads(THREADS)


def trainer(net, optimiser, x, y, device):
    """A function that makes one step of training."""
    net, x, y = net.to(device), x.to(device), y.to(device)
    step = optimiser(net.parameters())

    def once():
        step.zero_grad()
        F.cross_entropy(net(x).flatten(0, -2), y.flatten()).backward()
        step.step()

    return once


def speed_cnn(device):
    net = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10))
    return trainer(net, torch.optim.Adam, torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64, )), device)


def speed_resnet18(device):
    return trainer(resnet(), lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9), torch.randn(8, 3, 224, 224),
                   torch.randint(0, 10, (8, )), device)


class GPT(nn.Module):
    """Of GPT-2's small size, its last layer that of the embedding."""

    def __init__(self, layers=12, width=768, heads=12, words=50257, length=256):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, F.gelu, batch_first=True, norm_first=True)
            for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=tokens.device)
        for block in self.blocks:
            x = block(x, src_mask=mask, is_causal=True)
        return F.linear(self.norm(x), self.words.weight)


def speed_gpt(device):
    tokens = torch.randint(0, 50257, (1, 257))
    return trainer(GPT(), torch.optim.AdamW, tokens[:, :-1], tokens[:, 1:], device)


def chain(device, n, times):
    """Nine elementwise operators, one after another, `times` over."""
    a, b = torch.rand(n, device=device) + 1, torch.rand(n, device=device) + 1

    def once():
        for _ in range(times):
            ((((a * b + a).sqrt() - b).exp() / a).tanh() * 0.5).relu()

    return once


def issue(device):
    """A thousand additions of one element."""
    a = torch.ones(1, device=device)

    def once():
        for _ in range(1000):
            torch.add(a, a)

    return once


SPEEDS = {"cnn": speed_cnn, "resnet18": speed_resnet18, "gpt": speed_gpt, "chain_1000": lambda d: chain(d, 1000, 300),
          "chain_10000": lambda d: chain(d, 10_000, 100), "chain_100000": lambda d: chain(d, 100_000, 30),
          "chain_1000000": lambda d: chain(d, 1_000_000, 5), "issue_1000": issue}


def measure(once, device):
    """Milliseconds by the clock and of processors."""
    begin, worked = time.perf_counter(), time.process_time()
    once()
    if device == "cuda":
        torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - begin), 1000 * (time.process_time() - worked)


def main():
    name, rounds, results = sys.argv[1], int(sys.argv[2]), {"cuda": [], "cpu": []}
    steps = {}
    for device in results:
        torch.manual_seed(3)
        steps[device] = SPEEDS[name](device)
        for _ in range(3):
            measure(steps[device], device)
    for _ in range(rounds):
        for device in results:
            results[device].append(measure(steps[device], device))
    clock = [min(c for c, _ in results[d]) for d in results]
    worked = [statistics.median(w for _, w in results[d]) for d in results]
    print(f"SPEED {name} clock: {clock[0]:.3f} {clock[1]:.3f} {clock[0] / clock[1]:.2f}, "
          f"processor: {worked[0]:.3f} {worked[1]:.3f} {worked[0] / worked[1]:.2f}", flush=True)


if __name__ == "__main__":
    main()
