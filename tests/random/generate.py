"""Random CUDA programs: kernels of loops, branches, rows, shared memory, shuffles, votes, atomics, 16-bit values, carries and loops that run
ahead (pipelines.py), each beside a version of itself for the host.

    generate.program(seed, kernels) is the source of a program that runs each kernel in some shapes and says PASS when the device
    left in memory what the host did.

Every kernel is written once, as statements over the variables v0, v1... (unsigned), and printed twice: for the device as it stands, for the host as
loops over a block's threads under masks (random.h).  A thread writes nothing that another one reads or writes, but for atomics that commute and
shared memory between barriers, so that any order of threads gives the same."""
# SPDX-License-Identifier: Apache-2.0
import random
import re

import pipelines

# Threads of a block: whole warps, parts of one, rows that are not a warp.
SHAPES = ((32, 1), (64, 1), (128, 1), (256, 1), (16, 8), (8, 8), (32, 4), (64, 2), (48, 1), (100, 1), (20, 5), (1, 1), (33, 3))
MOST_THREADS = 4096 # ROWS in random.h
UNARY = ('~{0}', 'ones({0})', 'zeros_above({0})', 'first_one({0})', '{0} * 2654435761u', '({0} & 255)', 'f_root({0})', 'f_whole({0})', '(u32)(u8){0}', '(u32)(int16_t){0}')
BINARY = ('{0} + {1}', '{0} - {1}', '{0} * {1}', '({0} & {1})', '({0} | {1})', '({0} ^ {1})', 'shl({0}, {1})', 'shr({0}, {1})', 'sar({0}, {1})', 'quotient({0}, {1})',
          'rest({0}, {1})', 'lesser({0}, {1})', 'greater({0}, {1})', 'lesser_signed({0}, {1})', 'distance({0}, {1})', 'rotate({0}, {1})', 'high({0}, {1})', 'f_add({0}, {1})',
          'f_mul({0}, {1})', 'f_div({0}, {1})', 'f_least({0}, {1})')
TERNARY = ('({0} ? {1} : {2})', 'bytes_of({0}, {1}, {2})', 'f_fused({0}, {1}, {2})', '{0} * {1} + {2}')
CONDITIONS = ('{0} < {1}', '{0} == {1}', '({0} & 1)', '({0} & 3) == 2', '(int32_t){0} < (int32_t){1}', 'LANE < ({0} & 31)', 'GID % 3 == {0} % 3', '{0} != {1}', '({0} ^ {1}) & 8', 'LANE & 4',
              'GID < N', 'WARP == 0')
# Of an index, an index that lies in a table of n (a power of two, or not).
PLACES = ('({0}) % {n}', '({0}) & {mask}', 'lesser({0}, {n} - 1)')
INDICES = ('GID', 'GID + {c}', 'GID * {s}', 'GID * {s} + {c}', 'GID ? GID - 1 : {n} - 1', 'GID == {n} - 1 ? 0 : GID + 1', '(GID + 1) % {n}', '(GID + {n} - 1) % {n}', 'TX + {c}', 'TY * {s} + TX', 'TX * {s} + TY',
           'BID * {s} + TX', '{v}', '{v} + GID', 'odd[GID & 16383]', 'odd[{v} & 16383] + {c}', '{c}', 'BID', 'WARP * 32 + (31 - LANE)', 'GID ^ {c}', 'LANE')
SIZE = 16384


