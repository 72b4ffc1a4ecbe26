#!/usr/bin/env python3
# What launches, blocks, streams, copies, barriers and atomics cost on the host device: builds tests/bench/launch.cu and runs it.
# Usage: launch.py ANYWARP [--against OTHER-ANYWARP] [--turns N] [--row PREFIX]
# With --against, the two builds run in turns, and the ratio other/this of each row's processor time is shown: above 1, this is
# quicker.
# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launch.cu")


def build(folder):
    nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    program = os.path.join(folder, "launch")
    done = subprocess.run([os.path.realpath(nvcc), "-std=c++17", "-O2", "-arch=sm_80", "-cudart", "shared", "-o", program,
                           SOURCE],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"launch: nvcc: exit {done.returncode}\n{done.stderr}")
    return program


def measure(anywarp, program, args, cache):
    """{row: (wall ns, CPU ns, unit)}"""
    env = dict(os.environ, ANYWARP_CACHE_DIR=cache, ANYWARP_TIERS="off")
    done = subprocess.run([anywarp, "run", "--device=host", program, str(args.turns), args.row], capture_output=True, text=True,
                          env=env)
    if done.returncode:
        sys.exit(f"launch: {anywarp}: exit {done.returncode}\n{done.stderr[-2000:]}")
    found = re.findall(r"^(\S.*?)\s+([\d.]+)\s+([\d.]+)\s+per (.+)$", done.stdout, re.M)
    if not found:
        sys.exit(f"launch: no rows begin with {args.row!r}")
    return {name: (float(wall), float(cpu), unit) for name, wall, cpu, unit in found}


def least(rows, more):
    for name, (wall, cpu, unit) in more.items():
        old = rows.get(name, (wall, cpu, unit))
        rows[name] = (min(wall, old[0]), min(cpu, old[1]), unit)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("anywarp")
    p.add_argument("--against")
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--row", default="")
    args = p.parse_args()
    builds = [args.anywarp] + ([args.against] if args.against else [])
    results = [{} for _ in builds]
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder)
        for _ in range(args.rounds):
            for i, anywarp in enumerate(builds):
                least(results[i], measure(anywarp, program, args, os.path.join(folder, f"cache{i}")))
    print(f"{'':36} {'wall ns':>12} {'CPU ns':>12} {'other/this' if args.against else '':>12}")
    for name, (wall, cpu, unit) in results[0].items():
        ratio = f"{results[1][name][1] / max(cpu, 0.001):12.2f}" if args.against else ""
        print(f"{name:36} {wall:12.2f} {cpu:12.2f} {ratio}  per {unit}")


main()
