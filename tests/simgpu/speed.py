#!/usr/bin/env python3
# How fast the simulated Radeon executes usual kernels: those of tests/bench/amdgpu/kernels.cu, compiled by clang straight to the
# card, with data large enough for throughput to count.  Millions of wave-instructions a second of processor time.  It judges no
# results: that is the tests' business, and tests/bench/amdgpu/ratio.py's.
# SPDX-License-Identifier: Apache-2.0
import argparse
import array
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = os.path.join(HERE, "..", "bench", "amdgpu")


def sparse(rng, rows, cols, longest):
    """CSR: starts, columns."""
    start, col = array.array("i", [0]), array.array("i")
    for row in range(rows):
        col.extend(rng.randrange(cols) for _ in range(0 if row % 7 == 0 else rng.randrange(longest)))
        start.append(len(col))
    return start, col


def launches():
    """{kernel: (grid, block, arguments)}; an argument is simgpu-run's text, or an array for the contents of a buffer."""
    rng = random.Random(7)
    s1, c1 = sparse(rng, 16384, 4096, 24)
    s2, c2 = sparse(rng, 8192, 4096, 120)
    turn = array.array("f")
    for k in range(256):
        turn.extend((math.cos(-2 * math.pi * k / 512), math.sin(-2 * math.pi * k / 512)))
    doubles = array.array("d", (rng.random() for _ in range(len(c1))))
    targets = array.array("i", (rng.randrange(4096) for _ in range(65536)))
    floats = lambda n: f"buf:{4 * n}=frand:{n}"
    words = lambda n: f"buf:{4 * n}=rand:{n}"
    n = 1 << 18
    return {
        "saxpy": ("1024", "256", [f"i32:{n}", "f32:2.5", floats(n), floats(n)]),
        "triad": ("256", "256", [f"buf:{8 * n}", f"buf:{8 * n}", f"buf:{8 * n}", "f64:3", f"i32:{n}"]),
        "reduce_shuffle": ("64", "256", [floats(n), "buf:256", f"i32:{n}"]),
        "reduce_shared": ("512", "256", [f"buf:{8 * n}", "buf:4096", f"i32:{n}"]),
        "scan": ("256", "1024", [words(n), f"buf:{4 * n}", "buf:1024", f"i32:{n}"]),
        "transpose": ("16,16", "32,8", [floats(n), f"buf:{4 * n}", "i32:512", "i32:512"]),
        "stencil": ("4,16", "32,8", [floats(n), f"buf:{4 * n}", "i32:128", "i32:128", "i32:16"]),
        "matmul": ("16,16", "16,16", [floats(1 << 16), floats(1 << 16), f"buf:{4 << 16}", "i32:256"]),
        "nbody": ("16", "128", [floats(8192), f"buf:{4 * 8192}", "i32:2048", "f32:0.01"]),
        "black_scholes": ("1024", "256", [f"buf:{4 * n}", f"buf:{4 * n}", floats(n), floats(n), floats(n), "f32:0.02", "f32:0.3",
                                          f"i32:{n}"]),
        "mandelbrot": ("32,32", "16,8", ["buf:524288", "i32:512", "i32:256", "f32:-2", "f32:-1", "f32:0.0078125", "i32:200"]),
        "histogram": ("64", "256", [words(n), "buf:1024", f"i32:{n}"]),
        "bitonic": ("128", "256", [words(65536)]),
        "spmv_scalar": ("128", "128", ["i32:16384", s1, c1, doubles, "buf:32768", "buf:131072"]),
        "spmv_warp": ("2048", "128", ["i32:8192", s2, c2, floats(len(c2)), floats(4096), "buf:32768"]),
        "softmax": ("64", "128", [floats(n), f"buf:{4 * n}", "i32:1024"]),
        "fft": ("128", "256", ["buf:524288", turn]),  # zeros: it is done over and over in place
        "philox": ("512", "256", [f"buf:{8 * n}", "u32:12345", "i32:131072"]),
        "hash64": ("512", "256", [f"buf:{4 * n}=rand:1", f"buf:{4 * n}", "buf:4", "i32:131072"]),
        "scatter_add": ("256", "256", [targets, floats(65536), "buf:16384", "i32:65536"]),
    }


def compile_kernels(card, path):
    clang = os.environ.get("AW_CLANG") or shutil.which("clang-22") or shutil.which("clang") or sys.exit("speed: clang is not "
                                                                                                        "there")
    done = subprocess.run([clang, "-x", "hip", "--cuda-device-only", f"--offload-arch={card}", "-nogpuinc", "-nogpulib",
                           "-mcode-object-version=4", "-O3", "-std=c++17", "-ffp-contract=fast-honor-pragmas", "-include",
                           os.path.join(KERNELS, "amdgcn.h"), os.path.join(KERNELS, "kernels.cu"), "--no-gpu-bundle-output", "-o",
                           path],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"speed: clang cannot compile the kernels\n{done.stderr[-2000:]}")


