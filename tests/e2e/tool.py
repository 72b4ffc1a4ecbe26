#!/usr/bin/env python3
# The `anywarp` program in the hands of a new user: what it answers to files that are missing, folders or nonsense, to unknown
# names, and where the cache cannot be.  Each case is a command, its exit status, and what its output must say.  Runs no CUDA
# program.
# Usage: tool.py ANYWARP FIXTURES (FIXTURES: where static_pie and static_stripped of tests/unit/preload are)
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import subprocess
import sys
import tempfile

PTX = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\tret;\n}\n"
# Asks the driver for a private table, under the name of a library that may.
ASKS = b"""#include <dlfcn.h>
int asks(void)
{
    const void *table;
    const char id[16] = { 0 };
    int (*get)(const void **, const void *) = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetExportTable");
    return get(&table, id) + 1; /* no tail call: who calls is seen by the return address */
}
"""
FILES = {"good.ptx": PTX, "text": b"int main;\n", "empty": b"", "two.ptx": PTX.replace(b" k(", b" k2("),
         "half.ptx": PTX.replace(b"\tret;", b"\tfrob.u32 %r1;\n\tret;") + PTX[PTX.index(b".visible"):].replace(b" k(", b" k2("),
         "wrong.ptx": PTX.replace(b"\tret;", b"\t.reg .b32 %r1;\n\tadd.s32 %r1, %r1;\n\tret;"),
         "mangled.ptx": PTX.replace(b" k(", b" _Z5scaleILi3EEvPf(").replace(b"\tret;", b"\tfrob.u32 %r1;\n\tret;"),
         "newer.ptx": PTX.replace(b"\tret;", b"\t.reg .b32 %r1;\n\tadd.frob.s32 %r1, %r1, 1;\n\tret;"),
         "calls.ptx": (PTX.replace(b" k(", b" other(") + b".global .u32 seen;\n"
                       b".func helps()\n{\n\tst.global.u32 [seen], 1;\n\tret;\n}\n" +
                       PTX[PTX.index(b".visible"):].replace(b" k(", b" wanted(").replace(b"\tret;", b"\tcall helps;\n\tret;")),
         "foreign.ptx": PTX.replace(b"\tret;", b"\twgmma.fence.sync.aligned;\n\tret;"),
         "driver.py": b"import ctypes\ntry:\n    ctypes.CDLL('libcuda.so.580.65.06')\n    print('driver: loaded')\n"
                      b"except OSError:\n    print('driver: not there')\n",
         "asks.py": b"import ctypes\nctypes.CDLL('./libnvrtc-asks.so').asks()\n",
         "script": b"#!/bin/sh\nexit\n", "runs": b"#!/bin/sh\nexit\n", "binary": b"\x7fELF\2\1\1" + bytes(99)}
CONFIGS = {"good.conf": ("# this machine's\ncc = 8.6\n", 0o600), "bad.conf": ("cc = 8.6\ncolour = red\n", 0o644),
           "open.conf": ("cc = 8.6\n", 0o666)}
