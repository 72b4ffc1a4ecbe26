#!/usr/bin/env python3
# What a program and its user see when something is wrong with the card, its driver's libraries or a kernel: the program gets
# CUDA's code and goes on as it likes, one line says what is wrong, nothing hangs or crashes; and `anywarp doctor` and `anywarp
# info` say the same. With AMD's own HIP, on a simulated card.  Usage: amd.py ANYWARP LIBDIR; exits with 77 where there is no HIP.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HEAD = ".version 7.0\n.target sm_70\n.address_size 64\n"
PTX = {
    # Writes 42.
    "put.ptx": HEAD + """.visible .entry put(.param .u64 p)
{
    .reg .b64 a;
    ld.param.u64 a, [p];
    st.global.u32 [a], 42;
    ret;
}
""",
    # An instruction that a gfx906 has and a gfx900 has not: v_xnor_b32.  What an atomic returns is no scalar.
    "xnor.ptx": HEAD + """.visible .entry xnor(.param .u64 p)
{
    .reg .b64 a;
    .reg .b32 x, y;
    ld.param.u64 a, [p];
    atom.global.cas.b32 x, [a], 0, 1;
    shl.b32 y, x, 3;
    xor.b32 x, x, y;
    not.b32 x, x;
    st.global.u32 [a], x;
    ret;
}
""",
    # p[i] += with, for i below count.
    "add.ptx": HEAD + """.visible .entry add(.param .u64 p, .param .u32 count, .param .u32 with)
{
    .reg .b64 a, i8;
    .reg .b32 n, w, i, b, t, x;
    .reg .pred out;
    ld.param.u64 a, [p];
    ld.param.u32 n, [count];
    ld.param.u32 w, [with];
    mov.u32 i, %ctaid.x;
    mov.u32 b, %ntid.x;
    mov.u32 t, %tid.x;
    mad.lo.u32 i, i, b, t;
    setp.ge.u32 out, i, n;
    @out ret;
    mul.wide.u32 i8, i, 4;
    add.u64 a, a, i8;
    ld.global.u32 x, [a];
    add.u32 x, x, w;
    st.global.u32 [a], x;
    ret;
}
""",
}
WORKS = ["init 0", "name 0", "load 0", "launch 0", "sync 0", "value: 42", "read 0"]
ROCR_GIVES_UP = [r"Warning: Agent creation failed\.", r"The GPU node has an unrecognized id\.", r""]
CODE = r" \[AW\d{4}\]"  # at the end of what anywarp says
SIM, HIP = "--device=sim:gfx1030", "--device=hip"
NO_DEVICE = ["init 100", "malloc 100", "last 100"]
NOT_THERE = r"libamdhip64\.so \(HIP 5 or later\) is not installed: neither the loader nor .* has it"
NEEDS_THUNK = r"libamdhip64\S+ cannot be used: libhsakmt\.so\.X: cannot open shared object file: No such file or directory"
BAD_THUNK = r"libamdhip64\S+ cannot be used: \S*/badthunk/libhsakmt\.so\.1: \S.*"
GFX803 = r"gfx803 is no architecture that anywarp compiles for"
# name; option of `anywarp run`; environment; the program's steps (see steps.c; it ends with exit=3); its lines, "name:" left out;
# expressions for each line of standard error, all of them.
PROGRAMS = [
    ("all is well", SIM, {}, "init name load=put.ptx launch=put sync read", WORKS, []),
    ("values in memory", SIM, {}, "init values", ["init 0", "values 0"], []),
    ("values in memory, host", "--device=host", {}, "init values", ["init 0", "values 0"], []),
    ("page fault", SIM, {}, "init load=put.ptx launch=put:0x123456789000 sync sync rtsync last malloc=100 reset",
     ["init 0", "load 0", "launch 0", "sync 700", "sync 700", "rtsync 700", "last 700", "malloc 700", "reset 700"],
     [r"simgpu: memory fault: store of 4 bytes at 0x123456789000 .*kernel put on gfx1030\)",
      r"anywarp: err: hip: device 0 \(Simulated Radeon \(gfx1030\)\): access to memory that is not there at "
      r"address 0x123456789000; "
      r"kernels in flight: put"]),
    ("page fault, program does not look", SIM, {}, "init load=put.ptx launch=put:0x123456789000",
     ["init 0", "load 0", "launch 0"],
     None),
    ("unknown instruction", "--device=sim:gfx900", {"HSA_OVERRIDE_GFX_VERSION": "9.0.6"},
     "init load=xnor.ptx launch=xnor sync sync rtsync last malloc=100 reset",
     ["init 0", "load 0", "launch 0", "sync 715", "sync 715", "rtsync 715", "last 715", "malloc 715", "reset 715"],
     [r"simgpu: illegal instruction .*kernel xnor on gfx900\)",
      r"anywarp: err: hip: device 0 \(Simulated Radeon \(gfx900\)\): queue error .*ILLEGAL_INSTRUCTION.*; "
      r"kernels in flight: xnor"]),
    ("out of memory", SIM, {},
     "init name malloc=0x400000000000 last last malloc=9000000000 malloc=4000000000 load=put.ptx launch=put sync read",
     ["init 0", "name 0", "malloc 2", "last 2", "last 0", "malloc 2", "malloc 0"] + WORKS[2:], []),
    ("out of little memory", SIM, {"ANYWARP_SIM_MEMORY": "256M"}, "init malloc=300000000 last malloc=100000000",
     ["init 0", "malloc 2", "last 2", "malloc 0"], []),
    ("architecture that anywarp does not know", SIM, {"HSA_OVERRIDE_GFX_VERSION": "8.0.3"}, "init malloc=100 last", NO_DEVICE,
     [r"anywarp: warn: core: hip cannot be used: device 0 \(Simulated Radeon \(gfx1030\)\) cannot be used: " + GFX803]),
    ("architecture that ROCr does not know", SIM, {"HSA_OVERRIDE_GFX_VERSION": "63.0.0"}, "init malloc=100 last", NO_DEVICE,
     ROCR_GIVES_UP + [r"anywarp: warn: core: hip cannot be used: HIP has no device; `anywarp doctor` looks for the reason"]),
    ("libhsakmt missing", HIP, {"LD_LIBRARY_PATH": "nothunk"}, "init malloc=100 last", NO_DEVICE,
     ["anywarp: warn: core: hip cannot be used: " + NEEDS_THUNK]),
    ("libhsakmt missing, nothing asked", None, {"LD_LIBRARY_PATH": "nothunk"}, "init name load=put.ptx launch=put sync read",
     WORKS, []),
    ("libhsakmt broken", HIP, {"LD_LIBRARY_PATH": "badthunk"}, "init malloc=100 last", NO_DEVICE,
     ["anywarp: warn: core: hip cannot be used: " + BAD_THUNK]),
    ("no HIP", HIP, {"LD_AUDIT": "absent.so"}, "init malloc=100 last", NO_DEVICE,
     ["anywarp: warn: core: hip cannot be used: " + NOT_THERE]),
    ("no HIP, nothing asked", None, {"LD_AUDIT": "absent.so"}, "init name load=put.ptx launch=put sync read", WORKS, []),
    ("HIP without a device", HIP, {}, "init malloc=100 last", NO_DEVICE,
     [r"anywarp: warn: core: hip cannot be used: HIP has no device; `anywarp doctor` looks for the reason"]),
    ("HIP without a device, nothing asked", None, {}, "init name load=put.ptx launch=put sync read", WORKS, []),
]
CAN, CANNOT = r"CUDA programs can run here\.", r"CUDA programs cannot run here as things are\."
ON_HOST, ON_CARD = r"ok +kernel +compiled and ran on anywarp host device", r"ok +kernel +compiled and ran on Simulated Radeon"
# name; option of `anywarp run`, None: doctor and info are run as they are; environment; doctor's status and lines; info's.
ANSWERS = [
    ("all is well", SIM, {}, 0, [r"ok +amd +HIP \d+\.\d+ with 1 device", r" +0: Simulated Radeon \(gfx1030\), gfx1030", ON_CARD,
                                 CAN],
     0, [r"hip +HIP \d+\.\d+ with 1 device", r" +0: Simulated Radeon \(gfx1030\), gfx1030", r"provider +hip"]),
    ("architecture unknown", SIM, {"HSA_OVERRIDE_GFX_VERSION": "8.0.3"}, 1,
     ["FAIL +amd +Simulated Radeon .*: " + GFX803, r" +`anywarp compile --target help", "FAIL +kernel +cuInit: CUDA error 100",
      CANNOT],
     1, ["hip +not available: Simulated Radeon .*: " + GFX803, r"device +none"]),
    ("libhsakmt missing", None, {"LD_LIBRARY_PATH": "nothunk"}, 0, ["note +amd +" + NEEDS_THUNK, " +see `ldd`", ON_HOST, CAN],
     0, ["hip +not available: " + NEEDS_THUNK, "provider +host"]),
    ("libhsakmt missing, a card asked", None, {"LD_LIBRARY_PATH": "nothunk", "ANYWARP_DEVICE": "hip"}, 1,
     ["FAIL +amd +" + NEEDS_THUNK, CANNOT], 1, ["hip +not available: " + NEEDS_THUNK, r" +ANYWARP_DEVICE=hip is set",
                                                "device +none"]),
    ("no HIP", None, {"LD_AUDIT": "absent.so"}, 0, ["note +amd +" + NOT_THERE, r" +.*libamdhip64-5", ON_HOST, CAN],
     0, ["hip +not available: " + NOT_THERE, "provider +host"]),
    ("no HIP, a card asked", None, {"LD_AUDIT": "absent.so", "ANYWARP_DEVICE": "hip"}, 1, ["FAIL +amd +" + NOT_THERE, CANNOT],
     1, ["hip +not available: " + NOT_THERE, "device +none"]),
    ("HIP without a device", None, {}, 0, [r"note +amd +there is no /dev/kfd", r" +.*--device=/dev/kfd", ON_HOST, CAN],
     0, [r"hip +not available: there is no /dev/kfd", "provider +host"]),
]


