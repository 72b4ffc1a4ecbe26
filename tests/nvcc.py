"""Where nvcc is: what the programs that build CUDA ask."""
# SPDX-License-Identifier: Apache-2.0
import os
import shutil

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
