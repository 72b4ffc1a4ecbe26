#!/usr/bin/env python3
"""simgpu-run: what a launch hands to a kernel, how a run ends, what is printed, and that broken files do no harm.

usage: test_run.py SIMGPU-RUN FOLDER   (FOLDER has run-<card>.hsaco, run5-gfx1030.hsaco, run-preload-<card>.hsaco,
thunk-<card>.hsaco)
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

RUN, FOLDER = sys.argv[1:3]
CARDS = ['gfx1030', 'gfx900', 'gfx90a', 'gfx942', 'gfx1100', 'gfx1201']


def run(*args, env=None):
    return subprocess.run([RUN, *map(str, args)], capture_output=True, text=True, timeout=60, env=dict(os.environ, **(env or {})))


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def dump(self, fmt, *args, status=0, env=None):
        """Runs with buffer 0 dumped; its values, and the JSON."""
        path = os.path.join(self.folder.name, 'dump')
        r = run('--json', '--dump', '0=' + path, *args, env=env)
        self.assertEqual(r.returncode, status, r.stderr)
        with open(path, 'rb') as f:
            data = f.read()
        return list(struct.unpack('<%d%s' % (len(data) // struct.calcsize(fmt), fmt), data)), json.loads(r.stdout)

    def object(self, card, name='run'):
        return os.path.join(FOLDER, '%s-%s.hsaco' % (name, card))


class Launch(Case):
    def params(self, card, file):
        three = struct.pack('<3i', 11, -12, 13).hex()
        out, _ = self.dump('q', '--card', card, file, 'params', 'buf:72', 'i8:-3', 'i16:-300', 'i32:70000',
                           'i64:0x123456789abcdef', 'f32:1.5', 'f64:-2.25', 'bytes:' + three)
        self.assertEqual(out, [-3, -300, 70000, 0x123456789abcdef, 0x3fc00000,
                               struct.unpack('<q', struct.pack('<d', -2.25))[0], 11, -12, 13])

    def test_params(self):
        for card in CARDS:
            with self.subTest(card=card):
                self.params(card, self.object(card))

    def test_params_preloaded(self):
        for card in ('gfx90a', 'gfx942'):
            self.params(card, self.object(card, 'run-preload'))

    def test_ids(self):
        for card in CARDS:
            for block, grid in [((64, 1, 1), (3, 1, 1)), ((5, 3, 2), (2, 3, 4)), ((33, 1, 1), (2, 1, 1)), ((8, 8, 8), (1, 2, 1)),
                                ((1, 1, 1), (4, 4, 4))]:
                with self.subTest(card=card, block=block, grid=grid):
                    n = block[0] * block[1] * block[2] * grid[0] * grid[1] * grid[2]
                    out, info = self.dump('I', '--card', card, '--grid', '%d,%d,%d' % grid, '--block', '%d,%d,%d' % block,
                                          self.object(card), 'ids', 'buf:%d' % (4 * n),
                                          *('i32:%d' % v for v in block + grid[:2]))
                    want = [x | y << 5 | z << 10 | i << 15 | j << 20 | k << 25
                            for k in range(grid[2]) for j in range(grid[1]) for i in range(grid[0])
                            for z in range(block[2]) for y in range(block[1]) for x in range(block[0])]
                    self.assertEqual(out, want)
                    lanes = 32 if card.startswith('gfx1') else 64
                    waves = -(-block[0] * block[1] * block[2] // lanes)
                    self.assertEqual((info['wave'], info['waves_per_block'], info['blocks']),
                                     (lanes, waves, grid[0] * grid[1] * grid[2]))
                    self.assertEqual(info['waves'], waves * info['blocks'])

    def test_sizes(self):
        for name in ['run', 'run5']: # from the packet, and from hidden arguments
            with self.subTest(name=name):
                out, _ = self.dump('I', '--grid', '6,2,1', '--block', '16,4,2', self.object('gfx1030', name), 'sizes', 'buf:16')
                self.assertEqual(out, [16, 4, 2, 96])

    def test_dynamic_lds(self):
        for card in CARDS:   # with a barrier between several waves
            with self.subTest(card=card):
                out, info = self.dump('i', '--card', card, '--block', 256, '--lds', 1024, self.object(card), 'dynamic_lds',
                                      'buf:1024', 'i32:0')
                self.assertEqual(out, [(255 - t) * 5 for t in range(256)])
                self.assertEqual(info['lds_bytes'], 1024)

    def test_buffers(self):
        """Their initial contents, by a kernel that changes only its first words."""
        rest = ['i32:0']
        for how, want in [('iota32', list(range(8))), ('zero', [0] * 8), ('byte:a5', [0xa5a5a5a5] * 8)]:
            out, _ = self.dump('I', self.object('gfx1030', 'thunk'), 'line', 'buf:32=' + how, *rest)
            self.assertEqual(out, want)
        a, _ = self.dump('I', self.object('gfx1030', 'thunk'), 'line', 'buf:64=rand:7', *rest)
        b, _ = self.dump('I', self.object('gfx1030', 'thunk'), 'line', 'buf:64=rand:7', *rest)
        c, _ = self.dump('I', self.object('gfx1030', 'thunk'), 'line', 'buf:64=rand:8', *rest)
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)
        f, _ = self.dump('f', self.object('gfx1030', 'thunk'), 'line', 'buf:4K=frand:1', *rest)
        self.assertTrue(all(0 <= x < 1 for x in f) and len(set(f)) > 1000)
        path = os.path.join(self.folder.name, 'in')
        with open(path, 'wb') as file:
            file.write(struct.pack('<4I', 9, 8, 7, 6))
        out, _ = self.dump('I', self.object('gfx1030', 'thunk'), 'line', 'buf:20=' + path, *rest)
        self.assertEqual(out, [9, 8, 7, 6, 0])

    def test_threads(self):
        """The result and the counts do not depend on how many threads run the blocks."""
        def once(threads):
            out, info = self.dump('I', '--grid', 300, '--block', 64, self.object('gfx1030'), 'work', 'buf:76800', 'i32:100',
                                  env={'ANYWARP_SIM_THREADS': threads})
            del info['nanoseconds'], info['cpu_nanoseconds']
            return out, info
        one, four = once('1'), once('4')
        self.assertEqual(one, four)
        x = 300 * 64
        for _ in range(100):
            x = (x * 1664525 + 1013904223) & 0xffffffff
        self.assertEqual(one[0][-1], x)
        self.assertEqual(one[1]['stored'], 76800)

    def test_repeat(self):
        _, one = self.dump('I', '--block', 64, self.object('gfx1030'), 'work', 'buf:256', 'i32:10')
        _, five = self.dump('I', '--repeat', 5, '--block', 64, self.object('gfx1030'), 'work', 'buf:256', 'i32:10')
        self.assertEqual(five['instructions'], 5 * one['instructions'])
        self.assertEqual((one['launches'], five['launches']), (1, 5))

    def test_waiting_blocks(self):
        for threads in ['1', '3']:
            out, _ = self.dump('i', '--grid', 40, '--block', 32, self.object('gfx1030', 'thunk'), 'chain', 'buf:160', 'i32:40',
                               env={'ANYWARP_SIM_THREADS': threads})
            self.assertEqual(out, [40 - i for i in range(40)])


class GlobalSync(Case):
    def launch(self, blocks, waves, threads, block=32):
        return run('--json', '--grid', blocks, '--block', block, self.object('gfx1030'), 'meet_gws', 'buf:4', 'buf:%d'
                   % (4 * blocks),
                   'i32:%d' % waves, env={'ANYWARP_SIM_THREADS': threads})

    def test_passes(self):
        for threads in ['1', '2', '4']:
            for blocks in [1, 2, 100, 256]:
                with self.subTest(blocks=blocks, threads=threads):
                    r = self.launch(blocks, blocks, threads)
                    self.assertEqual((r.returncode, r.stderr), (0, ''))

    def test_stuck(self):
        """One wave too few, and a grid that does not fit the card: said, not waited for."""
        for threads in ['1', '4']:
            for blocks, waves in [(1, 2), (20, 21), (600, 600)]:
                with self.subTest(blocks=blocks, threads=threads):
                    r = self.launch(blocks, waves, threads)
                    self.assertEqual(r.returncode, 2, r.stderr)
                    self.assertEqual(json.loads(r.stdout)['end'], 'stuck')
                    self.assertIn('meet_gws', r.stderr)
                    self.assertEqual(r.stderr.count('\n'), 1)


class Ends(Case):
    def ended(self, end, *args):
        r = run('--json', *args)
        self.assertEqual(r.returncode, 2, r.stderr)
        self.assertEqual(json.loads(r.stdout)['end'], end)
        self.assertEqual(r.stderr.count('\n'), 1, r.stderr)
        return r.stderr

    def test_fault(self):
        line = self.ended('fault', '--block', 32, self.object('gfx1030', 'thunk'), 'store_at', 'i64:0x123456789000')
        for word in ['0x123456789000', 'store_at', 'gfx1030', 'lane 0', 'block 0,0,0']:
            self.assertIn(word, line)
        self.assertRegex(line, r'lane 0, \S*thunk\.cl:68 \(kernel')
        self.assertNotIn('run.cl', self.ended('fault', '--block', 32, self.object('gfx1030'), 'work', 'i64:0x123456789000',
                                              'i32:1'))

    def test_behind_a_buffer(self):
        """Four bytes too few: the last lane's store is caught, and the line says by how much."""
        line = self.ended('fault', '--block', 64, self.object('gfx1030', 'thunk'), 'line', 'buf:252', 'i32:64')
        self.assertIn('lane 31', line)
        self.assertIn('behind', line)

    def test_trap(self):
        self.assertIn('trap 2', self.ended('trap', '--block', 32, self.object('gfx1030', 'thunk'), 'trap', 'i32:3'))

    def test_usage(self):
        object = self.object('gfx1030')
        for args in [[], [object], [object, 'no_such'], ['/no/such/file', 'x'], [object, 'ids', 'i32:x'], [object, 'ids', 'what'],
                     ['--card', 'gfx1', object, 'ids'], ['--grid', '0', object, 'ids'], ['--grid', '1,2,3,4', object, 'ids'],
                     ['--block', '1025', object, 'work', 'buf:4', 'i32:1'], ['--lds', '100K', object, 'work', 'buf:4', 'i32:1'],
                     ['--nonsense', object, 'ids'], ['--dump', '5=/dev/null', '--block', '64', object, 'work', 'buf:256',
                                                     'i32:1']]:
            with self.subTest(args=args):
                r = run(*args)
                self.assertEqual(r.returncode, 1)
                self.assertTrue(r.stderr)
        self.assertEqual(run('--help').returncode, 0)


