#!/usr/bin/env python3
# Reads ptx/tab/sass.def and writes what C needs of it: sass.inc (names) and sass_forms.c (tables).  Knows no instruction itself.
# SPDX-License-Identifier: Apache-2.0
"""usage: sass.py SASS_DEF OUT_DIR            writes OUT_DIR/{sass.inc,sass_forms.c}
       sass.py SASS_DEF --markdown [FILE]  writes the coverage page"""
import os
import re
import sys

COLUMNS = ('op', 'key', 'arch', 'operands', 'modifiers', 'meaning')
# The short names of operands: slot, kind, bits, bit that negates, bit that takes the absolute value, bits of the half.
NAMES = {
    'd': ('D', 'REG', '16:8', 0, 0, 0), 'ud': ('D', 'UREG', '16:8', 0, 0, 0),
    'a': ('A', 'REG', '24:8', 72, 73, 74), 'ua': ('A', 'UREG', '24:8', 72, 73, 0),
    'b': ('B', 'REG', '32:8', 63, 62, 60), 'c': ('C', 'REG', '64:8', 75, 74, 81),
    'ub': ('B', 'UREG', '32:8', 63, 62, 0), 'uc': ('C', 'UREG', '64:8', 75, 74, 0),
    'p': ('P', 'PRED', '81:3', 0, 0, 0), 'q': ('Q', 'PRED', '84:3', 0, 0, 0),
    'up': ('P', 'UPRED', '81:3', 0, 0, 0), 'uq': ('Q', 'UPRED', '84:3', 0, 0, 0),
    's': ('S', 'PRED', '87:3', 90, 0, 0), 't': ('T', 'PRED', '77:3', 80, 0, 0), 'u': ('U', 'PRED', '68:3', 71, 0, 0),
    'us': ('S', 'UPRED', '87:3', 90, 0, 0), 'ut': ('T', 'UPRED', '77:3', 80, 0, 0), 'uu': ('U', 'UPRED', '68:3', 71, 0, 0),
    'R': ('A', 'REG', '32:8', 0, 0, 0), 'UR': ('A', 'UREG', '24:6', 30, 0, 0),
    'm': ('M', 'MEM', '24:8', 0, 0, 0), 'm2': ('M2', 'MEM', '16:8', 0, 0, 0),
    'r': ('A', 'SREG', '72:8', 0, 0, 0), 'j': ('J', 'TARGET', '34:48', 0, 0, 0),
    'k': ('K', 'BARRIER', '16:4', 0, 0, 0), 'k2': ('K2', 'BARRIER', '24:8', 0, 0, 0),
    'sb': ('K', 'SCOREBOARD', '44:3', 0, 0, 0), 'i': ('B', 'IMM', '32:32', 0, 0, 0), 'l': ('L', 'IMM', '32:32', 0, 0, 0),
    'l2': ('L2', 'IMM', '32:32', 0, 0, 0), 'ci': ('A', 'CONST', '38:16', 0, 0, 0), 'cn': ('A', 'CONST', '38:16', 0, 0, 0),
    'cu': ('A', 'CONST', '38:16', 0, 0, 0), 'h': ('H', 'CONST', '40:14', 0, 0, 0), 'd2': ('D2', 'REG', '64:8', 0, 0, 0),
}
SIGNED = 1       # flags of struct sass_operand_desc
INVERT = 2       # the negating bit inverts
INVERT_X = 4     # it inverts where .X is set
HIDE = 8         # not printed when it is the default
ONLY_X = 16      # only printed with .X
ONLY_EX = 32
HIGH = 64        # an immediate is the high half of a double
FP16 = 128       # has halves
INDEX_REG = 256  # of constants: register in 24 to 31
INDEX_UREG = 512
DESC = 1024      # of memory: the uniform register may be a descriptor, which is no part of the address
HANDLE = 2048    # of constants: found through a uniform register
FLOAT = 4096     # an immediate is a float
FAR = 8192       # of memory: the offset is 32 to 63


class Bad(Exception):
    pass


def c_id(spelling):
    return re.sub(r'[^A-Z0-9]', '_', spelling.upper())


