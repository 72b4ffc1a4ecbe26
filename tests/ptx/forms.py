#!/usr/bin/env python3
# Does our table have every form of the instructions that NVIDIA's assembler takes?  Both are asked about variants of the table's rows.
# SPDX-License-Identifier: Apache-2.0
"""usage: forms.py [--sm sm_90] [--isa 9.0] [--seed N] [--rows N] TAB_DIR PTX_FRONT COMPILER [MNEMONIC]...

Needs ptxas on PATH or in /usr/local/cuda/bin.  From each row come combinations of its modifiers, and neighbours of these: with another type, with
a modifier more or less, or with another one in its place.  What ptxas takes and we do not, in form or in lowering, is printed.  That is to be
read: it takes some that the manual does not have, and those are all that should be left:

  - a scope in any bulk copy, .sync_restrict or a space in any fence, spaces other than the cluster's in st.async, and st.async and red.async of
    memory without .release, or with the barrier's form mixed into it
  - .s32 and .s64 for .u32 and .u64 in mapa and getctarank, 16 bits in addc, subc and madc
  - a cache policy as an operand without .L2::cache_hint
  - .ftz on a rcp of f64, .sat on a fma with .oob, roundings other than .rn of bf16, testp without a question, .lo and .hi in vset, a second
    type in movmatrix, a whole number for a bf16 that is added to an f32

Each form is tried with registers and with constants as operands.  Rows whose operands the table calls `x` (matrices, textures, calls) are left out: tests/matrix and tests/apps
have those."""
import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools', 'gen'))
import instr  # noqa: E402

COMMON = set('''ftz sat satfinite relu NaN abs xorsign rn rz rm rp rna rni rzi approx full cc noftz uni wide lo hi sync aligned volatile weak relaxed
                acquire release acq_rel cta gpu sys cluster global shared local const param shared::cta nc L2::cache_hint v2 v4 v8 b'''.split())
BITS = {'pred': 1, 'f16': 16, 'bf16': 16, 'tf32': 32, 'f16x2': 32, 'bf16x2': 32, 'f32x2': 64, 'u16x2': 32, 's16x2': 32, 'u8x4': 32, 's8x4': 32}
FOREIGN = re.compile(r'^(wgmma|tcgen05|tensormap|multimem)\b|\.tensor\b|\.multimem\b')
PROLOGUE = ('.reg .pred %p<9>; .reg .b16 %h<20>; .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .b128 %q<9>;\n')
CHUNK = 3000
# What ptxas does not read where it means nothing.
IGNORED = {'finite', 'infinite', 'number', 'notanumber', 'normal', 'subnormal', 'num', 'nan', 'normalized_coords', 'force_unnormalized_coords',
           'texref', 'samplerref', 'surfref'}


def bits_of(type_):
    if type_ in BITS:
        return BITS[type_]
    m = re.fullmatch(r'[busf](\d+)', type_)
    if m:
        return int(m[1])
    m = re.fullmatch(r'u?e(\d)m(\d)(?:x(\d))?', type_)
    each = {'4': 8, '5': 8, '2': 4, '3': 8, '8': 8}[m[1]] if m else 32
    return each * int(m[3] or 1) if m else 64


def register(type_, number, word='%'):
    bits = bits_of(type_)
    name = 'p' if bits == 1 else 'h' if bits <= 16 else 'r' if bits == 32 else 'd' if bits == 64 else 'q'
    return f'{word}{name}{number % 8 + 1}'


