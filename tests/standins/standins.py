#!/usr/bin/env python3
"""The stand-ins for NVIDIA's ptxas, nvlink, fatbinary and cuobjdump: commands, what they print, their status, their files; and
that `anywarp run` has programs find them.  No network, no NVIDIA.

    standins.py ANYWARP FOLDER"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys
import tempfile

HEAD = '.version 8.0\n.target sm_80\n.address_size 64\n'
FILES = {
    'good.ptx': HEAD + '.visible .entry k(.param .u64 p)\n{\n ret;\n}\n',
    'bad.ptx': HEAD
    + '.visible .entry k(.param .u64 p)\n{\n .reg .b32 %r<3>;\n mov.u32 %r9, 3;\n add.foo %r1, %r2, 3;\n ret;\n}\n',
    'syntax.ptx': HEAD + '.visible .entry k(\n',
    'caller.ptx': HEAD
    + '.extern .func (.param .b32 r) f();\n.visible .entry k(.param .u64 p)\n{\n .reg .b32 %r<2>;\n .param .b32 v;\n'
                         ' call (v), f, ();\n ld.param.b32 %r1, [v];\n ret;\n}\n',
    'callee.ptx': HEAD + '.visible .func (.param .b32 r) f()\n{\n st.param.b32 [r], 3;\n ret;\n}\n',
    'later.ptx': HEAD.replace('sm_80', 'sm_90') + '.visible .entry k()\n{\n ret;\n}\n',
}
ABORTED = 'ptxas fatal   : Ptx assembly aborted due to errors'
# command, status, what is in its output, the file that it makes ('' = none)
TABLE = (
    ('ptxas --version', 0, 'release 13.0, V13.0.0', ''),
    ('ptxas -V', 0, 'release 13.0', ''),
    ('ptxas --help', 0, '--gpu-name <value>', ''),
    ('ptxas good.ptx', 0, '', 'elf.o'),
    ('ptxas good.ptx -o x.o', 0, '', 'x.o'),
    # As Triton, numba and XLA call it.
    ('ptxas -lineinfo -v --regAllocOptLevel=2 --gpu-name=sm_80 good.ptx -o x.o', 0, "Compiling entry function 'k' for 'sm_80'",
     'x.o'),
    ('ptxas --fmad=false -g --opt-level 0 --gpu-name=sm_90a good.ptx -o x.o', 0, '', 'x.o'),
    ('ptxas good.ptx -o x.o -arch=sm_80 --warn-on-spills -O3 -regUsageLevel 5', 0, '', 'x.o'),
    ('ptxas --gpu-name=compute_80 good.ptx -o x.o', 0, '', ''),
    ('ptxas -c caller.ptx -o x.o', 0, '', 'x.o'),
    ('ptxas caller.ptx -o x.o', 255, ABORTED, ''),
    ('ptxas bad.ptx -o x.o', 255, 'ptxas bad.ptx, line 7; error   : ', ''),
    ('ptxas bad.ptx -o x.o', 255, 'ptxas bad.ptx, line 8; error   : ', ''),
    ('ptxas bad.ptx -o x.o', 255, ABORTED, ''),
    ('ptxas syntax.ptx -o x.o', 255, 'ptxas syntax.ptx, line 5; error   : ', ''),
    ('ptxas --gpu-name=sm_80 later.ptx -o x.o', 255, 'SM version specified by .target is higher', ''),
    ('ptxas --no-such-option good.ptx -o x.o', 255, "ptxas fatal   : Unknown option 'no-such-option'", ''),
    ('ptxas --gpu-name=sm_8 good.ptx -o x.o', 255, "ptxas fatal   : Value 'sm_8' is not defined for option 'gpu-name'", ''),
    ('ptxas good.ptx -o', 255, "Argument expected for option 'output-file'", ''),
    ('ptxas missing.ptx -o x.o', 255, "Input file 'missing.ptx' could not be opened", ''),
    ('ptxas good.ptx -o no/such/x.o', 255, "Could not write output file 'no/such/x.o'", ''),
    ('nvlink --version', 0, 'release 13.0', ''),
    ('nvlink -arch=sm_80 caller.o callee.o -o x.o', 0, '', 'x.o'),
    ('nvlink --arch sm_80 caller.ptx callee.o -o x.o', 0, '', 'x.o'),
    ('nvlink -arch=sm_80 caller.o -o x.o', 255, 'nvlink error   : ', ''),
    ('nvlink -arch=sm_80 good.o good.o -o x.o', 255, "nvlink error   : 'k' is already defined", ''),
    ('nvlink -arch=sm_80 -o x.o', 255, 'nvlink fatal   : No input with device code', ''),
    ('nvlink -arch=sm_80 --zork good.o -o x.o', 255, "nvlink fatal   : Unknown option 'zork'", ''),
    ('fatbinary --create=x.o --64 --image=profile=sm_80,file=good.o --image3=kind=ptx,sm=80,file=good.ptx', 0, '', 'x.o'),
    ('fatbinary --create=x.o --image=profile=sm_80', 255, 'is not defined for option', ''),
    ('fatbinary --image3=kind=ptx,sm=80,file=good.ptx', 255, "Option 'create' is missing", ''),
    ('cuobjdump -ptx good.o', 0, '.visible .entry k(', ''),
    ('cuobjdump -lptx good.o', 0, 'sm_80.ptx', ''),
    ('cuobjdump -sass good.o', 255, 'holds PTX and no machine code', ''),
)


def main():
    anywarp, folder = map(os.path.abspath, sys.argv[1:3])
    failed = count = 0
    env = {k: v for k, v in os.environ.items() if not k.startswith(('ANYWARP_', 'TRITON_'))}

    def run(command, **more):
        return subprocess.run(command, env={**env, **more}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=60, check=False)

    def check(name, good, shown):
        nonlocal failed, count
        count += 1
        failed += not good
        if not good:
            print('FAIL %s\n%s' % (name, shown))

    with tempfile.TemporaryDirectory() as tmp:
        os.chdir(tmp)
        for name, text in FILES.items():
            with open(name, 'w', encoding='utf-8') as f:
                f.write(text)
        for name in ('good', 'caller', 'callee'):
            run([os.path.join(folder, 'ptxas'), '-c', name + '.ptx', '-o', name + '.o'])
        for command, status, text, made in TABLE:
            for name in ('x.o', 'elf.o'):
                if os.path.exists(name):
                    os.unlink(name)
            words = command.split()
            result = run([os.path.join(folder, words[0])] + words[1:])
            found = [name for name in ('x.o', 'elf.o') if os.path.exists(name)]
            check(command, result.returncode == status and text in result.stdout and found == ([made] if made else []) and
                  (status or text or not result.stdout), 'status %d, made %s\n%s' % (result.returncode, found, result.stdout))
            if made and not status:
                dump = run([anywarp, 'dump', made]).stdout
                check(command + ': what it made', re.search(r'kernel +k\b', dump), dump)
        # The version follows the one that the driver reports.
        check('version', 'release 12.8, V12.8.0' in run([os.path.join(folder, 'ptxas'), '--version'],
                                                        ANYWARP_DRIVER_VERSION='12080').stdout, '')
        # It is no newer than the runtime of the program that asks.
        for major, said in ('12', '12.6'), ('13', '13.0'):
            asks = ('import ctypes, subprocess, sys; ctypes.CDLL("libcudart.so.%s"); '
                    'print(subprocess.run([sys.argv[1], "--version"], capture_output=True, text=True).stdout)' % major)
            shown = run([anywarp, 'run', sys.executable, '-c', asks, os.path.join(folder, 'ptxas')]).stdout
            check('version beside runtime ' + major, 'release %s, V%s.0' % (said, said) in shown, shown)
        # How programs find them.
        shown = run([anywarp, 'run', '/bin/sh', '-c', 'command -v ptxas; command -v nvlink; echo $TRITON_PTXAS_PATH']).stdout
        check('PATH', shown == ''.join(folder + '/' + n + '\n' for n in ('ptxas', 'nvlink', 'ptxas')), shown)
        shown = run([anywarp, 'run', '/bin/sh', '-c', 'echo $TRITON_PTXAS_PATH'], TRITON_PTXAS_PATH='/my/ptxas').stdout
        check("the user's", shown == '/my/ptxas\n', shown)
        os.chdir('/')
    print('%d passed, %d failed' % (count - failed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
