#!/usr/bin/env python3
# Reads ptx/tab/instr.def and writes what C needs of it: mods.inc, lowerings.inc, refs.inc, forms.c.  Knows no instruction itself.
# SPDX-License-Identifier: Apache-2.0
"""usage: instr.py TAB_DIR OUT_DIR            writes OUT_DIR/{mods.inc,lowerings.inc,refs.inc,forms.c}
       instr.py TAB_DIR --markdown [FILE]  writes the coverage page"""
import os
import re
import sys

COLUMNS = ('id', 'syntax', 'operands', 'isa', 'sm', 'reference', 'lowering', 'ulp', 'section', 'traits')
SPACES = ('reg', 'const', 'global', 'local', 'param', 'shared', 'tex')
VECTORS = {'v2': 2, 'v4': 4, 'v8': 8}
TRAITS = {'convergent': 'PTX_CONVERGENT', 'branch': 'PTX_BRANCH', 'barrier': 'PTX_BARRIER', 'debug': 'PTX_DEBUG_ONLY'}
SHAPES = {'d': 'DST', 's': 'SRC', 'D': 'DSTVEC', 'S': 'SRCVEC', 'm': 'MEM', 'p': 'PRED_DST', 'c': 'PRED_SRC', 'l': 'LABEL',
          'x': 'ANY'}
MAX_TYPES = 5
MAX_SHAPES = 12


class Bad(Exception):
    pass


def c_id(spelling):
    if spelling == 'NaN':  # of min and max; setp has .nan
        return 'NAN_RESULT'
    return re.sub(r'[^A-Z0-9]', '_', spelling.upper())


class Group:
    def __init__(self, kind, optional, words):
        self.kind, self.optional, self.words = kind, optional, words


class Row:
    pass


