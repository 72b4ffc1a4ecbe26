#!/usr/bin/env python3
"""Reads src/abi/*.api and writes what the build derives from it: prototypes of the bodies, dispatch tables with stubs, last-error
wrappers and call tracing, the thin libraries' trampolines and version scripts, and the coverage pages.  The form of the tables is
explained at the head of cuda.api and cudart.api.  Not a C parser: a type is a word or several with stars.

    api.py proto    cuda|cudart TABLE OUT.h          prototypes of awcu_* or awrt_*
    api.py dispatch cuda|cudart TABLE OUT.c [CUDA_TABLE]   stubs, wrappers, forwards, tables (cudart's forwards need cuda's table)
    api.py thin     cuda|cudart TABLE MAJOR OUT.S    trampolines (MAJOR is 0 for cuda)
    api.py map      cuda|cudart TABLE MAJOR OUT.map  version script
    api.py exports  cuda|cudart TABLE MAJOR          prints the exported names with their version node, for tests
    api.py private  CUDA_TABLE CUDART_TABLE OUT.map  version script of libanywarp.so.0
    api.py coverage CUDA_TABLE CUDART_TABLE DIR      driver.md and runtime.md
    api.py check    CUDA_TABLE CUDART_TABLE DIR      compares status with the bodies in DIR's C files
"""
# SPDX-License-Identifier: Apache-2.0
import hashlib
import os
import re
import sys

MAJORS = ('11', '12', '13')
NODES = {'11': 'libcudart.so.11.0', '12': 'libcudart.so.12', '13': 'libcudart.so.13'}
PRIVATE_NODE = 'ANYWARP_PRIVATE_0'
NEEDS = {'ctx': 'aw_rt_ctx', 'any': 'aw_rt_ctx_any', 'device': None}
DEFAULT_STREAM = {'': 'CU_STREAM_LEGACY', 'ptsz': 'CU_STREAM_PER_THREAD', 'ptds': 'CU_STREAM_PER_THREAD'}
RESULTS = {'CUresult': 'e', 'cudaError_t': 'E'}
STREAMS = ('CUstream', 'cudaStream_t')
KINDS = {'int': 'i', 'unsigned int': 'u', 'cuuint32_t': 'u', 'char': 'c', 'unsigned char': 'u', 'unsigned short': 'u',
         'size_t': 'U', 'unsigned long long': 'U', 'cuuint64_t': 'U', 'float': 'f', 'double': 'd', 'str': 's', 'text': 't',
         'dim3': 'D', 'CUdeviceptr': 'p', 'CUdeviceptr_v1': 'x', **RESULTS}


class TableError(Exception):
    pass


class Arg:
    FORM = re.compile(r'^(?:(in|out|inout)\s+)?(.*?[\s*])(\w+)(?:\[(\w+)\])?$')

    def __init__(self, text, kinds):
        m = self.FORM.match(text.strip())
        if not m:
            raise TableError('argument not understood: %r' % text)
        self.dir, self.type, self.name, self.count = m.group(1), m.group(2).strip(), m.group(3), m.group(4)
        stars = self.type.endswith('*')
        self.by_value = self.dir is None and not stars
        base = 'p' if stars else kinds.get(self.type, 'i')
        # Upper half of the trace code: i(n), o(ut), a pair of both; lower half: the kind of the value.
        self.trace = {None: '-', 'in': 'i', 'out': 'o', 'inout': 'o'}[self.dir] + base

    def c_type(self):
        if self.dir is None:
            return 'const char *' if self.type == 'str' else self.type
        if self.type == 'str':
            return 'const char **'
        if self.type == 'text':
            return 'char *'
        const = 'const ' if self.dir == 'in' and not self.type.endswith('*') and not self.type.startswith('const ') else ''
        return '%s%s *' % (const, self.type)

    def c_decl(self):
        t = self.c_type()
        return t + ('' if t.endswith('*') else ' ') + self.name

    def as_u64(self):
        kind = self.trace[1]
        if self.dir is None and kind == 'D':
            return '(uint64_t)(uintptr_t)&%s' % self.name
        if self.dir is None and kind in 'fd':
            return 'aw_abi_bits(%s)' % self.name
        if self.dir is None and kind == 'S':
            return '0'
        if self.dir is not None or kind in 'ps':
            return '(uint64_t)(uintptr_t)%s' % self.name
        return '(uint64_t)%s' % self.name


