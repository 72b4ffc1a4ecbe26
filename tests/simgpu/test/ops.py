# SPDX-License-Identifier: Apache-2.0
"""Drives simgpu-ops (ops.c has the commands): one simulated wave, instruction by instruction.  For the tests of the rows; it
knows nothing of what instructions mean.  Registers that are not set keep what they had.

    o = Ops(card='gfx1030', wave=32)
    k = o.asm('v_add_nc_u32 v0, v1, v2')          # any number of these, then
    o.ready()
    v0, state = o.run(k, v={1: [...], 2: 7}, exec=0xff, read=['v0', 'state'])

The program's path is in SIMGPU_OPS, or on the command line of the test (`binary()`)."""
import os
import subprocess
import sys

MEMORY = 0x100000000    # where its 64 KiB of memory lie
EXEC_ALL = {32: 0xffffffff, 64: 0xffffffffffffffff}
_SCALARS = ('exec', 'vcc', 'm0', 'scc', 'mode', 'flat_scratch')
_REPLY_ROOM = 32 << 10  # bytes of answers that surely fit a pipe


class OpsError(Exception):
    pass


def binary():
    for arg in sys.argv[1:]:
        if os.path.basename(arg) == 'simgpu-ops':
            return arg
    return os.environ.get('SIMGPU_OPS', 'simgpu-ops')


class Row:
    """A row of the table.  `cards`: 0, or bits 1 gfx9, 2 gfx10, 4 gfx11, 8 gfx12."""

    def __init__(self, line):
        self.name, self.sig, self.cls, cards = line.rstrip('\n').split('\t')
        self.cards = int(cards, 16)
        head, equals, tail = self.sig.partition('=')
        self.results, self.sources = (head, tail) if equals else ('', head)

    def on(self, card):
        generation = {'gfx9': 1, 'gfx10': 2, 'gfx11': 4, 'gfx12': 8}[card[:-2]]
        return not self.cards or bool(self.cards & generation)


def rows(program=None):
    """All rows; fails when the tables have a mistake."""
    done = subprocess.run([program or binary(), '--list'], capture_output=True, text=True)
    if done.returncode:
        raise OpsError(done.stderr.strip())
    return [Row(line) for line in done.stdout.splitlines()]


class Ops:
    def __init__(self, card='gfx1030', wave=None, program=None):
        self.card = card
        self.wave = wave or (32 if card >= 'gfx10' and len(card) > 6 else 64)
        self.process = subprocess.Popen([program or binary(), '--card', card, '--wave', str(self.wave)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1 << 20)
        self.commands = []
        self.reads = []          # of queued runs: lists of what each reads
        self.expected = 0        # bytes of answers, at most
        self.done = []           # answers of runs already flushed
        self.count = 0

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()
            self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    # ---- The program ----

    def asm(self, text):
        """Adds an instruction (or, ending in ':', a label); its number."""
        self.commands.append('asm ' + text)
        if text.endswith(':'):
            return None
        self.count += 1
        return self.count - 1

    def ready(self):
        """Assembles what was added since the last time; numbers count from 0 again.  OpsError with LLVM's words when it does
        not."""
        self.commands.append('ready')
        self.count = 0
        self._send()
        answer = self._line()
        if not answer.startswith('ready'):
            raise OpsError(answer)
        return int(answer.split()[1], 16)

    def assembles(self, text):
        """Does LLVM take this for this card?  Forgets the program."""
        self.asm(text)
        try:
            self.ready()
        except OpsError:
            return False
        return True

    # ---- Running ----

    def vgprs(self, count):
        """Leaves the wave the first `count` of its 256 vector registers."""
        self.commands.append('vgprs %x' % (count - 1))

    def set(self, s=None, v=None, a=None, lds=None, mem=None, **scalars):
        """Queues settings: s={number: value}, v and a={number: value for all lanes, or a list}, lds and mem={offset: words};
        exec=, vcc=, m0=, scc=, mode=."""
        put = self.commands.append
        for name, value in scalars.items():
            if name not in _SCALARS:
                raise TypeError(name)
            put('s %s %x' % (name, value))
        for reg, value in (s or {}).items():
            put('s %x %x' % (reg, value))
        for kind, file in (('v', v), ('a', a)):
            for reg, value in (file or {}).items():
                lanes = ' '.join(['%x' % x for x in value]) if isinstance(value, (list, tuple)) else '%x' % value
                put('%s %x %s' % (kind, reg, lanes))
        for kind, words, base in (('lds', lds, 0), ('mem', mem, MEMORY)):
            for offset, value in (words or {}).items():
                put('%s %x %s' % (kind, base + offset, ' '.join(['%x' % x for x in value])))

    def queue(self, k, read=(), go=False, **settings):
        """Like run, but the answer comes with flush()."""
        self.set(**settings)
        self.commands.append('%s %x' % ('go' if go else 'run', k))
        for what in read:
            self.commands.append('get ' + self._command(what))
            self.expected += self._room(what)
        self.reads.append(list(read))
        if self.expected > _REPLY_ROOM:
            self._collect()

    def flush(self):
        """The answers of all queued runs: for each a list of what it reads."""
        self._collect()
        done, self.done = self.done, []
        return done

    def run(self, k, read=(), go=False, **settings):
        """Executes instruction `k` (all from k with go=True) and reads: 'v3' and 'a3' lists of lanes, 's3', 'exec', 'scc' ...
        numbers, ('lds', offset, count) and ('mem', offset, count) lists of words, 'state' a string."""
        self.queue(k, read, go, **settings)
        return self.flush()[-1]

    def text(self, k):
        """What LLVM's disassembler and the decoder make of instruction `k`: (text, name of the row and why it is illegal)."""
        self.commands.append('get text %x' % k)
        self._send()
        return tuple(self._line().rsplit(' | ', 1))

    def texts(self, count):
        """text(k) of each of the first `count` instructions."""
        answers = []
        for first in range(0, count, 100):
            self.commands += ['get text %x' % k for k in range(first, min(count, first + 100))]
            self._send()
            answers += [tuple(self._line().rsplit(' | ', 1)) for _ in range(first, min(count, first + 100))]
        return answers

    @staticmethod
    def _command(what):
        if isinstance(what, tuple):
            return '%s %x %x' % (what[0], what[1] + (MEMORY if what[0] == 'mem' else 0), what[2])
        if what in _SCALARS:
            return 's ' + what
        if what in ('state', 'stats'):
            return what
        return '%s %x' % (what[0], int(what[1:]))

    def _room(self, what):
        if isinstance(what, tuple):
            return 9 * what[2]
        return 9 * self.wave if what[0] in 'va' and what[1:].isdigit() else 800 if what in ('state', 'stats') else 20

    def _send(self):
        try:
            self.process.stdin.write('\n'.join(self.commands) + '\n')
            self.process.stdin.flush()
        except BrokenPipeError:
            self._died()
        self.commands = []

    def _died(self):
        status = self.process.wait()
        raise OpsError('simgpu-ops ended with status %d; the last commands were %s' % (status, self.commands[-3:]))

    def _line(self):
        line = self.process.stdout.readline()
        if not line:
            self._died()
        return line[:-1]

    def _parse(self, what, line):
        if what == 'state':
            return line
        if what == 'stats':
            return line.split()
        words = [int(x, 16) for x in line.split()]
        return words if isinstance(what, tuple) or (what[0] in 'va' and what[1:].isdigit()) else words[0]

    def _collect(self):
        if self.commands:
            self._send()
        for reads in self.reads:
            self.done.append([self._parse(what, self._line()) for what in reads])
        self.reads = []
        self.expected = 0
