#!/usr/bin/env python3
"""Links of the pages: files and headings that they name are there, addresses elsewhere are well-formed (nothing is asked of the
network), each page of docs/ can be reached from README.md, and mkdocs.yml has it in its nav.

    links.py SOURCE_ROOT
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import sys
import tempfile
import unicodedata
import urllib.parse

FENCE = re.compile(r'^( *)(```|~~~).*?^\1\2[ \t]*$', re.M | re.S)
CODE = re.compile(r'(`+)(?!`).*?(?<!`)\1(?!`)', re.S)
COMMENT = re.compile(r'<!--.*?-->', re.S)
INLINE = re.compile(r'!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^()\s>]*(?:\([^()\s]*\)[^()\s]*)*)>?(?:\s+"[^"]*")?\s*\)')
AUTO = re.compile(r'<(https?:[^>\s]*)>')
HTML = re.compile(r'<(?:img|a)\b[^>]*?\b(?:src|href)="([^"]*)"')
HEADING = re.compile(r'^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*$', re.M)
TEXTS = ('.',), ('docs',), ('tests',)


def slug(title, seen):
    """The anchor that GitHub gives a heading."""
    title = re.sub(r'!?\[([^\]]*)\]\([^)]*\)', r'\1', title).replace('`', '')
    title = re.sub(r'(?<!\w)[*_]+|[*_]+(?!\w)', '', title)
    text = ''.join(c for c in title.lower() if c in ' -_' or unicodedata.category(c)[0] in 'LN').replace(' ', '-')
    n = seen.get(text, 0)
    seen[text] = n + 1
    return text if not n else '%s-%d' % (text, n)


def anchors(text):
    seen = {}
    return {slug(title, seen) for title in HEADING.findall(FENCE.sub('', text))}


def links(text):
    text = COMMENT.sub('', FENCE.sub('', text))
    plain = CODE.sub(lambda m: 'x' * len(m[0]), text)
    return INLINE.findall(plain) + AUTO.findall(plain) + HTML.findall(plain)


def pages(root):
    found = []
    for parts in TEXTS:
        folder = os.path.join(root, *parts)
        found += [os.path.normpath(os.path.join(*parts, name)) for name in sorted(os.listdir(folder)) if name.endswith('.md')]
    return found


def address_fault(link):
    parts = urllib.parse.urlsplit(link)
    if parts.scheme == 'mailto':
        return None
    host = parts.hostname or ''
    if parts.scheme not in ('http', 'https') or not re.fullmatch(r'[a-z0-9-]+(\.[a-z0-9-]+)+', host) or ' ' in link:
        return 'no address'
    return None


def check(root):
    texts, reached = {}, set()
    for page in pages(root):
        with open(os.path.join(root, page), encoding='utf-8') as f:
            texts[page] = f.read()
    names = {page: anchors(text) for page, text in texts.items()}
    arrows = {page: set() for page in texts}
    for page, text in texts.items():
        for link in links(text):
            if re.match(r'[a-z][a-z0-9+.-]*:', link):
                fault = address_fault(link)
                if fault:
                    yield '%s: %s: %s' % (page, link, fault)
                continue
            path, _, anchor = link.partition('#')
            target = os.path.normpath(os.path.join(os.path.dirname(page), urllib.parse.unquote(path))) if path else page
            if target.startswith('..') or not os.path.exists(os.path.join(root, target)):
                yield '%s: %s: there is no such file' % (page, link)
            elif target not in texts and not target.startswith('docs/images/'):
                yield '%s: %s: it is not in the site (tools/site)' % (page, link)
            elif anchor and target in names and anchor not in names[target]:
                yield '%s: %s: %s has no such heading' % (page, link, target)
            arrows[page].add(target)
    todo = ['README.md']
    while todo:
        page = todo.pop()
        if page not in reached:
            reached.add(page)
            todo += [target for target in arrows.get(page, ()) if target in texts]
    for page in sorted(set(texts) - reached):
        yield '%s: no way leads there from README.md' % page
    with open(os.path.join(root, 'mkdocs.yml'), encoding='utf-8') as f:
        nav = set(re.findall(r'^ +- .*: (\S+\.md)$', f.read(), re.M))
    for page in sorted(texts):
        if page.startswith('docs/') and page[len('docs/'):] not in nav:
            yield '%s: mkdocs.yml has it not in its nav' % page


def self_test():
    """It must see what it is for."""
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, 'docs'))
        os.makedirs(os.path.join(root, 'tests'))
        texts = {
            'README.md': '# A `b` c!\n[x](docs/a.md#two-words) [y](docs/a.md#none) [z](docs/none.md) ![p](docs/none.svg)\n'
                         '`[no](link.md)`\n```\n[no](link.md)\n```\n<https://example.org/x> [w](https:/x) [v](#a-b-c) '
                         '[u](mkdocs.yml)\n',
            'docs/a.md': '# Two words\n## Two words\n[up](../README.md) [b](#two-words-1) [c](../../etc)\n',
            'docs/alone.md': '# Alone\n',
            'mkdocs.yml': 'nav:\n  - x: alone.md\n',
        }
        for name, text in texts.items():
            with open(os.path.join(root, name), 'w', encoding='utf-8') as f:
                f.write(text)
        seen = [fault.split(': ')[:2] for fault in check(root)]
        assert seen == [['README.md', 'docs/a.md#none'], ['README.md', 'docs/none.md'], ['README.md', 'docs/none.svg'],
                        ['README.md', 'https:/x'], ['README.md', 'mkdocs.yml'],
                        ['docs/a.md', '../../etc'],
                        ['docs/alone.md', 'no way leads there from README.md'],
                        ['docs/a.md', 'mkdocs.yml has it not in its nav']], seen


def main():
    self_test()
    faults = list(check(os.path.abspath(sys.argv[1])))
    print('\n'.join(faults) or 'links: every link leads somewhere, and to every page leads one')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
