#!/usr/bin/env python3
"""Records commands at a terminal as an SVG: runs each in a pseudo-terminal, keeps what it wrote, its colours and when it came.

    recording.py OUT.svg [--columns N] [--title TEXT] [--folder DIR] [--pause SECONDS] COMMAND...

Each COMMAND is a line for sh, run in DIR.  The picture is animated by CSS alone, plays once, and without animation shows the
end.  Nothing is loaded from anywhere.  Waits are shortened to --pause seconds.  Runs of half blocks (U+2580) are two
pixels each and become one embedded PNG.

It knows of a terminal what these programs use: line feed, carriage return, erasing to the end of the line, and colours.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import base64
import codecs
import html
import os
import pty
import re
import struct
import time
import zlib

HALF = '\u2580'
CELL_W, CELL_H, FONT, MARGIN, BAR = 8, 17, 13, 14, 30
PAPER, INK, PROMPT, DIM = '#16181d', '#d7dae0', '#7fd17f', '#8b919c'
BASIC = ['#2e3440', '#d06c75', '#98c379', '#e5c07b', '#61afef', '#c678dd', '#56b6c2', '#d7dae0']
CONTROL = re.compile(r'\x1b\[([0-9;?]*)([A-Za-z])')
CUT = re.compile(r'\x1b(\[[0-9;?]*)?\Z')


# ---- What came, and when


def record(command, folder, columns):
    """[(seconds since the start, text)] of what the command wrote at a terminal of its own."""
    begin, parts = time.monotonic(), []
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ.update(TERM='xterm-256color', COLUMNS=str(columns), LINES='40')
        os.execvp('sh', ['sh', '-c', 'stty cols %d rows 40; %s' % (columns, command)])
    decoder = codecs.getincrementaldecoder('utf-8')()  # a character may be cut in two
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # its end
            break
        if not data:
            break
        parts.append((time.monotonic() - begin, decoder.decode(data)))
    os.waitpid(pid, 0)
    return parts


# ---- A terminal


class Style:
    """Colours of what is written next; None: the usual ones."""

    def __init__(self):
        self.fore = self.back = None

    def change(self, numbers):
        numbers = [int(n or 0) for n in numbers.split(';')]
        while numbers:
            n = numbers.pop(0)
            if n == 0:
                self.fore = self.back = None
            elif n in (38, 48) and numbers[:1] == [2]:
                colour = '#%02x%02x%02x' % tuple(numbers[1:4])
                numbers = numbers[4:]
                self.fore, self.back = (colour, self.back) if n == 38 else (self.fore, colour)
            elif 30 <= n <= 37:
                self.fore = BASIC[n - 30]
            elif 40 <= n <= 47:
                self.back = BASIC[n - 40]
            elif n == 39:
                self.fore = None
            elif n == 49:
                self.back = None


class Screen:
    """Lines of cells (character, fore, back), with when each line got its last change; and lines that were erased again."""

    def __init__(self, columns):
        self.columns, self.lines, self.column, self.style = columns, [[]], 0, Style()
        self.when = [0.0]
        self.passing = []  # (line, cells, from, to)
        self.rest = ''  # a sequence of control that is cut in two

    def write(self, text, now):
        text, at = self.rest + text, 0
        cut = CUT.search(text)
        self.rest = cut[0] if cut else ''
        text = text[:len(text) - len(self.rest)]
        while at < len(text):
            control = CONTROL.match(text, at)
            if control:
                if control[2] == 'm':
                    self.style.change(control[1])
                elif control[2] == 'K':
                    self.erase(now)
                at = control.end()
                continue
            self.put(text[at], now)
            at += 1

    def put(self, c, now):
        if c == '\r':
            self.column = 0
        elif c == '\n':
            self.lines.append([])
            self.when.append(now)
            self.column = 0
        elif c >= ' ':
            if self.column == self.columns:
                self.put('\n', now)
            line = self.lines[-1]
            if self.column == 0 and line:
                self.passing.append((len(self.lines) - 1, line, self.when[-1], now))
                line = self.lines[-1] = []
            line.extend([(' ', None, None)] * (self.column + 1 - len(line)))
            line[self.column] = (c, self.style.fore, self.style.back)
            self.column += 1
            self.when[-1] = now

    def erase(self, now):
        line = self.lines[-1]
        if self.column == 0 and line:
            self.passing.append((len(self.lines) - 1, list(line), self.when[-1], now))
        del line[self.column:]


# ---- The picture


def png(pixels):
    """Rows of (r, g, b) as a PNG file."""
    raw = b''.join(b'\0' + bytes(v for pixel in row for v in pixel) for row in pixels)

    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

    head = struct.pack('>IIBBBBB', len(pixels[0]), len(pixels), 8, 2, 0, 0, 0)
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(raw, 9)) + chunk(b'IEND', b'')


def rgb(colour):
    return tuple(int(colour[i:i + 2], 16) for i in (1, 3, 5))


def is_picture(cells):
    return bool(cells) and all(c == HALF and fore and back for c, fore, back in cells)


def at_row(row):
    return BAR + MARGIN + row * CELL_H


def draw_text(cells, row, attributes=''):
    """The runs of one colour in a line; its length is given, so that no font sets the columns astray."""
    out, i = [], 0
    while i < len(cells):
        j = i
        while j < len(cells) and cells[j][1] == cells[i][1]:
            j += 1
        text = ''.join(c for c, _, _ in cells[i:j])
        if text.strip():
            lead = len(text) - len(text.lstrip())
            text = text.strip()
            out.append('<tspan x="%d" textLength="%d"%s>%s</tspan>' % (
                MARGIN + (i + lead) * CELL_W, len(text) * CELL_W, ' fill="%s"' % cells[i][1] if cells[i][1] else '',
                html.escape(text, quote=False)))
        i = j
    return '<text y="%d"%s>%s</text>' % (at_row(row) + FONT, attributes, ''.join(out)) if out else ''


def draw_picture(lines, row, attributes):
    pixels = []
    for cells in lines:
        pixels += [[rgb(fore) for _, fore, _ in cells], [rgb(back) for _, _, back in cells]]
    data = base64.b64encode(png(pixels)).decode()
    return '<image x="%d" y="%d" width="%d" height="%d" preserveAspectRatio="none" href="data:image/png;base64,%s"%s/>' % (
        MARGIN, at_row(row), len(lines[0]) * CELL_W, len(lines) * CELL_H, data, attributes)


def appears(when):
    return ' class="a" style="animation-delay:%.2fs"' % when


def draw_screen(screen, top):
    """What one command left, and what passed while it ran, from the row `top`."""
    out, row = [], 0
    while row < len(screen.lines):
        last = row
        while last < len(screen.lines) and is_picture(screen.lines[last]) and \
                len(screen.lines[last]) == len(screen.lines[row]):
            last += 1
        if last > row:
            out.append(draw_picture(screen.lines[row:last], top + row, appears(screen.when[last - 1])))
            row = last
        else:
            out.append(draw_text(screen.lines[row], top + row, appears(screen.when[row])))
            row += 1
    for row, cells, begin, end in screen.passing:
        out.append(draw_text(cells, top + row, ' class="p" style="animation-delay:%.2fs;animation-duration:%.2fs"'
                             % (begin, max(end - begin, 0.05))))
    return out


CSS = '''text{fill:%s;white-space:pre}.q{fill:%s}.t{fill:%s}
.a{animation:a .01s both}.p{opacity:0;animation:p 1s}.k{animation:k 1s steps(30) both}
@keyframes a{from{opacity:0}}@keyframes p{from,to{opacity:1}}
@keyframes k{from{clip-path:inset(0 100%% 0 0)}to{clip-path:inset(0 -9px 0 0)}}
@media(prefers-reduced-motion:reduce){.a,.p,.k{animation:none}}'''


class Drawing:
    def __init__(self, columns, title):
        self.columns, self.title, self.row, self.now, self.out = columns, title, 0, 0.5, []

    def command(self, line):
        typed = max(0.3, 0.04 * len(line))
        self.out.append('<text y="%d"%s><tspan class="q" x="%d">$</tspan></text>'
                        % (at_row(self.row) + FONT, appears(max(self.now - 0.3, 0)), MARGIN))
        cells = [(c, None, None) for c in '  ' + line]
        self.out.append(draw_text(cells, self.row, ' class="k" style="animation-delay:%.2fs;animation-duration:%.2fs"'
                                  % (self.now, typed)))
        self.row += 1
        self.now += typed + 0.2

    def output(self, parts, pause):
        screen, at, shown = Screen(self.columns), 0.0, self.now
        for when, text in parts:
            shown += min(when - at, pause)
            at = when
            screen.write(text, shown)
        if not screen.lines[-1]:
            screen.lines.pop()
        self.out += draw_screen(screen, self.row)
        self.row += len(screen.lines)
        self.now = shown + 0.8

    def svg(self):
        width, height = 2 * MARGIN + self.columns * CELL_W, at_row(self.row) + MARGIN
        dots = ''.join('<circle cx="%d" cy="15" r="5" fill="%s"/>' % (18 + 17 * i, c)
                       for i, c in enumerate(('#e0635c', '#e0b24c', '#62b35f')))
        head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" ' \
               'font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="%d">' \
               % (width, height, width, height, FONT)
        return '\n'.join([head, '<title>%s</title>' % html.escape(self.title),
                          '<style>%s</style>' % (CSS % (INK, PROMPT, DIM)),
                          '<rect width="%d" height="%d" rx="8" fill="%s"/>%s' % (width, height, PAPER, dots),
                          '<text class="t" x="%d" y="20" text-anchor="middle">%s</text>' % (width // 2, html.escape(self.title))]
                         + [line for line in self.out if line] + ['</svg>']) + '\n'


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    p.add_argument('out')
    p.add_argument('commands', nargs='+', metavar='COMMAND')
    p.add_argument('--columns', type=int, default=100)
    p.add_argument('--title', default='')
    p.add_argument('--folder', default='.')
    p.add_argument('--pause', type=float, default=1.5)
    args = p.parse_args()
    drawing = Drawing(args.columns, args.title)
    for command in args.commands:
        drawing.command(command)
        drawing.output(record(command, args.folder, args.columns), args.pause)
    with open(args.out, 'w', encoding='utf-8') as f:
        f.write(drawing.svg())


if __name__ == '__main__':
    main()
