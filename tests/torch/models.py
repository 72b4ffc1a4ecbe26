"""Whole models, some steps of training each, beside torch's own CPU device: models.py FAMILY, run by tests/torch/run.

Losses of each step and the gradients of the first are compared, so that a fault which training makes up for is seen as well.  A
function family_NAME is a test: it raises where the device's result is not the CPU's.
"""
# SPDX-License-Identifier: Apache-2.0
import copy
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

BOTH = ("cpu", "cuda")


def same(actual, expected, tolerance, what=""):
    actual, expected = actual.detach().cpu().float(), expected.detach().cpu().float()
    scale = expected.abs().max().item() or 1.0
    torch.testing.assert_close(actual / scale, expected / scale, rtol=0, atol=tolerance, msg=lambda m: f"{what}: {m}")


def train(net, optimiser, inputs, loss_of, device, steps=3, **how):
    """Losses, and gradients of the first step."""
    net, inputs = copy.deepcopy(net).to(device), [t.to(device) for t in inputs]
    if how.get("channels_last"):
        net, inputs[0] = net.to(memory_format=torch.channels_last), inputs[0].to(memory_format=torch.channels_last)
    step, out, first = optimiser(net.parameters()), [], None
    scaler = torch.amp.GradScaler(device, enabled=how.get("autocast") == torch.float16)
    for _ in range(steps):
        step.zero_grad()
        with torch.autocast(device, how.get("autocast"), enabled="autocast" in how):
            loss = loss_of(net, *inputs)
        scaler.scale(loss).backward()
        scaler.unscale_(step)
        first = first or {n: p.grad.clone() for n, p in net.named_parameters() if p.grad is not None}
        scaler.step(step)
        scaler.update()
        out.append(loss.detach())
    return torch.stack(out), first


def beside(net, optimiser, inputs, loss_of, tolerance=1e-4, gradients=1e-3, **how):
    """The device's training beside the CPU's; with autocast gradients may be twice as far from float32's as the CPU's are."""
    (expected, e), (actual, a) = (train(net, optimiser, inputs, loss_of, device, **how) for device in BOTH)
    print(how, "losses", actual.tolist(), "apart", (actual.cpu() - expected).abs().max().item())
    assert e.keys() == a.keys() and e
    exact = train(net, optimiser, inputs, loss_of, "cpu", 1)[1] if "autocast" in how else None
    for name in e:
        if not exact:
            same(a[name], e[name], gradients, name)
        else:
            off = [(g[name].cpu().float() - exact[name]).norm().item() for g in (a, e)]
            assert off[0] <= 2 * off[1] + 1e-6 * exact[name].norm().item(), f"{name}: {off[0]} from float32, the CPU {off[1]}"
    same(actual, expected, tolerance, "losses")


def classes(net, x, y):
    return F.cross_entropy(net(x).float(), y)


def sgd(parameters):
    return torch.optim.SGD(parameters, 0.05, momentum=0.9)


def mnist():
    return nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.0),
                         nn.Flatten(), nn.Linear(16 * 144, 32), nn.ReLU(), nn.Linear(32, 10), nn.LogSoftmax(1))


def family_mnist():
    x, y = torch.randn(8, 1, 28, 28), torch.randint(0, 10, (8, ))
    beside(mnist(), lambda p: torch.optim.Adadelta(p, 1.0), [x, y], lambda net, x, y: F.nll_loss(net(x), y))


class Block(nn.Module):
    """Two convolutions and a way past them."""

    def __init__(self, n, m, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(n, m, 3, stride, 1, bias=False), nn.BatchNorm2d(m), nn.ReLU(),
                                  nn.Conv2d(m, m, 3, 1, 1, bias=False), nn.BatchNorm2d(m))
        self.past = nn.Identity() if n == m else nn.Sequential(nn.Conv2d(n, m, 1, stride, bias=False), nn.BatchNorm2d(m))

    def forward(self, x):
        return F.relu(self.body(x) + self.past(x))


