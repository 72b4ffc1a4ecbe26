"""Torch's random numbers on the device beside Philox4x32-10 in numpy: philox.py FAMILY, run by tests/torch/run.

A seed must give the numbers that CUDA gives, so neither torch's CPU device, which has another generator, nor the seed given twice
says enough.  What is here is written from the generator's definition and from how torch deals its numbers out to threads; nothing
of the device is asked but how many threads it has.  The first numbers of seed 0 are known of NVIDIA's cards as well.

A function family_NAME is a test: it raises where the device has another number.
"""
# SPDX-License-Identifier: Apache-2.0
import sys

import numpy as np
import torch
import torch.nn.functional as F

SEED = 5
BLOCK = 256


def philox(seed, subsequence, counter):
    """The four words at `counter` of each subsequence: uint32 [n, 4]."""
    low, keep = np.uint64(0xFFFFFFFF), np.uint64(32)
    subsequence = np.asarray(subsequence, dtype=np.uint64)
    c = [np.full_like(subsequence, counter & 0xFFFFFFFF), np.full_like(subsequence, counter >> 32),
         subsequence & low, subsequence >> keep]
    k = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p, q = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(q >> keep) ^ c[1] ^ np.uint64(k[0]), q & low, (p >> keep) ^ c[3] ^ np.uint64(k[1]), p & low]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(c, 1).astype(np.uint32)


