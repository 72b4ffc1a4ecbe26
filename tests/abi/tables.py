#!/usr/bin/env python3
"""What tools/gen/api.py makes of lines of the tables: forwards, bodies for both default streams; and what it refuses.

    tables.py API.py"""
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import tempfile

CUDA = '''!handle CUevent CUstream
!struct CUplace
## Chapter
CUresult cuMove(CUdeviceptr to, size_t n, CUplace place, CUstream s) | 8.0 ptsz | full
CUresult cuMake(out CUevent e, unsigned int flags) | 2.0 | full
CUresult cuNone(int a) | 2.0 | stub
CUresult cuCopy(CUdeviceptr to, size_t n) | 2.0 ptds | full
'''
CUDART = '''!handle cudaEvent_t cudaStream_t
!struct CUplace
## Chapter
'''


def generate(api, line):
    with tempfile.TemporaryDirectory() as tmp:
        names = [os.path.join(tmp, name) for name in ('cuda.api', 'cudart.api', 'out.c')]
        for name, text in zip(names, (CUDA, CUDART + line + '\n')):
            with open(name, 'w', encoding='utf-8') as out:
                out.write(text)
        run = subprocess.run([sys.executable, api, 'dispatch', 'cudart', names[1], names[2], names[0]], capture_output=True,
                             text=True)
        if run.returncode:
            return 'refused: ' + run.stderr
        with open(names[2], encoding='utf-8') as made:
            return ' '.join(made.read().split())


CASES = (
    ('cudaError_t cudaMove(void *to, size_t n, CUplace place, cudaStream_t s) | 12 ptsz as=cuMove | full',
     'aw_rt_ctx(&ctx_); return status_ ? aw_rt_error(status_) : (cudaError_t)awcu_cuMove((CUdeviceptr)(uintptr_t)to, n, place, '
     '(CUstream)(uintptr_t)s);'),
    ('cudaError_t cudaMake(out cudaEvent_t e) | 12 as=cuMake | full', 'awcu_cuMake((CUevent *)(uintptr_t)e, 0);'),
    ('cudaError_t cudaMake(out cudaEvent_t e, unsigned int flags) | 12 as=cuMake:any | full', 'aw_rt_ctx_any(&ctx_)'),
    ('cudaError_t cudaMake(out cudaEvent_t e, unsigned int flags) | 12 as=cuMake:device | full', 'status_ = aw_core_init();'),
    ('cudaError_t cudaCopy(void *to, size_t n) | 12 ptds | full',
     'awrt_cudaCopy_ptds(void *to, size_t n) { return awrt_cudaCopy_on(to, n, CU_STREAM_PER_THREAD); }'),
    ('cudaError_t cudaCopy(void *to, size_t n) | 12 ptds as=cuCopy | full', 'awcu_cuCopy_ptds((CUdeviceptr)(uintptr_t)to, n);'),
    ('cudaError_t cudaNone(int a) | 12 as=cuNone | full', 'refused: '),
    ('cudaError_t cudaLost(int a) | 12 as=cuLost | full', 'refused: '),
    ('cudaError_t cudaMake(int e) | 12 as=cuMake | full', 'refused: '),
    ('cudaError_t cudaMake(out cudaEvent_t e, unsigned int f, int more) | 12 as=cuMake | full', 'refused: '),
    ('cudaError_t cudaMake(out cudaEvent_t e) | 12 as=cuMake:never | full', 'refused: '),
    ('cudaError_t cudaMake(out cudaEvent_t e) | 12 as=cuMake | stub', 'refused: '),
)


def main():
    bad = 0
    for line, want in CASES:
        got = generate(sys.argv[1], line)
        if want not in got or (want != 'refused: ' and got.startswith('refused')):
            bad += 1
            print('%s\n    has no %s\n    but %s' % (line, want, got[:2000]))
    print('%d lines, %d wrong' % (len(CASES), bad))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