class Function:
    def __init__(self, decl, where, status, section, kinds, api, number):
        m = re.match(r'^(.*?[\s*])(\w+)\((.*)\)$', decl)
        if not m:
            raise TableError('declaration not understood: %r' % decl)
        self.ret, self.name = m.group(1).strip(), m.group(2)
        self.args = [Arg(a, kinds) for a in m.group(3).split(',')] if m.group(3).strip() else []
        self.section, self.number, self.api = section, number, api
        self.versions, self.flags, self.variants, self.body = [], set(), {}, self.name
        self.forward, self.needs = None, 'ctx'
        for word in where.split():
            if word[0].isdigit():
                self.versions.append(word)
            elif word.split('@')[0] in ('ptsz', 'ptds'):
                kind, _, since = word.partition('@')
                self.variants[kind] = since
            elif word.startswith('body='):
                self.body = word[5:]
            elif word.startswith('as='):
                self.forward, _, needs = word[3:].partition(':')
                self.needs = needs or 'ctx'
            elif word in ('nolast', 'noproc'):
                self.flags.add(word)
            else:
                raise TableError('%s: unknown word %r' % (self.name, word))
        if not self.versions:
            raise TableError('%s: no version' % self.name)
        m = re.match(r'^(full|stub|partial)(?:\s+"([^"]+)")?$', status)
        if not m or (m.group(1) == 'partial') != bool(m.group(2)):
            raise TableError('%s: status %r' % (self.name, status))
        if self.forward and (api != 'cudart' or m.group(1) == 'stub' or self.needs not in NEEDS):
            raise TableError('%s: as= is for bodies of the runtime API' % self.name)
        self.status, self.why = m.group(1), m.group(2)
        self.ret_kind = 'v' if self.ret == 'void' else 'p' if self.ret.endswith('*') else kinds.get(self.ret, 'i')
        if self.status == 'stub' and self.ret not in RESULTS:
            raise TableError('%s: a stub must return a result code' % self.name)

    prefix = property(lambda self: 'awcu_' if self.api == 'cuda' else 'awrt_')

    def c_ret(self):
        return 'const char *' if self.ret == 'str' else self.ret

    def c_args(self):
        return ', '.join(a.c_decl() for a in self.args) or 'void'

    def call(self, function, args=None):
        return '%s(%s)' % (function, ', '.join(args if args is not None else [a.name for a in self.args]))

    def c_proto(self, name, args=None):
        r = self.c_ret()
        return '%s%s%s(%s)' % (r, '' if r.endswith('*') else ' ', name, args or self.c_args())

    def entries(self):
        """(exported name, variant or '') of this line."""
        return [(self.name, '')] + [('%s_%s' % (self.name, v), v) for v in sorted(self.variants)]

    def stream_args(self):
        return [a for a in self.args if a.by_value and a.type in STREAMS]

    def mapped(self):
        """Whether the per-thread variants come from the body by mapping its stream arguments."""
        return bool(self.stream_args())

    def on_stream(self):
        """Whether one body, NAME_on, serves both default streams, which is its last argument."""
        return bool(self.variants) and not self.mapped()

    def written(self):
        """The name of the body that a C file must have, without prefix."""
        return self.body + ('_on' if self.on_stream() and not self.forward else '')

    def c_args_on(self):
        return ', '.join([a.c_decl() for a in self.args] + ['CUstream default_stream'])

    def version_number(self, text=None):
        major, minor = (text or self.versions[0]).split('.')
        return int(major) * 1000 + int(minor) * 10


def load(api, path):
    kinds, functions, section = dict(KINDS), [], None
    with open(path, encoding='utf-8') as f:
        for n, line in enumerate(f, 1):
            line = line.strip()
            try:
                if line.startswith('## '):
                    section = line[3:]
                elif line.startswith('!'):
                    words = line[1:].split()
                    kinds.update({w: {'handle': 'p', 'struct': 'S', 'u64': 'U', 'u32': 'u'}[words[0]] for w in words[1:]})
                elif line and not line.startswith('#'):
                    parts = [p.strip() for p in line.split(' | ')]
                    if len(parts) != 3:
                        raise TableError('a line has three columns')
                    functions.append(Function(*parts, section, kinds, api, len(functions)))
            except (TableError, KeyError) as e:
                sys.exit('%s:%d: %s' % (path, n, e))
    seen = {}
    for f in functions:
        for v in ('0',) if api == 'cuda' else f.versions:
            for name, _ in f.entries():
                if seen.setdefault((v, name), f) is not f:
                    sys.exit('%s: %s appears twice for %s' % (path, name, v))
    return functions


