/* What `anywarp check` asks of code: calls beside what is to be looked at, which the host device's vectoriser makes looks of.
 * Nothing where the target does not ask for it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <anywarp/hostabi.h>

#include "lower/internal.h"

/* Machine code has no member masks: there an operation is of the lanes that are there. */
static bool asks_sync(struct ptx_lower *l)
{
    return l->target->features & PTX_TARGET_CHECK_SYNC &&
           !LLVMGetStringAttributeAtIndex(l->fn, LLVMAttributeFunctionIndex, PTX_LIFTED, sizeof PTX_LIFTED - 1);
}

void ptx_check_barrier(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef id, LLVMValueRef threads)
{
    bool apart = aw_str_is(in->mnemonic, "barrier") && !ptx_has(in, PTX_MOD_ALIGNED);
    enum aw_host_sync what = ptx_has(in, PTX_MOD_ARRIVE) ? AW_HOST_SYNC_ARRIVE
                             : apart ? AW_HOST_SYNC_BARRIER_APART : AW_HOST_SYNC_BARRIER;
    if (asks_sync(l))
        b_simt(l, PTX_SIMT_CHECK_SYNC, (LLVMValueRef[]){ b_i32(l, what), id, threads });
}

/* By mnemonic, and the word behind it that tells it from others of that name. */
static enum aw_host_sync operation_of(const struct ptx_instr *in)
{
    static const struct {
        const char *mnemonic;
        int word; /* a modifier, or -1 */
        enum aw_host_sync what;
    } rows[] = {
        { "shfl", PTX_MOD_UP, AW_HOST_SYNC_SHFL_UP }, { "shfl", PTX_MOD_DOWN, AW_HOST_SYNC_SHFL_DOWN },
        { "shfl", PTX_MOD_BFLY, AW_HOST_SYNC_SHFL_XOR }, { "shfl", -1, AW_HOST_SYNC_SHFL },
        { "vote", PTX_MOD_BALLOT, AW_HOST_SYNC_BALLOT }, { "vote", PTX_MOD_ANY, AW_HOST_SYNC_ANY },
        { "vote", PTX_MOD_ALL, AW_HOST_SYNC_ALL }, { "vote", -1, AW_HOST_SYNC_UNI },
        { "match", PTX_MOD_ALL, AW_HOST_SYNC_MATCH_ALL }, { "match", -1, AW_HOST_SYNC_MATCH_ANY },
        { "redux", -1, AW_HOST_SYNC_REDUCE }, { "elect", -1, AW_HOST_SYNC_ELECT },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (aw_str_is(in->mnemonic, rows[i].mnemonic) && (rows[i].word < 0 || ptx_has(in, (enum ptx_mod)rows[i].word)))
            return rows[i].what;
    return AW_HOST_SYNC_WARP;
}

void ptx_check_members(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef mask)
{
    if (asks_sync(l))
        b_simt(l, PTX_SIMT_CHECK_SYNC, (LLVMValueRef[]){ b_i32(l, operation_of(in)), mask, b_i32(l, 0) });
}
