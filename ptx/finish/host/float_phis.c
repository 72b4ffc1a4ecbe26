/* Phis of floating-point numbers for those of their bits, where machine code was lifted: its registers have no type, so what goes
 * round a loop as a sum is taken for an integer, and cast there and back in each round.
 *
 *   s = phi i32 [0], [t]; x = bitcast s to float; y = fadd x, ..; t = bitcast y        becomes        x = phi float [0.0], [y]
 *
 * LLVM does the same, but not where one of the phis that belong together is used as an integer, too, as by a shuffle behind the
 * loop; such uses get a cast of their own.  Only where all that comes in is a number's bits, or a constant, and
 * where registers are values already, as `pairs` leaves them.  The bits stay. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include "lower/copy.h"
#include "lower/match.h"

enum { MAX_WEB = 64 };

typedef LLVMValueRef V;

/* Phis that hand each other their values. */
struct float_web {
    V phi[MAX_WEB], now[MAX_WEB];
    int n;
    LLVMTypeRef number; /* what comes into them; NULL: not known yet */
    bool used;          /* as such a number */
};

static int place_of(const struct float_web *w, V v)
{
    for (int k = 0; k < w->n; k++)
        if (w->phi[k] == v)
            return k;
    return -1;
}

static bool add(struct float_web *w, V phi)
{
    if (place_of(w, phi) >= 0)
        return true;
    if (w->n == MAX_WEB)
        return false;
    w->phi[w->n++] = phi;
    return true;
}

static bool is_number_type(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMFloatTypeKind || LLVMGetTypeKind(type) == LLVMDoubleTypeKind;
}

static bool is_constant(V v) { return LLVMIsAConstantInt(v) || LLVMIsUndef(v); }

static bool comes_in(struct float_web *w, V v)
{
    if (LLVMIsAPHINode(v))
        return add(w, v);
    if (is_constant(v))
        return true;
    LLVMTypeRef type = is_op(v, LLVMBitCast) ? LLVMTypeOf(operand(v, 0)) : NULL;
    if (!type || !is_number_type(type) || (w->number && w->number != type))
        return false;
    w->number = type;
    return true;
}

/* All that belong together with the first one. */
static bool find_web(struct float_web *w)
{
    for (int k = 0; k < w->n; k++) {
        for (unsigned i = 0; i < LLVMCountIncoming(w->phi[k]); i++)
            if (!comes_in(w, LLVMGetIncomingValue(w->phi[k], i)))
                return false;
        for (LLVMUseRef u = LLVMGetFirstUse(w->phi[k]); u; u = LLVMGetNextUse(u))
            if (LLVMIsAPHINode(LLVMGetUser(u)) && !add(w, LLVMGetUser(u)))
                return false;
    }
    for (int k = 0; k < w->n; k++)
        for (LLVMUseRef u = LLVMGetFirstUse(w->phi[k]); u; u = LLVMGetNextUse(u))
            w->used |= is_op(LLVMGetUser(u), LLVMBitCast) && LLVMTypeOf(LLVMGetUser(u)) == w->number;
    return w->number && w->used;
}

static V as_number(const struct float_web *w, V v)
{
    int k = place_of(w, v);
    if (k >= 0)
        return w->now[k];
    return is_constant(v) ? LLVMConstBitCast(v, w->number) : operand(v, 0);
}

/* Uses but the web's own take the number, or its bits. */
static void replace_uses(LLVMBuilderRef b, struct float_web *w, int k)
{
    V old = w->phi[k], bits = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(old), next; u; u = next) {
        V user = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (place_of(w, user) >= 0)
            continue;
        if (is_op(user, LLVMBitCast) && LLVMTypeOf(user) == w->number) {
            LLVMReplaceAllUsesWith(user, w->now[k]);
            LLVMInstructionEraseFromParent(user);
            next = LLVMGetFirstUse(old); /* the list is another now */
            continue;
        }
        if (!bits) {
            LLVMPositionBuilderBefore(b, ptx_behind_phis(old));
            bits = LLVMBuildBitCast(b, w->now[k], LLVMTypeOf(old), "");
        }
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(user); i++)
            if (LLVMGetOperand(user, i) == old)
                LLVMSetOperand(user, i, bits);
        next = LLVMGetFirstUse(old);
    }
}

static void retype(LLVMBuilderRef b, struct float_web *w)
{
    for (int k = 0; k < w->n; k++) {
        LLVMPositionBuilderBefore(b, w->phi[k]);
        w->now[k] = LLVMBuildPhi(b, w->number, "");
    }
    for (int k = 0; k < w->n; k++)
        for (unsigned i = 0; i < LLVMCountIncoming(w->phi[k]); i++)
            ptx_phi_add(w->now[k], as_number(w, LLVMGetIncomingValue(w->phi[k], i)), LLVMGetIncomingBlock(w->phi[k], i));
    for (int k = 0; k < w->n; k++)
        replace_uses(b, w, k);
    for (int k = 0; k < w->n; k++)
        LLVMReplaceAllUsesWith(w->phi[k], LLVMGetPoison(LLVMTypeOf(w->phi[k])));
    for (int k = 0; k < w->n; k++)
        LLVMInstructionEraseFromParent(w->phi[k]);
}

static bool has_bits(V phi)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        V v = LLVMGetIncomingValue(phi, i);
        if (is_op(v, LLVMBitCast) && is_number_type(LLVMTypeOf(operand(v, 0))))
            return true;
    }
    return false;
}

static void function(LLVMBuilderRef b, V fn)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V phi = LLVMGetFirstInstruction(bb); phi && LLVMIsAPHINode(phi);) {
            struct float_web w = { .phi = { phi }, .n = 1 };
            bool found = LLVMGetTypeKind(LLVMTypeOf(phi)) == LLVMIntegerTypeKind && has_bits(phi) && find_web(&w);
            if (found)
                retype(b, &w);
            phi = found ? LLVMGetFirstInstruction(bb) : LLVMGetNextInstruction(phi);
        }
}

int ptx_run_float_phis(struct ptx_pipeline *pipe)
{
    LLVMModuleRef m = *pipe->module;
    if (!pipe->lifted && !ptx_pass_forced(pipe, PTX_PASS_FLOAT_PHIS))
        return AW_OK;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
    for (V fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        function(b, fn);
    LLVMDisposeBuilder(b);
    return AW_OK;
}