class Bench:
    def __init__(self, simulator, card, folder):
        self.simulator, self.card, self.folder = simulator, card, folder
        self.object = os.path.join(folder, "kernels.hsaco")
        compile_kernels(card, self.object)

    def run(self, kernel, launch, repeat, threads, mode="--time"):
        """simgpu-run's JSON."""
        grid, block, args = launch
        words = []
        for n, arg in enumerate(args):
            if not isinstance(arg, str):
                path = os.path.join(self.folder, f"in{n}")
                with open(path, "wb") as f:
                    arg.tofile(f)
                arg = f"buf:{len(arg) * arg.itemsize}={path}"
            words.append(arg)
        done = subprocess.run([self.simulator, "--card", self.card, mode, "--repeat", str(repeat), "--grid", grid, "--block",
                               block,
                               self.object, kernel] + words, capture_output=True, text=True, check=False,
                              env=dict(os.environ, ANYWARP_SIM_THREADS=str(threads)))
        if done.returncode:
            sys.exit(f"speed: {kernel}: exit {done.returncode}\n{done.stderr[-2000:]}")
        return json.loads(done.stdout.splitlines()[-1])

    def measure(self, kernel, launch, seconds, threads, best_of):
        """A run's JSON, and for each variant (alone, with statistics, with threads) the least nanoseconds an instruction of some
        runs of about that long: another program's load makes a run slower, never faster.  Processor time, but for the last,
        which is by the clock."""
        once = self.run(kernel, launch, 1, 1)
        repeat = max(1, round(seconds * 1e9 / max(once["cpu_nanoseconds"], 1)))
        alone, counting, clock, many = [], [], [], []
        for _ in range(best_of):  # in turns, so that they meet the same load
            r = self.run(kernel, launch, repeat, 1)
            alone.append(r["cpu_nanoseconds"] / r["instructions"])
            clock.append(r["nanoseconds"] / r["instructions"])
            r = self.run(kernel, launch, repeat, 1, "--json")
            counting.append(r["cpu_nanoseconds"] / r["instructions"])
            if threads > 1:
                r = self.run(kernel, launch, repeat, threads)
                many.append(r["nanoseconds"] / r["instructions"])
        return r, min(alone), min(counting), min(clock) / min(many) if many else None


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    args = argparse.ArgumentParser(description="Millions of wave-instructions a second, by kernel.")
    args.add_argument("simulator", help="simgpu-run")
    args.add_argument("--card", default="gfx1030")
    args.add_argument("--kernel", action="append", help="only this one")
    args.add_argument("--seconds", type=float, default=0.5, help="of a run")
    args.add_argument("--best-of", type=int, default=3, help="runs of each")
    args.add_argument("--threads", type=int, default=1,
                      help="of the simulator; with more than one, how much faster by the clock than with one")
    args.add_argument("--limit", type=float, help="fail when the geometric mean is below")
    args = args.parse_args()
    speeds, counted, gains = [], [], []
    print("wave-instructions: of a launch; millions a second of one core, without and with statistics")
    print(f"{'kernel':15} {'a launch':>10} {'M/s':>8} {'counting':>9} {'active lanes':>13}"
          + (" speed-up" if args.threads > 1 else ""))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args.simulator, args.card, folder)
        for kernel, launch in launches().items():
            if args.kernel and kernel not in args.kernel:
                continue
            r, alone, counting, gain = bench.measure(kernel, launch, args.seconds, args.threads, args.best_of)
            speeds.append(1e3 / alone)
            counted.append(1e3 / counting)
            gains += [gain] if gain else []
            print(f"{kernel:15} {r['instructions'] // r['launches']:10} {speeds[-1]:8.1f} {counted[-1]:9.1f} "
                  f"{100 * r['vector_lanes'] / max(r['vector_slots'], 1):11.1f} %" + (f" {gain:8.2f}" if gain else ""),
                  flush=True)
    print(f"{'geometric mean':15} {'':10} {geomean(speeds):8.1f} {geomean(counted):9.1f}" +
          (f" {'':13} {geomean(gains):8.2f}" if gains else ""))
    if args.limit and geomean(speeds) < args.limit:
        sys.exit(f"speed: {geomean(speeds):.1f} is below {args.limit}")


main()
