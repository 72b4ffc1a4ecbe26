#!/usr/bin/env python3
"""Reads libs/*/*.api, the tables of CUDA's libraries, and writes what the build derives from them: prototypes of the bodies,
dispatch tables with stubs and call tracing, the exporting libraries' trampolines and version scripts, and the coverage pages.

    lib.py libraries TABLE                        prints SONAME lines: MAJOR FILE
    lib.py proto     TABLE OUT.h                  prototypes of the bodies
    lib.py dispatch  TABLE OUT.c                  stubs, wrappers, tables
    lib.py thin      TABLE MAJOR OUT.S            trampolines
    lib.py map       TABLE MAJOR OUT.map          version script
    lib.py exports   TABLE MAJOR                  prints the exported names with their version node, for tests
    lib.py private   OUT.map TABLE...             version script of libanywarp-ROOM.so.0, which holds the bodies
    lib.py coverage  TABLE OUT.md
    lib.py shares    DIR PAGE.md [--check]        writes what is there of each library into the page, between its marks; or says
                                                  whether it is as written
    lib.py tables    DIR                          prints the tables in the rooms of DIR, one a line
    lib.py names     OUT.inc TABLE...             AW_LIBRARY("SONAME") for each library
    lib.py header    TABLE MAJOR OUT.h            prototypes of what it exports, for tests
    lib.py share     TABLE                        prints the counts: full, partial, stub

A table is named for its library (cublas.api).  A line is one function and prototype:

    RESULT NAME(ARGUMENTS) | VERSIONS [wide[@MAJOR]] [body=NAME] | STATUS

RESULT, ARGUMENTS and STATUS are those of src/abi/cuda.api, and so are lines with !handle, !struct, !u64 and !u32.  What may
point into device memory has a type with stars and no direction: the trace must not read it.

    VERSIONS         majors of the libraries that export it
    wide             NAME_64 is exported too (wide@12: only from 12 on).  The type `idx` is int in NAME and int64_t in NAME_64
                     and in the body, which is one for both
    body=NAME        the body is awLIBRARY_NAME, else awLIBRARY_ and the function's own name
    idle[=VALUE]     there is no body: by its definition it does nothing here, and returns VALUE
    alone            !also does not concern it
    node=NODE        its version node, where the library's is another

or names alone, of which only the name is known and which are stubs of a few bytes (write_bare):

    NAMES | VERSIONS [FORM] | stub

    NAMES            xAdd_{8u,16s}_C{1,3} stands for four names, as in a shell
    FORM             of a line !form FORM SUFFIX MAJOR...: the names have that suffix, and these libraries export them without it,
                     too; or node=NODE

The other lines are

    !library MAJOR FILE [NODE]    the file and SONAME that exports version MAJOR, and its version node: FILE where none is given;
                                  -: none
    !status TYPE VALUE...         the result of a stub whose result is a TYPE: the library's own not-supported; of a structure,
                                  its members.  The first is that of names alone, a number
    !status TYPE fatal            a stub with such a result, which cannot say that nothing was done, says so and ends the program,
                                  as the original does with calls that it cannot serve.  TYPE `other`: all that have no line of
                                  their own
    !types NAME                   the types are in NAME_types.h, else in one named for the table
    !data NAME BYTES MAJOR... [of=SYMBOL] [node=NODE]
                                  a variable that these libraries export, all zeros; of: an address, that of the room's SYMBOL
    !also PREFIX                  each name is exported with the prefix before it, too
    !each LIST WORD=TYPE...       a line with <LIST> in its name stands for one line each, with the WORD in the name and in the
                                  second column, and the TYPE in the result and the arguments
    !answer TYPE FUNCTION MAJOR...    results that are a TYPE go through FUNCTION, of the room, in these libraries: their codes
                                  are others
"""
# SPDX-License-Identifier: Apache-2.0
import collections
import glob
import hashlib
import os
import re
import sys

import api
import page

OTHER = 'other'
STRUCT_KINDS = {'handle': 'p', 'struct': 'S', 'u64': 'U', 'u32': 'u'}