def resnet(width=64):
    """ResNet-18's shape."""
    layers, n = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], width
    for i in range(4):
        m = width << i
        layers += [Block(n, m, 1 if i == 0 else 2), Block(m, m, 1)]
        n = m
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n, 10))


def family_resnet():
    beside(resnet(), sgd, [torch.randn(2, 3, 64, 64), torch.randint(0, 10, (2, ))], classes, 5e-3, 5e-3, steps=2)


def family_channels_last():
    beside(resnet(16), sgd, [torch.randn(4, 3, 64, 64), torch.randint(0, 10, (4, ))], classes, 5e-3, 5e-3, channels_last=True)


def family_without_cudnn():
    with torch.backends.cudnn.flags(enabled=False):
        beside(resnet(8), sgd, [torch.randn(4, 3, 64, 64), torch.randint(0, 10, (4, ))], classes, 5e-3, 5e-3)


class Attention(nn.Module):
    """A block as GPT-2 has it."""

    def __init__(self, width=768, heads=12):
        super().__init__()
        self.heads, self.first, self.second = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = (t.view(n, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.first(x)).split(width, 2))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, length, width))
        return x + self.mlp(self.second(x))


def square(net, x):
    return net(x).float().square().mean()


def attention(backend, **how):

    def loss_of(net, x):
        with sdpa_kernel(backend if x.is_cuda else SDPBackend.MATH):
            return square(net, x)

    tolerance = 2e-2 if how else 1e-3
    beside(Attention(), lambda p: torch.optim.AdamW(p, 1e-3), [torch.randn(2, 70, 768)], loss_of, tolerance, tolerance, **how)


def family_attention_math():
    attention(SDPBackend.MATH)


def family_attention_efficient():
    attention(SDPBackend.EFFICIENT_ATTENTION)


def family_attention_flash():
    attention(SDPBackend.FLASH_ATTENTION, autocast=torch.bfloat16)


def family_attention_cudnn():
    attention(SDPBackend.CUDNN_ATTENTION, autocast=torch.bfloat16)


class Recurrent(nn.Module):

    def __init__(self, kind):
        super().__init__()
        self.cells, self.head = kind(12, 24, 2, batch_first=True, bidirectional=True), nn.Linear(48, 5)

    def forward(self, x):
        return self.head(self.cells(x)[0][:, -1])


def family_recurrent():
    x, y = torch.randn(6, 9, 12), torch.randint(0, 5, (6, ))
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        beside(Recurrent(kind), sgd, [x, y], classes)
        with torch.backends.cudnn.flags(enabled=False):
            beside(Recurrent(kind), sgd, [x, y], classes)


def family_transformer():
    """Torch's own encoder and decoder."""
    net = nn.Transformer(32, 4, 1, 1, 64, dropout=0.0, batch_first=True)
    beside(net, sgd,
           [torch.randn(3, 11, 32), torch.randn(3, 7, 32), torch.randn(3, 7, 32)],
           lambda net, a, b, wanted: F.mse_loss(net(a, b), wanted))


def family_optimisers():
    """Each for itself, for all tensors at once, and fused, beside the CPU's one tensor at a time."""
    net = nn.Sequential(nn.Linear(20, 33), nn.Tanh(), nn.Linear(33, 5))
    x, y = torch.randn(16, 20), torch.randint(0, 5, (16, ))
    kinds = [(torch.optim.SGD, {
        "lr": 0.1,
        "momentum": 0.9,
        "nesterov": True,
        "weight_decay": 0.01
    }), (torch.optim.Adam, {
        "lr": 0.01,
        "amsgrad": True,
        "weight_decay": 0.01
    }), (torch.optim.AdamW, {
        "lr": 0.01
    }), (torch.optim.Adagrad, {
        "lr": 0.05
    })]
    for kind, words in kinds:
        expected, _ = train(net, lambda p, k=kind, w=words: k(p, foreach=False, **w), [x, y], classes, "cpu", 8)
        for way in ({"foreach": False}, {"foreach": True}, {"fused": True}):
            actual, _ = train(net, lambda p, k=kind, w=words, way=way: k(p, **way, **w), [x, y], classes, "cuda", 8)
            print(kind.__name__, way, (actual.cpu() - expected).abs().max().item())
            same(actual, expected, 1e-5, f"{kind.__name__} {way}")


