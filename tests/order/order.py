#!/usr/bin/env python3
# The order of memory accesses in the machine code of AMD's cards: what a barrier, fence or acquiring or releasing atomic orders
# in the code handed to LLVM's backend is so ordered in what comes out.
# SPDX-License-Identifier: Apache-2.0
"""usage: order.py ANYWARP LLVM_BINDIR --steps MODULE [--target T]... [--kernel K]... [--apps DIR] [--nvcc-file FILE.cu]...
[--unmended WHAT]... FILE.ptx...

Every kernel of the files, and with --apps of the programs there, is compiled for every target (default TARGETS).  The optimised
IR as our compiler hands it to LLVM's backend gets a line table that numbers it: each run of fences and barriers, or atomic with
an order, is an
*ordering point*, and the accesses of a basic block between two of them have a line of their own.  LLVM's llc takes it from
there, with the steps that are ours in its backend (MODULE, of steps.c), and its object must be the one of our compiler to the
byte, so that what llc shows of its passes is how our code was made.  Compared are

    handed     the IR as our compiler hands it over, once LLVM has made loops of atomics and let one lane do those of a wave
    ready      before control flow is made that of a wave: LLVM's own changes to IR
    selected   the IR of which instructions are selected: structured control flow, as the wave goes
    moved      the machine code, fences still in it, after everything that moves instructions
    final      the machine code that is emitted

For each access the ordering points that may be the last before it, and those that may be the next after it (or the kernel's
beginning and end), are found on all paths of the control flow graph.  Of `ready` against `handed`, and of `moved` against
`selected`:

    - no access may have a last or a next point that it did not have (an access that goes past a point gets that point on the
    other side);
    - no load through the scalar cache may come after a point: no fence invalidates that cache.  (Loads of what no one writes
    may.)
    - no access may be without a line, so that nothing is known of it, where what it reads or writes does not tell.

`final` must have the accesses and barriers of `moved` in the same order; and at each point that releases it must have waited for
what is under way (in a block of gfx9 for shared memory alone, as global memory is the CU's, unless the kernel releases to other
blocks) before anything goes on, and so at each barrier for shared memory.

--unmended FILE.ptx:KERNEL:TARGET:KIND is a kernel from whose IR what keeps LLVM from such errors is taken out: it must have an
error of the KIND (ERRORS) then, or the test has not looked.  Prints what was compared, and what is wrong; exit status 1 then."""
import argparse
import collections
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

TARGETS = ['gfx1030', 'gfx90a', 'gfx942', 'gfx1100', 'gfx1201']
APPS_LEFT_OUT = {'rdc_multi.cu', 'rdc_multi_other.cu',  # parts of a module
                 'thrust_sort_reduce.cu'}               # minutes of compiling; the same forms are in cub_block_reduce
ERRORS = {'moves': 'moved: comes', 'scalar': 'scalar cache', 'waits': 'not waited for'}
POINT = 1000000   # lines from here on are ordering points
BEGIN, END = 'begin', 'end'
CLOBBER = re.compile(r'^\s*(?:tail )?call void asm sideeffect "", "~\{memory\}"\(\)')


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors='replace', check=False)


class Wrong(Exception):
    pass


class Refused(Exception):
    pass


# ---- IR as text
ORDERED = r'(?:acquire|release|acq_rel|seq_cst)\b'
IS_FENCE = re.compile(r'^\s*fence ')
IS_BARRIER = re.compile(r'^\s*(?:tail )?call void @llvm\.amdgcn\.(?:s\.barrier|wave\.barrier)')
IS_ACCESS = re.compile(r'^\s*(?:%\S+ = )?(?:load|store|atomicrmw|cmpxchg)\b')
IS_ORDERED = re.compile(r'^\s*(?:%\S+ = (?:load atomic|atomicrmw|cmpxchg)|store atomic|atomicrmw|cmpxchg)\b.* ' + ORDERED)
IS_WAIT = re.compile(r'^\s*(?:tail )?call void (?:@llvm\.amdgcn\.s\.wait|asm sideeffect "s_waitcnt_vscnt)')
# Through another address space than memory's that waves share: a thread's own, and kernel arguments.
IS_PRIVATE = re.compile(r'ptr addrspace\([45]\)')
LABEL = re.compile(r'^("[^"]*"|[-\w.$]+):')