class Function(api.Function):
    """One line.  The forms of arguments are api.Function's; what a name comes in (plain and _64) is not."""

    def __init__(self, decl, where, status, section, table):
        m = re.match(r'^(.*?[\s*])(\w+)\((.*)\)$', decl)
        if not m:
            raise api.TableError('declaration not understood: %r' % decl)
        self.ret, self.name = m.group(1).strip(), m.group(2)
        self.args = [api.Arg(a, table.kinds) for a in m.group(3).split(',')] if m.group(3).strip() else []
        self.section, self.number, self.table = section, len(table.functions), table
        self.versions, self.wide, self.body, self.idle, self.node = [], None, self.name, None, None
        self.also = [table.also + self.name] if table.also else []
        for word in where.split():
            if word in table.libraries:
                self.versions.append(word)
            elif word.split('@')[0] == 'wide':
                self.wide = word.partition('@')[2] or '0'
            elif word.startswith('body='):
                self.body = word[5:]
            elif word.startswith('node='):
                self.node = word[5:]
            elif word.split('=')[0] == 'idle':
                self.idle = word.partition('=')[2] or '0'
            elif word == 'alone':
                self.also = []
            else:
                raise api.TableError('%s: unknown word %r' % (self.name, word))
        m = re.match(r'^(full|stub|partial)(?:\s+"([^"]+)")?$', status)
        if not self.versions or not m or (m.group(1) == 'partial') != bool(m.group(2)):
            raise api.TableError('%s: versions %r, status %r' % (self.name, where, status))
        self.status, self.why = m.group(1), m.group(2)
        self.ret_kind = 'v' if self.ret == 'void' else 'p' if self.ret.endswith('*') else \
            table.kinds.get(self.ret, 'e' if self.ret in table.status else 'i')
        if self.status == 'stub' and self.ret != 'void' and table.stub_value(self.ret) is None:
            raise api.TableError('%s: a stub must return a status' % self.name)
        if self.wide is None and any(a.type == 'idx' for a in self.args):
            raise api.TableError('%s: idx without wide' % self.name)

    prefix = property(lambda self: 'aw%s_' % self.table.name.lower())

    def entries(self, major=None):
        """(exported name, is it the form with 64-bit integers) of this line."""
        rows = [(name, False) for name in [self.name] + self.also]
        if self.wide is not None and (major is None or int(major) >= int(self.wide)):
            rows.append((self.name + '_64', True))
        return rows

    def c_proto(self, name, wide=True):
        text = super().c_proto(name)
        return re.sub(r'\bidx\b', 'int64_t' if wide else 'int', text)


class Bare:
    """One of a line's names alone."""
    status, why, wide = 'stub', None, None

    def __init__(self, name, where, status, section, table):
        if not re.fullmatch(r'\w+', name):
            raise api.TableError('name not understood: %r' % name)
        self.name, self.section, self.number, self.table = name, section, len(table.functions), table
        words = where.split()
        self.versions = [word for word in words if word in table.libraries]
        self.node = next((word[5:] for word in words if word.startswith('node=')), None)
        forms = [word for word in words if word not in table.libraries and not word.startswith('node=')]
        if status != 'stub' or not self.versions or not table.status or len(forms) > 1 or not set(forms) <= set(table.forms):
            raise api.TableError('%s: names alone, versions %r, status %r' % (name, where, status))
        self.suffix, self.plain = table.forms[forms[0]] if forms else ('', [])

    def entries(self, major):
        return [(self.name + self.suffix, False)] + ([(self.name, False)] if major in self.plain else [])


Variable = collections.namedtuple('Variable', 'name size majors of node')


