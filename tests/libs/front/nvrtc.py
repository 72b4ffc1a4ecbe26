#!/usr/bin/env python3
"""Our NVRTC in front of a stand-in for NVIDIA's: how it is found, and what becomes of options and results.  Where the machine
has a toolkit's own NVRTC, a kernel is compiled with it and run on the host device as well.

    nvrtc.py ANYWARP STUB CC"""
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KERNEL = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }'


class Cases:
    def __init__(self, anywarp, tmp):
        self.anywarp, self.tmp, self.failed, self.count = anywarp, tmp, 0, 0

    def run(self, args, **env):
        names = ('ANYWARP_NVRTC', 'CUDA_PATH', 'CUDA_HOME', 'CONDA_PREFIX', 'LD_LIBRARY_PATH', 'ANYWARP_LOG')
        base = {k: v for k, v in os.environ.items() if k not in names}
        base.update(ANYWARP_CACHE_DIR=os.path.join(self.tmp, 'cache'), ASAN_OPTIONS='verify_asan_link_order=0:detect_leaks=0',
                    **env)
        return subprocess.run([self.anywarp, 'run', '--device=host', sys.executable] + args, env=base, capture_output=True,
                              text=True, timeout=120,
                              check=False)

    def check(self, name, result, want, error='', status=0):
        self.count += 1
        good = result.stdout == want and error in result.stderr and result.returncode == status and (error or not result.stderr)
        if not good:
            self.failed += 1
            print('FAIL %s: status %d, stdout %r, stderr %r' % (name, result.returncode, result.stdout, result.stderr))
        else:
            print('ok', name)


def options(c, ask, library):
    for given, want in ((['-arch=sm_80'], 'ptx: -arch=compute_80'), (['-arch', 'sm_75'], 'ptx: -arch compute_75'),
                        (['--gpu-architecture=sm_90a'], 'ptx: --gpu-architecture=compute_90a'),
                        (['--gpu-architecture', 'sm_86', '-I', 'sm_86'], 'ptx: --gpu-architecture compute_86 -I sm_86'),
                        (['-DX=sm_80', '-arch=sm_80'], 'ptx: -DX=sm_80 -arch=compute_80'),
                        # Nothing that is machine code: none of our business.
                        (['-arch=compute_80'], 'machine code'), ([], 'machine code'), (['-arch=sm_80', '-dlto'], 'machine code')):
        c.check(' '.join(given) or 'no options', c.run([ask, library, ''] + given), want + '\n')
    c.check("an error is the original's", c.run([ask, library, '', '-arch=sm_80', '-wrong']), '',
            "5 the stand-in's invalid option", 1)


def places(c, ask, stub, cc):
    """By every way to ask for it; and without one."""
    want, arch = 'ptx: -arch=compute_80\n', '-arch=sm_80'
    with tempfile.TemporaryDirectory() as tmp:
        here = os.path.join(tmp, 'libnvrtc.so.12')
        shutil.copy(stub, here)
        c.check('by path', c.run([ask, here, '', arch]), want)
        c.check('by a relative path', subprocess.run(
            [c.anywarp, 'run', sys.executable, ask, './libnvrtc.so.12', '', arch], cwd=tmp, capture_output=True, text=True,
            check=False), want)
        c.check('by a search along LD_LIBRARY_PATH', c.run([ask, 'libnvrtc.so.12', '', arch], LD_LIBRARY_PATH=tmp), want)
        c.check('by our variable, a file', c.run([ask, 'libnvrtc.so.12', '', arch], ANYWARP_NVRTC=here), want)
        c.check('by our variable, a folder', c.run([ask, 'libnvrtc.so.12', '', arch], ANYWARP_NVRTC=tmp), want)
        # The loader gives what it finds so to ours under the found one's name.
        os.symlink('libnvrtc.so.12', os.path.join(tmp, 'libnvrtc.so'))
        c.check('by its development link, searched', c.run([ask, 'libnvrtc.so', '', arch], LD_LIBRARY_PATH=tmp), want)
        c.check('by both', c.run([ask, 'libnvrtc.so', '', arch], LD_LIBRARY_PATH=tmp, ANYWARP_NVRTC=here), want)
        full = os.path.join(tmp, 'libnvrtc.so.12.9.86')
        shutil.copy(stub, full)
        c.check('by its full version', c.run([ask, full, '', arch]), want)
        toolkit = os.path.join(tmp, 'toolkit')
        os.makedirs(os.path.join(toolkit, 'lib64'))
        shutil.move(here, os.path.join(toolkit, 'lib64'))
        c.check("a toolkit's", c.run([ask, 'libnvrtc.so.12', '', arch], CUDA_PATH=toolkit), want)
        eleven = os.path.join(tmp, 'libnvrtc.so.11.8.89')
        shutil.copy(stub, eleven)
        c.check('version 11', c.run([ask, eleven, '', arch]), want)
        # What it loads beside itself, under a name that begins like its own, is not replaced.
        beside = os.path.join(tmp, 'libnvrtc-builtins.so.12')
        subprocess.run(cc + ['-shared', '-fPIC', '-xc', '-', '-o', beside], input='int builtins(void) { return 77; }', text=True,
                       check=True)
        c.check('its builtins', c.run(['-c', 'import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).builtins())', beside]), '77\n')


def real(c, ask):
    """With NVIDIA's own compiler, which needs no GPU."""
    found = sorted(f for f in glob.glob('/usr/local/cuda*/lib*/libnvrtc.so.1[0-9]') if os.path.exists(f))
    if not found:
        print('skipped: no libnvrtc of NVIDIA here')
        return
    result = c.run([ask, found[-1], KERNEL, '--gpu-architecture=sm_80'])
    c.check('a kernel is PTX', subprocess.CompletedProcess([], result.returncode, str('.target sm_80' in result.stdout),
                                                           result.stderr), 'True')
    c.check('an error has its log', c.run([ask, found[-1], 'NVRTC nonsense', '-arch=sm_80']), '', 'x.cu(1): error:', 1)
    c.check('and is run', c.run([os.path.join(HERE, 'launch.py'), found[-1], KERNEL]), '[0.0, 2.0, 4.0, 6.0]\n')


def main():
    anywarp, stub, cc = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    ask = os.path.join(HERE, 'ask.py')
    with tempfile.TemporaryDirectory() as tmp:
        c = Cases(anywarp, tmp)
        os.makedirs(os.path.join(tmp, 'options'))
        library = os.path.join(tmp, 'options', 'libnvrtc.so.12')
        shutil.copy(stub, library)
        options(c, ask, library)
        places(c, ask, stub, cc)
        none = c.run([ask, 'libnvrtc.so.11.2', '', '-arch=sm_80'], PATH='/nonexistent')
        c.check('none is there', none, '', 'was not found: install it', 1)
        real(c, ask)
        print('%d passed, %d failed' % (c.count - c.failed, c.failed))
        return 1 if c.failed else 0


if __name__ == '__main__':
    sys.exit(main())