def event_of(line):
    """'point', 'access' or None, of a line of IR."""
    if IS_FENCE.match(line) or IS_BARRIER.match(line) or IS_ORDERED.match(line):
        return 'point'
    if IS_ACCESS.match(line) and not IS_PRIVATE.search(line.split(', align')[0]):
        return 'access'
    return None


def is_run(line):
    return bool(IS_FENCE.match(line) or IS_BARRIER.match(line))


class Numbered:
    """The IR with lines of ours.  `text`; `lines`: what each line number stands for, for messages."""

    def __init__(self, text, unmended):
        text = re.sub(r',? !dbg !\d+', '', text)
        text = re.sub(r'(?m)^!llvm\.dbg\.cu = .*\n', '', text)
        # LLVM cannot read those of assembly
        text = re.sub(r'(?m)^\s*uselistorder' + ('' if unmended else ' ptr asm') + r' .*\n', '', text)
        text = re.sub(r'(?m)^(attributes #.*)\bspeculatable ', r'\1', text)   # not read where a call of assembly has it
        self.lines, self.first_free = {}, 1 + max((int(n) for n in re.findall(r'(?m)^!(\d+) = ', text)), default=0)
        self.access, self.point, self.functions = 0, POINT - 1, 0
        self.releasing = {}   # point: the widest scope at which it releases, 'workgroup' or 'agent'
        out, inside, mark = [], False, None
        for line in text.split('\n'):
            if unmended and (IS_WAIT.match(line) or (unmended != 'waits' and CLOBBER.match(line))):
                continue
            if line.startswith('define '):
                inside, self.after_run = True, False
                self.access += 1
                line = re.sub(r' \{$', f' !dbg !{self.first_free + 3 + self.functions} {{', line)
                self.functions += 1
            elif line == '}':
                inside = False
            elif inside:
                line = self.number(line)
                if CLOBBER.match(line):
                    mark = len(out)
                elif mark is not None and self.after_run:   # what stands before a run shows where it was
                    out[mark] = self.located(out[mark], self.point)
                    mark = None
                elif not IS_WAIT.match(line):
                    mark = None
            out.append(line)
        self.text = self.metadata('\n'.join(out))

    def number(self, line):
        event = event_of(line)
        if LABEL.match(line):
            self.access += 1
            self.after_run = False
        if CLOBBER.match(line):
            return line
        if not event:
            return line
        if event == 'point':
            if not (self.after_run and is_run(line)):
                self.point += 1
            self.after_run = is_run(line)
            if re.search(r'\b(?:release|acq_rel|seq_cst)\b', line) and not re.search(r'"(?:wavefront|singlethread)', line):
                wide = 'syncscope("workgroup")' not in line or self.releasing.get(self.point) == 'agent'
                self.releasing[self.point] = 'agent' if wide else 'workgroup'
            self.access += 1
            self.lines.setdefault(self.point, line.strip())
            return self.located(line, self.point)
        self.after_run = False
        self.lines.setdefault(self.access, line.strip())
        return self.located(line, self.access)

    def located(self, line, number):
        return f'{line}, !dbg !{{LOC {self.functions - 1} {number}}}'

    def metadata(self, text):
        n, more, known = self.first_free, [], {}
        more.append(f'!{n} = distinct !DICompileUnit(language: DW_LANG_C, file: !{n + 1}, producer: "order", isOptimized: true, '
                    'runtimeVersion: 0, emissionKind: LineTablesOnly)')
        more.append(f'!{n + 1} = !DIFile(filename: "t", directory: "/")')
        more.append(f'!{n + 2} = !DISubroutineType(types: !{{}})')
        for i in range(self.functions):
            more.append(f'!{n + 3 + i} = distinct !DISubprogram(name: "f{i}", scope: !{n + 1}, file: !{n + 1}, line: 0, type: '
                        f'!{n + 2}, '
                        f'spFlags: DISPFlagDefinition, unit: !{n})')
        self.next = n + 3 + self.functions

        def location(m):
            key = (m[1], m[2])
            if key not in known:
                known[key] = self.next
                more.append(f'!{self.next} = !DILocation(line: {m[2]}, column: 1, scope: !{n + 3 + int(m[1])})')
                self.next += 1
            return f'!{known[key]}'
        text = re.sub(r'!\{LOC (\d+) (\d+)\}', location, text)
        if '"Debug Info Version"' not in text:
            more.append(f'!{self.next} = !{{i32 2, !"Debug Info Version", i32 3}}')
            text = re.sub(r'(?m)^(!llvm\.module\.flags = !\{.*)\}$', rf'\g<1>, !{self.next}}}', text)
        return f'{text}\n!llvm.dbg.cu = !{{!{n}}}\n' + '\n'.join(more) + '\n'


