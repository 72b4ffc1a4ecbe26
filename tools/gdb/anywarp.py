"""Kernels on anywarp's host device, for gdb: `anywarp run gdb` loads this file; elsewhere `source anywarp.py` does, before `run`.

Commands: info cuda kernels, info cuda blocks, info cuda lanes; cuda lane, cuda thread, cuda block, cuda print.  Functions for
conditions and expressions: $blockIdx("x"), $threadIdx("x"), $blockDim("x"), $gridDim("x"), $warp(), $lane(), $lanes(),
$has_thread(x, y, z).

What is read is struct aw_host_debugger, aw_host_block and aw_host_launch of include/anywarp/hostabi.h, so no debug information of
anywarp's is needed.  gdb 12 or later."""
# SPDX-License-Identifier: Apache-2.0
import struct

import gdb

DEBUGGER = 'III'  # of the structure's head, after which `workers` lies at 8
LANES = 32


# ---- Memory

def read(address, form):
    data = gdb.selected_inferior().read_memory(address, struct.calcsize('<' + form))
    values = struct.unpack('<' + form, bytes(data))
    return values[0] if len(values) == 1 else values


def text_at(address, most=4096):
    text = b''
    while b'\0' not in text and len(text) < most:
        # To the end of a page at most: what lies behind it may not be there.
        text += bytes(gdb.selected_inferior().read_memory(address + len(text), 64 - (address + len(text)) % 64))
    return text.split(b'\0')[0].decode(errors='replace')


def readable(name):
    if not name.startswith('_Z'):
        return name
    shown = gdb.execute('demangle -l c++ -- ' + name, to_string=True).strip()
    return shown if not shown.startswith("Can't") else name


class Debugger:
    """struct aw_host_debugger."""

    def __init__(self):
        try:
            at = int(gdb.parse_and_eval('(unsigned long) &aw_host_debugger'))
            version, self.n, self.workers = read(at, 'IIQ')
            self.size, self.thread_id, self.running, self.op, self.name = read(at + 16, 'IIIII')
        except (gdb.error, gdb.MemoryError):
            version, self.n, self.workers = 1, 0, 0
        if version != 1:
            raise gdb.GdbError('this anywarp.py and the libanywarp.so.0 that is loaded are of different versions')
        self.n = self.n if self.workers else 0

    def __iter__(self):
        """(thread of the system, address of the block that it runs)"""
        for i in range(self.n):
            worker = self.workers + i * self.size
            thread, block = read(worker + self.thread_id, 'I'), read(worker + self.running, 'Q')
            if thread and block:
                yield thread, block


class Warp:
    """What a worker runs: struct aw_host_block and what it leads to."""

    def __init__(self, debugger, thread, block):
        self.thread, self.block = thread, block
        launch = read(block, 'Q')
        self.blockIdx = read(block + 16, 'III')
        self.warp, self.lanes = read(block + 32, 'II')
        self.gridDim, self.blockDim = read(launch, 'III'), read(launch + 12, 'III')
        self.threads, self.shared, self.grid = read(launch + 28, 'I'), read(launch + 36, 'I'), read(launch + 40, 'Q')
        self.name = readable(text_at(read(read(block + debugger.op, 'Q') + debugger.name, 'Q')))

    def thread_of(self, lane):
        n = self.warp * LANES + lane
        x, y, _ = self.blockDim
        return n % x, n // x % y, n // x // y

    def there(self):
        return [lane for lane in range(LANES) if self.warp * LANES + lane < self.threads]

    def active(self):
        return [lane for lane in self.there() if self.lanes >> lane & 1]


def warps():
    debugger = Debugger()
    return [Warp(debugger, thread, block) for thread, block in debugger]


def selected_warp():
    """Of gdb's selected thread; None where it runs no kernel."""
    thread = gdb.selected_thread()
    if thread is None or not thread.is_valid():
        return None
    debugger = Debugger()
    for system, block in debugger:
        if system == thread.ptid[1]:
            return Warp(debugger, system, block)
    return None


