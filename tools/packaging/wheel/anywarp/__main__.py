"""`python -m anywarp script.py arguments...`: the script under `anywarp run`."""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import sys

program = pathlib.Path(__file__).resolve().parent / "bin" / "anywarp"
if len(sys.argv) < 2:
    sys.exit("usage: python -m anywarp SCRIPT.py [argument...]")
os.execv(program, [str(program), "run", "--", sys.executable] + sys.argv[1:])