class Table:
    def __init__(self, path):
        self.name = os.path.basename(path)[:-len('.api')]
        self.kinds, self.libraries, self.status, self.answer, self.functions = dict(api.KINDS), {}, {}, {}, []
        self.lists, self.also, self.data, self.forms = {}, '', [], {}
        self.kinds.update({'idx': 'U', 'int64_t': 'U', 'uint64_t': 'U', 'long long int': 'U', 'long long': 'U'})
        self.types, section = self.name, None
        with open(path, encoding='utf-8') as f:
            for n, line in enumerate(f, 1):
                line = line.strip()
                try:
                    if line.startswith('## '):
                        section = line[3:]
                    elif line.startswith('!'):
                        self.directive(line[1:].split())
                    elif line and not line.startswith('#'):
                        parts = [p.strip() for p in line.split(' | ')]
                        if len(parts) != 3:
                            raise api.TableError('a line has three columns')
                        made, form = (self.expanded(*parts[:2]), Function) if '(' in parts[0] else \
                            ([(name, parts[1]) for name in braces(parts[0])], Bare)
                        for decl, where in made:
                            self.functions.append(form(decl, where, parts[2], section, self))
                except (api.TableError, KeyError, ValueError) as e:
                    sys.exit('%s:%d: %s' % (path, n, e))
        for major in self.libraries:
            names = self.names(major)
            for name in sorted({n for n in names if names.count(n) > 1} if len(set(names)) != len(names) else ()):
                sys.exit('%s: %s appears twice for %s' % (path, name, major))

    def directive(self, words):
        if words[0] == 'library':
            node = words[3] if len(words) > 3 else words[2]
            self.libraries[words[1]] = (words[2], None if node == '-' else node)
        elif words[0] == 'status':
            self.status[words[1].replace('*', ' *')] = 'fatal' if words[2] == 'fatal' else ', '.join(str(int(w))
                                                                                                     for w in words[2:])
        elif words[0] == 'data':
            more = dict(word.split('=') for word in words[3:] if '=' in word)
            self.data.append(Variable(words[1], int(words[2]), words[3:], more.get('of'), more.get('node')))
        elif words[0] == 'types':
            self.types = words[1]
        elif words[0] == 'also':
            self.also = words[1]
        elif words[0] == 'form':
            self.forms[words[1]] = (words[2], words[3:])
        elif words[0] == 'each':
            self.lists[words[1]] = [w.partition('=')[::2] for w in words[2:]]
        elif words[0] == 'answer':
            self.answer.update({(words[1], major): words[2] for major in words[3:]})
        else:
            self.kinds.update({w: STRUCT_KINDS[words[0]] for w in words[1:]})

    def variables(self, major):
        """The variables that one library exports."""
        return [v for v in self.data if major in v.majors]

    def nodes(self, major):
        """What one library exports, in the order of its table: {version node or None: names}."""
        default, nodes = self.libraries[major][1], {}
        for name, node in [(name, f.node) for form in (Function, Bare) for name, f, _ in self.exported(major, form)] + \
                [(v.name, v.node) for v in self.variables(major)]:
            nodes.setdefault(node or default, []).append(name)
        return nodes

    def stub_value(self, ret):
        return self.status.get(ret) or (self.status.get(OTHER) if ret != 'void' else None)

    def expanded(self, decl, where):
        """The declarations that a line with a list stands for, each with its second column."""
        head, _, args = decl.partition('(')
        for name, members in self.lists.items():
            mark = '<%s>' % name
            if mark in head:
                ret, _, own = head.rpartition(' ')
                return [(ret.replace(mark, t.replace('~', ' ')) + ' ' + own.replace(mark, w) + '('
                         + args.replace(mark, t.replace('~', ' ')), where.replace(mark, w))
                        for w, t in members]
        return [(decl, where)]

    def exported(self, major, form):
        """Exported names of one library in byte order, of functions or of names alone: (name, function, wide)."""
        return sorted(((name, f, wide) for f in self.functions if isinstance(f, form) and major in f.versions
                       for name, wide in f.entries(major)), key=lambda r: r[0])

    def slots(self, major):
        """What is jumped to through a table."""
        return self.exported(major, Function)

    def bare(self, major):
        return [name for name, _, _ in self.exported(major, Bare)]

    def names(self, major):
        return [name for name, _, _ in self.slots(major)] + self.bare(major)

    def symbol(self, major):
        """Named after its contents, as in api.py: a library of another build fails to link."""
        digest = hashlib.sha256('\n'.join(name for name, _, _ in self.slots(major)).encode()).hexdigest()[:12]
        return 'aw_lib_%s%s_%s' % (self.name, major, digest)


def braces(text):
    """The names that a text with {a,b} stands for."""
    m = re.search(r'\{([^{}]*)\}', text)
    if not m:
        return [text]
    return [name for word in m.group(1).split(',') for name in braces(text[:m.start()] + word + text[m.end():])]