def needed_warp():
    warp = selected_warp()
    if warp is None:
        raise gdb.GdbError('the selected thread runs no kernel: see `info cuda blocks`')
    return warp


# ---- The lane that is looked at

class Focus:
    lane = None  # None: the lowest that is active

    @classmethod
    def of(cls, warp):
        active = warp.active()
        return cls.lane if cls.lane is not None else active[0] if active else 0

    @classmethod
    def forget(cls, _event=None):
        cls.lane = None


def show(warp, lane):
    print('kernel %s, block %s, warp %d, lane %d, thread %s%s' %
          (warp.name, shape(warp.blockIdx), warp.warp, lane, shape(warp.thread_of(lane)),
           '' if lane in warp.active() else ', which is not active here'))


def shape(xyz):
    return '(%d,%d,%d)' % tuple(xyz)


def span(lanes):
    """0-3 7 for [0, 1, 2, 3, 7]"""
    runs = []
    for lane in lanes:
        if runs and lane == runs[-1][1] + 1:
            runs[-1][1] = lane
        else:
            runs.append([lane, lane])
    return ' '.join('%d' % a if a == b else '%d-%d' % (a, b) for a, b in runs) or 'none'


def numbers(argument, what):
    words = argument.replace('(', ' ').replace(')', ' ').replace(',', ' ').split()
    if not 1 <= len(words) <= 3 or not all(word.isdigit() for word in words):
        raise gdb.GdbError('%s needs one to three numbers, as in `cuda %s 1,2`' % (what, what))
    return tuple([int(word) for word in words] + [0] * (3 - len(words)))


def select(warp, lane):
    for thread in gdb.selected_inferior().threads():
        if thread.ptid[1] == warp.thread:
            thread.switch()
    Focus.lane = lane
    show(warp, lane)


# ---- Commands

class Cuda(gdb.Command):
    """Another block, thread or lane of a kernel to look at: cuda block X[,Y[,Z]], cuda thread X[,Y[,Z]], cuda lane N.
Without words: which it is now.  Only what a worker is at can be chosen: `info cuda blocks` lists that."""

    def __init__(self):
        super().__init__('cuda', gdb.COMMAND_DATA, prefix=True)

    def invoke(self, argument, _tty):
        if argument:
            raise gdb.GdbError('cuda what?  block, thread or lane')
        warp = needed_warp()
        show(warp, Focus.of(warp))


class CudaLane(gdb.Command):
    """Looks at a lane of the warp: cuda lane N."""

    def __init__(self):
        super().__init__('cuda lane', gdb.COMMAND_DATA)

    def invoke(self, argument, _tty):
        warp, lane = needed_warp(), numbers(argument, 'lane')[0]
        if lane not in warp.there():
            raise gdb.GdbError('the warp has no lane %d' % lane)
        select(warp, lane)


class CudaThread(gdb.Command):
    """Looks at a thread of the block: cuda thread X[,Y[,Z]].  Its warp must be one that a worker is at."""

    def __init__(self):
        super().__init__('cuda thread', gdb.COMMAND_DATA)

    def invoke(self, argument, _tty):
        own, thread = needed_warp(), numbers(argument, 'thread')
        for lane in own.there():
            if own.thread_of(lane) == thread:
                select(own, lane)
                return
        raise gdb.GdbError('thread %s is not in warp %d, at which the worker is' % (shape(thread), own.warp))


class CudaPrint(gdb.Command):
    """Prints the chosen lane's value of a variable: cuda print NAME.  In expressions that is NAME[$lane()]."""

    def __init__(self):
        super().__init__('cuda print', gdb.COMMAND_DATA, gdb.COMPLETE_SYMBOL)

    def invoke(self, argument, _tty):
        if not argument.isidentifier():
            raise gdb.GdbError('cuda print takes the name of a variable; in expressions, `print` takes i[$lane()]')
        warp, value = needed_warp(), gdb.parse_and_eval(argument)
        lane = Focus.of(warp)
        if value.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY and value.type.range() == (0, LANES - 1):
            value = value[lane]
        print('lane %d: %s = %s' % (lane, argument, value.format_string()))


