#!/usr/bin/env python3
# How good our code for AMD's cards is: kernels.cu through nvcc's PTX and our compiler, against the same file through clang
# straight to the card.  Compares what is in the code and, with --run, what is executed on the simulated card; both must give the
# same results there.
# SPDX-License-Identifier: Apache-2.0
import argparse
import array
import collections
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# ---- Instructions by class, by the first pattern that fits the mnemonic
CLASSES = [
    ("branch", r"s_(c?branch|setpc|swappc|call)"),
    ("wait", r"s_(waitcnt|wait_|nop|delay_alu|clause|inst_prefetch|set_inst_prefetch|sleep|code_end|sendmsg|endpgm|barrier|"
             r"denorm|round)"),
    ("smem", r"s_(load|buffer_load|store|dcache|scratch|gl1_inv|memtime|memrealtime)"),
    ("salu", r"s_"),
    ("vmem", r"(global|flat|buffer|image|tbuffer)_"),
    ("scratch", r"scratch_"),
    ("lds", r"ds_"),
    ("valu", r"v_"),
]
ORDER = ["valu", "salu", "smem", "vmem", "lds", "scratch", "branch", "wait"]


def class_of(mnemonic):
    for name, pattern in CLASSES:
        if re.match(pattern, mnemonic):
            return name
    sys.exit(f"ratio: instruction of no class: {mnemonic}")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        sys.exit(f"ratio: {' '.join(command)}: exit {done.returncode}\n{done.stderr[-3000:]}")
    return done.stdout


def tool(name, variable=None):
    """An LLVM tool of the version we build with, or whatever there is."""
    candidates = [os.environ.get(variable) if variable else None, shutil.which(name + "-22"), shutil.which(name)]
    found = next((c for c in candidates if c), None)
    return found or sys.exit(f"ratio: {name} is not there")


def static_counts(path):
    """{kernel: {class: count}} of a code object."""
    code, current = {}, None
    for line in run(tool("llvm-objdump"), "-d", "--no-show-raw-insn", path).splitlines():
        symbol, word = re.match(r"[0-9a-f]+ <(\S+)>:", line), re.match(r"\s+(s_nop 0\b|[a-z]\w+)", line)
        if symbol:
            current = code.setdefault(symbol[1], [])
        elif word and current is not None:
            current.append(word[1])
    counts = {}
    for kernel, words in code.items():
        while words and words[-1] in ("s_code_end", "s_nop", "s_nop 0"):  # padding
            words.pop()
        # Runs of s_nop 0 align a loop's head; a hazard takes one with a count.
        names = [class_of(word) for i, word in enumerate(words) if word != "s_nop 0" or word not in words[max(i - 1, 0):i]
                 + words[i + 1:i + 2]]
        counts[kernel] = {name: names.count(name) for name in ORDER}
    return counts


RESOURCES = ["vgpr_count", "sgpr_count", "vgpr_spill_count", "sgpr_spill_count", "private_segment_fixed_size",
             "group_segment_fixed_size"]


def resources(path):
    """{kernel: (VGPRs, SGPRs, spilled VGPRs, spilled SGPRs, bytes of scratch, bytes of LDS)} from the object's note."""
    found, note = {}, run(tool("llvm-readelf"), "--notes", path)
    for part in re.split(r"^\s+- (?=\.agpr_count|\.args)", note, flags=re.M)[1:]:
        name = re.search(r"\.symbol:\s+'?([^\s']+)\.kd", part)
        if name:
            found[name[1]] = tuple(int(re.search(rf"\.{key}:\s+(\d+)", part)[1]) for key in RESOURCES)
    return found


# ---- Building both
ROLLED = ["-include", os.path.join(HERE, "rolled.h")]


def build_clang(target, out, extra):
    clang = os.environ.get("AW_CLANG") or tool("clang")
    path = os.path.join(out, f"clang-{target}.hsaco")
    # nvcc contracts a * b + c as clang does with this setting; neither takes other liberties.
    run(clang, "-x", "hip", "--cuda-device-only", f"--offload-arch={target}", "-nogpuinc", "-nogpulib", "-mcode-object-version=4",
        "-O3",
        "-std=c++17", "-ffp-contract=fast-honor-pragmas", "-include", os.path.join(HERE, "amdgcn.h"), *extra,
        os.path.join(HERE, "kernels.cu"),
        "--no-gpu-bundle-output", "-o", path)
    return path


