#!/usr/bin/env python3
"""What tools/gen/lib.py makes of lines of the tables of libraries, and what it refuses.

    tables.py LIB.py"""
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import tempfile

HEAD = '''!library 1 libx.so.1
!status xResult 7
!status xPair 5 0
!status double fatal
!status void* 0
!struct xPair
!each types int=int ull=unsigned~long~long
'''
# directives of its own, a line, what is made of it
CASES = (
    ('', 'xResult xGo(int a) | 1 | stub', 'aw_lib_stub("x", "xGo", &once[0]); return (xResult){ 7 };'),
    ('', 'xPair xGo(int a) | 1 | stub', 'return (xPair){ 5, 0 };'),
    ('', 'void *xGo(int a) | 1 | stub', 'return (void *){ 0 };'),
    ('', 'double xGo(int a) | 1 | stub', 'static double e0(int a) { aw_lib_fatal("x", "xGo"); }'),
    ('', 'float xGo(int a) | 1 | stub', 'refused: '),
    ('!status other fatal', 'float xGo(int a) | 1 | stub', 'static float e0(int a) { aw_lib_fatal("x", "xGo"); }'),
    ('!status void fatal', 'void xGo() | 1 | stub', 'static void e0(void) { aw_lib_fatal("x", "xGo"); }'),
    ('', 'void xGo() | 1 | stub', 'aw_lib_stub("x", "xGo", &once[0]); }'),
    ('', 'xResult x_<types>_go(const <types> *p) | 1 | stub',
     'static xResult e1(const unsigned long long *p) { aw_lib_stub("x", "x_ull_go"'),
    ('', '<types> x_<types>_go(<types> v) | 1 | full', 'unsigned long long ret_ = awx_x_ull_go(v);'),
    ('', 'int xGo(str a) | 1 idle=-2 | full', 'static int e0(const char *a) { return (int)-2; }'),
    ('', 'void xGo(str a) | 1 idle | full', 'static void e0(const char *a) { }'),
    ('!also p', 'xResult xGo(int a) | 1 | full', '(void *)awx_xGo, (void *)awx_xGo, };'),
    ('!also p', 'xResult xGo(int a) | 1 alone | full', '{ (void *)awx_xGo, };'),
    ('', '<types> x_<types>_go(<types> v) | 1 body=x_<types>_other | full', 'unsigned long long ret_ = awx_x_ull_other(v);'),
    ('', 'x{A,B}_{1,2} | 2 | stub', 'refused: '),
    ('', 'x{A,B}_{1,2} | 1 | full', 'refused: '),
    ('', 'x{A,B_{1,2} | 1 | stub', 'refused: '),
    ('', 'x{A,A}_{1,2} | 1 | stub', 'refused: '),
    ('', 'xA | 1 some | stub', 'refused: '),
)


def generate(lib, directives, line):
    with tempfile.TemporaryDirectory() as tmp:
        table, made = os.path.join(tmp, 'x.api'), os.path.join(tmp, 'out.c')
        with open(table, 'w', encoding='utf-8') as out:
            out.write('%s%s\n## Chapter\n%s\n' % (HEAD, directives, line))
        run = subprocess.run([sys.executable, lib, 'dispatch', table, made], capture_output=True, text=True)
        if run.returncode:
            return 'refused: ' + run.stderr
        with open(made, encoding='utf-8') as f:
            return ' '.join(f.read().split())


def main():
    bad = 0
    for directives, line, want in CASES:
        got = generate(sys.argv[1], directives, line)
        if want not in got or (want != 'refused: ' and got.startswith('refused')):
            bad += 1
            print('%s\n    has no %s\n    but %s' % (line, want, got[:2000]))
    print('%d lines, %d wrong' % (len(CASES), bad))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