class CudaBlock(gdb.Command):
    """Looks at a block that a worker is at: cuda block X[,Y[,Z]]."""

    def __init__(self):
        super().__init__('cuda block', gdb.COMMAND_DATA)

    def invoke(self, argument, _tty):
        index = numbers(argument, 'block')
        for warp in warps():
            if warp.blockIdx == index:
                Focus.forget()
                select(warp, Focus.of(warp))
                return
        raise gdb.GdbError('no worker is at block %s: see `info cuda blocks`' % shape(index))


class InfoCuda(gdb.Command):
    """What runs on anywarp's host device: info cuda kernels, info cuda blocks, info cuda lanes."""

    def __init__(self):
        super().__init__('info cuda', gdb.COMMAND_STATUS, prefix=True)

    def invoke(self, argument, tty):
        if argument:
            raise gdb.GdbError('info cuda what?  kernels, blocks or lanes')
        info_blocks()


class InfoKernels(gdb.Command):
    """The kernels that workers are at: launch, grid, block, bytes of shared memory, workers."""

    def __init__(self):
        super().__init__('info cuda kernels', gdb.COMMAND_STATUS)

    def invoke(self, _argument, _tty):
        found = {}
        for warp in warps():
            found.setdefault(warp.grid, []).append(warp)
        if not found:
            print('No kernel is running.')
            return
        own = selected_warp()
        print('  %6s %-16s %-14s %7s %7s  %s' % ('launch', 'grid', 'block', 'shared', 'workers', 'kernel'))
        for grid, there in sorted(found.items()):
            w = there[0]
            print('%s %6d %-16s %-14s %7d %7d  %s' % ('*' if own and own.grid == grid else ' ', grid, shape(w.gridDim),
                                                      shape(w.blockDim), w.shared, len(there), w.name))


def info_blocks():
    numbers_of = {t.ptid[1]: t.num for t in gdb.selected_inferior().threads()}
    found = warps()
    if not found:
        print('No kernel is running.')
        return
    own = selected_warp()
    print('  %6s %6s %-16s %4s  %-20s %s' % ('thread', 'launch', 'block', 'warp', 'active lanes', 'kernel'))
    for w in found:
        mark = '*' if own and own.block == w.block else ' '
        print('%s %6s %6d %-16s %4d  %-20s %s' % (mark, numbers_of.get(w.thread, '?'), w.grid, shape(w.blockIdx), w.warp,
                                               span(w.active()), w.name))


class InfoBlocks(gdb.Command):
    """The blocks that workers are at: gdb's thread, launch, block, warp, active lanes, kernel."""

    def __init__(self):
        super().__init__('info cuda blocks', gdb.COMMAND_STATUS)

    def invoke(self, _argument, _tty):
        info_blocks()


class InfoLanes(gdb.Command):
    """The lanes of the warp that the selected thread is at: which are active, and threadIdx of each."""

    def __init__(self):
        super().__init__('info cuda lanes', gdb.COMMAND_STATUS)

    def invoke(self, _argument, _tty):
        warp = needed_warp()
        active, focus = warp.active(), Focus.of(warp)
        print('%s <<<%s, %s>>>, block %s, warp %d, active lanes: %s' % (warp.name, shape(warp.gridDim), shape(warp.blockDim),
                                                                       shape(warp.blockIdx), warp.warp, span(active)))
        print('  %4s %-16s %s' % ('lane', 'thread', 'state'))
        for lane in warp.there():
            print('%s %4d %-16s %s' % ('*' if lane == focus else ' ', lane, shape(warp.thread_of(lane)),
                                       'active' if lane in active else 'off'))


# ---- Functions

class Dimension(gdb.Function):
    def __init__(self, name, of):
        super().__init__(name)
        self.of = of

    def invoke(self, dimension=None):
        letter = 'x' if dimension is None else dimension.string()
        if letter not in ('x', 'y', 'z'):
            raise gdb.GdbError('the dimension is "x", "y" or "z"')
        return self.of(needed_warp())['xyz'.index(letter)]


