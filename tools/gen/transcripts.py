#!/usr/bin/env python3
"""Runs the commands that pages of docs/ show, and writes what they print into the pages; or says where that is another.

    transcripts.py BUILD_DIR PAGE.md... [--check]         77 where there is no nvcc 13.0 or no meson

A page marks what belongs to it; all commands of a page run in one new folder, in their order:

    <!-- file: add.cu -->                the fenced block that follows is written to this file
    <!-- files: quickstart.md -->        so are those of another page
    <!-- transcript -->                  in the fenced block that follows, lines that begin with "$ " are run by bash, and what is
                                         between them is what they print, standard error included
    <!-- transcript: head=9 -->          ... of which the first nine lines are shown
    <!-- transcript: loose -->           ... which differs from run to run: --check looks at the commands alone
    <!-- prepare: mkdir x -->            a command that is not shown

anywarp is installed from BUILD_DIR, so that paths are a user's.  Times, sizes, addresses and the processor's name may be
others where --check compares; what differs in these alone stays as it is, and so does a loose block with output in it.
"""
# SPDX-License-Identifier: Apache-2.0
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile

MARK = re.compile(r'<!-- (file|files|transcript|prepare)(?:: (.*?))? -->\n(?:\n?```(\w*)\n(.*?)```\n)?', re.S)
HOME = '/home/you'
MASKS = [
    (r'0x[0-9a-f]+', '0x#'),
    (r'^ *\d+\.\d{6} \d+ ', '# # '),
    (r'\b\d{4}-\d\d-\d\d \d\d:\d\d\b', '#'),
    (r'\b\d[\d.]* ?(ns|us|ms|s|%|bytes|[KMGT]i?B(/s)?)(?![\w.])', '#'),
    (r'host device \((?:[^()]|\([^()]*\))*\)', 'host device (#)'),  # "(Intel(R) Xeon(R) Processor)"
    (r'target host:\S*', 'target host:#'),
    (r'libopenblas\S*', 'libopenblas#'),
    (r'^found +\d+ of \d+ (.*); \d+ stored', r'found # of # \1; # stored'),
    (r'^layer .*', 'layer #'),
    (r'^kernels +\d+', 'kernels #'),  # some processors have one object for what others have two for
    (r'^\d+ files, ', '# files, '),
    (r'allocated by .*(?= \[AW)', 'allocated by #'),  # the C library's own functions
    (r'^ok +simulated .*\n', ''),  # where it was built
    (r'[ \t]+', ' '),
]


NVCC = 'release 13.0'  # what it makes of programs is in the pages


def output_of(*command):
    if not shutil.which(command[0]):
        return ''
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout


def masked(text):
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text, flags=re.M)
    return text.strip()


class Folder:
    """Where a page's commands run: a home, and anywarp installed beside it."""

    def __init__(self, build, top):
        self.top, self.status = top, 0
        self.home = os.path.join(top, 'home')
        self.at = os.path.join(self.home, 'try')
        os.makedirs(self.at)
        meson = shutil.which('meson')
        subprocess.run([meson, 'install', '-C', build, '--no-rebuild', '--quiet'], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, DESTDIR=os.path.join(top, 'inst')))
        keep = {k: v for k, v in os.environ.items() if not k.startswith(('ANYWARP_', 'XDG_', 'CUDA_', 'LD_', 'TMPDIR'))}
        self.env = dict(keep, HOME=self.home, TERM='dumb', COLUMNS='100', NO_COLOR='1')
        self.env['ANYWARP_TIERS'] = 'off'  # how many files are in the cache would hang on how busy the machine is
        # Not a link: anywarp finds its parts from where it lies.
        self.env['PATH'] = os.path.dirname(self.installed('bin', 'anywarp')) + ':' + keep['PATH']
        self.prefix = os.path.join(top, 'inst')

    def installed(self, folder, name):
        for at, _, names in os.walk(os.path.join(self.top, 'inst')):
            if os.path.basename(at) == folder and name in names:
                return os.path.join(at, name)
        sys.exit('transcripts: %s was not installed' % name)

    def write(self, name, text):
        with open(os.path.join(self.at, name), 'w', encoding='utf-8') as f:
            f.write(text)

    def run(self, command):
        """What the command prints, with a user's paths."""
        done = subprocess.run(['bash', '-c', '(exit %d)\n%s' % (self.status, command)], cwd=self.at, env=self.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                              check=False)
        self.status = done.returncode if done.returncode >= 0 else 128 - done.returncode
        text = done.stdout.decode(errors='replace').replace(self.prefix, '').replace(self.home, HOME)
        return re.sub(r'[ \t]+$', '', text, flags=re.M)


def options(text):
    words = dict(word.partition('=')[::2] for word in (text or '').split())
    return int(words.get('head') or 0), 'loose' in words


def kept(old, new, loose):
    """The block as it stays: the old one, where it differs in times and the like alone."""
    if loose:
        ran = [line for line in old.splitlines() if line.startswith('$ ')]
        return old if len(ran) < len(old.splitlines()) else new
    return old if masked(old) == masked(new) else new


def transcript(folder, block, head):
    """The block made anew."""
    out = ''
    for line in block.splitlines():
        if not line.startswith('$ '):
            continue
        text = folder.run(line[2:])
        lines = text.splitlines()
        if head and len(lines) > head + 1:
            text = '\n'.join(lines[:head] + ['...']) + '\n'
        out += line + '\n' + text + ('\n' if text and not text.endswith('\n') else '')
    return out


def files_of(folder, path):
    with open(path, encoding='utf-8') as f:
        for kind, argument, _, block in MARK.findall(f.read()):
            if kind == 'file':
                folder.write(argument, block)


def page_new(folder, path):
    """(the page with its transcripts made anew, [(old block, new block, loose)])"""
    with open(path, encoding='utf-8') as f:
        text = f.read()
    out, at, blocks = '', 0, []
    for m in MARK.finditer(text):
        kind, argument, _, block = m.groups()
        if kind == 'file':
            folder.write(argument, block)
        elif kind == 'files':
            files_of(folder, os.path.join(os.path.dirname(path), argument))
        elif kind == 'prepare':
            folder.run(argument)
        else:
            head, loose = options(argument)
            new = transcript(folder, block, head)
            blocks.append((block, new, loose))
            out += text[at:m.start(4)] + kept(block, new, loose)
            at = m.end(4)
    return out + text[at:], blocks


def differences(blocks):
    for old, new, loose in blocks:
        a, b = masked(old).splitlines(), masked(new).splitlines()
        if not loose and a != b:
            yield '\n'.join(difflib.unified_diff(a, b, 'the page', 'what is printed', lineterm=''))


def main(argv):
    check = '--check' in argv
    words = [word for word in argv[1:] if word != '--check']
    if len(words) < 2:
        sys.exit(__doc__)
    if not shutil.which('meson') or NVCC not in output_of('nvcc', '--version'):
        print('transcripts: no meson, or no nvcc of ' + NVCC)
        return 77
    bad = 0
    for path in words[1:]:
        with tempfile.TemporaryDirectory() as top:
            new, blocks = page_new(Folder(os.path.abspath(words[0]), os.path.realpath(top)), path)
        if not check:
            with open(path, 'w', encoding='utf-8') as f:
                f.write(new)
            continue
        for text in differences(blocks):
            bad += 1
            print('%s:\n%s\n' % (path, text))
    if bad:
        print('transcripts: python3 tools/gen/transcripts.py build docs/PAGE.md makes a page anew')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
