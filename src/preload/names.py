#!/usr/bin/env python3
"""Writes the table of runtime functions that can be redirected: one row per name with the runtimes that have it.

    names.py API_PY CUDART_API OUT.inc

Each row is AW_REDIRECT(index, name, mask); bit 0 of the mask stands for libcudart.so.11.0, bit 1 for .12, bit 2 for .13."""
# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys


def main():
    api, table, out = sys.argv[1:]
    masks = {}
    for bit, major in enumerate(('11', '12', '13')):
        text = subprocess.run([sys.executable, api, 'exports', 'cudart', table, major], check=True, capture_output=True,
                              text=True).stdout
        for line in text.split():
            name = line.split('@')[0]
            masks[name] = masks.get(name, 0) | 1 << bit
    if '__cudaRegisterFatBinary' not in masks:
        sys.exit('names.py: %s lists no __cudaRegisterFatBinary' % table)
    with open(out, 'w', encoding='utf-8') as f:
        for index, name in enumerate(sorted(masks)):
            f.write('AW_REDIRECT(%d, %s, %d)\n' % (index, name, masks[name]))


if __name__ == '__main__':
    main()
