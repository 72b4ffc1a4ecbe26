#!/usr/bin/env python3
"""Layers of torch that go to cuDNN, on the CUDA device against the processor, forward and backward.  A command of its own, as
torch is large:

    anywarp run --device=host python3 torch_layers.py

Only what needs few of torch's own kernels: these have to be there for the device at hand, too."""
# SPDX-License-Identifier: Apache-2.0
import copy
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

failures = 0


def worst(pairs):
    return max([(a.float() - b.detach().cpu().float()).abs().max().item() for a, b in pairs] or [0])


def report(name, off, most=1e-3):
    global failures
    failures += off > most
    print('%-28s %8.2g %s' % (name, off, 'ok' if off <= most else 'FAIL'), flush=True)


def guarded(name, check):
    global failures
    try:
        report(name, *check())
    except Exception as e:  # the others are still of interest
        failures += 1
        print('%-28s %s: %s' % (name, type(e).__name__, str(e).splitlines()[0]), flush=True)


def layer(name, module, x):
    def check():
        there = copy.deepcopy(module).to('cuda')
        a, b = x.clone().requires_grad_(), x.to('cuda').requires_grad_()
        y, z = module(a), there(b)
        y, z = (y[0], z[0]) if isinstance(y, tuple) else (y, z)
        weight = torch.randn_like(y)
        y.backward(weight)
        z.backward(weight.to('cuda'))
        weights = [(p.grad, q.grad) for p, q in zip(module.parameters(), there.parameters())]
        return (worst([(y.detach(), z), (a.grad, b.grad)] + weights),)
    guarded(name, check)


def packed():
    here, there = nn.LSTM(5, 7, 2, bidirectional=True), nn.LSTM(5, 7, 2, bidirectional=True)
    there.load_state_dict(here.state_dict())
    x = nn.utils.rnn.pack_padded_sequence(torch.randn(6, 3, 5), torch.tensor([6, 4, 2]))
    y, (h, c) = here(x)
    z, (h2, c2) = there.to('cuda')(nn.utils.rnn.PackedSequence(x.data.to('cuda'), x.batch_sizes))
    return (worst([(y.data.detach(), z.data), (h.detach(), h2), (c.detach(), c2)]),)


def ctc():
    logs, labels = torch.randn(10, 3, 5).log_softmax(2), torch.randint(1, 5, (12,), dtype=torch.int32)
    steps, lengths = torch.full((3,), 10, dtype=torch.int32), torch.tensor([4, 5, 3], dtype=torch.int32)
    there = torch._cudnn_ctc_loss(logs.to('cuda'), labels, steps, lengths, 0, True, False)
    return (worst([(F.ctc_loss(logs, labels, steps, lengths, reduction='none'), there[0])]),)


def attention(causal):
    def check():
        here = [torch.randn(2, 4, 64, 32).half() for _ in range(3)]
        there = [t.to('cuda').requires_grad_() for t in here]
        wide = [t.float().requires_grad_() for t in here]
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            y = F.scaled_dot_product_attention(*there, is_causal=causal)
        z = F.scaled_dot_product_attention(*wide, is_causal=causal)
        weight = torch.randn_like(z).half()
        y.backward(weight.to('cuda'))
        z.backward(weight.float())
        return worst([(z.detach(), y)] + [(a.grad, b.grad) for a, b in zip(wide, there)]), 4e-3
    return check


def sampled():
    x, grid, theta = torch.randn(2, 3, 5, 6), torch.rand(2, 4, 4, 2) * 2 - 1, torch.randn(2, 2, 3)
    there = torch.cudnn_affine_grid_generator(theta.to('cuda'), 2, 3, 4, 5)
    return (worst([(F.grid_sample(x, grid, align_corners=True), torch.cudnn_grid_sampler(x.to('cuda'), grid.to('cuda'))),
                   (F.affine_grid(theta, (2, 3, 4, 5), align_corners=True), there)]),)


def main():
    torch.manual_seed(0)
    print('torch %s, cuDNN %d' % (torch.__version__, torch.backends.cudnn.version()))
    image, sequence = torch.randn(2, 4, 9, 9), torch.randn(4, 3, 5)
    layer('conv1d', nn.Conv1d(4, 6, 3, bias=False), torch.randn(2, 4, 20))
    layer('conv2d, stride 2', nn.Conv2d(4, 6, 3, padding=1, stride=2, bias=False), image)
    layer('conv2d, groups, dilation', nn.Conv2d(4, 8, 3, groups=2, dilation=2, bias=False), image)
    layer('conv2d, double', nn.Conv2d(4, 6, 3, padding=1, bias=False).double(), image.double())
    layer('conv3d', nn.Conv3d(2, 3, 3, padding=1, bias=False), torch.randn(1, 2, 5, 6, 7))
    layer('transposed conv2d', nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, bias=False), image)
    layer('batch norm', nn.BatchNorm2d(4), torch.randn(4, 4, 16, 16))
    layer('LSTM, two directions', nn.LSTM(5, 7, 2, bidirectional=True), sequence)
    layer('LSTM, projection', nn.LSTM(5, 7, 1, proj_size=3), sequence)
    layer('LSTM, no bias', nn.LSTM(5, 7, 2, bias=False), sequence)
    layer('GRU', nn.GRU(5, 7, 2), sequence)
    layer('RNN', nn.RNN(5, 7, 2), sequence)
    guarded('LSTM, packed', packed)
    guarded('CTC loss', ctc)
    guarded('attention', attention(False))
    guarded('attention, causal', attention(True))
    guarded('grid and sampler', sampled)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
