"""Compiles a kernel that is large and tangled, with jumps from anywhere to anywhere among 5,000 labels, for one of AMD's cards,
within a minute of the processor's time; one of 6,000 small loops, each with registers of its own, as quick code of the host
within twelve seconds; and one that goes to its local memory 3,000 times, for the host, within 25 seconds.

    python3 large.py ANYWARP_COMPILER
"""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

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


def loops(n):
    lines = [f".reg .b32 %a<{n}>, %b<{n}>, %c<{n}>;\n"]
    for i in range(n):
        lines.append(f"setp.gt.u32 %q, %lim, {i};\n@%q bra S{i};\nld.global.u32 %a{i}, [%p+{4 * i}];\n"
                     f"R{i}:\nadd.u32 %b{i}, %a{i}, %t;\natom.global.cas.b32 %c{i}, [%p+{4 * i}], %a{i}, %b{i};\n"
                     f"setp.ne.u32 %q, %c{i}, %a{i};\nmov.u32 %a{i}, %c{i};\n@%q bra R{i};\nS{i}:\n")
    return HEAD + "".join(lines) + TAIL


def frames(n):
    """As code whose stack has many words, and a place that is not known."""
    lines = [".local .align 16 .b8 frame[8192];\n.reg .b64 %f, %s;\nmov.u64 %f, frame;\nand.b32 %n, %lim, 4080;\n"
             "cvt.u64.u32 %s, %n;\nadd.u64 %f, %f, %s;\n"]
    for i in range(n):
        at, other = 4 * (i * 7 % 1000), 4 * (i * 13 % 1000)
        lines.append(f"ld.local.u32 %t, [%f+{at}];\nadd.u32 %v{i % 8}, %v{i % 8}, %t;\nst.local.u32 [%f+{other}], %v{i % 8};\n")
        if i % 8 == 7:  # blocks, so that a word that was just stored is not known
            lines.append(f"setp.gt.u32 %q, %v0, {i};\n@%q bra F{i};\nadd.u32 %v1, %v1, 3;\nF{i}:\n")
    return HEAD + "".join(lines) + TAIL


def compiles(compiler, name, text, target, emit, seconds):
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with tempfile.TemporaryDirectory() as folder:
        source, made = pathlib.Path(folder, "large.ptx"), pathlib.Path(folder, "large.o")
        source.write_text(text)
        done = subprocess.run([compiler, "compile", source, "--target", target, f"--emit={emit}", "-o", made],
                              stderr=subprocess.PIPE, preexec_fn=limit)
        good = done.returncode == 0 and made.read_bytes()[:4] == b"\x7fELF"
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    print(f"{'ok' if good else 'FAILED'}: {name} {took:.1f} s" +
          ("" if good else f", exit {done.returncode}: {done.stderr.decode()[-300:]}"))
    return good


def main(compiler):
    good = compiles(compiler, "tangled", scattered(5000), "gfx1030", "obj", 60)
    good = compiles(compiler, "frame", frames(1500), "host:haswell", "so", 25) and good
    return not (compiles(compiler, "loops", loops(6000), "host:haswell,+quick", "so", 12) and good)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
