"""anywarp runs unmodified CUDA programs on AMD cards, and on machines with no GPU.

`import anywarp`, before torch, cupy or whatever uses CUDA, puts anywarp's libraries in the place of NVIDIA's in this process. 
Under `anywarp run` or `python -m anywarp` they are there already, also for what has the CUDA runtime linked into it; then this
does nothing.
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import pathlib

home = pathlib.Path(__file__).resolve().parent
program = home / "bin" / "anywarp"
_libraries = home / "lib" / "anywarp"
_toolkit = home / "libexec" / "anywarp" / "toolkit"
_bound = []


def _versions(name):
    """libcudart.so.9 before libcudart.so.12."""
    return [int(part) if part.isdigit() else -1 for part in name.split(".so.")[-1].split(".")]


def _bind():
    """Loads what programs ask for by name.  Who is linked to a library of that name later gets the one that is there."""
    names = sorted((p.name for p in _libraries.glob("lib*.so.*") if not p.name.startswith("libanywarp")), key=_versions)
    # libcuda first: the others are made on it.
    for name in sorted(names, key=lambda n: not n.startswith("libcuda.so")):
        _bound.append(ctypes.CDLL(str(_libraries / name)))


def _tools():
    """Programs that start NVIDIA's assembler find ours.  What the user has set stays."""
    for variable, tool in (("TRITON_PTXAS_PATH", "ptxas"), ("TRITON_PTXAS_BLACKWELL_PATH", "ptxas"),
                           ("TRITON_CUOBJDUMP_PATH", "cuobjdump")):
        os.environ.setdefault(variable, str(_toolkit / tool))
    os.environ.setdefault("TRITON_LIBCUDA_PATH", str(_libraries))
    os.environ["PATH"] = os.pathsep.join([str(_toolkit), os.environ.get("PATH", os.defpath)])


def running():
    """Whether this process was started by `anywarp run` or `python -m anywarp`."""
    return "libanywarp-preload.so" in os.environ.get("LD_PRELOAD", "")


def main():
    """The command `anywarp`."""
    import sys
    os.execv(program, [str(program)] + sys.argv[1:])


if not running():
    _bind()
    _tools()
