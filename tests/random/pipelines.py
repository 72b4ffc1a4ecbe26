"""Loops that run ahead of themselves, as kernels that multiply matrices have them: copies in several stages, tiles kept in registers over barriers, halves packed into words, fragments loaded by
ldmatrix, threads that leave before barriers.  What the device gets through shared memory, the host reads where it came from."""
# SPDX-License-Identifier: Apache-2.0


class Pipelines:
    """Statements of a Kernel (generate.py) at depth 0."""

    def trips(self):
        """How often a block goes round, which it does as one; at most 7, and perhaps not at all."""
        return self.rng.choice((f'{self.rng.randint(1, 7)}u', '(N & 3) + 2', '((N + BID) & 3) + 1', '(N >> 1 & 7)', '((N + BID) & 3)', '(N / 33 & 7)'))

    def partner(self):
        """Another thread of the block, as a text of TID; a permutation, so that a thread that read a neighbour's place would be seen."""
        return self.rng.choice((f'(TID + {self.rng.randint(1, 40)}) % T', '(T - 1 - TID)', '(TID + T / 2) % T', 'TID', '(TID ^ 1) % T', '(TID * 3 + 1) % T', '(TID / 32 * 32 + (TID + 5) % 32) % T'))

    def scope(self):
        """What the statement declares ends with it."""
        self.both('{')

    def fits(self, size):
        """Takes that many bytes of shared memory, if they are left."""
        there = size <= self.room
        self.room -= size if there else 0
        return there

    def aligned(self, count, type_='u32'):
        """Shared memory that only the device has."""
        name = f"s{self.fresh('n_shared')}"
        self.declared.append(f'__shared__ __align__(16) {type_} {name}[{count}];')
        if self.exits:
            # Who left reads as 0 for the others.
            self.zeroed.append(f'for (u32 i = TID; i < {count}; i += T) {name}[i] = 0;')
        return name

    # ---- copies ahead ----

    def pipeline(self, mask, depth):
        """cp.async into a ring of tiles, each thread a few words of each; another thread reads them."""
        words, stages, n = self.rng.choice((1, 2, 4)), self.rng.choice((2, 3, 4)), self.trips()
        if not self.fits(stages * words << 10):
            self.set(mask, depth)
            return
        base, step = self.rng.choice(('0', '7', 'BID', 'N')), self.rng.choice((1, 3, 64, 100))
        given = self.rng.choice(('true', 'true', '({i} + {g}) % 3 != 0', '({g} & 31) + {i} < 20'))
        place = f'((({base} + ({{i}}) * {step} + {{g}}) * {words}) & 16383)'
        to, other, which = self.var(), self.partner(), self.rng.randrange(words)
        self.scope()
        s = self.aligned(f'{stages} * T * {words}')

        def copy(i, slot):
            source = place.format(i=i, g='GID')
            return f'copy_async<{words * 4}>(&{s}[(({slot}) * T + TID) * {words}], &words[{source}], {given.format(i=i, g="GID")} ? {words * 4} : 0);'
        self.device += [f'const u32 n = {n}, other = {other};', f'for (u32 i = 0; i < {stages - 1}; i++) {{ if (i < n) {{ {copy("i", "i")} }} copy_commit(); }}']
        self.ring(self.rng.choice(('modulo', 'counters', 'pointers')), s, stages, words, which, to, copy)
        self.device.append('copy_wait<0>(); __syncthreads(); }')
        # `o` is the partner's number in the grid.
        there = f'({mask}[p] && ({given.format(i="i", g="o")}) ? words[{place.format(i="i", g="o")} + {which}] : 0)'
        self.host.append(f'const u32 n = {n}; for (u32 i = 0; i < n; i++) EACH({mask}) {{ const u32 p = {other.replace("TID", "t")}, o = BID * T + p; {to}[t] = {to}[t] * 3 + {there}; }} }}')

    def ring(self, form, s, stages, words, which, to, copy):
        """The loop over the tiles: which place is read and which is filled is computed, counted, or a pointer that goes round; what is read is used at once, or in the next round."""
        size = f'T * {words}'
        if form == 'modulo':
            begin, step, read, put = '', '', f'{s} + i % {stages} * {size}', f'(i + {stages - 1}) % {stages}'
            following = f'{s} + (i + 1) % {stages} * {size}'
        elif form == 'counters':
            begin, read, put = f'u32 at = 0, put = {stages - 1};', f'{s} + at * {size}', 'put'
            step = f'at = at + 1 < {stages} ? at + 1 : 0; put = put + 1 < {stages} ? put + 1 : 0;'
            following = f'{s} + (at + 1 < {stages} ? at + 1 : 0) * {size}'
        else:
            begin, read, put = f'const u32 *tile = {s}; u32 put = {stages - 1};', 'tile', 'put'
            step = f'tile = tile == {s} + {stages - 1} * {size} ? {s} : tile + {size}; put = put + 1 < {stages} ? put + 1 : 0;'
            following = f'(tile == {s} + {stages - 1} * {size} ? {s} : tile + {size})'
        element = f'[other * {words} + {which}]'
        filled = f'if (i + {stages - 1} < n) {{ {copy(f"(i + {stages - 1})", put)} }} copy_commit();'
        wait = f'copy_wait<{stages - 2}>(); __syncthreads();'
        if self.rng.random() < .5:
            self.device.append(f'{begin} for (u32 i = 0; i < n; i++) {{ {wait} {to} = {to} * 3 + ({read}){element}; {filled} {step} }}')
        else:
            self.device.append(f'u32 x; {begin} {wait} {{ const u32 i = 0; x = ({read}){element}; }} for (u32 i = 0; i < n; i++) {{ {filled} const u32 old = x; {wait} x = i + 1 < n ? ({following}){element} : 0; {to} = {to} * 3 + old; {step} }}')

    # ---- registers over barriers ----

    def double_buffer(self, mask, depth):
        """The next tile is loaded into registers, narrow ones too, while this one is used; a barrier or two in each round."""
        if not self.fits(2 << 10):
            self.set(mask, depth)
            return
        table, n, to, other = self.rng.choice(('words', 'halves', 'halves', 'halves', 'bytes', 'mixed')), self.trips(), self.var(), self.partner()
        base, step, far = self.rng.choice(('0', '5', 'BID', 'N')), self.rng.choice((1, 3, 64, 100)), self.rng.choice((1, 17, 4096))
        at = f'(({base} + ({{i}}) * {step} + {{g}} * 2 + {{k}}) & 16383)'
        tables = {'mixed': ('halves', 'bytes')}.get(table, (table, table))
        types = [{'words': 'u32', 'halves': 'u16', 'bytes': 'u8'}[x] for x in tables]

        def value(k, i, g):
            return f'{tables[k]}[{at.format(i=i, g=g, k=k * far)}]'
        join = 'x + y * 5' if table == 'words' else '(u32)x | (u32)y << 16'
        packed = 'pack(x, y)' if self.rng.random() < .7 and table != 'words' else join
        double = self.rng.random() < .5
        load = f'x = {value(0, "i + 1", "GID")}; y = {value(1, "i + 1", "GID")};'
        guarded = f'if (i + 1 < n) {{ {load} }}' if self.rng.random() < .5 else load # the place is there even where nobody asks
        buffer = '(i & 1) * T + ' if double else ''
        self.scope()
        s = self.aligned('2 * T' if double else 'T')
        self.device.append(f'const u32 n = {n}, other = {other}; {types[0]} x = {value(0, "0", "GID")}; {types[1]} y = {value(1, "0", "GID")};')
        put, use = f'{s}[{buffer}TID] = {packed};', f'{to} = {to} * 3 + {s}[{buffer}other];'
        second = '' if double else '__syncthreads();'
        body = self.rng.choice((f'{put} __syncthreads(); {guarded} {use} {second}', f'{put} {guarded} __syncthreads(); {use} {second}', f'{put} __syncthreads(); {use} {guarded} {second}'))
        self.device.append(f'for (u32 i = 0; i < n; i++) {{ {body} }} __syncthreads(); }}')
        x, y = value(0, 'i', 'o'), value(1, 'i', 'o')
        self.host.append(f'const u32 n = {n}; for (u32 i = 0; i < n; i++) EACH({mask}) {{ const u32 p = {other.replace("TID", "t")}, o = BID * T + p, x = {x}, y = {y}; '
                         f'{to}[t] = {to}[t] * 3 + ({mask}[p] ? {join.replace("(u32)", "")} : 0); }} }}')

    def narrow_exchange(self, mask, depth):
        """Halves of words go through shared memory and are put together again behind the barrier."""
        v, w, to, other = self.var(), self.var(), self.var(), self.partner()
        self.scope()
        s = self.aligned('T', 'u16')
        self.device.append(f'u16 low, high; unpack({v} ^ {w}, &low, &high); {s}[TID] = high; __syncthreads(); const u16 there = {s}[{other}]; {to} += pack(there, low); __syncthreads(); }}')
        self.host.append(f'u32 old[T]; for (u32 t = 0; t < T; t++) old[t] = {mask}[t] ? {v}[t] ^ {w}[t] : 0; EACH({mask}) {to}[t] += (old[{other.replace("TID", "t")}] >> 16) | old[t] << 16; }}')

    def relay(self, mask, depth):
        """Two buffers that change places: what a round reads at its head through them lives over its barrier."""
        if not self.fits(2 << 10):
            self.set(mask, depth)
            return
        n, v, to, other, more = self.trips(), self.var(), self.var(), self.partner(), self.rng.choice(('0', 'words[(GID + i * 7) & 16383]', 'i * 11'))
        late = self.rng.random() < .7
        use = self.by_some('own ^ far * 3', to)
        self.scope()
        a, b = self.aligned('T'), self.aligned('T')
        self.device.append(f'u32 *here = {a}, *next = {b}; const u32 n = {n}, other = {other}; here[TID] = {v}; __syncthreads(); for (u32 i = 0; i < n; i++) {{ const u32 own = here[TID], far = here[other]; '
                           f'{"" if late else use} next[TID] = own * 5 + far + {more}; __syncthreads(); {use if late else ""} u32 *const old = here; here = next; next = old; }} __syncthreads(); }}')
        self.host.append(f'u32 one[T], two[T], *here = one, *next = two; const u32 n = {n}; for (u32 t = 0; t < T; t++) one[t] = {mask}[t] ? {v}[t] : 0, two[t] = 0; for (u32 i = 0; i < n; i++) {{ '
                         f'EACH({mask}) {{ const u32 own = here[t], far = here[{other.replace("TID", "t")}]; {self.threads(use)} next[t] = own * 5 + far + {self.threads(more)}; }} u32 *const old = here; here = next; next = old; }} }}')

    def by_some(self, value, to):
        """Uses a value: all threads do, or some, in code that is too long to be computed for the others too."""
        if self.rng.random() < .4:
            return f'{to} = {to} * 3 + ({value});'
        who = self.rng.choice((f'(LANE ^ i) & {self.rng.choice((1, 8))}', f'{to} & 1', 'i & 1', 'N > 50', '(WARP ^ i) & 1'))
        return f'if ({who}) {{ const u32 z = {value}; for (u32 j = 0; j < (z & 3) + 1; j++) {to} = ({to} ^ z >> j) * 5; }}'

    def held(self, mask, depth):
        """What is read or asked before a barrier and used behind it only, by all threads or by some: nobody may read it later."""
        if not self.fits(1 << 10):
            self.set(mask, depth)
            return
        n, v, to, other, lanes = self.trips(), self.var(), self.var(), self.partner(), self.whole_warps and not (self.exits == 'parts' and self.departed)
        early = self.rng.choice(['shuffle'] * 3 * lanes + ['words[({to} + i) & 16383]', '(u32)halves[({to} + i) & 16383]', 'bytes[(GID + i * 9) & 16383] * 3u', '{v} / 3'])
        at, x = self.own(), self.own()
        twice = self.rng.random() < .5 # a value behind two barriers, the other behind one
        use = self.by_some(f'{x} ^ y', to)
        self.scope()
        s = self.aligned('T')
        ask = f'{at} = ({to} + i) & 31; {x} = __shfl_sync(~0u, {v}, (int){at});' if early == 'shuffle' else f'{x} = {early.format(v=v, to=to)};'
        self.device.append(f'const u32 n = {n}, other = {other}; for (u32 i = 0; i < n; i++) {{ {"" if twice else ask} {s}[TID] = {v} + i; {ask if twice else ""} __syncthreads(); const u32 y = {s}[other]; '
                           f'{use if not twice else ""} __syncthreads(); {use if twice else ""} }} }}')
        asked = f'EACH({mask}) {at}[t] = ({to}[t] + i) & 31; host_shuffle(T, {mask}, {x}, {v}, {at}, 32);' if early == 'shuffle' else f'EACH({mask}) {x}[t] = {self.threads(early.format(v=v, to=to))};'
        self.host.append(f'u32 s[T]; memset(s, 0, sizeof s); const u32 n = {n}; for (u32 i = 0; i < n; i++) {{ {asked} EACH({mask}) s[t] = {v}[t] + i; '
                         f'EACH({mask}) {{ const u32 y = s[{other.replace("TID", "t")}]; {self.threads(use)} }} }} }}')

    # ---- matrices ----

    def tensor(self, mask, depth):
        """A product of matrices of small whole numbers, tile by tile of depth K: rows or columns are shared out among the warps."""
        k, stages, n = self.rng.choice((16, 32, 64)), self.rng.choice((2, 3, 4)), self.trips()
        by_rows, rows_are_k, how = self.rng.random() < .5, self.rng.random() < .6, self.rng.choice(('async', 'async', 'registers'))
        while stages * k > 128: # 48 KiB for blocks of 256
            stages -= 1
        if not self.fits(stages * k * 272):
            self.set(mask, depth)
            return
        m, c = ('16 * (T / 32)', '8') if by_rows else ('16', '8 * (T / 32)')
        first = f'{self.rng.randrange(64)} * 8 + BID * {self.rng.choice((0, 8, 64))}'
        second = f'{self.rng.randrange(64)} * 8 + BID * {self.rng.choice((0, 8, 64))}'
        wide, far = self.rng.choice((8, 64, 72, 200)), self.rng.choice((64, 128, 264))
        place_a = f'(({first} + ({{row}}) * {wide} + ({{k}})) & 16383)'
        place_b = (f'(({second} + ({{k}}) * {far} + ({{column}})) & 16383)' if rows_are_k else f'(({second} + ({{column}}) * {far} + ({{k}})) & 16383)')
        shift, half_sums, to = self.rng.choice((-1, 0, 0, 1)), self.rng.random() < .25, self.var()
        rows_b, chunks_b = (k, f'({c}) / 8') if rows_are_k else (f'({c})', k // 8)
        self.scope()
        a, b = self.aligned(f'{stages} * ({m}) * {k}', 'u16'), self.aligned(f'{stages} * ({c}) * {k}', 'u16')
        tiles = [(a, f'({m})', k // 8, f'({m}) * {k}', place_a.format(row='row', k='(i) * %d + chunk * 8' % k)),
                 (b, rows_b, chunks_b, f'({c}) * {k}', place_b.format(k='(i) * %d + row' % k, column='chunk * 8') if rows_are_k else place_b.format(k='(i) * %d + chunk * 8' % k, column='row'))]
        sums = 'u32 sums[2] = { 0, 0 };' if half_sums else 'float sums[4] = { 0, 0, 0, 0 };'
        row, column = ('WARP * 16', '0') if by_rows else ('0', 'WARP * 8')
        self.device.append(f'const u32 n = {n}; {sums} u32 fa[4], fb[2];')

        def fragments(slot, at):
            return (f'load_rows<{k // 8}, {shift}>(fa, {a} + ({slot}) * ({m}) * {k}, {row}, {at}, LANE); '
                    f'load_columns<{chunks_b}, {shift}, {str(rows_are_k).lower()}>(fb, {b} + ({slot}) * ({c}) * {k}, {at}, {column}, LANE);')
        if how == 'async':
            self.tiles_ahead(tiles, shift, stages, k, fragments)
        else:
            self.tiles_in_registers(tiles, shift, k, fragments)
        self.device.append(f'__syncthreads(); {to} = {to} * 3 + fold(sums); }}')
        value_a = f'[&](u32 row, u32 k) {{ return small_value(tiles[{place_a.format(row="row", k="k")}]); }}'
        value_b = f'[&](u32 k, u32 column) {{ return small_value(tiles[{place_b.format(k="k", column="column")}]); }}'
        self.host.append(f'EACH({mask}) {to}[t] = {to}[t] * 3 + host_product(t & 31, {row.replace("WARP", "(t >> 5)")}, {column.replace("WARP", "(t >> 5)")}, ({n}) * {k}, {value_a}, {value_b}); }}')

    def tiles_ahead(self, tiles, shift, stages, k, fragments):
        """cp.async in stages; fragments as they are needed, or the next ones before this product."""
        copies = ' '.join(f'for (u32 j = TID; j < {rows} * {chunks}; j += T) {{ const u32 row = j / ({chunks}), chunk = j % ({chunks}); '
                          f'copy_async<16>(&{s}[slot * ({size}) + swizzled<{chunks}, {shift}>(row, chunk)], &tiles[{source}], 16); }}' for s, rows, chunks, size, source in tiles)
        wait = f'copy_wait<{stages - 2}>(); __syncthreads();'
        self.device.append(f'auto copy = [&](u32 i, u32 slot) {{ if (i < n) {{ {copies} }} copy_commit(); }};')
        self.device.append(f'for (u32 i = 0; i < {stages - 1}; i++) copy(i, i);')
        ahead = f'copy(i + {stages - 1}, (i + {stages - 1}) % {stages});'
        form = self.rng.randrange(3)
        if form == 0:
            # All of a tile in registers before the barrier behind which the next one takes its place.
            steps, ahead = k // 16, f'copy(i + {stages - 1}, (i + {stages - 1}) % {stages - 1});'
            self.device.append(f'u32 ga[{steps}][4], gb[{steps}][2]; for (u32 i = 0; i < n; i++) {{ {wait} \n#pragma unroll\nfor (u32 j = 0; j < {steps}; j++) {{ {fragments(f"i % {stages - 1}", "j * 16").replace("(fa,", "(ga[j],").replace("(fb,", "(gb[j],")} }} '
                               f'__syncthreads(); {ahead} \n#pragma unroll\nfor (u32 j = 0; j < {steps}; j++) multiply(sums, ga[j], gb[j]); }}')
        elif form == 1:
            self.device.append(f'for (u32 i = 0; i < n; i++) {{ {wait} {ahead} #pragma unroll\nfor (u32 at = 0; at < {k}; at += 16) {{ {fragments(f"i % {stages}", "at")} multiply(sums, fa, fb); }} }}'.replace('#', '\n#'))
        else:
            # Between rounds fragments are words, or halves each in a register of its own.
            narrow = self.rng.random() < .6
            kept, keep, take = ('u16 h[12];', 'halve(h, fa, fb);', 'u32 ga[4], gb[2]; join(ga, gb, h);') if narrow else ('', '', 'u32 ga[4] = { fa[0], fa[1], fa[2], fa[3] }, gb[2] = { fb[0], fb[1] };')
            first = f'{fragments("slot", "0")} {keep}'
            rest = f'\n#pragma unroll\nfor (u32 at = 16; at < {k}; at += 16) {{ {fragments("slot", "at")} multiply(sums, fa, fb); }}'
            using = self.rng.choice((f'{take} multiply(sums, ga, gb); {rest}', f'{take} {rest} multiply(sums, ga, gb);'))
            again = '' if self.rng.random() < .5 else '__syncthreads();'
            self.device.append(f'u32 slot = 0; {kept} {wait} {first} for (u32 i = 0; i < n; i++) {{ {again} {using} {again} {ahead} slot = slot + 1 < {stages} ? slot + 1 : 0; {wait} {first} }}')
        self.device.append('copy_wait<0>();')

    def tiles_in_registers(self, tiles, shift, k, fragments):
        """The next tiles' chunks in registers while this one is multiplied."""
        names = ('ra', 'rb')
        for name, (s, rows, chunks, size, source) in zip(names, tiles):
            self.device.append(f'uint4 {name}[({rows} * {chunks} + T - 1) / T];')

        def each(body):
            return ' '.join(f'\n#pragma unroll\nfor (u32 r = 0; r < ({rows} * {chunks} + T - 1) / T; r++) {{ const u32 j = r * T + TID, row = j / ({chunks}), chunk = j % ({chunks}); if (j < {rows} * {chunks}) {{ '
                            + body(name, s, size, chunks, source) + ' } }' for name, (s, rows, chunks, size, source) in zip(names, tiles))
        load = each(lambda name, s, size, chunks, source: f'{name}[r] = *(const uint4 *)&tiles[{source}];')
        store = each(lambda name, s, size, chunks, source: f'*(uint4 *)&{s}[(i & 1) * ({size}) + swizzled<{chunks}, {shift}>(row, chunk)] = {name}[r];')
        self.device.append(f'auto load = [&](u32 i) {{ {load} }}; load(0); for (u32 i = 0; i < n; i++) {{ {store} __syncthreads(); if (i + 1 < n) load(i + 1); \n#pragma unroll\n'
                           f'for (u32 at = 0; at < {k}; at += 16) {{ {fragments("i & 1", "at")} multiply(sums, fa, fb); }} }}')

    # ---- threads that leave ----

    def depart(self, mask, depth):
        """Some threads end here, or in a round of a loop with barriers; what they have is kept."""
        if any(a == 'wide' and o != 'GID' for a, o in self.written):
            self.set(mask, depth)
            return
        self.written.add(('wide', 'GID'))
        self.departed = True
        text = self.rng.choice(('WARP % 2 == 1', 'WARP == 0 && BID % 2 == 0', 'WARP > 1', 'BID == 1') if self.exits == 'warps' else
                               ('LANE > 20', 'LANE % 3 == 1', 'TID >= T / 2', f'({self.var()} & 7) == 3', 'GID >= N', 'TID == 0', 'WARP % 2 == 1'))
        traces = 'wide[GID] += ' + ' ^ '.join(f'(u64)v{v} << {v + 1}' for v in range(self.n_vars)) + ';'
        if self.rng.random() < .6:
            gone = self.branch(mask, text)
            self.device.append(f'if ({text}) {{ {traces} return; }}')
            self.host.append(f'EACH({gone}) {{ {self.threads(traces)} {mask}[t] = false; }}')
            return
        n, v, other = self.trips(), self.var(), self.partner()
        text = f'({text}) && i == ' + self.rng.choice(('1', '2', '(BID & 3)'))
        self.scope()
        s = self.aligned('T')
        gone = f"on{self.fresh('n_masks')}"
        self.device.append(f'const u32 n = {n}; for (u32 i = 0; i < n; i++) {{ if ({text}) {{ {traces} return; }} {s}[TID] = {v} + i; __syncthreads(); const u32 x = {s}[{other}]; __syncthreads(); {v} = {v} * 3 + x; }} }}')
        self.host.append(f'u32 s[T]; memset(s, 0, sizeof s); const u32 n = {n}; for (u32 i = 0; i < n; i++) {{ for (u32 t = 0; t < T; t++) {gone}[t] = {mask}[t] && ({self.threads(text)}); '
                         f'EACH({gone}) {{ {self.threads(traces)} {mask}[t] = false; }} EACH({mask}) s[t] = {v}[t] + i; EACH({mask}) {v}[t] = {v}[t] * 3 + s[{other.replace("TID", "t")}]; }} }}')
