"""What training with PyTorch takes, each thing beside torch's own CPU device: smoke.py FAMILY, run by tests/torch/run.

A function family_NAME is a test: it raises where the device's result is not the CPU's.
"""
# SPDX-License-Identifier: Apache-2.0
import copy
import os
import socket
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

BOTH = ("cpu", "cuda")


def same(actual, expected, tolerance=1e-5):
    torch.testing.assert_close(actual.detach().cpu().float(), expected.detach().cpu().float(), rtol=tolerance, atol=tolerance)


def losses(net, optimiser, x, y, device, steps):
    net, x, y, out = copy.deepcopy(net).to(device), x.to(device), y.to(device), []
    step = optimiser(net.parameters())
    for _ in range(steps):
        step.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        step.step()
        out.append(loss.item())
    return torch.tensor(out)


def train(net, optimiser, x, classes, steps):
    y = torch.randint(0, classes, (x.shape[0],))
    expected, actual = (losses(net, optimiser, x, y, device, steps) for device in BOTH)
    print("losses", actual.tolist())
    same(actual, expected, 1e-4)
    assert actual[-1] < actual[0]


def family_device():
    p = torch.cuda.get_device_properties(0)
    print(p, torch.cuda.mem_get_info())
    assert torch.cuda.is_available() and torch.cuda.device_count() >= 1 and p.total_memory > 0 and p.multi_processor_count > 0
    before = torch.cuda.memory_allocated()
    x = torch.empty(1 << 20, device="cuda")
    assert torch.cuda.memory_allocated() - before == x.nbytes and torch.cuda.memory_stats()["active.all.current"] >= 1


def family_elementwise():
    a, b = torch.randn(37, 53), torch.randn(53)
    for f in (lambda x, y: x * y + 1, lambda x, y: torch.where(x > y, x, y), lambda x, y: F.gelu(x) - torch.exp(y), lambda x,
              y: x.t().sin()):
        same(f(a.cuda(), b.cuda()), f(a, b))


def family_reduce():
    a = torch.randn(33, 70, 9)
    for f in (torch.sum, torch.amax, torch.std):
        same(f(a.cuda()), f(a), 1e-4)
        same(f(a.cuda(), dim=1), f(a, dim=1), 1e-4)
    same(a.cuda().cumsum(1), a.cumsum(1), 1e-4)
    same(a.cuda().softmax(1), a.softmax(1))


def family_sort():
    for n in (100, 5000, 20000):
        x = torch.randperm(n).float()
        same(torch.sort(x.cuda())[0], torch.sort(x)[0])
        m = x < n / 3
        assert torch.equal(x.cuda()[m.cuda()].cpu(), x[m]) and torch.equal(torch.nonzero(m.cuda()).cpu(), torch.nonzero(m))
    same(torch.combinations(torch.arange(5.0).cuda(), 4, True), torch.combinations(torch.arange(5.0), 4, True))


def family_random():
    torch.manual_seed(5)
    first = [torch.rand(1000, device="cuda"), torch.randn(1000, device="cuda"), F.dropout(torch.ones(1000, device="cuda"), 0.25)]
    torch.manual_seed(5)
    again = [torch.rand(1000, device="cuda"), torch.randn(1000, device="cuda"), F.dropout(torch.ones(1000, device="cuda"), 0.25)]
    assert all(torch.equal(x, y) for x, y in zip(first, again))
    assert abs(first[0].mean().item() - 0.5) < 0.05 and abs(first[1].mean().item()) < 0.15
    assert 650 < (first[2] > 0).sum().item() < 850


def family_mlp():
    net = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 5))
    train(net, lambda p: torch.optim.AdamW(p, 1e-2), torch.randn(128, 20), 5, 20)


def family_cnn():
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                              torch.nn.MaxPool2d(2),
                              torch.nn.Flatten(), torch.nn.Linear(8 * 49, 10))
    with torch.backends.cudnn.flags(enabled=False):
        train(net, lambda p: torch.optim.SGD(p, 0.05, momentum=0.9), torch.randn(32, 1, 14, 14), 10, 20)


def family_amp():
    net, scaler = torch.nn.Linear(32, 16).cuda(), torch.amp.GradScaler("cuda")
    step, x, out = torch.optim.SGD(net.parameters(), 0.1), torch.randn(8, 32, device="cuda"), []
    for _ in range(5):
        step.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = net(x).float().pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(step)
        scaler.update()
        out.append(loss.item())
    assert out[-1] < out[0] and scaler.get_scale() == 65536.0