class Kernel(pipelines.Pipelines):
    """One kernel: the statements for both sides, as lines."""

    def __init__(self, rng, name, whole_warps, forms=(), strict=False):
        self.rng, self.name, self.whole_warps, self.forms, self.strict = rng, name, whole_warps, forms, strict
        self.n_vars = rng.randint(3, 7)
        self.n_own, self.n_masks, self.n_loops, self.n_shared, self.n_narrow = self.n_vars, 1, 0, 0, 0
        self.device, self.host = [], []
        self.written = set()
        # Who leaves before the end: whole warps, or any threads.  Shared memory is zeroed then.
        self.exits, self.departed = rng.choice((None, None, None, 'warps', 'parts') if whole_warps else (None, None, 'parts')), False
        self.declared, self.zeroed = [], []
        self.room = 36 << 10 # bytes of shared memory for what takes much, in blocks of 256; one word a thread is there for each statement
        for v in range(self.n_vars):
            self.assign(f'v{v}', rng.choice(('GID', 'TX', 'BID', 'LANE', f'{rng.randint(0, 99)}u', 'words[GID & 16383]', 'bytes[GID & 16383]')), 'on0')
        for _ in range(rng.randint(4, 11)):
            self.statement('on0', 0)
        self.finish()

    # ---- text ----

    @staticmethod
    def threads(text):
        """As the host says it: what a thread has is an element of an array."""
        return re.sub(r'\b(v\d+|h\d+|w\d+|l\d+|TX|TY|GID|LANE|WARP)\b', r'\1[t]', text)

    def both(self, device, host=None):
        self.device.append(device)
        self.host.append(host if host is not None else device)

    def each(self, mask, text):
        self.both(text, f'EACH({mask}) {{ {self.threads(text)} }}')

    def assign(self, v, text, mask):
        self.each(mask, f'{v} = {text};')

    def var(self):
        return f'v{self.rng.randrange(self.n_vars)}'

    def fresh(self, what):
        n = getattr(self, what)
        setattr(self, what, n + 1)
        return n

    def own(self):
        """A variable that nothing but the statement at hand changes."""
        return f"v{self.fresh('n_own')}"

    # ---- expressions ----

    def index(self, n=SIZE):
        fill = {'c': self.rng.choice((0, 1, 2, 3, 5, 8, 31, 32, 100)), 's': self.rng.choice((1, 2, 3, 4, 5, 7, 8, 16, 33, 64)), 'v': self.var(), 'n': n}
        return self.rng.choice(INDICES).format(**fill)

    def place(self, n=SIZE):
        """An index below n."""
        used = n if self.rng.random() < .6 else n - self.rng.choice((1, 3, 37))
        form = self.rng.choice(PLACES[:2] if used & (used - 1) == 0 else (PLACES[0], PLACES[2]))
        return form.format(self.index(used), n=used, mask=used - 1)

    def load(self):
        table = self.rng.choice(('words', 'words', 'words', 'odd', 'bytes', 'halves', 'doubles'))
        text = f'{table}[{self.place()}]'
        return f'(u32)({text} >> {self.rng.choice((0, 7, 32))})' if table == 'doubles' else text

    def value(self, depth=2):
        kind = self.rng.random()
        if depth == 0 or kind < .2:
            return self.rng.choice((self.var(), self.var(), self.var(), 'GID', 'TX', 'LANE', f'{self.rng.randint(0, 300)}u', 'N'))
        if kind < .4:
            return self.load()
        form = self.rng.choice(UNARY if kind < .5 else BINARY if kind < .88 else TERNARY)
        return '(' + form.format(*(self.value(depth - 1) for _ in range(3))) + ')'

    def condition(self):
        return self.rng.choice(CONDITIONS).format(self.value(1), self.value(1))

    # ---- statements; `mask` names the host's mask of threads that are there ----

    def statement(self, mask, depth):
        """At depth 0 all threads of the block are there, in one step."""
        forms = [self.set, self.set, self.set, self.choose, self.loop, self.count, self.walk_row, self.store, self.carry]
        if depth == 0:
            forms += [self.exchange, self.tally, self.grid_loop, self.narrow, self.pipeline, self.double_buffer, self.narrow_exchange, self.relay, self.held]
            forms += [self.depart] if self.exits else []
            if self.whole_warps:
                forms += [self.vote, self.some_lanes, self.some_lanes, self.tree]
                # What a lane that left would have said is not defined.
                forms += [self.shuffle] if self.exits != 'parts' or not self.departed else []
                forms += [self.tensor, self.tensor] if not self.departed else []
        if depth == 0 and self.forms:
            forms = [f for f in forms if f.__name__ in self.forms] or [self.set]
        if depth > 2:
            forms = [self.set, self.count, self.store]
        self.rng.choice(forms)(mask, depth)

    def body(self, mask, depth):
        for _ in range(self.rng.randint(1, 3)):
            self.statement(mask, depth)

    def set(self, mask, depth):
        self.assign(self.var(), self.value(), mask)

    def branch(self, mask, text):
        """The host's mask of those for which it holds, inside `mask`."""
        inner = f"on{self.fresh('n_masks')}"
        self.host.append(f'for (u32 t = 0; t < T; t++) {inner}[t] = {mask}[t] && ({self.threads(text)});')
        return inner

    def choose(self, mask, depth):
        text = self.condition()
        then = self.branch(mask, text)
        self.device.append(f'if ({text}) {{')
        other = f"on{self.fresh('n_masks')}" if self.rng.random() < .5 else None
        if other:
            self.host.append(f'for (u32 t = 0; t < T; t++) {other}[t] = {mask}[t] && !{then}[t];')
        self.body(then, depth + 1)
        if other:
            self.device.append('} else {')
            self.body(other, depth + 1)
        self.device.append('}')

    def leave(self, text, word, masks):
        """break or continue where it holds: threads leave the masks."""
        gone = self.branch(masks[-1], text)
        self.device.append(f'if ({text}) {word};')
        self.host += [f'EACH({gone}) {m}[t] = false;' for m in masks]

    def rounds(self, mask, depth, first, condition, step, body):
        """for (first; condition; step) body."""
        self.each(mask, f'{first};')
        staying, here = (f"on{self.fresh('n_masks')}" for _ in range(2))
        self.device.append(f'for (; {condition}; {step}) {{')
        self.host.append(f'memcpy({staying}, {mask}, sizeof {staying});')
        self.host.append('for (;;) {')
        self.host.append(f'for (u32 t = 0; t < T; t++) {here}[t] = {staying}[t] = {staying}[t] && ({self.threads(condition)});')
        self.host.append(f'if (!any_of({staying}, T)) break;')
        body(here, depth + 1)
        if self.rng.random() < .2:
            self.leave(self.condition(), 'break', (staying, here))
            body(here, depth + 1)
        elif self.rng.random() < .2:
            self.leave(self.condition(), 'continue', (here,))
            body(here, depth + 1)
        self.host.append(f'EACH({staying}) {{ {self.threads(step)}; }}')
        self.both('}')

    def loop(self, mask, depth):
        """Rounds that are the same for all threads, or each its own."""
        i = self.own()
        most = self.rng.choice((f'{self.rng.randint(1, 9)}u', f'{self.rng.randint(1, 40)}u', f'({self.var()} & 7)', '(LANE & 3) + 1', '(N & 7)', f'(bytes[{self.place()}] & 15)'))
        bound = self.own()
        self.assign(bound, most, mask)
        self.rounds(mask, depth, f'{i} = 0', f'{i} < {bound}', f'{i}++', self.body)

    def walk_row(self, mask, depth):
        """The thread's row of `words`, as in a product by a sparse matrix."""
        j, end, sum_ = self.own(), self.own(), self.var()
        row = self.rng.choice(('GID', 'GID', 'GID / 32', f'({self.var()} & {MOST_THREADS - 1})'))
        by = 32 if row == 'GID / 32' else 1
        self.assign(end, f'rows[{row} + 1]', mask)
        term = self.rng.choice(('words[{j}]', 'words[odd[{j}]]', 'halves[odd[{j}]] * words[{j}]', 'bytes[{j}]', 'words[{j}] * words[odd[{j}] >> 3]')).format(j=j)
        op = self.rng.choice(('+', '^', '+'))

        def add(here, _):
            self.assign(sum_, f'{sum_} {op} {term}', here)
        self.rounds(mask, depth, f'{j} = rows[{row}]' + (' + LANE' if by == 32 else ''), f'{j} < {end}', f'{j} += {by}', add)

    def grid_loop(self, mask, depth):
        i, sum_ = self.own(), self.var()
        table, n = self.rng.choice(('words', 'bytes', 'halves')), self.rng.choice(('WORDS', 'WORDS - 5', '(N + 77)'))
        term = self.rng.choice(('{t}[{i}]', '{t}[{i}] * 3', '({t}[{i}] > {v} ? 1 : 0)', '{t}[{i}] ^ {i}', 'odd[{t}[{i}] & 16383]')).format(t=table, i=i, v=self.var())

        def add(here, _):
            self.assign(sum_, f'{sum_} + {term}', here)
        self.rounds(mask, depth, f'{i} = GID', f'{i} < {n}', f'{i} += ALL', add)

    def count(self, mask, depth):
        op, host = self.rng.choice((('atomicAdd', '{p} += {x}'), ('atomicXor', '{p} ^= {x}'), ('atomicMin', '{p} = lesser({p}, {x})'), ('atomicMax', '{p} = greater({p}, {x})')))
        # One kind of operation for each counter: different ones do not commute.
        kind = {'atomicAdd': 0, 'atomicXor': 1, 'atomicMin': 2, 'atomicMax': 3}[op]
        at, x = self.own(), self.own()
        self.assign(at, f'({self.value(1)}) % 16 * 4 + {kind}', mask)
        self.assign(x, self.value(1), mask)
        self.device.append(f'{op}(&counters[{at}], {x});')
        self.host.append(f'EACH({mask}) {{ {self.threads(host.format(p=f"counters[{at}]", x=x))}; }}')

    def store(self, mask, depth):
        """To the thread's own slots: rows, columns, backwards, under what is there, narrow and wide."""
        slot, x = self.rng.randrange(8), self.var()
        text = self.rng.choice((f'out[GID * 8 + {slot}] = {x};', f'out[{slot} * 4096 + GID] = {x};', f'least[GID] = lesser(least[GID], {x});', f'if ({x} < least[GID]) least[GID] = {x};', f'wide[4095 - GID] += (u64){x} << 16;',
                                f'small[GID] = (u8)({x} >> {slot});', f'small[GID] += (u8){x};', f'wide[GID] ^= (u64){x} * {self.var()};'))
        # Each array in one order only: else a thread's slot would be another's, too.
        array, order = text.split('[')[0].split()[-1].lstrip('('), re.search(r'\[(.*?)\]', text)[1].replace(str(slot), '')
        if any(a == array and o != order for a, o in self.written):
            self.set(mask, depth)
            return
        self.written.add((array, order))
        self.each(mask, text)

    def shared(self, n):
        name = self.aligned(n)
        self.host.append(f'static u32 {name}[{n}];' + (f' memset({name}, 0, sizeof {name});' if self.exits else ''))
        return name

    def exchange(self, mask, depth):
        s, v, to = self.shared('T'), self.var(), self.var()
        self.each(mask, f'{s}[TID] = {v};')
        self.device.append('__syncthreads();')
        read = self.rng.choice(('(TID + 1) % T', 'TID ? TID - 1 : T - 1', 'T - 1 - TID', f'{self.var()} % T', '(TID * 3 + 1) % T', 'TID / 32', '(TID ^ 1) % T', f'(TID + {self.rng.randint(2, 40)}) % T'))
        own = self.own() # read before anybody writes again
        self.assign(own, f'{s}[{read}]', mask)
        self.assign(to, f'{to} + {own}', mask)
        self.device.append('__syncthreads();')

    def tally(self, mask, depth):
        n = self.rng.choice((16, 32, 100, 256))
        s, v = self.shared(n), self.var()
        self.each(mask, f'for (u32 i = TID; i < {n}; i += T) {s}[i] = 0;')
        self.device.append('__syncthreads();')
        x = self.rng.choice(('1u', v))
        at = self.own()
        self.assign(at, f'({self.value(1)}) % {n}', mask)
        self.each_or(mask, f'atomicAdd(&{s}[{at}], {x});', f'{s}[{at}] += {x};')
        self.device.append('__syncthreads();')
        self.assign(self.var(), f'{s}[TID % {n}]', mask)
        self.device.append('__syncthreads();')

    def each_or(self, mask, device, host):
        self.device.append(device)
        self.host.append(f'EACH({mask}) {{ {self.threads(host)} }}')

    def tree(self, mask, depth):
        """A sum over the block in shared memory, halving it."""
        s, v = self.shared('T'), self.var()
        self.each(mask, f'{s}[TID] = {v};')
        self.device.append('__syncthreads();')
        self.device.append('for (u32 n = T / 2; n; n /= 2) {')
        self.host.append('for (u32 n = T / 2; n; n /= 2) {')
        self.each(mask, f'if (TID < n) {s}[TID] += {s}[TID + n];')
        self.device.append('__syncthreads();')
        self.both('}')
        self.assign(self.var(), f'{s}[0]', mask)
        self.device.append('__syncthreads();')

    # ---- values of 16 bits, carries ----

    def narrow(self, mask, depth):
        """Made before a barrier, used and changed after it."""
        h = [f"h{self.fresh('n_narrow')}" for _ in range(self.rng.randint(1, 3))]
        for x in h:
            self.assign(x, f'(u16)({self.value()})', mask)
        (self.tree if self.whole_warps and self.rng.random() < .5 else self.exchange)(mask, depth)
        x, y = self.rng.choice(h), self.rng.choice(h)
        inner = mask
        if self.rng.random() < .5:
            text = self.condition()
            inner = self.branch(mask, text)
            self.device.append(f'if ({text}) {{')
        form = self.rng.choice(('(u16)({x} * 3 + {y})', '(u16)((int16_t){x} >> 3)', '(u16)({x} < {y} ? {x} - {y} : {y})', '(u16)({x} ^ {v})', '(u16)((u8){x} * (u8){y})'))
        self.assign(x, form.format(x=x, y=y, v=self.var()), inner)
        if inner != mask:
            self.device.append('}')
        to = self.var()
        self.assign(to, f'{to} + ' + self.rng.choice(('{x}', '(u32)(int16_t){x}', '({x} << 16 | {y})', '(u32)((int16_t){x} * (int16_t){y})')).format(x=x, y=y), mask)

    def carry(self, mask, depth):
        """Additions, subtractions and products with carry in any order; host_carry says what a letter is."""
        names = {'a': 'add.cc.u32', 'A': 'addc.cc.u32', 's': 'sub.cc.u32', 'S': 'subc.cc.u32', 'm': 'mad.lo.cc.u32', 'M': 'madc.hi.cc.u32'}
        codes = self.rng.choice('asm') + ''.join(self.rng.choice('aAAsSSmM') for _ in range(self.rng.randint(1, 5)))
        operands = [self.own() for _ in range(3)]
        for x in operands:
            self.assign(x, self.value(1), mask)
        text = '{.reg .u32 x; mov.u32 x, %1; '
        for i, c in enumerate(codes):
            text += f'{names[c]} x, x, %{2 + i % 2}' + (f', %{1 + i % 3}' if c in 'mM' else '') + '; '
        text += 'addc.u32 %0, x, x;}'
        to, own = self.var(), self.own()
        self.device.append(f'asm("{text}" : "=r"({own}) : ' + ', '.join(f'"r"({x})' for x in operands) + ');')
        self.host.append(f'EACH({mask}) {own}[t] = host_carry("{codes}", ' + ', '.join(f'{x}[t]' for x in operands) + ');')
        self.assign(to, f'{to} ^ {own}', mask)

    # ---- lanes ----

    def shuffle(self, mask, depth):
        v, to, at = self.var(), self.var(), self.own()
        width = self.rng.choice((32, 32, 32, 16, 8))
        self.assign(at, self.rng.choice((f'({self.var()} & 31)', f'(LANE ^ {self.rng.choice((1, 2, 4, 8, 16, 31))})', f'(LANE + {self.rng.randint(1, 31)}) & 31', f'{self.rng.randrange(32)}u')), mask)
        self.both(f'{to} = __shfl_sync(~0u, {v}, (int){at}, {width});', f'host_shuffle(T, {mask}, {to}, {v}, {at}, {width});')

    def vote(self, mask, depth):
        x, to = self.own(), self.var()
        self.assign(x, self.condition(), mask)
        if self.rng.random() < .5:
            self.both(f'{to} = __ballot_sync(~0u, {x});', f'host_ballot(T, {mask}, {to}, {x});')
        else:
            self.both(f'{to} = __match_any_sync(~0u, {x} + ({self.var()} & 3));', '')
            self.device[-1] = f'{x} += {to} & 3; {to} = __match_any_sync(~0u, {x});'
            self.host[-1] = f'EACH({mask}) {{ {x}[t] += {to}[t] & 3; }} host_match(T, {mask}, {to}, {x});'

    def told(self, bits, text, lane):
        """What a lane says that may not be among those that exchange.  It is 0 here, which CUDA leaves open: a strict program asks."""
        return f'among({bits}, {lane}, {text})' if self.strict else text

    def some_lanes(self, mask, depth):
        """A vote, and those who said yes go on among themselves."""
        x, bits, v, to = self.own(), self.own(), self.var(), self.var()
        self.assign(x, self.condition(), mask)
        self.both(f'{bits} = __ballot_sync(~0u, {x});', f'host_ballot(T, {mask}, {bits}, {x});')
        inner = self.branch(mask, x)
        self.device.append(f'if ({x}) {{')
        form = self.rng.randrange(8)
        if form > 3: # of lanes that may not be here, which read as 0
            kind, by, width = self.rng.randrange(3), self.rng.choice((1, 2, 3, 4, 8, 15, 16, 21)), self.rng.choice((32, 32, 16, 8))
            name, own, lanes = ('__shfl_up_sync', '__shfl_down_sync', '__shfl_xor_sync')[kind], self.own(), self.rng.choice(("~0u", bits))
            self.both(f'{own} = ' + self.told(bits, f'{name}({bits if self.strict else lanes}, {v}, {by}, {width})', f'shifted(LANE, {kind}, {by}, {width})') + ';', f'host_shift(T, {inner}, {own}, {v}, {kind}, {by}, {width});')
            self.assign(to, f'{to} + {own}', inner)
        elif form == 0:
            self.both(f'{to} = sum_of({bits}, {v});', f'host_sum(T, {inner}, {to}, {v});')
        elif form == 1:
            at = self.own()
            self.assign(at, self.rng.choice((f'first_one({bits}) - 1', f'({self.var()} & 31)')), inner)
            self.both(f'{to} = ' + self.told(bits, f'__shfl_sync({bits}, {v}, (int){at})', at) + ';', f'host_shuffle(T, {inner}, {to}, {v}, {at}, 32);')
        elif form == 2:
            self.assign(to, f'ones({bits} & ((1u << LANE) - 1))', inner)
        else:
            self.both(f'{to} = __match_any_sync({bits}, {v});', '')
            key = self.own()
            self.device[-1] = f'{key} = {v} & 3; {to} = __match_any_sync({bits}, {key});'
            self.host[-1] = f'EACH({inner}) {{ {key}[t] = {v}[t] & 3; }} host_match(T, {inner}, {to}, {key});'
        self.body(inner, depth + 1)
        self.device.append('}')

    # ---- the whole ----

    def finish(self):
        """What a kernel does is seen in its memory only: all variables go there."""
        self.each('on0', 'wide[GID] += ' + ' ^ '.join(f'(u64)v{v} << {v}' for v in range(self.n_vars)) + ';' if not any(a == 'wide' and o != 'GID' for a, o in self.written) else
                  'least[GID] ^= ' + ' ^ '.join(f'v{v}' for v in range(self.n_vars)) + ';')

    # Parameters beside those that all kernels have, as (type, name, restrict), and what is given for them.
    more_parameters, more_given, more_arrays = (), (), ''

    def more_of_device(self):
        """Declarations that only kinds of kernels beside this one have (language.py)."""
        return ''

    def more_of_host(self):
        return ''

    def source(self):
        parameters = ', '.join(f'{t} *__restrict__ {n}' if r else f'{t} *{n}' for t, n, r in (
            ('const u32', 'words', self.rng.random() < .5), ('const u32', 'odd', False), ('const u64', 'doubles', False), ('const u16', 'halves', False), ('const u8', 'bytes', False),
            ('const u32', 'rows', False), ('const u16', 'tiles', self.rng.random() < .5), ('u32', 'out', False), ('u32', 'least', False), ('u64', 'wide', False), ('u8', 'small', False), ('u32', 'counters', False)) + self.more_parameters)
        variables = ', '.join(f'v{v} = 0' for v in range(self.n_own))
        device = '\n    '.join(self.declared + self.zeroed + (['__syncthreads();'] if self.zeroed else []) + self.device)
        narrow = 'u16 ' + ', '.join(f'h{v} = 0' for v in range(self.n_narrow)) + ';' if self.n_narrow else ''
        narrow_host = 'u16 ' + ', '.join(f'h{v}[T] = {{ 0 }}' for v in range(self.n_narrow)) + ';' if self.n_narrow else ''
        arrays = ', '.join(f'v{v}[T] = {{ 0 }}' for v in range(self.n_own))
        masks = ', '.join(f'on{m}[T]' for m in range(self.n_masks))
        host = '\n        '.join(self.host).replace('TID', 't')
        return f'''
template <u32 T> __global__ void {self.name}({parameters}, u32 N)
{{
    const u32 TX = threadIdx.x, TY = threadIdx.y, TID = TY * blockDim.x + TX, BID = blockIdx.x, GID = BID * T + TID, LANE = TID & 31, WARP = TID >> 5, ALL = gridDim.x * T;
    u32 {variables};
    {narrow}{self.more_of_device()}
    (void)LANE, (void)WARP, (void)ALL, (void)TY;
    {device}
}}

template <u32 T> static void {self.name}_host(const struct memory *m, u32 n_blocks, u32 width, u32 N)
{{
    const u32 *words = m->words, *odd = m->odd, *rows = m->rows;
    const u64 *doubles = m->doubles;
    const u16 *halves = m->halves, *tiles = m->tiles;
    const u8 *bytes = m->bytes;
    u32 *out = m->out, *least = m->least, *counters = m->counters, ALL = n_blocks * T;{self.more_arrays}
    u64 *wide = m->wide;
    u8 *small = m->small;
    (void)words, (void)odd, (void)rows, (void)tiles, (void)doubles, (void)halves, (void)bytes, (void)out, (void)least, (void)counters, (void)wide, (void)small, (void)ALL;
    for (u32 BID = 0; BID < n_blocks; BID++) {{
        static bool {masks};
        u32 TX[T], TY[T], GID[T], LANE[T], WARP[T], {arrays};
        {narrow_host}{self.more_of_host()}
        for (u32 t = 0; t < T; t++)
            TX[t] = t % width, TY[t] = t / width, GID[t] = BID * T + t, LANE[t] = t & 31, WARP[t] = t >> 5, on0[t] = true;
        {host}
    }}
}}
'''