class Table:
    def __init__(self, tab_dir):
        self.types = {}
        with open(os.path.join(tab_dir, 'type.def'), encoding='utf-8') as f:
            for m in re.finditer(r'^PTX_TYPE\((\w+), "(\w+)"', f.read(), re.M):
                self.types[m[2]] = m[1]
        self.sets, self.rows, self.mods, self.lowerings, ids = {}, [], set(), [], {}
        path = os.path.join(tab_dir, 'instr.def')
        with open(path, encoding='utf-8') as f:
            for number, line in enumerate(f, 1):
                line = line.rstrip()
                if not line or line.startswith('#'):
                    continue
                try:
                    if line.startswith('@'):
                        self.read_set(line)
                        continue
                    row = self.read_row(line)
                    if row.id in ids:
                        raise Bad(f'id {row.id} is already in line {ids[row.id]}')
                    ids[row.id] = number
                    self.rows.append(row)
                except Bad as e:
                    sys.exit(f'{path}:{number}: error: {e}')
        self.rows.sort(key=lambda r: r.mnemonic)  # stable: rows of one mnemonic keep their order, which is that of trying
        self.mods = sorted(self.mods)
        clash = {}
        for mod in self.mods:
            other = clash.setdefault(c_id(mod), mod)
            if other != mod:
                sys.exit(f'{path}: error: modifiers {mod} and {other} have one C name')
        if len(self.mods) > 255:
            sys.exit(f'{path}: error: {len(self.mods)} modifiers; struct ptx_instr has room for 255')

    def read_set(self, line):
        m = re.fullmatch(r'@(\w+)\s*=\s*(\S.*)', line)
        if not m:
            raise Bad('a set is written "@name = a b c"')
        if m[1] in self.sets:
            raise Bad(f'set @{m[1]} is defined twice')
        words = []
        for word in m[2].split():
            words += self.expand(word)
        self.sets[m[1]] = words

    def expand(self, word):
        if not word.startswith('@'):
            return [word]
        if word[1:] not in self.sets:
            raise Bad(f'set {word} is not defined above')
        return self.sets[word[1:]]

    def read_row(self, line):
        cells = re.split(r'\s{2,}', line)
        if len(cells) != len(COLUMNS):
            raise Bad(f'{len(cells)} columns, not {len(COLUMNS)} (two or more spaces between them): {cells}')
        row = Row()
        for name, cell in zip(COLUMNS, cells):
            setattr(row, name, '' if cell == '-' else cell)
        if not re.fullmatch(r'\w+', row.id):
            raise Bad(f'id "{row.id}" is no identifier')
        if not re.fullmatch(r'[a-z_]\w*', row.lowering):
            raise Bad(f'lowering "{row.lowering}" is no identifier')
        if row.lowering not in self.lowerings:
            self.lowerings.append(row.lowering)
        if row.reference and not re.fullmatch(r'\w+', row.reference):
            raise Bad(f'reference "{row.reference}" is no identifier')
        m = re.fullmatch(r'(\d+)\.(\d)', row.isa)
        if not m:
            raise Bad(f'isa "{row.isa}" is not major.minor')
        row.isa_number = 10 * int(m[1]) + int(m[2])
        if not re.fullmatch(r'\d+', row.sm):
            raise Bad(f'sm "{row.sm}" is no number')
        if not re.fullmatch(r'\d+(\.\d+)*', row.section):
            raise Bad(f'section "{row.section}"')
        if not row.ulp:
            raise Bad('ulp is missing')
        self.read_syntax(row)
        self.read_operands(row)
        traits = row.traits.split(',') if row.traits else []
        for trait in traits:
            if trait not in TRAITS:
                raise Bad(f'trait "{trait}" is not one of {", ".join(TRAITS)}')
        row.traits_c = ' | '.join(TRAITS[t] for t in traits) or '0'
        return row

    def read_syntax(self, row):
        m = re.match(r'[a-z_]\w*', row.syntax)
        if not m:
            raise Bad('syntax begins with no mnemonic')
        row.mnemonic, rest, row.groups = m[0], row.syntax[m.end():], []
        pattern = re.compile(r'\{\.(?:\{([^{}]*)\}|([^{}.]+))\}|\.(?:\{([^{}]*)\}|([^{}.]+))')
        while rest:
            m = pattern.match(rest)
            if not m:
                raise Bad(f'syntax near "{rest}"')
            rest = rest[m.end():]
            body = next(b for b in m.groups() if b is not None)
            words = []
            for word in body.split(','):
                words += self.expand(word.lstrip('.'))
            row.groups.append(self.make_group(m[0].startswith('{'), words))
        row.n_types = sum(g.kind == 'TYPE' for g in row.groups)
        if row.n_types > MAX_TYPES:
            raise Bad(f'{row.n_types} type groups, at most {MAX_TYPES}')

    def make_group(self, optional, words):
        kinds = set()
        for word in words:
            if not re.fullmatch(r'\w+(::\w+)*', word):
                raise Bad(f'modifier "{word}"')
            if word in self.types:
                kinds.add('TYPE')
            elif word.split('::')[0] in SPACES:
                kinds.add('SPACE')
                if '::' in word:
                    self.mods.add(word)
            elif word in VECTORS:
                kinds.add('VEC')
            else:
                kinds.add('MOD')
                self.mods.add(word)
        if len(kinds) != 1:
            raise Bad(f'a group mixes {" and ".join(sorted(kinds))}: {" ".join(words)}')
        return Group(kinds.pop(), optional, words)

    def read_operands(self, row):
        row.shapes = []
        for token in row.operands.split():
            m = re.fullmatch(r'([dsDSmpclx])(?:(\d)|\.(\w+?))?([w|?%-]*)(?:\*([2-8]))?', token)
            if not m:
                raise Bad(f'operand "{token}"')
            if m[2] and int(m[2]) >= row.n_types:
                raise Bad(f'operand "{token}": there are {row.n_types} type groups')
            if m[3] and m[3] not in self.types:
                raise Bad(f'operand "{token}": no type {m[3]}')
            if m[1] in 'pc' and (m[2] or m[3]):
                raise Bad(f'operand "{token}": a predicate has no other type')
            if m[5] and m[1] not in 'DS':
                raise Bad(f'operand "{token}": only vectors have a count')
            row.shapes.append((m[1], int(m[2]) if m[2] else -1, m[3], m[4], m[5] or '0'))
        if len(row.shapes) > MAX_SHAPES:
            raise Bad(f'more than {MAX_SHAPES} operands')

    def alternative(self, kind, word):
        if kind == 'TYPE':
            return 'PTX_' + self.types[word]
        if kind == 'VEC':
            return str(VECTORS[word])
        if kind == 'MOD':
            return 'PTX_MOD_' + c_id(word)
        text = 'PTX_SPACE_' + word.split('::')[0].upper()
        return text + (f' + 256 * (1 + PTX_MOD_{c_id(word)})' if '::' in word else '')

    def write_mods(self, f):
        f.write('/* Generated by tools/gen/instr.py, sorted by spelling. */\n')
        for mod in self.mods:
            f.write(f'PTX_MOD({c_id(mod)}, "{mod}")\n')

    def write_lowerings(self, f):
        f.write('/* Generated by tools/gen/instr.py, in order of first use. */\n')
        for name in self.lowerings:
            f.write(f'PTX_LOWERING({name.upper()}, {name})\n')

    def write_refs(self, f):
        kinds = {}
        for row in self.rows:
            kind = 'WARP' if 'PTX_CONVERGENT' in row.traits_c else 'LANE'
            if row.reference and kinds.setdefault(row.reference, kind) != kind:
                sys.exit(f'row {row.id}: reference {row.reference} is of one lane for some rows and of a warp for others')
        f.write('/* Generated by tools/gen/instr.py, sorted: the references in tests/oracle, of one lane or of a warp. */\n')
        for name in sorted(kinds):
            f.write(f'ORACLE_{kinds[name]}({name})\n')

    def write_forms(self, f):
        f.write('/* Generated by tools/gen/instr.py from ptx/tab/instr.def. */\n#include "tab/table.h"\n\n')
        alternatives = {}
        for row in self.rows:
            for group in row.groups:
                key = tuple(self.alternative(group.kind, w) for w in group.words)
                if key not in alternatives:
                    alternatives[key] = f'alt{len(alternatives)}'
                    f.write(f'static const uint16_t {alternatives[key]}[] = {{ {", ".join(key)} }};\n')
                group.array = alternatives[key]
        for row in self.rows:
            if row.groups:
                f.write(f'static const struct ptx_group groups_{row.id}[] = {{\n')
                for g in row.groups:
                    f.write(f'    {{ PTX_GROUP_{g.kind}, {"true" if g.optional else "false"}, {len(g.words)}, {g.array} }},\n')
                f.write('};\n')
            if row.shapes:
                f.write(f'static const struct ptx_shape shapes_{row.id}[] = {{\n')
                for letter, digit, fixed, flags, count in row.shapes:
                    c_type = 'PTX_' + self.types[fixed] if fixed else 'PTX_NONE'
                    bools = ', '.join('true' if c in flags else 'false' for c in '?|w%-')
                    f.write(f'    {{ PTX_SHAPE_{SHAPES[letter]}, {digit}, {c_type}, {bools}, {count} }},\n')
                f.write('};\n')
        f.write('\nconst struct ptx_form ptx_form_table[] = {\n')
        for row in self.rows:
            groups = f'groups_{row.id}' if row.groups else 'NULL'
            shapes = f'shapes_{row.id}' if row.shapes else 'NULL'
            f.write(f'    {{ "{row.id}", "{row.mnemonic}", "{row.syntax}", {groups}, {len(row.groups)}, {shapes}, '
                    f'{len(row.shapes)}, {row.n_types}, {row.isa_number}, {row.sm}, "{row.reference}", '
                    f'PTX_LOWER_{row.lowering.upper()}, "{row.ulp}", "{row.section}", {row.traits_c} }},\n')
        f.write(f'}};\nconst size_t ptx_form_table_n = {len(self.rows)};\n')

    def write_markdown(self, f):
        referenced = sum(row.reference not in ('', '-') for row in self.rows)
        f.write('# PTX coverage\n\nGenerated from the table by tools/gen/instr.py; do not edit.\n\n'
                f'{len(self.rows)} forms of {len({row.mnemonic for row in self.rows})} instructions, {referenced} of them '
                f'compared with a C '
                'reference by tests/oracle; the others have tests of their own. What is not here gives an error that names '
                'it.\n\n'
                '`{.a}` may be absent, `.{a,b}` is one of several, `.@set` one of these:\n\n| set | members |\n|---|---|\n')
        for name, words in self.sets.items():
            f.write(f'| `@{name}` | {" ".join(words)} |\n')
        f.write('\n| instruction | operands | PTX | sm | error bound | reference | section |\n|---|---|---|---|---|---|---|\n')
        for row in self.rows:
            bound = 'exact' if row.ulp == '0' else row.ulp
            operands = row.operands.replace('|', '\\|')
            reference = row.reference or '-'
            f.write(f'| `{row.syntax}` | `{operands}` | {row.isa} | {row.sm} | {bound} | {reference} | {row.section} |\n')


def main(argv):
    if len(argv) < 3:
        sys.exit(__doc__)
    table = Table(argv[1])
    if argv[2] == '--markdown':
        if len(argv) > 3:
            with open(argv[3], 'w', encoding='utf-8') as f:
                table.write_markdown(f)
        else:
            table.write_markdown(sys.stdout)
        return
    for name, write in (('mods.inc', table.write_mods), ('lowerings.inc', table.write_lowerings),
                        ('refs.inc', table.write_refs), ('forms.c', table.write_forms)):
        with open(os.path.join(argv[2], name), 'w', encoding='utf-8') as f:
            write(f)


if __name__ == '__main__':
    main(sys.argv)