def family_attention():
    q, k, v = (torch.randn(2, 4, 33, 32) for _ in range(3))
    expected = F.scaled_dot_product_attention(q, k, v)
    for backend, dtype, tolerance in ((SDPBackend.MATH, torch.float32, 1e-5),
                                      (SDPBackend.EFFICIENT_ATTENTION, torch.float32, 1e-5),
                                      (SDPBackend.FLASH_ATTENTION, torch.float16, 5e-3)):
        with sdpa_kernel(backend):
            same(F.scaled_dot_product_attention(*(t.cuda().to(dtype) for t in (q, k, v))), expected, tolerance)


def digits(n):
    """Pictures of ten classes, each a pattern with noise, and what they are."""
    patterns, y = torch.randn(10, 1, 16, 16), torch.randint(0, 10, (n,))
    return patterns[y] + 0.3 * torch.randn(n, 1, 16, 16), y


def epochs(net, optimiser, x, y, device, autocast, batch=32, count=3):
    net, x, y, out = copy.deepcopy(net).to(device), x.to(device), y.to(device), []
    step = optimiser(net.parameters())
    for i in range(0, count * len(x), batch):
        i %= len(x)
        step.zero_grad()
        with torch.autocast(device, torch.bfloat16, enabled=autocast):
            loss = F.cross_entropy(net(x[i:i + batch]), y[i:i + batch])
        loss.backward()
        step.step()
        out.append(loss.item())
    return torch.tensor(out)


def family_digits():
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                              torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                              torch.nn.Flatten(), torch.nn.Linear(256, 10))
    x, y = digits(384)
    for optimiser in (lambda p: torch.optim.Adam(p, 3e-3), lambda p: torch.optim.SGD(p, 0.03, momentum=0.9)):
        for autocast, tolerance in ((False, 1e-4), (True, 0.1)):
            expected, actual = (epochs(net, optimiser, x, y, device, autocast) for device in BOTH)
            print("autocast" if autocast else "float32", [round(v, 4) for v in actual.tolist()], (actual - expected).abs().max())
            same(actual, expected, tolerance)
            assert actual[-1] < 0.7 * actual[0]


class Layer(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norms = heads, torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width))

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = (t.view(n, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norms[0](x)).split(width, 2))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(n, length, width))
        return x + self.mlp(self.norms[1](x))


class Gpt(torch.nn.Module):
    def __init__(self, tokens=32, length=32, width=64):
        super().__init__()
        self.length, self.token, self.place = length, torch.nn.Embedding(tokens, width), torch.nn.Embedding(length, width)
        self.layers = torch.nn.Sequential(*(Layer(width, 4) for _ in range(2)), torch.nn.LayerNorm(width))
        self.head = torch.nn.Linear(width, tokens)

    def forward(self, x):
        return self.head(self.layers(self.token(x) + self.place(torch.arange(x.shape[1], device=x.device))))

    @torch.no_grad()
    def generate(self, x, n):
        for _ in range(n):
            x = torch.cat((x, self(x[:, -self.length:])[:, -1].argmax(-1, keepdim=True)), 1)
        return x


def gpt_losses(net, x, device, steps=12):
    net, x, out = copy.deepcopy(net).to(device), x.to(device), []
    step = torch.optim.AdamW(net.parameters(), 3e-3)
    for _ in range(steps):
        loss = F.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        step.zero_grad()
        loss.backward()
        step.step()
        out.append(loss.item())
    return torch.tensor(out), net


def family_gpt():
    x = (torch.arange(33) * torch.randint(1, 4, (8, 1)) + torch.randint(0, 32, (8, 1))) % 32
    fresh = Gpt()
    (expected, at_cpu), (actual, net) = (gpt_losses(fresh, x, device) for device in BOTH)
    print("losses", actual.tolist(), (actual - expected).abs().max())
    same(actual, expected, 1e-3)
    assert actual[-1] < 0.7 * actual[0]
    assert net.generate(x[:, :8].cuda(), 16).tolist() == at_cpu.generate(x[:, :8], 16).tolist()


def family_compile():
    from torch._inductor import metrics
    net = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 5))
    x, there = torch.randn(32, 20), copy.deepcopy(net).cuda()
    made = torch.compile(there)
    same(made(x.cuda()), net(x), 1e-5)
    made(x.cuda()).square().sum().backward()
    net(x).square().sum().backward()
    for p, q in zip(there.parameters(), net.parameters()):
        same(p.grad, q.grad, 1e-4)
    assert metrics.generated_kernel_count > 0, "Triton had nothing to do"


