#!/usr/bin/env python3
"""Writes the reference of the public headers, include/anywarp/*.h, as Markdown: a page for each header.  Doxygen reads them; here
its XML becomes pages.

    reference.py INCLUDE_DIR OUT_DIR         compiler.md, fatbin.md ...; needs doxygen
    reference.py --filter HEADER             how doxygen gets to see a header: with our comments as it knows them
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SETTINGS = '''
QUIET = YES
WARNINGS = NO
INPUT = %s
INPUT_FILTER = "%s %s --filter"
FILE_PATTERNS = *.h
OUTPUT_DIRECTORY = %s
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
OPTIMIZE_OUTPUT_FOR_C = YES
EXTRACT_ALL = YES
MARKDOWN_SUPPORT = NO
AUTOLINK_SUPPORT = NO
SORT_MEMBER_DOCS = NO
MACRO_EXPANSION = YES
STRIP_FROM_PATH = %s
'''
COMMENT = re.compile(r'/\*(?P<text>.*?)\*/', re.S)


def as_doxygen(text):
    """The header with its comments in doxygen's form: before what they are about, or behind it on its line."""
    begins = True

    def change(m):
        nonlocal begins
        body = m['text']
        before = text[text.rfind('\n', 0, m.start()) + 1:m.start()]
        if body.lstrip().startswith(('SPDX', '----')) or before.lstrip().startswith('#') or \
                re.fullmatch(r'\s*struct \w+;\s*', before):
            return m[0]
        body = re.sub(r'([\\@<>#%&"])', r'\\\1', body)
        if begins:
            begins = False
            return '/** \\file\n *' + body + '*/'
        return ('/**<' if before.strip() else '/**') + body + '*/'

    return COMMENT.sub(change, text)


# ---- Doxygen's XML


def words(node):
    """The text of a node, its paragraphs apart."""
    if node is None:
        return ''
    parts = []
    for para in node.iter('para'):
        lead = '- ' if any(para in item for item in node.iter('listitem')) else ''
        parts.append(lead + ' '.join(''.join(para.itertext()).split()))
    return '\n\n'.join(part for part in parts if part)


def described(node):
    return '\n\n'.join(filter(None, (words(node.find('briefdescription')), words(node.find('detaileddescription')))))


def plain(node):
    return ' '.join(''.join(node.itertext()).split()) if node is not None else ''


def markdown(text):
    """Prose of a comment: what Markdown would take for its own is escaped, but for code."""
    pieces = re.split(r'(`[^`]*`)', text)
    return ''.join(p if i % 2 else re.sub(r'([*<>\[\]|])', r'\\\1', p) for i, p in enumerate(pieces))


def cell(text):
    return markdown(' '.join(text.split()))


def line_of(node):
    return int(node.find('location').get('line'))


def code(text):
    return '\n```c\n' + text + '\n```\n'


def kind_of(node):
    """A type as we write it: `char **`, `int (*`."""
    text = re.sub(r'\s*\*', '*', plain(node.find('type')))
    return re.sub(r'(?<=[\w)])(\**)$', lambda m: ' ' + m[1] if m[1] else '', re.sub(r'\(\s*\*', ' (*', text))


def declared(node):
    """`type name[n]` of a member, and of one that points to a function."""
    kind, name, rest = kind_of(node), node.find('name').text, plain(node.find('argsstring'))
    return (kind + name + rest) if kind.endswith(('*', '(*')) else ('%s %s%s' % (kind, name, rest))


def function(node):
    arguments = []
    for p in node.findall('param'):
        kind, name, array = kind_of(p), plain(p.find('declname')), plain(p.find('array'))
        if '(*)' in kind:
            arguments.append(re.sub(r'(?<=\w)(\*+)', r' \1', kind.replace(' (*)', '(*)')).replace('(*)', ' (*%s)' % name))
        else:
            arguments.append(kind + ('' if kind.endswith('*') or not name else ' ') + name + array)
    name = kind_of(node)
    head = name + ('' if name.endswith('*') else ' ') + node.find('name').text
    text = '%s(%s);' % (head, ', '.join(arguments) or 'void')
    if len(text) > 100:
        text = '%s(%s);' % (head, (',\n' + ' ' * (len(head) + 1)).join(arguments))
    return '\n### %s\n' % node.find('name').text + code(text) + '\n' + markdown(described(node)) + '\n'


