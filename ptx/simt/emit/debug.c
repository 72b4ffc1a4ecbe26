/* What a debugger reads: each block of code begins by saying which lanes run it (`lanes` of anywarp/hostabi.h).
 *
 * The store has no line, so that who stops at a line stops behind it; and it is volatile, so that it stays where it is. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/emit/emit.h"
#include <anywarp/hostabi.h>
#include <stddef.h>

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