def ptx_of(args, out):
    if args.ptx:
        return args.ptx
    wheels = os.path.join(HERE, "..", "..", "..", ".deps", "cuda", "bin", "nvcc") # as tools/setup lays them
    nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or next((p for p in ("/usr/local/cuda/bin/nvcc", wheels)
                                                                   if os.path.exists(p)), wheels)
    path = os.path.join(out, "kernels.ptx")
    run(os.path.realpath(nvcc), "-std=c++17", "-arch=compute_80", "-ptx", *(ROLLED if args.rolled else []),
        os.path.join(HERE, "kernels.cu"), "-o", path)
    return path


def build_ours(anywarp, ptx, target, out, kernels, shaped):
    """{kernel: path}"""
    paths, specs = {}, launches() if shaped else {}
    for kernel in kernels:
        block = (specs[kernel].block.split(",") + ["1", "1"])[:3] if shaped else ["0"] * 3
        paths[kernel] = os.path.join(out, f"ours-{target}-{kernel}.hsaco")
        run(anywarp, "compile", ptx, "--target", target, "--kernel", kernel, "--code-object", "4", "-O3", "--block",
            ",".join(block), "-o", paths[kernel])
    return paths


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def mean_of_counts(pairs):
    """Geometric mean of ratios of numbers that may be 0."""
    return geomean([(a + 1) / (b + 1) for a, b in pairs])


def markdown_table(target, clang, ours):
    theirs, theirs_of = static_counts(clang), resources(clang)
    print(f"| {target}, ours/clang | instructions | ratio | VGPRs | SGPRs | spills (V+S) | scratch | LDS "
          f"|\n|---|---|---|---|---|---|---|---|")
    rows = []
    for kernel, path in ours.items():
        a, b = sum(static_counts(path)[kernel].values()), sum(theirs[kernel].values())
        ra, rb = resources(path)[kernel], theirs_of[kernel]
        spills = [(r[2] + r[3]) for r in (ra, rb)]
        rows.append((a / b, ra, rb))
        print(f"| {kernel} | {a}/{b} | {a / b:.2f} | {ra[0]}/{rb[0]} | {ra[1]}/{rb[1]} | {spills[0]}/{spills[1]} | "
              f"{ra[4]}/{rb[4]} | {ra[5]}/{rb[5]} |")
    mean = geomean([row[0] for row in rows])
    registers = [mean_of_counts([(row[1][i], row[2][i]) for row in rows]) for i in (0, 1)]
    print(f"| geometric mean of {len(rows)} | | {mean:.2f} | {registers[0]:.2f} | {registers[1]:.2f} | | | |\n")
    return mean


def static_table(target, clang, ours):
    theirs, theirs_of = static_counts(clang), resources(clang)
    print(f"{target}: instructions in the code, ours/clang")
    print(f"{'':15}" + "".join(f"{name:>10}" for name in ORDER)
          + f"{'all':>11} {'ratio':>6}  {'VGPRs':>7} {'SGPRs':>7} {'spills':>7} {'scratch':>9} {'LDS':>11}")
    ratios = []
    for kernel, path in ours.items():
        a, b = static_counts(path)[kernel], theirs[kernel]
        ra, rb = resources(path)[kernel], theirs_of[kernel]
        ratios.append(sum(a.values()) / sum(b.values()))
        print(f"{kernel:15}" + "".join(f"{f'{a[n]}/{b[n]}':>10}" for n in ORDER)
              + f"{f'{sum(a.values())}/{sum(b.values())}':>11} "
              f"{ratios[-1]:6.3f}  {f'{ra[0]}/{rb[0]}':>7} {f'{ra[1]}/{rb[1]}':>7} {f'{ra[2] + ra[3]}/{rb[2] + rb[3]}':>7} "
              f"{f'{ra[4]}/{rb[4]}':>9} {f'{ra[5]}/{rb[5]}':>11}")
    print(f"{target}: geometric mean of {len(ratios)} kernels: {geomean(ratios):.3f}\n")
    return geomean(ratios)


# ---- Execution
Launch = collections.namedtuple("Launch", "grid block args")  # args: numbers as simgpu-run takes them, or Buffers
# array's type code; check: None (not looked at), a relative tolerance, or FEW: one in a hundred may be anything, as where a
# point leaves the Mandelbrot iteration late, rounding decides
Buffer = collections.namedtuple("Buffer", "code values check")
FEW = "few"


def floats(rng, n, low=0.0, high=1.0, code="f"):
    return array.array(code, (rng.uniform(low, high) for _ in range(n)))


def given(values):
    return Buffer(values.typecode, values, None)


def made(code, n, check):
    return Buffer(code, array.array(code, bytes(array.array(code).itemsize * n)), check)


def changed(values, check):
    return Buffer(values.typecode, values, check)


def sparse(rng, rows, cols, longest):
    """CSR: starts, columns."""
    start, col = array.array("i", [0]), array.array("i")
    for row in range(rows):
        col.extend(rng.randrange(cols) for _ in range(0 if row % 7 == 0 else rng.randrange(longest)))
        start.append(len(col))
    return start, col


