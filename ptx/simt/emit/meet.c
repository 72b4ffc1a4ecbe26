/* Barriers before it is known what becomes of them: calls that schedule/fission.c settles once all bodies are there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

bool simt_meet_fits(struct simt_fn *f, LLVMValueRef id, LLVMValueRef threads)
{
    const uint32_t *block = f->u->options->block;
    uint32_t warps = block[1] ? (block[0] * block[1] * block[2] + SIMT_LANES - 1) / SIMT_LANES : UINT32_MAX;
    int64_t which, n;
    return f->form != SIMT_FORM_DEVICE && simt_int_const(id, &which) && which >= 0 && which < 16 && simt_int_const(threads, &n) &&
           n >= 0 && (n == 0 || (n + SIMT_LANES - 1) / SIMT_LANES >= warps);
}

LLVMValueRef simt_meet_emit(struct simt *u, LLVMValueRef *args, unsigned n)
{
    u->meets = true;
    return simt_private_call(u->b, u->out, n == 2 ? SIMT_PRIVATE_MEET : SIMT_PRIVATE_MEET_REDUCE, args, n);
}

void simt_meet_if_can_emit(struct simt *u)
{
    u->meets = true;
    simt_private_call(u->b, u->out, SIMT_PRIVATE_MEET_IF_CAN, NULL, 0);
}

LLVMValueRef simt_together_emit(struct simt *u, LLVMValueRef cond)
{
    return simt_private_call(u->b, u->out, SIMT_PRIVATE_MEET_TOGETHER, &cond, 1);
}

enum simt_private simt_meet_kind(LLVMValueRef x)
{
    enum simt_private id = simt_private_called(x);
    return simt_private_has(id, SIMT_PRIVATE_MEETING) ? id : SIMT_PRIVATE_NONE;
}
