#!/usr/bin/env python3
"""Are all instructions that our compiler makes known to the simulated cards that no runtime of AMD's here takes?

    test_emitted.py ANYWARP SIMGPU_OPS [--card NAME]... [--oracle PROGRAM] [--apps DIR] [--every N] FILE.ptx...

Compiles every N-th kernel of the files (and of the oracle's combinations, and with --apps of the programs there, through nvcc)
for each card, and has simgpu-ops decode all of the code, operands and modifiers too.  Without --every, all: minutes."""
# SPDX-License-Identifier: Apache-2.0
import argparse
import concurrent.futures
import glob
import os
import shutil
import subprocess
import sys
import tempfile

CARDS = ("gfx942", "gfx1100", "gfx1201")
APPS_LEFT_OUT = {"rdc_multi.cu", "rdc_multi_other.cu", "thrust_sort_reduce.cu"}   # parts of a module; minutes of compiling
ORACLE = ["--sample", "100", "--blocks", "1"]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


def kernels(anywarp, path):
    done = run(anywarp, "compile", path, "--emit=kernels")
    return [(path, line.split()[0]) for line in done.stdout.splitlines() if line.strip()]


def apps(folder, to):
    nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    for path in sorted(glob.glob(os.path.join(folder, "*.cu"))):
        if os.path.basename(path) in APPS_LEFT_OUT:
            continue
        out = os.path.join(to, os.path.basename(path) + ".ptx")
        done = run(os.path.realpath(nvcc), "-std=c++17", "-arch=compute_90", "-rdc=true", "-ptx", path, "-o", out)
        if done.returncode:
            sys.exit(f"{path}: nvcc: {done.stderr}")
        yield out


class Compiler:
    def __init__(self, anywarp, folder):
        self.anywarp, self.folder, self.refused = anywarp, folder, 0

    def compile(self, number, kernel, card):
        """The object, None where the kernel is one that is refused (as those of the golden tests' errors are)."""
        path, name = kernel
        out = os.path.join(self.folder, f"{number}.{card}")
        done = run(self.anywarp, "compile", path, "--kernel", name, "--target", card, "-O3", "-o", out)
        if done.returncode not in (0, 1):
            sys.exit(f"{path}: {name} for {card}: {done.stderr}")
        self.refused += done.returncode
        return None if done.returncode else out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("anywarp")
    p.add_argument("ops")
    p.add_argument("--card", action="append")
    p.add_argument("--oracle")
    p.add_argument("--apps")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("files", nargs="*")
    args = p.parse_intermixed_args()
    status = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        files = list(args.files)
        if args.oracle:
            emitted = os.path.join(folder, "oracle")
            os.mkdir(emitted)
            run(args.oracle, *ORACLE, "--emit", emitted)
            files += sorted(glob.glob(os.path.join(emitted, "*.ptx")))
        if args.apps:
            files += apps(args.apps, folder)
        # Files first: what kernels a file has takes a process to say.
        sample = [k for found in pool.map(lambda f: kernels(args.anywarp, f), files[::min(args.every, 4)]) for k in found]
        sample = sample[::max(args.every // 4, 1)]
        compiler = Compiler(args.anywarp, folder)
        for card in args.card or CARDS:
            objects = [o for o in pool.map(lambda k, card=card: compiler.compile(k[0], k[1], card), enumerate(sample)) if o]
            if not objects:
                sys.exit(f"nothing was compiled for {card}")
            done = run(args.ops, "--card", card, "--decode", *objects)
            print(f"{card}: {done.stdout}{done.stderr}", end="")
            status |= done.returncode
            # What it would say: another card does not know all of this.
            other = run(args.ops, "--card", "gfx900", "--decode", *objects)
            if other.returncode != 1 or " | " not in other.stdout:
                print(f"{card}: its code is not found out on a gfx900")
                status = 1
        print(f"{len(sample)} kernels for each card, {compiler.refused} refused")
    return status


if __name__ == "__main__":
    sys.exit(main())