# arguments, exit status (None: any), regular expression for all output, and what must not be in it
CASES = [
    ("", 2, r"(?s)usage: anywarp \./PROGRAM.*anywarp COMMAND", None),
    ("rnu", 2, r"no command 'rnu'; did you mean 'run'", None),
    ("good.ptx", 2, r"to run a program: anywarp run good.ptx", None),
    ("./good.ptx", 126, r"\./good\.ptx: Permission denied", None),
    ("/bin/echo hi", 0, r"^hi$", "anywarp"),
    ("run --quiet /bin/sh -c env", 0, r"(?m)^ANYWARP_QUIET=1$", None),
    ("run", 2, r"no program given", None),
    ("run ./missing", 127, r"./missing: No such file", None),
    ("run .", 126, r"\.: ", None),
    ("run --device=cpu /bin/true", 2, r"--device is host, host:x86-64-v2, hip or sim:gfx1030, not 'cpu'", None),
    ("run --stats /bin/true", 2, r"--stats counts what a simulated card does: it needs --device=sim", None),
    ("run --check=race /bin/true", 2, r"--check watches what a simulated card does: it needs --device=sim", None),
    ("run --device=sim --check=lace /bin/true", 2, r"--check is race, not 'lace'", None),
    ("run --device=host:nonsense /bin/true", 2, r"--device is host, host:x86-64-v2, hip or sim:gfx1030, not 'host:nonsense'",
     None),
    ("run --device=sim: /bin/true", 2, r"--device is host, host:x86-64-v2, hip or sim", None),
    ("run /bin/echo hi", 0, r"^hi$", "anywarp"),
    ("dump missing", 1, r"missing: No such file", None),
    ("dump .", 1, r"is a directory", None),
    ("dump empty", 1, r"empty: is empty", None),
    ("dump text", 1, r"neither an ELF file", None),
    ("dump binary", 1, r"binary: ", None),
    ("dump mangled.ptx", 0, r"kernel +_Z5scaleILi3EEvPf +\(1 parameter, line \d+\)  void scale<3>\(float\*\)$", None),
    ("dump static_pie", 0, r"^fatbin 1 ", "note"),
    ("dump static_stripped", 0, r"note: `anywarp run` will fail: static_stripped .*it was stripped", None),
    ("dump cut", 0, r"note: `anywarp run` will fail: cut .* is cut off", None),
    ("dump --ptx wanted calls.ptx", 0, r"(?s)\.version.*global \.u32 seen.*func helps.*entry wanted", "other"),
    ("dump good.ptx", 0, r"\bk\b", None),
    ("compile --help", 0, r"usage: anywarp compile", None),
    ("compile", 2, r"usage: anywarp compile", None),
    ("compile missing.ptx", 1, r"missing\.ptx: No such file", None),
    ("compile .", 1, r"\.: Is a directory", None),
    ("compile text", 1, r"text:1:1: error: ", None),
    ("compile empty", 1, r"no \.version", None),
    ("compile binary", 1, r"binary is not PTX text; .*dump --ptx", "stray"),
    ("compile wrong.ptx", 1, r"(?s)'add.s32': operand 3 is missing\n.*'k' was not compiled: PTX is malformed", "supported"),
    ("compile newer.ptx", 1, r"(?s)modifier '.frob' is not known to anywarp\n.*'k' was not compiled: PTX is malformed",
     "supported"),
    ("compile foreign.ptx", 1, r"(?s)'wgmma.fence.sync.aligned': not supported by anywarp: warpgroup.*"
     r"'k' was not compiled: operation not supported", "malformed"),
    ("compile good.ptx --emit=frob", 2, r"usage", None),
    ("compile good.ptx --kernel nope", 1, r"no kernel 'nope'", None),
    ("compile good.ptx --target nonsense", 1, r"'nonsense' is not known; there are host, .*, gfx1100,", None),
    ("compile good.ptx two.ptx --target nonsense", 1, r"'k' was not compiled", "'k2'"),
    ("compile good.ptx --target gfx1100 --emit=asm", 0, r"s_endpgm", "error"),
    ("TMPDIR=/nowhere compile good.ptx --target gfx1100 -o gfx.so", 0, r"^$", "error"),
    ("TMPDIR=/nowhere compile good.ptx --target host -o host.so", 0, r"^$", "error"),
    ("compile - --emit=kernels", 0, r"^k$", None),
    ("cache", 0, r"directory +\S+/cache$", None),
    ("cache clear", 0, r"0 files", None),
    ("cache frob", 2, r"(?s)^anywarp cache: 'frob' is none of show, verify, clear, prune, export and import \[AW1630\]\n"
     r"usage: anywarp cache .*"
     r"^`anywarp cache --help` tells more", "ANYWARP_CACHE"),
    ("cache --frob", 2, r"^anywarp cache: unknown option --frob", None),
    ("cache show --frob", 2, r"^anywarp cache: unknown option --frob", None),
    ("cache export", 2, r"^anywarp cache: export needs a file", None),
    ("cache prune --unused x", 2, r"^anywarp cache: prune --unused x: --max-size takes a size", None),
    ("cache show clear", 2, r"^anywarp cache: 'clear' is one word too many", None),
    ("info --frob", 2, r"^anywarp info: unknown option --frob", None),
    ("explain --json", 2, r"^anywarp explain: unknown option --json", None),
    ("config --frob", 2, r"^anywarp config: unknown option --frob", None),
    ("dump --json text", 2, r"^anywarp dump: unknown option --json", "unrecognized"),
    ("dump -x text", 2, r"^anywarp dump: unknown option -x", "invalid"),
    ("dump -o", 2, r"^anywarp dump: -o needs a value", None),
    ("dump --ptx=1 text", 2, r"^anywarp dump: --ptx=1: this option takes no value", None),
    ("dump -o there text", 2, r"^anywarp dump: -o is for --ptx", None),
    ("doctor --frob", 2, r"^anywarp doctor: unknown option --frob", "unrecognized"),
    ("precompile --block=x text", 2, r"^anywarp precompile: --block x is no shape of a block", None),
    ("precompile", 2, r"^anywarp precompile: no program, library or folder given", None),
    ("compile good.ptx --emit=frob", 2, r"^anywarp compile: --emit=frob: unknown option, or its value", None),
    ("trace", 2, r"(?s)^anywarp trace: no program given.*^usage: anywarp trace", None),
    ("trace --frob runs", 2, r"(?s)^anywarp trace: unknown option --frob.*^usage: anywarp trace", "anywarp run:"),
    ("trace ./nowhere", 127, r"^anywarp trace: \./nowhere: No such file", None),
    ("trace -o /proc/no runs", 2, r"^anywarp: /proc/no: ", None),
    ("profile --top=x runs", 2, r"^anywarp profile: --top is a number, not 'x'", None),
    ("check --json runs", 2, r"(?s)^anywarp check: unknown option --json.*^usage: anywarp check", "anywarp run:"),
    ("check -x runs", 2, r"^anywarp check: unknown option -x", None),
    ("check", 2, r"^anywarp check: no program given", None),
    ("run runs", 127, r"^anywarp run: runs: No such file or directory; did you mean \./runs \[", None),
    ("run text", 127, r"^anywarp run: text: No such file or directory \[", "mean"),
    ("runs", 2, r"there is no command 'runs'; to run the program: anywarp run \./runs \[", None),
    ("cache show extra", 2, r"usage: anywarp cache", None),
    ("cache --json", 0, r'^\{"directory": "\S+/cache", "layers": \["\S+/layer"\], "modules": 0, .*"hits": \d+, .*\}$', None),
    ("cache prune --unused", 2, r"usage: anywarp cache", None),
    ("cache prune --max-size x", 2, r"usage: anywarp cache", None),
    ("cache prune --max-size 1M --unused 90", 0, r"^0 bytes removed$", None),
    ("cache export", 2, r"usage: anywarp cache", None),
    ("cache export nowhere/bundle", 1, r"nowhere/bundle: No such file.*\[AW1642\]", None),
    ("cache import missing", 1, r"missing: No such file", None),
    ("cache import text", 1, r"(?s)text: is no bundle of `anywarp cache export`.*0 files, 0 bytes imported", None),
    ("cache import -", 1, r"-: is no bundle", None), # standard input is PTX
    ("cache import empty", 1, r"empty: is no bundle", None),
    ("cache export bundle", 0, r"^0 files, 0 bytes exported$", None),
    ("cache import bundle", 0, r"^0 files, 0 bytes imported$", None),
    # In turn: kernels made in one cache, carried into another, and found there.
    ("CACHE=full precompile two.ptx", 0, r"1 of 1 made ready", None),
    ("CACHE=full cache export kernels.bundle", 0, r"^2 files, \d+ bytes exported$", None),
    ("CACHE=other cache import kernels.bundle", 0, r"^2 files, \d+ bytes imported$", None),
    ("CACHE=other cache show", 0, r"(?s)modules +1\nkernels +1\n.*", None),
    ("CACHE=other precompile two.ptx", 0, r"1 of 1 made ready", None),
    ("CACHE=other cache show", 0, r"^found +2 of 2 looked for \(100.0%\); 2 stored, since ", None),
    ("CACHE=other cache verify", 0, r"^2 files, .*, 0 damaged$", None),
    ("CACHE=third LAYER=other precompile two.ptx", 0, r"1 of 1 made ready", None),
    ("CACHE=third LAYER=other cache show", 0, r"(?s)layer +\S+/other\n.*kernels +0\n", None), # the layer's was enough
    ("CACHE=other cache prune --max-size 0", 0, r"^\d+\.\d KiB removed$", None),
    ("doctor missing", 1, r"(?s)FAIL +program +missing: No such file.*cannot run", None),
    ("doctor two files", 2, r"usage: anywarp doctor", None),
    ("doctor --all", 2, r"usage: anywarp doctor", None),
    ("doctor text", 1, r"FAIL +program +\./text is no 64-bit x86 program", None),
    ("doctor script", 0, r"note +program +\./script is a script", None),
    ("doctor good.ptx", 0, r"(?s)ok +kernels +the one kernel compiles.*Programs that load \./good.ptx can run", "FAIL"),
    ("doctor half.ptx", 1, r"(?s)FAIL +kernels +1 of 2 kernels will not compile.* k: .*"
     r"half\.ptx:6:11: error: unknown name '%r1'\s+Not all of the code", "k2:"),
    ("doctor mangled.ptx", 1, r"(?s)void scale<3>\(float\*\): PTX is malformed.*note: in 'void scale<3>\(float\*\)'", "_Z5"),
    ("doctor --json half.ptx", 1, r'(?s)^\{"findings".*"grade": "fail", "what": "kernels".*'
     r'"details": \["k: .*"ok": false, "verdict": "', None),
    ("doctor static_pie", 0, r"(?s)ok +runtime +CUDA's runtime is linked into it.*It can run: anywarp run \./static_pie", None),
    ("doctor static_stripped", 1, r"(?s)FAIL +runtime +it has the CUDA runtime linked .*\./static_stripped cannot run", None),
    ("doctor half", 1, r"(?s)FAIL +program +\./half is cut off: it has 4096 bytes, and its segments take \d+"
                       r".*half cannot run", None),
    ("run ./half", None, r"warn: run: \./half is cut off: it has 4096 bytes, and its segments take \d+", None),
    ("doctor /bin/true", 0, r"(?s)note +runtime +it names neither.*note +code +no kernels", None),
    ("doctor --report=", 2, r"usage: anywarp doctor", None),
    ("doctor --report extra", 2, r"usage: anywarp doctor", None),
    ("doctor --report=nowhere/report", 2, r"nowhere/report: No such file", None),
    ("info", 0, r"(?m)^cuda +driver \d+\.\d; libcuda\.so\.1 libcudart\.so\.11\.0 libcudart\.so\.12 libcudart\.so\.13$", None),
    ("info", 0, r"(?m)^compiler +\S+\n +anywarp-compiler \d\S+ \(interface \d+, LLVM \d+\.\d+\.\d+\)$", None),
    ("info --json", 0, r'(?s)^\{ "anywarp": \["\d\S+"\],\n.*"compiler": \["\S+", "anywarp-compiler .*"\].*\] \}\n\Z', None),
    ("CACHE=/proc info", 0, r"^cache +none: /proc: no file can be made there", None),
    ("version", 0, r"^anywarp \d+\.\d+\.\d+$", None),
    ("--version --json", 0, r'^\{"anywarp": "\d+\.\d+\.\d+"\}$', None),
    ("version extra", 2, r"usage: anywarp .*", None),
    ("info extra", 2, r"usage: anywarp info", None),
    ("CACHE=text cache show", 1, r"text is not a directory; mend that, or choose another", None),
    ("CACHE=/proc doctor", 1, r"FAIL +cache +/proc: no file can be made there", "cannot run here"),
    ("CACHE=/proc/nope doctor", 1, r"(?s)FAIL +cache +/proc/nope: .*without the cache that was asked for", "cannot run here"),
    ("ANYWARP_CACHE=off doctor", 0, r"warn: base: ANYWARP_CACHE=off is not known; known are 0 and 1; using 1", None),
    ("CONFIG=good.conf config", 0,
     r"(?s)file: \S+/good.conf/anywarp/config\n.*^shapes: 8$.*^cc: 8\.6   \(the file; usual: 8\.0\)$", None),
    ("CONFIG=good.conf ANYWARP_CC=7.5 config cc", 0, r"^cc: 7\.5   \(ANYWARP_CC; usual: 8\.0\)$", "shapes"),
    ("CONFIG=good.conf config --json cc", 0, r'"name": "cc", "variable": "ANYWARP_CC", "value": "8.6", "from": "file"', None),
    ("CONFIG=good.conf info", 0, r"compute capability 8\.6|sm_86|8\.6", None),
    ("CONFIG=good.conf doctor", 0, r"ok +settings +\S+/config$", None),
    ("CONFIG=bad.conf config", 1, r"config:2: there is no setting 'colour'", None),
    ("CONFIG=bad.conf doctor", 0, r"note +settings +\S+/config:2: there is no setting 'colour'", None),
    ("CONFIG=bad.conf info", 0, r"warn: core: \S+/config:2: there is no setting 'colour'", None),
    ("CONFIG=open.conf config cc", 1, r"(?s)config can be written by others: not read \[AW1203\]\n^cc: 8\.0$", None),
    ("CONFIG=open.conf config", 1, r"^file: \S+/config \(not read: it can be written by others\)$", "not there"),
    ("CONFIG=open.conf config --json", 1, r'"file": "\S+/config", "not_read": "can be written by others"', None),
    ("CONFIG=open.conf doctor", 0, r"note +settings +\S+/config can be written by others(?s:.*)chmod go-w", None),
    ("CONFIG=folder.conf config", 1, r"^file: \S+/config \(not read: it is no regular file\)$", "not there"),
    ("CONFIG=loop.conf config", 1, r"^file: \S+/config \(not read: it is a loop of links\)$", "not there"),
    ("CONFIG=nowhere config", 0, r"file: \S+ \(not read: it is not there\)$", None),
    ("explain AW1104", 0, r"(?s)^AW1104 \(warn\): ANYWARP_CACHE_MAX_SIZE=\.\.\. is no size.*What to do:\n +Set it", "AW1105"),
    ("explain [aw1104]", 0, r"^AW1104 \(warn\)", None),
    ("help AW1104", 0, r"^AW1104 \(warn\)", None),
    ("explain", 0, r"(?s)^AW1001 .*^AW1104 .*^AW3101 ", None),
    ("explain AW1", 1, r"no message 'AW1'.* \[AW\d{4}\]$", None),
    ("explain CACHE_SIZE", 1, r"no message 'CACHE_SIZE'", None),
    ("explain --all", 2, r"usage: anywarp explain", None),
    ("config quirks", 0, r"(?s)^quirks: all$.*^static-tls: on$.*For libraries that", None),
    ("ANYWARP_QUIRKS=-static-tls help quirks", 0, r"(?s)^triton-tools: on$.*^static-tls: off$", "static-tls: on"),
    ("ANYWARP_QUIRKS=-tls info", 0, r"warn: core: ANYWARP_QUIRKS: 'tls' is no quirk.* \[AW\d{4}\]$", None),
    ("run env", 0, r"(?s)^TRITON_PTXAS_PATH=\S+ptxas$", None),
    ("run env", 0, r"^GLIBC_TUNABLES=\S*optional_static_tls=16384", None),
    ("ANYWARP_QUIRKS=-triton-tools run env", 0, r"^GLIBC_TUNABLES=\S*optional_static_tls=16384", "TRITON_PTXAS_PATH"),
    ("ANYWARP_QUIRKS=-static-tls run env", 0, r"^TRITON_PTXAS_PATH=", "optional_static_tls"),
    ("run python3 driver.py", 0, r"^driver: loaded", None),
    ("ANYWARP_QUIRKS=-driver-files run python3 driver.py", 0, r"^driver: not there", None),
    ("ANYWARP_LOG=info run python3 asks.py", 0, r"info: abi: cuGetExportTable: libnvrtc-asks\.so asks", "fixme"),
    ("ANYWARP_QUIRKS=-export-tables run python3 asks.py", 0, r"fixme: abi: cuGetExportTable: libnvrtc-asks\.so asks", "info"),
    ("config colour", 2, r"no setting 'colour'", None),
    ("config cc extra", 2, r"usage: anywarp config", None),
    ("HOME= cache show", 1, r"names an absolute path", None),
]
# Only root can give a file away.
if os.geteuid() == 0:
    CONFIGS["theirs.conf"] = ("cc = 8.6\n", 0o600)
    CASES.append(("CONFIG=theirs.conf config", 1, r"^file: \S+/config \(not read: it belongs to another user\)$", "not there"))


