/* What a debugger reads: each block of code begins by saying which lanes run it (`lanes` of anywarp/hostabi.h).
 *
 * The store has no line, so that who stops at a line stops behind it; and it is volatile, so that it stays where it is. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/variables.h"
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include <anywarp/hostabi.h>
#include <stddef.h>
#include <string.h>

void simt_debug_lanes_set(struct simt *u, LLVMValueRef block, LLVMValueRef lanes)
{
    if (!u->options->debug)
        return;
    LLVMValueRef store = LLVMBuildStore(u->b, lanes, simt_advance(u, block, (int64_t)offsetof(struct aw_host_block, lanes)));
    LLVMSetVolatile(store, 1);
}

void simt_debug_lanes(struct simt_fn *f)
{
    struct simt *u = f->u;
    if (!u->options->debug || f->form == SIMT_FORM_SINGLE)
        return;
    if (u->lines.on)
        LLVMSetCurrentDebugLocation2(u->b, u->lines.nowhere);
    simt_debug_lanes_set(u, f->block, simt_bits(u, simt_full(u, f->mask)));
}

/* So that there is something of each line, where the source has it. */
void simt_debug_line(struct simt_fn *f)
{
    simt_debug_lanes_set(f->u, f->block, simt_bits(f->u, simt_full(f->u, f->mask)));
}

/* A function has said which of its own lanes ran; a barrier and a yield, other warps'. */
void simt_debug_after(struct simt_fn *f, LLVMValueRef inst)
{
    enum ptx_simt id = LLVMIsACallInst(inst) ? simt_call_id(f->u, inst) : PTX_SIMT_LANEID;
    if (id == PTX_SIMT_LINE)
        return;
    if (id == PTX_SIMT_NONE || (ptx_simt_info(id)->traits != PTX_SIMT_PURE && ptx_simt_info(id)->traits != PTX_SIMT_NORETURN))
        simt_debug_lanes(f);
}

/* ---- Variables of the source (ptx/lower/variables.h) */

static LLVMMetadataRef type_of(struct simt *u, uint64_t encoding, uint64_t bytes)
{
    /* By DWARF's numbers: boolean, floating, signed, signed char, unsigned, unsigned char. */
    static const struct { uint64_t encoding, bytes; const char *name; } types[] = {
        { 2, 1, "bool" }, { 4, 4, "float" }, { 4, 8, "double" }, { 5, 8, "long" }, { 5, 4, "int" }, { 5, 2, "short" },
        { 6, 1, "char" }, { 7, 8, "unsigned long" }, { 7, 4, "unsigned int" }, { 7, 2, "unsigned short" },
        { 8, 1, "unsigned char" },
    };
    LLVMDIBuilderRef b = u->lines.unit.builder;
    const char *name = "value";
    if (!encoding)
        return LLVMDIBuilderCreatePointerType(b, NULL, 64, 64, 0, "", 0);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].encoding == encoding && types[i].bytes == bytes)
            name = types[i].name;
    return LLVMDIBuilderCreateBasicType(b, name, strlen(name), 8 * bytes, (unsigned)encoding, LLVMDIFlagZero);
}

void simt_debug_variable(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef area)
{
    struct simt *u = f->u;
    LLVMValueRef node = u->options->debug && u->lines.on ? ptx_metadata(inst, PTX_VARIABLE) : NULL, part[4];
    unsigned len[2];
    if (!node || LLVMGetMDNodeNumOperands(node) != 4 || f->form == SIMT_FORM_SINGLE)
        return;
    LLVMGetMDNodeOperands(node, part);
    const char *function = LLVMGetMDString(part[0], &len[0]), *name = LLVMGetMDString(part[1], &len[1]);
    /* Those of a function that was inlined are not told of. */
    if (!simt_line_tables_is_of(u, (struct aw_str){ function, len[0] }))
        return;
    LLVMDIBuilderRef b = u->lines.unit.builder;
    uint64_t bytes = LLVMConstIntGetZExtValue(part[3]);
    LLVMMetadataRef range = LLVMDIBuilderGetOrCreateSubrange(b, 0, SIMT_LANES), own = u->lines.own;
    LLVMMetadataRef type = LLVMDIBuilderCreateArrayType(b, SIMT_LANES * 8 * bytes, (uint32_t)(8 * bytes),
                                                        type_of(u, LLVMConstIntGetZExtValue(part[2]), bytes), &range, 1);
    LLVMMetadataRef variable = LLVMDIBuilderCreateAutoVariable(b, own, name, len[1], LLVMDIScopeGetFile(own),
                                                               LLVMDISubprogramGetLine(own), type, 1, LLVMDIFlagZero, 0);
    LLVMDIBuilderInsertDeclareRecordBefore(b, area, variable, LLVMDIBuilderCreateExpression(b, NULL, 0), u->lines.nowhere,
                                           LLVMGetBasicBlockTerminator(f->entry));
}