class Form:
    """A row, the word of each of its groups (or None), and words put in at a place."""

    def __init__(self, row, words, extra=None):
        self.row, self.words, self.extra = row, words, extra

    def opcode(self):
        words = list(self.words)
        if self.extra:
            words.insert(self.extra[0], self.extra[1])
        return '.'.join([self.row.mnemonic] + [w for w in words if w])

    def types(self, table):
        found, at = [], 0
        for group, word in zip(self.row.groups, self.words):
            if group.kind == 'TYPE':
                found.append(word if word in table.types else 'b32')
        if self.extra and self.extra[1] in table.types:
            found.append(self.extra[1])
        return found

    def operands(self, table, constants, optional):
        types, texts = self.types(table), []
        vec = next((instr.VECTORS[w] for w in self.words + [self.extra and self.extra[1]] if w in instr.VECTORS), 0)
        space = next((w for g, w in zip(self.row.groups, self.words) if g.kind == 'SPACE' and w), '')
        for i, (shape, group, fixed, flags, count) in enumerate(self.row.shapes):
            if '?' in flags and not optional:
                continue
            type_ = fixed or (types[group] if 0 <= group < len(types) else types[-1] if types else 'b32')
            n = int(count) or vec
            if shape == 'm':
                texts.append('[p]' if space.startswith('param') else f'[%d{i + 1}]')
            elif shape == 'l':
                texts.append('here')
            elif shape in 'pc':
                texts.append(f'%p{i + 1}')
            elif shape in 'DS' and n:
                texts.append('{' + ', '.join(register(type_, i * 2 + k) for k in range(n)) + '}')
            elif shape in 'sS' and (constants == 2 or (constants == 1 and fixed)) and bits_of(type_) > 1:
                texts.append('1.0' if re.match(r'f(32|64)$', type_) else '8')
            else:
                texts.append(register(type_, i + 1))
        return ', '.join(texts)

    def instructions(self, table, known):
        has_optional = any('?' in s[3] for s in self.row.shapes)
        fixed = any(s[0] in 'sS' and s[2] for s in self.row.shapes)
        for constants in (0, 1, 2) if known else (0, 1) if fixed else (0,):
            for optional in ((False, True) if has_optional else (False,)):
                yield f'{self.opcode()} {self.operands(table, constants, optional)};'


def combinations(row, rng, limit):
    """Every word of every group at least once, and some at random."""
    first = [None if g.optional else g.words[0] for g in row.groups]
    found = [first]
    for i, group in enumerate(row.groups):
        for word in group.words + ([None] if group.optional else []):
            base = [None if g.optional and rng.random() < .6 else rng.choice(g.words) for g in row.groups]
            base[i] = word
            found.append(base)
            found.append(first[:i] + [word] + first[i + 1:])
    while len(found) < limit:
        found.append([None if g.optional and rng.random() < .5 else rng.choice(g.words) for g in row.groups])
    return [Form(row, w) for w in found]


def words_near(row, table):
    """Modifiers that the mnemonic's rows have, and those that many instructions have."""
    own = {w for r in table.rows if r.mnemonic == row.mnemonic for g in r.groups if g.kind != 'TYPE' for w in g.words}
    return sorted((own | COMMON) - IGNORED)


def neighbours(row, table, rng):
    types, mods = [t for t in table.types if t not in IGNORED], words_near(row, table)
    first = [None if g.optional else g.words[0] for g in row.groups]
    second = [None if g.optional and rng.random() < .5 else rng.choice(g.words) for g in row.groups]
    for base in (first, second):
        for i, group in enumerate(row.groups):
            yield Form(row, base[:i] + [None] + base[i + 1:])
            for word in types if group.kind == 'TYPE' else [m for m in mods if m not in base]:
                yield Form(row, base[:i] + [word] + base[i + 1:])
        for at in range(len(base) + 1):
            for word in mods if base is first else []:
                if word not in base:  # said twice is as good as once to ptxas
                    yield Form(row, base, (at, word))
        for word in types:
            if word != 'pred':
                yield Form(row, base, (len(base), word))


def find_ptxas():
    path = shutil.which('ptxas') or '/usr/local/cuda/bin/ptxas'
    if not os.access(path, os.X_OK):
        print('no ptxas')
        sys.exit(77)
    return path


def run(command):
    return subprocess.run(command, capture_output=True, text=True, errors='replace', check=False)


def head(args):
    return f'.version {args.isa}\n.target {args.sm}\n.address_size 64\n'


