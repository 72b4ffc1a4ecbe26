#!/usr/bin/env python3
# The library for other programs: installs headers, library and anywarp.pc into an empty prefix, builds the examples of
# docs/embedding.md against them, runs them, and takes all away again.  Usage: devel.py SOURCE_ROOT BUILD_ROOT MESON CC.
# SPDX-License-Identifier: Apache-2.0
import ctypes
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

PTX = """.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
\t.reg .b64 %rd<2>;
\t.reg .b32 %r<2>;
\tld.param.u64 %rd1, [p];
\tmov.u32 %r1, 7;
\tst.global.u32 [%rd1], %r1;
\tret;
}
"""


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100, **more)


def examples(source):
    with open(os.path.join(source, "docs/embedding.md"), encoding="utf-8") as f:
        return re.findall(r"<!-- example: [^\n]*\n```c\n(.*?)```", f.read(), re.S)


class Text(ctypes.Structure):
    """struct aw_fatbin_text"""

    _fields_ = [("ptr", ctypes.c_char_p), ("len", ctypes.c_size_t), ("name", ctypes.c_char_p), ("sm", ctypes.c_uint32),
                ("debug", ctypes.c_bool)]


def fatbin_write(libdir, path):
    library = ctypes.CDLL(os.path.join(libdir, "libanywarp-compiler.so.0"))
    library.aw_fatbin_write.restype = ctypes.c_void_p
    text, size = Text(PTX.encode(), len(PTX), b"x.ptx", 75, False), ctypes.c_size_t()
    data = library.aw_fatbin_write(ctypes.byref(text), ctypes.c_size_t(1), ctypes.byref(size))
    with open(path, "wb") as f:
        f.write(ctypes.string_at(data, size.value))


def checks(source, build, meson, cc, tmp):
    installed = run([meson, "install", "-C", build, "--no-rebuild", "--quiet", "--tags", "devel", "--destdir", tmp])
    yield "install", installed.returncode == 0, installed.stdout
    found = glob.glob(tmp + "/**/anywarp.pc", recursive=True)
    yield "anywarp.pc", len(found) == 1, found
    libdir = os.path.dirname(os.path.dirname(found[0]))
    env = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=tmp, PKG_CONFIG_LIBDIR=os.path.dirname(found[0]), LD_LIBRARY_PATH=libdir)
    flags = run(["pkg-config", "--cflags", "--libs", "anywarp"], env=env)
    yield "pkg-config", flags.returncode == 0 and "-lanywarp-compiler" in flags.stdout, flags.stdout
    compiler, fatbin = examples(source)
    for name, text in (("x.c", compiler), ("f.c", fatbin), ("x.ptx", PTX), ("y.ptx", PTX.replace("7;", "seven;"))):
        with open(os.path.join(tmp, name), "w", encoding="utf-8") as f:
            f.write(text)
    headers = "".join(f"#include <anywarp/{os.path.basename(h)}>\n" for h in glob.glob(tmp + "/**/anywarp/*.h", recursive=True))
    built = run([*cc, "-Wall", "-Werror", "-o", tmp + "/x", tmp + "/x.c", *flags.stdout.split()])
    yield "example", built.returncode == 0, built.stdout
    built = run([*cc, "-Wall", "-Werror", "-fsyntax-only", "-x", "c", "-", *flags.stdout.split()], input=headers)
    yield "headers", built.returncode == 0 and headers.count("\n") == 7, built.stdout + headers
    done = run([tmp + "/x", tmp + "/x.ptx", "gfx1030"], env=env)
    yield "example for a card", done.returncode == 0 and "global_store" in done.stdout, done.stdout
    done = run([tmp + "/x", tmp + "/y.ptx", "host"], env=env)
    yield "example, PTX that is wrong", done.returncode == 1 and re.search(r"y\.ptx:9:\d+: error: ", done.stdout), done.stdout
    built = run([*cc, "-Wall", "-Werror", "-o", tmp + "/f", tmp + "/f.c", *flags.stdout.split()])
    yield "example of fat binaries", built.returncode == 0, built.stdout
    fatbin_write(libdir, tmp + "/fat")
    done = run([tmp + "/f", tmp + "/fat"], env=env)
    listed = re.match(r"fat binary 1\n  PTX for sm_75, \d+ bytes\n", done.stdout)
    yield "fat binaries", done.returncode == 0 and listed and done.stdout[listed.end():] == PTX, done.stdout
    done = run([tmp + "/f", tmp + "/x.ptx"], env=env)
    yield "no ELF file", done.returncode == 1 and "x.ptx: " in done.stdout, done.stdout
    exported = run(["nm", "-D", "--defined-only", os.path.join(libdir, "libanywarp-compiler.so.0")]).stdout
    foreign = [line for line in exported.splitlines() if not re.search(r" (aw_\w+@@)?ANYWARP_0$", line)]
    yield "exports", exported and not foreign, foreign


def main():
    source, build, meson, *cc = sys.argv[1:]
    if not shutil.which("pkg-config"):
        print("no pkg-config")
        return 77
    wrong = 0
    with tempfile.TemporaryDirectory() as tmp:
        for name, ok, detail in checks(source, build, meson, cc, tmp):
            print(("ok: " if ok else "FAILED: ") + name + ("" if ok else f": {detail}"))
            wrong += not ok
    return 1 if wrong else 0


sys.exit(main())
