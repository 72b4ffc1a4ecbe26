"""Other wheels, with kernels of their own or leaning on torch's, beside torch's CPU device: wheels.py FAMILY, run by
tests/torch/run.

A function family_NAME is a test: it raises where the device's result is not the CPU's.  Models are small and have random
weights, as nothing is fetched.
"""
# SPDX-License-Identifier: Apache-2.0
import copy
import os
import sys

import torch

os.environ["HF_HUB_OFFLINE"] = "1"


def same(actual, expected, tolerance=1e-4, what=""):
    actual, expected = actual.detach().cpu(), expected.detach().cpu()
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance, msg=lambda m: f"{what}: {m}")


def to(device, value):
    return value.detach().to(device) if isinstance(value, torch.Tensor) else value


def with_gradients(f, inputs):
    """Result of f and its gradients, for a fixed gradient of the result."""
    inputs = [t.requires_grad_() if isinstance(t, torch.Tensor) and t.is_floating_point() else t for t in inputs]
    out = f(*inputs)
    given = torch.linspace(-1, 1, out.numel()).view(out.shape).to(out)
    leaves = [t for t in inputs if isinstance(t, torch.Tensor) and t.requires_grad]
    return [out, *(g for g in torch.autograd.grad(out, leaves, given, allow_unused=True) if g is not None)]


def both(f, *inputs, tolerance=1e-4, gradients=True):
    """One function's results on the CPU and the device."""
    run = with_gradients if gradients else (lambda f, inputs: [f(*inputs)])
    expected, actual = (run(f, [to(device, t) for t in inputs]) for device in ("cpu", "cuda"))
    assert len(expected) == len(actual)
    for k, (x, y) in enumerate(zip(expected, actual)):
        same(y, x, tolerance, f"result {k}")


def boxes(n, size=100.0):
    corner = torch.rand(n, 2) * size
    return torch.cat([corner, corner + torch.rand(n, 2) * 40 + 1], 1)


def family_vision_boxes():
    from torchvision import ops
    b, s, classes = boxes(300), torch.rand(300), torch.randint(0, 4, (300, ))
    for t in (torch.float32, torch.float64):
        both(lambda b, s: ops.nms(b, s, 0.5), b.to(t), s.to(t), gradients=False)
    both(lambda b, s, c: ops.batched_nms(b, s, c, 0.5), b, s, classes, gradients=False)
    both(lambda b: ops.box_iou(b, b), b, gradients=False)


def family_vision_regions():
    from torchvision import ops
    x, wide = torch.randn(2, 6, 40, 44), torch.randn(2, 6 * 35, 40, 44)
    r = torch.cat([torch.randint(0, 2, (20, 1)).float(), boxes(20, 25)], 1)
    for aligned in (True, False):
        for ratio in (2, -1):
            both(lambda x, r=r, a=aligned, n=ratio: ops.roi_align(x, r.to(x.device), (7, 5), 0.7, n, a), x)
    both(lambda x: ops.roi_pool(x, r.to(x.device), (7, 5), 0.7), x)
    both(lambda x: ops.ps_roi_align(x, r.to(x.device), (7, 5), 0.7, 2), wide)
    both(lambda x: ops.ps_roi_pool(x, r.to(x.device), (7, 5), 0.7), wide)


def family_vision_deform():
    from torchvision import ops
    x, w, offset, mask = torch.randn(2, 6, 20, 22), torch.randn(8, 6, 3, 3), torch.randn(2, 18, 20, 22), torch.rand(2, 9, 20, 22)
    both(lambda x, o, w, m: ops.deform_conv2d(x, o, w, None, 1, 1, 1, m), x, offset, w, mask, tolerance=2e-3)
    both(lambda x, o, w: ops.deform_conv2d(x, o, w, padding=1), x, offset, w, tolerance=2e-3)