def write_proto(table, out):
    done = set()
    out.write('/* Generated from %s.api by tools/gen/lib.py: prototypes of the bodies. */\n#pragma once\n' % table.name)
    out.write('#include "%s_types.h"\n\n' % table.types)
    for f in table.functions:
        if f.status != 'stub' and not f.idle and f.body not in done:
            done.add(f.body)
            out.write(f.c_proto(f.prefix + f.body) + ';\n')


def write_header(table, major, out):
    out.write('/* Generated from %s.api by tools/gen/lib.py: what version %s exports. */\n#pragma once\n' % (table.name, major))
    out.write('#include "%s_types.h"\n\n' % table.types)
    for name, f, wide in table.slots(major):
        out.write(f.c_proto(name, wide) + ';\n')


def write_entry(f, name, wide, out):
    symbol = 'e%d%s' % (f.number, 'w' if wide else '')
    proto = f.c_proto(symbol, wide)
    if f.status == 'stub':
        value = f.table.stub_value(f.ret)
        if value == 'fatal':
            out.write('static %s\n{\n    aw_lib_fatal("%s", "%s");\n}\n' % (proto, f.table.name, name))
            return symbol
        out.write('static %s\n{\n    aw_lib_stub("%s", "%s", &once[%d]);\n' % (proto, f.table.name, name, f.number))
        out.write('%s}\n' % ('' if f.ret == 'void' else '    return (%s){ %s };\n' % (f.c_ret(), value)))
        return symbol
    if f.idle:
        out.write('static %s\n{\n%s}\n' % (proto, '' if f.ret == 'void' else '    return (%s)%s;\n' % (f.c_ret(), f.idle)))
        return symbol
    if wide or not any(a.type == 'idx' for a in f.args):
        return f.prefix + f.body
    out.write('static %s\n{\n    %s%s;\n}\n' % (proto, '' if f.ret == 'void' else 'return ', f.call(f.prefix + f.body)))
    return symbol


def write_answer(f, wide, entry, answer, out):
    """What version has in place of `entry`: its result in the codes of other versions."""
    symbol = 'a%d%s' % (f.number, 'w' if wide else '')
    out.write('static %s\n{\n    return %s(%s);\n}\n' % (f.c_proto(symbol, wide), answer, f.call(entry)))
    return symbol


def write_trace(f, name, wide, answered, entry, out):
    symbol = 't%s%d%s' % ('a' if answered else '', f.number, 'w' if wide else '')
    text = '|'.join([f.ret_kind + name] + [('-i' if a.type == 'idx' and not wide else a.trace) + a.name for a in f.args])
    values = ', '.join(a.as_u64() for a in f.args) or '0'
    out.write('static %s\n{\n    struct aw_lib_call call_ = aw_lib_call_begin("%s");\n' % (f.c_proto(symbol, wide), text))
    if f.ret == 'void':
        out.write('    %s;\n' % f.call(entry))
        result = '0'
    else:
        out.write('    %s ret_ = %s;\n' % (f.c_ret(), f.call(entry)))
        result = {'S': '0', 'f': 'aw_lib_bits(ret_)', 'd': 'aw_lib_bits(ret_)', 'p': '(uint64_t)(uintptr_t)ret_',
                  's': '(uint64_t)(uintptr_t)ret_'}.get(f.ret_kind, '(uint64_t)ret_')
    out.write('    aw_lib_call_end("%s", "%s", %s, (const uint64_t[]){ %s }, call_);\n' % (f.table.name, text, result,
                                                                            values.replace('aw_abi_bits', 'aw_lib_bits')))
    out.write('%s}\n' % ('' if f.ret == 'void' else '    return ret_;\n'))
    return symbol


