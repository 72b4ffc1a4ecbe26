#!/usr/bin/env python3
# The settings of src/base/config.def and the quirks of src/base/quirk.def as the tables of docs/configuration.md.
# SPDX-License-Identifier: Apache-2.0
"""usage: config.py CONFIG_DEF QUIRK_DEF CONFIGURATION_MD            writes the tables into the page, between their marks
       config.py CONFIG_DEF QUIRK_DEF CONFIGURATION_MD --check    says whether they are as written"""
import re
import sys

import page

SETTINGS, QUIRKS = page.marks('settings', 'config.py'), page.marks('quirks', 'config.py')


def rows(path, macro, count):
    """The strings of each row, `count` of them."""
    for piece in re.split(rf'^{macro}\(', page.table(path), flags=re.M)[1:]:
        fields = page.strings(piece)
        if len(fields) != count:
            sys.exit(f'{path}: the row of {fields[0]} has {len(fields)} strings, not {count}')
        yield fields


def settings(path):
    lines = ['| setting | variable | values | usual | meaning |', '|---|---|---|---|---|']
    lines += [f'| `{key}` | `{variable}` | {values} | {usual} | {what} |'
              for key, variable, values, usual, what in rows(path, 'AW_CONFIG', 5)]
    return '\n'.join(lines) + '\n'


def quirks(path):
    lines = ['| quirk | for | what is done |', '|---|---|---|']
    lines += [f'| `{name}` | {who} | {what} |' for name, who, what in rows(path, 'AW_QUIRK', 3)]
    return '\n'.join(lines).replace('\\"', '"') + '\n'


def main(argv):
    if len(argv) not in (4, 5) or argv[4:] not in ([], ['--check']):
        sys.exit(__doc__)
    parts = [(SETTINGS, f'\n{settings(argv[1])}\n'), (QUIRKS, f'\n{quirks(argv[2])}\n')]
    if not page.update(argv[3], parts, bool(argv[4:])) and argv[4:]:
        sys.exit(f'{argv[3]} is not what the tables say: run tools/gen/config.py')


if __name__ == '__main__':
    main(sys.argv)
