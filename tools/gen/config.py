#!/usr/bin/env python3
# The settings of src/base/config.def as the table of docs/configuration.md.
# SPDX-License-Identifier: Apache-2.0
"""usage: config.py CONFIG_DEF CONFIGURATION_MD            writes the table into the page, between its marks
       config.py CONFIG_DEF CONFIGURATION_MD --check    says whether it is as written"""
import re
import sys

BEGIN, END = '<!-- settings: made by tools/gen/config.py -->\n', '<!-- end of settings -->\n'
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def rows(path):
    """[key, variable, values, usual, what] of each row; a field may be several strings in a row."""
    with open(path, encoding='utf-8') as f:
        text = re.sub(r'/\*.*?\*/', '', f.read(), flags=re.S)
    for piece in re.split(r'^AW_CONFIG\(', text, flags=re.M)[1:]:
        joined = re.sub(r'"\s*\n\s*"', '', piece)
        fields = STRING.findall(joined)
        if len(fields) != 5:
            sys.exit(f'{path}: the row of {fields[0]} has {len(fields)} fields, not 5')
        yield fields


def table(path):
    lines = ['| setting | variable | values | usual | meaning |', '|---|---|---|---|---|']
    lines += [f'| `{key}` | `{variable}` | {values} | {usual} | {what} |' for key, variable, values, usual, what in rows(path)]
    return '\n'.join(lines) + '\n'


def main(argv):
    if len(argv) not in (3, 4) or argv[3:] not in ([], ['--check']):
        sys.exit(__doc__)
    with open(argv[2], encoding='utf-8') as f:
        text = f.read()
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        sys.exit(f'{argv[2]}: no marks for the table')
    wanted = head + BEGIN + '\n' + table(argv[1]) + '\n' + END + tail
    if argv[3:]:
        sys.exit(0 if text == wanted else f'{argv[2]} is not what the table says: run tools/gen/config.py')
    with open(argv[2], 'w', encoding='utf-8') as f:
        f.write(wanted)


main(sys.argv)
