#!/usr/bin/env python3
# A setuid program started by somebody else loads nothing that its caller names: a libamdhip64 planted under $ROCM_PATH, which
# would write a file, is opened by an ordinary program and not by a privileged one.
#
#     privileged.py LIBDIR PROGRAM PLANTED_LIBRARY        0 passed, 77 skipped (the reason on standard output)
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import sys
import tempfile

NOBODY = 65534


def run(program, libcuda, folder):
    """Runs as nobody with the planted library named; the program's words, and whether the library was loaded."""
    mark = os.path.join(folder, "loaded")
    env = {"PATH": "/usr/bin:/bin", "ROCM_PATH": os.path.join(folder, "rocm"), "PLANTED": mark, "ANYWARP_CACHE": "0"}
    done = subprocess.run([program, libcuda], env=env, cwd="/", user=NOBODY, group=NOBODY, extra_groups=[], text=True,
                          capture_output=True, timeout=60)
    loaded = os.path.exists(mark)
    if loaded:
        os.unlink(mark)
    if done.returncode != 0:
        raise SystemExit(f"privileged: {program} ended with {done.returncode}: {done.stderr}")
    return done.stdout, loaded


def main():
    libdir, program, planted = (os.path.abspath(path) for path in sys.argv[1:])
    if os.geteuid() != 0:
        print("privileged: SKIPPED: only root can make a program setuid root")
        return 77
    with tempfile.TemporaryDirectory(prefix="anywarp-privileged-") as folder:
        os.chmod(folder, 0o777)
        # The build's folder may be closed to others, so all that is needed is copied.
        for name in ("libcuda.so.1", "libanywarp.so.0"):
            shutil.copy(os.path.join(libdir, name), folder)
        os.makedirs(os.path.join(folder, "rocm/lib"))
        shutil.copy(planted, os.path.join(folder, "rocm/lib/libamdhip64.so.5"))
        plain, setuid = os.path.join(folder, "plain"), os.path.join(folder, "setuid")
        for path, mode in ((plain, 0o755), (setuid, 0o4755)):
            shutil.copy(program, path)
            os.chmod(path, mode)
        libcuda = os.path.join(folder, "libcuda.so.1")
        said, loaded = run(plain, libcuda, folder)
        if "secure=0" not in said or not loaded:
            raise SystemExit(f"privileged: an ordinary program does not load the library either ({said.strip()}): this tests "
                             f"nothing")
        said, loaded = run(setuid, libcuda, folder)
        if "secure=1 euid=0" not in said:
            print(f"privileged: SKIPPED: {folder} lies on a file system without setuid programs")
            return 77
        if loaded:
            raise SystemExit("privileged: a setuid program loaded a library that its caller named")
    print("privileged: the planted library was loaded by an ordinary program and not by a setuid one")
    return 0


if __name__ == "__main__":
    sys.exit(main())