def bits(text):
    """"72&75:2" -> [(72, 1), (75, 2)], at most two runs."""
    runs = []
    for run in text.split('&'):
        m = re.fullmatch(r'(\d+)(?::(\d+))?', run)
        if not m or int(m[1]) + int(m[2] or 1) > 128:
            raise Bad(f'bits "{text}"')
        runs.append((int(m[1]), int(m[2] or 1)))
    if len(runs) > 2:
        raise Bad(f'bits "{text}" are more than two runs')
    return runs


def at_bits(text, usual):
    """Bits that are as many as usual where only a place is said."""
    if not text:
        return bits(usual)
    return bits(text) if ':' in text or '&' in text else bits(f'{text}:{usual.split(":")[1]}')


class Operand:
    def __init__(self, slot, kind, runs, neg=0, absolute=0, half=0, flags=0, regs='1', uruns=(0, 0), wide=0, desc=0, text=''):
        self.slot, self.kind, self.runs, self.neg, self.abs, self.half = slot, kind, runs, neg, absolute, half
        self.flags, self.regs, self.uruns, self.wide, self.desc, self.text = flags, regs, uruns, wide, desc, text

    def fields(self, op):
        """(bit, number of bits) that it is made of, those included that come with its kind."""
        if self.kind != 'CONST':
            yield from self.runs
        yield from ((at, n) for at, n in ((self.neg, 1), (self.abs, 1), (self.half, 2)) if at)
        if self.kind == 'MEM':
            yield (32, 32) if self.flags & FAR or op == 'LDGSTS' else (40, 24)
            yield from (run for run in (self.uruns, (self.wide, 1), (self.desc, 1)) if run[0] and run[1])
        if self.kind == 'CONST':
            yield (54, 5)
            yield (40, 14) if self.slot == 'H' else (38, 16)
            yield from (run for flag, run in ((INDEX_REG, (24, 8)), (INDEX_UREG, (24, 6)), (HANDLE, (32, 6)))
                        if self.flags & flag)


class Modifier:
    """A field with the names of its values, or a flag (values None), or fixed text (runs empty)."""
    def __init__(self, field, runs, values, text=''):
        self.field, self.runs, self.values, self.text = field, runs, values, text


class Form:
    """A row in one of its forms."""
    def fields(self):
        """(bit, number of bits) of all that the row says something of."""
        yield from ((0, 16), (91, 1), (105, 21))  # opcode, guard, form; scheduling
        yield from ((at, n) for at, n, _ in self.conds)
        yield from ((at, n) for at, n, v in self.always if v is None)
        for m in self.modifiers:
            yield from m.runs
        for o in self.operands:
            if not o.text:
                yield from o.fields(self.op)

    def rest(self):
        mask = 0
        for at, n in self.fields():
            mask |= ((1 << n) - 1) << at
        return ~mask & (1 << 128) - 1

    def usual(self):
        value = 0
        for at, _, v in self.always:
            value |= (v or 0) << at
        return value & self.rest()


