"""Random CUDA programs that use more of the language than generate.py's: jumps out of several loops at once, switches whose cases
fall through, calls through pointers, recursion, arrays of structures in local memory, several pointers to the same memory, numbers of
64 bits, doubles, directed roundings, packed halves of both kinds, vectors, shared memory read as other types than it was written as,
places that several threads write alike, lanes that are served in turn or leave a loop that the rest go on with, atomics by one lane
for several.

The seed says how nvcc builds a program, too: for which PTX, as one to debug, with -ftz=true, which changes nothing that is computed
in f32, whose values are none so small.

A Kernel here is one of generate.py's with those statements beside the others."""
# SPDX-License-Identifier: Apache-2.0
import generate

WIDE_UNARY = ('~{0}', 'ones64({0})', 'zeros64({0})', '(u64)(int64_t)(int32_t){0}', '({0} >> 32 | {0} << 32)', 'd_root({0})',
              'd_floor({0})', 'd_short({0})', 'd_whole({0})')
WIDE_BINARY = ('{0} + {1}', '{0} - {1}', '{0} * {1}', '({0} & {1})', '({0} | {1})', '({0} ^ {1})', 'shl64({0}, {1})',
               'shr64({0}, {1})', 'sar64({0}, {1})', 'quotient64({0}, {1})', 'rest64({0}, {1})', 'quotient_signed({0}, {1})',
               'rest_signed({0}, {1})', 'high64({0}, {1})', 'lesser64({0}, {1})', 'lesser_signed64({0}, {1})', 'd_add({0}, {1})',
               'd_mul({0}, {1})', 'd_div({0}, {1})', 'd_least({0}, {1})', 'rd_add({0}, {1}, {0})', 'rd_mul({0}, {1}, 2)',
               'rd_mul({0}, {1}, 0)')
WIDE_TERNARY = ('({0} > {1} ? {2} : {0})', '((int64_t){0} < (int64_t){1} ? {2} : {1})', 'd_fused({0}, {1}, {2})',
                '{0} * {1} + {2}')
# Calls and what works on parts of a word; of u32.
SPECIAL = ('apply({0}, {1}, {2})', 'apply({0}, {1}, LANE)', 'apply({0}, {1}, WARP)', 'tree({0}, {1})', 'tree(GID, {0})',
           'chain({0}, {1})', 'h_add({0}, {1})', 'h_mul({0}, {1})', 'h_most({0}, {1})', 'b_add({0}, {1})', 'b_mul({0}, {1})',
           'b_add(b_small({0}), b_small({1}))', 'b_mul(b_small({0}), {1})', 'b_fused({0}, {1}, {2})',
           'b_fused(b_small({0}), 0x3f9d4012u, b_small({2}))', 'b_most(b_small({0}), b_small({1}))', 'r_add({0}, {1}, {2})',
           'r_add({0}, {1}, 0)', 'r_mul({0}, {1}, 2)', 'r_mul({0}, {1}, {2})', 'r_div({0}, {1}, 1)', 'r_div({0}, {1}, 2)',
           'r_fused({0}, {1}, {2}, 0)', 'r_fused({0}, {1}, {2}, 2)', 'r_whole({0}, {1})', 'r_whole({0}, 1)', 'dot({0}, {1}, {2})',
           'funnel({0}, {1}, {2})', 'reversed({0})', 'sorted_bytes({0}, {1})', 'digits({0}, {1})', 'four_bytes(bytes, {0})',
           'four_halves(halves, {0})', 'two_words(words, {0})', '(u32)({0} < {1} && {2} != {0} || {1} == {2})',
           '(u32)(({0} & 1) && four_bytes(bytes, {1}) > {2})')
# Of indices that wrap round within a warp, or are narrow, or step by parts.
FAR = ('GID - {c} - 1', 'GID * 4294967293u + {c}', '(GID << 28) + GID', '(u32)(u8)(GID + {c})', '(u32)(u16)(GID * 4099u)',
       '(GID + {c}) / 3', '(GID + {c}) % 7', '(u32)((int32_t)(GID - {c}) >> 1)', '(u32)((int)TX - {c}) * 2', 'GID * GID',
       '(u32)((u64)GID * 0x80000001ull >> 3)', 'TX ? GID * {s} : {c}', '(LANE & 16 ? GID : GID + {c})',
       'GID / 32 * {s} + (LANE ^ 3)', 'GID * {s} - TX * {s} + LANE')