# ---- Control flow graphs: {block: ([(kind, line, text)], [successors])}, the first one is the entry
def ir_graphs(text):
    """Of a module's text, {function: graph}."""
    lines = {int(n): int(line) for n, line in re.findall(r'(?m)^!(\d+) = !DILocation\(line: (\d+)', text)}
    graphs, graph, block = {}, None, None
    for line in text.split('\n'):
        start = re.match(r'define .*?@("[^"]*"|[-\w.$]+)\(', line)
        if start:
            graph, block = {}, '<entry>'
            graphs[start[1].strip('"')] = graph
            graph[block] = ([], [])
            continue
        if line == '}':
            graph = None
        if graph is None:
            continue
        label = LABEL.match(line)
        if label:
            name = label[1].strip('"')
            if graph[block] == ([], []) and block == '<entry>':
                del graph[block]
            block = name
            graph[block] = ([], [])
            continue
        event = event_of(line)
        if event:
            place = re.search(r'!dbg !(\d+)', line)
            number = lines.get(int(place[1]), 0) if place else 0
            graph[block][0].append(('point' if number >= POINT else event, number, line.strip()))
        graph[block][1].extend(t.strip('"') for t in re.findall(r'label %("[^"]*"|[-\w.$]+)', line))
    return graphs


IS_MACHINE_POINT = re.compile(r'\b(ATOMIC_FENCE|S_BARRIER\w*|WAVE_BARRIER)\b')
PLACE = re.compile(r'; t:(\d+)(?::\d+)?(?: line no:\d+)?(?: \{)?\s*$')
IS_MACHINE_PRIVATE = re.compile(r'addrspace [45]\b|(?:from|into|on) (?:stack|%stack|fixed-stack|%fixed-stack|constant-pool|got)')


def machine_event(line):
    """'point', 'access' or None.  An access that is an atomic with an order has a point's line."""
    code = line.split(' :: ')[0]
    if IS_MACHINE_POINT.search(code):
        return 'point'
    operands = [o for o in re.split(r'\), \(', line.split(' :: ', 1)[1])
                if re.search(r'\b(?:load|store)\b', o)] if ' :: ' in line else []
    if 'INLINEASM' in code or not operands or all(IS_MACHINE_PRIVATE.search(o) for o in operands):
        return None
    return 'access'


def machine_graph(text):
    graph, block = {}, None
    for line in text.split('\n'):
        start = re.match(r'(bb\.\d+)\b.*:$', line)
        if start or re.match(r'bb\.\d+', line):
            block = re.match(r'(bb\.\d+)', line)[1]
            graph[block] = ([], [])
            continue
        if block is None:
            continue
        if line.startswith('  successors:'):
            graph[block][1].extend(re.findall(r'%(bb\.\d+)', line.split(';')[0]))
            continue
        if line.startswith('  BUNDLE'):   # what it holds follows
            continue
        event = machine_event(line)
        place = PLACE.search(line)
        number = int(place[1]) if place else 0
        if event == 'access' and number >= POINT:
            event = 'point'
        if event:
            graph[block][0].append((event, number, line.strip()))
    return graph


