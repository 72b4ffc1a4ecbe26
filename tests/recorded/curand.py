#!/usr/bin/env python3
"""What cuRAND's host interface gives on the device: a line for each generator, order, seed, offset and distribution, with a
digest of all numbers and the first eight.  tests/recorded/curand.txt has what NVIDIA's library gave; tests/recorded/run compares.

    curand.py [LIBRARY]        libcurand.so.10, or a path"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import hashlib
import sys

TYPES = {'xorwow': 101, 'mrg32k3a': 121, 'mtgp32': 141, 'mt19937': 142, 'philox': 161, 'sobol32': 201, 'scrambled32': 202,
         'sobol64': 203, 'scrambled64': 204}
ORDERS = {'default': 101, 'best': 100, 'seeded': 102, 'legacy': 103, 'dynamic': 104}
N = 60000
U = ctypes.c_ulonglong


def main():
    lib = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else 'libcurand.so.10')
    for path in ('libcudart.so.13', 'libcudart.so.12'):
        try:
            cuda = ctypes.CDLL(path)
            break
        except OSError:
            cuda = None
    memory = ctypes.c_void_p()
    if cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(8 * N)):
        print('no device memory')
        return 1
    host = (ctypes.c_uint8 * (8 * N))()
    one, two, three = ctypes.c_double, ctypes.c_float, ctypes.c_size_t
    wishes = {
        'bits': ('curandGenerate', 4, ()), 'bits64': ('curandGenerateLongLong', 8, ()),
        'uniform': ('curandGenerateUniform', 4, ()), 'uniform_double': ('curandGenerateUniformDouble', 8, ()),
        'normal': ('curandGenerateNormal', 4, (two(1), two(2))),
        'normal_double': ('curandGenerateNormalDouble', 8, (one(1), one(2))),
        'log_normal': ('curandGenerateLogNormal', 4, (two(0), two(1))),
        'poisson3': ('curandGeneratePoisson', 4, (one(3),)), 'poisson100': ('curandGeneratePoisson', 4, (one(100),)),
        'poisson5000': ('curandGeneratePoisson', 4, (one(5000),)),
    }

    def ask(name, kind, order, seed, offset, dimensions, wish, n=N, twice=False):
        g = ctypes.c_void_p()
        status = [lib.curandCreateGenerator(ctypes.byref(g), kind)]
        if order is not None:
            status.append(lib.curandSetGeneratorOrdering(g, order))
        if seed is not None:
            status.append(lib.curandSetPseudoRandomGeneratorSeed(g, U(seed)))
        if dimensions:
            status.append(lib.curandSetQuasiRandomGeneratorDimensions(g, dimensions))
        if offset:
            status.append(lib.curandSetGeneratorOffset(g, U(offset)))
        function, width, more = wishes[wish]
        for _ in range(1 + twice):
            status.append(getattr(lib, function)(g, memory, three(n), *more))
        cuda.cudaMemcpy(host, memory, ctypes.c_size_t(width * n), 2)
        raw = bytes(host)[:width * n]
        lib.curandDestroyGenerator(g)
        if any(status):
            print(f'{name} {wish}: status', *status)
            return
        first = ' '.join(raw[i * width:(i + 1) * width][::-1].hex() for i in range(8))
        print(f'{name} {wish}:', hashlib.sha1(raw).hexdigest()[:16], first, flush=True)

    for name, kind in TYPES.items():
        quasi = kind >= 200
        wide = kind in (203, 204)
        for wish in wishes:
            if (wish == 'bits64') != wide and wish.startswith('bits'):
                continue
            ask(name, kind, None, None if quasi else 1234, 0, 3 if quasi else 0, wish)
        base = 'bits64' if wide else 'bits'
        ask(name + ' unseeded', kind, None, None, 0, 0, base)
        ask(name + ' offset 777', kind, None, None if quasi else 1234, 777, 0, base)
        ask(name + ' offset 100000001', kind, None, None if quasi else 1234, 100000001, 0, base)
        ask(name + ' second call', kind, None, None if quasi else 1234, 0, 0, base, n=10000, twice=True)
        ask(name + ' 7 numbers, second call', kind, None, None if quasi else 1234, 0, 0, base, n=8, twice=True)
        if quasi:
            ask(name + ' 200 dimensions', kind, None, None, 0, 200, base)
            ask(name + ' 20000 dimensions', kind, None, None, 0, 20000, base)
        else:
            ask(name + ' seed 0', kind, None, 0, 0, 0, base)
            ask(name + ' long seed', kind, None, 0x123456789abcdef0, 0, 0, base)
            for order, number in ORDERS.items():
                ask(name + ' order ' + order, kind, number, 1234, 0, 0, base)
    return 0


if __name__ == '__main__':
    sys.exit(main())
