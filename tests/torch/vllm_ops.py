"""vLLM's own kernels, as its wheel has them, beside what they stand for, on the CPU: vllm_ops.py FAMILY, run by tests/torch/run.

The libraries are loaded without the package vllm around them, which asks for much else.  A function family_NAME is a test: it
raises where the device's result is not the CPU's.
"""
# SPDX-License-Identifier: Apache-2.0
import importlib.util
import pathlib
import sys

import torch
import torch.nn.functional as F

FLOATS = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def load(*names):
    where = pathlib.Path(importlib.util.find_spec("vllm").submodule_search_locations[0])
    for name in names:
        torch.ops.load_library(where / f"{name}.abi3.so")


def same(actual, expected, tolerance, what=""):
    torch.testing.assert_close(actual.cpu().float(), expected.float(), rtol=tolerance, atol=tolerance,
                               msg=lambda m: f"{what}: {m}")


def exactly(actual, expected):
    assert torch.equal(actual.cpu(), expected), (actual, expected)


def rms(x, w):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w


def family_norms():
    load("_C_stable_libtorch")
    for dtype, tolerance in FLOATS.items():
        for width in (64, 768, 1000):
            x, w, r = torch.randn(7, width).to(dtype), torch.randn(width).to(dtype), torch.randn(7, width).to(dtype)
            out = torch.empty_like(x, device="cuda")
            torch.ops._C.rms_norm(out, x.cuda(), w.cuda(), 1e-6)
            same(out, rms(x.float(), w.float()), tolerance, f"rms_norm {dtype} {width}")
            there, left = x.cuda(), r.cuda()
            torch.ops._C.fused_add_rms_norm(there, left, w.cuda(), 1e-6)
            same(left, x + r, tolerance)
            same(there, rms((x + r).float(), w.float()), tolerance, f"fused_add_rms_norm {dtype} {width}")


def family_activations():
    load("_C_stable_libtorch")
    pairs = {"silu_and_mul": lambda a, b: F.silu(a) * b, "mul_and_silu": lambda a, b: a * F.silu(b),
             "gelu_and_mul": lambda a, b: F.gelu(a) * b, "gelu_tanh_and_mul": lambda a, b: F.gelu(a, approximate="tanh") * b}
    singles = {"gelu_new": lambda a: F.gelu(a, approximate="tanh"), "gelu_fast": lambda a: F.gelu(a, approximate="tanh"),
               "gelu_quick": lambda a: a * torch.sigmoid(1.702 * a), "relu_squared": lambda a: F.relu(a).square()}
    for dtype, tolerance in FLOATS.items():
        for width in (32, 129):
            x = torch.randn(9, 2 * width).to(dtype)
            for name, f in pairs.items():
                out = torch.empty(9, width, dtype=dtype, device="cuda")
                getattr(torch.ops._C, name)(out, x.cuda())
                same(out, f(*x.float().split(width, 1)), tolerance, f"{name} {dtype}")
            for name, f in singles.items():
                out = torch.empty_like(x, device="cuda")
                getattr(torch.ops._C, name)(out, x.cuda())
                same(out, f(x.float()), tolerance, f"{name} {dtype}")


def rotated(x, table, neox):
    """Pairs of each head's elements turned by the angle of their place."""
    cos, sin = (t[:, None] for t in table.chunk(2, -1))
    a, b = x.chunk(2, -1) if neox else (x[..., ::2], x[..., 1::2])
    turned = a * cos - b * sin, b * cos + a * sin
    return torch.cat(turned, -1) if neox else torch.stack(turned, -1).flatten(-2)