def quantised(x, codes, state, block):
    """How much further than the nearest code any chosen one is from its number."""
    scaled = x.double().flatten() / state.absmax.cpu().double().repeat_interleave(block)[:x.numel()]
    table = state.code.cpu().double()
    chosen = (table[codes.long()] - scaled).abs()
    return (chosen - (table[None] - scaled[:, None]).abs().min(1).values).max().item()


def family_quantise():
    """bitsandbytes' blocks of 8 and 4 bits: every number gets the nearest code, and comes back as the code says."""
    from bitsandbytes import functional as F
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = torch.randn(7, 1031).to(dtype)
        for block in (64, 256, 4096):
            q, s = F.quantize_blockwise(x.cuda(), blocksize=block)
            assert quantised(x, q.cpu().flatten(), s, block) < 1e-6
            same(s.absmax, F.quantize_blockwise(x, blocksize=block)[1].absmax)
            there = s.code.cpu()[q.cpu().long()] * s.absmax.cpu().repeat_interleave(block)[:x.numel()].view(x.shape)
            same(F.dequantize_blockwise(q, s).float(), there, 1e-5 if dtype == torch.float32 else 2e-2)
        x = torch.randn(128, 256).to(dtype)
        for kind in ("nf4", "fp4"):
            q, s = F.quantize_4bit(x.cuda(), blocksize=64, quant_type=kind)
            halves = q.flatten().cpu().int()
            assert quantised(x, torch.stack([halves >> 4, halves & 15], 1).flatten(), s, 64) < 1e-6
            v, back = torch.randn(1, 256).to(dtype), F.dequantize_4bit(q, s).float().cpu()
            scale = v.abs().float() @ back.t().abs()
            near = (F.gemv_4bit(v.cuda(), q.t(), state=s).cpu().float() - v.float() @ back.t()).abs() / scale
            assert near.max() < (1e-6 if dtype == torch.float32 else 1e-2), near.max()


def family_quantised_layers():
    import bitsandbytes as bnb
    plain, x = torch.nn.Linear(64, 96), torch.randn(20, 64).half()
    x[:, 3] *= 20  # a column that stays in 16 bits
    for layer, tolerance in ((bnb.nn.Linear8bitLt(64, 96, has_fp16_weights=False, threshold=6.0), 0.06),
                             (bnb.nn.LinearNF4(64, 96, compute_dtype=torch.float16), 3.0)):
        layer.load_state_dict(plain.state_dict())
        same(layer.cuda()(x.cuda()).float(), plain(x.float()), tolerance)
    a, b = (torch.randint(-127, 127, (n, 64)).to(torch.int8) for n in (32, 48))
    same(bnb.functional.int8_linear_matmul(a.cuda(), b.cuda()), a.int() @ b.int().t(), 0)


def family_quantised_optimisers():
    """Five steps beside torch's own in full precision."""
    from bitsandbytes import optim

    def sgd(p, lr):
        return torch.optim.SGD(p, lr, momentum=0.9)

    kinds = ((optim.Adam32bit, torch.optim.Adam, {}, 1e-5), (optim.AdamW32bit, torch.optim.AdamW, {}, 2e-5),
             (optim.Adam8bit, torch.optim.Adam, {"min_8bit_size": 1}, 5e-3),
             (optim.PagedAdam8bit, torch.optim.Adam, {"min_8bit_size": 1}, 5e-3),
             (optim.SGD8bit, sgd, {"momentum": 0.9, "min_8bit_size": 1}, 1e-3))
    weights, gradients = torch.randn(64, 128), torch.randn(5, 64, 128) / 10
    for kind, plain, words, tolerance in kinds:
        p, q = torch.nn.Parameter(weights.clone()), torch.nn.Parameter(weights.clone().cuda())
        here, there = plain([p], lr=1e-2), kind([q], lr=1e-2, **words)
        for g in gradients:
            p.grad, q.grad = g.clone(), g.clone().cuda()
            here.step()
            there.step()
        same(q, p, tolerance, kind.__name__)