def launches():
    """{kernel: Launch}, the same on every run."""
    rng = random.Random(7)
    words = lambda n, top=1 << 32: array.array("I", (rng.randrange(top) for _ in range(n)))
    s1, c1 = sparse(rng, 2000, 1000, 24)
    s2, c2 = sparse(rng, 1000, 1000, 120)
    turn = array.array("f")
    for k in range(256):
        turn.extend((math.cos(-2 * math.pi * k / 512), math.sin(-2 * math.pi * k / 512)))
    f = lambda n, low=0.0, high=1.0: given(floats(rng, n, low, high))
    d = lambda n: given(floats(rng, n, code="d"))
    return {
        "saxpy": Launch("40", "256", ["i32:10000", "f32:2.5", f(10000), changed(floats(rng, 10000), 0)]),
        "triad": Launch("16", "256", [made("d", 20000, 0), d(20000), d(20000), "f64:3", "i32:20000"]),
        "reduce_shuffle": Launch("16", "256", [f(50000), made("f", 16, 1e-5), "i32:50000"]),
        "reduce_shared": Launch("16", "256", [d(8000), made("d", 16, 1e-12), "i32:8000"]),
        "scan": Launch("8", "1024", [given(array.array("i", (rng.randrange(-9, 9) for _ in range(8000)))), made("i", 8000, 0),
                                     made("i", 8, 0), "i32:8000"]),
        "transpose": Launch("7,5", "32,8", [f(200 * 150), made("f", 200 * 150, 0), "i32:200", "i32:150"]),
        "stencil": Launch("3,5", "32,8", [f(90 * 35 * 20), made("f", 90 * 35 * 20, 1e-5), "i32:90", "i32:35", "i32:20"]),
        "matmul": Launch("5,5", "16,16", [f(6400, -1), f(6400, -1), made("f", 6400, 1e-4), "i32:80"]),
        "nbody": Launch("4", "128", [f(2048), made("f", 2048, 1e-3), "i32:512", "f32:0.01"]),
        "black_scholes": Launch("40", "256", [made("f", 10000, 1e-3), made("f", 10000, 1e-3), f(10000, 5, 30), f(10000, 1, 100),
                                              f(10000, 0.25, 10), "f32:0.02", "f32:0.3", "i32:10000"]),
        "mandelbrot": Launch("8,8", "16,8", [made("i", 120 * 60, FEW), "i32:120", "i32:60", "f32:-2", "f32:-1", "f32:0.025",
                                             "i32:200"]),
        "histogram": Launch("16", "256", [given(words(20000)), made("I", 256, 0), "i32:20000"]),
        "bitonic": Launch("8", "256", [changed(words(4096), 0)]),
        "spmv_scalar": Launch("16", "128", ["i32:2000", given(s1), given(c1), d(len(c1)), d(1000), made("d", 2000, 1e-12)]),
        "spmv_warp": Launch("250", "128", ["i32:1000", given(s2), given(c2), f(len(c2)), f(1000), made("f", 1000, 1e-4)]),
        "softmax": Launch("8", "128", [f(32000, -4, 4), made("f", 32000, 1e-4), "i32:1000"]),
        "fft": Launch("8", "256", [changed(floats(rng, 8192, -1), 1e-3), given(turn)]),
        "philox": Launch("40", "256", [made("I", 40000, 0), "u32:12345", "i32:10000"]),
        "hash64": Launch("40", "256", [given(array.array("Q", (rng.randrange(1 << 64) for _ in range(10000)))),
                                       made("Q", 10000, 0),
                                       made("i", 1, 0), "i32:10000"]),
        "scatter_add": Launch("16", "256", [given(words(4000, 1000)), f(4000), made("f", 1000, 1e-4), "i32:4000"]),
    }


# The simulator's classes as ours; f32 arithmetic, transcendentals, f64 and lane movement are all one instruction each.
SIM_CLASSES = {"VALU": "valu", "TRANS": "valu", "F64": "valu", "LANES": "valu", "MATRIX": "valu", "SALU": "salu", "SMEM": "smem",
               "VMEM_LOAD": "vmem", "VMEM_STORE": "vmem", "VMEM_ATOMIC": "vmem", "SCRATCH": "scratch", "LDS": "lds",
               "IMAGE": "vmem",
               "BRANCH": "branch", "BARRIER": "wait", "WAIT": "wait", "OTHER": "wait"}


