"""Random CUDA programs whose threads wait for each other: locks, chains, ping-pong, flags, named barriers, in global and shared memory, by every kind of
look, whole warps and some of their lanes, with barriers and warp operations between them.

    waits.program(seed) is the source of a program that says PASS when the device left in memory what the same as loops on the host did,
    and FAIL when a kernel does not end (waits.h).

Each thread has a value v. A kernel is a row of steps, each with words of its own, and with a result that no order of threads changes. Words that
only threads wait on are not compared: the host leaves the same in them."""
# SPDX-License-Identifier: Apache-2.0
import random

LOOKS = ('look_volatile', 'look_add', 'look_or', 'look_swap', 'look_acquire', 'look_relaxed')
PUTS = ('put_volatile', 'put_exchange', 'put_release')
RELAX = (';', ';', '__nanosleep(40);', '__nanosleep(t & 63);', '__threadfence_block();')
# Which threads, of their number t in the block.
SOME = ('t % 2 == 0', 't % 3 == 1', 't % 32 < 16', 't % 32 >= 20', 't / 32 % 2 == 0', '(t & 5) == 1', 't % 32 == 7', 't > 10')


class Kernel:
    def __init__(self, rng, name):
        self.rng, self.name = rng, name
        self.threads, self.blocks = rng.choice((32, 64, 64, 96, 128)), rng.choice((1, 1, 2, 3))
        self.device, self.host, self.declared, self.zeroed = [], [], [], []
        self.used, self.shared, self.left = 0, 0, False
        for _ in range(rng.randint(2, 5)):
            self.step()

    # ---- words

    def cells(self, n, own=True):
        """`n` words that begin as 0: of each block, or one lot for the grid."""
        at = self.used
        self.used += n * (self.blocks if own else 1)
        return f'(cells + {at} + {n} * b)' if own else f'(cells + {at})'

    def words(self, n):
        """What is waited on: of the block, in global or shared memory, and whether the host sees it."""
        if self.rng.random() < .5:
            return self.cells(n), True
        name = f's{self.shared}'
        self.shared += 1
        self.declared.append(f'__shared__ u32 {name}[{n}];')
        self.zeroed.append(f'for (u32 i = t; i < {n}; i += T) {name}[i] = 0;')
        return name, False

    def look(self):
        return self.rng.choice(LOOKS)

    def put(self):
        return self.rng.choice(PUTS)

    def until(self, word, what):
        """Waits until the word is that."""
        return f'while ({self.look()}({word}) != {what}) {self.rng.choice(RELAX)}'

    def all_threads(self, text):
        self.host.append(f'for (u32 t = 0; t < T; t++) if (here[t]) {{ {text} }}')

    # ---- steps

    def step(self):
        forms = [self.lock, self.lock, self.some_lock]
        if not self.left:
            forms += [self.chain, self.chain, self.ping_pong, self.ping_pong, self.flag, self.together, self.together, self.blocks_in_turn, self.leave]
            forms += [self.pairs] if self.threads % 64 == 0 else []
        else:
            forms += [self.barrier]
        self.rng.choice(forms)()

    def locked(self):
        """A lock of the block's, or the grid's, and a sum under it: the device's text and the host's."""
        rng = self.rng
        if rng.random() < .6:
            lock, seen = self.words(2)
        else:
            lock, seen = self.cells(2, False), True
        total = self.cells(1) if 'b)' in lock or not seen else self.cells(1, False)
        held = f'__threadfence(); set({total}, get({total}) * 1 + v % 1000 + 1); __threadfence();'
        adds = f'{total}[0] += v[t] % 1000 + 1;'
        form = rng.randrange(4)
        if form == 0:
            text = f'{{ u32 mine = atomicAdd(&{lock}[0], 1); {self.until(f"&{lock}[1]", "mine")} {held} {self.put()}(&{lock}[1], mine + 1); }}'
            return text, adds + (f' {lock}[0]++; {lock}[1]++;' if seen else '')
        take = rng.choice((f'atomicCAS(&{lock}[0], 0, 1)', f'atomicExch(&{lock}[0], 1)'))
        give = f'{self.put()}(&{lock}[0], 0);'
        if form == 1:
            return f'while ({take}) {rng.choice(RELAX)} {held} {give}', adds
        if form == 2:
            return f'for (bool done = false; !done;) if (!{take}) {{ {held} {give} done = true; }}', adds
        return f'do {self.until(f"&{lock}[0]", "0")} while ({take}); {held} {give}', adds

    def lock(self):
        text, adds = self.locked()
        times = self.rng.choice(('1', '1', '2', 't % 3', '(t & 1) + 1'))
        self.device.append(f'for (u32 i = 0; i < {times}; i++) {{ {text} }}')
        self.all_threads(f'for (u32 i = 0; i < {times}; i++) {{ {adds} }}')

    def some_lock(self):
        """Some threads take one, others another or none."""
        some, (text, adds) = self.rng.choice(SOME), self.locked()
        other, others = self.locked() if self.rng.random() < .5 else ('', '')
        self.device.append(f'if ({some}) {{ {text} }} else {{ {other} v += 3; }}')
        self.all_threads(f'if ({some}) {{ {adds} }} else {{ {others} v[t] += 3; }}')

    def chain(self):
        """Each thread of the block, or of the grid, waits for the one before it in some order, and takes over what that one left."""
        grid = self.blocks > 1 and self.rng.random() < .4
        n = self.threads
        by = self.rng.choice([a for a in (1, 1, n - 1, 5, 7, 11) if n % 3 or a % 3])
        place = f'((t * {by} + {self.rng.randrange(n)}) % T)'
        if grid:
            place, flags, seen, data = f'(b * T + {place})', self.cells(n * self.blocks, False), True, self.cells(n * self.blocks, False)
        else:
            (flags, seen), data = self.words(n), self.cells(n)
        self.device.append(f'{{ u32 at = {place}, before = 0; if (at) {{ {self.until(f"&{flags}[at - 1]", "1u")} __threadfence(); before = get(&{data}[at - 1]); }} '
                           f'set(&{data}[at], before * 3 + v); {self.put()}(&{flags}[at], 1); v += before; }}')
        sight = f'{flags}[at] = 1;' if seen else ''
        self.host.append(f'for (u32 k = 0; k < T; k++) for (u32 t = 0; t < T; t++) {{ u32 at = {place}, before; if (at % T != k) continue; '
                         f'before = at ? {data}[at - 1] : 0; {data}[at] = before * 3 + v[t]; {sight} v[t] += before; }}')

    def ping_pong(self):
        """Two threads take turns, whose numbers differ by a bit."""
        bits = [d for d in (1, 2, 4, 16, 32, 64) if self.threads % (2 * d) == 0]
        d, rounds = self.rng.choice(bits), self.rng.randint(1, 4)
        (turn, seen), data = self.words(self.threads), self.cells(self.threads)
        self.device.append(f'{{ u32 low = t & ~{d}u, mine = (t & {d}) != 0, x = 0; for (u32 i = 0; i < {rounds}; i++) {{ {self.until(f"&{turn}[low]", "2 * i + mine")} __threadfence(); '
                           f'x = get(&{data}[low]) * 5 + v; set(&{data}[low], x); {self.put()}(&{turn}[low], 2 * i + mine + 1); }} v += x; }}')
        sight = f'{turn}[low] = {2 * rounds};' if seen else ''
        self.host.append(f'for (u32 low = 0; low < T; low++) if (!(low & {d})) {{ u32 x[2] = {{ 0, 0 }}; for (u32 i = 0; i < {2 * rounds}; i++) '
                         f'x[i & 1] = {data}[low] = {data}[low] * 5 + v[low + (i & 1) * {d}]; {sight} v[low] += x[0]; v[low + {d}] += x[1]; }}')

    def flag(self):
        """One thread works for a while and tells the others."""
        who = self.rng.choice((0, self.threads - 1, self.rng.randrange(self.threads)))
        (flag, seen), data = self.words(1), self.cells(1)
        tell = f'for (u32 i = 0; i < {self.rng.randint(0, 9)}; i++) v = v * 7 + 1; set({data}, v); {self.put()}(&{flag}[0], {who + 1}u);'
        hear = f'{self.until(f"&{flag}[0]", f"{who + 1}u")} __threadfence(); v ^= get({data});'
        self.device.append(self.rng.choice((f'if (t == {who}) {{ {tell} }} else {{ {hear} }}', f'if (t != {who}) {{ {hear} }} else {{ {tell} }}')))
        loops = tell.split(' set(')[0].replace(' v = v ', f' v[{who}] = v[{who}] ')
        self.host.append(f'{loops} {data}[0] = v[{who}]; for (u32 t = 0; t < T; t++) if (t != {who}) v[t] ^= v[{who}];' + (f' {flag}[0] = {who + 1};' if seen else ''))

    def together(self):
        """What the whole block or warp does."""
        form = self.rng.randrange(5)
        if form == 0:
            self.device.append('__syncthreads();')
        elif form == 1:
            self.device.append('__syncwarp();')
        elif form == 2:
            self.device.append('v += __popc(__ballot_sync(~0u, v & 1));')
            self.host.append('for (u32 w = 0; w < T; w += 32) { u32 n = 0; for (u32 l = 0; l < 32; l++) n += v[w + l] & 1; for (u32 l = 0; l < 32; l++) v[w + l] += n; }')
        elif form == 3:
            self.device.append('v += __shfl_sync(~0u, v, (t + 1) & 31);')
            self.host.append('{ u32 old[T]; memcpy(old, v, sizeof old); for (u32 t = 0; t < T; t++) v[t] += old[(t & ~31u) + ((t + 1) & 31)]; }')
        else:
            self.device.append('v += __syncthreads_count(v & 1);')
            self.host.append('{ u32 n = 0; for (u32 t = 0; t < T; t++) n += v[t] & 1; for (u32 t = 0; t < T; t++) v[t] += n; }')

    def blocks_in_turn(self):
        """A block waits for the one before it; one thread looks."""
        who, flags, data = self.rng.randrange(self.threads), self.cells(self.blocks, False), self.cells(self.blocks, False)
        self.device.append(f'if (t == {who} && b) {{ {self.until(f"&{flags}[b - 1]", "1u")} __threadfence(); }} __syncthreads(); {{ u32 x = b ? get(&{data}[b - 1]) : 7; '
                           f'if (t == {who}) {{ set(&{data}[b], x * 3 + v); {self.put()}(&{flags}[b], 1); }} v += x; }}')
        self.host.append(f'{{ u32 x = b ? {data}[b - 1] : 7; {data}[b] = x * 3 + v[{who}]; {flags}[b] = 1; for (u32 t = 0; t < T; t++) v[t] += x; }}')

    def pairs(self):
        """A warp hands its values to the next one and gets them back, by named barriers."""
        name, rounds = f's{self.shared}', self.rng.randint(1, 3)
        self.shared += 1
        self.declared.append(f'__shared__ u32 {name}[{self.threads}];')
        there, back = '1 + t / 64', '8 + t / 64'
        self.device.append(f'for (u32 i = 0; i < {rounds}; i++) if (t & 32) {{ BARRIER("sync", {there}); v += {name}[t - 32] + i; {name}[t] = v; BARRIER("{self.rng.choice(("arrive", "sync"))}", {back}); }} '
                           f'else {{ {name}[t] = v; BARRIER("{self.rng.choice(("arrive", "sync"))}", {there}); BARRIER("sync", {back}); v ^= {name}[t + 32]; }}')
        self.host.append(f'for (u32 i = 0; i < {rounds}; i++) for (u32 t = 0; t < T; t++) if (!(t & 32)) {{ v[t + 32] += v[t] + i; v[t] ^= v[t + 32]; }}')

    def leave(self):
        """Some threads end; what they had is in memory already."""
        self.left = True
        some, out = self.rng.choice(SOME), self.cells(self.threads)
        self.device.append(f'if ({some}) {{ {out}[t] = v; return; }}')
        self.all_threads(f'if ({some}) {{ {out}[t] = v[t]; here[t] = false; }}')

    def barrier(self):
        self.device.append('__syncthreads();')

    def source(self):
        out = self.cells(self.threads)
        zeroed = '\n    '.join(self.declared + self.zeroed + (['__syncthreads();'] if self.declared else []))
        device, host = '\n    '.join(self.device), '\n        '.join(self.host)
        return f'''
__global__ void {self.name}(u32 *cells)
{{
    const u32 T = {self.threads}, t = threadIdx.x, b = blockIdx.x;
    u32 v = b * 1000 + t;
    {zeroed}
    {device}
    {out}[t] = v;
    (void)T;
}}

static void {self.name}_host(u32 *cells)
{{
    enum {{ T = {self.threads} }};
    for (u32 b = 0; b < {self.blocks}; b++) {{
        u32 v[T];
        bool here[T];
        for (u32 t = 0; t < T; t++)
            v[t] = b * 1000 + t, here[t] = true;
        {host}
        for (u32 t = 0; t < T; t++)
            if (here[t])
                {out}[t] = v[t];
    }}
}}
'''


def program(seed, n_kernels=4, machine_code=False):
    rng = random.Random(seed)
    kernels = [Kernel(random.Random(rng.random()), f'kernel{k}') for k in range(n_kernels)]
    runs = ''.join(f'    right &= run("{k.name}", {k.name}, {k.name}_host, {k.blocks}, {k.threads});\n' for k in kernels)
    define = '#define MACHINE_CODE\n' if machine_code else ''
    return (f'// Random program of threads that wait, {seed}.\n{define}#include "waits.h"\n' + ''.join(k.source() for k in kernels) +
            f'\nint main(void)\n{{\n    bool right = true;\n    signal(SIGALRM, too_long);\n{runs}    puts(right ? "PASS" : "FAIL");\n    return !right;\n}}\n')
