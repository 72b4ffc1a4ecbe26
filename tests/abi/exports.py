#!/usr/bin/env python3
"""Checks a built library against its table: SONAME, every name of the table exported with its version node, nothing else
exported. The table itself is held to the number and the digest of the names that NVIDIA's own library exports.

    exports.py API_PY cuda|cudart TABLE MAJOR LIBRARY"""
# SPDX-License-Identifier: Apache-2.0
import hashlib
import importlib.util
import re
import subprocess
import sys

# Number of names and digest of the sorted names: libcuda.so.1 of CUDA 13.0; libcudart of 11.8, 12.0 to 12.9, 13.0 to 13.5.
REAL = {
    '0': (673, 'fd71a6759cfe9925'),
    '11': (395, 'b2d743936f2f1826'),
    '12': (435, '2a12f9e71eaabbd5'),
    '13': (458, '7624b74c82c5620b'),
}
SONAMES = {'0': 'libcuda.so.1', '11': 'libcudart.so.11.0', '12': 'libcudart.so.12', '13': 'libcudart.so.13'}


def load_api(path):
    spec = importlib.util.spec_from_file_location('api', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def readelf(*args):
    return subprocess.run(['readelf', '-W', *args], check=True, capture_output=True, text=True).stdout


def exported(library):
    """Names as name or name@@node; version nodes themselves (absolute symbols) left out."""
    names = set()
    for line in readelf('--dyn-syms', library).splitlines():
        words = line.split()
        if len(words) >= 8 and words[4] in ('GLOBAL', 'WEAK') and words[6] not in ('UND', 'ABS'):
            names.add(words[7])
    return names


def main():
    sys.dont_write_bytecode = True
    api_py, name, table, major, library = sys.argv[1:]
    api = load_api(api_py)
    functions = api.load(name, table)
    rows = api.slots(name, functions, major)
    bad = []

    real = sorted(n for n, f, _ in rows if major != '0' or f.version_number() <= 13000)
    found = (len(real), hashlib.sha256('\n'.join(real).encode()).hexdigest()[:16])
    if found != REAL[major]:
        bad.append('the table lists %d names, digest %s; NVIDIA\'s library has %d, %s' % (found + REAL[major]))

    soname = re.search(r'SONAME.*\[(.*)\]', readelf('-d', library))
    if not soname or soname.group(1) != SONAMES[major]:
        bad.append('SONAME is %s, not %s' % (soname and soname.group(1), SONAMES[major]))

    node = '' if major == '0' else '@@' + SONAMES[major]
    wanted, have = {n + node for n, _, _ in rows}, exported(library)
    bad += ['not exported: %s' % n for n in sorted(wanted - have)]
    bad += ['exported, but not in the table: %s' % n for n in sorted(have - wanted)]
    for line in bad:
        print(line)
    print('%s: %d names, %d problems' % (library, len(have), len(bad)))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
