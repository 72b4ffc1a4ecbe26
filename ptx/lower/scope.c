/* Functions as debug information names them: by the name that their source has, in its namespaces, and by the mangled one.
 *
 * Debuggers find `break ns::scale<3>` by the parts of the name, so it is taken apart.  Names of operators and what else is no
 * plain path stay whole. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/line_table.h"

#include "base/demangle.h"

#include <stdlib.h>
#include <string.h>

/* Where the bracket that ends before text[end] begins; 0 where it is none that is closed, as with `->` in it. */
static size_t bracket_begin(const char *text, size_t end)
{
    int depth = 0;
    for (size_t i = end; i-- > 0;) {
        depth += text[i] == ')' || text[i] == '>' ? 1 : text[i] == '(' || text[i] == '<' ? -1 : 0;
        if (depth == 0)
            return i;
    }
    return 0;
}

/* "void ns::scale<3>(float*)": what is between the result's type and the parameters. */
static struct aw_str path_of(const char *text)
{
    size_t end = strlen(text), begin;
    static const char method[] = " const";
    if (end > sizeof method && !strcmp(text + end - (sizeof method - 1), method))
        end -= sizeof method - 1;
    if (end && text[end - 1] == ')')
        end = bracket_begin(text, end);
    for (begin = end; begin > 0 && text[begin - 1] != ' ';) {
        char last = text[begin - 1];
        begin = last == ')' || last == '>' ? bracket_begin(text, begin) : begin - 1;
    }
    return (struct aw_str){ text + begin, end - begin };
}

/* The first part of a path; *io_path is what follows, or empty. */
static struct aw_str part_take(struct aw_str *io_path)
{
    struct aw_str path = *io_path;
    int depth = 0;
    for (size_t i = 0; i + 1 < path.len; i++) {
        depth += path.ptr[i] == '(' || path.ptr[i] == '<' ? 1 : path.ptr[i] == ')' || path.ptr[i] == '>' ? -1 : 0;
        if (depth || path.ptr[i] != ':' || path.ptr[i + 1] != ':')
            continue;
        *io_path = (struct aw_str){ path.ptr + i + 2, path.len - i - 2 };
        return (struct aw_str){ path.ptr, i };
    }
    *io_path = (struct aw_str){ path.ptr + path.len, 0 };
    return path;
}

LLVMMetadataRef ptx_unit_scope(struct ptx_unit *unit, struct aw_str name, LLVMMetadataRef file, unsigned line)
{
    char *mangled = strndup(name.ptr, name.len);
    char *text = mangled && !strncmp(mangled, "_Z", 2) ? aw_demangle_text(mangled) : NULL;
    struct aw_str own = text && !strstr(text, "operator") ? path_of(text) : name, rest = own;
    LLVMMetadataRef scope = file;
    while (text && own.len && (own = part_take(&rest), rest.len)) {
        bool nameless = aw_str_is(own, "(anonymous namespace)");
        scope = LLVMDIBuilderCreateNameSpace(unit->builder, scope == file ? NULL : scope, nameless ? "" : own.ptr,
                                             nameless ? 0 : own.len, 0);
    }
    own = own.len ? own : name;
    LLVMMetadataRef function = LLVMDIBuilderCreateFunction(unit->builder, scope, own.ptr, own.len, name.ptr, name.len, file, line,
                                                           unit->type, 1, 1, line, LLVMDIFlagZero, 1);
    free(text);
    free(mangled);
    return function;
}
