#!/usr/bin/env python3
# What a warm start costs: a CUDA program whose kernels are in the cache, through `anywarp run`, against a bare hello-world
# process; and that no LLVM is mapped then, in the program or any child, while the cold run does map it.
# Usage: warm.py ANYWARP PROGRAM [--limit-ms 15] [--runs 20]
# SPDX-License-Identifier: Apache-2.0
import argparse
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time

HELLO = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n'


def timed(command, env):
    t0 = time.perf_counter()
    run = subprocess.run(command, env=env, capture_output=True, text=True)
    ms = (time.perf_counter() - t0) * 1e3
    if run.returncode:
        sys.exit(f"warm: {command}: exit {run.returncode}\n{run.stdout}{run.stderr}")
    return ms


def maps_llvm(command, env, folder):
    """Whether any process of the command opened libLLVM, as the dynamic linker reports it."""
    os.mkdir(folder)
    timed(command, dict(env, LD_DEBUG="files", LD_DEBUG_OUTPUT=os.path.join(folder, "ld")))
    logs = glob.glob(folder + "/ld.*")
    assert logs, "the dynamic linker wrote no log"
    return any("libLLVM" in open(log, errors="replace").read() for log in logs)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("anywarp")
    args.add_argument("program")
    args.add_argument("--limit-ms", type=float, default=15)
    args.add_argument("--runs", type=int, default=20)
    args = args.parse_args()
    command = [args.anywarp, "run", args.program]
    with tempfile.TemporaryDirectory() as tmp:
        env = dict(os.environ, ANYWARP_CACHE_DIR=os.path.join(tmp, "cache"), ANYWARP_DEVICE="host")
        hello = os.path.join(tmp, "hello")
        subprocess.run(["cc", "-xc", "-O1", "-o", hello, "-"], input=HELLO, text=True, check=True)
        cold_llvm = maps_llvm(command, dict(env, ANYWARP_CACHE_DIR=os.path.join(tmp, "cache2")), os.path.join(tmp, "cold"))
        cold = timed(command, env)
        warm, bare = [], []
        for _ in range(args.runs):  # in turn, so that both see the same noise
            warm.append(timed(command, env))
            bare.append(timed([hello], env))
        warm_llvm = maps_llvm(command, env, os.path.join(tmp, "warm"))
    cost = statistics.median(warm) - statistics.median(bare)
    print(f"warm: {os.path.basename(args.program)}: cold {cold:.1f} ms, warm {statistics.median(warm):.1f} ms, hello-world "
          f"{statistics.median(bare):.1f} ms, warm cost {cost:.1f} ms (best {min(warm) - min(bare):.1f}); "
          f"LLVM mapped cold: {cold_llvm}, warm: {warm_llvm}")
    if not cold_llvm or warm_llvm:
        sys.exit("warm: LLVM must be mapped in a cold run, and only there")
    if cost > args.limit_ms:
        sys.exit(f"warm: over the limit of {args.limit_ms} ms")


if __name__ == "__main__":
    main()
