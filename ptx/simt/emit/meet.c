/* Barriers before it is known what becomes of them: calls that schedule/fission.c settles once all bodies are there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include <string.h>

static LLVMValueRef meet_function(struct simt *u, const char *name, LLVMTypeRef result, unsigned n)
{
    LLVMTypeRef t[5] = { u->i32, u->i32, u->i32, u->i32, u->i32 };
    LLVMValueRef fn = LLVMGetNamedFunction(u->out, name);
    return fn ? fn : LLVMAddFunction(u->out, name, LLVMFunctionType(result, t, n, 0));
}

bool simt_meet_fits(struct simt_fn *f, LLVMValueRef id, LLVMValueRef threads)
{
    const uint32_t *block = f->u->options->block;
    uint32_t warps = block[1] ? (block[0] * block[1] * block[2] + SIMT_LANES - 1) / SIMT_LANES : UINT32_MAX;
    int64_t which, n;
    return f->form != SIMT_FORM_DEVICE && simt_int_const(id, &which) && which >= 0 && which < 16 && simt_int_const(threads, &n) && n >= 0 &&
           (n == 0 || (n + SIMT_LANES - 1) / SIMT_LANES >= warps);
}

LLVMValueRef simt_meet_emit(struct simt *u, LLVMValueRef *args, unsigned n)
{
    LLVMValueRef fn = meet_function(u, n == 2 ? SIMT_MEET : SIMT_MEET_REDUCE, n == 2 ? u->v_void : u->i32, n);
    u->meets = true;
    return LLVMBuildCall2(u->b, LLVMGlobalGetValueType(fn), fn, args, n, "");
}

LLVMValueRef simt_together_emit(struct simt *u, LLVMValueRef cond)
{
    LLVMTypeRef t = LLVMFunctionType(u->i1, &u->i1, 1, 0);
    LLVMValueRef fn = LLVMGetNamedFunction(u->out, SIMT_MEET_TOGETHER);
    fn = fn ? fn : LLVMAddFunction(u->out, SIMT_MEET_TOGETHER, t);
    return LLVMBuildCall2(u->b, t, fn, &cond, 1, "");
}

int simt_meet_kind(LLVMValueRef x)
{
    size_t len;
    LLVMValueRef callee = LLVMIsACallInst(x) ? LLVMGetCalledValue(x) : NULL;
    if (!callee || !LLVMIsAFunction(callee))
        return 0;
    const char *name = LLVMGetValueName2(callee, &len);
    return !strcmp(name, SIMT_MEET) ? 1 : !strcmp(name, SIMT_MEET_REDUCE) ? 2 : !strcmp(name, SIMT_MEET_TOGETHER) ? 3 : 0;
}