def launch(kernel, shape, blocks, n, seed, more=()):
    t = shape[0] * shape[1]
    fields = 'words odd doubles halves bytes rows tiles out least wide small counters'.split()
    arguments = ', '.join(f'd.{f}' for f in fields + list(more))
    return f'''    {{
        struct memory m, d;
        memory_fill(&m, {seed});
        memory_to_device(&m, &d);
        {kernel}<{t}><<<{blocks}, dim3({shape[0]}, {shape[1]})>>>({arguments}, {n});
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        {kernel}_host<{t}>(&m, {blocks}, {shape[0]}, {n});
        wrong += memory_compare(&m, &d, "{kernel}, {blocks} blocks of {shape[0]} by {shape[1]}");
    }}
'''


def program(seed, n_kernels=3, n_launches=3, forms=(), kind=Kernel, header='random.h', strict=False):
    """`forms`: names of Kernel's methods, to have only such statements at the outermost level.  `strict`: nothing that CUDA leaves
    open, and that we define for PTX: member masks name only lanes that come, and nobody counts on what others say."""
    rng = random.Random(seed)
    sources, launches = [], []
    for k in range(n_kernels):
        whole = rng.random() < .6
        kernel = kind(random.Random(rng.random()), f'kernel{k}', whole, forms, strict)
        sources.append(kernel.source())
        shapes = [s for s in SHAPES if not whole or s[0] * s[1] % 32 == 0 and (s[0] * s[1]) & (s[0] * s[1] - 1) == 0]
        for _ in range(n_launches):
            shape = rng.choice(shapes)
            most = MOST_THREADS // (shape[0] * shape[1])
            launches.append(launch(f'kernel{k}', shape, rng.choice((1, 2, 7, most)) if most >= 7 else most, rng.choice((0, 1, 31, 100, 1000, 4095, 4096)), rng.randrange(1 << 30), kind.more_given))
    return (f'// Random program {seed}.\n#include "{header}"\n' + ''.join(sources) +
            '\nint main(void)\n{\n    u32 wrong = 0;\n' + ''.join(launches) + '    puts(wrong ? "FAIL" : "PASS");\n    return wrong != 0;\n}\n')