class Table:
    def __init__(self, path):
        self.sets, self.sregs, self.ops, self.fields, self.forms, self.rows = {}, {}, {}, {}, [], []
        with open(path, encoding='utf-8') as f:
            for number, line in enumerate(f, 1):
                line = line.rstrip()
                if not line or line.startswith('#'):
                    continue
                try:
                    self.read_line(line)
                except Bad as e:
                    sys.exit(f'{path}:{number}: error: {e}')
        if len(self.ops) > 65535 or len(self.fields) > 255:
            sys.exit(f'{path}: error: too many operations or modifiers')

    def read_line(self, line):
        m = re.fullmatch(r'@(\w+)\s*=\s*(\S.*)', line)
        if m:
            self.sets[m[1]] = m[2].split()
            return
        m = re.fullmatch(r'\$(0x[0-9a-f]+)\s+(\S+)', line)
        if m:
            self.sregs[int(m[1], 16)] = m[2]
            return
        cells = [*line.split(None, 1)[:1], *re.split(r'\s{2,}', line.split(None, 1)[-1])]
        if len(cells) != len(COLUMNS):
            raise Bad(f'{len(cells)} columns, not {len(COLUMNS)} (two or more spaces between them): {cells}')
        row = dict(zip(COLUMNS, ('' if c == '-' else c for c in cells)))
        if not re.fullmatch(r'[A-Z]\w*', row['op']):
            raise Bad(f'mnemonic "{row["op"]}"')
        self.rows.append(row)
        self.ops.setdefault(row['op'], row['meaning'])
        m = re.fullmatch(r'(\d\d)-(\d\d)?', row['arch'])
        if not m:
            raise Bad(f'architectures "{row["arch"]}"')
        first, last = int(m[1]), int(m[2] or 255)
        tokens = row['modifiers'].split()
        if any('/' in t for t in tokens):
            for low, high, part in ((first, min(last, 75), '75/'), (max(first, 80), last, '80/')):
                if low <= high:
                    self.add_forms(row, low, high, [t.removeprefix(part) for t in tokens if '/' not in t or t.startswith(part)])
        else:
            self.add_forms(row, first, last, tokens)

    def add_forms(self, row, first, last, tokens):
        key, *conds = row['key'].split(',')
        m = re.fullmatch(r'([0-9a-f]{3})(?::([0-7]+))?(u?)', key)
        if not m:
            raise Bad(f'key "{key}"')
        fixed = []
        for cond in conds:
            c = re.fullmatch(r'(\d+(?::\d+)?)=(\d+)', cond)
            if not c:
                raise Bad(f'condition "{cond}"')
            fixed.append((*bits(c[1])[0], int(c[2])))
        base = int(m[1], 16)
        if m[2] and base >= 512:
            raise Bad(f'key "{key}" has forms, so that {m[1]} must be below 200')
        always = [self.read_always(t) for t in tokens if t[0].isdigit()]
        modifiers = [self.read_modifier(t) for t in tokens if not t[0].isdigit()]
        for digit in m[2] or ' ':
            for upper in self.uppers(digit, bool(m[3])):
                form = Form()
                form.row, form.first, form.last, form.conds, form.modifiers = row, first, last, fixed, modifiers
                form.always = always
                form.number = base if digit == ' ' else base | int(digit) << 9
                form.number |= upper << 12
                form.op = row['op']
                form.operands = [self.read_operand(t, digit, bool(m[3]), upper) for t in row['operands'].split()]
                slots = [o.slot for o in form.operands if o.slot]
                if len(set(slots)) != len(slots):
                    raise Bad(f'two operands have one place: {slots}')
                self.forms.append(form)

    @staticmethod
    def uppers(digit, uniform):
        """Values of bit 91 with this form."""
        if uniform or digit in '67' and digit != ' ':
            return (1,)
        return (0, 1) if digit in '35' and digit != ' ' else (0,)

    @staticmethod
    def read_always(token):
        m = re.fullmatch(r'(\d+(?::\d+)?)=(\d+|any)', token)
        if not m:
            raise Bad(f'bits "{token}"')
        (at, n), value = bits(m[1])[0], None if m[2] == 'any' else int(m[2])
        if value is not None and value >= 1 << n:
            raise Bad(f'"{token}" is more than its bits hold')
        return at, n, value

    def read_modifier(self, token):
        if token.startswith('.'):
            return Modifier('', [], None, token)
        m = re.fullmatch(r'(\w+)@([\d:&]+)(?:=(\w+|\{.*\}))?', token)
        if not m:
            raise Bad(f'modifier "{token}"')
        runs = bits(m[2])
        values = None
        if m[3]:
            values = m[3][1:-1].split(',') if m[3].startswith('{') else self.sets.get(m[3])
            if values is None:
                raise Bad(f'set "{m[3]}" is not defined above')
            if len(values) > 1 << sum(n for _, n in runs):
                raise Bad(f'"{token}" has more values than its bits')
            values = values + ['?'] * ((1 << sum(n for _, n in runs)) - len(values))
        elif sum(n for _, n in runs) != 1 or not m[1].isupper():
            raise Bad(f'"{token}": a flag is one bit and written in capitals')
        names = self.fields.setdefault(m[1].upper(), [])
        for v in values or ():
            v = v.lstrip('~')
            if v != '?' and v not in names:
                names.append(v)
        return Modifier(m[1].upper(), runs, values)

    def read_operand(self, token, digit, uniform, upper):
        if token.startswith('lit:'):
            return Operand('', 'NONE', [(0, 0)], text=token[4:])
        m = re.fullmatch(r'(?:(\w+)=)?(\w+?)(?:@([\d:&]+))?(/\w*)?([-|~^*]*)(\d\d)?(\?(?:\.X|\.EX)?)?(?:!(\w+))?(>?)', token)
        if not m:
            raise Bad(f'operand "{token}"')
        slot, name, at, memory, marks, halves, hide, regs, high = m.groups()
        signed = name == 'si'
        name = 'i' if signed else name
        if name == 'x' and digit != ' ':
            o = self.flexible('B' if digit in '1456' else 'B', 'x', digit, uniform, upper)
        elif name in ('b', 'c') and digit != ' ':
            o = self.flexible(name.upper(), name, digit, uniform, upper)
        elif name in NAMES:
            o = Operand(NAMES[name][0], NAMES[name][1], at_bits(at, NAMES[name][2]), *NAMES[name][3:])
        else:
            raise Bad(f'operand "{token}" has no known name')
        if slot:
            o.slot = slot.upper()
        o.flags |= (SIGNED if signed or o.kind == 'TARGET' else 0) | (INVERT_X if '^' in marks else 0)
        o.flags |= (INVERT if '~' in marks else 0) | (HIGH if high else 0) | (FP16 if '*' in marks else 0)
        o.flags |= {None: 0, '?': HIDE, '?.X': ONLY_X, '?.EX': ONLY_EX}[hide]
        if o.kind in ('PRED', 'UPRED'):
            o.flags |= INVERT
        elif not set('-~^') & set(marks) or o.kind == 'IMM':
            o.neg = 0
        if '|' not in marks or o.kind == 'IMM':
            o.abs = 0
        if '*' in marks and name in ('b', 'c') and o.kind == 'REG' and o.runs[0][0] == 64: # 74 and 75 are halves of a
            o.neg, o.abs = (84 if o.neg else 0), (83 if o.abs else 0)
        if '*' not in marks or o.kind == 'IMM':
            o.half = 0
        elif halves:
            o.half = int(halves)
        o.flags |= FLOAT if '|' in marks else 0
        o.regs = regs or '1'
        if o.kind == 'MEM':
            self.read_memory(o, memory)
        if name in ('ci', 'cu', 'cn'):
            o.flags |= {'ci': INDEX_REG, 'cu': INDEX_UREG, 'cn': 0}[name]
        return o

    @staticmethod
    def flexible(slot, name, digit, uniform, upper):
        """What the 32 bits from 32 on are, or which register stands for the other operand."""
        there = name == 'x' or (name == 'b') == (digit in '1456')
        if not there:
            at = '64:8' if digit in '237' or name == 'c' else '32:8'
            return Operand(slot, 'UREG' if uniform else 'REG', bits(at), 75, 74, 81 if name == 'c' or digit in '237' else 60)
        if digit in '24':
            return Operand(slot, 'IMM', bits('32:32'))
        if digit in '35':
            return Operand(slot, 'CONST', bits('38:16'), 63, 62, 60, HANDLE if upper else 0)
        return Operand(slot, 'UREG' if uniform or digit in '67' else 'REG', bits('32:8'), 63, 62, 60)

    @staticmethod
    def read_memory(o, memory):
        """m: the base is as wide as .E says.  "/w": an offset of 32 bits.  Others: with a uniform register, each with its place,
        with the bit that says that the base has 64 bits, and with the one that says that the uniform register is a descriptor."""
        if memory is None:
            return
        if memory == '/w':
            o.flags |= FAR
            return
        places = {'/': ((32, 8), 90, 76), '/64': ((64, 8), 90, 76), '/a64': ((64, 6), 70, 71), '/r64': ((64, 6), 90, 71),
                  '/s64': ((64, 8), 0, 0), '/s': ((32, 8), 0, 0), '/t64': ((64, 6), 0, 0), '/g': ((64, 6), 70, 76)}
        if memory not in places:
            raise Bad(f'memory "{memory}"')
        o.uruns, o.wide, o.desc = places[memory]

    # ---- Output

    def write_names(self, out):
        out.write('/* Made from ptx/tab/sass.def by tools/gen/sass.py. */\n\nenum sass_op {\n    SASS_NO_OP,\n')
        for op in self.ops:
            out.write(f'    SASS_{op},\n')
        out.write('    SASS_OPS\n};\n\nenum sass_field {\n    SASS_F_NONE,\n')
        for field in self.fields:
            out.write(f'    SASS_F_{field},\n')
        out.write('    SASS_FIELDS\n};\n')
        for field, values in self.fields.items():
            if values:
                out.write(f'\nenum sass_{field.lower()} {{\n')
                for i, v in enumerate(values, 1):
                    out.write(f'    SASS_{field}_{c_id(v)} = {i},\n')
                out.write('};\n')
        out.write('\nenum sass_sreg {\n')
        for number, name in sorted(self.sregs.items()):
            out.write(f'    SASS_{c_id(name)} = {number:#x},\n')
        out.write('};\n')

    def regs_rule(self, regs):
        """A number, or 128 + the field that says it."""
        if regs.isdigit():
            return regs
        if regs.upper() not in self.fields:
            raise SystemExit(f'sass.def: error: "!{regs}" is no modifier')
        return f'SASS_REGS_OF + SASS_F_{regs.upper()}'

    def write_operands(self, out, number, form):
        rows = []
        for o in form.operands:
            runs = list(o.runs) + [(0, 0)] * (2 - len(o.runs))
            if o.text:
                rows.append(f'{{ .text = "{o.text}" }}')
                continue
            rows.append(f'{{ SASS_{o.slot}, SASS_{o.kind}, {{ {runs[0][0]}, {runs[1][0]} }}, {{ {runs[0][1]}, {runs[1][1]} }}, '
                        f'{o.neg}, {o.abs}, {o.half}, {self.regs_rule(o.regs)}, {o.uruns[0]}, {o.uruns[1]}, '
                        f'{o.wide}, {o.desc}, {o.flags}, NULL }}')
        if rows:
            out.write(f'static const struct sass_operand_desc operands_{number}[] = {{\n    ' + ',\n    '.join(rows) + '\n};\n')

    def value_map(self, m):
        """Bits to values of the enum; 128 is added to what is not printed, 0 is no value."""
        names = self.fields[m.field]
        return ', '.join('0' if v == '?' else str(names.index(v.lstrip('~')) + 1 + (128 if v.startswith('~') else 0))
                         for v in m.values)

    @staticmethod
    def usual_value(m, names):
        """The value of the enum when nothing is meant, which one of the field's is marked as; of a flag 0; 255: there is none."""
        marked = [v for v in m.values or () if v.startswith('~')]
        return 0 if not m.values else names.index(marked[0][1:]) + 1 if len(marked) == 1 else 255

    @staticmethod
    def registers_of(value):
        """How many registers a size, type or number takes: what its name says of bits."""
        if any(part in value for part in ('128', '32x4', '16x8')) or value == '4':
            return 4
        return 2 if any(part in value for part in ('64', '32x2', '16x4')) or value == '2' else 1

    def write_modifiers(self, out, number, form):
        rows = []
        for i, m in enumerate(form.modifiers):
            if not m.runs:
                rows.append(f'{{ .text = "{m.text}" }}')
                continue
            runs = list(m.runs) + [(0, 0)] * (2 - len(m.runs))
            values = 'NULL'
            if m.values:
                values = f'values_{number}_{i}'
                out.write(f'static const uint8_t {values}[] = {{ {self.value_map(m)} }};\n')
            rows.append(f'{{ SASS_F_{m.field}, {{ {runs[0][0]}, {runs[1][0]} }}, {{ {runs[0][1]}, {runs[1][1]} }}, '
                        f'{values}, {self.usual_value(m, self.fields[m.field])}, NULL }}')
        if rows:
            out.write(f'static const struct sass_modifier_desc modifiers_{number}[] = {{\n    ' + ',\n    '.join(rows) + '\n};\n')

    def bits_of_fields(self, form):
        numbers = {field: number for number, field in enumerate(self.fields, 1)}
        fields = sum(1 << n for n in {numbers[m.field] for m in form.modifiers if m.runs})
        return ', '.join(f'{fields >> 64 * k & (1 << 64) - 1:#x}' for k in range((len(self.fields) + 64) // 64))

    @staticmethod
    def bits_of_slots(form):
        return ' | '.join(f'1u << SASS_{o.slot}' for o in form.operands if not o.text) or '0'

    def write_tables(self, out):
        out.write('/* Made from ptx/tab/sass.def by tools/gen/sass.py. */\n#include "sass/form.h"\n\n')
        self.forms.sort(key=lambda f: (f.number, not f.conds))  # stable; rows with conditions are tried first
        shared = {}
        for i, form in enumerate(self.forms):
            self.write_operands(out, i, form)
            key = (id(form.modifiers))
            form.mods_of = shared.setdefault(key, i)
            if form.mods_of == i:
                self.write_modifiers(out, i, form)
        out.write('\nconst struct sass_form sass_forms[] = {\n')
        for i, form in enumerate(self.forms):
            conds = ', '.join(f'{{ {at}, {n}, {value} }}' for at, n, value in form.conds)
            operands = f'operands_{i}' if form.operands else 'NULL'
            modifiers = f'modifiers_{form.mods_of}' if form.modifiers else 'NULL'
            rest, usual = form.rest(), form.usual()
            words = ', '.join(f'{{ {v & (1 << 64) - 1:#x}, {v >> 64:#x} }}' for v in (rest, usual))
            has = f'{{ {{ {self.bits_of_fields(form)} }}, {self.bits_of_slots(form)} }}'
            out.write(f'    {{ {form.number:#x}, SASS_{form.op}, {form.first}, {form.last}, {len(form.operands)}, '
                      f'{len(form.modifiers)}, {len(form.conds)}, {{ {conds or "{ 0 }"} }}, {operands}, {modifiers}, {has}, '
                      f'{words} }},\n')
        out.write(f'}};\nconst unsigned sass_forms_n = {len(self.forms)};\n\n')
        first = {form.number: i for i, form in reversed(list(enumerate(self.forms)))}
        out.write('const uint16_t sass_first_forms[SASS_KEYS] = {\n')
        for number, i in sorted(first.items()):
            out.write(f'    [{number:#x}] = {i + 1},\n')
        out.write('};\n\n')
        out.write('const char *const sass_op_names[] = {\n    "?",\n')
        for op in self.ops:
            out.write(f'    "{op.replace("_", ".")}",\n')
        out.write('};\n\nconst char *const sass_op_meanings[] = {\n    "",\n')
        for meaning in self.ops.values():
            out.write('    "' + meaning.replace('\\', '\\\\').replace('"', '\\"') + '",\n')
        out.write('};\n\nstatic const char *const no_values[] = { "" };\n')
        for field, values in self.fields.items():
            if values:
                out.write(f'static const char *const names_{field}[] = {{ "", ' + ', '.join(f'"{v}"' for v in values) + ' };\n')
        out.write('const char *const sass_field_names[] = {\n    "",\n' + ''.join(f'    "{f}",\n' for f in self.fields) + '};\n')
        out.write('const char *const *const sass_value_names[] = {\n    no_values,\n')
        out.write(''.join(f'    {"names_" + f if v else "NULL"},\n' for f, v in self.fields.items()) + '};\n')
        out.write('\nconst uint8_t *const sass_value_regs[] = {\n    NULL,\n')
        for values in self.fields.values():
            regs = [1, *map(self.registers_of, values)] if values else [1, 2]
            out.write('    (const uint8_t[]){ ' + ', '.join(map(str, regs)) + ' },\n')
        out.write('};\n\nconst char *const sass_sreg_names[256] = {\n')
        out.write(''.join(f'    [{n}] = "{name}",\n' for n, name in sorted(self.sregs.items())) + '};\n')

    def write_markdown(self, out):
        out.write('# Instructions of NVIDIA\'s machine code\n\nMade from ptx/tab/sass.def.  '
                  f'{len(self.ops)} operations, {len(self.rows)} rows, {len({f.number for f in self.forms})} keys.\n\n'
                  '| operation | keys | architectures | modifiers | meaning |\n|---|---|---|---|---|\n')
        for row in self.rows:
            mods = ' '.join(re.sub(r'@.*', '', t) for t in row['modifiers'].split() if not t[0].isdigit())
            cells = [row['op'].replace('_', '.'), row['key'], row['arch'], mods, row['meaning']]
            out.write('| ' + ' | '.join(c.replace('|', '\\|') for c in cells) + ' |\n')


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    table = Table(sys.argv[1])
    if sys.argv[2] == '--markdown':
        with open(sys.argv[3], 'w', encoding='utf-8') if len(sys.argv) > 3 else sys.stdout as out:
            table.write_markdown(out)
        return
    for name, write in (('sass.inc', table.write_names), ('sass_forms.c', table.write_tables)):
        with open(os.path.join(sys.argv[2], name), 'w', encoding='utf-8') as out:
            write(out)


if __name__ == '__main__':
    main()