def reach(graph, forward):
    """{(block, index): frozenset of the points that may be next (or last)}"""
    entry = next(iter(graph))
    sources = collections.defaultdict(list)   # where a block's knowledge comes from
    for name, (_, successors) in graph.items():
        for s in successors:
            sources[name if forward else s].append(s if forward else name)
    outside = {name: set() for name in graph}
    for name, (_, successors) in graph.items():
        if forward and not successors:
            outside[name].add(END)
    if not forward:
        outside[entry].add(BEGIN)
    passing = {name: next((e[1] for e in (events if forward else reversed(events)) if e[0] == 'point'), None)
               for name, (events, _) in graph.items()}
    changed = True
    while changed:
        changed = False
        for name in graph:
            new = set(outside[name])
            for s in sources[name]:
                new |= {passing[s]} if passing[s] is not None else outside[s]
            if new != outside[name]:
                outside[name], changed = new, True
    result = {}
    for name, (events, _) in graph.items():
        now = frozenset(outside[name])
        order = range(len(events) - 1, -1, -1) if forward else range(len(events))
        for i in order:
            result[name, i] = now
            if events[i][0] == 'point':
                now = frozenset([events[i][1]])
    return result


def relations(graph):
    """[(kind, line, text, last points, next points)] of all events."""
    last, following = reach(graph, False), reach(graph, True)
    return [(*event, last[name, i], following[name, i]) for name, (events, _) in graph.items() for i, event in enumerate(events)]


# ---- Comparing
def scalar(text):
    return re.search(r'\bS_(?:BUFFER_)?LOAD_', text) is not None and 'invariant' not in text


def values_of(text):
    return set(re.findall(r'(?:from|into|on) (%ir\.[-\w.$]+)', text))


def compare(before, after, what, machine):
    """Lines of what is wrong; the number of accesses compared."""
    allowed, by_value = {}, collections.defaultdict(set)
    for kind, line, text, last, following in before:
        a = allowed.setdefault(line, (set(), set()))
        a[0].update(last)
        a[1].update(following)
        pointer = re.search(r'ptr(?: addrspace\(\d+\))? %([-\w.$]+)', text)
        if kind == 'access' and pointer:
            by_value['%ir.' + pointer[1]].add(line)
    wrong, n = [], 0
    for kind, line, text, last, following in after:
        if kind != 'access':
            continue
        n += 1
        known = [line] if line in allowed else sorted(set().union(*(by_value[v] for v in values_of(text))))
        if not known:
            wrong.append(f'{what}: nothing is known of: {text[:160]}')
            continue
        may_last, may_next = (set().union(*(allowed[k][i] for k in known)) for i in (0, 1))
        if not last <= may_last:
            wrong.append(f'{what}: comes after {sorted(last - may_last, key=str)}: line {known}: {text[:160]}')
        elif not following <= may_next:
            wrong.append(f'{what}: comes before {sorted(following - may_next, key=str)}: line {known}: {text[:160]}')
        if machine and scalar(text) and not may_last <= {BEGIN}:
            wrong.append(f'{what}: through the scalar cache after a point: line {known}: {text[:160]}')
    return wrong, n


# ---- The end: nothing has moved any more, and barriers wait
FINAL_ONLY = re.compile(r'\b(S_BARRIER\w*)\b')


def flat(graph):
    """Memory instructions and barriers as they stand; a fence's own instructions have its line and are no accesses."""
    out = []
    for events, _ in graph.values():
        for kind, line, text in events:
            code = re.sub(r'^.*? = ', '', re.sub(r'^(?:early-clobber |renamable |frame-setup )*', '', text.split(' :: ')[0]))
            word = code.split()[0] if code else ''
            if kind == 'access' or (kind == 'point' and (' :: ' in text or FINAL_ONLY.search(code))):
                out.append((word, line))
    return out