def write_dispatch(table, out):
    out.write('/* Generated from %s.api by tools/gen/lib.py: what stands behind each exported name. */\n' % table.name)
    out.write('#include "common/lib.h"\n#include "%s_proto.h"\n\n' % table.name)
    functions = [f for f in table.functions if isinstance(f, Function)]
    if any(f.status == 'stub' for f in functions):
        out.write('static unsigned char once[%d];\n\n' % len(table.functions))
    for function in sorted(set(table.answer.values())):
        ret = next(t for (t, _), a in table.answer.items() if a == function)
        out.write('%s %s(%s result);\n' % (ret, function, ret))
    entry, trace, done = {}, {}, set()
    for f in functions:
        for name, wide in f.entries():
            if (f.number, wide) in done: # of names that mean the same, the first
                continue
            done.add((f.number, wide))
            body = write_entry(f, name, wide, out)
            for answer in dict.fromkeys(table.answer.get((f.ret, major)) for major in f.versions):
                key = f.number, wide, answer
                entry[key] = write_answer(f, wide, body, answer, out) if answer else body
                trace[key] = write_trace(f, name, wide, answer, entry[key], out)
    majors = [major for major in table.libraries if table.slots(major)]
    if not majors:
        return
    for major in majors:
        symbol = table.symbol(major)
        keys = [(f.number, wide, table.answer.get((f.ret, major))) for _, f, wide in table.slots(major)]
        out.write('\n__attribute__((visibility("default"))) extern void *%s[];\n' % symbol)
        for head, of in (('void *%s[]' % symbol, entry), ('static void *const plain_%s[]' % major, entry),
                         ('static void *const told_%s[]' % major, trace)):
            out.write('%s = {\n%s};\n' % (head, ''.join('    (void *)%s,\n' % of[key] for key in keys)))
    out.write('\n/* Whether calls are told of. */\nstatic void tell(bool on)\n{\n')
    for major in majors:
        out.write('    aw_lib_table_set(%s, on ? told_%s : plain_%s, sizeof plain_%s / sizeof *plain_%s);\n' %
                  ((table.symbol(major),) + (major,) * 4))
    out.write('}\n\n/* Before a function can be called: the exporting libraries depend on this one. */\n'
              '__attribute__((constructor)) static void start(void)\n{\n'
              '    aw_lib_start("%s", tell);\n}\n' % table.name)


BARE = '''/* Names alone: 16 bytes each, which say where they are; the name is found by that, once. */
#if defined(__x86_64__)
#define BARE(name) .globl name; .type name, @function; .p2align 4; name: endbr64; \\
    leaq -11(%%rip), %%rsi; jmp bare; .size name, . - name
    .p2align 4
bare:
    leaq first(%%rip), %%rax
    leaq once(%%rip), %%rdx
    movq %%rsi, %%rcx
    subq %%rax, %%rcx
    shrq $4, %%rcx
    addq %%rcx, %%rdx
    leaq library(%%rip), %%rdi
    movl $%(value)d, %%ecx
    subq $8, %%rsp
    call aw_lib_bare@PLT
    addq $8, %%rsp
    ret
#elif defined(__aarch64__)
#define BARE(name) .globl name; .type name, %%function; .p2align 4; name: bti c; \\
    adr x1, . - 4; b bare; nop; .size name, . - name
    .p2align 4
bare:
    adrp x0, first
    add x0, x0, :lo12:first
    sub x0, x1, x0
    adrp x2, once
    add x2, x2, :lo12:once
    add x2, x2, x0, lsr #4
    adrp x0, library
    add x0, x0, :lo12:library
    ldr w3, =%(value)d
    b aw_lib_bare
#endif
    .p2align 4
first:
'''


def write_bare(table, major, out):
    """Each name alone is an exported label of its own; none knows its arguments, which are left as they are."""
    value = next(iter(table.status.values()))
    out.write(BARE % {'value': int(value)})
    for name in table.bare(major):
        out.write('BARE(%s)\n' % name)
    out.write('    .section .rodata\nlibrary:\n    .string "%s"\n    .bss\nonce:\n    .zero %d\n' %
              (table.name, len(table.bare(major))))


def write_thin(table, major, out):
    symbol = table.symbol(major)
    out.write(api.THIN % (table.name, symbol, symbol, symbol))
    for i, (name, _, _) in enumerate(table.slots(major)):
        out.write('ENTRY(%s, %d)\n' % (name, i))
    if table.bare(major):
        write_bare(table, major, out)
    for v in table.variables(major):
        section, value = ('.data.rel.ro, "aw"', '.quad ' + v.of) if v.of else ('.bss', '.zero %d' % v.size)
        out.write('    .section %s\n    .balign 16\n    .globl %s\n    .type %s, @object\n    .size %s, %d\n%s:\n    %s\n' %
                  (section, v.name, v.name, v.name, v.size, v.name, value))
    out.write('    .section .note.GNU-stack, "", %progbits\n')