class Number(gdb.Function):
    def __init__(self, name, of):
        super().__init__(name)
        self.of = of

    def invoke(self):
        return self.of(needed_warp())


class HasThread(gdb.Function):
    """$has_thread(x, y, z): is that thread of its block active where the selected thread is?  1 or 0."""

    def __init__(self):
        super().__init__('has_thread')

    def invoke(self, x, y=0, z=0):
        warp = needed_warp()
        wanted = (int(x), int(y), int(z))
        return int(any(warp.thread_of(lane) == wanted for lane in warp.active()))


# ---- Breakpoints by a kernel's name

def sections(address):
    """Of the file that the address is in: {name: (begin, end)}, where they are in memory."""
    found = {}
    for line in gdb.execute('maint info sections -all-objects', to_string=True).splitlines():
        if ' file: ' in line or line.startswith('Exec file') or line.startswith('Object file'):
            if any(a <= address < b for a, b in found.values()):
                return found
            found = {}
        words = line.replace('->', ' ').split()
        if len(words) > 5 and words[0].startswith('[') and words[3] == 'at':
            found.setdefault(words[5], (int(words[1], 16), int(words[2], 16)))
    return found if any(a <= address < b for a, b in found.values()) else {}


def is_launcher(address):
    """Is there the function of the program's own that launches a kernel, and has its name?  The program has that name, mangled,
    as a text as well, to make the two known."""
    try:
        name = gdb.execute('with print demangle off -- info symbol 0x%x' % address, to_string=True).split()[0]
        there = sections(address) if name.startswith('_Z') or '_' in name else {}
        if '.rodata' not in there or not any(s.startswith('.nv_fatbin') for s in there):
            return False
        begin, end = there['.rodata']
        return gdb.selected_inferior().search_memory(begin, end - begin, b'\0' + name.encode() + b'\0') is not None
    except (gdb.error, IndexError):
        return False


class Launchers:
    """`break saxpy` is meant for the kernel: the place in the function that launches it is switched off, once."""

    seen, righted = set(), set()

    @classmethod
    def switch_off(cls, breakpoint):
        if breakpoint.type != gdb.BP_BREAKPOINT or not hasattr(breakpoint, 'locations'):
            return
        for i, place in enumerate(breakpoint.locations, 1):
            key, where = (breakpoint.number, place.function), (breakpoint.number, place.address)
            if not place.enabled and key in cls.seen and where not in cls.righted and not is_launcher(place.address):
                # The kernel's, which has come in the launcher's stead and taken over that it is off.
                cls.righted.add(where)
                place.enabled = True
            if not place.enabled or key in cls.seen or not is_launcher(place.address):
                continue
            cls.seen.add(key)
            place.enabled = False
            print('Breakpoint %d is for the kernel; place %d.%d, the function that launches it, is disabled.' %
                  (breakpoint.number, breakpoint.number, i))


for name, of in (('blockIdx', lambda w: w.blockIdx), ('blockDim', lambda w: w.blockDim), ('gridDim', lambda w: w.gridDim),
                 ('threadIdx', lambda w: w.thread_of(Focus.of(w)))):
    Dimension(name, of)
for name, of in (('warp', lambda w: w.warp), ('lane', Focus.of), ('lanes', lambda w: w.lanes)):
    Number(name, of)
for kind in (Cuda, CudaLane, CudaThread, CudaPrint, CudaBlock, InfoCuda, InfoKernels, InfoBlocks, InfoLanes, HasThread):
    kind()
# Stepped out of its place, an instruction of AVX-512 that reads a constant beside the code reads another: gdb 13 moves only VEX.
gdb.execute('set displaced-stepping off')
gdb.events.stop.connect(Focus.forget)
gdb.events.breakpoint_created.connect(Launchers.switch_off)
gdb.events.breakpoint_modified.connect(Launchers.switch_off)
