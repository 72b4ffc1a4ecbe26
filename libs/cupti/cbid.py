#!/usr/bin/env python3
"""Writes the tables of callback numbers from cbid.tab.  Usage: cbid.py cbid.tab OUT.c"""
# SPDX-License-Identifier: Apache-2.0
import re
import sys


def main():
    rows = {'d': [], 'r': []}
    with open(sys.argv[1], encoding='utf-8') as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                api, number, name = line.split()
                rows[api].append((int(number), name))
    with open(sys.argv[2], 'w', encoding='utf-8') as out:
        out.write('/* Generated from cbid.tab. */\n#include "cbid.h"\n')
        for api, table in (('d', 'driver'), ('r', 'runtime')):
            newest = {}
            for number, name in rows[api]:
                m = re.match(r'^(.*)_v(\d{4,5})$', name) if api == 'r' else None
                plain, version = (m.group(1), int(m.group(2))) if m else (name, 0)
                if plain not in newest or newest[plain][0] < version:
                    newest[plain] = (version, number)
            out.write('\nconst struct aw_cupti_cbid aw_cupti_%s[] = {\n' % table)
            for plain in sorted(newest, key=str.encode):
                out.write('    { "%s", %d },\n' % (plain, newest[plain][1]))
            out.write('};\nconst size_t aw_cupti_n_%s = %d;\n' % (table, len(newest)))
            size = max(n for n, _ in rows[api]) + 1
            names = dict(rows[api])
            out.write('\nconst char *const aw_cupti_%s_names[] = {\n' % table)
            for number in range(size):
                out.write('    %s,\n' % ('"%s"' % names[number] if number in names else '0'))
            out.write('};\nconst size_t aw_cupti_%s_size = %d;\n' % (table, size))


if __name__ == '__main__':
    main()
