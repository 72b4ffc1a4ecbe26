#!/usr/bin/env python3
"""Reads the table of a library that stands in front of NVIDIA's (libs/nvrtc/nvrtc.front, libs/nvjitlink/nvjitlink.front) and
writes what the build derives from it.

    front.py proto    TABLE OUT.h           prototypes of the bodies, and of the ways on to NVIDIA's library
    front.py exports  TABLE MAJOR OUT.c     the exported functions of one version
    front.py map      TABLE MAJOR OUT.map   its version script
    front.py exports  TABLE MAJOR           prints the exported names with their version node, for tests
    front.py libraries TABLE                prints MAJOR SONAME lines
    front.py names    OUT.inc TABLE...      AW_LIBRARY("SONAME") lines, for the loader's object

A line is one function: RESULT NAME(ARGUMENTS) | VERSIONS [numbered] | STATUS.  Arguments are those of src/abi/cuda.api.

    numbered    __NAME_MAJOR_MINOR is exported too, for each minor version that there was
    forward     handed on to NVIDIA's library as it is
    full        the body awLIBRARY_NAME
    !library MAJOR SONAME [MINORS]
    !status TYPE VALUE      what is returned where there is no library of NVIDIA's to hand on to"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import sys

import api


class Function:
    def __init__(self, decl, where, status, table):
        m = re.match(r'^(.*?[\s*])(\w+)\((.*)\)$', decl)
        if not m:
            raise api.TableError('declaration not understood: %r' % decl)
        self.ret, self.name = m.group(1).strip(), m.group(2)
        self.args = [api.Arg(a, table.kinds) for a in m.group(3).split(',')] if m.group(3).strip() else []
        words = where.split()
        self.numbered = 'numbered' in words
        self.versions = [w for w in words if w != 'numbered']
        if status not in ('full', 'forward') or not self.versions or set(self.versions) - set(table.libraries):
            raise api.TableError('%s: versions %r, status %r' % (self.name, where, status))
        self.full = status == 'full'
        self.missing = table.status.get(self.ret, '0')

    def c_proto(self, name):
        ret = 'const char *' if self.ret == 'str' else self.ret
        return '%s%s%s(%s)' % (ret, '' if ret.endswith('*') else ' ', name, ', '.join(a.c_decl() for a in self.args) or 'void')

    def exported(self, library, major):
        return [self.name] + (['__%s_%s_%d' % (self.name, major, minor) for minor in range(library[1])] if self.numbered else [])


class Table:
    def __init__(self, path):
        self.name = os.path.basename(path)[:-len('.front')]
        self.kinds, self.libraries, self.status, self.functions = dict(api.KINDS), {}, {}, []
        with open(path, encoding='utf-8') as f:
            for n, line in enumerate(f, 1):
                line = line.strip()
                try:
                    if line.startswith('!library'):
                        words = line.split()
                        self.libraries[words[1]] = (words[2], int(words[3]) if len(words) > 3 else 0)
                    elif line.startswith('!status'):
                        self.status[line.split()[1]] = line.split()[2]
                    elif line.startswith('!handle'):
                        self.kinds.update({w: 'p' for w in line.split()[1:]})
                    elif line and not line.startswith('#'):
                        parts = [p.strip() for p in line.split(' | ')]
                        if len(parts) != 3:
                            raise api.TableError('a line has three columns')
                        self.functions.append(Function(*parts, self))
                except (api.TableError, ValueError, IndexError) as e:
                    sys.exit('%s:%d: %s' % (path, n, e))

    def of(self, major):
        return [f for f in self.functions if major in f.versions]

    def names(self, major):
        return sorted(name for f in self.of(major) for name in f.exported(self.libraries[major], major))


def write_proto(table, out):
    out.write('/* Generated from %s.front by tools/gen/front.py. */\n#pragma once\n#include "%s/%s_types.h"\n\n'
              % ((table.name,) * 3))
    for f in table.functions:
        if f.full:
            out.write(f.c_proto('aw%s_%s' % (table.name, f.name)) + ';\n')
        out.write(f.c_proto('next_%s' % f.name) + ';\n')


def write_exports(table, major, out):
    out.write('/* Generated from %s.front by tools/gen/front.py: version %s. */\n' % (table.name, major))
    out.write('#define AW_ROOM "%s"\n#include "%s_proto.h"\n#include "base/log.h"\n#include "front/original.h"\n\n'
              % (table.name, table.name))
    out.write('const char aw_front_soname[] = "%s";\n\n' % table.libraries[major][0])
    out.write('#define EXPORT __attribute__((visibility("default")))\n')
    for f in table.of(major):
        args = ', '.join(a.name for a in f.args)
        out.write('\n%s\n{\n    static void *found;\n    __typeof__(&next_%s) next = aw_original_function(&found, "%s");\n'
                  '    return next ? next(%s) : (__typeof__(next(%s)))%s;\n}\n'
                  % (f.c_proto('next_' + f.name), f.name, f.name, args, args, f.missing))
        target = 'aw%s_%s' % (table.name, f.name) if f.full else 'next_' + f.name
        for name in f.exported(table.libraries[major], major):
            out.write('\nEXPORT %s;\n%s\n{\n    __typeof__(%s(%s)) ret_ = %s(%s);\n    aw_trace("%s = %%lld", (long '
                      'long)(intptr_t)ret_);\n'
                      '    return ret_;\n}\n' % (f.c_proto(name), f.c_proto(name), target, args, target, args, name))


def write_map(table, major, out):
    out.write('%s {\n    global:\n%s    local:\n        *;\n};\n' %
              (table.libraries[major][0], ''.join('        %s;\n' % name for name in table.names(major))))


def main(argv):
    if len(argv) < 3:
        sys.exit(__doc__)
    command, args = argv[1], argv[2:]
    if command == 'names':
        with open(args[0], 'w', encoding='utf-8') as out:
            out.writelines('AW_LIBRARY("%s")\n' % soname for path in args[1:] for soname, _ in Table(path).libraries.values())
        return 0
    table = Table(args[0])
    if command == 'libraries':
        for major, (soname, _) in table.libraries.items():
            print(major, soname)
    elif command == 'exports' and len(args) == 2:
        for name in table.names(args[1]):
            print('%s@@%s' % (name, table.libraries[args[1]][0]))
    elif command == 'proto':
        api.write_to(args[1], write_proto, table)
    elif command in ('exports', 'map'):
        api.write_to(args[2], {'exports': write_exports, 'map': write_map}[command], table, args[1])
    else:
        sys.exit(__doc__)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