def language(net, device, x):
    """Losses of four steps, gradients of the first, and what is generated, greedily and with beams."""
    net, losses, first = copy.deepcopy(net).to(device), [], None
    step = torch.optim.AdamW(net.parameters(), 1e-3)
    for _ in range(4):
        step.zero_grad()
        loss = net(x.to(device), labels=x.to(device)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        first = first or {n: p.grad.clone() for n, p in net.named_parameters()}
        step.step()
        losses.append(loss.detach())
    mask = torch.ones_like(x)
    mask[0, :5] = 0
    with torch.no_grad():
        made = net.eval().generate(x.to(device), attention_mask=mask.to(device), max_new_tokens=12, do_sample=False)
        beams = net.generate(x[:1].to(device), max_new_tokens=8, do_sample=False, num_beams=3)
    return torch.stack(losses), first, (made.cpu(), beams.cpu())


def languages(make, config, **words):
    for way in ("sdpa", "eager"):
        torch.manual_seed(0)
        net = make(config(vocab_size=211, bos_token_id=1, eos_token_id=2, pad_token_id=0, attn_implementation=way, **words))
        x = torch.randint(3, 211, (3, 24))
        expected, actual = (language(net, device, x) for device in ("cpu", "cuda"))
        same(actual[0], expected[0], 1e-5, way)
        for name in expected[1]:
            same(actual[1][name], expected[1][name], 1e-5, f"{way} {name}")
        assert all(torch.equal(a, e) for a, e in zip(actual[2], expected[2])), f"{way}: other tokens"


def family_gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    languages(GPT2LMHeadModel, GPT2Config, n_positions=64, n_embd=48, n_layer=2, n_head=4, resid_pdrop=0, embd_pdrop=0,
              attn_pdrop=0)


def family_llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    languages(LlamaForCausalLM, LlamaConfig, hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
              num_key_value_heads=2, max_position_embeddings=64)


def family_diffusion():
    """A small UNet with attention to a text, forward and backward, and five steps of a sampler."""
    from diffusers import DDIMScheduler, UNet2DConditionModel
    net = UNet2DConditionModel(sample_size=16, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(32, 64),
                               down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                               up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), cross_attention_dim=32, norm_num_groups=8)
    x, text = torch.randn(2, 4, 16, 16), torch.randn(2, 7, 32)

    def both_ways(device):
        n, state = copy.deepcopy(net).to(device), x.to(device)
        n(state, 10, text.to(device)).sample.square().mean().backward()
        gradients = {k: p.grad for k, p in n.named_parameters() if p.grad is not None}
        steps = DDIMScheduler(num_train_timesteps=50)
        steps.set_timesteps(5)
        with torch.no_grad():
            for t in steps.timesteps:
                state = steps.step(n(state, t, text.to(device)).sample, t, state).prev_sample
        return state, gradients

    (expected, e), (actual, a) = both_ways("cpu"), both_ways("cuda")
    same(actual, expected, 1e-3)
    assert e.keys() == a.keys() and e
    for name in e:
        same(a[name], e[name], 1e-4, name)


def family_xformers():
    """Its ways of attention that torch's and its own Triton kernels serve, and rows by index."""
    from xformers import ops
    from xformers.ops import fmha
    q, k, v = (torch.randn(2, 70, 3, 32) for _ in range(3))

    def plain(q, k, v):
        score = torch.einsum("bqhd,bkhd->bhqk", q, k) / 32**0.5
        masked = score.masked_fill(torch.ones(70, 70).triu(1).bool().to(score.device), -float("inf"))
        return torch.einsum("bhqk,bkhd->bqhd", masked.softmax(-1), v)

    expected = with_gradients(plain, [t.clone() for t in (q, k, v)])
    for dtype, way, tolerance in ((torch.float32, fmha.MemoryEfficientAttentionCutlassOp, 1e-4),
                                  (torch.float16, fmha.MemoryEfficientAttentionCutlassOp, 5e-3)):
        actual = with_gradients(
            lambda q, k, v, way=way: ops.memory_efficient_attention(q, k, v, attn_bias=ops.LowerTriangularMask(), op=way),
            [t.to(dtype).cuda() for t in (q, k, v)])
        for x, y in zip(expected, actual):
            same(y.float(), x, tolerance, f"{way} {dtype}")