def slots(api, functions, major):
    """Exported names of one library in table order, with function and variant."""
    rows = [(name, f, v) for f in functions if api == 'cuda' or major in f.versions for name, v in f.entries()]
    return sorted(rows, key=lambda r: r[0])


def table_symbol(api, functions, major):
    """Named after its contents: a thin library of another build fails to link instead of calling the wrong function."""
    names = '\n'.join(name for name, _, _ in slots(api, functions, major))
    digest = hashlib.sha256(names.encode()).hexdigest()[:12]
    return 'aw_abi_%s%s_%s' % (api, '' if api == 'cuda' else major, digest)


def majors(api):
    return ('0',) if api == 'cuda' else MAJORS


# ---- Prototypes

def write_proto(api, functions, out):
    done = set()
    out.write('/* Generated from %s.api by tools/gen/api.py: prototypes of the entry bodies. */\n' % api)
    out.write('#pragma once\n#include "abi/%s_types.h"\n\n' % api)
    for f in functions:
        for body in [f.body] + ['%s_%s' % (f.body, v) for v in sorted(f.variants)]:
            if body not in done:
                done.add(body)
                out.write(f.c_proto(f.prefix + body) + ';\n')
        if f.on_stream() and f.written() not in done:
            done.add(f.written())
            out.write(f.c_proto(f.prefix + f.written(), f.c_args_on()) + ';\n')


# ---- Dispatch

def write_entry(f, name, variant, out):
    """The function behind one slot: stub, or body with what must happen around it."""
    symbol = 'e%d%s' % (f.number, variant)
    if f.status == 'stub':
        code = 'return (%s)aw_abi_stub("%s", &once[%d], %d);' % (f.ret, name, f.number, 1 if f.api == 'cudart' else 0)
        out.write('static %s\n{\n    %s\n}\n' % (f.c_proto(symbol), code))
        return symbol
    lasting = f.ret == 'cudaError_t' and 'nolast' not in f.flags
    body = f.prefix + (f.body if not f.on_stream() else '%s_%s' % (f.body, variant) if variant else f.body)
    args = [a.name for a in f.args]
    if variant and f.mapped():
        streams = {a.name for a in f.stream_args()}
        args = ['%s ? %s : CU_STREAM_PER_THREAD' % (a, a) if a in streams else a for a in args]
    elif not lasting:
        return body
    call = f.call(body, args)
    out.write('static %s\n{\n' % f.c_proto(symbol))
    if lasting:
        out.write('    cudaError_t error = %s;\n    if (__builtin_expect(error != 0, 0))\n        aw_rt_failed("%s", error);\n'
                  '    return error;\n}\n' % (call, name))
    else:
        out.write('    %s%s;\n}\n' % ('' if f.ret == 'void' else 'return ', call))
    return symbol


def write_trace(f, name, variant, entry, out):
    symbol = 't%d%s' % (f.number, variant)
    text = '|'.join([f.ret_kind + name] + [a.trace + a.name for a in f.args])
    values = ', '.join(a.as_u64() for a in f.args) or '0'
    out.write('static %s\n{\n' % f.c_proto(symbol))
    call = f.call(entry)
    members = ''.join(' %s;' % a.c_decl() for a in f.args) or ' char none_;'
    out.write('    const struct {%s } args_ = { %s };\n' % (members, ', '.join(a.name for a in f.args) or '0'))
    out.write('    struct aw_abi_call call_ = aw_abi_call_begin("%s", &args_);\n' % text)
    if f.ret == 'void':
        out.write('    %s;\n' % call)
        result = '0'
    else:
        out.write('    %s ret_ = %s;\n' % (f.c_ret(), call))
        result = '0' if f.ret_kind == 'S' else '(uint64_t)(uintptr_t)ret_' if f.ret_kind in 'ps' else '(uint64_t)ret_'
    out.write('    aw_abi_call_end("%s", &args_, %s, (const uint64_t[]){ %s }, call_);\n' % (text, result, values))
    out.write('%s}\n' % ('' if f.ret == 'void' else '    return ret_;\n'))
    return symbol


def write_names(api, functions, major, out):
    rows = slots(api, functions, major)
    tag = '%s%s' % (api, '' if api == 'cuda' else major)
    out.write('static const char names_%s[] =\n' % tag)
    offsets, at = [], 0
    for name, _, _ in rows:
        offsets.append(at)
        at += len(name) + 1
        out.write('    "%s\\0"\n' % name)
    out.write('    ;\nstatic const uint16_t offsets_%s[] = {\n' % tag)
    for i in range(0, len(offsets), 16):
        out.write('    %s,\n' % ', '.join(map(str, offsets[i:i + 16])))
    out.write('};\n')