# A wave's accesses under way, as the card counts them: shared memory, loads (and atomics that answer), stores.
def begun(code, major):
    word = re.sub(r'^.*? = ', '', code).split()[0]
    answers = ' = ' in code
    if re.match(r'DS_(?!BPERMUTE|PERMUTE|SWIZZLE|NOP)', word):
        return {'shared'}
    if not re.match(r'(?:GLOBAL|FLAT)_(?:LOAD|STORE|ATOMIC)', word):
        return set()
    return ({'shared'} if word.startswith('FLAT') else set()) | {'load' if answers or major == 9 else 'store'}


def waited(code, major):
    """What this machine instruction waits for all of."""
    m = re.search(r'\bS_WAITCNT (\d+)', code)
    if m:
        n = int(m[1])
        shared = (n >> 4) & 63 if major == 11 else (n >> 8) & (15 if major == 9 else 63)
        loads = n >> 10 if major == 11 else n & 15 | n >> 10 & 48
        return ({'shared'} if shared == 0 else set()) | ({'load'} if loads == 0 else set())
    if re.search(r'\bS_WAITCNT_VSCNT .*\b0$|INLINEASM &"s_waitcnt_vscnt null, 0x0"', code.split(', debug-location')[0]):
        return {'store'}
    m = re.search(r'\bS_WAIT_(LOADCNT_DSCNT|STORECNT_DSCNT|DSCNT|LOADCNT|STORECNT) (\d+)', code)
    if not m:
        return set()
    n = int(m[2])
    fields = {'DSCNT': n & 63, 'LOADCNT': n >> 8 if '_' in m[1] else n, 'STORECNT': n >> 8 if '_' in m[1] else n}
    return {{'DSCNT': 'shared', 'LOADCNT': 'load', 'STORECNT': 'store'}[f] for f in m[1].split('_') if fields[f] == 0}


def step(events, pending, wrong, asked):
    """`pending` after a block's events: (kind, line) under way; kind '!...' where a point has asked for it.  Adds to `wrong`."""
    for event, line, what in events:
        if event == 'wait':
            pending = {p for p in pending if p.lstrip('!') not in what}
        elif event == 'mark':
            pending = pending | {'!' + p for p in pending if not p.startswith('!') and p in asked(line)}
        else:
            late = {p for p in pending if p.startswith('!')}
            if event == 'barrier' or late:
                late |= {p for p in pending if event == 'barrier' and p == 'shared'}
            if late and wrong is not None:
                wrong.append(f"final: {sorted(p.lstrip('!') for p in late)} not waited for before: {what[1][:120]}")
            pending = {p for p in pending if not p.startswith('!')} | (what[0] if event == 'begin' else set())
    return pending


def unwaited(text, major, releasing):
    """Points of the final code behind which something goes on before what they release has been waited for."""
    graph, block = {}, None
    for line in text.split('\n'):
        if re.match(r'bb\.\d+', line):
            block = re.match(r'(bb\.\d+)', line)[1]
            graph[block] = ([], [])
        elif block and line.startswith('  successors:'):
            graph[block][1].extend(re.findall(r'%(bb\.\d+)', line.split(';')[0]))
        elif block and line.startswith('  ') and not line.startswith('  BUNDLE') and line.strip() not in ('', '}'):
            code, place = re.sub(r'; t:.*$', '', line.split(' :: ')[0]).strip(), PLACE.search(line)
            events, number = graph[block][0], int(place[1]) if place else 0
            if waited(code, major):
                events.append(('wait', number, waited(code, major)))
            elif 'INLINEASM &""' in code:
                events.append(('mark', number, None))
            elif begun(code, major) or re.search(r'\bS_BARRIER(?:_SIGNAL\w*)?(?: |$)', code):
                if number in releasing and ' :: ' in line and re.search(r'\b(?:release|acq_rel|seq_cst)\b',
                                                                        line.split(' :: ')[1]):
                    events.append(('mark', number, None))
                events.append(('begin' if begun(code, major) else 'barrier', number, (begun(code, major), line.strip())))

    alone = major == 9 and 'agent' not in releasing.values()   # no wave hands on to other blocks what it knows of its block's

    def asked(number):
        scope = releasing.get(number)
        return set() if not scope else {'shared'} if scope == 'workgroup' and alone else {'shared', 'load', 'store'}
    coming, wrong, changed = {name: set() for name in graph}, [], True
    while changed:
        changed = False
        for name, (events, successors) in graph.items():
            after = step(events, coming[name], None, asked)
            for s in successors:
                if not after <= coming[s]:
                    coming[s] |= after
                    changed = True
    for name, (events, _) in graph.items():
        step(events, coming[name], wrong, asked)
    return wrong


