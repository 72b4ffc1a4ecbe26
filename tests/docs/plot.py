#!/usr/bin/env python3
"""docs/images/benchmarks.svg is the first table of docs/benchmarks.md, and its means are the table's.

    plot.py SOURCE_ROOT
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys
import tempfile


def main():
    root = os.path.abspath(sys.argv[1])
    page, picture = os.path.join(root, 'docs/benchmarks.md'), os.path.join(root, 'docs/images/benchmarks.svg')
    with tempfile.TemporaryDirectory() as folder:
        new = os.path.join(folder, 'new.svg')
        subprocess.run([sys.executable, os.path.join(root, 'tests/bench/host/run'), '--table', page, '--svg', new], check=True)
        with open(new, encoding='utf-8') as a, open(picture, encoding='utf-8') as b:
            if a.read() != b.read():
                sys.exit('plot: docs/images/benchmarks.svg has other numbers: draw it anew (docs/manual.md)')
    with open(page, encoding='utf-8') as f:
        means = re.search(r'^\| geometric mean \|[ |]*(.*) \|$', f.read(), re.M)[1].split(' | ')
    with open(picture, encoding='utf-8') as f:
        drawn = re.findall(r'geometric mean ([\d.]+)', f.read())
    if means != drawn:
        sys.exit('plot: the table has the means %s, the picture %s' % (means, drawn))
    with open(os.path.join(root, 'README.md'), encoding='utf-8') as f:
        text = f.read()
    if not all(re.search(r'\b%s\b' % re.escape(mean), text) for mean in means[:2]):
        sys.exit('plot: README.md has other means than ' + ', '.join(means))
    print('plot: the picture, its means and README.md are those of the table')


main()
