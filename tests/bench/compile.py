#!/usr/bin/env python3
# What compiling a kernel for the first time costs: processor time in the compiler, kernel by kernel, for each target, and which
# steps it goes to: of all kernels together, and of those around the median.  Nothing is run.
# Usage: compile.py ANYWARP [--target T]... [--block X[,Y,Z]]... [--limit-s S] [--slowest N] [FILE...]
# Blocks are as `anywarp compile --block` takes them; default: the shape 256,1,1, for kernels are compiled for the shape they are
# launched with. A FILE is a .cu (needs nvcc), a .ptx, or anything `anywarp dump --ptx` takes PTX out of; default: the programs
# of tests/apps. Fails when a kernel cannot be compiled or, with --limit-s, when one takes longer.
# SPDX-License-Identifier: Apache-2.0
import argparse
import glob
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

APPS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "apps")


def texts_of(anywarp, path, folder):
    """PTX files of one input."""
    if path.endswith(".ptx"):
        return [path]
    os.makedirs(folder)
    if path.endswith(".cu"):
        nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        out = os.path.join(folder, os.path.basename(path)[:-3] + ".ptx")
        command = [os.path.realpath(nvcc), "-std=c++17", "-arch=compute_80", "-ptx", path, "-o", out]
    else:
        command = [anywarp, "dump", "--ptx", "-o", folder, path]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"compile: {' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return sorted(glob.glob(folder + "/*.ptx"))


def measure(anywarp, target, block, text):
    """[(ms, bytes, "file: kernel", ok, {step: ms})] and the ms of reading the text."""
    done = subprocess.run([anywarp, "compile", "--time", "--target", target, "--block", block, text], capture_output=True,
                          text=True)
    opened = re.search(r"^\s*([\d.]+) ms open$", done.stderr, re.M)
    rows = re.findall(r"^\s*([\d.]+) ms\s+(\d+) bytes (ok|FAIL)\s+(\S+)\n\s+(\S.*)$", done.stderr, re.M)
    if not opened or (done.returncode and not any(row[2] == "FAIL" for row in rows)):
        sys.exit(f"compile: {text}: exit {done.returncode}\n{done.stderr[-2000:]}")
    name = os.path.basename(text)
    return [(float(ms), int(size), f"{name}: {kernel}", ok == "ok",
             {step: float(part) for step, part in re.findall(r"(\S+) ([\d.]+)", steps)})
            for ms, size, ok, kernel, steps in rows], float(opened[1])


def shares(rows):
    """ "code 70%, ..." from the largest down; steps below one percent are left out."""
    sums = {}
    for row in rows:
        for step, ms in row[4].items():
            sums[step] = sums.get(step, 0) + ms
    whole = sum(sums.values()) or 1
    return ", ".join(f"{step} {100 * ms / whole:.0f}%" for step, ms in sorted(sums.items(), key=lambda item: -item[1])
                     if ms > whole / 100)


def report(target, rows, opened, size, slowest):
    times = sorted(row[0] for row in rows if row[3])
    if not times:
        sys.exit(f"compile: {target}: no kernel was compiled")
    print(f"{target}: {len(times)} kernels; median {times[len(times) // 2]:.0f} ms, p95 {times[int(len(times) * 0.95)]:.0f} ms, "
          f"longest {times[-1]:.0f} ms, all {sum(times) / 1e3:.1f} s; parsing and checking {size / 1e3 / opened:.1f} MB/s")
    good = sorted((row for row in rows if row[3]), key=lambda row: row[0])
    middle = good[len(good) // 2 - len(good) // 10:len(good) // 2 + len(good) // 10 + 1]
    print(f"    where it goes: {shares(good)}; around the median: {shares(middle)}")
    for ms, code, name, *_ in sorted(rows, key=lambda row: -row[0])[:slowest]:
        print(f"    {ms:8.0f} ms {code:8} bytes  {name}")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("anywarp")
    args.add_argument("--target", action="append")
    args.add_argument("--block", action="append")
    args.add_argument("--limit-s", type=float)
    args.add_argument("--slowest", type=int, default=5)
    args.add_argument("files", nargs="*")
    args = args.parse_intermixed_args()
    files = args.files or [path for path in sorted(glob.glob(APPS + "/*.cu")) 
                           if not os.path.basename(path).startswith("rdc_")]  # those are parts of modules
    bad = []
    with tempfile.TemporaryDirectory() as tmp:
        texts = [text for i, path in enumerate(files) for text in texts_of(args.anywarp, path, os.path.join(tmp, str(i)))]
        size = sum(os.path.getsize(text) for text in texts)
        for target, block in itertools.product(args.target or ["host", "gfx1100"], args.block or ["256,1,1"]):
            rows, opened = [], 0.0
            for text in texts:
                more, ms = measure(args.anywarp, target, block, text)
                rows += more
                opened += ms
            label = f"{target}, block {block}"
            report(label, rows, opened, size, args.slowest)
            bad += [f"{label}: {name}: not compiled" for _, _, name, ok, _ in rows if not ok]
            bad += [f"{label}: {name}: {ms / 1e3:.1f} s" for ms, _, name, *_ in rows if args.limit_s and ms > args.limit_s * 1e3]
    if bad:
        sys.exit("compile: " + "\n         ".join(bad))


if __name__ == "__main__":
    main()