def two_nets(rank, port, state, x, y, out):
    """One of two processes, each with a device and half of the data."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", rank=rank, world_size=2)
    net = torch.nn.Linear(20, 5).cuda()
    net.load_state_dict(state)
    net = torch.nn.parallel.DistributedDataParallel(net, device_ids=[rank])
    step = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(5):
        step.zero_grad()
        F.cross_entropy(net(x[rank::2].cuda()), y[rank::2].cuda()).backward()
        step.step()
    if rank == 0:
        torch.save([p.detach().cpu() for p in net.parameters()], out)
    torch.distributed.destroy_process_group()


def family_ddp():
    os.environ["ANYWARP_HOST_DEVICES"] = "2"
    net, x, y = torch.nn.Linear(20, 5), torch.randn(64, 20), torch.randint(0, 5, (64,))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    out = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"smoke-ddp-{os.getpid()}.pt")
    torch.multiprocessing.spawn(two_nets, (port, copy.deepcopy(net.state_dict()), x, y, out), nprocs=2)
    step = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(5):
        step.zero_grad()
        F.cross_entropy(net(x), y).backward()
        step.step()
    for p, q in zip(torch.load(out), net.parameters()):
        same(p, q)
    os.remove(out)


def other_process(given, sent):
    """Changes the tensors that come, in place, and sends one of its own."""
    large, small = given.get(), given.get()
    large.mul_(2), small.add_(1)
    own = torch.arange(5, device="cuda") * 3
    sent.put(own)
    assert given.get() == "done"  # before which the tensor must not go


def family_share():
    """Tensors of the device that two processes have."""
    context = torch.multiprocessing.get_context("spawn")
    given, sent = context.Queue(), context.Queue()
    process = context.Process(target=other_process, args=(given, sent))
    process.start()
    large, small = torch.ones(1 << 20, device="cuda"), torch.tensor([1, 2, 3], device="cuda")
    for _ in range(20):
        large.mul_(1.5)  # under way when the other one gets it
    given.put(large)
    given.put(small)
    own = sent.get(timeout=120)
    assert own.tolist() == [0, 3, 6, 9, 12] and small.tolist() == [2, 3, 4]
    same(large, torch.full((1 << 20,), 2 * 1.5 ** 20))
    del own
    given.put("done")
    process.join()
    assert process.exitcode == 0


def family_streams():
    a = torch.randn(300, 300, device="cuda")
    begin, end, side = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True), torch.cuda.Stream()
    begin.record()
    with torch.cuda.stream(side):
        side.wait_event(begin)
        b = a + 1
    side.synchronize()
    end.record()
    end.synchronize()
    same(b, a.cpu() + 1)
    assert begin.elapsed_time(end) >= 0
    host = torch.randn(1000).pin_memory()
    there = host.to("cuda", non_blocking=True)
    torch.cuda.synchronize()
    assert host.is_pinned() and torch.equal(there.cpu(), host)


def family_expandable_segments():
    """The allocator over reserved addresses: tensors lie over several pieces of memory, and what is unmapped is mapped again."""
    torch.cuda.memory._set_allocator_settings("expandable_segments:True")
    parts = [torch.full((1 << 18,), float(i), device="cuda") for i in range(40)]
    whole = torch.cat(parts)
    assert torch.equal(whole.cpu(), torch.arange(40.0).repeat_interleave(1 << 18))
    assert all(s["is_expandable"] for s in torch.cuda.memory_snapshot())
    before = torch.cuda.memory_reserved()
    del parts, whole
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() < before
    again = torch.empty(30 << 20, device="cuda").fill_(3)
    assert bool((again.cpu() == 3).all())
    a, b = torch.randn(300, 300), torch.randn(300, 300)
    same(a.cuda() @ b.cuda(), a.double() @ b.double(), 1e-4)


def family_graphs():
    x, side, graph = torch.zeros(64, device="cuda"), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        (x * 2 + 1).sum()
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        y = (x * 2 + 1).sum()
    x.fill_(3)
    graph.replay()
    assert y.item() == 448


def family_out_of_memory():
    try:
        torch.empty(1 << 45, device="cuda")
    except torch.cuda.OutOfMemoryError:
        assert (torch.ones(3, device="cuda") + 1).tolist() == [2, 2, 2]
    else:
        raise AssertionError("there is no such memory")


if __name__ == "__main__":  # and not in the processes that families start
    torch.manual_seed(0)
    globals()["family_" + sys.argv[1]]()