def threads(n, block=BLOCK, each=1):
    """How many torch starts for n numbers: no more blocks than the device holds at once."""
    p = torch.cuda.get_device_properties(0)
    return block * min(-(-n // (block * each)), p.multi_processor_count * (p.max_threads_per_multi_processor // block))


def dealt(n, offset=0, words=4):
    """Each element's word, as a kernel with a stride of the whole grid deals them out: thread t has t, t + grid, ...; with
    `words` 2 an element has two words."""
    grid, out, counter = threads(n), [], offset // 4
    while sum(len(o) for o in out) < n:
        drawn = philox(SEED, np.arange(grid), counter)
        out += [drawn[:, i] for i in range(4)] if words == 4 else [drawn[:, 0:2], drawn[:, 2:4]]
        counter += 1
    return np.concatenate(out)[:n]


def uniform(words):
    """In (0, 1], as cuRAND makes it."""
    return (words.astype(np.float32) * np.float32(2.0 ** -32) + np.float32(2.0 ** -33)).astype(np.float32)


def seeded(make):
    torch.manual_seed(SEED)
    return make().cpu().numpy()


def close(actual, expected, tolerance=0):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def family_known_of_cards():
    """What is printed for seed 0 by every NVIDIA card."""
    torch.manual_seed(0)
    close(torch.rand(6, device="cuda").cpu().numpy(), [0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967], 5e-5)
    torch.manual_seed(0)
    close(torch.randn(4, device="cuda").cpu().numpy(), [-0.9247, -0.4253, -2.6438, 0.1452], 5e-5)


def family_rand():
    for n in (1, 7, 1000, 5000, 3_000_000):
        expected = uniform(dealt(n))
        close(seeded(lambda n=n: torch.rand(n, device="cuda")), np.where(expected == 1, np.float32(0), expected))


def family_rand_twice():
    """The second call goes on where the first ended."""
    torch.manual_seed(SEED)
    torch.rand(1000, device="cuda")
    close(torch.rand(1000, device="cuda").cpu().numpy(), uniform(dealt(1000, 4)))


def family_randn():
    for n in (1, 1000, 5000, 3_000_000):
        grid, out, counter = threads(n), [], 0
        while sum(len(o) for o in out) < n:
            w = philox(SEED, np.arange(grid), counter)
            for i in (0, 2):
                u, v = uniform(w[:, i]), uniform(w[:, i + 1])
                r, angle = np.sqrt(-2 * np.log(u.astype(np.float64))), 2 * np.pi * v.astype(np.float64)
                out += [r * np.sin(angle), r * np.cos(angle)]
            counter += 1
        close(seeded(lambda n=n: torch.randn(n, device="cuda")), np.concatenate(out)[:n], 2e-5)


def family_randint():
    for n in (1, 1000, 5000):
        for low, high in ((0, 10), (-7, 1000), (-(2 ** 27), 2 ** 27 - 1)):
            expected = dealt(n).astype(np.int64) % (high - low) + low
            close(seeded(lambda n=n, a=low, b=high: torch.randint(a, b, (n,), device="cuda")), expected)


def family_randint_wide():
    for low, high in ((0, 2 ** 40 + 7), (-(2 ** 62), 2 ** 62)):
        w = dealt(3000, words=2).astype(np.uint64)
        expected = (w[:, 0] << np.uint64(32) | w[:, 1]) % np.uint64(high - low)
        actual = seeded(lambda a=low, b=high: torch.randint(a, b, (3000,), device="cuda"))
        assert ((actual.astype(object) - low) == expected.astype(object)).all()


def family_double():
    for n in (1000, 5000):
        w = dealt(n, words=2).astype(np.uint64)
        z = w[:, 0] ^ (w[:, 1] << np.uint64(21))
        close(seeded(lambda n=n: torch.rand(n, device="cuda", dtype=torch.float64)), z * 2.0 ** -53 + 2.0 ** -54)


def family_half():
    expected = uniform(dealt(1000))
    actual = seeded(lambda: torch.rand(1000, device="cuda", dtype=torch.float16))
    close(actual, np.where(expected.astype(np.float16) == 1, np.float16(0), expected.astype(np.float16)))


def family_bernoulli():
    close(seeded(lambda: torch.empty(5000, device="cuda").bernoulli_(0.3)), uniform(dealt(5000)) <= np.float32(0.3))


def family_exponential():
    expected = -np.log(uniform(dealt(5000)).astype(np.float64)) / 2
    close(seeded(lambda: torch.empty(5000, device="cuda").exponential_(2.0)), expected, 1e-6)


def family_dropout():
    """A thread has four elements beside one another, where their number allows that."""
    for n in (4096, 1_000_000):
        grid, out, counter = threads(n, each=4), [], 0
        while sum(len(o) for o in out) < n:
            out.append(philox(SEED, np.arange(grid), counter).reshape(-1))
            counter += 1
        expected = (uniform(np.concatenate(out)[:n]) < np.float32(0.75)) / np.float32(0.75)
        close(seeded(lambda n=n: F.dropout(torch.ones(n, device="cuda"), 0.25)), expected, 1e-6)


def family_multinomial():
    """One draw is the largest of weights over exponential numbers."""
    weights = torch.rand(50, 40, generator=torch.Generator().manual_seed(1))
    waits = -np.log(uniform(dealt(2000)).astype(np.float64)).reshape(50, 40)
    expected = (weights.numpy() / waits).argmax(1)[:, None]
    close(seeded(lambda: torch.multinomial(weights.cuda(), 1)), expected)


def family_randperm():
    """The order of random keys by their low bits; as many of these as make two that are the same unlikely."""
    for n in (10, 1000, 3000):
        bits = int(np.ceil(np.log2(n - (6 * n * n + 1) / (np.log(0.9) * 12))))
        w = dealt(n, words=2).astype(np.uint64)
        keys = (w[:, 0] << np.uint64(32) | w[:, 1]) % np.uint64(2 ** 32 - 1) - np.uint64(2 ** 31) & np.uint64(2 ** bits - 1)
        assert len(set(keys)) == n, "another seed: keys that are the same are shuffled"
        close(seeded(lambda n=n: torch.randperm(n, device="cuda")), np.argsort(keys))


def family_multinomial_again():
    """With replacement: each draw is where a number lies in the sum of weights so far."""
    weights = torch.rand(30, generator=torch.Generator().manual_seed(1))
    draws = seeded(lambda: torch.multinomial(weights.cuda(), 200, replacement=True))
    sums = np.cumsum(weights.numpy().astype(np.float64))
    close(draws, np.searchsorted(sums / sums[-1], uniform(philox(SEED, np.arange(200), 0)[:, 0])))


if __name__ == "__main__":
    globals()["family_" + sys.argv[1]]()
