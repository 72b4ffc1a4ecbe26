#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two processes share memory of the host device and an event: tests/e2e/ipc.c.  usage: ipc.py ANYWARP PROGRAM"""
import os
import subprocess
import sys
import tempfile

from amd import PTX


def main():
    anywarp, program = map(os.path.abspath, sys.argv[1:])
    env = {k: v for k, v in os.environ.items() if not k.startswith(("ANYWARP_", "CUDA_"))}
    wrong = 0
    with tempfile.TemporaryDirectory() as tmp:
        env["ANYWARP_CACHE_DIR"] = os.path.join(tmp, "cache")
        with open(os.path.join(tmp, "add.ptx"), "w") as f:
            f.write(PTX["add.ptx"])
        for how in ([], ["memory"]):
            done = subprocess.run([anywarp, "run", "--device=host", program, "add.ptx", *how], cwd=tmp, env=env, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True)
            if done.returncode or done.stdout != "shared\n" or done.stderr:
                wrong += 1
                print(f"{how}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