PLACES = {"CACHE": "ANYWARP_CACHE_DIR", "LAYER": "ANYWARP_CACHE_LAYERS", "CONFIG": "XDG_CONFIG_HOME"}


def environment(words, tmp):
    """Leading NAME=value words, and the rest."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("ANYWARP_", "XDG_CACHE"))}
    env["ANYWARP_CACHE_DIR"] = os.path.join(tmp, "cache")
    env["ANYWARP_CACHE_LAYERS"] = os.path.join(tmp, "layer")
    env["XDG_CONFIG_HOME"] = os.path.join(tmp, "none")
    while words and re.match(r"[A-Z_]+=", words[0]):
        name, value = words.pop(0).split("=", 1)
        if name in PLACES:
            env[PLACES[name]] = os.path.join(tmp, value)
        else:
            env[name] = value
            if name == "HOME":
                del env["ANYWARP_CACHE_DIR"]
    return env, words


def placed(anywarp, tmp, folder, cases):
    """anywarp in a folder of that name: each case is words, exit status and what must be said."""
    bin_dir, lib_dir = os.path.join(tmp, folder, "bin"), os.path.join(tmp, folder, "lib/anywarp")
    os.makedirs(bin_dir)
    os.makedirs(lib_dir)
    build = os.path.join(os.path.dirname(os.path.realpath(anywarp)), "../../src")
    shutil.copy(anywarp, bin_dir)
    for name in ("preload/libanywarp-preload.so", "preload/libanywarp-audit.so", "abi/libcudart.so.13", "abi/libanywarp.so.0"):
        shutil.copy(os.path.join(build, name), lib_dir)
    bad = 0
    for words, status, wanted in cases:
        env = dict(environment([], tmp)[0], LD_LIBRARY_PATH=os.path.join(build, "abi"))
        done = subprocess.run([os.path.join(bin_dir, "anywarp"), *words], cwd=tmp, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120, check=False)
        text = done.stdout.decode(errors="replace")
        if done.returncode != status or not re.search(wanted, text) or "ld.so" in text:
            print(f"{words} in folder '{folder}': exit {done.returncode}, must say {wanted!r}:\n{text[:900]}")
            bad += 1
    return bad


def folders(anywarp, tmp):
    """With a colon in its folder's name the loader cannot be told of anywarp: doctor and info say so before a program is tried.
    A space is fine, also for what a program starts with a search path of its own."""
    bad = placed(anywarp, tmp, "a:b", ((["doctor"], 1, "FAIL  libraries  the path .* holds a colon"),
                                       (["info"], 1, "its path holds a colon"),
                                       (["precompile", "static_pie"], 1, "no CUDA code in it"),
                                       (["run", "/bin/true"], 126, "which the loader's lists cannot carry")))
    # Not `cat` alone: a shell may become its last command.
    maps, loaded = "cat /proc/self/maps; true", "/a b/lib/anywarp/libanywarp-preload.so"
    return bad + placed(anywarp, tmp, "a b", ((["run", "sh", "-c", maps], 0, loaded),
                                              (["run", "sh", "-c", "LD_LIBRARY_PATH=/nowhere; " + maps], 0, loaded),
                                              (["run", "/bin/true"], 0, "^$")))

def main():
    anywarp, bad = os.path.abspath(sys.argv[1]), 0
    with tempfile.TemporaryDirectory() as tmp:
        for name, content in FILES.items():
            with open(os.path.join(tmp, name), "wb") as f:
                f.write(content)
        os.chmod(os.path.join(tmp, "runs"), 0o755)
        for name, (text, mode) in CONFIGS.items():
            os.makedirs(os.path.join(tmp, name, "anywarp"))
            with open(os.path.join(tmp, name, "anywarp/config"), "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(f.name, mode)
            if name == "theirs.conf":
                os.chown(f.name, 65534, 65534)
        os.makedirs(os.path.join(tmp, "folder.conf/anywarp/config"))
        os.makedirs(os.path.join(tmp, "loop.conf/anywarp"))
        os.symlink("config", os.path.join(tmp, "loop.conf/anywarp/config"))
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", os.path.join(tmp, "libnvrtc-asks.so")], input=ASKS,
                       check=True)
        for name in ("static_pie", "static_stripped"):
            shutil.copy(os.path.join(sys.argv[2], name), tmp)
        shutil.copy(os.path.join(tmp, "static_pie"), os.path.join(tmp, "cut"))
        os.truncate(os.path.join(tmp, "cut"), os.path.getsize(os.path.join(tmp, "cut")) - 64)
        shutil.copy(os.path.join(tmp, "static_pie"), os.path.join(tmp, "half"))
        os.truncate(os.path.join(tmp, "half"), 4096)
        bad += folders(anywarp, tmp)
        for line, status, wanted, unwanted in CASES:
            env, words = environment(line.split(), tmp)
            done = subprocess.run([anywarp, *words], cwd=tmp, env=env, input=PTX, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=120)
            text = done.stdout.decode(errors="replace")
            if status not in (done.returncode, None) or not re.search(wanted, text, re.M) or (unwanted and unwanted in text):
                print(f"anywarp {line}: exit {done.returncode} (want {status}), must say {wanted!r}, not "
                      f"{unwanted!r}:\n{text[:600]}")
                bad += 1
    sys.exit(f"tool: {bad} of {len(CASES)} cases failed" if bad else 0)


main()
