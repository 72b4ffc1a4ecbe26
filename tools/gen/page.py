# What generators share that write a part of a page of docs/ from a table: the table's strings, and the part between its marks.
# SPDX-License-Identifier: Apache-2.0
import re
import sys

STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def table(path):
    """The text of a .def file without its comments."""
    with open(path, encoding='utf-8') as f:
        return re.sub(r'/\*.*?\*/', '', f.read(), flags=re.S)


def strings(piece):
    """The strings of a row, as they are written; one may be several strings in a row."""
    return STRING.findall(re.sub(r'"\s*\n\s*"', '', piece))


def marks(name, tool):
    """The lines before and behind the part that is called so."""
    return f'<!-- {name}: made by tools/gen/{tool} -->\n', f'<!-- end of {name} -->\n'


def part(path, text, lines, new):
    """The page's text with what lies between two marks made anew."""
    head, begin, rest = text.partition(lines[0])
    _, end, tail = rest.partition(lines[1])
    if not begin or not end:
        sys.exit(f'{path}: no marks {lines[0].strip()} and {lines[1].strip()}')
    return head + begin + new + end + tail


def update(path, parts, check):
    """Writes the page with its parts, [(marks, text)], or only looks; whether that changes nothing."""
    with open(path, encoding='utf-8') as f:
        old = f.read()
    new = old
    for lines, text in parts:
        new = part(path, new, lines, text)
    if not check and new != old:
        with open(path, 'w', encoding='utf-8') as f:
            f.write(new)
    return new == old
