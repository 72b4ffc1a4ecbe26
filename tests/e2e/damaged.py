#!/usr/bin/env python3
"""Damaged programs, compiled and run: texts of PTX with words, lines or bytes changed, and fat binaries of them, by seed. 
Whatever the kernels then do, the process lives, and ends in time; the compiler does not crash either.

    damaged.py LIBDIR [--count N] [--seed N] [--seconds S] [--device NAME] [--keep FOLDER]"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import glob
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'bench'))
import registration  # noqa: E402

WORD = re.compile(r'[%$.\w]+')
NUMBERS = ('0', '1', '-1', '7', '31', '32', '33', '255', '4096', '65535', '65536', '2147483647', '-2147483648', '4294967295',
           '9223372036854775807')
GROUP = 20  # files a process


def kind(word):
    """What may take a word's place and still parse: registers of a letter, labels, numbers, opcodes."""
    return re.sub(r'\d+', '', word) if word[0] in '%$' else '0' if word[0].isdigit() else word[0]


def damage_words(rng, text):
    words = list(WORD.finditer(text, text.find('{')))
    at = rng.choice(words)
    if at[0][0].isdigit() and rng.random() < 0.5:
        new = rng.choice(NUMBERS)
    else:
        new = rng.choice([w for w in words if kind(w[0]) == kind(at[0])])[0]
    return text[:at.start()] + new + text[at.end():]


def damage_lines(rng, text):
    lines = text.split('\n')
    begin = next((i for i, line in enumerate(lines) if '{' in line), 0)
    a, b = rng.randrange(begin, len(lines)), rng.randrange(begin, len(lines))
    how = rng.randrange(3)
    if how == 0:
        del lines[a]
    elif how == 1:
        lines.insert(a, lines[b])
    else:
        lines[a], lines[b] = lines[b], lines[a]
    return '\n'.join(lines)


def damage_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] = rng.randrange(1, 256)
    return bytes(data)


def make(rng, seeds):
    text = rng.choice(seeds)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        text = damage_words(rng, text) if rng.random() < 0.75 else damage_lines(rng, text)
    data, how = text.encode(), rng.random()
    if how < 0.08:
        return damage_bytes(rng, data)
    if how < 0.16:
        return registration.container(data + b'\0')
    if how < 0.24:
        return damage_bytes(rng, registration.container(data + b'\0'))
    return data


def main():
    p = argparse.ArgumentParser(description='Damaged programs, compiled and run.')
    p.add_argument('libdir')
    p.add_argument('--count', type=int, default=2000)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--seconds', type=float, default=1.0, help="a kernel's time")
    p.add_argument('--device', default='host')
    p.add_argument('--keep', help='put what did harm here')
    args = p.parse_args()
    lib, rng = os.path.abspath(args.libdir), random.Random(args.seed)
    seeds = []
    for path in sorted(glob.glob(os.path.join(HERE, '..', 'ptx', 'lower', '*.ptx'))):
        with open(path, encoding='utf-8') as f:
            text = f.read()
        if '.entry' in text and 'errors' not in path and len(text) < 40000:
            seeds.append(text)
    outcomes, harm = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as tmp:
        program = os.path.join(tmp, 'damaged')
        subprocess.run(['cc', '-O1', '-o', program, os.path.join(HERE, 'damaged.c'), os.path.join(lib, 'libcuda.so.1'),
                        '-Wl,-rpath-link,' + lib], check=True)
        env = dict(os.environ, LD_LIBRARY_PATH=lib, ANYWARP_CACHE_DIR=os.path.join(tmp, 'cache'), ANYWARP_DEVICE=args.device)
        for begin in range(0, args.count, GROUP):
            files = {}
            for i in range(begin, min(begin + GROUP, args.count)):
                path = os.path.join(tmp, str(i))
                files[path] = make(rng, seeds)
                with open(path, 'wb') as f:
                    f.write(files[path])
            done = subprocess.run([program, str(args.seconds), *files], env=env, capture_output=True, text=True, errors='replace',
                                  check=False)
            for line in done.stdout.splitlines():
                path, what = line.split(' ', 1)
                outcomes[what.split()[0]] += 1
                if what.split()[0] in ('DIED', 'HUNG', 'STARTED'):
                    harm += 1
                    print(f'seed {args.seed}, {os.path.basename(path)}: {what}', flush=True)
                    if args.keep:
                        with open(os.path.join(args.keep, f'{args.seed}-{os.path.basename(path)}'), 'wb') as f:
                            f.write(files[path])
            said = re.findall(r'.*(?:compiler.*signal|Sanitizer|runtime error).*', done.stderr)
            harm += len(said) + (len(done.stdout.splitlines()) != len(files))
            if said:
                print(f'seed {args.seed}, {begin} to {begin + GROUP - 1}:', *said, sep='\n', flush=True)
                if args.keep:
                    for path, data in files.items():
                        with open(os.path.join(args.keep, f'{args.seed}-{os.path.basename(path)}'), 'wb') as f:
                            f.write(data)
            for path in files:
                os.unlink(path)
    print(f'damaged: seed {args.seed}: {sum(outcomes.values())} programs:',
          ', '.join(f'{n} {what}' for what, n in outcomes.most_common()) + f'; {harm} did harm')
    return 1 if harm or sum(outcomes.values()) != args.count else 0


if __name__ == '__main__':
    sys.exit(main())
