#!/usr/bin/env python3
"""Manual pages and completions, which the build makes of the program's help: there is a page for each command, groff takes them
without a
word, they name every option of the help, and bash completes commands and options.

usage: manual.py ANYWARP FOLDER       (FOLDER: where the build has put them)
"""

# SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import subprocess
import sys

import expecting
from expecting import expect


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout


def complete(folder, *words):
    script = 'source "%s/anywarp.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _anywarp; echo "${COMPREPLY[*]}"' % folder
    return output('bash', '-c', script, 'bash', *words).split()


def main():
    anywarp, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    names = [line.split()[0] for line in output(anywarp, '--help').partition('commands:\n')[2].partition('\n\n')[0].splitlines()]
    there = sorted(f for f in os.listdir(folder) if f.endswith('.1'))
    expect('a page for each command', there == sorted(['anywarp.1'] + ['anywarp-%s.1' % n for n in names]), there)
    for name in names:
        with open(os.path.join(folder, 'anywarp-%s.1' % name), encoding='utf-8') as f:
            page = f.read().replace('\\-', '-')
        asked = set(re.findall(r'(?<![\w-])--[a-z][a-z-]*', output(anywarp, name, '--help')))
        expect('options of ' + name, all(option in page for option in asked), (asked, page))
        expect('exit status of ' + name, '\n.SH EXIT STATUS\n' in page, page)
        expect('what it does', re.search(r'(?m)^anywarp-%s - \S' % name, page), page)
    if shutil.which('groff'):
        said = {f: output('groff', '-man', '-ww', '-z', os.path.join(folder, f)) for f in there}
        expect('groff', not any(said.values()), said)
    expect('commands', complete(folder, 'anywarp', 'pr') == ['profile', 'precompile'], complete(folder, 'anywarp', 'pr'))
    expect(
        'options',
        complete(folder, 'anywarp', 'trace', '--f') == ['--filter', '--failed'],
        complete(folder, 'anywarp', 'trace', '--f'),
    )
    expect('help', complete(folder, 'anywarp', 'help', 'doc') == ['doctor'], complete(folder, 'anywarp', 'help', 'doc'))
    for shell, name in (('zsh', '_anywarp'), ('fish', 'anywarp.fish')):
        if shutil.which(shell):
            expect(shell, not output(shell, '-n', os.path.join(folder, name)), name)
    expecting.finish()


main()
