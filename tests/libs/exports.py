#!/usr/bin/env python3
# The names that a built library of libs/ exports, with their version node, are those of its table.
# Usage: exports.py LIB_PY TABLE MAJOR LIBRARY
# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys


def main():
    lib_py, table, major, library = sys.argv[1:]
    wanted = set(subprocess.run([sys.executable, lib_py, 'exports', table, major], check=True, capture_output=True,
                                text=True).stdout.split())
    text = subprocess.run(['nm', '-D', '--defined-only', '--with-symbol-versions', library], check=True, capture_output=True,
                          text=True).stdout
    found = {line.split()[2] for line in text.splitlines() if line.split()[1] in 'TBD'}
    for name in sorted(wanted ^ found):
        print('%s: %s' % (name, 'not exported' if name in wanted else 'not in the table'))
    print('%d names' % len(found))
    return 1 if wanted != found or not found else 0


if __name__ == '__main__':
    sys.exit(main())