def family_autocast():
    x, y = torch.randn(8, 1, 28, 28), torch.randint(0, 10, (8, ))
    for dtype in (torch.float16, torch.bfloat16):
        beside(mnist(), sgd, [x, y], lambda net, x, y: F.nll_loss(net(x).float(), y), 2e-2, autocast=dtype)


def family_graph():
    """A captured step of training, replayed, beside the same steps one by one."""
    x, y = torch.randn(16, 20), torch.randint(0, 5, (16, ))
    net = nn.Sequential(nn.Linear(20, 33), nn.GELU(), nn.LayerNorm(33), nn.Linear(33, 5))
    expected, _ = train(net, lambda p: torch.optim.AdamW(p, 1e-2), [x, y], classes, "cpu", 9)
    net, x, y = net.cuda(), x.cuda(), y.cuda()
    step = torch.optim.AdamW(net.parameters(), 1e-2, capturable=True)

    def once():
        step.zero_grad(set_to_none=True)
        loss = classes(net, x, y)
        loss.backward()
        step.step()
        return loss

    side, graph, out = torch.cuda.Stream(), torch.cuda.CUDAGraph(), []
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        out += [once().detach() for _ in range(3)]
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        loss = once()
    for _ in range(6):
        graph.replay()
        out.append(loss.detach().clone())
    same(torch.stack(out), expected, 1e-4)


def compiled(net, *inputs, **how):
    """Results and gradients of what Inductor makes, beside the CPU's without it."""
    torch._dynamo.reset()
    there, here = copy.deepcopy(net).cuda(), net
    out = torch.compile(there, **how)(*(t.cuda() for t in inputs))
    expected = here(*inputs)
    same(out, expected, 1e-4)
    out.square().mean().backward()
    expected.square().mean().backward()
    for (name, p), q in zip(there.named_parameters(), here.parameters()):
        same(p.grad, q.grad, 1e-3, name)


def family_compiled_mlp():
    compiled(mlp(), torch.randn(32, 20))


def family_compiled_attention():
    compiled(Attention(64, 4), torch.randn(2, 33, 64))


def mlp():
    return nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 5))


def replayed(net, x, steps=5):
    """Steps of training as CUDA graphs that Inductor captures and replays, each beside the CPU's step."""
    torch._dynamo.reset()
    there, here = copy.deepcopy(net).cuda(), net
    fast = torch.compile(there, mode="reduce-overhead")
    optimisers = [sgd(n.parameters()) for n in (there, here)]
    for k in range(steps):
        torch.compiler.cudagraph_mark_step_begin()
        scaled, losses = x * (1 + k / 10), []
        for n, t, step in ((fast, scaled.cuda(), optimisers[0]), (here, scaled, optimisers[1])):
            step.zero_grad()
            losses.append(square(n, t))
            losses[-1].backward()
            step.step()
        same(losses[0], losses[1], 1e-4, f"step {k}")
    for (name, p), q in zip(there.named_parameters(), here.named_parameters()):
        same(p, q[1], 1e-4, name)


def family_compiled_overhead():
    replayed(mlp(), torch.randn(32, 20))
    replayed(Attention(64, 4), torch.randn(2, 33, 64))


