#!/usr/bin/env python3
"""tools/gen/recording.py: what it makes of colours, half blocks, lines that are written over, and long ones.

    recording.py RECORDING
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import os
import re
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

COMMANDS = [
    r'''printf '\033[31mred\033[0m <plain>\n' ''',
    r'''printf '\033[38;2;1;2;3m\033[48;2;4;5;6m\342\226\200\342\226\200\033[0m\n\033[38;2;7;'; sleep 0.1; '''
    r'''printf '8;9m\033[48;2;1;1;1m\342\226\200\342'; sleep 0.1; printf '\226\200\033[0m\n' ''',
    r'''printf 'passing'; sleep 0.2; printf '\r\033[Kstays\n' ''',
    r'''printf 'abcdefghijklmnopqrstuvwxyz\n' ''',
]


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'out.svg')
        subprocess.run([sys.executable, sys.argv[1], path, '--columns', '20', '--title', 'a & b', *COMMANDS], check=True)
        with open(path, encoding='utf-8') as f:
            text = f.read()
    tree = xml.etree.ElementTree.fromstring(text)
    said = [''.join(t.itertext()) for t in tree.iter('{http://www.w3.org/2000/svg}text')]
    for wanted in ('red<plain>', 'passing', 'stays', 'abcdefghijklmnopqrst', 'uvwxyz', 'a & b'):
        assert wanted in said, (wanted, said)
    assert re.search(r'fill="#d06c75">red<', text), text
    passing = re.search(r'<text [^>]*class="p"[^>]*>.*passing', text)
    assert passing and 'animation-duration' in passing[0], text
    assert not re.search(r'(?:src|href)="(?!data:)', text) and 'url(' not in text, 'it loads something'
    picture = base64.b64decode(re.search(r'base64,([^"]*)', text)[1])
    assert text.count('<image') == 1 and struct.unpack('>II', picture[16:24]) == (2, 4), text
    print('recording: text, colours, time and pixels are kept')


main()
