#!/usr/bin/env python3
"""Our nvJitLink: links of PTX in every container, launched on the host device; errors and their logs.  LTO code where the machine has a
toolkit's own nvJitLink and NVRTC.

    nvjitlink.py ANYWARP STANDINS"""
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, '..', '..', 'frontends', 'triton'))
import link  # pylint: disable=wrong-import-position

WANT = '''two texts: 0 3
numbered names: 0 3
a linked image as a cubin: 0 3
PTX as a cubin, which NVRTC of ours gives: 0 3
a fat binary: 0 3
an object: 0 3
a library: 0 3
nothing: 0 ''' + '''
undefined: 6 error   : undefined function 'three' in 'a'|ERROR NVJITLINK_ERROR_INTERNAL: finish: named symbol not found|
defined twice: 6 error   : 'three' is already defined at a:4:32 in 'b'|ERROR NVJITLINK_ERROR_INTERNAL: finish: PTX is malformed|
wrong PTX: 4 ptxas application ptx input, line 6; error   : unknown name '%r9'|ptxas fatal   : Ptx assembly aborted due to errors|''' \
'''ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (a)|
no architecture: 2 ''' + '''
unknown option: 1 unrecognized option: -zork|
-ptx alone: 3 ERROR: -ptx requires -lto|
not a cubin: 3 ERROR: bad input: a: not a fatbin|
no such file: 3 ERROR: Could not read file '/no/such'|
LTO code without -lto: 3 ERROR: 'a' is LTO code, which requires -lto|
'''
LTO = 'LTO code: 0 7\nLTO code to PTX: True\n'


def inputs(folder, standins):
    """The same function in a fat binary, in a host object with one, and in a library of that."""
    ptx, fatbin = os.path.join(folder, 'b.ptx'), os.path.join(folder, 'b.fatbin')
    with open(ptx, 'w', encoding='utf-8') as f:
        f.write(link.CALLEE)
    subprocess.run([os.path.join(standins, 'fatbinary'), '--create=' + fatbin, '--image3=kind=ptx,sm=80,file=' + ptx], check=True)
    source = '.section .nv_fatbin, "a"\n.incbin "%s"\n' % fatbin
    subprocess.run(['cc', '-c', '-xassembler', '-', '-o', os.path.join(folder, 'b.o')], input=source, text=True, check=True)
    subprocess.run(['ar', 'rc', os.path.join(folder, 'libb.a'), os.path.join(folder, 'b.o')], check=True)


def main():
    anywarp, standins = map(os.path.abspath, sys.argv[1:3])
    failed = 0
    env = {k: v for k, v in os.environ.items() if not k.startswith('ANYWARP_')}
    toolkit = [f for pattern in ('libnvJitLink.so.13', 'libnvrtc.so.13') for f in sorted(glob.glob('/usr/local/cuda*/lib*/' + pattern))[-1:]]
    with tempfile.TemporaryDirectory() as tmp:
        inputs(tmp, standins)
        env.update(ANYWARP_CACHE_DIR=os.path.join(tmp, 'cache'), ASAN_OPTIONS='verify_asan_link_order=0:detect_leaks=0')
        for library in ('libnvJitLink.so.12', 'libnvJitLink.so.13'):
            lto = library.endswith('13') and len(toolkit) == 2
            command = [anywarp, 'run', '--device=host', sys.executable, os.path.join(HERE, 'link.py'), toolkit[0] if lto else library, tmp]
            result = subprocess.run(command + toolkit[1:] * lto, env=env, capture_output=True, text=True, timeout=120, check=False)
            good = result.returncode == 0 and result.stdout == WANT + LTO * lto and not result.stderr
            failed += not good
            print('%s %s%s%s' % ('ok' if good else 'FAIL', library, ' with LTO' if lto else '', '' if good else '\n' + result.stdout + result.stderr))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