# `given` is `out` again (random.h's), as a parameter of its own, so that no compiler knows.
POINTERS = ('u32 *same = given, *later = given + 3; u16_any *parts = (u16_any *)given; u8 *bits = (u8 *)given; '
            '(void)same, (void)later, (void)parts, (void)bits;')
FIELDS = ('wide', 'word', 'half', 'byte[0]', 'byte[1]')


class Kernel(generate.Kernel):
    more_parameters, more_given = (('u32', 'given', False), ('u32', 'marks', False)), ('out', 'marks')
    more_arrays = ' u32 *given = m->out, *marks = m->marks;'

    def __init__(self, rng, name, whole_warps, forms=(), strict=False):
        self.n_wide, self.n_labels, self.cells = rng.randint(1, 3), 0, []
        self.left = 40 # statements, but for short ones: what is nested would grow without end
        # What a jump leaves, outermost first: [mask] of a branch, [staying, here, number, labels asked for] of a loop.
        self.around = []
        super().__init__(rng, name, whole_warps, forms, strict)

    def own_wide(self):
        return f"w{self.fresh('n_wide')}"

    # ---- statements ----

    def statement(self, mask, depth):
        forms = [self.set, self.choose, self.loop, self.count, self.store, self.rove] + 2 * [self.special, self.wide, self.cell, self.mark]
        if depth < 3:
            forms += [self.switch] * 2 + [self.nest, self.count_together, self.count_by_swap, self.walk_row, self.rove]
        if any(len(x) > 1 for x in self.around):
            forms += [self.jump] * 4
        if depth == 0:
            forms += [self.exchange, self.tally, self.reread, self.reread, self.relay, self.nest, self.append, self.seen]
            forms += [self.depart] if self.exits else []
            if self.whole_warps:
                forms += [self.vote, self.some_lanes, self.tree] + [self.in_turn, self.in_turn, self.fewer] * (not self.departed)
                forms += [self.shuffle] if self.exits != 'parts' or not self.departed else []
        if depth == 0 and self.forms:
            forms = [f for f in forms if f.__name__ in self.forms] or [self.set]
        self.left -= 1
        if depth > 2 or (depth and self.left < 0):
            forms = [self.set, self.count, self.store, self.special, self.wide, self.cell]
            forms += [self.jump] * any(len(x) > 1 for x in self.around)
        self.rng.choice(forms)(mask, depth)

    def body(self, mask, depth):
        inside = self.around and mask in self.around[-1]
        if not inside:
            self.around.append([mask])
        super().body(mask, depth)
        if not inside:
            self.around.pop()

    def rounds(self, mask, depth, first, condition, step, body):
        """As generate.py's, and a jump may leave the loop or go on with its next round."""
        number, entered, masks = self.fresh('n_labels'), len(self.device), self.n_masks
        loop = [f'on{masks}', f'on{masks + 1}', number, set()]

        def inside(here, depth):
            self.around.append(loop)
            body(here, depth)
            self.around.pop()
        super().rounds(mask, depth, first, condition, step, inside)
        assert len(self.device) > entered and self.device[-1] == '}'
        if 'continue' in loop[3]:
            self.device[-1] = f'next{number}: ; }}'
        if 'break' in loop[3]:
            self.device.append(f'past{number}: ;')

    def jump(self, mask, depth):
        """Out of some loops, or to the next round of one that is not the innermost."""
        loops = [i for i, x in enumerate(self.around) if len(x) > 1]
        to, how = self.rng.choice(loops), self.rng.choice(('break', 'continue'))
        self.around[to][3].add(how)
        text = self.condition()
        gone = self.branch(mask, text)
        self.device.append(f'if ({text}) goto {"past" if how == "break" else "next"}{self.around[to][2]};')
        left = [m for x in self.around[to + 1:] for m in x[:2] if isinstance(m, str)] + self.around[to][how == 'continue':2]
        self.host += [f'EACH({gone}) {m}[t] = false;' for m in dict.fromkeys(left)]

    def nest(self, mask, depth):
        """A loop in a loop."""
        self.rounds(mask, depth, *self.header(mask), lambda here, d: (self.body(here, d), self.rounds(here, d, *self.header(here), self.body), self.body(here, d)))

    def header(self, mask):
        i, bound = self.own(), self.own()
        self.assign(bound, self.rng.choice((f'{self.rng.randint(1, 5)}u', f'({self.var()} & 3) + 1', '(LANE & 3) + 1', '(N & 3) + 1', f'({self.var()} >> 3 & 3)')), mask)
        return f'{i} = 0', f'{i} < {bound}', f'{i}++'

    def switch(self, mask, depth):
        x, n = self.own(), self.rng.randint(2, 6)
        self.assign(x, f'{self.value(1)} % {n + self.rng.randrange(2)}', mask)
        self.device.append(f'switch ({x}) {{')
        values, before = [f'{k * self.rng.choice((1, 1, 1, 2))}' for k in range(n)], None
        values = list(dict.fromkeys(values))
        for k, v in enumerate(values + ['default'] * (self.rng.random() < .5)):
            here = f"on{self.fresh('n_masks')}"
            is_this = ' && '.join(f'{x}[t] != {w}' for w in values) if v == 'default' else f'{x}[t] == {v}'
            self.host.append(f'for (u32 t = 0; t < T; t++) {here}[t] = ({mask}[t] && {is_this})' + (f' || {before}[t];' if before else ';'))
            self.device.append('default:' if v == 'default' else f'case {v}:')
            self.body(here, depth + 1)
            falls = self.rng.random() < .3
            self.device.append('' if falls else 'break;')
            before = here if falls else None
        self.device.append('}')

    def special(self, mask, depth):
        v = self.var()
        self.assign(v, self.rng.choice(('{v} ^ {x}', '{x}', '{v} + {x}')).format(v=v, x=self.rng.choice(SPECIAL).format(*(self.value(1) for _ in range(3)))), mask)

    # ---- 64 bits ----

    def wide_value(self, depth=2):
        if depth == 0 or self.rng.random() < .25:
            return self.rng.choice((f'w{self.rng.randrange(self.n_wide)}', f'w{self.rng.randrange(self.n_wide)}', f'(u64){self.var()}', f'doubles[{self.place()}]', f'((u64){self.var()} << 32 | {self.var()})',
                                    f'{self.rng.randint(0, 1 << 40)}ull'))
        form = self.rng.choice(self.rng.choice((WIDE_UNARY, WIDE_BINARY, WIDE_BINARY, WIDE_TERNARY)))
        return '(' + form.format(*(self.wide_value(depth - 1) for _ in range(3))) + ')'

    def wide(self, mask, depth):
        w = f'w{self.rng.randrange(self.n_wide)}'
        self.assign(w, self.wide_value(), mask)
        if self.rng.random() < .4:
            v = self.var()
            self.assign(v, self.rng.choice((f'{v} + (u32)({w} >> 29)', f'(u32)({w} % 1000003)', f'{w} > {self.wide_value(1)} ? {v} : (u32){w}')), mask)

    def index(self, n=generate.SIZE):
        if self.rng.random() < .7:
            return super().index(n)
        return self.rng.choice(FAR).format(c=self.rng.choice((0, 1, 3, 5, 31, 32, 100)), s=self.rng.choice((1, 2, 3, 4, 8, 33)))

    def place(self, n=generate.SIZE):
        return super().place(n) if n > 100 else f'({self.index(n)}) % {n}'

    # ---- local memory ----

    def cell(self, mask, depth):
        """Some of a thread's array of structures: stores, copies and calls with addresses, at places known late."""
        if not self.cells or (len(self.cells) < 3 and self.rng.random() < .3):
            self.cells.append(self.rng.randint(2, 9))
        c = self.rng.randrange(len(self.cells))
        n = self.cells[c]

        def at():
            return f'l{c}[{self.rng.choice((f"{self.value(1)} % {n}", f"{self.var()} % {n}", str(self.rng.randrange(n))))}]'
        field, v = self.rng.choice(FIELDS), self.var()
        type_ = {'wide': 'u64', 'word': 'u32', 'half': 'u16'}.get(field, 'u8')
        text = self.rng.choice((f'{at()}.{field} = ({type_})({self.value(1)});', f'{at()}.{field} += ({type_}){v};', f'{at()} = {at()};', f'touch(&{at()}, {v});', f'{v} += (u32){at()}.{field};', f'{v} ^= touch(&{at()}, {self.value(1)});',
                                f'((u8 *)l{c})[{v} % {16 * n}] = (u8){self.var()};', f'{v} = {v} * 3 + ((u8 *)l{c})[{v} % {16 * n}];', f'{v} += ((u16_any *)l{c})[{self.value(1)} % {8 * n}];', f'swap_cells(&{at()}, &{at()});'))
        self.each(mask, text)

    # ---- the thread's part of `out`, through pointers to the same memory ----

    def rove(self, mask, depth):
        """Along the thread's row or column of eight: what one round writes a later one reads, by another pointer or as another type."""
        column = any(a == 'out' and o.endswith('+ GID') for a, o in self.written)
        if not any(a == 'out' for a, _ in self.written):
            column = self.rng.random() < .5
        self.written.add(('out', ' * 4096 + GID' if column else 'GID * 8 + '))

        def at(k):
            return f'(({k}) * 4096 + GID)' if column else f'(GID * 8 + ({k}))'

        def element(k):
            return self.rng.choice((f'out[{at(k)}]', f'same[{at(k)}]', f'later[(int){at(k)} - 3]', f'parts[{at(k)} * 2 + {self.rng.randrange(2)}]', f'bits[{at(k)} * 4 + {self.rng.randrange(4)}]'))
        i, v, far = self.own(), self.var(), self.rng.choice((1, 1, 2, 3))
        down = self.rng.random() < .3

        def body(here, _):
            place = f'7 - {i}' if down else i
            other = f'7 - {i} - {far}' if down else f'{i} + {far}'
            for _ in range(self.rng.randint(1, 3)):
                to, of = element(self.rng.choice((place, other))), element(self.rng.choice((place, other)))
                self.each(here, self.rng.choice((f'{to} = {of} * 3 + {v};', f'{to} += {of};', f'{v} = {v} * 5 + {of};', f'{to} = {v}; {v} ^= {of};', f'if ({of} & 1) {to} = {v} + {i};')))
        self.rounds(mask, depth, f'{i} = 0', f'{i} < {self.rng.choice((str(8 - far) + "u", f"({self.var()} & 3) + 1", "(N & 3) + 1"))}', f'{i}++', body)

    # ---- what several threads write, all of them the same ----

    def mark(self, mask, depth):
        """Marks where some threads come, in words, bytes or double words; others may come there too."""
        form, n = self.rng.choice((('marks[{0}]', 8192), ('((u8 *)(marks + 8192))[{0}]', 16384), ('((u8 *)(marks + 8192))[{0}]', 100), ('((u64_any *)(marks + 12288))[{0}]', 2048), ('marks[{0}]', 37), ('marks[{0}]', 1000)))
        text = f'{form.format(self.place(n))} = 1;'
        self.each(mask, text if self.rng.random() < .3 else f'if ({self.condition()}) {text}')

    def seen(self, mask, depth):
        """The same in shared memory, with a reader behind a barrier."""
        n, type_ = self.rng.choice((1, 4, 33, 128, 256)), self.rng.choice(('u32', 'u8', 'u16', 'u64'))
        if not self.fits(n * 8):
            self.set(mask, depth)
            return
        to, own, at, c = self.var(), self.own(), self.place(n), self.condition()
        read = f'({self.var()} + TID) % {n}'
        self.scope()
        s = self.aligned(n, type_)
        self.device.append(f'for (u32 i = TID; i < {n}; i += T) {s}[i] = 0; __syncthreads(); if ({c}) {s}[{at}] = 3; __syncthreads(); {own} = (u32){s}[{read}]; __syncthreads(); }}')
        self.host.append(f'{type_} s[{n}] = {{ 0 }}; EACH({mask}) {{ if ({self.threads(c)}) s[{self.threads(at)}] = 3; }} EACH({mask}) {own}[t] = (u32)s[{self.threads(read).replace("TID", "t")}]; }}')
        self.assign(to, f'{to} * 3 + {own}', mask)

    def append(self, mask, depth):
        """A list in shared memory that those with something append to, in any order; all read it whole."""
        if not self.fits(2 << 10):
            self.set(mask, depth)
            return
        v, to, c, own = self.var(), self.var(), self.condition(), self.own()
        rounds = self.rng.choice((1, 1, 2))
        self.scope()
        s, n = self.aligned(f'T * {rounds}'), self.aligned(2)
        self.device.append(f'if (!TID) {n}[0] = {n}[1] = 0; __syncthreads(); for (u32 i = 0; i < {rounds}; i++) if (({c}) != (i & 1)) {{ const u32 p = atomicAdd(&{n}[0], 1); {s}[p] = {v} + i; if ({v} & 1) atomicMax(&{n}[1], {v}); }} __syncthreads(); '
                           f'{own} = {n}[1]; for (u32 i = 0; i < {n}[0]; i++) {own} += {s}[i] ^ TID; __syncthreads(); }}')
        self.host.append(f'u32 s[T * {rounds}], n = 0, most = 0; for (u32 i = 0; i < {rounds}; i++) EACH({mask}) {{ if (({self.threads(c)}) != (i & 1)) {{ s[n++] = {v}[t] + i; if ({v}[t] & 1) most = greater(most, {v}[t]); }} }} '
                         f'EACH({mask}) {{ {own}[t] = most; for (u32 i = 0; i < n; i++) {own}[t] += s[i] ^ t; }} }}')
        self.assign(to, f'{to} * 3 + {own}', mask)

    # ---- shared memory as other types ----

    def reread(self, mask, depth):
        """Written as numbers of one size, read as another's."""
        if not self.fits(2 << 10):
            self.set(mask, depth)
            return
        (put, size), v, w, to = self.rng.choice((('u32', 4), ('u64', 8))), self.var(), self.var(), self.var()
        get, part = self.rng.choice((('u8', 1), ('u16', 2), ('u32', 4), ('u64', 8), ('s16', 2)))
        count = 'T' if part <= size else '(T == 1 ? 2 : T)'  # one element alone does not hold one of the larger size
        at = f'({self.rng.choice(("TID * 5 + 3", "TID * 3", self.var(), f"{self.var()} + TID", "T - 1 - TID", "TID + 7"))}) % ({count} * {size} / {part})'
        self.scope()
        s = self.aligned(count, put)
        value = v if size == 4 else f'((u64){v} << 32 | {w})'
        own = self.own()
        add = self.rng.random() < .3
        self.device.append(f'{s}[TID] = {value}; if (T == 1) {s}[{count} - 1] = {value}; __syncthreads(); {own} = (u32)((const {get}_any *){s})[{at}]; __syncthreads();' + (f'((u16_any *){s})[TID * {size // 2}] += (u16){w}; {own} ^= (u32){s}[TID]; __syncthreads();' if add else '') + ' }')
        self.host.append(f'{put} s[{count}]; memset(s, 0, sizeof s); EACH({mask}) {{ s[t] = {self.threads(value)}; if (T == 1) s[{count} - 1] = s[t]; }} EACH({mask}) {{ {get} x; memcpy(&x, (const u8 *)s + ({self.threads(at).replace("TID", "t")}) * sizeof x, sizeof x); {own}[t] = (u32)x; }} '
                         + (f'EACH({mask}) {{ s[t] = (s[t] & ~({put})0xffff) | (u16)(s[t] + {w}[t]); {own}[t] ^= (u32)s[t]; }}' if add else '') + ' }')
        self.assign(to, f'{to} * 3 + {own}', mask)

    # ---- atomics ----

    def count_together(self, mask, depth):
        """One lane adds for all that are there with it, whoever they are."""
        at, x = self.own(), self.own()
        self.assign(at, f'({self.value(1)}) % {self.rng.choice((1, 2, 5, 16))} * 4', mask)
        if self.rng.random() < .5:
            self.device.append(f'{{ const u32 here = __activemask(), same = __match_any_sync(here, {at}); if (first_one(same) - 1 == LANE) atomicAdd(&counters[{at}], ones(same)); }}')
            self.host.append(f'EACH({mask}) counters[{at}[t]]++;')
        else:
            self.assign(x, f'{self.value(1)} & 0xffff', mask)
            self.device.append(f'{{ const u32 here = __activemask(), sum = sum_of(here, {x}); if (first_one(here) - 1 == LANE) atomicAdd(&counters[0], sum); }}')
            self.host.append(f'EACH({mask}) counters[0] += {x}[t];')

    def count_by_swap(self, mask, depth):
        """Adds to the halves of a counter apart, by compare and swap."""
        at, x = self.own(), self.own()
        self.assign(at, f'({self.value(1)}) % 16 * 4', mask)
        self.assign(x, self.value(1), mask)
        self.device.append(f'{{ u32 old = counters[{at}], seen; do {{ seen = old; old = atomicCAS(&counters[{at}], seen, seen + {x}); }} while (old != seen); }}')
        self.host.append(f'EACH({mask}) counters[{at}[t]] += {x}[t];')

    # ---- lanes ----

    def in_turn(self, mask, depth):
        """Those with the first one's value are served, then those of the rest, and so on; they stay, or leave when they are done.  All of a warp, or those who said yes."""
        key, to, v, x, bits = self.own(), self.var(), self.var(), self.own(), self.own()
        self.assign(key, f'{v} % {self.rng.choice((1, 2, 3, 7, 40))}', mask)
        self.assign(x, self.rng.choice((self.condition(), '1u')), mask)
        self.both(f'{bits} = __ballot_sync(~0u, {x});', f'host_ballot(T, {mask}, {bits}, {x});')
        inner = self.branch(mask, x)
        stay = self.rng.random() < .5
        self.device.append(f'if ({x}) {{ u32 left = {bits}, turn = 0; for (;;) {{ const u32 first = first_one(left) - 1, given = __shfl_sync({bits if stay else "left"}, {key}, first); const bool mine = {key} == given; '
                           f'const u32 same = __ballot_sync({bits if stay else "left"}, mine); if (mine) {{ {to} = {to} * 3 + ones(same) + turn * 64 + ones(same & ((1u << LANE) - 1)) * 4096; {"" if stay else "break;"} }} '
                           f'left &= ~same; turn++; {"if (!left) break;" if stay else ""} }} }}')
        self.host.append(f'host_in_turn(T, {inner}, {to}, {key});')

    def fewer(self, mask, depth):
        """Lanes exchange through shared memory, and in each round some leave."""
        if not self.fits(1 << 10):
            self.set(mask, depth)
            return
        v, x, bits, when = self.var(), self.own(), self.own(), self.own()
        self.assign(x, self.rng.choice((self.condition(), '1u')), mask)
        self.assign(when, self.rng.choice((f'{self.var()} % 5', 'LANE & 3', '(LANE ^ WARP) % 7', '3u')), mask)
        self.both(f'{bits} = __ballot_sync(~0u, {x});', f'host_ballot(T, {mask}, {bits}, {x});')
        inner = self.branch(mask, x)
        s = self.aligned('T')
        by_shared = self.rng.random() < .6
        far = (f'{s}[TID] = {v} + i; __syncwarp(left); const u32 far = {s}[WARP * 32 + next_lane(left, LANE)]; __syncwarp(left);' if by_shared else f'const u32 far = __shfl_sync(left, {v} + i, next_lane(left, LANE));')
        self.device.append(f'if ({x}) {{ u32 left = {bits}; for (u32 i = 0; ; i++) {{ {far} {v} = {v} * 3 + far; const bool ends = i >= {when}; left &= ~__ballot_sync(left, ends); if (ends) break; }} }} __syncthreads();')
        self.host.append(f'host_fewer(T, {inner}, {v}, {when});')

    # ---- the whole ----

    def finish(self):
        for w in range(self.n_wide):
            self.assign(f'v{w % self.n_vars}', f'v{w % self.n_vars} * 3 + (u32)(w{w} ^ w{w} >> 32)', 'on0')
        for c, n in enumerate(self.cells):
            v = self.var()
            self.each('on0', f'for (u32 i = 0; i < {n}; i++) {v} = {v} * 5 + fold_cell(&l{c}[i]);')
        super().finish()

    def more_of_device(self):
        return ' '.join([POINTERS] + [f'u64 w{w} = 0;' for w in range(self.n_wide)] + [f'struct cell l{c}[{n}] = {{}};' for c, n in enumerate(self.cells)])

    def more_of_host(self):
        return ' '.join([POINTERS] + [f'u64 w{w}[T] = {{ 0 }};' for w in range(self.n_wide)] + [f'static struct cell l{c}[T][{n}]; memset(l{c}, 0, sizeof l{c});' for c, n in enumerate(self.cells)])


def arch(seed):
    return (80, 90, 120)[seed % 3]


def flags(seed):
    return ['-ftz=true'] * (seed % 2) + ['-G'] * (seed % 7 == 3)


def program(seed, n_kernels=3, forms=(), strict=False):
    return generate.program(seed, n_kernels, 2, forms=forms, kind=Kernel, header='language.h', strict=strict)