def fields(node):
    """Rows of a structure: what a line declares together is one row."""
    rows = []
    for m in node.iter('memberdef'):
        if m.get('kind') != 'variable':
            continue
        line, kind, text = line_of(m), plain(m.find('type')), described(m)
        if rows and rows[-1][0] == (line, kind) and not rows[-1][2]:
            rows[-1] = (rows[-1][0], '%s, %s%s' % (rows[-1][1], m.find('name').text, plain(m.find('argsstring'))), text)
        else:
            rows.append(((line, kind), declared(m), text))
    return rows


def struct(node):
    out = '\n### struct %s\n\n' % node.find('compoundname').text + markdown(described(node)) + '\n'
    rows = fields(node)
    if rows:
        out += '\n| field | meaning |\n|---|---|\n'
    return out + ''.join('| `%s` | %s |\n' % (name.replace('|', '\\|'), cell(text)) for _, name, text in rows)


def enum(node):
    name = node.find('name').text or ''
    values = [(v.find('name').text, cell(plain(v.find('initializer')).lstrip('= ')), cell(described(v)))
              for v in node.findall('enumvalue')]
    named = name and not name.startswith('@')
    out = '\n### %s\n\n' % ('enum ' + name if named else ', '.join(n for n, _, _ in values[:2]) + (', ...' if values[2:] else ''))
    out += markdown(described(node)) + '\n\n'
    if 3 * sum(bool(text) for _, _, text in values) < len(values):
        return out + ', '.join('`%s`%s%s' % (n, ' = ' + value if value else '', ' (%s)' % text if text else '')
                               for n, value, text in values) + '\n'
    numbers = any(value for _, value, _ in values)
    out += '| name | value | meaning |\n|---|---|---|\n' if numbers else '| name | meaning |\n|---|---|\n'
    return out + ''.join('| `%s` |%s %s |\n' % (n, ' %s |' % value if numbers else '', text) for n, value, text in values)


def define(node):
    name = node.find('name').text
    arguments = [plain(p.find('defname')) for p in node.findall('param')]
    value, _, behind = plain(node.find('initializer')).partition('/*')
    text = '#define %s%s %s' % (name, '(%s)' % ', '.join(arguments) if arguments else '', value)
    about = described(node) or re.sub(r' \* ', ' ', behind.replace('*/', '')).strip()
    return '\n### %s\n' % name + code(text.rstrip()) + '\n' + markdown(about) + '\n'


WRITERS = {'function': function, 'enum': enum, 'define': define}


def page(header, compounds):
    """The page of a header: what it is, then everything in it, in its order."""
    name = header.find('compoundname').text
    entries = [(line_of(m), WRITERS[m.get('kind')](m)) for m in header.iter('memberdef') if m.get('kind') in WRITERS
               and not (m.get('kind') == 'define' and m.find('name').text.endswith('_H'))]
    for inner in header.findall('innerclass'):
        node = compounds[inner.get('refid')]
        if '::' not in node.find('compoundname').text:
            entries.append((line_of(node), struct(node)))
    text = '# anywarp/%s\n\n%s\n%s' % (name, markdown(described(header)), ''.join(text for _, text in sorted(entries)))
    return re.sub(r'\n{3,}', '\n\n', text)


def read(include):
    with tempfile.TemporaryDirectory() as folder:
        settings = SETTINGS % (include, sys.executable, os.path.abspath(__file__), folder, include)
        subprocess.run(['doxygen', '-'], input=settings, text=True, check=True, stdout=subprocess.DEVNULL)
        compounds = {}
        for name in os.listdir(os.path.join(folder, 'xml')):
            if name.endswith('.xml') and name not in ('index.xml',):
                tree = xml.etree.ElementTree.parse(os.path.join(folder, 'xml', name))
                compounds.update({node.get('id'): node for node in tree.getroot().iter('compounddef')})
        return compounds


def main(argv):
    if len(argv) == 3 and argv[1] == '--filter':
        with open(argv[2], encoding='utf-8') as f:
            sys.stdout.write(as_doxygen(f.read()))
        return
    if len(argv) != 3:
        sys.exit(__doc__)
    compounds = read(os.path.abspath(argv[1]))
    os.makedirs(argv[2], exist_ok=True)
    for node in compounds.values():
        if node.get('kind') == 'file':
            name = os.path.splitext(node.find('compoundname').text)[0]
            with open(os.path.join(argv[2], name + '.md'), 'w', encoding='utf-8') as f:
                f.write(page(node, compounds))


if __name__ == '__main__':
    main(sys.argv)
