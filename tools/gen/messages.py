#!/usr/bin/env python3
# The messages of src/base/message.def as the entries of docs/troubleshooting.md.
# SPDX-License-Identifier: Apache-2.0
"""usage: messages.py MESSAGE_DEF TROUBLESHOOTING_MD            writes the entries into the page, between its marks
       messages.py MESSAGE_DEF TROUBLESHOOTING_MD --check    says whether they are as written"""
import re
import sys
import textwrap

import page

ROW = re.compile(r'\s*(\w+), (\d{4}), (ERR|FIXME|WARN|INFO),\s')
CONVERSION = re.compile(r'(?:%[-+ #0-9.*lhzjt]*[a-zA-Z])+')


def rows(path):
    """('title', text) and (name, number, level, text, meaning, remedy), in the table's order; a field may be several strings."""
    for kind, piece in re.findall(r'^AW_(MESSAGES?)\((.*?)\)\n(?=AW_|\Z)', page.table(path), flags=re.M | re.S):
        fields = [f.replace('\\"', '"').replace('\\\\', '\\') for f in page.strings(piece)]
        head = ROW.match(piece)
        if kind == 'MESSAGES' and len(fields) == 1:
            yield 'title', fields[0]
        elif kind == 'MESSAGE' and head and len(fields) == 3:
            yield head[1], int(head[2]), head[3], *fields
        else:
            sys.exit(f'{path}: not a row: {piece[:80]}')


def shown(text):
    """A format as its message reads, with dots for what it prints."""
    return CONVERSION.sub('…', text).replace('%%', '%')


def lines(text):
    return '\n'.join(textwrap.wrap(text, 130, break_long_words=False, break_on_hyphens=False))


def entries(path):
    out = []
    for row in rows(path):
        if row[0] == 'title':
            out.append(f'## {row[1]}\n')
        else:
            _, number, level, text, meaning, remedy = row
            said = f'{level.lower()}: ``{shown(text)}``'
            out.append(f'### AW{number}\n\n{said}\n\n{lines(meaning)}\n\n*What to do:* {lines(remedy)}\n')
    return '\n'.join(out)


def main(argv):
    if len(argv) not in (3, 4) or argv[3:] not in ([], ['--check']):
        sys.exit(__doc__)
    parts = [(page.marks('messages', 'messages.py'), f'\n{entries(argv[1])}\n')]
    if not page.update(argv[2], parts, bool(argv[3:])) and argv[3:]:
        sys.exit(f'{argv[2]} is not what the table says: run tools/gen/messages.py')


if __name__ == '__main__':
    main(sys.argv)