def beside_float64(f, plain, inputs, tolerance=1e-5):
    """f on the device beside `plain` in double precision, with gradients, to parts of the largest number."""
    wide = [t.double() if t.is_floating_point() else t.clone() for t in inputs]
    expected = with_gradients(plain, wide)
    actual = with_gradients(lambda *t: f(*(x * 1 for x in t)), [t.cuda() for t in inputs])  # some write over what they are given
    assert len(expected) == len(actual)
    for k, (x, y) in enumerate(zip(expected, actual)):
        off = (y.detach().cpu().double() - x.detach()).abs().max().item() / x.abs().max().item()
        assert off <= tolerance, f"result {k}: {off}"


def sparsemax(x):
    z = x.sort(-1, descending=True)[0]
    sums, places = z.cumsum(-1), torch.arange(1, x.shape[-1] + 1)
    kept = (1 + places * z > sums).sum(-1, keepdim=True)
    return (x - (sums.gather(-1, kept - 1) - 1) / kept).clamp(min=0)


def family_liger():
    """Liger's kernels in Triton: losses, norms and activations, forward and backward."""
    import liger_kernel.transformers.functional as liger
    from torch.nn import functional as F
    for n, v in ((7, 33), (16, 1000), (5, 4097)):
        x, z, w, b = torch.randn(n, v), torch.randn(n, v), torch.randn(v), torch.randn(v)
        y = torch.randint(0, v, (n, ))
        y[1] = -100
        beside_float64(liger.liger_cross_entropy, F.cross_entropy, [x, y])
        beside_float64(lambda x, y: liger.liger_cross_entropy(x, y, label_smoothing=0.1, reduction="sum"),
                       lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1, reduction="sum"), [x, y])
        beside_float64(liger.liger_fused_linear_cross_entropy, lambda x, w, y, b: F.cross_entropy(x @ w.T + b, y),
                       [torch.randn(n, 32), torch.randn(v, 32) / 6, y, b])
        beside_float64(liger.liger_softmax, lambda x: x.softmax(-1), [x])
        beside_float64(liger.liger_sparsemax, sparsemax, [x])
        beside_float64(lambda x, w: liger.liger_rms_norm(x, w, 1e-6, 1.0, "gemma", False),
                       lambda x, w: F.rms_norm(x, (v, ), w + 1, 1e-6), [x, w])
        beside_float64(lambda x, w, b: liger.liger_layer_norm(x, w, b, 1e-6), lambda x, w, b: F.layer_norm(x, (v, ), w, b, 1e-6),
                       [x, w, b])
        beside_float64(liger.liger_geglu, lambda a, b: F.gelu(a, approximate="tanh") * b, [x, z])
        beside_float64(liger.liger_swiglu, lambda a, b: F.silu(a) * b, [x, z])