class Statistics(Case):
    def test_counts(self):
        """Of a kernel whose counts follow from its grid: one 4-byte store a lane, in 64-byte lines."""
        _, info = self.dump('i', '--grid', 10, '--block', 64, self.object('gfx1030', 'thunk'), 'line', 'buf:2560', 'i32:640')
        self.assertEqual((info['waves'], info['stored'], info['loaded']), (20, 2560, 0))
        self.assertEqual((info['executed']['VMEM_STORE'], info['lines']), (20, 40))
        self.assertEqual(info['instructions'], sum(info['executed'].values()))
        self.assertEqual(info['vector_lanes'], info['vector_slots'])
        self.assertEqual((info['wave'], info['occupancy_of']), (32, 16))
        _, half = self.dump('i', '--grid', 10, '--block', 16, self.object('gfx1030', 'thunk'), 'line', 'buf:640', 'i32:160')
        self.assertEqual(2 * half['vector_lanes'], half['vector_slots'])

    def test_time(self):
        """--time leaves out what takes time to count, and that only."""
        args = ['--grid', 10, '--block', 64, self.object('gfx1030', 'thunk'), 'line', 'buf:2560', 'i32:640']
        slow, quick = (json.loads(run(how, *args).stdout) for how in ('--json', '--time'))
        self.assertGreater(slow['lines'], 0)
        self.assertGreater(quick['cpu_nanoseconds'], 0)
        for info in slow, quick:
            del info['nanoseconds'], info['cpu_nanoseconds']
        self.assertEqual(quick, dict(slow, lines=0))

    def test_occupancy(self):
        """Limited by LDS: 48 KiB leave one block of one wave on a compute unit of two SIMDs."""
        r = run('--json', '--block', 32, '--lds', '48K', self.object('gfx1030', 'thunk'), 'line', 'buf:128', 'i32:32')
        info = json.loads(r.stdout)
        self.assertEqual((info['occupancy'], info['resident']), (1, 8))

    def test_check(self):
        """--check race: two blocks that are told the same place store different values there, or one block does."""
        for card in CARDS:
            args = ['--card', card, self.object(card), 'ids', 'buf:256', 'i32:64', 'i32:1', 'i32:1', 'i32:0', 'i32:1']
            r = run('--check', 'race', '--block', 64, *args)
            self.assertEqual((r.returncode, r.stderr), (0, 'simgpu: no races\n'))
            r = run('--check', 'race', '--block', 64, '--grid', '1,2', *args)
            self.assertEqual(r.returncode, 3, r.stderr)
            self.assertRegex(r.stderr, r'^simgpu: race 1 in kernel ids on %s: 4 bytes at 0x73\w+, byte \w+ of 0x100 allocated at '
                             r'0x730000000000\nsimgpu:   store: \w+ .* at \+\d+ of the kernel, block 0,\d,0 wave \d lane \d+\n'
                             r'simgpu:   store: .*, block 0,\d,0 wave \d lane \d+\nsimgpu: 1 race\n$' % card)
        self.assertEqual(run('--check', 'lace', '--block', 64, *args).returncode, 1)

    def test_text(self):
        r = run('--stats', '--block', 64, self.object('gfx1030', 'thunk'), 'line', 'buf:256', 'i32:64')
        self.assertTrue(r.stderr.startswith('line: 1 launches, 2 waves, '), r.stderr)


class Broken(Case):
    """Files that lie: any end is right but a crash or a hang."""

    def check(self, data, what):
        path = os.path.join(self.folder.name, 'broken')
        with open(path, 'wb') as f:
            f.write(data)
        r = run('--block', 64, path, 'work', 'buf:256', 'i32:2')
        self.assertIn(r.returncode, (0, 1, 2), what)

    def test_cut(self):
        with open(self.object('gfx1030'), 'rb') as f:
            data = f.read()
        for n in range(0, len(data), len(data) // 40):
            self.check(data[:n], 'cut at %d' % n)

    def test_changed(self):
        seed = int(os.environ.get('SEED', '1'))
        rng = random.Random(seed)
        with open(self.object('gfx1030'), 'rb') as f:
            data = f.read()
        for i in range(120):
            bad = bytearray(data)
            for _ in range(rng.choice([1, 3, 20])):
                bad[rng.randrange(min(len(bad), rng.choice([64, 600, 4096, 1 << 20])))] = rng.choice([0, 0xff,
                                                                                                      rng.randrange(256)])
            self.check(bytes(bad), 'seed %d, round %d' % (seed, i))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