# ---- One kernel for one target
PASSES = ['atomic-expand', 'amdgpu-late-codegenprepare', 'amdgpu-rewrite-undef-for-phi', 'si-memory-legalizer',
          'branch-relaxation']


def sections(dump):
    """{function: {pass: text}} of what llc printed."""
    out, current = collections.defaultdict(dict), None
    for piece in re.split(r'(?m)^(?=(?:# )?\*\*\* IR Dump )', dump):
        m = re.match(r'(?:# )?\*\*\* IR Dump (?:Before|After) .*\(([-\w]+)\) \*\*\*:?(?: \(function: (.*)\))?\n', piece)
        if not m:
            continue
        name = m[2] or re.search(r'# Machine code for function ([^:]+):', piece)[1]
        out[name.strip('"')][m[1]] = piece[m.end():]
    return out


class Checker:
    def __init__(self, anywarp, bindir, steps, directory):
        self.anywarp, self.bindir, self.steps, self.dir = anywarp, bindir, steps, directory
        self.accesses, self.points, self.kernels = 0, 0, 0

    def compile(self, path, kernel, target, emit, out):
        r = run(self.anywarp, 'compile', path, '--target', target, '--kernel', kernel, '--emit=' + emit, '-o', out)
        if r.returncode:
            raise (Refused if r.returncode == 1 else Wrong)(f'not compiled: {r.stderr.strip()}')

    def code(self, path):
        parts = []
        for section in ('.text', '.rodata'):
            out = path + '.section'
            run(os.path.join(self.bindir, 'llvm-objcopy'), '--dump-section', section + '=' + out, path, os.devnull)
            parts.append(open(out, 'rb').read() if os.path.exists(out) else b'')
            if os.path.exists(out):
                os.unlink(out)
        return parts

    def check(self, path, kernel, target, unmended, base):
        """What is wrong, as lines.  unmended: a kind of error, or None."""
        self.compile(path, kernel, target, 'ir-opt', base + '.ll')
        with open(base + '.ll', encoding='utf-8', errors='replace') as f:
            numbered = Numbered(f.read(), unmended)
        with open(base + '.ll', 'w', encoding='utf-8') as f:
            f.write(numbered.text)
        r = run(os.path.join(self.bindir, 'llc'), '-load=' + self.steps, '-mcpu=' + target, '-O2', '-relocation-model=pic',
                '-filetype=obj', base + '.ll', '-o', base + '.llc.o', '-print-module-scope',
                '-print-before=' + ','.join(PASSES[1::2]), '-print-after=' + ','.join(PASSES[::2]))
        if r.returncode:
            raise Wrong(f'llc: {r.stderr[-500:]}')
        if not unmended:
            self.compile(path, kernel, target, 'obj', base + '.o')
            if self.code(base + '.o') != self.code(base + '.llc.o'):
                raise Wrong('the code is not what llc makes of the IR')
        return self.compare(numbered, sections(r.stderr), int(target[3:-2]))

    def compare(self, numbered, dumps, major):
        wrong = []
        for name, texts in dumps.items():
            handed, ready, selected = (relations(ir_graphs(texts[p])[name]) for p in PASSES[:3])
            moved, final = (machine_graph(texts[p]) for p in PASSES[3:])
            for a, b, what, machine in ((handed, ready, 'ready', False), (selected, relations(moved), 'moved', True)):
                problems, n = compare(a, b, what, machine)
                wrong += problems
                self.accesses += n
            self.points += len({e[1] for e in selected if e[0] == 'point'})
            if flat(moved) != flat(final):
                wrong.append('final: not the accesses and barriers of before, in their order')
            wrong += unwaited(texts[PASSES[4]], major, numbered.releasing)
        if len(dumps) != numbered.functions:
            wrong.append(f'{len(dumps)} of {numbered.functions} functions were seen')
        return [self.explain(w, numbered) for w in wrong]

    @staticmethod
    def explain(text, numbered):
        m = re.search(r'comes (?:after|before) \[(\d+)', text)
        return text + (f'\n        {m[1]}: {numbered.lines.get(int(m[1]))}' if m else '')