def proc_rows(functions):
    """(name, version, slot or -1, slot per thread or -1): what cuGetProcAddress knows."""
    index = {name: i for i, (name, _, _) in enumerate(slots('cuda', functions, '0'))}
    has_variant = {re.sub(r'_v\d+$', '', f.name) for f in functions if f.variants}
    rows = []
    for f in functions:
        if 'noproc' in f.flags:
            continue
        name, since = re.sub(r'_v\d+$', '', f.name), f.version_number()
        pt_slot, pt_since = -1, since
        if f.variants:
            kind = sorted(f.variants)[0]
            pt_slot = index['%s_%s' % (f.name, kind)]
            pt_since = f.version_number(f.variants[kind]) if f.variants[kind] else max(since, 7000)
        elif name not in has_variant:
            pt_slot = index[f.name]
        if pt_slot >= 0 and pt_since != since:
            rows.append((name, since, index[f.name], -1))
            rows.append((name, pt_since, -1, pt_slot))
        else:
            rows.append((name, since, index[f.name], pt_slot))
    return sorted(rows, key=lambda r: (r[0], r[1], -r[2]))


def write_proc(functions, out):
    rows = proc_rows(functions)
    out.write('static const char proc_names[] =\n')
    offset, at = {}, 0
    for name in sorted({r[0] for r in rows}):
        offset[name] = at
        at += len(name) + 1
        out.write('    "%s\\0"\n' % name)
    out.write('    ;\nstatic const struct aw_abi_proc procs[] = {\n')
    for name, since, slot, pt in rows:
        out.write('    { %d, %d, %d, %d }, /* %s */\n' % (offset[name], since, slot, pt, name))
    out.write('};\nconst struct aw_abi_procs aw_abi_procs = { proc_names, procs, sizeof(procs) / sizeof(procs[0]) };\n')


def write_dispatch(api, functions, drivers, out):
    out.write('/* Generated from %s.api by tools/gen/api.py: what stands behind each exported name. */\n' % api)
    out.write('#include "abi/abi.h"\n#include "abi/%s_proto.h"\n' % api)
    if drivers:
        out.write('#include "abi/cuda_proto.h"\n#include "abi/cudart.h"\n')
    out.write('\nstatic unsigned char once[%d];\n\n' % len(functions))
    write_bodies(functions, drivers, out)
    entry, trace = {}, {}
    for f in functions:
        for name, v in f.entries():
            entry[f.number, v] = write_entry(f, name, v, out)
            trace[f.number, v] = write_trace(f, name, v, entry[f.number, v], out)
    for major in majors(api):
        rows, table = slots(api, functions, major), table_symbol(api, functions, major)
        out.write('\n__attribute__((visibility("default"))) extern void *%s[];\nvoid *%s[] = {\n' % (table, table))
        for name, f, v in rows:
            out.write('    (void *)%s,\n' % entry[f.number, v])
        out.write('};\n')
        write_names(api, functions, major, out)
    out.write('\nconst struct aw_abi_table aw_abi_%s_tables[] = {\n' % api)
    for major in majors(api):
        tag = '%s%s' % (api, '' if api == 'cuda' else major)
        out.write('    { %s, %s, names_%s, offsets_%s, %d },\n' % (major, table_symbol(api, functions, major), tag, tag,
                                                                len(slots(api, functions, major))))
    out.write('};\n\n')
    if api == 'cuda':
        write_proc(functions, out)
    for major in majors(api):
        out.write('static void *const seen%s[][2] = {\n' % major)
        for name, f, v in slots(api, functions, major):
            out.write('    { (void *)%s, (void *)%s },\n' % (entry[f.number, v], trace[f.number, v]))
        out.write('};\n')
    out.write('\nvoid aw_abi_%s_watch(bool on)\n{\n' % api)
    for major in majors(api):
        out.write('    for (size_t i = 0; i < sizeof seen%s / sizeof *seen%s; i++)\n        __atomic_store_n(&%s[i], '
                  'seen%s[i][on], __ATOMIC_RELAXED);\n'
                  % (major, major, table_symbol(api, functions, major), major))
    out.write('}\n')


# ---- Bodies that the tables write

