#!/usr/bin/env python3
# PTX of another front end than nvcc: clang's CUDA C++ and C on LLVM's NVPTX backend, at several levels of optimisation, run
# through us and compared with this processor.  Usage: front.py ANYWARP RUNNER [DEVICE...]; exit 77 when there is no clang with
# NVPTX.
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COMMON = ["-S", "-ffp-contract=off"]
LANGUAGES = {
    "cuda": ["-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-path=" + HERE, "--cuda-feature=+ptx80",
             "-std=c++17", "--cuda-gpu-arch=", "kernels.cu"],
    "c": ["--target=nvptx64-nvidia-cuda", "-nogpulib", "-std=gnu17", "-march=", "kernels.c"],
}


# Unoptimised code has everything in local memory and calls everything.
MODULES = [("cuda", "sm_80", "0"), ("cuda", "sm_80", "2"), ("cuda", "sm_90", "3"), ("c", "sm_80", "1"), ("c", "sm_90", "3")]


def find_clang():
    for name in (os.environ.get("AW_CLANG"), "clang-22", "clang"):
        path = shutil.which(name) if name else None
        if path and "nvptx64" in subprocess.run([path, "--print-targets"], capture_output=True, text=True).stdout:
            return path
    return None


def compile_ptx(clang, language, arch, level, out):
    words = [word + arch if word.endswith("arch=") else os.path.join(HERE, word) if word.startswith("kernels") else word
             for word in LANGUAGES[language]]
    path = os.path.join(out, f"{language}-{arch}-O{level}.ptx")
    done = subprocess.run([clang, *COMMON, f"-O{level}", *words, "-o", path], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"frontends: {clang} fails\n{done.stderr}")
    return path


def main():
    anywarp, runner, devices = sys.argv[1], sys.argv[2], sys.argv[3:] or ["host"]
    clang = find_clang()
    if not clang:
        print("frontends: no clang with the NVPTX backend; skipped")
        return 77
    bad = 0
    with tempfile.TemporaryDirectory() as tmp:
        env = {**os.environ, "ANYWARP_CACHE_DIR": os.path.join(tmp, "cache")}
        texts = [(language, compile_ptx(clang, language, arch, level, tmp)) for language, arch, level in MODULES]
        for device in devices:
            for language, path in texts:
                command = [anywarp, "run", f"--device={device}", runner, path] + (["c++"] if language == "cuda" else [])
                done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
                print(f"{device} {os.path.basename(path)}: exit {done.returncode}: {done.stdout.strip()}")
                if done.returncode:
                    print(done.stderr[-3000:])
                    bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