def asked_of_ptxas(args, lines, folder):
    """Which of the lines ptxas takes.  An error at the end keeps it from making code; where it gives up or crashes, halves are asked."""
    if not lines:
        return set()
    path = os.path.join(folder, 'theirs.ptx')
    first = 7
    with open(path, 'w', encoding='utf-8') as f:
        f.write(head(args) + '.visible .entry k(.param .u64 p)\n{ ' + PROLOGUE + 'here:\n' + '\n'.join(lines) + '\nadd.frob %r1;\nret;\n}\n')
    done = run([args.ptxas, '-arch', args.sm, path, '-o', os.path.join(folder, 'theirs.cubin')])
    bad = {int(n) for n in re.findall(r', line (\d+); (?:error|fatal)', done.stderr)}
    if first + len(lines) in bad:
        return {line for i, line in enumerate(lines) if first + i not in bad}
    if len(lines) == 1:
        return set()
    middle = len(lines) // 2
    return asked_of_ptxas(args, lines[:middle], folder) | asked_of_ptxas(args, lines[middle:], folder)


def confirmed(args, found, folder):
    """A form that is none may hide the errors behind it: those that we do not take are asked again, in the end one by one."""
    for size in (60, 1):
        keys = list(found)
        found = {line: found[line] for at in range(0, len(keys), size) for line in asked_of_ptxas(args, keys[at:at + size], folder)}
    return found


def asked_of_us(args, lines, folder):
    """Which of the lines our front does not take, with its reason."""
    path = os.path.join(folder, 'ours.ptx')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(head(args))
        for i, line in enumerate(lines):
            f.write(f'.visible .entry f{i}(.param .u64 p) {{ {PROLOGUE.strip()} here: {line} ret; }}\n')
    done = run([args.front, 'check', path])
    why = {}
    for number, text in re.findall(r'^ours\.ptx:(\d+):\d+: error: (.*)$', done.stdout + done.stderr, re.M):
        why.setdefault(int(number) - 4, text)
    return {lines[i]: text for i, text in why.items() if 0 <= i < len(lines)}


def lowered_by_us(args, lines, folder):
    """Which of the lines our lowering does not take, with its reason."""
    path, why = os.path.join(folder, 'lower.ptx'), {}
    with open(path, 'w', encoding='utf-8') as f:
        f.write(head(args))
        for i, line in enumerate(lines):
            f.write(f'.visible .entry f{i}(.param .u64 p) {{ {PROLOGUE.strip()} here: {line} ret; }}\n')
    done = run([args.compiler, 'compile', path, '--target', args.target, '--emit=ir'])
    for number, text in re.findall(r"lower\.ptx:(\d+):\d+: error: (.*)$", done.stderr + done.stdout, re.M):
        why.setdefault(int(number) - 4, text)
    return {lines[i]: text for i, text in why.items() if 0 <= i < len(lines)}


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument('tab')
    p.add_argument('front')
    p.add_argument('compiler')
    p.add_argument('mnemonic', nargs='*')
    p.add_argument('--sm', default='sm_90')
    p.add_argument('--isa', default='9.0')
    p.add_argument('--target', default='host')
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--rows', type=int, default=40)
    args = p.parse_args()
    args.ptxas, rng = find_ptxas(), random.Random(args.seed)
    table = instr.Table(args.tab)
    lines = collections.OrderedDict()
    for row in table.rows:
        if args.mnemonic and row.mnemonic not in args.mnemonic or any(s[0] == 'x' for s in row.shapes):
            continue
        for known, forms in ((True, combinations(row, rng, args.rows)), (False, neighbours(row, table, rng))):
            for form in forms:
                for line in form.instructions(table, known):
                    if not FOREIGN.search(line):
                        lines[line] = True
    lines, taken, n_refused, n_unlowered = list(lines), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for at in range(0, len(lines), CHUNK):
            good = sorted(asked_of_ptxas(args, lines[at:at + CHUNK], folder))
            bad = asked_of_us(args, good, folder)
            failed = lowered_by_us(args, [line for line in good if line not in bad], folder)
            taken += len(good) - len(bad) - len(failed)
            bad, failed = confirmed(args, bad, folder), confirmed(args, failed, folder)
            for kind, found in (('form', bad), ('lowering', failed)):
                for line, why in sorted(found.items()):
                    print(f'{kind}: {line}  // {why}', flush=True)
            n_refused += len(bad)
            n_unlowered += len(failed)
    print(f'{len(lines)} variants, {taken + n_refused + n_unlowered} taken by ptxas for {args.sm}, {n_refused} of these not known, {n_unlowered} not lowered')
    return 0


if __name__ == '__main__':
    sys.exit(main())