def write_on(f, out, done):
    """Both default streams' functions around the one body."""
    for name, variant in [(f.body, '')] + [('%s_%s' % (f.body, v), v) for v in sorted(f.variants)]:
        if name not in done:
            done.add(name)
            call = f.call(f.prefix + f.written(), [a.name for a in f.args] + [DEFAULT_STREAM[variant]])
            out.write('%s\n{\n    return %s;\n}\n' % (f.c_proto(f.prefix + name), call))


def convert(f, ours, theirs):
    """An argument of the runtime API as the driver's: numbers and structures are the same, handles have other names."""
    have, want = ours.c_type(), theirs.c_type()
    if have == want or theirs.trace[1] == 'S' and not theirs.dir:
        return ours.name
    address = [c_type.endswith('*') or arg.trace[1] == 'p' for c_type, arg in ((have, ours), (want, theirs))]
    if address[0] != address[1]:
        raise TableError('%s: %s cannot be handed on as %s %s' % (f.name, have, want, theirs.name))
    return '(%s)%s%s' % (want, '(uintptr_t)' if address[0] else '', ours.name)


def write_forward(f, driver, variant, out):
    """The body of a function that is the driver's under another name.  Arguments that only the driver's has are 0."""
    name = f.body + ('_' + variant if variant else '')
    target = driver.prefix + driver.body + ('_' + variant if variant else '')
    args = [convert(f, ours, theirs) for ours, theirs in zip(f.args, driver.args)] + ['0'] * (len(driver.args) - len(f.args))
    if len(f.args) > len(driver.args):
        raise TableError('%s: %s takes fewer arguments' % (f.name, driver.name))
    out.write('%s\n{\n' % f.c_proto(f.prefix + name))
    if NEEDS[f.needs]:
        out.write('    struct aw_ctx *ctx_;\n    enum aw_status status_ = %s(&ctx_);\n' % NEEDS[f.needs])
    else:
        out.write('    enum aw_status status_ = aw_core_init();\n')
    out.write('    return status_ ? aw_rt_error(status_) : (cudaError_t)%s;\n}\n' % f.call(target, args))


def write_bodies(functions, drivers, out):
    done = set()
    for f in functions:
        if f.status == 'stub':
            continue
        if f.forward:
            if f.forward not in drivers or drivers[f.forward].status == 'stub':
                raise TableError('%s: %s has no body' % (f.name, f.forward))
            for variant in [''] + (sorted(f.variants) if f.on_stream() else []):
                if (f.body, variant) not in done:
                    done.add((f.body, variant))
                    write_forward(f, drivers[f.forward], variant, out)
        elif f.on_stream():
            write_on(f, out, done)


# ---- Thin libraries

THIN = '''/* Generated from %s.api by tools/gen/api.py: each exported name jumps through libanywarp's table. */
#if defined(__x86_64__)
#define ENTRY(name, slot) .globl name; .type name, @function; .p2align 4; name: endbr64; \\
    movq %s@GOTPCREL(%%rip), %%r11; jmpq *(8 * slot)(%%r11); .size name, . - name
#elif defined(__aarch64__)
#define ENTRY(name, slot) .globl name; .type name, %%function; .p2align 4; name: bti c; \\
    adrp x16, :got:%s; ldr x16, [x16, :got_lo12:%s]; ldr x16, [x16, (8 * slot)]; br x16; .size name, . - name
#else
#error "no trampoline for this processor"
#endif
    .text
'''


def write_thin(api, functions, major, out):
    table = table_symbol(api, functions, major)
    out.write(THIN % (api, table, table, table))
    for i, (name, _, _) in enumerate(slots(api, functions, major)):
        out.write('ENTRY(%s, %d)\n' % (name, i))
    out.write('    .section .note.GNU-stack, "", %progbits\n')


def write_map(api, functions, major, out):
    names = ''.join('        %s;\n' % name for name, _, _ in slots(api, functions, major))
    out.write('%s{\n    global:\n%s    local:\n        *;\n};\n' % (NODES[major] + ' ' if major != '0' else '', names))


