/* Line tables through the vectoriser: each vector instruction is where its scalar one was.
 *
 * A scalar function may become several vector functions, and a scope belongs to one function only: so every function of the out
 * module gets a scope of its own, and places are made anew under it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

#include <stdio.h>
#include <stdlib.h>

/* An operand of a metadata node that is a string. */
static struct aw_str node_string(struct simt *u, LLVMMetadataRef node, unsigned index)
{
    LLVMValueRef value = LLVMMetadataAsValue(u->ctx, node), operands[32];
    unsigned n = LLVMGetMDNodeNumOperands(value), len = 0;
    if (index >= n || n > sizeof operands / sizeof *operands)
        return AW_STR("");
    LLVMGetMDNodeOperands(value, operands);
    const char *text = operands[index] ? LLVMGetMDString(operands[index], &len) : NULL;
    return text ? (struct aw_str){ text, len } : AW_STR("");
}

static struct aw_str scope_name(struct simt *u, LLVMMetadataRef scope)
{
    return node_string(u, scope, 3); /* of a DISubprogram: the mangled one */
}

static bool is_function(LLVMMetadataRef scope)
{
    return LLVMGetMetadataKind(scope) == LLVMDISubprogramMetadataKind;
}

/* The function a scope is in: blocks' second operand is what they are in. */
static LLVMMetadataRef scope_function(struct simt *u, LLVMMetadataRef scope)
{
    while (scope && !is_function(scope)) {
        LLVMValueRef value = LLVMMetadataAsValue(u->ctx, scope), operands[32];
        unsigned n = LLVMGetMDNodeNumOperands(value);
        if (n < 2 || n > sizeof operands / sizeof *operands)
            return NULL;
        LLVMGetMDNodeOperands(value, operands);
        scope = operands[1] ? LLVMValueAsMetadata(operands[1]) : NULL;
    }
    return scope;
}

bool simt_line_tables_begin(struct simt *u)
{
    struct simt_line_tables *lines = &u->lines;
    LLVMMetadataRef scope = NULL;
    for (LLVMValueRef fn = LLVMGetFirstFunction(u->in); fn && !scope; fn = LLVMGetNextFunction(fn))
        scope = LLVMGetSubprogram(fn);
    if (!scope)
        return true;
    unsigned dir_len, name_len;
    lines->file = LLVMDIScopeGetFile(scope);
    const char *dir = LLVMDIFileGetDirectory(lines->file, &dir_len), *name = LLVMDIFileGetFilename(lines->file, &name_len);
    struct aw_str path = aw_arena_printf(&u->arena, "%.*s%s%.*s", (int)dir_len, dir, dir_len ? "/" : "", (int)name_len, name);
    if (!path.ptr)
        return simt_memory(u);
    ptx_unit_begin(&lines->unit, u->out, path);
    lines->on = true;
    return true;
}

void simt_line_tables_end(struct simt *u)
{
    if (u->lines.on)
        ptx_unit_end(&u->lines.unit);
    aw_ptrmap_fini(&u->lines.scopes);
    aw_ptrmap_fini(&u->lines.places);
    u->lines.on = false;
}

void simt_line_tables_function(struct simt *u, LLVMValueRef src, LLVMValueRef out)
{
    struct simt_line_tables *lines = &u->lines;
    size_t len;
    if (!lines->on)
        return;
    if (u->options->debug && !src) {
        /* Loops over blocks and warps, which are nobody's lines: such that a debugger does not take them for the last ones. */
        LLVMSetCurrentDebugLocation2(u->b, NULL);
        return;
    }
    aw_ptrmap_fini(&lines->places);
    lines->from = src ? LLVMGetSubprogram(src) : NULL;
    const char *name = LLVMGetValueName2(out, &len);
    lines->own = ptx_unit_scope(&lines->unit, lines->from ? scope_name(u, lines->from) : (struct aw_str){ name, len },
                                lines->from ? LLVMDIScopeGetFile(lines->from) : lines->file,
                                lines->from ? LLVMDISubprogramGetLine(lines->from) : 0);
    LLVMSetSubprogram(out, lines->own);
    lines->nowhere = ptx_unit_place(&lines->unit, 0, 0, lines->own, NULL);
    LLVMSetCurrentDebugLocation2(u->b, lines->nowhere);
}

bool simt_line_tables_is_of(struct simt *u, struct aw_str function)
{
    return u->lines.from && aw_str_eq(scope_name(u, u->lines.from), function);
}

/* A function that was inlined: one scope for all places. */
static LLVMMetadataRef inlined_scope(struct simt *u, LLVMMetadataRef function)
{
    struct simt_line_tables *lines = &u->lines;
    LLVMMetadataRef scope = aw_ptrmap_find(&lines->scopes, function);
    if (!scope) {
        scope = ptx_unit_scope(&lines->unit, scope_name(u, function), LLVMDIScopeGetFile(function),
                               LLVMDISubprogramGetLine(function));
        if (!aw_ptrmap_put(&lines->scopes, function, scope))
            simt_memory(u);
    }
    return scope;
}

static LLVMMetadataRef map_scope(struct simt *u, LLVMMetadataRef scope, bool outermost)
{
    struct simt_line_tables *lines = &u->lines;
    LLVMMetadataRef function = scope_function(u, scope);
    if (!function || (outermost && function != lines->from))
        return lines->own;
    LLVMMetadataRef to = outermost ? lines->own : inlined_scope(u, function);
    if (is_function(scope) || LLVMDIScopeGetFile(scope) == LLVMDIScopeGetFile(to))
        return to;
    return LLVMDIBuilderCreateLexicalBlockFile(lines->unit.builder, to, LLVMDIScopeGetFile(scope), 0);
}

static LLVMMetadataRef map_place(struct simt *u, LLVMMetadataRef place)
{
    struct simt_line_tables *lines = &u->lines;
    LLVMMetadataRef to = aw_ptrmap_find(&lines->places, place);
    if (to)
        return to;
    LLVMMetadataRef at = LLVMDILocationGetInlinedAt(place);
    LLVMMetadataRef scope = map_scope(u, LLVMDILocationGetScope(place), !at);
    to = ptx_unit_place(&lines->unit, LLVMDILocationGetLine(place), LLVMDILocationGetColumn(place), scope,
                        at ? map_place(u, at) : NULL);
    if (!aw_ptrmap_put(&lines->places, place, to))
        simt_memory(u);
    return to;
}

void simt_line_tables_at(struct simt *u, LLVMValueRef inst)
{
    if (!u->lines.on)
        return;
    LLVMMetadataRef place = u->lines.from ? LLVMInstructionGetDebugLoc(inst) : NULL;
    LLVMSetCurrentDebugLocation2(u->b, place ? map_place(u, place) : u->lines.nowhere);
}
