#!/usr/bin/env python3
# The settings of src/base/config.def and the quirks of src/base/quirk.def as the tables of docs/configuration.md.
# SPDX-License-Identifier: Apache-2.0
"""usage: config.py CONFIG_DEF QUIRK_DEF CONFIGURATION_MD            writes the tables into the page, between their marks
       config.py CONFIG_DEF QUIRK_DEF CONFIGURATION_MD --check    says whether they are as written"""
import re
import sys

SETTINGS = ('<!-- settings: made by tools/gen/config.py -->\n', '<!-- end of settings -->\n')
QUIRKS = ('<!-- quirks: made by tools/gen/config.py -->\n', '<!-- end of quirks -->\n')
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def rows(path, macro, count):
    """The strings of each row, `count` of them; one may be several strings in a row."""
    with open(path, encoding='utf-8') as f:
        text = re.sub(r'/\*.*?\*/', '', f.read(), flags=re.S)
    for piece in re.split(rf'^{macro}\(', text, flags=re.M)[1:]:
        joined = re.sub(r'"\s*\n\s*"', '', piece)
        fields = STRING.findall(joined)
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


def replaced(path, text, marks, table):
    head, begin, rest = text.partition(marks[0])
    _, end, tail = rest.partition(marks[1])
    if not begin or not end:
        sys.exit(f'{path}: no marks for a table')
    return head + begin + '\n' + table + '\n' + end + tail


def main(argv):
    if len(argv) not in (4, 5) or argv[4:] not in ([], ['--check']):
        sys.exit(__doc__)
    page = argv[3]
    with open(page, encoding='utf-8') as f:
        text = f.read()
    wanted = replaced(page, replaced(page, text, SETTINGS, settings(argv[1])), QUIRKS, quirks(argv[2]))
    if argv[4:]:
        sys.exit(0 if text == wanted else f'{page} is not what the tables say: run tools/gen/config.py')
    with open(page, 'w', encoding='utf-8') as f:
        f.write(wanted)


main(sys.argv)
