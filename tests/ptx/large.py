"""Compiles a kernel that is large and tangled, with jumps from anywhere to anywhere among 5,000 labels, for one of AMD's cards,
within a minute of the processor's time.

    python3 large.py ANYWARP_COMPILER
"""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

SECONDS = 60
HEAD = (".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 limit)\n{\n"
        ".reg .b32 %v<8>, %n, %lim, %t;\n.reg .b64 %p, %o;\n.reg .pred %q;\n"
        "ld.param.u64 %p, [out];\nld.param.u32 %lim, [limit];\nmov.u32 %t, %tid.x;\nmov.u32 %n, 0;\n"
        + "".join(f"mad.lo.u32 %v{i}, %t, {2 * i + 1}, {977 * i};\n" for i in range(8)))
TAIL = "END:\nmov.u32 %t, %tid.x;\nmul.wide.u32 %o, %t, 4;\nadd.u64 %p, %p, %o;\nst.global.u32 [%p], %v0;\nret;\n}\n"


def scattered(labels):
    rng = random.Random(1)
    lines = []
    for i in range(labels):
        a, b, c, d = (rng.randrange(8) for _ in range(4))
        lines.append(f"L{i}:\nmad.lo.u32 %v{a}, %v{b}, {rng.randrange(1 << 31) | 1}, %v{c};\n"
                     "add.u32 %n, %n, 1;\nsetp.gt.u32 %q, %n, %lim;\n@%q bra END;\n"
                     f"and.b32 %t, %v{d}, {1 << rng.randrange(4, 28)};\nsetp.ne.u32 %q, %t, 0;\n@%q bra "
                     f"L{rng.randrange(labels)};\n")
        if rng.randrange(2):
            lines.append(f"bra L{rng.randrange(labels)};\n")
    return HEAD + "".join(lines) + "bra END;\n" + TAIL


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def main(compiler):
    with tempfile.TemporaryDirectory() as folder:
        text, made = pathlib.Path(folder, "large.ptx"), pathlib.Path(folder, "large.o")
        text.write_text(scattered(5000))
        done = subprocess.run([compiler, "compile", text, "--target", "gfx1030", "--emit=obj", "-o", made],
                              stderr=subprocess.PIPE, preexec_fn=limit)
        good = done.returncode == 0 and made.read_bytes()[:4] == b"\x7fELF"
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    print(f"{'ok' if good else 'FAILED'}: {took:.1f} s" + ("" if good
                                                           else f", exit {done.returncode}: {done.stderr.decode()[-300:]}"))
    return not good


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