def write_private(cuda, cudart, out):
    names = [table_symbol('cuda', cuda, '0')] + [table_symbol('cudart', cudart, m) for m in MAJORS]
    names += ['aw_abi_cudart_find', 'aw_abi_cuda_find', 'aw_abi_stream_inline', 'aw_abi_stream_native', 'aw_abi_device_describe',
              'aw_abi_spread', 'aw_abi_spread_threads',
              'aw_abi_hook_set', 'aw_abi_activity_watch', 'aw_abi_activity_drain', 'aw_abi_activity_context',
              'aw_abi_activity_job', 'aw_abi_activity_on', 'aw_abi_activity_last', 'aw_abi_activity_add',
              'aw_abi_activity_subscribe', 'aw_abi_activity_stream', 'aw_abi_activity_function',
              'aw_abi_activity_gives_job', 'aw_host_debugger']
    out.write('%s {\n    global:\n%s    local:\n        *;\n};\n' % (PRIVATE_NODE, ''.join('        %s;\n' % n for n in names)))


# ---- Reports

def write_coverage(title, functions, out, versions):
    count = {s: sum(f.status == s for f in functions) for s in ('full', 'partial', 'stub')}
    out.write('# %s\n\nGenerated from the table by tools/gen/api.py; do not edit.\n\n' % title)
    out.write('%d functions: %d full, %d partial, %d stub.  A stub returns the not-supported error and logs once.\n' %
              (len(functions), count['full'], count['partial'], count['stub']))
    section = None
    for f in sorted(functions, key=lambda f: (f.section, f.number)):
        if f.section != section:
            section = f.section
            out.write('\n## %s\n\n| function | %s | status |\n|---|---|---|\n' % (section, 'CUDA' if versions else 'since'))
        status = f.status + (': ' + f.why if f.why else '')
        names = f.name + ''.join(', _' + v for v in sorted(f.variants))
        out.write('| %s | %s | %s |\n' % (names, ' '.join(f.versions), status))


def check_bodies(tables, folder):
    text = ''
    for name in sorted(os.listdir(folder)):
        if name.endswith('.c'):
            with open(os.path.join(folder, name), encoding='utf-8') as f:
                text += f.read()
    found = set(re.findall(r'^[A-Za-z_][\w \*]*?\b(aw(?:cu|rt)_\w+)\([^;]*?\)\s*\n\{', text, re.M))
    wanted, known, forwards, bad = set(), set(), set(), 0
    for functions in tables:
        for f in functions:
            body = f.prefix + f.written()
            known |= {body} | {f.prefix + '%s_%s' % (f.body, v) for v in f.variants}
            if f.status != 'stub' and not f.forward:
                wanted.add(body)
            elif f.forward:
                forwards.add(body)
    wanted -= forwards # a line without as= may name the body of one with it
    for body in sorted(found & forwards):
        bad += 1
        print('%s: has a body, but the table forwards it' % body)
    found -= forwards
    for body in sorted(wanted - found):
        bad += 1
        print('%s: the table promises it, no file has it' % body)
    for body in sorted(found - wanted):
        bad += 1
        print('%s: %s' % (body, 'has a body, but the table says stub' if body in known else 'not in the table'))
    return bad


def write_to(path, write, *args):
    with open(path, 'w', encoding='utf-8') as out:
        write(*args, out)


def main(argv):
    if len(argv) < 2:
        sys.exit(__doc__)
    command, args = argv[1], argv[2:]
    if command in ('private', 'coverage', 'check'):
        cuda, cudart = load('cuda', args[0]), load('cudart', args[1])
        if command == 'private':
            write_to(args[2], write_private, cuda, cudart)
        elif command == 'check':
            return 1 if check_bodies((cuda, cudart), args[2]) else 0
        else:
            os.makedirs(args[2], exist_ok=True)
            for name, title, functions in (('driver', 'Driver API coverage', cuda), ('runtime', 'Runtime API coverage', cudart)):
                with open(os.path.join(args[2], name + '.md'), 'w', encoding='utf-8') as out:
                    write_coverage(title, functions, out, name == 'runtime')
        return 0
    api, functions = args[0], load(args[0], args[1])
    if command == 'proto':
        write_to(args[2], write_proto, api, functions)
    elif command == 'dispatch':
        try:
            drivers = {f.name: f for f in load('cuda', args[3])} if len(args) > 3 else {}
            write_to(args[2], write_dispatch, api, functions, drivers)
        except TableError as e:
            sys.exit('%s: %s' % (args[1], e))
    elif command in ('thin', 'map'):
        write_to(args[3], {'thin': write_thin, 'map': write_map}[command], api, functions, args[2])
    elif command == 'exports':
        for name, _, _ in slots(api, functions, args[2]):
            print(name + ('@@' + NODES[args[2]] if args[2] != '0' else ''))
    else:
        sys.exit(__doc__)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