def execute(simulator, target, path, kernel, launch, hidden, folder):
    """{class: count} and {number of the buffer: its values afterwards}."""
    command, buffers = [simulator, "--card", target, "--json", "--grid", launch.grid, "--block", launch.block], []
    arguments = []
    for arg in launch.args:
        if isinstance(arg, str):
            arguments.append(arg)
            continue
        n = len(buffers)
        buffers.append(arg)
        name = os.path.join(folder, f"in{n}")
        with open(name, "wb") as f:
            arg.values.tofile(f)
        arguments.append(f"buf:{len(arg.values) * arg.values.itemsize}={name}")
        if arg.check is not None:
            command += ["--dump", f"{n}={os.path.join(folder, f'out{n}')}"]
    done = subprocess.run(command + [path, kernel] + arguments + hidden, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"ratio: {kernel}: {path}: exit {done.returncode}\n{done.stderr[-2000:]}")
    counts = dict.fromkeys(ORDER, 0)
    for name, count in json.loads(done.stdout.splitlines()[-1])["executed"].items():
        counts[SIM_CLASSES[name]] += count
    results = {}
    for n, buffer in enumerate(buffers):
        if buffer.check is not None:
            results[n] = array.array(buffer.code)
            with open(os.path.join(folder, f"out{n}"), "rb") as f:
                results[n].frombytes(f.read())
    return counts, results


def compare(kernel, launch, ours, theirs):
    """Fails unless results agree, and unless something was written at all."""
    buffers = [arg for arg in launch.args if not isinstance(arg, str)]
    for n, mine in ours.items():
        if mine == buffers[n].values:
            sys.exit(f"ratio: {kernel}: buffer {n} was not written")
        few = buffers[n].check == FEW
        top, tolerance = max(map(abs, theirs[n])), 0 if few else buffers[n].check
        wrong = [i for i, (a, b) in enumerate(zip(mine, theirs[n])) if not abs(a - b) <= tolerance * max(abs(b), top / 100)]
        if len(wrong) > (len(mine) // 100 if few else 0):
            i = wrong[0]
            sys.exit(f"ratio: {kernel}: {len(wrong)} wrong; buffer {n}[{i}]: ours {mine[i]!r}, clang's {theirs[n][i]!r}")


def run_table(simulator, target, clang, ours, folder):
    print(f"{target}: wave-instructions executed, ours/clang")
    print(f"{'':15}" + "".join(f"{name:>15}" for name in ORDER if name != "scratch") + f"{'all':>16} {'ratio':>6}")
    ratios = []
    specs = launches()
    for kernel, path in ours.items():
        launch = specs[kernel]
        a, mine = execute(simulator, target, path, kernel, launch, ["u64:0", "u64:0"], folder)  # arena, environment
        b, other = execute(simulator, target, clang, kernel, launch, [], folder)
        compare(kernel, launch, mine, other)
        ratios.append(sum(a.values()) / sum(b.values()))
        print(f"{kernel:15}" + "".join(f"{f'{a[n]}/{b[n]}':>15}" for n in ORDER if n != "scratch") +
              f"{f'{sum(a.values())}/{sum(b.values())}':>16} {ratios[-1]:6.3f}")
    print(f"{target}: geometric mean of {len(ratios)} kernels: {geomean(ratios):.3f}; all results agree\n")
    return geomean(ratios)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("anywarp")
    args.add_argument("--target", action="append", help="default gfx1030")
    args.add_argument("--ptx", help="PTX of kernels.cu, where there is no nvcc")
    args.add_argument("--kernel", action="append")
    args.add_argument("--run", metavar="SIMGPU_RUN", help="execute too, with this program of tests/simgpu")
    args.add_argument("--limit", type=float, help="fail when the geometric mean (executed with --run, else in the code) is above")
    args.add_argument("--rolled", action="store_true", help="let neither nvcc nor clang unroll loops")
    args.add_argument("--shaped", action="store_true",
                      help="compile ours for the shape of block that is launched, as the runtime does")
    args.add_argument("--markdown", action="store_true", help="what is in the code, as docs/performance.md has it")
    args.add_argument("--keep", help="folder for the code objects")
    args = args.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        out = args.keep or tmp
        os.makedirs(out, exist_ok=True)
        ptx = ptx_of(args, out)
        names = run(args.anywarp, "compile", ptx, "--emit=kernels").split()
        for target in args.target or ["gfx1030"]:
            clang = build_clang(target, out, ROLLED if args.rolled else [])
            ours = build_ours(args.anywarp, ptx, target, out, [n for n in names if not args.kernel or n in args.kernel],
                              args.shaped)
            mean = (markdown_table if args.markdown else static_table)(target, clang, ours)
            if args.run:
                mean = run_table(args.run, target, clang, ours, tmp)
            if args.limit and mean > args.limit:
                sys.exit(f"ratio: {target}: {mean:.3f} is above {args.limit}")


main()
