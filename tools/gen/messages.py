#!/usr/bin/env python3
# The messages of src/base/message.def as the entries of docs/troubleshooting.md.
# SPDX-License-Identifier: Apache-2.0
"""usage: messages.py MESSAGE_DEF TROUBLESHOOTING_MD            writes the entries into the page, between its marks
       messages.py MESSAGE_DEF TROUBLESHOOTING_MD --check    says whether they are as written"""
import re
import sys
import textwrap

BEGIN, END = '<!-- messages: made by tools/gen/messages.py -->\n', '<!-- end of messages -->\n'
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
ROW = re.compile(r'\s*(\w+), (\d{4}), (ERR|FIXME|WARN|INFO),\s')
CONVERSION = re.compile(r'(?:%[-+ #0-9.*lhzjt]*[a-zA-Z])+')


def rows(path):
    """('title', text) and (name, number, level, text, meaning, remedy), in the table's order; a field may be several strings."""
    with open(path, encoding='utf-8') as f:
        text = re.sub(r'/\*.*?\*/', '', f.read(), flags=re.S)
    for kind, piece in re.findall(r'^AW_(MESSAGES?)\((.*?)\)\n(?=AW_|\Z)', text, flags=re.M | re.S):
        fields = [f.replace('\\"', '"').replace('\\\\', '\\') for f in STRING.findall(re.sub(r'"\s*\n\s*"', '', piece))]
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
    with open(argv[2], encoding='utf-8') as f:
        text = f.read()
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        sys.exit(f'{argv[2]}: no marks for the entries')
    wanted = head + BEGIN + '\n' + entries(argv[1]) + '\n' + END + tail
    if argv[3:]:
        sys.exit(0 if text == wanted else f'{argv[2]} is not what the table says: run tools/gen/messages.py')
    with open(argv[2], 'w', encoding='utf-8') as f:
        f.write(wanted)


if __name__ == '__main__':
    main(sys.argv)
