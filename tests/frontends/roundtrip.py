#!/usr/bin/env python3
# What our printer makes of valid PTX must mean the same to NVIDIA's own assembler: ptxas takes it, and makes the same machine
# code of it to the byte.  Needs ptxas on PATH (or in $PTXAS); exit 77 without.
# Usage: roundtrip.py PTX_FRONT FILE.ptx...              PTX_FRONT: tests/ptx/front.c
#        roundtrip.py PTX_FRONT --apps FOLDER            every .cu of the folder, through nvcc
# A file that ptxas does not take as it stands says nothing here; should that be all of them, the test fails.
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

OLDEST = 75  # what ptxas 13 still knows


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace")


def assemble(ptxas, text, out):
    """The machine code of `text`, None when ptxas refuses it; and what it said."""
    with open(text, encoding="utf-8", errors="replace") as f:
        named = re.search(r"^\s*\.target\s+sm_(\d+)([af]?)", f.read(), re.M)
    arch = f"sm_{named[1]}{named[2]}" if named and int(named[1]) >= OLDEST else f"sm_{OLDEST}"
    done = run(ptxas, "-O1", "-arch=" + arch, text, "-o", out)
    if done.returncode:
        return None, done.stdout + done.stderr
    with open(out, "rb") as f:
        return f.read(), ""


def without_places(path, out):
    with open(path, encoding="utf-8", errors="replace") as f, open(out, "w", encoding="utf-8") as g:
        g.writelines(line for line in f if not line.lstrip().startswith(".loc"))
    return out


def texts_of_apps(folder, tmp):
    nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or sys.exit("roundtrip: nvcc is not there")
    texts = []
    for path in sorted(glob.glob(os.path.join(folder, "*.cu"))):
        texts.append(os.path.join(tmp, os.path.basename(path)[:-3] + ".ptx"))
        flags = ["-rdc=true"] if os.path.basename(path).startswith("rdc_") else []
        done = run(os.path.realpath(nvcc), "-std=c++17", "-arch=compute_80", *flags, "-ptx", path, "-o", texts[-1])
        if done.returncode:
            sys.exit(f"roundtrip: nvcc does not take {path}\n{done.stderr[-2000:]}")
    return texts


def check(front, ptxas, text, tmp):
    """"" when all is well, None when ptxas refuses the original, else what is wrong."""
    printed, out = os.path.join(tmp, "printed.ptx"), os.path.join(tmp, "out.cubin")
    before, _ = assemble(ptxas, text, out)
    if before is None:
        return None
    done = run(front, "print", text)
    if done.returncode:
        return "does not print: " + done.stdout[-500:]
    with open(printed, "w", encoding="utf-8") as f:
        f.write(done.stdout)
    after, said = assemble(ptxas, printed, out)
    if after is None:
        return "ptxas refuses what was printed:\n" + said[:2000]
    if after != before and ".loc" in done.stdout: # line tables hold the places in the PTX itself, which printing moves
        before, after = (assemble(ptxas, without_places(path, os.path.join(tmp, "bare.ptx")), out)[0] for path in (text, printed))
    return "" if after == before and after else "ptxas makes other machine code of what was printed"


def main():
    front, rest = sys.argv[1], sys.argv[2:]
    ptxas = os.environ.get("PTXAS") or shutil.which("ptxas")
    if not ptxas:
        print("roundtrip: there is no ptxas on PATH; skipped")
        return 77
    good = refused = bad = 0
    with tempfile.TemporaryDirectory() as tmp:
        for text in texts_of_apps(rest[1], tmp) if rest[0] == "--apps" else rest:
            wrong = check(front, ptxas, text, tmp)
            good += wrong == ""
            refused += wrong is None
            if wrong:
                print(f"{text}: {wrong}")
                bad += 1
    print(f"roundtrip: {good} the same, {bad} wrong, {refused} that ptxas does not take to begin with")
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main())