def family_linear_attention():
    """flash-linear-attention's kernels in Triton beside its own plain ones, each in one of the forms that it chooses among."""
    from triton.runtime import autotuner
    begin = autotuner.Autotuner.__init__
    autotuner.Autotuner.__init__ = lambda self, f, names, forms, *more, **words: begin(self, f, names, forms[:1], *more, **words)
    import fla.ops as ops
    from fla.ops.based.naive import naive_parallel_based
    from fla.ops.delta_rule.naive import delta_rule_recurrence
    from fla.ops.forgetting_attn.naive import naive_forgetting_attn
    from fla.ops.gla.naive import naive_recurrent_gla
    from torch.nn.functional import logsigmoid, normalize

    def heads_first(f):
        return lambda *t: f(*(x.transpose(1, 2) for x in t)).transpose(1, 2)

    def beside(f, plain, *inputs):
        expected, actual = with_gradients(plain, [t.clone() for t in inputs]), with_gradients(f, [t.cuda() for t in inputs])
        assert len(expected) == len(actual)
        for k, (x, y) in enumerate(zip(expected, actual)):  # products are of TF32
            assert (y.cpu() - x).norm() <= 5e-3 * x.norm(), f"result {k}: {(y.cpu() - x).norm() / x.norm()}"

    q, k, v, g, b = torch.randn(5, 1, 65, 2, 16).unbind()
    for f in (ops.chunk_gla, ops.fused_recurrent_gla):
        beside(lambda q, k, v, g, f=f: f(q, k, v, logsigmoid(g))[0],
               lambda q, k, v, g: naive_recurrent_gla(q, k, v, logsigmoid(g))[0], q, k, v, g)
    beside(lambda q, k, v, b: ops.fused_recurrent_delta_rule(q, k, v, b.sigmoid())[0],
           heads_first(lambda q, k, v, b: delta_rule_recurrence(q, k, v, b.sigmoid())[0]), q, normalize(k, dim=-1), v, b[..., 0])
    beside(lambda q, k, v, g: ops.parallel_forgetting_attn(q, k, v, logsigmoid(g)),
           lambda q, k, v, g: naive_forgetting_attn(q, k, v, logsigmoid(g)), q, k, v, g[..., 0])
    beside(ops.parallel_based, heads_first(naive_parallel_based), q, k, v)


def net_both(net, *inputs, tolerance=5e-3):
    """A model's result and gradients while it trains, beside double precision: parts of the largest of each."""
    def run(device, dtype):
        n = copy.deepcopy(net).to(device, dtype).train()
        out = n(*(t.to(device, dtype if t.is_floating_point() else t.dtype) for t in inputs))
        out.backward(torch.linspace(-1, 1, out.numel()).view(out.shape).to(out) / out.numel())
        return {"result": out, **{k: p.grad for k, p in n.named_parameters() if p.grad is not None}}

    expected, actual = run("cpu", torch.float64), run("cuda", torch.float32)
    assert expected.keys() == actual.keys() and len(expected) > 1
    largest = max(t.detach().abs().max().item() for k, t in expected.items() if k != "result")
    for name, x in expected.items():
        off, size = (actual[name].detach().cpu().double() - x.detach()).abs().max().item(), x.detach().abs().max().item()
        assert off <= tolerance * max(size, 1e-3 * largest), f"{name}: {off} of {size}"


def family_timm():
    import timm
    for name, words in (("convnext_atto", {}), ("vit_tiny_patch16_224", {"img_size": 64, "depth": 2}), ("resnet10t", {}),
                        ("mobilenetv3_small_050", {"drop_rate": 0.0})):
        net_both(timm.create_model(name, num_classes=7, **words), torch.randn(4, 3, 64, 64))


def family_graphs():
    """torch_geometric without kernels of its own: messages along edges, sums and maxima by target, softmax and pooling."""
    import torch_geometric.nn as graph
    from torch_geometric import utils
    x, edges, weight, more = torch.randn(60, 16), torch.randint(0, 60, (2, 300)), torch.rand(300), torch.randn(300, 5)
    group = torch.arange(60) // 15
    for layer, words in ((graph.GCNConv(16, 8), (weight, )), (graph.GATConv(16, 8, heads=3, edge_dim=5), (more, )),
                         (graph.SAGEConv(16, 8), ()), (graph.SAGEConv(16, 8, aggr="max"), ()),
                         (graph.PNAConv(16, 8, ["mean", "min", "max", "std"], ["identity"], torch.arange(10)), ()),
                         (graph.NNConv(16, 8, torch.nn.Linear(5, 128)), (more, )), (graph.ChebConv(16, 8, 3), (weight, ))):
        net_both(layer, x, edges, *words, tolerance=2e-3)
    for how in ("sum", "mean", "max", "min", "mul"):
        both(lambda x, how=how: utils.scatter(x, group.to(x.device), 0, reduce=how), x)
    both(lambda x: utils.softmax(x, group.to(x.device)), x)


