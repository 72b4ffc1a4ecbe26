#!/usr/bin/env python3
# Line tables: right places in them, no effect on code, and objects that LLVM's tools find sound.
# SPDX-License-Identifier: Apache-2.0
"""usage: lines.py ANYWARP LLVM_BINDIR PLACES.ptx FILE.ptx...

PLACES.ptx says in its comments which rows its kernels' line tables must have, for every target:
    // PLACE: KERNEL FILE:LINE
and with -g, for functions without .loc, where the text FILE is PLACES.ptx itself:
    // PLACE -g: KERNEL LINE
Every kernel of all files is compiled for every target without a line table, as its .loc directives say, and with -g: machine
code and constants must be the same bytes."""
import os
import re
import subprocess
import sys
import tempfile

TARGETS = ['host', 'gfx1030', 'gfx90a']
SECTIONS = ('.text', '.rodata', '.data.rel.ro')


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors='replace', check=False)


class Test:
    def __init__(self, anywarp, bindir, places, files, directory):
        self.anywarp, self.bindir, self.places, self.files, self.dir = anywarp, bindir, places, files, directory
        self.compared, self.rows, self.problems = 0, 0, []

    def kernels(self, path):
        return run(self.anywarp, 'compile', path, '--emit=kernels').stdout.split()

    def compile(self, path, kernel, target, flags, name):
        """The object, or None when the compiler refuses the kernel."""
        out = os.path.join(self.dir, name + '.o')
        r = run(self.anywarp, 'compile', path, '--target', target, '--kernel', kernel, '-o', out, *flags)
        if r.returncode < 0 or 'internal' in r.stderr:
            self.problems.append('%s %s %s: %s' % (kernel, target, flags, r.stderr))
        return out if r.returncode == 0 else None

    def code(self, path):
        """Bytes of code and constants."""
        parts = []
        for section in SECTIONS:
            out = os.path.join(self.dir, 'section')
            if os.path.exists(out):
                os.unlink(out)
            run(os.path.join(self.bindir, 'llvm-objcopy'), '--dump-section', section + '=' + out, path, os.devnull)
            parts.append(open(out, 'rb').read() if os.path.exists(out) else b'')
        return parts

    def compare(self, path, kernel, target):
        text = open(path, encoding='utf-8', errors='replace').read()
        bare = os.path.join(self.dir, 'bare.ptx')
        with open(bare, 'w', encoding='utf-8') as f:
            f.write(re.sub(r'(?m)^[ \t]*\.loc\b[^\n]*$', '', text))
        objects = [self.compile(bare, kernel, target, [], 'bare'), self.compile(path, kernel, target, [], 'loc'),
                   self.compile(path, kernel, target, ['-g'], 'all')]
        if None in objects:
            if any(objects):
                self.problems.append('%s %s: refused in one form only' % (kernel, target))
            return
        codes = [self.code(o) for o in objects]
        self.compared += 1
        if not codes[0][0]:
            self.problems.append('%s %s: no code found' % (kernel, target))
        for what, code in zip(('.loc', '-g'), codes[1:]):
            if code != codes[0]:
                self.problems.append('%s %s: %s changes the code' % (kernel, target, what))
        dwarf = run(os.path.join(self.bindir, 'llvm-dwarfdump'), '--verify', objects[2])
        if dwarf.returncode:
            self.problems.append('%s %s: %s' % (kernel, target, dwarf.stdout[-500:]))

    def table(self, path):
        """(file name, line) of every row."""
        text = run(os.path.join(self.bindir, 'llvm-dwarfdump'), '--debug-line', path).stdout
        names = {int(m[1]): m[2] for m in re.finditer(r'file_names\[\s*(\d+)\]:\s*name: "([^"]*)"', text)}
        return {(names.get(int(m[2])), int(m[1])) for m in re.finditer(r'(?m)^0x[0-9a-f]{16}\s+(\d+)\s+\d+\s+(\d+)\s', text)}

    def check_places(self):
        with open(self.places, encoding='utf-8') as f:
            wanted = re.findall(r'(?m)^// PLACE( -g)?: (\S+) (?:(\S+):)?(\d+)$', f.read())
        if not wanted:
            self.problems.append('%s wants no places' % self.places)
        for g, kernel, name, line in wanted:
            for target in TARGETS:
                path = self.compile(self.places, kernel, target, ['-g'] if g else [], 'places')
                rows = self.table(path) if path else set()
                row = (name or os.path.basename(self.places), int(line))
                self.rows += 1
                if row not in rows:
                    self.problems.append('%s %s%s: no row for %s:%d in %s' % (kernel, target, g, *row, sorted(rows, key=str)))

    def check_circles(self):
        """Places inlined at each other, again and again: no chain without end."""
        path = os.path.join(self.dir, 'circles.ptx')
        locs = ''.join('.loc 1 %d 1, function_name $L, inlined_at 1 %d 1\nadd.u32 %%r1, %%r1, %%r2;\n' % (1 + i % 2, 2 - i % 2)
                       for i in range(20000))
        with open(path, 'w', encoding='utf-8') as f:
            f.write('.version 7.8\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p)\n{\n.reg .b32 %%r<3>;\n'
                    '.reg .b64 %%rd<2>;\nld.param.u64 %%rd1, [p];\nld.global.u32 %%r2, [%%rd1];\n%sst.global.u32 [%%rd1], %%r1;\n'
                    'ret;\n}\n.file 1 "x.cu"\n' % locs)
        for target in TARGETS:
            if not self.compile(path, 'k', target, [], 'circles'):
                self.problems.append('circles of inlined places: not compiled for %s' % target)

    def run(self):
        self.check_places()
        self.check_circles()
        for path in [self.places] + self.files:
            for kernel in self.kernels(path):
                for target in TARGETS:
                    self.compare(path, kernel, target)


def main():
    anywarp, bindir, places, files = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    with tempfile.TemporaryDirectory() as directory:
        test = Test(anywarp, bindir, places, files, directory)
        test.run()
    print('%d rows found or missed, %d kernels compared' % (test.rows, test.compared))
    for problem in test.problems:
        print(problem)
    return 1 if test.problems or not test.compared else 0


if __name__ == '__main__':
    sys.exit(main())
