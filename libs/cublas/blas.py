#!/usr/bin/env python3
"""Makes the bodies of BLAS-like functions from blas.tab, which explains its form, and the prototypes in cublas.api; and the
legacy interface, whose functions are those of today with a handle of ours.

    blas.py GEN_DIR CUBLAS_API BLAS_TAB OUT.c"""
# SPDX-License-Identifier: Apache-2.0
import re
import sys

KINDS = {'op': 'OP', 'opT': 'OP_T', 'opC': 'OP_C', 'uplo': 'UPLO', 'diag': 'DIAG', 'side': 'SIDE', 'n': 'SIZE', 'count': 'COUNT',
         'ld': 'LD', 'inc': 'INC', 'inc1': 'INC_NOT_0', 'stride': 'STRIDE', 'batch': 'BATCH'}
SCALAR = re.compile(r'^([=+]?)([TRil])(\d*)$')
MEMORY = re.compile(r'^(in|out|io)([+-]?)(\*|@\w+)?\((.*)\)$')
READ = {'': '', '+': ' | AW_BLAS_BETA', '-': ' | AW_BLAS_SCALED'}
TYPES = {'s': ('float', 4), 'd': ('double', 8), 'c': ('cuComplex', 8), 'z': ('cuDoubleComplex', 16)}


class TableError(Exception):
    pass


def parts(text, separators):
    """Splits at separators outside parentheses."""
    out, depth, at = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == '(') - (c == ')')
        if c in separators and depth == 0:
            out.append(text[at:i])
            at = i + 1
    return [p.strip() for p in out + [text[at:]]]


class Row:
    def __init__(self, line, number):
        names, args, cpu, self.amd = [p.strip() for p in line.split(' | ')]
        self.number = number
        self.args = [a.split(':', 1) for a in parts(args, ' ')]
        self.index = {name: i for i, (name, _) in enumerate(self.args)}
        words = cpu.split()
        self.style = {'ret': 'RETURNS', 'own': 'OWN'}.get(words[0], 'SUBROUTINE')
        cpu_names = words if self.style == 'SUBROUTINE' else words[1:]
        amd_names = self.amd.split()
        self.functions = []
        for item in names.split():
            name, _, types = item.partition('/')
            for t in types:
                full = name.replace('I?', 'I' + t).replace('?', t.upper())
                k = len(self.functions)
                prefix = re.match(r'^I?([SDCZ][cz]?)(?=[a-z])', full)
                amd = amd_names[k if len(amd_names) > 1 else 0].replace('?', t)
                amd = amd.replace('%', re.match(r'^(Sc|Dz|S|D|C|Z)', full).group(1).lower() if prefix else t)
                self.functions.append((full, t, cpu_names[k if len(cpu_names) > 1 else 0].replace('?', t), amd))

    def expression(self, text):
        text = re.sub(r'\bN\((\w+)\)', lambda m: '(v[%d].i == CUBLAS_OP_N)' % self.index[m.group(1)], text)
        text = re.sub(r'\bL\((\w+)\)', lambda m: '(v[%d].i == CUBLAS_SIDE_LEFT)' % self.index[m.group(1)], text)
        return re.sub(r'(?<![\w.\[])([a-z]\w*)\b(?!\[)', lambda m: 'v[%d].i' % self.index[m.group(1)]
                      if m.group(1) in self.index else m.group(1), text)

    def describe(self):
        """C initialisers of the arguments, and statements that fill the extents of the memory among them."""
        descriptions, extents = [], []
        for name, kind in self.args:
            scalar, memory = SCALAR.match(kind), MEMORY.match(kind)
            if kind in KINDS:
                descriptions.append('{ AW_BLAS_%s, 0, 0, 0, -1 }' % KINDS[kind])
            elif memory:
                mode, read, many, shape = memory.groups()
                size, *leading = parts(shape, ';')
                size = parts(size, ',')
                role = 'AW_BLAS_POINTERS' if many == '*' else 'AW_BLAS_STRIDED' if many else 'AW_BLAS_MEMORY'
                flags = {'in': 'AW_LIB_IN', 'out': 'AW_LIB_OUT', 'io': 'AW_LIB_IN | AW_LIB_OUT'}[mode] + READ[read]
                other = self.index[many[1:]] if many and many != '*' else -1
                descriptions.append('{ %s, %s, 0, %d, %d }' % (role, flags, self.index[leading[0]] if leading else -1, other))
                rows, cols = self.expression(size[0]), self.expression(size[1]) if len(size) > 1 else None
                extents.append('{ %s, %s, %s }' % (rows, cols or '1', 'AW_BLAS_MATRIX' if cols else 'AW_BLAS_VECTOR'
                                                   if leading else 'AW_BLAS_PACKED'))
            elif scalar:
                how, t, n = scalar.groups()
                flags = {'': 'AW_LIB_IN', '=': 'AW_LIB_OUT', '+': 'AW_LIB_IN | AW_LIB_OUT'}[how]
                descriptions.append("{ AW_BLAS_SCALAR, %s, '%s', %s, %d }"
                                    % (flags, t, n or 1, self.index.get('beta', -2) if name == 'beta' else -1))
            else:
                raise TableError('kind %r' % kind)
        return descriptions, extents

    def write(self, out, table):
        descriptions, extents = self.describe()
        beta = self.index.get('beta', -1)
        batch = next((i for i, (_, k) in enumerate(self.args) if k == 'batch'), -1)
        out.write('static void shape%d(const union aw_blas_value *v, struct aw_blas_extent *ret)\n{\n' % self.number)
        out.write('    const struct aw_blas_extent e[] = { %s };\n    memcpy(ret, e, sizeof e);\n}\n' % ', '.join(extents)
                  if extents else '    (void)v, (void)ret;\n}\n')
        out.write('static const struct aw_blas_row row%d = { %d, %d, %d, AW_BLAS_%s, shape%d, {\n    %s } };\n' %
                  (self.number, len(self.args), beta, batch, self.style, self.number, ',\n    '.join(descriptions)))
        for name, t, cpu, amd in self.functions:
            f = table.get('cublas' + name)
            if not f:
                raise TableError('cublas%s is not in the table' % name)
            if len(f.args) != len(self.args) + 1:
                raise TableError('cublas%s has %d arguments, not %d' % (name, len(f.args), len(self.args) + 1))
            symbol = 'f_' + name
            own = 'aw_blas_own_%s' % cpu if self.style == 'OWN' else 'NULL'
            out.write('static struct aw_blas_function %s = { &row%d, "cublas%s", \'%s\', %s, %s, %s, 0, 0 };\n' %
                      (symbol, self.number, name, t, 'NULL' if self.style == 'OWN' else '"%s"' % cpu, own,
                       'NULL' if amd == '-' else '"%s"' % amd))
            values = []
            for a in f.args[1:]:
                values.append('{ .p = (void *)%s }' % a.name if '*' in a.type else '{ .i = %s }' % a.name)
            call = 'aw_blas_xt_call' if f.args[0].type == 'cublasXtHandle_t' else 'aw_blas_call'
            out.write('%s\n{\n    return %s(&%s, handle, (const union aw_blas_value[]){ %s });\n}\n' %
                      (f.c_proto(f.prefix + f.body), call, symbol, ', '.join(values)))