def family_kernel_sums():
    """KeOps' sums over all pairs, compiled by NVRTC as they are asked for, and their gradients."""
    from pykeops.torch import LazyTensor
    x, y, b = torch.randn(300, 3), torch.randn(257, 3), torch.randn(257, 2)

    def distances(x, y):
        if x.is_cuda:
            return ((LazyTensor(x[:, None].contiguous()) - LazyTensor(y[None].contiguous()))**2).sum(-1)
        return ((x[:, None] - y[None])**2).sum(-1)

    both(lambda x, y, b: (-distances(x, y)).exp() @ b, x, y, b)
    both(lambda x, y: (-distances(x, y)).logsumexp(1).view(-1), x, y)
    both(lambda x, y: distances(x, y).argKmin(4, dim=1) if x.is_cuda else distances(x, y).topk(4, largest=False)[1], x.double(),
         y.double(), gradients=False)


def family_processes():
    """Gaussian processes in double precision, five steps of training and a prediction: by Cholesky, and on a grid by FFT."""
    import gpytorch
    x, wanted = torch.linspace(0, 1, 120).double(), torch.linspace(0, 1, 37).double()
    y = torch.sin(x * 6.3) + torch.sin(x * 40) * 0.1
    for kernel in (lambda: gpytorch.kernels.MaternKernel(1.5),
                   lambda: gpytorch.kernels.GridInterpolationKernel(gpytorch.kernels.RBFKernel(), grid_size=40, num_dims=1)):
        results = []
        for device in ("cpu", "cuda"):
            likelihood = gpytorch.likelihoods.GaussianLikelihood().double().to(device)
            net = gpytorch.models.ExactGP(x.to(device), y.to(device), likelihood)
            net.mean_module, net.covar_module = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(kernel())
            net.forward = lambda x, n=net: gpytorch.distributions.MultivariateNormal(n.mean_module(x), n.covar_module(x))
            net.double().to(device)
            step = torch.optim.Adam(net.parameters(), 0.05)
            loss_of, losses = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, net), []
            for _ in range(5):
                step.zero_grad()
                loss = -loss_of(net(x.to(device)), y.to(device))
                loss.backward()
                step.step()
                losses.append(loss.detach())
            net.eval()
            with torch.no_grad():
                made = likelihood.eval()(net(wanted.to(device)))
                results.append((torch.stack(losses), made.mean, made.variance))
        for expected, actual in zip(*results):
            same(actual, expected, 1e-6)


def family_adapters():
    """A small Llama with peft's adapters: losses of four steps."""
    import peft
    from transformers import LlamaConfig, LlamaForCausalLM
    x = torch.randint(3, 211, (2, 20))
    for words in ({"target_modules": ["q_proj", "v_proj"]}, {"target_modules": ["q_proj", "up_proj"], "use_dora": True}):
        net = peft.get_peft_model(LlamaForCausalLM(LlamaConfig(
            vocab_size=211, hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=64)), peft.LoraConfig(r=4, task_type="CAUSAL_LM", **words))
        losses = []
        for device in ("cpu", "cuda"):
            n = copy.deepcopy(net).to(device)
            step = torch.optim.AdamW([p for p in n.parameters() if p.requires_grad], 1e-2)
            for _ in range(4):
                step.zero_grad()
                loss = n(input_ids=x.to(device), labels=x.to(device)).loss
                loss.backward()
                step.step()
                losses.append(loss.detach().cpu())
        same(torch.stack(losses[4:]), torch.stack(losses[:4]))
        assert losses[3] < losses[0]


if __name__ == "__main__":
    torch.manual_seed(0)
    globals()["family_" + sys.argv[1]]()