def apps_ptx(sources, tmp):
    nvcc = os.environ.get('NVCC') or shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
    if sources and not os.access(nvcc, os.X_OK):
        print('order: there is no nvcc: programs are left out')
        return []

    def one(path):
        out = os.path.join(tmp, os.path.basename(path)[:-3] + '.ptx')
        done = run(nvcc, '-std=c++17', '-arch=compute_80', '-rdc=true', '-ptx', path, '-o', out)
        if done.returncode:
            sys.exit(f'order: {path}: nvcc: {done.stderr}')
        return out

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, sources))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('anywarp')
    parser.add_argument('bindir')
    parser.add_argument('--steps', required=True)
    parser.add_argument('--target', action='append')
    parser.add_argument('--kernel', action='append')
    parser.add_argument('--apps')
    parser.add_argument('--nvcc-file', action='append', default=[])
    parser.add_argument('--unmended', action='append', default=[])
    parser.add_argument('files', nargs='*')
    args = parser.parse_intermixed_args()
    planted = [tuple(p.split(':')) for p in args.unmended]
    failures, refused = [], []
    with tempfile.TemporaryDirectory() as tmp:
        looked = set()
        checker = Checker(args.anywarp, args.bindir, os.path.abspath(args.steps), tmp)
        sources = [p for p in sorted(glob.glob(args.apps + '/*.cu'))
                   if os.path.basename(p) not in APPS_LEFT_OUT] if args.apps else []
        files = args.files + apps_ptx(sources + args.nvcc_file, tmp)
        jobs = [(p, k, t) for p in files for k in run(args.anywarp, 'compile', p, '--emit=kernels').stdout.split()
                for t in args.target or TARGETS if not args.kernel or k in args.kernel]

        def one(job):
            i, (path, kernel, target) = job
            name, base = f'{os.path.basename(path)}:{kernel}', os.path.join(tmp, str(i))
            try:
                wrong = checker.check(path, kernel, target, None, base)
                for kind in (p[3] for p in planted if p[:3] == (os.path.basename(path), kernel, target)):
                    if not any(ERRORS[kind] in w for w in checker.check(path, kernel, target, kind, base)):
                        wrong.append(f'unmended, and no error of the kind {kind} was found')
                    looked.add((os.path.basename(path), kernel, target, kind))
            except Wrong as error:
                wrong = [str(error)]
            except Refused:   # objects.py knows which are meant to be
                wrong = []
                refused.append(name)
            failures.extend(f'{name} for {target}: {w}' for w in wrong)
            for left in glob.glob(base + '.*'):
                os.unlink(left)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(one, enumerate(jobs)))
    failures += [f'{":".join(p)}: is not there' for p in planted if p not in looked]
    print(f'{len(jobs) - len(refused)} pieces of code, {checker.accesses} accesses compared, {checker.points} ordering points')
    for text in failures:
        print(text)
    if failures or not checker.points:
        sys.exit(f'order: {len(failures)} failures')


main()
