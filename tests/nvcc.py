"""Where nvcc is, and toolkits with the assembler of another CUDA: what the programs that build CUDA ask."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shlex
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def find(tree=None):
    """A toolkit's own, or $NVCC, on PATH, in /usr/local/cuda, in the wheels' tree that tools/setup makes; None: nowhere.  By its
    real path: through a link it does not find its profile."""
    candidates = [os.path.join(tree, 'bin', 'nvcc')] if tree else [
        os.environ.get('NVCC'), shutil.which('nvcc'), '/usr/local/cuda/bin/nvcc',
        os.path.join(ROOT, '.deps', 'cuda', 'bin', 'nvcc')]
    return next((os.path.realpath(c) for c in candidates if c and os.access(c, os.X_OK)), None)


def find_beside(name):
    """A program of the same toolkit; None: there is none."""
    nvcc = find()
    path = nvcc and os.path.join(os.path.dirname(nvcc), name)
    return path if path and os.path.exists(path) else None


def release(tool):
    """The CUDA that a tool says it is of: (12, 4)."""
    said = subprocess.run([tool, '--version'], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.search(r'release (\d+)\.(\d+)', said).groups()))


def isa_of(ptxas):
    """The PTX that an assembler knows, from CUDA 11 on: (8, 4) for that of 12.4."""
    major, minor = release(ptxas)
    return major - 4, minor - (major == 12 and minor >= 6)  # 12.5 and 12.6 have the same


# An assembler that takes PTX of later versions for its own; what it does not know it still says.
LOWERED = """#!/bin/sh
# Made by tests/nvcc.py.
set -e
made=
trap 'rm -f $made' EXIT
for arg; do
    shift
    case $arg in
    *.ptx)
        file=$(mktemp --suffix=.ptx)
        made="$made $file"
        awk -v major={major} -v minor={minor} '
            $1 == ".version" {{ split($2, v, "."); later = v[1] > major || (v[1] == major && v[2] > minor) }}
            $1 == ".version" && later {{ $2 = major "." minor }}
            {{ print }}' "$arg" >"$file"
        arg=$file ;;
    esac
    set -- "$@" "$arg"
done
{ptxas} "$@"
"""


def with_assembler(ptxas, tree):
    """Makes `tree`, unless it is there, a toolkit like that of nvcc, but with the assembler of another CUDA; returns it."""
    major, minor = isa_of(ptxas)
    wrapper = LOWERED.format(major=major, minor=minor, ptxas=shlex.quote(os.path.abspath(ptxas)))
    made = os.path.join(tree, 'bin', 'ptxas')  # the last file that is made
    if os.path.exists(made) and open(made, encoding='utf-8').read() == wrapper:
        return tree
    folder = os.path.dirname(find())
    root = os.path.dirname(folder)
    shutil.rmtree(tree, ignore_errors=True)
    os.makedirs(os.path.join(tree, 'bin'))
    shutil.copy2(os.path.join(folder, 'nvcc'), os.path.join(tree, 'bin'))  # no link: find() says why
    for name in set(os.listdir(root)) - {'bin'}:
        os.symlink(os.path.join(root, name), os.path.join(tree, name))
    for name in set(os.listdir(folder)) - {'nvcc', 'ptxas'}:
        os.symlink(os.path.join(folder, name), os.path.join(tree, 'bin', name))
    with open(made, 'w', encoding='utf-8') as f:
        f.write(wrapper)
    os.chmod(made, 0o755)
    return tree


# What assemblers say of PTX that is later than they are, or that the architecture does not have; and nvlink of theirs for sm_90.
LATER = re.compile(r'requires \.target sm_\d+ or higher|requires PTX ISA \.version \d|Illegal modifier .* for instruction|'
                   r'must be recompiled with toolkit')
