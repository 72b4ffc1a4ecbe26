#!/usr/bin/env python3
# Broken input end to end, on the real libraries: every case must give a clear error, leave the program alive, and leave
# nothing behind that harms the next run.  Usage: broken.py LIBDIR [--seed N] [--cases N]
# SPDX-License-Identifier: Apache-2.0
import argparse
import glob
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import registration  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
GOOD = registration.ptx_of(3)[:-1].decode()


def slow_ptx(n=4000):
    """A kernel that takes seconds to compile, a long chain of dependent, divergent steps; and one that does nothing."""
    steps = "\n".join(f"""
    xor.b32 %r2, %r1, {i * 7919 + 1}; rem.u32 %r3, %r2, {i % 13 + 2}; setp.eq.u32 %p1, %r3, 0; @%p1 bra L{i};
    mad.lo.u32 %r1, %r1, {i * 2 + 3}, {i}; st.global.u32 [buf+{i % 64 * 4}], %r1; L{i}:""" for i in range(n))
    return f""".version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .b8 buf[256];
.visible .entry quick()
{{
    ret;
}}
.visible .entry slow()
{{
    .reg .b32 %r<4>;
    .reg .pred %p<2>;
    mov.u32 %r1, %laneid;{steps}
    ret;
}}
"""


class Tests:
    def __init__(self, lib, seed, cases, tmp):
        self.tmp, self.lib, self.rng, self.cases = tmp, lib, random.Random(seed), cases
        self.cache = os.path.join(tmp, "cache")
        self.client = os.path.join(tmp, "client")
        self.passed = self.failed = 0
        subprocess.run(["cc", "-O1", "-o", self.client, os.path.join(HERE, "client.c"), os.path.join(lib, "libcuda.so.1"),
                        "-Wl,-rpath-link," + lib], check=True)
        self.env = dict(os.environ, LD_LIBRARY_PATH=lib, ANYWARP_CACHE_DIR=self.cache, ANYWARP_DEVICE="host")

    def path(self, name, content):
        path = os.path.join(self.tmp, name)
        with open(path, "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        return path

    def run(self, *args, **env):
        return subprocess.run([self.client, *args], env=dict(self.env, **env), capture_output=True, timeout=300)

    def check(self, name, ok, detail=""):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print(f"broken: {name}: FAILED {detail}", flush=True)

    def lives(self, name, run, allowed=None, at_least_one_error=True):
        """Lines of results; the client must have ended well, and each result must be an error that says something."""
        out = run.stdout.decode(errors="replace").splitlines()
        self.check(name + ": alive", run.returncode == 0 and out and out[-1] == "alive",
                   f"exit {run.returncode}, {out[-1:]}, {run.stderr[-600:]!r}")
        results = [line.split(" | ", 1) for line in out[:-1]]
        if at_least_one_error:
            self.check(name + ": errors", any(r[0] != "CUDA_SUCCESS" for r in results))
        for result in results:
            if allowed and result[0] not in allowed:
                self.check(name + ": code", False, result[0])
        return results

    def fatbins(self):
        whole = registration.container(registration.ptx_of(0))
        cuts = range(0, len(whole), 64)
        codes = {"CUDA_ERROR_INVALID_IMAGE", "CUDA_ERROR_NO_BINARY_FOR_GPU", "CUDA_ERROR_INVALID_PTX",
                 "CUDA_ERROR_FILE_NOT_FOUND", "CUDA_ERROR_INVALID_SOURCE"}
        cut = [self.path(f"cut{n}", whole[:n]) for n in cuts]
        results = self.lives("fatbin files cut at every 64th byte", self.run("files", *cut), codes)
        self.check("cut files: one result each", len(results) == len(cut), str(len(results)))
        zeroed = [self.path(f"zero{n}", whole[:n] + bytes(len(whole) - n)) for n in cuts if n]
        self.lives("fatbins zeroed from every 64th byte", self.run("data", *zeroed))
        flips = []
        for i in range(self.cases):
            bad = bytearray(whole)
            for _ in range(self.rng.randint(1, 4)):  # in the headers, where it hurts
                bad[self.rng.randrange(0, 96)] = self.rng.randrange(256)
            flips.append(self.path(f"flip{i}", bytes(bad)))
        self.lives("fatbin files with damaged headers", self.run("files", *flips))

    def ptx(self):
        files = []
        for i in range(self.cases):
            bad = bytearray(GOOD[:4000].encode())
            for _ in range(self.rng.randint(1, 20)):
                bad[self.rng.randrange(len(bad))] = self.rng.randrange(1, 256)
            files.append(self.path(f"ptx{i}", bytes(bad)))
        for i in range(self.cases // 4):
            noise = bytes(self.rng.randrange(1, 256) for _ in range(self.rng.randint(1, 3000)))
            files.append(self.path(f"noise{i}", b".version 7.0\n.target sm_70\n.address_size 64\n" + noise))
        results = self.lives("PTX with random bytes", self.run("data", *files))
        silent = [r for r in results if r[0] == "CUDA_ERROR_INVALID_PTX" and "error" not in r[-1]]
        self.check("PTX with random bytes: each error says where", not silent, str(silent[:3]))

    def unknown_instruction(self):
        ptx = GOOD.replace("add.u32 %r2, %r1, 1;", "frobnicate.u32 %r2, %r1, 1;")
        run = self.run("kernel", self.path("unknown.ptx", ptx), "k3_1")
        self.lives("unknown instruction", run)
        text = run.stderr.decode(errors="replace")
        self.check("unknown instruction: names kernel and instruction", "frobnicate" in text and "k3_1" in text, text[-400:])

    def caches(self):
        for f in glob.glob(self.cache + "/**/*", recursive=True):
            if os.path.isfile(f):
                os.unlink(f)
        ptx = self.path("empty.ptx", ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry e() { ret; }\n")
        self.check("cache: cold", self.run("kernel", ptx, "e").stdout.startswith(b"CUDA_SUCCESS"))
        files = [f for f in glob.glob(self.cache + "/**/*", recursive=True) if os.path.isfile(f) and os.path.getsize(f)]
        self.check("cache: files", len(files) >= 4, str(files))
        for f in files:
            whole = open(f, "rb").read()
            for n in (0, 1, 32, 63, 64, 65, len(whole) // 2, len(whole) - 1):
                open(f, "wb").write(whole[:n])
                run = self.run("kernel", ptx, "e")
                self.check(f"cache: truncated to {n}", run.stdout == b"CUDA_SUCCESS | \nalive\n", run.stdout + run.stderr)
            self.check("cache: healed", os.path.getsize(f) == len(whole))
            flipped = bytearray(whole)
            flipped[self.rng.randrange(len(whole))] ^= 1 << self.rng.randrange(8)
            open(f, "wb").write(flipped)
            run = self.run("kernel", ptx, "e")
            self.check("cache: one bit flipped", run.stdout == b"CUDA_SUCCESS | \nalive\n", run.stdout + run.stderr)

    def workers_of(self, marker):
        """Process ids of compilers at work, started under our marker in the environment: the children of their supervisors."""
        found = {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                if b"anywarp-compiler" in open(f"/proc/{entry}/cmdline", "rb").read() and \
                        marker.encode() in open(f"/proc/{entry}/environ", "rb").read():
                    found[int(entry)] = int(open(f"/proc/{entry}/stat").read().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
        return [pid for pid, parent in found.items() if parent in found]

    def killed_compiler(self, sig):
        name = f"compiler ended by {signal.Signals(sig).name} in mid-compile"
        marker = f"AW_E2E_MARK={os.getpid()}.{int(sig)}.{time.monotonic_ns()}"
        slow = self.path("slow.ptx", slow_ptx())
        key, value = marker.split("=")
        cache = os.path.join(self.tmp, "cache-" + value)
        run = self.run("kernel", slow, "quick", ANYWARP_CACHE_DIR=cache)
        self.check(name + ": the module's manifest", run.stdout.startswith(b"CUDA_SUCCESS"), run.stdout + run.stderr[-500:])
        proc = subprocess.Popen([self.client, "kernel", slow, "slow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=dict(self.env, **{key: value}, ANYWARP_CACHE_DIR=cache))
        hit = False
        for _ in range(3000):
            pids = self.workers_of(marker)
            if pids:
                time.sleep(0.05)  # the kernel is all that it has to do, and takes 20 times as long on a quick machine
                for pid in pids:
                    try:
                        os.kill(pid, sig)
                        hit = True
                    except ProcessLookupError:
                        pass
                break
            time.sleep(0.01)
        out, err = proc.communicate(timeout=300)
        self.check(name + ": was running", hit)
        lines = out.decode().splitlines()
        self.check(name + ": program lives", proc.returncode == 0 and lines and lines[-1] == "alive", f"{out!r} {err[-500:]!r}")
        self.check(name + ": an error", bool(lines) and not lines[0].startswith("CUDA_SUCCESS"), str(lines[:1]))
        self.check(name + ": says so", b"compiler" in err and b"signal" in err, err[-500:])
        run = self.run("kernel", slow, "slow", ANYWARP_CACHE_DIR=cache)
        self.check(name + ": next run works", run.stdout.startswith(b"CUDA_SUCCESS"), run.stdout + run.stderr[-500:])


def main():
    args = argparse.ArgumentParser()
    args.add_argument("libdir")
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--cases", type=int, default=100)
    args = args.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        tests = Tests(os.path.abspath(args.libdir), args.seed, args.cases, tmp)
        tests.fatbins()
        tests.ptx()
        tests.unknown_instruction()
        tests.caches()
        tests.killed_compiler(signal.SIGKILL)
        tests.killed_compiler(signal.SIGABRT)
    print(f"broken: seed {args.seed}: {tests.passed} checks passed, {tests.failed} failed")
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main())