def family_rotary():
    load("_C_stable_libtorch")
    places = torch.randint(0, 50, (11, ))
    angles = torch.arange(50.0)[:, None] * 10000**(-torch.arange(32) / 32)
    for dtype, tolerance in FLOATS.items():
        table = torch.cat([angles.cos(), angles.sin()], 1).to(dtype)
        for neox in (True, False):
            q, k = torch.randn(11, 4, 64).to(dtype), torch.randn(11, 2, 64).to(dtype)
            there = [t.flatten(1).cuda() for t in (q, k)]
            torch.ops._C.rotary_embedding(places.cuda(), *there, 64, table.cuda(), neox)
            for x, y in zip(there, (q, k)):
                same(x.view(11, -1, 64), rotated(y.float(), table[places].float(), neox), tolerance, f"{dtype} {neox}")


def attended(q, k, v):
    """Causal attention of the last places of one sequence, keys and values by groups of heads, in double precision."""
    k, v = (t.double().repeat_interleave(q.shape[1] // t.shape[1], 1).transpose(0, 1) for t in (k, v))
    q = q.double().transpose(0, 1)
    seen = torch.arange(k.shape[1])[None] <= torch.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=seen).transpose(0, 1)


def paged(lengths, heads, width, dtype, block=16):
    """Keys and values of some sequences, and the device's cache of blocks in any order with them, and its table."""
    per = [-(-n // block) for n in lengths]
    blocks = torch.randperm(sum(per) + 3)[:sum(per)].int()
    table, at = torch.zeros(len(lengths), max(per), dtype=torch.int32), 0
    for i, n in enumerate(per):
        table[i, :n] = blocks[at:at + n]
        at += n
    pairs = [tuple(torch.randn(n, heads, width).to(dtype) for _ in range(2)) for n in lengths]
    at = [torch.arange(n) for n in lengths]
    slots = torch.cat([table[i, t // block].long() * block + t % block for i, t in enumerate(at)])
    caches = [torch.zeros(sum(per) + 3, block, heads, width, dtype=dtype, device="cuda") for _ in range(2)]
    one, (k, v) = torch.ones(1, device="cuda"), (torch.cat([p[i] for p in pairs]).cuda() for i in range(2))
    torch.ops._C_cache_ops.reshape_and_cache_flash(k, v, *caches, slots.cuda(), "auto", one, one)
    for t, c in zip((k, v), caches):
        exactly(c.flatten(0, 1)[slots.cuda()], t.cpu())
    return pairs, caches, table


def family_paged_attention():
    """Prompts and single new tokens at once, over a cache of blocks, as vLLM has it."""
    load("_C_stable_libtorch", "vllm_flash_attn/_vllm_fa2_C")
    for dtype in (torch.float16, torch.bfloat16):
        for width, heads, new in ((64, 4, [1, 1, 1]), (64, 2, [5, 1, 40]), (128, 4, [1, 17, 1])):
            lengths = [37, 16, 90]
            pairs, caches, table = paged(lengths, 2, width, dtype)
            q = torch.randn(sum(new), heads, width).to(dtype)
            begins = torch.tensor([0, *new]).cumsum(0).int()
            out = torch.empty_like(q, device="cuda")
            begins, table, used = begins.cuda(), table.cuda(), torch.tensor(lengths).int().cuda()
            torch.ops._vllm_fa2_C.varlen_fwd(q.cuda(), *caches, out, begins, torch.zeros_like(begins), used, None, table, None,
                                             max(new), max(lengths), 0.0, width**-0.5, False, True, -1, -1, 0.0, False, 0, None)
            expected = torch.cat([attended(part, *pair) for part, pair in zip(q.split(new), pairs)])
            same(out, expected, FLOATS[dtype], f"{dtype} {width} {new}")


def family_experts():
    """Which experts each token goes to, the tokens in order of their experts, and the sum of what comes back."""
    load("_C_stable_libtorch", "_moe_C_stable_libtorch")
    for experts, k in ((8, 2), (64, 6), (10, 3)):
        gates = torch.randn(33, experts)
        weights, ids, rows = (torch.empty(33, k, dtype=t, device="cuda") for t in (torch.float32, torch.int32, torch.int32))
        torch.ops._moe_C.topk_softmax(weights, ids, rows, gates.cuda(), True, None, None)
        expected = gates.softmax(-1).topk(k)
        exactly(ids.long(), expected[1])
        same(weights, expected[0] / expected[0].sum(-1, keepdim=True), 1e-5)
        block, most = 16, 33 * k + experts * 15
        order, owners, count = (torch.full((n, ), -7, dtype=torch.int32, device="cuda") for n in (most, -(-most // 16), 1))
        torch.ops._moe_C.moe_align_block_size(ids, experts, block, order, owners, count, None)
        order, owners, count = order.cpu(), owners.cpu(), count.item()
        assert count == sum(-(-int((expected[1] == e).sum()) // block) * block for e in range(experts))
        for place, token in enumerate(order[:count].tolist()):
            assert token == 33 * k or expected[1].flatten()[token] == owners[place // block]
        exactly(order[:count][order[:count] < 33 * k].sort()[0].long(), torch.arange(33 * k))
    for dtype, tolerance in FLOATS.items():
        for k in (2, 3, 4):
            x, out = torch.randn(5, k, 96).to(dtype), torch.empty(5, 96, dtype=dtype, device="cuda")
            torch.ops._moe_C.moe_sum(x.cuda(), out)
            same(out, x.float().sum(1), tolerance, f"moe_sum {dtype} {k}")


def family_codes():
    """Bytes and floats of eight bits, a scale for all or one for each token."""
    load("_C_stable_libtorch")
    for dtype in FLOATS:
        x = (3 * torch.randn(13, 256)).to(dtype)
        codes, scales = torch.empty(13, 256, dtype=torch.int8, device="cuda"), torch.empty(13, 1, device="cuda")
        torch.ops._C.dynamic_scaled_int8_quant(codes, x.cuda(), scales, None)
        largest = x.float().abs().amax(1, keepdim=True)
        same(scales, largest / 127, 1e-6)
        assert (codes.cpu() - x.float() * 127 / largest).abs().max() <= 0.5 + 1e-4
        torch.ops._C.static_scaled_int8_quant(codes, x.cuda(), torch.tensor([0.05], device="cuda"), None)
        exactly(codes, (x.float() / 0.05).round().clamp(-128, 127).to(torch.int8))
        floats = torch.empty(13, 256, dtype=torch.float8_e4m3fn, device="cuda")
        torch.ops._C.dynamic_per_token_scaled_fp8_quant(floats, x.cuda(), scales, None)
        same(scales, largest / 448, 1e-6)
        back = floats.cpu().float() * scales.cpu()
        assert ((back - x.float()).abs() <= x.float().abs() / 15.9 + largest / 448 / 500).all()
        torch.ops._C.static_scaled_fp8_quant(floats, x.cuda(), torch.tensor([0.05], device="cuda"))
        exactly(floats.view(torch.uint8), (x.float() / 0.05).clamp(-448, 448).to(torch.float8_e4m3fn).view(torch.uint8))


def four_bits(k, n, group):
    """Weights of four bits with scales for groups of rows: codes, and what they mean."""
    codes, scales = torch.randint(0, 16, (k, n)), (torch.rand(k // group, n) + 0.5) / 16
    return codes, scales.half(), (codes - 8) * scales.half().double().repeat_interleave(group, 0)


def packed(codes):
    """Eight rows in a word, as GPTQ has them."""
    words = (codes.view(-1, 8, codes.shape[1]) << (4 * torch.arange(8))[None, :, None]).sum(1)
    return torch.where(words >= 2**31, words - 2**32, words).int()


def near(out, x, weights, tolerance):
    exact, scale = x.double() @ weights, x.double().abs() @ weights.abs()
    off = ((out.cpu().double() - exact).abs() / scale).max()
    assert off < tolerance, off


def family_marlin():
    """Products with weights of four bits in Marlin's order."""
    load("_C_stable_libtorch")
    k, n, group = 256, 256, 128
    codes, scales, weights = four_bits(k, n, group)
    there = torch.ops._C.gptq_marlin_repack(packed(codes).cuda(), k, n, 4, False)
    order = [i + 8 * j for i in range(8) for j in range(8)]
    permuted = scales.reshape(-1, 64)[:, order].reshape(-1, n).contiguous().cuda()
    u4b8 = 4 << 8 | 8 << 17 | 1 << 50
    locks = torch.zeros(torch.cuda.get_device_properties(0).multi_processor_count * 4, dtype=torch.int32, device="cuda")
    for m in (1, 16, 50, 100):
        for dtype in (torch.float16, torch.bfloat16):
            x = torch.randn(m, k).to(dtype)
            out = torch.ops._C.marlin_gemm(x.cuda(), None, there, None, permuted.to(dtype), None, None, None, locks, u4b8, m, n,
                                           k, False, True, False)
            rounded = (codes - 8) * scales.to(dtype).double().repeat_interleave(group, 0)
            near(out, x, rounded, 1e-2 if dtype == torch.bfloat16 else 2e-3)
            assert not locks.any()


def family_gptq():
    """The same in the order of ExLlama."""
    load("_C_stable_libtorch")
    k, n, group = 256, 128, 64
    codes, scales, weights = four_bits(k, n, group)
    there = packed(codes).cuda()
    zeros = torch.full((k // group, n // 8), 0x77777777, dtype=torch.int32, device="cuda")
    torch.ops._C.gptq_shuffle(there, 4)
    for m in (1, 7, 60):
        x = torch.randn(m, k).half()
        near(torch.ops._C.gptq_gemm(x.cuda(), there, zeros, scales.cuda(), True, False, 4), x, weights, 2e-3)


def family_awq():
    load("_C_stable_libtorch")
    k, n, group = 128, 64, 64
    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])
    codes, zeros = torch.randint(0, 16, (k, n)), torch.randint(0, 16, (k // group, n))
    scales = torch.rand(k // group, n).half() / 8

    def words(c):
        w = (c.view(len(c), -1, 8)[..., order] << (4 * torch.arange(8))).sum(-1)
        return torch.where(w >= 2**31, w - 2**32, w).int().cuda()

    weights = (codes - zeros.repeat_interleave(group, 0)) * scales.double().repeat_interleave(group, 0)
    same(torch.ops._C.awq_dequantize(words(codes), scales.cuda(), words(zeros), 0, 0, 0), weights, 2e-3)
    for m in (1, 20):
        x = torch.randn(m, k).half()
        near(torch.ops._C.awq_gemm(x.cuda(), words(codes), scales.cuda(), words(zeros), 8), x, weights, 2e-3)


def family_scan():
    """Mamba's selective scan, beside its recurrence."""
    load("_C_stable_libtorch")
    batch, width, length, states = 2, 8, 70, 16
    u, z = torch.randn(batch, width, length), torch.randn(batch, width, length)
    step, bias, skip = torch.rand(batch, width, length), torch.rand(width), torch.randn(width)
    a = -torch.rand(width, states)
    b, c = torch.randn(batch, 1, states, length), torch.randn(batch, 1, states, length)
    taken, state, out = F.softplus(step + bias[:, None]), torch.zeros(batch, width, states), []
    for t in range(length):
        state = torch.exp(taken[..., t, None] * a) * state + taken[..., t, None] * b[..., t] * u[..., t, None]
        out.append((state * c[..., t]).sum(-1) + skip * u[..., t])
    expected = torch.stack(out, -1) * F.silu(z)
    there = [t.cuda() for t in (u, step, a, b, c, skip, z, bias)]
    last = torch.zeros(batch, width, states, device="cuda")
    torch.ops._C.selective_scan_fwd(*there, True, None, None, None, last, -1, 1024, None, None, None, None, None)
    same(there[6], expected, 1e-4, "result")
    same(last, state, 1e-4, "state")


if __name__ == "__main__":
    torch.manual_seed(0)
    globals()["family_" + sys.argv[1]]()