def family_compiled_autotuned():
    """Inductor tries several forms of each kernel, and products by Triton's templates, and takes what is fastest here."""
    import torch._inductor.utils
    torch._inductor.utils.is_big_gpu = lambda *_: True
    how = {"options": {"max_autotune": True, "test_configs.max_mm_configs": 3, "autotune_in_subproc": False}}
    compiled(mlp(), torch.randn(32, 20), **how)
    compiled(Attention(64, 4), torch.randn(2, 33, 64), **how)


def made(f, *inputs, tolerance=1e-4, **how):
    """What Inductor makes of a function, beside the CPU's."""
    torch._dynamo.reset()
    expected, actual = f(*inputs), torch.compile(f, **how)(*(t.cuda() for t in inputs))
    for k, (x, y) in enumerate(zip(expected, actual)):
        if x.is_floating_point():
            same(y, x, tolerance, f"result {k}")
        else:
            assert torch.equal(x, y.cpu()), f"result {k}"


def family_compiled_reductions():
    for n, m in ((33, 70), (5, 5000), (5000, 5)):
        x = torch.randn(n, m)
        made(lambda t: (t.sum(0), t.var(1), t.softmax(1), t.amax(0), t.argmax(1), t.logsumexp(0), (t > 0).all(1)), x)
        made(lambda t: (t.cumsum(1), t.cummax(1)[0], t.cummax(1)[1], t.cumprod(0).clamp(-9, 9)), x)
    made(lambda t: torch.sort(t, dim=1, stable=True), torch.randn(9, 100))
    made(lambda t: (t.sum(1), t.cumsum(0), t // 7, t % 7, t >> 3, t.amin(1)), torch.randint(-2**40, 2**40, (65, 130)))


def family_compiled_scatter():
    x, i, w = torch.randn(50, 33), torch.randint(0, 50, (300, )), torch.randn(300, 33)
    made(lambda x, i, w: (x.index_add(0, i, w), x[i] * 2, x.index_put((i, ), w, accumulate=True), F.embedding(i, x).relu()), x, i,
         w)
    made(lambda x, i: (x.index_add(0, i, x[i]), torch.where(x > 3, x, i[0]), x.to(torch.uint8), x * 3 + 1),
         torch.randint(-9, 9, (50, 33)), i)


def family_compiled_products():
    """Triton's templates of products, in the types that have tensor cores; Inductor leaves them out on small devices."""
    import torch._inductor.utils
    torch._inductor.utils.is_big_gpu = lambda *_: True
    for dtype, tolerance in ((torch.float16, 2e-3), (torch.bfloat16, 1e-2), (torch.float32, 1e-4)):
        for n, k, m in ((65, 100, 70), (32, 512, 64)):
            a, b = torch.randn(n, k).to(dtype), torch.randn(k, m).to(dtype)
            made(lambda a, b: (F.gelu(a @ b), (a @ b).sum(0)),
                 a,
                 b,
                 tolerance=tolerance,
                 options={
                     "max_autotune_gemm": True,
                     "max_autotune_gemm_backends": "TRITON",
                     "test_configs.max_mm_configs": 1,
                     "autotune_in_subproc": False
                 })


def family_flex_attention():
    from torch.nn.attention.flex_attention import flex_attention

    def bias(score, b, h, q, k):
        return torch.where(q >= k, score + (q - k) * 0.01, -float("inf"))

    q, k, v = (torch.randn(2, 2, 128, 32, requires_grad=True) for _ in range(3))
    there = [t.detach().cuda().requires_grad_() for t in (q, k, v)]
    place = torch.arange(128)
    expected = bias(q @ k.mT / 32**0.5, 0, 0, place[:, None], place).softmax(-1) @ v
    actual = torch.compile(flex_attention)(*there, bias)
    same(actual, expected, 1e-3)
    given = torch.randn(expected.shape)
    for x, y in zip(torch.autograd.grad(expected, (q, k, v), given), torch.autograd.grad(actual, there, given.cuda())):
        same(y, x, 2e-3)


if __name__ == "__main__":
    torch.manual_seed(0)
    globals()["family_" + sys.argv[1]]()