# ---- The legacy interface

OPTIONS = {'cublasOperation_t': 'aw_blas_legacy_op', 'cublasFillMode_t': 'aw_blas_legacy_uplo',
           'cublasDiagType_t': 'aw_blas_legacy_diag',
           'cublasSideMode_t': 'aw_blas_legacy_side'}


def write_legacy(f, now, out):
    """A function without handle, by the one of today: options are letters, scalars come by value, a result is returned."""
    old = {a.name: a for a in f.args}
    args, values = list(f.args), []
    wanted = now.args[1:]
    returns = f.ret != 'void'
    if returns:
        wanted = wanted[:-1]
    if len(wanted) == len(args) + 2: # trmm in place
        args += [old['B'], old['ldb']]
    if len(wanted) != len(args):
        raise TableError('%s: %d arguments, %s has %d' % (f.name, len(args), now.name, len(wanted)))
    for a, w in zip(args, wanted):
        if a.type == 'char':
            values.append('%s(%s)' % (OPTIONS[w.type], a.name))
        else:
            values.append(('&' if '*' in w.type and '*' not in a.type else '') + a.name)
    out.write(f.c_proto(f.prefix + f.body) + '\n{\n')
    if returns:
        out.write('    %s result = { 0 };\n' % f.ret if f.ret.startswith('cu') else '    %s result = 0;\n' % f.ret)
        values.append('&result')
    out.write('    aw_blas_legacy_end(%s%s(%s));\n' % (now.prefix, now.body, ', '.join(['aw_blas_legacy_handle()'] + values)))
    out.write('%s}\n' % ('    return result;\n' if returns else ''))


def main(argv):
    gen, table_path, tab, target = argv[1:]
    sys.path.insert(0, gen)
    import lib
    table = {f.name: f for f in lib.Table(table_path).functions}
    with open(tab, encoding='utf-8') as f, open(target, 'w', encoding='utf-8') as out:
        out.write('/* Generated from blas.tab and cublas.api by libs/cublas/blas.py. */\n#include "call.h"\n#include '
                  '"cublas_proto.h"\n#include "legacy.h"\n#include "xt.h"\n\n')
        for n, line in enumerate(f, 1):
            line = line.strip()
            if line and not line.startswith('#'):
                try:
                    Row(line, n).write(out, table)
                except (TableError, KeyError, ValueError) as e:
                    sys.exit('%s:%d: %s' % (tab, n, e))
        for f in table.values():
            now = table.get(f.name + '_v2')
            legacy = now and f.section == 'Legacy interface' and f.status != 'stub' and f.ret != 'cublasStatus_t'
            if legacy and not f.args[0].type.startswith('cublasHandle'):
                write_legacy(f, now, out)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
