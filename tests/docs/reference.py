#!/usr/bin/env python3
"""The reference of the public headers: each has a page with all that it declares, and each function says what it does.

    reference.py SOURCE_ROOT        77 where there is no doxygen
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import subprocess
import sys
import tempfile

DECLARED = re.compile(r'^(?:const )?(?:struct |enum )?\w+[ *]+(aw_\w+)\((?!\*)', re.M)


def faults(root, folder):
    include = os.path.join(root, 'include/anywarp')
    for name in sorted(os.listdir(include)):
        with open(os.path.join(include, name), encoding='utf-8') as f:
            header = re.sub(r'/\*.*?\*/', '', f.read(), flags=re.S)
        with open(os.path.join(folder, name.replace('.h', '.md')), encoding='utf-8') as f:
            page = f.read()
        entries = dict(part.partition('\n')[::2] for part in page.split('\n### ')[1:])
        if not re.match(r'# anywarp/\w+\.h\n\n\w', page):
            yield name + ': the page does not say what the header is'
        for what in DECLARED.findall(header):
            if what not in entries:
                yield '%s: %s is not on its page' % (name, what)
            elif not re.sub(r'```.*?```', '', entries[what], flags=re.S).strip():
                yield '%s: %s has no words' % (name, what)
        for what in re.findall(r'^struct (aw_\w+) \{', header, re.M):
            if 'struct ' + what not in entries:
                yield '%s: struct %s is not on its page' % (name, what)


def main():
    root = os.path.abspath(sys.argv[1])
    if not shutil.which('doxygen'):
        print('reference: no doxygen')
        return 77
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(root, 'tools/gen/reference.py'), os.path.join(root, 'include/anywarp'),
                        folder], check=True)
        found = list(faults(root, folder))
    print('\n'.join(found) or 'reference: all that the headers declare is there, and each function has words')
    return 1 if found else 0


sys.exit(main())