def write_map(table, major, out):
    local = '    local:\n        *;\n'
    for node, names in table.nodes(major).items():
        out.write('%s{\n    global:\n%s%s};\n' % (node + ' ' if node else '', ''.join('        %s;\n' % n for n in names), local))
        local = ''


def write_private(tables, out):
    names = ''.join('        %s;\n' % t.symbol(major) for t in tables for major in t.libraries if t.slots(major))
    names += ''.join('        %s;\n' % of for of in sorted({v.of for t in tables for v in t.data if v.of}))
    names += '        aw_lib_bare;\n' if any(t.bare(major) for t in tables for major in t.libraries) else ''
    out.write('%s {\n    global:\n%s    local:\n        *;\n};\n' % (api.PRIVATE_NODE, names))


def write_coverage(table, out):
    n = {s: sum(f.status == s for f in table.functions) for s in ('full', 'partial', 'stub')}
    out.write('# %s coverage\n\nGenerated from the table by tools/gen/lib.py; do not edit.\n\n' % table.name)
    out.write('%d functions: %d full, %d partial, %d stub.  A stub returns the library\'s not-supported status and logs once.\n' %
              (len(table.functions), n['full'], n['partial'], n['stub']))
    section = None
    for f in sorted(table.functions, key=lambda f: (f.section, f.number)):
        if f.section != section:
            section = f.section
            out.write('\n## %s\n\n| function | library | status |\n|---|---|---|\n' % section)
        suffix = ', _64' if f.wide is not None else ', ' + f.suffix if isinstance(f, Bare) and f.suffix else ''
        out.write('| %s%s | %s | %s |\n' % (f.name, suffix, ' '.join(f.versions),
                                           f.status + (': ' + f.why if f.why else '')))


def write_shares(folder, page_path, check):
    """The page with its table made anew; whether that changed nothing."""
    rows = ['| library | functions | there | with limits | refused by name |', '|---|---|---|---|---|']
    for path in table_paths(folder):
        table = Table(path)
        n = {s: sum(f.status == s for f in table.functions) for s in ('full', 'partial', 'stub')}
        files = sorted({name.split('/')[-1] for name, _ in table.libraries.values()}, key=lambda n: [len(n), n])
        rows.append('| %s | %d | %d | %d | %d |' % (', '.join(files), len(table.functions), n['full'], n['partial'], n['stub']))
    return page.update(page_path, [(page.marks('shares', 'lib.py'), '\n'.join(rows) + '\n')], check)


def table_paths(folder):
    return sorted(glob.glob(os.path.join(folder, '*', '*.api')))


def main(argv):
    if len(argv) < 3:
        sys.exit(__doc__)
    command, args = argv[1], argv[2:]
    if command == 'private':
        api.write_to(args[0], write_private, [Table(path) for path in args[1:]])
        return 0
    if command == 'tables':
        print('\n'.join(table_paths(args[0])))
        return 0
    if command == 'shares':
        same = write_shares(args[0], args[1], '--check' in args)
        if '--check' in args and not same:
            sys.exit('%s: what there is of the libraries is another: tools/gen/lib.py shares libs %s' % (args[1], args[1]))
        return 0
    if command == 'names':
        with open(args[0], 'w', encoding='utf-8') as out:
            out.writelines('AW_LIBRARY("%s")\n' % name for path in args[1:] for name, _ in Table(path).libraries.values())
        return 0
    table = Table(args[0])
    if command == 'libraries':
        for major, (name, _) in table.libraries.items():
            print(major, name)
    elif command == 'exports':
        for node, names in table.nodes(args[1]).items():
            for name in names:
                print(name + ('@@' + node if node else ''))
    elif command == 'share':
        print(*(sum(f.status == s for f in table.functions) for s in ('full', 'partial', 'stub')))
    elif command in ('proto', 'dispatch', 'coverage'):
        api.write_to(args[1], {'proto': write_proto, 'dispatch': write_dispatch, 'coverage': write_coverage}[command], table)
    elif command in ('thin', 'map', 'header'):
        api.write_to(args[2], {'thin': write_thin, 'map': write_map, 'header': write_header}[command], table, args[1])
    else:
        sys.exit(__doc__)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