class Tests:
    def __init__(self, anywarp, lib, tmp):
        self.anywarp, self.tmp = os.path.abspath(anywarp), tmp
        self.passed = self.failed = 0
        self.env = {k: v for k, v in os.environ.items()
                    if not k.startswith(("ANYWARP_", "HSA_", "HIP_", "ROCR_", "AMD_", "ROCM_", "CUDA_", "LD_"))}
        self.env["ANYWARP_CACHE_DIR"] = os.path.join(tmp, "cache")
        for name, text in PTX.items():
            with open(os.path.join(tmp, name), "w") as f:
                f.write(text)
        self.build("steps", [os.path.join(lib, "libcuda.so.1"), os.path.join(lib, "libcudart.so.12"), "-Wl,-rpath-link," + lib])
        self.build("ipc", [os.path.join(lib, "libcuda.so.1"), "-Wl,-rpath-link," + lib])
        self.build("absent", ["-shared", "-fPIC"], ".so")

    def build(self, name, arguments, suffix=""):
        subprocess.run(["cc", "-O1", "-o", os.path.join(self.tmp, name + suffix), os.path.join(HERE, name + ".c"), *arguments],
                       check=True)

    def runtimes(self):
        """Copies of ROCr whose libhsakmt is not there, and a libhsakmt that is no library.  False: this ROCr needs no
        libhsakmt."""
        listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
        found = re.search(r"libhsa-runtime64\.so\.1 .*=> (\S+)", listed)
        path = found.group(1) if found else "/opt/rocm/lib/libhsa-runtime64.so.1"
        with open(path, "rb") as f:
            image = f.read()
        if b"\0libhsakmt.so.1\0" not in image:
            return False
        for folder, name, content in (("nothunk", "libhsa-runtime64.so.1",
                                       image.replace(b"\0libhsakmt.so.1\0", b"\0libhsakmt.so.X\0")),
                                      ("badthunk", "libhsakmt.so.1", b"no library\n" * 100)):
            os.mkdir(os.path.join(self.tmp, folder))
            with open(os.path.join(self.tmp, folder, name), "wb") as f:
                f.write(content)
        return True

    def run(self, command, **env):
        for name in ("LD_LIBRARY_PATH", "LD_AUDIT"):
            if name in env:
                env[name] = os.path.join(self.tmp, env[name])
        try:
            return subprocess.run(command, cwd=self.tmp, env=dict(self.env, **env), capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(command, "none: it hangs", str(late.stdout), str(late.stderr))

    def check(self, name, ok, detail):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print(f"amd: {name}: FAILED: {detail}", flush=True)

    def program(self, name, option, env, steps, lines, errors):
        option = [option] if option else []
        done = self.run([self.anywarp, "run", *option, "./steps", *steps.split(), "exit=3"], **env)
        out = [line for line in done.stdout.splitlines() if not line.startswith("name:")]
        err = done.stderr.splitlines()
        self.check(name + ": exit status", done.returncode == 3, f"{done.returncode}, {done.stderr[-500:]!r}")
        self.check(name + ": CUDA's codes", out == lines, f"{out} instead of {lines}")
        if errors is not None:
            self.check(name + ": what is said", len(err) == len(errors)
                       and all(re.fullmatch(e + CODE * e.startswith('anywarp: '), line) for e, line in zip(errors, err)),
                       f"{done.stderr!r} instead of {errors}")

    def answers(self, name, option, env, doctor, doctor_lines, info, info_lines):
        prefix = [self.anywarp, "run", option] if option else []
        for command, status, wanted in (("doctor", doctor, doctor_lines), ("info", info, info_lines)):
            done = self.run([*prefix, self.anywarp, command], **env)
            missing = [w for w in wanted if not any(re.match(w, line) for line in done.stdout.splitlines())]
            self.check(f"{name}: {command}", done.returncode == status and not missing,
                       f"exit {done.returncode} (want {status}), lacks {missing}:\n{done.stdout}{done.stderr}")

    def shared(self):
        for how in ([], ["memory"]):
            done = self.run([self.anywarp, "run", SIM, "./ipc", "add.ptx", *how])
            self.check("two processes " + "".join(how), done.returncode == 0 and done.stdout == "shared\n" and not done.stderr,
                       f"exit {done.returncode}:\n{done.stdout}{done.stderr}")


    def report(self, name, option, env, status, ends, *lines):
        """`anywarp doctor --report`: its last line, and some others.  Of what is right, all lines must say so."""
        prefix = [self.anywarp, "run", option] if option else []
        done = self.run([*prefix, self.anywarp, "doctor", "--report=report.txt"], **env)
        with open(os.path.join(self.tmp, "report.txt")) as f:
            text = f.read()
        missing = [line for line in (*lines, ends) if not re.search("^" + line, text, re.M)]
        secret = [word for word in (os.uname().nodename, self.tmp) if word in text]
        self.check("report, " + name, done.returncode == status and not missing and not secret,
                   f"exit {done.returncode} (want {status}), lacks {missing}, has {secret}:\n{text}{done.stderr}")

    def quirks(self):
        """Without the quirk for ROCr a fault ends the process, and a variable of the simulated card's is not set."""
        fault = [self.anywarp, "run", SIM, "./steps", "init", "load=put.ptx", "launch=put:0x123456789000", "sync", "exit=3"]
        done = self.run(fault, ANYWARP_QUIRKS="-rocr-faults")
        ends = done.returncode not in (0, 3) and "sync" not in done.stdout and "[AW1503]" not in done.stderr
        self.check("quirk rocr-faults", ends,
                   f"{done.returncode}, {done.stdout!r}, {done.stderr[-500:]!r}")
        for words, wanted in (({}, True), ({"ANYWARP_QUIRKS": "-rocr-fragments"}, False)):
            done = self.run([self.anywarp, "run", SIM, "env"], **words)
            self.check("quirk rocr-fragments", ("HSA_DISABLE_FRAGMENT_ALLOCATOR=1" in done.stdout) == wanted, done.stdout)

    def reports(self):
        self.build("crash", ["-shared", "-fPIC"], ".so")
        right = r"24 tests, 0 wrong$"
        self.report("host", None, {"ANYWARP_DEVICE": "host"}, 0, right, "device 0   anywarp host device",
                    "ok +recursion .*12 KiB",
                    "ok +fault .*CUDA error 700", r"ok +litmus passing .*fence.acq_rel.gpu 0, ", "left out peers")
        self.report("two cards", SIM + ",gfx1030", {}, 0, right, r"hip +usable: HIP 5",
                    r"device 1   Simulated Radeon \(gfx1030\)",
                    "ok +assert .*CUDA error 710", "ok +peers .*stores into the other's memory", "ok +time .*globaltimer: ")
        self.report("a test that crashes", None, {"ANYWARP_DEVICE": "host", "LD_PRELOAD": os.path.join(self.tmp, "crash.so")}, 1,
                    "24 tests, 1 wrong$", r"NO END +arithmetic +; ended with signal 6 \(Aborted\)$", "ok +barriers")
        self.report("no card", None, {"ANYWARP_DEVICE": "hip", "LD_AUDIT": "absent.so"}, 1, "24 tests, 25 wrong$",
                    "hip +library missing: ", "WRONG +barriers .*cuInit: CUDA error 100$")


def main():
    anywarp, lib = sys.argv[1], os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as tmp:
        tests = Tests(anywarp, lib, tmp)
        first = tests.run([tests.anywarp, "run", SIM, "./steps", "init"])
        if "not installed" in first.stderr or "not in this installation" in first.stderr:
            print("amd: left out: " + first.stderr.strip())
            sys.exit(77)
        left_out = [] if tests.runtimes() else ["libhsakmt"]
        if os.path.exists("/dev/kfd"):
            left_out.append("without a device")
        for case in PROGRAMS:
            if not any(word in case[0] for word in left_out):
                tests.program(*case)
        for case in ANSWERS:
            if not any(word in case[0] for word in left_out):
                tests.answers(*case)
        tests.shared()
        tests.quirks()
        tests.reports()
    for word in left_out:
        print(f"amd: cases left out on this machine: {word}")
    print(f"amd: {tests.passed} checks passed, {tests.failed} failed")
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main())
